//! Packets of one size at a constant rate.

use cellwind_engine::time::Span;
use cellwind_engine::units::{Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scheduled::Piece;

/// Packets of one size at a constant bit rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CbrSettings {
    /// Payload bits per second.
    pub rate: Rate,
    /// Payload of a packet.
    pub packet: Size,
    /// For how long.
    pub duration: Span,
}

impl CbrSettings {
    /// Time from one packet to the next.
    pub fn interval(&self) -> Span {
        self.rate.time_for(self.packet)
    }

    pub(crate) fn schedule(&self) -> Packets {
        Packets { interval: self.interval(), bytes: self.packet.as_bytes(), end: self.duration, at: Span::ZERO }
    }
}

/// The packets yet to come.
#[derive(Clone, Debug)]
pub struct Packets {
    interval: Span,
    bytes: u64,
    end: Span,
    at: Span,
}

impl Iterator for Packets {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let at = self.at;
        self.at = at + self.interval;
        (at < self.end).then_some(Piece { at, bytes: self.bytes, lifetime: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_100_bytes_at_8_kbit_leave_every_100_ms() {
        let settings =
            CbrSettings { rate: Rate::from_kbps(8), packet: Size::from_bytes(100), duration: Span::from_millis(250) };
        let at: Vec<Span> = settings.schedule().map(|piece| piece.at).collect();
        assert_eq!(at, [0, 100, 200].map(Span::from_millis));
    }
}
