//! F-RTO (RFC 5682): after a timeout the first ACK of new data is answered with new data, and what that brings tells.

use super::{Detect, Finding, Reaction, Seen};

#[derive(Clone, Debug)]
pub(super) struct FRto {
    rule: Rule,
    step: Step,
    /// `recover`, or RecoveryPoint: what had been sent when the timer last expired.
    recover: u64,
}

/// What tells an original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The window advances (RFC 5682 §2).
    Basic,
    /// Data is acknowledged, in sequence or by SACK, and none that was sent after the timeout (§3).
    Sack,
    /// A segment that was sent once, and before the timeout, is acknowledged (Linux).
    Originals,
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
    pub fn new(rule: Rule) -> Self {
        FRto { rule, step: Step::Off, recover: 0 }
    }

    fn stop(&mut self, finding: Finding) -> Finding {
        self.step = Step::Off;
        finding
    }

    /// (2): whether the first ACK lets new data be sent.
    fn on_first(&mut self, reaction: &Reaction, seen: &Seen) -> Finding {
        let waits = seen.is_duplicate && self.rule != Rule::Basic; // §3.1 (2): for a cumulative ACK
        if waits || !(seen.is_new || seen.is_duplicate) {
            return Finding::Undecided;
        }
        // (2a): a duplicate, all that was outstanding, or less than was sent again; (2b): no new data to send
        let ack = seen.packet.ack;
        if seen.is_duplicate || ack >= reaction.snd_max || ack < reaction.first_end || !seen.can_send_new {
            return self.stop(Finding::Necessary);
        }
        self.step = Step::Probing;
        Finding::Probe
    }

    /// (3): what the new data brought.
    fn on_second(&mut self, reaction: &Reaction, seen: &Seen) -> Finding {
        let is_spurious = match self.rule {
            Rule::Basic => seen.is_new,                                   // §2.1 (3b)
            Rule::Sack => seen.tells && seen.highest <= reaction.snd_max, // §3.1 (3a), (3b)
            Rule::Originals => seen.original.is_some_and(|start| start < reaction.snd_max),
        };
        if is_spurious {
            self.recover = seen.packet.ack;
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
        let is_repairing = is_repairing || (self.rule != Rule::Basic && reaction.was_recovering); // §3.1
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
