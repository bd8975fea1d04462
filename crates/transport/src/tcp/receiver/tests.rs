//! The receiver alone: data segments in, acknowledgements out.

use super::*;
use cellwind_engine::units::Size;

/// A connected receiver with segments of 100 bytes.
fn receiver(settings: TcpSettings) -> Receiver {
    let mut receiver = Receiver::new(&TcpSettings { mss: Size::from_bytes(100), ..settings }, FlowId(0));
    let mut out = Outbox::new(false);
    receiver.on_segment(Time::ZERO, &Packet { seq: 0, payload: 0, flags: Flags::SYN, ..segment(0) }, &mut out);
    let (_, syn_ack) = out.take_packets().next().expect("a SYN is answered");
    assert!(syn_ack.flags.has(Flags::SYN.with(Flags::ACK)) && syn_ack.ack == 1);
    receiver
}

/// The n-th segment, counted from 0.
fn segment(n: u64) -> Packet {
    Packet { seq: 1 + 100 * n, payload: 100, flags: Flags::ACK, ..Packet::EMPTY }
}

fn give(receiver: &mut Receiver, ms: u64, packet: Packet) -> Vec<Packet> {
    let mut out = Outbox::new(false);
    receiver.on_segment(Time::from_millis(ms), &packet, &mut out);
    receiver.check().unwrap();
    out.take_packets().map(|(_, packet)| packet).collect()
}

fn blocks(ack: &Packet) -> Vec<(u64, u64)> {
    ack.sack.iter(ack.ack).collect()
}

fn with_sack() -> TcpSettings {
    TcpSettings { sack: true, d_sack: true, ..TcpSettings::default() }
}

#[test]
fn delayed_ack_answers_every_second_segment_or_when_the_timer_ends() {
    let delayed_ack = DelayedAck { every: 2, ..DelayedAck::default() };
    let mut receiver = receiver(TcpSettings { delayed_ack, ..TcpSettings::default() });
    assert!(give(&mut receiver, 0, segment(0)).is_empty());
    assert_eq!(receiver.next_timeout(), Some(Time::from_millis(200)));
    assert_eq!(give(&mut receiver, 10, segment(1))[0].ack, 201);
    assert_eq!(receiver.next_timeout(), None);
    assert!(give(&mut receiver, 20, segment(2)).is_empty());
    let mut out = Outbox::new(false);
    receiver.on_timeout(Time::from_millis(220), &mut out);
    assert_eq!(out.take_packets().map(|(_, packet)| packet.ack).collect::<Vec<_>>(), [301]);
}

#[test]
fn an_ack_answers_the_first_packet_since_the_ack_before() {
    let delayed_ack = DelayedAck { every: 2, ..DelayedAck::default() };
    let mut receiver = receiver(TcpSettings { delayed_ack, ..TcpSettings::default() });
    let mut answered = |number, n| {
        let acks = give(&mut receiver, 0, Packet { number, ..segment(n) });
        acks.first().map(|ack| (ack.ack, ack.answers))
    };
    assert_eq!([answered(5, 0), answered(6, 1)], [None, Some((201, 5))]);
    assert_eq!(answered(9, 0), Some((201, 9)), "a duplicate, though the original had moved the edge");
    assert_eq!([answered(8, 3), answered(10, 2)], [Some((201, 8)), Some((401, 10))]);
}

#[test]
fn the_first_acks_leave_at_once_when_they_are_to_be_quick() {
    let delayed_ack = DelayedAck { every: 2, quick: 3, ..DelayedAck::default() };
    let mut receiver = receiver(TcpSettings { delayed_ack, ..TcpSettings::default() });
    let acks: Vec<_> = (0..7).flat_map(|n| give(&mut receiver, n, segment(n))).map(|packet| packet.ack).collect();
    assert_eq!(acks, [101, 201, 301, 501, 701]);
}

#[test]
fn out_of_order_and_gap_filling_segments_are_answered_at_once() {
    let delayed_ack = DelayedAck { every: 2, ..DelayedAck::default() };
    let mut receiver = receiver(TcpSettings { delayed_ack, ..TcpSettings::default() });
    assert_eq!(give(&mut receiver, 0, segment(1))[0].ack, 1);
    assert_eq!(give(&mut receiver, 1, segment(2))[0].ack, 1);
    assert_eq!(give(&mut receiver, 2, segment(0))[0].ack, 301);
}

