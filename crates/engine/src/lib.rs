//! The engine: time, units, packets, random streams, the event calendar and the World that drives machines.
//!
//! Nothing here knows a protocol. A machine (see [`machine::Machine`]) is given the time and an input and
//! answers through an [`machine::Outbox`]; a [`world::World`] wires machines together and is driven either
//! in virtual time or by a clock, through the same four doors.

pub mod calendar;
pub mod directions;
pub mod distribution;
pub mod fact;
pub mod machine;
pub mod packet;
pub mod random;
pub mod stream;
pub mod text;
pub mod time;
pub mod units;
pub mod world;
