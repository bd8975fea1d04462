//! The worked examples of Teyeb, section 4.2: Figures 4.3 (a) to (f) and 4.4 (a) to (c), and appendix C.
//!
//! The figures number PDUs from 1, here they count from 0. SDUs of 39 octets fill PDUs of 42 with their length indicator.

use super::*;

const PDU: u16 = 42;
const SDU: u32 = 39;

/// End 1 reports what it is told to, and polls are answered.
fn polling(poll: PollSettings) -> AmSettings {
    AmSettings { poll: PollSettings { timer: Timer::None, ..poll }, ..plain() }
}

fn no_poll() -> PollSettings {
    plain().poll
}

/// Figure 4.3 (a): the last PDU in the buffer, and the last that is resent.
#[test]
fn the_last_pdu_and_the_last_resent_pdu_are_polled() {
    let poll = PollSettings { last_pdu: true, last_retransmitted_pdu: true, ..no_poll() };
    let mut pair = Pair::new(&polling(poll), PDU, 2);
    (0..4).for_each(|_| pair.enter(0, SDU));
    pair.lose.push((0, 0, Some(1)));
    pair.run_to(6);
    assert_eq!(pair.all_sent(0), [(0, "0-1"), (1, "2-3P"), (3, "(1)P")]);
    assert_eq!(pair.all_sent(1), [(2, "!1 A4"), (4, "A4")]);
    assert_eq!(pair.delivered[0], [0, 1, 2, 3]);
}

/// Figure 4.3 (b): with Poll_PDU at 4, the fourth PDU is polled, and later the fourth behind it, of which one is resent.
#[test]
fn every_fourth_pdu_is_polled_and_retransmissions_count() {
    let poll = PollSettings { every_pdus: Some(4), ..no_poll() };
    let mut pair = Pair::new(&polling(poll), PDU, 4);
    (0..4).for_each(|_| pair.enter(0, SDU));
    pair.lose.push((0, 0, Some(2)));
    pair.step();
    pair.step();
    // PDUs 5 and 6 of the figure leave before the report arrives; then 3 is resent and 7 follows.
    (0..2).for_each(|_| pair.enter(0, SDU));
    pair.ends[0].format.blocks = 2;
    pair.step();
    assert_eq!(pair.sent(0, 2), "(2) 4");
    pair.step();
    assert_eq!(pair.sent(0, 3), "5");
    pair.enter(0, SDU);
    pair.run_to(8);
    assert_eq!(pair.all_sent(0), [(0, "0-3P"), (2, "(2) 4"), (3, "5"), (4, "6P")]);
}

/// Figure 4.3 (c): with Poll_SDU at 1, the last PDU of each SDU is polled.
#[test]
fn the_last_pdu_of_every_sdu_is_polled() {
    let poll = PollSettings { every_sdus: Some(1), ..no_poll() };
    let mut pair = Pair::new(&polling(poll), PDU, 8);
    pair.enter(0, 40 + 39); // two PDUs
    pair.enter(0, 3 * 40 + 39); // four
    pair.step();
    assert_eq!(pair.sent(0, 0), "0-1P 2-5P");
}

/// Figure 4.3 (d): a window of 10 and a threshold of 60 %; PDUs 1 and 5 are not acknowledged when 6 is sent, which makes the
/// span from the first to the last six.
#[test]
fn the_span_of_the_window_is_polled() {
    let poll = PollSettings { window: Some(60), ..no_poll() };
    let settings = AmSettings { window: 10, ..polling(poll) };
    let mut pair = Pair::new(&settings, PDU, 10);
    (0..5).for_each(|_| pair.enter(0, SDU));
    pair.step();
    assert_eq!(pair.sent(0, 0), "0-4");
    pair.enter(0, SDU);
    pair.step();
    assert_eq!(pair.sent(0, 1), "5P");
    // Each further PDU above the threshold is polled as well (TS 25.322 §9.6 d).
    (0..2).for_each(|_| pair.enter(0, SDU));
    pair.step();
    assert_eq!(pair.sent(0, 2), "6P 7P");
}

/// Figure 4.3 (e): every ten TTIs a poll, for which a PDU is resent when none is to be sent.
#[test]
fn a_periodic_poll_resends_a_pdu_when_there_is_none_to_send() {
    let poll = PollSettings { periodic: ttis(10), ..no_poll() };
    let mut pair = Pair::new(&polling(poll), PDU, 4);
    pair.enter(0, SDU);
    pair.enter(0, SDU);
    pair.run_to(40);
    // Then all is acknowledged, and there is nothing to poll for.
    assert_eq!(pair.all_sent(0), [(0, "0-1"), (10, "(1)P")]);
    assert_eq!(pair.all_sent(1), [(11, "A2")]);
}

/// Figure 4.3 (f): a poll at TTI 4, a timer of seven TTIs, and no answer: at TTI 11 the last PDU is resent with a poll.
#[test]
fn the_poll_timer_polls_again_when_no_answer_comes() {
    let poll = PollSettings { last_pdu: true, timer: ttis(7), ..no_poll() };
    let settings = AmSettings { poll, ..plain() };
    let mut pair = Pair::new(&settings, PDU, 1);
    pair.run_to(0);
    (0..4).for_each(|_| pair.enter(0, SDU));
    pair.lose.push((0, 4, Some(3)));
    pair.run_to(20);
    assert_eq!(pair.all_sent(0), [(1, "0"), (2, "1"), (3, "2"), (4, "3P"), (11, "(3)P")]);
    assert_eq!(pair.delivered[0], [0, 1, 2, 3]);
}

