//! One end of a full-duplex TCP connection (RFC 9293): a sender and a receiver that share their segments.
//!
//! Segments with data carry the acknowledgement of the other direction and take the place of a delayed ACK. Either end
//! may close its direction alone. Nagle's algorithm (RFC 9293 §3.7.4) is off, as clients and servers of the applications
//! here set it. TIME-WAIT (RFC 9293 §3.6.1) has no timer: numbers of connections are not used again, and the end that is
//! in it answers a FIN that comes again.

use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::{Flags, FlowId, Packet};
use cellwind_engine::time::Time;

use super::Counters;
use super::receiver::Receiver;
use super::sender::{self, Sender};
use super::settings::TcpSettings;

/// One end of a connection; segments leave through port 0.
#[derive(Clone, Debug)]
pub struct Connection {
    sender: Sender,
    receiver: Receiver,
    number: u16,
    /// The peer's FIN came before ours was asked for.
    peer_closed_first: bool,
    /// When data was last sent.
    last_sent: Option<Time>,
}

/// Where an end stands (RFC 9293 §3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection yet, and open for one.
    Listen,
    /// Our SYN is out.
    SynSent,
    /// The peer's SYN has come and ours is out.
    SynReceived,
    /// Data flows both ways.
    Established,
    /// Our FIN is asked for and not acknowledged; the peer's has not come.
    FinWait1,
    /// Our direction is closed, the peer's open.
    FinWait2,
    /// The peer's direction is closed, ours open.
    CloseWait,
    /// Both have closed, we first; our FIN is not acknowledged.
    Closing,
    /// Both have closed, the peer first; our FIN is not acknowledged.
    LastAck,
    /// Both directions are closed, and the peer may still miss our last ACK.
    TimeWait,
    /// Both directions are closed, or the peer did not answer.
    Closed,
}

impl Connection {
    /// Connection `number` of `flow`, not opened yet.
    pub fn new(settings: &TcpSettings, flow: FlowId, number: u16) -> Self {
        Connection {
            sender: Sender::new(settings, flow),
            receiver: Receiver::new(settings, flow),
            number,
            peer_closed_first: false,
            last_sent: None,
        }
    }

    /// Opens the connection: the SYN leaves.
    pub fn open(&mut self, now: Time, out: &mut Outbox) {
        let mark = out.sent();
        self.sender.open(now, out);
        self.complete(mark, mark, now, out);
    }

    /// Takes `bytes` more from the application.
    pub fn write(&mut self, now: Time, bytes: u64, out: &mut Outbox) {
        let mark = out.sent();
        let idle = self.sender.snd_una() == self.sender.snd_nxt();
        if idle && self.last_sent.is_some_and(|sent| now - sent > self.sender.rto()) {
            self.sender.restart_after_idle(now);
        }
        self.sender.write(now, bytes, out);
        self.complete(mark, mark, now, out);
    }

    /// The application has written everything; the peer may go on.
    pub fn close(&mut self, now: Time, out: &mut Outbox) {
        if self.sender.is_closed() {
            return;
        }
        let mark = out.sent();
        self.peer_closed_first = self.receiver.is_closed();
        self.sender.close(now, out);
        self.complete(mark, mark, now, out);
    }

    /// A segment arrives from the peer.
    pub fn on_segment(&mut self, now: Time, segment: &Packet, out: &mut Outbox) {
        let mark = out.sent();
        let mut own = mark;
        match (segment.flags.has(Flags::SYN), segment.flags.has(Flags::ACK)) {
            (true, false) if self.sender.state() == sender::State::Closed => {
                self.receiver.on_handshake(segment);
                self.sender.set_ack(self.receiver.rcv_nxt());
                self.sender.note_syn(segment);
                self.sender.accept(now, out);
            }
            (true, false) => {} // our SYN-ACK is on its way, and its timer runs
            (true, true) if matches!(self.sender.state(), sender::State::SynSent { .. }) => {
                self.receiver.on_handshake(segment);
                self.sender.set_ack(self.receiver.rcv_nxt());
                self.sender.on_segment(now, segment, out);
            }
            (true, true) => {
                self.receiver.acknowledge_again(now, out); // the handshake's ACK was lost (RFC 9293 §3.10.7.4)
                own = out.sent();
            }
            (false, _) => own = self.exchange(segment, mark, now, out),
        }
        self.complete(mark, own, now, out);
    }

