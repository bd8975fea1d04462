//! The wired parts of a path: links with their queues, and scripted faults.
//!
//! Every stage carries packets in one direction, from its port 0 to its port 0.

pub mod faults;
pub mod link;
pub mod settings;
mod text;
pub mod traffic;

#[cfg(test)]
mod testkit;
