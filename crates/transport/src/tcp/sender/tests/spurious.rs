//! Timeouts and fast retransmits without a loss: what the sender learns of them, and what it does then.
//!
//! Ten segments leave at 100 ms, when the timestamp clock of 1 ms reads 101. The timer of 1 s expires at 1100 ms, when
//! it reads 1101.

use super::*;
use crate::tcp::settings::{
    After, DSackSettings, EifelSettings, FRtoSettings, FRtoVariant, LinuxUndoSettings, LostAcks, MinimumRttSettings,
    RenoSettings, Response, SackSettings, SpuriousSettings,
};

const ORIGINAL: u32 = 101;
const RETRANSMISSION: u32 = 1101;

/// Reno with timestamps and Eifel detection, after the first ten of thirty segments.
fn eifel(settings: EifelSettings) -> Driven {
    let recovery = RecoverySettings::Reno(RenoSettings::default());
    let spurious = SpuriousSettings::Eifel(settings);
    let mut driven = Driven::new(TcpSettings { timestamps: true, recovery, spurious, ..TcpSettings::default() });
    assert_eq!(driven.write(30).len(), 10);
    driven
}

/// An ACK up to segment `n` that echoes `tsecr`.
fn echoing(n: u64, tsecr: u32) -> Packet {
    Packet { timestamps: (1, tsecr), flags: Flags::ACK.with(Flags::TIMESTAMPS), ..ack(after(n)) }
}

fn undone(driven: &Driven) -> u64 {
    driven.sender.counters().reactions_undone
}

#[test]
fn an_ack_of_the_original_ends_going_back_and_restores_the_window() {
    let mut driven = eifel(EifelSettings::default());
    assert_eq!(driven.expire(), [1]);
    assert_eq!((driven.sender.cwnd(), driven.sender.ssthresh()), (MSS, Some(5 * MSS)));
    // Ten in flight less one, and the window of ten grows by one in slow start: two new segments, and no old ones.
    assert_eq!(driven.take(1200, echoing(1, ORIGINAL)), [11, 12]);
    assert_eq!((driven.sender.cwnd(), driven.sender.ssthresh()), (11 * MSS, None));
    assert_eq!(driven.take(1201, echoing(2, ORIGINAL)), [13, 14]);
    assert_eq!(undone(&driven), 1);
}

#[test]
fn an_ack_of_the_retransmission_goes_on_going_back() {
    let mut driven = eifel(EifelSettings::default());
    driven.expire();
    assert_eq!(driven.take(1200, echoing(1, RETRANSMISSION)), [2, 3]);
    // Only the first ACK judges (RFC 3522 §3.2 (3)).
    assert_eq!(driven.take(1201, echoing(2, ORIGINAL)), [4, 5]);
    assert_eq!(undone(&driven), 0);
}

#[test]
fn the_first_of_several_timeouts_counts() {
    // The second retransmission leaves at 3100 ms; the first one's ACK is one of a retransmission.
    for (echo, spurious) in [(ORIGINAL, 1), (RETRANSMISSION, 0)] {
        let mut driven = eifel(EifelSettings::default());
        driven.expire();
        driven.expire();
        driven.take(3200, echoing(1, echo));
        assert_eq!(undone(&driven), spurious);
    }
    let mut driven = eifel(EifelSettings { response: Response::ByTimeouts, ..EifelSettings::default() });
    driven.expire();
    driven.expire();
    // Five segments of window and nine in flight: originals are acknowledged and nothing leaves.
    assert_eq!(driven.take(3200, echoing(1, ORIGINAL)), [0; 0]);
    assert_eq!(driven.sender.ssthresh(), Some(5 * MSS));
}

#[test]
fn an_ack_of_everything_tells_of_lost_acks() {
    // RFC 3522 §3.2 (5) calls the timeout necessary, Gurtov and Ludwig (2003, II.B) spurious.
    for (lost_acks, window) in [(LostAcks::Necessary, 2), (LostAcks::Spurious, 11)] {
        let mut driven = eifel(EifelSettings { lost_acks, ..EifelSettings::default() });
        driven.expire();
        assert_eq!(driven.take(1200, echoing(10, ORIGINAL)).len(), window);
    }
}

#[test]
fn reordered_segments_cost_no_window() {
    let mut driven = eifel(EifelSettings::default());
    (0..2).for_each(|n| drop(driven.take(200 + n, echoing(0, 1))));
    assert_eq!(driven.take(202, echoing(0, 1)), [1]); // three duplicate ACKs; the clock reads 203
    assert_eq!((driven.sender.cwnd(), driven.sender.is_recovering()), (8 * MSS, true));
    assert_eq!(driven.take(203, echoing(4, ORIGINAL)).len(), 5); // six in flight, eleven allowed
    assert_eq!((driven.sender.cwnd(), driven.sender.ssthresh()), (11 * MSS, None));
    assert!(!driven.sender.is_recovering());

    let mut driven = eifel(EifelSettings { after: After::Timeouts, ..EifelSettings::default() });
    (0..3).for_each(|n| drop(driven.take(200 + n, echoing(0, 1))));
    driven.take(203, echoing(4, ORIGINAL));
    assert_eq!((driven.sender.cwnd(), undone(&driven)), (5 * MSS, 0));
}

