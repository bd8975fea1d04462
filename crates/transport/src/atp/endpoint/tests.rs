//! Two ends, 50 ms apart each way, with losses.

use super::*;
use crate::atp::settings::AtpCongestion;

const DELAY: Span = Span::from_millis(50);

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// Two ends and what is on the line between them.
struct Pair {
    ends: [Atp; 2],
    line: VecDeque<(Time, usize, Packet)>,
    events: [Vec<Event>; 2],
    out: Outbox,
    /// Packets of the first end so far.
    count: u64,
}

impl Pair {
    fn new(settings: &AtpSettings) -> Self {
        let end = || Atp::new(settings, FlowId(0), 0);
        let (line, events) = (VecDeque::new(), [Vec::new(), Vec::new()]);
        Pair { ends: [end(), end()], line, events, out: Outbox::new(false), count: 0 }
    }

    /// Puts what has left end `from` on the line, except what `drops`.
    fn carry(&mut self, now: Time, from: usize, drops: &impl Fn(u64) -> bool) {
        self.ends[from].check().unwrap();
        for (_, packet) in self.out.take_packets() {
            self.count += u64::from(from == 0);
            if from == 1 || !drops(self.count - 1) {
                self.line.push_back((now + DELAY, 1 - from, packet));
            }
        }
        while let Some(event) = self.ends[from].events().pop_front() {
            self.events[from].push(event);
        }
    }

    fn run(&mut self, until: Time, drops: impl Fn(u64) -> bool) {
        loop {
            let arrival = self.line.front().map(|&(at, ..)| at);
            let timers = [self.ends[0].next_timeout(), self.ends[1].next_timeout()];
            let Some(now) = [arrival, timers[0], timers[1]].into_iter().flatten().min().filter(|&now| now <= until)
            else {
                return;
            };
            let end = if arrival == Some(now) {
                let (_, end, packet) = self.line.pop_front().unwrap();
                self.ends[end].on_packet(now, &packet, &mut self.out);
                end
            } else {
                let end = usize::from(timers[0] != Some(now));
                self.ends[end].on_timeout(now, &mut self.out);
                end
            };
            self.carry(now, end, &drops);
        }
    }

    fn send(&mut self, now: Time, message: Message, drops: impl Fn(u64) -> bool) {
        self.ends[0].send(now, message, &mut self.out);
        self.carry(now, 0, &drops);
    }
}

fn all_congestions() -> [AtpSettings; 3] {
    [AtpCongestion::Off, AtpCongestion::Aimd, AtpCongestion::Tfrc]
        .map(|congestion| AtpSettings { congestion, ..AtpSettings::default() })
}

#[test]
fn every_object_is_delivered_once_or_reported_as_expired() {
    // A tenth of the packets is lost; objects of 7200 bytes, one each 500 ms, are of use for 400 ms.
    for settings in all_congestions() {
        let mut pair = Pair::new(&settings);
        let lossy = |count: u64| count % 10 == 3;
        for number in 0..100 {
            let made = at(500 * u64::from(number));
            let message = Message { deadline: Some(made + Span::from_millis(400)), ..Message::new(number, 7200, made) };
            pair.send(made, message, lossy);
            pair.run(made + Span::from_millis(499), lossy);
        }
        pair.run(at(60_000), lossy);
        let count =
            |wanted: fn(&Event) -> bool, end: usize| pair.events[end].iter().filter(|&event| wanted(event)).count();
        let ok = count(|event| matches!(event, Event::Ok(_)), 0);
        let expired = count(|event| matches!(event, Event::Expired(_)), 0);
        let arrived = count(|event| matches!(event, Event::Arrived(_)), 1);
        assert_eq!(ok + expired, 100, "{:?}", settings.congestion);
        assert!(ok <= arrived && arrived <= 100 && arrived > 20, "{:?}: {ok} {arrived}", settings.congestion);
    }
}

#[test]
fn without_deadlines_all_arrives_whatever_is_lost() {
    for settings in all_congestions() {
        let mut pair = Pair::new(&settings);
        let lossy = |count: u64| count % 7 == 2;
        for number in 0..20 {
            pair.send(Time::ZERO, Message::new(number, 10_000, Time::ZERO), lossy);
        }
        pair.ends[0].close(Time::ZERO, &mut pair.out);
        pair.run(at(600_000), lossy);
        let arrived = pair.events[1].iter().filter(|event| matches!(event, Event::Arrived(_))).count();
        assert_eq!((arrived, pair.ends[1].delivered()), (20, 200_000), "{:?}", settings.congestion);
        assert_eq!(pair.events[1].last(), Some(&Event::PeerClosed));
        assert_eq!(pair.ends[0].next_timeout(), None);
    }
}

#[test]
fn either_end_aborts_an_object() {
    let mut pair = Pair::new(&AtpSettings::default());
    pair.send(Time::ZERO, Message::new(0, 100_000, Time::ZERO), |_| false);
    pair.run(at(60), |_| false);
    pair.ends[1].abort(at(60), 0, &mut pair.out);
    pair.carry(at(60), 1, &|_| false);
    pair.run(at(10_000), |_| false);
    assert_eq!(pair.events[0], [Event::Aborted(0)]);
    assert!(pair.ends[1].delivered() < 20_000);

    let mut pair = Pair::new(&AtpSettings::default());
    pair.send(Time::ZERO, Message::new(0, 100_000, Time::ZERO), |_| false);
    pair.ends[0].abort(at(10), 0, &mut pair.out);
    pair.carry(at(10), 0, &|_| false);
    pair.run(at(10_000), |_| false);
    assert!(pair.events[1].is_empty() && !pair.ends[1].receiver.has_incomplete(0));
}

#[test]
fn a_line_that_carries_nothing_is_told_as_congestion() {
    let mut pair = Pair::new(&AtpSettings::default());
    pair.send(Time::ZERO, Message::new(0, 5_000, Time::ZERO), |_| true);
    pair.run(at(1500), |_| true);
    assert_eq!(pair.events[0], [Event::Congested]);
}

#[test]
fn the_header_of_an_acknowledgement_holds_its_vector() {
    let mut pair = Pair::new(&AtpSettings::default());
    pair.send(Time::ZERO, Message::new(0, 1_000, Time::ZERO), |_| false);
    assert_eq!(pair.line[0].2.size().as_bytes(), 1060);
    pair.run(at(50), |_| false);
    assert_eq!(pair.line[0].2.size().as_bytes(), 76);
}
