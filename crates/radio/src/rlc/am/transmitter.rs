//! The transmitting side of an acknowledged-mode entity, TS 25.322 §11.3.2 and §11.5.3.

use cellwind_engine::fact::{DropReason, Fact, FactKind};
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::FlowId;
use cellwind_engine::time::{Span, Time};

use super::discard::{Discarder, Target};
use super::earlier;
use super::lay::Layout;
use super::poll::{Poller, Submission, Window};
use super::ring::Ring;
use crate::rlc::pdu::{RelativeList, Status, StatusEnd, SuperField};
use crate::rlc::sdu::{Carried, Fate};
use crate::rlc::settings::{AmSettings, Discard};
use crate::rlc::sn::Sn;
use crate::rlc::{Pdu, Run};

/// Sends PDUs until they are acknowledged.
#[derive(Clone, Debug)]
pub struct Transmitter {
    /// VT(S): count of the next PDU to be sent for the first time.
    vt_s: u64,
    /// VT(A): count of the first PDU that is not acknowledged.
    vt_a: u64,
    /// VT(WS): size of the window.
    vt_ws: u64,
    /// Count of the first PDU that may be resent; those before it were discarded.
    floor: u64,
    /// Count that VT(S) had after the last reset.
    epoch: u64,
    /// Configured_Tx_Window_Size.
    window: u64,
    discard: Discard,
    discard_timer: Span,
    max_dat: u8,
    /// PDUs that are to be resent.
    missing: Ring,
    missing_count: u32,
    /// PDUs that are missing and were sent as often as they may.
    spent: Ring,
    spent_count: u32,
    /// VT(DAT): how often each PDU was sent.
    vt_dat: Box<[u8; Sn::MODULUS as usize]>,
    /// Ordinal of the first SDU that was not given up.
    kept: u64,
    /// Where the receiver is to move its window to.
    target: Target,
    /// Where it was last asked to.
    asked: Target,
    layout: Layout,
    /// The polling function.
    pub poller: Poller,
    /// The discard of SDUs.
    pub discarder: Discarder,
}

/// What a STATUS PDU asks of the whole entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Fine,
    /// A reset (§11.4.2).
    Reset,
}

impl Transmitter {
    /// A transmitter that is established at `now` and sends PDUs of `pdu` octets.
    pub fn new(now: Time, settings: &AmSettings, pdu: u16) -> Self {
        // A bitmap may begin up to seven PDUs before the first one, whose hyper frame number therefore is one.
        let first = Sn::MODULUS;
        let mut transmitter = Transmitter {
            vt_s: first,
            vt_a: first,
            vt_ws: 0,
            floor: first,
            epoch: first,
            window: 0,
            discard: settings.discard,
            discard_timer: settings.discard_timer,
            max_dat: settings.max_dat,
            missing: Ring::new(),
            missing_count: 0,
            spent: Ring::new(),
            spent_count: 0,
            vt_dat: Box::new([0; Sn::MODULUS as usize]),
            kept: 0,
            target: Target { sn: first, n: 0 },
            asked: Target { sn: first, n: 0 },
            layout: Layout::new(pdu, settings.special_he, false),
            poller: Poller::new(now, &settings.poll),
            discarder: Discarder::new(settings.timer_mrw, settings.max_mrw),
        };
        transmitter.set_settings(now, settings, pdu);
        transmitter
    }

    /// Takes other settings over (§9.7.9).
    pub fn set_settings(&mut self, now: Time, settings: &AmSettings, pdu: u16) {
        self.window = u64::from(settings.window);
        self.vt_ws = self.window;
        self.discard = settings.discard;
        self.discard_timer = settings.discard_timer;
        self.max_dat = settings.max_dat;
        let explicit = matches!(settings.discard, Discard::MaxDat | Discard::Timer);
        self.layout = Layout::new(pdu, settings.special_he, explicit);
        self.poller.set_settings(now, &settings.poll);
        self.discarder.set_settings(settings.timer_mrw, settings.max_mrw);
    }

    /// VT(MS): count of the first PDU that may not be sent.
    fn vt_ms(&self) -> u64 {
        self.vt_a + self.vt_ws
    }

    /// How often the PDU with this number was sent (VT(DAT)).
    pub fn transmissions(&self, sn: Sn) -> u8 {
        self.vt_dat[usize::from(sn.get())]
    }

