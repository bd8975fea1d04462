//! The receiving side of an acknowledged-mode entity, TS 25.322 §11.3.3, §11.5.2 and §11.6.3.

use cellwind_engine::fact::{DropReason, Fact, FactKind};
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::FlowId;
use cellwind_engine::time::Time;

use super::earlier;
use super::report::{ACK_BITS, Held};
use super::ring::Ring;
use crate::rlc::pdu::{Status, StatusEnd};
use crate::rlc::sdu::{Carried, Fate, Sdu};
use crate::rlc::settings::{AmSettings, StatusSettings};
use crate::rlc::sn::Sn;
use crate::rlc::{Format, Run};
use crate::settings::Delivery;

/// Receives PDUs and reports which are missing.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// VR(R): count of the first PDU that has not arrived.
    vr_r: u64,
    /// VR(H): count behind the highest PDU that has.
    vr_h: u64,
    /// Configured_Rx_Window_Size.
    window: u64,
    delivery: Delivery,
    status: StatusSettings,
    /// PDUs that have arrived behind one that has not.
    got: Ring,
    /// Whether an acknowledgement status report is due.
    is_due: bool,
    /// Where the rest of a report begins whose first STATUS PDUs were sent.
    rest_from: Option<u64>,
    /// PDUs that the report which is being sent tells missing.
    told_missing: u32,
    /// Timer_Status_Prohibit: until when acknowledgement is prohibited.
    prohibited_until: Option<Time>,
    /// Timer_Status_Periodic: when it expires.
    periodic_at: Option<Time>,
    /// When it would have expired last, if it rests.
    resting_from: Option<Time>,
    /// Estimated PDU counter: when what a report asked for should have arrived, and VR(H) when it was sent.
    estimate: Option<(Time, u64)>,
    /// The window that the transmitter is to be told.
    window_to_tell: Option<u16>,
    /// MRW_ACK SUFI to be sent: N and SN_ACK.
    answer: Option<(u8, u64)>,
}

impl Receiver {
    /// A receiver that is established at `now`.
    pub fn new(now: Time, settings: &AmSettings) -> Self {
        let first = Sn::MODULUS;
        Receiver {
            vr_r: first,
            vr_h: first,
            window: u64::from(settings.receive_window),
            delivery: settings.delivery,
            status: settings.status.clone(),
            got: Ring::new(),
            is_due: false,
            rest_from: None,
            told_missing: 0,
            prohibited_until: None,
            // §9.5 g): it starts when the entity is created.
            periodic_at: settings.status.periodic.span().map(|period| now + period),
            resting_from: None,
            estimate: None,
            window_to_tell: settings.status.window,
            answer: None,
        }
    }

    /// Takes other settings over (§9.7.9). SDUs that waited for earlier ones leave when they need not any more.
    pub fn set_settings(
        &mut self,
        now: Time,
        settings: &AmSettings,
        carried: &mut Carried,
        delivered: &mut impl FnMut(&Sdu),
    ) {
        // §9.7.9 lets a smaller window keep what lies behind it; here it also takes what was sent before the change.
        self.window = self.window.max(u64::from(settings.receive_window));
        if settings.status.window != self.status.window {
            // The largest window there is allows the transmitter its own.
            self.window_to_tell = settings.status.window.or(Some(Sn::MODULUS as u16 - 1));
        }
        if settings.status.periodic != self.status.periodic {
            self.periodic_at = settings.status.periodic.span().map(|period| now + period);
            self.resting_from = None;
        }
        self.status = settings.status.clone();
        if settings.delivery != self.delivery {
            self.delivery = settings.delivery;
            // Behind a reset of which the transmitter does not know yet, its PDUs are none of those that VR(R) is above.
            if self.vr_r <= carried.sent_to {
                self.deliver(self.vr_r, self.vr_h, carried, delivered);
            }
        }
    }

