//! What is allowed, and probably not meant.

use cellwind_engine::directions::Direction;

use super::{Checker, fit, pdcp, rrc, tcp, umts};
use crate::model::{Access, Bulk, Event, Flow, Mobility, Protocol, Scenario};

impl Checker<'_> {
    pub(super) fn warnings(&self) -> Vec<String> {
        let scenario = self.scenario;
        let mut warnings = Vec::new();
        for access in scenario.access.keys() {
            let serves = scenario.terminal.values().any(|terminal| terminal.access.as_ref() == Some(access));
            let is_on_way =
                |way: &Mobility| way.network.iter().any(|(name, network)| network.access_or(name) == access);
            let is_reached = scenario.event.iter().any(|event| event.handover.as_ref() == Some(access))
                || scenario.mobility.values().any(is_on_way);
            if !serves && !is_reached {
                warnings.push(format!("access.{access} serves no terminal"));
            }
        }
        for (name, access) in &scenario.access {
            let Access::Umts(settings) = access else { continue };
            let of_rlc = |way| {
                let bearer = settings.directions.get(way);
                let is_own = |key: &str| self.is_written(&self.of_direction("access", name, way, "rlc"), key);
                [umts::warnings(bearer), umts::idle_keys(bearer, is_own)].concat()
            };
            warnings.extend(of_both(&format!("access.{name}"), ".rlc", of_rlc));
            let of_channels =
                |way| [fit::rates(settings, way), rrc::warnings(settings, way).into_iter().collect()].concat();
            warnings.extend(of_both(&format!("access.{name}"), "", of_channels));
        }
        for terminal in scenario.terminal.keys() {
            let has_flow = scenario.flow.values().any(|flow| scenario.terminal_of(flow) == terminal);
            if !scenario.flow.is_empty() && !has_flow {
                warnings.push(format!("terminal.{terminal} has no flow"));
            }
        }
        for (index, event) in scenario.event.iter().enumerate() {
            if let (Some(stop_at), Some(at)) = (scenario.stop_at, event.at)
                && at >= stop_at
            {
                warnings.push(format!("event.{index} comes when the scenario has already ended"));
            }
            warnings.extend(self.never_delivered(index, event));
        }
        for (name, spikes) in &scenario.spikes {
            if let (Some(stop_at), Some(first)) = (scenario.stop_at, spikes.list.iter().map(|spike| spike.at).min())
                && first >= stop_at
            {
                warnings.push(format!("spikes.{name} come when the scenario has already ended"));
            }
        }
        for (name, flow) in &scenario.flow {
            if scenario.stop_at.is_some_and(|stop_at| flow.start >= stop_at) {
                warnings.push(format!("flow.{name} starts when the scenario has already ended"));
            }
            if let Protocol::Tcp(settings) = &flow.transport.protocol {
                warnings.extend(tcp::warnings(settings).map(|text| format!("flow.{name}.transport: {text}")));
            }
        }
        warnings.extend(fit::warnings(scenario));
        warnings.extend(pdcp::warnings(scenario));
        warnings
    }

    /// Whether the key below `path` was written for this scenario, and does not come from a preset.
    fn is_written(&self, path: &[&str], key: &str) -> bool {
        self.tree.find(&[path, &[key]].concat()).is_some_and(|node| !node.origin.source.is_preset)
    }

    /// An event after more data than all flows of its terminal have.
    fn never_delivered(&self, index: usize, event: &Event) -> Option<String> {
        let (after, scenario) = (event.after?, self.scenario);
        let only = || scenario.terminal.keys().next().map(String::as_str);
        let terminal = event.terminal.as_deref().or_else(only)?;
        let flows: Vec<_> = scenario.flow.values().filter(|flow| scenario.terminal_of(flow) == terminal).collect();
        let most = flows.iter().map(|flow| delivered(flow)).sum::<Option<u64>>()?;
        (!flows.is_empty() && after.as_bytes() > most).then(|| {
            format!("event.{index} never comes: the flows of terminal.{terminal} do not bring it {after} (`after`)")
        })
    }
}

/// The most bytes that a plain transfer of a known amount brings to its terminal, generously: with each packet twice.
fn delivered(flow: &Flow) -> Option<u64> {
    let Some(Bulk::Limited(amount)) = flow.bulk else { return None };
    let protocol = &flow.transport.protocol;
    let payload = protocol.payload().max(1);
    let bytes = amount.bytes(payload);
    // Acknowledgements have headers only, with no more options than this; a few packets open and close.
    let headers = (bytes.div_ceil(payload) + 10).saturating_mul(fit::header(protocol) + 40);
    Some((headers + if flow.direction == Direction::Down { bytes } else { 0 }).saturating_mul(2))
}

/// The access that a flow's terminal is in at some time.
pub(super) fn visits(scenario: &Scenario, terminal: &str, access: &str) -> bool {
    let is_only = scenario.terminal.len() == 1;
    let is_meant = |name: &Option<String>| name.as_deref().map_or(is_only, |name| name == terminal);
    let passes = |way: &Mobility| way.network.iter().any(|(name, network)| network.access_or(name) == access);
    scenario.access_of(terminal).is_some_and(|(name, _)| name == access)
        || scenario.event.iter().any(|event| event.handover.as_deref() == Some(access) && is_meant(&event.terminal))
        || scenario.mobility.values().any(|way| is_meant(&way.terminal) && passes(way))
}

/// What `texts` says of each direction, once where it says the same of both.
fn of_both(access: &str, key: &str, texts: impl Fn(Direction) -> Vec<String>) -> Vec<String> {
    let [down, up] = Direction::BOTH.map(texts);
    let mut said: Vec<_> =
        down.iter().filter(|text| up.contains(text)).map(|text| format!("{access}{key}: {text}")).collect();
    for (own, other, way) in [(&down, &up, Direction::Down), (&up, &down, Direction::Up)] {
        let alone = own.iter().filter(|text| !other.contains(text));
        said.extend(alone.map(|text| format!("{access}.{}{key}: {text}", way.word())));
    }
    said
}
