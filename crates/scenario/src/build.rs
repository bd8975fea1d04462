//! From a checked scenario to a World: which machines there are and how they are wired.
//!
//! Down: server → wired links in their order → the terminal's bearer → terminal; up is the way back. Scripted
//! faults stand behind their link. A terminal that moves has a bearer in each access and a switch in front of them.
//! In a live session the outside takes the places of the servers and the terminals.

use std::collections::BTreeSet;

use cellwind_engine::fact::FactRow;
use cellwind_engine::machine::Port;
use cellwind_engine::packet::FlowId;
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::Size;
use cellwind_engine::world::{MachineId, Route, World};
use cellwind_path::meter::Meter;
use cellwind_path::settings::LinkSettings;
use cellwind_radio::access::{Named, Stage};
use cellwind_radio::handover::{Handover, TAKEN_BACK};
use cellwind_transport::application::files::FilesSettings;
use cellwind_transport::application::{ApplicationSettings, End};
use cellwind_transport::bulk::{ENDLESS, Sink, Source};

use crate::change::{Change, Planned, When};
use crate::machines::AnyMachine;
use crate::mobility::Way;
use crate::model::{Bulk, Flow, Protocol, Scenario};
use cellwind_engine::directions::{Direction, Directions};

/// Capture point of the servers; terminals follow in their order.
pub(crate) const SERVER_POINT: u16 = 0;

/// What to record besides the results.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Facts of all machines, into this buffer, which may bring memory from an earlier run; none records none.
    pub facts: Option<Vec<FactRow>>,
    /// Packets at both ends.
    pub capture: bool,
}

/// Exit of a live session through which packets reach the terminals.
pub(crate) const TO_TERMINALS: u16 = 0;
/// Exit of a live session through which packets reach the servers.
pub(crate) const TO_SERVERS: u16 = 1;

/// A World with the places of its parts.
pub(crate) struct Built {
    pub world: World<AnyMachine>,
    /// The two ends of each flow, in the order of the scenario; none in a live session.
    pub flows: Vec<FlowEndpoints>,
    /// The links, in the order of the scenario.
    pub links: Vec<Directions<MachineId>>,
    /// The terminals, in the order of the scenario.
    pub terminals: Vec<TerminalStages>,
}

/// A part of a stage of the path: the machine, and the part's number in it.
pub(crate) type Part = (MachineId, u16);

/// Indices into the World's machines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowEndpoints {
    pub source: usize,
    pub sink: usize,
    /// The sink, to be reached by a change.
    pub receiver: MachineId,
}

/// What stands between the wired links and a terminal.
#[derive(Clone, Debug, Default)]
pub(crate) struct TerminalStages {
    /// A bearer in each access that the terminal may be in; a switch knows them by their place in this list.
    pub bearers: Vec<Bearer>,
    /// The switch in front of the bearers, if the terminal may move.
    pub switch: Option<Directions<MachineId>>,
    /// The count of what was delivered, if somebody waits for an amount.
    pub meter: Option<MachineId>,
}

/// A terminal's bearer in one access.
#[derive(Clone, Debug)]
pub(crate) struct Bearer {
    /// The access's place in the scenario.
    pub access: usize,
    /// Its stages, in the order a packet meets them.
    pub stages: Directions<Vec<Part>>,
}

/// What the ends of the path are.
enum Ends {
    /// TCP machines, one pair per flow.
    Flows(Vec<FlowEnds>),
    /// The outside; a packet's flow number is that of its terminal.
    Outside,
}

/// The machines at the two ends of a flow.
struct FlowEnds {
    server: MachineId,
    terminal: MachineId,
    /// The terminal's number in the scenario.
    place: usize,
    endpoints: FlowEndpoints,
}

/// Builds the World of one replication.
///
/// # Panics
///
/// On a scenario that validation refuses.
pub(crate) fn build(scenario: &Scenario, replication: u32, record: Record) -> Built {
    let mut builder = Builder::new(scenario, replication, record, may_move(scenario), moves(scenario));
    let ends = builder.add_flows();
    builder.wire(Ends::Flows(ends))
}

/// Builds the World of one replication with the outside at its ends. The entry for what goes down to terminal `k` has
/// the number `2 k`, that for what comes up from it `2 k + 1`.
///
/// # Panics
///
/// On a scenario that validation refuses.
pub(crate) fn build_live(scenario: &Scenario, replication: u32, record: Record) -> Built {
    let all = scenario.access.len();
    let mut may_be_in = may_move(scenario);
    if all <= MOST_BEARERS && parts(scenario) + 4 * all * scenario.terminal.len() <= MOST_MACHINES {
        for accesses in &mut may_be_in {
            accesses.extend(0..all);
            keep_first(accesses);
        }
    }
    // Even one access is enough for a handover, to itself.
    let moves = vec![true; scenario.terminal.len()];
    Builder::new(scenario, replication, record, may_be_in, moves).wire(Ends::Outside)
}

