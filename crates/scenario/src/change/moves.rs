//! From a table of mobility to a way whose steps need no more looking at.

use indexmap::IndexMap;

use cellwind_engine::directions::Direction;
use cellwind_engine::distribution::SpanDistribution;
use cellwind_engine::time::Span;
use cellwind_engine::units::Size;

use super::{Change, Patch, PatchSettings, Running, place_of_terminal};
use crate::error::{Mistake, ScenarioError};
use crate::mobility::{ConditionState, Decides, Leaving, NetworkState, Way};
use crate::model::{Condition, Mobility, Network, Next, Scenario};
use crate::node::Node;
use crate::resolve::{Assignment, SetKey};

/// Keys that the conditions of an access set, by its place and the direction.
type Union = IndexMap<(usize, Direction), Vec<String>>;

/// The ways of a valid scenario. What each condition sets is tried here, on top of the access as the file has it.
pub(crate) fn ways(scenario: &Scenario, tree: &Node) -> Result<Vec<Way>, ScenarioError> {
    scenario.mobility.iter().map(|(name, mobility)| way(scenario, tree, name, mobility)).collect()
}

fn way(scenario: &Scenario, tree: &Node, name: &str, mobility: &Mobility) -> Result<Way, ScenarioError> {
    let terminal = place_of_terminal(scenario, mobility.terminal.as_deref());
    let mut set = IndexMap::new();
    let mut union = Union::new();
    for (network, settings) in &mobility.network {
        for condition in settings.condition.keys() {
            let path = ["mobility", name, "network", network, "condition", condition, "set"];
            let patches = patches(scenario, tree, settings.access_or(network), &path)
                .map_err(|error| error.note(format!("that is so in {}", path[..6].join("."))))?;
            for patch in &patches {
                let keys = union.entry((patch.place, patch.direction)).or_default();
                keys.extend(patch.keys.iter().cloned());
            }
            set.insert((network.as_str(), condition.as_str()), patches);
        }
    }
    for keys in union.values_mut() {
        keys.sort_unstable();
        keys.dedup();
    }
    let networks = mobility.network.iter().map(|(network, settings)| {
        let access = settings.access_or(network);
        let place = scenario.access.get_index_of(access).unwrap_or(0);
        let state = |leaving, own: &[Patch]| ConditionState {
            leaving,
            patches: complete(scenario, place, usize::from(terminal), own, &union),
        };
        let conditions = &settings.condition;
        let of_condition = |(name, condition): (&String, &Condition)| {
            let Condition { stay, after, next, .. } = condition;
            state(leaving(*stay, *after, next.as_ref(), conditions), &set[&(network.as_str(), name.as_str())])
        };
        let mut states: Vec<ConditionState> = conditions.iter().map(of_condition).collect();
        if states.is_empty() {
            states.push(state(Leaving::default(), &[]));
        }
        let Network { stay, after, next, delay, buffering, soft, duplicate_acks, start, .. } = settings;
        let none = SpanDistribution::Constant(Span::ZERO);
        NetworkState {
            leaving: leaving(*stay, *after, next.as_ref(), &mobility.network),
            access: place as u16,
            hard: (!soft).then(|| (delay.unwrap_or(none), buffering.unwrap_or_default())),
            duplicate_acks: duplicate_acks.unwrap_or_default(),
            start: start.as_ref().and_then(|start| conditions.get_index_of(start)).unwrap_or(0),
            conditions: states,
        }
    });
    let networks = networks.collect();
    let start = mobility.start.as_ref().and_then(|start| mobility.network.get_index_of(start)).unwrap_or(0);
    Ok(Way { name: name.to_string(), terminal, start, networks })
}

/// When and whereto a state is left, one of those with these names.
fn leaving<T>(
    stay: Option<SpanDistribution>,
    after: Option<Size>,
    next: Option<&Next>,
    names: &IndexMap<String, T>,
) -> Leaving {
    let next = next.iter().flat_map(|next| &next.0);
    Leaving {
        when: stay.map(Decides::After).or(after.map(Decides::Delivered)),
        next: next.filter_map(|&(ref name, probability)| Some((names.get_index_of(name)?, probability))).collect(),
    }
}

/// What the `set` at this path changes of an access.
fn patches(scenario: &Scenario, tree: &Node, access: &str, path: &[&str]) -> Result<Vec<Patch>, ScenarioError> {
    let written = tree.find(path).and_then(Node::as_table).into_iter().flatten();
    let below = |(path, value): (&String, &Node)| {
        let mut assignment = Assignment::of_entry(path, value)?;
        if let Some(shared) = assignment.keys.first().filter(|key| matches!(key.name.as_str(), "rrc" | "cell")) {
            let message = "a condition of one terminal cannot change what all terminals of the access have in common";
            let error = ScenarioError::new(Mistake::NotChangeable, message).at(&shared.origin);
            return Err(error.with_path(&["access", access, &shared.name]).allowed("other keys of the access"));
        }
        let key = |name: &str| SetKey { name: name.to_string(), origin: value.key_origin().clone() };
        assignment.keys.splice(0..0, [key("access"), key(access)]);
        Ok(assignment)
    };
    let assignments = written.map(below).collect::<Result<_, ScenarioError>>()?;
    match Running::new(scenario, tree).set(assignments)? {
        Change::Set(patches) => Ok(patches.into_vec()),
        _ => Ok(Vec::new()),
    }
}

/// What a condition changes for its terminal, whatever the condition before it: the keys that any condition sets.
fn complete(scenario: &Scenario, place: usize, terminal: usize, own: &[Patch], union: &Union) -> Box<[Patch]> {
    let as_written = || PatchSettings::Access(Box::new(scenario.access[place].clone()));
    // The last patch holds what all before it have set.
    let settings = own.last().map_or_else(as_written, |patch| patch.settings.clone());
    let of_direction = |direction| {
        let keys = union.get(&(place, direction))?.clone();
        Some(Patch { place, terminal: Some(terminal), direction, keys, settings: settings.clone() })
    };
    Direction::BOTH.into_iter().filter_map(of_direction).collect()
}
