//! What entities exchange, as bits: the PDUs of a lossy bearer are written and read by the codec, and a reassembler that knows
//! nothing but octets must get the SDUs that the entities deliver.

mod bits;

use std::collections::VecDeque;

use bits::{AmReassembler, Encoder, UmReassembler, sdu_octets};
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::Packet;
use cellwind_engine::random::{IndependentErrors, Stream};
use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::Probability;
use cellwind_radio::rlc::am::AmEntity;
use cellwind_radio::rlc::pdu::{AmPdu, Amd, IndicatorSize, Status, Tail, Umd};
use cellwind_radio::rlc::sdu::{Carried, Sdu};
use cellwind_radio::rlc::settings::{AmSettings, Discard, StatusFormat, StatusSettings, Timer, UmSettings};
use cellwind_radio::rlc::{Format, Pdu, um};
use cellwind_radio::settings::Delivery;

/// Packets of 1 to 400 octets over UMD PDUs with indicators of both sizes, of which one in ten is lost, with a discard timer
/// that cuts SDUs in the middle.
#[test]
fn unacknowledged_mode_says_in_bits_what_it_means() {
    for pdu in [3, 10, 42, 125, 126, 200] {
        let settings = UmSettings { discard_timer: Timer::Of(Span::from_millis(200)), ..UmSettings::default() };
        let mut transmitter = um::Transmitter::new(&settings, Format { pdu, tti: Span::from_millis(10), blocks: 4 });
        let mut receiver = um::Receiver::default();
        // The same transmitter twice: one direction forgets what is lost, of the other nothing ever arrives.
        let mut mirror = transmitter.clone();
        let (mut carried, mut kept) = (Carried::default(), Carried::default());
        let mut draw = Stream::new(u64::from(pdu), 0, "packets");
        let mut errors = IndependentErrors::new(Probability::new(0.1).unwrap(), Stream::new(1, 0, "errors"));
        let mut out = Outbox::new(false);
        let mut encoder = Encoder::new(usize::from(pdu), 1, IndicatorSize::of_umd(usize::from(pdu)));
        let mut reassembler = UmReassembler::default();
        let (mut delivered, mut seq) = (0, 0);
        for tti in 0..3_000u64 {
            let now = Time::from_millis(10 * tti);
            let size = if pdu < 42 { 20 } else { 400 };
            for _ in 0..draw.below(3) {
                let octets = 1 + draw.below(size) as u32;
                let packet = Packet { seq, payload: octets, ..Packet::EMPTY };
                transmitter.on_sdu(now, &packet, octets, &mut carried, &mut out);
                mirror.on_sdu(now, &packet, octets, &mut kept, &mut out);
                seq += 1;
            }
            let (mut batch, mut same) = (Vec::new(), Vec::new());
            transmitter.on_timeout(now, &mut carried, &mut out);
            transmitter.on_opportunity(now, 4, &mut carried, &mut batch, &mut out);
            mirror.on_timeout(now, &mut kept, &mut out);
            mirror.on_opportunity(now, 4, &mut kept, &mut same, &mut out);
            assert_eq!(batch, same);
            let Some(&Pdu::Unacknowledged { first, count }) = batch.first() else { continue };
            let counts = first..first + u64::from(count);
            let written: Vec<_> = counts.clone().map(|count| encoder.umd(&kept, count)).collect();
            for (count, octets) in counts.zip(written) {
                assert_eq!(octets.len(), usize::from(pdu));
                if errors.strikes() {
                    continue;
                }
                let umd = Umd::parse(&octets, encoder.size).expect("what was written");
                let got = reassembler.on_pdu(&umd);
                let mut wanted = Vec::new();
                let mut up = |sdu: &Sdu| wanted.push(sdu_octets(sdu.packet.seq, sdu.octets));
                receiver.on_pdus(count, 1, &mut carried, &mut up, &mut out);
                assert_eq!(got, wanted, "PDUs of {pdu} octets, number {count}");
                delivered += got.len();
            }
            carried.check().unwrap();
        }
        assert!(delivered > 500 && carried.traffic().packets_dropped > 100, "{delivered} of {seq}");
    }
}

