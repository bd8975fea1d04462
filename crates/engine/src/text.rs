//! Quantities as text: `"384 kbit/s"`, `"16 MB"`, `"135 ms"`, `0.1`.
//!
//! Scenario files write every quantity as a string with its unit. A type that is written so implements
//! [`Text`]; [`impl_text!`](crate::impl_text) then gives it `FromStr`, serde and JSON Schema. Decimals are
//! read exactly: `"0.1 s"` is 100 000 000 ns, and what is not a whole nanosecond, byte or bit is an error.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::{Schema, json_schema};
use serde::de::{Expected, Unexpected, Visitor};

use crate::time::Span;
use crate::units::{Probability, Rate, Size};

/// A type that scenario files write as a string (some also as a number).
pub trait Text: Sized + fmt::Display {
    /// What is expected, with an example; it completes "expected …".
    const EXPECTED: &'static str;
    /// Regular expression of the accepted strings, for editors.
    const PATTERN: &'static str;

    /// Reads the text form.
    fn parse(text: &str) -> Result<Self, Reason>;

    /// Reads a bare number; most types refuse it because its unit is missing.
    fn from_number(_number: f64) -> Result<Self, Reason> {
        Err(Reason::MissingUnit)
    }

    /// The JSON Schema of the accepted values.
    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": Self::PATTERN })
    }
}

/// Why a text is not the quantity it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A number without a unit.
    MissingUnit,
    /// A unit that this quantity is not measured in.
    UnknownUnit(String),
    /// It does not begin with a number.
    NotANumber,
    /// Neither a number nor one of the words that are allowed.
    UnknownWord,
    /// Not one of the words that are allowed, where there are only words.
    NotAWord,
    /// A number below zero.
    Negative,
    /// Not a whole number of the smallest unit, which is named.
    NotWhole(&'static str),
    /// More than the largest value, which is named.
    TooLarge(&'static str),
    /// Zero where something is needed.
    Zero,
    /// No probability below 1: a value below 0, of 1, or above.
    NotAProbability,
    /// No probability: a value below 0 or above 1.
    NotAChance,
    /// A range without two bounds.
    OneBound,
    /// A range whose lower bound is above its upper one.
    Reversed,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::MissingUnit => f.write_str("the unit is missing"),
            Reason::UnknownUnit(unit) => write!(f, "{unit:?} is not one of the units"),
            Reason::NotANumber => f.write_str("it does not begin with a decimal number"),
            Reason::UnknownWord => f.write_str("it is neither a decimal number with a unit nor a word known here"),
            Reason::NotAWord => f.write_str("it is none of the words known here"),
            Reason::Negative => f.write_str("it is negative"),
            Reason::NotWhole(smallest) => write!(f, "it is not a whole number of {smallest}"),
            Reason::TooLarge(largest) => write!(f, "it is more than {largest}"),
            Reason::Zero => f.write_str("it must not be zero"),
            Reason::NotAProbability => f.write_str("it must be at least 0 and below 1"),
            Reason::NotAChance => f.write_str("it must be at least 0 and at most 1"),
            Reason::OneBound => f.write_str("it needs two bounds with `to` between them"),
            Reason::Reversed => f.write_str("its lower bound is above its upper one"),
        }
    }
}

impl Reason {
    /// The reason for types that take words beside numbers.
    pub fn or_unknown_word(self) -> Self {
        if self == Reason::NotANumber { Reason::UnknownWord } else { self }
    }
}

/// A text that could not be read, with what was expected instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// What is wrong with the text.
    pub reason: Reason,
    /// What is allowed, with an example.
    pub expected: &'static str,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; expected {}", self.reason, self.expected)
    }
}

impl std::error::Error for TextError {}

/// The alternate form (`{:#}`) puts the reason on a line of its own, for readers that show the two apart.
impl Expected for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            write!(f, "{}\n{}", self.expected, self.reason)
        } else {
            write!(f, "{} ({})", self.expected, self.reason)
        }
    }
}

/// Reads a [`Text`] type; the body of `FromStr`.
pub fn parse<T: Text>(text: &str) -> Result<T, TextError> {
    T::parse(text.trim()).map_err(|reason| TextError { reason, expected: T::EXPECTED })
}

