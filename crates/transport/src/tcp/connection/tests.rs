//! Two ends with 50 ms between them, by hand.

use super::*;
use crate::tcp::settings::DelayedAck;
use cellwind_engine::time::Span;

/// What is under way: when it arrives, whether at the end that opened, and what it is.
struct Pair {
    opener: Connection,
    other: Connection,
    under_way: Vec<(Time, bool, Packet)>,
    /// Every packet: when it left, whether the opener sent it.
    seen: Vec<(u64, bool, Packet)>,
    out: Outbox,
    now: Time,
    /// Numbers of packets, in the order they leave, that are lost.
    lost: Vec<usize>,
}

impl Pair {
    fn new(settings: &TcpSettings) -> Self {
        let end = || Connection::new(settings, FlowId(0), 7);
        let now = Time::ZERO;
        let out = Outbox::new(false);
        Pair { opener: end(), other: end(), under_way: Vec::new(), seen: Vec::new(), out, now, lost: Vec::new() }
    }

    fn act(&mut self, opener: bool, act: impl FnOnce(&mut Connection, Time, &mut Outbox)) {
        let end = if opener { &mut self.opener } else { &mut self.other };
        act(end, self.now, &mut self.out);
        for (_, packet) in self.out.take_packets() {
            assert_eq!(packet.connection, 7);
            let number = self.seen.len();
            self.seen.push((self.now.as_nanos() / 1_000_000, opener, packet));
            if !self.lost.contains(&number) {
                self.under_way.push((self.now + Span::from_millis(50), !opener, packet));
            }
        }
    }

    /// Runs until `ms`.
    fn run(&mut self, ms: u64) {
        let end = Time::from_millis(ms);
        loop {
            let arrival = self.under_way.iter().map(|&(time, ..)| time).min();
            let timers = [self.opener.next_timeout(), self.other.next_timeout()];
            let Some(next) = arrival.into_iter().chain(timers.into_iter().flatten()).min() else { break };
            if next > end {
                break;
            }
            self.now = next;
            if arrival == Some(next) {
                let place = self.under_way.iter().position(|&(time, ..)| time == next).unwrap();
                let (_, at_opener, packet) = self.under_way.remove(place);
                self.act(at_opener, |end, now, out| end.on_segment(now, &packet, out));
            } else {
                self.act(timers[0] == Some(next), |end, now, out| end.on_timeout(now, out));
            }
            self.opener.check().unwrap();
            self.other.check().unwrap();
        }
        self.now = end;
    }

    fn states(&self) -> (State, State) {
        (self.opener.state(), self.other.state())
    }

    /// The packets that left in `range` of ms: when, from the opener, seq, payload, ack.
    fn left(&self, range: std::ops::Range<u64>) -> Vec<(u64, bool, u64, u32, u64)> {
        let inside = self.seen.iter().filter(|(ms, ..)| range.contains(ms));
        inside.map(|&(ms, opener, packet)| (ms, opener, packet.seq, packet.payload, packet.ack)).collect()
    }
}

fn settings() -> TcpSettings {
    TcpSettings { timestamps: true, ..TcpSettings::default() }
}

#[test]
fn a_request_and_its_reply_take_two_round_trips_with_the_handshake() {
    let mut pair = Pair::new(&settings());
    pair.act(true, |end, now, out| end.open(now, out));
    pair.act(true, |end, now, out| end.write(now, 300, out));
    pair.run(149);
    assert_eq!(pair.states(), (State::Established, State::SynReceived));
    pair.run(150); // SYN 50, SYN-ACK 100, the request with the handshake's ACK 150
    assert_eq!(pair.states(), (State::Established, State::Established));
    assert_eq!(pair.other.delivered(), 300);
    pair.act(false, |end, now, out| end.write(now, 5000, out));
    pair.run(200);
    assert_eq!(pair.opener.delivered(), 5000);
    // Four segments of 1448, 1448, 1448 and 656 bytes, all of which acknowledge the request.
    let reply: Vec<_> = pair.left(150..151).into_iter().filter(|&(.., payload, _)| payload > 0).collect();
    assert_eq!(reply.iter().map(|&(.., payload, _)| payload).collect::<Vec<_>>(), [1448, 1448, 1448, 656]);
    assert!(reply.iter().all(|&(.., ack)| ack == 301));
}

#[test]
fn data_takes_a_delayed_ack_along() {
    let delayed_ack = DelayedAck { every: 2, ..DelayedAck::default() };
    let mut pair = Pair::new(&TcpSettings { delayed_ack, ..settings() });
    pair.act(true, |end, now, out| end.open(now, out));
    pair.act(true, |end, now, out| end.write(now, 300, out));
    pair.run(160);
    assert_eq!(pair.left(150..160), [], "the ACK of one segment waits");
    pair.act(false, |end, now, out| end.write(now, 100, out));
    pair.run(1000);
    // The reply at 160 carries the ACK; the ACK of the reply waits 200 ms from its arrival at 210.
    assert_eq!(pair.left(160..1000), [(160, false, 1, 100, 301), (410, true, 301, 0, 101)]);
    assert_eq!((pair.opener.acknowledged(), pair.other.acknowledged()), (300, 100));
}

