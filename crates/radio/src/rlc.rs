//! Radio Link Control, TS 25.322.
//!
//! [`pdu`] is the PDUs as bits.

pub mod pdu;
