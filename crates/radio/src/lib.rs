//! Radio bearers. Every bearer carries packets in one direction, from its port 0 to its port 0.
//!
//! [`block_arq`] is the acknowledged-mode RLC of TS 25.322 reduced to its effect on packets, after Lundsten.
//! [`handover`] leads a terminal's packets from one access into another.

pub mod block_arq;
pub mod handover;
pub mod settings;
mod text;