    /// AMD PDUs have arrived (§11.3.3).
    pub fn on_run(&mut self, run: Run, carried: &mut Carried, delivered: &mut impl FnMut(&Sdu)) {
        // §11.3.4.2: PDUs outside the window are discarded, but for their polls.
        self.is_due |= run.poll;
        let above = u64::from(run.first.above(Sn::of(self.vr_r)));
        let below = Sn::MODULUS - above;
        // differs: with a window of more than 2047 a PDU that has arrived before could be one far ahead, but for that none
        // so far ahead was sent.
        let (first, count) = if above < self.window && self.vr_r + above < carried.sent_to {
            (self.vr_r + above, u64::from(run.count))
        } else if below < u64::from(run.count) {
            (self.vr_r, u64::from(run.count) - below)
        } else {
            return;
        };
        let end = (first + count).min(self.vr_r + self.window);
        if first == self.vr_r && self.vr_h == self.vr_r {
            (self.vr_r, self.vr_h) = (end, end);
            self.deliver(first, end, carried, delivered);
            return;
        }
        let is_new = self.got.set(first, end);
        let is_highest = end > self.vr_h;
        self.vr_h = self.vr_h.max(end);
        let moves = first == self.vr_r;
        if moves {
            self.move_to(first);
        }
        if moves || (is_new && self.delivery == Delivery::OutOfSequence) {
            self.deliver(first, end, carried, delivered);
        }
        // §9.7.2: as in Teyeb (section 5.3.3), each new PDU detects again what is missing before it.
        self.is_due |= self.status.missing_pdu && is_highest && self.vr_r != self.vr_h;
    }

    /// All PDUs below `vr_r` have arrived or are discarded; VR(R) moves behind them and what has arrived in sequence.
    fn move_to(&mut self, vr_r: u64) {
        self.vr_h = self.vr_h.max(vr_r);
        let vr_r = self.got.first_unset(vr_r, self.vr_h);
        self.got.unset(self.vr_r, vr_r.min(self.vr_r + Sn::MODULUS));
        self.vr_r = vr_r;
        // What the report asked for has arrived.
        if self.estimate.is_some_and(|(_, vr_h)| vr_r >= vr_h) {
            self.estimate = None;
        }
    }

    /// Hands up what the PDUs of `first..end`, which were the last to arrive, have completed.
    fn deliver(&mut self, first: u64, end: u64, carried: &mut Carried, delivered: &mut impl FnMut(&Sdu)) {
        match self.delivery {
            Delivery::InSequence => {
                while carried.settled < carried.laid {
                    let sdu = carried.sdu(carried.settled);
                    if sdu.fate.is_open() {
                        if sdu.last >= self.vr_r {
                            break;
                        }
                        carried.deliver(carried.settled, delivered);
                    }
                    carried.settled += 1;
                }
            }
            Delivery::OutOfSequence => {
                let mut ordinal = carried.first_ending_from(first);
                while ordinal < carried.laid {
                    let sdu = carried.sdu(ordinal);
                    if sdu.first > end {
                        break;
                    }
                    if sdu.fate.is_open() && self.has_all(ordinal, carried) {
                        carried.deliver(ordinal, delivered);
                    }
                    ordinal += 1;
                }
                carried.settle();
            }
        }
        carried.forget();
    }

    /// Whether all PDUs of an SDU have arrived, and the receiver knows that it begins there.
    ///
    /// No length indicator tells so in acknowledged mode (§9.2.2.8): either the PDU before has arrived, or another SDU ends in
    /// the same one.
    fn has_all(&self, ordinal: u64, carried: &Carried) -> bool {
        let sdu = carried.sdu(ordinal);
        self.got.first_unset(sdu.first.max(self.vr_r), sdu.last + 1) == sdu.last + 1
            && (sdu.first <= self.vr_r
                || self.got.get(sdu.first - 1)
                || (ordinal > carried.start() && carried.sdu(ordinal - 1).last == sdu.first))
    }

