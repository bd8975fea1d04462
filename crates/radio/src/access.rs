//! The accesses there are: their settings, and the machines they are made of.
//!
//! An access is one part with a small interface. Adding one takes a module with its settings and its machine, a variant
//! in each of the two enums here, whose methods are what the rest of the house asks, and checks beside the others of the
//! scenario.

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

use crate::block_arq::BlockArq;
use crate::blocks::Blocks;
use crate::mac::cell::settings::{CellSettings, RadioSettings};
use crate::settings::BlockArqSettings;
use crate::umts::Umts;
use crate::umts::settings::{UmtsSettings, channels};
use cellwind_path::errors::settings::ErrorSettings;

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
    /// A radio bearer of UMTS on a dedicated channel, with the whole of RLC (TS 25.322).
    Umts(UmtsSettings),
}

deserialize_by_type!(Access {
    BlockArq(settings: Directions<BlockArqSettings>),
    Link(settings: Directions<LinkSettings>),
    Umts(settings: UmtsSettings),
});

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
            (Access::Umts(own), Access::Umts(other)) => {
                own.directions.get_mut(direction).adopt(key, other.directions.get(direction));
                own.shared.adopt(key, &other.shared);
            }
            _ => unreachable!("an access keeps its type"),
        }
    }

    /// The mode of RLC in a direction, which bearers keep while they run; none where an access has no RLC.
    pub fn mode(&self, direction: Direction) -> Option<&'static str> {
        match self {
            Access::BlockArq(_) | Access::Link(_) => None,
            Access::Umts(umts) => Some(umts.directions.get(direction).rlc.mode()),
        }
    }

    /// Whether a TTI of it carries a block, which changes of several keys can put out of reach.
    pub fn carries_blocks(&self) -> bool {
        match self {
            Access::BlockArq(both) => Direction::BOTH.iter().all(|&way| both.get(way).blocks_per_tti().is_some()),
            Access::Link(_) => true,
            Access::Umts(umts) => Direction::BOTH
                .iter()
                .all(|&way| channels(umts, way).all(|channel| umts.directions.get(way).format_on(channel).is_some())),
        }
    }

    /// The errors of one direction, with their key.
    pub fn errors(&self, direction: Direction) -> (&'static str, &ErrorSettings) {
        match self {
            Access::BlockArq(both) => ("errors", &both.get(direction).errors),
            Access::Link(both) => ("loss", &both.get(direction).loss),
            Access::Umts(umts) => ("errors", &umts.directions.get(direction).errors),
        }
    }

    /// The same, to change.
    pub fn errors_mut(&mut self, direction: Direction) -> (&'static str, &mut ErrorSettings) {
        match self {
            Access::BlockArq(both) => ("errors", &mut both.get_mut(direction).errors),
            Access::Link(both) => ("loss", &mut both.get_mut(direction).loss),
            Access::Umts(umts) => ("errors", &mut umts.directions.get_mut(direction).errors),
        }
    }

    /// The cell whose capacity its terminals share; none where each has its own.
    pub fn cell(&self) -> Option<&CellSettings> {
        match self {
            Access::BlockArq(_) | Access::Link(_) => None,
            Access::Umts(umts) => umts.shared.cell.as_ref(),
        }
    }

    /// The machines for these terminals of a valid access named `name`, with how each stands in the cell; `stream` makes
    /// random streams from names.
    pub fn stages(&self, name: &str, terminals: &[(&str, RadioSettings)], stream: impl Fn(&str) -> Stream) -> Stages {
        let name = format!("access/{name}");
        let names: Vec<&str> = terminals.iter().map(|&(terminal, _)| terminal).collect();
        match self {
            Access::BlockArq(settings) => Stages::apart(&name, &names, |name, direction| {
                let bearer = BlockArq::new(settings.get(direction), stream(&format!("{name}/errors")));
                vec![Named::alone(name, Stage::BlockArq(bearer.expect("validated")))]
            }),
            Access::Link(settings) => {
                Stages::apart(&name, &names, |name, direction| Stage::link(name, settings.get(direction), &stream))
            }
            Access::Umts(settings) => {
                let mut umts = Umts::new(&settings.shared, stream(&format!("{name}/calls")));
                for (terminal, radio) in terminals {
                    umts.add_terminal(settings, *radio, |own| stream(&format!("{name}/{terminal}/{own}")));
                }
                Stages::together(name, &names, Stage::Umts(umts))
            }
        }
    }
}

impl Stages {
    /// Machines for each terminal and direction alone, made by `make` from a name and the direction.
    fn apart(name: &str, terminals: &[&str], make: impl Fn(&str, Direction) -> Vec<Named>) -> Self {
        let mut stages = Stages::default();
        for terminal in terminals {
            let mut way = |direction: Direction| {
                let first = stages.machines.len();
                stages.machines.extend(make(&format!("{name}/{terminal}/{}", direction.word()), direction));
                (first..stages.machines.len()).map(|place| (place, 0)).collect()
            };
            let way = Directions { down: way(Direction::Down), up: way(Direction::Up) };
            stages.ways.push(way);
        }
        stages
    }