/// Figure 4.3 (f), text: an answer for the last PDU stops the timer, be it negative.
#[test]
fn an_answer_for_the_last_pdu_stops_the_poll_timer() {
    let poll = PollSettings { last_pdu: true, timer: ttis(7), ..no_poll() };
    let mut pair = Pair::new(&AmSettings { poll, ..plain() }, PDU, 4);
    (0..2).for_each(|_| pair.enter(0, SDU));
    pair.run_to(20);
    assert_eq!(pair.all_sent(0), [(0, "0-1P")]);
}

/// Figure 4.4 (a): a poll with PDU 4 is answered in the next TTI.
#[test]
fn a_poll_is_answered_with_a_cumulative_acknowledgement() {
    let poll = PollSettings { last_pdu: true, ..no_poll() };
    let mut pair = Pair::new(&polling(poll), PDU, 4);
    (0..4).for_each(|_| pair.enter(0, SDU));
    pair.run_to(3);
    assert_eq!(pair.all_sent(1), [(1, "A4")]);
}

/// Figure 4.4 (b): reports every two TTIs, whatever has arrived.
#[test]
fn periodic_reports_come_whether_something_arrived_or_not() {
    let settings = AmSettings { status: StatusSettings { periodic: ttis(2), ..plain().status }, ..plain() };
    let mut pair = Pair::of([&settings, &plain()], PDU, [2, 2]);
    pair.lose.push((1, 4, None));
    (0..2).for_each(|_| pair.enter(0, SDU));
    pair.run_to(2);
    (0..2).for_each(|_| pair.enter(0, SDU));
    pair.run_to(20);
    assert_eq!(pair.all_sent(1), [(2, "A2"), (4, "A4"), (6, "A4")]);
    // Nothing waits for a report any more, and the timer rests until something arrives.
    pair.enter(0, SDU);
    pair.run_to(30);
    assert_eq!(pair.all_sent(1)[3..], [(24, "A5")]);
}

/// Figure 4.4 (c): PDUs 3 and 4 are lost; when 5 and 6 arrive, the report tells so.
#[test]
fn a_missing_pdu_is_reported_when_a_later_one_arrives() {
    let settings = AmSettings { status: StatusSettings { missing_pdu: true, ..plain().status }, ..plain() };
    let mut pair = Pair::new(&settings, PDU, 2);
    (0..6).for_each(|_| pair.enter(0, SDU));
    pair.lose.extend([(0, 1, Some(2)), (0, 1, Some(3))]);
    pair.run_to(2);
    assert_eq!(pair.all_sent(1), []);
    pair.run_to(6);
    assert_eq!(pair.all_sent(1), [(3, "!2,3 A6")]);
    assert_eq!(pair.sent(0, 4), "(2-3)");
    assert_eq!(pair.delivered[0], [0, 1, 2, 3, 4, 5]);
}

/// Teyeb, appendix C: polls with the last PDU and the last resent one, missing PDUs reported, and no poll timer. The last
/// PDUs are lost with their poll, and nothing moves until another SDU comes.
#[test]
fn the_deadlock_of_appendix_c_occurs_without_the_poll_timer() {
    let poll = PollSettings { last_pdu: true, last_retransmitted_pdu: true, ..no_poll() };
    let status = StatusSettings { missing_pdu: true, ..plain().status };
    let settings = AmSettings { poll, status, ..plain() };
    let mut pair = Pair::new(&settings, PDU, 4);
    pair.enter(0, 60);
    pair.lose.extend([(0, 0, Some(0)), (0, 0, Some(1))]);
    pair.run_to(299);
    assert_eq!(pair.all_sent(0), [(0, "0-1P")]);
    assert!(
        (0..2).all(|end| pair.ends[end].entity.next_timeout(&pair.ways[end]).is_none()),
        "it stands still for ever"
    );
    assert!(!pair.ends[0].entity.has_something_to_send(pair.now(), &pair.ways[0]));
    // TCP sends its SYN again: a report tells the first two missing, and both SDUs arrive.
    pair.enter(0, 60);
    pair.run_to(310);
    assert_eq!(pair.all_sent(0)[1..], [(300, "2-3P"), (302, "(0-1)P")]);
    assert_eq!(pair.delivered[0], [0, 1]);
}

/// The same with the poll timer of 300 ms.
#[test]
fn the_poll_timer_resolves_the_deadlock_of_appendix_c() {
    let poll = PollSettings { last_pdu: true, last_retransmitted_pdu: true, timer: ttis(30), ..no_poll() };
    let status = StatusSettings { missing_pdu: true, ..plain().status };
    let mut pair = Pair::new(&AmSettings { poll, status, ..plain() }, PDU, 4);
    pair.enter(0, 60);
    pair.lose.extend([(0, 0, Some(0)), (0, 0, Some(1))]);
    pair.run_to(100);
    assert_eq!(pair.all_sent(0), [(0, "0-1P"), (30, "(1)P"), (32, "(0)P")]);
    assert_eq!(pair.delivered[0], [0]);
}
