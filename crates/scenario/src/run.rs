//! One replication of a scenario in virtual time, and what it yields.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use cellwind_engine::fact::FactRow;
use cellwind_engine::time::{Span, Time};
use cellwind_engine::world::{Captured as Seen, Stalled};
use cellwind_path::traffic::Traffic;
use cellwind_radio::blocks::Blocks;
use cellwind_transport::application::Report;
use cellwind_transport::tcp::Counters;

pub use crate::build::Record;
use crate::build::{FlowEndpoints, SERVER_POINT};
use crate::capture::{Captured, End, FlowEnds, Transport, pcapng};
use crate::change::ChangeError;
use crate::machines::AnyMachine;
use crate::model::{Flow, Protocol, Scenario};
use crate::session::Session;

/// How much simulated time passes between two looks at the cancel flag: some milliseconds of work at most.
const BETWEEN_LOOKS: Span = Span::from_secs(1);

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// Time stands still.
    Stalled(Stalled),
    /// A machine's books do not balance: a fault of this program.
    Broken {
        /// The machine.
        machine: String,
        /// What is wrong.
        what: String,
    },
    /// An event could not be applied on top of those before it.
    Refused(ChangeError),
    /// The caller asked to stop.
    Cancelled,
}

/// The results of one replication.
#[derive(Debug)]
pub struct Run {
    /// Its number.
    pub replication: u32,
    /// When the run ended.
    pub ended: Time,
    /// Events it took.
    pub events: u64,
    /// Flows, in the order of the scenario.
    pub flows: Vec<FlowResult>,
    /// Bearers, one per terminal, direction and access that the terminal may be in.
    pub bearers: Vec<BearerResult>,
    /// Wired links, one per direction.
    pub links: Vec<LinkResult>,
    /// Facts, in the order they were told.
    pub facts: Vec<FactRow>,
    /// Names of the machines that facts refer to by number.
    pub machine_names: Vec<String>,
    /// Captures in pcapng, with the name of the end where they were taken.
    pub captures: Vec<(String, Vec<u8>)>,
}

/// What became of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowResult {
    /// Name in the scenario.
    pub name: String,
    /// Name of the transport.
    pub transport: String,
    /// When it started.
    pub start: Span,
    /// From the start until the last byte was delivered in order; none when it was not.
    pub duration: Option<Span>,
    /// Bytes delivered in order.
    pub bytes: u64,
    /// Until when goodput counts: completion, or the end of the run.
    pub until: Time,
    /// The sender's counts; of all connections together.
    pub counters: Counters,
    /// What it carried.
    pub application: &'static str,
    /// What the end that has the content sent, and the end that takes it received; empty for a plain transfer.
    pub report: Report,
}

/// What went through one direction of a bearer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BearerResult {
    /// Access, terminal and direction, as in `"umts/ue/down"`.
    pub name: String,
    /// Packets and bytes.
    pub traffic: Traffic,
    /// Blocks.
    pub blocks: Blocks,
}

/// What went through one direction of a wired link, or of the switch of a terminal between its accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkResult {
    /// Link and direction, as in `"internet/down"`; of a switch `"handover/ue/down"`.
    pub name: String,
    /// Packets and bytes.
    pub traffic: Traffic,
}

impl FlowResult {
    /// Bits delivered per second from the start to completion, or to the end of the run.
    pub fn goodput_bps(&self) -> f64 {
        let time = self.until.since(Time::ZERO + self.start).as_secs_f64();
        if time > 0.0 { 8.0 * self.bytes as f64 / time } else { 0.0 }
    }

    /// Mean of the sender's round-trip samples; none without any.
    pub fn rtt_mean(&self) -> Option<Span> {
        let samples = self.counters.rtt_samples;
        (samples > 0).then(|| self.counters.rtt_sum / samples)
    }
}

/// Runs one replication until all flows are done or `stop_at` has come.
///
/// The result depends on the scenario, its seed and `replication` alone. `cancel` is looked at now and then.
pub fn run(scenario: &Scenario, replication: u32, record: Record, cancel: &AtomicBool) -> Result<Run, RunError> {
    let mut session = Session::simulated(scenario, replication, record);
    advance(&mut session, scenario, cancel)?;
    check(&mut session)?;
    Ok(collect(session, scenario, replication))
}

/// Checks that every planned change was applied, and the invariants of every machine.
pub(crate) fn check(session: &mut Session) -> Result<(), RunError> {
    if let Some(refused) = session.take_refused().pop() {
        return Err(RunError::Refused(refused));
    }
    session.check().map_err(|(machine, what)| RunError::Broken { machine, what })
}

