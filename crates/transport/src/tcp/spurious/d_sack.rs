//! Detection by D-SACK (RFC 3708): every segment that was sent again is reported to have been there.

use super::{Detect, Finding, Reaction, Seen};

#[derive(Clone, Debug)]
pub(super) struct DSack {
    rule: Rule,
    /// Reports come until this is acknowledged: what had been sent when the repair was complete.
    horizon: Option<u64>,
    /// The network makes copies itself: reports prove nothing for the rest of the connection (A.4).
    is_misled: bool,
    /// No report counts for this reaction (A.1, A.3).
    is_in_doubt: bool,
}

/// Whose rule counts the reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// RFC 3708 §3.
    Rfc3708,
    /// As many reports as retransmissions, whatever they report (`undo_retrans`).
    Linux,
}

impl DSack {
    pub fn new(rule: Rule) -> Self {
        DSack { rule, horizon: None, is_misled: false, is_in_doubt: false }
    }
}

impl Detect for DSack {
    fn begin(&mut self, _: &Reaction, _: u64) {
        (self.horizon, self.is_in_doubt) = (None, false);
    }

    fn judge(&mut self, reaction: &Reaction, seen: &Seen) -> Finding {
        if let Some(duplicate) = seen.duplicate {
            if self.rule == Rule::Rfc3708 {
                self.is_misled |= !duplicate.is_ours;
                self.is_in_doubt |= duplicate.is_of_several || seen.is_first_report_at_una;
            }
            if duplicate.all && !self.is_misled && !self.is_in_doubt {
                return Finding::Spurious; // (B.1)
            }
        }
        if self.is_misled || self.is_in_doubt || self.horizon.is_some_and(|horizon| seen.packet.ack > horizon) {
            return Finding::Necessary;
        }
        if seen.packet.ack >= reaction.snd_max {
            self.horizon = self.horizon.or(Some(seen.snd_max));
        }
        Finding::Undecided
    }
}