/// Reads a [`Text`] type from a self-describing format; the body of `Deserialize`.
pub fn deserialize<'de, T: Text, D: serde::Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(TextVisitor(PhantomData))
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: Text> TextVisitor<T> {
    fn number<E: serde::de::Error>(self, number: f64, found: Unexpected<'_>) -> Result<T, E> {
        T::from_number(number).map_err(|reason| {
            let missing_unit = reason == Reason::MissingUnit;
            let error = TextError { reason, expected: T::EXPECTED };
            if missing_unit { E::invalid_type(found, &error) } else { E::invalid_value(found, &error) }
        })
    }
}

impl<T: Text> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        parse(text).map_err(|error| E::invalid_value(Unexpected::Str(text), &error))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        self.number(number as f64, Unexpected::Unsigned(number))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        self.number(number as f64, Unexpected::Signed(number))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
        self.number(number, Unexpected::Float(number))
    }
}

/// Implements `FromStr`, `Deserialize` and `JsonSchema` for [`Text`] types, and `Serialize` as their
/// `Display` text. With `no_serialize` in front the type brings its own `Serialize`.
///
/// The calling crate needs `serde` and `schemars`.
#[macro_export]
macro_rules! impl_text {
    (no_serialize $($type:ident),+ $(,)?) => {$(
        impl ::std::str::FromStr for $type {
            type Err = $crate::text::TextError;
            fn from_str(text: &str) -> ::std::result::Result<Self, Self::Err> {
                $crate::text::parse(text)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D>(deserializer: D) -> ::std::result::Result<Self, D::Error>
            where
                D: ::serde::Deserializer<'de>,
            {
                $crate::text::deserialize(deserializer)
            }
        }

        impl ::schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                ::std::stringify!($type).into()
            }
            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                <$type as $crate::text::Text>::schema()
            }
        }
    )+};
    ($($type:ident),+ $(,)?) => {
        $crate::impl_text!(no_serialize $($type),+);
        $(
            impl ::serde::Serialize for $type {
                fn serialize<S>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error>
                where
                    S: ::serde::Serializer,
                {
                    serializer.collect_str(self)
                }
            }
        )+
    };
}

/// Implements `Deserialize` for an enum that scenario files write as a table with the key `type`, beside
/// its derived `Serialize` and `JsonSchema` with `#[serde(tag = "type", rename_all = "kebab-case")]`.
///
/// A derived internally tagged `Deserialize` would buffer the table and lose where its values stand, so
/// this one asks the format for an ordinary enum: it works with the scenario loader, which takes the
/// variant from `type`, and not with general formats.
///
/// ```ignore
/// deserialize_by_type!(Recovery { Tahoe(settings: ClassicSettings), Off });
/// ```
#[macro_export]
macro_rules! deserialize_by_type {
    ($enum:ident { $($variant:ident $(($name:ident : $settings:ty))?),+ $(,)? }) => {
        impl<'de> ::serde::Deserialize<'de> for $enum {
            fn deserialize<D>(deserializer: D) -> ::std::result::Result<Self, D::Error>
            where
                D: ::serde::Deserializer<'de>,
            {
                #[derive(::serde::Deserialize)]
                #[serde(rename_all = "kebab-case")]
                enum ByType { $($variant $(($settings))?),+ }

                Ok(match <ByType as ::serde::Deserialize>::deserialize(deserializer)? {
                    $(ByType::$variant $(($name))? => $enum::$variant $(($name))?),+
                })
            }
        }
    };
}

/// A decimal number and its unit, split but not yet understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity<'a> {
    whole: &'a str,
    /// Digits behind the point, without trailing zeros.
    fraction: &'a str,
    /// The unit as written.
    pub unit: &'a str,
}