#[test]
fn sack_blocks_start_with_the_latest_run() {
    // RFC 2018 §7, third case in shape: every second segment is missing.
    let mut receiver = receiver(with_sack());
    give(&mut receiver, 0, segment(0));
    assert_eq!(blocks(&give(&mut receiver, 1, segment(2))[0]), [(201, 301)]);
    assert_eq!(blocks(&give(&mut receiver, 2, segment(4))[0]), [(401, 501), (201, 301)]);
    assert_eq!(blocks(&give(&mut receiver, 3, segment(6))[0]), [(601, 701), (401, 501), (201, 301)]);
    // The gap between two runs closes: they become one, and it is the latest.
    assert_eq!(blocks(&give(&mut receiver, 4, segment(3))[0]), [(201, 501), (601, 701)]);
}

#[test]
fn a_duplicate_below_the_ack_is_the_first_block() {
    // RFC 2883 §4.1: the duplicate is reported once, in the first block.
    let mut receiver = receiver(with_sack());
    (0..3).for_each(|n| drop(give(&mut receiver, n, segment(n))));
    give(&mut receiver, 4, segment(5));
    let acks = give(&mut receiver, 5, segment(1));
    assert_eq!(blocks(&acks[0]), [(101, 201), (501, 601)]);
    assert!(acks[0].flags.has(Flags::D_SACK));
    // RFC 2883 §4.2: a duplicate above the ACK is followed by the run that holds it.
    assert_eq!(blocks(&give(&mut receiver, 6, segment(5))[0]), [(501, 601), (501, 601)]);
}

#[test]
fn four_blocks_fit_and_three_with_timestamps() {
    for (timestamps, most) in [(false, 4), (true, 3)] {
        let mut receiver = receiver(TcpSettings { timestamps, ..with_sack() });
        let acks: Vec<_> = (1..7).map(|n| give(&mut receiver, n, segment(2 * n))[0]).collect();
        assert_eq!(acks[5].sack.len(), most);
    }
}

#[test]
fn the_echoed_timestamp_is_that_of_the_first_unacknowledged_segment() {
    // RFC 7323 §4.3, case (A): with delayed ACKs the earliest of the pair is echoed.
    let delayed_ack = DelayedAck { every: 2, ..DelayedAck::default() };
    let mut receiver = receiver(TcpSettings { timestamps: true, delayed_ack, ..TcpSettings::default() });
    let stamped =
        |n: u64, tsval: u32| Packet { timestamps: (tsval, 0), flags: Flags::ACK.with(Flags::TIMESTAMPS), ..segment(n) };
    give(&mut receiver, 0, stamped(0, 10));
    assert_eq!(give(&mut receiver, 1, stamped(1, 11))[0].timestamps.1, 10);
    // Case (B) and (C): out of order does not update, the segment that fills the hole does.
    assert_eq!(give(&mut receiver, 2, stamped(3, 13))[0].timestamps.1, 10);
    assert_eq!(give(&mut receiver, 3, stamped(2, 14))[0].timestamps.1, 14);
}

#[test]
fn a_segment_beyond_the_window_is_refused_and_answered() {
    let window = crate::tcp::amount::Window::Bytes(Size::from_bytes(300));
    let mut receiver = receiver(TcpSettings { receive_window: window, ..with_sack() });
    let acks = give(&mut receiver, 0, segment(3));
    assert_eq!((acks[0].ack, acks[0].sack.len()), (1, 0));
}

#[test]
fn large_windows_need_scaling() {
    assert_eq!(advertised(100_000, false), 65535);
    assert_eq!(advertised(100_000, true), 100_000);
    assert_eq!(advertised(100_001, true), 100_000); // the last bit is lost by the shift
    assert_eq!(advertised(u64::MAX, true), 65535 << 14);
}

#[test]
fn the_fin_ends_the_stream_only_when_all_before_it_is_here() {
    let mut receiver = receiver(with_sack());
    let fin = Packet { flags: Flags::ACK.with(Flags::FIN), ..segment(1) };
    give(&mut receiver, 0, fin);
    assert!(!receiver.is_closed());
    assert_eq!(give(&mut receiver, 1, segment(0))[0].ack, 202);
    assert!(receiver.is_closed());
    assert_eq!(receiver.delivered(), 200);
}

