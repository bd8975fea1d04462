//! Trees of values that remember where they were written.

use std::convert::Infallible;
use std::sync::Arc;

use cellwind_engine::directions::Direction;
use indexmap::IndexMap;
use serde::de::Unexpected;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Mistake, ScenarioError, quoted, shorten};
use crate::source::{Origin, Source};

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where the value stands; for a table with a header, the header.
    pub origin: Origin,
    /// Where its key stands; none for the top and for items of arrays.
    pub key: Option<Origin>,
}

/// The keys and values of a table in the order written.
pub type Table = IndexMap<String, Node>;

/// A TOML value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a point or exponent.
    Float(f64),
    /// A string.
    String(String),
    /// A date or time, which no scenario uses.
    Datetime(String),
    /// `[ … ]`, or a `[[ … ]]` table array.
    Array(Vec<Node>),
    /// A table of any spelling.
    Table(Table),
}

impl Node {
    /// Parses a whole TOML document, which must hold at least one key.
    pub fn parse(source: &Arc<Source>) -> Result<Node, ScenarioError> {
        let document = DeTable::parse(&source.text).map_err(|error| syntax_error(&error, source, 0))?;
        if document.get_ref().is_empty() {
            return Err(ScenarioError::new(Mistake::EmptyFile, "it holds no key, so there is nothing to load")
                .at(&Origin::new(source, 0..0))
                .allowed("a scenario: at least `extends = \"…\"` or one [flow.…] table"));
        }
        let origin = Origin::new(source, document.span());
        let value = Value::Table(table(document.into_inner(), source, 0)?);
        Ok(Node { value, origin, key: None })
    }

    /// Parses a single TOML value that stands at byte `offset` of the source, up to its end.
    pub fn parse_value(source: &Arc<Source>, offset: usize) -> Result<Node, ScenarioError> {
        let value = DeValue::parse(&source.text[offset..]).map_err(|error| syntax_error(&error, source, offset))?;
        node(value, source, offset)
    }

    /// An empty table that stands at `origin`.
    pub fn empty_table(origin: &Origin) -> Node {
        Node { value: Value::Table(Table::new()), origin: origin.clone(), key: None }
    }

    /// A string that stands for what is at `origin`.
    pub fn string(text: &str, origin: &Origin) -> Node {
        Node { value: Value::String(text.to_string()), origin: origin.clone(), key: None }
    }

