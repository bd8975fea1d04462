//! The scoreboard: every segment that is sent and not yet acknowledged, oldest first.
//!
//! Terms of RFC 6675 §2 and §4: a segment is lost when enough data above it is selectively acknowledged;
//! `pipe` is what the sender believes to be in the network.

use std::collections::VecDeque;

use cellwind_engine::time::Time;

/// One segment in the scoreboard. Retransmissions keep its boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First sequence number.
    pub start: u64,
    /// Sequence number after the last; a FIN counts one.
    pub end: u64,
    /// When it was last sent.
    pub sent: Time,
    /// How often it was sent.
    pub transmissions: u32,
    /// Reported by a SACK block.
    pub sacked: bool,
}

/// Segments in flight.
#[derive(Clone, Debug, Default)]
pub struct Board {
    segments: VecDeque<Segment>,
    sacked_bytes: u64,
}

/// What a cumulative acknowledgement removed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acknowledged {
    /// When the newest segment was sent, unless any of them was sent twice (Karn, RFC 6298 §3).
    pub timed: Option<Time>,
}

impl Board {
    /// Records the first transmission of `[start, end)`.
    pub fn push(&mut self, start: u64, end: u64, now: Time) {
        debug_assert!(self.segments.back().is_none_or(|last| last.end == start));
        self.segments.push_back(Segment { start, end, sent: now, transmissions: 1, sacked: false });
    }

    /// Removes everything below `ack`; a segment acknowledged in part shrinks.
    pub fn acknowledge(&mut self, ack: u64) -> Acknowledged {
        let mut newest = None;
        let mut ambiguous = false;
        while let Some(front) = self.segments.front_mut() {
            if front.end > ack {
                if front.start < ack {
                    if front.sacked {
                        self.sacked_bytes -= ack - front.start;
                    }
                    front.start = ack;
                }
                break;
            }
            if front.sacked {
                self.sacked_bytes -= front.end - front.start;
            }
            ambiguous |= front.transmissions > 1;
            newest = Some(front.sent);
            self.segments.pop_front();
        }
        Acknowledged { timed: newest.filter(|_| !ambiguous) }
    }

    /// Marks the segments inside `[start, end)` as held by the receiver; returns the bytes newly marked.
    pub fn mark_sacked(&mut self, start: u64, end: u64) -> u64 {
        let first = self.segments.partition_point(|segment| segment.start < start);
        let mut marked = 0;
        for segment in self.segments.range_mut(first..) {
            if segment.end > end {
                break;
            }
            if !segment.sacked {
                segment.sacked = true;
                marked += segment.end - segment.start;
            }
        }
        self.sacked_bytes += marked;
        marked
    }

    /// Forgets all SACK information.
    pub fn forget_sacked(&mut self) {
        self.segments.iter_mut().for_each(|segment| segment.sacked = false);
        self.sacked_bytes = 0;
    }

    /// Bytes below `seq` that SACK blocks report.
    pub fn sacked_below(&self, seq: u64) -> u64 {
        if self.sacked_bytes == 0 {
            return 0;
        }
        let below = self.segments.iter().take_while(|segment| segment.start < seq);
        below.filter(|segment| segment.sacked).map(|segment| segment.end - segment.start).sum()
    }

    /// The segment that contains sequence number `seq`.
    pub fn at(&self, seq: u64) -> Option<&Segment> {
        let after = self.segments.partition_point(|segment| segment.end <= seq);
        self.segments.get(after)
    }

    /// Counts another transmission of the segment that starts at `start` and returns it.
    pub fn resend(&mut self, start: u64, now: Time) -> Option<Segment> {
        let index = self.segments.partition_point(|segment| segment.start < start);
        let segment = self.segments.get_mut(index)?;
        segment.transmissions += 1;
        segment.sent = now;
        Some(*segment)
    }

    /// The segments, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Segment> {
        self.segments.iter()
    }

    /// Calls `visit` for each segment, newest first, with whether it is lost (RFC 6675 §4, IsLost): at
    /// least `dup_thresh` separate runs of SACKed data lie above it, or more than `(dup_thresh - 1) * mss`
    /// SACKed bytes do.
    pub fn for_each_with_loss(&self, dup_thresh: u32, mss: u64, mut visit: impl FnMut(&Segment, bool)) {
        let enough = u64::from(dup_thresh.saturating_sub(1)) * mss;
        let (mut bytes, mut runs) = (0, 0);
        let mut in_run = false;
        for segment in self.segments.iter().rev() {
            if segment.sacked {
                bytes += segment.end - segment.start;
                runs += u32::from(!in_run);
            }
            in_run = segment.sacked;
            visit(segment, !segment.sacked && (runs >= dup_thresh || bytes > enough));
        }
    }

    /// Checks that segments follow each other from `una` to `max` without gap, and the count of SACKed bytes.
    pub fn check(&self, una: u64, max: u64) -> Result<(), String> {
        let sacked: u64 = self.segments.iter().filter(|segment| segment.sacked).map(|s| s.end - s.start).sum();
        if sacked != self.sacked_bytes {
            return Err(format!("{sacked} bytes are SACKed, but {} are counted", self.sacked_bytes));
        }
        let mut next = una;
        for segment in &self.segments {
            if segment.start != next || segment.end <= segment.start {
                return Err(format!("segment {segment:?} where {next} was expected"));
            }
            next = segment.end;
        }
        if next == max { Ok(()) } else { Err(format!("the last segment ends at {next}, not at {max}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(count: u64) -> Board {
        let mut board = Board::default();
        (0..count).for_each(|n| board.push(1 + n * 100, 101 + n * 100, Time::from_millis(n)));
        board
    }

    fn lost(board: &Board) -> Vec<u64> {
        let mut lost = Vec::new();
        board.for_each_with_loss(3, 100, |segment, is_lost| {
            if is_lost {
                lost.push(segment.start);
            }
        });
        lost.reverse();
        lost
    }

    #[test]
    fn a_retransmission_among_the_acknowledged_spoils_the_sample() {
        let mut board = board(4);
        assert_eq!(board.acknowledge(101).timed, Some(Time::from_millis(0)));
        board.resend(101, Time::from_millis(50));
        assert_eq!(board.acknowledge(301).timed, None);
        assert_eq!(board.acknowledge(401).timed, Some(Time::from_millis(3)));
    }

    #[test]
    fn loss_needs_more_than_two_segments_of_sacked_data_above() {
        let mut board = board(8);
        board.mark_sacked(201, 401);
        assert_eq!(lost(&board), [0; 0]);
        board.mark_sacked(401, 501);
        assert_eq!(lost(&board), [1, 101]);
    }

    #[test]
    fn loss_needs_three_separate_runs_when_they_are_short() {
        let mut board = Board::default();
        (0..8).for_each(|n| board.push(1 + n * 10, 11 + n * 10, Time::ZERO));
        board.mark_sacked(11, 21);
        board.mark_sacked(31, 41);
        assert_eq!(lost(&board), [0; 0]);
        board.mark_sacked(51, 61);
        assert_eq!(lost(&board), [1]);
    }

    #[test]
    fn acknowledging_part_of_a_segment_keeps_the_rest() {
        let mut board = board(2);
        board.acknowledge(51);
        assert_eq!(board.at(60).unwrap().start, 51);
        board.check(51, 201).unwrap();
    }
}
