//! RACK-TLP and PRR: the examples of RFC 8985 §9.1 and RFC 6937 §3.1, and the rules around them.

use super::*;
use crate::tcp::settings::{LinuxUndoSettings, Probe, PrrBound, RackSettings, SpuriousSettings};
use cellwind_engine::time::Span;

/// A sender with RACK; its first segments have been acknowledged after 100 ms, so that SRTT and min_RTT are 100 ms.
fn driven(rack: RackSettings) -> Driven {
    let rto = RtoSettings { minimum: Span::from_millis(200), ..RtoSettings::default() };
    let (sack, d_sack) = (true, true);
    let recovery = RecoverySettings::Rack(rack);
    Driven::new(TcpSettings { sack, d_sack, recovery, rto, ..TcpSettings::default() })
}

/// An acknowledgement of the first `up_to` segments with blocks of segments, from one to another.
fn sack(up_to: u64, blocks: &[(u64, u64)]) -> Packet {
    let mut packet = ack(after(up_to));
    for &(from, to) in blocks {
        packet.sack.push(packet.ack, after(from - 1), after(to));
    }
    packet
}

/// The same, where the first block reports a duplicate (RFC 2883).
fn d_sack(up_to: u64, blocks: &[(u64, u64)]) -> Packet {
    let packet = sack(up_to, blocks);
    Packet { flags: packet.flags.with(Flags::D_SACK), ..packet }
}

impl Driven {
    fn write_at(&mut self, ms: u64, segments: u64) -> Vec<u64> {
        self.sender.write(Time::from_millis(ms), segments * MSS, &mut self.out);
        self.sent()
    }

    fn due(&self) -> Option<u64> {
        self.sender.next_timeout().map(|due| due.as_nanos() / 1_000_000)
    }
}

#[test]
fn losses_at_the_end_of_a_flight_are_found_by_what_is_sent_later() {
    // RFC 8985 §9.1, example 1: P1 and P3 of three are lost.
    let mut driven = driven(RackSettings::default());
    assert_eq!(driven.write_at(1000, 1), [1]);
    assert_eq!(driven.write_at(1050, 1), [2]);
    assert_eq!(driven.write_at(1100, 1), [3]);
    // P2 is reported; P1 was sent 50 ms before it, more than the window of a quarter of 100 ms.
    assert_eq!(driven.take(1150, sack(0, &[(2, 2)])), [1]);
    // R1 was sent 50 ms after P3.
    assert_eq!(driven.take(1250, sack(2, &[])), [3]);
    assert_eq!(driven.sender.counters().timeouts, 0);
}

#[test]
fn a_lost_retransmission_is_found_by_one_sent_later() {
    // RFC 8985 §9.1, example 2: P1 and P2 are lost, and R1 again.
    let mut driven = driven(RackSettings::default());
    for (ms, n) in [(1000, 1), (1050, 2), (1100, 3)] {
        assert_eq!(driven.write_at(ms, 1), [n]);
    }
    assert_eq!(driven.take(1200, sack(0, &[(3, 3)])), [1, 2]);
    // R2 is reported and R1, sent at the same instant before it, is not.
    assert_eq!(driven.take(1300, sack(0, &[(2, 3)])), [1]);
    assert_eq!(driven.take(1400, sack(3, &[])), [0; 0]);
    assert_eq!(driven.sender.counters().fast_retransmits, 1);
    assert_eq!(driven.due(), None);
}

#[test]
fn what_may_be_reordered_waits_a_quarter_of_the_shortest_round_trip() {
    let mut driven = driven(RackSettings::default());
    assert_eq!(driven.write_at(1000, 3), [1, 2, 3]);
    assert_eq!(driven.take(1100, sack(0, &[(2, 2)])), [0; 0]);
    assert_eq!(driven.due(), Some(1125)); // 1000 + RACK.rtt + 25
    assert_eq!(driven.expire(), [1]);
    assert_eq!(driven.sender.counters().fast_retransmits, 1);
}

#[test]
fn three_segments_above_leave_no_doubt_until_reordering_is_seen() {
    let mut driven = driven(RackSettings::default());
    driven.write_at(1000, 4);
    assert_eq!(driven.take(1100, sack(0, &[(2, 4)])), [1]);
    // From then on an original that comes late is waited for.
    let mut driven = self::driven(RackSettings::default());
    driven.write_at(1000, 8);
    assert_eq!(driven.take(1100, sack(0, &[(2, 2)])), [0; 0]);
    assert_eq!(driven.take(1101, sack(2, &[])), [0; 0]); // the first arrives late
    assert_eq!(driven.take(1105, sack(2, &[(4, 8)])), [0; 0]);
    assert_eq!(driven.due(), Some(1130)); // 1000 + 105 + 25
}