impl<'a> Quantity<'a> {
    /// Splits a text such as `"1.5 Mbit/s"`; blanks between number and unit are optional.
    pub fn split(text: &'a str) -> Result<Self, Reason> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix(['-', '\u{2212}']) {
            return Err(match Quantity::split(rest) {
                Ok(_) => Reason::Negative,
                Err(reason) => reason,
            });
        }
        let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (whole, mut rest) = text.split_at(digits(text));
        let mut fraction = "";
        if let Some(behind) = rest.strip_prefix('.') {
            (fraction, rest) = behind.split_at(digits(behind));
            if fraction.is_empty() {
                return Err(Reason::NotANumber);
            }
        }
        if whole.is_empty() {
            return Err(Reason::NotANumber);
        }
        let unit = rest.trim_start();
        if unit.is_empty() {
            return Err(Reason::MissingUnit);
        }
        Ok(Quantity { whole, fraction: fraction.trim_end_matches('0'), unit })
    }

    /// The number times `factor`, exactly; `smallest` and `largest` name the result's unit and bound.
    pub fn times(self, factor: u64, limit: u64, smallest: &'static str, largest: &'static str) -> Result<u64, Reason> {
        let too_large = Reason::TooLarge(largest);
        let number = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<u128>().ok() };

        // With the trailing zeros gone, more than 30 decimals are never whole: no factor has that many twos.
        if self.fraction.len() > 30 {
            return Err(Reason::NotWhole(smallest));
        }
        let decimals = number(self.fraction).ok_or(Reason::NotWhole(smallest))?;
        let denominator = 10u128.pow(self.fraction.len() as u32);
        let common = gcd(u128::from(factor), denominator);
        if decimals % (denominator / common) != 0 {
            return Err(Reason::NotWhole(smallest));
        }
        let small_part = decimals / (denominator / common) * (u128::from(factor) / common);
        number(self.whole)
            .and_then(|whole| whole.checked_mul(u128::from(factor)))
            .and_then(|large_part| large_part.checked_add(small_part))
            .and_then(|total| u64::try_from(total).ok())
            .filter(|total| *total <= limit)
            .ok_or(too_large)
    }

    /// A whole number of things such as packets, for which `plural` is the word; `None` for another unit.
    pub fn count(self, plural: &'static str) -> Option<Result<u32, Reason>> {
        let singular = plural.strip_suffix('s').unwrap_or(plural);
        let count = || self.times(1, u64::from(u32::MAX), plural, "4294967295").map(|count| count as u32);
        (self.unit == plural || self.unit == singular).then(count)
    }
}

const fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The units of one kind of quantity, from the smallest to the largest.
struct Units {
    /// Name and factor.
    units: &'static [(&'static str, u64)],
    /// Accepted when reading, never written.
    spellings: &'static [(&'static str, &'static str)],
    smallest: &'static str,
    limit: u64,
    largest: &'static str,
}

const RATES: Units = Units {
    units: &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)],
    spellings: &[],
    smallest: "bit/s",
    // The bytes of an hour still fit 64 bits.
    limit: 1_000_000_000_000_000,
    largest: "1000000 Gbit/s",
};

const SIZES: Units = Units {
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
    ],
    spellings: &[],
    smallest: "bytes",
    // Below 2^60 there is room to count bits and to add.
    limit: 1_000_000_000_000_000_000,
    largest: "1000000000 GB",
};

const SECOND: u64 = 1_000_000_000;

const SPANS: Units = Units {
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", SECOND),
        ("min", 60 * SECOND),
        ("h", 3_600 * SECOND),
        ("day", 86_400 * SECOND),
    ],
    spellings: &[("\u{b5}s", "us"), ("\u{3bc}s", "us"), ("days", "day")],
    smallest: "nanoseconds",
    // A hundred years fit a signed 64-bit number of nanoseconds, as the columns of facts hold.
    limit: 36_500 * 86_400 * SECOND,
    largest: "36500 days",
};

impl Units {
    fn parse(&self, text: &str) -> Result<u64, Reason> {
        let quantity = Quantity::split(text)?;
        let spelling = self.spellings.iter().find(|(other, _)| *other == quantity.unit);
        let name = spelling.map_or(quantity.unit, |(_, name)| *name);
        match self.units.iter().find(|(unit, _)| *unit == name) {
            Some((_, factor)) => quantity.times(*factor, self.limit, self.smallest, self.largest),
            None => Err(Reason::UnknownUnit(quantity.unit.to_string())),
        }
    }

