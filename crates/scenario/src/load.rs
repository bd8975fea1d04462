//! The doors: a scenario from a file, from a preset's name or from text.

use std::path::Path;
use std::sync::Arc;

use cellwind_transport::tcp::settings::TcpSettings;

use crate::change::{Change, Controls};
use crate::de::from_node;
use crate::error::{Mistake, ScenarioError};
use crate::error_files::ErrorFiles;
use crate::model::{Protocol, Scenario};
use crate::node::Node;
use crate::presets::{self, Kind, PRESETS, Preset};
use crate::source::Source;
use crate::{change, read, resolve, traces, validate};

/// A scenario that was loaded, and where it came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The scenario, checked and with its defaults filled in.
    pub scenario: Scenario,
    /// The file's name without its ending, the preset's name, or the name given with the text.
    pub name: String,
    /// The comment above the first key, on one line.
    pub summary: String,
    /// What is allowed but probably not meant.
    pub warnings: Vec<String>,
    /// The tree with everything the file extends, before any `--set`.
    tree: Node,
    /// The tree that the scenario was read from.
    resolved: Node,
    /// What was put over the tree, from the least specific source to the most specific one.
    sets: Vec<Vec<(String, String)>>,
}

/// Loads a scenario from the path of a file or the name of a ready-made one, and applies `sets` in order.
///
/// Each of `sets` is a dotted path and a TOML value; a value that is not TOML is taken as a string. Together they are one
/// source, in which a value for one direction is more specific than one for both.
pub fn load(path_or_preset_name: &str, sets: &[(String, String)]) -> Result<Loaded, ScenarioError> {
    let path = Path::new(path_or_preset_name);
    if !resolve::is_file_name(path_or_preset_name) {
        if let Some(preset) = Preset::find(Kind::Scenario, path_or_preset_name) {
            return from_source(&preset.source(), preset.name, sets);
        }
        if !path.exists() {
            return Err(resolve::unknown_preset(Kind::Scenario, path_or_preset_name));
        }
    }
    let source = read::file(path)?;
    let name = path.file_stem().map_or(path_or_preset_name.into(), |stem| stem.to_string_lossy());
    from_source(&source, &name, sets)
}

/// Loads a scenario from text; reports call it `name`.
pub fn parse(text: &str, name: &str, sets: &[(String, String)]) -> Result<Loaded, ScenarioError> {
    let text = read::text(text.as_bytes().to_vec()).map_err(|error| error.in_file(name))?;
    from_source(&Source::new(name, text), name, sets)
}

impl Loaded {
    /// The same scenario with `sets`, which are more specific than those it was loaded with.
    pub fn with_values(&self, sets: &[(String, String)]) -> Result<Loaded, ScenarioError> {
        let sets = self.sets.iter().cloned().chain([sets.to_vec()]).collect();
        from_tree(self.tree.clone(), sets, self.name.clone(), self.summary.clone())
    }

    /// Refuses a scenario that cannot be simulated, because it has no flow.
    pub fn check_simulated(&self) -> Result<(), ScenarioError> {
        validate::check_simulated(&self.scenario, &self.resolved)
    }

    /// Refuses a scenario that cannot run live, because it asks for what only simulated ends can do.
    pub fn check_live(&self) -> Result<(), ScenarioError> {
        validate::check_live(&self.scenario, &self.resolved)
    }

    /// What a live run leaves without effect, beside `warnings`.
    pub fn live_warnings(&self) -> Vec<String> {
        let mut warnings = validate::live_warnings(&self.scenario);
        warnings.retain(|warning| !self.warnings.contains(warning));
        warnings
    }

    /// What changes settings while the scenario runs, from its beginning on.
    pub fn controls(&self) -> Controls {
        Controls::new(&self.scenario, &self.resolved)
    }

    /// A handover while the scenario runs, from the same words as in an event.
    pub fn change_handover(
        &self,
        to: &str,
        terminal: Option<&str>,
        delay: Option<&str>,
        buffering: Option<&str>,
        soft: bool,
    ) -> Result<Change, ScenarioError> {
        let words = [("handover", Some(to)), ("terminal", terminal), ("delay", delay), ("buffering", buffering)];
        self.change_event("handover", &words, if soft { "soft = true\n" } else { "" })
    }

    /// A delay spike while the scenario runs, from the same words as in an event.
    pub fn change_spike(&self, duration: &str, terminal: Option<&str>) -> Result<Change, ScenarioError> {
        self.change_event("spike", &[("spike", Some(duration)), ("terminal", terminal)], "")
    }

