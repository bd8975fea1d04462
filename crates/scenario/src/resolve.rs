//! From a file to one tree: `extends`, presets and `--set`.
//!
//! The order is fixed. The file is laid over what it extends, and so on to the last one; then the settings
//! of the command line; then every `access.*` and `flow.*.transport` is laid over the preset it names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Mistake, ScenarioError, quoted};
use crate::model::{DEFAULT_TERMINAL, SECTIONS};
use crate::node::{self, Node, Table, Value};
use crate::presets::{Kind, Preset};
use crate::read;
use crate::source::{Origin, Source};

/// The most keys of a path in `--set`; no scenario is nested so deep.
const MOST_KEYS: usize = 32;
/// The most files and presets in one chain of `extends`; each is a step of recursion.
const LONGEST_CHAIN: usize = 100;

/// Something that can be extended.
enum Target {
    File(PathBuf),
    Preset(&'static Preset),
}

impl Target {
    /// What `name`, written at `origin`, refers to: a file if it has a slash or ends in `.toml`.
    fn find(kind: Kind, name: &str, origin: &Origin) -> Result<Target, ScenarioError> {
        if is_file_name(name) {
            // Collecting the components drops the `.` of names such as "./other.toml".
            return Ok(Target::File(origin.source.directory.join(name).components().collect()));
        }
        Preset::find(kind, name).map(Target::Preset).ok_or_else(|| unknown_preset(kind, name).at(origin))
    }

    /// The same for all spellings of the same file, so that cycles are noticed.
    fn identity(&self) -> String {
        match self {
            Target::File(path) => path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string(),
            Target::Preset(preset) => preset.source().name.clone(),
        }
    }
}

/// True for names that mean files and not presets.
pub fn is_file_name(name: &str) -> bool {
    name.contains(['/', '\\']) || name.ends_with(".toml")
}

/// The error for a name that no preset has.
pub fn unknown_preset(kind: Kind, name: &str) -> ScenarioError {
    ScenarioError::new(Mistake::UnknownPreset, format!("there is no {kind} preset of this name"))
        .found(quoted(name))
        .known(name, Preset::names(kind))
        .note("a file is named by a path, such as \"./other.toml\"")
}

/// The chain of what extends what, to notice cycles and to name them.
struct Chain {
    identities: Vec<String>,
    names: Vec<String>,
}

impl Chain {
    fn starting_at(source: &Source) -> Chain {
        let path = Path::new(&source.name);
        let identity = path.canonicalize().map_or_else(|_| source.name.clone(), |path| path.display().to_string());
        Chain { identities: vec![identity], names: vec![source.name.clone()] }
    }

