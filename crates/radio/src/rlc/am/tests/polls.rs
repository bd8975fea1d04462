//! Polls and reports that are deferred.

use super::*;

/// Polls are sent with the last PDU and not more often than every five TTIs.
fn prohibiting() -> AmSettings {
    let poll = PollSettings { last_pdu: true, prohibit: ttis(5), ..plain().poll };
    AmSettings { poll, ..plain() }
}

#[test]
fn prohibited_polls_are_deferred_to_one_that_is_made_up() {
    let mut pair = Pair::new(&prohibiting(), 42, 4);
    pair.delay = 20; // no report comes in between
    for _ in 0..3 {
        pair.enter(0, 39);
        pair.step();
    }
    pair.run_to(19);
    // Three triggers; the second and third become one at the end of the prohibition, with the last PDU again.
    assert_eq!(pair.all_sent(0), [(0, "0P"), (1, "1"), (2, "2"), (5, "(2)P")]);
}

#[test]
fn a_deferred_poll_goes_with_the_next_pdu_if_there_is_one() {
    let mut pair = Pair::new(&prohibiting(), 42, 1);
    pair.delay = 20;
    pair.enter(0, 39);
    pair.step();
    pair.enter(0, 39);
    pair.run_to(4);
    (0..3).for_each(|_| pair.enter(0, 39));
    pair.run_to(9);
    assert_eq!(pair.all_sent(0), [(0, "0P"), (1, "1"), (5, "2P"), (6, "3"), (7, "4")]);
}

#[test]
fn a_deferred_poll_is_forgotten_when_all_is_acknowledged() {
    let mut pair = Pair::new(&prohibiting(), 42, 4);
    pair.enter(0, 39);
    pair.step();
    pair.enter(0, 39);
    // A periodic report acknowledges both before the prohibition ends.
    let status = StatusSettings { periodic: ttis(3), ..plain().status };
    let reporting = AmSettings { status, ..prohibiting() };
    let format = pair.ends[0].format;
    let (now, way) = (pair.now(), &mut pair.ways[0]);
    pair.ends[1].entity.set_settings(now, (&plain(), &reporting), (format, format), way, &mut |_| ());
    pair.run_to(12);
    assert_eq!(pair.all_sent(0), [(0, "0P"), (1, "1")]);
    // Nor does it come with the first PDU of what enters later.
    pair.enter(0, 39 * 10);
    pair.run_to(15);
    assert_eq!(pair.all_sent(0)[2..], [(13, "2-5"), (14, "6-9"), (15, "10-11P")]);
}

#[test]
fn several_triggers_at_once_make_one_poll() {
    let poll = PollSettings { last_pdu: true, every_pdus: Some(2), every_sdus: Some(2), ..plain().poll };
    let mut pair = Pair::new(&AmSettings { poll, ..plain() }, 42, 8);
    (0..4).for_each(|_| pair.enter(0, 39));
    pair.step();
    assert_eq!(pair.sent(0, 0), "0-1P 2-3P");
}

#[test]
fn the_last_pdu_that_the_window_allows_is_polled() {
    let poll = PollSettings { last_pdu: true, ..plain().poll };
    let mut pair = Pair::new(&AmSettings { window: 3, poll, ..plain() }, 42, 8);
    (0..5).for_each(|_| pair.enter(0, 39));
    pair.run_to(4);
    assert_eq!(pair.all_sent(0), [(0, "0-2P"), (2, "3-4P")]);
}

#[test]
fn prohibited_reports_are_deferred_to_one_that_is_made_up_at_the_end() {
    let status = StatusSettings { missing_pdu: true, prohibit: ttis(10), ..plain().status };
    let mut pair = Pair::new(&AmSettings { status, ..plain() }, 42, 1);
    (0..9).for_each(|_| pair.enter(0, 39));
    pair.lose.extend([(0, 0, Some(0)), (0, 5, Some(4))]);
    pair.run_to(25);
    // At TTI 2 PDU 1 tells that 0 is missing; what follows is deferred to TTI 12, when 4 is missing and 0 has arrived.
    assert_eq!(pair.all_sent(1), [(2, "!0 A2"), (12, "!4 A9")]);
    assert_eq!(pair.delivered[0], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_missing_pdu_is_reported_again_with_each_new_pdu() {
    let status = StatusSettings { missing_pdu: true, ..plain().status };
    let mut pair = Pair::new(&AmSettings { status, ..plain() }, 42, 1);
    pair.delay = 3;
    (0..6).for_each(|_| pair.enter(0, 39));
    pair.lose.push((0, 0, Some(0)));
    pair.run_to(20);
    // Each of PDUs 1 to 5 tells again that 0 is missing, which was resent at TTI 7 and arrives at 10.
    let reports = pair.all_sent(1);
    assert_eq!(reports, [(4, "!0 A2"), (5, "!0 A3"), (6, "!0 A4"), (7, "!0 A5"), (8, "!0 A6")]);
    assert_eq!(pair.delivered[0], [0, 1, 2, 3, 4, 5]);
}

#[test]
fn an_estimated_pdu_counter_waits_for_what_was_asked_for() {
    // The report of TTI 2 asks for two PDUs: with a timer of four TTIs and one PDU in each, they are due at TTI 8. One is
    // lost again, so the next report follows then, and nothing in between.
    let status = StatusSettings { missing_pdu: true, estimated_pdu_counter: ttis(4), ..plain().status };
    let mut pair = Pair::new(&AmSettings { status, ..plain() }, 42, 1);
    (0..8).for_each(|_| pair.enter(0, 39));
    pair.lose.extend([(0, 0, Some(0)), (0, 1, Some(1)), (0, 4, Some(0))]);
    pair.run_to(30);
    let reports = pair.all_sent(1);
    assert_eq!(reports[0], (3, "!0,1 A3"));
    assert_eq!(reports[1].0, 3 + 4 + 2);
    assert_eq!(pair.delivered[0], [0, 1, 2, 3, 4, 5, 6, 7]);
}
