//! The sender by hand: fragments of 1000 bytes.

use super::*;
use cellwind_engine::units::Size;

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn sender(settings: AtpSettings) -> Sender {
    Sender::new(&AtpSettings { fragment: Size::from_bytes(1000), ..settings })
}

fn object(number: u32, bytes: u64, deadline: Option<u64>) -> Message {
    Message { deadline: deadline.map(at), ..Message::new(number, bytes, Time::ZERO) }
}

/// Sends all that may leave: numbers of packets, objects and places.
fn sent(sender: &mut Sender, ms: u64) -> Vec<(u64, u32, u64)> {
    let mut all = Vec::new();
    while let Some(Outgoing { number, object, index, .. }) = sender.next_packet(at(ms)) {
        all.push((number, object.number, index));
        sender.check().unwrap();
    }
    all
}

/// An acknowledgement of the packets in `numbers`, highest first, for one sent at `sent`.
fn ack(sender: &mut Sender, ms: u64, sent: u64, numbers: &[u64], expired: bool) -> Reaction {
    let highest = numbers[0];
    let vector = numbers.iter().fold(0, |vector, number| vector | 1 << (highest - number));
    let ack = Ack { highest, vector, expired, sent: at(sent), delay: Span::ZERO, report: None };
    let reaction = sender.on_ack(at(ms), ack);
    sender.check().unwrap();
    reaction
}

#[test]
fn four_packets_go_first_and_each_acknowledged_one_lets_two_go() {
    let mut sender = sender(AtpSettings::default());
    sender.push(object(0, 20_000, None));
    assert_eq!(sent(&mut sender, 0), [(0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 0, 3)]);
    let reaction = ack(&mut sender, 200, 0, &[1, 0], false);
    assert_eq!(reaction.sample, Some(Span::from_millis(200)));
    assert_eq!(sender.cwnd(), Some(5000)); // RFC 5681 §3.1: at most a segment for each ACK
    assert_eq!(sent(&mut sender, 200).len(), 3);
}

#[test]
fn what_three_later_packets_overtook_is_sent_again_and_halves_the_window() {
    let mut sender = sender(AtpSettings::default());
    sender.push(object(0, 8_000, None));
    sent(&mut sender, 0);
    ack(&mut sender, 200, 0, &[0], false);
    assert_eq!(sent(&mut sender, 200), [(4, 0, 4), (5, 0, 5)]);
    assert_eq!(
        ack(&mut sender, 210, 0, &[3, 2, 0], false),
        Reaction { sample: Some(Span::from_millis(210)), is_reduced: false }
    );
    assert_eq!(sent(&mut sender, 210), [(6, 0, 6), (7, 0, 7)]); // six segments: 1, 4, 5 and two more
    let reaction = ack(&mut sender, 400, 200, &[4, 3, 2, 0], false);
    assert!(reaction.is_reduced);
    assert_eq!(sender.cwnd(), Some(2500)); // half of the five under way
    assert_eq!(sent(&mut sender, 400), []); // 5, 6 and 7 are under way
    ack(&mut sender, 410, 210, &[6, 5, 4, 3, 2, 0], false);
    assert_eq!(sent(&mut sender, 410), [(8, 0, 1)]);
    ack(&mut sender, 600, 410, &[8, 7, 6, 5, 4], false);
    assert_eq!(sender.poll_verdict(), Some((0, Verdict::Ok)));
    assert!(sender.is_done());
}

#[test]
fn a_gap_of_expired_packets_is_no_congestion() {
    let mut sender = sender(AtpSettings::default());
    sender.push(object(0, 6_000, None));
    sent(&mut sender, 0);
    let reaction = ack(&mut sender, 200, 0, &[3], true);
    assert!(!reaction.is_reduced);
    assert_eq!(sender.cwnd(), Some(5000));
    assert_eq!(sent(&mut sender, 200), [(4, 0, 0), (5, 0, 1), (6, 0, 2), (7, 0, 4), (8, 0, 5)]);
}

#[test]
fn after_the_timeout_all_is_sent_again_from_the_oldest_on() {
    let mut sender = sender(AtpSettings::default());
    sender.push(object(0, 4_000, None));
    sent(&mut sender, 0);
    assert_eq!(sender.next_timeout(), Some(at(1000)));
    assert!(sender.on_timeout(at(1000)));
    assert_eq!(sent(&mut sender, 1000), [(4, 0, 0)]);
    assert_eq!(sender.next_timeout(), Some(at(3000)));
}