    fn push(&mut self, target: &Target, source: &Source) -> Result<(), ScenarioError> {
        let identity = target.identity();
        self.names.push(source.name.clone());
        if let Some(first) = self.identities.iter().position(|known| *known == identity) {
            return Err(ScenarioError::new(Mistake::ExtendsCycle, "this extends itself")
                .found(self.names[first..].join(" -> ")));
        }
        if self.identities.len() == LONGEST_CHAIN {
            let message = format!("this is the end of a chain of {LONGEST_CHAIN} files that extend each other");
            return Err(ScenarioError::new(Mistake::ExtendsTooLong, message)
                .allowed(format!("at most {LONGEST_CHAIN} files in a chain")));
        }
        self.identities.push(identity);
        Ok(())
    }
}

/// The tree of a scenario text with everything it extends.
pub fn scenario(source: &Arc<Source>) -> Result<Node, ScenarioError> {
    let node = Node::parse(source)?;
    extended(node, Kind::Scenario, &mut Vec::new(), &mut Chain::starting_at(source))
}

/// Lays `node` over the preset or file that its `extends` names, all the way down.
fn extended(mut node: Node, kind: Kind, path: &mut Vec<String>, chain: &mut Chain) -> Result<Node, ScenarioError> {
    match node.as_table_mut().and_then(|table| table.shift_remove("extends")) {
        Some(extends) => Ok(node::merge(base_of(&extends, kind, path, chain)?, node, path)),
        None => Ok(node),
    }
}

/// The tree that an `extends` refers to.
fn base_of(extends: &Node, kind: Kind, path: &mut Vec<String>, chain: &mut Chain) -> Result<Node, ScenarioError> {
    let source = source_of(extends, kind, chain).map_err(|error| {
        let path: Vec<&str> = path.iter().map(String::as_str).chain(["extends"]).collect();
        error.at(&extends.origin).with_path(&path)
    })?;
    let base = Node::parse(&source).map_err(|error| {
        let path: Vec<String> = path.iter().chain(error.keys()).cloned().collect();
        error.with_path(&path)
    })?;
    extended(base, kind, path, chain)
}

/// The text that an `extends` refers to.
fn source_of(extends: &Node, kind: Kind, chain: &mut Chain) -> Result<Arc<Source>, ScenarioError> {
    let Some(name) = extends.as_str() else {
        return Err(ScenarioError::new(Mistake::WrongType, "the value has the wrong type")
            .found(extends.describe())
            .allowed("the name of a preset or the path of a file, as a string"));
    };
    let target = Target::find(kind, name, &extends.origin)?;
    let source = match &target {
        Target::Preset(preset) => preset.source(),
        Target::File(path) => read::file(path)
            .map_err(|error| error.found(quoted(name)).note(format!("it was looked for as {}", path.display())))?,
    };
    chain.push(&target, &source)?;
    Ok(source)
}

/// Applies paths with their values, all of one source, to the tree; reports call them `--set`.
///
/// They change what is there. A new link, access, terminal or flow must be given whole, in one value, or else
/// every slip in a name would make one; only `extends` and `type` may also begin a new access.
pub fn set(root: &mut Node, sets: &[(String, String)]) -> Result<(), ScenarioError> {
    let assignments = sets.iter().map(|(path, value)| Assignment::of_text("--set", path, value));
    let mut assignments = assignments.collect::<Result<Vec<_>, _>>()?;
    Assignment::sort(&mut assignments);
    assignments.iter().try_for_each(|assignment| assignment.put(root))
}

/// A value for the place that a path names.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The path.
    pub keys: Vec<SetKey>,
    /// The value.
    pub value: Node,
}

/// A key of the path of an assignment.
#[derive(Clone, Debug)]
pub struct SetKey {
    /// The key itself.
    pub name: String,
    /// Where it stands.
    pub origin: Origin,
}

impl Assignment {
    /// The assignment `path=value`, given as two texts; reports call them `name`.
    pub fn of_text(name: &str, path: &str, value: &str) -> Result<Assignment, ScenarioError> {
        let source = Source::new(name, format!("{path}={value}"));
        let names: Vec<&str> = path.split('.').map(str::trim).collect();
        let value = value_of(&source, path.len() + 1).map_err(|error| error.with_path(&names))?;
        let keys = set_keys(path, |range| Origin::new(&source, range))?;
        Ok(Assignment { keys, value })
    }

    /// The assignment that a key of a table with its value is, where the key is a path.
    pub fn of_entry(path: &str, value: &Node) -> Result<Assignment, ScenarioError> {
        let keys = set_keys(path, |_| value.key_origin().clone())?;
        Ok(Assignment { keys, value: value.clone() })
    }

    /// Puts those of one source in the order in which they apply: what is for one direction is more specific than what
    /// is for both, in whichever order they stand; apart from that they keep it.
    pub fn sort(assignments: &mut [Assignment]) {
        for run in assignments.split_mut(|assignment| assignment.is_for_one().is_none()) {
            run.sort_by_key(|assignment| assignment.is_for_one());
        }
    }

    /// Whether it is for one direction or for both; none where directions are not told apart.
    fn is_for_one(&self) -> Option<bool> {
        let names: Vec<String> = self.keys.iter().map(|key| key.name.clone()).collect();
        let mut places = (1..names.len()).filter(|&at| node::is_directional(&names[..at])).peekable();
        places.peek().is_some().then(|| places.any(|at| node::is_direction(&names[at])))
    }