    /// Takes the data and the acknowledgement of a segment; gives how many packets there are without the sender's.
    fn exchange(&mut self, segment: &Packet, mark: usize, now: Time, out: &mut Outbox) -> usize {
        let before = self.receiver.rcv_nxt();
        if segment.occupies_sequence_space() {
            self.receiver.on_segment(now, segment, out);
        } else {
            self.receiver.on_bare_segment(segment);
        }
        let own = out.sent();
        self.sender.set_ack(self.receiver.rcv_nxt());
        self.sender.on_segment(now, segment, out);
        // An ACK of data in order is not sent when a segment with data leaves at the same time; a duplicate ACK is.
        let rides = |ack: &mut Packet| ack.ack > before && ack.sack.is_empty();
        if own > mark && out.sent() > own && out.sent_since(mark).take(own - mark).all(rides) {
            out.take_back(mark, own);
            return mark;
        }
        own
    }

    /// A timer of either direction has expired.
    pub fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        let mark = out.sent();
        self.sender.on_timeout(now, out);
        let sent = out.sent() > mark;
        self.complete(mark, mark, now, out);
        if !sent {
            let mark = out.sent();
            self.receiver.on_timeout(now, out);
            let own = out.sent();
            self.complete(mark, own, now, out);
        }
    }

    /// When the first timer expires.
    pub fn next_timeout(&self) -> Option<Time> {
        self.sender.next_timeout().into_iter().chain(self.receiver.next_timeout()).min()
    }

    /// Where this end stands.
    pub fn state(&self) -> State {
        match (self.sender.state(), self.sender.is_closed(), self.receiver.is_closed()) {
            (sender::State::Closed, ..) => State::Listen,
            (sender::State::SynSent { .. }, ..) => State::SynSent,
            (sender::State::SynReceived { .. }, ..) => State::SynReceived,
            (sender::State::GivenUp, ..) => State::Closed,
            (sender::State::Established, false, false) => State::Established,
            (sender::State::Established, false, true) => State::CloseWait,
            (sender::State::Established, true, false) => State::FinWait1,
            (sender::State::Established, true, true) if self.peer_closed_first => State::LastAck,
            (sender::State::Established, true, true) => State::Closing,
            (sender::State::Finished, _, false) => State::FinWait2,
            (sender::State::Finished, _, true) if self.peer_closed_first => State::Closed,
            (sender::State::Finished, _, true) => State::TimeWait,
        }
    }

    /// True when the peer did not answer the last allowed retransmission.
    pub fn is_given_up(&self) -> bool {
        self.sender.state() == sender::State::GivenUp
    }

    /// Bytes of data that the peer has acknowledged.
    pub fn acknowledged(&self) -> u64 {
        let fin = self.sender.state() == sender::State::Finished;
        self.sender.snd_una().saturating_sub(1 + u64::from(fin))
    }

    /// Bytes of data delivered in order.
    pub fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    /// True when the peer's FIN and everything before it has arrived.
    pub fn is_peer_closed(&self) -> bool {
        self.receiver.is_closed()
    }

    /// Counts of the sender's work.
    pub fn counters(&self) -> &Counters {
        self.sender.counters()
    }

    /// The sending half.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Checks the invariants of both halves.
    pub fn check(&self) -> Result<(), String> {
        self.sender.check()?;
        self.receiver.check()
    }

    /// Completes the packets from `mark` on: before `own` they are the receiver's, from there the sender's.
    fn complete(&mut self, mark: usize, own: usize, now: Time, out: &mut Outbox) {
        let next = self.sender.snd_nxt().max(1);
        for (place, packet) in out.sent_since(mark).enumerate() {
            packet.connection = self.number;
            if mark + place < own {
                packet.seq = next; // RFC 9293 §3.10.7.4: <SEQ=SND.NXT>
                continue;
            }
            if packet.flags.has(Flags::ACK) {
                self.receiver.ride_on(packet);
            }
            if packet.payload > 0 {
                self.last_sent = Some(now);
            }
        }
    }
}

#[cfg(test)]
mod tests;