#[test]
fn the_tail_is_probed_after_two_round_trips() {
    let mut driven = driven(RackSettings { max_ack_delay: Span::from_millis(20), ..RackSettings::default() });
    driven.write_at(1000, 3);
    assert_eq!(driven.due(), Some(1200)); // 2 SRTT
    assert_eq!(driven.expire(), [3]); // nothing new is there: the highest
    assert!(driven.due() > Some(1399)); // then the retransmission timer
    // The probe's acknowledgement shows that segment 2 is lost; segment 3 was, or not.
    assert_eq!(driven.take(1300, sack(1, &[(3, 3)])), [2]);
    assert_eq!(driven.sender.counters().timeouts, 0);
    // One segment alone waits for a delayed ACK too.
    let mut driven = self::driven(RackSettings { max_ack_delay: Span::from_millis(20), ..RackSettings::default() });
    driven.write_at(1000, 1);
    assert_eq!(driven.due(), Some(1220));
}

#[test]
fn a_probe_that_repaired_the_tail_halves_the_window_and_a_needless_one_does_not() {
    let halved = |answer: Option<Packet>| {
        let mut driven = driven(RackSettings::default());
        driven.write_at(1000, 10);
        assert_eq!(driven.expire(), [10]);
        driven.take(1300, sack(10, &[]));
        driven.write_at(1300, 1);
        answer.map(|answer| driven.take(1310, answer));
        driven.take(1400, sack(11, &[]));
        driven.sender.ssthresh().is_some()
    };
    assert!(halved(None)); // no word of a duplicate
    assert!(!halved(Some(d_sack(10, &[(10, 10)])))); // both arrived
    assert!(!halved(Some(sack(10, &[])))); // the same without D-SACK
}

#[test]
fn new_data_is_the_better_probe() {
    let mut driven = driven(RackSettings::default());
    assert_eq!(driven.write_at(1000, 12).len(), 10);
    assert_eq!(driven.expire(), [11]);
    assert_eq!(driven.sender.counters().segments_retransmitted, 0);
}

#[test]
fn a_second_probe_needs_a_new_round_trip_sample() {
    let mut driven = driven(RackSettings::default());
    driven.write_at(1000, 2);
    assert_eq!(driven.expire(), [2]);
    assert_eq!(driven.expire(), [1]); // the retransmission timer, not another probe
    assert_eq!(driven.sender.counters().timeouts, 1);
}

#[test]
fn a_timeout_marks_the_first_and_what_is_overdue_only() {
    let mut driven = driven(RackSettings { tail_probe: Probe::Off, ..RackSettings::default() });
    driven.write_at(1000, 2);
    driven.write_at(1290, 2); // less than RACK.rtt before the timer expires
    assert_eq!(driven.due(), Some(1300));
    assert_eq!(driven.expire(), [1]);
    // Segments 3 and 4 arrive; 2 follows in slow start.
    assert_eq!(driven.take(1390, sack(0, &[(3, 4)])), [0; 0]);
    assert_eq!(driven.take(1400, sack(1, &[(3, 4)])), [2]);
    assert_eq!(driven.take(1500, sack(4, &[])), [0; 0]);
    assert_eq!(driven.sender.counters().segments_retransmitted, 2);
}

/// The 20 segments in flight that RFC 6937 §3.1 looks at, 12 more to send, and the ACKs of those from `first` on.
/// What leaves with each ACK.
fn prr_example(bound: PrrBound, first: u64) -> Vec<Vec<u64>> {
    let mut driven = driven(RackSettings { prr: bound, ..RackSettings::default() });
    driven.write_at(200, 10);
    (1..=10).for_each(|n| drop(driven.take(300, sack(n, &[])))); // slow start doubles the window to 20
    assert_eq!(driven.write_at(400, 60).len(), 20);
    (first..=20).map(|n| driven.take(500, sack(10, &[(10 + first, 10 + n)]))).collect()
}

