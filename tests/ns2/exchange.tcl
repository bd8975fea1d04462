# The sending instants of one TCP flow in ns-2, under scripted loss of data packets.
# Usage: ns exchange.tcl AGENT SINK SEGMENTS TRACE-FILE [DROPPED-PACKET...], packets counted from 0
#
# Segments of 1000 bytes over 384 kbit/s and 135 ms one way; ACKs take no time to send. The agents are told what
# cellwind does anyway: an initial window of ten, no SYN, no Limited Transmit, a fine clock, a minimum RTO of 1 s.

set ns [new Simulator]
$ns trace-all [open [lindex $argv 3] w]
set server [$ns node]
set loss [$ns node]
set terminal [$ns node]
$ns duplex-link $server $loss 1000Gb 0ms DropTail
$ns simplex-link $loss $terminal 384kb 135ms DropTail
$ns simplex-link $terminal $loss 1000Gb 135ms DropTail
$ns queue-limit $loss $terminal 1000

Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set minrto_ 1.0
Agent/TCP set tcpTick_ 0.001
Agent/TCP set singledup_ 0
Agent/TCP set windowInitOption_ 1
Agent/TCP set windowInit_ 10
Agent/TCP set window_ 64
Agent/TCP set packetSize_ 960

set sender [new Agent/[lindex $argv 0]]
set receiver [new Agent/[lindex $argv 1]]
$ns attach-agent $server $sender
$ns attach-agent $terminal $receiver
$ns connect $sender $receiver
set drops [lrange $argv 4 end]
if {[llength $drops] > 0} {
    set errors [new ErrorModel/List]
    $errors droplist $drops
    $errors drop-target [new Agent/Null]
    $ns lossmodel $errors $loss $terminal
}
set source [new Application/FTP]
$source attach-agent $sender
$ns at 0.0 "$source producemore [lindex $argv 2]"
$ns at 60.0 "$ns flush-trace; exit 0"
$ns run