/// Whether the machines of the scenario fit a World, and the bearers of each terminal its switch.
pub(crate) fn fits(scenario: &Scenario) -> bool {
    let may_be_in = may_move(scenario);
    let bearers: usize = may_be_in.iter().map(Vec::len).sum();
    parts(scenario) + 4 * bearers <= MOST_MACHINES && may_be_in.iter().all(|accesses| accesses.len() <= MOST_BEARERS)
}

/// The most machines of a World and parts of them, whose names have numbers of 16 bits.
const MOST_MACHINES: usize = u16::MAX as usize;
/// The most bearers of a terminal, whose switch numbers them with 8 bits.
const MOST_BEARERS: usize = 255;

/// The most machines that there can be besides bearers: links and accesses with scripted faults take two for each
/// direction, terminals a switch for each direction and a meter.
fn parts(scenario: &Scenario) -> usize {
    4 * scenario.link.len() + 3 * scenario.terminal.len() + 2 * scenario.flow.len()
}

/// The accesses that each terminal may be in, its first one first.
fn may_move(scenario: &Scenario) -> Vec<Vec<usize>> {
    let first = |name: &String| {
        let access = scenario.access_of(name).and_then(|(access, _)| scenario.access.get_index_of(access));
        access.into_iter().collect()
    };
    let mut may_be_in: Vec<Vec<usize>> = scenario.terminal.keys().map(first).collect();
    for planned in &scenario.plan {
        if let Change::Handover { terminal, to, .. } = planned.change {
            may_be_in[usize::from(terminal)].push(usize::from(to));
        }
    }
    for way in &scenario.ways {
        let networks = way.networks.iter().map(|network| usize::from(network.access));
        may_be_in[usize::from(way.terminal)].extend(networks);
    }
    may_be_in.iter_mut().for_each(keep_first);
    may_be_in
}

/// Whether each terminal has a handover planned, perhaps to the access where it is.
fn moves(scenario: &Scenario) -> Vec<bool> {
    let mut moves = vec![false; scenario.terminal.len()];
    for planned in &scenario.plan {
        if let Change::Handover { terminal, .. } = planned.change {
            moves[usize::from(terminal)] = true;
        }
    }
    for way in &scenario.ways {
        moves[usize::from(way.terminal)] = true;
    }
    moves
}

/// Drops what stands in the list a second time.
fn keep_first(list: &mut Vec<usize>) {
    let mut seen = BTreeSet::new();
    list.retain(|&item| seen.insert(item));
}

struct Builder<'a> {
    scenario: &'a Scenario,
    replication: u32,
    world: World<AnyMachine>,
    /// The accesses that each terminal may be in.
    may_be_in: Vec<Vec<usize>>,
    /// Whether each terminal has a switch in front of its bearers.
    moves: Vec<bool>,
}

impl<'a> Builder<'a> {
    fn new(
        scenario: &'a Scenario,
        replication: u32,
        record: Record,
        may_be_in: Vec<Vec<usize>>,
        moves: Vec<bool>,
    ) -> Self {
        let mut world = World::new();
        if let Some(buffer) = record.facts {
            world.record_facts(buffer);
        }
        if record.capture {
            world.record_packets();
        }
        Builder { scenario, replication, world, may_be_in, moves }
    }

    fn stream(&self, name: &str) -> Stream {
        Stream::new(self.scenario.seed, self.replication, name)
    }

    /// The machines of all flows, which come first in the World: a source and a sink each.
    fn add_flows(&mut self) -> Vec<FlowEnds> {
        let scenario = self.scenario;
        let mut all = Vec::with_capacity(scenario.flow.len());
        for (index, (name, flow)) in scenario.flow.iter().enumerate() {
            let (source, sink) = self.ends(name, flow, FlowId(index as u16));
            let (source, sink) = match (source, sink) {
                (AnyMachine::Source(source), sink) if flow.background => {
                    (AnyMachine::Source(source.in_background()), sink)
                }
                (AnyMachine::Application(source), AnyMachine::Application(sink)) if flow.background => {
                    (AnyMachine::Application(source.in_background()), AnyMachine::Application(sink.in_background()))
                }
                ends => ends,
            };
            let source = self.world.add(format!("flow/{name}/sender"), source);
            let sink = self.world.add(format!("flow/{name}/receiver"), sink);
            let endpoints = FlowEndpoints { source: 2 * index, sink: 2 * index + 1, receiver: sink };
            let (server, terminal) = match flow.direction {
                Direction::Down => (source, sink),
                Direction::Up => (sink, source),
            };
            let place = scenario.terminal.get_index_of(scenario.terminal_of(flow)).expect("validated");
            self.world.capture_at(server, SERVER_POINT);
            self.world.capture_at(terminal, SERVER_POINT + 1 + place as u16);
            all.push(FlowEnds { server, terminal, place, endpoints });
        }
        all
    }

