//! Acknowledged mode, TS 25.322 §4.2.1.3 and clauses 9 and 11.
//!
//! An entity has a transmitting and a receiving side. The one lays SDUs into PDUs and sends them until they are
//! acknowledged; the other puts them back and reports what is missing, for which its own end's opportunities to send are
//! needed. All that is sent is a run of PDUs with consecutive numbers, so that what an opportunity costs does not grow with
//! the PDUs that it carries.

use cellwind_engine::fact::{DropReason, Fact, FactKind};
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::{FlowId, Packet};
use cellwind_engine::time::Time;
use cellwind_engine::units::Size;
use cellwind_path::settings::QueueLimit;

use self::receiver::Receiver;
use self::report::{ACK_BITS, MRW_ACK_BITS, MRW_BITS, NO_MORE_BITS};
use self::reset::Resetter;
use self::transmitter::{Transmitter, Verdict};
use super::pdu::{Reset, Status, StatusEnd, SuperField};
use super::sdu::{Carried, Sdu};
use super::settings::AmSettings;
use super::sn::Sn;
use super::{Format, Pdu};

mod discard;
mod lay;
mod poll;
mod receiver;
mod report;
mod reset;
mod ring;
#[cfg(test)]
mod tests;
mod transmitter;

/// Bits of the header of a STATUS PDU (§9.2.1.5), and of a piggybacked one (§9.2.1.6).
const STATUS_HEADER: u32 = 4;

/// One end of an acknowledged-mode bearer.
#[derive(Clone, Debug)]
pub struct AmEntity {
    transmitter: Transmitter,
    receiver: Receiver,
    resetter: Resetter,
    outgoing: Format,
    incoming: Format,
    queue: QueueLimit,
    buffer: Option<Size>,
    is_unrecoverable: bool,
}

impl AmEntity {
    /// The fewest octets that a PDU has: a STATUS PDU with the smallest report.
    pub const SMALLEST_PDU: u16 = 6;

    /// An entity that is established at `now`: the settings and formats of the direction it sends, then of the one it
    /// receives.
    pub fn new(now: Time, settings: (&AmSettings, &AmSettings), formats: (Format, Format)) -> Self {
        let (sends, receives) = settings;
        AmEntity {
            transmitter: Transmitter::new(now, sends, formats.0.pdu),
            receiver: Receiver::new(now, receives),
            resetter: Resetter::new(sends.timer_rst, sends.max_rst),
            outgoing: formats.0,
            incoming: formats.1,
            queue: sends.queue,
            buffer: sends.buffer,
            is_unrecoverable: false,
        }
    }

    /// Takes other settings over while it runs (§9.7.9). With another PDU size both entities are to be established anew behind
    /// it.
    pub fn set_settings(
        &mut self,
        now: Time,
        settings: (&AmSettings, &AmSettings),
        formats: (Format, Format),
        incoming: &mut Carried,
        delivered: &mut impl FnMut(&Sdu),
    ) {
        let (sends, receives) = settings;
        self.transmitter.set_settings(now, sends, formats.0.pdu);
        self.receiver.set_settings(now, receives, incoming, delivered);
        self.resetter.set_settings(sends.timer_rst, sends.max_rst);
        (self.outgoing, self.incoming) = formats;
        (self.queue, self.buffer) = (sends.queue, sends.buffer);
    }

    /// A packet is handed down, as an SDU of `octets`. It is dropped when there is no room for it.
    pub fn on_sdu(&mut self, now: Time, packet: &Packet, octets: u32, outgoing: &mut Carried, out: &mut Outbox) {
        let fits_queue =
            self.queue.admits(outgoing.waiting(), outgoing.unsent_octets(), Size::from_bytes(octets.into()));
        let fits_buffer =
            self.buffer.is_none_or(|buffer| outgoing.held_octets() + u64::from(octets) <= buffer.as_bytes());
        if !(fits_queue && fits_buffer) {
            outgoing.refuse(packet, DropReason::QueueFull, out);
            return;
        }
        if !self.transmitter.has_data(outgoing) {
            self.transmitter.poller.resume(now);
        }
        outgoing.enter(now, packet, octets);
        self.transmitter.tell_occupancy(outgoing, out);
    }

    /// Changes how PDUs are sent, which stay as large as they are: those that it sends, and those that it receives.
    pub fn set_formats(&mut self, formats: (Format, Format)) {
        (self.outgoing, self.incoming) = formats;
    }

    /// Whether it would send something, given an opportunity.
    pub fn has_something_to_send(&self, now: Time, outgoing: &Carried) -> bool {
        if self.is_unrecoverable {
            return false;
        }
        if self.resetter.is_pending() || self.resetter.is_due() {
            return self.resetter.is_due();
        }
        self.has_status(now) || self.transmitter.has_something_to_send(now, outgoing)
    }

    fn has_status(&self, now: Time) -> bool {
        self.receiver.may_report(now) || self.receiver.has_control() || self.transmitter.discarder.is_due()
    }