#[test]
fn nothing_counts_behind_a_fin_and_a_refused_fin_counts_for_nothing() {
    let window = crate::tcp::amount::Window::Bytes(Size::from_bytes(300));
    let mut receiver = receiver(TcpSettings { receive_window: window, ..with_sack() });
    let fin = |n| Packet { flags: Flags::ACK.with(Flags::FIN), ..segment(n) };
    give(&mut receiver, 0, Packet { payload: 99, ..fin(3) }); // ends at 401, beyond the window
    (0..4).for_each(|n| drop(give(&mut receiver, 1 + n, segment(n))));
    assert_eq!((receiver.is_closed(), receiver.delivered()), (false, 400));
    give(&mut receiver, 6, fin(4));
    assert!(receiver.is_closed());
    assert_eq!(give(&mut receiver, 7, segment(5))[0].ack, 502);
    give(&mut receiver, 8, Packet { payload: 1, ..segment(5) });
    give(&mut receiver, 9, Packet { seq: 502, ..segment(5) });
    assert_eq!((receiver.is_closed(), receiver.delivered()), (true, 500));
}

#[test]
fn a_retransmission_below_the_ack_is_echoed_but_no_older_timestamp() {
    // RFC 7323 §4.3 (2), and appendix H on why RFC 1323 was wrong here: the ACK of a segment sent again because
    // its ACK was lost must not measure from the first transmission.
    let mut receiver = receiver(TcpSettings { timestamps: true, ..TcpSettings::default() });
    let stamped =
        |n: u64, tsval: u32| Packet { timestamps: (tsval, 0), flags: Flags::ACK.with(Flags::TIMESTAMPS), ..segment(n) };
    give(&mut receiver, 0, stamped(0, 10));
    assert_eq!(give(&mut receiver, 1, stamped(1, 11))[0].timestamps.1, 11);
    assert_eq!(give(&mut receiver, 2, stamped(0, 1000))[0].timestamps.1, 1000);
    assert_eq!(give(&mut receiver, 3, stamped(2, 12))[0].timestamps.1, 1000);
}

#[test]
fn by_rfc_1323_a_duplicate_below_the_ack_leaves_the_echo_alone() {
    // RFC 1323 §3.4 (2): the range of the segment must hold Last.ACK.sent. It decides what Eifel makes of lost ACKs.
    let mut receiver = receiver(TcpSettings { timestamps: true, echo_duplicates: false, ..TcpSettings::default() });
    let stamped =
        |n: u64, tsval: u32| Packet { timestamps: (tsval, 0), flags: Flags::ACK.with(Flags::TIMESTAMPS), ..segment(n) };
    give(&mut receiver, 0, stamped(0, 10));
    assert_eq!(give(&mut receiver, 1, stamped(1, 11))[0].timestamps.1, 11);
    assert_eq!(give(&mut receiver, 2, stamped(0, 1000))[0].timestamps.1, 11);
    assert_eq!(give(&mut receiver, 3, stamped(2, 1001))[0].timestamps.1, 1001);
}

#[test]
fn fewer_sack_blocks_may_be_sent_than_fit() {
    let mut receiver = receiver(TcpSettings { sack_blocks: 2, ..with_sack() });
    let acks: Vec<_> = (1..7).map(|n| give(&mut receiver, n, segment(2 * n))[0]).collect();
    assert_eq!(acks[5].sack.len(), 2);
}

#[test]
fn a_closed_window_refuses_and_counts() {
    let mut receiver = receiver(with_sack());
    let mut out = Outbox::new(false);
    receiver.set_window(0, Time::ZERO, &mut out);
    assert_eq!(out.take_packets().map(|(_, packet)| packet.window).collect::<Vec<_>>(), [0]);
    assert_eq!((give(&mut receiver, 1, segment(0))[0].ack, receiver.refused()), (1, 1));
    receiver.set_window(u32::MAX, Time::ZERO, &mut out); // as far as the buffer goes
    assert_eq!(receiver.window(), 65_535);
}

#[test]
fn three_acks_leave_on_request() {
    let mut receiver = receiver(with_sack());
    give(&mut receiver, 0, segment(0));
    let mut out = Outbox::new(false);
    receiver.ask_for_retransmission(3, Time::from_millis(5), &mut out);
    assert_eq!(out.take_packets().map(|(_, packet)| packet.ack).collect::<Vec<_>>(), [101; 3]);
}
