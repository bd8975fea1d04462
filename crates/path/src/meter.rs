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
