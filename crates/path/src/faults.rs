//! Scripted faults at the far end of a link, for exact tests.

use std::collections::{BTreeMap, VecDeque};

use cellwind_engine::fact::DropReason;
use cellwind_engine::machine::{Machine, Outbox, Port};
use cellwind_engine::packet::{Body, Flags, FlowId, Packet};
use cellwind_engine::time::{Span, Time};

use crate::HANDED_BACK;
use crate::settings::Fault;
use crate::traffic::Traffic;

/// A stage that drops and delays exactly the packets its script names; packets enter and leave at port 0.
#[derive(Clone, Debug)]
pub struct Faults {
    rules: Vec<Rule>,
    flows: BTreeMap<FlowId, FlowState>,
    /// Delayed packets that others may overtake, by release instant.
    aside: VecDeque<(Time, Packet)>,
    /// A delayed packet and all that wait behind it.
    queue: VecDeque<(Time, Packet)>,
    traffic: Traffic,
}

/// A fault that can happen, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Drops the k-th data packet.
    DropData(u64),
    /// Drops the k-th pure ACK.
    DropAck(u64),
    /// Marks the k-th data packet.
    MarkData(u64),
    /// Drops a transmission of a segment.
    DropSegment {
        /// Place among the flow's first transmissions, from 1.
        segment: u64,
        /// Which transmission, from 1.
        transmission: u32,
    },
    /// Delays a transmission of a segment.
    DelaySegment {
        /// Place among the flow's first transmissions, from 1.
        segment: u64,
        /// Which transmission, from 1.
        transmission: u32,
        /// How long.
        by: Span,
        /// Whether later packets may pass.
        overtaking: bool,
    },
}

/// What a flow has sent through this stage.
#[derive(Clone, Debug, Default)]
struct FlowState {
    data_packets: u64,
    acks: u64,
    segments: u64,
    highest: u64,
    /// Sequence number and transmissions of the segments that rules name.
    watched: BTreeMap<u64, Watched>,
}

#[derive(Clone, Copy, Debug)]
struct Watched {
    segment: u64,
    transmissions: u32,
}

impl Fault {
    /// The rule this fault stands for, or what is wrong with it.
    pub fn rule(&self) -> Result<Rule, &'static str> {
        let transmission = self.transmission.unwrap_or(1);
        if transmission == 0 {
            return Err("transmissions are counted from 1");
        }
        let rule = match (self.drop_data, self.drop_ack, self.drop_segment, self.mark_data, self.delay_segment) {
            (Some(k), None, None, None, None) => Rule::DropData(k),
            (None, Some(k), None, None, None) => Rule::DropAck(k),
            (None, None, Some(segment), None, None) => Rule::DropSegment { segment, transmission },
            (None, None, None, Some(k), None) => Rule::MarkData(k),
            (None, None, None, None, Some(segment)) => {
                let by = self.by.ok_or("`delay_segment` needs `by`, the length of the delay")?;
                Rule::DelaySegment { segment, transmission, by, overtaking: self.overtaking.unwrap_or(false) }
            }
            _ => {
                return Err(
                    "exactly one of `drop_data`, `drop_ack`, `drop_segment`, `mark_data`, `delay_segment` is expected",
                );
            }
        };
        let counts_packets = matches!(rule, Rule::DropData(_) | Rule::DropAck(_) | Rule::MarkData(_));
        if counts_packets && self.transmission.is_some() {
            return Err("`transmission` goes with `drop_segment` or `delay_segment`");
        }
        if !matches!(rule, Rule::DelaySegment { .. }) && (self.by.is_some() || self.overtaking.is_some()) {
            return Err("`by` and `overtaking` go with `delay_segment`");
        }
        let number = match rule {
            Rule::DropData(k) | Rule::DropAck(k) | Rule::MarkData(k) => k,
            Rule::DropSegment { segment, .. } | Rule::DelaySegment { segment, .. } => segment,
        };
        if number == 0 { Err("packets and segments are counted from 1") } else { Ok(rule) }
    }
}

