//! Handover: one direction of the switch that leads a terminal's packets into the access it is in.
//!
//! O. Teyeb, "Quality of packet services in UMTS and heterogeneous networks" (2006), sections 7.2.1 and 7.2.2: while
//! the terminal moves, no packet leaves. What is in flight in the old access and what arrives meanwhile is dropped or
//! kept; what is kept enters the new access at the end of the handover, as if it arrived at that instant. In a soft
//! handover (section 7.1) the terminal is in both, and no packet is lost or waits.

use std::collections::VecDeque;

use cellwind_engine::fact::{DropReason, Fact, FactKind};
use cellwind_engine::machine::{Machine, Outbox, Port};
use cellwind_engine::packet::{FlowId, Packet};
use cellwind_engine::time::{Span, Time};
use cellwind_path::traffic::Traffic;

use crate::settings::Buffering;

/// The port at which the switch takes back what the old access held, in its order.
pub const TAKEN_BACK: Port = Port(1);

/// One direction of a terminal's switch. Packets enter at port 0 and leave through the port that has the number of the
/// access; what the old access hands back enters at [`TAKEN_BACK`].
#[derive(Clone, Debug)]
pub struct Handover {
    access: u8,
    /// The place in the scenario of each access, by its number.
    places: Vec<u16>,
    /// Accesses that soft handovers have left, in the order in which they were left: they may still hold packets.
    legs: Vec<u8>,
    moving: Option<Moving>,
    /// Packets for the new access, in their order.
    kept: VecDeque<Packet>,
    traffic: Traffic,
}

/// A handover that is going on.
#[derive(Clone, Copy, Debug)]
struct Moving {
    ends: Time,
    buffering: Buffering,
}

impl Handover {
    /// A switch whose terminal is in the first of the accesses that have these places in the scenario.
    pub fn new(places: Vec<u16>) -> Self {
        Handover {
            access: 0,
            places,
            legs: Vec::new(),
            moving: None,
            kept: VecDeque::new(),
            traffic: Traffic::default(),
        }
    }

    /// The access that the terminal is in, or moves to.
    pub fn access(&self) -> u8 {
        self.access
    }

    /// What went through.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Checks that no packet was lost or made inside.
    pub fn check(&self) -> Result<(), String> {
        self.traffic.check(self.kept.iter())
    }

    /// Begins to move to another access, which takes `delay`. Gives the accesses that may hold packets, the one that
    /// has the oldest first.
    ///
    /// The caller then makes these hand back what they hold, before any other packet arrives. A handover that
    /// is still going on is replaced; what it has kept counts as in flight.
    pub fn begin(&mut self, now: Time, access: u8, delay: Span, buffering: Buffering, out: &mut Outbox) -> Vec<u8> {
        let mut left = std::mem::take(&mut self.legs);
        left.push(self.access);
        self.access = access;
        self.moving = Some(Moving { ends: now + delay, buffering });
        out.fact(Fact::new(FactKind::HandoverStarted, FlowId::NONE).values(self.place(), delay.as_nanos()));
        if buffering != Buffering::Full {
            for packet in std::mem::take(&mut self.kept) {
                self.discard(&packet, out);
            }
        }
        left
    }

    /// Moves to another access while what is in flight in the old one goes on there. Where the new one is faster, packets
    /// overtake others.
    ///
    /// A handover that is still going on is over; what it has kept goes to the new access.
    pub fn begin_soft(&mut self, access: u8, out: &mut Outbox) {
        if access == self.access && self.moving.is_none() {
            return; // nothing moves
        }
        if access != self.access {
            self.legs.retain(|&leg| leg != access && leg != self.access);
            self.legs.push(self.access);
            self.access = access;
        }
        out.fact(Fact::new(FactKind::HandoverStarted, FlowId::NONE).values(self.place(), 0));
        self.end(out);
    }

    /// The terminal is in its new access.
    fn end(&mut self, out: &mut Outbox) {
        self.moving = None;
        let kept = self.kept.len() as u64;
        out.fact(Fact::new(FactKind::HandoverEnded, FlowId::NONE).values(self.place(), kept));
        for packet in std::mem::take(&mut self.kept) {
            self.pass(&packet, out);
        }
    }

    fn place(&self) -> u64 {
        self.places[usize::from(self.access)].into()
    }

    fn discard(&mut self, packet: &Packet, out: &mut Outbox) {
        self.traffic.drop(packet);
        out.drop(packet, DropReason::Handover);
    }

    fn pass(&mut self, packet: &Packet, out: &mut Outbox) {
        self.traffic.deliver(packet);
        out.send(Port(self.access.into()), *packet);
    }
}

