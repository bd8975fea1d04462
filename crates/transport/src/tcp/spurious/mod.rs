//! Detection of spurious timeouts and fast retransmits, and the response to them.
//!
//! Read RFC 3522 and RFC 4015 first. A detector is one file and one variant of [`Detector`]. It is told of every
//! reaction to a supposed loss, with the sender's state from before, and judges by the acknowledgements that follow.
//! What a reaction found spurious leaves of the windows is the choice of a [`Response`](response). With
//! [`SpuriousSettings::Off`] every reaction stands, as in RFC 5681.

mod eifel;
pub(crate) mod response;

use cellwind_engine::packet::{Flags, Packet};

use super::congestion::{Cause, Windows};
use super::settings::{After, Response, SpuriousSettings};
use eifel::Eifel;

/// A reaction to a supposed loss, with the sender's state from before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reaction {
    pub cause: Cause,
    /// How often the timer expired since SND.UNA last moved.
    pub timeouts: u32,
    pub windows: Windows,
    /// FlightSize (RFC 5681 §2).
    pub flight: u64,
    /// The timestamp clock's reading when the first segment was sent again: RetransmitTS of RFC 3522.
    pub retransmit_ts: u32,
}

/// An acknowledgement, as detectors see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub packet: &'a Packet,
    /// It acknowledges new data.
    pub is_new: bool,
    /// It acknowledges all that was sent.
    pub is_complete: bool,
}

/// What a detector finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    Undecided,
    Necessary,
    Spurious,
}

/// What an acknowledgement tells of the last reaction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    /// Nothing yet, or nothing is asked.
    Undecided,
    /// It was necessary.
    Necessary(Cause),
    /// It was spurious, and what to do.
    Spurious(Reaction, Response),
}

/// What a detector must answer.
trait Detect {
    /// What the acknowledgement says of `reaction`.
    fn judge(&mut self, reaction: &Reaction, seen: &Seen) -> Finding;
}

/// The detector of a connection.
#[derive(Clone, Debug)]
enum Detector {
    Eifel(Eifel),
}

macro_rules! each {
    ($detector:expr, $found:ident => $call:expr) => {
        match $detector {
            Detector::Eifel($found) => $call,
        }
    };
}

/// The detector and response of a connection; nothing when every reaction stands.
#[derive(Clone, Debug)]
pub(crate) struct Spurious(Option<Parts>);

#[derive(Clone, Debug)]
struct Parts {
    detector: Detector,
    after: After,
    response: Response,
    /// The last reaction, until it is judged.
    open: Option<Reaction>,
}

impl Spurious {
    pub fn new(settings: &SpuriousSettings) -> Self {
        let (detector, after, response) = match settings {
            SpuriousSettings::Off => return Spurious(None),
            SpuriousSettings::Eifel(eifel) => (Detector::Eifel(Eifel::new(eifel)), eifel.after, eifel.response),
        };
        Spurious(Some(Parts { detector, after, response, open: None }))
    }

    /// The sender reacts to a supposed loss.
    pub fn on_reaction(&mut self, reaction: Reaction) {
        let Some(parts) = &mut self.0 else { return };
        match &mut parts.open {
            // RFC 3522 §3.2 (1): RetransmitTS is that of the first of several timeouts.
            Some(open) if reaction.cause == Cause::Timeout && reaction.timeouts > 1 => {
                open.timeouts = reaction.timeouts
            }
            open => *open = Some(reaction).filter(|reaction| parts.after.covers(reaction.cause)),
        }
    }

    /// An acceptable acknowledgement, also a duplicate.
    #[inline]
    pub fn on_ack(&mut self, seen: &Seen) -> Verdict {
        let Some(parts) = &mut self.0 else { return Verdict::Undecided };
        let Some(reaction) = parts.open else { return Verdict::Undecided };
        match each!(&mut parts.detector, detector => detector.judge(&reaction, seen)) {
            Finding::Undecided => Verdict::Undecided,
            Finding::Necessary => {
                parts.open = None;
                Verdict::Necessary(reaction.cause)
            }
            Finding::Spurious => {
                parts.open = None;
                Verdict::Spurious(reaction, parts.response)
            }
        }
    }
}

impl After {
    fn covers(self, cause: Cause) -> bool {
        match self {
            After::Timeouts => cause == Cause::Timeout,
            After::FastRetransmits => cause == Cause::DuplicateAcks,
            After::Both => true,
        }
    }
}

/// Whether the ACK echoes a timestamp from before `retransmit_ts`, and so answers an original.
fn echoes_original(packet: &Packet, retransmit_ts: u32) -> bool {
    let (_, echo) = packet.timestamps;
    let is_before = (echo.wrapping_sub(retransmit_ts) as i32) < 0; // clocks wrap around (RFC 7323 §5.2)
    packet.flags.has(Flags::TIMESTAMPS) && echo != 0 && is_before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_wrapped_around_compare_in_a_circle() {
        // RFC 7323 §5.2: a retransmission just after the clock wrapped, and an original from before.
        let echo = |tsecr| Packet { timestamps: (1, tsecr), flags: Flags::TIMESTAMPS, ..Packet::EMPTY };
        assert!(echoes_original(&echo(u32::MAX - 5), 3));
        assert!(!echoes_original(&echo(3), u32::MAX - 5));
        assert!(!echoes_original(&echo(3), 3));
        assert!(!echoes_original(&Packet { flags: Flags::NONE, ..echo(2) }, 3));
    }
}
