//! Timeouts and fast retransmits without a loss: what the sender learns of them, and what it does then.
//!
//! Ten segments leave at 100 ms, when the timestamp clock of 1 ms reads 101. The timer of 1 s expires at 1100 ms, when
//! it reads 1101.

use super::*;
use crate::tcp::settings::{After, ClassicSettings, EifelSettings, LostAcks, Response, SpuriousSettings};

const ORIGINAL: u32 = 101;
const RETRANSMISSION: u32 = 1101;

/// Reno with timestamps and Eifel detection, after the first ten of thirty segments.
fn eifel(settings: EifelSettings) -> Driven {
    let recovery = RecoverySettings::Reno(ClassicSettings::default());
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
    // §3 (9): FlightSize of eight segments and the two acknowledged; pipe_prev as high as the threshold was.
    assert_eq!(driven.take(1200, echoing(2, ORIGINAL)), [11, 12]);
    assert_eq!((driven.sender.cwnd(), driven.sender.ssthresh()), (10 * MSS, None));
}
