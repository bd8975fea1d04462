//! What duplicate ACKs do beside starting a recovery (A. Gurtov, "Making TCP robust against delay spikes", 2001, §4), when
//! fewer of them start one (RFC 5827), and what leaves for each in a proportional reduction (RFC 6937).

use super::*;
use crate::tcp::settings::{
    ClassicSettings, DuplicateAcks, EarlyRetransmit, FackSettings, GuardedAcks, ReductionSettings, RenoSettings,
    RestartOnDuplicateAck, RtoSettings,
};

fn reno(guarded_acks: GuardedAcks) -> RecoverySettings {
    RecoverySettings::Reno(RenoSettings { guarded_acks, ..RenoSettings::default() })
}

/// A needless timeout with ten segments in flight: the first three go again before the ACKs of the originals come. The
/// threshold is five segments, the window three, and segments 11 to 13 are in flight.
fn after_a_needless_timeout(recovery: RecoverySettings) -> Driven {
    let mut driven = Driven::new(TcpSettings { recovery, ..TcpSettings::default() });
    driven.write(40);
    assert_eq!(driven.expire(), [1]);
    assert_eq!(driven.take(1200, ack(after(1))), [2, 3]);
    assert_eq!(driven.take(1201, ack(after(10))), [11, 12, 13]);
    driven
}

/// What leaves for each of the duplicate ACKs that the guard holds back, and for the two new ACKs after them.
fn series(recovery: RecoverySettings, count: u64) -> (Vec<Vec<u64>>, Vec<u64>, Vec<u64>) {
    let mut driven = after_a_needless_timeout(recovery);
    let sent = (0..count).map(|n| driven.take(1300 + n, ack(after(10)))).collect();
    assert_eq!(driven.sender.counters().fast_retransmits, 0);
    (sent, driven.take(1400, ack(after(11))), driven.take(1401, ack(after(12))))
}

#[test]
fn guarded_acks_are_ignored() {
    // Each new ACK opens the window by a segment and moves it by one.
    let (sent, first, second) = series(reno(GuardedAcks::Ignore), 6);
    assert!(sent.concat().is_empty());
    assert_eq!((first, second), (vec![14, 15], vec![16, 17]));
}

#[test]
fn guarded_acks_inflate_the_window_until_the_next_new_ack() {
    // Above DupThresh only; the window is four segments after the next ACK, and all four have left.
    let newreno = NewRenoSettings { guarded_acks: GuardedAcks::Inflate, ..NewRenoSettings::default() };
    for recovery in [reno(GuardedAcks::Inflate), RecoverySettings::Newreno(newreno)] {
        let (sent, first, second) = series(recovery, 6);
        assert_eq!(sent, [vec![], vec![], vec![], vec![14], vec![15], vec![16]]);
        assert_eq!((first, second), (vec![], vec![17]));
    }
}

#[test]
fn guarded_acks_inflate_the_window_for_good() {
    // Six segments of window, above the threshold of five, stay six.
    let (sent, first, second) = series(reno(GuardedAcks::InflateForGood), 6);
    assert_eq!(sent, [vec![], vec![], vec![], vec![14], vec![15], vec![16]]);
    assert_eq!((first, second), (vec![17], vec![18]));
}

#[test]
fn every_second_guarded_ack_lets_out_a_new_segment() {
    let newreno = NewRenoSettings { guarded_acks: GuardedAcks::EverySecond, ..NewRenoSettings::default() };
    for recovery in [reno(GuardedAcks::EverySecond), RecoverySettings::Newreno(newreno)] {
        let (sent, first, second) = series(recovery, 8);
        assert_eq!(sent, [vec![], vec![], vec![], vec![], vec![14], vec![], vec![15], vec![]]);
        assert_eq!((first, second), (vec![], vec![16, 17]));
    }
}

#[test]
fn every_second_guarded_ack_lets_out_nothing_that_was_sent_before() {
    // Right after the timeout SND.NXT is behind: what would leave is a retransmission.
    let mut driven = Driven::new(TcpSettings { recovery: reno(GuardedAcks::EverySecond), ..TcpSettings::default() });
    driven.write(40);
    assert_eq!(driven.expire(), [1]);
    let sent: Vec<_> = (0..8).flat_map(|n| driven.take(1200 + n, ack(1))).collect();
    assert_eq!(sent, [0; 0]);
}

