//! Segmentation and concatenation: SDUs are laid into PDUs of one size (TS 25.322 §9.2.2.8, §9.2.2.9 and §11.3.2).

use super::poll::Poller;
use crate::rlc::sdu::Carried;

/// Octets of the header of an AMD PDU (§9.2.1.4).
pub const HEADER: u32 = 2;
/// Most length indicators that end SDUs, where SDUs are discarded with explicit signalling (§9.2.2.8).
const MOST_INDICATORS: u32 = 15;

/// How PDUs are filled.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Octets behind the header.
    pub room: u32,
    /// Octets of a length indicator.
    pub indicator: u32,
    /// Whether the header extension may tell the end of an SDU.
    pub special_he: bool,
    /// Most SDUs that may end in a PDU.
    pub most_ends: u32,
}

/// What became of SDUs that were laid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Laid {
    /// PDUs that were filled.
    pub count: u64,
    /// Octets of the last one behind its data and indicators, which padding or a piggybacked STATUS PDU takes; a length
    /// indicator for that is not taken off.
    pub padding: u32,
}

impl Layout {
    /// The layout of PDUs of `pdu` octets.
    pub fn new(pdu: u16, special_he: bool, explicit_discard: bool) -> Self {
        Layout {
            room: u32::from(pdu) - HEADER,
            // §9.2.2.8: 7 bits up to 126 octets, else 15; each with an extension bit.
            indicator: if pdu <= 126 { 1 } else { 2 },
            special_he,
            most_ends: if explicit_discard { MOST_INDICATORS } else { u32::MAX },
        }
    }

    /// Lays what waits into at most `most` PDUs, the first of which has the count `first`.
    pub fn lay(&self, carried: &mut Carried, poller: &mut Poller, first: u64, most: u64) -> Laid {
        let mut pdu = Open { count: 0, room: self.room, ends: 0 };
        let mut padding = 0;
        while pdu.count < most && carried.laid < carried.end() {
            padding = 0;
            let count = first + pdu.count;
            let octets = carried.sdu(carried.laid).octets;
            let rest = octets - carried.laid_octets;
            if !carried.is_begun {
                carried.is_begun = true;
                let laid = carried.laid;
                let sdu = carried.sdu_mut(laid);
                (sdu.first, sdu.in_first) = (count, rest.min(pdu.room) as u16);
                poller.begin_sdu();
            }
            if rest > pdu.room && pdu.room == self.room {
                // Whole PDUs; one octet at least is left, as the end must be told.
                let whole = u64::from((rest - 1) / self.room).min(most - pdu.count);
                carried.laid_octets += whole as u32 * self.room;
                carried.unsent_octets -= whole * u64::from(self.room);
                pdu.count += whole;
            } else if rest > pdu.room || (rest > 0 && self.is_told_later(rest, pdu)) {
                let part = rest.min(pdu.room);
                carried.laid_octets += part;
                carried.unsent_octets -= u64::from(part);
                pdu.close(self.room);
            } else {
                self.end_sdu(carried, poller, count, rest, &mut pdu);
                if pdu.room > 0 && (pdu.ends >= self.most_ends || carried.laid == carried.end()) {
                    padding = pdu.room;
                    pdu.room = 0;
                }
                if pdu.room == 0 {
                    pdu.close(self.room);
                }
            }
        }
        Laid { count: pdu.count, padding }
    }

    /// Whether an SDU whose `rest` octets fit leaves no room for what tells its end, so that a length indicator in the
    /// next PDU does (§9.2.2.8).
    fn is_told_later(&self, rest: u32, pdu: Open) -> bool {
        if rest == pdu.room && self.special_he && pdu.ends == 0 {
            return false; // §9.2.2.7: the header extension tells
        }
        rest + self.indicator > pdu.room
    }

    /// Lays the last `rest` octets of an SDU.
    fn end_sdu(&self, carried: &mut Carried, poller: &mut Poller, count: u64, rest: u32, pdu: &mut Open) {
        let laid = carried.laid;
        let sdu = carried.sdu_mut(laid);
        (sdu.last, sdu.in_last) = (count, rest as u16);
        carried.laid += 1;
        (carried.laid_octets, carried.is_begun) = (0, false);
        carried.unsent_octets -= u64::from(rest);
        poller.end_sdu(count);
        pdu.ends += 1;
        pdu.room = pdu.room.saturating_sub(rest + self.indicator);
        if self.indicator == 2 && pdu.room == 1 {
            pdu.room = 0; // §9.2.2.8: one octet behind a 15-bit indicator is padding, without an indicator that says so
        }
    }

