//! Changes of a running session: parsed and checked beforehand, applied at an instant.

use std::fmt;

use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::Size;
use cellwind_engine::world::Stalled;
use cellwind_path::settings::LinkSettings;
use cellwind_radio::mac::cell::settings::RadioSettings;
use cellwind_radio::rlc::settings::RlcSettings;
use cellwind_radio::settings::Manner;
use indexmap::IndexMap;
use serde::de::Error as _;

use crate::de::from_node;
use crate::error::{Mistake, ScenarioError, quoted};
use crate::error_files::ErrorFiles;
use crate::model::{Access, Event, Link, Scenario};
use crate::node::{Node, Table, Value};
use crate::resolve::Assignment;
use crate::validate;
use cellwind_engine::directions::Direction;

mod controls;
mod moves;

pub use controls::{Applied, Controls};
pub(crate) use moves::ways;

/// A change of a running session. Whoever applies it neither parses nor waits.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// New settings of links and accesses.
    Set(Box<[Patch]>),
    /// A terminal moves to an access.
    Handover {
        /// The terminal's place in the scenario.
        terminal: u16,
        /// The access's place in the scenario.
        to: u16,
        /// How.
        manner: Manner,
        /// How often the terminal repeats its last acknowledgement at the end.
        duplicate_acks: u32,
    },
    /// Nothing begins to be transmitted for a while.
    Spike {
        /// The terminal's place in the scenario; none means all.
        terminal: Option<u16>,
        /// How long.
        duration: Span,
    },
    /// Nothing begins to be transmitted anywhere on the path.
    Pause,
    /// The end of a pause.
    Resume,
}

/// New values of some keys of one direction of a link or an access.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// The place of the link or access in the scenario.
    pub(crate) place: usize,
    /// The place of the only terminal whose bearers of the access it concerns, if it is one.
    pub(crate) terminal: Option<usize>,
    pub(crate) direction: Direction,
    /// The keys that change; the other settings stay as they are when the patch is applied.
    pub(crate) keys: Vec<String>,
    pub(crate) settings: PatchSettings,
}

/// Settings that hold the new values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PatchSettings {
    Link(LinkSettings),
    Access(Box<Access>),
    Terminal(RadioSettings),
}

/// A change of the scenario file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Planned {
    /// Its place among the events.
    pub event: usize,
    pub when: When,
    pub change: Change,
}

/// When a planned change happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    At(Time),
    /// As soon as the terminal was delivered so much.
    After {
        terminal: u16,
        amount: Size,
    },
}

/// Why a change cannot be applied to the session as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// With the settings that other changes have made, a TTI of this access would not carry a single block.
    NoBlock {
        /// Name of the access.
        access: String,
    },
    /// The session was not made with a bearer for this terminal in this access.
    NoBearer {
        /// Name of the terminal.
        terminal: String,
        /// Name of the access.
        access: String,
    },
    /// Time stands still.
    Stalled(Stalled),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeError::NoBlock { access } => write!(f, "a TTI of access.{access} would not carry a single block"),
            ChangeError::NoBearer { terminal, access } => {
                write!(f, "terminal.{terminal} has no bearer in access.{access}")
            }
            ChangeError::Stalled(stalled) => stalled.fmt(f),
        }
    }
}

impl std::error::Error for ChangeError {}

impl From<Stalled> for ChangeError {
    fn from(stalled: Stalled) -> Self {
        ChangeError::Stalled(stalled)
    }
}

/// The change at once that a table with the keys of an event stands for, without `set`.
pub(crate) fn event(scenario: &Scenario, tree: &Node) -> Result<Change, ScenarioError> {
    let event: Event = from_node(tree)?;
    validate::event(scenario, tree, &[], &event)?;
    Ok(change_of(scenario, &event))
}

/// What an event without `set` does.
fn change_of(scenario: &Scenario, event: &Event) -> Change {
    let terminal = event.terminal.as_deref();
    match &event.handover {
        Some(to) => Change::Handover {
            terminal: place_of_terminal(scenario, terminal),
            to: scenario.access.get_index_of(to).unwrap_or(0) as u16,
            manner: match event.soft {
                true => Manner::Soft,
                false => Manner::Hard {
                    delay: event.delay.unwrap_or_default(),
                    buffering: event.buffering.unwrap_or_default(),
                },
            },
            duplicate_acks: event.duplicate_acks.unwrap_or_default(),
        },
        None => Change::Spike {
            terminal: terminal.map(|terminal| place_of_terminal(scenario, Some(terminal))),
            duration: event.spike.unwrap_or_default(),
        },
    }
}

