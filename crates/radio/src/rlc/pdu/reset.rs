//! The RESET and RESET ACK PDUs, TS 25.322 §9.2.1.7.

use super::bits::{Reader, Writer};
use super::{EmitError, ParseError};

/// What a RESET PDU says, and the RESET ACK PDU that answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    /// Reset sequence number, one bit, by which an answer finds its question.
    pub rsn: bool,
    /// Hyper frame number, 20 bits.
    pub hfni: u32,
}

impl Reset {
    /// Reads what follows the PDU type.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let rsn = reader.take(1)? == 1;
        if reader.take(3)? != 0 {
            return Err(ParseError::ReservedBits);
        }
        Ok(Reset { rsn, hfni: reader.take(20)? })
    }

    /// Writes what follows the PDU type.
    pub(super) fn write(&self, writer: &mut Writer) -> Result<(), EmitError> {
        writer.put(u32::from(self.rsn), 1);
        writer.put(0, 3);
        writer.put_field("hfni", self.hfni, 20)
    }
}
