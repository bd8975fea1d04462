//! What becomes of SDUs that do not get through.

use super::*;

/// Missing PDUs are reported, the last one is polled for with a timer of five TTIs.
fn settings(discard: Discard, max_dat: u8) -> AmSettings {
    let poll = PollSettings { last_pdu: true, last_retransmitted_pdu: true, timer: ttis(5), ..plain().poll };
    let status = StatusSettings { missing_pdu: true, ..plain().status };
    AmSettings { discard, max_dat, poll, status, timer_mrw: TTI * 10, timer_rst: TTI * 10, max_mrw: 3, ..plain() }
}

/// Loses the PDU with this number of end 0 in every TTI.
fn lose_always(pair: &mut Pair, sn: u16) {
    pair.lose.extend((0..400).map(|tti| (0, tti, Some(sn))));
}

#[test]
fn max_dat_discards_the_sdu_and_the_window_moves() {
    let mut pair = Pair::new(&settings(Discard::MaxDat, 2), 42, 1);
    (0..4).for_each(|_| pair.enter(0, 39));
    lose_always(&mut pair, 1);
    pair.run_to(30);
    assert_eq!(pair.delivered[0], [0, 2, 3]);
    assert_eq!(pair.dropped(0), 1);
    // Sent at 1, asked for when PDU 2 arrives, resent at 4, asked for again: given up, and the window moves to PDU 2.
    let sent = pair.all_sent(0);
    assert_eq!(sent[..5], [(0, "0"), (1, "1"), (2, "2"), (3, "3P"), (4, "(1)P")]);
    assert_eq!(sent[5], (5, "MRW2.0"));
    assert!(pair.all_sent(1).contains(&(6, "MRWACK4.0")), "{:?}", pair.all_sent(1));
}

#[test]
fn max_dat_of_one_resends_only_for_polls() {
    let mut settings = settings(Discard::MaxDat, 1);
    settings.status.missing_pdu = false;
    let mut pair = Pair::new(&settings, 42, 4);
    pair.enter(0, 39);
    pair.lose.push((0, 0, Some(0)));
    pair.run_to(20);
    // Teyeb, section 5.3.4: when the poll timer ends, the PDU is sent again for the sake of the poll, and arrives.
    assert_eq!(pair.all_sent(0), [(0, "0P"), (5, "(0)P")]);
    assert_eq!((pair.delivered[0].as_slice(), pair.dropped(0)), ([0].as_slice(), 0));
    // In the middle of the window a missing PDU is not resent, its SDU is given up.
    (0..3).for_each(|_| pair.enter(0, 39));
    pair.lose.push((0, 21, Some(2)));
    pair.run_to(40);
    assert_eq!(pair.all_sent(0)[2..], [(21, "1-3P"), (23, "MRW3.0")]);
    assert_eq!((pair.delivered[0].as_slice(), pair.dropped(0)), ([0, 1, 3].as_slice(), 1));
}

#[test]
fn a_discarded_sdu_that_shares_its_last_pdu_takes_the_others_segments_along() {
    // SDUs of 60 octets: 40 | 20+ 19 | 40 | 1+ ... PDU 1 has the end of the first and the beginning of the second.
    let mut pair = Pair::new(&settings(Discard::MaxDat, 1), 42, 8);
    (0..3).for_each(|_| pair.enter(0, 60));
    pair.lose.push((0, 0, Some(1)));
    pair.run_to(20);
    // §11.6.2: SDUs with segments in PDU 1 are the first two; the second ends in PDU 3 as its first indicator.
    assert_eq!(pair.sent(0, 2), "MRW3.1");
    assert_eq!((pair.delivered[0].as_slice(), pair.dropped(0)), ([2].as_slice(), 2));
}

