//! Settings of both directions of something.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Newtype name by which a deserializer knows a table for both directions with optional sub-tables `down` and `up`: it
/// gives the visitor the sequence of the two complete tables, and a third one to be read and forgotten where both
/// directions have values that hide what is written for both. Keys that both directions share follow in the name, each
/// behind a `+`; then a table of these comes first.
pub const DIRECTIONS: &str = "$cellwind::Directions";

/// A direction of traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From a server to a terminal.
    #[default]
    Down,
    /// From a terminal to a server.
    Up,
}

impl Direction {
    /// Both directions.
    pub const BOTH: [Direction; 2] = [Direction::Down, Direction::Up];

    /// `down` or `up`.
    pub const fn word(self) -> &'static str {
        match self {
            Direction::Down => "down",
            Direction::Up => "up",
        }
    }

    /// The other direction.
    pub const fn reverse(self) -> Self {
        match self {
            Direction::Down => Direction::Up,
            Direction::Up => Direction::Down,
        }
    }
}

/// The same settings for each direction.
///
/// Written as one table whose keys hold for both directions, with optional sub-tables `down` and `up` whose
/// keys hold for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Directions<T> {
    /// From the servers to the terminals.
    pub down: T,
    /// From the terminals to the servers.
    pub up: T,
}

impl<T> Directions<T> {
    /// The settings of one direction, to change.
    pub fn get_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        }
    }

    /// What one direction has and what the other has, to change.
    pub fn both_mut(&mut self, direction: Direction) -> (&mut T, &mut T) {
        match direction {
            Direction::Down => (&mut self.down, &mut self.up),
            Direction::Up => (&mut self.up, &mut self.down),
        }
    }

    /// The settings of one direction.
    pub fn get(&self, direction: Direction) -> &T {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Directions<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(DIRECTIONS, DirectionsVisitor(PhantomData))
    }
}

struct DirectionsVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for DirectionsVisitor<T> {
    type Value = Directions<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Directions<T>, A::Error> {
        let mut next = || parts.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &"two directions"));
        let directions = Directions { down: next()?, up: next()? };
        parts.next_element::<T>()?;
        Ok(directions)
    }
}

impl<T: JsonSchema> JsonSchema for Directions<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Directions_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        // What one direction needs may stand in the sub-tables, so nothing is required at the top.
        schema.remove("required");
        let mut part = schema.clone();
        part.remove("description");
        part.remove("title");
        let part = |meaning: &str| {
            let mut part = part.clone();
            part.insert("description".into(), json!(meaning));
            part.to_value()
        };
        let (down, up) = (
            part("Settings for the direction to the terminals only."),
            part("Settings for the direction from the terminals only."),
        );
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.insert("down".into(), down);
            properties.insert("up".into(), up);
        }
        schema
    }
}

/// Settings of both directions of something, and what they have in common, in one table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WithShared<S, T> {
    /// What both directions have in common.
    #[serde(flatten)]
    pub shared: S,
    /// What each direction has of its own.
    #[serde(flatten)]
    pub directions: Directions<T>,
}

/// Settings that both directions of something have in common.
pub trait Shared {
    /// [`DIRECTIONS`], and behind it each key with a `+` before it.
    const NAME: &'static str;
}

impl<'de, S: Shared + Deserialize<'de>, T: Deserialize<'de>> Deserialize<'de> for WithShared<S, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(S::NAME, WithSharedVisitor(PhantomData))
    }
}

struct WithSharedVisitor<S, T>(PhantomData<(S, T)>);

impl<'de, S: Deserialize<'de>, T: Deserialize<'de>> Visitor<'de> for WithSharedVisitor<S, T> {
    type Value = WithShared<S, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<WithShared<S, T>, A::Error> {
        let missing = || A::Error::invalid_length(0, &"shared settings and two directions");
        let shared = parts.next_element()?.ok_or_else(missing)?;
        let down = parts.next_element()?.ok_or_else(missing)?;
        let up = parts.next_element()?.ok_or_else(missing)?;
        parts.next_element::<T>()?;
        Ok(WithShared { shared, directions: Directions { down, up } })
    }
}

impl<S: JsonSchema, T: JsonSchema> JsonSchema for WithShared<S, T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}_with_{}", Directions::<T>::schema_name(), S::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let shared = S::json_schema(generator);
        let mut schema = Directions::<T>::json_schema(generator);
        if let (Some(Value::Object(properties)), Some(Value::Object(shared))) =
            (schema.get_mut("properties"), shared.get("properties"))
        {
            properties.extend(shared.clone());
        }
        schema
    }
}