    /// Applies it to a tree.
    pub fn put(&self, root: &mut Node) -> Result<(), ScenarioError> {
        check_name(root, &self.keys)?;
        put_below(root, &self.keys, &self.value, &mut Vec::new())
    }
}

fn bad_set(origin: &Origin, message: impl Into<String>) -> ScenarioError {
    ScenarioError::new(Mistake::BadSet, message).at(origin)
}

/// The keys of a dotted path; `origin` says where a range of its bytes stands.
fn set_keys(path: &str, origin: impl Fn(std::ops::Range<usize>) -> Origin) -> Result<Vec<SetKey>, ScenarioError> {
    let mut keys = Vec::new();
    let mut offset = 0;
    for key in path.split('.') {
        let origin = origin(offset..offset + key.len());
        offset += key.len() + 1;
        if key.trim().is_empty() {
            return Err(
                bad_set(&origin, "a key of the path is empty").allowed("a dotted path such as access.umts.errors")
            );
        }
        keys.push(SetKey { name: key.trim().to_string(), origin });
    }
    let whole = origin(0..path.len());
    match &keys[..] {
        [only] if only.name == "extends" => {
            Err(bad_set(&whole, "`extends` cannot be set here; name the other scenario instead"))
        }
        keys if keys.len() > MOST_KEYS => {
            Err(bad_set(&whole, "the path has too many keys").allowed(format!("at most {MOST_KEYS} keys")))
        }
        _ => Ok(keys),
    }
}

/// Refuses a path through a named table that the scenario does not have.
fn check_name(root: &Node, keys: &[SetKey]) -> Result<(), ScenarioError> {
    let [section, named, next, ..] = keys else { return Ok(()) };
    let may_begin = section.name == "access" && matches!(next.name.as_str(), "extends" | "type");
    if !SECTIONS.contains(&section.name.as_str()) || may_begin {
        return Ok(());
    }
    let table = root.get(&section.name).and_then(Node::as_table);
    let mut known: Vec<&str> = table.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    if section.name == "terminal" && known.is_empty() {
        known.push(DEFAULT_TERMINAL);
    }
    if known.contains(&named.name.as_str()) {
        return Ok(());
    }
    let section = &section.name;
    Err(bad_set(&named.origin, format!("the scenario has no {section} of this name"))
        .found(quoted(&named.name))
        .known(&named.name, known)
        .note(format!("a new {section} is given whole, as in {section}.NAME={{ … }}")))
}

/// Lays `value` onto what stands below `keys` in `place`, made if it is not there; `walked` is the path of `place`.
fn put_below(place: &mut Node, keys: &[SetKey], value: &Node, walked: &mut Vec<String>) -> Result<(), ScenarioError> {
    let old = std::mem::replace(place, Node::empty_table(&value.origin));
    let Some((SetKey { name, origin }, rest)) = keys.split_first() else {
        *place = Node { key: None, ..node::merge(old, value.clone(), walked) };
        return Ok(());
    };
    *place = node::expand_string(old, walked);
    let described = place.describe();
    match &mut place.value {
        Value::Table(table) => node::change(table, name, walked, |old, walked| {
            let is_written = rest.is_empty() || old.is_none();
            let mut slot = old.unwrap_or_else(|| Node::empty_table(origin));
            let key = if is_written { Some(origin.clone()) } else { slot.key.clone() };
            put_below(&mut slot, rest, value, walked)?;
            Ok(Node { key, ..slot })
        }),
        Value::Array(items) => {
            let count = items.len();
            let item = name.parse().ok().and_then(|index: usize| items.get_mut(index));
            let item = item.ok_or_else(|| {
                let message = format!("`{}` is an array, and this is none of its items", walked.join("."));
                bad_set(origin, message).allowed(match count {
                    0 => "nothing, since it is empty".to_string(),
                    1 => "the index 0".to_string(),
                    _ => format!("an index from 0 to {}", count - 1),
                })
            })?;
            walked.push(name.clone());
            put_below(item, rest, value, walked)?;
            walked.pop();
            Ok(())
        }
        _ => Err(bad_set(origin, format!("`{}` is {described}, which has no keys", walked.join(".")))),
    }
}