#[test]
fn a_timer_discards_what_takes_too_long() {
    let settings = AmSettings { discard_timer: TTI * 12, ..settings(Discard::Timer, 1) };
    let mut pair = Pair::new(&settings, 42, 1);
    pair.enter(0, 39);
    lose_always(&mut pair, 0);
    pair.run_to(4);
    (0..2).for_each(|_| pair.enter(0, 39));
    pair.run_to(40);
    assert_eq!(pair.sent(0, 12), "MRW1.0");
    assert_eq!((pair.delivered[0].as_slice(), pair.dropped(0)), ([1, 2].as_slice(), 1));
}

#[test]
fn a_timer_cuts_off_what_is_half_sent_and_drops_what_waits() {
    let settings = AmSettings { discard_timer: TTI * 3, ..settings(Discard::Timer, 1) };
    let mut pair = Pair::new(&settings, 42, 1);
    pair.enter(0, 400); // ten PDUs, of which three are sent
    pair.enter(0, 39);
    pair.run_to(2);
    pair.enter(0, 39);
    pair.run_to(20);
    // A number is left out in place of the rest, and the second SDU is dropped without a word.
    assert_eq!(pair.all_sent(0)[..5], [(0, "0"), (1, "1"), (2, "2"), (3, "MRW4.0"), (4, "4P")]);
    assert_eq!((pair.delivered[0].as_slice(), pair.dropped(0)), ([2].as_slice(), 2));
}

#[test]
fn an_sdu_that_arrives_before_the_request_is_delivered() {
    let settings = AmSettings { discard_timer: TTI * 3, ..settings(Discard::Timer, 1) };
    let mut pair = Pair::new(&settings, 42, 1);
    pair.delay = 4; // the SDU is on its way when its timer ends
    pair.enter(0, 39);
    pair.run_to(20);
    assert_eq!(pair.sent(0, 3), "MRW1.0");
    assert_eq!((pair.delivered[0].as_slice(), pair.dropped(0)), ([0].as_slice(), 0));
}

#[test]
fn a_request_is_repeated_and_at_last_the_entities_are_reset() {
    let mut pair = Pair::new(&settings(Discard::MaxDat, 1), 42, 4);
    (0..2).for_each(|_| pair.enter(0, 39));
    pair.lose.push((0, 0, Some(0)));
    pair.lose.extend([2, 12, 22].map(|tti| (0, tti, None)));
    pair.run_to(60);
    let control: Vec<_> = pair.all_sent(0).into_iter().filter(|(_, line)| line.contains('R')).collect();
    assert_eq!(control, [(2, "MRW1.0"), (12, "MRW1.0"), (22, "MRW1.0"), (32, "RESET0")]);
    assert_eq!(pair.sent(1, 33), "RESETACK0");
    // PDU 1 had arrived but waited for PDU 0; the reset discards it (§11.4.3).
    assert_eq!((pair.delivered[0].len(), pair.dropped(0)), (0, 2));
    pair.enter(0, 39);
    pair.run_to(80);
    assert_eq!(pair.delivered[0], [2]);
}

#[test]
fn a_lost_answer_is_given_again() {
    let mut pair = Pair::new(&settings(Discard::MaxDat, 1), 42, 4);
    (0..2).for_each(|_| pair.enter(0, 39));
    pair.lose.push((0, 0, Some(0)));
    pair.lose.push((1, 3, None));
    pair.run_to(30);
    assert_eq!(pair.sent(1, 3), "MRWACK2.0");
    assert_eq!((pair.delivered[0].as_slice(), pair.dropped(0)), ([1].as_slice(), 1));
    assert!(pair.all_sent(0).iter().filter(|(_, line)| line.starts_with("MRW")).count() <= 2);
    assert_eq!(pair.ways[0].held_octets(), 0);
}

