//! Length indicators, TS 25.322 §9.2.2.8, and the data that they divide.

use super::bits::{Reader, Writer};
use super::{EmitError, ParseError};

/// The size of an entity's length indicators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndicatorSize {
    /// Seven bits and the extension bit.
    Seven,
    /// Fifteen bits and the extension bit.
    Fifteen,
}

impl IndicatorSize {
    /// The size for AMD PDUs of `octets`.
    pub fn of_amd(octets: usize) -> Self {
        // TS 25.322 §9.2.2.8: up to 126 octets seven bits.
        if octets <= 126 { IndicatorSize::Seven } else { IndicatorSize::Fifteen }
    }

    /// The size for UMD PDUs of at most `octets`.
    pub fn of_umd(octets: usize) -> Self {
        // TS 25.322 §9.2.2.8: up to 125 octets seven bits in the uplink; the network, which chooses for itself in the
        // downlink, does the same here.
        if octets <= 125 { IndicatorSize::Seven } else { IndicatorSize::Fifteen }
    }

    /// Octets that one indicator takes.
    pub fn octets(self) -> usize {
        (self.bits() + 1) / 8
    }

    fn bits(self) -> usize {
        match self {
            IndicatorSize::Seven => 7,
            IndicatorSize::Fifteen => 15,
        }
    }

    /// The indicator of all ones, below which the other predefined ones lie.
    fn ones(self) -> u16 {
        (1 << self.bits()) - 1
    }
}

/// A length indicator other than those that say what follows the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indicator {
    /// An SDU ends with this number of octets of the data.
    End(u16),
    /// The PDU before was exactly filled by the end of an SDU: `0`.
    PreviousEnded,
    /// The end of an SDU left one octet of the PDU before, which is to be ignored: `111111111111011`.
    PreviousEndedShort,
    /// UM: the data begins with an SDU: `…100`.
    Begins,
    /// UM: the data is one whole SDU: `…101`.
    Whole,
    /// UM: the data is one whole SDU, behind which one octet is to be ignored: `111111111111010`.
    WholeShort,
    /// UM: the data is a part of an SDU, but neither its beginning nor its end: `…110`.
    Middle,
}

/// What lies behind the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    /// Data up to the end.
    Nothing,
    Padding,
    /// AM: a piggybacked STATUS PDU.
    Status,
}

/// The two PDUs that have length indicators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Am,
    Um,
}

/// An indicator as it is read, before it is known to be in its place.
enum Read {
    Of(Indicator),
    Last(Behind),
}

/// Reads indicators up to the one whose extension bit says that it is the last.
pub(super) fn read(
    reader: &mut Reader<'_>,
    size: IndicatorSize,
    mode: Mode,
) -> Result<(Vec<Indicator>, Behind), ParseError> {
    let mut indicators: Vec<Indicator> = Vec::new();
    loop {
        let value = reader.take_u16(size.bits())?;
        let is_last = reader.take(1)? == 0;
        match meaning(value, size, mode)? {
            Read::Last(behind) if is_last => return Ok((indicators, behind)),
            // §9.2.2.8: what refers to padding stands behind all other indicators.
            Read::Last(_) => return Err(ParseError::MisplacedIndicator(value)),
            Read::Of(indicator) => {
                follows(&indicators, indicator).map_err(|fault| match fault {
                    Fault::Place => ParseError::MisplacedIndicator(value),
                    Fault::Order => ParseError::IndicatorOrder(value),
                })?;
                indicators.push(indicator);
            }
        }
        if is_last {
            return Ok((indicators, Behind::Nothing));
        }
    }
}

fn meaning(value: u16, size: IndicatorSize, mode: Mode) -> Result<Read, ParseError> {
    let is_fifteen = size == IndicatorSize::Fifteen;
    let below = size.ones() - value;
    let indicator = match (below, mode) {
        (0, _) => return Ok(Read::Last(Behind::Padding)),
        (1, Mode::Am) => return Ok(Read::Last(Behind::Status)),
        (1, Mode::Um) => Indicator::Middle,
        (2, Mode::Um) => Indicator::Whole,
        (3, Mode::Um) => Indicator::Begins,
        (4, _) if is_fifteen => Indicator::PreviousEndedShort,
        (5, Mode::Um) if is_fifteen => Indicator::WholeShort,
        (2 | 3, Mode::Am) => return Err(ParseError::ReservedIndicator(value)),
        (5, Mode::Am) if is_fifteen => return Err(ParseError::ReservedIndicator(value)),
        _ if value == 0 => Indicator::PreviousEnded,
        _ => Indicator::End(value),
    };
    Ok(Read::Of(indicator))
}

enum Fault {
    Place,
    Order,
}

