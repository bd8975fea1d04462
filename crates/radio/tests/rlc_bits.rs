//! What entities exchange, as bits: the PDUs of a lossy bearer are written and read by the codec, and a reassembler that knows
//! nothing but octets must get the SDUs that the entities deliver.

mod bits;

use bits::{Encoder, UmReassembler, sdu_octets};
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::Packet;
use cellwind_engine::random::{IndependentErrors, Stream};
use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::Probability;
use cellwind_radio::rlc::pdu::{IndicatorSize, Umd};
use cellwind_radio::rlc::sdu::{Carried, Sdu};
use cellwind_radio::rlc::settings::{Timer, UmSettings};
use cellwind_radio::rlc::{Format, Pdu, um};

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
