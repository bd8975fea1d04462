//! One end of a TFRC connection: messages cut into packets that leave at the rate of the moment.
//!
//! RFC 5348 describes a congestion control and no protocol. Here packets go over UDP and carry what §3.2 asks for; there is no
//! handshake, and an end that has nothing more to say tells so until it is answered.

use std::collections::{BTreeMap, VecDeque};

use cellwind_engine::fact::{Fact, FactKind};
use cellwind_engine::machine::{Outbox, Port};
use cellwind_engine::packet::{Deadline, Flags, FlowId, Packet, SackBlocks};
use cellwind_engine::time::{Span, Time};

use super::rate::{Feedback, RateControl};
use super::report::{Arrival, Reports};
use super::settings::TfrcSettings;
use crate::carrier::{Event, Message};
use crate::farewell::Farewell;
use crate::tcp::Counters;

/// The most incomplete messages that are kept; beyond, the one with the lowest number is forgotten.
const MOST_INCOMPLETE: usize = 1024;

/// One end of a connection; packets leave through port 0.
#[derive(Clone, Debug)]
pub struct Tfrc {
    flow: FlowId,
    connection: u16,
    segment: u64,
    header: u16,
    expiring_data: bool,
    feedback_lifetime: Option<Span>,

    control: RateControl,
    /// What waits to be sent, and how much of the first is gone.
    waiting: VecDeque<Message>,
    offset: u64,
    /// The number of the next packet.
    number: u64,
    /// Payload bytes sent.
    sent: u64,
    /// When the last packet left, and its payload.
    last: Option<(Time, u64)>,
    written: u64,
    farewell: Farewell,

    reports: Reports,
    incomplete: BTreeMap<u32, u64>,
    delivered: u64,
    is_peer_closed: bool,

    counters: Counters,
    events: VecDeque<Event>,
}

impl Tfrc {
    /// One end of connection `number` of `flow`.
    pub fn new(settings: &TfrcSettings, flow: FlowId, number: u16) -> Self {
        let segment = settings.segment.as_bytes().max(1);
        Tfrc {
            flow,
            connection: number,
            segment,
            header: settings.header.as_bytes() as u16,
            expiring_data: settings.expiring_data,
            feedback_lifetime: settings.feedback_lifetime,
            control: RateControl::new(segment, settings.longest_interval, settings.oscillation_prevention),
            waiting: VecDeque::new(),
            offset: 0,
            number: 0,
            sent: 0,
            last: None,
            written: 0,
            farewell: Farewell::default(),
            reports: Reports::new(segment, settings.discounting),
            incomplete: BTreeMap::new(),
            delivered: 0,
            is_peer_closed: false,
            counters: Counters::default(),
            events: VecDeque::new(),
        }
    }

    /// There is nobody to ask: the application may send.
    pub fn open(&mut self) {
        self.events.push_back(Event::Connected);
    }

    /// Takes a message, to be sent when those before it are.
    pub fn send(&mut self, now: Time, message: Message, out: &mut Outbox) {
        self.written = self.written.saturating_add(message.bytes);
        self.waiting.push_back(message);
        self.transmit(now, out);
    }

    /// Nothing comes after what waits.
    pub fn close(&mut self, now: Time, out: &mut Outbox) {
        self.farewell.close();
        self.transmit(now, out);
    }

    /// Takes back what has not been sent of a message.
    pub fn abort(&mut self, message: u32) {
        if self.waiting.front().is_some_and(|first| first.number == message) {
            self.offset = 0;
        }
        self.waiting.retain(|waiting| waiting.number != message);
    }

    /// A packet of this connection arrives.
    pub fn on_packet(&mut self, now: Time, packet: &Packet, out: &mut Outbox) {
        let (is_answer, is_end) = (packet.flags.has(Flags::ACK), packet.flags.has(Flags::FIN));
        match (is_answer, is_end) {
            (true, true) => self.farewell.on_answer(),
            (true, false) => self.on_feedback(now, packet, out),
            (false, true) => {
                if !std::mem::replace(&mut self.is_peer_closed, true) {
                    self.events.push_back(Event::PeerClosed);
                }
                out.send(Port(0), self.bare(Flags::ACK.with(Flags::FIN)));
            }
            (false, false) => self.on_data(now, packet, out),
        }
    }