#[test]
fn duplicate_acks_after_a_timeout_are_ignored() {
    // Without the guard they would start a fast retransmit and clock out what is sent again.
    let recovery = RecoverySettings::Reno(RenoSettings { bug_fix: BugFix::Off, ..RenoSettings::default() });
    for (ignores, expected) in [(false, vec![1, 2, 3, 4, 5, 6]), (true, vec![])] {
        let rto = RtoSettings { ignore_duplicate_acks: ignores, ..RtoSettings::default() };
        let mut driven = Driven::new(TcpSettings { recovery: recovery.clone(), rto, ..TcpSettings::default() });
        driven.write(40);
        assert_eq!(driven.expire(), [1]);
        let sent: Vec<_> = (0..4).flat_map(|n| driven.take(1200 + n, ack(1))).collect();
        assert_eq!(sent, expected);
        assert_eq!(driven.sender.counters().fast_retransmits, u64::from(!ignores));
    }
    // The first new ACK ends it.
    let rto = RtoSettings { ignore_duplicate_acks: true, ..RtoSettings::default() };
    let mut driven = Driven::new(TcpSettings { recovery, rto, ..TcpSettings::default() });
    driven.write(40);
    driven.expire();
    assert_eq!(driven.take(1200, ack(after(1))), [2, 3]);
    let sent: Vec<_> = (0..3).flat_map(|n| driven.take(1201 + n, ack(after(1)))).collect();
    assert_eq!(sent, [2, 4, 5, 6]); // two segments of threshold and three that left
}

#[test]
fn duplicate_acks_restart_the_timer_as_asked() {
    let expiries = |recovery: RecoverySettings, restart_on_duplicate_ack, restart_on_fast_retransmit| {
        let rto = RtoSettings { restart_on_duplicate_ack, restart_on_fast_retransmit, ..RtoSettings::default() };
        let mut driven = Driven::new(TcpSettings { recovery, rto, ..TcpSettings::default() });
        driven.write(40);
        [200, 210, 220, 230].map(|ms| {
            driven.take(ms, ack(1));
            driven.sender.next_timeout().unwrap().as_nanos() / 1_000_000
        })
    };
    use RestartOnDuplicateAck::{Always, Never, UpToDupThresh};
    let reno = || reno(GuardedAcks::Ignore);
    // The RTO is a second, and the segments left at 100 ms.
    assert_eq!(expiries(reno(), Never, false), [1100, 1100, 1100, 1100]);
    assert_eq!(expiries(reno(), Never, true), [1100, 1100, 1220, 1220]);
    assert_eq!(expiries(reno(), UpToDupThresh, false), [1200, 1210, 1220, 1220]);
    let tahoe = RecoverySettings::Tahoe(ClassicSettings::default());
    assert_eq!(expiries(tahoe, Always, false), [1200, 1210, 1220, 1230]);
}

#[test]
fn a_partial_ack_lets_out_no_new_data() {
    // Segments 1 and 5 of ten are lost. Five of threshold, eight that left: three new ones. The partial ACK takes four
    // off, and what it would add is the room for 14.
    for (new_data_on_partial_ack, partial, next) in [(true, vec![5, 14], [15]), (false, vec![5], [14])] {
        let recovery = NewRenoSettings { new_data_on_partial_ack, ..NewRenoSettings::default() };
        let recovery = RecoverySettings::Newreno(recovery);
        let mut driven = Driven::new(TcpSettings { recovery, ..TcpSettings::default() });
        driven.write(40);
        let sent: Vec<_> = (0..8).flat_map(|n| driven.take(200 + n, ack(1))).collect();
        assert_eq!(sent, [1, 11, 12, 13]);
        assert_eq!(driven.take(300, ack(after(4))), partial);
        assert_eq!(driven.take(301, ack(after(4))), next);
    }
}

#[test]
fn duplicate_acks_without_loss_information_start_no_sack_recovery() {
    for (duplicate_acks, expected) in [(DuplicateAcks::WithNewSack, vec![]), (DuplicateAcks::All, vec![1])] {
        let recovery = RecoverySettings::Sack(SackSettings { duplicate_acks, ..SackSettings::default() });
        let mut driven = Driven::new(TcpSettings { sack: true, recovery, ..TcpSettings::default() });
        driven.write(40);
        let sent: Vec<_> = (0..3).flat_map(|n| driven.take(200 + n, ack(1))).collect();
        assert_eq!(sent, expected);
    }
}

