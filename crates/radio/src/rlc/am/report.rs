//! The status reports of the receiver: which PDUs are missing, as super-fields (TS 25.322 §9.2.2.11 and §11.5.2.2).

use super::ring::Ring;
use crate::rlc::pdu::{RelativeList, Run, SuperField};
use crate::rlc::settings::StatusFormat;
use crate::rlc::sn::Sn;

/// Bits of a type and a length.
const TYPE_AND_LENGTH: u32 = 8;
/// Bits of a sequence number.
const NUMBER: u32 = 12;
/// Most octets of a bitmap.
const BITMAP_OCTETS: u64 = 16;
/// Most pairs of a list, and code words of a relative list.
const MOST: usize = 15;

/// The bits of an ACK or WINDOW super-field.
pub const ACK_BITS: u32 = 4 + NUMBER;
/// The bits of an MRW_ACK super-field.
pub const MRW_ACK_BITS: u32 = 4 + 4 + NUMBER;
/// The bits of an MRW super-field with one sequence number.
pub const MRW_BITS: u32 = TYPE_AND_LENGTH + NUMBER + 4;
/// The bits of a NO_MORE super-field.
pub const NO_MORE_BITS: u32 = 4;

/// What the receiver has.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a> {
    /// VR(R).
    pub vr_r: u64,
    /// VR(H).
    pub vr_h: u64,
    /// A bit for each PDU between the two that it has.
    pub got: &'a Ring,
    /// Whether a bitmap may begin before VR(R), which saves one that ends behind VR(H) (§9.2.2.11.5).
    pub may_begin_before: bool,
}

impl Held<'_> {
    /// Appends to `fields`, within `room` bits, super-fields that tell which PDUs from `from` on are missing; returns up to
    /// which count they tell it, VR(H) if all fits.
    pub fn describe(&self, format: StatusFormat, from: u64, room: u32, fields: &mut Vec<SuperField>) -> u64 {
        match format {
            StatusFormat::Bitmap => self.bitmaps(from, room, fields),
            StatusFormat::List => self.lists(from, room, fields),
            StatusFormat::RelativeList => self.relative_lists(from, room, fields),
        }
    }

    /// The next run of missing PDUs from `from` on.
    fn next_missing(&self, from: u64) -> Option<(u64, u64)> {
        let first = self.got.first_unset(from, self.vr_h);
        (first < self.vr_h).then(|| (first, self.got.first_set(first, self.vr_h)))
    }

    fn bitmaps(&self, from: u64, mut room: u32, fields: &mut Vec<SuperField>) -> u64 {
        // §9.2.2.11: nothing is told of PDUs from VR(H) on, so the last octet ends there.
        let mut next = from;
        let mut whole = self.vr_h;
        // A later part of a report tells nothing twice (§11.5.2.2).
        if self.may_begin_before && from == self.vr_r {
            next = self.vr_h - (self.vr_h - from).next_multiple_of(8);
        } else {
            whole = from + (self.vr_h - from) / 8 * 8;
        }
        while next < whole {
            let fits = u64::from(room.saturating_sub(TYPE_AND_LENGTH + NUMBER) / 8);
            let octets = ((whole - next) / 8).min(BITMAP_OCTETS).min(fits);
            if octets == 0 {
                return next.max(from);
            }
            let octet = |place: u64| {
                let first = next + place * 8;
                // Below VR(R) all has arrived.
                let below = self.vr_r.saturating_sub(first).min(8);
                self.got.octet(first) | !(0xFF_u16 >> below) as u8
            };
            let bits = (0..octets).map(octet).collect();
            fields.push(SuperField::Bitmap { first: Sn::of(next).get(), bits });
            room -= TYPE_AND_LENGTH + NUMBER + octets as u32 * 8;
            next += octets * 8;
        }
        if next < self.vr_h { self.lists(next, room, fields) } else { self.vr_h }
    }

    fn lists(&self, from: u64, mut room: u32, fields: &mut Vec<SuperField>) -> u64 {
        const PAIR: u32 = NUMBER + 4;
        let mut pairs = Vec::new();
        let mut next = from;
        while let Some((first, end)) = self.next_missing(next) {
            let head = if pairs.is_empty() { TYPE_AND_LENGTH } else { 0 };
            if room < head + PAIR {
                put_list(&mut pairs, fields);
                return first;
            }
            room -= head + PAIR;
            let count = (end - first).min(16);
            pairs.push((Sn::of(first).get(), (count - 1) as u8));
            next = first + count;
            if pairs.len() == MOST {
                put_list(&mut pairs, fields);
            }
        }
        put_list(&mut pairs, fields);
        self.vr_h
    }

    fn relative_lists(&self, from: u64, mut room: u32, fields: &mut Vec<SuperField>) -> u64 {
        let mut runs: Vec<Run> = Vec::new();
        let mut words = 0;
        let mut next = from;
        let mut last = from;
        while let Some((first, mut end)) = self.next_missing(next) {
            let burst_bits = 4 * (1 + code_words(end - first - 1)) as u32;
            if runs.is_empty() && end > first + 1 && room < TYPE_AND_LENGTH + NUMBER + burst_bits {
                end = first + 1; // the smallest PDU has no room for a burst
            }
            let count = end - first;
            let burst = if count > 1 { 1 + code_words(count - 1) } else { 0 };
            let step = if runs.is_empty() { 0 } else { code_words(first - last) };
            if !runs.is_empty() && words + step + burst > MOST {
                put_relative_list(&mut runs, fields);
                words = 0;
            }
            let step = if runs.is_empty() { 0 } else { step };
            let head = if runs.is_empty() { TYPE_AND_LENGTH + NUMBER } else { 0 };
            let bits = head + 4 * (step + burst) as u32;
            if room < bits {
                put_relative_list(&mut runs, fields);
                return first;
            }
            room -= bits;
            words += step + burst;
            runs.push(Run { first: Sn::of(first).get(), count: count as u16 });
            (next, last) = (end, end - 1);
        }
        put_relative_list(&mut runs, fields);
        self.vr_h
    }
}

