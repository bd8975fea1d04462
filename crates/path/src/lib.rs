//! The wired parts of a path: links with their queues, scripted faults, and the [`errors`] of links and radio bearers.
//!
//! Every stage carries packets in one direction, from its port 0 to its port 0. What it holds when its terminal
//! leaves comes back through its port 1, [`HANDED_BACK`].

use cellwind_engine::machine::Port;

pub mod errors;
pub mod faults;
pub mod link;
pub mod meter;
pub mod settings;
mod text;
pub mod traffic;

/// The port through which a stage hands back what it holds, undelivered.
pub const HANDED_BACK: Port = Port(1);

#[cfg(test)]
mod testkit;
