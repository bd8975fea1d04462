//! How scenario files write the settings of this crate.

use std::fmt;

use cellwind_engine::impl_text;
use cellwind_engine::text::{Quantity, Reason, Text};
use cellwind_engine::units::Size;

use crate::settings::QueueLimit;

impl Text for QueueLimit {
    const EXPECTED: &'static str = r#"a bound such as "100 packets", "64 kB" or "unlimited""#;
    const PATTERN: &'static str = r"^(unlimited|\d+ *packets?|\d+(\.\d+)? *([kMG]|[KMG]i)?B)$";

    fn parse(text: &str) -> Result<Self, Reason> {
        if text == "unlimited" {
            return Ok(QueueLimit::Unlimited);
        }
        match Quantity::split(text).map_err(Reason::or_unknown_word)?.count("packets") {
            Some(count) => count.map(QueueLimit::Packets),
            None => Size::parse(text).map(QueueLimit::Bytes),
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueLimit::Unlimited => f.write_str("unlimited"),
            QueueLimit::Packets(count) => write!(f, "{count} packets"),
            QueueLimit::Bytes(size) => size.fmt(f),
        }
    }
}

impl_text!(QueueLimit);
