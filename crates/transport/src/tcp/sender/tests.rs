//! The sender alone, one acknowledgement at a time: cases that no well-behaved receiver brings about often.

use super::*;
use crate::tcp::amount::Segments;
use crate::tcp::settings::{
    AimdSettings, BugFix, CongestionSettings, CubicSettings, Growth, InitialWindow, Lifetime, LowerSsthresh,
    NewRenoSettings, Pacing, RecoverySettings, RtoSettings, SackSettings,
};
use cellwind_engine::packet::SackBlocks;
use cellwind_engine::units::Size;

mod duplicates;
mod rack;

const MSS: u64 = 100;

/// The sequence number after segment `n`, counted from 1.
const fn after(n: u64) -> u64 {
    1 + n * MSS
}

/// A sender of 100-byte segments whose handshake took 100 ms, with ten segments of initial window.
struct Driven {
    sender: Sender,
    out: Outbox,
}

impl Driven {
    fn new(settings: TcpSettings) -> Self {
        let initial_window = InitialWindow::Segments(Segments(10));
        let mss = Size::from_bytes(if settings.timestamps { MSS + 12 } else { MSS }); // less the option
        let settings = TcpSettings { mss, initial_window, ..settings };
        let mut driven = Driven { sender: Sender::new(&settings, FlowId(0)), out: Outbox::new(false) };
        driven.sender.open(Time::ZERO, &mut driven.out);
        driven.sent();
        driven.take(100, Packet { flags: Flags::ACK.with(Flags::SYN), ..ack(1) });
        driven
    }

    /// The segments with data that have left since the last look, counted from 1.
    fn sent(&mut self) -> Vec<u64> {
        self.sender.check().unwrap();
        self.out
            .take_packets()
            .filter(|(_, packet)| packet.payload > 0)
            .map(|(_, packet)| packet.seq / MSS + 1)
            .collect()
    }

    fn write(&mut self, segments: u64) -> Vec<u64> {
        self.sender.write(Time::from_millis(100), segments * MSS, &mut self.out);
        self.sent()
    }

    fn take(&mut self, ms: u64, packet: Packet) -> Vec<u64> {
        self.sender.on_segment(Time::from_millis(ms), &packet, &mut self.out);
        self.sent()
    }

    fn expire(&mut self) -> Vec<u64> {
        let due = self.sender.next_timeout().expect("the timer runs");
        self.sender.on_timeout(due, &mut self.out);
        self.sent()
    }
}

fn ack(ack: u64) -> Packet {
    Packet { seq: 1, ack, window: 65535, flags: Flags::ACK, ..Packet::EMPTY }
}

mod spurious;

#[test]
fn a_repeated_syn_ack_is_no_duplicate_ack() {
    // RFC 5681 §2: SYN and FIN are off in a duplicate ACK. A SYN sent twice for nothing brings two SYN-ACKs.
    let mut driven = Driven::new(TcpSettings { limited_transmit: true, ..TcpSettings::default() });
    driven.write(20);
    for n in 0..3 {
        assert_eq!(driven.take(150 + n, Packet { flags: Flags::ACK.with(Flags::SYN), seq: 0, ..ack(1) }), [0; 0]);
    }
    assert_eq!(driven.sender.counters().fast_retransmits, 0);
}

#[test]
fn an_old_ack_does_not_move_the_window() {
    let mut driven = Driven::new(TcpSettings::default());
    driven.write(20);
    let mut narrow = ack(after(10));
    narrow.window = 2 * MSS as u32;
    assert_eq!(driven.take(200, narrow), [11, 12]);
    assert_eq!(driven.take(201, ack(after(9))), [0; 0]); // overtaken; its window was before the narrow one
}

#[test]
fn a_timeout_resends_the_left_edge_though_it_was_reported() {
    // RFC 2018 §8: after a timeout the left edge is sent again whether reported or not, by every recovery.
    let mut driven = Driven::new(TcpSettings { sack: true, ..TcpSettings::default() });
    driven.write(10);
    let mut all = ack(1);
    all.sack = SackBlocks::NONE;
    all.sack.push(1, 1, after(10));
    driven.take(200, all);
    assert_eq!(driven.expire(), [1]);
}

#[test]
fn ssthresh_falls_once_or_each_time_the_same_segment_times_out() {
    // Ten segments in flight, of which half; the one that went again is all there is of the next flight.
    for (lower_ssthresh, again) in [(LowerSsthresh::Once, 5), (LowerSsthresh::EachTime, 2)] {
        let rto = RtoSettings { lower_ssthresh, ..RtoSettings::default() };
        let mut driven = Driven::new(TcpSettings { rto, ..TcpSettings::default() });
        driven.write(40);
        for ssthresh in [5, again, again] {
            assert_eq!(driven.expire(), [1]);
            assert_eq!((driven.sender.cwnd(), driven.sender.ssthresh()), (MSS, Some(ssthresh * MSS)));
        }
    }
}

