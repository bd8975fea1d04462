//! Handover: one direction of the switch that leads a terminal's packets into the access it is in.
//!
//! E. Teyeb, "Quality of packet services in UMTS and heterogeneous networks" (2006), sections 7.2.1 and 7.2.2: while
//! the terminal moves, no packet leaves. What is in flight in the old access and what arrives meanwhile is dropped or
//! kept; what is kept enters the new access at the end of the handover, as if it arrived at that instant.

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
    /// A switch whose terminal is in the access of this number.
    pub fn new(access: u8) -> Self {
        Handover { access, moving: None, kept: VecDeque::new(), traffic: Traffic::default() }
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

    /// Begins to move to another access, which takes `delay`.
    ///
    /// The caller then makes the old access hand back what it holds, before any other packet arrives. A handover that
    /// is still going on is replaced; what it has kept counts as in flight.
    pub fn begin(&mut self, now: Time, access: u8, delay: Span, buffering: Buffering, out: &mut Outbox) {
        self.access = access;
        self.moving = Some(Moving { ends: now + delay, buffering });
        out.fact(Fact::new(FactKind::HandoverStarted, FlowId::NONE).values(u64::from(access), delay.as_nanos()));
        if buffering != Buffering::Full {
            for packet in std::mem::take(&mut self.kept) {
                self.discard(&packet, out);
            }
        }
    }

    fn discard(&mut self, packet: &Packet, out: &mut Outbox) {
        self.traffic.drop(packet);
        out.drop(packet, DropReason::Handover);
    }

    fn pass(&mut self, packet: &Packet, out: &mut Outbox) {
        self.traffic.deliver(packet);
        out.send(Port(self.access), *packet);
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
        if self.moving.is_none_or(|moving| moving.ends > now) {
            return;
        }
        self.moving = None;
        let kept = self.kept.len() as u64;
        out.fact(Fact::new(FactKind::HandoverEnded, FlowId::NONE).values(u64::from(self.access), kept));
        for packet in std::mem::take(&mut self.kept) {
            self.pass(&packet, out);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.moving.map(|moving| moving.ends)
    }
}
