//! Frames of speech, played a fixed time after they were made.

use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scheduled::Piece;

/// One direction of a voice call: a frame at each interval, of no use when it comes after its play-out.
///
/// The defaults are those of G.711 in RTP (RFC 3551 §4.5.14): 64 kbit/s in frames of 20 ms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VoipSettings {
    /// Bytes of speech in a packet.
    pub frame: Size,
    /// Bytes of header that the application adds: 12 of RTP (RFC 3550 §5.1).
    pub header: Size,
    /// From one packet to the next (RFC 3551 §4.2: 20 ms by default).
    pub interval: Span,
    /// From when a frame is made until it is played; one that comes later is lost to the listener.
    pub playout: Span,
    /// How long the call lasts.
    pub duration: Span,
}

impl Default for VoipSettings {
    fn default() -> Self {
        VoipSettings {
            frame: Size::from_bytes(160),    // RFC 3551 §4.5.14: PCMU, 8000 bytes per second
            header: Size::from_bytes(12),    // RFC 3550 §5.1
            interval: Span::from_millis(20), // RFC 3551 §4.2
            playout: Span::from_millis(150), // ITU-T G.114: what users do not notice
            duration: Span::from_secs(60),
        }
    }
}

impl VoipSettings {
    /// Until the last frame is played.
    pub fn length(&self) -> Span {
        let frames = self.duration.as_nanos().div_ceil(self.interval.as_nanos());
        self.interval * frames.saturating_sub(1) + self.playout
    }

    pub(crate) fn schedule(&self) -> Frames {
        Frames { settings: self.clone(), at: Span::ZERO }
    }
}

/// The frames yet to come.
#[derive(Clone, Debug)]
pub struct Frames {
    settings: VoipSettings,
    at: Span,
}

impl Iterator for Frames {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let VoipSettings { frame, header, interval, playout, duration } = self.settings;
        let at = self.at;
        self.at = at + interval;
        let bytes = frame.as_bytes() + header.as_bytes();
        (at < duration).then_some(Piece { at, bytes, lifetime: Some(playout) })
    }
}
