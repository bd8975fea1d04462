//! Bulk transfer: an application that writes a number of bytes and closes, and one that reads them.

use cellwind_engine::fact::{Fact, FactKind};
use cellwind_engine::machine::{Machine, Outbox, Port};
use cellwind_engine::packet::{FlowId, Packet};
use cellwind_engine::time::Time;

use crate::tcp::receiver::Receiver;
use crate::tcp::sender::{Sender, State};
use crate::tcp::settings::TcpSettings;

/// The sending application with its TCP; segments leave through port 0 and ACKs enter at port 0.
///
/// It is finished when everything it wrote is acknowledged, or when TCP gives up.
#[derive(Clone, Debug)]
pub struct Source {
    sender: Sender,
    flow: FlowId,
    start: Option<Time>,
    /// Bytes to write; `None` writes without end.
    bytes: Option<u64>,
    finished: bool,
    /// Nobody waits for it.
    is_background: bool,
}

/// The reading application with its TCP; data enters at port 0 and ACKs leave through port 0.
#[derive(Clone, Debug)]
pub struct Sink {
    receiver: Receiver,
    flow: FlowId,
    completed_at: Option<Time>,
    last_delivery: Time,
}

/// Stands for "without end": no run transfers so much.
pub const ENDLESS: u64 = 1 << 62;

impl Source {
    /// A transfer of `bytes` bytes (`None`: without end) that begins at `start`.
    pub fn new(settings: &TcpSettings, flow: FlowId, start: Time, bytes: Option<u64>) -> Self {
        Source {
            sender: Sender::new(settings, flow),
            flow,
            start: Some(start),
            bytes,
            finished: false,
            is_background: false,
        }
    }

    /// The same transfer, for which no run waits.
    pub fn in_background(self) -> Self {
        Source { is_background: true, ..self }
    }

    /// The TCP below.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    fn note_end(&mut self, out: &mut Outbox) {
        if !self.finished && matches!(self.sender.state(), State::Finished | State::GivenUp) {
            self.finished = true;
            if !self.is_background {
                out.finished();
            }
        }
    }
}

impl Machine for Source {
    fn on_packet(&mut self, now: Time, _: Port, packet: &Packet, out: &mut Outbox) {
        self.sender.on_segment(now, packet, out);
        self.note_end(out);
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        if self.start.is_some_and(|start| start <= now) {
            self.start = None;
            let bytes = self.bytes.unwrap_or(ENDLESS);
            out.fact(Fact::new(FactKind::FlowStarted, self.flow).values(bytes, 0));
            self.sender.open(now, out);
            self.sender.write(now, bytes, out);
            if self.bytes.is_some() {
                self.sender.close(now, out);
            }
        }
        self.sender.on_timeout(now, out);
        self.note_end(out);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.start.or(self.sender.next_timeout())
    }
}

impl Sink {
    /// The other end of a [`Source`] with the same settings.
    pub fn new(settings: &TcpSettings, flow: FlowId) -> Self {
        Sink { receiver: Receiver::new(settings, flow), flow, completed_at: None, last_delivery: Time::ZERO }
    }

    /// The TCP below.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// Lets TCP repeat its last acknowledgement so often.
    pub fn ask_for_retransmission(&mut self, times: u32, now: Time, out: &mut Outbox) {
        self.receiver.ask_for_retransmission(times, now, out);
    }

    /// When the last byte was delivered in order.
    pub fn completed_at(&self) -> Option<Time> {
        self.completed_at
    }

    /// When data was last delivered in order.
    pub fn last_delivery(&self) -> Time {
        self.last_delivery
    }
}

impl Machine for Sink {
    fn on_packet(&mut self, now: Time, _: Port, packet: &Packet, out: &mut Outbox) {
        let before = self.receiver.rcv_nxt();
        self.receiver.on_segment(now, packet, out);
        if self.receiver.rcv_nxt() > before {
            self.last_delivery = now;
        }
        if self.completed_at.is_none() && self.receiver.is_closed() {
            self.completed_at = Some(now);
            out.fact(Fact::new(FactKind::FlowCompleted, self.flow).values(self.receiver.delivered(), 0));
        }
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        self.receiver.on_timeout(now, out);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.receiver.next_timeout()
    }
}
