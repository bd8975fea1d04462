//! The TMD PDU, TS 25.322 §9.2.1.2.

use super::{EmitError, ParseError};

/// A transparent-mode data PDU, which is an SDU or a part of one and nothing else.
///
/// differs: whole octets, as packets are; the specification allows any number of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tmd<'a> {
    /// Octets of an SDU.
    pub data: &'a [u8],
}

impl<'a> Tmd<'a> {
    /// Takes the octets for data.
    pub fn parse(octets: &'a [u8]) -> Result<Self, ParseError> {
        // §9.2.1.1: SDUs are of any length but null.
        if octets.is_empty() { Err(ParseError::TooShort) } else { Ok(Tmd { data: octets }) }
    }

    /// The octets of the PDU.
    pub fn emit(&self) -> Result<Vec<u8>, EmitError> {
        if self.data.is_empty() { Err(EmitError::Field("data")) } else { Ok(self.data.to_vec()) }
    }
}