impl Faults {
    /// A stage that follows `rules`.
    pub fn new(rules: Vec<Rule>) -> Self {
        let traffic = Traffic::default();
        Faults { rules, flows: BTreeMap::new(), aside: VecDeque::new(), queue: VecDeque::new(), traffic }
    }

    /// What went through.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Checks that no packet was lost or made inside.
    pub fn check(&self) -> Result<(), String> {
        self.traffic.check(self.aside.iter().chain(&self.queue).map(|(_, packet)| packet))
    }

    /// Hands back all that is held, those that kept their place first, through [`HANDED_BACK`].
    pub fn flush(&mut self, out: &mut Outbox) {
        while let Some((_, packet)) = self.queue.pop_front().or_else(|| self.aside.pop_front()) {
            self.traffic.hand_back(&packet);
            out.send(HANDED_BACK, packet);
        }
    }

    /// The rule that strikes this packet.
    fn matching(&mut self, packet: &Packet) -> Option<Rule> {
        let flow = self.flows.entry(packet.flow).or_default();
        if packet.flags.has(Flags::SYN) || (packet.flags.has(Flags::FIN) && packet.payload == 0) {
            return None;
        }
        if packet.payload == 0 {
            flow.acks += 1;
            let number = flow.acks;
            return self.rules.iter().copied().find(|&rule| rule == Rule::DropAck(number));
        }
        flow.data_packets += 1;
        let number = flow.data_packets;
        if packet.seq >= flow.highest {
            // One from outside has no place in a stream of bytes, but a running number: each is a first transmission.
            flow.highest = if packet.body == Body::NONE { packet.end() } else { packet.seq + 1 };
            flow.segments += 1;
            let new = flow.segments;
            let named = |rule: &Rule| matches!(rule, Rule::DropSegment { segment, .. } | Rule::DelaySegment { segment, .. } if *segment == new);
            if self.rules.iter().any(named) {
                flow.watched.insert(packet.seq, Watched { segment: new, transmissions: 0 });
            }
        }
        let seen = flow.watched.get_mut(&packet.seq).map(|watched| {
            watched.transmissions += 1;
            (watched.segment, watched.transmissions)
        });
        self.rules.iter().copied().find(|&rule| match rule {
            Rule::DropData(k) | Rule::MarkData(k) => k == number,
            Rule::DropAck(_) => false,
            Rule::DropSegment { segment, transmission } | Rule::DelaySegment { segment, transmission, .. } => {
                seen == Some((segment, transmission))
            }
        })
    }

    /// Lets the packet pass, or wait behind those that wait.
    fn in_order(&mut self, packet: Packet, out: &mut Outbox) {
        match self.queue.back() {
            Some(&(release, _)) => self.queue.push_back((release, packet)),
            None => self.pass(packet, out),
        }
    }

    fn pass(&mut self, packet: Packet, out: &mut Outbox) {
        self.traffic.deliver(&packet);
        out.send(Port(0), packet);
    }
}

