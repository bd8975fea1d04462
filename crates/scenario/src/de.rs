//! Typed values from a tree, with the place of every mistake.
//!
//! An ordinary serde deserializer but for two things. An enum is a string (a choice without settings of its
//! own, or with all of them at their defaults) or a table whose key `type` names the choice. And two types
//! get a say in how their table is taken apart: [`Directions`](cellwind_engine::directions::Directions) and
//! [`Transport`](crate::model::Transport), which ask for it by the names below.

use std::fmt;

use cellwind_engine::directions::{DIRECTIONS, Direction};
use cellwind_path::errors::settings::ERRORS;
use serde::de::value::StrDeserializer;
use serde::de::{self, Deserialize, DeserializeSeed, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::{Mistake, ScenarioError, quoted};
use crate::node::{Node, Table, Value, describe, expand_string, merge};

/// Newtype name: a table with an optional key `label`, given to the visitor as a sequence of the label (or an
/// empty string) and the table without it.
pub const LABELLED: &str = "$cellwind::Labelled";

/// The key that names the choice in a table.
const TYPE: &str = "type";

/// Reads a `T` from a tree.
pub fn from_node<'de, T: Deserialize<'de>>(node: &Node) -> Result<T, ScenarioError> {
    T::deserialize(Deserializer::new(node))
}

/// What a visitor expects, in the words of a scenario's writer, and what it says is wrong.
fn expectation(expected: &dyn Expected) -> (String, Option<String>) {
    let text = format!("{expected:#}");
    let (allowed, reason) = match text.split_once('\n') {
        Some((allowed, reason)) => (allowed.to_string(), Some(reason.to_string())),
        None => (text, None),
    };
    let plain = match allowed.as_str() {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" => "a whole number from 0 to 9223372036854775807",
        "i64" => "a whole number",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "an array",
        "a map" => "a table",
        text if text.starts_with("struct ") => "a table",
        text if text.starts_with("enum ") => "a string or a table with the key `type`",
        text => text,
    };
    (plain.to_string(), reason)
}

impl de::Error for ScenarioError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        ScenarioError::new(Mistake::BadValue, message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let (allowed, reason) = expectation(expected);
        let message = reason.unwrap_or_else(|| "the value has the wrong type".into());
        ScenarioError::new(Mistake::WrongType, message).found(describe(found)).allowed(allowed)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let (allowed, reason) = expectation(expected);
        let message = reason.unwrap_or_else(|| "the value is not allowed".into());
        ScenarioError::new(Mistake::BadValue, message).found(describe(found)).allowed(allowed)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        ScenarioError::new(Mistake::BadValue, "the number of items is not allowed")
            .found(format!("{length} items"))
            .allowed(expectation(expected).0)
    }

    fn unknown_variant(found: &str, expected: &'static [&'static str]) -> Self {
        ScenarioError::new(Mistake::UnknownChoice, "there is no such choice")
            .found(quoted(found))
            .known(found, expected)
    }

    fn unknown_field(found: &str, expected: &'static [&'static str]) -> Self {
        unknown_key(found, expected)
    }

    fn missing_field(field: &'static str) -> Self {
        ScenarioError::new(Mistake::MissingKey, format!("the key `{field}` is missing"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        ScenarioError::new(Mistake::DuplicateKey, format!("the key `{field}` stands twice in this table"))
    }
}

fn unknown_key<S: AsRef<str>>(found: &str, known: impl IntoIterator<Item = S>) -> ScenarioError {
    ScenarioError::new(Mistake::UnknownKey, "this key is not known here").known(found, known)
}

/// A deserializer over one node.
#[derive(Clone, Copy)]
struct Deserializer<'a> {
    node: &'a Node,
    /// Passes over the key `type`, which has already chosen a variant.
    inside_choice: bool,
}

impl<'a> Deserializer<'a> {
    fn new(node: &'a Node) -> Self {
        Deserializer { node, inside_choice: false }
    }

