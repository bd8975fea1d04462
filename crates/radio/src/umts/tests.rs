use cellwind_engine::directions::Directions;
use cellwind_engine::fact::FactKind;
use cellwind_engine::time::Span;
use cellwind_engine::units::{Probability, Size};
use cellwind_path::HANDED_BACK;

use super::settings::{BearerSettings, NodeDelays, UmtsShared};
use super::testkit::{self, Access};
use super::*;
use crate::access::Stage;
use crate::mac::cell::settings::RadioSettings;
use crate::rlc::settings::{RlcSettings, Timer, TmSettings, UmSettings};
use cellwind_path::errors::blackouts::Blackout;
use cellwind_path::errors::settings::ErrorSettings;

mod pdcp;

/// The network's end and one terminal, driven without a World.
struct Bench {
    umts: Umts,
    out: Outbox,
    now: Time,
    /// When packets left: ms, port, sequence number.
    left: Vec<(u64, u16, u64)>,
}

const DOWN: u16 = 0;
const UP: u16 = 1;

/// 12 PDUs of 42 octets in TTIs of 10 ms down and 4 in TTIs of 20 ms up, without errors and delays.
fn settings() -> UmtsSettings {
    let direction = |rate: &str, tti: u64| BearerSettings {
        rate: rate.parse().unwrap(),
        tti: Span::from_millis(tti),
        pdu: Size::from_bytes(42),
        errors: ErrorSettings::default(),
        rlc: RlcSettings::default(),
    };
    let directions = Directions { down: direction("384 kbit/s", 10), up: direction("64 kbit/s", 20) };
    UmtsSettings { shared: UmtsShared::default(), directions }
}

/// Loses all that is sent from `at_ms` on for `duration_ms`.
fn dark(at_ms: u64, duration_ms: u64) -> ErrorSettings {
    let blackout = Blackout { at: Span::from_millis(at_ms), duration: Span::from_millis(duration_ms), period: None };
    ErrorSettings { blackouts: vec![blackout].into(), ..ErrorSettings::default() }
}

impl Bench {
    fn new(settings: &UmtsSettings) -> Self {
        let mut umts = Umts::new(&settings.shared, Stream::new(1, 0, "calls"));
        umts.add_terminal(settings, RadioSettings::default(), |name| Stream::new(1, 0, name));
        Bench { umts, out: Outbox::new(false), now: Time::ZERO, left: Vec::new() }
    }

    fn send(&mut self, part: u16, at_ms: u64, seq: u64, size: u32) {
        self.run_to(at_ms);
        let packet = Packet { seq, header: 0, payload: size, ..Packet::EMPTY };
        self.umts.on_packet(self.now, Port(part), &packet, &mut self.out);
        self.take();
    }

    /// Runs all that is due up to and including the instant.
    fn run_to(&mut self, ms: u64) {
        let until = Time::from_millis(ms);
        while let Some(due) = self.umts.next_timeout().filter(|&due| due <= until) {
            assert!(due >= self.now, "time goes on");
            self.now = due;
            self.umts.on_timeout(due, &mut self.out);
            self.take();
            self.umts.check().unwrap();
        }
        self.now = until;
    }

    fn take(&mut self) {
        let ms = self.now.as_nanos() / 1_000_000;
        self.left.extend(self.out.take_packets().map(|(port, packet)| (ms, port.0, packet.seq)));
    }
}

#[test]
fn a_packet_spends_the_nodes_the_wait_for_a_tti_and_the_tti() {
    let mut settings = settings();
    let delay = Span::from_millis;
    settings.shared.delays =
        NodeDelays { ue: delay(2), node_b: delay(5), rnc: delay(1), sgsn: delay(3), ggsn: delay(4) };
    let mut bench = Bench::new(&settings);
    // Down: 1 ms and 8 ms of nodes to the network's entity, a TTI from 10 to 20 ms, 7 ms to the terminal's.
    bench.send(DOWN, 1, 1, 100);
    // Up: a TTI from 20 to 40 ms, 7 ms, and 8 ms of nodes behind the network's entity.
    bench.send(UP, 5, 2, 100);
    bench.run_to(1000);
    assert_eq!(bench.left, [(27, Stage::exit(DOWN).0, 1), (55, Stage::exit(UP).0, 2)]);
    assert_eq!(bench.umts.next_timeout(), None, "an idle bearer sleeps");
}

