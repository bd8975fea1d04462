//! The STATUS PDU and its super-fields, TS 25.322 §9.2.1.5 and §9.2.2.11.

use super::bits::{Reader, Writer};
use super::{EmitError, ParseError, RelativeList};

/// Super-fields, of its own or piggybacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The super-fields before the last.
    pub fields: Vec<SuperField>,
    /// What ends them; behind it all is padding.
    pub end: StatusEnd,
}

/// What ends a STATUS PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusEnd {
    /// No More Data.
    NoMore,
    /// Nothing, as the super-fields fill the PDU to its last bit (§11.5.2.2).
    Full,
    /// Acknowledges all AMD PDUs below this sequence number that no other super-field tells erroneous (LSN).
    Ack(u16),
}

/// Another super-field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuperField {
    /// The transmission window that the peer is to use (WSN); a zero is to be ignored.
    Window(u16),
    /// One to fifteen pairs: an erroneous AMD PDU, and how many consecutive ones behind it are too, at most fifteen.
    List(Vec<(u16, u8)>),
    /// What was received from `first` on (FSN), a bit for each AMD PDU, the most significant one of an octet first.
    Bitmap {
        /// Sequence number of the first bit.
        first: u16,
        /// One to sixteen octets.
        bits: Vec<u8>,
    },
    /// Erroneous AMD PDUs by their distances.
    RelativeList(RelativeList),
    /// Asks the peer to move its reception window.
    MoveReceivingWindow {
        /// AMD PDUs in which discarded SDUs end, one to fifteen (SN_MRW).
        sns: Vec<u16>,
        /// Whether the one discarded SDU extends above the transmission window.
        beyond_window: bool,
        /// Which length indicator of the last of these PDUs ends the last discarded SDU; 0: it ends with the PDU before.
        n: u8,
    },
    /// Acknowledges a request to move the reception window.
    MoveReceivingWindowAck {
        /// The number from the request, or 0 when the window moved further.
        n: u8,
        /// The lower edge of the window now, VR(R).
        sn: u16,
    },
    /// Asks for a status report; the highest sequence number sent.
    Poll(u16),
}

/// Types of super-fields (§9.2.2.11).
const NO_MORE: u32 = 0b0000;
const WINDOW: u32 = 0b0001;
const ACK: u32 = 0b0010;
const LIST: u32 = 0b0011;
const BITMAP: u32 = 0b0100;
const RELATIVE_LIST: u32 = 0b0101;
const MRW: u32 = 0b0110;
const MRW_ACK: u32 = 0b0111;
const POLL: u32 = 0b1000;

impl Status {
    /// Octets of the PDU without padding; `None` for what cannot be written.
    pub fn octets(&self) -> Option<usize> {
        let mut writer = Writer::new();
        writer.put(0, 4);
        self.write(&mut writer).ok()?;
        (self.end != StatusEnd::Full || writer.is_whole()).then_some(writer.octets())
    }

    /// Reads what follows the PDU type.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let mut fields = Vec::new();
        let end = loop {
            if !fields.is_empty() && reader.is_at_end() {
                break StatusEnd::Full;
            }
            match reader.take(4)? {
                NO_MORE => break StatusEnd::NoMore,
                ACK => break StatusEnd::Ack(reader.take_u16(12)?),
                kind => fields.push(SuperField::read(reader, kind)?),
            }
        };
        Ok(Status { fields, end })
    }

    /// Writes what follows the PDU type, for a PDU of `octets`.
    pub(super) fn write_into(&self, writer: &mut Writer, octets: usize) -> Result<(), EmitError> {
        self.write(writer)?;
        let is_full = writer.is_whole() && writer.octets() >= octets;
        if self.end == StatusEnd::Full && !is_full { Err(EmitError::UnmarkedPadding) } else { Ok(()) }
    }

    fn write(&self, writer: &mut Writer) -> Result<(), EmitError> {
        for field in &self.fields {
            field.write(writer)?;
        }
        match self.end {
            StatusEnd::NoMore => writer.put(NO_MORE, 4),
            StatusEnd::Full => {}
            StatusEnd::Ack(lsn) => {
                writer.put(ACK, 4);
                writer.put_field("lsn", u32::from(lsn), 12)?;
            }
        }
        Ok(())
    }
}

