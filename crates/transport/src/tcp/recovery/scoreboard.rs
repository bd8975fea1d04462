//! What recoveries on the scoreboard of [`Board`](crate::tcp::board::Board) have in common: the phase, the next hole, and
//! sending while the pipe leaves room.

use cellwind_engine::machine::Outbox;
use cellwind_engine::time::Time;

use super::reduction::Reduction;
use crate::tcp::core::Core;
use crate::tcp::settings::ReductionSettings;

/// The repair of losses by the scoreboard.
#[derive(Clone, Debug)]
pub(super) struct Repair {
    is_recovering: bool,
    /// RecoveryPoint (RFC 6675 §2); kept after a timeout, below which no new recovery starts (§5.1).
    pub recovery_point: u64,
    /// HighRxt (RFC 6675 §2): everything below was considered for retransmission in this recovery.
    high_rxt: u64,
    /// RescueRxt (RFC 6675 §2), once a rescue retransmission was sent in this recovery.
    rescue_rxt: Option<u64>,
    reduction: Reduction,
    /// Bytes delivered when the last ACK had been taken, and by that ACK.
    delivered: (u64, u64),
}

/// What to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The segment that starts there.
    Resend(u64),
    /// New data.
    New,
    /// The segment that starts there, which is not counted in the pipe (RFC 6675 §4, rule 4).
    Rescue(u64),
}

impl Repair {
    pub fn new(reduction: ReductionSettings) -> Self {
        Repair {
            is_recovering: false,
            recovery_point: 0,
            high_rxt: 0,
            rescue_rxt: None,
            reduction: Reduction::new(reduction),
            delivered: (0, 0),
        }
    }

    pub fn is_recovering(&self) -> bool {
        self.is_recovering
    }

    /// An ACK arrived; the scoreboard has taken it.
    pub fn note(&mut self, core: &Core) {
        self.delivered = (core.delivered, core.delivered - self.delivered.0);
    }

    /// Whether a loss found now begins a recovery: not while that of an earlier timeout lasts (RFC 6675 §5.1).
    pub fn may_begin(&self, core: &Core) -> bool {
        !self.is_recovering && core.snd_una >= self.recovery_point
    }

    /// Enters recovery and sends SND.UNA again (RFC 6675 §5 (4.1) to (4.3)). `halved_again` halves once more what the loss
    /// leaves.
    pub fn begin(&mut self, core: &mut Core, halved_again: bool, now: Time, out: &mut Outbox) {
        self.recovery_point = core.snd_max;
        self.rescue_rxt = None;
        self.is_recovering = true;
        let before = core.windows.cwnd;
        core.begin_fast_retransmit(now, out);
        if halved_again {
            core.reduced = (core.reduced / 2).max(2 * core.mss);
            core.windows.ssthresh = core.windows.ssthresh.min(core.reduced);
        }
        self.reduction.begin(core, before, self.delivered.1);
        self.high_rxt = core.snd_una;
        self.resend(core, core.snd_una, now, out);
    }

    /// An ACK arrived in recovery, before anything is sent for it.
    pub fn on_ack(&mut self, core: &mut Core, now: Time) {
        self.reduction.on_ack(core, self.delivered.1, false, now);
    }

    /// Everything that was outstanding at the begin is acknowledged, or the recovery proved wrong.
    pub fn end(&mut self, core: &mut Core, now: Time) {
        if self.is_recovering {
            self.is_recovering = false;
            self.reduction.end(core, now);
        }
    }

    /// The loss that was found last was none; the windows are restored already.
    pub fn abandon(&mut self, core: &Core) {
        self.is_recovering = false;
        self.recovery_point = core.snd_una; // nothing was sent again whose duplicates could mislead (RFC 6675 §5.1)
    }

    /// The retransmission timer expired.
    pub fn on_timeout(&mut self, core: &Core) {
        self.recovery_point = core.snd_max; // RFC 6675 §5.1
        self.is_recovering = false;
        self.high_rxt = core.snd_una;
    }

    /// The lowest segment above HighRxt that is missing below SACKed data, and whether it is found lost.
    pub fn next_hole(&self, core: &Core) -> Option<(u64, bool)> {
        let missing = core.board.first_missing(self.high_rxt.max(core.snd_una))?;
        let is_hole = core.board.highest_sacked().is_some_and(|highest| missing.end < highest);
        is_hole.then_some((missing.start, missing.lost))
    }

    /// Whether the rescue retransmission of this recovery may still be sent (RFC 6675 §4, rule 4).
    pub fn may_rescue(&self, core: &Core) -> bool {
        self.rescue_rxt.is_none_or(|rescued| core.snd_una > rescued)
    }

    /// Sends the segment at `start` again; HighRxt passes it.
    pub fn resend(&mut self, core: &mut Core, start: u64, now: Time, out: &mut Outbox) {
        core.resend(start, now, out);
        let end = core.board.at(start).map_or(start, |segment| segment.end);
        self.reduction.on_sent(end - start);
        self.high_rxt = self.high_rxt.max(end);
    }

    /// Sends what `next` chooses while the pipe leaves room for a segment (RFC 6675 §5 (C)).
    pub fn fill_pipe(
        &mut self,
        core: &mut Core,
        now: Time,
        out: &mut Outbox,
        next: impl Fn(&Self, &Core) -> Option<Next>,
    ) {
        while core.windows.cwnd >= core.board.pipe() + core.mss {
            let Some(next) = next(self, core) else { return };
            if !core.pace_allows(now) {
                return;
            }
            match next {
                Next::Resend(start) => self.resend(core, start, now, out), // (C.2)
                Next::New => {
                    let before = core.snd_max;
                    core.send_new(now, out); // (C.3)
                    self.reduction.on_sent(core.snd_max - before);
                }
                Next::Rescue(start) => {
                    let counted = core.board.at(start).is_some_and(|segment| segment.resent);
                    core.resend(start, now, out);
                    if !counted {
                        core.board.discount_resent(start); // HighRxt stays where it is, and SetPipe asks for that
                    }
                    self.reduction.on_sent(core.board.at(start).map_or(0, |segment| segment.length()));
                    self.rescue_rxt = Some(self.recovery_point);
                }
            }
        }
    }
}

/// IsLost (RFC 6675 §4) for all segments at once: it holds below the run of SACKed data that, with those above it, makes
/// DupThresh runs or more than (DupThresh − 1) · SMSS bytes.
pub(super) fn lose_by_runs(core: &mut Core) {
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

/// Sends outside of recovery; after a timeout the receiver already holds some of what lies before SND.NXT.
pub(super) fn send_in_open(core: &mut Core, now: Time, out: &mut Outbox) {
    let window = core.windows.cwnd + core.sacked_before_next();
    core.send_within(window, now, out);
}
