//! F-RTO (RFC 5682): after a timeout the first ACK of new data is answered with new data, and what that brings tells.

use super::{Detect, Finding, Reaction, Seen};
use crate::tcp::settings::FRtoVariant;

#[derive(Clone, Debug)]
pub(super) struct FRto {
    variant: FRtoVariant,
    step: Step,
    /// `recover`, or RecoveryPoint: what had been sent when the timer last expired.
    recover: u64,
}

/// The steps of RFC 5682 §2.1 and §3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Not running: the usual recovery goes on.
    Off,
    /// (2): the first segment was sent again.
    Resent,
    /// (3): new segments were sent.
    Probing,
}

impl FRto {
    pub fn new(variant: FRtoVariant) -> Self {
        FRto { variant, step: Step::Off, recover: 0 }
    }

    fn stop(&mut self, finding: Finding) -> Finding {
        self.step = Step::Off;
        finding
    }

    /// (2): whether the first ACK lets new data be sent.
    fn on_first(&mut self, reaction: &Reaction, seen: &Seen) -> Finding {
        let waits = seen.is_duplicate && self.variant == FRtoVariant::Sack; // §3.1 (2): for a cumulative ACK
        if waits || !(seen.is_new || seen.is_duplicate) {
            return Finding::Undecided;
        }
        // (2a): a duplicate, or all that was outstanding; (2b): no new data to send
        if seen.is_duplicate || seen.packet.ack >= reaction.snd_max || !seen.can_send_new {
            return self.stop(Finding::Necessary);
        }
        self.step = Step::Probing;
        Finding::Probe
    }

    /// (3): what the new data brought.
    fn on_second(&mut self, reaction: &Reaction, seen: &Seen) -> Finding {
        let is_spurious = match self.variant {
            FRtoVariant::Basic => seen.is_new, // §2.1 (3b)
            FRtoVariant::Sack => seen.original.is_some_and(|start| start < reaction.snd_max), // §3.1 (3b)
        };
        if is_spurious {
            return self.stop(Finding::Spurious);
        }
        if seen.is_new || seen.is_duplicate {
            return self.stop(Finding::GoBack); // (3a)
        }
        Finding::Undecided
    }
}

impl Detect for FRto {
    fn begin(&mut self, reaction: &Reaction, snd_una: u64) {
        // (1): not while an earlier timeout is being repaired, unless the same segment times out again
        let is_repairing = snd_una < self.recover && reaction.timeouts == 1;
        self.step = if is_repairing { Step::Off } else { Step::Resent };
        self.recover = reaction.snd_max;
    }

    fn judge(&mut self, reaction: &Reaction, seen: &Seen) -> Finding {
        match self.step {
            Step::Off => Finding::Necessary,
            Step::Resent => self.on_first(reaction, seen),
            Step::Probing => self.on_second(reaction, seen),
        }
    }
}