    /// Submits at most `blocks` PDUs to the lower layer and says how many: control PDUs first, then those that are resent,
    /// then new ones (§11.3.2.2, §11.4.1, §11.5.1).
    pub fn on_opportunity(
        &mut self,
        now: Time,
        blocks: u64,
        outgoing: &mut Carried,
        batch: &mut Vec<Pdu>,
        out: &mut Outbox,
    ) -> u64 {
        if self.is_unrecoverable {
            return 0;
        }
        let mut left = blocks;
        if left > 0
            && let Some(answer) = self.resetter.submit_answer()
        {
            batch.push(Pdu::ResetAck(answer));
            left -= 1;
        }
        if self.resetter.is_pending() {
            if left > 0
                && let Some(reset) = self.resetter.submit(now)
            {
                out.fact(Fact::new(FactKind::ResetSent, FlowId::NONE).values(self.resetter.attempts(), 0));
                batch.push(Pdu::Reset(reset));
                left -= 1;
            }
            return blocks - left; // §11.4.2: no AMD or STATUS PDU
        }
        let mut piggyback = None;
        if left > 0 && self.has_status(now) {
            piggyback = self.piggyback(now, left, outgoing, out);
            while piggyback.is_none() && left > 0 && self.has_status(now) {
                let room = u32::from(self.outgoing.pdu) * 8 - STATUS_HEADER;
                let mut status = outgoing.spare_status();
                self.fill(now, room, &mut status, false, out);
                batch.push(Pdu::Status(status));
                left -= 1;
            }
        }
        left -= self.transmitter.on_opportunity(now, left, outgoing, piggyback, batch, out);
        blocks - left
    }

    /// The STATUS PDU that is due, if it goes into the padding of the last PDU of this opportunity (§11.5.2.1).
    fn piggyback(&mut self, now: Time, blocks: u64, outgoing: &mut Carried, out: &mut Outbox) -> Option<Status> {
        if !self.receiver.piggybacks() {
            return None;
        }
        let padding = self.transmitter.foresee_padding(outgoing, blocks)?;
        let room = (padding * 8).checked_sub(STATUS_HEADER)?;
        let window = if self.receiver.has_control() { ACK_BITS + MRW_ACK_BITS } else { 0 };
        let discard = if self.transmitter.discarder.is_due() { MRW_BITS } else { 0 };
        let behind = room.checked_sub(window + discard + NO_MORE_BITS)?;
        if self.receiver.may_report(now) && !self.receiver.report_fits(behind) {
            return None;
        }
        let mut status = outgoing.spare_status();
        self.fill(now, room, &mut status, true, out);
        Some(status)
    }

    /// Fills a STATUS PDU of `room` bits with what is due and fits; something of it always does.
    fn fill(&mut self, now: Time, mut room: u32, status: &mut Status, is_piggybacked: bool, out: &mut Outbox) {
        status.end = StatusEnd::NoMore;
        room -= NO_MORE_BITS;
        if room >= ACK_BITS
            && let Some(window) = self.receiver.take_window()
        {
            status.fields.push(SuperField::Window(window));
            room -= ACK_BITS;
        }
        if room >= MRW_BITS
            && let Some(request) = self.transmitter.discarder.submit(now, out)
        {
            status.fields.push(request);
            room -= MRW_BITS;
        }
        if room >= MRW_ACK_BITS
            && let Some((n, sn)) = self.receiver.take_answer()
        {
            status.fields.push(SuperField::MoveReceivingWindowAck { n, sn });
            room -= MRW_ACK_BITS;
        }
        // The ACK takes the place of the NO_MORE.
        if room + NO_MORE_BITS >= ACK_BITS && self.receiver.may_report(now) {
            self.receiver.report(now, self.incoming, room + NO_MORE_BITS, status, is_piggybacked, out);
        }
    }

    /// PDUs have arrived without error. What they complete is `delivered`.
    pub fn on_pdu(
        &mut self,
        now: Time,
        pdu: Pdu,
        outgoing: &mut Carried,
        incoming: &mut Carried,
        delivered: &mut impl FnMut(&Sdu),
        out: &mut Outbox,
    ) {
        let is_pending = self.resetter.is_pending() || self.is_unrecoverable;
        self.receiver.wake(now);
        match pdu {
            Pdu::Reset(reset) => self.on_reset(reset, outgoing, out),
            Pdu::ResetAck(answer) => self.on_reset_answer(answer, outgoing, out),
            // §11.4.2: while a reset is going on, all else is ignored.
            Pdu::Data(_) if is_pending => {}
            Pdu::Data(run) => self.receiver.on_run(run, incoming, delivered),
            Pdu::Status(status) if is_pending => incoming.recycle(status),
            Pdu::DataWithStatus(_, status) if is_pending => incoming.recycle(status),
            Pdu::Status(status) => self.on_status(now, status, outgoing, incoming, delivered, out),
            Pdu::DataWithStatus(run, status) => {
                self.receiver.on_run(run, incoming, delivered);
                self.on_status(now, status, outgoing, incoming, delivered, out);
            }
            Pdu::Unacknowledged { .. } => unreachable!("both ends of a bearer are in acknowledged mode"),
        }
    }