    /// Count of the first PDU that was sent and is neither acknowledged nor discarded, or of the next one to be sent.
    fn unacknowledged(&self) -> u64 {
        self.vt_a.max(self.floor)
    }

    /// Whether PDUs are neither acknowledged nor discarded.
    fn has_unacknowledged(&self) -> bool {
        self.unacknowledged() < self.vt_s
    }

    /// Whether there is something to send, or unacknowledged.
    pub fn has_data(&self, carried: &Carried) -> bool {
        self.has_unacknowledged() || carried.laid < carried.end()
    }

    /// Whether there is an AMD PDU that may be sent.
    pub fn has_something_to_send(&self, now: Time, carried: &Carried) -> bool {
        (self.missing_count > 0 && self.next_missing() < self.vt_s)
            || (carried.laid < carried.end() && self.vt_s < self.vt_ms())
            || (self.poller.may_poll(now) && self.has_unacknowledged())
    }

    /// The padding that the last of at most `blocks` PDUs will have, if all that waits goes into them.
    pub fn foresee_padding(&self, carried: &Carried, blocks: u64) -> Option<u32> {
        let rest = blocks.checked_sub(u64::from(self.missing_count))?;
        let open = self.vt_ms().saturating_sub(self.vt_s);
        let padding = self.layout.foresee(carried, rest.min(open))?;
        padding.checked_sub(self.layout.indicator)
    }

    /// Submits at most `blocks` PDUs and says how many it were; `piggyback` goes into the padding of the last one, which
    /// [`foresee_padding`](Self::foresee_padding) has promised.
    pub fn on_opportunity(
        &mut self,
        now: Time,
        blocks: u64,
        carried: &mut Carried,
        piggyback: Option<Status>,
        batch: &mut Vec<Pdu>,
        out: &mut Outbox,
    ) -> u64 {
        let mut left = blocks;
        // §11.3.2.2: retransmissions come before what is sent for the first time.
        if left > 0 && self.missing_count > 0 {
            left -= self.resend(now, left, batch, out);
        }
        let open = self.vt_ms().saturating_sub(self.vt_s);
        if left > 0 && open > 0 && carried.laid < carried.end() {
            left -= self.send(now, left.min(open), carried, batch, out);
            if let Some(status) = piggyback {
                attach(status, batch);
            }
        }
        if left == blocks && left > 0 && self.poller.may_poll(now) {
            left -= self.resend_for_poll(now, batch, out);
        }
        blocks - left
    }

    /// Count of the first PDU that is to be resent and may be (§11.3.2.2); VT(S) if there is none.
    #[inline]
    fn next_missing(&self) -> u64 {
        self.next_missing_from(self.unacknowledged())
    }

    /// The same of those that are not below the count `from`.
    #[inline]
    fn next_missing_from(&self, from: u64) -> u64 {
        let limit = self.vt_s.min(self.vt_ms());
        let first = self.missing.first_set(from, limit);
        if first < limit { first } else { self.missing.first_set(from.max(self.vt_s - 1), self.vt_s) }
    }

    /// Resends at most `most` missing PDUs and says how many.
    fn resend(&mut self, now: Time, most: u64, batch: &mut Vec<Pdu>, out: &mut Outbox) -> u64 {
        let window = self.window();
        let mut left = most;
        let mut first = self.next_missing();
        while left > 0 && first < self.vt_s {
            // Of those that the window does not allow any more, the last one sent is (§11.3.2.2).
            let limit = if first < self.vt_ms() { self.vt_s.min(self.vt_ms()) } else { self.vt_s };
            let end = self.missing.first_unset(first, limit.min(first + left));
            self.missing.unset(first, end);
            self.missing_count -= (end - first) as u32;
            left -= end - first;
            for count in first..end {
                let vt_dat = &mut self.vt_dat[(count % Sn::MODULUS) as usize];
                *vt_dat = vt_dat.saturating_add(1);
            }
            let next = if self.missing_count > 0 { self.next_missing_from(end) } else { self.vt_s };
            let pdus = Submission { first, end, resent: true, is_last: next == self.vt_s, window };
            self.poller.submit(now, pdus, batch, out);
            first = next;
        }
        most - left
    }

