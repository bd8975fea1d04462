//! Vegas's recovery (Brakmo and Peterson 1995, §3.1): duplicate ACKs ask whether the oldest segment's own timeout, kept by
//! a fine clock, has passed; the third one counts as a loss in any case, as in Reno.

use cellwind_engine::machine::Outbox;
use cellwind_engine::time::{Span, Time};

use super::{Ack, Guard, LossRecovery, Timer};
use crate::tcp::core::Core;
use crate::tcp::settings::ClassicSettings;

#[derive(Clone, Debug)]
pub(crate) struct Vegas {
    /// Only a timeout sets it (ns-2).
    guard: Guard,
    fine: FineTimeout,
    /// ACKs of new data after a retransmission that still ask for the next segment's timeout.
    checks: u32,
    /// When the window was last reduced.
    reduced_at: Option<Time>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Until the next ACK of new data, which takes back what duplicate ACKs have added to the window.
    FastRecovery,
}

impl Vegas {
    pub fn new(settings: &ClassicSettings) -> Self {
        Vegas {
            guard: Guard::new(settings.bug_fix),
            fine: FineTimeout::default(),
            checks: 0,
            reduced_at: None,
            phase: Phase::Open,
        }
    }

    /// When the oldest segment was last sent, and how often it was.
    fn oldest(&self, core: &Core) -> Option<(Time, u32)> {
        core.board.at(core.snd_una).map(|segment| (segment.sent, segment.transmissions))
    }

    fn has_expired(&self, core: &Core, now: Time) -> bool {
        self.oldest(core).is_some_and(|(sent, _)| self.fine.has_expired(sent, now))
    }

    fn retransmit(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        let Some((sent, transmissions)) = self.oldest(core) else { return };
        self.checks = if core.flight() > core.mss { 2 } else { 1 };
        self.fine.back_off(transmissions > 1);
        // §3.1: losses of data sent before the last decrease tell of the same congestion.
        if self.reduced_at.is_none_or(|reduced_at| reduced_at < sent) {
            core.begin_fast_retransmit(now, out);
            core.windows.cwnd = core.reduced + u64::from(core.duplicate_acks) * core.mss;
            self.reduced_at = Some(now);
        } else if self.phase == Phase::Open {
            core.reduced = core.windows.cwnd;
        }
        core.resend(core.snd_una, now, out);
        if transmissions == 1 {
            core.duplicate_acks = core.dup_thresh; // from now on each adds a segment to the window
        }
        self.phase = Phase::FastRecovery;
    }
}

impl LossRecovery for Vegas {
    fn on_duplicate_ack(&mut self, core: &mut Core, _: Ack, now: Time, out: &mut Outbox) {
        core.duplicate_acks += 1;
        if self.has_expired(core, now) || core.duplicate_acks == core.dup_thresh {
            if self.guard.allows(core) {
                self.retransmit(core, now, out);
            }
        } else if core.duplicate_acks > core.dup_thresh {
            if self.phase == Phase::FastRecovery {
                core.windows.cwnd += core.mss;
            }
        } else {
            core.limited_transmit(now, out);
        }
    }

    fn on_new_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) -> Timer {
        if self.phase == Phase::FastRecovery {
            core.windows.cwnd = core.windows.cwnd.min(core.reduced);
            self.phase = Phase::Open;
        }
        core.grow(ack.acked, now);
        if let Some(rtt) = core.last_rtt() {
            self.fine.on_sample(rtt);
        }
        if self.checks > 0 {
            self.checks -= 1;
            if self.has_expired(core, now) {
                core.resend(core.snd_una, now, out); // the window was reduced for the first of these losses
                core.duplicate_acks = core.dup_thresh;
                core.reduced = core.windows.cwnd;
                self.phase = Phase::FastRecovery;
            } else {
                self.checks = 0;
            }
        }
        Timer::Restart
    }

    fn on_timeout(&mut self, core: &mut Core, _: Time) {
        self.guard.set(core);
        self.checks = 0;
        self.reduced_at = core.board.at(core.snd_max - 1).map(|segment| segment.sent);
        self.phase = Phase::Open;
    }

    fn on_spurious(&mut self, _: &mut Core) {
        self.phase = Phase::Open;
    }

    fn is_recovering(&self) -> bool {
        self.phase != Phase::Open
    }
}

