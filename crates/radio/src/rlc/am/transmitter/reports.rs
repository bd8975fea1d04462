//! What status reports tell the transmitter: TS 25.322 §9.2.2.11, §10.1 and §11.5.3.

use cellwind_engine::fact::{Fact, FactKind};
use cellwind_engine::machine::Outbox;
use cellwind_engine::time::Time;

use super::{Transmitter, Verdict};
use crate::rlc::pdu::{RelativeList, Status, StatusEnd, SuperField};
use crate::rlc::sdu::{Carried, Fate};
use crate::rlc::settings::Discard;
use crate::rlc::sn::Sn;

impl Transmitter {
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
            StatusEnd::NoMore | StatusEnd::Full => None,
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
        self.poller.on_acknowledged(self.vt_a);
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
        // §9.2.2.11.5: it begins at most seven PDUs before VR(R), which is not below VT(A), and none with large windows. What
        // tells is how far PDUs were sent, as the window may have grown since the report was made.
        let before = if self.vt_s - self.vt_a <= Sn::MODULUS - 8 { 7 } else { 0 };
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
        self.poller.on_missing(count);
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

    pub(super) fn forget_missing(&mut self, from: u64, to: u64) {
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
    pub(super) fn release(&mut self, now: Time, carried: &mut Carried, out: &mut Outbox) {
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

    fn move_to(&mut self, vt_a: u64) {
        if vt_a > self.vt_a {
            self.forget_missing(self.vt_a, vt_a);
            self.vt_a = vt_a;
        }
    }
}