/// Two entities that send each other packets of 1 to 400 octets, or some large ones among small ones; one PDU in ten is lost both ways. Without discard all arrives;
/// with it SDUs are given up, and the receiver learns up to where from bits.
#[test]
fn acknowledged_mode_says_in_bits_what_it_means() {
    let formats = [StatusFormat::Bitmap, StatusFormat::List, StatusFormat::RelativeList];
    let sizes = [12, 42, 126, 127, 200];
    for (number, (pdu, special_he)) in sizes.into_iter().flat_map(|pdu| [(pdu, false), (pdu, true)]).enumerate() {
        let discards = [
            (Discard::None, 255),
            (Discard::MaxDat, 2),
            (Discard::MaxDat, 4),
            (Discard::Timer, 255),
            (Discard::Timer, 1),
        ];
        for (discard, max_dat) in discards {
            let status = StatusSettings { piggyback: true, format: formats[number % 3], ..StatusSettings::default() };
            let delivery = [Delivery::InSequence, Delivery::OutOfSequence][number / 2 % 2];
            let mut settings = AmSettings { discard, max_dat, special_he, status, delivery, ..AmSettings::default() };
            let (mut largest, mut blocks) = (400, (1200 / u32::from(pdu)).min(40));
            if discard == Discard::Timer {
                // A request is repeated before its answer can arrive.
                (settings.discard_timer, settings.timer_mrw) = (Span::from_millis(90), Span::from_millis(20));
                settings.max_mrw = 31;
                if max_dat == 1 {
                    // A large SDU ends in the PDU of small ones that entered long after it.
                    (largest, blocks) = (u64::from(pdu) * 6, 1);
                }
            }
            let format = Format { pdu, tti: Span::from_millis(10), blocks };
            let mut pair = Pair::new(&settings, format, largest, 7 * number as u64 + u64::from(max_dat));
            for tti in 0..600 {
                pair.step(tti, tti < 400);
            }
            let [a, b] = pair.ways.map(|way| (way.seq, way.carried.traffic().packets_dropped, way.delivered));
            let case = format!("{settings:?}, {pdu}: {a:?} {b:?}");
            assert!(a.2 > 50 && b.2 > 50, "{case}");
            if discard == Discard::None {
                assert!(a.0 == a.2 && b.0 == b.2, "{case}");
            } else if max_dat < 4 {
                assert!(a.1 > 0 && b.1 > 0, "{case}");
            }
            assert!(pdu < 20 || pair.piggybacked > 0, "nothing was piggybacked: {case}");
        }
    }
}

/// Two ends, and the directions from the first and from the second.
struct Pair {
    entities: [AmEntity; 2],
    ways: [Way; 2],
    format: Format,
    draw: Stream,
    /// Octets of the largest packet.
    largest: u64,
    errors: IndependentErrors,
    piggybacked: u64,
}

/// What a direction carries, as the entities see it and as bits.
struct Way {
    carried: Carried,
    encoder: Encoder,
    reassembler: AmReassembler,
    /// What was sent and not lost: when it arrives, what it means, and its octets.
    in_flight: VecDeque<(u64, Pdu, Vec<u8>)>,
    /// Packets that entered, and that left.
    seq: u64,
    delivered: u64,
}

impl Pair {
    fn new(settings: &AmSettings, format: Format, largest: u64, seed: u64) -> Self {
        let pdu = usize::from(format.pdu);
        let size = IndicatorSize::of_amd(pdu);
        let way = || Way {
            carried: Carried::default(),
            encoder: Encoder::new(pdu, 2, size),
            reassembler: AmReassembler::new(settings.receive_window, settings.delivery == Delivery::InSequence),
            in_flight: VecDeque::new(),
            seq: 0,
            delivered: 0,
        };
        Pair {
            entities: [0, 1].map(|_| AmEntity::new(Time::ZERO, (settings, settings), (format, format))),
            ways: [way(), way()],
            format,
            draw: Stream::new(seed, 0, "packets"),
            largest,
            errors: IndependentErrors::new(Probability::new(0.1).unwrap(), Stream::new(seed, 0, "errors")),
            piggybacked: 0,
        }
    }

