//! From a checked scenario to a World: which machines there are and how they are wired.
//!
//! Down: server → wired links in their order → the terminal's bearer → terminal; up is the way back. Scripted
//! faults stand behind their link.

use cellwind_engine::fact::FactRow;
use cellwind_engine::machine::Port;
use cellwind_engine::packet::FlowId;
use cellwind_engine::random::Stream;
use cellwind_engine::time::Time;
use cellwind_engine::world::{MachineId, Route, World};
use cellwind_path::faults::Faults;
use cellwind_path::link::Link;
use cellwind_radio::block_arq::BlockArq;
use cellwind_transport::bulk::{Sink, Source};
use cellwind_transport::tcp::payload_of_full_segment;

use crate::directions::Direction;
use crate::machines::AnyMachine;
use crate::model::{Access, Bulk, Protocol, Scenario};

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

/// A World with the places of its flows.
pub(crate) struct Built {
    pub world: World<AnyMachine>,
    /// The two ends of each flow, in the order of the scenario.
    pub flows: Vec<FlowEndpoints>,
}

/// Indices into the World's machines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowEndpoints {
    pub source: usize,
    pub sink: usize,
}

struct Builder<'a> {
    scenario: &'a Scenario,
    replication: u32,
    world: World<AnyMachine>,
}

/// Builds the World of one replication.
///
/// # Panics
///
/// On a scenario that validation refuses.
pub(crate) fn build(scenario: &Scenario, replication: u32, record: Record) -> Built {
    let mut world = World::new();
    if let Some(buffer) = record.facts {
        world.record_facts(buffer);
    }
    if record.capture {
        world.record_packets();
    }
    let mut builder = Builder { scenario, replication, world };
    let ends = builder.add_flows();
    let at = |end: fn(&Ends) -> MachineId| -> Vec<_> { ends.iter().map(|ends| (end(ends), Port(0))).collect() };
    builder.wire_down(&ends, at(|ends| ends.terminal));
    builder.wire_up(&ends, at(|ends| ends.server));
    let flows = ends.iter().map(|ends| ends.endpoints).collect();
    Built { world: builder.world, flows }
}

/// The machines at the two ends of a flow, by place.
#[derive(Clone, Copy)]
struct Ends {
    server: MachineId,
    terminal: MachineId,
    /// The terminal's number in the scenario.
    place: usize,
    endpoints: FlowEndpoints,
}

impl Builder<'_> {
    fn stream(&self, name: &str) -> Stream {
        Stream::new(self.scenario.seed, self.replication, name)
    }

    /// The machines of all flows, which come first in the World: a source and a sink each.
    fn add_flows(&mut self) -> Vec<Ends> {
        let scenario = self.scenario;
        let mut all = Vec::with_capacity(scenario.flow.len());
        for (index, (name, flow)) in scenario.flow.iter().enumerate() {
            let Protocol::Tcp(tcp) = &flow.transport.protocol;
            let id = FlowId(index as u16);
            let bytes = match flow.bulk {
                Bulk::Limited(amount) => Some(amount.bytes(payload_of_full_segment(tcp))),
                Bulk::Unlimited => None,
            };
            let source = Source::new(tcp, id, Time::ZERO + flow.start, bytes);
            let source = self.world.add(format!("flow/{name}/sender"), AnyMachine::Source(source));
            let sink = self.world.add(format!("flow/{name}/receiver"), AnyMachine::Sink(Sink::new(tcp, id)));
            let endpoints = FlowEndpoints { source: 2 * index, sink: 2 * index + 1 };
            let (server, terminal) = match flow.direction {
                Direction::Down => (source, sink),
                Direction::Up => (sink, source),
            };
            let place = scenario.terminal.get_index_of(scenario.terminal_of(flow)).expect("validated");
            self.world.capture_at(server, SERVER_POINT);
            self.world.capture_at(terminal, SERVER_POINT + 1 + place as u16);
            all.push(Ends { server, terminal, place, endpoints });
        }
        all
    }

    /// The machines of all links in one direction, in the order a packet meets them.
    fn add_links(&mut self, direction: Direction) -> Vec<MachineId> {
        let mut stages = Vec::new();
        let scenario = self.scenario;
        for (name, link) in &scenario.link {
            let settings = link.get(direction);
            let name = format!("link/{name}/{}", direction.word());
            let losses = self.stream(&format!("{name}/losses"));
            let mut stage = vec![self.world.add(name.clone(), AnyMachine::Link(Link::new(settings, losses)))];
            if !settings.faults.is_empty() {
                let rules = settings.faults.iter().map(|fault| fault.rule().expect("validated")).collect();
                stage.push(self.world.add(format!("{name}/faults"), AnyMachine::Faults(Faults::new(rules))));
            }
            match direction {
                Direction::Down => stages.extend(stage),
                Direction::Up => drop(stages.splice(0..0, stage)),
            }
        }
        stages
    }

    /// The bearer of each terminal in one direction; none where a terminal has no access.
    fn add_bearers(&mut self, direction: Direction) -> Vec<Option<MachineId>> {
        let scenario = self.scenario;
        let mut bearers = Vec::with_capacity(scenario.terminal.len());
        for terminal in scenario.terminal.keys() {
            bearers.push(scenario.access_of(terminal).map(|(access, settings)| {
                let Access::BlockArq(settings) = settings;
                let name = format!("access/{access}/{terminal}/{}", direction.word());
                let errors = self.stream(&format!("{name}/errors"));
                let bearer = BlockArq::new(settings.get(direction), errors).expect("validated");
                self.world.add(name, AnyMachine::BlockArq(bearer))
            }));
        }
        bearers
    }

    fn wire_down(&mut self, ends: &[Ends], terminals: Vec<(MachineId, Port)>) {
        let stages = self.add_links(Direction::Down);
        let bearers = self.add_bearers(Direction::Down);
        let behind_links: Vec<_> = ends
            .iter()
            .zip(&terminals)
            .map(|(ends, &terminal)| bearers[ends.place].map_or(terminal, |bearer| (bearer, Port(0))))
            .collect();
        self.chain(&stages, Route::ByFlow(behind_links.clone()));
        for (ends, behind) in ends.iter().zip(behind_links) {
            let first = stages.first().map_or(behind, |&stage| (stage, Port(0)));
            self.world.connect(ends.server, Route::To(first.0, first.1));
        }
        for bearer in bearers.into_iter().flatten() {
            self.world.connect(bearer, Route::ByFlow(terminals.clone()));
        }
    }

    fn wire_up(&mut self, ends: &[Ends], servers: Vec<(MachineId, Port)>) {
        let bearers = self.add_bearers(Direction::Up);
        let stages = self.add_links(Direction::Up);
        let behind_bearer = match stages.first() {
            Some(&stage) => Route::To(stage, Port(0)),
            None => Route::ByFlow(servers.clone()),
        };
        for ends in ends {
            let route = bearers[ends.place].map_or(behind_bearer.clone(), |bearer| Route::To(bearer, Port(0)));
            self.world.connect(ends.terminal, route);
        }
        for bearer in bearers.into_iter().flatten() {
            self.world.connect(bearer, behind_bearer.clone());
        }
        self.chain(&stages, Route::ByFlow(servers));
    }

    /// Wires stages one after the other, and the last one to `end`.
    fn chain(&mut self, stages: &[MachineId], end: Route) {
        for pair in stages.windows(2) {
            self.world.connect(pair[0], Route::To(pair[1], Port(0)));
        }
        if let Some(&last) = stages.last() {
            self.world.connect(last, end);
        }
    }
}
