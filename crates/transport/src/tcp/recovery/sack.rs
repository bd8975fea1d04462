//! Recovery by selective acknowledgements (RFC 6675), on the scoreboard of [`Board`](crate::tcp::board::Board).

use cellwind_engine::machine::Outbox;
use cellwind_engine::time::Time;

use super::{Ack, LossRecovery, Timer};
use crate::tcp::core::Core;
use crate::tcp::settings::{Rescue, SackSettings};

#[derive(Clone, Debug)]
pub(crate) struct Sack {
    rescue: Rescue,
    phase: Phase,
    /// RecoveryPoint; kept after a timeout, below which no new recovery starts (§5.1).
    recovery_point: u64,
    /// HighRxt: everything below was considered for retransmission in this recovery.
    high_rxt: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Recovery {
        /// RescueRxt, once a rescue retransmission was sent.
        rescue_rxt: Option<u64>,
    },
}

/// What NextSeg (RFC 6675 §4) chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Resend(u64),
    New,
    Rescue(u64),
}

impl Sack {
    pub fn new(settings: &SackSettings) -> Self {
        Sack { rescue: settings.rescue, phase: Phase::Open, recovery_point: 0, high_rxt: 0 }
    }

    /// IsLost (§4) for all segments at once: it holds below the run of SACKed data that, with those above it, makes
    /// DupThresh runs or more than (DupThresh − 1) · SMSS bytes.
    fn find_losses(core: &mut Core) {
        let enough = u64::from(core.dup_thresh.saturating_sub(1)) * core.mss;
        let (mut runs, mut bytes) = (0, 0);
        let reaches = |&(start, end): &(u64, u64)| {
            runs += 1;
            bytes += end - start;
            runs >= core.dup_thresh || bytes > enough
        };
        let run = core.board.runs().rev().find(reaches);
        if let Some((start, _)) = run {
            // differs: what was found lost stays lost, though runs of less than a segment may join to fewer.
            core.lose_below(start);
        }
    }

    /// IsLost(HighACK + 1).
    fn front_is_lost(core: &Core) -> bool {
        core.board.at(core.snd_una).is_some_and(|segment| segment.lost && !segment.sacked)
    }

    /// NextSeg: rules 1 to 4 in their order.
    fn next(&self, core: &Core) -> Option<Next> {
        let missing = core.board.first_missing(self.high_rxt.max(core.snd_una));
        let hole = missing.filter(|segment| core.board.highest_sacked().is_some_and(|highest| segment.end < highest));
        if let Some(segment) = hole.filter(|segment| segment.lost) {
            return Some(Next::Resend(segment.start));
        }
        if core.can_send_new() {
            return Some(Next::New);
        }
        if let Some(segment) = hole {
            return Some(Next::Resend(segment.start));
        }
        let Phase::Recovery { rescue_rxt } = self.phase else { return None };
        let may_rescue = self.rescue == Rescue::On && rescue_rxt.is_none_or(|rescued| core.snd_una > rescued);
        core.board.last_missing().filter(|_| may_rescue).map(|segment| Next::Rescue(segment.start))
    }

    /// §5 (4): enters recovery.
    fn enter(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        self.recovery_point = core.snd_max; // (4.1)
        self.phase = Phase::Recovery { rescue_rxt: None };
        core.begin_fast_retransmit(now, out);
        core.windows.cwnd = core.reduced; // (4.2)
        core.resend(core.snd_una, now, out); // (4.3)
        self.high_rxt = core.board.at(core.snd_una).map_or(core.snd_una, |segment| segment.end);
    }

    /// §5 (C): sends while the pipe leaves room for a segment.
    fn fill_pipe(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        while core.windows.cwnd >= core.board.pipe() + core.mss {
            let Some(next) = self.next(core) else { return };
            if !core.pace_allows(now) {
                return;
            }
            match next {
                Next::Resend(start) => {
                    core.resend(start, now, out);
                    self.high_rxt = core.board.at(start).map_or(start, |segment| segment.end); // (C.2)
                }
                Next::New => core.send_new(now, out), // (C.3)
                Next::Rescue(start) => {
                    let counted = core.board.at(start).is_some_and(|segment| segment.resent);
                    core.resend(start, now, out);
                    if !counted {
                        core.board.discount_resent(start); // HighRxt stays where it is, and SetPipe asks for that
                    }
                    self.phase = Phase::Recovery { rescue_rxt: Some(self.recovery_point) };
                }
            }
        }
    }
}

