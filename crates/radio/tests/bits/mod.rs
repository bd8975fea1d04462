//! Writes what entities mean as octets, and puts SDUs together again from octets alone.

use std::collections::HashMap;

use cellwind_engine::random::Stream;
use cellwind_radio::rlc::pdu::{Indicator, IndicatorSize, Umd};
use cellwind_radio::rlc::sdu::Carried;

/// The octets of a packet, which its number makes.
pub fn sdu_octets(seq: u64, octets: u32) -> Vec<u8> {
    let mut draw = Stream::new(seq, 0, "octets");
    (0..octets).map(|_| draw.below(256) as u8).collect()
}

/// Writes the data PDUs of one direction.
pub struct Encoder {
    /// Octets of a PDU.
    pdu: usize,
    /// Octets of its header without length indicators.
    header: usize,
    /// Its length indicators.
    pub size: IndicatorSize,
    /// Octets behind the data of the PDUs that were written, by their counts.
    left: HashMap<u64, usize>,
}

/// What a PDU says.
struct Content {
    indicators: Vec<Indicator>,
    data: Vec<u8>,
    /// Octets behind the indicators and the data.
    left: usize,
    /// Whether the data ends with an SDU, as this PDU tells, or there is none.
    is_at_end: bool,
}

impl Encoder {
    pub fn new(pdu: usize, header: usize, size: IndicatorSize) -> Self {
        Encoder { pdu, header, size, left: HashMap::new() }
    }

    /// The UMD PDU with this count.
    pub fn umd(&mut self, carried: &Carried, count: u64) -> Vec<u8> {
        let content = self.content(carried, count, true);
        let padding = self.is_padded(&content);
        let sn = (count % 128) as u8;
        let umd = Umd { sn, indicators: content.indicators, data: &content.data, padding };
        umd.emit(self.size, self.pdu).unwrap_or_else(|why| panic!("PDU {count}: {why}: {umd:?}"))
    }

    /// Whether something must mark what is left: an octet goes without where indicators have fifteen bits, and so does what is
    /// left behind data whose end the next PDU tells.
    fn is_padded(&self, content: &Content) -> bool {
        let unmarked = usize::from(self.size == IndicatorSize::Fifteen && !content.data.is_empty());
        content.is_at_end && content.left > unmarked
    }

    /// Looks up what the PDU with this count says; `begins`: it tells that its data begins with an SDU.
    fn content(&mut self, carried: &Carried, count: u64, begins: bool) -> Content {
        let room = self.pdu - self.header;
        let mut content = Content { indicators: Vec::new(), data: Vec::new(), left: room, is_at_end: true };
        for segment in carried.segments(count, room as u32) {
            let is_first = content.indicators.is_empty() && content.data.is_empty();
            if segment.octets == 0 {
                // §9.2.2.8: it filled the PDU before, or all but an octet where that is too little for an indicator.
                content.indicators.push(match self.left[&(count - 1)] {
                    0 => Indicator::PreviousEnded,
                    1 => Indicator::PreviousEndedShort,
                    left => panic!("PDU {count} ends an SDU that left {left} octets of the one before"),
                });
                content.left -= self.size.octets();
                continue;
            }
            if begins && is_first && segment.offset == 0 {
                content.indicators.push(Indicator::Begins);
                content.left -= self.size.octets();
            }
            let sdu = carried.sdu(segment.sdu);
            let octets = sdu_octets(sdu.packet.seq, sdu.octets);
            content.data.extend(&octets[segment.offset as usize..][..segment.octets as usize]);
            content.left -= segment.octets as usize;
            content.is_at_end = segment.ends;
            if segment.ends {
                content.indicators.push(Indicator::End(content.data.len() as u16));
                content.left -= self.size.octets();
            }
        }
        self.left.insert(count, content.left);
        if !content.is_at_end && content.left == 1 {
            // §9.2.2.8: the next PDU tells that this octet is none of the SDU.
            content.data.push(0);
        }
        content
    }
}

/// Puts SDUs together from UMD PDUs, as §11.2.3.1 says.
#[derive(Default)]
pub struct UmReassembler {
    /// VR(US).
    vr_us: u8,
    /// What there is of an SDU whose beginning has arrived.
    partial: Option<Vec<u8>>,
}

impl UmReassembler {
    /// The SDUs that a PDU completes.
    pub fn on_pdu(&mut self, pdu: &Umd<'_>) -> Vec<Vec<u8>> {
        if pdu.sn != self.vr_us {
            self.partial = None;
        }
        self.vr_us = (pdu.sn + 1) % 128;
        let mut sdus = Vec::new();
        let mut taken = 0;
        for indicator in &pdu.indicators {
            match *indicator {
                Indicator::PreviousEnded | Indicator::PreviousEndedShort => {
                    let is_short = *indicator == Indicator::PreviousEndedShort;
                    let sdu = self.partial.replace(Vec::new());
                    sdus.extend(sdu.map(|sdu| sdu[..sdu.len() - usize::from(is_short)].to_vec()));
                }
                Indicator::Begins => self.partial = Some(Vec::new()),
                Indicator::End(end) => {
                    let mut sdu = self.partial.replace(Vec::new());
                    if let Some(sdu) = &mut sdu {
                        sdu.extend(&pdu.data[taken..end.into()]);
                    }
                    sdus.extend(sdu);
                    taken = end.into();
                }
                ref other => panic!("nobody sends {other:?}"),
            }
        }
        if let Some(partial) = &mut self.partial {
            partial.extend(&pdu.data[taken..]);
        }
        sdus
    }
}
