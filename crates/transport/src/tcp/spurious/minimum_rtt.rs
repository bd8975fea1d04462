//! The heuristic of the minimum round trip (Allman and Paxson 1999; Gurtov and Ludwig 2003, II.C): an ACK that comes
//! sooner after the retransmission than a round trip takes was under way before.

use cellwind_engine::time::Span;

use super::{Detect, Finding, Reaction, Seen};
use crate::tcp::settings::MinimumRttSettings;

#[derive(Clone, Debug)]
pub(super) struct MinimumRtt {
    fraction: f64,
    /// The shortest round trip measured so far.
    minimum: Option<Span>,
}

impl MinimumRtt {
    pub fn new(settings: &MinimumRttSettings) -> Self {
        MinimumRtt { fraction: settings.fraction, minimum: None }
    }
}

impl Detect for MinimumRtt {
    fn observe(&mut self, seen: &Seen) {
        if let Some(rtt) = seen.rtt {
            self.minimum = Some(self.minimum.map_or(rtt, |minimum| minimum.min(rtt)));
        }
    }

    fn judge(&mut self, reaction: &Reaction, seen: &Seen) -> Finding {
        if !seen.is_new {
            return Finding::Undecided;
        }
        let took = (seen.now - reaction.at).as_secs_f64();
        match self.minimum {
            Some(minimum) if took < self.fraction * minimum.as_secs_f64() => Finding::Spurious,
            _ => Finding::Necessary,
        }
    }
}
