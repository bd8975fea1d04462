//! Changes of a running session: parsed and checked beforehand, applied at an instant.

use std::fmt;

use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::Size;
use cellwind_engine::world::Stalled;
use cellwind_path::settings::LinkSettings;
use cellwind_radio::mac::cell::settings::RadioSettings;
use cellwind_radio::settings::Manner;
use serde::de::Error as _;

use crate::de::from_node;
use crate::error::{Mistake, ScenarioError, quoted};
use crate::error_files::ErrorFiles;
use crate::model::{Access, Event, Link, Scenario, Terminal};
use crate::node::{Node, Table, Value};
use crate::resolve::Assignment;
use crate::validate;
use cellwind_engine::directions::Direction;

mod moves;

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

/// What the events of a valid scenario do. Each `set` is tried here, on top of those before it in the file.
pub(crate) fn plan(scenario: &Scenario, tree: &Node) -> Result<Vec<Planned>, ScenarioError> {
    let mut running = Running::new(tree);
    let mut plan = Vec::with_capacity(scenario.event.len());
    for (index, event) in scenario.event.iter().enumerate() {
        let change = match event {
            Event { set: Some(_), .. } => {
                let written = tree.find(&["event", &index.to_string(), "set"]).and_then(Node::as_table);
                let entries = written.into_iter().flatten();
                let assignments = entries.map(|(path, value)| Assignment::of_entry(path, value));
                running.set(scenario, assignments.collect::<Result<_, _>>()?).map_err(|error| {
                    match error.mistake() {
                        Mistake::PduTooLarge => error.note(format!("that is so after event.{index}")),
                        _ => error,
                    }
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
        plan.push(Planned { when, change });
    }
    Ok(plan)
}

/// The place of a terminal that validation has found, by default of the only one.
fn place_of_terminal(scenario: &Scenario, name: Option<&str>) -> u16 {
    name.and_then(|name| scenario.terminal.get_index_of(name)).unwrap_or(0) as u16
}

/// The change that the assignments stand for, on top of the settings in `tree`.
pub(crate) fn set(scenario: &Scenario, tree: &Node, assignments: Vec<Assignment>) -> Result<Change, ScenarioError> {
    Running::new(tree).set(scenario, assignments)
}

/// The links and accesses of a scenario with the changes made so far.
struct Running {
    root: Node,
    /// What the errors of links and accesses refer to, which is read once for all changes.
    files: ErrorFiles,
}

/// Keys written for both directions or for one.
type Written = Vec<(Option<Direction>, String)>;

impl Running {
    fn new(tree: &Node) -> Self {
        let mut root = Node::empty_table(&tree.origin);
        for section in ["link", "access", "terminal"] {
            if let (Some(table), Some(part)) = (root.as_table_mut(), tree.get(section)) {
                table.insert(section.into(), part.clone());
            }
        }
        Running { root, files: ErrorFiles::default() }
    }

    fn set(&mut self, scenario: &Scenario, assignments: Vec<Assignment>) -> Result<Change, ScenarioError> {
        // What is set in one table is judged together: the order of the keys does not matter.
        let mut tables: Vec<Vec<Assignment>> = Vec::new();
        for assignment in assignments {
            for assignment in of_named_tables(assignment)? {
                let is_in =
                    |table: &&mut Vec<Assignment>| (0..2).all(|at| table[0].keys[at].name == assignment.keys[at].name);
                match tables.iter_mut().find(is_in) {
                    Some(table) => table.push(assignment),
                    None => tables.push(vec![assignment]),
                }
            }
        }
        let mut patches = Vec::new();
        for assignments in tables {
            self.set_table(scenario, assignments, &mut patches)?;
        }
        Ok(Change::Set(patches.into()))
    }

    /// Sets keys of one link, access or terminal.
    fn set_table(
        &mut self,
        scenario: &Scenario,
        assignments: Vec<Assignment>,
        patches: &mut Vec<Patch>,
    ) -> Result<(), ScenarioError> {
        let keys = &assignments[0].keys;
        let [section, name] = [0, 1].map(|at| keys[at].name.clone());
        let path = [section.as_str(), name.as_str()];
        // The only terminal need not be written.
        let is_unwritten = section == "terminal" && scenario.terminal.contains_key(&name);
        let unwritten = is_unwritten.then(|| Node::empty_table(&keys[1].origin));
        let Some(before) = self.root.find(&path).or(unwritten.as_ref()) else {
            let known = self.root.get(&section).and_then(Node::as_table).into_iter().flatten();
            let error =
                ScenarioError::new(Mistake::UnknownReference, format!("the scenario has no {section} of this name"))
                    .found(quoted(&name))
                    .known(&name, known.map(|(name, _)| name));
            return Err(error.at(&keys[1].origin).with_path(&path));
        };
        // Only this table is read again, so that a long list of events loads fast.
        let mut alone = Node::empty_table(&before.origin);
        let named = Node { value: Value::Table(Table::from([(name.clone(), before.clone())])), ..alone.clone() };
        alone.value = Value::Table(Table::from([(section.clone(), named)]));

        let names_rlc = |assignment: &&Assignment| assignment.keys.iter().any(|key| key.name == "rlc");
        let sets_mode = assignments.iter().find(names_rlc).unwrap_or(&assignments[0]).keys.clone();
        let mut all_written = Written::new();
        for assignment in assignments {
            for key in written(&assignment)? {
                if !all_written.contains(&key) {
                    all_written.push(key);
                }
            }
            assignment.put(&mut alone)?;
        }
        let after = alone.find(&path).cloned().unwrap_or_else(|| alone.clone());
        let below = |error: ScenarioError| error.under(&name).under(&section);
        let mut add = |place: Option<usize>, direction: Direction, settings: PatchSettings| {
            let keys = keys_for(direction, &all_written, &after);
            if let (Some(place), false) = (place, keys.is_empty()) {
                patches.push(Patch { place, terminal: None, direction, keys, settings });
            }
        };
        if section == "link" {
            let mut link: Link = from_node(&after).map_err(below)?;
            self.files.of_link(&mut link, &name, &alone)?;
            validate::link(scenario, &alone, &name, &link)?;
            let place = scenario.link.get_index_of(&name);
            for direction in Direction::BOTH {
                add(place, direction, PatchSettings::Link(link.get(direction).clone()));
            }
        } else if section == "terminal" {
            let terminal: Terminal = from_node(&after).map_err(below)?;
            validate::radio(scenario, &alone, &name, &terminal)?;
            let place = scenario.terminal.get_index_of(&name);
            add(place, Direction::Down, PatchSettings::Terminal(terminal.radio()));
        } else {
            let mut access: Access = from_node(&after).map_err(below)?;
            self.files.of_access(&mut access, &name, &alone)?;
            validate::access(scenario, &alone, &name, &access)?;
            if scenario.access.get(&name).is_some_and(|before| !access.is_like(before)) {
                let path: Vec<&str> = sets_mode.iter().map(|key| key.name.as_str()).collect();
                let error =
                    ScenarioError::new(Mistake::NotChangeable, "the mode of RLC cannot change while the scenario runs");
                return Err(error.at(&sets_mode[0].origin).with_path(&path).allowed("other settings of the same mode"));
            }
            let place = scenario.access.get_index_of(&name);
            for direction in Direction::BOTH {
                add(place, direction, PatchSettings::Access(Box::new(access.clone())));
            }
        }
        if let Some(table) = self.root.as_table_mut().and_then(|root| root.get_mut(&section)?.as_table_mut()) {
            table.insert(name, after);
        }
        Ok(())
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

/// The keys that change for one direction: what is written for it, and what is written for both and not given for it
/// alone.
fn keys_for(direction: Direction, written: &Written, table: &Node) -> Vec<String> {
    let own = table.get(direction.word());
    let changes = |(only, key): &&(Option<Direction>, String)| match only {
        Some(only) => *only == direction,
        None => own.and_then(|own| own.get(key)).is_none(),
    };
    written.iter().filter(changes).map(|(_, key)| key.clone()).collect()
}