    fn entries(self, table: &'a Table) -> TableAccess<'a> {
        TableAccess { entries: table.iter(), inside_choice: self.inside_choice, next: None }
    }

    fn wrong_type<T>(self, allowed: &str) -> Result<T, ScenarioError> {
        Err(ScenarioError::new(Mistake::WrongType, "the value has the wrong type")
            .at(&self.node.origin)
            .found(self.node.describe())
            .allowed(allowed))
    }

    /// The two complete tables of a [`DIRECTIONS`] table, behind one with the keys they `share`, if these are named.
    fn directions<'de, V: Visitor<'de>>(self, share: &'static str, visitor: V) -> Result<V::Value, ScenarioError> {
        let Some(table) = self.node.as_table() else { return self.wrong_type("a table") };
        let mut common = table.clone();
        let down = common.shift_remove("down");
        let up = common.shift_remove("up");
        if self.inside_choice {
            common.shift_remove(TYPE);
        }
        let mut shared = Table::new();
        let mut taken: Vec<&'static str> = share.split('+').filter(|key| !key.is_empty()).collect();
        for key in &taken {
            shared.extend(common.shift_remove_entry(*key));
        }
        taken.extend(Direction::BOTH.map(Direction::word));
        let both = Node { value: Value::Table(common), ..self.node.clone() };
        let complete = |over: &Option<Node>, key: &str| {
            let Some(over) = over else { return Ok(both.clone()) };
            if over.as_table().is_none() {
                return Deserializer::new(over).wrong_type("a table").map_err(|error: ScenarioError| error.under(key));
            }
            let merged = merge(both.clone(), over.clone(), &mut Vec::new());
            Ok(Node { origin: self.node.origin.clone(), ..merged })
        };
        let differ = down.is_some() || up.is_some();
        let shared = Node { value: Value::Table(shared), ..self.node.clone() };
        let mut parts = vec![("down", complete(&down, "down")?, down), ("up", complete(&up, "up")?, up)];
        if !share.is_empty() {
            parts.insert(0, ("", shared, None));
        }
        if let [.., (_, down, Some(_)), (_, _, Some(_))] = &parts[..] {
            parts.push(("", merge(down.clone(), both.clone(), &mut Vec::new()), None));
        }
        visitor.visit_seq(Parts { parts: parts.iter(), taken: &taken, differ, both: Some(&both) })
    }

    /// The unit, the blackouts and the rest of an [`ERRORS`] table, or of what is short for one.
    fn errors<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ScenarioError> {
        let node = expand_string(self.node.clone(), &["errors".to_string()]);
        let Value::Table(mut rest) = node.value else {
            return self.wrong_type("a probability such as 0.1, or a table with the key `type`");
        };
        let unit = rest.shift_remove("unit");
        let blackouts = rest.shift_remove("blackouts");
        rest.entry(TYPE.to_string()).or_insert_with(|| Node::string("independent", &self.node.origin));
        let stand_in = |value| Node { value, ..Node::empty_table(&self.node.origin) };
        let is_bare = self.node.as_table().is_none();
        let parts = [
            ("unit", unit.clone().unwrap_or_else(|| stand_in(Value::String("pdu".to_string()))), unit),
            ("blackouts", blackouts.clone().unwrap_or_else(|| stand_in(Value::Array(Vec::new()))), blackouts),
            ("", Node { value: Value::Table(rest), ..self.node.clone() }, None),
        ];
        let read =
            visitor.visit_seq(Parts { parts: parts.iter(), taken: &["unit", "blackouts"], differ: false, both: None });
        // What a bare rate is short for has keys that nobody has written.
        read.map_err(|error| if is_bare { error.with_path::<&str>(&[]) } else { error })
    }

    /// The label and the rest of a [`LABELLED`] table.
    fn labelled<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ScenarioError> {
        let Some(table) = self.node.as_table() else { return self.wrong_type("the name of a preset, or a table") };
        let mut rest = table.clone();
        let label = rest.shift_remove("label");
        let stand_in = Node { value: Value::String(String::new()), ..Node::empty_table(&self.node.origin) };
        let rest = Node { value: Value::Table(rest), ..self.node.clone() };
        let parts = [("label", label.clone().unwrap_or(stand_in), label), ("", rest, None)];
        visitor.visit_seq(Parts { parts: parts.iter(), taken: &["label"], differ: false, both: None })
    }
}

impl<'de> de::Deserializer<'de> for Deserializer<'_> {
    type Error = ScenarioError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ScenarioError> {
        match &self.node.value {
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Integer(value) => visitor.visit_i64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::String(text) => visitor.visit_str(text),
            Value::Datetime(_) => Err(de::Error::invalid_type(Unexpected::Other("a date or time"), &visitor)),
            Value::Array(items) => visitor.visit_seq(ArrayAccess { items: items.iter().enumerate() }),
            Value::Table(table) => visitor.visit_map(self.entries(table)),
        }
        .map_err(|error| error.at(&self.node.origin))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ScenarioError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ScenarioError> {
        match (name, name.strip_prefix(DIRECTIONS)) {
            (_, Some(share)) => self.directions(share, visitor),
            (LABELLED, _) => self.labelled(visitor),
            (ERRORS, _) => self.errors(visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ScenarioError> {
        let (choice, content) = match &self.node.value {
            Value::String(_) => (self.node, None),
            Value::Table(table) => match table.get(TYPE) {
                Some(choice) => (choice, Some(self.node)),
                None => {
                    let error = ScenarioError::new(Mistake::MissingType, "the key `type` is missing");
                    return Err(error.at(&self.node.origin).allowed(variants.join(", ")));
                }
            },
            _ => return self.wrong_type(&format!("one of {}, or a table with the key `type`", variants.join(", "))),
        };
        visitor.visit_enum(Choice { choice, content })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// The keys and values of a table.
struct TableAccess<'a> {
    entries: indexmap::map::Iter<'a, String, Node>,
    inside_choice: bool,
    next: Option<(&'a String, &'a Node)>,
}

impl<'de> de::MapAccess<'de> for TableAccess<'_> {
    type Error = ScenarioError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ScenarioError> {
        let skip = self.inside_choice;
        self.next = self.entries.find(|(key, _)| !(skip && *key == TYPE));
        let Some((key, node)) = self.next else { return Ok(None) };
        let name: StrDeserializer<'_, ScenarioError> = key.as_str().into_deserializer();
        seed.deserialize(name).map(Some).map_err(|error| error.at(node.key_origin()).under(key))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ScenarioError> {
        let Some((key, node)) = self.next.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(Deserializer::new(node)).map_err(|error| error.at(&node.origin).under(key))
    }
}

/// The items of an array; their path is their index from 0.
struct ArrayAccess<'a> {
    items: std::iter::Enumerate<std::slice::Iter<'a, Node>>,
}

impl<'de> de::SeqAccess<'de> for ArrayAccess<'_> {
    type Error = ScenarioError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ScenarioError> {
        let Some((index, node)) = self.items.next() else { return Ok(None) };
        let item = seed.deserialize(Deserializer::new(node));
        item.map(Some).map_err(|error| error.at(&node.origin).under(&index.to_string()))
    }
}

/// The parts a table was taken apart into: key, complete node, and the node as written under the key.
struct Parts<'a> {
    parts: std::slice::Iter<'a, (&'static str, Node, Option<Node>)>,
    /// Keys that the table may have but the parts do not.
    taken: &'a [&'static str],
    /// Whether a key can be there for one part and missing for the other.
    differ: bool,
    /// What is written for all parts alike, and may stand in one of them beside what is its own.
    both: Option<&'a Node>,
}

