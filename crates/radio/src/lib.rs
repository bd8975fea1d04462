//! Radio accesses, and moving between them.
//!
//! [`access`] lists the accesses there are, and says what the rest of the house may ask of each.
//! [`block_arq`] is the acknowledged-mode RLC of TS 25.322 reduced to its effect on packets, after Lundsten.
//! [`errors`] says which blocks arrive broken.
//! [`handover`] leads a terminal's packets from one access into another.
//! [`mac`] shares a cell's capacity among terminals.
//! [`rlc`] is Radio Link Control, [`pdcp`] the header compression above it.
//! [`rrc`] is Radio Resource Control: the states of a terminal and the channels it has in them.

pub mod access;
pub mod block_arq;
pub mod errors;
pub mod handover;
pub mod mac;
pub mod pdcp;
pub mod rlc;
pub mod rrc;
pub mod settings;
mod text;