#[test]
fn early_retransmit_repairs_a_short_flight() {
    // Three segments, the first lost, and nothing more to send: two duplicate ACKs. The window is two segments of
    // threshold and the two that left.
    let newreno = RecoverySettings::Newreno(NewRenoSettings::default());
    let tahoe = RecoverySettings::Tahoe(ClassicSettings::default());
    for (recovery, cwnd) in [(reno(GuardedAcks::Ignore), 400), (newreno, 400), (tahoe, 100)] {
        let early_retransmit = EarlyRetransmit::SegmentBased;
        let mut driven = Driven::new(TcpSettings { recovery, early_retransmit, ..TcpSettings::default() });
        driven.write(3);
        assert_eq!(driven.take(200, ack(1)), [0; 0]);
        assert_eq!(driven.take(201, ack(1)), [1]);
        assert_eq!(driven.sender.cwnd(), cwnd);
    }
}

#[test]
fn early_retransmit_by_sack_needs_no_duplicate_ack() {
    // RFC 5827 §4.1 (A): of three segments the second is lost, and the ACK of the first is delayed.
    let sack = RecoverySettings::Sack(SackSettings::default());
    let fack = RecoverySettings::Fack(FackSettings::default());
    for recovery in [sack, fack] {
        let early_retransmit = EarlyRetransmit::SegmentBased;
        let mut driven = Driven::new(TcpSettings { sack: true, recovery, early_retransmit, ..TcpSettings::default() });
        driven.write(3);
        assert_eq!(driven.take(200, reporting(after(1), 3, 3)), [2]);
        assert_eq!(driven.sender.counters().fast_retransmits, 1);
    }
}

/// An ACK whose block covers segments `first` to `last`.
fn reporting(una: u64, first: u64, last: u64) -> Packet {
    let mut packet = ack(una);
    packet.sack.push(una, after(first - 1), after(last));
    packet
}

#[test]
fn a_proportional_reduction_answers_what_is_delivered() {
    // Ten segments, the first lost; a threshold of five. By hand (RFC 6937 §3), in segments:
    // third report: pipe 6, delivered 1: ceil(1 · 5/10) = 1 goes, the retransmission
    // fourth: pipe 6, ceil(2 · 5/10) − 1 = 0; fifth: pipe 5 = ssthresh, 0; then pipe 4 with each, and one goes
    let sack = |reduction| RecoverySettings::Sack(SackSettings { reduction, ..SackSettings::default() });
    let fack =
        RecoverySettings::Fack(FackSettings { reduction: ReductionSettings::PrrSsrb, ..FackSettings::default() });
    for recovery in [sack(ReductionSettings::PrrCrb), sack(ReductionSettings::PrrSsrb), fack] {
        let mut driven = Driven::new(TcpSettings { sack: true, recovery, ..TcpSettings::default() });
        driven.write(40);
        let sent: Vec<_> = (2..=10).map(|n| driven.take(200 + n, reporting(1, 2, n))).collect();
        let expected: [&[u64]; 9] = [&[], &[], &[1], &[], &[], &[11], &[12], &[13], &[14]];
        assert_eq!(sent, expected);
        assert_eq!(driven.take(300, ack(after(10))), [15]);
        assert_eq!(driven.sender.cwnd(), 5 * MSS);
    }
}

#[test]
fn the_bound_of_a_proportional_reduction_decides_on_a_burst_of_losses() {
    // Segments 1 to 6 of ten are lost: the third report leaves a pipe of one, below the threshold of five. What was
    // delivered goes, or one segment more.
    for (reduction, expected) in
        [(ReductionSettings::PrrCrb, [vec![1], vec![2]]), (ReductionSettings::PrrSsrb, [vec![1, 2], vec![3, 4]])]
    {
        let recovery = RecoverySettings::Sack(SackSettings { reduction, ..SackSettings::default() });
        let mut driven = Driven::new(TcpSettings { sack: true, recovery, ..TcpSettings::default() });
        driven.write(40);
        assert_eq!([7, 8].map(|n| driven.take(200 + n, reporting(1, 7, n))), [[0; 0]; 2].map(Vec::from));
        assert_eq!([9, 10].map(|n| driven.take(200 + n, reporting(1, 7, n))), expected);
    }
}
