//! The bearer alone: packets in, packets out, with errors at chosen places.

use super::*;
use crate::settings::PduSize;
use cellwind_engine::packet::Flags;
use cellwind_engine::units::{Probability, Rate, Size};

/// 384 kbit/s with 20-ms TTIs: 960 bytes each, no errors, no delays.
fn settings() -> BlockArqSettings {
    BlockArqSettings {
        rate: Rate::from_kbps(384),
        tti: Span::from_millis(20),
        pdu: PduSize::OnePerTti,
        bler: Probability::ZERO,
        feedback_delay: Span::from_millis(60),
        max_transmissions: Attempts::Unlimited,
        delivery: Delivery::OutOfSequence,
        delay: Span::ZERO,
        queue: QueueLimit::Unlimited,
        tti_start: TtiStart::OnDemand,
    }
}

fn bler(probability: f64) -> BlockArqSettings {
    BlockArqSettings { bler: Probability::new(probability).unwrap(), ..settings() }
}

fn bearer(settings: &BlockArqSettings) -> BlockArq {
    BlockArq::new(settings, Stream::new(1, 0, "errors")).expect("a block fits")
}

/// Packet `n` (from 0) of `size` bytes in all.
fn packet(n: u64, size: u32) -> Packet {
    Packet { seq: n, payload: size - 40, flags: Flags::ACK, ..Packet::EMPTY }
}

/// Runs the bearer with the packets given at their instants (ms): what leaves when (ms), and the facts.
fn run(bearer: &mut BlockArq, packets: &[(u64, Packet)]) -> (Vec<(u64, u64)>, Vec<Fact>) {
    let mut out = Outbox::new(true);
    let mut left = Vec::new();
    let mut facts = Vec::new();
    let mut packets = packets.iter().peekable();
    loop {
        let arrival = packets.peek().map(|(ms, _)| Time::from_millis(*ms));
        let now = match (arrival, bearer.next_timeout()) {
            (Some(arrival), Some(timeout)) => arrival.min(timeout),
            (arrival, timeout) => match arrival.or(timeout) {
                Some(now) => now,
                None => return (left, facts),
            },
        };
        match packets.next_if(|(ms, _)| Time::from_millis(*ms) == now) {
            Some((_, packet)) => bearer.on_packet(now, Port(0), packet, &mut out),
            None => bearer.on_timeout(now, &mut out),
        }
        left.extend(out.take_packets().map(|(_, packet)| (now.as_nanos() / 1_000_000, packet.seq)));
        facts.extend(out.take_facts().into_iter().map(|row| row.fact()));
        bearer.check().unwrap();
    }
}

#[test]
fn a_block_carries_the_end_of_one_packet_and_the_start_of_the_next() {
    // Three packets of 600 bytes make 1800: blocks of 960 and 840 bytes, so that the first packet is there
    // after one TTI and the others after two. Without concatenation it would take three.
    let burst: Vec<_> = (0..3).map(|n| (0, packet(n, 600))).collect();
    let (left, facts) = run(&mut bearer(&settings()), &burst);
    assert_eq!(left, [(20, 0), (40, 1), (40, 2)]);
    let blocks: Vec<_> = facts.iter().filter(|fact| fact.kind == FactKind::BlockSent).map(|fact| fact.length).collect();
    assert_eq!(blocks, [960, 840]);
}

#[test]
fn a_packet_larger_than_a_block_needs_all_its_blocks() {
    let (left, _) = run(&mut bearer(&settings()), &[(0, packet(0, 1500)), (0, packet(1, 400))]);
    assert_eq!(left, [(40, 0), (40, 1)]); // 960 + 540, and 400 more fit the second block
}

#[test]
fn small_blocks_share_a_tti() {
    // 40-byte blocks, 24 to a TTI: 600 bytes are 15 blocks.
    let small = BlockArqSettings { pdu: PduSize::Bytes(Size::from_bytes(40)), ..settings() };
    let (left, facts) = run(&mut bearer(&small), &[(0, packet(0, 600)), (0, packet(1, 600))]);
    assert_eq!(left, [(20, 0), (40, 1)]);
    let sent = facts.iter().filter(|fact| fact.kind == FactKind::BlockSent);
    assert_eq!(
        sent.map(|fact| (fact.seq, fact.length)).collect::<Vec<_>>(),
        (0..30).map(|n| (n, 40)).collect::<Vec<_>>()
    );
}

#[test]
fn a_packet_without_size_arrives_too() {
    let empty = Packet { header: 0, ..packet(0, 40) };
    for delivery in [Delivery::OutOfSequence, Delivery::InSequence] {
        let mut bearer = bearer(&BlockArqSettings { delivery, ..settings() });
        assert_eq!(run(&mut bearer, &[(0, empty), (50, empty)]).0, [(20, 0), (70, 0)]);
    }
}

#[test]
fn a_tti_starts_on_demand_or_on_the_grid() {
    let at = |tti_start| run(&mut bearer(&BlockArqSettings { tti_start, ..settings() }), &[(7, packet(0, 600))]).0;
    assert_eq!(at(TtiStart::OnDemand), [(27, 0)]);
    assert_eq!(at(TtiStart::Grid), [(40, 0)]);
}

