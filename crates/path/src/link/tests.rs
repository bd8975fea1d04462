//! Links: rates, queues, losses, changes, deadlines.

use super::*;
use crate::errors::blackouts::Blackout;
use crate::errors::gilbert_elliott::GilbertElliottSettings;
use crate::errors::settings::{Chance, ErrorModel, ErrorSettings};
use crate::errors::trace::{AtEnd, Record, Start, TraceSettings};
use crate::testkit::{packet, run};
use cellwind_engine::packet::Deadline;
use cellwind_engine::random::IndependentErrors;
use cellwind_engine::units::Probability;
use std::sync::Arc;

fn link(settings: LinkSettings) -> Link {
    Link::new(&settings, Stream::new(1, 0, "loss"))
}

fn settings() -> LinkSettings {
    LinkSettings { rate: Some(Rate::from_kbps(384)), delay: Span::from_millis(135), ..Default::default() }
}

#[test]
fn packets_leave_one_transmission_time_apart() {
    // 576 bytes at 384 kbit/s take 12 ms; two that arrive together wait for each other.
    let mut link = link(settings());
    let left = run(&mut link, &[(0, packet(1, 536)), (0, packet(537, 536)), (100, packet(1073, 536))]);
    let times: Vec<u64> = left.iter().map(|&(time, _)| time.as_nanos() / 1_000_000).collect();
    assert_eq!(times, [147, 159, 247]);
}

#[test]
fn the_queue_drops_the_tail_and_not_the_packet_in_transmission() {
    let mut link = link(LinkSettings { queue: QueueLimit::Packets(1), ..settings() });
    let burst: Vec<_> = (0..4).map(|n| (0, packet(1 + n * 536, 536))).collect();
    let left = run(&mut link, &burst);
    assert_eq!(left.len(), 2);
    assert_eq!(link.traffic().packets_dropped, 2);
    link.check().unwrap();
}

#[test]
fn a_queue_that_marks_does_so_to_what_finds_others_waiting() {
    let mut link = link(LinkSettings { mark_above: Some(2), ..settings() });
    let capable = |n: u64| Packet { flags: Flags::ACK.with(Flags::ECT), ..packet(1 + n * 536, 536) };
    let mut burst: Vec<_> = (0..5).map(|n| (0, capable(n))).collect();
    burst.push((0, packet(2681, 536)));
    let left = run(&mut link, &burst);
    let marks: Vec<bool> = left.iter().map(|(_, packet)| packet.flags.has(Flags::CE)).collect();
    // One is in transmission; the next two find none and one waiting, the last does not understand marks.
    assert_eq!(marks, [false, false, false, true, true, false]);
    link.check().unwrap();
}

#[test]
fn a_queue_bounded_in_bytes_takes_what_fits() {
    let mut link = link(LinkSettings { queue: QueueLimit::Bytes(Size::from_bytes(1200)), ..settings() });
    let burst: Vec<_> = (0..5).map(|n| (0, packet(1 + n * 536, 536))).collect();
    assert_eq!(run(&mut link, &burst).len(), 3); // one in transmission, 2 × 576 waiting
}

#[test]
fn without_a_rate_only_the_delay_counts() {
    let mut link = link(LinkSettings { rate: None, queue: QueueLimit::Packets(1), ..settings() });
    let burst: Vec<_> = (0..4).map(|n| (0, packet(1 + n * 536, 536))).collect();
    let left = run(&mut link, &burst);
    assert!(left.iter().all(|&(time, _)| time == Time::from_millis(135)));
    assert_eq!(left.len(), 4);
}

#[test]
fn random_loss_is_counted_and_takes_transmission_time() {
    let loss = ErrorSettings::independent(Probability::new(0.3).unwrap());
    let mut link = link(LinkSettings { loss, ..settings() });
    let packets: Vec<_> = (0..1000).map(|n| (n * 20, packet(1 + n * 536, 536))).collect();
    let left = run(&mut link, &packets);
    let dropped = link.traffic().packets_dropped;
    assert_eq!(left.len() as u64 + dropped, 1000);
    assert!((225..375).contains(&dropped), "{dropped}"); // 300 with deviation 14.5, five of them
    link.check().unwrap();
}

