//! The accesses there are: their settings, and the machines they are made of.
//!
//! An access is one part with a small interface. Adding one takes a module with its settings and its machine, a variant
//! in each of the two enums here, and a file of checks beside the others of the scenario.

use cellwind_engine::deserialize_by_type;
use cellwind_engine::directions::{Direction, Directions};
use cellwind_engine::machine::{Machine, Outbox, Port};
use cellwind_engine::packet::Packet;
use cellwind_engine::random::Stream;
use cellwind_engine::time::Time;
use cellwind_path::faults::Faults;
use cellwind_path::link::Link;
use cellwind_path::settings::LinkSettings;
use cellwind_path::traffic::Traffic;
use schemars::JsonSchema;
use serde::Serialize;

use crate::block_arq::{BlockArq, Blocks};
use crate::errors::settings::ErrorSettings;
use crate::settings::BlockArqSettings;

/// An access network.
// A scenario has few of them, so that their size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Access {
    /// A radio bearer that resends blocks until they arrive (Lundsten, section 5.2).
    BlockArq(Directions<BlockArqSettings>),
    /// A rate, a latency and a queue for each terminal, with the keys of `link` (Teyeb, Table 7.1).
    Link(Directions<LinkSettings>),
}

deserialize_by_type!(Access { BlockArq(settings: Directions<BlockArqSettings>), Link(settings: Directions<LinkSettings>) });

/// The machines of an access network.
#[derive(Debug, Default)]
pub struct Stages {
    /// Each machine with its name and those of its parts.
    pub machines: Vec<Named>,
    /// For each terminal and direction, what its packets meet in their order: the place in `machines`, and the part.
    pub ways: Vec<Directions<Vec<(usize, u16)>>>,
}

/// A machine with the names that facts and results show.
#[derive(Debug)]
pub struct Named {
    /// The machine's name.
    pub name: String,
    /// The machine.
    pub stage: Stage,
    /// Names of its parts; none where the machine is its only part.
    pub parts: Vec<String>,
}

impl Access {
    /// Takes the value of one key of one direction over from an access of the same type.
    pub fn adopt(&mut self, direction: Direction, key: &str, other: &Access) {
        match (self, other) {
            (Access::BlockArq(own), Access::BlockArq(other)) => {
                own.get_mut(direction).adopt(key, other.get(direction));
            }
            (Access::Link(own), Access::Link(other)) => own.get_mut(direction).adopt(key, other.get(direction)),
            _ => unreachable!("an access keeps its type"),
        }
    }

    /// Whether a TTI of it carries a block, which changes of several keys can put out of reach.
    pub fn carries_blocks(&self) -> bool {
        match self {
            Access::BlockArq(both) => Direction::BOTH.iter().all(|&way| both.get(way).blocks_per_tti().is_some()),
            Access::Link(_) => true,
        }
    }

    /// The errors of one direction; none where an access does not send blocks.
    pub fn errors(&self, direction: Direction) -> Option<&ErrorSettings> {
        match self {
            Access::BlockArq(both) => Some(&both.get(direction).errors),
            Access::Link(_) => None,
        }
    }

    /// The same, to change.
    pub fn errors_mut(&mut self, direction: Direction) -> Option<&mut ErrorSettings> {
        match self {
            Access::BlockArq(both) => Some(&mut both.get_mut(direction).errors),
            Access::Link(_) => None,
        }
    }

    /// The machines for these terminals of a valid access named `name`; `stream` makes random streams from names.
    pub fn stages(&self, name: &str, terminals: &[&str], stream: impl Fn(&str) -> Stream) -> Stages {
        let mut stages = Stages::default();
        for terminal in terminals {
            let mut way = |direction: Direction| {
                let name = format!("access/{name}/{terminal}/{}", direction.word());
                let machines = match self {
                    Access::BlockArq(settings) => vec![Named {
                        stage: Stage::block_arq(settings.get(direction), stream(&format!("{name}/errors"))),
                        name,
                        parts: Vec::new(),
                    }],
                    Access::Link(settings) => Stage::link(&name, settings.get(direction), &stream),
                };
                let first = stages.machines.len();
                stages.machines.extend(machines);
                (first..stages.machines.len()).map(|place| (place, 0)).collect()
            };
            let way = Directions { down: way(Direction::Down), up: way(Direction::Up) };
            stages.ways.push(way);
        }
        stages
    }
}