impl Machine for Faults {
    fn on_packet(&mut self, now: Time, _: Port, packet: &Packet, out: &mut Outbox) {
        self.traffic.enter(packet);
        match self.matching(packet) {
            Some(Rule::DelaySegment { by, overtaking: true, .. }) => {
                let release = now + by;
                let place = self.aside.partition_point(|&(time, _)| time <= release);
                self.aside.insert(place, (release, *packet));
            }
            Some(Rule::DelaySegment { by, overtaking: false, .. }) => {
                let release = self.queue.back().map_or(now, |&(time, _)| time).max(now + by);
                self.queue.push_back((release, *packet));
            }
            Some(Rule::MarkData(_)) if packet.flags.has(Flags::ECT) => {
                self.in_order(Packet { flags: packet.flags.with(Flags::CE), ..*packet }, out);
            }
            Some(_) => {
                self.traffic.drop(packet);
                out.drop(packet, DropReason::Scripted);
            }
            None => self.in_order(*packet, out),
        }
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        while self.aside.front().is_some_and(|&(release, _)| release <= now) {
            let (_, packet) = self.aside.pop_front().expect("there is a front");
            self.pass(packet, out);
        }
        while self.queue.front().is_some_and(|&(release, _)| release <= now) {
            let (_, packet) = self.queue.pop_front().expect("there is a front");
            self.pass(packet, out);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        let release = |held: &VecDeque<(Time, Packet)>| held.front().map(|&(time, _)| time);
        match (release(&self.aside), release(&self.queue)) {
            (Some(aside), Some(queue)) => Some(aside.min(queue)),
            (aside, queue) => aside.or(queue),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{packet, run};

    fn seqs(left: &[(Time, Packet)]) -> Vec<(u64, u64)> {
        left.iter().map(|(time, packet)| (time.as_nanos() / 1_000_000, packet.seq)).collect()
    }

    #[test]
    fn the_named_transmission_of_a_segment_is_dropped() {
        let mut faults = Faults::new(vec![Rule::DropSegment { segment: 2, transmission: 2 }]);
        let sent = [(0, packet(1, 100)), (1, packet(101, 100)), (2, packet(101, 100)), (3, packet(101, 100))];
        assert_eq!(seqs(&run(&mut faults, &sent)), [(0, 1), (1, 101), (3, 101)]);
        faults.check().unwrap();
    }

    #[test]
    fn packets_from_outside_are_all_first_transmissions() {
        let mut faults = Faults::new(vec![Rule::DropSegment { segment: 3, transmission: 1 }]);
        let sent: Vec<_> = (1..=4).map(|n| (n, Packet { body: Body(0), ..packet(n, 1000) })).collect();
        assert_eq!(seqs(&run(&mut faults, &sent)), [(1, 1), (2, 2), (4, 4)]);
    }

    #[test]
    fn data_and_acks_are_counted_apart() {
        let mut faults = Faults::new(vec![Rule::DropData(2), Rule::DropAck(1)]);
        let sent = [(0, packet(1, 100)), (1, packet(1, 0)), (2, packet(101, 100)), (3, packet(1, 0))];
        assert_eq!(seqs(&run(&mut faults, &sent)), [(0, 1), (3, 1)]);
    }

    #[test]
    fn followers_overtake_only_when_they_may() {
        let delay =
            |overtaking| Rule::DelaySegment { segment: 1, transmission: 1, by: Span::from_millis(5), overtaking };
        let sent = [(0, packet(1, 100)), (1, packet(101, 100)), (9, packet(201, 100))];
        assert_eq!(seqs(&run(&mut Faults::new(vec![delay(true)]), &sent)), [(1, 101), (5, 1), (9, 201)]);
        assert_eq!(seqs(&run(&mut Faults::new(vec![delay(false)]), &sent)), [(5, 1), (5, 101), (9, 201)]);
    }

    #[test]
    fn a_fault_is_one_thing_only() {
        assert!(Fault { drop_data: Some(1), drop_ack: Some(1), ..Fault::default() }.rule().is_err());
        assert!(Fault { drop_data: Some(0), ..Fault::default() }.rule().is_err());
        assert!(Fault { delay_segment: Some(1), ..Fault::default() }.rule().is_err());
        assert!(Fault { drop_data: Some(1), by: Some(Span::ZERO), ..Fault::default() }.rule().is_err());
        assert!(Fault { drop_segment: Some(1), ..Fault::default() }.rule().is_ok());
    }

    #[test]
    fn what_is_delayed_is_handed_back() {
        let delay =
            |segment, overtaking| Rule::DelaySegment { segment, transmission: 1, by: Span::from_secs(1), overtaking };
        let mut faults = Faults::new(vec![delay(1, true), delay(2, false)]);
        let mut out = Outbox::new(false);
        for n in 0..3 {
            faults.on_packet(Time::ZERO, Port(0), &packet(1 + 100 * n, 100), &mut out);
        }
        faults.flush(&mut out);
        let back: Vec<_> = out.take_packets().map(|(port, packet)| (port, packet.seq)).collect();
        assert_eq!(back, [(HANDED_BACK, 101), (HANDED_BACK, 201), (HANDED_BACK, 1)]);
        assert_eq!(faults.next_timeout(), None);
        faults.check().unwrap();
    }
}
