//! A fixed delay that keeps the order of packets.

use std::collections::VecDeque;

use cellwind_engine::packet::Packet;
use cellwind_engine::time::{Span, Time};

/// Packets on their way through nodes that take a fixed time.
#[derive(Clone, Debug, Default)]
pub struct Delay {
    span: Span,
    /// When the last packet leaves that entered under an earlier delay; none may overtake it.
    not_before: Time,
    inside: VecDeque<(Time, Packet)>,
}

impl Delay {
    /// Delays what enters from now on by `span`.
    pub fn set_span(&mut self, span: Span) {
        self.not_before = self.inside.back().map_or(Time::ZERO, |&(leaves, _)| leaves);
        self.span = span;
    }

    /// When a packet that enters at `now` leaves.
    #[inline]
    pub fn leaves(&self, now: Time) -> Time {
        (now + self.span).max(self.not_before)
    }

    /// Takes a packet in; gives it back if it leaves at once.
    #[inline]
    pub fn enter(&mut self, now: Time, packet: Packet) -> Option<Packet> {
        let leaves = self.leaves(now);
        if leaves <= now && self.inside.is_empty() {
            return Some(packet);
        }
        self.inside.push_back((leaves, packet));
        None
    }

    /// When the next packet leaves.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.inside.front().map(|&(leaves, _)| leaves)
    }

    /// The next packet, if it leaves by `now`.
    #[inline]
    pub fn leave(&mut self, now: Time) -> Option<Packet> {
        let &(leaves, packet) = self.inside.front()?;
        (leaves <= now).then(|| {
            self.inside.pop_front();
            packet
        })
    }

    /// Takes all packets out, in their order.
    pub fn drain(&mut self) -> impl Iterator<Item = Packet> + '_ {
        self.not_before = Time::ZERO;
        self.inside.drain(..).map(|(_, packet)| packet)
    }

    /// The packets inside.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.inside.iter().map(|(_, packet)| packet)
    }
}
