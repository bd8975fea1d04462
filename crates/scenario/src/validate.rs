//! What the types alone cannot say: values that must fit each other.

use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use cellwind_path::settings::LinkSettings;
use cellwind_radio::settings::{BlockArqSettings, PduSize};
use cellwind_radio::umts::settings::UmtsSettings;
use cellwind_transport::tcp::settings::TcpSettings;

use crate::build;
use crate::error::{Mistake, ScenarioError, quoted};
use crate::model::{Access, Bulk, Event, Flow, Link, Protocol, SECTIONS, SERVER, Scenario, Spikes, Terminal, Workload};
use crate::node::{self, Node};
use cellwind_engine::directions::Direction;

mod application;
mod datagrams;
mod errors;
mod fit;
mod mobility;
mod pdcp;
mod radio;
mod rrc;
mod tcp;
mod umts;
mod warnings;

/// The longest name of a link, access, terminal, flow or workload.
const LONGEST_NAME: usize = 64;
/// The most links, accesses, terminals and flows together: each takes up to four of the machines of a World, whose
/// numbers have 16 bits.
const MOST_PARTS: usize = 16_384;
/// The most events of a scenario, each of which is tried when it is loaded.
const MOST_EVENTS: usize = 10_000;
/// The smallest packet that every IPv6 link carries (RFC 8200 §5).
const SMALLEST_MTU: Size = Size::from_bytes(1_280);
/// The largest IPv4 packet (RFC 791 §3.1).
const LARGEST_MTU: Size = Size::from_bytes(65_535);
/// What the kernel gives a socket at the least, a page.
const SMALLEST_BUFFER: Size = Size::from_bytes(4_096);
/// Twice the largest window that scaling can express (RFC 7323 §2.3), less one byte: the kernel counts in 31 bits.
const LARGEST_BUFFER: Size = Size::from_bytes((1 << 31) - 1);
/// The longest TTI; what it carries at the largest rate fits 64 bits.
const LONGEST_TTI: Span = Span::from_secs(3_600);
/// The most blocks that one TTI may carry, which bounds the work of one event.
const MOST_BLOCKS: u64 = 100_000;

/// Checks a scenario whose defaults are filled in against the tree it came from; gives back the warnings.
pub fn check(scenario: &Scenario, tree: &Node) -> Result<Vec<String>, ScenarioError> {
    let checker = Checker { scenario, tree };
    checker.names()?;
    checker.run()?;
    for (name, link) in &scenario.link {
        checker.wired(name, link)?;
    }
    for (name, access) in &scenario.access {
        checker.access(name, access)?;
    }
    checker.terminals()?;
    for (name, flow) in &scenario.flow {
        checker.flow(name, flow)?;
    }
    checker.live()?;
    for (name, workload) in &scenario.workload {
        checker.workload(name, workload)?;
    }
    if scenario.event.len() > MOST_EVENTS {
        let error = out_of_range(format!("{} events", scenario.event.len()), &format!("at most {MOST_EVENTS}"));
        return Err(checker.place(&["event"], error));
    }
    for (index, event) in scenario.event.iter().enumerate() {
        let index = index.to_string();
        checker.event(&["event", &index], event, true)?;
    }
    for (name, spikes) in &scenario.spikes {
        checker.spikes(name, spikes)?;
    }
    for (name, mobility) in &scenario.mobility {
        checker.mobility(name, mobility)?;
    }
    Ok(checker.warnings())
}

/// Checks a change at once, written as an event without a time at `path`.
pub fn event(scenario: &Scenario, tree: &Node, path: &[&str], event: &Event) -> Result<(), ScenarioError> {
    Checker { scenario, tree }.event(path, event, false)
}

/// Checks one wired link, whose table stands in `tree`.
pub fn link(scenario: &Scenario, tree: &Node, name: &str, link: &Link) -> Result<(), ScenarioError> {
    Checker { scenario, tree }.wired(name, link)
}

/// Checks one access, whose table stands in `tree`.
pub fn access(scenario: &Scenario, tree: &Node, name: &str, access: &Access) -> Result<(), ScenarioError> {
    Checker { scenario, tree }.access(name, access)
}