    /// An MRW SUFI has arrived (§11.6.3).
    pub fn on_discard(
        &mut self,
        (sn, n): (u16, u8),
        carried: &mut Carried,
        delivered: &mut impl FnMut(&Sdu),
        out: &mut Outbox,
    ) {
        let sn = Sn::new(sn).count_from(self.vr_r);
        // §11.6.6.1: an outdated request is answered and nothing else. A number is only known to be one from below by that no
        // PDU so far above was sent.
        if sn > carried.sent_to {
            self.answer = Some((0, self.vr_r));
            return;
        }
        // §9.2.2.11.8: N counts from the first SDU that ends in that PDU, which may be settled already.
        let settled = (carried.start()..carried.settled).rev();
        let mut ends_there = settled.take_while(|&ordinal| carried.sdu(ordinal).last == sn).count() as u8;
        for ordinal in carried.settled..carried.laid {
            let sdu = *carried.sdu(ordinal);
            ends_there += u8::from(sdu.last == sn);
            if sdu.last > sn || (sdu.last == sn && ends_there > n) {
                break;
            }
            if sdu.fate.is_open() {
                if self.has_all(ordinal, carried) {
                    carried.deliver(ordinal, delivered);
                } else {
                    let reason =
                        if let Fate::GivenUp(reason) = sdu.fate { reason } else { DropReason::AttemptsExhausted };
                    carried.drop(ordinal, reason, out);
                }
            }
        }
        carried.settle();
        self.move_to(sn);
        self.deliver(sn, self.vr_r, carried, delivered);
        // §11.6.3.1
        self.answer = Some((if self.vr_r == sn { n } else { 0 }, self.vr_r));
    }

    /// Whether a WINDOW or MRW_ACK SUFI waits to be sent, which nothing prohibits.
    pub fn has_control(&self) -> bool {
        self.window_to_tell.is_some() || self.answer.is_some()
    }

    /// Takes the window that is to be told.
    pub fn take_window(&mut self) -> Option<u16> {
        self.window_to_tell.take()
    }

    /// Takes the answer to a request to move the window: N and SN_ACK.
    pub fn take_answer(&mut self) -> Option<(u8, u16)> {
        self.answer.take().map(|(n, sn)| (n, Sn::of(sn).get()))
    }

    /// Whether a report is due and may be sent.
    #[inline]
    pub fn may_report(&self, now: Time) -> bool {
        (self.is_due && self.prohibited_until.is_none_or(|until| until <= now) && self.estimate.is_none())
            || self.rest_from.is_some()
    }

    /// Completes a STATUS PDU, which has `room` bits left, with a report or the next part of one.
    pub fn report(
        &mut self,
        now: Time,
        incoming: Format,
        room: u32,
        status: &mut Status,
        is_piggybacked: bool,
        out: &mut Outbox,
    ) {
        let from = self.rest_from.unwrap_or(self.vr_r).max(self.vr_r);
        if self.rest_from.is_none() {
            // What triggers a report between its parts asks for another one.
            (self.is_due, self.told_missing) = (false, 0);
        }
        let told = self.held().describe(self.status.format, from, room.saturating_sub(ACK_BITS), &mut status.fields);
        if told > from {
            self.told_missing += (told - from) as u32 - self.got.count(from, told);
        }
        // §9.2.2.11.2: LSN is above VR(R) only where all that is missing stands in this STATUS PDU.
        let is_whole = self.rest_from.is_none() && told == self.vr_h;
        status.end = StatusEnd::Ack(Sn::of(if is_whole { self.vr_h } else { self.vr_r }).get());
        self.rest_from = (told < self.vr_h).then_some(told);
        if self.rest_from.is_none() {
            self.on_reported(now, incoming, is_piggybacked, out);
        }
    }

    /// The last STATUS PDU of a report was submitted.
    fn on_reported(&mut self, now: Time, incoming: Format, is_piggybacked: bool, out: &mut Outbox) {
        self.prohibited_until = self.status.prohibit.span().map(|span| now + span);
        if let Some(timer) = self.status.estimated_pdu_counter.span()
            && self.told_missing > 0
        {
            // Releases 99 to 6, §9.7.4: behind Timer_EPC, VR(EP) counts down what each TTI brings.
            let ttis = u64::from(self.told_missing).div_ceil(u64::from(incoming.blocks.max(1)));
            self.estimate = Some((now + timer + incoming.tti * ttis, self.vr_h));
        }
        let fact = Fact::new(FactKind::StatusSent, FlowId::NONE).about(self.vr_r, 0);
        out.fact(fact.values(u64::from(self.told_missing), u64::from(is_piggybacked)));
    }

