//! The AMD PDU, TS 25.322 §9.2.1.4.

use super::bits::{Reader, Writer};
use super::indicator::{self, Behind, Indicator, IndicatorSize, Mode};
use super::{EmitError, ParseError, STATUS, Status};

/// An acknowledged-mode data PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amd<'a> {
    /// Sequence number, 12 bits.
    pub sn: u16,
    /// Whether the peer is asked for a status report.
    pub poll: bool,
    /// Where SDUs end.
    pub indicators: Vec<Indicator>,
    /// Octets of SDUs.
    pub data: &'a [u8],
    /// What lies behind the data.
    pub tail: Tail,
}

/// What ends an AMD PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Data up to the last octet.
    Data,
    /// Data up to the last octet, which is the last one of an SDU, as the special value of HE tells (§9.2.2.7).
    SduEnd,
    /// Padding, of any length.
    Padding,
    /// A piggybacked STATUS PDU, and padding if there is room.
    Status(Status),
}

/// Values of the header extension type (§9.2.2.7).
const HE_DATA: u32 = 0b00;
const HE_INDICATOR: u32 = 0b01;
const HE_SDU_END: u32 = 0b10;

impl<'a> Amd<'a> {
    /// Reads what follows the D/C bit.
    pub(super) fn read(mut reader: Reader<'a>, size: IndicatorSize) -> Result<Self, ParseError> {
        let sn = reader.take_u16(12)?;
        let poll = reader.take(1)? == 1;
        let extension = reader.take(2)?;
        let (indicators, behind) = match extension {
            HE_DATA | HE_SDU_END => (Vec::new(), Behind::Nothing),
            HE_INDICATOR => indicator::read(&mut reader, size, Mode::Am)?,
            _ => return Err(ParseError::HeaderExtension),
        };
        let (data, rest) = indicator::divide(reader.rest(), &indicators, behind, size)?;
        let tail = match behind {
            Behind::Nothing if extension == HE_SDU_END => Tail::SduEnd,
            Behind::Nothing => Tail::Data,
            Behind::Padding => Tail::Padding,
            Behind::Status => Tail::Status(piggybacked(rest)?),
        };
        Ok(Amd { sn, poll, indicators, data, tail })
    }

    /// Writes what follows the D/C bit.
    pub(super) fn write(&self, writer: &mut Writer, size: IndicatorSize, octets: usize) -> Result<(), EmitError> {
        let behind = match self.tail {
            Tail::Data | Tail::SduEnd => Behind::Nothing,
            Tail::Padding => Behind::Padding,
            Tail::Status(_) => Behind::Status,
        };
        let extension = match self.tail {
            Tail::SduEnd if !self.indicators.is_empty() => return Err(EmitError::Field("indicators")),
            Tail::SduEnd => HE_SDU_END,
            Tail::Data if self.indicators.is_empty() => HE_DATA,
            _ => HE_INDICATOR,
        };
        writer.put_field("sn", u32::from(self.sn), 12)?;
        writer.put(u32::from(self.poll), 1);
        writer.put(extension, 2);
        indicator::write(writer, &self.indicators, self.data, behind, (size, Mode::Am), octets)?;
        if let Tail::Status(status) = &self.tail {
            // §9.2.1.6: a reserved bit of zero stands for D/C.
            writer.put(0, 1);
            writer.put(STATUS, 3);
            status.write_into(writer, octets)?;
        }
        Ok(())
    }
}

/// Reads the STATUS PDU behind the data.
fn piggybacked(octets: &[u8]) -> Result<Status, ParseError> {
    let mut reader = Reader::new(octets);
    if reader.take(1)? != 0 {
        return Err(ParseError::ReservedBits);
    }
    match reader.take(3)? {
        STATUS => Status::read(&mut reader),
        other => Err(ParseError::Piggybacked(other as u8)),
    }
}
