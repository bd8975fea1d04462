//! The bearer alone: packets in, packets out, with errors at chosen places.

use super::*;
use crate::settings::PduSize;
use cellwind_engine::packet::Flags;
use cellwind_engine::random::IndependentErrors;
use cellwind_engine::units::{Probability, Rate, Size};
use cellwind_path::errors::settings::ErrorSettings;

/// 384 kbit/s with 20-ms TTIs: 960 bytes each, no errors, no delays.
fn settings() -> BlockArqSettings {
    BlockArqSettings {
        rate: Rate::from_kbps(384),
        tti: Span::from_millis(20),
        pdu: PduSize::OnePerTti,
        errors: ErrorSettings::default(),
        feedback_delay: Span::from_millis(60),
        max_transmissions: Attempts::Unlimited,
        delivery: Delivery::OutOfSequence,
        delay: Span::ZERO,
        queue: QueueLimit::Unlimited,
        tti_start: TtiStart::OnDemand,
    }
}

fn erring(probability: f64) -> BlockArqSettings {
    BlockArqSettings { errors: ErrorSettings::independent(Probability::new(probability).unwrap()), ..settings() }
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
fn facts_tell_how_many_packets_leave_the_queue_as_their_first_bytes_are_sent() {
    // The first block of 960 bytes begins the packets 0 and 1, the second, 20 ms later, packet 2. A flush takes the last.
    let mut bearer = bearer(&settings());
    let mut out = Outbox::new(true);
    (0..4).for_each(|n| bearer.on_packet(Time::ZERO, Port(0), &packet(n, 700), &mut out));
    let mut left = Vec::new();
    let mut note = |ms: u64, out: &mut Outbox| {
        let facts = out.take_facts().into_iter().map(|row| row.fact());
        left.extend(facts.filter(|fact| fact.kind == FactKind::QueueLeft).map(|fact| (ms, fact.a)));
    };
    for ms in [0, 20] {
        bearer.on_timeout(Time::from_millis(ms), &mut out);
        note(ms, &mut out);
    }
    bearer.flush(&mut out);
    note(30, &mut out);
    assert_eq!(left, [(0, 2), (20, 1), (30, 1)]);
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
    let mut bearer = bearer(&erring(0.3));
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
        let mut errors = IndependentErrors::new(Probability::new(0.3).unwrap(), Stream::new(seed, 0, "errors"));
        [errors.strikes(), errors.strikes(), errors.strikes()] == [true, false, false]
    });
    let mut bearer = BlockArq::new(&erring(0.3), Stream::new(seed.unwrap(), 0, "errors")).unwrap();
    let (left, _) = run(&mut bearer, &[(0, packet(0, 600)), (30, packet(1, 600))]);
    assert_eq!(left, [(50, 1), (100, 0)]);
}

#[test]
fn in_sequence_delivery_never_reorders_and_out_of_sequence_does() {
    let packets: Vec<_> = (0..200).map(|n| (n, packet(n, 400))).collect();
    for (delivery, ordered) in [(Delivery::InSequence, true), (Delivery::OutOfSequence, false)] {
        let mut bearer = bearer(&BlockArqSettings { delivery, ..erring(0.2) });
        let (left, _) = run(&mut bearer, &packets);
        assert_eq!(left.len(), 200);
        assert_eq!(left.is_sorted_by_key(|&(_, n)| n), ordered);
    }
}