    /// The change that the keys of an event stand for, and `more` lines; reports call the text `name`.
    fn change_event(&self, name: &str, words: &[(&str, Option<&str>)], more: &str) -> Result<Change, ScenarioError> {
        let line = |(key, word): &(&str, Option<&str>)| {
            word.map(|word| format!("{key} = {}\n", toml::Value::String(word.to_string())))
        };
        let text: String = words.iter().filter_map(line).collect();
        let node = Node::parse(&Source::new(name, text + more))?;
        change::event(&self.scenario, &node)
    }
}

/// All ready-made parts: kind, name and summary.
pub fn presets() -> Vec<(Kind, &'static str, &'static str)> {
    PRESETS.iter().map(|preset| (preset.kind, preset.name, presets::summary(preset.text))).collect()
}

/// The text of a preset.
pub fn preset_text(kind: Kind, name: &str) -> Result<&'static str, ScenarioError> {
    Preset::find(kind, name).map(|preset| preset.text).ok_or_else(|| resolve::unknown_preset(kind, name))
}

/// The TCP settings that a TOML value describes at the place of a flow's `transport`: a preset's name or a table.
pub fn tcp_settings(transport: &str) -> Result<TcpSettings, ScenarioError> {
    let sets = [("flow.alone.transport".into(), transport.into())];
    settings_of(parse(&format!("{ALONE}transport = \"reno\"\n"), "transport", &sets)?)
}

/// The TCP settings of a `transport` that stands elsewhere than in a flow.
pub(crate) fn tcp_settings_of(transport: Node) -> Result<TcpSettings, ScenarioError> {
    let mut tree = Node::parse(&Source::new("transport", ALONE))?;
    let flow = tree.as_table_mut().and_then(|tree| tree.get_mut("flow")).and_then(Node::as_table_mut);
    let alone = flow.and_then(|flow| flow.get_mut("alone")).and_then(Node::as_table_mut).expect("it stands there");
    alone.insert("transport".to_string(), transport);
    let loaded = from_tree(tree, Vec::new(), "transport".into(), String::new());
    settings_of(loaded.map_err(|error| error.without(&["flow", "alone"]))?)
}

/// A scenario of one flow whose transport is still to be told.
const ALONE: &str = "[link.wire]\n[flow.alone]\nbulk = \"1 B\"\n";

fn settings_of(loaded: Loaded) -> Result<TcpSettings, ScenarioError> {
    match loaded.scenario.flow["alone"].transport.protocol.clone() {
        Protocol::Tcp(settings) => Ok(settings),
        other => {
            let error = ScenarioError::new(Mistake::BadValue, "this is no TCP, whose sender was asked for");
            Err(error.found(other.word()))
        }
    }
}

fn from_source(source: &Arc<Source>, name: &str, sets: &[(String, String)]) -> Result<Loaded, ScenarioError> {
    let tree = resolve::scenario(source)?;
    from_tree(tree, vec![sets.to_vec()], name.to_string(), presets::summary(&source.text).to_string())
}

fn from_tree(
    tree: Node,
    sets: Vec<Vec<(String, String)>>,
    name: String,
    summary: String,
) -> Result<Loaded, ScenarioError> {
    let mut resolved = tree.clone();
    for source in &sets {
        resolve::set(&mut resolved, source)?;
    }
    resolve::presets(&mut resolved)?;
    let mut scenario: Scenario = from_node(&resolved).map_err(resolve::offer_extends)?;
    scenario.fill_in();
    traces::read(&mut scenario, &resolved)?;
    let mut files = ErrorFiles::default();
    for (name, link) in &mut scenario.link {
        files.of_link(link, name, &resolved)?;
    }
    for (name, access) in &mut scenario.access {
        files.of_access(access, name, &resolved)?;
    }
    let warnings = validate::check(&scenario, &resolved)?;
    scenario.plan = change::plan(&scenario, &resolved)?;
    scenario.ways = change::ways(&scenario, &resolved)?;
    validate::check_size(&scenario, &resolved)?;
    Ok(Loaded { scenario, name, summary, warnings, tree, resolved, sets })
}

impl Scenario {
    /// The scenario as a TOML file that stands on its own and loads to an equal one.
    pub fn to_toml(&self) -> Result<String, ScenarioError> {
        // A seed beyond 63 bits is all that TOML cannot hold, and validation refuses it.
        crate::write::to_toml(self).map_err(|error| ScenarioError::new(Mistake::OutOfRange, error.to_string()))
    }
}
