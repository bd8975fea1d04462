//! RFC 3095 by hand.

use cellwind_engine::packet::{Flags, FlowId, Packet};

use crate::pdcp::feedback::{Answer, Feedback};
use crate::pdcp::settings::{Compression, RohcMode, RohcProfile, RohcSettings};
use crate::pdcp::tests::{Pair, datagram, segment};

fn with(settings: RohcSettings) -> Pair {
    Pair::new(Compression::Rohc(settings))
}

fn pair() -> Pair {
    with(RohcSettings::default())
}

/// Sizes of the headers of so many datagrams, RTP included.
fn headers(settings: RohcSettings, count: usize) -> Vec<u32> {
    let mut pair = with(settings);
    let payload = if settings.profile == RohcProfile::Rtp { 20 } else { 32 };
    for _ in 0..count {
        assert_eq!(pair.send(&datagram(), false), Some(true));
    }
    pair.octets.iter().map(|octets| octets - payload).collect()
}

#[test]
fn three_whole_contexts_are_followed_by_the_smallest_headers() {
    // IR of UDP: 3 + (10 + 4) + (6 + 2 + 2); UO-0 and the UDP checksum.
    assert_eq!(headers(RohcSettings::default(), 6), [27, 27, 27, 3, 3, 3]);
    // IR of RTP: 3 + (10 + 4 + 4) + (6 + 2 + 9); UO-0 alone where UDP has no checksum: one octet for forty.
    let speech = RohcSettings { profile: RohcProfile::Rtp, udp_checksum: false, ..RohcSettings::default() };
    assert_eq!(headers(speech, 6), [38, 38, 38, 1, 1, 1]);
}

#[test]
fn u_mode_refreshes_contexts_periodically() {
    let settings = RohcSettings { ir_period: 10, fo_period: 4, repeats: 1, ..RohcSettings::default() };
    // IR-DYN: 3 + 10.
    let sizes = headers(settings, 24);
    assert_eq!(sizes[..12], [27, 3, 3, 3, 3, 13, 3, 3, 3, 3, 13, 27]);
    let o_mode = headers(RohcSettings { mode: RohcMode::Optimistic, ..settings }, 24);
    assert_eq!(o_mode.iter().filter(|&&size| size > 3).count(), 1);
}

#[test]
fn tcp_is_not_compressed() {
    let mut pair = pair();
    assert_eq!(pair.send(&segment(0), false), Some(true));
    assert_eq!(pair.send(&segment(1), false), Some(true));
    assert_eq!(pair.octets, [1040, 1040]);
}

#[test]
fn a_second_context_has_its_number_in_each_packet() {
    let mut pair = pair();
    let other = Packet { flow: FlowId(1), ..datagram() };
    for _ in 0..4 {
        pair.send(&datagram(), false);
        pair.send(&other, false);
    }
    assert_eq!(pair.octets[6..], [32 + 3, 32 + 4]);
}

/// Four bits, read from one below the last number on, tell 14 numbers ahead: 13 losses in a row do no harm.
#[test]
fn losses_in_a_row_do_no_harm_up_to_the_width_of_the_number() {
    for lost in 1..=13 {
        let mut pair = pair();
        for n in 0..200 {
            let is_lost = n > 10 && n % 50 < lost;
            assert_eq!(pair.send(&datagram(), is_lost), (!is_lost).then_some(true), "{lost} lost, packet {n}");
        }
    }
    let mut pair = pair();
    for n in 0..30 {
        let is_lost = (10..24).contains(&n);
        let expected = if n < 10 { Some(true) } else { (!is_lost).then_some(false) };
        assert_eq!(pair.send(&datagram(), is_lost), expected, "packet {n}");
    }
}

#[test]
fn in_u_mode_a_damaged_context_lasts_until_the_next_refresh() {
    let mut pair = with(RohcSettings { ir_period: 100, fo_period: 40, repeats: 1, ..RohcSettings::default() });
    let outcomes: Vec<Option<bool>> = (0..110).map(|n| pair.send(&datagram(), (5..25).contains(&n))).collect();
    // Three failures make the dynamic part unknown, three more the static part: the IR-DYN packet 41 is of no use, and the
    // IR packet 101 is.
    let right: Vec<usize> = (0..110).filter(|&n| outcomes[n] == Some(true)).collect();
    let expected: Vec<usize> = (0..5).chain(101..110).collect();
    assert_eq!(right, expected);
    // With more patience the dynamic part is enough.
    let settings = RohcSettings { ir_period: 100, fo_period: 40, repeats: 1, failures: 20, ..RohcSettings::default() };
    let mut pair = with(settings);
    let outcomes: Vec<Option<bool>> = (0..110).map(|n| pair.send(&datagram(), (5..25).contains(&n))).collect();
    let right: Vec<usize> = (0..110).filter(|&n| outcomes[n] == Some(true)).collect();
    assert_eq!(right, (0..5).chain(41..110).collect::<Vec<_>>());
}

#[test]
fn in_o_mode_the_decompressor_asks_for_what_it_misses() {
    let mut pair = with(RohcSettings { mode: RohcMode::Optimistic, ..RohcSettings::default() });
    let outcomes: Vec<Option<bool>> = (0..40).map(|n| pair.send(&datagram(), (5..25).contains(&n))).collect();
    // Three wrong packets, then a NACK brings IR-DYN packets.
    let right: Vec<usize> = (0..40).filter(|&n| outcomes[n] == Some(true)).collect();
    assert_eq!(right, (0..5).chain(28..40).collect::<Vec<_>>());
    assert_eq!(pair.octets[28] - 32, 13);
    // A new decompressor, as after a handover, has no context at all.
    pair.decompressor.re_initialise();
    assert_eq!(pair.send(&datagram(), false), Some(false));
    assert_eq!(pair.send(&datagram(), false), Some(true));
    assert_eq!(pair.octets.last(), Some(&(32 + 27)));
}

#[test]
fn answers_are_given_when_the_state_changes() {
    let mut pair = with(RohcSettings { mode: RohcMode::Optimistic, ..RohcSettings::default() });
    let answer = |verdict: crate::pdcp::Verdict| match verdict.feedback {
        Some(Feedback::Rohc { answer, .. }) => Some(answer),
        _ => None,
    };
    let answers: Vec<Option<Answer>> =
        (0..50).filter_map(|n| pair.send_at(0, &datagram(), (5..25).contains(&n)).map(answer)).collect();
    let told: Vec<(usize, Answer)> =
        answers.iter().enumerate().filter_map(|(n, answer)| answer.map(|answer| (n, answer))).collect();
    // Nothing reaches the compressor here, so that the static part is given up as well, and asked for with each packet.
    assert_eq!(told[..3], [(0, Answer::Ack), (7, Answer::Nack), (10, Answer::StaticNack)]);
    assert_eq!(told.len(), 2 + (30 - 10));
}

#[test]
fn a_mark_of_congestion_changes_the_dynamic_part() {
    let mut pair = with(RohcSettings { repeats: 2, ..RohcSettings::default() });
    let marked = Packet { flags: Flags::UDP.with(Flags::CE), ..datagram() };
    for packet in [datagram(), datagram(), datagram(), marked, marked, marked] {
        assert_eq!(pair.send(&packet, false), Some(true));
    }
    assert_eq!(pair.octets.iter().map(|octets| octets - 32).collect::<Vec<_>>(), [27, 27, 3, 13, 13, 3]);
    // Where both are lost, what follows is wrong until a refresh.
    pair.send(&datagram(), true);
    pair.send(&datagram(), true);
    assert_eq!(pair.send(&datagram(), false), Some(false));
}