/// What to do to a link, and when (ms).
type Deed = fn(&mut Link, Time, &mut Outbox);

/// 100 ms per 1000-byte packet, then 50 ms on the line.
fn slow() -> LinkSettings {
    LinkSettings { rate: Some(Rate::from_kbps(80)), delay: Span::from_millis(50), ..Default::default() }
}

/// Gives the link four packets of 1000 bytes at once and does the deeds: what leaves port 0, and when (ms).
fn with_deeds(link: &mut Link, deeds: &[(u64, Deed)]) -> Vec<(u64, u64)> {
    let mut out = Outbox::new(false);
    for n in 0..4 {
        link.on_packet(Time::ZERO, Port(0), &packet(n, 960), &mut out);
    }
    let mut left = Vec::new();
    let mut deeds = deeds.iter().peekable();
    loop {
        let deed = deeds.peek().map_or(Time::MAX, |(ms, _)| Time::from_millis(*ms));
        let due = link.next_timeout().unwrap_or(Time::MAX);
        let now = deed.min(due);
        if now == Time::MAX {
            return left;
        }
        if due <= deed {
            link.on_timeout(now, &mut out);
        } else if let Some((_, deed)) = deeds.next() {
            deed(link, now, &mut out);
        }
        link.check().unwrap();
        left.extend(out.take_packets().map(|(_, packet)| (now.as_nanos() / 1_000_000, packet.seq)));
    }
}

#[test]
fn a_new_rate_holds_from_the_next_packet_on() {
    // At 110 ms the second packet is in transmission, until 200 ms. The others take 50 ms each at twice the rate.
    let faster: Deed = |link, now, out| {
        link.set_settings(now, &LinkSettings { rate: Some(Rate::from_kbps(160)), ..slow() }, out);
    };
    let left = with_deeds(&mut link(slow()), &[(110, faster)]);
    assert_eq!(left, [(150, 0), (250, 1), (300, 2), (350, 3)]);
}

#[test]
fn a_rate_changed_twice_within_one_packet_leaves_that_packet_alone() {
    let set = |kbps| {
        move |link: &mut Link, now, out: &mut Outbox| {
            link.set_settings(now, &LinkSettings { rate: Some(Rate::from_kbps(kbps)), ..slow() }, out);
        }
    };
    let mut link = link(slow());
    let mut out = Outbox::new(false);
    (0..3).for_each(|n| link.on_packet(Time::ZERO, Port(0), &packet(n, 960), &mut out));
    set(160)(&mut link, Time::from_millis(10), &mut out);
    set(800)(&mut link, Time::from_millis(20), &mut out);
    let left: Vec<u64> = run(&mut link, &[]).iter().map(|(time, _)| time.as_nanos() / 1_000_000).collect();
    assert_eq!(left, [150, 160, 170]); // sent at 100, 110 and 120
}

#[test]
fn nobody_overtakes_after_a_decrease_of_the_delay() {
    // Sent at 100, 200, 300 and 400 ms. The first is on the line until 150 ms, the second in transmission.
    let nearer: Deed = |link, now, out| {
        link.set_settings(now, &LinkSettings { delay: Span::ZERO, ..slow() }, out);
    };
    let left = with_deeds(&mut link(slow()), &[(110, nearer)]);
    assert_eq!(left, [(150, 0), (250, 1), (300, 2), (400, 3)]);
    // With a rate so high that the third would be there before the second.
    let much_nearer: Deed = |link, now, out| {
        link.set_settings(now, &LinkSettings { rate: None, delay: Span::ZERO, ..slow() }, out);
    };
    let left = with_deeds(&mut link(slow()), &[(110, much_nearer)]);
    assert_eq!(left, [(150, 0), (250, 1), (250, 2), (250, 3)]);
}