#[test]
fn a_partial_ack_at_the_next_segment_resends_it_once() {
    // Without the guard, duplicate ACKs may start a fast retransmit while SND.NXT comes again after a timeout.
    let recovery = NewRenoSettings { bug_fix: BugFix::Off, ..NewRenoSettings::default() };
    let recovery = RecoverySettings::Newreno(recovery);
    let mut driven = Driven::new(TcpSettings { recovery, ..TcpSettings::default() });
    driven.write(10);
    assert_eq!(driven.expire(), [1]);
    let resent: Vec<_> = (0..3).flat_map(|n| driven.take(1200 + n, ack(1))).collect();
    assert_eq!(resent, [1, 2, 3, 4, 5]); // two segments of threshold and three that left
    assert_eq!(driven.take(1300, ack(after(5))), [6, 7]);
}

#[test]
fn limited_transmit_stays_within_two_segments_of_the_window() {
    // RFC 3042 §2: outstanding data is at most the window and two segments. Three ACKs in avoidance make the
    // window a little larger than ten segments.
    let initial_ssthresh = Some(crate::tcp::amount::Window::Segments(Segments(10)));
    let settings = TcpSettings { limited_transmit: true, dup_thresh: 10, initial_ssthresh, ..TcpSettings::default() };
    let mut driven = Driven::new(settings);
    driven.write(40);
    assert_eq!(driven.take(200, ack(after(1))), [11]);
    assert!((1001..1100).contains(&driven.sender.cwnd()));
    let sent: Vec<_> = (0..5).flat_map(|n| driven.take(201 + n, ack(after(1)))).collect();
    assert_eq!(sent, [12, 13]);
}

#[test]
fn a_coarse_timestamp_clock_is_the_granularity_of_the_timer() {
    // Round trips of 100 ms within one tick of 1 s measure zero, and would leave a timeout of milliseconds.
    let second = Span::from_secs(1);
    let rto = RtoSettings { minimum: Span::ZERO, ..RtoSettings::default() };
    let mut driven =
        Driven::new(TcpSettings { timestamps: true, timestamp_clock: second, rto, ..TcpSettings::default() });
    driven.write(40);
    for n in 1..20 {
        let stamped = Flags::ACK.with(Flags::TIMESTAMPS);
        driven.take(200 + n, Packet { timestamps: (1, 1), flags: stamped, ..ack(after(n)) });
    }
    assert!(driven.sender.rto() >= second, "{:?}", driven.sender.rto());
}

/// The window after a hundred segments, with at most twelve in flight by the receiver's window.
fn window_behind_a_narrow_one(congestion: CongestionSettings) -> u64 {
    let mut driven = Driven::new(TcpSettings { congestion, ..TcpSettings::default() });
    driven.write(1000);
    for n in 1..=100 {
        driven.take(200 + 10 * n, Packet { window: 12 * MSS as u32, ..ack(after(n)) });
    }
    driven.sender.cwnd()
}

#[test]
fn a_window_that_does_not_limit_grows_by_rfc_5681_only() {
    // Linux and RFC 9438 §5.8 stop at twice the flight in slow start.
    let aimd = |growth| CongestionSettings::Aimd(AimdSettings { growth, ..AimdSettings::default() });
    assert_eq!(window_behind_a_narrow_one(aimd(Growth::Always)), 110 * MSS);
    assert_eq!(window_behind_a_narrow_one(aimd(Growth::WhenLimiting)), 24 * MSS);
    assert_eq!(window_behind_a_narrow_one(CongestionSettings::Cubic(CubicSettings::default())), 24 * MSS);
}

#[test]
fn cubic_keeps_seven_tenths_of_the_flight_after_a_timeout() {
    // RFC 9438 §4.8: one segment, slow start up to the threshold, and from there on by the cubic function.
    let congestion = CongestionSettings::Cubic(CubicSettings::default());
    let mut driven = Driven::new(TcpSettings { congestion, ..TcpSettings::default() });
    driven.write(1000);
    driven.expire();
    assert_eq!((driven.sender.cwnd(), driven.sender.ssthresh()), (MSS, Some(7 * MSS)));
    (1..=6).for_each(|n| drop(driven.take(1400 + n, ack(after(n)))));
    assert_eq!(driven.sender.cwnd(), 7 * MSS);
    driven.take(1500, ack(after(7)));
    assert!((7 * MSS..8 * MSS).contains(&driven.sender.cwnd()), "{}", driven.sender.cwnd());
}