/// What the events of a valid scenario do. Each `set` is tried here, on top of those that come before it.
pub(crate) fn plan(scenario: &Scenario, tree: &Node) -> Result<Vec<Planned>, ScenarioError> {
    let mut running = Running::new(scenario, tree);
    let mut plan = Vec::with_capacity(scenario.event.len());
    for (index, event) in in_order(&scenario.event) {
        let change = match event {
            Event { set: Some(_), .. } => {
                running.set(assignments_of(tree, index)?).map_err(|error| match error.mistake() {
                    Mistake::PduTooLarge => error.note(format!("that is so after event.{index}")),
                    _ => error,
                })?
            }
            event => change_of(scenario, event),
        };
        let when = match (event.at, event.after) {
            (Some(at), _) => When::At(Time::ZERO + at),
            (None, amount) => When::After {
                terminal: place_of_terminal(scenario, event.terminal.as_deref()),
                amount: amount.unwrap_or(Size::ZERO),
            },
        };
        plan.push(Planned { event: index, when, change });
    }
    Ok(plan)
}

/// What an event sets.
fn assignments_of(tree: &Node, event: usize) -> Result<Vec<Assignment>, ScenarioError> {
    let written = tree.find(&["event", &event.to_string(), "set"]).and_then(Node::as_table);
    written.into_iter().flatten().map(|(path, value)| Assignment::of_entry(path, value)).collect()
}

/// Events with their places, those at a time in its order. An event after an amount of data comes at no known time, and
/// counts as coming where it is written.
fn in_order(events: &[Event]) -> Vec<(usize, &Event)> {
    let mut timed: Vec<_> = events.iter().enumerate().filter(|(_, event)| event.at.is_some()).collect();
    timed.sort_by_key(|(_, event)| event.at); // stable: at one instant in the order of the file
    let mut timed = timed.into_iter();
    let next = |event: (usize, _)| if events[event.0].at.is_some() { timed.next().unwrap_or(event) } else { event };
    events.iter().enumerate().map(next).collect()
}

/// The place of a terminal that validation has found, by default of the only one.
fn place_of_terminal(scenario: &Scenario, name: Option<&str>) -> u16 {
    name.and_then(|name| scenario.terminal.get_index_of(name)).unwrap_or(0) as u16
}

/// The links, accesses and terminals of a scenario with the changes made so far.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    /// As they are written.
    tree: Node,
    /// As they are; the rest of the scenario is left away.
    now: Scenario,
    /// What the errors of links and accesses refer to, which is read once for all changes.
    files: ErrorFiles,
}

/// Keys written for both directions or for one.
type Written = Vec<(Option<Direction>, String)>;

impl Running {
    /// A scenario as its tree has it.
    pub fn new(scenario: &Scenario, tree: &Node) -> Self {
        let mut sections = Table::new();
        for section in ["link", "access", "terminal"] {
            let written = tree.get(section).cloned().unwrap_or_else(|| Node::empty_table(&tree.origin));
            sections.insert(section.into(), written);
        }
        // The only terminal need not be written.
        if let Some(terminals) = sections.get_mut("terminal").and_then(Node::as_table_mut) {
            for name in scenario.terminal.keys() {
                terminals.entry(name.clone()).or_insert_with(|| Node::empty_table(&tree.origin));
            }
        }
        let Scenario { link, access, terminal, .. } = scenario.clone();
        let now = Scenario { link, access, terminal, ..Scenario::default() };
        let tree = Node { value: Value::Table(sections), ..Node::empty_table(&tree.origin) };
        Running { tree, now, files: ErrorFiles::default() }
    }

