//! One end of an ATP association, over UDP, without a handshake (P9 III.A: connectionless).

use std::collections::VecDeque;

use cellwind_engine::fact::{Fact, FactKind};
use cellwind_engine::machine::{Outbox, Port};
use cellwind_engine::packet::{Deadline, Flags, FlowId, Packet, SackBlocks};
use cellwind_engine::time::{Span, Time};

use super::receiver::{Ack, Fragment, Outcome, Receiver};
use super::sender::{Outgoing, Sender, Verdict};
use super::settings::AtpSettings;
use crate::carrier::{Event, Message};
use crate::farewell::Farewell;
use crate::tcp::Counters;

/// Bytes of the vector in an acknowledgement.
const VECTOR_BYTES: u16 = 16;
/// One step of the deadlines in headers.
const STEP_NS: u64 = 100_000;

/// One end of an association; packets leave through port 0.
#[derive(Clone, Debug)]
pub struct Atp {
    flow: FlowId,
    association: u16,
    fragment: u64,
    header: u16,
    sender: Sender,
    receiver: Receiver,
    delivered: u64,
    farewell: Farewell,
    is_peer_closed: bool,
    cwnd: Option<u64>,
    counters: Counters,
    events: VecDeque<Event>,
}

/// What a packet without payload asks, in its first word (ABR, P9 III.B).
const ABORT_MINE: u64 = 1;
const ABORT_YOURS: u64 = 2;

impl Atp {
    /// One end of association `number` of `flow`.
    pub fn new(settings: &AtpSettings, flow: FlowId, number: u16) -> Self {
        Atp {
            flow,
            association: number,
            fragment: settings.fragment.as_bytes().max(1),
            header: settings.header.as_bytes() as u16,
            sender: Sender::new(settings),
            receiver: Receiver::new(settings),
            delivered: 0,
            farewell: Farewell::default(),
            is_peer_closed: false,
            cwnd: None,
            counters: Counters::default(),
            events: VecDeque::new(),
        }
    }

    /// There is nobody to ask: the application may send.
    pub fn open(&mut self) {
        self.events.push_back(Event::Connected);
    }

    /// Takes an object.
    pub fn send(&mut self, now: Time, message: Message, out: &mut Outbox) {
        self.sender.push(message);
        self.transmit(now, out);
    }

    /// Nothing comes after the objects that are here.
    pub fn close(&mut self, now: Time, out: &mut Outbox) {
        self.farewell.close();
        self.transmit(now, out);
    }

    /// Gives an object up, whichever end sends it, and tells the peer (P9 III.A).
    pub fn abort(&mut self, now: Time, object: u32, out: &mut Outbox) {
        let whose = if self.sender.abort(object) {
            ABORT_MINE
        } else if self.receiver.has_incomplete(object) {
            self.receiver.abort(object);
            ABORT_YOURS
        } else {
            return;
        };
        let sack = SackBlocks::of_words([whose, u64::from(object), 0, 0]);
        out.send(Port(0), Packet { sack, ..self.bare(Flags::NONE) });
        self.transmit(now, out);
    }

    /// A packet of this association arrives.
    pub fn on_packet(&mut self, now: Time, packet: &Packet, out: &mut Outbox) {
        let (is_answer, is_end) = (packet.flags.has(Flags::ACK), packet.flags.has(Flags::FIN));
        match (is_answer, is_end) {
            (true, true) => self.farewell.on_answer(),
            (true, false) => self.on_ack(now, packet, out),
            (false, true) => {
                if !std::mem::replace(&mut self.is_peer_closed, true) {
                    self.events.push_back(Event::PeerClosed);
                }
                out.send(Port(0), self.bare(Flags::ACK.with(Flags::FIN)));
            }
            (false, false) if packet.payload > 0 => self.on_fragment(now, packet, out),
            (false, false) => self.on_abort(packet),
        }
        self.transmit(now, out);
    }