    /// Sends at most `most` new PDUs, which the window allows, and says how many.
    fn send(&mut self, now: Time, most: u64, carried: &mut Carried, batch: &mut Vec<Pdu>, out: &mut Outbox) -> u64 {
        let first = self.vt_s;
        let laid = self.layout.lay(carried, &mut self.poller, first, most);
        let end = first + laid.count;
        let (from, to) = ((first % Sn::MODULUS) as usize, (end % Sn::MODULUS) as usize);
        if from < to {
            self.vt_dat[from..to].fill(1);
        } else {
            self.vt_dat[from..].fill(1);
            self.vt_dat[..to].fill(1);
        }
        // §9.7.1, trigger 1: the last PDU there is, or that the window allows.
        let is_last = carried.laid == carried.end() || end == self.vt_ms();
        let pdus = Submission { first, end, resent: false, is_last, window: self.window() };
        self.vt_s = end;
        carried.sent_to = end;
        self.poller.submit(now, pdus, batch, out);
        laid.count
    }

    /// Resends a PDU for the sake of a poll (§11.3.2), and says how many: none if nothing is unacknowledged.
    ///
    /// It counts as a transmission, and is sent also if it was sent as often as it may, since nothing else could carry the
    /// poll (Teyeb, section 5.3.4).
    fn resend_for_poll(&mut self, now: Time, batch: &mut Vec<Pdu>, out: &mut Outbox) -> u64 {
        if !self.has_unacknowledged() {
            self.poller.cancel();
            return 0;
        }
        let count = self.vt_s - 1;
        let vt_dat = &mut self.vt_dat[(count % Sn::MODULUS) as usize];
        *vt_dat = vt_dat.saturating_add(1);
        let pdus = Submission { first: count, end: count + 1, resent: true, is_last: false, window: self.window() };
        self.poller.submit(now, pdus, batch, out);
        1
    }

    fn window(&self) -> Window {
        Window { vt_a: self.vt_a, vt_s: self.vt_s, vt_ws: self.vt_ws }
    }

    /// A STATUS PDU, of its own or piggybacked, has arrived (§11.5.3).
    pub fn on_status(&mut self, now: Time, status: &Status, carried: &mut Carried, out: &mut Outbox) -> Verdict {
        let held = carried.held_octets();
        for field in &status.fields {
            match *field {
                SuperField::Window(wsn) => self.on_window(wsn),
                SuperField::MoveReceivingWindowAck { n, sn } => self.on_discard_answer(now, (n, sn), carried, out),
                _ => {}
            }
        }
        let lsn = match status.end {
            StatusEnd::Ack(lsn) => Some(Sn::new(lsn).count_from(self.vt_a)),
            StatusEnd::NoMore => None,
        };
        // §10.1: erroneous sequence numbers.
        if lsn.is_some_and(|lsn| lsn > self.vt_s) {
            return Verdict::Reset;
        }
        let Some(first_error) = self.note_errors(status, lsn) else { return Verdict::Reset };
        if let Some(lsn) = lsn {
            // §9.2.2.11.2: up to the first error, or to LSN where there is none before it.
            self.acknowledge(now, lsn.min(first_error), carried, out);
        }
        if carried.held_octets() != held {
            self.tell_occupancy(carried, out);
        }
        let missing = (&self.missing, &self.spent);
        self.poller.on_status(self.vt_a, |count| missing.0.get(count) || missing.1.get(count));
        if self.spent_count == 0 { Verdict::Fine } else { self.on_spent(carried) }
    }

    /// §9.2.2.11.3: the window that the peer allows.
    fn on_window(&mut self, wsn: u16) {
        if wsn > 0 {
            self.vt_ws = u64::from(wsn).min(self.window);
        }
    }

    fn on_discard_answer(&mut self, now: Time, (n, sn): (u8, u16), carried: &mut Carried, out: &mut Outbox) {
        let sn_ack = Sn::new(sn).count_from(self.vt_a);
        if sn_ack <= self.vt_s && self.discarder.on_answer(sn_ack, n) {
            self.acknowledge(now, sn_ack, carried, out);
        }
    }

