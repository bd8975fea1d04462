//! UDP (RFC 768): packets without order, acknowledgement or control of congestion.
//!
//! A message that does not fit a packet travels as several, and is complete when all of them have arrived; there is no
//! second try. A message's deadline stands on each of its packets, for queues that heed it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use cellwind_engine::fact::{Fact, FactKind};
use cellwind_engine::machine::{Outbox, Port};
use cellwind_engine::packet::{Deadline, Flags, FlowId, Packet, SackBlocks};
use cellwind_engine::time::Time;
use cellwind_engine::units::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::carrier::{Event, Message};
use crate::tcp::Counters;

/// UDP (RFC 768) and how applications cut what is larger than a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UdpSettings {
    /// The most payload bytes of a packet; larger messages are sent as several packets.
    pub payload: Size,
    /// Bytes of IP and UDP header: 28 for IPv4 (RFC 791, RFC 768).
    pub header: Size,
}

impl Default for UdpSettings {
    fn default() -> Self {
        // Ethernet MTU 1500 less the headers (RFC 894, RFC 791, RFC 768).
        UdpSettings { payload: Size::from_bytes(1472), header: Size::from_bytes(28) }
    }
}

/// One end of an association; packets leave through port 0.
#[derive(Clone, Debug)]
pub struct Udp {
    flow: FlowId,
    number: u16,
    payload: u64,
    header: u16,
    /// Bytes sent, which number the packets.
    sent: u64,
    delivered: u64,
    /// Messages of which some packets are missing.
    incomplete: BTreeMap<u32, Incomplete>,
    counters: Counters,
    events: VecDeque<Event>,
}

#[derive(Clone, Debug, Default)]
struct Incomplete {
    arrived: BTreeSet<u32>,
}

/// The most incomplete messages that are kept; beyond, the one with the lowest number is forgotten.
const MOST_INCOMPLETE: usize = 1024;

/// What a packet says of its message, in the place of SACK blocks.
struct Part {
    message: Message,
    index: u32,
    count: u32,
}

/// Marks a number as there, since empty words mean no blocks.
const PRESENT: u64 = 1 << 63;
const LAST: u64 = 1 << 62;

impl Part {
    fn words(&self) -> SackBlocks {
        let last = if self.message.is_last { LAST } else { 0 };
        SackBlocks::of_words([
            PRESENT | last | u64::from(self.message.number),
            u64::from(self.index) << 32 | u64::from(self.count),
            self.message.bytes,
            self.message.made.as_nanos(),
        ])
    }

    fn of(packet: &Packet) -> Option<Part> {
        let [number, place, bytes, made] = packet.sack.words();
        let message = Message {
            deadline: packet.deadline.time(),
            is_last: number & LAST != 0,
            ..Message::new(number as u32, bytes, Time::from_nanos(made))
        };
        let (index, count) = ((place >> 32) as u32, place as u32);
        (number & PRESENT != 0 && index < count).then_some(Part { message, index, count })
    }
}

impl Udp {
    /// Association `number` of `flow`.
    pub fn new(settings: &UdpSettings, flow: FlowId, number: u16) -> Self {
        Udp {
            flow,
            number,
            payload: settings.payload.as_bytes().max(1),
            header: settings.header.as_bytes() as u16,
            sent: 0,
            delivered: 0,
            incomplete: BTreeMap::new(),
            counters: Counters::default(),
            events: VecDeque::new(),
        }
    }

    /// There is nobody to ask: the application may send.
    pub fn open(&mut self) {
        self.events.push_back(Event::Connected);
    }

    /// Sends all packets of a message at once.
    pub fn send(&mut self, message: Message, out: &mut Outbox) {
        let count = message.bytes.div_ceil(self.payload) as u32;
        for index in 0..count {
            let payload = (message.bytes - u64::from(index) * self.payload).min(self.payload) as u32;
            let part = Part { message, index, count };
            let fact = Fact::new(FactKind::SegmentSent, self.flow).about(self.sent + 1, payload);
            out.fact(fact.values(1, 0));
            let packet = Packet {
                seq: self.sent + 1,
                number: self.counters.segments_sent as u32,
                payload,
                sack: part.words(),
                deadline: message.deadline.map_or(Deadline::NONE, Deadline::at),
                flow: self.flow,
                header: self.header,
                flags: Flags::UDP,
                connection: self.number,
                ..Packet::EMPTY
            };
            self.sent += u64::from(payload);
            self.counters.segments_sent += 1;
            out.send(Port(0), packet);
        }
    }

    /// A packet arrives; one that makes its message complete brings [`Event::Arrived`].
    pub fn on_packet(&mut self, packet: &Packet, out: &mut Outbox) {
        let Some(part) = Part::of(packet) else { return };
        let fact = Fact::new(FactKind::SegmentReceived, self.flow).about(packet.seq, packet.payload);
        out.fact(fact.values(packet.seq + u64::from(packet.payload), 0));
        let number = part.message.number;
        let incomplete = self.incomplete.entry(number).or_default();
        incomplete.arrived.insert(part.index);
        if incomplete.arrived.len() as u32 == part.count {
            self.incomplete.remove(&number);
            self.delivered += part.message.bytes;
            self.events.push_back(Event::Arrived(part.message));
        } else if self.incomplete.len() > MOST_INCOMPLETE {
            self.incomplete.pop_first();
        }
    }

    /// The flow it belongs to.
    pub fn flow(&self) -> FlowId {
        self.flow
    }

    /// Bytes of messages sent.
    pub fn written(&self) -> u64 {
        self.sent
    }

    /// Bytes of complete messages that arrived.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Counts of what was sent: only segments.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Checks that what is incomplete stays within its bound.
    pub fn check(&self) -> Result<(), String> {
        match self.incomplete.len() {
            count if count <= MOST_INCOMPLETE => Ok(()),
            count => Err(format!("{count} incomplete messages")),
        }
    }

    pub(crate) fn events(&mut self) -> &mut VecDeque<Event> {
        &mut self.events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_survive_their_packet() {
        let message = Message {
            deadline: Some(Time::from_millis(700)),
            is_last: true,
            ..Message::new(0, 2000, Time::from_millis(1))
        };
        let mut udp = Udp::new(&UdpSettings::default(), FlowId(2), 0);
        let mut out = Outbox::new(false);
        udp.send(message, &mut out);
        let packets: Vec<Packet> = out.take_packets().map(|(_, packet)| packet).collect();
        assert_eq!(packets.iter().map(|packet| packet.payload).collect::<Vec<_>>(), [1472, 528]);
        assert_eq!(packets.iter().map(|packet| packet.size().as_bytes()).collect::<Vec<_>>(), [1500, 556]);
        let part = Part::of(&packets[1]).unwrap();
        assert_eq!((part.message, part.index, part.count), (message, 1, 2));
        assert!(Part::of(&Packet::EMPTY).is_none());
    }

    #[test]
    fn a_duplicate_does_not_complete_a_message() {
        let mut udp = Udp::new(&UdpSettings::default(), FlowId(0), 0);
        let mut out = Outbox::new(false);
        udp.send(Message::new(4, 2000, Time::ZERO), &mut out);
        let packets: Vec<Packet> = out.take_packets().map(|(_, packet)| packet).collect();
        udp.on_packet(&packets[0], &mut out);
        udp.on_packet(&packets[0], &mut out);
        assert!(udp.events().is_empty());
        udp.on_packet(&packets[1], &mut out);
        assert!(matches!(udp.events().pop_front(), Some(Event::Arrived(Message { number: 4, .. }))));
    }
}