#[test]
fn lost_pdus_are_reported_as_the_next_ones_arrive_and_sent_again() {
    let mut settings = settings();
    settings.directions.down.errors = dark(10, 10);
    let mut bench = Bench::new(&settings);
    // 900 octets are 23 PDUs: 12 from 10 to 20 ms, which are lost, and 11 from 20 to 30 ms. These tell of the gap: the report
    // leaves in the uplink's TTI from 40 to 60 ms, and the 12 PDUs come again from 60 to 70 ms.
    bench.send(DOWN, 5, 1, 900);
    bench.run_to(2000);
    assert_eq!(bench.left, [(70, 0, 1)]);
    let blocks = bench.umts.blocks(DOWN);
    assert_eq!((blocks.sent, blocks.resent), (35, 12));
    assert!(bench.umts.blocks(UP).status >= 2, "a report of the gap, and one of the end");
}

#[test]
fn a_lost_poll_is_repeated_by_its_timer() {
    let mut settings = settings();
    settings.directions.down.errors = dark(10, 10);
    let mut bench = Bench::new(&settings);
    // One PDU with its poll, from 10 to 20 ms, is lost. Timer_Poll of 300 ms began when it was submitted: at 310 ms the PDU is
    // sent again.
    bench.send(DOWN, 5, 1, 30);
    bench.run_to(2000);
    assert_eq!(bench.left, [(320, 0, 1)]);
}

#[test]
fn in_every_mode_facts_tell_who_joins_the_queue_and_who_leaves_it() {
    // Five packets of 200 octets, and a TTI carries 480: three begin in the first and two in the second. With segmentation in
    // transparent mode there is one in each. What a handover takes out does not wait any more.
    let transparent = TmSettings { segmentation: true, ..TmSettings::default() };
    for (rlc, pdu, expected) in [
        (RlcSettings::default(), 42, vec![(10, 3), (20, 2)]),
        (RlcSettings::Um(UmSettings::default()), 41, vec![(10, 3), (20, 2)]),
        (RlcSettings::Tm(transparent), 40, vec![(10, 1), (20, 1), (25, 3)]),
    ] {
        let mut settings = testkit::settings();
        for direction in [&mut settings.directions.down, &mut settings.directions.up] {
            (direction.rlc, direction.pdu) = (rlc.clone(), Size::from_bytes(pdu));
        }
        let mut access = Access::new(&settings, &[RadioSettings::default()]);
        (0..5).for_each(|seq| access.send(5, 0, Direction::Down, seq, 200));
        access.run(25);
        access.umts.flush(DOWN, access.now, &mut access.out);
        access.out.take_packets().for_each(drop);
        access.note();
        assert_eq!(access.facts(FactKind::QueueLength), [1, 2, 3, 4, 5].map(|waiting| (5, waiting)));
        assert_eq!(access.facts(FactKind::QueueLeft), expected, "{rlc:?}");
        let kept = access.facts(FactKind::BufferOccupancy);
        assert_eq!(kept.last().copied(), matches!(rlc, RlcSettings::Am(_)).then_some((25, 0)));
    }
}

#[test]
fn in_unacknowledged_mode_what_is_lost_stays_lost() {
    for rlc in [RlcSettings::Um(UmSettings::default()), RlcSettings::Tm(TmSettings::default())] {
        let mut settings = settings();
        settings.directions.down.rlc = rlc.clone();
        settings.directions.up.rlc = rlc;
        settings.directions.down.errors = dark(10, 10);
        let mut bench = Bench::new(&settings);
        bench.send(DOWN, 5, 1, 30);
        bench.send(DOWN, 15, 2, 30);
        bench.run_to(2000);
        // The receiver learns of the loss by the number of the next PDU.
        assert_eq!(bench.left, [(30, 0, 2)]);
        assert_eq!(bench.umts.traffic(DOWN).packets_dropped, 1);
    }
}

#[test]
fn a_held_direction_begins_no_tti_and_timers_go_on() {
    let mut bench = Bench::new(&settings());
    bench.send(DOWN, 5, 1, 30);
    bench.umts.hold(DOWN, &mut bench.out);
    bench.run_to(33);
    assert_eq!(bench.umts.next_timeout(), None);
    bench.umts.release(DOWN, bench.now, &mut bench.out);
    bench.run_to(2000);
    assert_eq!(bench.left, [(50, 0, 1)]);
}