/// The value behind byte `offset`: TOML if it is TOML, else the text itself, because shells take quotes away.
fn value_of(source: &Arc<Source>, offset: usize) -> Result<Node, ScenarioError> {
    let text = &source.text[offset..];
    let origin = Origin::new(source, offset..source.text.len());
    if text.trim().is_empty() {
        return Err(ScenarioError::new(Mistake::BadSet, "the value is missing")
            .at(&origin)
            .allowed("a TOML value, such as 0.05 or \"60 ms\""));
    }
    match Node::parse_value(source, offset) {
        Ok(node) => Ok(node),
        Err(error) if error.mistake() == Mistake::HugeNumber => Err(error),
        Err(error) if text.trim_start().starts_with(['"', '\'', '[', '{']) => Err(error),
        Err(_) => Ok(Node { value: Value::String(text.trim().to_string()), origin, key: None }),
    }
}

/// Lays every access and every transport over its preset.
pub fn presets(root: &mut Node) -> Result<(), ScenarioError> {
    let Some(top) = root.as_table_mut() else { return Ok(()) };
    if let Some(accesses) = top.get_mut("access").and_then(Node::as_table_mut) {
        for name in keys_of(accesses) {
            preset(accesses, &name, Kind::Access, &["access"])?;
        }
    }
    if let Some(flows) = top.get_mut("flow").and_then(Node::as_table_mut) {
        for name in keys_of(flows) {
            if let Some(flow) = flows.get_mut(&name).and_then(Node::as_table_mut) {
                preset(flow, "transport", Kind::Transport, &["flow", &name])?;
                preset(flow, "application", Kind::Application, &["flow", &name])?;
            }
        }
    }
    Ok(())
}

fn keys_of(table: &Table) -> Vec<String> {
    table.keys().cloned().collect()
}

/// Resolves the preset at `table[key]`; `parents` are the keys above.
fn preset(table: &mut Table, key: &str, kind: Kind, parents: &[&str]) -> Result<(), ScenarioError> {
    let Some(slot) = table.get_mut(key) else { return Ok(()) };
    let mut path: Vec<String> = parents.iter().map(|key| key.to_string()).collect();
    path.push(key.to_string());

    let written_as_string = slot.as_str().is_some();
    let node = node::expand_string(slot.clone(), &path);
    let label = label_of(&node);
    let mut chain = Chain { identities: Vec::new(), names: Vec::new() };
    let resolved = extended(node, kind, &mut path, &mut chain).map_err(|error| match written_as_string {
        // There is no key `extends` in the file to point at.
        true if error.keys().last().is_some_and(|key| key == "extends") => error.with_path(&path),
        _ => error,
    })?;
    *slot = resolved;
    if let (Kind::Transport, Some(label), Some(table)) = (kind, label, slot.as_table_mut()) {
        table.entry("label".to_string()).or_insert(label);
    }
    Ok(())
}

/// Names `extends` in errors about the tables that may have it, where it is resolved and gone.
pub fn offer_extends(error: ScenarioError) -> ScenarioError {
    match (error.mistake(), error.keys()) {
        (Mistake::UnknownKey, [place @ .., _]) if place.is_empty() || node::is_preset_place(place) => {
            error.also_known("extends")
        }
        (Mistake::WrongType, place) if node::is_preset_place(place) => {
            error.allowed("the name of a preset, the path of a file, or a table")
        }
        (Mistake::MissingType, place) if node::is_preset_place(place) => {
            error.note("or `extends`, which names a preset or a file to take it from")
        }
        _ => error,
    }
}

/// What results call a transport that extends something: the preset's name, or the file's without its ending.
fn label_of(node: &Node) -> Option<Node> {
    let extends = node.get("extends")?;
    let name = extends.as_str()?;
    let stem = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let label = stem.strip_suffix(".toml").unwrap_or(stem);
    Some(Node { value: Value::String(label.to_string()), ..extends.clone() })
}
