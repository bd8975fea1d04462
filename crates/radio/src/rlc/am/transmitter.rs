//! The transmitting side of an acknowledged-mode entity, TS 25.322 §11.3.2.

use cellwind_engine::fact::{DropReason, Fact, FactKind};
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::FlowId;
use cellwind_engine::time::{Span, Time};

use super::discard::{Discarder, Target};
use super::earlier;
use super::lay::{HEADER, Layout};
use super::poll::{Poller, Submission, Window};
use super::ring::Ring;
use crate::rlc::pdu::Status;
use crate::rlc::sdu::Carried;
use crate::rlc::settings::{AmSettings, Discard};
use crate::rlc::sn::Sn;
use crate::rlc::{Pdu, Run};

mod discards;
mod reports;

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
    /// The largest that it was since the last reset.
    widest: u64,
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
            widest: 0,
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
        if self.window != u64::from(settings.window) {
            self.window = u64::from(settings.window);
            self.widest = self.widest.max(self.window);
            self.vt_ws = self.window;
        }
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

    /// Octets of the PDUs that are to be resent, headers included.
    pub fn octets_to_resend(&self) -> u64 {
        u64::from(self.missing_count) * u64::from(self.layout.room + HEADER)
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

    /// Tells what the transmitter holds.
    pub fn tell_occupancy(&self, carried: &Carried, out: &mut Outbox) {
        let fact = Fact::new(FactKind::BufferOccupancy, FlowId::NONE);
        out.fact(fact.values(carried.held_octets(), self.vt_s - self.vt_a));
    }

    fn window(&self) -> Window {
        Window { vt_a: self.vt_a, vt_s: self.vt_s, vt_ws: self.vt_ws }
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

    /// When a timer makes a difference next.
    pub fn next_timeout(&self, carried: &Carried) -> Option<Time> {
        let polls = self.poller.next_timeout(self.has_data(carried), self.has_unacknowledged());
        let expires = if self.discard == Discard::Timer { self.next_expiry(carried) } else { None };
        earlier(earlier(polls, self.discarder.next_timeout()), expires)
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
        (self.vt_ws, self.widest) = (self.window, self.window);
        self.target = Target { sn: first, n: 0 };
        self.asked = self.target;
        carried.sent_to = first;
        (self.missing_count, self.spent_count) = (0, 0);
        self.missing.clear();
        self.spent.clear();
        self.poller.reset();
        self.discarder.reset();
        self.tell_occupancy(carried, out);
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
        // An SDU that is cut off at the upper edge takes one number more.
        if vt_s - vt_a > self.widest + 1 {
            return Err(format!("VT(S) {vt_s} is above VT(MS) for VT(A) {vt_a} and a window of {}", self.widest));
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