    fn on_status(
        &mut self,
        now: Time,
        status: Status,
        outgoing: &mut Carried,
        incoming: &mut Carried,
        delivered: &mut impl FnMut(&Sdu),
        out: &mut Outbox,
    ) {
        for field in &status.fields {
            if let SuperField::MoveReceivingWindow { sns, n, .. } = field
                && let Some(&sn) = sns.last()
            {
                self.receiver.on_discard((sn, *n), incoming, delivered, out);
            }
        }
        let verdict = self.transmitter.on_status(now, &status, outgoing, out);
        self.obey(verdict, out);
        incoming.recycle(status);
    }

    fn obey(&mut self, verdict: Verdict, out: &mut Outbox) {
        if verdict == Verdict::Reset && !self.resetter.initiate(self.transmitter.hfn()) {
            self.give_up(out);
        }
    }

    /// RESET PDUs were sent in vain (§11.4.4a).
    fn give_up(&mut self, out: &mut Outbox) {
        self.is_unrecoverable = true;
        out.fact(Fact::new(FactKind::Unrecoverable, FlowId::NONE).values(self.resetter.attempts(), 0));
    }

    fn on_reset(&mut self, reset: Reset, outgoing: &mut Carried, out: &mut Outbox) {
        // While its own reset is going on, its hyper frame number is the one that it told, and stays so until the answer
        // (§11.4.5.3).
        let hfn = self.resetter.pending_hfn().unwrap_or_else(|| self.transmitter.hfn());
        if self.resetter.on_reset(reset, hfn) {
            self.transmitter.reset(hfn, outgoing, out);
            self.receiver.reset(self.receiver.hfn_from(reset.hfni));
            out.fact(Fact::new(FactKind::ResetDone, FlowId::NONE));
        }
    }

    fn on_reset_answer(&mut self, answer: Reset, outgoing: &mut Carried, out: &mut Outbox) {
        if let Some(hfn) = self.resetter.on_answer(answer) {
            self.transmitter.reset(hfn, outgoing, out);
            self.receiver.reset(self.receiver.hfn_from(answer.hfni));
            out.fact(Fact::new(FactKind::ResetDone, FlowId::NONE).values(1, 0));
        }
    }

    /// Timers that have come due.
    pub fn on_timeout(&mut self, now: Time, outgoing: &mut Carried, incoming: &Carried, out: &mut Outbox) {
        self.receiver.on_timeout(now, incoming);
        if !self.resetter.on_timeout(now) {
            self.give_up(out);
        }
        let verdict = self.transmitter.on_timeout(now, outgoing, out);
        self.obey(verdict, out);
    }

    /// When a timer makes a difference next; what only ends a prohibition shows up while something is deferred by it.
    pub fn next_timeout(&self, outgoing: &Carried) -> Option<Time> {
        let sides = earlier(self.receiver.next_timeout(), self.transmitter.next_timeout(outgoing));
        earlier(sides, self.resetter.next_timeout())
    }

    /// Octets that wait to be sent or resent, as the traffic volume that RRC is told of (TS 25.331 §14.4: RLC buffer
    /// payload).
    pub fn buffered(&self, outgoing: &Carried) -> u64 {
        outgoing.unsent_octets() + self.transmitter.octets_to_resend()
    }

    /// Whether RESET PDUs were sent in vain, so that both ends are to be established anew (§11.4.4a).
    pub fn is_unrecoverable(&self) -> bool {
        self.is_unrecoverable
    }

    /// Establishes the entity anew (§9.7.7), together with its peer and when nothing is in flight between them: SDUs of
    /// which PDUs were sent are dropped, the others go on. `hfns` are the hyper frame numbers of the direction it sends and
    /// of the one it receives, as [`hfn`](Self::hfn) gives them at both ends beforehand.
    pub fn re_establish(&mut self, hfns: (u64, u64), outgoing: &mut Carried, out: &mut Outbox) {
        self.transmitter.reset(hfns.0, outgoing, out);
        self.receiver.reset(hfns.1);
        self.resetter.re_establish();
        self.is_unrecoverable = false;
    }

    /// The hyper frame number of what it sends.
    pub fn hfn(&self) -> u64 {
        self.transmitter.hfn()
    }

    /// How often the PDU with this number was sent, VT(DAT).
    pub fn transmissions(&self, sn: Sn) -> u8 {
        self.transmitter.transmissions(sn)
    }

    /// Checks the state variables, the counts and the books of the two directions.
    pub fn check(&self, outgoing: &Carried, incoming: &Carried) -> Result<(), String> {
        outgoing.check()?;
        self.transmitter.check(outgoing)?;
        self.receiver.check(incoming)
    }
}

/// The earlier of two instants that may not come.
#[inline]
fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, None) => one,
        (None, other) => other,
    }
}