#[test]
fn one_loss_is_answered_evenly_over_the_round_trip() {
    let sent = prr_example(PrrBound::SlowStart, 2);
    let count: Vec<_> = sent.iter().map(Vec::len).collect();
    // As in the RFC: two by Limited Transmit, the retransmission, then every second ACK lets one out.
    assert_eq!(count[..15], [1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(sent[2], [11]);
    assert_eq!(count.iter().sum::<usize>(), 11); // the RFC's table has as many
}

#[test]
fn fifteen_losses_are_repaired_as_fast_as_the_bound_allows() {
    let count = |bound| prr_example(bound, 16).iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(count(PrrBound::Conservative), [1, 1, 1, 1, 1]);
    assert_eq!(count(PrrBound::SlowStart), [1, 1, 2, 2, 2]);
}

/// A timeout of four segments, sent at 1000 and 1090 ms, under Linux's detection with F-RTO. What leaves with it.
fn timed_out() -> Driven {
    let spurious = SpuriousSettings::Linux(LinuxUndoSettings::default());
    let rto = RtoSettings { minimum: Span::from_millis(200), ..RtoSettings::default() };
    let recovery = RecoverySettings::Rack(RackSettings { tail_probe: Probe::Off, ..RackSettings::default() });
    let settings = TcpSettings { sack: true, d_sack: true, recovery, rto, spurious, ..TcpSettings::default() };
    let mut driven = Driven::new(settings);
    driven.write_at(1000, 10);
    driven.write_at(1000, 4);
    assert_eq!(driven.expire(), [1]);
    driven
}

#[test]
fn after_a_spurious_timeout_new_data_follows_and_the_window_is_back() {
    // RFC 5682 §3.1: the first ACK lets two new segments out, the second acknowledges what was not sent again.
    let mut driven = timed_out();
    assert_eq!(driven.take(5000, sack(1, &[])), [11, 12]);
    let cwnd = driven.sender.cwnd();
    assert_eq!(cwnd, MSS);
    driven.take(5010, sack(2, &[]));
    assert!(driven.sender.cwnd() >= 10 * MSS);
    assert_eq!(driven.sender.counters().segments_retransmitted, 1);
}

#[test]
fn after_a_necessary_timeout_the_lost_are_resent_from_the_scoreboard() {
    let mut driven = timed_out();
    assert_eq!(driven.take(5000, sack(1, &[])), [11, 12]);
    // The new segment arrives above the gap: what was lost goes out in slow start from three.
    assert_eq!(driven.take(5100, sack(1, &[(11, 11)])), [2, 3]);
    assert_eq!(driven.take(5101, sack(1, &[(11, 12)])), [4]);
    assert_eq!(driven.sender.counters().reactions_undone, 0);
}

#[test]
fn what_a_spurious_timeout_took_for_lost_may_still_be_found_lost() {
    let mut driven = timed_out();
    driven.take(5000, sack(1, &[]));
    driven.take(5010, sack(2, &[])); // spurious: nothing is lost as far as it tells
    // But segment 3 is: those sent later arrive.
    assert!(driven.take(5110, sack(2, &[(11, 12)])).starts_with(&[3]));
}

#[test]
fn originals_that_come_slowly_after_a_spurious_timeout_are_not_found_lost() {
    // The first ACK comes a round trip and more after the retransmission, which RACK takes for what it answers (RFC 8985
    // §6.2 step 2). The verdict is that it does not; the other originals follow, one in half a second.
    let mut driven = timed_out();
    driven.take(5000, sack(1, &[]));
    for n in 2..=10 {
        driven.take(4500 + 500 * n, sack(n, &[]));
        assert!(driven.due() > Some(4500 + 500 * (n + 1)), "{n}: {:?}", driven.due());
    }
    assert_eq!(driven.sender.counters().segments_retransmitted, 1);
    assert_eq!(driven.sender.counters().fast_retransmits, 0);
}

#[test]
fn nothing_is_due_once_everything_is_acknowledged() {
    let mut driven = driven(RackSettings::default());
    driven.write_at(1000, 1);
    driven.sender.close(Time::from_millis(1000), &mut driven.out);
    assert!(driven.due().is_some()); // the probe
    driven.take(1100, ack(after(1) + 1));
    assert_eq!((driven.sender.state(), driven.due()), (State::Finished, None));
}

#[test]
fn a_window_that_opens_again_leaves_the_flight_as_it_is() {
    // RACK resends what it finds lost: SND.NXT stays, and a loss halves what is in flight.
    let mut driven = driven(RackSettings { tail_probe: Probe::Off, ..RackSettings::default() });
    driven.write_at(1000, 10);
    driven.take(1050, Packet { window: 0, ..ack(1) });
    assert_eq!(driven.expire(), [1]);
    assert_eq!(driven.sender.counters().window_probes, 1);
    driven.take(1400, ack(1));
    assert_eq!(driven.sender.snd_nxt(), after(10));
    assert_eq!(driven.take(1450, sack(1, &[])).first(), Some(&2));
    assert_eq!(driven.sender.ssthresh(), Some(9 * MSS / 2));
}
