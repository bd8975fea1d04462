//! The UMD PDU, TS 25.322 §9.2.1.3.

use super::bits::{Reader, Writer};
use super::indicator::{self, Behind, Indicator, IndicatorSize, Mode};
use super::{EmitError, ParseError};

/// An unacknowledged-mode data PDU.
///
/// Without indicators it is a part of an SDU or, where the alternative interpretation of the extension bit is
/// configured (§9.2.2.5), a whole one; the bits are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Umd<'a> {
    /// Sequence number, 7 bits.
    pub sn: u8,
    /// Where SDUs end.
    pub indicators: Vec<Indicator>,
    /// Octets of SDUs.
    pub data: &'a [u8],
    /// Whether an indicator tells that padding, of any length, follows the data.
    pub padding: bool,
}

impl<'a> Umd<'a> {
    /// Reads a PDU whose length indicators are of `size`.
    pub fn parse(octets: &'a [u8], size: IndicatorSize) -> Result<Self, ParseError> {
        let mut reader = Reader::new(octets);
        let sn = reader.take(7)? as u8;
        let (indicators, behind) = match reader.take(1)? {
            0 => (Vec::new(), Behind::Nothing),
            _ => indicator::read(&mut reader, size, Mode::Um)?,
        };
        let (data, _) = indicator::divide(reader.rest(), &indicators, behind, size)?;
        Ok(Umd { sn, indicators, data, padding: behind == Behind::Padding })
    }

    /// Writes a PDU of `octets`, padding included, with length indicators of `size`.
    pub fn emit(&self, size: IndicatorSize, octets: usize) -> Result<Vec<u8>, EmitError> {
        let behind = if self.padding { Behind::Padding } else { Behind::Nothing };
        let mut writer = Writer::new();
        writer.put_field("sn", u32::from(self.sn), 7)?;
        writer.put(u32::from(self.padding || !self.indicators.is_empty()), 1);
        indicator::write(&mut writer, &self.indicators, self.data, behind, (size, Mode::Um), octets)?;
        writer.fill(octets)
    }
}
