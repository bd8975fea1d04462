//! The files of error processes, read when their scenario is loaded.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use cellwind_engine::directions::Direction;
use cellwind_path::errors::markov::{MarkovFile, MarkovSettings};
use cellwind_path::errors::settings::{ErrorModel, ErrorSettings};
use cellwind_path::errors::trace::{Record, TraceSettings};

use crate::de::from_node;
use crate::error::{Mistake, ScenarioError, quoted};
use crate::model::{Access, Link};
use crate::node::Node;
use crate::presets::{Kind, PRESETS, Preset};
use crate::read;
use crate::source::{Origin, Source};

/// Files that were read.
#[derive(Clone, Debug, Default)]
pub struct ErrorFiles {
    chains: BTreeMap<PathBuf, MarkovFile>,
    records: BTreeMap<PathBuf, Arc<Record>>,
}

/// What a `file` refers to.
enum Target {
    ReadyMade(&'static Preset),
    Path(PathBuf),
}

impl ErrorFiles {
    /// Reads what the errors of the access `name` refer to, whose table stands in `tree`.
    pub fn of_access(&mut self, access: &mut Access, name: &str, tree: &Node) -> Result<(), ScenarioError> {
        for direction in Direction::BOTH {
            let (key, errors) = access.errors_mut(direction);
            self.read(errors, ["access", name, direction.word(), key], tree)?;
        }
        Ok(())
    }

    /// Reads what the losses of the wired link `name` refer to, whose table stands in `tree`.
    pub fn of_link(&mut self, link: &mut Link, name: &str, tree: &Node) -> Result<(), ScenarioError> {
        for direction in Direction::BOTH {
            self.read(&mut link.get_mut(direction).loss, ["link", name, direction.word(), "loss"], tree)?;
        }
        Ok(())
    }

    /// Reads what errors refer to that stand at `place`: section, name, direction and key.
    fn read(&mut self, errors: &mut ErrorSettings, place: [&str; 4], tree: &Node) -> Result<(), ScenarioError> {
        let [section, name, direction, key] = place;
        let exact = [section, name, direction, key, "file"];
        let both = [section, name, key, "file"];
        let path = if tree.find(&exact).is_some() { &exact[..] } else { &both };
        let written = tree.find(path);
        let folder = written.map_or_else(PathBuf::new, |node| node.origin.source.directory.clone());
        let found = match &mut errors.model {
            ErrorModel::Markov(settings) => self.chain(settings, folder),
            ErrorModel::Trace(settings) => self.record(settings, folder),
            _ => Ok(()),
        };
        found.map_err(|error| match written {
            // What is wrong inside a file has its place there.
            _ if error.has_place() => error.note(format!("it is named by {}", path.join("."))),
            Some(node) => error.with_path(path).at(&node.origin),
            None => error.with_path(path),
        })
    }

    fn chain(&mut self, settings: &mut MarkovSettings, folder: PathBuf) -> Result<(), ScenarioError> {
        let Some(name) = &settings.file else { return Ok(()) };
        if settings.is_written_here() {
            let message = "a chain is either in a file or written here";
            return Err(ScenarioError::new(Mistake::Conflict, message).found("`file` beside keys of the chain"));
        }
        let target = Target::find(name, folder, "toml")?;
        let file = match self.chains.get(&target.identity()) {
            Some(file) => file.clone(),
            None => {
                let file = chain_of(&target.source(name)?)?;
                self.chains.insert(target.identity(), file.clone());
                file
            }
        };
        settings.fill_in(file);
        Ok(())
    }

    fn record(&mut self, settings: &mut TraceSettings, folder: PathBuf) -> Result<(), ScenarioError> {
        let target = Target::find(&settings.file, folder, "runs")?;
        settings.record = match self.records.get(&target.identity()) {
            Some(record) => record.clone(),
            None => {
                let record = Arc::new(record_of(&target.source(&settings.file)?)?);
                self.records.insert(target.identity(), record.clone());
                record
            }
        };
        if let Target::Path(path) = target {
            settings.file = std::path::absolute(&path).unwrap_or(path).display().to_string();
        }
        Ok(())
    }
}

impl Target {
    /// The file `name`, relative to `folder`; a name without `/` and `.` is that of a ready-made one.
    fn find(name: &str, folder: PathBuf, ending: &str) -> Result<Target, ScenarioError> {
        if name.contains(['/', '\\', '.']) {
            return Ok(Target::Path(folder.join(name).components().collect()));
        }
        let of_kind = || PRESETS.iter().filter(|preset| preset.kind == Kind::Errors && preset.ending == ending);
        of_kind().find(|file| file.name == name).map(Target::ReadyMade).ok_or_else(|| {
            ScenarioError::new(Mistake::UnknownPreset, "there is no ready-made file of this name")
                .found(quoted(name))
                .known(name, of_kind().map(|file| file.name))
                .note(format!("another file is named by its path, such as \"./other.{ending}\""))
        })
    }

    fn identity(&self) -> PathBuf {
        match self {
            Target::ReadyMade(file) => PathBuf::from(file.name),
            Target::Path(path) => path.clone(),
        }
    }

    fn source(&self, name: &str) -> Result<Arc<Source>, ScenarioError> {
        match self {
            Target::ReadyMade(file) => Ok(file.source()),
            Target::Path(path) => read::file(path)
                .map_err(|error| error.found(quoted(name)).note(format!("it was looked for as {}", path.display()))),
        }
    }
}

fn chain_of(source: &Arc<Source>) -> Result<MarkovFile, ScenarioError> {
    let node = Node::parse(source).map_err(|error| match error.mistake() {
        Mistake::EmptyFile => error.allowed("the keys `transitions` and `errors`"),
        _ => error,
    })?;
    let file: MarkovFile = from_node(&node)?;
    file.check().map_err(|unfit| {
        let place = (0..=unfit.keys.len()).rev().find_map(|length| node.find(&unfit.keys[..length]));
        let error = ScenarioError::new(Mistake::BadValue, unfit.message).found(unfit.found).allowed(unfit.allowed);
        error.with_path(&unfit.keys).at(&place.unwrap_or(&node).origin)
    })?;
    Ok(file)
}

fn record_of(source: &Arc<Source>) -> Result<Record, ScenarioError> {
    Record::parse(&source.text).map_err(|bad| {
        let error = ScenarioError::new(Mistake::BadValue, bad.message).allowed(bad.allowed);
        let error = match &source.text[bad.span.clone()] {
            "" => error,
            found => error.found(quoted(found)),
        };
        error.at(&Origin::new(source, bad.span))
    })
}