    /// Writes `value` exactly: in the unit that takes the fewest digits, whole numbers before decimals, and
    /// larger units before smaller ones. Values between two units are never written as a fraction of the larger.
    fn write(&self, value: u64, base: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if value == 0 {
            return write!(f, "0 {base}");
        }
        let candidates = self.units.iter().rev().filter(|(_, factor)| value >= *factor);
        let written = candidates.filter_map(|(unit, factor)| Some((decimal(value, *factor)?, unit)));
        match written.min_by_key(|(number, _)| (number.len(), number.contains('.'))) {
            Some((number, unit)) => write!(f, "{number} {unit}"),
            None => write!(f, "{value} {base}"),
        }
    }
}

/// `value / factor` in decimal, if it ends within twelve places.
fn decimal(value: u64, factor: u64) -> Option<String> {
    let mut number = (value / factor).to_string();
    let mut rest = u128::from(value % factor);
    if rest > 0 {
        number.push('.');
    }
    for _ in 0..12 {
        if rest == 0 {
            return Some(number);
        }
        rest *= 10;
        number.push(char::from(b'0' + (rest / u128::from(factor)) as u8));
        rest %= u128::from(factor);
    }
    (rest == 0).then_some(number)
}

impl Text for Rate {
    const EXPECTED: &'static str = r#"a rate such as "384 kbit/s" (units: bit/s, kbit/s, Mbit/s, Gbit/s)"#;
    const PATTERN: &'static str = r"^\d+(\.\d+)? *[kMG]?bit/s$";

    fn parse(text: &str) -> Result<Self, Reason> {
        Rate::from_bps(RATES.parse(text)?).ok_or(Reason::Zero)
    }
}

impl Text for Size {
    const EXPECTED: &'static str = r#"a size such as "536 B" (units: B, kB, MB, GB, KiB, MiB, GiB)"#;
    const PATTERN: &'static str = r"^\d+(\.\d+)? *(B|kB|MB|GB|KiB|MiB|GiB)$";

    fn parse(text: &str) -> Result<Self, Reason> {
        SIZES.parse(text).map(Size::from_bytes)
    }
}

impl Text for Span {
    const EXPECTED: &'static str = r#"a time such as "135 ms" (units: ns, us, ms, s, min, h, day)"#;
    const PATTERN: &'static str = r"^\d+(\.\d+)? *(ns|us|µs|ms|s|min|h|day|days)$";

    fn parse(text: &str) -> Result<Self, Reason> {
        SPANS.parse(text).map(Span::from_nanos)
    }
}

impl Text for Probability {
    const EXPECTED: &'static str = r#"a probability of at least 0 and below 1, such as 0.1 or "10 %""#;
    const PATTERN: &'static str = r"^\d+(\.\d+)? *%$";

    fn parse(text: &str) -> Result<Self, Reason> {
        match Quantity::split(text) {
            Ok(Quantity { whole, fraction, unit: "%" }) => {
                // Moving the point in the text keeps "10 %" the same number as 0.1.
                let moved = f64::from_str(&format!("{whole}.{fraction}e-2"));
                Self::from_number(moved.map_err(|_| Reason::NotANumber)?)
            }
            Ok(Quantity { unit, .. }) => Err(Reason::UnknownUnit(unit.to_string())),
            Err(Reason::MissingUnit) => Self::from_number(f64::from_str(text).map_err(|_| Reason::NotANumber)?),
            Err(reason) => Err(reason),
        }
    }

    fn from_number(number: f64) -> Result<Self, Reason> {
        // Adding zero turns -0 into 0, which is written without a sign.
        Probability::new(number + 0.0).ok_or(Reason::NotAProbability)
    }

    fn schema() -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "number", "minimum": 0, "exclusiveMaximum": 1 },
                { "type": "string", "pattern": Self::PATTERN },
            ]
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        RATES.write(self.as_bps(), "bit/s", f)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SIZES.write(self.as_bytes(), "B", f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SPANS.write(self.as_nanos(), "s", f)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.get())
    }
}

impl serde::Serialize for Probability {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}

impl_text!(Rate, Size, Span);
impl_text!(no_serialize Probability);

#[cfg(test)]
#[path = "text/tests.rs"]
mod tests;