/// The timeout of single segments, with Jacobson's estimators on a fine clock; smaller than RFC 6298's.
#[derive(Clone, Copy, Debug, Default)]
struct FineTimeout {
    /// Eight times the smoothed round trip, in nanoseconds; none before the first sample.
    eight_srtt: Option<i64>,
    /// Four times its smoothed deviation, in nanoseconds.
    four_rttvar: i64,
    timeout: Span,
}

impl FineTimeout {
    fn on_sample(&mut self, rtt: Span) {
        let rtt = rtt.as_nanos().min(LONGEST_NS) as i64;
        if self.eight_srtt.is_none() {
            self.four_rttvar = rtt; // ns-2
        }
        let eight_srtt = self.eight_srtt.get_or_insert(8 * rtt);
        let error = rtt - *eight_srtt / 8;
        *eight_srtt += error;
        self.four_rttvar += error.abs() - self.four_rttvar / 4;
        // SRTT + 2 RTTVAR, and a sixteenth of it on top (ns-2)
        let timeout = (*eight_srtt / 4 + self.four_rttvar) / 2;
        self.timeout = Span::from_nanos((timeout + timeout / 16) as u64);
    }

    /// After a retransmission: by an eighth, twice as long for a segment that was sent again before (ns-2).
    fn back_off(&mut self, again: bool) {
        self.timeout = if again { self.timeout.doubled(1) } else { self.timeout + self.timeout / 8 };
    }

    fn has_expired(&self, sent: Time, now: Time) -> bool {
        self.eight_srtt.is_some() && now - sent >= self.timeout
    }
}

/// A round trip of a day is as good as any longer one, and leaves room for sums.
const LONGEST_NS: u64 = 86_400_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fine_timeout_follows_the_round_trip_closely() {
        // By hand: R = 160 ms: SRTT 160, 4 RTTVAR = 160 − 40 = 120: (320 + 120)/2 = 220, with a sixteenth 233.75 ms.
        let mut fine = FineTimeout::default();
        assert!(!fine.has_expired(Time::ZERO, Time::from_secs(1000)));
        fine.on_sample(Span::from_millis(160));
        assert_eq!(fine.timeout, Span::from_micros(233_750));
        // R = 200 ms: 8 SRTT = 1280 + 40 = 1320, 4 RTTVAR = 120 + 40 − 30 = 130: (330 + 130)/2 = 230, 244.375 ms.
        fine.on_sample(Span::from_millis(200));
        assert_eq!(fine.timeout, Span::from_micros(244_375));
        assert!(fine.has_expired(Time::ZERO, Time::from_millis(245)));
        assert!(!fine.has_expired(Time::ZERO, Time::from_millis(244)));
    }

    #[test]
    fn a_retransmission_makes_the_fine_timeout_longer() {
        let mut fine = FineTimeout::default();
        fine.on_sample(Span::from_millis(160));
        fine.back_off(false);
        assert_eq!(fine.timeout, Span::from_nanos(262_968_750));
        fine.back_off(true);
        assert_eq!(fine.timeout, Span::from_nanos(525_937_500));
    }

    #[test]
    fn a_steady_round_trip_leaves_a_sixteenth_of_margin() {
        let mut fine = FineTimeout::default();
        (0..200).for_each(|_| fine.on_sample(Span::from_millis(160)));
        assert!(
            fine.timeout >= Span::from_millis(170) && fine.timeout < Span::from_micros(170_001),
            "{:?}",
            fine.timeout
        );
    }
}
