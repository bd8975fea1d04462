//! Settings of the errors of a bearer, and of the losses of a link.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use cellwind_engine::deserialize_by_type;
use cellwind_engine::text::Text;
use cellwind_engine::time::Span;
use cellwind_engine::units::Probability;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::blackouts::Blackout;
use super::fritchman::FritchmanSettings;
use super::gilbert_elliott::GilbertElliottSettings;
use super::markov::MarkovSettings;
use super::trace::TraceSettings;

/// Newtype name: errors as a bare probability or as a table by `type`, given to the visitor as a sequence of the values
/// of `unit` (or an empty string), of `blackouts` (or an empty array), and the table without them.
pub const ERRORS: &str = "$cellwind::Errors";

/// The shortest step of a process that goes on with time; each step may cost a draw after a long idle time.
pub const SHORTEST_STEP: Span = Span::from_micros(100);

/// Which blocks of one direction of a bearer arrive in error, or which packets of a link are lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorSettings {
    /// The process without blackouts.
    pub model: ErrorModel,
    /// What is struck at once.
    pub unit: ErrorUnit,
    /// Times in which all is lost.
    pub blackouts: Arc<[Blackout]>,
}

/// What is struck by one error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorUnit {
    /// Each block (PDU), or packet of a link, by itself.
    #[default]
    Pdu,
    /// All blocks of a TTI together; not on a link, which has none.
    Tti,
}

/// A process of errors.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ErrorModel {
    /// Errors without memory, the `type` where none is given.
    Independent(IndependentSettings),
    /// Bursts: a good and a bad state (Gilbert 1960, Elliott 1963).
    GilbertElliott(GilbertElliottSettings),
    /// Bursts whose distances are of several kinds: one error state and several error-free ones (Fritchman 1967).
    Fritchman(FritchmanSettings),
    /// Any number of states, each with its share of errors.
    Markov(MarkovSettings),
    /// Errors as they were recorded.
    Trace(TraceSettings),
}

deserialize_by_type!(ErrorModel {
    Independent(settings: IndependentSettings),
    GilbertElliott(settings: GilbertElliottSettings),
    Fritchman(settings: FritchmanSettings),
    Markov(settings: MarkovSettings),
    Trace(settings: TraceSettings),
});

impl Default for ErrorModel {
    fn default() -> Self {
        ErrorModel::Independent(IndependentSettings { rate: Probability::ZERO })
    }
}

/// Independent errors; a bare number such as `0.1` is short for this.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IndependentSettings {
    /// Probability of an error.
    #[serde(default)]
    pub rate: Probability,
}

/// A probability from 0 to 1, both included.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Chance(f64);

impl Chance {
    /// Never.
    pub const NEVER: Chance = Chance(0.0);
    /// Always.
    pub const ALWAYS: Chance = Chance(1.0);

    /// A probability; `None` unless `0 <= p <= 1`.
    pub fn new(p: f64) -> Option<Self> {
        (0.0..=1.0).contains(&p).then_some(Chance(p))
    }

    /// The value.
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// Why settings describe no process.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfit {
    /// The keys below the errors that lead to the value.
    pub keys: Vec<String>,
    /// What is wrong, as a clause.
    pub message: String,
    /// What stands there.
    pub found: String,
    /// What may stand there.
    pub allowed: String,
}

impl Unfit {
    pub(super) fn new(keys: &[&str], message: &str, found: impl Into<String>, allowed: impl Into<String>) -> Self {
        let keys = keys.iter().map(ToString::to_string).collect();
        Unfit { keys, message: message.into(), found: found.into(), allowed: allowed.into() }
    }
}

impl ErrorSettings {
    /// Independent errors of each block or packet.
    pub fn independent(rate: Probability) -> Self {
        ErrorSettings { model: ErrorModel::Independent(IndependentSettings { rate }), ..ErrorSettings::default() }
    }

    /// Says why these settings describe no process, if they do not.
    pub fn check(&self) -> Result<(), Unfit> {
        let step = match &self.model {
            ErrorModel::Independent(_) => None,
            ErrorModel::GilbertElliott(settings) => settings.chain().map(|_| settings.step)?,
            ErrorModel::Fritchman(settings) => settings.chain().map(|_| settings.step)?,
            ErrorModel::Markov(settings) => settings.chain().map(|_| settings.step)?,
            ErrorModel::Trace(settings) if settings.record.is_empty() => {
                return Err(Unfit::new(&["file"], "the record was not read", "nothing", "a record of errors"));
            }
            ErrorModel::Trace(settings) => settings.step,
        };
        if let Some(step) = step.filter(|step| *step < SHORTEST_STEP) {
            let allowed = format!("at least {SHORTEST_STEP}, such as \"10 ms\"");
            return Err(Unfit::new(&["step"], "the step is too short", step.to_string(), allowed));
        }
        for (index, blackout) in self.blackouts.iter().enumerate() {
            blackout.check(&index.to_string())?;
        }
        Ok(())
    }
}

impl Serialize for ErrorSettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// The table with all keys.
        #[derive(Serialize)]
        struct Written<'a> {
            #[serde(flatten)]
            model: &'a ErrorModel,
            #[serde(skip_serializing_if = "Option::is_none")]
            unit: Option<ErrorUnit>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            blackouts: &'a [Blackout],
        }

        match self {
            ErrorSettings { model: ErrorModel::Independent(settings), unit: ErrorUnit::Pdu, blackouts }
                if blackouts.is_empty() =>
            {
                settings.rate.serialize(serializer)
            }
            ErrorSettings { model, unit, blackouts } => {
                let unit = Some(*unit).filter(|unit| *unit != ErrorUnit::default());
                Written { model, unit, blackouts }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for ErrorSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(ERRORS, ErrorsVisitor)
    }
}

struct ErrorsVisitor;

impl<'de> Visitor<'de> for ErrorsVisitor {
    type Value = ErrorSettings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a probability, or a table")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<ErrorSettings, A::Error> {
        let missing = || A::Error::invalid_length(0, &"a unit, blackouts and a process");
        let unit: ErrorUnit = parts.next_element()?.ok_or_else(missing)?;
        let blackouts: Vec<Blackout> = parts.next_element()?.ok_or_else(missing)?;
        let model = parts.next_element()?.ok_or_else(missing)?;
        Ok(ErrorSettings { model, unit, blackouts: blackouts.into() })
    }
}

impl JsonSchema for ErrorSettings {
    fn schema_name() -> Cow<'static, str> {
        "Errors".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut tables = ErrorModel::json_schema(generator);
        let unit = generator.subschema_for::<ErrorUnit>();
        let blackout = generator.subschema_for::<Blackout>();
        let mut choices = match tables.get_mut("oneOf") {
            Some(serde_json::Value::Array(choices)) => std::mem::take(choices),
            _ => Vec::new(),
        };
        for choice in choices.iter_mut().filter_map(|choice| choice.get_mut("properties")?.as_object_mut()) {
            let mut unit = unit.clone();
            unit.insert("description".into(), "What one error strikes.".into());
            unit.insert("default".into(), "pdu".into());
            choice.insert("unit".into(), unit.to_value());
            choice.insert(
                "blackouts".into(),
                serde_json::json!({
                    "type": "array",
                    "items": blackout,
                    "default": [],
                    "description": "Times in which everything sent is lost, whatever the process says.",
                }),
            );
        }
        choices.insert(0, Probability::schema().to_value());
        json_schema!({
            "description": "Which blocks arrive in error, or which packets are lost: the probability of independent errors, or a table.",
            "anyOf": choices,
        })
    }
}