fn advance(session: &mut Session, scenario: &Scenario, cancel: &AtomicBool) -> Result<(), RunError> {
    let stop = scenario.stop_at.map_or(Time::MAX, |span| Time::ZERO + span);
    let flows = scenario.flow.values().filter(|flow| !flow.background).count() as u32;
    session.world_mut().stop_when_finished(flows);
    while session.world().finished() < flows {
        let Some(next) = session.next_timeout() else { break };
        if next > stop {
            return Ok(session.advance_to(stop)?);
        }
        session.advance_to(stop.min(next + BETWEEN_LOOKS))?;
        if cancel.load(Ordering::Relaxed) {
            return Err(RunError::Cancelled);
        }
    }
    Ok(())
}

fn collect(mut session: Session, scenario: &Scenario, replication: u32) -> Run {
    let facts = session.world_mut().take_facts();
    let captures = captures(scenario, &session.world_mut().take_captured());
    let world = session.world();
    let machines: Vec<(&str, &AnyMachine)> = world.machines().collect();
    let (ended, events) = (world.now(), world.events());
    let flows = scenario.flow.iter().zip(session.flows());
    let flows = flows.map(|((name, flow), ends)| flow_result(name, flow, *ends, &machines, ended)).collect();
    let (bearers, links) = session.results();
    let machine_names = session.machine_names();
    Run { replication, ended, events, flows, bearers, links, facts, machine_names, captures }
}

fn flow_result(
    name: &str,
    flow: &Flow,
    ends: FlowEndpoints,
    machines: &[(&str, &AnyMachine)],
    ended: Time,
) -> FlowResult {
    let (completed, bytes, counters, report) = match (machines[ends.source].1, machines[ends.sink].1) {
        (AnyMachine::Source(source), AnyMachine::Sink(sink)) => {
            let counters = *source.sender().counters();
            (sink.completed_at(), sink.receiver().delivered(), counters, Report::default())
        }
        (AnyMachine::Application(source), AnyMachine::Application(sink)) => {
            let report = Report { messages_sent: source.report().messages_sent, ..sink.report().clone() };
            (sink.completed_at(), sink.delivered(), source.counters(), report)
        }
        _ => unreachable!("the builder put two ends of a kind there"),
    };
    FlowResult {
        name: name.into(),
        transport: flow.transport.name().into(),
        start: flow.start,
        duration: completed.map(|at| at.since(Time::ZERO + flow.start)),
        bytes,
        until: completed.unwrap_or(ended),
        counters,
        application: flow.carries(),
        report,
    }
}

/// One pcapng file per end that saw a packet.
fn captures(scenario: &Scenario, seen: &[Seen]) -> Vec<(String, Vec<u8>)> {
    if seen.is_empty() {
        return Vec::new();
    }
    let place = |flow: &Flow| scenario.terminal.get_index_of(scenario.terminal_of(flow)).unwrap_or(0);
    let ends: Vec<FlowEnds> = scenario.flow.values().map(|flow| flow_ends(flow, place(flow))).collect();
    let names = std::iter::once("server").chain(scenario.terminal.keys().map(String::as_str));
    let mut files = Vec::new();
    for (point, name) in names.enumerate() {
        let here = seen.iter().filter(|seen| usize::from(seen.point) == point);
        let packets: Vec<Captured> = here
            .map(|seen| {
                let at_server = seen.point == SERVER_POINT;
                let from = if at_server == seen.outgoing { End::Server } else { End::Terminal };
                Captured { at: seen.time, from, packet: seen.packet }
            })
            .collect();
        if !packets.is_empty() {
            files.push((name.to_string(), pcapng(name, &ends, &packets)));
        }
    }
    files
}

fn flow_ends(flow: &Flow, terminal: usize) -> FlowEnds {
    let terminal = terminal as u16;
    match &flow.transport.protocol {
        Protocol::Tcp(tcp) => FlowEnds {
            terminal,
            mss: tcp.mss.as_bytes().min(u64::from(u16::MAX)) as u16,
            window_scaling: tcp.window_scaling,
            transport: Transport::Tcp,
        },
        // TFRC and ATP travel in UDP packets.
        Protocol::Udp(_) | Protocol::Tfrc(_) | Protocol::Atp(_) => {
            FlowEnds { terminal, mss: 0, window_scaling: false, transport: Transport::Udp }
        }
    }
}

impl From<Stalled> for RunError {
    fn from(stalled: Stalled) -> Self {
        RunError::Stalled(stalled)
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Stalled(stalled) => stalled.fmt(f),
            RunError::Refused(refused) => write!(f, "an event could not be applied: {refused}"),
            RunError::Broken { machine, what } => write!(f, "{machine} broke an invariant: {what}"),
            RunError::Cancelled => f.write_str("the run was cancelled"),
        }
    }
}

impl std::error::Error for RunError {}
