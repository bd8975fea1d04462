//! Random PDUs, and arbitrary and damaged octets for the decoders.

use cellwind_engine::random::Stream;
use cellwind_radio::rlc::pdu::{
    AM_MODULUS, AmPdu, Amd, EmitError, Indicator, IndicatorSize, ParseError, RelativeList, Reset, Status, StatusEnd,
    Step, SuperField, Tail, UM_MODULUS, Umd,
};

/// What became of the inputs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Readings of an input, as acknowledged or unacknowledged mode and with either size of indicators, that are a PDU.
    pub accepted: u64,
    /// Readings that are none.
    pub refused: u64,
}

/// Gives the decoders `inputs` arbitrary or damaged inputs; every accepted one, and every random record on the way, must
/// come back from its octets as it was; of an accepted input that is all but its padding.
pub fn run(seed: u64, inputs: u64) -> Result<Tally, String> {
    let mut draw = Draw(Stream::new(seed, 0, "pdus"));
    let mut tally = Tally::default();
    for input in 0..inputs {
        let octets = draw.input().map_err(|why| format!("seed {seed}, input {input}: {why}"))?;
        for size in [IndicatorSize::Seven, IndicatorSize::Fifteen] {
            let accepted = [
                again(&octets, &AmPdu::parse(&octets, size), |pdu, octets| pdu.emit(size, octets)),
                again(&octets, &Umd::parse(&octets, size), |pdu, octets| pdu.emit(size, octets)),
            ];
            for (accepted, kind) in accepted.into_iter().zip(["AM", "UM"]) {
                match accepted {
                    Ok(true) => tally.accepted += 1,
                    Ok(false) => tally.refused += 1,
                    Err(why) => {
                        return Err(format!("seed {seed}, input {input}, {kind}, {size:?}: {why}: {octets:02x?}"));
                    }
                }
            }
        }
    }
    Ok(tally)
}

/// Emits an accepted PDU in the size it had, which must be the same octets but for padding.
fn again<T>(
    octets: &[u8],
    parsed: &Result<T, ParseError>,
    emit: impl Fn(&T, usize) -> Result<Vec<u8>, EmitError>,
) -> Result<bool, String> {
    let Ok(pdu) = parsed else { return Ok(false) };
    let emitted = emit(pdu, octets.len()).map_err(|why| why.to_string())?;
    // Padding is at the end and comes back as zeros: what differs must be that.
    let differs = emitted.iter().zip(octets).position(|(new, old)| new != old).unwrap_or(octets.len());
    let is_padding = emitted[differs..].iter().skip(1).all(|&octet| octet == 0);
    if is_padding { Ok(true) } else { Err(format!("came back as {emitted:02x?}")) }
}

