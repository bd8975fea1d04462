//! Which SDUs the transmitter gives up, and up to where the receiver is to move its window: TS 25.322 §9.7.3 and §11.6.2.

use cellwind_engine::fact::DropReason;
use cellwind_engine::machine::Outbox;
use cellwind_engine::time::Time;

use super::{Transmitter, Verdict};
use crate::rlc::am::discard::Target;
use crate::rlc::sdu::{Carried, Fate};
use crate::rlc::settings::Discard;
use crate::rlc::sn::Sn;

impl Transmitter {
    /// PDUs were sent as often as they may (§11.3.3a).
    pub(super) fn on_spent(&mut self, carried: &mut Carried) -> Verdict {
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
                let is_late = self.discard == Discard::Timer;
                sdu.fate = Fate::GivenUp(if is_late { DropReason::Expired } else { DropReason::AttemptsExhausted });
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
    pub(super) fn discard_further(&mut self) {
        let Target { sn, n } = self.target;
        let is_needed = sn > self.vt_a || (sn == self.vt_a && n > 0);
        if is_needed && self.target != self.asked && !self.discarder.is_active() {
            self.asked = self.target;
            // §11.6.2.2
            let beyond_window = self.target.sn >= self.vt_a + self.window;
            self.discarder.begin(self.target, beyond_window);
        }
    }

    /// Discards the SDUs whose Timer_Discard has expired (§9.7.3.1).
    pub(super) fn expire(&mut self, now: Time, carried: &mut Carried, out: &mut Outbox) {
        let held = carried.held_octets();
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
        if carried.held_octets() != held {
            self.tell_occupancy(carried, out);
        }
    }

    pub(super) fn next_expiry(&self, carried: &Carried) -> Option<Time> {
        let next = self.kept.max(carried.released()).max(carried.start());
        let is_stuck = next == carried.laid && carried.is_begun && !self.can_cut_off();
        (next < carried.end() && !is_stuck).then(|| carried.sdu(next).entered + self.discard_timer)
    }
}
