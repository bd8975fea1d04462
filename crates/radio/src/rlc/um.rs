//! Unacknowledged mode, TS 25.322 §4.2.1.2, §9.7.3.2 and §11.2.
//!
//! SDUs are segmented into UMD PDUs of one size, the end of one and the beginning of the next in the same PDU, and nothing is
//! sent again: an SDU that has an octet, or the length indicator of its end, in a lost PDU is lost.
//!
//! PDUs are told by their counts, of which a UMD PDU carries the lowest seven bits. differs: a receiver notices every gap, also
//! one of a multiple of 128 PDUs, after which the bits would join parts of two SDUs that the checksum of the packet refuses.

use cellwind_engine::fact::DropReason;
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::Packet;
use cellwind_engine::time::Time;

use super::pdu::IndicatorSize;
use super::sdu::{Carried, Sdu};
use super::settings::UmSettings;
use super::{Format, Pdu};

/// The transmitting entity of one direction.
#[derive(Clone, Debug)]
pub struct Transmitter {
    settings: UmSettings,
    format: Format,
    /// Whether an SDU was discarded in the middle, of which the next PDU must leave no trace.
    is_cut: bool,
}

impl Transmitter {
    /// Octets of a UMD PDU's header without length indicators (§9.2.1.3).
    const HEADER: u32 = 1;

    /// An entity that sends PDUs of `format`, which have room for an octet beside a length indicator.
    pub fn new(settings: &UmSettings, format: Format) -> Self {
        Transmitter { settings: settings.clone(), format, is_cut: false }
    }

    /// Changes its settings and the format of the PDUs to come.
    pub fn set(&mut self, settings: &UmSettings, format: Format) {
        self.settings = settings.clone();
        self.format = format;
    }

    /// Changes how its PDUs are sent.
    pub fn set_format(&mut self, format: Format) {
        self.format = format;
    }

    /// Takes a packet from the upper layer.
    pub fn on_sdu(&mut self, now: Time, packet: &Packet, octets: u32, outgoing: &mut Carried, out: &mut Outbox) {
        let waiting = outgoing.unsent_octets();
        if self.settings.queue.admits(outgoing.waiting(), waiting, packet.size()) {
            outgoing.enter(now, packet, octets);
        } else {
            // §9.7.3.5: without a discard timer SDUs are only discarded when the transmission buffer is full.
            outgoing.refuse(packet, DropReason::QueueFull, out);
        }
    }

    /// Whether it needs a PDU.
    pub fn has_something_to_send(&self, outgoing: &Carried) -> bool {
        outgoing.unsent_octets() > 0 || outgoing.is_begun
    }

    /// Fills at most `blocks` PDUs and says how many.
    pub fn on_opportunity(
        &mut self,
        now: Time,
        blocks: u64,
        outgoing: &mut Carried,
        batch: &mut Vec<Pdu>,
        out: &mut Outbox,
    ) -> u64 {
        // §11.2.4.3: a number is left out, so that the receiver drops what it has of the SDU.
        if self.has_something_to_send(outgoing) {
            outgoing.sent_to += u64::from(std::mem::take(&mut self.is_cut));
        }
        let first = outgoing.sent_to;
        while outgoing.sent_to - first < blocks && self.has_something_to_send(outgoing) {
            self.fill(now, outgoing, out);
            outgoing.sent_to += 1;
        }
        let count = outgoing.sent_to - first;
        if count > 0 {
            batch.push(Pdu::Unacknowledged { first, count: count as u16 });
        }
        count
    }

    /// Fills the next PDU.
    fn fill(&mut self, now: Time, outgoing: &mut Carried, out: &mut Outbox) {
        let size = IndicatorSize::of_umd(usize::from(self.format.pdu));
        let indicator = size.octets() as u32;
        let count = outgoing.sent_to;
        let mut room = u32::from(self.format.pdu) - Self::HEADER;
        // §9.2.2.8: the first length indicator tells that an SDU ended with the PDU before, or that one begins here. The
        // network tells the latter too, for which the UE must be prepared, so that only its own PDUs can lose an SDU. In the
        // middle of an SDU there is neither.
        if awaits_its_end(outgoing) {
            outgoing.sdu_mut(outgoing.laid).in_last = 0;
            end(outgoing, count);
            self.on_timeout(now, outgoing, out);
        }
        if !outgoing.is_begun {
            room -= indicator;
        }
        while room > 0 && outgoing.laid < outgoing.end() {
            let ordinal = outgoing.laid;
            let left = outgoing.sdu(ordinal).octets - outgoing.laid_octets;
            let ends = left + indicator <= room;
            let octets = left.min(room);
            let begins = !std::mem::replace(&mut outgoing.is_begun, true);
            outgoing.laid_octets += octets;
            outgoing.unsent_octets -= u64::from(octets);
            let sdu = outgoing.sdu_mut(ordinal);
            if begins {
                (sdu.first, sdu.in_first) = (count, octets as u16);
            }
            if !ends {
                // It goes on in the next PDU, or ends with this one or an octet before, as the next will tell.
                return;
            }
            sdu.in_last = octets as u16;
            end(outgoing, count);
            room -= octets + indicator;
            // §9.2.2.8: one octet behind an end that an indicator of fifteen bits tells is padding.
            if room == 1 && size == IndicatorSize::Fifteen {
                return;
            }
        }
    }