#[test]
fn rfc_4015_lets_as_much_leave_as_was_acknowledged() {
    let settings = EifelSettings { after: After::Timeouts, response: Response::Rfc4015, ..EifelSettings::default() };
    let mut driven = eifel(settings);
    driven.expire();
    // §3.1 (9): FlightSize of eight segments and the two acknowledged; pipe_prev as high as the threshold was.
    assert_eq!(driven.take(1200, echoing(2, ORIGINAL)), [11, 12]);
    assert_eq!((driven.sender.cwnd(), driven.sender.ssthresh()), (10 * MSS, None));
}

/// Reno, or SACK recovery where there is SACK, without timestamps, after the first ten of thirty segments.
fn judged_by(spurious: SpuriousSettings, sack: bool) -> Driven {
    let reno = RecoverySettings::Reno(RenoSettings::default());
    let recovery = if sack { RecoverySettings::Sack(SackSettings::default()) } else { reno };
    let mut driven = Driven::new(TcpSettings { sack, d_sack: sack, recovery, spurious, ..TcpSettings::default() });
    assert_eq!(driven.write(30).len(), 10);
    driven
}

/// An ACK up to segment `n` with a SACK block over segments `first` to `last`.
fn reporting(n: u64, first: u64, last: u64) -> Packet {
    let mut packet = ack(after(n));
    packet.sack.push(packet.ack, after(first - 1), after(last));
    packet
}

/// The same as a report of a duplicate.
fn twice(n: u64, first: u64, last: u64) -> Packet {
    let packet = reporting(n, first, last);
    Packet { flags: packet.flags.with(Flags::D_SACK), ..packet }
}

fn f_rto(variant: FRtoVariant, sack: bool) -> Driven {
    judged_by(SpuriousSettings::FRto(FRtoSettings { variant, response: Response::Option1 }), sack)
}

#[test]
fn f_rto_sends_new_data_and_learns_from_the_second_ack() {
    // RFC 5682 §2.1: (1) one segment again, (2b) two new ones, (3b) the window as it was, which grows by one.
    let mut driven = f_rto(FRtoVariant::Basic, false);
    assert_eq!(driven.expire(), [1]);
    assert_eq!(driven.take(1200, ack(after(1))), [11, 12]);
    assert_eq!(driven.take(1201, ack(after(2))), [13]);
    assert_eq!((driven.sender.cwnd(), driven.sender.ssthresh()), (11 * MSS, None));
    assert_eq!(undone(&driven), 1);
}

#[test]
fn f_rto_goes_back_when_new_data_brings_a_duplicate() {
    // (3a): the second segment is lost, too; three segments of window, and the threshold stays lowered.
    let mut driven = f_rto(FRtoVariant::Basic, false);
    driven.expire();
    driven.take(1200, ack(after(1)));
    assert_eq!(driven.take(1300, ack(after(1))), [2, 3, 4]);
    assert_eq!((driven.sender.cwnd(), driven.sender.ssthresh(), undone(&driven)), (3 * MSS, Some(5 * MSS), 0));
}

#[test]
fn f_rto_leaves_recovery_to_others_where_it_cannot_tell() {
    // (2a): a duplicate ACK first, or an ACK of everything.
    let mut driven = f_rto(FRtoVariant::Basic, false);
    driven.expire();
    assert_eq!(driven.take(1200, ack(1)), [0; 0]);
    assert_eq!(driven.take(1201, ack(after(1))), [2, 3]);
    let mut driven = f_rto(FRtoVariant::Basic, false);
    driven.expire();
    assert_eq!(driven.take(1200, ack(after(10))), [11, 12]);
    assert_eq!((driven.sender.cwnd(), undone(&driven)), (2 * MSS, 0));
    // No new data: the window of the receiver is full.
    let mut driven = f_rto(FRtoVariant::Basic, false);
    driven.expire();
    assert_eq!(driven.take(1200, Packet { window: 9 * MSS as u32, ..ack(after(1)) }), [2, 3]);
}

#[test]
fn f_rto_with_sack_waits_for_a_cumulative_ack_and_knows_originals() {
    // RFC 5682 §3.1: a duplicate before the first new ACK decides nothing; SACK of segment 4, sent before, does.
    let mut driven = f_rto(FRtoVariant::Sack, true);
    driven.expire();
    assert_eq!(driven.take(1200, reporting(0, 3, 3)), [0; 0]);
    assert_eq!(driven.take(1201, ack(after(1))), [11, 12]);
    driven.take(1202, reporting(1, 4, 4));
    assert_eq!((driven.sender.cwnd(), undone(&driven)), (10 * MSS, 1));
    // SACK of new data alone: what lies below was lost.
    let mut driven = f_rto(FRtoVariant::Sack, true);
    driven.expire();
    driven.take(1201, ack(after(1)));
    assert_eq!(driven.take(1300, reporting(1, 11, 11)), [2, 3, 4]);
    assert_eq!(undone(&driven), 0);
}