    /// Whether all that waits goes into `most` PDUs, and what padding the last one has then.
    pub fn foresee(&self, carried: &Carried, most: u64) -> Option<u32> {
        if carried.unsent_octets > most * u64::from(self.room) {
            return None;
        }
        let mut pdu = Open { count: 0, room: self.room, ends: 0 };
        let mut padding = 0;
        for ordinal in carried.laid..carried.end() {
            let laid = if ordinal == carried.laid { carried.laid_octets } else { 0 };
            let mut rest = carried.sdu(ordinal).octets - laid;
            while rest > pdu.room || (rest > 0 && self.is_told_later(rest, pdu)) {
                rest -= rest.min(pdu.room);
                pdu.close(self.room);
            }
            pdu.ends += 1;
            pdu.room = pdu.room.saturating_sub(rest + self.indicator);
            if self.indicator == 2 && pdu.room == 1 {
                pdu.room = 0;
            }
            padding = pdu.room;
            if pdu.room == 0 || pdu.ends >= self.most_ends {
                pdu.close(self.room);
            }
            if pdu.count > most {
                return None;
            }
        }
        let count = pdu.count + u64::from(pdu.ends > 0);
        (count > 0 && count <= most && padding > 0).then_some(padding)
    }
}

/// A PDU that is being filled, behind `count` others.
#[derive(Clone, Copy, Debug)]
struct Open {
    count: u64,
    room: u32,
    /// SDUs that end in it.
    ends: u32,
}

impl Open {
    fn close(&mut self, room: u32) {
        *self = Open { count: self.count + 1, room, ends: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rlc::sdu::Segment;
    use crate::rlc::settings::PollSettings;
    use cellwind_engine::packet::Packet;
    use cellwind_engine::time::Time;

    /// Lays SDUs of these octets into PDUs of `pdu` octets: the octets of each segment by PDU, a plus where an SDU ends,
    /// and the padding of the last PDU.
    fn laid(pdu: u16, special_he: bool, sdus: &[u32]) -> (String, u32) {
        let mut carried = Carried::default();
        for &octets in sdus {
            carried.enter(Time::ZERO, &Packet::EMPTY, octets);
        }
        let layout = Layout::new(pdu, special_he, true);
        let mut poller = Poller::new(Time::ZERO, &PollSettings::default());
        let foreseen = layout.foresee(&carried, 100);
        let laid = layout.lay(&mut carried, &mut poller, 0, 100);
        assert_eq!(foreseen.unwrap_or(0), laid.padding);
        let show = |segment: &Segment| format!("{}{}", segment.octets, if segment.ends { "+" } else { "" });
        let show = |count| carried.segments(count, layout.room).iter().map(show).collect::<Vec<_>>().join(" ");
        let text = (0..laid.count).map(show).collect::<Vec<_>>().join(" | ");
        assert_eq!(carried.unsent_octets(), 0);
        (text, laid.padding)
    }

    #[test]
    fn an_sdu_is_cut_and_the_next_one_follows_in_the_same_pdu() {
        // 42 octets less two of header leave 40; each end takes a length indicator of one octet.
        assert_eq!(laid(42, false, &[100]), ("40 | 40 | 20+".into(), 19));
        assert_eq!(laid(42, false, &[100, 30]), ("40 | 40 | 20+ 19 | 11+".into(), 28));
        assert_eq!(laid(42, false, &[10, 10, 10]), ("10+ 10+ 10+".into(), 7));
    }

    #[test]
    fn the_end_of_an_sdu_that_fills_its_pdu_is_told_in_the_next_one() {
        assert_eq!(laid(42, false, &[40]), ("40 | 0+".into(), 39));
        assert_eq!(laid(42, false, &[40, 40]), ("40 | 0+ 39 | 1+".into(), 38));
        assert_eq!(laid(42, false, &[39]), ("39+".into(), 0));
        // With the special header extension no indicator is needed; behind another SDU it has no place (§9.2.2.7).
        assert_eq!(laid(42, true, &[40, 80]), ("40+ | 40 | 40+".into(), 0));
        assert_eq!(laid(42, true, &[20, 19]), ("20+ 19 | 0+".into(), 39));
    }

    #[test]
    fn indicators_of_fifteen_bits_leave_single_octets_unused() {
        // 127 octets leave 125; an indicator takes two.
        assert_eq!(laid(127, false, &[123]), ("123+".into(), 0));
        assert_eq!(laid(127, false, &[122, 200]), ("122+ | 125 | 75+".into(), 48));
        assert_eq!(laid(127, false, &[124]), ("124 | 0+".into(), 123)); // one octet short of filling it
        assert_eq!(laid(127, false, &[125]), ("125 | 0+".into(), 123));
    }

    #[test]
    fn with_explicit_discard_a_pdu_ends_fifteen_sdus() {
        let (text, _) = laid(100, false, &[1; 17]);
        assert_eq!(text, format!("{} | 1+ 1+", ["1+"; 15].join(" ")));
    }
}
