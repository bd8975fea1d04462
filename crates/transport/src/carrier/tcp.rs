//! Messages over a TCP connection: stretches of its two byte streams.

use std::collections::VecDeque;

use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::{FlowId, Packet};
use cellwind_engine::stream::StreamId;
use cellwind_engine::time::Time;

use super::{Event, Message, Side};
use crate::tcp::connection::{Connection, State};
use crate::tcp::settings::TcpSettings;

/// One end of a TCP connection that carries messages.
#[derive(Clone, Debug)]
pub struct TcpCarrier {
    connection: Connection,
    /// The stream that this end writes.
    outgoing: StreamId,
    /// Bytes written.
    written: u64,
    /// Messages that are not acknowledged: where each ends in the stream, and its number.
    unacknowledged: VecDeque<(u64, u32)>,
    /// What was told already.
    told: Told,
    events: VecDeque<Event>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Told {
    connected: bool,
    peer_closed: bool,
    lost: bool,
}

impl TcpCarrier {
    pub(super) fn new(settings: &TcpSettings, flow: FlowId, number: u16, side: Side) -> Self {
        TcpCarrier {
            connection: Connection::new(settings, flow, number),
            outgoing: StreamId { flow, connection: number, from_opener: side == Side::Opener },
            written: 0,
            unacknowledged: VecDeque::new(),
            told: Told::default(),
            events: VecDeque::new(),
        }
    }

    pub(super) fn open(&mut self, now: Time, out: &mut Outbox) {
        self.connection.open(now, out);
    }

    pub(super) fn send(&mut self, now: Time, message: Message, out: &mut Outbox) {
        self.written += message.bytes;
        out.streams().write(self.outgoing, self.written, message.content());
        self.unacknowledged.push_back((self.written, message.number));
        self.connection.write(now, message.bytes, out);
    }

    pub(super) fn close(&mut self, now: Time, out: &mut Outbox) {
        self.connection.close(now, out);
    }

    pub(super) fn on_packet(&mut self, now: Time, packet: &Packet, out: &mut Outbox) {
        self.connection.on_segment(now, packet, out);
        self.look(out);
    }

    pub(super) fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        self.connection.on_timeout(now, out);
        self.look(out);
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.connection.next_timeout()
    }

    pub(super) fn flow(&self) -> FlowId {
        self.outgoing.flow
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    pub(super) fn events(&mut self) -> &mut VecDeque<Event> {
        &mut self.events
    }

    /// The connection below.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Finds out what there is to tell.
    fn look(&mut self, out: &mut Outbox) {
        let connection = &self.connection;
        let stands = !matches!(connection.state(), State::Listen | State::SynSent | State::SynReceived);
        if stands && !connection.is_given_up() && !std::mem::replace(&mut self.told.connected, true) {
            self.events.push_back(Event::Connected);
        }
        while self.unacknowledged.front().is_some_and(|&(end, _)| end <= connection.acknowledged()) {
            self.events.extend(self.unacknowledged.pop_front().map(|(_, number)| Event::Ok(number)));
        }
        let incoming = StreamId { from_opener: !self.outgoing.from_opener, ..self.outgoing };
        while let Some(content) = out.streams().read(incoming, connection.delivered()) {
            self.events.push_back(Event::Arrived(Message::of_content(content)));
        }
        if connection.is_peer_closed() && !std::mem::replace(&mut self.told.peer_closed, true) {
            self.events.push_back(Event::PeerClosed);
        }
        if connection.is_given_up() && !std::mem::replace(&mut self.told.lost, true) {
            self.events.push_back(Event::Lost);
        }
    }
}