/// Whether `next` may stand behind `indicators`.
fn follows(indicators: &[Indicator], next: Indicator) -> Result<(), Fault> {
    if indicators.first().is_some_and(stands_alone) {
        return Err(Fault::Place);
    }
    match next {
        // An SDU has at least one octet (§9.2.1.1), so that indicators grow.
        Indicator::End(octets) if usize::from(octets) <= end(indicators) => Err(Fault::Order),
        Indicator::End(_) => Ok(()),
        // §9.2.2.8: the others speak of the beginning of the data.
        _ if indicators.is_empty() => Ok(()),
        _ => Err(Fault::Place),
    }
}

/// Octets of the data up to the end of the last SDU that ends in it.
fn end(indicators: &[Indicator]) -> usize {
    match indicators.last() {
        Some(&Indicator::End(octets)) => usize::from(octets),
        _ => 0,
    }
}

/// Divides what follows the indicators into data and what lies behind it.
pub(super) fn divide<'a>(
    body: &'a [u8],
    indicators: &[Indicator],
    behind: Behind,
    size: IndicatorSize,
) -> Result<(&'a [u8], &'a [u8]), ParseError> {
    let end = end(indicators);
    if end > body.len() {
        return Err(ParseError::IndicatorBeyondPdu(end as u16));
    }
    if behind != Behind::Nothing {
        return if indicators.iter().any(stands_alone) {
            Err(ParseError::MisplacedIndicator(size.ones()))
        } else {
            Ok(body.split_at(end))
        };
    }
    let ignored = usize::from(leaves_an_octet(body.len(), indicators, size));
    if body.len() <= ignored {
        return Err(ParseError::TooShort);
    }
    Ok(body.split_at(body.len() - ignored))
}

/// Whether nothing can follow, as the indicator speaks of data that fills the PDU.
fn stands_alone(indicator: &Indicator) -> bool {
    matches!(indicator, Indicator::Whole | Indicator::WholeShort | Indicator::Middle)
}

/// Whether the last of `octets` behind the indicators is to be ignored without anything that marks it.
fn leaves_an_octet(octets: usize, indicators: &[Indicator], size: IndicatorSize) -> bool {
    match indicators.last() {
        // §9.2.2.8: one octet behind the end of an SDU is too little for an indicator of fifteen bits and is padding.
        Some(&Indicator::End(end)) => size == IndicatorSize::Fifteen && usize::from(end) + 1 == octets,
        Some(Indicator::WholeShort) => true,
        _ => false,
    }
}

/// Writes indicators and data into a PDU of `octets`.
pub(super) fn write(
    writer: &mut Writer,
    indicators: &[Indicator],
    data: &[u8],
    behind: Behind,
    (size, mode): (IndicatorSize, Mode),
    octets: usize,
) -> Result<(), EmitError> {
    let wrong = EmitError::Field("indicators");
    for (index, &indicator) in indicators.iter().enumerate() {
        follows(&indicators[..index], indicator).map_err(|_| wrong)?;
        let is_last = index + 1 == indicators.len() && behind == Behind::Nothing;
        let value = value(indicator, size);
        // What stands for something else in this mode or size would be read as that.
        if !matches!(meaning(value, size, mode), Ok(Read::Of(read)) if read == indicator) {
            return Err(wrong);
        }
        put(writer, value, is_last, size);
    }
    let behind_value = match behind {
        Behind::Nothing => None,
        Behind::Padding => Some(size.ones()),
        Behind::Status => Some(size.ones() - 1),
    };
    if let Some(value) = behind_value {
        if indicators.iter().any(stands_alone) {
            return Err(wrong);
        }
        put(writer, value, true, size);
    }
    let needs = writer.octets() + data.len();
    if needs > octets {
        return Err(EmitError::TooLong { needs, octets });
    }
    let end = end(indicators);
    match behind {
        Behind::Nothing => {
            let room = octets - writer.octets();
            if data.is_empty() || data.len() < end {
                return Err(EmitError::Field("data"));
            }
            if data.len() != room - usize::from(leaves_an_octet(room, indicators, size)) {
                return Err(EmitError::UnmarkedPadding);
            }
        }
        Behind::Padding | Behind::Status if data.len() != end => return Err(EmitError::Field("data")),
        Behind::Padding | Behind::Status => {}
    }
    writer.put_octets(data);
    Ok(())
}

fn put(writer: &mut Writer, value: u16, is_last: bool, size: IndicatorSize) {
    writer.put(u32::from(value), size.bits());
    writer.put(u32::from(!is_last), 1);
}

fn value(indicator: Indicator, size: IndicatorSize) -> u16 {
    let ones = size.ones();
    match indicator {
        Indicator::End(octets) => octets & ones,
        Indicator::PreviousEnded => 0,
        Indicator::PreviousEndedShort => ones - 4,
        Indicator::Begins => ones - 3,
        Indicator::Whole => ones - 2,
        Indicator::WholeShort => ones - 5,
        Indicator::Middle => ones - 1,
    }
}
