//! ATP, a selectively reliable transport for objects with deadlines (Gurtov, P9 III; thesis, section 5.4).
//!
//! The paper sketches it and leaves much open; what was decided stands where it is done. [`sender`] cuts objects into
//! fragments and keeps them until they are acknowledged, late or given up; [`receiver`] puts them together and acknowledges with
//! a vector of packets.

pub mod receiver;
pub mod sender;
pub mod settings;

mod endpoint;

pub use endpoint::Atp;
