# The sending instants of one TCP flow in ns-2, under scripted loss and delay.
# Usage: ns exchange.tcl AGENT SINK SEGMENTS TRACE-FILE [KEY=VALUE...]
#
# Segments of 1000 bytes over 384 kbit/s and 135 ms one way; ACKs take no time to send. All agents have a window of 64, an
# initial window of ten, no SYN, a clock of 1 ms and a minimum RTO of 1 s; the rest is as ns-2 has it.
# drop=N,N,...  data packets dropped, counted from 0 in the order in which they pass
# acks=N,N,...  ACKs dropped, counted likewise
# late=S,N,...  these data packets, counted likewise, arrive S seconds later, behind others
# linux=NAME    the algorithm of Agent/TCP/Linux

set ns [new Simulator]
$ns trace-all [open [lindex $argv 3] w]
set server [$ns node]
set loss [$ns node]
set terminal [$ns node]
$ns duplex-link $server $loss 1000Gb 0ms DropTail
$ns simplex-link $loss $terminal 384kb 135ms DropTail
$ns simplex-link $terminal $loss 1000Gb 135ms DropTail
$ns queue-limit $loss $terminal 1000
$ns queue-limit $terminal $loss 1000

array set option {drop "" acks "" late "" linux ""}
foreach word [lrange $argv 4 end] {
    foreach {key value} [split $word =] { set option($key) [split $value ,] }
}

Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set minrto_ 1.0
Agent/TCP set tcpTick_ 0.001
Agent/TCP set windowInitOption_ 1
Agent/TCP set windowInit_ 10
Agent/TCP set window_ 64
Agent/TCP set packetSize_ 960
Agent/TCP/FullTcp set segsize_ 960
Agent/TCP/FullTcp set nodelay_ true
Agent/TCP/FullTcp set segsperack_ 1

if {[lindex $argv 0] eq "TCP/Vegas"} {
    # It sends packets without headers, and takes no round trip of what leaves at time zero.
    Agent/TCP set packetSize_ 1000
    Agent/TCP set windowInit_ 1
}

set sender [new Agent/[lindex $argv 0]]
set receiver [new Agent/[lindex $argv 1]]
if {[string match TCP/FullTcp* [lindex $argv 0]]} { $receiver listen }
if {[string match TCP/Linux* [lindex $argv 0]]} {
    $sender set timestamps_ true
    $receiver set ts_echo_rfc1323_ true
}
$ns attach-agent $server $sender
$ns attach-agent $terminal $receiver
$ns connect $sender $receiver
if {$option(linux) ne ""} { $ns at 0.0 "$sender select_ca $option(linux)" }

proc losses {numbers target from to} {
    global ns
    if {[llength $numbers] == 0} { return }
    set errors [new ErrorModel/List]
    $errors droplist $numbers
    $errors drop-target $target
    $ns lossmodel $errors $from $to
}
losses $option(drop) [new Agent/Null] $loss $terminal
losses $option(acks) [new Agent/Null] $terminal $loss
if {$option(late) ne ""} {
    # Behind the link's queue and delay comes another delay for these.
    set detour [new DelayLink]
    $detour set bandwidth_ 1000Gb
    $detour set delay_ [lindex $option(late) 0]
    $detour target [$terminal entry]
    set errors [new ErrorModel/List]
    $errors droplist [lrange $option(late) 1 end]
    $ns link-lossmodel $errors $loss $terminal
    # A queue feeds the delay, as in every link.
    set waiting [new Queue/DropTail]
    $waiting set limit_ 1000
    $waiting target $detour
    $errors drop-target $waiting
}
set source [new Application/FTP]
$source attach-agent $sender
if {[string match TCP/FullTcp* [lindex $argv 0]]} {
    $ns at 0.0 "$source send [expr 960 * [lindex $argv 2]]"
} else {
    $ns at 0.0 "$source producemore [lindex $argv 2]"
}
$ns at 60.0 "$ns flush-trace; exit 0"
$ns run
