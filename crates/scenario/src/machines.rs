//! The machines a World can be made of, as one enum: dispatch is a `match`.

use cellwind_engine::machine::{Machine, Outbox, Port};
use cellwind_engine::packet::Packet;
use cellwind_engine::time::Time;
use cellwind_path::meter::Meter;
use cellwind_path::traffic::Traffic;
use cellwind_radio::access::Stage;
use cellwind_radio::handover::Handover;
use cellwind_transport::application::End;
use cellwind_transport::bulk::{Sink, Source};

/// Any machine of a scenario.
// Boxing the larger ones would cost an indirection per event to save memory that nobody misses.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum AnyMachine {
    /// Sending end of a flow.
    Source(Source),
    /// Receiving end of a flow.
    Sink(Sink),
    /// One end of an application.
    Application(End),
    /// A link, a radio access, or what stands behind one.
    Stage(Stage),
    /// One direction of the switch between the accesses of a terminal.
    Handover(Handover),
    /// A count of what a terminal was delivered.
    Meter(Meter),
}

/// Calls the same method of whichever machine it is.
macro_rules! each {
    ($self:ident, $machine:ident => $call:expr) => {
        match $self {
            AnyMachine::Source($machine) => $call,
            AnyMachine::Sink($machine) => $call,
            AnyMachine::Application($machine) => $call,
            AnyMachine::Stage($machine) => $call,
            AnyMachine::Handover($machine) => $call,
            AnyMachine::Meter($machine) => $call,
        }
    };
}

impl Machine for AnyMachine {
    #[inline]
    fn on_packet(&mut self, now: Time, port: Port, packet: &Packet, out: &mut Outbox) {
        each!(self, machine => machine.on_packet(now, port, packet, out))
    }

    #[inline]
    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        each!(self, machine => machine.on_timeout(now, out))
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        each!(self, machine => machine.next_timeout())
    }
}

impl AnyMachine {
    /// Checks the machine's invariants.
    pub fn check(&self) -> Result<(), String> {
        match self {
            AnyMachine::Source(source) => source.sender().check(),
            AnyMachine::Sink(sink) => sink.receiver().check(),
            AnyMachine::Application(end) => end.check(),
            AnyMachine::Stage(stage) => stage.check(),
            AnyMachine::Handover(switch) => switch.check(),
            AnyMachine::Meter(_) => Ok(()),
        }
    }

    /// What went through a part, for what stands between the ends of a path.
    pub fn traffic(&self, part: u16) -> Option<Traffic> {
        match self {
            AnyMachine::Source(_) | AnyMachine::Sink(_) | AnyMachine::Application(_) | AnyMachine::Meter(_) => None,
            AnyMachine::Stage(stage) => Some(stage.traffic(part)),
            AnyMachine::Handover(switch) => Some(*switch.traffic()),
        }
    }

    /// The machine as a stage of the path, to change.
    pub(crate) fn stage_mut(&mut self) -> &mut Stage {
        match self {
            AnyMachine::Stage(stage) => stage,
            _ => unreachable!("the builder put a stage there"),
        }
    }
}
