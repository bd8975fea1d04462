//! Writes what entities mean as octets, and puts SDUs together again from octets alone.

use std::collections::{BTreeMap, BTreeSet};

use cellwind_engine::random::Stream;
use cellwind_radio::rlc::Run;
use cellwind_radio::rlc::pdu::{AmPdu, Amd, Indicator, IndicatorSize, Status, SuperField, Tail, Umd};
use cellwind_radio::rlc::sdu::Carried;
use cellwind_radio::rlc::sn::Sn;

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
    left: BTreeMap<u64, usize>,
    /// What AMD PDUs told.
    sent: BTreeMap<u64, Content>,
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
        Encoder { pdu, header, size, left: BTreeMap::new(), sent: BTreeMap::new() }
    }

    /// The UMD PDU with this count.
    pub fn umd(&mut self, carried: &Carried, count: u64) -> Vec<u8> {
        let content = self.content(carried, count, true);
        let padding = self.is_padded(&content);
        let sn = (count % 128) as u8;
        let umd = Umd { sn, indicators: content.indicators, data: &content.data, padding };
        umd.emit(self.size, self.pdu).unwrap_or_else(|why| panic!("PDU {count}: {why}: {umd:?}"))
    }

    /// The one AMD PDU of a run, which tells what it told when it was sent first.
    pub fn amd(&mut self, carried: &Carried, run: &Run, status: Option<&Status>) -> Vec<u8> {
        // The count below VT(S) with this number.
        let sent_to = carried.sent_to;
        let count = sent_to - 1 - u64::from(Sn::of(sent_to - 1).above(run.first));
        if !run.resent {
            let content = self.content(carried, count, false);
            self.sent.insert(count, content);
        }
        let content = &self.sent[&count];
        let room = self.pdu - self.header;
        let is_filled = content.data.len() == room && content.is_at_end;
        let tail = match status {
            Some(status) => Tail::Status(status.clone()),
            // §9.2.2.7: a length indicator for the end does not fit, so that the header extension tells.
            None if is_filled && content.indicators.len() == 1 => Tail::SduEnd,
            None if self.is_padded(content) => Tail::Padding,
            None => Tail::Data,
        };
        let indicators = if tail == Tail::SduEnd { Vec::new() } else { content.indicators.clone() };
        let amd = Amd { sn: run.first.get(), poll: run.poll, indicators, data: &content.data, tail };
        self.control(&AmPdu::Data(amd))
    }

    /// A PDU in the size of all.
    pub fn control(&self, pdu: &AmPdu<'_>) -> Vec<u8> {
        pdu.emit(self.size, self.pdu).unwrap_or_else(|why| panic!("{why}: {pdu:?}"))
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
                content.left = content.left.saturating_sub(self.size.octets());
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

/// Puts SDUs together from AMD PDUs, as §11.3.3 and §11.6.3 say.
pub struct AmReassembler {
    in_sequence: bool,
    window: u16,
    /// VR(R), as a number and turns of the numbers in one.
    vr_r: u64,
    /// PDUs that have arrived, and may be needed.
    arrived: BTreeMap<u64, Arrived>,
    /// PDUs of which the receiver was told that an SDU begins with their first octet.
    begins: BTreeSet<u64>,
    /// How many of the first ends in a PDU are those of discarded SDUs.
    discarded: BTreeMap<u64, usize>,
    /// Ends of SDUs that were handed up: the PDU, and which end in it.
    done: BTreeSet<(u64, usize)>,
}

struct Arrived {
    indicators: Vec<Indicator>,
    data: Vec<u8>,
    /// Whether HE tells that an SDU ends with the last octet.
    is_end: bool,
}

impl AmReassembler {
    pub fn new(window: u16, in_sequence: bool) -> Self {
        AmReassembler {
            in_sequence,
            window,
            vr_r: 0,
            arrived: BTreeMap::new(),
            begins: BTreeSet::from([0]),
            discarded: BTreeMap::new(),
            done: BTreeSet::new(),
        }
    }

    /// The SDUs that a PDU completes.
    pub fn on_pdu(&mut self, pdu: &Amd<'_>) -> Vec<Vec<u8>> {
        let above = self.above(pdu.sn);
        if above < u64::from(self.window) {
            let is_end = pdu.tail == Tail::SduEnd;
            let arrived = || Arrived { indicators: pdu.indicators.clone(), data: pdu.data.to_vec(), is_end };
            self.arrived.entry(self.vr_r + above).or_insert_with(arrived);
        }
        self.go_on()
    }

    /// The SDUs that are handed up when the window moves.
    pub fn on_status(&mut self, status: &Status) -> Vec<Vec<u8>> {
        let mut sdus = Vec::new();
        for field in &status.fields {
            let SuperField::MoveReceivingWindow { sns, n, .. } = field else { continue };
            let above = self.above(*sns.last().expect("at least one"));
            // §11.6.6: a request for what lies behind is outdated.
            if above > 2048 {
                continue;
            }
            self.vr_r += above;
            if *n == 0 {
                self.begins.insert(self.vr_r);
            } else if !self.arrived.contains_key(&self.vr_r) {
                self.discarded.insert(self.vr_r, usize::from(*n));
            }
            sdus.extend(self.go_on());
        }
        sdus
    }

    fn above(&self, sn: u16) -> u64 {
        (u64::from(sn) + 4096 - self.vr_r % 4096) % 4096
    }

    /// Looks through all PDUs that are there for SDUs that were not handed up.
    fn go_on(&mut self) -> Vec<Vec<u8>> {
        while self.arrived.contains_key(&self.vr_r) {
            self.vr_r += 1;
        }
        let mut sdus = Vec::new();
        let mut partial = None;
        let mut next = 0;
        for (&count, pdu) in &self.arrived {
            if self.in_sequence && count >= self.vr_r {
                break;
            }
            if count != next {
                partial = None;
            }
            if self.begins.contains(&count) {
                partial = Some(Vec::new());
            }
            next = count + 1;
            let discarded = self.discarded.get(&count).copied().unwrap_or(0);
            for (index, sdu) in pdu.read(&mut partial).into_iter().enumerate() {
                if let Some(sdu) = sdu.filter(|_| index >= discarded)
                    && self.done.insert((count, index))
                {
                    sdus.push(sdu);
                }
            }
        }
        // What begins below has ended, as no SDU of the test has so many PDUs.
        self.arrived = self.arrived.split_off(&self.vr_r.saturating_sub(200));
        sdus
    }
}

impl Arrived {
    /// The SDUs that end in the PDU, those without a beginning as none; `partial` is what there is of the one that goes on.
    fn read(&self, partial: &mut Option<Vec<u8>>) -> Vec<Option<Vec<u8>>> {
        let mut sdus = Vec::new();
        let mut taken = 0;
        for indicator in &self.indicators {
            let mut sdu = partial.replace(Vec::new());
            match *indicator {
                Indicator::PreviousEnded => {}
                Indicator::PreviousEndedShort => sdu.iter_mut().for_each(|sdu| sdu.truncate(sdu.len() - 1)),
                Indicator::End(end) => {
                    sdu.iter_mut().for_each(|sdu| sdu.extend(&self.data[taken..end.into()]));
                    taken = end.into();
                }
                ref other => panic!("nobody sends {other:?}"),
            }
            sdus.push(sdu);
        }
        if let Some(partial) = partial {
            partial.extend(&self.data[taken..]);
        }
        if self.is_end {
            sdus.push(partial.replace(Vec::new()));
        }
        sdus
    }
}
