//! Live emulation: real packets through the machines that the simulator drives, by the wall clock.
//!
//! This is the one crate that meets the operating system: clocks, file descriptors, namespaces, and the `unsafe` code
//! that some of its calls need. [`emulation`] puts a run together. [`ends`] are the network namespaces at both sides of
//! the path. Between them works the timing thread: [`driver`] waits, with the [`waiter`] and its [`spin`], and
//! [`pump`] carries packets from [`device`] to session and back; [`ip`] and [`segment`] say which ones may enter,
//! [`pool`] holds their bodies, [`lateness`] tells how late they left. What it has to tell goes through the rings of
//! [`log`] to the [`writer`] and its [`spool`] files, and over a [`board`] as [`counts`].

pub mod board;
pub mod clock;
pub mod counts;
pub mod device;
pub mod driver;
pub mod emulation;
pub mod ends;
pub mod ip;
pub mod kernel;
pub mod lateness;
pub mod log;
pub mod mismatch;
pub mod pool;
pub mod pump;
pub mod realtime;
pub mod segment;
pub mod spin;
pub mod spool;
pub mod waiter;
pub mod writer;

#[cfg(test)]
mod testkit;
