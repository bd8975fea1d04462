//! Tahoe: fast retransmit without fast recovery (4.3BSD-Tahoe; RFC 5681 §3.2 without steps 3 to 6).
//!
//! A loss found by duplicate ACKs is treated like a timeout that came early: slow start from one segment,
//! resending everything from the loss on.

use cellwind_engine::machine::Outbox;
use cellwind_engine::time::Time;

use super::{Ack, Guard, LossRecovery, Timer};
use crate::tcp::core::Core;
use crate::tcp::settings::ClassicSettings;

#[derive(Clone, Debug)]
pub(crate) struct Tahoe {
    guard: Guard,
}

impl Tahoe {
    pub fn new(settings: &ClassicSettings) -> Self {
        Tahoe { guard: Guard::new(settings.bug_fix) }
    }
}

impl LossRecovery for Tahoe {
    fn on_duplicate_ack(&mut self, core: &mut Core, _: Ack, now: Time, out: &mut Outbox) {
        core.duplicate_acks += 1;
        if core.reaches_threshold() && self.guard.allows(core) {
            self.guard.set(core);
            core.begin_fast_retransmit(now, out);
            core.windows.cwnd = core.mss;
            core.snd_nxt = core.snd_una;
            self.send(core, now, out);
        } else if core.duplicate_acks < core.dup_thresh {
            core.limited_transmit(now, out);
        }
    }

    fn on_new_ack(&mut self, core: &mut Core, ack: Ack, now: Time, _: &mut Outbox) -> Timer {
        core.grow(ack.acked, now);
        Timer::Restart
    }

    fn on_timeout(&mut self, core: &mut Core, _: Time) {
        self.guard.set(core);
    }

    fn on_spurious(&mut self, _: &mut Core) {}

    fn is_recovering(&self) -> bool {
        false
    }
}