#[test]
fn an_erroneous_block_returns_to_the_head_after_the_feedback_delay() {
    // The block is in error in the TTI that ends at t: it is sent again in the first TTI from t + 60 ms on,
    // before any new block.
    let mut bearer = bearer(&bler(0.3));
    let packets: Vec<_> = (0..40).map(|n| (0, packet(n, 960))).collect();
    let (_, facts) = run(&mut bearer, &packets);
    let ends: Vec<(u64, u64, bool)> = facts
        .iter()
        .filter(|fact| matches!(fact.kind, FactKind::BlockSent | FactKind::BlockResent))
        .map(|fact| (fact.seq, fact.a, fact.b == 1))
        .collect();
    assert!(bearer.blocks().resent > 5);
    for (tti, &(block, transmissions, error)) in ends.iter().enumerate() {
        if error && tti + 4 < 40 {
            // While there is traffic TTIs follow each other: 60 ms later is the fourth after this one.
            assert_eq!((ends[tti + 4].0, ends[tti + 4].1), (block, transmissions + 1));
        }
    }
}

#[test]
fn a_packet_does_not_wait_for_a_block_that_comes_back_later() {
    // The first packet's block is in error in the TTI that ends at 20 and comes back at 80; the packet that
    // arrives at 30 finds an idle link.
    let seed = (0..100).find(|&seed| {
        let mut errors = IndependentErrors::new(bler(0.3).bler, Stream::new(seed, 0, "errors"));
        [errors.strikes(), errors.strikes(), errors.strikes()] == [true, false, false]
    });
    let mut bearer = BlockArq::new(&bler(0.3), Stream::new(seed.unwrap(), 0, "errors")).unwrap();
    let (left, _) = run(&mut bearer, &[(0, packet(0, 600)), (30, packet(1, 600))]);
    assert_eq!(left, [(50, 1), (100, 0)]);
}

#[test]
fn in_sequence_delivery_never_reorders_and_out_of_sequence_does() {
    let packets: Vec<_> = (0..200).map(|n| (n, packet(n, 400))).collect();
    for (delivery, ordered) in [(Delivery::InSequence, true), (Delivery::OutOfSequence, false)] {
        let mut bearer = bearer(&BlockArqSettings { delivery, ..bler(0.2) });
        let (left, _) = run(&mut bearer, &packets);
        assert_eq!(left.len(), 200);
        assert_eq!(left.is_sorted_by_key(|&(_, n)| n), ordered);
    }
}

#[test]
fn undelivered_blocks_fall_off_by_the_error_rate() {
    // Lundsten, section 5.2.3: after n retransmissions a block is still missing with probability 0.1^(n+1).
    let mut bearer = bearer(&BlockArqSettings { feedback_delay: Span::ZERO, ..bler(0.1) });
    let packets: Vec<_> = (0..100_000).map(|n| (n * 40, packet(n, 960))).collect();
    let (_, facts) = run(&mut bearer, &packets);
    for transmissions in 1..=3 {
        let count = |error: bool| -> f64 {
            let of_this = |fact: &&Fact| {
                matches!(fact.kind, FactKind::BlockSent | FactKind::BlockResent) && fact.a == transmissions
            };
            facts.iter().filter(of_this).filter(|fact| !error || fact.b == 1).count() as f64
        };
        let rate = count(true) / count(false);
        let deviation = (0.09 / count(false)).sqrt();
        assert!((rate - 0.1).abs() < 5.0 * deviation, "{rate} after {transmissions}");
    }
}

#[test]
fn a_saturated_bearer_takes_one_over_one_minus_bler_longer() {
    // 10 000 blocks at 10 %: the number of transmissions has mean 11 111 and deviation 35.
    let packets: Vec<_> = (0..10_000).map(|n| (0, packet(n, 960))).collect();
    let (left, _) = run(&mut bearer(&bler(0.1)), &packets);
    let ttis = left.iter().map(|&(ms, _)| ms).max().unwrap() as f64 / 20.0;
    assert!((ttis - 11_111.0).abs() < 200.0, "{ttis}");
}

#[test]
fn a_block_is_given_up_after_its_last_transmission() {
    for delivery in [Delivery::InSequence, Delivery::OutOfSequence] {
        let limited = BlockArqSettings { max_transmissions: Attempts::AtMost(2), delivery, ..bler(0.4) };
        let mut bearer = bearer(&limited);
        let packets: Vec<_> = (0..500).map(|n| (n * 10, packet(n, 700))).collect();
        let (left, facts) = run(&mut bearer, &packets);
        let traffic = bearer.traffic();
        assert_eq!((left.len() as u64, traffic.packets_held()), (traffic.packets_delivered, 0));
        assert!(traffic.packets_dropped > 50, "{traffic:?}");
        assert!(facts.iter().all(|fact| fact.kind != FactKind::BlockResent || fact.a == 2));
        assert_eq!(left.is_sorted_by_key(|&(_, n)| n), delivery == Delivery::InSequence);
    }
}

#[test]
fn the_queue_bound_counts_packets_not_begun() {
    let bounded = BlockArqSettings { queue: QueueLimit::Packets(2), ..settings() };
    let mut bearer = bearer(&bounded);
    // The first packet is in a TTI when the rest arrives.
    let packets: Vec<_> = std::iter::once((0, packet(0, 960))).chain((1..5).map(|n| (5, packet(n, 960)))).collect();
    let (left, _) = run(&mut bearer, &packets);
    assert_eq!(left.iter().map(|&(_, n)| n).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(bearer.traffic().packets_dropped, 2);
}

#[test]
fn the_processing_delay_comes_on_top() {
    let delayed = BlockArqSettings { delay: Span::from_millis(60), ..settings() };
    assert_eq!(run(&mut bearer(&delayed), &[(0, packet(0, 600))]).0, [(80, 0)]);
}