/// Checks how one terminal stands in its cell.
pub fn radio(scenario: &Scenario, tree: &Node, name: &str, terminal: &Terminal) -> Result<(), ScenarioError> {
    Checker { scenario, tree }.radio(name, terminal)
}

/// Refuses a scenario without flows, which has nothing to simulate.
pub fn check_simulated(scenario: &Scenario, tree: &Node) -> Result<(), ScenarioError> {
    if !scenario.flow.is_empty() {
        return Ok(());
    }
    let error = ScenarioError::new(Mistake::NoFlow, "the scenario has no flow, so there is nothing to run")
        .allowed("at least one table such as [flow.download] with `transport` and `bulk`");
    Err(Checker { scenario, tree }.place(&["flow"], error))
}

/// Refuses what only simulated ends can do.
pub fn check_live(scenario: &Scenario, tree: &Node) -> Result<(), ScenarioError> {
    let asks = |event: &Event| event.duplicate_acks.is_some();
    let in_event = scenario.event.iter().position(asks).map(|index| vec!["event".into(), index.to_string()]);
    let networks =
        scenario.mobility.iter().flat_map(|(way, mobility)| mobility.network.iter().map(move |of| (way, of)));
    let on_way = networks.filter(|(_, (_, network))| network.duplicate_acks.is_some());
    let mut on_way =
        on_way.map(|(way, (network, _))| vec!["mobility".into(), way.clone(), "network".into(), network.clone()]);
    let Some(mut path) = in_event.or_else(|| on_way.next()) else { return Ok(()) };
    path.push("duplicate_acks".into());
    let message =
        "in a live run the kernel's TCP is at the terminal, which cannot be made to repeat an acknowledgement";
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    Err(Checker { scenario, tree }.place(&path, ScenarioError::new(Mistake::Conflict, message)))
}

/// What a live run leaves without effect, beside the warnings of the scenario.
pub fn live_warnings(scenario: &Scenario) -> Vec<String> {
    pdcp::live_warnings(scenario)
}

/// Refuses a scenario whose machines do not fit a World.
pub fn check_size(scenario: &Scenario, tree: &Node) -> Result<(), ScenarioError> {
    if build::fits(scenario) {
        return Ok(());
    }
    let error = ScenarioError::new(Mistake::OutOfRange, "the scenario is too large")
        .found("more bearers than there can be, in all the accesses that terminals move to");
    Err(Checker { scenario, tree }.place(&["event"], error))
}

struct Checker<'a> {
    scenario: &'a Scenario,
    tree: &'a Node,
}

