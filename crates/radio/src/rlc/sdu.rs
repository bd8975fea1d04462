//! What one direction of a bearer carries: its SDUs, and where they lie in its PDUs.
//!
//! The transmitter writes here which PDU an SDU begins and ends in, as length indicators tell the receiver; the receiver
//! looks it up when PDUs arrive. An SDU stays until it was delivered or dropped and the transmitter has forgotten it.

use std::collections::VecDeque;

use cellwind_engine::fact::DropReason;
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::Packet;
use cellwind_engine::time::Time;
use cellwind_path::traffic::Traffic;

use super::pdu::{Status, StatusEnd};
use crate::pdcp::Form;

/// A service data unit.
#[derive(Clone, Copy, Debug)]
pub struct Sdu {
    /// The packet it is.
    pub packet: Packet,
    /// Its octets as RLC sees it, at least one.
    pub octets: u32,
    /// When it was handed to RLC.
    pub entered: Time,
    /// Count of the PDU with its first octet; meaningful once that was sent.
    pub first: u64,
    /// Count of the PDU that tells its end; meaningful once that was sent.
    pub last: u64,
    /// Its octets in its first PDU.
    pub in_first: u16,
    /// Its octets in the PDU that tells its end: none where a length indicator tells that the PDU before ended with it.
    pub in_last: u16,
    /// What became of it.
    pub fate: Fate,
    /// How PDCP wrote its headers.
    pub form: Form,
}

/// What became of an SDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is on its way.
    Open,
    /// The transmitter has given it up, as the receiver will learn, for this reason.
    GivenUp(DropReason),
    /// It has left the receiver.
    Delivered,
    /// It is lost.
    Dropped,
}

impl Fate {
    /// Whether it may still arrive.
    pub const fn is_open(self) -> bool {
        matches!(self, Fate::Open | Fate::GivenUp(_))
    }
}

impl Sdu {
    /// An SDU of `octets` that enters at `now`.
    pub fn new(now: Time, packet: &Packet, octets: u32) -> Self {
        let octets = octets.max(1);
        Sdu {
            packet: *packet,
            octets,
            entered: now,
            first: 0,
            last: 0,
            in_first: 0,
            in_last: 0,
            fate: Fate::Open,
            form: Form::Whole,
        }
    }
}

/// A part of an SDU in one PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Ordinal of the SDU, counted from the start of the direction.
    pub sdu: u64,
    /// Where in the SDU it begins.
    pub offset: u32,
    /// Its octets; none where only the end is told.
    pub octets: u32,
    /// Whether this PDU tells that the SDU ends with it.
    pub ends: bool,
}

/// The SDUs of one direction of a bearer.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    /// Number of the part that tells facts about its SDUs.
    part: u16,
    sdus: VecDeque<Sdu>,
    /// Ordinal of the first of them.
    first: u64,
    /// Ordinal of the first SDU whose end is in no PDU yet.
    pub laid: u64,
    /// Octets of that SDU which are in PDUs.
    pub laid_octets: u32,
    /// Whether a PDU has begun to carry it.
    pub is_begun: bool,
    /// Octets that are in no PDU yet.
    pub unsent_octets: u64,
    /// Ordinal of the first SDU that the transmitter may still need.
    released: u64,
    /// Octets of the SDUs that it may still need.
    held_octets: u64,
    /// Ordinal of the first SDU that is still open, as far as the receiver has looked.
    pub settled: u64,
    /// VT(S) as a count: no PDU from it on was sent.
    pub sent_to: u64,
    /// STATUS PDUs that have been read, for those to come.
    spare: Vec<Status>,
    traffic: Traffic,
}

impl Carried {
    /// The SDUs of the direction that facts know as this part of its machine.
    pub fn of_part(part: u16) -> Self {
        Carried { part, ..Carried::default() }
    }

    /// The ordinal that the next SDU will have.
    #[inline]
    pub fn end(&self) -> u64 {
        self.first + self.sdus.len() as u64
    }

    /// Ordinal of the first SDU that waits, as no octet of it was sent.
    pub fn first_waiting(&self) -> u64 {
        self.laid + u64::from(self.is_begun)
    }

    /// How many SDUs wait of which no octet was sent.
    pub fn waiting(&self) -> usize {
        (self.end() - self.first_waiting()) as usize
    }

    /// Octets that are in no PDU yet.
    pub fn unsent_octets(&self) -> u64 {
        self.unsent_octets
    }

    /// Octets of all SDUs that the transmitter keeps.
    pub fn held_octets(&self) -> u64 {
        self.held_octets
    }

    /// What went through, in packets.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The SDU with this ordinal, which is still here.
    #[inline]
    pub fn sdu(&self, ordinal: u64) -> &Sdu {
        &self.sdus[(ordinal - self.first) as usize]
    }

    /// The SDU with this ordinal, to change it.
    #[inline]
    pub fn sdu_mut(&mut self, ordinal: u64) -> &mut Sdu {
        &mut self.sdus[(ordinal - self.first) as usize]
    }

