//! How scenario files write the settings of this crate.

use std::fmt;

use cellwind_engine::impl_text;
use cellwind_engine::text::{Quantity, Reason, Text};
use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use schemars::{Schema, json_schema};

use crate::mac::cell::settings::Decibels;
use crate::rlc::settings::Timer;
use crate::settings::{Attempts, Buffering, Bufferings, PduSize};

impl Text for PduSize {
    const EXPECTED: &'static str = r#"a size such as "40 B", or "one per TTI""#;
    const PATTERN: &'static str = r"^(one per TTI|\d+(\.\d+)? *([kMG]|[KMG]i)?B)$";

    fn parse(text: &str) -> Result<Self, Reason> {
        if text.eq_ignore_ascii_case("one per tti") {
            return Ok(PduSize::OnePerTti);
        }
        match Size::parse(text).map_err(Reason::or_unknown_word)? {
            Size::ZERO => Err(Reason::Zero),
            size => Ok(PduSize::Bytes(size)),
        }
    }
}

impl fmt::Display for PduSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PduSize::OnePerTti => f.write_str("one per TTI"),
            PduSize::Bytes(size) => size.fmt(f),
        }
    }
}

impl Buffering {
    const ALL: [(&'static str, Buffering); 3] =
        [("none", Buffering::None), ("intermediate", Buffering::Intermediate), ("full", Buffering::Full)];

    fn of_word(word: &str) -> Result<Self, Reason> {
        Self::ALL.into_iter().find(|&(known, _)| known == word).map(|(_, found)| found).ok_or(Reason::NotAWord)
    }

    fn word(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

impl Text for Bufferings {
    const EXPECTED: &'static str =
        r#""none", "intermediate", "full", or one for each direction as in "none down, full up""#;
    const PATTERN: &'static str =
        "^((none|intermediate|full)|(none|intermediate|full) +down *, *(none|intermediate|full) +up)$";

    fn from_number(_: f64) -> Result<Self, Reason> {
        Err(Reason::NotAWord)
    }

    fn parse(text: &str) -> Result<Self, Reason> {
        let Some((down, up)) = text.split_once(',') else { return Buffering::of_word(text).map(Bufferings::both) };
        let of = |part: &str, way: &str| match part.trim().split_once(' ') {
            Some((word, direction)) if direction.trim() == way => Buffering::of_word(word),
            _ => Err(Reason::NotAWord),
        };
        Ok(Bufferings { down: of(down, "down")?, up: of(up, "up")? })
    }
}

impl fmt::Display for Bufferings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bufferings { down, up } if down == up => f.write_str(down.word()),
            Bufferings { down, up } => write!(f, "{} down, {} up", down.word(), up.word()),
        }
    }
}

impl Text for Attempts {
    const EXPECTED: &'static str = r#"a number of at least 1, or "unlimited""#;
    const PATTERN: &'static str = "^unlimited$";

    fn parse(text: &str) -> Result<Self, Reason> {
        if text == "unlimited" { Ok(Attempts::Unlimited) } else { Err(Reason::NotANumber.or_unknown_word()) }
    }

    fn from_number(number: f64) -> Result<Self, Reason> {
        match number {
            0.0 => Err(Reason::Zero),
            _ if number < 0.0 => Err(Reason::Negative),
            _ if number.fract() != 0.0 => Err(Reason::NotWhole("transmissions")),
            _ if number > f64::from(u32::MAX) => Err(Reason::TooLarge("4294967295")),
            _ => Ok(Attempts::AtMost(number as u32)),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [{ "const": "unlimited" }, { "type": "integer", "minimum": 1 }] })
    }
}

impl fmt::Display for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attempts::Unlimited => f.write_str("unlimited"),
            Attempts::AtMost(most) => most.fmt(f),
        }
    }
}

impl serde::Serialize for Attempts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Attempts::Unlimited => serializer.serialize_str("unlimited"),
            Attempts::AtMost(most) => serializer.serialize_u32(*most),
        }
    }
}

impl Text for Timer {
    const EXPECTED: &'static str = r#"a time such as "300 ms", or "none""#;
    const PATTERN: &'static str = r"^(none|\d+(\.\d+)? *(ns|us|µs|ms|s|min|h|day|days))$";

    fn parse(text: &str) -> Result<Self, Reason> {
        if text == "none" {
            return Ok(Timer::None);
        }
        match Span::parse(text).map_err(Reason::or_unknown_word)? {
            Span::ZERO => Err(Reason::Zero),
            span => Ok(Timer::Of(span)),
        }
    }
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Timer::None => f.write_str("none"),
            Timer::Of(span) => span.fmt(f),
        }
    }
}

impl Text for Decibels {
    const EXPECTED: &'static str = r#"a ratio between -200 dB and 200 dB, such as "3 dB" or "-5.5 dB""#;
    const PATTERN: &'static str = r"^[+-]?\d+(\.\d+)? *dB$";

    fn parse(text: &str) -> Result<Self, Reason> {
        let (sign, rest) = text.strip_prefix('-').map_or((1.0, text.trim_start_matches('+')), |rest| (-1.0, rest));
        let quantity = Quantity::split(rest)?;
        if quantity.unit != "dB" {
            return Err(Reason::UnknownUnit(quantity.unit.to_string()));
        }
        let size: f64 = rest.trim_end_matches("dB").trim_end().parse().map_err(|_| Reason::NotANumber)?;
        Decibels::new(sign * size).ok_or(Reason::TooLarge("200 dB"))
    }
}

impl fmt::Display for Decibels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} dB", self.get())
    }
}

impl_text!(Bufferings, PduSize, Timer, Decibels);
impl_text!(no_serialize Attempts);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bufferings_survive_their_text() {
        for text in ["none", "intermediate", "full", "none down, full up", "full down, intermediate up"] {
            assert_eq!(text.parse::<Bufferings>().unwrap().to_string(), text);
        }
        let uneven = "none  down ,full up".parse::<Bufferings>().unwrap();
        assert_eq!(uneven, Bufferings { down: Buffering::None, up: Buffering::Full });
        assert_eq!("full down, full up".parse(), Ok(Bufferings::both(Buffering::Full)));
        for text in ["", "some", "none up, full down", "none down", "none, full"] {
            assert_eq!(text.parse::<Bufferings>().unwrap_err().reason, Reason::NotAWord, "{text}");
        }
    }
}