impl Checker<'_> {
    /// The error with the path, and the place of the nearest value on the way to it that was written.
    fn place(&self, path: &[&str], error: ScenarioError) -> ScenarioError {
        if let [section, name, direction, rest @ ..] = path
            && node::is_direction(direction)
        {
            // What is written for both directions may stand in a table of one, beside what is its own.
            let both: Vec<&str> = [section, name].into_iter().chain(rest).copied().collect();
            let own = self.tree.find(path).map(|node| &node.origin);
            if self.tree.find(&both).is_some_and(|both| own.is_none_or(|own| *own == both.origin)) {
                return self.place(&both, error);
            }
        }
        let written = (0..=path.len()).rev().find_map(|length| self.tree.find(&path[..length]));
        let error = error.with_path(path);
        match written {
            Some(node) => error.at(&node.origin),
            None => error,
        }
    }

    /// The error at the one of several values that is to blame: the first that was written for this scenario and
    /// does not come from a preset, else the first.
    fn blame(&self, paths: &[Vec<&str>], error: ScenarioError) -> ScenarioError {
        let own = |path: &&Vec<&str>| self.tree.find(path).is_some_and(|node| !node.origin.source.is_preset);
        match paths.iter().find(own).or(paths.first()) {
            Some(path) => self.place(path, error),
            None => error,
        }
    }

    /// The path of a key that may be written for one direction or for both.
    fn of_direction<'p>(&self, section: &'p str, name: &'p str, direction: Direction, key: &'p str) -> Vec<&'p str> {
        let exact = vec![section, name, direction.word(), key];
        let both = vec![section, name, key];
        if self.tree.find(&exact).is_none() && self.tree.find(&both).is_some() { both } else { exact }
    }

    fn names(&self) -> Result<(), ScenarioError> {
        for section in SECTIONS {
            for (name, node) in self.tree.get(section).and_then(Node::as_table).into_iter().flatten() {
                if !is_name(name) {
                    let error = ScenarioError::new(Mistake::BadName, format!("this cannot be the name of a {section}"))
                        .found(quoted(name))
                        .allowed(format!("1 to {LONGEST_NAME} letters A-Z and a-z, digits, `_` and `-`"));
                    return Err(error.at(node.key_origin()).with_path(&[section, name]));
                }
                if section == "terminal" && name == SERVER {
                    let error =
                        ScenarioError::new(Mistake::BadName, "a terminal cannot have the name of the other end")
                            .found(quoted(name));
                    return Err(error.at(node.key_origin()).with_path(&[section, name]));
                }
            }
        }
        Ok(())
    }

    fn run(&self) -> Result<(), ScenarioError> {
        let scenario = self.scenario;
        if !(1..=1_000_000).contains(&scenario.replications) {
            let error = out_of_range(scenario.replications, "a whole number from 1 to 1000000");
            return Err(self.place(&["replications"], error));
        }
        if scenario.stop_at.is_some_and(|span| span.is_zero()) {
            return Err(self.place(&["stop_at"], out_of_range("0 s", "a time above 0 s")));
        }
        let parts = scenario.link.len() + scenario.access.len() + scenario.terminal.len() + scenario.flow.len();
        if parts > MOST_PARTS {
            let error = ScenarioError::new(Mistake::OutOfRange, "the scenario is too large")
                .found(format!("{parts} links, accesses, terminals and flows together"))
                .allowed(format!("at most {MOST_PARTS}"));
            return Err(self.place(&[], error));
        }
        if scenario.link.is_empty() && scenario.access.is_empty() {
            let message = "there is nothing between the servers and the terminals";
            let error =
                ScenarioError::new(Mistake::NoPath, message).allowed("at least one [link.…] or [access.…] table");
            return Err(self.place(&[], error));
        }
        Ok(())
    }

    fn wired(&self, name: &str, link: &Link) -> Result<(), ScenarioError> {
        for direction in Direction::BOTH {
            let link = link.get(direction);
            self.errors("link", name, direction, ("loss", &link.loss))?;
            self.link("link", name, direction, link)?;
        }
        Ok(())
    }

    fn link(&self, section: &str, name: &str, direction: Direction, link: &LinkSettings) -> Result<(), ScenarioError> {
        self.losses(section, name, direction, &link.loss)?;
        for (index, fault) in link.faults.iter().enumerate() {
            if let Err(reason) = fault.rule() {
                let mut path = self.of_direction(section, name, direction, "faults");
                let index = index.to_string();
                path.push(&index);
                return Err(self.place(&path, ScenarioError::new(Mistake::Conflict, reason)));
            }
        }
        Ok(())
    }

    fn access(&self, name: &str, access: &Access) -> Result<(), ScenarioError> {
        for direction in Direction::BOTH {
            self.errors("access", name, direction, access.errors(direction))?;
            match access {
                Access::BlockArq(bearer) => self.block_arq(name, direction, bearer.get(direction))?,
                Access::Link(link) => self.link("access", name, direction, link.get(direction))?,
                Access::Umts(settings) => self.umts(name, direction, settings)?,
            }
        }
        Ok(())
    }

    fn block_arq(&self, name: &str, direction: Direction, bearer: &BlockArqSettings) -> Result<(), ScenarioError> {
        let blame = |keys: &[&'static str], error| {
            let paths: Vec<_> = keys.iter().map(|key| self.of_direction("access", name, direction, key)).collect();
            Err(self.blame(&paths, error))
        };
        if bearer.tti.is_zero() || bearer.tti > LONGEST_TTI {
            let allowed = format!("a time above 0 s and up to {LONGEST_TTI}, such as \"20 ms\"");
            return blame(&["tti"], out_of_range(bearer.tti, &allowed));
        }
        if let Err(error) = fit::queue(bearer.queue) {
            return blame(&["queue"], error);
        }
        let capacity = bearer.rate.size_in(bearer.tti);
        let carries = format!("{} for {} carry {capacity}", bearer.rate, bearer.tti);
        match (bearer.pdu, bearer.blocks_per_tti()) {
            (_, Some((_, count))) if count > MOST_BLOCKS => {
                let error = out_of_range(format!("{count} PDUs in each TTI"), &format!("at most {MOST_BLOCKS}"));
                blame(&["pdu", "rate", "tti"], error.note(carries))
            }
            (_, Some(_)) => Ok(()),
            (PduSize::Bytes(Size::ZERO), None) => blame(&["pdu"], out_of_range("0 B", "a size above 0 B")),
            (PduSize::Bytes(pdu), None) => {
                let error = ScenarioError::new(Mistake::PduTooLarge, "the PDU does not fit into a TTI")
                    .found(format!("a PDU of {pdu}"))
                    .allowed(format!("at most {capacity}, since {carries}"));
                blame(&["pdu", "rate", "tti"], error)
            }
            (PduSize::OnePerTti, None) => {
                let error = ScenarioError::new(Mistake::PduTooLarge, "a TTI does not carry a single byte")
                    .found(carries)
                    .allowed("at least 1 B in each TTI");
                blame(&["rate", "tti"], error)
            }
        }
    }

    fn umts(&self, name: &str, direction: Direction, umts: &UmtsSettings) -> Result<(), ScenarioError> {
        let bearers = &umts.directions;
        let checked = umts::bearer(bearers.get(direction))
            .and_then(|()| umts::modes(&bearers.down, &bearers.up))
            .and_then(|()| pdcp::pdcp(&umts.shared.pdcp))
            .and_then(|()| rrc::shared(umts));
        checked.map_err(|(to_blame, error)| {
            let path = |keys: &&[&'static str]| {
                let mut path = self.of_direction("access", name, direction, keys[0]);
                path.extend(&keys[1..]);
                path
            };
            self.blame(&to_blame.iter().map(path).collect::<Vec<_>>(), error)
        })
    }

    fn terminals(&self) -> Result<(), ScenarioError> {
        for (name, terminal) in &self.scenario.terminal {
            let accesses = self.scenario.access.keys();
            let path = ["terminal", name, "access"];
            match &terminal.access {
                Some(access) if self.scenario.access.contains_key(access) => {}
                Some(access) => return Err(self.place(&path, unknown_reference("access", access, accesses))),
                None if self.scenario.access.is_empty() => {}
                None => return Err(self.place(&path, ambiguous("access", accesses))),
            }
            self.radio(name, terminal)?;
        }
        Ok(())
    }

    fn flow(&self, name: &str, flow: &Flow) -> Result<(), ScenarioError> {
        let terminals = self.scenario.terminal.keys();
        let path = ["flow", name, "terminal"];
        match &flow.terminal {
            Some(terminal) if self.scenario.terminal.contains_key(terminal) => {}
            Some(terminal) => return Err(self.place(&path, unknown_reference("terminal", terminal, terminals))),
            None => return Err(self.place(&path, ambiguous("terminal", terminals))),
        }
        let waits_for_others = flow.background && self.scenario.flow.values().any(|flow| !flow.background);
        if flow.background && !waits_for_others && self.scenario.stop_at.is_none() {
            let error =
                ScenarioError::new(Mistake::NeverEnds, "there is no other flow whose end the run could wait for")
                    .found("background = true")
                    .allowed("false, or `stop_at = \"1 h\"` at the top");
            return Err(self.place(&["flow", name, "background"], error));
        }
        if flow.bulk == Some(Bulk::Unlimited) && !waits_for_others && self.scenario.stop_at.is_none() {
            let error = ScenarioError::new(Mistake::NeverEnds, "the flow never ends and neither does the scenario")
                .found(quoted("unlimited"))
                .allowed("an amount such as \"16 MB\", or \"unlimited\" together with `stop_at = \"1 h\"` at the top");
            return Err(self.place(&["flow", name, "bulk"], error));
        }
        match &flow.transport.protocol {
            Protocol::Tcp(settings) => self.tcp(name, settings)?,
            Protocol::Udp(settings) => self.of_flow(name, application::udp(settings))?,
            Protocol::Tfrc(settings) => self.of_flow(name, datagrams::tfrc(settings))?,
            Protocol::Atp(settings) => self.of_flow(name, datagrams::atp(settings))?,
        }
        self.carried(name, flow)
    }

    /// Checks what a flow carries, and whether its transport can.
    fn carried(&self, name: &str, flow: &Flow) -> Result<(), ScenarioError> {
        let protocol = &flow.transport.protocol;
        match (&flow.bulk, &flow.application) {
            (None, None) => {
                let error = ScenarioError::new(Mistake::MissingKey, "the flow does not say what it carries");
                let error = error.allowed("`bulk` with an amount such as \"16 MB\", or `application`");
                Err(self.place(&["flow", name], error))
            }
            (Some(_), Some(_)) => {
                let error = ScenarioError::new(Mistake::Conflict, "`bulk` and `application` exclude each other");
                Err(self.blame(&[vec!["flow", name, "application"], vec!["flow", name, "bulk"]], error))
            }
            (Some(_), None) if matches!(protocol, Protocol::Udp(_)) => {
                let error = application::bulk_without_rate(protocol);
                Err(self.blame(&[vec!["flow", name, "transport"], vec!["flow", name, "bulk"]], error))
            }
            (Some(bulk), None) => self.of_flow(name, datagrams::bulk(*bulk, protocol)),
            (None, Some(settings)) => {
                self.of_flow(name, application::check(settings))?;
                self.of_flow(name, application::carries(settings, protocol))
            }
        }
    }

    /// Puts a mistake of a flow at the key that is to blame.
    fn of_flow(
        &self,
        name: &str,
        checked: Result<(), (&'static [&'static str], ScenarioError)>,
    ) -> Result<(), ScenarioError> {
        checked.map_err(|(keys, error)| {
            let path: Vec<&str> = ["flow", name].into_iter().chain(keys.iter().copied()).collect();
            self.place(&path, error)
        })
    }

    fn live(&self) -> Result<(), ScenarioError> {
        let live = &self.scenario.live;
        if !(SMALLEST_MTU..=LARGEST_MTU).contains(&live.mtu) {
            let error = out_of_range(live.mtu, &format!("{SMALLEST_MTU} to {LARGEST_MTU}"));
            return Err(self.place(&["live", "mtu"], error));
        }
        let kernel = &live.kernel;
        if let Some(bits) = kernel.recovery.filter(|&bits| bits > 7) {
            return Err(self.place(&["live", "kernel", "recovery"], out_of_range(bits, "a sum of 1, 2 and 4")));
        }
        if let Some(window) = kernel.initial_window.filter(|window| !(1..=1000).contains(window)) {
            let error = out_of_range(window, "a whole number of segments from 1 to 1000");
            return Err(self.place(&["live", "kernel", "initial_window"], error));
        }
        if let Some(name) = kernel.congestion_control.as_ref().filter(|name| !is_name(name)) {
            let error = ScenarioError::new(Mistake::BadValue, "this cannot be the name of a congestion control")
                .found(quoted(name))
                .allowed("a name that the kernel knows, such as cubic");
            return Err(self.place(&["live", "kernel", "congestion_control"], error));
        }
        for (key, size) in [("rmem", kernel.rmem), ("wmem", kernel.wmem)] {
            if let Some(size) = size.filter(|size| !(SMALLEST_BUFFER..=LARGEST_BUFFER).contains(size)) {
                let error = out_of_range(size, &format!("{SMALLEST_BUFFER} to {LARGEST_BUFFER}"));
                return Err(self.place(&["live", "kernel", key], error));
            }
        }
        Ok(())
    }

    fn workload(&self, name: &str, workload: &Workload) -> Result<(), ScenarioError> {
        let terminals = &self.scenario.terminal;
        if workload.at != SERVER && !terminals.contains_key(&workload.at) {
            let known = std::iter::once(SERVER).chain(terminals.keys().map(String::as_str));
            let error = ScenarioError::new(Mistake::UnknownReference, "the scenario has no end of this name")
                .found(quoted(&workload.at))
                .known(&workload.at, known);
            return Err(self.place(&["workload", name, "at"], error));
        }
        let bad = |message, allowed: &str| {
            let error = ScenarioError::new(Mistake::BadValue, message).allowed(allowed);
            Err(self.place(&["workload", name, "command"], error))
        };
        match workload.command.first() {
            None => bad("the command is empty", "a program and its arguments, such as [\"iperf3\", \"-s\"]"),
            Some(program) if program.is_empty() => bad("the program has no name", "the name of a program"),
            _ if workload.command.iter().any(|word| word.contains('\0')) => {
                bad("the command has a NUL in it", "words without NUL")
            }
            _ => Ok(()),
        }
    }

    /// Checks an event at `path`; only a timed one has a time.
    fn event(&self, path: &[&str], event: &Event, is_timed: bool) -> Result<(), ScenarioError> {
        let at = |key: &'static str| path.iter().copied().chain([key]).collect::<Vec<_>>();
        let conflict = |message: String| ScenarioError::new(Mistake::Conflict, message);
        let scenario = self.scenario;
        match (event.at, event.after) {
            (None, None) if is_timed => {
                let error = ScenarioError::new(Mistake::MissingKey, "the event does not say when it happens");
                return Err(self.place(path, error.allowed("`at` with a time, or `after` with an amount of data")));
            }
            (Some(_), Some(_)) => {
                return Err(self.place(&at("after"), conflict("`at` and `after` exclude each other".into())));
            }
            _ => {}
        }
        let actions =
            [("set", event.set.is_some()), ("spike", event.spike.is_some()), ("handover", event.handover.is_some())];
        let mut given = actions.iter().filter(|(_, is_given)| *is_given).map(|(key, _)| *key);
        let Some(action) = given.next() else {
            let error = ScenarioError::new(Mistake::MissingKey, "the event does not say what happens");
            return Err(self.place(path, error.allowed("one of `set`, `spike` and `handover`")));
        };
        if let Some(other) = given.next() {
            let error = conflict(format!("an event is one thing only, and this one has `{action}` as well"));
            return Err(self.place(&at(other), error));
        }
        let of_handovers = [
            ("delay", event.delay.is_some()),
            ("buffering", event.buffering.is_some()),
            ("duplicate_acks", event.duplicate_acks.is_some()),
            ("soft", event.soft),
        ];
        for (key, is_given) in of_handovers {
            if is_given && action != "handover" {
                return Err(self.place(&at(key), conflict(format!("`{key}` goes with `handover`"))));
            }
            if is_given && event.soft && key != "soft" {
                return Err(self.place(&at(key), conflict(soft_with(key))));
            }
        }
        let needs_terminal = action == "handover" || event.after.is_some();
        match &event.terminal {
            Some(name) if !scenario.terminal.contains_key(name) => {
                return Err(self.place(&at("terminal"), unknown_reference("terminal", name, scenario.terminal.keys())));
            }
            Some(_) if action == "set" && event.after.is_none() => {
                return Err(self.place(&at("terminal"), conflict("`set` at a time concerns no terminal".into())));
            }
            None if needs_terminal && scenario.terminal.len() > 1 => {
                return Err(self.place(&at("terminal"), ambiguous("terminal", scenario.terminal.keys())));
            }
            _ => {}
        }
        if event.spike.is_some_and(|duration| duration.is_zero()) {
            return Err(self.place(&at("spike"), out_of_range("0 s", "a time above 0 s")));
        }
        if event.set.as_ref().is_some_and(|set| set.is_empty()) {
            let error = ScenarioError::new(Mistake::MissingKey, "this sets nothing");
            return Err(self.place(&at("set"), error.allowed("a table such as { \"link.internet.loss\" = 0.01 }")));
        }
        if let Some(times) = event.duplicate_acks {
            let only = || scenario.terminal.keys().next().map(String::as_str);
            let terminal = event.terminal.as_deref().or_else(only).unwrap_or_default();
            self.duplicate_acks(&at("duplicate_acks"), times, terminal)?;
        }
        match &event.handover {
            Some(to) if !scenario.access.contains_key(to) => {
                Err(self.place(&at("handover"), unknown_reference("access", to, scenario.access.keys())))
            }
            _ => Ok(()),
        }
    }

    /// Checks how often a terminal repeats its last acknowledgement.
    fn duplicate_acks(&self, path: &[&str], times: u32, terminal: &str) -> Result<(), ScenarioError> {
        if !(1..=100).contains(&times) {
            return Err(self.place(path, out_of_range(times, "1 to 100")));
        }
        if self.scenario.flow.values().any(|flow| self.scenario.repeats_acks(terminal, flow)) {
            return Ok(());
        }
        let message = "nothing at the terminal repeats acknowledgements: that is for `bulk` downloads by TCP";
        Err(self.place(path, ScenarioError::new(Mistake::Conflict, message)))
    }

    fn spikes(&self, name: &str, spikes: &Spikes) -> Result<(), ScenarioError> {
        let at = |key: &'static str| vec!["spikes", name, key];
        let conflict = |message: &str| ScenarioError::new(Mistake::Conflict, message);
        let missing = |what: &str| ScenarioError::new(Mistake::MissingKey, what);
        match (spikes.interval, spikes.duration, spikes.list.as_slice()) {
            (None, None, []) => {
                let error = missing("the spikes do not say when they come");
                let allowed =
                    "`interval` and `duration`, such as \"exponential 30 s\" and \"uniform 3 s to 15 s\", or `list`";
                return Err(self.place(&["spikes", name], error.allowed(allowed)));
            }
            (Some(_), None, []) | (None, Some(_), []) => {
                let error = missing("random spikes need `interval` and `duration`");
                return Err(self.place(&["spikes", name], error));
            }
            (None, None, _) => {}
            (Some(interval), Some(duration), []) => {
                for (key, length) in [("interval", interval), ("duration", duration)] {
                    if length.mean().is_zero() {
                        return Err(self.place(&at(key), out_of_range(length, "times above 0 s")));
                    }
                }
            }
            (_, _, [_, ..]) => {
                let error = conflict("spikes are either those of `list` or random ones");
                return Err(self.place(&at("list"), error));
            }
        }
        if spikes.list.len() > MOST_EVENTS {
            let error = out_of_range(format!("{} spikes", spikes.list.len()), &format!("at most {MOST_EVENTS}"));
            return Err(self.place(&at("list"), error));
        }
        if let Some(empty) = spikes.list.iter().position(|spike| spike.duration.is_zero()) {
            let path = ["spikes", name, "list", &empty.to_string(), "duration"];
            return Err(self.place(&path, out_of_range("0 s", "a time above 0 s")));
        }
        for (key, is_given) in [("first", spikes.first.is_some()), ("interval_from", spikes.interval_from.is_some())] {
            if is_given && spikes.interval.is_none() {
                return Err(self.place(&at(key), conflict(&format!("`{key}` goes with `interval`"))));
            }
        }
        let (terminals, links) = (&self.scenario.terminal, &self.scenario.link);
        match (&spikes.terminal, &spikes.link) {
            (Some(_), Some(_)) => {
                Err(self.place(&at("link"), conflict("spikes act on the bearers of a `terminal` or on a `link`")))
            }
            (Some(terminal), None) if !terminals.contains_key(terminal) => {
                Err(self.place(&at("terminal"), unknown_reference("terminal", terminal, terminals.keys())))
            }
            (None, Some(link)) if !links.contains_key(link) => {
                Err(self.place(&at("link"), unknown_reference("link", link, links.keys())))
            }
            _ => Ok(()),
        }
    }

    fn tcp(&self, flow: &str, settings: &TcpSettings) -> Result<(), ScenarioError> {
        tcp::check(settings).map_err(|(keys, error)| {
            let path =
                |keys: &&[&'static str]| ["flow", flow, "transport"].into_iter().chain(keys.iter().copied()).collect();
            self.blame(&keys.iter().map(path).collect::<Vec<_>>(), error)
        })
    }
}

/// What is wrong with a key of hard handovers at a soft one.
fn soft_with(key: &str) -> String {
    format!("`{key}` goes with a hard handover: in a soft one no packet waits, and none is lost")
}

fn is_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(good)
}

fn out_of_range(found: impl ToString, allowed: &str) -> ScenarioError {
    ScenarioError::new(Mistake::OutOfRange, "the value is out of range").found(found.to_string()).allowed(allowed)
}

fn unknown_reference<'a>(section: &str, name: &str, known: impl Iterator<Item = &'a String>) -> ScenarioError {
    ScenarioError::new(Mistake::UnknownReference, format!("the scenario has no {section} of this name"))
        .found(quoted(name))
        .known(name, known)
}

fn ambiguous<'a>(section: &str, known: impl Iterator<Item = &'a String>) -> ScenarioError {
    let message = format!("the scenario has several tables [{section}.…], so `{section}` must name one");
    ScenarioError::new(Mistake::Ambiguous, message).known("", known)
}