    /// When the SDU that waits longest is to be discarded.
    pub fn next_timeout(&self, outgoing: &Carried) -> Option<Time> {
        // §9.5 d: an SDU is discarded if the timer ends before it was submitted. What waits behind one that was, but whose end
        // is to be told, is looked at with the next PDU.
        let span = self.settings.discard_timer.span()?;
        let is_waiting = outgoing.laid < outgoing.end() && !awaits_its_end(outgoing);
        is_waiting.then(|| outgoing.sdu(outgoing.laid).entered + span)
    }

    /// Discards SDUs whose time is over.
    pub fn on_timeout(&mut self, now: Time, outgoing: &mut Carried, out: &mut Outbox) {
        while self.next_timeout(outgoing).is_some_and(|due| due <= now) {
            // differs: an SDU of which nothing was sent leaves no gap in the numbers, as §9.7.3.5 has it and §11.2.4.3 has not;
            // such a gap could only cost others.
            self.is_cut |= outgoing.is_begun;
            discard_first(DropReason::Expired, outgoing, out);
        }
    }
}

/// The receiving entity of one direction.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// Count of the next PDU expected, of which VR(US) is the number (§9.4).
    vr_us: u64,
}

impl Receiver {
    /// Takes PDUs that arrived one behind the other, and hands up what they complete.
    pub fn on_pdus(
        &mut self,
        first: u64,
        count: u16,
        incoming: &mut Carried,
        delivered: &mut impl FnMut(&Sdu),
        out: &mut Outbox,
    ) {
        let end = first + u64::from(count);
        let begun = incoming.laid + u64::from(incoming.is_begun);
        let mut ordinal = incoming.settled;
        while ordinal < begun && incoming.sdu(ordinal).first < end {
            let sdu = incoming.sdu(ordinal);
            let last = if ordinal < incoming.laid { sdu.last } else { u64::MAX };
            if !sdu.fate.is_open() {
                // The transmitter has discarded it.
            } else if sdu.first < first && last >= self.vr_us && self.vr_us < first {
                // §11.2.3.1: it could have a segment or the indicator of its end in a missing PDU, and has.
                incoming.drop(ordinal, DropReason::RandomLoss, out);
            } else if last < end {
                incoming.deliver(ordinal, delivered);
            } else {
                break;
            }
            ordinal += 1;
        }
        incoming.settled = ordinal;
        // What was discarded and is still in flight is behind it, too.
        incoming.settle();
        incoming.forget();
        self.vr_us = end;
    }
}

/// Whether the SDU that is being sent has no octets left, but the next PDU must tell its end.
fn awaits_its_end(outgoing: &Carried) -> bool {
    outgoing.is_begun && outgoing.sdu(outgoing.laid).octets == outgoing.laid_octets
}

/// The SDU that is being sent ends, as the PDU with this count tells.
fn end(outgoing: &mut Carried, count: u64) {
    outgoing.sdu_mut(outgoing.laid).last = count;
    go_on(outgoing);
}

/// Discards the SDU that is to be sent next, or goes on being sent.
pub(super) fn discard_first(reason: DropReason, outgoing: &mut Carried, out: &mut Outbox) {
    let ordinal = outgoing.laid;
    let sdu = *outgoing.sdu(ordinal);
    outgoing.unsent_octets -= u64::from(sdu.octets - outgoing.laid_octets);
    if sdu.fate.is_open() {
        outgoing.drop(ordinal, reason, out);
    }
    go_on(outgoing);
}

/// Turns to the next SDU; the transmitter does not need this one any more.
pub(super) fn go_on(outgoing: &mut Carried) {
    outgoing.laid += 1;
    (outgoing.laid_octets, outgoing.is_begun) = (0, false);
    outgoing.release(outgoing.laid);
    outgoing.settled = outgoing.settled.max(outgoing.start());
}

#[cfg(test)]
mod tests;
