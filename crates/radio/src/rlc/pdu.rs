//! The RLC PDUs as bits, TS 25.322 V13.0.0 clause 9.2.
//!
//! A PDU is a plain record. `parse` reads one from octets and never panics; what the specification calls reserved or
//! invalid comes back as a [`ParseError`], as such a PDU is to be discarded (§10.3). `emit` writes one into a PDU of a given
//! size and refuses what cannot be written, so that `parse(emit(x)) == x`. Neither is on the way of a simulated packet:
//! entities hand each other the meaning, and a test shows that the bits say the same.

use std::error::Error;
use std::fmt;

pub use amd::{Amd, Tail};
pub use indicator::{Indicator, IndicatorSize};
pub use relative_list::{RelativeList, Run, Step};
pub use reset::Reset;
pub use status::{Status, StatusEnd, SuperField};
pub use tmd::Tmd;
pub use umd::Umd;

use bits::{Reader, Writer};

mod amd;
mod bits;
mod indicator;
mod relative_list;
mod reset;
mod status;
#[cfg(test)]
mod tests;
mod tmd;
mod umd;

/// One more than the largest sequence number of an AMD PDU (§9.2.2.3).
pub const AM_MODULUS: u16 = 1 << 12;
/// One more than the largest sequence number of a UMD PDU (§9.2.2.3).
pub const UM_MODULUS: u8 = 1 << 7;

/// PDU types of control PDUs (§9.2.2.2).
const STATUS: u32 = 0b000;
const RESET: u32 = 0b001;
const RESET_ACK: u32 = 0b010;

/// What two acknowledged-mode entities send each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AmPdu<'a> {
    /// User data, with or without a piggybacked STATUS PDU.
    Data(Amd<'a>),
    /// A STATUS PDU of its own.
    Status(Status),
    /// Asks the peer to reset.
    Reset(Reset),
    /// Answers a RESET PDU.
    ResetAck(Reset),
}

impl<'a> AmPdu<'a> {
    /// Reads a PDU whose length indicators are of `size`.
    pub fn parse(octets: &'a [u8], size: IndicatorSize) -> Result<Self, ParseError> {
        let mut reader = Reader::new(octets);
        // §9.2.2.1: the first bit tells data from control.
        if reader.take(1)? == 1 {
            return Ok(AmPdu::Data(Amd::read(reader, size)?));
        }
        match reader.take(3)? {
            STATUS => Ok(AmPdu::Status(Status::read(&mut reader)?)),
            RESET => Ok(AmPdu::Reset(Reset::read(&mut reader)?)),
            RESET_ACK => Ok(AmPdu::ResetAck(Reset::read(&mut reader)?)),
            reserved => Err(ParseError::ControlType(reserved as u8)),
        }
    }

    /// Writes a PDU of `octets`, padding included, with length indicators of `size`.
    pub fn emit(&self, size: IndicatorSize, octets: usize) -> Result<Vec<u8>, EmitError> {
        let mut writer = Writer::new();
        writer.put(u32::from(matches!(self, AmPdu::Data(_))), 1);
        match self {
            AmPdu::Data(data) => data.write(&mut writer, size, octets)?,
            AmPdu::Status(status) => {
                writer.put(STATUS, 3);
                status.write_into(&mut writer, octets)?;
            }
            AmPdu::Reset(reset) => {
                writer.put(RESET, 3);
                reset.write(&mut writer)?;
            }
            AmPdu::ResetAck(reset) => {
                writer.put(RESET_ACK, 3);
                reset.write(&mut writer)?;
            }
        }
        writer.fill(octets)
    }
}

/// Why octets are no PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The PDU ends within a field, or has nothing where data must be.
    TooShort,
    /// A control PDU of a reserved type (§9.2.2.2).
    ControlType(u8),
    /// A header extension type of `11` (§9.2.2.7).
    HeaderExtension,
    /// Reserved bits that are not zero (§9.2.2.6, §9.2.2.12).
    ReservedBits,
    /// A length indicator reserved in this mode (§9.2.2.8).
    ReservedIndicator(u16),
    /// A predefined length indicator where its meaning has no place (§9.2.2.8).
    MisplacedIndicator(u16),
    /// A length indicator that does not lie behind the one before it.
    IndicatorOrder(u16),
    /// A length indicator that points behind the end of the PDU.
    IndicatorBeyondPdu(u16),
    /// A super-field of a reserved type (§9.2.2.11).
    SuperField(u8),
    /// A piggybacked control PDU other than STATUS (§9.2.1.6).
    Piggybacked(u8),
    /// A LIST of nothing (§9.2.2.11.4).
    EmptyList,
    /// Code words that do not end with a number, or a number that is none (§9.2.2.11.6).
    CodeWords,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::TooShort => write!(f, "the PDU ends within a field"),
            ParseError::ControlType(kind) => write!(f, "control PDU type {kind:03b} is reserved"),
            ParseError::HeaderExtension => write!(f, "header extension type 11 is reserved"),
            ParseError::ReservedBits => write!(f, "reserved bits are not zero"),
            ParseError::ReservedIndicator(value) => write!(f, "length indicator {value:#x} is reserved in this mode"),
            ParseError::MisplacedIndicator(value) => {
                write!(f, "length indicator {value:#x} has no meaning in this place")
            }
            ParseError::IndicatorOrder(value) => write!(f, "length indicator {value} is not above the one before it"),
            ParseError::IndicatorBeyondPdu(value) => write!(f, "length indicator {value} points behind the PDU"),
            ParseError::SuperField(kind) => write!(f, "super-field type {kind:04b} is reserved"),
            ParseError::Piggybacked(kind) => write!(f, "a control PDU of type {kind:03b} cannot be piggybacked"),
            ParseError::EmptyList => write!(f, "a LIST of no pairs is invalid"),
            ParseError::CodeWords => write!(f, "the code words of a relative list make no whole numbers"),
        }
    }
}

impl Error for ParseError {}

/// Why a record cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmitError {
    /// The record takes more octets than the PDU has.
    TooLong {
        /// Octets that the record takes.
        needs: usize,
        /// Octets of the PDU.
        octets: usize,
    },
    /// A PDU of another size than its data needs, without anything that would mark padding.
    UnmarkedPadding,
    /// A field has a value that its bits do not hold, or that contradicts another; its name.
    Field(&'static str),
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmitError::TooLong { needs, octets } => write!(f, "{needs} octets do not fit a PDU of {octets}"),
            EmitError::UnmarkedPadding => {
                write!(f, "data does not fill the PDU, and no length indicator marks padding")
            }
            EmitError::Field(name) => write!(f, "{name} is not what the PDU can say"),
        }
    }
}

impl Error for EmitError {}