    /// One machine with two parts for each terminal: down and up; none where there is no terminal.
    fn together(name: String, terminals: &[&str], stage: Stage) -> Self {
        if terminals.is_empty() {
            return Stages::default();
        }
        let part = |terminal: &&str, direction: Direction| format!("{name}/{terminal}/{}", direction.word());
        let parts = terminals.iter().flat_map(|terminal| Direction::BOTH.map(|direction| part(terminal, direction)));
        let parts = parts.collect();
        let way = |number: u16| Directions { down: vec![(0, 2 * number)], up: vec![(0, 2 * number + 1)] };
        Stages { machines: vec![Named { name, stage, parts }], ways: (0..terminals.len() as u16).map(way).collect() }
    }
}

impl Named {
    fn alone(name: impl Into<String>, stage: Stage) -> Self {
        Named { name: name.into(), stage, parts: Vec::new() }
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
    /// A UMTS access with its terminals.
    Umts(Umts),
}

/// Calls the same method of whichever stage it is.
macro_rules! each {
    ($self:ident, $stage:ident => $call:expr) => {
        match $self {
            Stage::Link($stage) => $call,
            Stage::Faults($stage) => $call,
            Stage::BlockArq($stage) => $call,
            Stage::Umts($stage) => $call,
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
        let link = Link::new(settings, stream(&format!("{name}/losses")));
        let mut stages = vec![Named::alone(name, Stage::Link(link))];
        if !settings.faults.is_empty() {
            let rules = settings.faults.iter().map(|fault| fault.rule().expect("validated")).collect();
            stages.push(Named::alone(format!("{name}/faults"), Stage::Faults(Faults::new(rules))));
        }
        stages
    }

    /// Gives a part the settings of its direction in an access of its type, which carries blocks.
    pub fn set_access(&mut self, part: u16, now: Time, direction: Direction, access: &Access, out: &mut Outbox) {
        match (self, access) {
            (Stage::BlockArq(bearer), Access::BlockArq(settings)) => {
                let fits = bearer.set_settings(now, settings.get(direction), out);
                debug_assert!(fits, "looked at before");
            }
            (Stage::Link(link), Access::Link(settings)) => link.set_settings(now, settings.get(direction), out),
            (Stage::Umts(umts), Access::Umts(settings)) => umts.set_settings(part, now, settings, out),
            _ => unreachable!("a bearer has the type of its access"),
        }
    }

    /// Changes how the terminal of a part stands in the cell; nothing to those that know no cell.
    pub fn set_radio(&mut self, part: u16, now: Time, radio: RadioSettings, out: &mut Outbox) {
        if let Stage::Umts(umts) = self {
            umts.set_radio(part, now, radio, out);
        }
    }

    /// Lets a part begin no transmission until [`release`](Stage::release); a running one ends.
    pub fn hold(&mut self, part: u16, now: Time, out: &mut Outbox) {
        match self {
            Stage::Link(link) => link.hold(now, out),
            Stage::BlockArq(bearer) => bearer.hold(out),
            Stage::Umts(umts) => umts.hold(part, out),
            Stage::Faults(_) => unreachable!("faults do not transmit"),
        }
    }

    /// Lets a part transmit again.
    pub fn release(&mut self, part: u16, now: Time, out: &mut Outbox) {
        match self {
            Stage::Link(link) => link.release(now, out),
            Stage::BlockArq(bearer) => bearer.release(now, out),
            Stage::Umts(umts) => umts.release(part, now, out),
            Stage::Faults(_) => unreachable!("faults do not transmit"),
        }
    }

    /// Makes a part hand back all that it holds, in the order it entered.
    pub fn flush(&mut self, part: u16, now: Time, out: &mut Outbox) {
        match self {
            Stage::Link(link) => link.flush(now, out),
            Stage::BlockArq(bearer) => bearer.flush(out),
            Stage::Umts(umts) => umts.flush(part, now, out),
            Stage::Faults(faults) => faults.flush(out),
        }
    }

    /// What went through a part.
    pub fn traffic(&self, part: u16) -> Traffic {
        match self {
            Stage::Link(link) => *link.traffic(),
            Stage::Faults(faults) => *faults.traffic(),
            Stage::BlockArq(bearer) => *bearer.traffic(),
            Stage::Umts(umts) => umts.traffic(part),
        }
    }

    /// How many blocks that took; none for stages that do not send blocks.
    pub fn blocks(&self, part: u16) -> Option<&Blocks> {
        match self {
            Stage::BlockArq(bearer) => Some(bearer.blocks()),
            Stage::Umts(umts) => Some(umts.blocks(part)),
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