#[test]
fn an_ack_on_data_tells_a_spurious_timeout_from_a_necessary_one() {
    // The request, packet 3, leaves at 200 and times out at 1200. It is there at 250, the reply (4) is lost as is the
    // request's retransmission (5), and the reply's at 1250 brings the ACK; or the retransmission is what arrives.
    for (lost, replied, counts) in [(vec![4, 5], 250, (1, 0)), (vec![3], 1250, (0, 1))] {
        let delayed_ack = DelayedAck { every: 2, ..DelayedAck::default() };
        let mut pair = Pair::new(&TcpSettings { delayed_ack, ..settings() });
        pair.lost = lost;
        pair.act(true, |end, now, out| end.open(now, out));
        pair.run(200);
        pair.act(true, |end, now, out| end.write(now, 300, out));
        pair.run(replied);
        assert_eq!(pair.other.delivered(), 300);
        pair.act(false, |end, now, out| end.write(now, 100, out));
        pair.run(2000);
        let counters = pair.opener.counters();
        assert_eq!((counters.timeouts, pair.opener.acknowledged()), (1, 300));
        assert_eq!((counters.spurious_timeouts, counters.necessary_timeouts), counts);
    }
}

#[test]
fn one_direction_may_go_on_after_the_other_has_closed() {
    let mut pair = Pair::new(&settings());
    pair.act(true, |end, now, out| end.open(now, out));
    pair.act(true, |end, now, out| end.write(now, 10, out));
    pair.act(true, |end, now, out| end.close(now, out));
    pair.run(300);
    assert_eq!(pair.states(), (State::FinWait2, State::CloseWait));
    pair.act(false, |end, now, out| end.write(now, 20_000, out));
    pair.act(false, |end, now, out| end.close(now, out));
    assert_eq!(pair.other.state(), State::LastAck);
    pair.run(1000);
    assert_eq!(pair.states(), (State::TimeWait, State::Closed));
    assert_eq!((pair.opener.delivered(), pair.other.delivered()), (20_000, 10));
    assert_eq!(pair.left(900..u64::MAX), []);
}

#[test]
fn both_may_close_at_once() {
    let mut pair = Pair::new(&settings());
    pair.act(true, |end, now, out| end.open(now, out));
    pair.run(150);
    pair.act(true, |end, now, out| end.close(now, out));
    pair.act(false, |end, now, out| end.close(now, out));
    pair.run(200);
    assert_eq!(pair.states(), (State::Closing, State::Closing));
    pair.run(250);
    assert_eq!(pair.states(), (State::TimeWait, State::TimeWait));
}

#[test]
fn a_lost_ack_of_the_handshake_is_made_good_when_nothing_else_is_sent() {
    let mut pair = Pair::new(&settings());
    pair.lost = vec![2]; // SYN, SYN-ACK, ACK
    pair.act(true, |end, now, out| end.open(now, out));
    pair.run(1000);
    assert_eq!(pair.states(), (State::Established, State::SynReceived));
    pair.run(4000); // the SYN-ACK leaves again after the first timeout
    assert_eq!(pair.states(), (State::Established, State::Established));
}

#[test]
fn after_an_idle_time_the_window_is_the_initial_one_again() {
    let mut pair = Pair::new(&settings());
    pair.act(true, |end, now, out| end.open(now, out));
    pair.act(true, |end, now, out| end.write(now, 30_000, out));
    pair.run(20_000);
    let before = pair.opener.sender().cwnd();
    assert_eq!(pair.opener.acknowledged(), 30_000);
    pair.act(true, |end, now, out| end.write(now, 1000, out));
    assert!(before > 10 * 1448);
    assert_eq!(pair.opener.sender().cwnd(), 10 * 1448);
}

#[test]
fn both_directions_carry_data_at_once_and_every_byte_arrives_though_packets_are_lost() {
    for first in 0..40 {
        let mut pair = Pair::new(&TcpSettings { sack: true, ..settings() });
        pair.lost = vec![first, first + 3, first + 7];
        pair.act(true, |end, now, out| end.open(now, out));
        pair.act(true, |end, now, out| end.write(now, 50_000, out));
        pair.run(150);
        pair.act(false, |end, now, out| end.write(now, 70_000, out));
        pair.run(60_000);
        assert_eq!((pair.opener.delivered(), pair.other.delivered()), (70_000, 50_000), "loss from {first}");
    }
}

#[test]
fn marks_of_either_direction_are_echoed_on_the_data_of_the_other() {
    let mut pair = Pair::new(&TcpSettings { ecn: true, ..TcpSettings::default() });
    pair.act(true, |end, now, out| {
        end.open(now, out);
        end.write(now, 1000, out);
    });
    pair.run(300);
    for opener in [true, false] {
        pair.act(opener, |end, now, out| end.write(now, 1000, out));
    }
    for (_, _, packet) in &mut pair.under_way {
        assert!(packet.payload == 0 || packet.flags.has(Flags::ECT));
        packet.flags = if packet.payload > 0 { packet.flags.with(Flags::CE) } else { packet.flags };
    }
    pair.run(360);
    for opener in [true, false] {
        pair.act(opener, |end, now, out| end.write(now, 1000, out));
        let (_, _, packet) = pair.seen.last().expect("sent");
        assert!(packet.payload == 1000 && packet.flags.has(Flags::ECE), "{packet:?}");
    }
    pair.run(1000);
    assert_eq!([&pair.opener, &pair.other].map(|end| end.counters().marks_answered), [1, 1]);
}