#[test]
fn a_segment_is_of_use_for_the_timeout_and_a_round_trip() {
    // The handshake took 100 ms: SRTT 100 ms, RTO 100 + 4 × 50 = 300 ms, below the minimum of a second.
    let after = |lifetime| {
        let settings = TcpSettings { lifetime, ..TcpSettings::default() };
        let mut driven = Driven::new(settings);
        driven.sender.write(Time::from_millis(100), MSS, &mut driven.out);
        let first = driven.out.take_packets().last().expect("a segment").1.deadline;
        driven.sender.on_timeout(Time::from_millis(1100), &mut driven.out);
        (first.time(), driven.out.take_packets().last().expect("a retransmission").1.deadline.time())
    };
    let at = |ms| Some(Time::from_millis(ms));
    assert_eq!(after(Lifetime::Unlimited), (None, None));
    assert_eq!(after(Lifetime::Rto), (at(1100), at(3100))); // the timer has doubled
    assert_eq!(after(Lifetime::RtoPlusRtt), (at(1200), at(3200)));
}

#[test]
fn a_paced_window_leaves_segment_by_segment() {
    // 10 segments of window and a handshake of 100 ms: 200 % of that is a segment each 5 ms.
    let mut driven = Driven::new(TcpSettings { pacing: Pacing::ByWindow, ..TcpSettings::default() });
    assert_eq!(driven.write(20), [1]);
    for n in 2..=10 {
        assert_eq!(driven.sender.next_timeout(), Some(Time::from_millis(95 + 5 * n)));
        assert_eq!(driven.expire(), [n]);
    }
    assert!(driven.sender.next_timeout() > Some(Time::from_millis(1000))); // the window is full: the timer
    // The window grows to 11 segments and SRTT to 112.5 ms: 11 · 200 % / 112.5 ms. Segment 11 has waited long enough.
    assert_eq!(driven.take(200, ack(after(1))), [11]);
    let pace_ns = 100.0 * 1e9 * 0.1 / (2.0 * 1100.0); // SRTT 100 ms: the sample is 100 ms too
    assert_eq!(driven.sender.next_timeout(), Some(Time::from_nanos(200_000_000 + pace_ns as u64 + 1)));
    assert_eq!(driven.expire(), [12]);
}

#[test]
fn recovery_by_sack_goes_on_at_the_pace() {
    let recovery = RecoverySettings::Sack(SackSettings::default());
    let pacing = Pacing::ByWindow;
    let mut driven = Driven::new(TcpSettings { recovery, pacing, sack: true, ..TcpSettings::default() });
    driven.write(10);
    (2..=10).for_each(|_| drop(driven.expire()));
    let report = |segment| {
        let mut packet = ack(1);
        packet.sack.push(1, after(segment - 1), after(segment));
        packet
    };
    let first: Vec<u64> = [4, 5, 6].iter().flat_map(|&n| driven.take(200 + n, report(n))).collect();
    assert_eq!(first, [1]); // 1, 2 and 3 are lost; the first goes at once and takes 5 ms of the pace
    // The window is 5 segments, and two more have left the network; the pace holds what may go until 211 ms, and is a
    // segment each 100 / (5 · 120 %) ms then.
    assert_eq!(driven.take(207, report(7)), [0; 0]);
    assert_eq!(driven.take(208, report(8)), [0; 0]);
    assert_eq!(driven.sender.next_timeout(), Some(Time::from_millis(211)));
    assert_eq!(driven.expire(), [2]);
    assert_eq!(driven.sender.next_timeout(), Some(Time::from_nanos(219_333_334)));
    assert_eq!(driven.expire(), [3]);
}

#[test]
fn a_closed_window_is_probed_until_it_opens() {
    // RFC 9293 §3.8.6.1: the first probe after a retransmission timeout, the next ones at growing intervals, and no end
    // while they are answered. The probe's byte was refused and comes again.
    let mut driven = Driven::new(TcpSettings {
        rto: RtoSettings { attempts: 2, ..RtoSettings::default() },
        ..TcpSettings::default()
    });
    driven.write(20);
    let closed = Packet { window: 0, ..ack(after(10)) };
    assert_eq!(driven.take(200, closed), [0; 0]);
    assert_eq!(driven.sender.next_timeout(), Some(Time::from_millis(1200)));
    let mut at = 1200;
    for n in 0..5 {
        assert_eq!(driven.expire(), [11]);
        assert_eq!(driven.take(at + 50, closed), [0; 0]);
        at += 2000 << n;
        assert_eq!(driven.sender.next_timeout(), Some(Time::from_millis(at)));
    }
    assert_eq!((driven.sender.counters().window_probes, driven.sender.counters().timeouts), (5, 0));
    assert_eq!(driven.take(at, ack(after(10))).len(), 11); // the byte, and ten segments of its window
    assert_eq!(driven.sender.cwnd(), 11 * MSS); // one ACK in slow start: no loss was supposed
}