#[test]
fn undelivered_blocks_fall_off_by_the_error_rate() {
    // Lundsten, section 5.2.3: after n retransmissions a block is still missing with probability 0.1^(n+1).
    let mut bearer = bearer(&BlockArqSettings { feedback_delay: Span::ZERO, ..erring(0.1) });
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
fn a_saturated_bearer_takes_one_over_one_minus_the_error_rate_longer() {
    // 10 000 blocks at 10 %: the number of transmissions has mean 11 111 and deviation 35.
    let packets: Vec<_> = (0..10_000).map(|n| (0, packet(n, 960))).collect();
    let (left, _) = run(&mut bearer(&erring(0.1)), &packets);
    let ttis = left.iter().map(|&(ms, _)| ms).max().unwrap() as f64 / 20.0;
    assert!((ttis - 11_111.0).abs() < 200.0, "{ttis}");
}

#[test]
fn a_block_is_given_up_after_its_last_transmission() {
    for delivery in [Delivery::InSequence, Delivery::OutOfSequence] {
        let limited = BlockArqSettings { max_transmissions: Attempts::AtMost(2), delivery, ..erring(0.4) };
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

/// What to do to a bearer, and when (ms).
type Deed<'a> = (u64, &'a dyn Fn(&mut BlockArq, Time, &mut Outbox));

/// Gives the bearer packets 0 to 2 of 960 bytes, a TTI each, at once, and does the deeds: what leaves when (ms), which.
fn with_deeds(bearer: &mut BlockArq, deeds: &[Deed]) -> Vec<(u64, u64)> {
    let mut out = Outbox::new(false);
    for n in 0..3 {
        bearer.on_packet(Time::ZERO, Port(0), &packet(n, 960), &mut out);
    }
    let mut left = Vec::new();
    let mut deeds = deeds.iter().peekable();
    loop {
        let deed = deeds.peek().map_or(Time::MAX, |(ms, _)| Time::from_millis(*ms));
        let due = bearer.next_timeout().unwrap_or(Time::MAX);
        let now = deed.min(due);
        if now == Time::MAX {
            return left;
        }
        if due <= deed {
            bearer.on_timeout(now, &mut out);
        } else if let Some((_, deed)) = deeds.next() {
            deed(bearer, now, &mut out);
        }
        bearer.check().unwrap();
        left.extend(out.take_packets().map(|(_, packet)| (now.as_nanos() / 1_000_000, packet.seq)));
    }
}

fn set(settings: BlockArqSettings) -> impl Fn(&mut BlockArq, Time, &mut Outbox) {
    move |bearer, now, out| assert!(bearer.set_settings(now, &settings, out))
}

#[test]
fn a_running_tti_ends_under_the_old_settings() {
    // The first TTI ends at 20 ms; half the rate from 10 ms on makes the others take two TTIs of 480 bytes each.
    let slower = set(BlockArqSettings { rate: Rate::from_kbps(192), ..settings() });
    assert_eq!(with_deeds(&mut bearer(&settings()), &[(10, &slower)]), [(20, 0), (60, 1), (100, 2)]);
    // A TTI of 10 ms from 10 ms on: 480 bytes each.
    let shorter = set(BlockArqSettings { tti: Span::from_millis(10), ..settings() });
    assert_eq!(with_deeds(&mut bearer(&settings()), &[(10, &shorter)]), [(20, 0), (40, 1), (60, 2)]);
}

#[test]
fn blocks_of_a_running_tti_are_told_with_the_size_they_were_cut_to() {
    // Three packets of 1000 bytes; 400 bytes per block and two blocks per TTI.
    let small = BlockArqSettings { pdu: PduSize::Bytes(Size::from_bytes(400)), ..settings() };
    let mut bearer = bearer(&small);
    let mut out = Outbox::new(true);
    (0..3).for_each(|n| bearer.on_packet(Time::ZERO, Port(0), &packet(n, 960), &mut out));
    bearer.on_timeout(Time::ZERO, &mut out);
    set(settings())(&mut bearer, Time::from_millis(10), &mut out);
    bearer.on_timeout(Time::from_millis(20), &mut out);
    let facts = out.take_facts();
    let sent: Vec<_> = facts.iter().map(|row| row.fact()).filter(|fact| fact.kind == FactKind::BlockSent).collect();
    assert_eq!(sent.iter().map(|fact| fact.length).collect::<Vec<_>>(), [400, 400]);
}

#[test]
fn a_block_that_comes_back_is_cut_to_the_new_size() {
    // All of the first TTI is in error. At a quarter of the rate, 240 bytes per TTI, packet 0 comes back at 80 ms in
    // four pieces. Until then packet 1 takes three TTIs, and the fourth begins at 80 ms: the pieces go first, until
    // 160 ms, then the rest of packet 1 and packet 2.
    let slower = set(BlockArqSettings { rate: Rate::from_kbps(96), ..settings() });
    let mut bearer = bearer(&erring(0.999_999));
    let left = with_deeds(&mut bearer, &[(10, &slower)]);
    assert_eq!(left, [(160, 0), (180, 1), (260, 2)]);
    assert_eq!(*bearer.blocks(), Blocks { sent: 13, resent: 4, ..Blocks::default() });
}

#[test]
fn packets_keep_their_order_after_a_decrease_of_the_delay() {
    let far = BlockArqSettings { delay: Span::from_millis(100), ..settings() };
    let nearer = set(settings());
    // They arrive at 20, 40 and 60 ms; the first two leave under the old delay or behind it.
    assert_eq!(with_deeds(&mut bearer(&far), &[(30, &nearer)]), [(120, 0), (120, 1), (120, 2)]);
}

#[test]
fn packets_that_need_not_wait_any_more_leave_at_once() {
    // Packet 0 is lost in its first TTI and back at 80 ms; packets 1 and 2 are there at 40 and 60 ms.
    let in_sequence = BlockArqSettings { delivery: Delivery::InSequence, ..erring(0.999_999) };
    let fine = set(BlockArqSettings { delivery: Delivery::InSequence, ..settings() });
    assert_eq!(with_deeds(&mut bearer(&in_sequence), &[(10, &fine)]), [(100, 0), (100, 1), (100, 2)]);
    let any_order = set(settings());
    let left = with_deeds(&mut bearer(&in_sequence), &[(10, &fine), (70, &any_order)]);
    assert_eq!(left, [(70, 1), (70, 2), (100, 0)]);
    // And back again: packet 1 has left out of sequence, packet 2 waits.
    let out_of_sequence = set(BlockArqSettings { delivery: Delivery::OutOfSequence, ..settings() });
    let left = with_deeds(&mut bearer(&erring(0.999_999)), &[(10, &out_of_sequence), (50, &fine)]);
    assert_eq!(left, [(40, 1), (100, 0), (100, 2)]);
}

#[test]
fn a_change_that_leaves_no_block_changes_nothing() {
    let mut bearer = bearer(&settings());
    let mut out = Outbox::new(true);
    let none = BlockArqSettings { pdu: PduSize::Bytes(Size::from_bytes(961)), ..settings() };
    assert!(!bearer.set_settings(Time::ZERO, &none, &mut out));
    assert_eq!(out.take_facts(), []);
}

#[test]
fn while_it_is_held_no_tti_begins() {
    let hold = |bearer: &mut BlockArq, _, out: &mut Outbox| bearer.hold(out);
    let release = |bearer: &mut BlockArq, now, out: &mut Outbox| bearer.release(now, out);
    let left = with_deeds(&mut bearer(&settings()), &[(10, &hold), (1005, &release)]);
    assert_eq!(left, [(20, 0), (1025, 1), (1045, 2)]);
    // On the grid the next TTI begins at the next multiple of it.
    let grid = BlockArqSettings { tti_start: TtiStart::Grid, ..settings() };
    let left = with_deeds(&mut bearer(&grid), &[(10, &hold), (1005, &release)]);
    assert_eq!(left, [(20, 0), (1040, 1), (1060, 2)]);
    // An erroneous block waits as well.
    let fine = set(settings());
    let left = with_deeds(&mut bearer(&erring(0.999_999)), &[(10, &hold), (11, &fine), (1005, &release)]);
    assert_eq!(left, [(1025, 0), (1045, 1), (1065, 2)]);
}

#[test]
fn all_that_has_not_left_is_handed_back_in_the_order_it_came() {
    // At 70 ms: packet 0 comes back at 80 ms, packet 1 leaves at 140 ms, packet 2 at 160 ms.
    let far = BlockArqSettings { delay: Span::from_millis(100), ..erring(0.999_999) };
    let mut bearer = bearer(&far);
    let mut out = Outbox::new(false);
    (0..3).for_each(|n| bearer.on_packet(Time::ZERO, Port(0), &packet(n, 960), &mut out));
    bearer.on_timeout(Time::ZERO, &mut out);
    set(BlockArqSettings { delay: Span::from_millis(100), ..settings() })(&mut bearer, Time::from_millis(10), &mut out);
    while bearer.next_timeout().is_some_and(|due| due <= Time::from_millis(70)) {
        let due = bearer.next_timeout().unwrap();
        bearer.on_timeout(due, &mut out);
    }
    assert_eq!(out.take_packets().count(), 0);
    bearer.flush(&mut out);
    let back: Vec<_> = out.take_packets().map(|(port, packet)| (port, packet.seq)).collect();
    assert_eq!(back, [(HANDED_BACK, 0), (HANDED_BACK, 1), (HANDED_BACK, 2)]);
    assert_eq!(bearer.next_timeout(), None);
    bearer.check().unwrap();
    assert_eq!(bearer.traffic().packets_handed_back, 3);
    let (left, _) = run(&mut bearer, &[(200, packet(7, 960))]);
    assert_eq!(left, [(320, 7)]);
}