    /// Marks the PDUs that a report tells missing, and returns the count of the first; `None` if it tells of PDUs that
    /// are outside the window (§10.1).
    fn note_errors(&mut self, status: &Status, lsn: Option<u64>) -> Option<u64> {
        let mut first = u64::MAX;
        let mut is_cleared = false;
        for field in &status.fields {
            if !matches!(field, SuperField::List(_) | SuperField::Bitmap { .. } | SuperField::RelativeList(_)) {
                continue;
            }
            // A report that goes beyond its first error tells all errors below LSN: what else was missing has arrived.
            if let Some(lsn) = lsn
                && !std::mem::replace(&mut is_cleared, true)
                && lsn > self.vt_a
            {
                self.forget_missing(self.vt_a, lsn);
            }
            let lowest = match field {
                SuperField::List(pairs) => {
                    let mut lowest = u64::MAX;
                    for &(sn, more) in pairs {
                        lowest = lowest.min(self.note_run(sn, u64::from(more) + 1)?);
                    }
                    lowest
                }
                SuperField::RelativeList(list) => self.note_relative_list(list)?,
                SuperField::Bitmap { first, bits } => self.note_bitmap(*first, bits)?,
                _ => continue,
            };
            first = first.min(lowest);
        }
        Some(first)
    }

    fn note_relative_list(&mut self, list: &RelativeList) -> Option<u64> {
        let mut lowest = u64::MAX;
        for run in list.runs() {
            lowest = lowest.min(self.note_run(run.first, u64::from(run.count))?);
        }
        Some(lowest)
    }

    fn note_run(&mut self, sn: u16, length: u64) -> Option<u64> {
        let first = Sn::new(sn).count_from(self.vt_a);
        if first + length > self.vt_s {
            return None;
        }
        for count in first..first + length {
            self.note_missing(count);
        }
        Some(first)
    }

    fn note_bitmap(&mut self, first: u16, bits: &[u8]) -> Option<u64> {
        // §9.2.2.11.5: it begins at most seven PDUs before VR(R), which is not below VT(A), and none with large windows.
        let before = if self.window < Sn::MODULUS / 2 { 7 } else { 0 };
        let base = Sn::new(first).count_from(self.vt_a - before);
        let mut lowest = u64::MAX;
        for (place, &octet) in bits.iter().enumerate() {
            let mut errors = !octet;
            while errors != 0 {
                let bit = errors.leading_zeros();
                errors &= !(0x80 >> bit);
                let count = base + place as u64 * 8 + u64::from(bit);
                if count < self.vt_a || count >= self.vt_s {
                    return None;
                }
                lowest = lowest.min(count);
                self.note_missing(count);
            }
        }
        Some(lowest)
    }

    /// A PDU is missing at the receiver; it is resent unless it was discarded, or sent as often as it may.
    #[inline]
    fn note_missing(&mut self, count: u64) {
        if count < self.floor {
            return;
        }
        let is_spent = matches!(self.discard, Discard::MaxDat | Discard::Reset)
            && self.vt_dat[(count % Sn::MODULUS) as usize] >= self.max_dat;
        // differs: §9.6 a) lets a PDU be sent MaxDAT - 1 times; here, as in Teyeb (section 4.2.2), it is MaxDAT times.
        if is_spent {
            self.spent_count += u32::from(self.spent.insert(count));
        } else {
            self.missing_count += u32::from(self.missing.insert(count));
        }
    }

    fn forget_missing(&mut self, from: u64, to: u64) {
        if self.missing_count > 0 {
            self.missing_count -= self.missing.count(from, to);
            self.missing.unset(from, to);
        }
        if self.spent_count > 0 {
            self.spent_count -= self.spent.count(from, to);
            self.spent.unset(from, to);
        }
    }

    /// All PDUs below `vt_a` are acknowledged.
    fn acknowledge(&mut self, now: Time, vt_a: u64, carried: &mut Carried, out: &mut Outbox) {
        self.move_to(vt_a);
        self.discarder.on_acknowledged(self.vt_a);
        self.release(now, carried, out);
        self.discard_further();
    }

    /// Forgets the SDUs that are acknowledged.
    fn release(&mut self, now: Time, carried: &mut Carried, out: &mut Outbox) {
        let first = carried.released();
        let mut end = first;
        while end < carried.laid && carried.sdu(end).last < self.vt_a {
            end += 1;
        }
        if out.is_listening() {
            let arrived = (first..end).map(|ordinal| carried.sdu(ordinal)).filter(|sdu| sdu.fate == Fate::Delivered);
            for sdu in arrived {
                let fact = Fact::new(FactKind::SduAcknowledged, sdu.packet.flow).about(sdu.packet.seq, sdu.octets);
                out.fact(fact.values((now - sdu.entered).as_nanos(), 0));
            }
        }
        carried.release(end);
    }

