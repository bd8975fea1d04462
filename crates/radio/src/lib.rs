//! Radio accesses, and moving between them.
//!
//! [`access`] lists the accesses there are, and says what the rest of the house may ask of each.
//! [`block_arq`] is the acknowledged-mode RLC of TS 25.322 reduced to its effect on packets, after Lundsten.
//! [`handover`] leads a terminal's packets from one access into another.
//! [`umts`] is the UMTS access, which puts [`rlc`] (Radio Link Control), [`pdcp`] (header compression), [`mac`] (Medium
//! Access Control) and [`rrc`] (Radio Resource Control) together.

pub mod access;
pub mod block_arq;
pub mod blocks;
pub mod handover;
pub mod mac;
pub mod pdcp;
pub mod rlc;
pub mod rrc;
pub mod settings;
mod text;
pub mod umts;
