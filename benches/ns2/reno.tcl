# One Reno flow in ns-2: 576-byte packets over 384 kbit/s and 135 ms one way, a queue of 50 packets.
# Usage: ns reno.tcl SECONDS all|few [TRACE-FILE]
# Prints the CPU seconds spent inside `$ns run` and the data packets sent.

# By default every packet carries the headers of all protocols; `few` leaves those in use.
if {[lindex $argv 1] eq "few"} {
    remove-all-packet-headers
    add-packet-header IP TCP Flags
}

proc cpu_ns {} {
    set file [open /proc/self/schedstat]
    set ns [lindex [read $file] 0]
    close $file
    return $ns
}

set seconds [lindex $argv 0]
set ns [new Simulator]
if {[llength $argv] > 2} {
    $ns trace-all [open [lindex $argv 2] w]
}

set server [$ns node]
set terminal [$ns node]
$ns duplex-link $server $terminal 384kb 135ms DropTail
$ns queue-limit $server $terminal 50
$ns queue-limit $terminal $server 50

set sender [new Agent/TCP/Reno]
# ns-2 adds 40 bytes of headers.
$sender set packetSize_ 536
$sender set window_ 10000
set receiver [new Agent/TCPSink]
$ns attach-agent $server $sender
$ns attach-agent $terminal $receiver
$ns connect $sender $receiver
set source [new Application/FTP]
$source attach-agent $sender

$ns at 0.0 "$source start"
$ns at $seconds {
    puts "cpu_s [expr {([cpu_ns] - $started) * 1e-9}]"
    puts "packets [$sender set ndatapack_]"
    puts "resent [$sender set nrexmitpack_]"
    exit 0
}
set started [cpu_ns]
$ns run