#[test]
fn fragments_live_for_the_timeout_but_not_longer_than_their_object() {
    let mut sender = sender(AtpSettings::default());
    sender.push(object(0, 1_000, Some(700)));
    sender.push(object(1, 1_000, None));
    assert_eq!(sender.next_packet(at(0)).unwrap().deadline, Some(at(700)));
    assert_eq!(sender.next_packet(at(0)).unwrap().deadline, Some(at(1000)));
}

#[test]
fn an_object_whose_deadline_is_over_is_given_up_and_makes_room() {
    let mut sender = sender(AtpSettings::default());
    sender.push(object(0, 9_000, Some(300)));
    sender.push(object(1, 1_000, None));
    sent(&mut sender, 0);
    assert_eq!(sender.next_timeout(), Some(at(300) + Span::from_nanos(1)));
    assert_eq!(sent(&mut sender, 301), []);
    assert_eq!(sender.poll_verdict(), Some((0, Verdict::Expired)));
    ack(&mut sender, 310, 0, &[0], false);
    assert_eq!(sent(&mut sender, 310), [(4, 1, 0)]);
}

#[test]
fn an_object_that_is_under_way_at_its_deadline_waits_for_the_receivers_word() {
    for (arrived, verdict) in [(true, Verdict::Ok), (false, Verdict::Expired)] {
        let mut sender = sender(AtpSettings::default());
        sender.push(object(0, 1_000, Some(300)));
        sent(&mut sender, 0);
        assert_eq!(sent(&mut sender, 301), []);
        assert_eq!(sender.poll_verdict(), None);
        if arrived {
            ack(&mut sender, 310, 0, &[0], false);
        } else {
            sender.on_timeout(at(1000));
            assert_eq!(sent(&mut sender, 1000), []);
        }
        assert_eq!(sender.poll_verdict(), Some((0, verdict)));
        sender.check().unwrap();
    }
}

#[test]
fn without_a_second_try_the_first_loss_gives_the_object_up() {
    let mut sender = sender(AtpSettings { retransmit: false, ..AtpSettings::default() });
    sender.push(object(0, 6_000, None));
    sender.push(object(1, 1_000, None));
    sent(&mut sender, 0);
    ack(&mut sender, 200, 0, &[3, 2, 1], false);
    assert_eq!(sender.poll_verdict(), Some((0, Verdict::Expired)));
    assert_eq!(sent(&mut sender, 200), [(4, 1, 0)]);
}

#[test]
fn what_cannot_arrive_in_time_is_not_begun() {
    // 5000 bytes per 200 ms: 6000 bytes take 240 ms and 100 ms more to get there.
    let settings = AtpSettings { refuse_hopeless: true, ..AtpSettings::default() };
    let mut sender = sender(settings);
    sender.push(object(0, 1_000, None));
    sent(&mut sender, 0);
    ack(&mut sender, 200, 0, &[0], false);
    assert_eq!((sender.cwnd(), sender.poll_verdict()), (Some(5000), Some((0, Verdict::Ok))));
    sender.push(object(1, 6_000, Some(539)));
    sender.push(object(2, 6_000, Some(541)));
    assert_eq!(sent(&mut sender, 200).iter().map(|sent| sent.1).collect::<Vec<_>>(), [2; 5]);
    assert_eq!(sender.poll_verdict(), Some((1, Verdict::Expired)));
}

#[test]
fn acknowledgements_of_what_was_never_sent_are_survived() {
    let mut sender = sender(AtpSettings::default());
    sender.push(object(0, 3_000, None));
    sent(&mut sender, 0);
    for highest in [3, 1000, u64::MAX] {
        let nonsense = Ack { highest, vector: u128::MAX, expired: true, sent: at(0), delay: Span::ZERO, report: None };
        assert_eq!(sender.on_ack(at(100), nonsense), Reaction::default());
    }
    sender.on_ack(
        at(100),
        Ack { highest: 2, vector: u128::MAX, expired: false, sent: at(0), delay: Span::MAX, report: None },
    );
    sender.check().unwrap();
    assert_eq!(sender.poll_verdict(), Some((0, Verdict::Ok)));
}