    /// Whether a whole report fits a STATUS PDU that has `room` bits left.
    pub fn report_fits(&self, room: u32) -> bool {
        let Some(room) = room.checked_sub(ACK_BITS) else { return false };
        let mut fields = Vec::new();
        self.rest_from.is_none() && self.held().describe(self.status.format, self.vr_r, room, &mut fields) == self.vr_h
    }

    fn held(&self) -> Held<'_> {
        let may_begin_before = self.window < Sn::MODULUS / 2;
        Held { vr_r: self.vr_r, vr_h: self.vr_h, got: &self.got, may_begin_before }
    }

    /// Whether reports go into padding.
    pub fn piggybacks(&self) -> bool {
        self.status.piggyback
    }

    /// Timers that have come due.
    pub fn on_timeout(&mut self, now: Time, incoming: &Carried) {
        self.prohibited_until = self.prohibited_until.filter(|&until| until > now);
        if let (Some(due), Some(period)) = (self.periodic_at, self.status.periodic.span())
            && due <= now
        {
            // differs: §9.5 g) reports to a transmitter that waits for nothing as well; here that timer rests meanwhile.
            let is_idle = incoming.released() == incoming.end();
            self.resting_from = is_idle.then_some(due);
            self.periodic_at = (!is_idle).then_some(due + period);
            self.is_due |= !is_idle;
        }
        if self.estimate.is_some_and(|(due, _)| due <= now) {
            // What was asked for should have arrived, and has not.
            self.estimate = None;
            self.is_due = true;
        }
    }

    /// Timer_Status_Periodic goes on, on its grid, if it rested.
    #[inline]
    pub fn wake(&mut self, now: Time) {
        if let Some(rested) = self.resting_from.take()
            && let Some(period) = self.status.periodic.span()
        {
            let missed = now.since(rested).as_nanos() / period.as_nanos() + 1;
            self.periodic_at = Some(rested + period * missed);
        }
    }

    /// When a timer makes a difference next.
    pub fn next_timeout(&self) -> Option<Time> {
        let estimate = self.estimate.map(|(due, _)| due);
        let prohibited = self.prohibited_until.filter(|_| self.is_due && self.estimate.is_none());
        earlier(earlier(self.periodic_at, estimate), prohibited)
    }

    /// Back to the initial state, for PDUs with the hyper frame number behind `hfn` (§11.4.3); Timer_Status_Periodic goes on.
    pub fn reset(&mut self, hfn: u64) {
        let first = (hfn + 1) * Sn::MODULUS;
        (self.vr_r, self.vr_h) = (first, first);
        self.got.clear();
        (self.is_due, self.rest_from, self.told_missing) = (false, None, 0);
        (self.prohibited_until, self.estimate) = (None, None);
        self.answer = None;
        self.window_to_tell = self.status.window;
    }

    /// The hyper frame number with these low twenty bits, at most one below the present one, which another reset that
    /// crossed this one may have reached already.
    pub fn hfn_from(&self, hfni: u32) -> u64 {
        let lowest = self.vr_r / Sn::MODULUS - 1;
        lowest + (u64::from(hfni).wrapping_sub(lowest) & 0xF_FFFF)
    }

    /// Checks the state variables.
    pub fn check(&self, carried: &Carried) -> Result<(), String> {
        let Receiver { vr_r, vr_h, .. } = *self;
        if vr_r > vr_h || vr_h - vr_r > Sn::MODULUS {
            return Err(format!("VR(R) {vr_r} and VR(H) {vr_h} do not fit"));
        }
        if vr_h > vr_r && self.got.get(vr_r) {
            return Err(format!("VR(R) {vr_r} has arrived"));
        }
        // Both are equal behind a reset of which the transmitter does not know yet.
        if vr_h > carried.sent_to && vr_h > vr_r {
            return Err(format!("VR(H) {vr_h} is above VT(S) {}", carried.sent_to));
        }
        Ok(())
    }
}
