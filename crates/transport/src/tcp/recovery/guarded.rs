//! Duplicate ACKs above DupThresh while the guard keeps them from starting a fast retransmit (A. Gurtov, "Making TCP robust
//! against delay spikes", 2001, §4.3).
//!
//! They come when segments were sent again for nothing, and tell of segments that have left the network. Answering none
//! of them loses the ACK clock.

use cellwind_engine::machine::Outbox;
use cellwind_engine::time::Time;

use crate::tcp::core::Core;
use crate::tcp::settings::GuardedAcks;

/// The answer to a series of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guarded {
    answer: GuardedAcks,
    /// Beside the congestion window, until the next new ACK.
    pub inflation: u64,
}

impl Guarded {
    pub fn new(answer: GuardedAcks) -> Self {
        Guarded { answer, inflation: 0 }
    }

    /// A duplicate ACK outside of fast recovery, counted already. What a larger window lets out leaves afterwards.
    pub fn on_duplicate_ack(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        let above = core.duplicate_acks.saturating_sub(core.dup_thresh);
        if above == 0 {
            return;
        }
        match self.answer {
            GuardedAcks::Ignore => {}
            GuardedAcks::Inflate => self.inflation += core.mss,
            GuardedAcks::InflateForGood => core.windows.cwnd += core.mss,
            // A new segment, not one of those that come again after a timeout.
            GuardedAcks::EverySecond if above.is_multiple_of(2) && core.snd_nxt == core.snd_max => {
                core.send_beyond(u64::MAX, now, out);
            }
            GuardedAcks::EverySecond => {}
        }
    }

    /// An ACK of new data, or a timeout: the series is over.
    pub fn end(&mut self) {
        self.inflation = 0;
    }
}
