//! The JSON Schema of scenario files, for editors and the reference page.

use std::borrow::Cow;

use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use cellwind_transport::application::ApplicationSettings;

use crate::model::{Access, Protocol, Scenario};
use crate::presets::{Kind, Preset};

/// The JSON Schema of a scenario file, as indented JSON.
///
/// It knows keys, types and units. It requires no key, because what is missing may stand in the file that is extended.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Scenario);
    RecursiveTransform(as_written).transform(&mut schema);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("extends".into(), extends(Kind::Scenario));
    }
    // A JSON value with string keys only is always written.
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

/// Bends one schema from the form of the Rust types to that of the files.
fn as_written(schema: &mut Schema) {
    schema.remove("required");
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    // TOML has no null; what is optional is left away.
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    // A choice may be given by its name alone, or refined without naming it again.
    let is_choice = |choice: &Value| choice.pointer("/properties/type/const").is_some();
    if schema.get("oneOf").and_then(Value::as_array).is_some_and(|choices| choices.iter().all(is_choice)) {
        let Some(Value::Array(mut choices)) = schema.remove("oneOf") else { return };
        let names: Vec<Value> =
            choices.iter().filter_map(|choice| choice.pointer("/properties/type/const").cloned()).collect();
        choices.insert(0, json!({ "enum": names }));
        schema.insert("anyOf".into(), Value::Array(choices));
    }
}

/// An access as scenario files write it: a preset's name, or a table that may extend one.
pub struct AccessOrPreset;

/// A transport as scenario files write it: a preset's name, or a table that may extend one.
pub struct TransportOrPreset;

impl JsonSchema for AccessOrPreset {
    fn schema_name() -> Cow<'static, str> {
        "Access".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        or_preset(Access::json_schema(generator), Kind::Access, &[])
    }
}

impl JsonSchema for TransportOrPreset {
    fn schema_name() -> Cow<'static, str> {
        "Transport".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let label = json!({
            "type": "string",
            "description": "Name in results; by default that of the preset it was made from.",
        });
        or_preset(Protocol::json_schema(generator), Kind::Transport, &[("label", label)])
    }
}

/// An application as scenario files write it: a preset's name, or a table that may extend one.
pub struct ApplicationOrPreset;

impl JsonSchema for ApplicationOrPreset {
    fn schema_name() -> Cow<'static, str> {
        "Application".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        or_preset(ApplicationSettings::json_schema(generator), Kind::Application, &[])
    }
}

/// The key `extends`.
fn extends(kind: Kind) -> Value {
    json!({
        "type": "string",
        "description": format!("A preset ({kind}), or a file relative to this one, whose values hold unless given here."),
        "examples": Preset::names(kind).collect::<Vec<_>>(),
    })
}

/// The schema of a table by `type`, which may extend a preset, or of a preset's name.
fn or_preset(mut tables: Schema, kind: Kind, more: &[(&str, Value)]) -> Schema {
    let description = tables.remove("description").unwrap_or_default();
    let mut choices = match tables.get_mut("oneOf") {
        Some(Value::Array(choices)) => std::mem::take(choices),
        _ => vec![tables.to_value()],
    };
    for choice in choices.iter_mut().filter_map(Value::as_object_mut) {
        if let Some(properties) = choice.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert("extends".into(), extends(kind));
            properties.extend(more.iter().map(|(key, value)| ((*key).to_string(), value.clone())));
        }
    }
    let mut all = vec![json!({
        "type": "string",
        "description": format!("A preset ({kind}), or a file relative to this one."),
        "examples": Preset::names(kind).collect::<Vec<_>>(),
    })];
    all.extend(choices);
    json_schema!({ "description": description, "anyOf": all })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every key that a resolved scenario can have is described.
    #[test]
    fn every_key_is_described() {
        let schema: Value = serde_json::from_str(&schema()).unwrap();
        for pointer in [
            "/properties/extends",
            "/properties/link/additionalProperties/properties/up/properties/queue",
            "/$defs/Flow/properties/bulk",
            "/$defs/Access/anyOf/1/properties/down/properties/errors",
            "/$defs/Access/anyOf/1/properties/extends",
            "/$defs/Transport/anyOf/1/properties/label",
            "/$defs/Transport/anyOf/1/properties/recovery",
            "/$defs/RecoverySettings/anyOf/1/properties/bug_fix",
        ] {
            let description = schema.pointer(pointer).and_then(|part| part.get("description"));
            assert!(description.is_some_and(Value::is_string), "{pointer} has no description");
        }
    }

    /// The places whose keys hold for both directions, as the types have them and as sources are laid over each other.
    #[test]
    fn places_with_directions_are_known() {
        fn visit(root: &Value, part: &Value, path: &mut Vec<String>, places: &mut usize) {
            let Value::Object(part) = part else { return };
            let properties = part.get("properties").and_then(Value::as_object);
            if let Some(properties) = properties {
                let has_directions = properties.contains_key("down") && properties.contains_key("up");
                assert_eq!(crate::node::is_directional(path), has_directions, "{path:?}");
                *places += usize::from(has_directions);
                for (key, part) in properties.iter().filter(|(key, _)| !crate::node::is_direction(key)) {
                    path.push(key.clone());
                    visit(root, part, path, places);
                    path.pop();
                }
            }
            if let Some(named) = part.get("additionalProperties") {
                path.push("name".into());
                visit(root, named, path, places);
                path.pop();
            }
            let choices = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| part.get(key)?.as_array());
            choices.flatten().for_each(|choice| visit(root, choice, path, places));
            if let Some(target) = part.get("$ref").and_then(Value::as_str) {
                let target = root.pointer(target.trim_start_matches('#')).unwrap();
                visit(root, target, path, places);
            }
        }
        let schema: Value = serde_json::from_str(&schema()).unwrap();
        let mut places = 0;
        visit(&schema, &schema, &mut Vec::new(), &mut places);
        assert!(places >= 5, "links, three accesses and a dedicated channel, not {places}");
    }

    #[test]
    fn choices_may_be_given_by_name() {
        let schema: Value = serde_json::from_str(&schema()).unwrap();
        let names = schema.pointer("/$defs/RecoverySettings/anyOf/0/enum").unwrap();
        assert!(names.as_array().unwrap().contains(&json!("newreno")));
    }
}