#[test]
fn an_ack_within_the_minimum_round_trip_answers_an_original() {
    // Segment 1 took 100 ms, and the timer expires at 1200 ms.
    for (at, fraction, spurious) in [(1250, 1.0, 1), (1310, 1.0, 0), (1250, 0.5, 0)] {
        let minimum = MinimumRttSettings { fraction, response: Response::Option1 };
        let mut driven = judged_by(SpuriousSettings::MinimumRtt(minimum), false);
        driven.take(200, ack(after(1)));
        driven.expire();
        driven.take(at, ack(after(2)));
        assert_eq!(undone(&driven), spurious, "{at} {fraction}");
    }
}

#[test]
fn reports_of_all_retransmissions_undo_a_fast_retransmit() {
    // Segments 2 to 4 overtake segment 1, which is sent again for nothing: its copy is reported.
    for (reported, spurious) in [(1, 1), (2, 0)] {
        let mut driven = judged_by(SpuriousSettings::DSack(DSackSettings::default()), true);
        (2..=4).for_each(|n| drop(driven.take(200 + n, reporting(0, 2, n))));
        assert!(driven.sender.is_recovering());
        driven.take(210, ack(after(4)));
        driven.take(300, twice(4, reported, reported)); // of segment 2, which was sent once: a copy of the network's
        assert_eq!((undone(&driven), driven.sender.is_recovering()), (spurious, spurious == 0));
        assert_eq!(driven.sender.cwnd() >= 10 * MSS, spurious == 1);
    }
}

#[test]
fn reports_come_too_late_to_stop_going_back_but_restore_the_window() {
    // Gurtov and Ludwig 2003, II.C. Segments 1 to 3 are sent again before the first copy is reported.
    let mut driven = judged_by(SpuriousSettings::DSack(DSackSettings::default()), true);
    assert_eq!(driven.expire(), [1]);
    assert_eq!(driven.take(1200, ack(after(1))), [2, 3]);
    driven.take(1201, ack(after(10)));
    driven.take(1300, twice(10, 1, 1));
    driven.take(1301, twice(10, 2, 2));
    assert_eq!(undone(&driven), 0);
    driven.take(1302, twice(10, 3, 3));
    assert_eq!((undone(&driven), driven.sender.cwnd(), driven.sender.ssthresh()), (1, 10 * MSS, None));
}

#[test]
fn linux_takes_whatever_tells_first() {
    let linux = |f_rto| SpuriousSettings::Linux(LinuxUndoSettings { f_rto, ..LinuxUndoSettings::default() });
    let mut driven = judged_by(linux(true), true);
    driven.expire();
    assert_eq!(driven.take(1200, ack(after(1))), [11, 12]);
    driven.take(1201, ack(after(2)));
    assert_eq!((undone(&driven), driven.sender.cwnd() >= 10 * MSS), (1, true));
    let mut driven = judged_by(linux(false), true);
    driven.expire();
    assert_eq!(driven.take(1200, ack(after(1))), [2, 3]); // as Linux 2.4 without timestamps
    driven.take(1201, ack(after(10)));
    (1..=3).for_each(|n| drop(driven.take(1300 + n, twice(10, n, n))));
    assert_eq!((undone(&driven), driven.sender.cwnd() >= 10 * MSS), (1, true));
}

#[test]
fn linux_2_4_lets_a_second_timeout_in_a_row_stand() {
    for (repeated_timeouts, undone_after_two) in [(true, 1), (false, 0)] {
        let settings = LinuxUndoSettings { f_rto: false, repeated_timeouts, ..LinuxUndoSettings::default() };
        let spurious = SpuriousSettings::Linux(settings);
        let tcp = TcpSettings { timestamps: true, spurious, ..TcpSettings::default() };
        let mut driven = Driven::new(tcp.clone());
        driven.write(30);
        driven.expire();
        driven.take(1200, echoing(1, ORIGINAL));
        assert_eq!(undone(&driven), 1);
        let mut driven = Driven::new(tcp);
        driven.write(30);
        driven.expire();
        driven.expire();
        driven.take(3600, echoing(1, ORIGINAL));
        assert_eq!(undone(&driven), undone_after_two);
    }
}

#[test]
fn an_echo_of_a_mark_stands_though_the_timeout_was_spurious() {
    // RFC 4015 §3.1 (9) for its response, RFC 3168 §6.1.2 for any: congestion was told of.
    for response in [Response::Option1, Response::Linux, Response::Rfc4015] {
        let mut driven = eifel(EifelSettings { response, after: After::Timeouts, ..EifelSettings::default() });
        driven.expire();
        let marked = echoing(1, ORIGINAL);
        driven.take(1200, Packet { flags: marked.flags.with(Flags::ECE), ..marked });
        assert_eq!((undone(&driven), driven.sender.ssthresh()), (1, Some(5 * MSS)), "{response:?}");
        assert!(driven.sender.cwnd() <= 2 * MSS, "{response:?}");
    }
}