    /// What arrives in a TTI, and what is sent.
    fn step(&mut self, tti: u64, has_packets: bool) {
        let now = Time::from_millis(10 * tti);
        let mut out = Outbox::new(false);
        for end in [0, 1] {
            while self.ways[end].in_flight.front().is_some_and(|&(arrives, ..)| arrives <= tti) {
                let (_, pdu, octets) = self.ways[end].in_flight.pop_front().expect("there is one");
                self.arrive(now, end, pdu, &octets, &mut out);
            }
        }
        for end in [0, 1] {
            let [first, second] = &mut self.ways;
            let (Way { carried, seq, .. }, back) = if end == 0 { (first, second) } else { (second, first) };
            let entity = &mut self.entities[end];
            for _ in 0..if has_packets { self.draw.below(3) } else { 0 } {
                let largest = if self.format.blocks > 1 || self.draw.below(4) == 0 { self.largest } else { 5 };
                let octets = 1 + self.draw.below(largest) as u32;
                let packet = Packet { seq: *seq, payload: octets, ..Packet::EMPTY };
                entity.on_sdu(now, &packet, octets, carried, &mut out);
                *seq += 1;
            }
            if entity.next_timeout(carried).is_some_and(|due| due <= now) {
                entity.on_timeout(now, carried, &back.carried, &mut out);
            }
            if entity.has_something_to_send(now, carried) {
                let mut batch = Vec::new();
                entity.on_opportunity(now, self.format.blocks.into(), carried, &mut batch, &mut out);
                batch.into_iter().for_each(|pdu| self.send(end, tti, pdu));
            }
        }
        for end in [0, 1] {
            self.entities[end].check(&self.ways[end].carried, &self.ways[1 - end].carried).unwrap();
        }
    }

    /// Sends each PDU of a run for itself, as bits too.
    fn send(&mut self, end: usize, tti: u64, pdu: Pdu) {
        let mut pdus = Vec::new();
        match pdu {
            Pdu::Data(mut run) => {
                while run.count > 0 {
                    pdus.push(Pdu::Data(run.split_off(1)));
                }
            }
            pdu => {
                self.piggybacked += u64::from(matches!(pdu, Pdu::DataWithStatus(..)));
                pdus.push(pdu);
            }
        }
        let Way { carried, encoder, in_flight, .. } = &mut self.ways[end];
        for pdu in pdus {
            let octets = match &pdu {
                Pdu::Data(run) => encoder.amd(carried, run, None),
                Pdu::DataWithStatus(run, status) => encoder.amd(carried, run, Some(status)),
                Pdu::Status(status) => encoder.control(&AmPdu::Status(Status::clone(status))),
                other => panic!("nobody should send {other:?}"),
            };
            assert_eq!(octets.len(), usize::from(self.format.pdu));
            if !self.errors.strikes() {
                in_flight.push_back((tti + 3, pdu, octets));
            }
        }
    }

    /// The other end gets a PDU that `end` has sent.
    fn arrive(&mut self, now: Time, end: usize, pdu: Pdu, octets: &[u8], out: &mut Outbox) {
        let way = &mut self.ways[end];
        let read = AmPdu::parse(octets, way.encoder.size).expect("what was written");
        let mut got = Vec::new();
        if let AmPdu::Data(amd) = &read {
            let (Pdu::Data(run) | Pdu::DataWithStatus(run, _)) = &pdu else { panic!("{pdu:?} is no data") };
            assert_eq!((amd.sn, amd.poll), (run.first.get(), run.poll));
            got.extend(way.reassembler.on_pdu(amd));
        }
        let status = match &read {
            AmPdu::Status(status) | AmPdu::Data(Amd { tail: Tail::Status(status), .. }) => Some(status),
            _ => None,
        };
        let meant = match &pdu {
            Pdu::Status(status) | Pdu::DataWithStatus(_, status) => Some(Status::clone(status)),
            _ => None,
        };
        assert_eq!(status, meant.as_ref());
        if let Some(status) = status {
            got.extend(way.reassembler.on_status(status));
        }
        let [first, second] = &mut self.ways;
        let (sends, receives) = if end == 0 { (second, first) } else { (first, second) };
        let mut wanted = Vec::new();
        let mut up = |sdu: &Sdu| wanted.push(sdu_octets(sdu.packet.seq, sdu.octets));
        let what = format!("{pdu:?}");
        self.entities[1 - end].on_pdu(now, pdu, &mut sends.carried, &mut receives.carried, &mut up, out);
        let lengths = |sdus: &[Vec<u8>]| sdus.iter().map(Vec::len).collect::<Vec<_>>();
        assert!(got == wanted, "SDUs of {:?} octets, not {:?}, by {what}", lengths(&got), lengths(&wanted));
        receives.delivered += got.len() as u64;
    }
}