    /// Makes the assignments of one source, and says what they change. After an error it is to be thrown away.
    pub fn set(&mut self, assignments: Vec<Assignment>) -> Result<Change, ScenarioError> {
        let mut parts = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            parts.extend(of_named_tables(assignment)?);
        }
        Assignment::sort(&mut parts);
        let mut changed: IndexMap<[String; 2], Written> = IndexMap::new();
        for assignment in &parts {
            let [section, name] = [0, 1].map(|at| assignment.keys[at].name.clone());
            self.check_known(&section, &name, assignment)?;
            self.check_initial(&name, assignment)?;
            let written = written(assignment)?;
            assignment.put(&mut self.tree)?;
            self.check_mode(&section, &name, assignment)?;
            changed.entry([section, name]).or_default().extend(written);
        }
        // What one of them sets may be right only beside what another one does.
        for [section, name] in changed.keys() {
            self.read(section, name)?;
        }
        for [section, name] in changed.keys() {
            match section.as_str() {
                "access" => validate::access(&self.now, &self.tree, name, &self.now.access[name])?,
                "terminal" => validate::radio(&self.now, &self.tree, name, &self.now.terminal[name])?,
                _ => validate::link(&self.now, &self.tree, name, &self.now.link[name])?,
            }
        }
        let patches = changed.iter().flat_map(|([section, name], written)| {
            Direction::BOTH.into_iter().filter_map(|direction| self.patch(section, name, direction, written))
        });
        Ok(Change::Set(patches.collect()))
    }

    /// Refuses what the scenario does not have.
    fn check_known(&self, section: &str, name: &str, assignment: &Assignment) -> Result<(), ScenarioError> {
        let known = self.tree.get(section).and_then(Node::as_table).into_iter().flatten();
        let known: Vec<&String> = known.map(|(name, _)| name).collect();
        if known.iter().any(|known| *known == name) {
            return Ok(());
        }
        let message = format!("the scenario has no {section} of this name");
        let error = ScenarioError::new(Mistake::UnknownReference, message).found(quoted(name)).known(name, known);
        Err(error.at(&assignment.keys[1].origin).with_path(&[section, name]))
    }

    /// Refuses another state to begin in where RRC has begun.
    fn check_initial(&self, name: &str, assignment: &Assignment) -> Result<(), ScenarioError> {
        let keys: Vec<&str> = assignment.keys.iter().map(|key| key.name.as_str()).collect();
        match (&keys[..], self.now.access.get(name)) {
            (["access", _, "rrc", "initial"], Some(Access::Umts(umts))) if umts.shared.rrc.is_some() => {
                let message = "the RRC state in which a terminal begins cannot change when it has begun";
                let error = ScenarioError::new(Mistake::NotChangeable, message).at(&assignment.keys[3].origin);
                Err(error.with_path(&keys).allowed("other keys of `rrc`"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses another mode of RLC, before its settings are read as those of the mode that the bearers are in.
    fn check_mode(&self, section: &str, name: &str, assignment: &Assignment) -> Result<(), ScenarioError> {
        let (true, Some(table)) = (section == "access", self.tree.find(&[section, name])) else { return Ok(()) };
        let mode_of = |rlc: &Node| rlc.as_str().or_else(|| rlc.get("type")?.as_str()).map(str::to_string);
        let has_changed = |direction: Direction| {
            let own = table.find(&[direction.word(), "rlc"]).and_then(mode_of);
            let written = own.or_else(|| table.get("rlc").and_then(mode_of));
            let is = self.now.access[name].mode(direction);
            is.zip(written).is_some_and(|(is, written)| is != written && RlcSettings::MODES.contains(&written.as_str()))
        };
        if !Direction::BOTH.into_iter().any(has_changed) {
            return Ok(());
        }
        let keys: Vec<&str> = assignment.keys.iter().map(|key| key.name.as_str()).collect();
        let origin = assignment.keys.last().map_or(&table.origin, |key| &key.origin);
        let message = "the mode of RLC cannot change while the scenario runs";
        let error = ScenarioError::new(Mistake::NotChangeable, message).at(origin).with_path(&keys);
        Err(error.allowed("other settings of the same mode"))
    }

    /// Reads a link, access or terminal from where it is written. Only what has changed is read again, so that a long list
    /// of events loads fast.
    fn read(&mut self, section: &str, name: &str) -> Result<(), ScenarioError> {
        let Some(table) = self.tree.find(&[section, name]) else { return Ok(()) };
        let below = |error: ScenarioError| error.under(name).under(section);
        let name = name.to_string();
        match section {
            "link" => {
                let mut link: Link = from_node(table).map_err(below)?;
                self.files.of_link(&mut link, &name, &self.tree)?;
                self.now.link.insert(name, link);
            }
            "terminal" => drop(self.now.terminal.insert(name, from_node(table).map_err(below)?)),
            _ => {
                let mut access: Access = from_node(table).map_err(below)?;
                self.files.of_access(&mut access, &name, &self.tree)?;
                self.now.access.insert(name, access);
            }
        }
        Ok(())
    }

    /// What changes in one direction of a link, access or terminal.
    fn patch(&self, section: &str, name: &str, direction: Direction, written: &Written) -> Option<Patch> {
        let of_direction = written.iter().filter(|(only, _)| only.is_none_or(|only| only == direction));
        let mut keys: Vec<String> = of_direction.map(|(_, key)| key.clone()).collect();
        keys.sort_unstable();
        keys.dedup();
        let (place, settings) = match section {
            "link" => {
                let (place, _, link) = self.now.link.get_full(name)?;
                (place, PatchSettings::Link(link.get(direction).clone()))
            }
            "terminal" => {
                let (place, _, terminal) = self.now.terminal.get_full(name).filter(|_| direction == Direction::Down)?;
                (place, PatchSettings::Terminal(terminal.radio()))
            }
            _ => {
                let (place, _, access) = self.now.access.get_full(name)?;
                (place, PatchSettings::Access(Box::new(access.clone())))
            }
        };
        (!keys.is_empty()).then_some(Patch { place, terminal: None, direction, keys, settings })
    }
}

fn not_changeable(assignment: &Assignment, depth: usize) -> ScenarioError {
    let names: Vec<&str> = assignment.keys.iter().map(|key| key.name.as_str()).collect();
    let key = &assignment.keys[depth.min(assignment.keys.len() - 1)];
    ScenarioError::new(Mistake::NotChangeable, "this cannot change while the scenario runs")
        .at(&key.origin)
        .with_path(&names)
        .allowed(
            "keys of link.NAME except `faults`, of access.NAME except `type` and `extends`, and `c_to_i`, `thp` and `arp` of \
             terminal.NAME",
        )
}

/// The assignment taken apart into ones that reach into one link, access or terminal each.
fn of_named_tables(assignment: Assignment) -> Result<Vec<Assignment>, ScenarioError> {
    if !matches!(assignment.keys[0].name.as_str(), "link" | "access" | "terminal") {
        return Err(not_changeable(&assignment, 0));
    }
    if assignment.keys.len() > 2 {
        return Ok(vec![assignment]);
    }
    let Value::Table(table) = &assignment.value.value else {
        let error: ScenarioError = ScenarioError::custom("this is a table of settings, not a value");
        return Err(error
            .at(&assignment.value.origin)
            .found(assignment.value.describe())
            .with_path(&assignment.keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>()));
    };
    let mut parts = Vec::new();
    for (name, value) in table {
        let mut keys = assignment.keys.clone();
        let origin = value.key_origin().clone();
        keys.push(crate::resolve::SetKey { name: name.clone(), origin });
        parts.extend(of_named_tables(Assignment { keys, value: value.clone() })?);
    }
    Ok(parts)
}

/// The keys of a link or access that an assignment writes.
fn written(assignment: &Assignment) -> Result<Written, ScenarioError> {
    let direction = |name: &str| Direction::BOTH.into_iter().find(|direction| direction.word() == name);
    let keys: Vec<&str> = assignment.keys[2..].iter().map(|key| key.name.as_str()).collect();
    let written: Written = match (direction(keys[0]), &keys[1..], &assignment.value.value) {
        (None, ..) => vec![(None, keys[0].to_string())],
        (Some(direction), [key, ..], _) => vec![(Some(direction), (*key).to_string())],
        (Some(direction), [], Value::Table(table)) => table.keys().map(|key| (Some(direction), key.clone())).collect(),
        (Some(_), [], _) => Vec::new(), // reading the table says what is wrong
    };
    let stays = |key: &str| match assignment.keys[0].name.as_str() {
        "terminal" => !matches!(key, "c_to_i" | "thp" | "arp"),
        _ => matches!(key, "faults" | "type" | "extends"),
    };
    match written.iter().any(|(_, key)| stays(key)) {
        true => Err(not_changeable(assignment, 2)),
        false => Ok(written),
    }
}