/// Draws PDUs.
struct Draw(Stream);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    fn sn(&mut self) -> u16 {
        self.below(u64::from(AM_MODULUS)) as u16
    }

    fn octets(&mut self, most: u64) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| self.below(256) as u8).collect()
    }

    /// Arbitrary octets, or a random record's with damage.
    fn input(&mut self) -> Result<Vec<u8>, String> {
        if self.below(3) == 0 {
            return Ok(self.octets(60));
        }
        let mut octets = self.record()?;
        for _ in 0..self.below(4) {
            if octets.is_empty() {
                break;
            }
            let at = self.below(octets.len() as u64) as usize;
            match self.below(5) {
                0 => octets[at] ^= 1 << self.below(8),
                1 => octets[at] = self.below(256) as u8,
                2 => octets.truncate(at),
                3 => octets.insert(at, self.below(256) as u8),
                _ => drop(octets.remove(at)),
            }
        }
        Ok(octets)
    }

    /// The octets of a random record, which parse to the same record.
    fn record(&mut self) -> Result<Vec<u8>, String> {
        let size = if self.below(2) == 0 { IndicatorSize::Seven } else { IndicatorSize::Fifteen };
        let data = self.octets(if size == IndicatorSize::Seven { 110 } else { 400 });
        match self.below(5) {
            0 => {
                let reset = Reset { rsn: self.below(2) == 1, hfni: self.below(1 << 20) as u32 };
                let pdu = if self.below(2) == 0 { AmPdu::Reset(reset) } else { AmPdu::ResetAck(reset) };
                self.am(&pdu, size, 4)
            }
            1 => {
                let status = self.status();
                let octets = status.octets().ok_or_else(|| format!("cannot be written: {status:?}"))?;
                self.am(&AmPdu::Status(status), size, octets)
            }
            2 => self.umd(&data, size),
            _ => self.amd(&data, size),
        }
    }

    /// Emits with some padding and parses again.
    fn am(&mut self, pdu: &AmPdu<'_>, size: IndicatorSize, needs: usize) -> Result<Vec<u8>, String> {
        let is_padded = match pdu {
            AmPdu::Data(Amd { tail: Tail::Data | Tail::SduEnd, .. }) => false,
            AmPdu::Data(Amd { tail: Tail::Status(status), .. }) | AmPdu::Status(status) => {
                status.end != StatusEnd::Full
            }
            _ => true,
        };
        let octets = needs + if is_padded { self.below(5) as usize } else { 0 };
        let emitted = pdu.emit(size, octets).map_err(|why| format!("{why}: {pdu:?}"))?;
        match AmPdu::parse(&emitted, size) {
            Ok(parsed) if parsed == *pdu && emitted.len() == octets => Ok(emitted),
            other => Err(format!("{pdu:?} came back as {other:?}")),
        }
    }

    fn amd(&mut self, data: &[u8], size: IndicatorSize) -> Result<Vec<u8>, String> {
        let mut indicators = self.ends(data.len(), size);
        let places = if size == IndicatorSize::Seven { 2 } else { 3 };
        match self.below(places * 2) {
            0 => indicators.insert(0, Indicator::PreviousEnded),
            2 if size == IndicatorSize::Fifteen => indicators.insert(0, Indicator::PreviousEndedShort),
            _ => {}
        }
        let end = end(&indicators);
        let (tail, data) = match self.below(3) {
            0 => (Tail::Padding, &data[..end]),
            1 => (Tail::Status(self.status()), &data[..end]),
            _ if data.is_empty() => (Tail::Padding, data),
            _ if indicators.is_empty() && self.below(2) == 0 => (Tail::SduEnd, data),
            _ => (Tail::Data, data_to_the_end(data, end, size)),
        };
        let behind = match &tail {
            Tail::Data | Tail::SduEnd => 0,
            Tail::Padding => size.octets(),
            Tail::Status(status) => size.octets() + status.octets().expect("it can be written"),
        };
        let needs = 2 + indicators.len() * size.octets() + data.len() + behind;
        let pdu = Amd { sn: self.sn(), poll: self.below(2) == 1, indicators, data, tail };
        self.am(&AmPdu::Data(pdu), size, needs)
    }

    fn umd(&mut self, data: &[u8], size: IndicatorSize) -> Result<Vec<u8>, String> {
        let mut indicators = self.ends(data.len(), size);
        let alone = match self.below(9) {
            0 => Some(Indicator::Whole),
            1 => Some(Indicator::Middle),
            2 if size == IndicatorSize::Fifteen => Some(Indicator::WholeShort),
            _ => None,
        };
        match self.below(4) {
            _ if alone.is_some() && !data.is_empty() => indicators = alone.into_iter().collect(),
            0 => indicators.insert(0, Indicator::PreviousEnded),
            1 => indicators.insert(0, Indicator::Begins),
            2 if size == IndicatorSize::Fifteen => indicators.insert(0, Indicator::PreviousEndedShort),
            _ => {}
        }
        let is_alone = alone.is_some() && !data.is_empty();
        let padding = data.is_empty() || (!is_alone && self.below(2) == 0);
        let end = end(&indicators);
        let data = if padding { &data[..end] } else { data_to_the_end(data, end, size) };
        let ignored = usize::from(indicators.first() == Some(&Indicator::WholeShort));
        let marked = if padding { size.octets() + self.below(5) as usize } else { ignored };
        let octets = 1 + indicators.len() * size.octets() + data.len() + marked;
        let pdu = Umd { sn: self.below(u64::from(UM_MODULUS)) as u8, indicators, data, padding };
        let emitted = pdu.emit(size, octets).map_err(|why| format!("{why}: {pdu:?}"))?;
        match Umd::parse(&emitted, size) {
            Ok(parsed) if parsed == pdu => Ok(emitted),
            other => Err(format!("{pdu:?} came back as {other:?}")),
        }
    }

    /// Ends of SDUs within `octets` of data.
    fn ends(&mut self, octets: usize, size: IndicatorSize) -> Vec<Indicator> {
        let octets = if size == IndicatorSize::Seven { octets.min(123) } else { octets };
        let mut ends: Vec<u16> = (0..self.below(4)).map(|_| self.below(octets as u64 + 1) as u16).collect();
        ends.sort_unstable();
        ends.dedup();
        ends.into_iter().filter(|&end| end > 0).map(Indicator::End).collect()
    }

    fn status(&mut self) -> Status {
        let fields: Vec<SuperField> = (0..self.below(4)).map(|_| self.super_field()).collect();
        let full = Status { fields, end: StatusEnd::Full };
        let end = match self.below(3) {
            0 => StatusEnd::NoMore,
            1 if !full.fields.is_empty() && full.octets().is_some() => StatusEnd::Full,
            _ => StatusEnd::Ack(self.sn()),
        };
        Status { end, ..full }
    }

    fn super_field(&mut self) -> SuperField {
        match self.below(7) {
            0 => SuperField::Window(self.sn()),
            1 => SuperField::List((0..=self.below(15)).map(|_| (self.sn(), self.below(16) as u8)).collect()),
            2 => SuperField::Bitmap {
                first: self.sn(),
                bits: (0..=self.below(16)).map(|_| self.below(256) as u8).collect(),
            },
            3 => {
                let mut list = RelativeList { first: self.sn(), steps: Vec::new() };
                for _ in 0..self.below(8) {
                    // Small numbers, of few code words, more often than large ones.
                    let most = [7, 63, u64::from(AM_MODULUS) - 1][self.below(3) as usize];
                    let number = 1 + self.below(most) as u16;
                    list.steps.push(if self.below(2) == 0 { Step::Next(number) } else { Step::Burst(number) });
                    if list.code_words().is_err() {
                        list.steps.pop();
                    }
                }
                SuperField::RelativeList(list)
            }
            4 => {
                let beyond_window = self.below(4) == 0;
                let more = if beyond_window { 0 } else { self.below(15) };
                let sns = (0..=more).map(|_| self.sn()).collect();
                SuperField::MoveReceivingWindow { sns, beyond_window, n: self.below(16) as u8 }
            }
            5 => SuperField::MoveReceivingWindowAck { n: self.below(16) as u8, sn: self.sn() },
            _ => SuperField::Poll(self.sn()),
        }
    }
}

/// Octets up to the last end.
fn end(indicators: &[Indicator]) -> usize {
    match indicators.last() {
        Some(&Indicator::End(end)) => usize::from(end),
        _ => 0,
    }
}

/// Data that fills a PDU: with indicators of fifteen bits one octet behind an end would not be data.
fn data_to_the_end(data: &[u8], end: usize, size: IndicatorSize) -> &[u8] {
    let is_one_more = size == IndicatorSize::Fifteen && end > 0 && data.len() == end + 1;
    if is_one_more { &data[..end] } else { data }
}