/// What packets meet between the ends of a path: a machine that may have several parts, of which each carries packets
/// one way.
///
/// Packets of part `n` enter at port `n` and leave through port `2n`; what it hands back undelivered leaves through port
/// `2n + 1`.
// Boxing the larger ones would cost an indirection per event to save memory that nobody misses.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum Stage {
    /// One direction of a link.
    Link(Link),
    /// Scripted faults behind a link.
    Faults(Faults),
    /// One direction of a block-ARQ bearer.
    BlockArq(BlockArq),
}

/// Calls the same method of whichever stage it is.
macro_rules! each {
    ($self:ident, $stage:ident => $call:expr) => {
        match $self {
            Stage::Link($stage) => $call,
            Stage::Faults($stage) => $call,
            Stage::BlockArq($stage) => $call,
        }
    };
}

impl Stage {
    /// The port at which packets of a part enter.
    pub const fn entry(part: u16) -> Port {
        Port(part)
    }

    /// The port through which packets of a part leave.
    pub const fn exit(part: u16) -> Port {
        Port(2 * part)
    }

    /// The port through which a part hands back what it holds.
    pub const fn way_back(part: u16) -> Port {
        Port(2 * part + 1)
    }

    /// One direction of a link, and the scripted faults behind it.
    pub fn link(name: &str, settings: &LinkSettings, stream: impl Fn(&str) -> Stream) -> Vec<Named> {
        let alone = |name: String, stage| Named { name, stage, parts: Vec::new() };
        let link = Link::new(settings, stream(&format!("{name}/losses")));
        let mut stages = vec![alone(name.into(), Stage::Link(link))];
        if !settings.faults.is_empty() {
            let rules = settings.faults.iter().map(|fault| fault.rule().expect("validated")).collect();
            stages.push(alone(format!("{name}/faults"), Stage::Faults(Faults::new(rules))));
        }
        stages
    }

    fn block_arq(settings: &BlockArqSettings, errors: Stream) -> Stage {
        Stage::BlockArq(BlockArq::new(settings, errors).expect("validated"))
    }

    /// Gives a part the settings of its direction in an access of its type, which carries blocks.
    pub fn set_access(&mut self, _part: u16, now: Time, direction: Direction, access: &Access, out: &mut Outbox) {
        match (self, access) {
            (Stage::BlockArq(bearer), Access::BlockArq(settings)) => {
                let fits = bearer.set_settings(now, settings.get(direction), out);
                debug_assert!(fits, "looked at before");
            }
            (Stage::Link(link), Access::Link(settings)) => link.set_settings(now, settings.get(direction), out),
            _ => unreachable!("a bearer has the type of its access"),
        }
    }

    /// Lets a part begin no transmission until [`release`](Stage::release); a running one ends.
    pub fn hold(&mut self, _part: u16, now: Time, out: &mut Outbox) {
        match self {
            Stage::Link(link) => link.hold(now, out),
            Stage::BlockArq(bearer) => bearer.hold(out),
            Stage::Faults(_) => unreachable!("faults do not transmit"),
        }
    }

    /// Lets a part transmit again.
    pub fn release(&mut self, _part: u16, now: Time, out: &mut Outbox) {
        match self {
            Stage::Link(link) => link.release(now, out),
            Stage::BlockArq(bearer) => bearer.release(now, out),
            Stage::Faults(_) => unreachable!("faults do not transmit"),
        }
    }

    /// Makes a part hand back all that it holds, in the order it entered.
    pub fn flush(&mut self, _part: u16, now: Time, out: &mut Outbox) {
        match self {
            Stage::Link(link) => link.flush(now, out),
            Stage::BlockArq(bearer) => bearer.flush(out),
            Stage::Faults(faults) => faults.flush(out),
        }
    }

    /// What went through a part.
    pub fn traffic(&self, _part: u16) -> &Traffic {
        each!(self, stage => stage.traffic())
    }

    /// How many blocks that took; none for stages that do not send blocks.
    pub fn blocks(&self, _part: u16) -> Option<&Blocks> {
        match self {
            Stage::BlockArq(bearer) => Some(bearer.blocks()),
            Stage::Link(_) | Stage::Faults(_) => None,
        }
    }

    /// Checks the machine's invariants.
    pub fn check(&self) -> Result<(), String> {
        each!(self, stage => stage.check())
    }
}

impl Machine for Stage {
    #[inline]
    fn on_packet(&mut self, now: Time, port: Port, packet: &Packet, out: &mut Outbox) {
        each!(self, stage => stage.on_packet(now, port, packet, out))
    }

    #[inline]
    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        each!(self, stage => stage.on_timeout(now, out))
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        each!(self, stage => stage.next_timeout())
    }
}