    /// The value's table, if it is one.
    pub fn as_table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The value's table to change, if it is one.
    pub fn as_table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The value's string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value below a key, if this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_table()?.get(key)
    }

    /// The value at a path of keys; an item of an array goes by its index from 0.
    pub fn find<S: AsRef<str>>(&self, path: &[S]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| match &node.value {
            Value::Table(table) => table.get(key.as_ref()),
            Value::Array(items) => items.get(key.as_ref().parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Where the key stands, or the value if it has none.
    pub fn key_origin(&self) -> &Origin {
        self.key.as_ref().unwrap_or(&self.origin)
    }

    /// The value in words, for reports.
    pub fn describe(&self) -> String {
        describe(match &self.value {
            Value::Boolean(value) => Unexpected::Bool(*value),
            Value::Integer(value) => Unexpected::Signed(*value),
            Value::Float(value) => Unexpected::Float(*value),
            Value::String(value) => Unexpected::Str(value),
            Value::Datetime(_) => Unexpected::Other("a date or time"),
            Value::Array(_) => Unexpected::Seq,
            Value::Table(_) => Unexpected::Map,
        })
    }
}

/// What serde calls unexpected, in words for reports.
pub fn describe(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => format!("the truth value {value}"),
        Unexpected::Unsigned(value) => format!("the number {value}"),
        Unexpected::Signed(value) => format!("the number {value}"),
        Unexpected::Float(value) => format!("the number {value:?}"),
        Unexpected::Str(text) => quoted(text),
        Unexpected::Seq => "an array".into(),
        Unexpected::Map => "a table".into(),
        other => other.to_string(),
    }
}

/// The keys under which a string may stand for the table `{ extends = "…" }`: `access.*` and
/// `flow.*.transport`.
pub fn is_preset_place(path: &[String]) -> bool {
    match path {
        [section, _] => section == "access",
        [section, _, key] => section == "flow" && (key == "transport" || key == "application"),
        _ => false,
    }
}

/// Turns a string into the table it is short for, so that keys can be put beside it: a preset's name where
/// presets stand, elsewhere the `type` of a choice, and at `errors` and `loss` a rate. Other values stay as they are.
pub fn expand_string(node: Node, path: &[String]) -> Node {
    if path.last().is_some_and(|key| key == "errors" || key == "loss") && is_rate(&node) {
        return expand_rate(node);
    }
    if node.as_str().is_none() {
        return node;
    }
    let name = if is_preset_place(path) { "extends" } else { "type" };
    let (origin, key) = (node.origin.clone(), node.key.clone());
    let inner = Node { key: Some(node.key_origin().clone()), ..node };
    Node { value: Value::Table(Table::from([(name.to_string(), inner)])), origin, key }
}

/// Whether this may be the rate of independent errors: a number, or a text that begins with one.
fn is_rate(node: &Node) -> bool {
    match &node.value {
        Value::Integer(_) | Value::Float(_) => true,
        Value::String(text) => {
            text.trim_start().starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
        }
        _ => false,
    }
}

/// Turns a rate into the table of independent errors that it is short for.
fn expand_rate(node: Node) -> Node {
    let (origin, key) = (node.origin.clone(), node.key.clone());
    let kind = Node::string("independent", &origin);
    let rate = Node { key: Some(node.key_origin().clone()), ..node };
    Node { value: Value::Table(Table::from([("type".to_string(), kind), ("rate".to_string(), rate)])), origin, key }
}

/// Where a table may hold keys for both directions beside the tables `down` and `up`: `link.*`, `access.*`, and the
/// dedicated channel of RRC.
pub fn is_directional(path: &[String]) -> bool {
    match path {
        [section, _] => section == "link" || section == "access",
        [section, _, rrc, dch] => section == "access" && rrc == "rrc" && dch == "dch",
        _ => false,
    }
}

/// Whether a key is the table of one direction.
pub fn is_direction(key: &str) -> bool {
    Direction::BOTH.iter().any(|direction| direction.word() == key)
}

/// Lays `over` onto `base`: tables are merged key by key, anything else replaces what was there.
///
/// A table of another `type` replaces as well, since its keys mean something else. `path` is where the two
/// stand, for the strings that are short for tables and for directions.
pub fn merge(base: Node, over: Node, path: &mut Vec<String>) -> Node {
    let Value::Table(over_table) = over.value else {
        return over;
    };
    let base = expand_string(base, path);
    let type_of = |table: &Table| table.get("type").and_then(Node::as_str).map(str::to_string);
    let mut merged = match base.value {
        Value::Table(table) => match (type_of(&table), type_of(&over_table)) {
            (Some(old), Some(new)) if old != new => Table::new(),
            _ => table,
        },
        _ => Table::new(),
    };
    // What is for both directions first: beside it, what is for one is more specific.
    let is_for_one = |key: &str| is_direction(key) && is_directional(path);
    let (of_one, of_both): (Vec<_>, Vec<_>) = over_table.into_iter().partition(|(key, _)| is_for_one(key));
    for (key, node) in of_both.into_iter().chain(of_one) {
        let Ok(()) = change(&mut merged, &key, path, |old, path| {
            let node = node.clone();
            Ok::<_, Infallible>(match old {
                Some(old) => merge(old, node, path),
                None => node,
            })
        });
    }
    Node { value: Value::Table(merged), origin: over.origin, key: over.key }
}

/// Gives `key` of the table at `path` the value that `to` makes of the one before, if there was one.
///
/// A key for both directions changes for each that has a value of its own there as well: what changes is alike afterwards,
/// and the rest of a table stays.
pub fn change<E>(
    table: &mut Table,
    key: &str,
    path: &mut Vec<String>,
    mut to: impl FnMut(Option<Node>, &mut Vec<String>) -> Result<Node, E>,
) -> Result<(), E> {
    let is_for_both = is_directional(path) && !is_direction(key);
    path.push(key.to_string());
    let mut own = Vec::new();
    for direction in Direction::BOTH.into_iter().filter(|_| is_for_both) {
        let of_direction = table.get_mut(direction.word()).and_then(Node::as_table_mut);
        if let Some(node) = of_direction.and_then(|of_direction| of_direction.shift_remove(key)) {
            let whole = match table.get(key) {
                Some(both) => merge(both.clone(), node, path),
                None => node,
            };
            own.push((direction, to(Some(whole), path)?));
        }
    }
    // The slot is filled again at once; until then it holds a cheap stand-in.
    let old = table.get_mut(key).map(|slot| {
        let stand_in = Node::empty_table(&slot.origin);
        std::mem::replace(slot, stand_in)
    });
    let new = to(old, path)?;
    path.pop();
    for (direction, node) in own.into_iter().filter(|(_, node)| *node != new) {
        if let Some(of_direction) = table.get_mut(direction.word()).and_then(Node::as_table_mut) {
            of_direction.insert(key.to_string(), node);
        }
    }
    table.insert(key.to_string(), new);
    Ok(())
}

fn syntax_error(error: &toml::de::Error, source: &Arc<Source>, offset: usize) -> ScenarioError {
    let message = error.message();
    let Some(span) = error.span() else {
        // Too many dots in one key is all that has no place.
        return ScenarioError::new(Mistake::Syntax, in_plain_words(message, None).0).in_file(&source.name);
    };
    let origin = Origin::new(source, span.start + offset..span.end + offset);
    if message.starts_with("duplicate key") {
        let key = &source.text[origin.span.clone()];
        return ScenarioError::new(Mistake::DuplicateKey, format!("the key `{key}` stands twice in this table"))
            .at(&origin);
    }
    let (message, allowed) = match message.split_once(", expected ") {
        Some((message, allowed)) => (message, Some(allowed)),
        None => (message, None),
    };
    let (message, allowed) = in_plain_words(message, allowed);
    let error = ScenarioError::new(Mistake::Syntax, message).at(&origin);
    match allowed {
        Some(allowed) => error.allowed(allowed),
        None => error,
    }
}

/// The parser's words for what is wrong and what was expected; the most frequent ones are said more plainly.
fn in_plain_words(message: &str, expected: Option<&str>) -> (String, Option<String>) {
    let (message, allowed) = match (message, expected) {
        ("recursion limit" | "cannot recurse further; max recursion depth met", _) => {
            return ("keys or values are nested too deeply".into(), None);
        }
        ("invalid basic string", Some("`\"`")) => ("the string is not closed", Some("a `\"` at its end")),
        ("string values must be quoted", _) => (message, Some("a string in quotes, such as \"75 ms\"")),
        _ => (message, expected),
    };
    (format!("not TOML: {message}"), allowed.map(str::to_string))
}

fn table(table: DeTable<'_>, source: &Arc<Source>, offset: usize) -> Result<Table, ScenarioError> {
    let mut result = Table::with_capacity(table.len());
    for (key, value) in table {
        let key_span = key.span();
        let mut node = node(value, source, offset).map_err(|error| error.under(key.get_ref()))?;
        node.key = Some(Origin::new(source, key_span.start + offset..key_span.end + offset));
        result.insert(key.into_inner().into_owned(), node);
    }
    Ok(result)
}

fn node(value: Spanned<DeValue<'_>>, source: &Arc<Source>, offset: usize) -> Result<Node, ScenarioError> {
    let span = value.span();
    let origin = Origin::new(source, span.start + offset..span.end + offset);
    let huge = |found: &str, allowed: &str| {
        ScenarioError::new(Mistake::HugeNumber, "the number does not fit 64 bits")
            .at(&origin)
            .found(shorten(found))
            .allowed(allowed)
    };
    let value = match value.into_inner() {
        DeValue::Boolean(value) => Value::Boolean(value),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(value) => Value::Integer(value),
            Err(_) => return Err(huge(&number.to_string(), "whole numbers from -2^63 to 2^63 - 1")),
        },
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(value) if value.is_infinite() && !number.as_str().contains("inf") => {
                return Err(huge(number.as_str(), "numbers up to 1.797e308"));
            }
            Ok(value) => Value::Float(value),
            Err(_) => return Err(huge(number.as_str(), "a number")),
        },
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Datetime(value) => Value::Datetime(value.to_string()),
        DeValue::Array(items) => {
            let items = items
                .into_iter()
                .enumerate()
                .map(|(index, item)| node(item, source, offset).map_err(|error| error.under(&index.to_string())));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(inner) => Value::Table(table(inner, source, offset)?),
    };
    Ok(Node { value, origin, key: None })
}
