//! TCP (RFC 9293): a reliable core and four replaceable parts.
//!
//! [`sender::Sender`] puts together loss recovery, congestion control, detection of spurious timeouts and
//! the retransmission timer; [`receiver::Receiver`] is the other end. [`connection::Connection`] is an end that does both.

pub mod amount;
pub mod board;
pub mod congestion;
pub mod connection;
pub(crate) mod core;
mod counters;
pub(crate) mod delivery_rate;
pub(crate) mod ecn;
pub(crate) mod options;
pub(crate) mod pacing;
mod persist;
pub mod receiver;
pub(crate) mod recovery;
pub mod rto;
pub mod sender;
pub mod settings;
pub(crate) mod spurious;
mod text;

pub use counters::Counters;
pub use options::payload as payload_of_full_segment;