    /// The end with the content of a flow, and the one that takes it.
    fn ends(&self, name: &str, flow: &Flow, id: FlowId) -> (AnyMachine, AnyMachine) {
        let start = Time::ZERO + flow.start;
        let protocol = &flow.transport.protocol;
        let bytes = match flow.bulk {
            Some(Bulk::Limited(amount)) => Some(amount.bytes(protocol.payload())),
            Some(Bulk::Unlimited) | None => None,
        };
        let whole = || {
            let sizes = vec![Size::from_bytes(bytes.unwrap_or(ENDLESS))];
            ApplicationSettings::Files(FilesSettings { sizes, pause: Span::ZERO, reconnect: false })
        };
        let settings = match (&flow.application, protocol) {
            // A plain transfer over TCP has one sender and one receiver, which cost less than two connections.
            (None, Protocol::Tcp(tcp)) => {
                let source = Source::new(tcp, id, start, bytes);
                return (AnyMachine::Source(source), AnyMachine::Sink(Sink::new(tcp, id)));
            }
            (None, _) => &whole(),
            (Some(application), _) => application,
        };
        let chance = self.stream(&format!("flow/{name}/application"));
        let source = End::source(settings, protocol, id, start, chance);
        (AnyMachine::Application(source), AnyMachine::Application(End::sink(settings, protocol, id, start)))
    }

    /// Adds what is between the ends and wires it all.
    fn wire(mut self, ends: Ends) -> Built {
        let bearers = self.add_accesses();
        let down = self.wire_down(&ends, &bearers);
        let up = self.wire_up(&ends, &bearers);
        let links = down.links.into_iter().zip(up.links).map(|(down, up)| Directions { down, up }).collect();
        let mut terminals = Vec::with_capacity(down.terminals.len());
        for (terminal, (down, up)) in down.terminals.into_iter().zip(up.terminals).enumerate() {
            let both = down.bearers.into_iter().zip(up.bearers).zip(&self.may_be_in[terminal]);
            let bearer = |((down, up), &access)| Bearer { access, stages: Directions { down, up } };
            terminals.push(TerminalStages {
                bearers: both.map(bearer).collect(),
                switch: down.switch.zip(up.switch).map(|(down, up)| Directions { down, up }),
                meter: down.meter,
            });
        }
        let flows = match ends {
            Ends::Flows(flows) => flows.iter().map(|ends| ends.endpoints).collect(),
            Ends::Outside => {
                for (&down, &up) in down.entries.iter().zip(&up.entries) {
                    self.world.add_entry(down.0, down.1);
                    self.world.add_entry(up.0, up.1);
                }
                Vec::new()
            }
        };
        Built { world: self.world, flows, links, terminals }
    }

    fn add_link(&mut self, name: &str, settings: &LinkSettings) -> Vec<Part> {
        let stages = Stage::link(name, settings, |name| self.stream(name));
        self.add_stages(stages).into_iter().map(|id| (id, 0)).collect()
    }

    fn add_stages(&mut self, stages: Vec<Named>) -> Vec<MachineId> {
        let add = |Named { name, stage, parts }| self.world.add_with_parts(name, AnyMachine::Stage(stage), parts);
        stages.into_iter().map(add).collect()
    }