    /// Tells what the transmitter holds.
    pub fn tell_occupancy(&self, carried: &Carried, out: &mut Outbox) {
        let fact = Fact::new(FactKind::BufferOccupancy, FlowId::NONE);
        out.fact(fact.values(carried.held_octets(), self.vt_s - self.vt_a));
    }

    fn move_to(&mut self, vt_a: u64) {
        if vt_a > self.vt_a {
            self.forget_missing(self.vt_a, vt_a);
            self.vt_a = vt_a;
        }
    }

    /// PDUs were sent as often as they may (§11.3.3a).
    fn on_spent(&mut self, carried: &mut Carried) -> Verdict {
        if self.discard == Discard::Reset {
            return Verdict::Reset;
        }
        // §11.6.2: the SDUs of all PDUs up to the last that was sent in vain too often.
        let mut last = self.unacknowledged();
        loop {
            let next = self.spent.first_set(last, self.vt_s);
            if next == self.vt_s {
                break;
            }
            last = next + 1;
        }
        let begun = carried.laid + u64::from(carried.is_begun);
        let mut end = carried.released();
        while end < begun && carried.sdu(end).first < last {
            end += 1;
        }
        self.give_up(end, carried);
        // What remains belongs to an SDU that fills all sequence numbers there are.
        if self.spent_count == 0 { Verdict::Fine } else { Verdict::Reset }
    }

    /// Gives up all SDUs below `end`, of which PDUs were sent, and tells the receiver (§11.6.2).
    fn give_up(&mut self, end: u64, carried: &mut Carried) {
        let mut end = end;
        if end > carried.laid && !self.can_cut_off() {
            end = carried.laid;
        }
        for ordinal in self.kept.max(carried.released()).max(carried.start())..end {
            let sdu = carried.sdu_mut(ordinal);
            if sdu.fate == Fate::Open {
                sdu.fate = Fate::GivenUp;
            }
        }
        self.kept = self.kept.max(end);
        if end > carried.laid {
            self.cut_off(carried);
        }
        if end == 0 || end <= carried.start() {
            return;
        }
        let last = carried.sdu(end - 1).last;
        // §11.6.2.2: where the next SDU begins in the PDU that ends the last one, that PDU stays.
        let is_shared = end < carried.laid + u64::from(carried.is_begun) && carried.sdu(end).first == last;
        let ends_there = |ordinal: &u64| carried.sdu(*ordinal).last == last;
        let target = if is_shared {
            Target { sn: last, n: (carried.start()..end).rev().take_while(ends_there).count() as u8 }
        } else {
            Target { sn: last + 1, n: 0 }
        };
        if target.sn >= self.floor {
            self.forget_missing(self.unacknowledged(), target.sn);
            self.floor = target.sn;
            self.target = target;
        }
        self.discard_further();
    }

    /// Whether a sequence number is left to end the SDU that is being laid.
    fn can_cut_off(&self) -> bool {
        self.vt_s - self.vt_a < Sn::MODULUS - 1
    }

    /// The rest of the SDU that is being laid is not sent.
    ///
    /// The receiver must not take the next SDU for its continuation, should the request to move the window get lost. So a
    /// sequence number stands for the rest. differs: the numbers of all its PDUs do in §11.6.2, where segmentation comes first.
    fn cut_off(&mut self, carried: &mut Carried) {
        let laid = carried.laid;
        let sdu = carried.sdu_mut(laid);
        (sdu.last, sdu.in_last) = (self.vt_s, 0);
        carried.unsent_octets -= u64::from(carried.sdu(laid).octets - carried.laid_octets);
        carried.laid += 1;
        (carried.laid_octets, carried.is_begun) = (0, false);
        self.vt_dat[(self.vt_s % Sn::MODULUS) as usize] = 0;
        self.vt_s += 1;
        carried.sent_to = self.vt_s;
        self.poller.abandon_sdu();
    }

    /// Asks the receiver to move its window, if it has not been asked and no other request is going on.
    fn discard_further(&mut self) {
        let Target { sn, n } = self.target;
        let is_needed = sn > self.vt_a || (sn == self.vt_a && n > 0);
        if is_needed && self.target != self.asked && !self.discarder.is_active() {
            self.asked = self.target;
            // §11.6.2.2
            let beyond_window = self.target.sn >= self.vt_a + self.window;
            self.discarder.begin(self.target, beyond_window);
        }
    }