    /// Notes how PDCP wrote the headers of an SDU, if that was taken in.
    pub fn set_form(&mut self, ordinal: u64, form: Form) {
        if let Some(sdu) = ordinal.checked_sub(self.first).and_then(|place| self.sdus.get_mut(place as usize)) {
            sdu.form = form;
        }
    }

    /// Ordinal of the first SDU that is still here.
    pub fn start(&self) -> u64 {
        self.first
    }

    /// Takes a packet in as the last SDU.
    pub fn enter(&mut self, now: Time, packet: &Packet, octets: u32) {
        self.traffic.enter(packet);
        let sdu = Sdu::new(now, packet, octets);
        self.unsent_octets += u64::from(sdu.octets);
        self.held_octets += u64::from(sdu.octets);
        self.sdus.push_back(sdu);
    }

    /// Refuses a packet.
    pub fn refuse(&mut self, packet: &Packet, reason: DropReason, out: &mut Outbox) {
        self.traffic.enter(packet);
        self.traffic.drop(packet);
        out.drop(packet, reason);
    }

    /// Hands an SDU up.
    #[inline]
    pub fn deliver(&mut self, ordinal: u64, delivered: &mut impl FnMut(&Sdu)) {
        let sdu = &mut self.sdus[(ordinal - self.first) as usize];
        debug_assert!(sdu.fate.is_open(), "an SDU is delivered once");
        sdu.fate = Fate::Delivered;
        self.traffic.deliver(&sdu.packet);
        delivered(sdu);
    }

    /// Gives an SDU up for lost.
    pub fn drop(&mut self, ordinal: u64, reason: DropReason, out: &mut Outbox) {
        let sdu = self.sdu_mut(ordinal);
        debug_assert!(sdu.fate.is_open(), "an SDU is dropped once");
        sdu.fate = Fate::Dropped;
        let packet = sdu.packet;
        self.traffic.drop(&packet);
        // Also the entity that sends in the other direction may be the one that learns of it.
        out.speaking_as(self.part, |out| out.drop(&packet, reason));
    }

    /// Drops the first SDU of those of which nothing was sent, behind the PDU with the count `last`.
    pub fn drop_waiting(&mut self, last: u64, reason: DropReason, out: &mut Outbox) {
        debug_assert!(!self.is_begun, "nothing of it was sent");
        let sdu = self.sdu_mut(self.laid);
        (sdu.first, sdu.last) = (last, last);
        self.unsent_octets -= u64::from(sdu.octets);
        self.drop(self.laid, reason, out);
        self.laid += 1;
        self.settle();
    }

    /// Drops all SDUs of which something was sent, and the transmitter forgets them.
    pub fn drop_begun(&mut self, reason: DropReason, out: &mut Outbox) {
        if self.is_begun {
            self.unsent_octets -= u64::from(self.sdu(self.laid).octets - self.laid_octets);
            self.laid += 1;
            (self.laid_octets, self.is_begun) = (0, false);
        }
        for ordinal in self.first..self.laid {
            if self.sdu(ordinal).fate.is_open() {
                self.drop(ordinal, reason, out);
            }
        }
        self.settle();
        self.release(self.laid);
    }

    /// Counts SDUs as settled that are not open any more.
    pub fn settle(&mut self) {
        self.settled = self.settled.max(self.first);
        while self.settled < self.laid && !self.sdu(self.settled).fate.is_open() {
            self.settled += 1;
        }
    }

