//! Transparent mode, TS 25.322 §4.2.1.1, §9.7.3.2 and §11.1.
//!
//! An SDU is a PDU or, with segmentation, some PDUs of one TTI. Nothing is added and nothing is sent again: an SDU of which a
//! PDU is lost is not delivered ("delivery of erroneous SDUs" is no, §11.1.3). The receiving entity is that of
//! [unacknowledged mode](super::um::Receiver), which is told the counts of PDUs; here they stand for what a receiver of TMD
//! PDUs knows of the blocks of a TTI.
//!
//! differs: PDUs of a TTI have the size of the channel's blocks, which a shorter SDU does not fill; the specification has a size
//! for each SDU (§9.2.2.9).

use cellwind_engine::fact::DropReason;
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::Packet;
use cellwind_engine::time::Time;

use super::sdu::Carried;
use super::settings::TmSettings;
use super::um::{discard_first, go_on};
use super::{Format, Pdu};

/// The transmitting entity of one direction.
#[derive(Clone, Debug)]
pub struct Transmitter {
    settings: TmSettings,
    format: Format,
}

impl Transmitter {
    /// An entity that sends PDUs of `format`.
    pub fn new(settings: &TmSettings, format: Format) -> Self {
        Transmitter { settings: settings.clone(), format }
    }

    /// Changes its settings and the format of the PDUs to come; an SDU that does not fit any more is dropped when its turn comes.
    pub fn set(&mut self, settings: &TmSettings, format: Format) {
        self.settings = settings.clone();
        self.format = format;
    }

    /// Changes how its PDUs are sent.
    pub fn set_format(&mut self, format: Format) {
        self.format = format;
    }

    /// Takes a packet from the upper layer.
    pub fn on_sdu(&mut self, now: Time, packet: &Packet, octets: u32, outgoing: &mut Carried, out: &mut Outbox) {
        if self.settings.discard_timer.span().is_none() {
            // §9.7.3.5: what came in an earlier TTI has had its turn. TTIs begin at multiples of their length.
            let tti = |time: Time| time.as_nanos() / self.format.tti.as_nanos();
            while outgoing.laid < outgoing.end() && tti(outgoing.sdu(outgoing.laid).entered) < tti(now) {
                discard_first(DropReason::Expired, outgoing, out);
            }
        }
        if !self.fits(octets) {
            outgoing.refuse(packet, DropReason::TooLarge, out);
        } else if !self.settings.queue.admits(outgoing.waiting(), outgoing.unsent_octets(), packet.size()) {
            outgoing.refuse(packet, DropReason::QueueFull, out);
        } else {
            outgoing.enter(now, packet, octets);
        }
    }

    /// Whether a TTI carries an SDU of `octets`.
    fn fits(&self, octets: u32) -> bool {
        self.pdus(octets) <= if self.settings.segmentation { u64::from(self.format.blocks) } else { 1 }
    }

    /// PDUs that an SDU of `octets` takes.
    fn pdus(&self, octets: u32) -> u64 {
        u64::from(octets.div_ceil(u32::from(self.format.pdu)))
    }

    /// Whether it needs a PDU.
    pub fn has_something_to_send(&self, outgoing: &Carried) -> bool {
        outgoing.unsent_octets() > 0
    }

    /// PDUs that it can only send together next: with segmentation those of an SDU (§9.2.2.9).
    pub fn at_once(&self, outgoing: &Carried) -> u64 {
        let is_whole = self.settings.segmentation && outgoing.laid < outgoing.end();
        if is_whole { self.pdus(outgoing.sdu(outgoing.laid).octets).max(1) } else { 1 }
    }

    /// Fills at most `blocks` PDUs and says how many.
    pub fn on_opportunity(
        &mut self,
        blocks: u64,
        outgoing: &mut Carried,
        batch: &mut Vec<Pdu>,
        out: &mut Outbox,
    ) -> u64 {
        let first = outgoing.sent_to;
        while outgoing.laid < outgoing.end() {
            let ordinal = outgoing.laid;
            let octets = outgoing.sdu(ordinal).octets;
            if !self.fits(octets) {
                discard_first(DropReason::TooLarge, outgoing, out);
                continue;
            }
            let pdus = self.pdus(octets);
            let used = outgoing.sent_to - first;
            // §9.2.2.9: with segmentation, PDUs of a TTI are of one SDU, and all of its PDUs are in one TTI.
            if used + pdus > blocks || (self.settings.segmentation && used > 0) {
                break;
            }
            let whole = (pdus - 1) as u32 * u32::from(self.format.pdu);
            let sdu = outgoing.sdu_mut(ordinal);
            (sdu.first, sdu.last) = (first + used, first + used + pdus - 1);
            sdu.in_last = (octets - whole) as u16;
            sdu.in_first = octets.min(u32::from(self.format.pdu)) as u16;
            outgoing.sent_to += pdus;
            outgoing.unsent_octets -= u64::from(octets);
            go_on(outgoing);
        }
        let count = outgoing.sent_to - first;
        if count > 0 {
            batch.push(Pdu::Unacknowledged { first, count: count as u16 });
        }
        count
    }

    /// When the SDU that waits longest is to be discarded.
    pub fn next_timeout(&self, outgoing: &Carried) -> Option<Time> {
        let span = self.settings.discard_timer.span()?;
        (outgoing.laid < outgoing.end()).then(|| outgoing.sdu(outgoing.laid).entered + span)
    }

    /// Discards SDUs whose time is over.
    pub fn on_timeout(&mut self, now: Time, outgoing: &mut Carried, out: &mut Outbox) {
        while self.next_timeout(outgoing).is_some_and(|due| due <= now) {
            discard_first(DropReason::Expired, outgoing, out);
        }
    }
}

#[cfg(test)]
mod tests;
