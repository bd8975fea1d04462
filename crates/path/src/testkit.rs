//! Helpers of this crate's tests.

use cellwind_engine::machine::{Machine, Outbox, Port};
use cellwind_engine::packet::{Flags, Packet};
use cellwind_engine::time::Time;

/// A packet of flow 0 with 40 bytes of header.
pub fn packet(seq: u64, payload: u32) -> Packet {
    Packet { seq, payload, flags: Flags::ACK, ..Packet::EMPTY }
}

/// Gives the packets to the machine at their instants (ms) and returns what leaves, and when.
pub fn run(machine: &mut impl Machine, packets: &[(u64, Packet)]) -> Vec<(Time, Packet)> {
    let mut out = Outbox::new(false);
    let mut left = Vec::new();
    let wake = |machine: &mut dyn Machine, until: Time, out: &mut Outbox, left: &mut Vec<_>| {
        while let Some(due) = machine.next_timeout().filter(|&due| due <= until && due < Time::MAX) {
            machine.on_timeout(due, out);
            left.extend(out.take_packets().map(|(_, packet)| (due, packet)));
        }
    };
    for &(ms, packet) in packets {
        let now = Time::from_millis(ms);
        wake(machine, now, &mut out, &mut left);
        machine.on_packet(now, Port(0), &packet, &mut out);
        left.extend(out.take_packets().map(|(_, packet)| (now, packet)));
    }
    wake(machine, Time::MAX, &mut out, &mut left);
    left
}
