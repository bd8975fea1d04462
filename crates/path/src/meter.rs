//! A count of what has passed, for changes that come after an amount of data.

use std::collections::VecDeque;

use cellwind_engine::machine::{Machine, Outbox, Port};
use cellwind_engine::packet::Packet;
use cellwind_engine::time::Time;
use cellwind_engine::units::Size;

/// Passes packets on at once and calls for notice when an amount has been reached; packets enter and leave at port 0.
#[derive(Clone, Debug)]
pub struct Meter {
    /// Amounts not reached yet, the smallest first.
    amounts: VecDeque<u64>,
    bytes: u64,
}

impl Meter {
    /// A meter that calls at each of `amounts`.
    pub fn new(mut amounts: Vec<Size>) -> Self {
        amounts.sort_unstable();
        Meter { amounts: amounts.into_iter().map(Size::as_bytes).collect(), bytes: 0 }
    }

    /// Calls at one more amount, which has not been reached.
    pub fn call_at(&mut self, amount: Size) {
        let amount = amount.as_bytes();
        let place = self.amounts.partition_point(|&other| other < amount);
        if self.amounts.get(place) != Some(&amount) {
            self.amounts.insert(place, amount);
        }
    }

    /// What has passed: whole packets, headers included.
    pub fn passed(&self) -> Size {
        Size::from_bytes(self.bytes)
    }
}

impl Machine for Meter {
    fn on_packet(&mut self, _: Time, _: Port, packet: &Packet, out: &mut Outbox) {
        self.bytes += packet.size().as_bytes();
        while self.amounts.front().is_some_and(|&amount| amount <= self.bytes) {
            self.amounts.pop_front();
            out.notice();
        }
        out.send(Port(0), *packet);
    }

    fn on_timeout(&mut self, _: Time, _: &mut Outbox) {}

    fn next_timeout(&self) -> Option<Time> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::packet;
    use cellwind_engine::world::{Route, World};

    #[test]
    fn the_driver_gets_notice_with_the_packet_that_completes_an_amount() {
        let mut world = World::new();
        let meter = world.add("meter", Meter::new(vec![Size::from_bytes(2500), Size::from_bytes(1000)]));
        world.connect(meter, Port(0), Route::Exit(0));
        let entry = world.add_entry(meter, Port(0));
        let notices: Vec<bool> = (0..4)
            .map(|n| {
                world.inject(entry, packet(n, 960)).unwrap();
                world.take_notice()
            })
            .collect();
        assert_eq!(notices, [true, false, true, false]);
        assert_eq!(world.take_egress().count(), 4);
        assert_eq!(world.machine(meter).passed(), Size::from_bytes(4000));
    }
}
