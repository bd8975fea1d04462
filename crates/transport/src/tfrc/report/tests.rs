//! Reports by hand: packets of 1000 bytes, a round trip of 100 ms.

use super::*;
use crate::tfrc::equation::throughput;

const RTT: Span = Span::from_millis(100);

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn arrival(number: u64, ms: u64, rtt: Option<Span>) -> Arrival {
    Arrival { number, sent: at(ms - 50), rtt, bytes: 1000 }
}

#[test]
fn the_first_packet_is_answered_at_once_and_later_ones_once_per_round_trip() {
    let mut reports = Reports::new(1000, true);
    let first = reports.on_packet(at(100), arrival(0, 100, None)).unwrap();
    assert_eq!(first, Feedback { sent: at(50), delay: Span::ZERO, x_recv: 0.0, p: 0.0 });
    assert_eq!(reports.next_timeout(), None); // no round trip is known
    assert!(reports.on_packet(at(200), arrival(1, 200, Some(RTT))).is_some());
    for n in 2..12 {
        assert_eq!(reports.on_packet(at(190 + 10 * n), arrival(n, 190 + 10 * n, Some(RTT))), None);
    }
    assert_eq!(reports.next_timeout(), Some(at(300)));
    // Ten packets in the last round trip, the last of them 5 ms before the report.
    let later = reports.on_packet(at(295), arrival(12, 295, Some(RTT)));
    assert_eq!(later, None);
    let told = reports.on_timeout(at(300)).unwrap();
    assert_eq!((told.sent, told.delay, told.p), (at(245), Span::from_millis(5), 0.0));
    assert!((told.x_recv - 110_000.0).abs() < 10_001.0);
}

#[test]
fn a_silence_ends_with_a_report_at_once() {
    let mut reports = Reports::new(1000, true);
    reports.on_packet(at(100), arrival(0, 100, Some(RTT)));
    assert_eq!((reports.next_timeout(), reports.on_timeout(at(200))), (Some(at(200)), None));
    assert_eq!(reports.next_timeout(), None);
    assert!(reports.on_packet(at(5000), arrival(1, 5000, Some(RTT))).is_some());
}

#[test]
fn the_first_loss_event_is_told_at_once_with_the_rate_that_was_reached() {
    let mut reports = Reports::new(1000, true);
    let mut told = Vec::new();
    for n in (0..60).filter(|&n| n != 50) {
        let ms = 100 + 10 * n;
        if let Some(due) = reports.next_timeout().filter(|&due| due < at(ms)) {
            reports.on_timeout(due);
        }
        told.extend(reports.on_packet(at(ms), arrival(n, ms, Some(RTT))).map(|feedback| (n, feedback)));
    }
    // Packet 50 is lost when 53 arrives. 100 000 bytes/s were received before.
    let &(number, feedback) = told.last().unwrap();
    assert_eq!((number, reports.loss_events()), (53, 1));
    assert!((throughput(1000.0, 0.1, feedback.p) / 100_000.0 - 1.0).abs() < 0.01, "{feedback:?}");
}