    /// Ordinal of the first SDU from `settled` on that ends in a PDU with a count of at least `count`, or is not laid.
    pub fn first_ending_from(&self, count: u64) -> u64 {
        let (mut low, mut high) = (self.settled, self.laid);
        while low < high {
            let middle = low.midpoint(high);
            if self.sdu(middle).last < count {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The transmitter forgets all SDUs below `ordinal`.
    pub fn release(&mut self, ordinal: u64) {
        while self.released < ordinal {
            self.held_octets -= u64::from(self.sdu(self.released).octets);
            self.released += 1;
        }
        self.forget();
    }

    /// Ordinal of the first SDU that the transmitter has not forgotten.
    #[inline]
    pub fn released(&self) -> u64 {
        self.released
    }

    /// Forgets SDUs that nobody needs any more.
    pub fn forget(&mut self) {
        while self.first < self.released && self.sdus.front().is_some_and(|sdu| !sdu.fate.is_open()) {
            self.sdus.pop_front();
            self.first += 1;
        }
    }

    /// What the PDU with this count carries, of those sent and not forgotten, when a PDU has room for `room` octets.
    pub fn segments(&self, count: u64, room: u32) -> Vec<Segment> {
        let mut segments = Vec::new();
        let laid = self.laid + u64::from(self.is_begun);
        for ordinal in self.first..laid.min(self.end()) {
            let sdu = self.sdu(ordinal);
            let is_whole = ordinal < self.laid;
            if sdu.first > count || (is_whole && sdu.last < count) {
                continue;
            }
            let ends = is_whole && sdu.last == count;
            let before = if sdu.first == count { 0 } else { sdu.before(count, room) };
            let octets = match (sdu.first == count, ends) {
                (true, _) => u32::from(sdu.in_first),
                (false, true) => u32::from(sdu.in_last),
                (false, false) => room.min(sdu.octets - before),
            };
            segments.push(Segment { sdu: ordinal, offset: before, octets, ends });
        }
        segments
    }

    /// Takes all out that may still arrive, in its order, and begins anew.
    pub fn drain(&mut self) -> impl Iterator<Item = Packet> + '_ {
        let end = self.end();
        (self.first, self.laid, self.released, self.settled) = (end, end, end, end);
        (self.laid_octets, self.is_begun, self.unsent_octets, self.held_octets, self.sent_to) = (0, false, 0, 0, 0);
        let traffic = &mut self.traffic;
        self.sdus.drain(..).filter(|sdu| sdu.fate.is_open()).map(|sdu| {
            traffic.hand_back(&sdu.packet);
            sdu.packet
        })
    }

    /// A STATUS PDU to fill.
    pub fn spare_status(&mut self) -> Status {
        self.spare.pop().unwrap_or_else(|| Status { fields: Vec::new(), end: StatusEnd::NoMore })
    }

    /// Takes a STATUS PDU back that nobody reads any more.
    pub fn recycle(&mut self, mut status: Status) {
        if self.spare.len() < 8 {
            status.fields.clear();
            self.spare.push(status);
        }
    }

    /// Checks that no SDU was lost or made inside, and that the octets are counted right.
    pub fn check(&self) -> Result<(), String> {
        self.traffic.check(self.sdus.iter().filter(|sdu| sdu.fate.is_open()).map(|sdu| &sdu.packet))?;
        let octets = |from: u64| (from..self.end()).map(|ordinal| u64::from(self.sdu(ordinal).octets)).sum::<u64>();
        let unsent = octets(self.laid);
        if unsent != self.unsent_octets + u64::from(self.laid_octets) {
            return Err(format!(
                "{unsent} octets of SDUs are not laid, but {} are counted as unsent besides {} sent",
                self.unsent_octets, self.laid_octets
            ));
        }
        let held = octets(self.released);
        if held != self.held_octets {
            return Err(format!("{held} octets are held, but {} are counted", self.held_octets));
        }
        if self.first > self.settled || self.released > self.laid || self.laid > self.end() {
            return Err(format!(
                "ordinals are out of order: {} first, {} settled, {} released, {} laid, {} end",
                self.first,
                self.settled,
                self.released,
                self.laid,
                self.end()
            ));
        }
        Ok(())
    }
}

impl Sdu {
    /// Its octets in the PDUs before `count`, which is behind its first.
    fn before(&self, count: u64, room: u32) -> u32 {
        let whole = (count - self.first - 1) as u32 * room;
        (u32::from(self.in_first) + whole).min(self.octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two SDUs of 60 and 30 octets in PDUs with room for 41 octets, of which a length indicator takes one.
    fn carried() -> Carried {
        let mut carried = Carried::default();
        for octets in [60, 30] {
            carried.enter(Time::ZERO, &Packet { payload: octets - 20, header: 20, ..Packet::EMPTY }, octets);
        }
        // PDU 0: 41 octets of the first; PDU 1: 19 octets, an indicator, 21 octets of the second; PDU 2: the other 9.
        *carried.sdu_mut(0) = Sdu { first: 0, last: 1, in_first: 41, in_last: 19, ..*carried.sdu(0) };
        *carried.sdu_mut(1) = Sdu { first: 1, last: 2, in_first: 21, in_last: 9, ..*carried.sdu(1) };
        (carried.laid, carried.unsent_octets) = (2, 0);
        carried
    }

    #[test]
    fn segments_are_found_again_from_where_sdus_begin_and_end() {
        let carried = carried();
        let segment = |sdu, offset, octets, ends| Segment { sdu, offset, octets, ends };
        assert_eq!(carried.segments(0, 41), [segment(0, 0, 41, false)]);
        assert_eq!(carried.segments(1, 41), [segment(0, 41, 19, true), segment(1, 0, 21, false)]);
        assert_eq!(carried.segments(2, 41), [segment(1, 21, 9, true)]);
        assert_eq!(carried.segments(3, 41), []);
    }

    #[test]
    fn an_sdu_stays_until_both_ends_are_done_with_it() {
        let mut carried = carried();
        carried.deliver(0, &mut |_| ());
        carried.forget();
        assert_eq!((carried.start(), carried.held_octets()), (0, 90));
        carried.release(1);
        assert_eq!((carried.start(), carried.held_octets()), (1, 30));
        carried.release(2);
        carried.drop(1, DropReason::Expired, &mut Outbox::new(false));
        carried.forget();
        assert_eq!((carried.start(), carried.traffic().packets_held()), (2, 0));
        carried.settled = 2;
        carried.check().unwrap();
    }
}
