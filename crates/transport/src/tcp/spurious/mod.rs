//! Detection of spurious timeouts and fast retransmits, and the response to them.
//!
//! Read RFC 3522 and RFC 4015 first. A detector is one file and one variant of [`Detector`]. It is told of every
//! reaction to a supposed loss, with the sender's state from before, and judges by the acknowledgements that follow.
//! What a reaction found spurious leaves of the windows is the choice of a [`Response`](response). With
//! [`SpuriousSettings::Off`] every reaction stands, as in RFC 5681.

mod d_sack;
mod eifel;
mod f_rto;
mod linux;
mod minimum_rtt;
mod reaction;
pub(crate) mod response;
mod retransmissions;

use cellwind_engine::packet::{Flags, Packet};
use cellwind_engine::time::{Span, Time};

use super::congestion::{Cause, Windows};
use super::settings::{After, FRtoVariant, Response, SpuriousSettings, TcpSettings};
use d_sack::DSack;
use eifel::Eifel;
use f_rto::FRto;
use linux::Linux;
use minimum_rtt::MinimumRtt;
pub(crate) use retransmissions::{Duplicate, Retransmissions};

/// A reaction to a supposed loss, with the sender's state from before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reaction {
    pub cause: Cause,
    /// How often the timer expired since SND.UNA last moved.
    pub timeouts: u32,
    pub windows: Windows,
    /// FlightSize (RFC 5681 §2).
    pub flight: u64,
    pub snd_una: u64,
    pub snd_max: u64,
    /// The end of the segment that is sent again first.
    pub first_end: u64,
    /// A timeout, and something outstanding had been sent again before.
    pub is_repeated: bool,
    /// A loss found by duplicate ACKs was being repaired.
    pub was_recovering: bool,
    /// The timestamp clock's reading when the first segment was sent again: RetransmitTS of RFC 3522.
    pub retransmit_ts: u32,
    /// When it was last sent again.
    pub at: Time,
}

/// An acknowledgement, as detectors see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub packet: &'a Packet,
    pub now: Time,
    /// It acknowledges new data.
    pub is_new: bool,
    /// It is a duplicate (RFC 5681 §2).
    pub is_duplicate: bool,
    pub snd_max: u64,
    /// Round trip of the newest segment it acknowledges, unless any was sent twice.
    pub rtt: Option<Span>,
    /// The lowest segment that it newly acknowledges, in sequence or by SACK, of those that were sent once.
    pub original: Option<u64>,
    /// It acknowledges data for the first time, in sequence or by SACK.
    pub tells: bool,
    /// The highest number that it acknowledges, in sequence or by SACK.
    pub highest: u64,
    /// It reports a duplicate at SND.UNA where SACK tells of nothing else: the ACKs of a window may be lost (RFC 3708
    /// §3 (A.1)).
    pub is_first_report_at_una: bool,
    /// What it reports to have arrived twice (RFC 2883).
    pub duplicate: Option<Duplicate>,
    /// There is new data that the receiver's window admits.
    pub can_send_new: bool,
}

/// What a detector finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    Undecided,
    Necessary,
    Spurious,
    /// F-RTO wants new data to be sent.
    Probe,
    /// F-RTO has sent new data in vain.
    GoBack,
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
    /// Nothing yet: up to two new segments are to be sent in place of old ones (RFC 5682 §2.1 (2b)).
    Probe,
    /// It was necessary, and what new segments have put off is due: going back to SND.UNA (RFC 5682 §2.1 (3a)).
    GoBack,
}

/// What a detector must answer.
trait Detect {
    /// The sender reacts to a supposed loss, for the first time or again.
    fn begin(&mut self, _reaction: &Reaction, _snd_una: u64) {}

    /// Every acceptable acknowledgement, whether there is a reaction to judge or not.
    fn observe(&mut self, _seen: &Seen) {}

    /// What the acknowledgement says of `reaction`.
    fn judge(&mut self, reaction: &Reaction, seen: &Seen) -> Finding;
}

/// The detector of a connection.
#[derive(Clone, Debug)]
enum Detector {
    Eifel(Eifel),
    DSack(DSack),
    FRto(FRto),
    MinimumRtt(MinimumRtt),
    Linux(Linux),
}

macro_rules! each {
    ($detector:expr, $found:ident => $call:expr) => {
        match $detector {
            Detector::Eifel($found) => $call,
            Detector::DSack($found) => $call,
            Detector::FRto($found) => $call,
            Detector::MinimumRtt($found) => $call,
            Detector::Linux($found) => $call,
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
    pub fn new(settings: &TcpSettings) -> Self {
        let (detector, after, response) = match &settings.spurious {
            SpuriousSettings::Off => return Spurious(None),
            SpuriousSettings::Eifel(eifel) => (Detector::Eifel(Eifel::new(eifel)), eifel.after, eifel.response),
            SpuriousSettings::DSack(d_sack) => {
                (Detector::DSack(DSack::new(d_sack::Rule::Rfc3708)), d_sack.after, d_sack.response)
            }
            SpuriousSettings::FRto(settings) => {
                let rule = match settings.variant {
                    FRtoVariant::Basic => f_rto::Rule::Basic,
                    FRtoVariant::Sack => f_rto::Rule::Sack,
                };
                (Detector::FRto(FRto::new(rule)), After::Timeouts, settings.response)
            }
            SpuriousSettings::MinimumRtt(minimum) => {
                (Detector::MinimumRtt(MinimumRtt::new(minimum)), After::Timeouts, minimum.response)
            }
            SpuriousSettings::Linux(linux) => {
                (Detector::Linux(Linux::new(linux, settings.sack)), After::Both, linux.response)
            }
        };
        Spurious(Some(Parts { detector, after, response, open: None }))
    }

    /// Whether there is a detector.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The sender reacts to a supposed loss.
    pub fn on_reaction(&mut self, reaction: Reaction, snd_una: u64) {
        let Some(parts) = &mut self.0 else { return };
        let open = match parts.open {
            // RFC 3522 §3.2: not reinitiated by another timeout, or by the first one after a fast retransmit.
            Some(first) if reaction.cause == Cause::Timeout && reaction.snd_una == first.snd_una => {
                let Reaction { cause, timeouts, at, is_repeated, .. } = reaction;
                Reaction { cause, timeouts, at, is_repeated, ..first }
            }
            _ => reaction,
        };
        parts.open = Some(open).filter(|open| parts.after.covers(open.cause));
        if parts.open.is_some() {
            each!(&mut parts.detector, detector => detector.begin(&open, snd_una));
        }
    }

    /// An acceptable acknowledgement.
    pub fn on_ack(&mut self, seen: &Seen) -> Verdict {
        let Some(parts) = &mut self.0 else { return Verdict::Undecided };
        let finding = match &parts.open {
            Some(reaction) => each!(&mut parts.detector, detector => detector.judge(reaction, seen)),
            None => Finding::Undecided,
        };
        each!(&mut parts.detector, detector => detector.observe(seen));
        match finding {
            Finding::Probe => Verdict::Probe,
            Finding::GoBack => Verdict::GoBack,
            Finding::Undecided => Verdict::Undecided,
            Finding::Necessary => parts.open.take().map_or(Verdict::Undecided, |open| Verdict::Necessary(open.cause)),
            Finding::Spurious => {
                parts.open.take().map_or(Verdict::Undecided, |open| Verdict::Spurious(open, parts.response))
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
