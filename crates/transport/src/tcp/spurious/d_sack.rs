//! Detection by D-SACK (RFC 3708): every segment that was sent again is reported to have been there.
//!
//! differs: RFC 3708 holds the verdict back where ACKs may have been lost; a window of which only ACKs were lost has lost
//! no data, and is found spurious here, as in Linux.

use super::{Detect, Finding, Reaction, Seen};

#[derive(Clone, Debug, Default)]
pub(super) struct DSack {
    /// Reports come until this is acknowledged: what had been sent when the repair was complete.
    horizon: Option<u64>,
    /// The network makes copies itself, so that reports prove nothing.
    is_misled: bool,
}

impl Detect for DSack {
    fn begin(&mut self, _: &Reaction, _: u64) {
        (self.horizon, self.is_misled) = (None, false);
    }

    fn judge(&mut self, reaction: &Reaction, seen: &Seen) -> Finding {
        if let Some(duplicate) = seen.duplicate {
            self.is_misled |= !duplicate.is_ours; // RFC 3708 §3: replicated in the network
            if duplicate.all && !self.is_misled {
                return Finding::Spurious;
            }
        }
        if self.is_misled || self.horizon.is_some_and(|horizon| seen.packet.ack > horizon) {
            return Finding::Necessary;
        }
        if seen.packet.ack >= reaction.snd_max {
            self.horizon = self.horizon.or(Some(seen.snd_max));
        }
        Finding::Undecided
    }
}