impl<'de> de::SeqAccess<'de> for Parts<'_> {
    type Error = ScenarioError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ScenarioError> {
        let Some((key, node, written)) = self.parts.next() else { return Ok(None) };
        seed.deserialize(Deserializer::new(node)).map(Some).map_err(|error| {
            // What stands under the key is named with it, what stands beside it is not.
            let below = match (written, error.keys()) {
                (None, _) => false,
                (Some(written), []) => written.as_table().is_none(),
                (Some(written), keys) => {
                    let of_both = self.both.and_then(|both| both.find(keys));
                    written.find(keys).is_some_and(|own| of_both.is_none_or(|both| both.origin != own.origin))
                }
            };
            let error = match (error.mistake(), error.keys()) {
                (Mistake::MissingKey, []) if self.differ => error.note(format!("it is needed for the direction {key}")),
                (Mistake::UnknownKey, [_]) if !below => {
                    self.taken.iter().fold(error, |error, taken| error.also_known(taken))
                }
                _ => error,
            };
            let error = if below { error.under(key) } else { error };
            error.at(&node.origin)
        })
    }
}

/// A chosen variant and the table with its settings, if it was written as one.
struct Choice<'a> {
    choice: &'a Node,
    content: Option<&'a Node>,
}

impl<'a, 'de> de::EnumAccess<'de> for Choice<'a> {
    type Error = ScenarioError;
    type Variant = Content<'a>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Content<'a>), ScenarioError> {
        let chosen = Deserializer::new(self.choice);
        let variant = seed.deserialize(chosen).map_err(|error| match self.content {
            Some(_) => error.at(&self.choice.origin).under(TYPE),
            None => error.at(&self.choice.origin),
        })?;
        Ok((variant, Content { choice: self.choice, content: self.content }))
    }
}

/// The settings of a chosen variant.
struct Content<'a> {
    choice: &'a Node,
    content: Option<&'a Node>,
}

impl<'de> de::VariantAccess<'de> for Content<'_> {
    type Error = ScenarioError;

    fn unit_variant(self) -> Result<(), ScenarioError> {
        let Some(table) = self.content.and_then(Node::as_table) else { return Ok(()) };
        match table.iter().find(|(key, _)| *key != TYPE) {
            Some((key, node)) => Err(unknown_key(key, [TYPE]).at(node.key_origin()).under(key)),
            None => Ok(()),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, ScenarioError> {
        match self.content {
            Some(node) => seed.deserialize(Deserializer { node, inside_choice: true }).map_err(|error| {
                match (error.mistake(), error.keys()) {
                    (Mistake::UnknownKey, [_]) => error.also_known(TYPE),
                    _ => error,
                }
            }),
            None => {
                let node = Node::empty_table(&self.choice.origin);
                seed.deserialize(Deserializer::new(&node))
            }
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, ScenarioError> {
        let error: ScenarioError = de::Error::invalid_type(Unexpected::TupleVariant, &visitor);
        Err(error.at(&self.choice.origin))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ScenarioError> {
        let empty = Node::empty_table(&self.choice.origin);
        let node = self.content.unwrap_or(&empty);
        de::Deserializer::deserialize_any(Deserializer { node, inside_choice: true }, visitor)
    }
}