#[test]
fn an_increase_of_the_loss_strikes_those_that_wait() {
    let lossy: Deed = |link, now, out| {
        let settings =
            LinkSettings { loss: ErrorSettings::independent(Probability::new(0.999_999).unwrap()), ..slow() };
        link.set_settings(now, &settings, out);
    };
    let mut link = link(slow());
    assert_eq!(with_deeds(&mut link, &[(110, lossy)]), [(150, 0), (250, 1)]);
    assert_eq!(link.traffic().packets_dropped, 2);
}

#[test]
fn while_it_is_held_only_what_has_begun_goes_on() {
    // At 110 ms the second packet is in transmission; the third begins at the release.
    let (hold, release): (Deed, Deed) = (|link, now, out| link.hold(now, out), |link, now, out| link.release(now, out));
    let left = with_deeds(&mut link(slow()), &[(110, hold), (1000, release)]);
    assert_eq!(left, [(150, 0), (250, 1), (1150, 2), (1250, 3)]);
    // A release before the packet in transmission is sent changes nothing.
    let left = with_deeds(&mut link(slow()), &[(110, hold), (190, release)]);
    assert_eq!(left, [(150, 0), (250, 1), (350, 2), (450, 3)]);
}

#[test]
fn what_arrives_while_it_is_held_waits_in_the_queue() {
    let mut link = link(LinkSettings { rate: None, queue: QueueLimit::Packets(1), ..slow() });
    let mut out = Outbox::new(false);
    link.hold(Time::ZERO, &mut out);
    (0..2).for_each(|n| link.on_packet(Time::from_millis(1), Port(0), &packet(n, 960), &mut out));
    assert_eq!(link.traffic().packets_dropped, 1);
    assert_eq!(link.next_timeout(), Some(Time::MAX));
    link.release(Time::from_millis(20), &mut out);
    assert_eq!(run(&mut link, &[]).iter().map(|&(time, _)| time).collect::<Vec<_>>(), [Time::from_millis(70)]);
    link.check().unwrap();
}

#[test]
fn settings_that_change_while_it_is_held_count_at_the_release() {
    let hold: Deed = |link, now, out| link.hold(now, out);
    let faster: Deed = |link, now, out| {
        link.set_settings(now, &LinkSettings { rate: Some(Rate::from_kbps(160)), ..slow() }, out);
    };
    let release: Deed = |link, now, out| link.release(now, out);
    let left = with_deeds(&mut link(slow()), &[(110, hold), (120, faster), (1000, release)]);
    assert_eq!(left, [(150, 0), (250, 1), (1100, 2), (1150, 3)]);
}

#[test]
fn facts_tell_when_each_packet_that_waited_left_the_queue() {
    // Four packets at once: one is sent at once, the others from 100, 200 and 300 ms. What began arrives 150 ms later and
    // tells; the last two are taken out at 260 ms, of which one has begun.
    let mut link = link(slow());
    let mut out = Outbox::new(true);
    (0..4).for_each(|n| link.on_packet(Time::ZERO, Port(0), &packet(n, 960), &mut out));
    let told = |kind, out: &mut Outbox| -> Vec<(u64, u64)> {
        let facts = out.take_facts().into_iter().map(|row| row.fact()).filter(|fact| fact.kind == kind);
        facts.map(|fact| (fact.a, fact.b / 1_000_000)).collect()
    };
    assert_eq!(told(FactKind::QueueLength, &mut out).iter().map(|told| told.0).collect::<Vec<_>>(), [1, 2, 3]);
    link.on_timeout(Time::from_millis(150), &mut out);
    assert_eq!(told(FactKind::QueueLeft, &mut out), []);
    link.on_timeout(Time::from_millis(250), &mut out);
    assert_eq!(told(FactKind::QueueLeft, &mut out), [(1, 150)]);
    link.flush(Time::from_millis(260), &mut out);
    assert_eq!(told(FactKind::QueueLeft, &mut out), [(1, 60), (1, 0)]);
}

