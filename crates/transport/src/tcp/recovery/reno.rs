//! Reno: fast retransmit and fast recovery that the first new ACK ends (RFC 5681 §3.2).

use cellwind_engine::machine::Outbox;
use cellwind_engine::time::Time;

use super::guarded::Guarded;
use super::{Ack, Guard, LossRecovery, Timer};
use crate::tcp::core::Core;
use crate::tcp::settings::{LastAck, RenoSettings};

#[derive(Clone, Debug)]
pub(crate) struct Reno {
    guard: Guard,
    last_ack: LastAck,
    guarded: Guarded,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    FastRecovery,
}

impl Reno {
    pub fn new(settings: &RenoSettings) -> Self {
        Reno {
            guard: Guard::new(settings.bug_fix),
            last_ack: settings.last_ack,
            guarded: Guarded::new(settings.guarded_acks),
            phase: Phase::Open,
        }
    }
}

impl LossRecovery for Reno {
    fn on_duplicate_ack(&mut self, core: &mut Core, _: Ack, now: Time, out: &mut Outbox) {
        core.duplicate_acks += 1;
        match self.phase {
            Phase::FastRecovery => {
                core.windows.cwnd += core.mss; // RFC 5681 §3.2 (4)
                self.send(core, now, out); // (5)
            }
            Phase::Open if core.reaches_threshold() && self.guard.allows(core) => {
                self.guard.set(core);
                self.phase = Phase::FastRecovery;
                core.begin_fast_retransmit(now, out); // (2)
                core.resend(core.snd_una, now, out); // (3)
                core.inflate();
                self.send(core, now, out);
            }
            Phase::Open if core.duplicate_acks < core.dup_thresh => core.limited_transmit(now, out),
            Phase::Open => self.guarded.on_duplicate_ack(core, now, out),
        }
    }

    fn on_new_ack(&mut self, core: &mut Core, ack: Ack, now: Time, _: &mut Outbox) -> Timer {
        self.guarded.end();
        match self.phase {
            Phase::Open => core.grow(ack.acked, now),
            Phase::FastRecovery => {
                core.windows.cwnd = core.reduced; // (6)
                self.phase = Phase::Open;
                if self.last_ack == LastAck::DeflatesAndGrows {
                    core.grow(ack.acked, now);
                }
            }
        }
        Timer::Restart
    }

    fn on_timeout(&mut self, core: &mut Core, _: Time) {
        self.guarded.end();
        self.guard.set(core);
        self.phase = Phase::Open;
    }

    fn on_spurious(&mut self, _: &mut Core) {
        self.phase = Phase::Open;
    }

    fn send(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        core.send_within(core.windows.cwnd + self.guarded.inflation, now, out);
    }

    fn is_recovering(&self) -> bool {
        self.phase == Phase::FastRecovery
    }
}
