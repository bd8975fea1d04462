//! NewReno: fast recovery that lasts until everything outstanding at its start is acknowledged (RFC 6582).

use cellwind_engine::machine::Outbox;
use cellwind_engine::time::Time;

use super::guarded::Guarded;
use super::{Ack, Guard, LossRecovery, Timer};
use crate::tcp::core::Core;
use crate::tcp::settings::{LastAck, NewRenoSettings, PartialAck};

#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    guard: Guard,
    partial_ack: PartialAck,
    new_data_on_partial_ack: bool,
    /// Nothing leaves until the next ACK: the last one was partial, and lets out no new data.
    holds: bool,
    last_ack: LastAck,
    guarded: Guarded,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    FastRecovery { partial_acks: u32 },
}

impl NewReno {
    pub fn new(settings: &NewRenoSettings) -> Self {
        NewReno {
            guard: Guard::new(settings.bug_fix),
            partial_ack: settings.partial_ack,
            new_data_on_partial_ack: settings.new_data_on_partial_ack,
            holds: false,
            last_ack: settings.last_ack,
            guarded: Guarded::new(settings.guarded_acks),
            phase: Phase::Open,
        }
    }

    fn on_full_ack(&mut self, core: &mut Core, acked: u64, now: Time) {
        self.phase = Phase::Open;
        match self.last_ack {
            // RFC 6582 §3.2 step 3, full acknowledgements, option 1: no burst when little is in flight.
            LastAck::Deflates => core.windows.cwnd = core.reduced.min(core.flight().max(core.mss) + core.mss),
            LastAck::DeflatesAndGrows => {
                // Option 2; what partial ACKs took off below the reduced window stays off.
                let left = core.windows.cwnd.saturating_sub(core.mss).max(core.mss);
                core.windows.cwnd = core.reduced.min(left);
                core.grow(acked, now);
            }
        }
    }

    /// RFC 6582 §3.2 step 3, partial acknowledgements: the next hole, and the window deflated by what left.
    fn on_partial_ack(&mut self, core: &mut Core, acked: u64, now: Time, out: &mut Outbox) {
        core.resend(core.snd_una, now, out);
        self.holds = !self.new_data_on_partial_ack;
        let added = if acked >= core.mss && self.new_data_on_partial_ack { core.mss } else { 0 };
        core.windows.cwnd = core.windows.cwnd.saturating_sub(acked).max(core.mss) + added;
    }
}

impl LossRecovery for NewReno {
    fn on_duplicate_ack(&mut self, core: &mut Core, _: Ack, now: Time, out: &mut Outbox) {
        core.duplicate_acks += 1;
        self.holds = false;
        match self.phase {
            Phase::FastRecovery { .. } => {
                core.windows.cwnd += core.mss;
                self.send(core, now, out);
            }
            Phase::Open if core.reaches_threshold() && self.guard.allows(core) => {
                self.guard.set(core);
                self.phase = Phase::FastRecovery { partial_acks: 0 };
                core.begin_fast_retransmit(now, out);
                core.resend(core.snd_una, now, out);
                core.inflate();
                self.send(core, now, out);
            }
            Phase::Open if core.duplicate_acks < core.dup_thresh => core.limited_transmit(now, out),
            Phase::Open => self.guarded.on_duplicate_ack(core, now, out),
        }
    }

    fn on_new_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) -> Timer {
        self.guarded.end();
        self.holds = false;
        let Phase::FastRecovery { partial_acks } = &mut self.phase else {
            core.grow(ack.acked, now);
            return Timer::Restart;
        };
        if core.snd_una >= self.guard.recover {
            self.on_full_ack(core, ack.acked, now);
            return Timer::Restart;
        }
        *partial_acks += 1;
        let first = *partial_acks == 1;
        self.on_partial_ack(core, ack.acked, now, out);
        match self.partial_ack {
            PartialAck::Impatient if !first => Timer::Keep, // RFC 6582 §4
            PartialAck::Impatient | PartialAck::SlowButSteady => Timer::Restart,
        }
    }

    fn on_timeout(&mut self, core: &mut Core, _: Time) {
        self.guarded.end();
        self.holds = false;
        self.guard.set(core); // RFC 6582 §3.2 step 4
        self.phase = Phase::Open;
    }

    fn on_spurious(&mut self, _: &mut Core) {
        self.holds = false;
        self.phase = Phase::Open;
    }

    fn send(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        if !self.holds {
            core.send_within(core.windows.cwnd + self.guarded.inflation, now, out);
        }
    }

    fn is_recovering(&self) -> bool {
        self.phase != Phase::Open
    }
}
