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

/// One pass over the scoreboard.
#[derive(Clone, Copy, Debug, Default)]
struct Survey {
    /// Bytes believed to be in the network (SetPipe, §4).
    pipe: u64,
    /// The lowest segment NextSeg may resend by rule 1.
    first_lost: Option<u64>,
    /// The same by rule 3, without IsLost.
    first_hole: Option<u64>,
    /// The highest segment without SACK, for rule 4.
    last_hole: Option<u64>,
    /// IsLost(HighACK + 1).
    front_is_lost: bool,
}

impl Sack {
    pub fn new(settings: &SackSettings) -> Self {
        Sack { rescue: settings.rescue, phase: Phase::Open, recovery_point: 0, high_rxt: 0 }
    }

    fn survey(&self, core: &Core) -> Survey {
        let mut survey = Survey::default();
        let mut sacked_above = false;
        core.board.for_each_with_loss(core.dup_thresh, core.mss, |segment, is_lost| {
            if segment.sacked {
                sacked_above = true;
                return;
            }
            let length = segment.end - segment.start;
            let resent = segment.start < self.high_rxt;
            survey.pipe += if is_lost { 0 } else { length } + if resent { length } else { 0 };
            survey.last_hole.get_or_insert(segment.start);
            if !resent && sacked_above {
                survey.first_hole = Some(segment.start);
                if is_lost {
                    survey.first_lost = Some(segment.start);
                }
            }
            if segment.start == core.snd_una {
                survey.front_is_lost = is_lost;
            }
        });
        survey
    }

    /// NextSeg: rules 1 to 4 in their order.
    fn next(&self, core: &Core, survey: &Survey) -> Option<Next> {
        if let Some(start) = survey.first_lost {
            return Some(Next::Resend(start));
        }
        if core.can_send_new() {
            return Some(Next::New);
        }
        if let Some(start) = survey.first_hole {
            return Some(Next::Resend(start));
        }
        let Phase::Recovery { rescue_rxt } = self.phase else { return None };
        let may_rescue = self.rescue == Rescue::On && rescue_rxt.is_none_or(|rescued| core.snd_una > rescued);
        survey.last_hole.filter(|_| may_rescue).map(Next::Rescue)
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
        loop {
            let survey = self.survey(core);
            if core.windows.cwnd < survey.pipe + core.mss {
                return;
            }
            match self.next(core, &survey) {
                Some(Next::Resend(start)) => {
                    core.resend(start, now, out);
                    self.high_rxt = core.board.at(start).map_or(start, |segment| segment.end); // (C.2)
                }
                Some(Next::New) => core.send_new(now, out), // (C.3)
                Some(Next::Rescue(start)) => {
                    core.resend(start, now, out);
                    self.phase = Phase::Recovery { rescue_rxt: Some(self.recovery_point) };
                }
                None => return,
            }
        }
    }
}

impl LossRecovery for Sack {
    fn on_duplicate_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) {
        if self.phase != Phase::Open {
            self.fill_pipe(core, now, out);
            return;
        }
        if ack.newly_sacked == 0 {
            return; // §2: only an ACK with new SACK information counts as duplicate
        }
        core.duplicate_acks += 1;
        let may_enter = core.snd_una >= self.recovery_point;
        if may_enter && (core.duplicate_acks >= core.dup_thresh || self.survey(core).front_is_lost) {
            self.enter(core, now, out);
            self.fill_pipe(core, now, out);
        } else if core.duplicate_acks < core.dup_thresh {
            core.limited_transmit(now, out); // §5 (3)
        }
    }

    fn on_new_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) -> Timer {
        match self.phase {
            Phase::Open => core.grow(ack.acked, now),
            Phase::Recovery { .. } if core.snd_una >= self.recovery_point => self.phase = Phase::Open, // §5 (A)
            Phase::Recovery { .. } => self.fill_pipe(core, now, out),
        }
        Timer::Restart
    }

    fn on_timeout(&mut self, core: &mut Core) {
        self.recovery_point = core.snd_max; // §5.1
        self.phase = Phase::Open;
        self.high_rxt = core.snd_una;
    }

    fn send(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        match self.phase {
            // After a timeout the receiver already holds some of what lies before SND.NXT.
            Phase::Open => core.send_within(core.windows.cwnd + core.sacked_before_next(), now, out),
            Phase::Recovery { .. } => {}
        }
    }

    fn is_recovering(&self) -> bool {
        self.phase != Phase::Open
    }
}