    /// Timers that have come due.
    pub fn on_timeout(&mut self, now: Time, carried: &mut Carried, out: &mut Outbox) -> Verdict {
        let has_data = self.has_data(carried);
        self.poller.on_timeout(now, has_data);
        if self.discard == Discard::Timer {
            self.expire(now, carried, out);
        }
        if self.discarder.on_timeout(now) { Verdict::Fine } else { Verdict::Reset }
    }

    /// Discards the SDUs whose Timer_Discard has expired (§9.7.3.1).
    fn expire(&mut self, now: Time, carried: &mut Carried, out: &mut Outbox) {
        let mut end = self.kept.max(carried.released()).max(carried.start());
        let begun = carried.laid + u64::from(carried.is_begun);
        while end < begun && carried.sdu(end).entered + self.discard_timer <= now {
            end += 1;
        }
        if end > self.kept.max(carried.released()) {
            self.give_up(end, carried);
        }
        // Those of which nothing was sent need no signalling.
        while !carried.is_begun
            && carried.laid < carried.end()
            && carried.sdu(carried.laid).entered + self.discard_timer <= now
        {
            carried.drop_waiting(self.vt_s - 1, DropReason::Expired, out);
            self.kept = carried.laid;
        }
        self.release(now, carried, out);
    }

    /// When a timer makes a difference next.
    pub fn next_timeout(&self, carried: &Carried) -> Option<Time> {
        let polls = self.poller.next_timeout(self.has_data(carried), self.has_unacknowledged());
        let expires = if self.discard == Discard::Timer { self.next_expiry(carried) } else { None };
        earlier(earlier(polls, self.discarder.next_timeout()), expires)
    }

    fn next_expiry(&self, carried: &Carried) -> Option<Time> {
        let next = self.kept.max(carried.released()).max(carried.start());
        let is_stuck = next == carried.laid && carried.is_begun && !self.can_cut_off();
        (next < carried.end() && !is_stuck).then(|| carried.sdu(next).entered + self.discard_timer)
    }

    /// The hyper frame number that a RESET PDU tells (§11.4.1).
    pub fn hfn(&self) -> u64 {
        (self.vt_s.max(self.epoch + 1) - 1) / Sn::MODULUS
    }

    /// Back to the initial state, with the hyper frame number behind `hfn`; SDUs of which PDUs were sent are dropped
    /// (§11.4.3, §11.4.4).
    pub fn reset(&mut self, hfn: u64, carried: &mut Carried, out: &mut Outbox) {
        let first = (hfn + 1) * Sn::MODULUS;
        carried.drop_begun(DropReason::Reset, out);
        (self.vt_s, self.vt_a, self.floor, self.epoch) = (first, first, first, first);
        self.vt_ws = self.window;
        self.target = Target { sn: first, n: 0 };
        self.asked = self.target;
        carried.sent_to = first;
        (self.missing_count, self.spent_count) = (0, 0);
        self.missing.clear();
        self.spent.clear();
        self.poller.reset();
        self.discarder.reset();
    }

    /// Checks the state variables and the counts.
    pub fn check(&self, carried: &Carried) -> Result<(), String> {
        let Transmitter { vt_s, vt_a, floor, .. } = *self;
        if vt_a > vt_s || floor > vt_s || vt_s - vt_a > Sn::MODULUS - 1 || carried.sent_to.max(self.epoch) != vt_s {
            return Err(format!(
                "VT(A) {vt_a}, VT(S) {vt_s} and discarded {floor} do not fit, nor {}",
                carried.sent_to
            ));
        }
        if self.vt_ws == 0 || self.vt_ws > self.window {
            return Err(format!("VT(WS) is {} of {}", self.vt_ws, self.window));
        }
        let from = self.unacknowledged();
        let counted = (self.missing.count(from, vt_s), self.spent.count(from, vt_s));
        if counted != (self.missing_count, self.spent_count) {
            return Err(format!(
                "{counted:?} PDUs are missing, counted as {:?}",
                (self.missing_count, self.spent_count)
            ));
        }
        Ok(())
    }
}

/// Puts a STATUS PDU into the padding of the last PDU of a batch.
fn attach(status: Status, batch: &mut Vec<Pdu>) {
    let Some(Pdu::Data(mut run)) = batch.pop() else { unreachable!("new PDUs were just submitted") };
    if run.count > 1 {
        batch.push(Pdu::Data(Run { poll: false, ..run.split_off(run.count - 1) }));
    }
    batch.push(Pdu::DataWithStatus(run, status));
}
