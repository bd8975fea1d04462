//! How scenario files write a [`Chance`].

use std::fmt;

use cellwind_engine::impl_text;
use cellwind_engine::text::{Reason, Text};
use cellwind_engine::units::Probability;
use schemars::{Schema, json_schema};

use super::settings::Chance;

impl Text for Chance {
    const EXPECTED: &'static str = r#"a probability from 0 to 1, such as 0.1 or "10 %""#;
    const PATTERN: &'static str = Probability::PATTERN;

    fn parse(text: &str) -> Result<Self, Reason> {
        match Probability::parse(text) {
            Ok(probability) => Self::from_number(probability.get()),
            Err(Reason::NotAProbability) if matches!(text.replace(' ', "").as_str(), "1" | "100%") => {
                Ok(Chance::ALWAYS)
            }
            Err(Reason::NotAProbability) => Err(Reason::NotAChance),
            Err(reason) => Err(reason),
        }
    }

    fn from_number(number: f64) -> Result<Self, Reason> {
        // Adding zero turns -0 into 0, which is written without a sign.
        Chance::new(number + 0.0).ok_or(Reason::NotAChance)
    }

    fn schema() -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1 },
                { "type": "string", "pattern": Self::PATTERN },
            ]
        })
    }
}

impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl serde::Serialize for Chance {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}

impl_text!(no_serialize Chance);