#[test]
fn all_that_has_not_arrived_is_handed_back_in_order() {
    let mut link = link(slow());
    let mut out = Outbox::new(false);
    (0..4).for_each(|n| link.on_packet(Time::ZERO, Port(0), &packet(n, 960), &mut out));
    link.on_timeout(Time::from_millis(150), &mut out);
    assert_eq!(out.take_packets().count(), 1);
    link.flush(Time::from_millis(160), &mut out);
    let back: Vec<_> = out.take_packets().map(|(port, packet)| (port, packet.seq)).collect();
    assert_eq!(back, [(HANDED_BACK, 1), (HANDED_BACK, 2), (HANDED_BACK, 3)]);
    link.check().unwrap();
    assert_eq!((link.traffic().packets_handed_back, link.traffic().packets_held()), (3, 0));
    // The transmitter is free at once.
    let left = run(&mut link, &[(200, packet(9, 960))]);
    assert_eq!(left[0].0, Time::from_millis(350));
}

/// Packets of 1000 bytes from flow 0 whose deadlines (ms) are given.
fn with_deadlines(deadlines: &[u64]) -> Vec<(u64, Packet)> {
    let deadline = |&ms: &u64| Deadline::at(Time::from_millis(ms));
    (0..).zip(deadlines).map(|(n, ms)| (0, Packet { deadline: deadline(ms), ..packet(n, 960) })).collect()
}

fn expiring(fix_ttl: u64, mark: bool) -> LinkSettings {
    let fix_ttl = Span::from_millis(fix_ttl);
    LinkSettings { expiry: Some(Expiry { fix_ttl, mark }), ..slow() }
}

#[test]
fn what_has_expired_when_it_is_to_be_sent_takes_no_time() {
    // They would be sent at 0, 100, 200 and 300 ms; the second and third are over at 100 ms, the fourth goes then.
    let mut link = link(expiring(0, true));
    let left = run(&mut link, &with_deadlines(&[0, 99, 60, 100, 400]));
    let left: Vec<_> = left
        .iter()
        .map(|(time, packet)| (time.as_nanos() / 1_000_000, packet.seq, packet.flags.has(Flags::EXP)))
        .collect();
    assert_eq!(left, [(150, 0, false), (250, 3, true), (350, 4, false)]);
    assert_eq!((link.traffic().packets_dropped, link.traffic().packets_held()), (2, 0));
    link.check().unwrap();
}