    /// A timer has expired: feedback is due, missing, or the next packet may go.
    pub fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        if let Some(feedback) = self.reports.on_timeout(now) {
            self.send_feedback(now, feedback, out);
        }
        if self.is_sending() && self.control.nofeedback_at().is_some_and(|due| due <= now) {
            self.counters.timeouts += 1;
            self.control.on_nofeedback(now);
            self.tell_rate(out);
        }
        self.transmit(now, out);
    }

    /// When to call [`on_timeout`](Tfrc::on_timeout) next.
    pub fn next_timeout(&self) -> Option<Time> {
        let packet = self.waiting.front().map(|_| self.earliest());
        let nofeedback = self.control.nofeedback_at().filter(|_| self.is_sending());
        [self.reports.next_timeout(), self.farewell.next_timeout(), packet, nofeedback].into_iter().flatten().min()
    }

    /// The flow it belongs to.
    pub fn flow(&self) -> FlowId {
        self.flow
    }

    /// Bytes of messages that the application gave.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Payload bytes that have arrived here.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Counts of what was sent. A timeout is an expiry of the nofeedback timer.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Loss events among the packets that arrived here.
    pub fn loss_events(&self) -> u64 {
        self.reports.loss_events()
    }

    /// The allowed rate of the sending half, in bytes per second.
    pub fn rate(&self) -> f64 {
        self.control.rate()
    }

    /// Checks the rate and what is incomplete against their bounds.
    pub fn check(&self) -> Result<(), String> {
        let rate = self.control.rate();
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(format!("a rate of {rate} bytes/s"));
        }
        match self.incomplete.len() {
            count if count <= MOST_INCOMPLETE => Ok(()),
            count => Err(format!("{count} incomplete messages")),
        }
    }

    pub(crate) fn events(&mut self) -> &mut VecDeque<Event> {
        &mut self.events
    }

    /// Whether the absence of feedback means anything: there is data, or some was sent that may still be answered.
    fn is_sending(&self) -> bool {
        self.number > 0 && self.farewell.is_before()
    }

    /// When the next packet may leave (RFC 5348 §4.6). What is not used of the rate is lost.
    ///
    /// differs: the interval is that of the payload sent, not of s, so that short packets go as often as their bytes allow.
    fn earliest(&self) -> Time {
        self.last.map_or(Time::ZERO, |(at, bytes)| at + self.control.interval(bytes))
    }

    fn transmit(&mut self, now: Time, out: &mut Outbox) {
        while let Some(&message) = self.waiting.front() {
            if message.deadline.is_some_and(|deadline| deadline < now) {
                self.drop_first();
                self.events.push_back(Event::Expired(message.number));
                continue;
            }
            let earliest = self.earliest();
            if earliest > now {
                self.control.on_held_back(now, earliest);
                return;
            }
            let payload = (message.bytes - self.offset).min(self.segment);
            self.send_data(now, message, payload, out);
            self.offset += payload;
            if self.offset >= message.bytes {
                self.drop_first();
            }
        }
        if self.farewell.is_due(now, self.control.timeout()) {
            out.send(Port(0), self.bare(Flags::FIN));
        }
    }

    fn drop_first(&mut self) {
        self.waiting.pop_front();
        self.offset = 0;
    }

    fn send_data(&mut self, now: Time, message: Message, payload: u64, out: &mut Outbox) {
        let lifetime = self.expiring_data.then(|| now + self.control.timeout());
        let deadline = [message.deadline, lifetime].into_iter().flatten().min();
        let payload_bytes = payload as u32;
        out.fact(Fact::new(FactKind::SegmentSent, self.flow).about(self.sent + 1, payload_bytes).values(1, 0));
        let rtt = self.control.rtt().unwrap_or_default().as_nanos() / 1000;
        let packet = Packet {
            seq: self.sent + 1,
            ack: self.number,
            payload: payload_bytes,
            window: rtt.min(u64::from(u32::MAX)) as u32,
            sack: words(now, &message),
            deadline: deadline.map_or(Deadline::NONE, Deadline::at),
            ..self.bare(Flags::NONE)
        };
        self.number += 1;
        self.sent += payload;
        self.last = Some((now, payload));
        self.counters.segments_sent += 1;
        self.control.on_sent(now);
        out.send(Port(0), packet);
    }

    fn on_data(&mut self, now: Time, packet: &Packet, out: &mut Outbox) {
        let [sent, number, bytes, made] = packet.sack.words();
        if packet.payload == 0 || !self.reports.is_new(packet.ack) || sent > now.as_nanos() {
            return;
        }
        let rtt = Span::from_micros(u64::from(packet.window));
        let arrival = Arrival {
            number: packet.ack,
            sent: Time::from_nanos(sent),
            rtt: (!rtt.is_zero()).then_some(rtt),
            bytes: u64::from(packet.payload),
        };
        let message = Message {
            deadline: packet.deadline.time().filter(|_| number & TIMED != 0),
            is_last: number & LAST != 0,
            ..Message::new(number as u32, bytes, Time::from_nanos(made))
        };
        out.fact(
            Fact::new(FactKind::SegmentReceived, self.flow)
                .about(packet.seq, packet.payload)
                .values(packet.seq + u64::from(packet.payload), 0),
        );
        self.delivered += u64::from(packet.payload);
        self.collect(message, u64::from(packet.payload));
        if let Some(feedback) = self.reports.on_packet(now, arrival) {
            self.send_feedback(now, feedback, out);
        }
    }

    /// A message has arrived when all its bytes have.
    fn collect(&mut self, message: Message, payload: u64) {
        let arrived = self.incomplete.entry(message.number).or_default();
        *arrived += payload;
        if *arrived >= message.bytes {
            self.incomplete.remove(&message.number);
            self.events.push_back(Event::Arrived(message));
        } else if self.incomplete.len() > MOST_INCOMPLETE {
            self.incomplete.pop_first();
        }
    }

    fn send_feedback(&mut self, now: Time, feedback: Feedback, out: &mut Outbox) {
        let Feedback { sent, delay, x_recv, p } = feedback;
        let lifetime = self.feedback_lifetime.map(|lifetime| now + self.reports.rtt() + lifetime);
        out.fact(Fact::new(FactKind::AckSent, self.flow).about(self.delivered, 0));
        let packet = Packet {
            sack: SackBlocks::of_words([sent.as_nanos(), delay.as_nanos(), x_recv.to_bits(), p.to_bits()]),
            deadline: lifetime.map_or(Deadline::NONE, Deadline::at),
            ..self.bare(Flags::ACK)
        };
        out.send(Port(0), packet);
    }

    fn on_feedback(&mut self, now: Time, packet: &Packet, out: &mut Outbox) {
        let [sent, delay, x_recv, p] = packet.sack.words();
        let (x_recv, p) = (f64::from_bits(x_recv), f64::from_bits(p));
        let sensible = x_recv.is_finite() && x_recv >= 0.0 && (0.0..=1.0).contains(&p);
        if !sensible || sent > now.as_nanos() || self.number == 0 {
            return;
        }
        let feedback = Feedback { sent: Time::from_nanos(sent), delay: Span::from_nanos(delay), x_recv, p };
        let sample = self.control.on_feedback(now, feedback);
        self.counters.rtt_samples += 1;
        self.counters.rtt_sum += sample;
        out.fact(Fact::new(FactKind::RttSample, self.flow).values(sample.as_nanos(), 0));
        self.tell_rate(out);
        self.transmit(now, out);
    }

    fn tell_rate(&self, out: &mut Outbox) {
        let (rate, p) = (8.0 * self.control.rate(), 1e9 * self.control.loss_event_rate());
        out.fact(Fact::new(FactKind::AllowedRate, self.flow).values(rate as u64, p as u64));
    }

    fn bare(&self, flags: Flags) -> Packet {
        Packet {
            seq: self.sent + 1,
            number: self.counters.segments_sent as u32,
            flags: flags.with(Flags::UDP),
            flow: self.flow,
            header: self.header,
            connection: self.connection,
            ..Packet::EMPTY
        }
    }
}

const LAST: u64 = 1 << 32;
const TIMED: u64 = 1 << 33;

/// What a data packet says in the place of SACK blocks: when it left, and of which message it is.
fn words(now: Time, message: &Message) -> SackBlocks {
    let last = if message.is_last { LAST } else { 0 };
    let timed = if message.deadline.is_some() { TIMED } else { 0 };
    let number = u64::from(message.number) | last | timed;
    SackBlocks::of_words([now.as_nanos(), number, message.bytes, message.made.as_nanos()])
}

#[cfg(test)]
mod tests;
