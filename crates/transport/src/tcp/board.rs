//! The scoreboard: every segment that is sent and not yet acknowledged, oldest first.
//!
//! Terms of RFC 6675 §2 and §4: `pipe` is what the sender believes to be in the network. Everything here is kept up to
//! date by differences, so that an acknowledgement costs what it tells and nothing for the size of the window. Which
//! segments are lost is for a recovery to say, with [`Board::lose_below`] or [`Board::lose`].

use std::collections::VecDeque;

use cellwind_engine::packet::SackBlocks;
use cellwind_engine::time::Time;

use runs::Runs;

mod runs;

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
    /// Found lost since the last timeout.
    pub lost: bool,
    /// Sent again since the last timeout, and that transmission counts as in the network.
    pub resent: bool,
}

impl Segment {
    /// Sequence numbers it takes.
    pub fn length(&self) -> u64 {
        self.end - self.start
    }

    /// Whether a transmission of it may be in the network.
    fn is_in_network(&self) -> bool {
        !self.sacked && (!self.lost || self.resent)
    }
}

/// Segments in flight.
#[derive(Clone, Debug, Default)]
pub struct Board {
    segments: VecDeque<Segment>,
    /// The SACKed segments, as ranges of sequence numbers.
    runs: Runs,
    sacked_bytes: u64,
    /// Bytes found lost, SACKed ones aside.
    lost_bytes: u64,
    /// Bytes of the segments that are `resent`, SACKed ones aside.
    resent_bytes: u64,
    /// Everything below was looked at by `lose_below`.
    lost_mark: u64,
    /// No segment from here on is SACKed, lost or resent.
    clean_from: u64,
    /// The SACKed bytes below some sequence number, and that number.
    sacked_below: (u64, u64),
    /// The blocks that the last acknowledgement with SACK carried: most of them come again with the next.
    reported: [(u64, u64); SackBlocks::MOST],
    /// Transmissions in the order of time, when somebody wants them.
    transmissions: Option<VecDeque<Transmission>>,
}

/// What a cumulative acknowledgement removed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acknowledged {
    /// When the newest segment was sent, unless any of them was sent twice (Karn, RFC 6298 §3).
    pub timed: Option<Time>,
    /// Bytes that no SACK block had reported before.
    pub delivered: u64,
}

/// One sending of a segment.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    /// Where the segment ends; its start may move.
    end: u64,
    /// How often it had been sent then.
    transmissions: u32,
}

impl Board {
    /// A board that also keeps transmissions in the order of time, for [`Board::oldest_transmission`].
    pub fn with_transmissions() -> Self {
        Board { transmissions: Some(VecDeque::new()), ..Board::default() }
    }

    /// Records the first transmission of `[start, end)`.
    #[inline]
    pub fn push(&mut self, start: u64, end: u64, now: Time) {
        debug_assert!(self.segments.back().is_none_or(|last| last.end == start));
        let (sacked, lost, resent) = (false, false, false);
        self.segments.push_back(Segment { start, end, sent: now, transmissions: 1, sacked, lost, resent });
        if let Some(queue) = &mut self.transmissions {
            queue.push_back(Transmission { end, transmissions: 1 });
        }
    }

    /// Removes everything below `ack`; a segment acknowledged in part shrinks. Calls `visit` for each segment that goes and
    /// was not SACKed, as it was.
    #[inline(always)]
    pub fn acknowledge(&mut self, ack: u64, mut visit: impl FnMut(&Segment)) -> Acknowledged {
        let mut newest = None;
        let mut ambiguous = false;
        let (sacked_before, mut removed) = (self.sacked_bytes, 0);
        while let Some(front) = self.segments.front_mut() {
            if front.end > ack {
                if front.start < ack {
                    let gone = ack - front.start;
                    let part = *front;
                    front.start = ack;
                    removed += gone;
                    self.discount(&part, gone);
                }
                break;
            }
            removed += front.length();
            ambiguous |= front.transmissions > 1;
            newest = Some(front.sent);
            if front.sacked || front.lost || front.resent {
                let front = *front;
                self.discount(&front, front.length());
            }
            if let Some(front) = self.segments.front().filter(|front| !front.sacked) {
                visit(front);
            }
            self.segments.pop_front();
        }
        let sacked = sacked_before - self.sacked_bytes;
        if sacked > 0 {
            self.forget_runs_below(ack, sacked);
        }
        Acknowledged { timed: newest.filter(|_| !ambiguous), delivered: removed - sacked }
    }