#[test]
fn fix_ttl_must_be_left_at_the_start_of_transmission() {
    // At 100 ms the second has 50 ms left and the third 51.
    let left = run(&mut link(expiring(51, false)), &with_deadlines(&[51, 150, 151]));
    assert_eq!(left.iter().map(|(_, packet)| packet.seq).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(left[1].0, Time::from_millis(250));
    assert!(run(&mut link(expiring(51, false)), &with_deadlines(&[50])).is_empty());
}

#[test]
fn deadlines_are_looked_at_again_when_the_plan_changes() {
    // All would go in time, but nothing begins from 110 to 350 ms.
    let mut link = link(expiring(0, false));
    let mut out = Outbox::new(true);
    for (_, packet) in with_deadlines(&[1000, 1000, 300, 1000]) {
        link.on_packet(Time::ZERO, Port(0), &packet, &mut out);
    }
    link.on_timeout(Time::from_millis(100), &mut out);
    link.hold(Time::from_millis(110), &mut out);
    link.release(Time::from_millis(350), &mut out);
    let left = run(&mut link, &[]);
    assert_eq!(left.iter().map(|(_, packet)| packet.seq).collect::<Vec<_>>(), [0, 1, 3]);
    assert_eq!(left[2].0, Time::from_millis(500));
    link.check().unwrap();
}

#[test]
fn expired_packets_fill_the_queue_until_their_turn() {
    let mut link = link(LinkSettings { queue: QueueLimit::Packets(2), ..expiring(0, false) });
    let left = run(&mut link, &with_deadlines(&[0, 1, 1, 900]));
    assert_eq!((left.len(), link.traffic().packets_dropped), (1, 3));
}

fn of_model(model: ErrorModel) -> ErrorSettings {
    let loss = ErrorSettings { model, ..ErrorSettings::default() };
    loss.check().unwrap();
    loss
}

fn recorded(text: &str, step: Option<Span>) -> ErrorSettings {
    let record = Arc::new(Record::parse(text).unwrap());
    let (at_end, start) = (AtEnd::Repeat, Start::Beginning);
    of_model(ErrorModel::Trace(TraceSettings { file: String::new(), at_end, start, step, record }))
}

/// One out of ten packets is lost, in bursts of four.
fn bursts(step: Option<Span>) -> ErrorSettings {
    of_model(ErrorModel::GilbertElliott(GilbertElliottSettings {
        good_to_bad: None,
        bad_to_good: None,
        rate: Chance::new(0.1),
        burst: Some(4.0),
        good_errors: Chance::NEVER,
        bad_errors: Chance::ALWAYS,
        step,
    }))
}

fn dark(at_ms: u64, duration_ms: u64) -> ErrorSettings {
    let (at, duration) = (Span::from_millis(at_ms), Span::from_millis(duration_ms));
    let blackout = Blackout { at, duration, period: None };
    ErrorSettings { blackouts: [blackout].into(), ..ErrorSettings::default() }
}

/// Which of the packets that come at these instants (ms) are lost in a link.
fn fates(settings: LinkSettings, instants: impl Iterator<Item = u64>) -> Vec<bool> {
    let packets: Vec<_> = (0..).zip(instants).map(|(n, ms)| (ms, packet(n, 960))).collect();
    let mut lost = vec![true; packets.len()];
    run(&mut link(settings), &packets).iter().for_each(|(_, packet)| lost[packet.seq as usize] = false);
    lost
}

/// The share of losses and the mean length of runs of them.
fn share_and_burst(fates: &[bool]) -> (f64, f64) {
    let lost = fates.iter().filter(|&&lost| lost).count() as f64;
    let bursts = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
    (lost / fates.len() as f64, lost / bursts)
}

#[test]
fn a_bare_probability_draws_as_independent_errors_do() {
    let probability = Probability::new(0.2).unwrap();
    let mut errors = IndependentErrors::new(probability, Stream::new(1, 0, "loss"));
    let loss = ErrorSettings::independent(probability);
    let fates = fates(LinkSettings { loss, ..settings() }, (0..1000).map(|n| n * 30));
    assert_eq!(fates, (0..1000).map(|_| errors.strikes()).collect::<Vec<_>>());
}

#[test]
fn bursts_strike_packet_by_packet() {
    // Changes p = 1/36 and q = 1/4; outcomes k packets apart correlate with (1 - p - q)^k = 0.722^k, so that the variance of
    // the share is 0.1 · 0.9 / n · 1.722 / 0.278: five deviations of 200 000 packets are 0.0083. Of 5000 bursts with
    // deviation √(1 - q) / q = 3.46 the mean is known to 0.049.
    let settings = LinkSettings { loss: bursts(None), ..slow() };
    let (share, burst) = share_and_burst(&fates(settings, (0..200_000).map(|n| n * 1000)));
    assert!((share - 0.1).abs() < 0.0083, "{share}");
    assert!((burst - 4.0).abs() < 0.25, "{burst}");
}

#[test]
fn bursts_in_time_pass_while_nothing_is_sent() {
    // A step of 10 ms: with a packet every 40 ms, the state is another one after four steps. Of those in the bad state a share
    // 0.1 + 0.9 · 0.722^4 = 0.345 find it bad again, so that bursts have 1 / 0.655 = 1.527 packets with deviation
    // √0.345 / 0.655 = 0.897; five deviations of 13 000 bursts are 0.04. Outcomes correlate with 0.272^k.
    let settings = LinkSettings { loss: bursts(Some(Span::from_millis(10))), rate: None, ..slow() };
    let (share, burst) = share_and_burst(&fates(settings, (0..200_000).map(|n| n * 40)));
    assert!((share - 0.1).abs() < 0.0045, "{share}");
    assert!((burst - 1.527).abs() < 0.04, "{burst}");
}

#[test]
fn a_record_strikes_the_packets_it_names() {
    let settings = LinkSettings { loss: recorded("0 3\n1 2\n", None), ..slow() };
    let expected: Vec<bool> = (0..20).map(|n| n % 5 >= 3).collect();
    assert_eq!(fates(settings, (0..20).map(|n| n * n * 7)), expected);
}

#[test]
fn a_record_in_time_strikes_by_the_end_of_the_transmission() {
    // Entries last 100 ms, those from 200 ms on and from 600 ms on are losses. The packets are sent by 100, 200, 300 and 400 ms,
    // another one by 599.
    let settings = LinkSettings { loss: recorded("0 2\n1 1\n0 1\n", Some(Span::from_millis(100))), ..slow() };
    assert_eq!(fates(settings.clone(), [0, 0, 0, 0, 499].into_iter()), [false, true, false, false, false]);
    assert_eq!(fates(settings, [0, 0, 0, 0, 500].into_iter()), [false, true, false, false, true]);
}

#[test]
fn a_blackout_takes_what_is_in_transmission_for_however_short() {
    // They are in transmission from 0, 100, 200 and 300 ms on.
    let struck = |loss| fates(LinkSettings { loss, ..slow() }, [0; 4].into_iter());
    assert_eq!(struck(dark(150, 50)), [false, true, false, false]);
    assert_eq!(struck(dark(199, 2)), [false, true, true, false]);
    assert_eq!(struck(dark(400, 50)), [false; 4]);
    let mut periodic = dark(50, 10);
    periodic.blackouts = periodic.blackouts.iter().map(|&of| Blackout { period: Some(of.at * 4), ..of }).collect();
    assert_eq!(struck(periodic), [true, false, true, false]);
    // Without a rate, transmission is an instant: from 10 ms to just before 20 ms.
    let fates = fates(LinkSettings { loss: dark(10, 10), rate: None, ..slow() }, [9, 10, 19, 20].into_iter());
    assert_eq!(fates, [false, true, true, false]);
}

#[test]
fn a_blackout_goes_by_when_packets_are_really_sent() {
    // The third would be in transmission from 200 to 300 ms, but nothing begins from 110 to 1000 ms.
    let (hold, release): (Deed, Deed) = (|link, now, out| link.hold(now, out), |link, now, out| link.release(now, out));
    let settings = LinkSettings { loss: dark(250, 10), ..slow() };
    let sent = |deeds: &[(u64, Deed)]| -> Vec<u64> {
        with_deeds(&mut link(settings.clone()), deeds).iter().map(|&(_, seq)| seq).collect()
    };
    assert_eq!(sent(&[]), [0, 1, 3]);
    assert_eq!(sent(&[(110, hold), (1000, release)]), [0, 1, 2, 3]);
    // Told at 110 ms, it spares the second, whose transmission ends as it began.
    let tell: Deed = |link, now, out| link.set_settings(now, &LinkSettings { loss: dark(100, 150), ..slow() }, out);
    let left = with_deeds(&mut link(slow()), &[(110, tell)]);
    assert_eq!(left, [(150, 0), (250, 1), (450, 3)]);
}

#[test]
fn another_process_begins_anew_with_those_that_wait() {
    // At 110 ms the second of four is in transmission. The record strikes the first it meets; with blackouts that come later, it
    // goes on where it was.
    let tell: Deed = |link, now, out| {
        link.set_settings(now, &LinkSettings { loss: recorded("1 1\n0 9\n", None), ..slow() }, out);
    };
    let again: Deed = |link, now, out| {
        let loss = ErrorSettings { blackouts: dark(900, 1).blackouts, ..recorded("1 1\n0 9\n", None) };
        link.set_settings(now, &LinkSettings { loss, ..slow() }, out);
    };
    let left = with_deeds(&mut link(slow()), &[(110, tell), (120, again)]);
    assert_eq!(left, [(150, 0), (250, 1), (450, 3)]);
}
