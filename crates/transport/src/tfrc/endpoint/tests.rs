//! Two ends over a line of a given rate, delay and loss.

use super::*;
use crate::tfrc::equation::throughput;
use cellwind_engine::units::Size;

const DELAY: Span = Span::from_millis(50);

/// Runs `opener` and `other` until `until` over lines of 50 ms; `drops` says which data packets are lost, by number.
/// Gives the payload bytes that arrived after `from`.
fn run(opener: &mut Tfrc, other: &mut Tfrc, until: Time, from: Time, drops: impl Fn(u64) -> bool) -> u64 {
    let mut out = Outbox::new(false);
    let mut under_way: VecDeque<(Time, bool, Packet)> = VecDeque::new();
    let mut before = 0;
    loop {
        for (_, end) in [(false, &mut *opener), (true, &mut *other)] {
            end.check().unwrap();
        }
        let timers = [opener.next_timeout(), other.next_timeout()];
        let arrival = under_way.front().map(|&(at, ..)| at);
        let Some(now) = [timers[0], timers[1], arrival].into_iter().flatten().min().filter(|&at| at <= until) else {
            return other.delivered() - before;
        };
        if now <= from {
            before = other.delivered();
        }
        let at_other = if arrival == Some(now) {
            let (_, at_other, packet) = under_way.pop_front().unwrap();
            if at_other {
                other.on_packet(now, &packet, &mut out)
            } else {
                opener.on_packet(now, &packet, &mut out)
            }
            at_other
        } else {
            let at_other = timers[1] == Some(now);
            if at_other {
                other.on_timeout(now, &mut out)
            } else {
                opener.on_timeout(now, &mut out)
            }
            at_other
        };
        for (_, packet) in out.take_packets() {
            if at_other || packet.payload == 0 || !drops(packet.ack) {
                under_way.push_back((now + DELAY, !at_other, packet));
            }
        }
    }
}

fn ends(settings: &TfrcSettings) -> (Tfrc, Tfrc) {
    (Tfrc::new(settings, FlowId(0), 0), Tfrc::new(settings, FlowId(0), 0))
}

fn bulk(end: &mut Tfrc, bytes: u64) {
    end.send(Time::ZERO, Message::new(0, bytes, Time::ZERO), &mut Outbox::new(false));
}

#[test]
fn under_fixed_loss_the_rate_is_that_of_the_equation() {
    // Every n-th packet is lost and the round trip is 100 ms; a loss is one event, so that p = 1/n.
    for n in [50, 200] {
        let settings = TfrcSettings { segment: Size::from_bytes(1000), ..TfrcSettings::default() };
        let (mut opener, mut other) = ends(&settings);
        bulk(&mut opener, 1 << 62);
        let (from, until) = (Time::from_secs(60), Time::from_secs(260));
        let arrived = run(&mut opener, &mut other, until, from, |number| number % n == n - 1);
        let sent = arrived as f64 / 200.0 * n as f64 / (n as f64 - 1.0);
        let expected = throughput(1000.0, 0.1, 1.0 / n as f64);
        assert!((sent / expected - 1.0).abs() < 0.03, "1/{n}: {sent} bytes/s, {expected} by the equation");
    }
}

#[test]
fn what_is_written_arrives_and_the_end_is_told_until_it_is_answered() {
    let (mut opener, mut other) = ends(&TfrcSettings::default());
    opener.open();
    bulk(&mut opener, 10_000);
    opener.close(Time::ZERO, &mut Outbox::new(false));
    run(&mut opener, &mut other, Time::from_secs(30), Time::ZERO, |_| false);
    assert_eq!(other.delivered(), 10_000 - 1456); // the first packet left before anybody listened
    assert!(matches!(other.events().pop_back(), Some(Event::PeerClosed)));
    assert_eq!((opener.farewell, opener.next_timeout()), (Farewell::Done, None));
}

#[test]
fn a_message_that_waits_too_long_expires() {
    let (mut opener, _) = ends(&TfrcSettings::default());
    let mut out = Outbox::new(false);
    bulk(&mut opener, 1000);
    let late = Message { deadline: Some(Time::from_millis(500)), ..Message::new(1, 1000, Time::ZERO) };
    opener.send(Time::ZERO, late, &mut out);
    opener.on_timeout(Time::from_secs(1), &mut out); // one packet per second before any feedback
    assert_eq!(opener.events().pop_front(), Some(Event::Expired(1)));
    assert_eq!(out.take_packets().count(), 0);
}

#[test]
fn deadlines_are_those_of_the_message_or_of_the_timeout() {
    let settings =
        TfrcSettings { expiring_data: true, feedback_lifetime: Some(Span::from_secs(3)), ..Default::default() };
    let (mut opener, mut other) = ends(&settings);
    let mut out = Outbox::new(false);
    opener.send(Time::ZERO, Message::new(0, 1000, Time::ZERO), &mut out);
    let (_, packet) = out.take_packets().next().unwrap();
    assert_eq!(packet.deadline.time(), Some(Time::from_secs(2))); // the first nofeedback timer
    other.on_packet(Time::from_millis(50), &packet, &mut out);
    let (_, feedback) = out.take_packets().next().unwrap();
    assert_eq!(feedback.deadline.time(), Some(Time::from_millis(3050)));
}
