//! Bursts at a constant rate with silence between them.

use cellwind_engine::random::Stream;
use cellwind_engine::time::Span;
use cellwind_engine::units::{Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scheduled::Piece;

/// Packets at a constant rate while on, nothing while off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOffSettings {
    /// Payload bits per second while on.
    pub rate: Rate,
    /// Payload of a packet.
    pub packet: Size,
    /// How long a burst lasts, on average.
    pub on: Span,
    /// How long a silence lasts, on average.
    pub off: Span,
    /// How bursts and silences differ from their averages.
    #[serde(default)]
    pub lengths: Lengths,
    /// For how long in all.
    pub duration: Span,
}

/// How lengths of bursts and silences are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lengths {
    /// All alike.
    #[default]
    Constant,
    /// From an exponential distribution.
    Exponential,
}

impl OnOffSettings {
    pub(crate) fn schedule(&self, chance: Stream) -> Bursts {
        let interval = self.rate.time_for(self.packet);
        let mut bursts = Bursts { settings: self.clone(), chance, interval, at: Span::ZERO, burst_ends: Span::ZERO };
        bursts.burst_ends = bursts.draw(self.on);
        bursts
    }
}

/// The packets yet to come.
#[derive(Clone, Debug)]
pub struct Bursts {
    settings: OnOffSettings,
    chance: Stream,
    interval: Span,
    at: Span,
    burst_ends: Span,
}

impl Bursts {
    fn draw(&mut self, mean: Span) -> Span {
        match self.settings.lengths {
            Lengths::Constant => mean,
            // The inverse of the distribution function; the logarithm of 1 - u, which is never zero.
            Lengths::Exponential => {
                let factor = -(1.0 - self.chance.uniform()).ln();
                Span::from_nanos((mean.as_nanos() as f64 * factor) as u64)
            }
        }
    }
}

impl Iterator for Bursts {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        while self.at >= self.burst_ends && self.at < self.settings.duration {
            let begins = self.burst_ends + self.draw(self.settings.off);
            self.at = begins;
            self.burst_ends = begins + self.draw(self.settings.on);
        }
        let at = self.at;
        self.at = at + self.interval;
        (at < self.settings.duration).then_some(Piece { at, bytes: self.settings.packet.as_bytes(), lifetime: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(lengths: Lengths) -> OnOffSettings {
        OnOffSettings {
            rate: Rate::from_kbps(8),
            packet: Size::from_bytes(100),
            on: Span::from_millis(250),
            off: Span::from_millis(500),
            lengths,
            duration: Span::from_secs(1),
        }
    }

    #[test]
    fn a_burst_of_250_ms_has_three_packets_every_100_ms_and_the_next_begins_at_750_ms() {
        let at: Vec<Span> =
            settings(Lengths::Constant).schedule(Stream::new(1, 0, "t")).map(|piece| piece.at).collect();
        assert_eq!(at, [0, 100, 200, 750, 850, 950].map(Span::from_millis));
    }

    #[test]
    fn exponential_lengths_have_their_mean() {
        let long = OnOffSettings { duration: Span::from_secs(100_000), ..settings(Lengths::Exponential) };
        let packets = long.schedule(Stream::new(1, 0, "t")).count() as f64;
        // A packet leaves at the start of a burst and every 100 ms: 1 / (1 - exp(-0.4)) = 3.033 of them in a burst of
        // 250 ms on average, every 750 ms.
        let expected = 100_000.0 / 0.75 * 3.033;
        assert!((packets / expected - 1.0).abs() < 0.02, "{packets} and {expected}");
    }
}
