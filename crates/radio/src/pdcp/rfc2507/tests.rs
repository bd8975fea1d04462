//! RFC 2507 by hand.

use cellwind_engine::packet::{Flags, FlowId, Packet};

use crate::pdcp::feedback::Feedback;
use crate::pdcp::settings::{Compression, Rfc2507Settings};
use crate::pdcp::tests::{Pair, acknowledgement, datagram, segment};

fn with(settings: Rfc2507Settings) -> Pair {
    Pair::new(Compression::Rfc2507(settings))
}

/// Without requests for headers, so that losses show.
fn pair() -> Pair {
    with(Rfc2507Settings { header_requests: false, ..Rfc2507Settings::default() })
}

#[test]
fn data_in_one_direction_takes_four_octets() {
    let mut pair = with(Rfc2507Settings::default());
    let headers: Vec<u32> = (0..4)
        .map(|n| {
            assert_eq!(pair.send(&segment(n), false), Some(true));
            pair.header(&segment(n))
        })
        .collect();
    assert_eq!(headers, [40, 4, 4, 4]);
    // A retransmission: context, identification, and TCP without ports.
    assert_eq!(pair.send(&segment(1), false), Some(true));
    assert_eq!(pair.header(&segment(1)), 19);
}

#[test]
fn a_lost_first_header_is_repaired_by_a_request_or_a_retransmission() {
    let mut asking = with(Rfc2507Settings::default());
    asking.send(&segment(0), true);
    assert_eq!(asking.send(&segment(1), false), Some(false));
    assert_eq!(asking.send(&segment(2), false), Some(true));
    let mut silent = pair();
    silent.send(&segment(0), true);
    assert_eq!(silent.send(&segment(1), false), Some(false));
    assert_eq!(silent.send(&segment(0), false), Some(true));
    assert_eq!(silent.header(&segment(0)), 40);
}

#[test]
fn changed_options_come_as_they_are() {
    let mut pair = pair();
    let stamped = |n: u64, tick: u32| Packet { header: 52, timestamps: (tick, 1), ..segment(n) };
    let headers = [stamped(0, 1), stamped(1, 1), stamped(2, 2)].map(|packet| {
        assert_eq!(pair.send(&packet, false), Some(true));
        pair.header(&packet)
    });
    assert_eq!(headers, [52, 4, 16]);
}

#[test]
fn a_difference_tried_twice_repairs_a_single_loss() {
    let mut pair = pair();
    for n in 0..5 {
        pair.send(&segment(n), n == 3);
    }
    for n in 5..10 {
        assert_eq!(pair.send(&segment(n), false), Some(true), "segment {n}");
    }
    // Two in a row are beyond it, until TCP sends again.
    pair.send(&segment(10), true);
    pair.send(&segment(11), true);
    for n in 12..15 {
        assert_eq!(pair.send(&segment(n), false), Some(false), "segment {n}");
    }
    for n in 10..15 {
        assert_eq!(pair.send(&segment(n), false), Some(true), "segment {n}");
    }
}

#[test]
fn without_the_second_try_a_loss_costs_the_window() {
    let mut pair = with(Rfc2507Settings { twice: false, header_requests: false, ..Rfc2507Settings::default() });
    for n in 0..5 {
        let expected = if n < 3 { Some(true) } else { (n > 3).then_some(false) };
        assert_eq!(pair.send(&segment(n), n == 3), expected);
    }
}

#[test]
fn the_second_try_does_not_help_where_differences_vary() {
    // Acknowledgements of one and of two segments in turn, as a delayed ACK gives behind losses.
    let mut pair = pair();
    for n in [0, 2, 3] {
        assert_eq!(pair.send(&acknowledgement(n), false), Some(true));
    }
    pair.send(&acknowledgement(5), true);
    assert_eq!(pair.send(&acknowledgement(6), false), Some(false));
}

#[test]
fn a_request_brings_the_header_after_one_discarded_packet() {
    let mut pair = with(Rfc2507Settings::default());
    pair.send(&segment(0), false);
    pair.send(&segment(1), true);
    pair.send(&segment(2), true);
    // The request reaches the compressor before the next packet.
    assert_eq!(pair.send(&segment(3), false), Some(false));
    assert_eq!(pair.send(&segment(4), false), Some(true));
    assert_eq!(pair.header(&segment(4)), 40);
    assert_eq!(pair.send(&segment(5), false), Some(true));
    assert_eq!(pair.header(&segment(5)), 4);
}

#[test]
fn a_header_is_asked_for_again_after_some_patience() {
    let mut pair = with(Rfc2507Settings::default());
    pair.send_at(0, &segment(0), false);
    pair.send_at(0, &segment(1), true);
    pair.send_at(0, &segment(2), true);
    let asked: Vec<u64> = (3..30)
        .filter(|&n| pair.send_at(0, &segment(n), false).unwrap().feedback == Some(Feedback::ContextState { cid: 0 }))
        .collect();
    assert_eq!(asked, [3, 11, 19, 27]);
}

#[test]
fn full_headers_of_udp_come_at_growing_distances() {
    // Compression slow start: one compressed packet between full headers, then 2, 4, … up to F_MAX_PERIOD.
    let mut pair = with(Rfc2507Settings { f_max_period: 8, ..Rfc2507Settings::default() });
    let full: Vec<usize> = (0..60)
        .filter(|_| {
            assert_eq!(pair.send(&datagram(), false), Some(true));
            pair.header(&datagram()) == 28
        })
        .collect();
    assert_eq!(full, [0, 2, 5, 10, 19, 28, 37, 46, 55]);
    assert!(pair.octets.iter().all(|&octets| octets == 32 + 28 || octets == 32 + 6));
}

#[test]
fn full_headers_of_udp_come_at_the_latest_after_f_max_time() {
    let mut pair = with(Rfc2507Settings::default());
    // A packet each second: F_PERIOD would let 8 and more compressed ones follow, but more than 5 s never pass.
    let full: Vec<u64> = (0..40)
        .filter(|second| {
            pair.send_at(1000 * second, &datagram(), false);
            pair.header(&datagram()) == 28
        })
        .collect();
    assert_eq!(full, [0, 2, 5, 10, 16, 22, 28, 34]);
}

#[test]
fn a_lost_full_header_of_a_new_generation_is_soon_followed_by_another() {
    let mut pair = pair();
    let marked = Packet { flags: Flags::UDP.with(Flags::CE), ..datagram() };
    for _ in 0..100 {
        assert_eq!(pair.send(&datagram(), false), Some(true));
    }
    pair.send(&marked, true);
    assert_eq!(pair.send(&marked, false), Some(false));
    for _ in 0..100 {
        assert_eq!(pair.send(&marked, false), Some(true));
    }
    // Losses of compressed packets do no harm at all.
    for n in 0..1000 {
        assert_eq!(pair.send(&marked, n % 2 == 0), (n % 2 == 1).then_some(true));
    }
}

#[test]
fn contexts_make_room_for_others() {
    let mut pair = with(Rfc2507Settings { tcp_space: 0, non_tcp_space: 0, ..Rfc2507Settings::default() });
    for n in 0..4 {
        let other = Packet { flow: FlowId(1), ..segment(n) };
        assert_eq!([pair.send(&segment(n), false), pair.send(&other, false)], [Some(true); 2]);
    }
    assert!(pair.octets.iter().all(|&octets| octets == 1040));
}
