# The congestion window of ns-2's TCP/Linux agent, every 50 ms.
# Usage: ns linux.tcl ALGORITHM WINDOW-FILE SECONDS [DROPPED-PACKET...], packets counted from 0
#
# 10 Mbit/s and 50 ms one way, with a queue that takes everything. Lines: time, window and threshold in segments, and the
# highest segment acknowledged, counted from 0.

set ns [new Simulator]
set file [open [lindex $argv 1] w]
set drops [lrange $argv 3 end]
set server [$ns node]
set loss [$ns node]
set terminal [$ns node]
$ns duplex-link $server $loss 1000Gb 0ms DropTail
$ns simplex-link $loss $terminal 10Mb 50ms DropTail
$ns simplex-link $terminal $loss 1000Gb 50ms DropTail
$ns queue-limit $loss $terminal 100000

set sender [new Agent/TCP/Linux]
$sender set timestamps_ true
$sender set syn_ false
$sender set delay_growth_ false
$sender set windowInitOption_ 1
$sender set windowInit_ 10
$sender set window_ 100000
$sender set packetSize_ 1448
set receiver [new Agent/TCPSink/Sack1]
$receiver set ts_echo_rfc1323_ true
$ns attach-agent $server $sender
$ns attach-agent $terminal $receiver
$ns connect $sender $receiver
$ns at 0.0 "$sender select_ca [lindex $argv 0]"
if {[llength $drops] > 0} {
    set errors [new ErrorModel/List]
    $errors droplist $drops
    $errors drop-target [new Agent/Null]
    $ns lossmodel $errors $loss $terminal
}
proc sample {} {
    global ns sender file
    puts $file "[$ns now] [$sender set cwnd_] [$sender set ssthresh_] [$sender set ack_]"
    $ns at [expr [$ns now] + 0.05] sample
}
$ns at 0.0 sample
set source [new Application/FTP]
$source attach-agent $sender
$ns at 0.0 "$source producemore 100000"
$ns at [lindex $argv 2] "close $file; exit 0"
$ns run
