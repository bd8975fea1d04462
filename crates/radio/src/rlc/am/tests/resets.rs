//! The reset procedure, and establishing anew.

use super::*;
use crate::settings::Delivery;

/// A reset after two transmissions, with three attempts to reset.
fn settings() -> AmSettings {
    let poll = PollSettings { last_pdu: true, timer: ttis(5), ..plain().poll };
    AmSettings { discard: Discard::Reset, max_dat: 2, timer_rst: TTI * 4, max_rst: 4, poll, ..plain() }
}

/// Ends of which the first initiates a reset at TTI 7: PDU 0 is lost twice, and the second poll tells so.
fn pair() -> Pair {
    let mut pair = Pair::new(&settings(), 42, 4);
    (0..2).for_each(|_| pair.enter(0, 39));
    pair.lose.extend([(0, 0, Some(0)), (0, 2, Some(0))]);
    pair.run_to(3);
    pair
}

#[test]
fn numbers_begin_anew_behind_a_reset_in_both_directions() {
    let mut pair = pair();
    // End 1 sends as well: what it had sent when the RESET PDU came is discarded, the rest goes on.
    (0..8).for_each(|_| pair.enter(1, 39));
    pair.run_to(40);
    let resets: Vec<_> =
        (0..2).map(|end| pair.all_sent(end).into_iter().find(|(_, line)| line.contains("RESET"))).collect();
    let (asked, answered) = (resets[0].unwrap(), resets[1].unwrap());
    assert_eq!((asked.1, answered.0), ("RESET0", asked.0 + 1));
    assert!(answered.1.starts_with("RESETACK0"), "{answered:?}");
    assert_eq!(pair.delivered[1].len() as u64 + pair.dropped(1), 8);
    pair.enter(0, 39);
    pair.enter(1, 39);
    pair.run_to(45);
    assert!(pair.delivered[0].contains(&2) && pair.delivered[1].contains(&8));
}

#[test]
fn a_repeated_reset_is_answered_and_does_not_reset_again() {
    let mut pair = pair();
    pair.lose.push((1, 8, None)); // the answer is lost
    pair.run_to(40);
    let control =
        |end: usize| pair.all_sent(end).into_iter().filter(|(_, line)| line.contains("RESET")).collect::<Vec<_>>();
    assert_eq!(control(0), [(7, "RESET0"), (11, "RESET0")]);
    assert_eq!(control(1), [(8, "RESETACK0"), (12, "RESETACK0")]);
    assert_eq!(pair.count(FactKind::ResetDone), 2);
}

#[test]
fn resets_from_both_ends_cross() {
    let mut pair = Pair::new(&settings(), 42, 4);
    for end in [0, 1] {
        (0..2).for_each(|_| pair.enter(end, 39));
        pair.lose.extend([(end, 0, Some(0)), (end, 2, Some(0))]);
    }
    pair.run_to(30);
    for end in [0, 1] {
        assert_eq!(pair.all_sent(end).iter().filter(|(_, line)| line.contains("RESET0")).count(), 1);
        assert_eq!((pair.delivered[end].len(), pair.dropped(end)), (0, 2));
        pair.enter(end, 39);
    }
    pair.run_to(40);
    assert_eq!(pair.delivered, [[2], [2]]);
}

#[test]
fn after_resets_in_vain_the_ends_are_established_anew_and_traffic_goes_on() {
    let mut pair = pair();
    pair.enter(0, 39);
    pair.lose.extend((4..40).map(|tti| (0, tti, None)));
    pair.run_to(40);
    // MaxRST of 4: three RESET PDUs, every four TTIs.
    let resets: Vec<_> = pair.all_sent(0).into_iter().filter(|(_, line)| line.contains("RESET")).collect();
    assert_eq!(resets, [(6, "RESET0"), (10, "RESET0"), (14, "RESET0")]);
    assert!(pair.ends[0].entity.is_unrecoverable() && pair.count(FactKind::Unrecoverable) == 1);
    assert!(!pair.ends[0].entity.has_something_to_send(pair.now(), &pair.ways[0]));
    let hfns = [0, 1].map(|end| pair.ends[end].entity.hfn());
    for end in [0, 1] {
        pair.ends[end].in_flight.clear();
        let hfns = (hfns[end], hfns[1 - end]);
        pair.ends[end].entity.re_establish(hfns, &mut pair.ways[end], &mut pair.out);
    }
    (0..3).for_each(|_| pair.enter(0, 39));
    pair.run_to(60);
    assert_eq!(pair.delivered[0].last(), Some(&5));
    assert_eq!(pair.delivered[0].len() as u64 + pair.dropped(0), 6);
    assert!(!pair.ends[0].entity.is_unrecoverable());
}

#[test]
fn erroneous_numbers_in_a_report_reset_the_entities() {
    let mut pair = Pair::new(&plain(), 42, 4);
    pair.enter(0, 39);
    pair.step();
    // LSN 2 acknowledges a PDU that was never sent (§10.1).
    let status = Status { fields: Vec::new(), end: StatusEnd::Ack(2) };
    pair.ends[1].in_flight.push_back((1, Pdu::Status(status)));
    pair.run_to(5);
    assert_eq!(pair.sent(0, 1), "RESET0");
    assert_eq!(pair.sent(1, 2), "RESETACK0");
}

#[test]
fn another_order_of_delivery_in_the_middle_of_a_reset_hands_nothing_up() {
    let poll = PollSettings { last_pdu: true, timer: ttis(5), ..plain().poll };
    let settings = AmSettings { discard: Discard::Reset, max_dat: 2, poll, timer_rst: TTI * 10, ..plain() };
    let arbitrary = AmSettings { delivery: Delivery::OutOfSequence, ..settings.clone() };
    let mut pair = Pair::new(&arbitrary, 42, 4);
    (0..2).for_each(|_| pair.enter(0, 39));
    pair.lose.extend((0..100).map(|tti| (0, tti, Some(0))));
    while pair.count(FactKind::ResetDone) == 0 {
        pair.step();
    }
    // The receiver has begun anew, and the transmitter has not heard of it.
    let (now, format) = (pair.now(), pair.ends[1].format);
    let mut delivered = 0;
    let way = &mut pair.ways[0];
    pair.ends[1].entity.set_settings(now, (&settings, &settings), (format, format), way, &mut |_| delivered += 1);
    assert_eq!(delivered, 0);
    pair.run_to(pair.tti + 5);
    assert_eq!((pair.count(FactKind::ResetDone), pair.delivered[0].len() as u64 + pair.dropped(0)), (2, 2));
}