impl LossRecovery for Sack {
    fn on_duplicate_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) {
        Self::find_losses(core);
        if self.phase != Phase::Open {
            self.fill_pipe(core, now, out);
            return;
        }
        if ack.newly_sacked == 0 {
            return; // §2: only an ACK with new SACK information counts as duplicate
        }
        core.duplicate_acks += 1;
        let may_enter = core.snd_una >= self.recovery_point;
        if may_enter && (core.duplicate_acks >= core.dup_thresh || Self::front_is_lost(core)) {
            self.enter(core, now, out);
            self.fill_pipe(core, now, out);
        } else if core.duplicate_acks < core.dup_thresh {
            core.limited_transmit(now, out); // §5 (3)
        }
    }

    fn on_new_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) -> Timer {
        Self::find_losses(core);
        match self.phase {
            Phase::Open => core.grow(ack.acked, now),
            Phase::Recovery { .. } if core.snd_una >= self.recovery_point => self.phase = Phase::Open, // §5 (A)
            Phase::Recovery { .. } => self.fill_pipe(core, now, out),
        }
        Timer::Restart
    }

    fn on_timeout(&mut self, core: &mut Core, _: Time) {
        self.recovery_point = core.snd_max; // §5.1
        self.phase = Phase::Open;
        self.high_rxt = core.snd_una;
    }

    fn on_spurious(&mut self, core: &mut Core) {
        self.phase = Phase::Open;
        self.recovery_point = core.snd_una; // nothing was sent again whose duplicates could mislead (§5.1)
    }

    fn send(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        match self.phase {
            // After a timeout the receiver already holds some of what lies before SND.NXT.
            Phase::Open => {
                let window = core.windows.cwnd + core.sacked_before_next();
                core.send_within(window, now, out);
            }
            Phase::Recovery { .. } => {}
        }
    }

    fn resume(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        match self.phase {
            Phase::Open => self.send(core, now, out),
            Phase::Recovery { .. } => self.fill_pipe(core, now, out),
        }
    }

    fn is_recovering(&self) -> bool {
        self.phase != Phase::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::settings::TcpSettings;
    use cellwind_engine::packet::FlowId;
    use cellwind_engine::units::Size;

    /// A core with `count` segments of `length` bytes in flight, where a full segment has 100.
    fn core(count: u64, length: u64) -> Core {
        let mut core = Core::new(&TcpSettings { mss: Size::from_bytes(100), ..TcpSettings::default() }, FlowId(0));
        (0..count).for_each(|n| core.board.push(1 + n * length, 1 + (n + 1) * length, Time::ZERO));
        (core.snd_una, core.snd_nxt, core.snd_max) = (1, 1 + count * length, 1 + count * length);
        core
    }

    fn lost(core: &mut Core) -> Vec<u64> {
        Sack::find_losses(core);
        core.board.iter().filter(|segment| segment.lost).map(|segment| segment.start).collect()
    }

    #[test]
    fn loss_needs_more_than_two_segments_of_sacked_data_above() {
        let mut core = core(8, 100);
        core.board.mark_sacked(201, 401, |_| {});
        assert_eq!(lost(&mut core), [0; 0]);
        core.board.mark_sacked(401, 501, |_| {});
        assert_eq!(lost(&mut core), [1, 101]);
    }

    #[test]
    fn loss_needs_three_separate_runs_when_they_are_short() {
        let mut core = core(8, 10);
        core.board.mark_sacked(11, 21, |_| {});
        core.board.mark_sacked(31, 41, |_| {});
        assert_eq!(lost(&mut core), [0; 0]);
        core.board.mark_sacked(51, 61, |_| {});
        assert_eq!(lost(&mut core), [1]);
    }

    #[test]
    fn what_is_sacked_decides_as_the_definition_does_for_each_segment() {
        // RFC 6675 §4, IsLost, segment by segment, for blocks in any order.
        for seed in 0..200_u64 {
            let mut core = core(30, 100);
            for step in 0..25 {
                let first = (seed * 7919 + step * step * 104_729 + step * 31) % 30;
                let after = first + 1 + (seed + step) % 2;
                core.board.mark_sacked(1 + first * 100, 1 + after * 100, |_| {});
                let is_sacked: Vec<bool> = core.board.iter().map(|segment| segment.sacked).collect();
                let is_lost = |place: usize| {
                    let above = &is_sacked[place..];
                    let runs = above.windows(2).filter(|pair| !pair[0] && pair[1]).count();
                    let bytes = 100 * above.iter().filter(|&&sacked| sacked).count();
                    !is_sacked[place] && (runs >= 3 || bytes > 200)
                };
                let expected: Vec<u64> = (0..30).filter(|&n| is_lost(n)).map(|n| 1 + 100 * n as u64).collect();
                Sack::find_losses(&mut core);
                let holes = core.board.iter().filter(|segment| segment.lost && !segment.sacked);
                assert_eq!(holes.map(|segment| segment.start).collect::<Vec<_>>(), expected);
            }
        }
    }
}