#[test]
fn no_discard_resets_after_max_dat() {
    let mut pair = Pair::new(&settings(Discard::Reset, 2), 42, 4);
    (0..2).for_each(|_| pair.enter(0, 39));
    lose_always(&mut pair, 0);
    pair.run_to(9);
    // The poll is lost with the PDU; the next one has another, and its answer tells PDU 0 missing the second time.
    assert_eq!(pair.all_sent(0), [(0, "0-1P"), (2, "(0)P"), (7, "(1)P"), (9, "RESET0")]);
    pair.lose.clear();
    pair.enter(0, 39);
    pair.run_to(30);
    assert_eq!((pair.delivered[0].as_slice(), pair.dropped(0)), ([2].as_slice(), 2));
    assert_eq!(pair.count(FactKind::ResetDone), 2);
}

#[test]
fn without_discard_a_pdu_is_resent_for_ever() {
    let mut pair = Pair::new(&settings(Discard::None, 1), 42, 4);
    (0..2).for_each(|_| pair.enter(0, 39));
    pair.lose.extend((0..200).map(|tti| (0, tti, Some(0))));
    pair.run_to(230);
    assert_eq!((pair.delivered[0].as_slice(), pair.dropped(0)), ([0, 1].as_slice(), 0));
}

#[test]
fn a_full_buffer_and_a_full_queue_drop_what_comes() {
    let settings = AmSettings { queue: QueueLimit::Packets(2), ..settings(Discard::None, 1) };
    let mut pair = Pair::new(&settings, 42, 1);
    (0..4).for_each(|_| pair.enter(0, 100));
    assert_eq!(pair.dropped(0), 2);
    let settings = AmSettings { buffer: Some(Size::from_bytes(250)), queue: QueueLimit::Unlimited, ..settings };
    let mut pair = Pair::new(&settings, 42, 1);
    pair.delay = 10;
    pair.enter(0, 100);
    pair.run_to(5); // all of it is sent and nothing acknowledged
    (0..2).for_each(|_| pair.enter(0, 100));
    assert_eq!((pair.dropped(0), pair.ways[0].held_octets()), (1, 200));
}

/// An SDU of 220 octets in PDUs 0 to 5, of which the last also has two small ones, and is lost for a while; none but the
/// first may be given up before PDU 5 arrives.
fn shares_its_last_pdu(enters: [u64; 2], discard_timer: u64, lost_to: u64) -> Pair {
    let settings = AmSettings { discard_timer: TTI * discard_timer, timer_mrw: TTI * 2, ..settings(Discard::Timer, 1) };
    let mut pair = Pair::new(&settings, 42, 1);
    pair.enter(0, 220);
    for tti in enters {
        while pair.tti < tti {
            pair.step();
        }
        pair.enter(0, 5);
    }
    pair.lose.extend((5..=lost_to).map(|tti| (0, tti, Some(5))));
    pair
}

#[test]
fn a_repeated_request_discards_nothing_more() {
    let mut pair = shares_its_last_pdu([4, 4], 8, 10);
    pair.lose.push((1, 9, None));
    pair.run_to(30);
    // The answer to the first request is lost, the second one comes while PDU 5 is still missing.
    let requests: Vec<_> = pair.all_sent(0).into_iter().filter(|(_, line)| line.starts_with("MRW")).collect();
    assert_eq!(requests[..2], [(8, "MRW5.1"), (10, "MRW5.1")]);
    assert_eq!((pair.delivered[0].as_slice(), pair.dropped(0)), ([1, 2].as_slice(), 1));
}

#[test]
fn a_request_counts_the_sdus_that_an_earlier_one_has_discarded() {
    // The first two SDUs expire one behind the other: §9.2.2.11.8 counts both.
    let mut pair = shares_its_last_pdu([2, 4], 8, 10);
    pair.run_to(30);
    let requests: Vec<_> = pair.all_sent(0).into_iter().filter(|(_, line)| line.starts_with("MRW")).collect();
    assert_eq!(requests[..2], [(8, "MRW5.1"), (10, "MRW5.2")]);
    assert_eq!((pair.delivered[0].as_slice(), pair.dropped(0)), ([2].as_slice(), 2));
}
