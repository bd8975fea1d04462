//! Status reports of all formats, where they are put, and windows.

use super::*;
use crate::rlc::settings::StatusFormat;
use crate::settings::Delivery;

/// Missing PDUs are reported in a format.
fn reporting(format: StatusFormat) -> AmSettings {
    let status = StatusSettings { missing_pdu: true, format, ..plain().status };
    let poll = PollSettings { last_pdu: true, timer: ttis(10), ..plain().poll };
    AmSettings { status, poll, ..plain() }
}

#[test]
fn every_format_tells_the_same() {
    let told = [
        (StatusFormat::Bitmap, "!0,3,4,5 A8"),
        (StatusFormat::List, "!0,3+2 A8"),
        (StatusFormat::RelativeList, "!0x1,3x3 A8"),
    ];
    for (format, text) in told {
        let mut pair = Pair::new(&reporting(format), 42, 8);
        (0..8).for_each(|_| pair.enter(0, 39));
        pair.lose.extend([0, 3, 4, 5].map(|sn| (0, 0, Some(sn))));
        pair.run_to(4);
        assert_eq!(pair.sent(1, 1), text);
        assert_eq!(pair.sent(0, 2), "(0) (3-5)");
        assert_eq!(pair.delivered[0], [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}

#[test]
fn a_report_that_does_not_fit_goes_into_several_pdus() {
    for format in [StatusFormat::Bitmap, StatusFormat::List, StatusFormat::RelativeList] {
        // PDUs of six octets hold one octet of a bitmap, or a list of one pair.
        let mut pair = Pair::of([&reporting(format), &plain()], 6, [64, 1]);
        (0..20).for_each(|_| pair.enter(0, 3));
        pair.lose.extend([0, 2, 4, 9, 11, 13].map(|sn| (0, 0, Some(sn))));
        pair.run_to(30);
        // Each part acknowledges up to the first missing PDU only (§9.2.2.11.2).
        let first = pair.sent(1, 1).to_string();
        assert!(first.split('A').skip(1).all(|part| part.trim_end().starts_with('0')), "{first}");
        assert!(!pair.sent(1, 2).is_empty(), "it goes on with the next opportunity");
        assert_eq!(pair.delivered[0], (0..20).collect::<Vec<_>>());
        assert_eq!(pair.ways[0].held_octets(), 0);
    }
}

#[test]
fn a_report_goes_into_the_padding_where_it_fits() {
    let mut settings = reporting(StatusFormat::Bitmap);
    settings.status.piggyback = true;
    let mut pair = Pair::new(&settings, 42, 4);
    pair.enter(0, 39);
    pair.step();
    pair.enter(1, 60); // 40, and 20 with 19 of padding behind the indicator
    pair.step();
    assert_eq!(pair.sent(1, 1), "0 1P+A1");
    pair.run_to(4);
    // The acknowledgement of end 0 has no data to go with.
    assert_eq!(pair.sent(0, 2), "A2");
    // No padding: a PDU of its own, before the data.
    pair.enter(0, 39);
    pair.step();
    pair.enter(1, 39);
    pair.step();
    assert_eq!(pair.sent(1, 6), "A2 2P");
    assert_eq!(pair.count(FactKind::StatusSent), 3);
}

#[test]
fn a_window_super_field_sets_the_window_of_the_transmitter() {
    let allowing = |window| {
        let status = StatusSettings { window, ..reporting(StatusFormat::Bitmap).status };
        AmSettings { status, ..reporting(StatusFormat::Bitmap) }
    };
    let mut pair = Pair::of([&allowing(Some(4)), &plain()], 42, [16, 16]);
    pair.step();
    assert_eq!(pair.sent(1, 0), "W4");
    pair.step();
    (0..10).for_each(|_| pair.enter(0, 39));
    pair.run_to(9);
    assert_eq!(pair.all_sent(0), [(2, "0-3P"), (4, "4-7P"), (6, "8-9P")]);
    assert_eq!(pair.delivered[0].len(), 10);
    // Without a window of its own the receiver allows what the transmitter has.
    let (now, format) = (pair.now(), pair.ends[0].format);
    let [way, _] = &mut pair.ways;
    pair.ends[1].entity.set_settings(now, (&plain(), &allowing(None)), (format, format), way, &mut |_| ());
    pair.run_to(11);
    assert_eq!(pair.sent(1, 10), "W4095");
    (0..10).for_each(|_| pair.enter(0, 39));
    pair.step();
    assert_eq!(pair.sent(0, 12), "10-19P");
}

#[test]
fn what_lies_outside_the_receiving_window_is_discarded_but_its_poll_answered() {
    let mut pair = Pair::new(&AmSettings { window: 1, receive_window: 1, ..reporting(StatusFormat::Bitmap) }, 42, 8);
    pair.enter(0, 39);
    pair.lose.push((1, 1, None)); // the acknowledgement
    pair.run_to(20);
    // The poll timer resends what has arrived, which lies below the window by then.
    assert_eq!(pair.all_sent(0), [(0, "0P"), (10, "(0)P")]);
    assert_eq!(pair.all_sent(1), [(1, "A1"), (11, "A1")]);
    assert_eq!(pair.delivered[0], [0]);
    // And what lies above it, if a transmitter sends that.
    let far = Run { first: Sn::new(2), count: 1, poll: true, resent: false };
    pair.ends[0].in_flight.push_back((pair.tti, Pdu::Data(far)));
    pair.run_to(22);
    assert_eq!(pair.sent(1, 21), "A1");
}

#[test]
fn sdus_leave_out_of_sequence_when_they_are_complete() {
    let settings = AmSettings { delivery: Delivery::OutOfSequence, ..reporting(StatusFormat::Bitmap) };
    let mut pair = Pair::new(&settings, 42, 8);
    // 40 | 20+ 19 | 40 | 1+ 38 | 22+: losing PDU 1 delays the first two.
    (0..3).for_each(|_| pair.enter(0, 60));
    pair.lose.push((0, 0, Some(1)));
    pair.run_to(1);
    assert_eq!(pair.delivered[0], [2]);
    pair.run_to(5);
    assert_eq!(pair.delivered[0], [2, 0, 1]);
    // In sequence from now on: what is complete and waits is handed up when the setting changes back.
    assert_eq!(pair.ways[0].traffic().packets_held(), 0);
}

#[test]
fn numbers_wrap() {
    let mut pair = Pair::new(&AmSettings { window: 64, ..reporting(StatusFormat::Bitmap) }, 42, 32);
    pair.errors = Some((0.1, Stream::new(1, 0, "errors")));
    let mut entered = 0;
    while pair.delivered[0].len() < 10_000 {
        while entered < pair.delivered[0].len() + 100 {
            pair.enter(0, 39);
            entered += 1;
        }
        pair.step();
    }
    assert_eq!(pair.delivered[0], (0..pair.delivered[0].len() as u64).collect::<Vec<_>>());
    assert!(pair.ends[0].entity.hfn() > 2);
}

#[test]
fn a_pdu_takes_as_many_transmissions_as_theory_says() {
    // Reports are further apart than a PDU and the report that asks for it take, so that none is asked for twice. Then the
    // number of transmissions is geometric: 1 / (1 - p) on average, with a standard deviation of sqrt(p) / (1 - p).
    let mut settings = reporting(StatusFormat::Bitmap);
    settings.status.prohibit = ttis(4);
    let mut pair = Pair::of([&settings, &plain()], 42, [12, 4]);
    let rate = 0.2;
    let mut lost = Stream::new(7, 0, "errors");
    let (mut sent, mut needed) = (0u64, 0u64);
    for tti in 0..3000 {
        (0..12).for_each(|_| {
            if tti < 2900 {
                pair.enter(0, 39)
            }
        });
        pair.step();
        let end = &mut pair.ends[0];
        sent += end.in_flight.iter().filter(|(arrives, _)| *arrives == pair.tti).count() as u64;
        let this = pair.tti;
        // What was just sent is lost with that rate; the reports are not.
        end.in_flight.retain(|(arrives, _)| *arrives != this || lost.uniform() >= rate);
        needed = pair.ways[0].sent_to - Sn::MODULUS;
    }
    let mean = sent as f64 / needed as f64;
    let deviation = rate.sqrt() / (1.0 - rate) / (needed as f64).sqrt();
    assert!((mean - 1.0 / (1.0 - rate)).abs() < 4.0 * deviation, "{mean} for {needed} PDUs");
}

#[test]
fn a_drained_direction_begins_anew() {
    let settings = reporting(StatusFormat::Bitmap);
    let mut pair = Pair::new(&settings, 42, 4);
    (0..9).for_each(|_| pair.enter(0, 60));
    pair.lose.push((0, 1, Some(5)));
    pair.run_to(3);
    let left: Vec<u64> = pair.ways[0].drain().map(|packet| packet.seq).collect();
    assert_eq!(left, (pair.delivered[0].len() as u64..9).collect::<Vec<_>>());
    assert_eq!(pair.ways[0].traffic().packets_handed_back, left.len() as u64);
    let (now, format) = (pair.now(), pair.ends[0].format);
    for end in &mut pair.ends {
        end.in_flight.clear();
        end.entity = AmEntity::new(now, (&settings, &settings), (format, format));
    }
    pair.enter(0, 60);
    pair.run_to(10);
    assert_eq!(pair.delivered[0].last(), Some(&9));
    assert_eq!((pair.ways[0].held_octets(), pair.ends[0].entity.buffered(&pair.ways[0])), (0, 0));
}

#[test]
fn a_trigger_between_the_parts_of_a_report_makes_another_report() {
    // PDUs of 12 octets: a STATUS PDU has room for four pairs and the ACK.
    let poll = PollSettings { last_pdu: true, ..plain().poll };
    let status = StatusSettings { format: StatusFormat::List, ..plain().status };
    let settings = AmSettings { poll, status, ..plain() };
    let mut pair = Pair::of([&settings, &settings], 12, [16, 1]);
    (0..14).for_each(|_| pair.enter(0, 9));
    pair.lose.extend([1, 3, 5, 7, 9, 11].map(|sn| (0, 0, Some(sn))));
    pair.step();
    // Its poll arrives behind the first part.
    pair.enter(0, 9);
    pair.run_to(3);
    assert_eq!(pair.all_sent(1), [(1, "!1,3,5,7 A1"), (2, "!9,11 A1"), (3, "!9,11 A15")]);
}

#[test]
fn a_window_that_grows_does_not_belie_a_bitmap_on_its_way() {
    let status = StatusSettings { missing_pdu: true, ..plain().status };
    let settings = AmSettings { window: 2047, receive_window: 2047, status, ..plain() };
    let mut pair = Pair::new(&settings, 42, 8);
    (0..5).for_each(|_| pair.enter(0, 39));
    pair.lose.push((0, 0, Some(1)));
    pair.run_to(1);
    // The bitmap began three PDUs before the window.
    assert_eq!(pair.sent(1, 1), "!1 A5");
    let larger = AmSettings { window: 4095, receive_window: 4095, ..settings };
    let (now, format) = (pair.now(), pair.ends[0].format);
    for end in [0, 1] {
        let way = &mut pair.ways[1 - end];
        pair.ends[end].entity.set_settings(now, (&larger, &larger), (format, format), way, &mut |_| ());
    }
    pair.run_to(5);
    assert_eq!(pair.all_sent(0), [(0, "0-4"), (2, "(1)")]);
    assert_eq!(pair.delivered[0], [0, 1, 2, 3, 4]);
}
