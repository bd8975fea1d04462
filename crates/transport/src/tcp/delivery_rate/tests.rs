//! Samples worked out by hand: segments of 1000 bytes, a round trip of 100 ms.

use super::*;

const MSS: u64 = 1000;

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn segment(number: u64) -> Segment {
    let mut board = crate::tcp::board::Board::default();
    board.push(number * MSS, (number + 1) * MSS, Time::ZERO);
    *board.iter().next().unwrap()
}

/// Sends the numbered segment with `in_flight` segments in the network then.
fn send(rate: &mut DeliveryRate, number: u64, in_flight: u64, now: Time) {
    rate.on_sent((number + 1) * MSS, MSS, in_flight * MSS, 10 * MSS, MSS, now);
}

const VIEW: View = View { mss: MSS, in_flight: 0, snd_una: 0, in_recovery: false };

fn deliver(rate: &mut DeliveryRate, numbers: &[u64], now: Time) -> RateSample {
    rate.begin_ack(0, now);
    numbers.iter().for_each(|&number| rate.on_delivered(&segment(number)));
    rate.take_sample(&VIEW).unwrap()
}

#[test]
fn a_train_is_delivered_at_the_rate_of_its_acks() {
    // Four segments leave at once; their ACKs come 10 ms apart. The fourth was sent when nothing had been delivered:
    // 4000 bytes in 130 ms. The next was sent at the first ACK and is acknowledged at 200 ms: 4000 bytes in 100 ms less
    // nothing, as the interval begins with the first ACK at 100 ms.
    let mut rate = DeliveryRate::default();
    (0..4).for_each(|n| send(&mut rate, n, n + 1, ms(0)));
    assert_eq!(deliver(&mut rate, &[0], ms(100)).rate, Some(10_000.0));
    send(&mut rate, 4, 4, ms(100));
    for n in 1..3 {
        deliver(&mut rate, &[n], ms(100 + 10 * n));
    }
    let fourth = deliver(&mut rate, &[3], ms(130));
    assert_eq!((fourth.delivered, fourth.prior_delivered, fourth.rtt), (4000, 0, Some(Span::from_millis(130))));
    assert_eq!(fourth.rate, Some(4000.0 / 0.13));
    let fifth = deliver(&mut rate, &[4], ms(200));
    assert_eq!((fifth.delivered, fifth.rate), (4000, Some(40_000.0)));
    assert_eq!(fifth.tx_in_flight, 4000);
}

#[test]
fn compressed_acks_do_not_raise_the_rate_above_that_of_sending() {
    // Segments leave every 10 ms, 100 000 bytes a second; the ACKs of all come together.
    let mut rate = DeliveryRate::default();
    (0..10).for_each(|n| send(&mut rate, n, n + 1, ms(10 * n)));
    deliver(&mut rate, &[0], ms(100));
    (10..20).for_each(|n| send(&mut rate, n, n, ms(10 * n)));
    deliver(&mut rate, &(1..=10).collect::<Vec<_>>(), ms(250));
    let late = deliver(&mut rate, &(11..20).collect::<Vec<_>>(), ms(251));
    // The last was sent at 190 ms, 190 ms after the first that the earlier ACKs covered; 19 000 bytes since the first ACK.
    assert_eq!(late.prior_delivered, 1000);
    assert!(late.rate.unwrap() <= 19_000.0 / 0.09, "{:?}", late.rate);
    assert!(late.rate.unwrap() <= 19_000.0 / 0.151 + 1.0, "{:?}", late.rate); // by the time of the ACKs, 100 to 251 ms
}

#[test]
fn an_interval_shorter_than_any_round_trip_gives_no_rate() {
    // The second segment is resent for nothing; the ACK of its first transmission comes 10 ms later.
    let mut rate = DeliveryRate::default();
    (0..2).for_each(|n| send(&mut rate, n, n + 1, ms(0)));
    assert_eq!(deliver(&mut rate, &[0], ms(100)).rate, Some(10_000.0));
    send(&mut rate, 1, 1, ms(105));
    let sample = deliver(&mut rate, &[1], ms(115));
    assert_eq!((sample.rate, sample.newly_acked, sample.rtt), (None, 1000, None));
}

#[test]
fn what_is_sent_until_a_pause_of_the_application_is_delivered_is_marked() {
    let mut rate = DeliveryRate::default();
    send(&mut rate, 0, 1, ms(0));
    rate.limit_by_application(MSS);
    send(&mut rate, 1, 2, ms(10));
    assert!(!deliver(&mut rate, &[0], ms(100)).is_app_limited);
    send(&mut rate, 2, 2, ms(100)); // 1000 bytes of 1000 are delivered, not more
    assert!(deliver(&mut rate, &[1], ms(110)).is_app_limited);
    send(&mut rate, 3, 2, ms(110));
    assert!(deliver(&mut rate, &[2], ms(200)).is_app_limited);
    assert!(!deliver(&mut rate, &[3], ms(210)).is_app_limited);
}

#[test]
fn a_segment_sent_twice_gives_no_round_trip_and_losses_count_from_its_sending() {
    let mut rate = DeliveryRate::default();
    (0..3).for_each(|n| send(&mut rate, n, n + 1, ms(0)));
    rate.begin_ack(3000, ms(100));
    let loss = rate.on_lost(&segment(0));
    assert_eq!((loss.lost, loss.tx_in_flight, loss.total_delivered), (1000, 1000, 0));
    send(&mut rate, 0, 3, ms(100));
    let second = deliver(&mut rate, &[2], ms(105));
    assert_eq!((second.lost, second.rtt), (1000, Some(Span::from_millis(105))));
    let resent = deliver(&mut rate, &[0], ms(200));
    assert_eq!((resent.lost, resent.rtt), (0, None));
}

#[test]
fn the_window_limits_for_a_round_after_it_was_full() {
    let mut rate = DeliveryRate::default();
    (0..10).for_each(|n| send(&mut rate, n, n + 1, ms(0)));
    (0..9).for_each(|n| assert!(deliver(&mut rate, &[n], ms(100)).is_window_limited));
    assert!(!deliver(&mut rate, &[9], ms(100)).is_window_limited);
}