#[test]
fn data_sent_when_the_window_opens_has_a_retransmission_timeout_of_its_own() {
    // RFC 6298 §5.1: the timer starts with the segment. What ran until then was the persist timer.
    let mut driven = Driven::new(TcpSettings::default());
    driven.write(12);
    assert_eq!(driven.take(200, Packet { window: 0, ..ack(after(10)) }), [0; 0]);
    assert_eq!(driven.take(1190, ack(after(10))), [11, 12]);
    assert_eq!(driven.sender.next_timeout(), Some(Time::from_millis(2190)));
}

#[test]
fn a_window_that_closes_over_data_in_flight_is_probed_with_its_first_segment() {
    let mut driven = Driven::new(TcpSettings::default());
    driven.write(20);
    assert_eq!(driven.take(200, Packet { window: 0, ..ack(after(2)) }), [0; 0]);
    assert_eq!(driven.expire(), [3]);
    assert_eq!((driven.sender.counters().window_probes, driven.sender.counters().timeouts), (1, 0));
    // Five segments of window: the third to the seventh are sent again in order.
    assert_eq!(driven.take(1300, Packet { window: 5 * MSS as u32, ..ack(after(2)) }), [3, 4, 5, 6, 7]);
}

#[test]
fn what_no_peer_should_send_is_counted_and_changes_nothing() {
    let mut driven = Driven::new(TcpSettings { sack: true, timestamps: true, ..TcpSettings::default() });
    driven.write(20);
    let before = (driven.sender.cwnd(), driven.sender.snd_una(), driven.sender.srtt());
    driven.take(200, ack(after(11))); // never sent
    let mut beyond = Packet { window: 65_534, ..ack(1) };
    beyond.sack.push(1, after(9), after(11));
    driven.take(201, beyond);
    let stamped = |tsecr| Packet { timestamps: (1, tsecr), flags: Flags::ACK.with(Flags::TIMESTAMPS), ..ack(after(1)) };
    driven.take(202, Packet { flags: Flags::ACK.with(Flags::SYN), ..ack(1) });
    let counters = driven.sender.counters();
    assert_eq!((counters.unacceptable_acks, counters.unacceptable_blocks, counters.unexpected_syns), (1, 1, 1));
    assert_eq!((driven.sender.cwnd(), driven.sender.snd_una(), driven.sender.srtt()), before);
    driven.take(203, stamped(5000)); // an echo from the future
    assert_eq!((driven.sender.counters().unacceptable_echoes, driven.sender.srtt()), (1, before.2));
}

#[test]
fn emulated_faults_do_what_the_measurements_found() {
    use crate::tcp::settings::FaultSettings;
    // Gurtov 2000, 5.3: two segments beyond the window.
    let faults = FaultSettings { window_overrun: 2, ..FaultSettings::default() };
    let mut driven = Driven::new(TcpSettings { faults, ..TcpSettings::default() });
    driven.write(40);
    assert_eq!(driven.take(200, Packet { window: 3 * MSS as u32, ..ack(after(10)) }), [11, 12, 13, 14, 15]);
    // The timer at half of the RTO: 1 s minimum.
    let faults = FaultSettings { rto_percent: 50, ..FaultSettings::default() };
    assert_eq!(Driven::new(TcpSettings { faults, ..TcpSettings::default() }).sender.rto(), Span::from_millis(500));
    // Everything again at each timeout.
    let faults = FaultSettings { resend_all: true, ..FaultSettings::default() };
    let mut driven = Driven::new(TcpSettings { faults, ..TcpSettings::default() });
    driven.write(40);
    for _ in 0..2 {
        assert_eq!(driven.expire(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    }
}

#[test]
fn timeouts_of_the_handshake_count() {
    // RFC 6298 §2.1, §5.5: the timer of the SYN expires after a second, and after two more.
    let (mut sender, mut out) = (Sender::new(&TcpSettings::default(), FlowId(0)), Outbox::new(true));
    sender.open(Time::ZERO, &mut out);
    for ms in [1000, 3000] {
        assert_eq!(sender.next_timeout(), Some(Time::from_millis(ms)));
        sender.on_timeout(Time::from_millis(ms), &mut out);
    }
    let counters = sender.counters();
    assert_eq!((counters.timeouts, counters.segments_retransmitted, counters.necessary_timeouts), (2, 0, 0));
    let facts = out.take_facts();
    assert_eq!(facts.iter().filter(|row| row.fact().kind == FactKind::Timeout).count(), 2);
}