    /// The machines of all accesses: for each terminal, its bearer in each access that it may be in.
    fn add_accesses(&mut self) -> Vec<Vec<Directions<Vec<Part>>>> {
        let scenario = self.scenario;
        let mut all = vec![Vec::new(); scenario.terminal.len()];
        let mut places: Vec<_> = self.may_be_in.iter().map(|accesses| vec![None; accesses.len()]).collect();
        for (access, (name, settings)) in scenario.access.iter().enumerate() {
            let here = |accesses: &Vec<usize>| accesses.iter().position(|&other| other == access);
            let here: Vec<_> =
                self.may_be_in.iter().enumerate().filter_map(|(t, list)| Some((t, here(list)?))).collect();
            let of = |&(terminal, _): &(usize, usize)| {
                let (name, terminal) = scenario.terminal.get_index(terminal).expect("it has a place");
                (name.as_str(), terminal.radio())
            };
            let terminals: Vec<_> = here.iter().map(of).collect();
            let stages = settings.stages(name, &terminals, |name| self.stream(name));
            let ids = self.add_stages(stages.machines);
            for (&(terminal, place), way) in here.iter().zip(stages.ways) {
                let of = |way: Vec<(usize, u16)>| way.into_iter().map(|(machine, part)| (ids[machine], part)).collect();
                places[terminal][place] = Some(Directions { down: of(way.down), up: of(way.up) });
            }
        }
        for (all, places) in all.iter_mut().zip(places) {
            all.extend(places.into_iter().map(|way| way.expect("a terminal is only in accesses that there are")));
        }
        all
    }

    /// The machines of all links in one direction, in the order a packet meets them, and the links themselves in the
    /// order of the scenario.
    fn add_links(&mut self, direction: Direction) -> (Vec<Part>, Vec<MachineId>) {
        let mut stages = Vec::new();
        let mut links = Vec::new();
        let scenario = self.scenario;
        for (name, link) in &scenario.link {
            let stage = self.add_link(&format!("link/{name}/{}", direction.word()), link.get(direction));
            links.push(stage[0].0);
            match direction {
                Direction::Down => stages.extend(stage),
                Direction::Up => drop(stages.splice(0..0, stage)),
            }
        }
        (stages, links)
    }

    /// One direction of the bearers of each terminal, with a switch where it moves.
    fn lead_to(&mut self, bearers: &[Vec<Directions<Vec<Part>>>], direction: Direction) -> Vec<OneWay> {
        let mut all = Vec::with_capacity(bearers.len());
        for (place, (terminal, bearers)) in self.scenario.terminal.keys().zip(bearers).enumerate() {
            let bearers: Vec<Vec<Part>> = bearers.iter().map(|both| both.get(direction).clone()).collect();
            let mut one_way = OneWay { bearers, ..OneWay::default() };
            if self.moves[place] && !one_way.bearers.is_empty() {
                let name = format!("handover/{terminal}/{}", direction.word());
                let places = self.may_be_in[place].iter().map(|&access| access as u16).collect();
                let switch = self.world.add(name, AnyMachine::Handover(Handover::new(places)));
                one_way.switch = Some(switch);
                for (number, stages) in one_way.bearers.iter().enumerate() {
                    self.world.connect(switch, Port(number as u16), into(stages[0]));
                }
            }
            all.push(one_way);
        }
        all
    }

    /// Wires the bearers of a terminal to what is behind them, and back to their switch.
    fn connect_bearers(&mut self, one_way: &OneWay, behind: &Route) {
        for stages in &one_way.bearers {
            self.chain(stages, behind.clone());
            if let Some(switch) = one_way.switch {
                for &(stage, part) in stages {
                    self.world.connect(stage, Stage::way_back(part), Route::To(switch, TAKEN_BACK));
                }
            }
        }
    }

    fn wire_down(&mut self, ends: &Ends, bearers: &[Vec<Directions<Vec<Part>>>]) -> Direct {
        let (stages, links) = self.add_links(Direction::Down);
        let mut terminals = self.lead_to(bearers, Direction::Down);
        let at_terminals = match ends {
            Ends::Flows(flows) => Route::ByFlow(flows.iter().map(|ends| (ends.terminal, Port(0))).collect()),
            Ends::Outside => Route::Exit(TO_TERMINALS),
        };
        // Without an access, terminals with a meter and others part behind the links, which only machines can be.
        let all_need_one = matches!(ends, Ends::Outside) && self.scenario.access.is_empty() && self.has_meters();
        for (place, one_way) in terminals.iter_mut().enumerate() {
            one_way.meter = self.add_meter(place, all_need_one);
            if let Some(meter) = one_way.meter {
                self.world.connect(meter, Port(0), at_terminals.clone());
            }
            let behind = one_way.meter.map_or(at_terminals.clone(), |meter| Route::To(meter, Port(0)));
            self.connect_bearers(one_way, &behind);
        }
        // What stands behind the links, by flow; nothing does where a terminal has no access.
        let behind_links = match ends {
            Ends::Flows(flows) => {
                let first = |ends: &FlowEnds| terminals[ends.place].first().unwrap_or((ends.terminal, Port(0)));
                Route::ByFlow(flows.iter().map(first).collect())
            }
            Ends::Outside => {
                let first: Option<Vec<_>> = terminals.iter().map(OneWay::first).collect();
                first.map_or(at_terminals, Route::ByFlow)
            }
        };
        self.chain(&stages, behind_links);
        let entry = |place: usize| stages.first().copied().map(door).or(terminals[place].first());
        let mut entries = Vec::new();
        match ends {
            Ends::Flows(flows) => {
                for ends in flows {
                    let (first, port) = entry(ends.place).unwrap_or((ends.terminal, Port(0)));
                    self.world.connect(ends.server, Port(0), Route::To(first, port));
                }
            }
            Ends::Outside => entries.extend((0..terminals.len()).map(|place| entry(place).expect("validated"))),
        }
        Direct { links, terminals, entries }
    }