    /// A timer has expired.
    pub fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        if let Some(ack) = self.receiver.on_timeout(now) {
            self.send_ack(ack, out);
        }
        let rto = self.sender.timeout();
        if self.sender.on_timeout(now) {
            self.counters.timeouts += 1;
            out.fact(Fact::new(FactKind::Timeout, self.flow).values(rto.as_nanos(), 0));
            self.events.push_back(Event::Congested);
        }
        self.transmit(now, out);
    }

    /// When to call [`on_timeout`](Atp::on_timeout) next.
    pub fn next_timeout(&self) -> Option<Time> {
        let times = [self.receiver.next_timeout(), self.sender.next_timeout(), self.farewell.next_timeout()];
        times.into_iter().flatten().min()
    }

    /// The flow it belongs to.
    pub fn flow(&self) -> FlowId {
        self.flow
    }

    /// Bytes of objects that the application gave.
    pub fn written(&self) -> u64 {
        self.sender.written()
    }

    /// Bytes of fragments that arrived in time, each counted once.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Counts of what was sent.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Checks both halves.
    pub fn check(&self) -> Result<(), String> {
        self.sender.check()?;
        self.receiver.check()
    }

    /// What there is to tell, oldest first.
    pub fn events(&mut self) -> &mut VecDeque<Event> {
        &mut self.events
    }

    fn transmit(&mut self, now: Time, out: &mut Outbox) {
        while let Some(outgoing) = self.sender.next_packet(now) {
            self.send_fragment(now, outgoing, out);
        }
        while let Some((object, verdict)) = self.sender.poll_verdict() {
            self.events.push_back(match verdict {
                Verdict::Ok => Event::Ok(object),
                Verdict::Expired => Event::Expired(object),
            });
        }
        if self.sender.is_done() && self.farewell.is_due(now, self.sender.timeout()) {
            out.send(Port(0), self.bare(Flags::FIN));
        }
        let cwnd = self.sender.cwnd();
        if let Some(window) = cwnd.filter(|_| cwnd != self.cwnd) {
            out.fact(Fact::new(FactKind::Cwnd, self.flow).values(window, window));
            self.cwnd = cwnd;
        }
    }

    fn send_fragment(&mut self, now: Time, outgoing: Outgoing, out: &mut Outbox) {
        let Outgoing { number, object, index, start, bytes, is_again, deadline } = outgoing;
        let payload = bytes as u32;
        let kind = if is_again { FactKind::SegmentResent } else { FactKind::SegmentSent };
        let transmission = if is_again { 2 } else { 1 };
        out.fact(Fact::new(kind, self.flow).about(start + 1, payload).values(transmission, 0));
        self.counters.segments_sent += 1;
        self.counters.segments_retransmitted += u64::from(is_again);
        let rtt = self.sender.rtt().unwrap_or_default().as_nanos() / 1000;
        let packet = Packet {
            seq: start + 1,
            ack: number,
            payload,
            window: rtt.min(u64::from(u32::MAX)) as u32,
            timestamps: (index as u32, steps(object.deadline)),
            sack: words(now, &object),
            deadline: deadline.map_or(Deadline::NONE, Deadline::at),
            ..self.bare(Flags::NONE)
        };
        out.send(Port(0), packet);
    }

    fn on_fragment(&mut self, now: Time, packet: &Packet, out: &mut Outbox) {
        let [sent, number, bytes, made] = packet.sack.words();
        let rtt = Span::from_micros(u64::from(packet.window));
        let (index, deadline) = packet.timestamps;
        let count = bytes.div_ceil(self.fragment);
        if sent > now.as_nanos() || u64::from(index) >= count {
            return;
        }
        let object = Message {
            deadline: (deadline > 0).then(|| Time::from_nanos(u64::from(deadline) * STEP_NS)),
            is_last: number & LAST != 0,
            ..Message::new(number as u32, bytes, Time::from_nanos(made))
        };
        let fragment = Fragment {
            number: packet.ack,
            sent: Time::from_nanos(sent),
            rtt: (!rtt.is_zero()).then_some(rtt),
            object,
            index: u64::from(index),
            bytes: u64::from(packet.payload),
            count,
            after_expired: packet.flags.has(Flags::EXP),
        };
        let (outcome, ack) = self.receiver.on_fragment(now, fragment);
        let is_new = matches!(outcome, Outcome::New | Outcome::Complete);
        let end = packet.seq.saturating_add(u64::from(packet.payload));
        let fact = Fact::new(FactKind::SegmentReceived, self.flow).about(packet.seq, packet.payload);
        out.fact(fact.values(end, u64::from(!is_new)));
        if is_new {
            self.delivered += u64::from(packet.payload);
        }
        if outcome == Outcome::Complete {
            self.events.push_back(Event::Arrived(object));
        }
        if let Some(ack) = ack {
            self.send_ack(ack, out);
        }
    }

    fn send_ack(&mut self, ack: Ack, out: &mut Outbox) {
        let flags = if ack.expired { Flags::ACK.with(Flags::EXP) } else { Flags::ACK };
        let (x_recv, p) = ack.report.map_or((f32::NAN, 0.0), |(x_recv, p)| (x_recv as f32, p as f32));
        out.fact(Fact::new(FactKind::AckSent, self.flow).about(ack.highest, 0));
        let vector = [ack.vector as u64, (ack.vector >> 64) as u64];
        let packet = Packet {
            ack: ack.highest,
            timestamps: (x_recv.to_bits(), p.to_bits()),
            sack: SackBlocks::of_words([vector[0], vector[1], ack.sent.as_nanos(), ack.delay.as_nanos()]),
            header: self.header + VECTOR_BYTES,
            ..self.bare(flags)
        };
        out.send(Port(0), packet);
    }

    fn on_ack(&mut self, now: Time, packet: &Packet, out: &mut Outbox) {
        let [low, high, sent, delay] = packet.sack.words();
        let (x_recv, p) = (f32::from_bits(packet.timestamps.0), f32::from_bits(packet.timestamps.1));
        let is_sensible = x_recv.is_finite() && x_recv >= 0.0 && (0.0..=1.0).contains(&p);
        let ack = Ack {
            highest: packet.ack,
            vector: u128::from(high) << 64 | u128::from(low),
            expired: packet.flags.has(Flags::EXP),
            sent: Time::from_nanos(sent),
            delay: Span::from_nanos(delay),
            report: is_sensible.then_some((f64::from(x_recv), f64::from(p))),
        };
        let reaction = self.sender.on_ack(now, ack);
        if let Some(sample) = reaction.sample {
            self.counters.rtt_samples += 1;
            self.counters.rtt_sum += sample;
            out.fact(Fact::new(FactKind::RttSample, self.flow).values(sample.as_nanos(), 0));
        }
        if reaction.is_reduced {
            self.counters.fast_retransmits += 1;
        }
        if let Some((rate, p)) = self.sender.rate().filter(|_| ack.report.is_some()) {
            out.fact(Fact::new(FactKind::AllowedRate, self.flow).values((8.0 * rate) as u64, (1e9 * p) as u64));
        }
    }

    fn on_abort(&mut self, packet: &Packet) {
        let [whose, object, ..] = packet.sack.words();
        match whose {
            ABORT_MINE => self.receiver.abort(object as u32),
            ABORT_YOURS if self.sender.abort(object as u32) => self.events.push_back(Event::Aborted(object as u32)),
            _ => {}
        }
    }

    fn bare(&self, flags: Flags) -> Packet {
        Packet {
            seq: self.sender.written() + 1,
            number: self.counters.segments_sent as u32,
            flags: flags.with(Flags::UDP),
            flow: self.flow,
            header: self.header,
            connection: self.association,
            ..Packet::EMPTY
        }
    }
}

const LAST: u64 = 1 << 32;

/// What a data packet says in the place of SACK blocks: when it left, and of which object it is.
fn words(now: Time, object: &Message) -> SackBlocks {
    let last = if object.is_last { LAST } else { 0 };
    SackBlocks::of_words([now.as_nanos(), u64::from(object.number) | last, object.bytes, object.made.as_nanos()])
}

/// A deadline as the header has it, zero for none.
fn steps(deadline: Option<Time>) -> u32 {
    deadline.map_or(0, |at| at.as_nanos().div_ceil(STEP_NS).clamp(1, u64::from(u32::MAX)) as u32)
}

#[cfg(test)]
mod tests;