    /// The runs below `ack`, with `sacked` bytes, have been acknowledged.
    #[inline(never)]
    fn forget_runs_below(&mut self, ack: u64, sacked: u64) {
        self.runs.remove_below(ack);
        let (below, mark) = self.sacked_below;
        self.sacked_below.0 = if ack < mark { below - sacked } else { 0 };
    }

    /// Takes `bytes` bytes of `segment` out of the sums.
    #[inline(never)]
    fn discount(&mut self, segment: &Segment, bytes: u64) {
        if segment.sacked {
            self.sacked_bytes -= bytes;
            return;
        }
        if segment.lost {
            self.lost_bytes -= bytes;
        }
        if segment.resent {
            self.resent_bytes -= bytes;
        }
    }

    /// Marks the segments inside the blocks of an acknowledgement as [`Board::mark_sacked`] does.
    pub fn mark_reported(&mut self, blocks: impl Iterator<Item = (u64, u64)>, mut visit: impl FnMut(&Segment)) -> u64 {
        let before = std::mem::take(&mut self.reported);
        let mut marked = 0;
        for (place, block) in blocks.take(before.len()).enumerate() {
            if !before.contains(&block) {
                marked += self.mark_sacked(block.0, block.1, &mut visit);
            }
            self.reported[place] = block;
        }
        marked
    }

    /// Marks the segments inside `[start, end)` as held by the receiver and calls `visit` for each that was not marked
    /// before, as it was; returns the bytes newly marked. A block that tells nothing new costs one look at the runs.
    pub fn mark_sacked(&mut self, start: u64, end: u64, mut visit: impl FnMut(&Segment)) -> u64 {
        let first = match self.runs.at(start) {
            Some((_, reached)) if reached >= end => return 0,
            Some((_, reached)) => self.first_from(reached),
            None => self.first_from(start),
        };
        let (mut index, mut marked) = (first, 0);
        while let Some(&segment) = self.segments.get(index).filter(|segment| segment.end <= end) {
            if segment.sacked {
                let (_, reached) = self.runs.at(segment.start).expect("a SACKed segment lies in a run");
                index = self.index_at(reached);
                continue;
            }
            visit(&segment);
            self.discount(&segment, segment.length());
            self.segments[index].sacked = true;
            marked += segment.length();
            if segment.end <= self.sacked_below.1 {
                self.sacked_below.0 += segment.length();
            }
            index += 1;
        }
        if marked > 0 {
            let reached = self.segments[index - 1].end;
            self.runs.insert(self.segments[first].start, reached);
            self.clean_from = self.clean_from.max(reached);
            self.sacked_bytes += marked;
        }
        marked
    }

    /// Forgets which segments are SACKed, lost and resent.
    pub fn forget(&mut self) {
        let flagged = self.first_from(self.clean_from);
        for segment in self.segments.range_mut(..flagged) {
            (segment.sacked, segment.lost, segment.resent) = (false, false, false);
        }
        self.runs.clear();
        self.reported = Default::default();
        (self.sacked_bytes, self.lost_bytes, self.resent_bytes) = (0, 0, 0);
        (self.lost_mark, self.clean_from, self.sacked_below) = (0, 0, (0, 0));
    }

    /// Bytes below `seq`, where a segment begins, that SACK blocks report. Asked for numbers that rise, it looks only at
    /// the runs between them.
    pub fn sacked_below(&mut self, seq: u64) -> u64 {
        if self.sacked_bytes == 0 {
            return 0;
        }
        let (bytes, mark) = if seq < self.sacked_below.1 { (0, 0) } else { self.sacked_below };
        self.sacked_below = (bytes + self.runs.bytes_within(mark, seq), seq);
        self.sacked_below.0
    }

    /// The segment that contains sequence number `seq`; the first when that is below all.
    #[inline]
    pub fn at(&self, seq: u64) -> Option<&Segment> {
        self.segments.get(self.index_at(seq))
    }

