//! Early Retransmit (RFC 5827): fewer duplicate ACKs start a fast retransmit where no more than a few can come.

use super::Core;
use crate::tcp::settings::EarlyRetransmit;

impl Core {
    /// Whether the duplicate ACKs that have come start a fast retransmit: DupThresh of them (RFC 5681 §3.2 (2)), or fewer
    /// by Early Retransmit.
    pub fn reaches_threshold(&self) -> bool {
        self.duplicate_acks == self.dup_thresh || (self.duplicate_acks < self.dup_thresh && self.retransmits_early())
    }

    /// Whether Early Retransmit takes the first segment in flight for lost (RFC 5827 §3).
    pub fn retransmits_early(&self) -> bool {
        if self.early_retransmit == EarlyRetransmit::Off || self.can_send_new() {
            return false; // (2.b), (3.b)
        }
        let acks = u64::from(self.duplicate_acks);
        if self.early_retransmit == EarlyRetransmit::ByteBased {
            let ownd = self.snd_max.min(self.written).saturating_sub(self.snd_una); // data: a FIN rides along
            return ownd > self.mss // differs: a threshold of zero, for which §3.1 has an example but no rule, starts nothing
                && ownd < 4 * self.mss // (2.a)
                && match self.has_sack {
                    true => self.board.sacked_bytes() >= ownd - self.mss,
                    false => acks >= ownd.div_ceil(self.mss) - 1, // (1)
                };
        }
        let oseg = self.board.iter().take(4).count() as u64; // with the FIN, as §3.2 allows
        (2..4).contains(&oseg) // (3.a)
            && match self.has_sack {
                true => self.board.iter().filter(|segment| segment.sacked).count() as u64 == oseg - 1,
                false => acks >= oseg - 1, // (2)
            }
    }

    /// The segments that the duplicate ACKs which start a fast retransmit say have left: DupThresh, or fewer with Early
    /// Retransmit.
    pub fn segments_left(&self) -> u64 {
        match self.early_retransmit {
            EarlyRetransmit::Off => u64::from(self.dup_thresh),
            _ => u64::from(self.duplicate_acks.min(self.dup_thresh)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::settings::TcpSettings;
    use cellwind_engine::packet::FlowId;
    use cellwind_engine::time::Time;

    /// A core with `lengths` in flight, whose full segment has 1460 bytes, after `acks` duplicate ACKs; `unsent` more bytes
    /// are written.
    fn in_flight(early_retransmit: EarlyRetransmit, sack: bool, lengths: &[u64], acks: u32, unsent: u64) -> Core {
        let settings = TcpSettings { early_retransmit, sack, ..TcpSettings::default() };
        let mut core = Core::new(&settings, FlowId(0));
        (core.snd_una, core.snd_nxt, core.snd_max, core.snd_wnd) = (1, 1, 1, 65535);
        for length in lengths {
            core.board.push(core.snd_max, core.snd_max + length, Time::ZERO);
            core.snd_max += length;
        }
        (core.snd_nxt, core.written, core.duplicate_acks) = (core.snd_max, core.snd_max + unsent, acks);
        core
    }

    #[test]
    fn early_retransmit_needs_one_duplicate_ack_less_than_segments_in_flight() {
        use EarlyRetransmit::{ByteBased, Off, SegmentBased};
        for early in [ByteBased, SegmentBased] {
            let needs = |segments: usize| {
                let is_early =
                    |&acks: &u32| in_flight(early, false, &vec![1460; segments], acks, 0).retransmits_early();
                (1..=3).find(is_early)
            };
            assert_eq!([1, 2, 3, 4].map(needs), [None, Some(1), Some(2), None]);
            assert!(!in_flight(early, false, &[1460; 3], 2, 1).retransmits_early()); // new data could leave
            let mut closed = in_flight(early, false, &[1460; 3], 2, 1);
            closed.snd_wnd = 3 * 1460; // but the receiver has no room for it
            assert!(closed.retransmits_early());
        }
        assert!(!in_flight(Off, false, &[1460; 3], 2, 0).retransmits_early());
    }

    #[test]
    fn early_retransmit_by_bytes_errs_on_short_segments() {
        // RFC 5827 §3.1: three segments of 400 bytes come to a threshold of zero, ten to one of two.
        let by =
            |early, segments: usize, acks| in_flight(early, false, &vec![400; segments], acks, 0).retransmits_early();
        assert!(!by(EarlyRetransmit::ByteBased, 3, 2) && by(EarlyRetransmit::SegmentBased, 3, 2));
        assert!(!by(EarlyRetransmit::ByteBased, 10, 1) && by(EarlyRetransmit::ByteBased, 10, 2));
        assert!(!by(EarlyRetransmit::SegmentBased, 10, 2));
    }

    #[test]
    fn early_retransmit_with_sack_needs_all_but_one_segment_reported() {
        for early in [EarlyRetransmit::ByteBased, EarlyRetransmit::SegmentBased] {
            let mut core = in_flight(early, true, &[1460; 3], 2, 0);
            assert!(!core.retransmits_early()); // however many duplicate ACKs
            core.board.mark_sacked(1461, 2921, |_| {});
            assert!(!core.retransmits_early());
            core.board.mark_sacked(2921, 4381, |_| {});
            assert!(core.retransmits_early());
        }
    }
}
