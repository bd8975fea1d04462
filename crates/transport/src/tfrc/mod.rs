//! TFRC, TCP-friendly rate control (RFC 5348), without reliability.
//!
//! Start with [`rate`], the sender's half of the control, and [`report`], the receiver's; [`equation`] and [`losses`] are what
//! they compute with.

pub mod equation;
pub mod losses;
pub mod rate;
pub mod report;
pub mod settings;

mod endpoint;

pub use endpoint::Tfrc;