impl Machine for Handover {
    fn on_packet(&mut self, _: Time, port: Port, packet: &Packet, out: &mut Outbox) {
        self.traffic.enter(packet);
        let was_in_flight = port == TAKEN_BACK;
        match self.moving.map(|moving| moving.buffering) {
            None => self.pass(packet, out),
            Some(Buffering::None) => self.discard(packet, out),
            Some(Buffering::Intermediate) if was_in_flight => self.discard(packet, out),
            Some(Buffering::Intermediate | Buffering::Full) => self.kept.push_back(*packet),
        }
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        if self.moving.is_some_and(|moving| moving.ends <= now) {
            self.end(out);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.moving.map(|moving| moving.ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A switch that leaves access 0 for access 1 at 10 ms and is there at 30 ms. Packets 1 and 2 were in flight, packet
    /// 3 arrives at 20 ms and packet 4 at 40 ms: what leaves when (ms), through which port, and what is dropped.
    fn moved(buffering: Buffering) -> (Vec<(u64, u16, u64)>, Vec<u64>) {
        let mut switch = Handover::new(vec![0, 1, 2]);
        let mut out = Outbox::new(true);
        let mut left = Vec::new();
        let packet = |seq| Packet { seq, ..Packet::EMPTY };
        let mut at = |ms: u64, switch: &mut Handover, deed: &dyn Fn(&mut Handover, Time, &mut Outbox)| {
            deed(switch, Time::from_millis(ms), &mut out);
            left.extend(out.take_packets().map(|(Port(port), packet)| (ms, port, packet.seq)));
            switch.check().unwrap();
        };
        at(0, &mut switch, &|switch, now, out| switch.on_packet(now, Port(0), &packet(0), out));
        at(10, &mut switch, &|switch, now, out| {
            switch.begin(now, 1, Span::from_millis(20), buffering, out);
            switch.on_packet(now, TAKEN_BACK, &packet(1), out);
            switch.on_packet(now, TAKEN_BACK, &packet(2), out);
        });
        at(20, &mut switch, &|switch, now, out| switch.on_packet(now, Port(0), &packet(3), out));
        assert_eq!(switch.next_timeout(), Some(Time::from_millis(30)));
        at(30, &mut switch, &|switch, now, out| switch.on_timeout(now, out));
        at(40, &mut switch, &|switch, now, out| switch.on_packet(now, Port(0), &packet(4), out));
        assert_eq!(switch.next_timeout(), None);
        let drops = out.take_facts().into_iter().map(|row| row.fact()).filter(|fact| fact.kind == FactKind::Drop);
        (left, drops.inspect(|fact| assert_eq!(fact.a, DropReason::Handover as u64)).map(|fact| fact.seq).collect())
    }

    #[test]
    fn without_buffering_all_that_meets_the_handover_is_dropped() {
        assert_eq!(moved(Buffering::None), (vec![(0, 0, 0), (40, 1, 4)], vec![1, 2, 3]));
    }

    #[test]
    fn intermediate_buffering_keeps_what_arrives() {
        assert_eq!(moved(Buffering::Intermediate), (vec![(0, 0, 0), (30, 1, 3), (40, 1, 4)], vec![1, 2]));
    }

    #[test]
    fn full_buffering_keeps_what_is_in_flight_as_well_and_in_order() {
        let left = vec![(0, 0, 0), (30, 1, 1), (30, 1, 2), (30, 1, 3), (40, 1, 4)];
        assert_eq!(moved(Buffering::Full), (left, vec![]));
    }

    #[test]
    fn a_soft_handover_keeps_the_old_leg_until_a_hard_one_breaks_all() {
        let mut switch = Handover::new(vec![0, 1, 2]);
        let mut out = Outbox::new(true);
        let mut ports = |switch: &mut Handover, deed: &dyn Fn(&mut Handover, &mut Outbox)| {
            deed(switch, &mut out);
            switch.check().unwrap();
            out.take_packets().map(|(Port(port), _)| port).collect::<Vec<_>>()
        };
        let packet =
            |switch: &mut Handover, out: &mut Outbox| switch.on_packet(Time::ZERO, Port(0), &Packet::EMPTY, out);
        assert_eq!(ports(&mut switch, &packet), [0]);
        assert_eq!(ports(&mut switch, &|switch, out| switch.begin_soft(1, out)), [0; 0]);
        assert_eq!(ports(&mut switch, &packet), [1]);
        assert_eq!(switch.next_timeout(), None);
        // By way of 2 back to 0: the legs are left in the order 1, 2; 0 holds what comes now, too.
        ports(&mut switch, &|switch, out| [2, 0, 0].map(|to| switch.begin_soft(to, out)).iter().for_each(drop));
        assert_eq!(ports(&mut switch, &packet), [0]);
        let end = Span::from_millis(20);
        ports(&mut switch, &|switch, out| {
            assert_eq!(switch.begin(Time::ZERO, 1, end, Buffering::Full, out), [1, 2, 0]);
        });
        assert_eq!(ports(&mut switch, &packet), [0; 0]);
        // A soft handover ends the hard one before its time; nothing is left of its legs.
        assert_eq!(ports(&mut switch, &|switch, out| switch.begin_soft(1, out)), [1]);
        ports(&mut switch, &|switch, out| assert_eq!(switch.begin(Time::ZERO, 2, end, Buffering::Full, out), [1]));
    }

    #[test]
    fn a_second_handover_replaces_the_first() {
        for (buffering, kept) in [(Buffering::Full, 1), (Buffering::Intermediate, 0)] {
            let mut switch = Handover::new(vec![0, 1, 2]);
            let mut out = Outbox::new(false);
            switch.begin(Time::ZERO, 1, Span::from_millis(20), Buffering::Full, &mut out);
            switch.on_packet(Time::ZERO, Port(0), &Packet::EMPTY, &mut out);
            switch.begin(Time::from_millis(10), 2, Span::from_millis(20), buffering, &mut out);
            assert_eq!(switch.next_timeout(), Some(Time::from_millis(30)));
            switch.on_timeout(Time::from_millis(20), &mut out); // too early
            assert_eq!(out.take_packets().count(), 0);
            switch.on_timeout(Time::from_millis(30), &mut out);
            assert!(out.take_packets().all(|(port, _)| port == Port(2)));
            assert_eq!(switch.traffic().packets_delivered, kept);
            switch.check().unwrap();
        }
    }
}