#[test]
fn a_flush_hands_back_what_has_not_gone_up_in_its_order() {
    let mut settings = settings();
    settings.shared.delays.sgsn = Span::from_millis(1);
    settings.directions.down.errors = dark(10, 10);
    let mut bench = Bench::new(&settings);
    for seq in 1..=3 {
        bench.send(DOWN, 5 + seq, seq, 900); // the first two begin to be sent at 10 ms
    }
    bench.send(UP, 9, 7, 30);
    bench.send(DOWN, 35, 4, 30);
    bench.umts.flush(DOWN, bench.now, &mut bench.out);
    bench.umts.flush(UP, bench.now, &mut bench.out);
    bench.take();
    let back = |part, seq| (35, Stage::way_back(part).0, seq);
    assert_eq!(bench.left, [back(DOWN, 1), back(DOWN, 2), back(DOWN, 3), back(DOWN, 4), back(UP, 7)]);
    assert_eq!(Stage::way_back(0), HANDED_BACK);
    bench.umts.check().unwrap();
    bench.left.clear();
    // The bearer serves again, in both directions: up, a TTI from 60 to 80 ms and a millisecond of nodes.
    bench.send(DOWN, 41, 5, 900);
    bench.send(UP, 41, 8, 30);
    bench.run_to(2000);
    assert_eq!(bench.left, [(70, 0, 5), (81, Stage::exit(UP).0, 8)]);
}

#[test]
fn changed_settings_hold_from_the_next_tti_on() {
    let mut settings = settings();
    let mut bench = Bench::new(&settings);
    bench.send(DOWN, 5, 1, 960); // 25 PDUs with their headers and indicators
    bench.run_to(15);
    // The TTI from 10 to 20 ms ends as it began; then 6 PDUs in 20 ms carry on: from 20, 40 and 60 ms.
    settings.directions.down.tti = Span::from_millis(20);
    settings.directions.down.rate = "96 kbit/s".parse().unwrap();
    bench.umts.set_settings(DOWN, bench.now, &settings, &mut bench.out);
    bench.run_to(2000);
    assert_eq!(bench.left, [(80, 0, 1)]);
}

#[test]
fn packets_arrive_once_and_in_order_whatever_is_lost() {
    for (seed, window) in [(1, 2047), (2, 30), (3, 1)] {
        let mut settings = settings();
        for way in [&mut settings.directions.down, &mut settings.directions.up] {
            way.errors = ErrorSettings::independent(Probability::new(0.3).unwrap());
            let RlcSettings::Am(am) = &mut way.rlc else { unreachable!() };
            (am.window, am.receive_window) = (window, window);
            am.discard = crate::rlc::settings::Discard::None;
            am.status.prohibit = Timer::Of(Span::from_millis(60));
        }
        let mut umts = Umts::new(&settings.shared, Stream::new(seed, 0, "calls"));
        umts.add_terminal(&settings, RadioSettings::default(), |name| Stream::new(seed, 0, name));
        let mut bench = Bench { umts, ..Bench::new(&settings) };
        for seq in 0..40 {
            bench.send(DOWN, 20 * seq, seq, 1 + (seq as u32 * 97) % 1400);
            bench.send(UP, 20 * seq, seq, 1 + (seq as u32 * 31) % 200);
        }
        bench.run_to(20_000_000);
        for part in [DOWN, UP] {
            let exit = Stage::exit(part).0;
            let arrived: Vec<u64> = bench.left.iter().filter(|left| left.1 == exit).map(|left| left.2).collect();
            assert_eq!(arrived, (0..40).collect::<Vec<_>>(), "seed {seed}, window {window}, part {part}");
        }
        assert_eq!(bench.umts.next_timeout(), None);
    }
}

#[test]
fn terminals_do_not_feel_each_other_on_dedicated_channels() {
    let settings = settings();
    let mut alone = Bench::new(&settings);
    let mut together = Bench::new(&settings);
    together.umts.add_terminal(&settings, RadioSettings::default(), |name| Stream::new(9, 0, name));
    for bench in [&mut alone, &mut together] {
        for seq in 0..5 {
            bench.send(DOWN, 7 * seq, seq, 700);
        }
    }
    for seq in 0..9 {
        together.send(2, 35 + seq, seq, 1400);
    }
    alone.run_to(5000);
    together.run_to(5000);
    together.left.retain(|left| left.1 < 4);
    assert_eq!(alone.left, together.left);
}

#[test]
fn pdus_of_another_size_establish_both_ends_anew() {
    let mut settings = settings();
    let mut bench = Bench::new(&settings);
    // 960 octets are 25 PDUs: of these 24 are sent from 10 and 20 ms on. Nothing of the second packet was sent.
    bench.send(DOWN, 5, 1, 960);
    bench.send(DOWN, 5, 2, 300);
    bench.run_to(25);
    settings.directions.down.pdu = Size::from_bytes(82);
    bench.umts.set_settings(DOWN, bench.now, &settings, &mut bench.out);
    bench.umts.check().unwrap();
    // 300 octets are four PDUs of 80, which leave at 30 ms and arrive at 40.
    bench.run_to(2000);
    assert_eq!(bench.left, [(40, Stage::exit(DOWN).0, 2)]);
    assert_eq!(bench.umts.traffic(DOWN).packets_dropped, 1);
    assert_eq!(bench.umts.blocks(DOWN).sent, 24 + 4);
}