impl SuperField {
    fn read(reader: &mut Reader<'_>, kind: u32) -> Result<Self, ParseError> {
        match kind {
            WINDOW => Ok(SuperField::Window(reader.take_u16(12)?)),
            LIST => {
                let length = reader.take(4)?;
                if length == 0 {
                    return Err(ParseError::EmptyList);
                }
                let pairs = (0..length).map(|_| Ok((reader.take_u16(12)?, reader.take(4)? as u8)));
                Ok(SuperField::List(pairs.collect::<Result<_, _>>()?))
            }
            BITMAP => {
                let octets = reader.take(4)? + 1;
                let first = reader.take_u16(12)?;
                let bits = (0..octets).map(|_| Ok(reader.take(8)? as u8)).collect::<Result<_, _>>()?;
                Ok(SuperField::Bitmap { first, bits })
            }
            RELATIVE_LIST => {
                let length = reader.take(4)?;
                let first = reader.take_u16(12)?;
                let words: Vec<u8> = (0..length).map(|_| Ok(reader.take(4)? as u8)).collect::<Result<_, _>>()?;
                Ok(SuperField::RelativeList(RelativeList::from_code_words(first, &words)?))
            }
            MRW => {
                let length = reader.take(4)?;
                let sns = (0..length.max(1)).map(|_| reader.take_u16(12)).collect::<Result<_, _>>()?;
                // §9.2.2.11.8: a length of zero is one SDU that extends above the window.
                Ok(SuperField::MoveReceivingWindow { sns, beyond_window: length == 0, n: reader.take(4)? as u8 })
            }
            MRW_ACK => Ok(SuperField::MoveReceivingWindowAck { n: reader.take(4)? as u8, sn: reader.take_u16(12)? }),
            POLL => Ok(SuperField::Poll(reader.take_u16(12)?)),
            reserved => Err(ParseError::SuperField(reserved as u8)),
        }
    }

    fn write(&self, writer: &mut Writer) -> Result<(), EmitError> {
        match self {
            SuperField::Window(wsn) => {
                writer.put(WINDOW, 4);
                writer.put_field("window", u32::from(*wsn), 12)
            }
            SuperField::List(pairs) => {
                writer.put(LIST, 4);
                put_length(writer, "list", pairs.len(), 1..=15, 0)?;
                for &(sn, more) in pairs {
                    writer.put_field("list", u32::from(sn), 12)?;
                    writer.put_field("list", u32::from(more), 4)?;
                }
                Ok(())
            }
            SuperField::Bitmap { first, bits } => {
                writer.put(BITMAP, 4);
                put_length(writer, "bits", bits.len(), 1..=16, 1)?;
                writer.put_field("first", u32::from(*first), 12)?;
                bits.iter().for_each(|&octet| writer.put(u32::from(octet), 8));
                Ok(())
            }
            SuperField::RelativeList(list) => {
                let words = list.code_words()?;
                writer.put(RELATIVE_LIST, 4);
                writer.put(words.len() as u32, 4);
                writer.put_field("first", u32::from(list.first), 12)?;
                words.iter().for_each(|&word| writer.put(u32::from(word), 4));
                Ok(())
            }
            SuperField::MoveReceivingWindow { sns, beyond_window, n } => {
                let most = if *beyond_window { 1 } else { 15 };
                writer.put(MRW, 4);
                put_length(writer, "sns", sns.len(), 1..=most, usize::from(*beyond_window))?;
                for &sn in sns {
                    writer.put_field("sns", u32::from(sn), 12)?;
                }
                writer.put_field("n", u32::from(*n), 4)
            }
            SuperField::MoveReceivingWindowAck { n, sn } => {
                writer.put(MRW_ACK, 4);
                writer.put_field("n", u32::from(*n), 4)?;
                writer.put_field("sn", u32::from(*sn), 12)
            }
            SuperField::Poll(sn) => {
                writer.put(POLL, 4);
                writer.put_field("poll", u32::from(*sn), 12)
            }
        }
    }
}

/// Puts a LENGTH of four bits, which counts from `less` on.
fn put_length(
    writer: &mut Writer,
    name: &'static str,
    length: usize,
    allowed: std::ops::RangeInclusive<usize>,
    less: usize,
) -> Result<(), EmitError> {
    if !allowed.contains(&length) {
        return Err(EmitError::Field(name));
    }
    writer.put((length - less) as u32, 4);
    Ok(())
}
