# What ns-2's TFRC receiver gets while every n-th packet is lost.
# Usage: ns tfrc.tcl N TRACE-FILE
#
# Packets of 1000 bytes over 100 Mbit/s and 50 ms one way. The trace has the queue in front of the receiver until 260 s.

set ns [new Simulator]
set server [$ns node]
set terminal [$ns node]
$ns duplex-link $server $terminal 100Mb 50ms DropTail
$ns queue-limit $server $terminal 10000
set sender [new Agent/TFRC]
set receiver [new Agent/TFRCSink]
$sender set packetSize_ 1000
$ns attach-agent $server $sender
$ns attach-agent $terminal $receiver
$ns connect $sender $receiver
set errors [new ErrorModel/Periodic]
$errors unit pkt
$errors set period_ [lindex $argv 0]
$errors set offset_ [lindex $argv 0]
$errors drop-target [new Agent/Null]
$ns lossmodel $errors $server $terminal
$ns trace-queue $server $terminal [open [lindex $argv 1] w]
$ns at 0.0 "$sender start"
$ns at 260.0 "$ns flush-trace; exit 0"
$ns run
