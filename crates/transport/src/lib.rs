//! Transports and the applications above them.
//!
//! [`tcp`] follows RFC 9293, 5681, 6298, 6582, 6675, 2018, 2883, 3042, 3390, 6928 and 7323; each file names
//! its clauses. [`udp`] is RFC 768. [`carrier`] is what applications see of a transport. [`application`] is
//! what flows carry, and [`bulk`] the one-way path of a file download.

pub mod application;
pub mod atp;
pub mod bulk;
pub mod carrier;
mod farewell;
pub mod tcp;
pub mod tfrc;
pub mod udp;