    fn wire_up(&mut self, ends: &Ends, bearers: &[Vec<Directions<Vec<Part>>>]) -> Direct {
        let terminals = self.lead_to(bearers, Direction::Up);
        let (stages, links) = self.add_links(Direction::Up);
        let at_servers = match ends {
            Ends::Flows(flows) => Route::ByFlow(flows.iter().map(|ends| (ends.server, Port(0))).collect()),
            Ends::Outside => Route::Exit(TO_SERVERS),
        };
        let behind_bearers = match stages.first() {
            Some(&stage) => into(stage),
            None => at_servers.clone(),
        };
        for one_way in &terminals {
            self.connect_bearers(one_way, &behind_bearers);
        }
        let entry = |place: usize| terminals[place].first().or(stages.first().copied().map(door));
        let mut entries = Vec::new();
        match ends {
            Ends::Flows(flows) => {
                for ends in flows {
                    let first = entry(ends.place);
                    let route = first.map_or(behind_bearers.clone(), |(first, port)| Route::To(first, port));
                    self.world.connect(ends.terminal, Port(0), route);
                }
            }
            Ends::Outside => entries.extend((0..terminals.len()).map(|place| entry(place).expect("validated"))),
        }
        self.chain(&stages, at_servers);
        Direct { links, terminals, entries }
    }

    /// Whether any event or way waits for an amount of data.
    fn has_meters(&self) -> bool {
        let waits = |planned: &Planned| matches!(planned.when, When::After { .. });
        self.scenario.plan.iter().any(waits) || self.scenario.ways.iter().any(Way::counts)
    }

    /// The count of what a terminal is delivered, if an event or its way waits for it or it is wanted anyway.
    fn add_meter(&mut self, place: usize, is_wanted: bool) -> Option<MachineId> {
        let amount = |planned: &Planned| match planned.when {
            When::After { terminal, amount } if usize::from(terminal) == place => Some(amount),
            _ => None,
        };
        let amounts: Vec<Size> = self.scenario.plan.iter().filter_map(amount).collect();
        let (name, _) = self.scenario.terminal.get_index(place)?;
        let meter = AnyMachine::Meter(Meter::new(amounts.clone()));
        let is_counted = self.scenario.ways.iter().any(|way| usize::from(way.terminal) == place && way.counts());
        (is_wanted || is_counted || !amounts.is_empty()).then(|| self.world.add(format!("meter/{name}"), meter))
    }

    /// Wires stages one after the other, and the last one to `end`.
    fn chain(&mut self, stages: &[Part], end: Route) {
        for pair in stages.windows(2) {
            self.world.connect(pair[0].0, Stage::exit(pair[0].1), into(pair[1]));
        }
        if let Some(&(last, part)) = stages.last() {
            self.world.connect(last, Stage::exit(part), end);
        }
    }
}

/// One direction of a path.
struct Direct {
    links: Vec<MachineId>,
    terminals: Vec<OneWay>,
    /// In a live session: the machine that each terminal's packets enter first, and by which port.
    entries: Vec<(MachineId, Port)>,
}

/// One direction of what stands between the wired links and a terminal.
#[derive(Default)]
struct OneWay {
    bearers: Vec<Vec<Part>>,
    switch: Option<MachineId>,
    meter: Option<MachineId>,
}

impl OneWay {
    /// The door that packets from the wired links enter first, or those from the terminal.
    fn first(&self) -> Option<(MachineId, Port)> {
        let machine = |id| (id, Port(0));
        let bearer = self.bearers.first().map(|stages| door(stages[0]));
        self.switch.map(machine).or(bearer).or(self.meter.map(machine))
    }
}

/// Where packets of a part enter.
fn door((machine, part): Part) -> (MachineId, Port) {
    (machine, Stage::entry(part))
}

fn into(part: Part) -> Route {
    let (machine, port) = door(part);
    Route::To(machine, port)
}