    /// The lowest segment from `seq` on that is not SACKed.
    pub fn first_missing(&self, seq: u64) -> Option<&Segment> {
        let segment = self.at(seq)?;
        if !segment.sacked {
            return Some(segment);
        }
        self.runs.at(segment.start).and_then(|(_, reached)| self.at(reached))
    }

    /// The highest segment that is not SACKed.
    pub fn last_missing(&self) -> Option<&Segment> {
        let last = self.segments.back()?;
        if !last.sacked {
            return Some(last);
        }
        let (start, _) = self.runs.at(last.start)?;
        start.checked_sub(1).filter(|_| start > self.segments[0].start).and_then(|below| self.at(below))
    }

    /// The highest sequence number that a SACK block reported, plus one; none when nothing is SACKed.
    pub fn highest_sacked(&self) -> Option<u64> {
        self.runs.iter().next_back().map(|(_, end)| end)
    }

    /// The runs of SACKed data, as `(start, end)`, lowest first.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.runs.iter()
    }

    /// Counts another transmission of the segment that starts at `start`, takes it to be in the network, and returns it.
    #[inline]
    pub fn resend(&mut self, start: u64, now: Time) -> Option<Segment> {
        let index = self.first_from(start);
        let segment = self.segments.get_mut(index)?;
        segment.transmissions += 1;
        segment.sent = now;
        if !segment.resent && !segment.sacked {
            segment.resent = true;
            self.resent_bytes += segment.length();
            self.clean_from = self.clean_from.max(segment.end);
        }
        let segment = *segment;
        if let Some(queue) = &mut self.transmissions {
            queue.push_back(Transmission { end: segment.end, transmissions: segment.transmissions });
        }
        Some(segment)
    }

    /// Takes the last transmission of the segment that starts at `start` to be out of the network, though it is not found
    /// lost.
    pub fn discount_resent(&mut self, start: u64) {
        let index = self.first_from(start);
        if let Some(segment) = self.segments.get_mut(index).filter(|segment| segment.resent && !segment.sacked) {
            segment.resent = false;
            self.resent_bytes -= segment.length();
        }
    }

    /// Finds the segments below `seq` lost that are not SACKed and calls `visit` for each, as it was. For rules by which
    /// everything below a mark that rises is lost: what was below an earlier mark is not looked at again, so that its
    /// retransmissions still count as in the network.
    pub fn lose_below(&mut self, seq: u64, mut visit: impl FnMut(&Segment)) {
        if seq <= self.lost_mark {
            return;
        }
        let mut index = self.index_at(self.lost_mark);
        self.lost_mark = seq;
        while let Some(&segment) = self.segments.get(index).filter(|segment| segment.end <= seq) {
            if !segment.sacked && !segment.lost {
                visit(&segment);
                self.lose_at(index);
            }
            index += 1;
        }
    }

    /// Finds the last transmission of the segment that starts at `start` lost.
    pub fn lose(&mut self, start: u64) {
        let index = self.first_from(start);
        if self.segments.get(index).is_some_and(|segment| !segment.sacked) {
            self.lose_at(index);
        }
    }

    /// Finds the segments that start at `starts` not lost after all.
    pub fn take_back_losses(&mut self, starts: impl IntoIterator<Item = u64>) {
        for start in starts {
            let index = self.first_from(start);
            if let Some(segment) = self.segments.get_mut(index).filter(|segment| segment.lost && !segment.sacked) {
                segment.lost = false;
                self.lost_bytes -= segment.length();
            }
        }
        // Their transmissions were dropped from the queue when they were found lost.
        if let Some(queue) = &mut self.transmissions {
            let mut in_network: Vec<_> = self.segments.iter().filter(|segment| segment.is_in_network()).collect();
            in_network.sort_by_key(|segment| (segment.sent, segment.end));
            let transmission =
                |segment: &Segment| Transmission { end: segment.end, transmissions: segment.transmissions };
            *queue = in_network.into_iter().map(transmission).collect();
        }
    }

    fn lose_at(&mut self, index: usize) {
        let segment = &mut self.segments[index];
        let length = segment.length();
        if !segment.lost {
            segment.lost = true;
            self.lost_bytes += length;
        }
        if segment.resent {
            segment.resent = false;
            self.resent_bytes -= length;
        }
        self.clean_from = self.clean_from.max(segment.end);
    }

    /// The transmission sent longest ago that may still be in the network, as its segment stands; none unless the board
    /// was made [`Board::with_transmissions`]. What is acknowledged, SACKed, lost or sent again is dropped on the way.
    pub fn oldest_transmission(&mut self) -> Option<Segment> {
        loop {
            let oldest = *self.transmissions.as_ref()?.front()?;
            let segment = self.at(oldest.end - 1).filter(|segment| segment.end == oldest.end).copied();
            if let Some(segment) = segment
                && segment.transmissions == oldest.transmissions
                && segment.is_in_network()
            {
                return Some(segment);
            }
            self.transmissions.as_mut()?.pop_front();
        }
    }

    /// The segments, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Segment> {
        self.segments.iter()
    }

    /// Bytes sent and not cumulatively acknowledged.
    pub fn outstanding(&self) -> u64 {
        match (self.segments.front(), self.segments.back()) {
            (Some(first), Some(last)) => last.end - first.start,
            _ => 0,
        }
    }

    /// Bytes that SACK blocks report.
    pub fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes
    }

    /// Bytes found lost and not SACKed.
    pub fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Bytes sent again since the last timeout, with those transmissions believed to be in the network.
    pub fn resent_bytes(&self) -> u64 {
        self.resent_bytes
    }

    /// What is believed to be in the network (RFC 6675 §4, SetPipe).
    pub fn pipe(&self) -> u64 {
        self.outstanding() - self.sacked_bytes - self.lost_bytes + self.resent_bytes
    }

    /// The index of the first segment that ends above `seq`. Segments are mostly of one length, so that a guess by
    /// proportion finds it at once; if not, it takes a binary search.
    #[inline]
    fn index_at(&self, seq: u64) -> usize {
        let (Some(first), Some(last)) = (self.segments.front(), self.segments.back()) else { return 0 };
        if seq < first.end {
            return 0;
        }
        if seq >= last.end {
            return self.segments.len();
        }
        // A window is below 2^32 bytes, so that the product fits.
        let guess = ((seq - first.start) * self.segments.len() as u64 / (last.end - first.start)) as usize;
        let contains =
            |index: &usize| self.segments.get(*index).is_some_and(|segment| segment.start <= seq && seq < segment.end);
        let near = [guess, guess.wrapping_sub(1), guess + 1].into_iter().find(contains);
        near.unwrap_or_else(|| self.segments.partition_point(|segment| segment.end <= seq))
    }

    /// The index of the first segment that starts at or above `seq`.
    #[inline]
    fn first_from(&self, seq: u64) -> usize {
        let index = self.index_at(seq);
        index + usize::from(self.segments.get(index).is_some_and(|segment| segment.start < seq))
    }

    /// Checks that segments follow each other from `una` to `max` without gap, and the sums and runs.
    pub fn check(&self, una: u64, max: u64) -> Result<(), String> {
        let sum = |counts: fn(&Segment) -> bool| -> u64 {
            self.segments.iter().filter(|segment| counts(segment)).map(Segment::length).sum()
        };
        let sums = (sum(|s| s.sacked), sum(|s| s.lost && !s.sacked), sum(|s| s.resent && !s.sacked));
        let kept = (self.sacked_bytes, self.lost_bytes, self.resent_bytes);
        if sums != kept {
            return Err(format!("{sums:?} bytes are SACKed, lost and resent, but {kept:?} are counted"));
        }
        let in_runs: u64 = self.runs.iter().map(|(start, end)| end - start).sum();
        if in_runs != self.sacked_bytes {
            return Err(format!("{in_runs} bytes are in runs, but {} are SACKed", self.sacked_bytes));
        }
        let mut next = una;
        for segment in &self.segments {
            if segment.start != next || segment.end <= segment.start {
                return Err(format!("segment {segment:?} where {next} was expected"));
            }
            if self.runs.at(segment.start).is_some() != segment.sacked {
                return Err(format!("segment {segment:?} and the runs disagree"));
            }
            next = segment.end;
        }
        if next == max { Ok(()) } else { Err(format!("the last segment ends at {next}, not at {max}")) }
    }
}

#[cfg(test)]
mod tests;