fn put_list(pairs: &mut Vec<(u16, u8)>, fields: &mut Vec<SuperField>) {
    if !pairs.is_empty() {
        fields.push(SuperField::List(std::mem::take(pairs)));
    }
}

fn put_relative_list(runs: &mut Vec<Run>, fields: &mut Vec<SuperField>) {
    if let Some(list) = RelativeList::of(runs) {
        fields.push(SuperField::RelativeList(list));
        runs.clear();
    }
}

/// Code words that a number takes, three of its bits in each (§9.2.2.11.6).
fn code_words(number: u64) -> usize {
    (number.max(1).ilog2() / 3 + 1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The super-fields for a receiver at VR(R) 4096 that has these PDUs behind it, up to the highest of them.
    fn describe(format: StatusFormat, got: &[u64], room: u32) -> (Vec<SuperField>, u64) {
        let mut ring = Ring::new();
        let base = Sn::MODULUS;
        for &count in got {
            ring.set(base + count, base + count + 1);
        }
        let vr_h = base + got.iter().max().map_or(0, |highest| highest + 1);
        let held = Held { vr_r: base, vr_h, got: &ring, may_begin_before: true };
        let mut fields = Vec::new();
        let told = held.describe(format, base, room, &mut fields);
        (fields, told - base)
    }

    #[test]
    fn a_bitmap_ends_at_the_highest_pdu_and_may_begin_before_the_window() {
        // Teyeb, section 4.2: PDUs 1, 2, 4 and 6 received. Here VR(R) is 0 where it is 3 there: 1 and 3 are received. The
        // octet begins four PDUs earlier, which have all arrived.
        let (fields, told) = describe(StatusFormat::Bitmap, &[1, 3], 100);
        assert_eq!(fields, [SuperField::Bitmap { first: 4092, bits: vec![0b1111_0101] }]);
        assert_eq!(told, 4);
    }

    #[test]
    fn what_does_not_fit_is_left_to_the_next_pdu() {
        // 300 PDUs missing but the last: 304 bits in 38 octets; 20 + 128 and 20 + 96 bits leave no octet of 270.
        let (fields, told) = describe(StatusFormat::Bitmap, &[299], 20 + 128 + 20 + 96 + 7);
        assert_eq!((fields.len(), told), (2, 28 * 8 - 4));
        let (fields, told) = describe(StatusFormat::List, &[1, 3, 5, 7], 8 + 16 + 16 + 15);
        assert_eq!((fields, told), (vec![SuperField::List(vec![(0, 0), (2, 0)])], 4));
    }

    #[test]
    fn a_later_part_begins_where_the_one_before_ended() {
        // 54 PDUs were told of, and VR(H) has moved on by six since.
        let mut ring = Ring::new();
        let base = Sn::MODULUS;
        ring.set(base + 59, base + 60);
        let held = Held { vr_r: base, vr_h: base + 60, got: &ring, may_begin_before: true };
        let mut fields = Vec::new();
        assert_eq!(held.describe(StatusFormat::Bitmap, base + 54, 100, &mut fields), base + 60);
        assert_eq!(fields, [SuperField::List(vec![(54, 4)])]);
    }

    #[test]
    fn a_list_counts_what_is_missing_behind_a_number() {
        let (fields, told) = describe(StatusFormat::List, &[20, 22], 1000);
        assert_eq!((fields, told), (vec![SuperField::List(vec![(0, 15), (16, 3), (21, 0)])], 23));
    }

    #[test]
    fn a_relative_list_tells_distances_and_bursts() {
        // Missing: 0 to 3, and 9. First 0, burst of three more, then the distance from 3 to 9.
        let got = [4, 5, 6, 7, 8, 10];
        let (fields, told) = describe(StatusFormat::RelativeList, &got, 20 + 4 * 3);
        let [SuperField::RelativeList(list)] = &fields[..] else { panic!("{fields:?}") };
        assert_eq!(list.code_words().unwrap(), [0b0001, 0b0111, 0b1101]);
        assert_eq!(told, 11);
        assert_eq!(describe(StatusFormat::RelativeList, &got, 20 + 4 * 3 - 1).1, 9);
    }
}
