//! A UMTS access that a test feeds with packets.

use cellwind_engine::directions::{Direction, Directions};
use cellwind_engine::fact::{Fact, FactKind};
use cellwind_engine::machine::{Machine, Outbox, Port};
use cellwind_engine::packet::Packet;
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::{Rate, Size};

use super::Umts;
use super::settings::{BearerSettings, UmtsSettings, UmtsShared};
use crate::mac::cell::settings::RadioSettings;
use crate::rlc::settings::{RlcSettings, UmSettings};
use cellwind_path::errors::settings::ErrorSettings;

/// An access without errors and delays, in unacknowledged mode and with PDUs that carry 40 octets: 384 kbit/s are 12 of them
/// in 10 ms, and nothing is sent but data.
pub fn settings() -> UmtsSettings {
    let bearer = BearerSettings {
        rate: Rate::from_kbps(384),
        tti: Span::from_millis(10),
        pdu: Size::from_bytes(41),
        errors: ErrorSettings::default(),
        rlc: RlcSettings::Um(UmSettings::default()),
    };
    UmtsSettings { shared: UmtsShared::default(), directions: Directions { down: bearer.clone(), up: bearer } }
}

/// The access and what came of it.
pub struct Access {
    pub umts: Umts,
    pub out: Outbox,
    pub now: Time,
    /// When (ms) which packet left which part.
    pub left: Vec<(u64, u16, u64)>,
    /// What facts told, and when (ms).
    pub told: Vec<(u64, Fact)>,
}

pub fn stream(name: &str) -> Stream {
    Stream::new(1, 0, name)
}

impl Access {
    pub fn new(settings: &UmtsSettings, terminals: &[RadioSettings]) -> Self {
        let mut umts = Umts::new(&settings.shared, stream("calls"));
        for (number, &radio) in terminals.iter().enumerate() {
            umts.add_terminal(settings, radio, |name| stream(&format!("{number}/{name}")));
        }
        Access { umts, out: Outbox::new(true), now: Time::ZERO, left: Vec::new(), told: Vec::new() }
    }

    /// Takes up what an input at `now` brought.
    pub fn note(&mut self) {
        let ms = self.now.as_nanos() / 1_000_000;
        for (Port(port), packet) in self.out.take_packets() {
            assert_eq!(port % 2, 0, "a packet was handed back");
            self.left.push((ms, port / 2, packet.seq));
        }
        let facts = self.out.take_facts();
        self.told.extend(facts.into_iter().map(|row| (ms, row.fact())));
    }

    /// Lets all that is due up to `ms` happen, each at its own instant.
    pub fn run(&mut self, ms: u64) {
        self.run_before(Time::from_millis(ms) + Span::from_nanos(1));
        self.now = Time::from_millis(ms);
    }

    fn run_before(&mut self, end: Time) {
        let mut again = 0;
        while let Some(due) = self.umts.next_timeout()
            && due < end
        {
            again = if due == self.now { again + 1 } else { 0 };
            assert!(again < 100, "time stands still at {due}");
            self.now = due;
            self.umts.on_timeout(due, &mut self.out);
            self.note();
        }
    }

    /// A packet of `octets` enters the way `direction` of a terminal at `ms`, before anything else happens then.
    pub fn send(&mut self, ms: u64, terminal: u16, direction: Direction, seq: u64, octets: u32) {
        self.run_before(Time::from_millis(ms));
        self.now = Time::from_millis(ms);
        let packet = Packet { seq, payload: octets, header: 0, ..Packet::EMPTY };
        self.umts.on_packet(self.now, Port(part(terminal, direction)), &packet, &mut self.out);
        self.note();
        self.umts.check().unwrap();
    }

    /// When (ms) the packets of a part left.
    pub fn times(&self, terminal: u16, direction: Direction) -> Vec<u64> {
        let part = part(terminal, direction);
        self.left.iter().filter(|left| left.1 == part).map(|left| left.0).collect()
    }

    /// PDUs that a part has sent.
    pub fn blocks(&self, terminal: u16, direction: Direction) -> u64 {
        self.umts.blocks(part(terminal, direction)).sent
    }

    /// The first values of the facts of a kind, and when (ms).
    pub fn facts(&self, kind: FactKind) -> Vec<(u64, u64)> {
        self.told.iter().filter(|told| told.1.kind == kind).map(|told| (told.0, told.1.a)).collect()
    }
}

pub fn part(terminal: u16, direction: Direction) -> u16 {
    2 * terminal + u16::from(direction == Direction::Up)
}
