//! What an application sees of a transport: messages go in at one end and come out at the other.
//!
//! A carrier is one end of one connection of a flow. It is a machine like those it is made of; what it has to tell its
//! application waits in a queue of events.

mod tcp;

use std::collections::VecDeque;

use cellwind_engine::deserialize_by_type;
use cellwind_engine::fact::{Fact, FactKind};
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::{FlowId, Packet};
use cellwind_engine::stream::Content;
use cellwind_engine::time::Time;
use schemars::JsonSchema;
use serde::Serialize;

use crate::atp::Atp;
use crate::atp::settings::AtpSettings;
use crate::tcp::connection::State;
use crate::tcp::settings::TcpSettings;
use crate::tcp::{Counters, payload_of_full_segment};
use crate::tfrc::Tfrc;
use crate::tfrc::settings::TfrcSettings;
use crate::udp::{Udp, UdpSettings};
use tcp::TcpCarrier;

/// A piece of data that means something to the application only as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The application's number for it.
    pub number: u32,
    /// Its size; at least one byte.
    pub bytes: u64,
    /// When the application made it.
    pub made: Time,
    /// Until when it is of use to its receiver.
    pub deadline: Option<Time>,
    /// Bytes of the message that its receiver answers with; 0 for none.
    pub asks: u64,
    /// Nothing comes after it.
    pub is_last: bool,
}

impl Message {
    /// A message of `bytes` bytes made at `made`, which is of use for ever and asks for nothing.
    pub const fn new(number: u32, bytes: u64, made: Time) -> Self {
        Message { number, bytes, made, deadline: None, asks: 0, is_last: false }
    }

    /// The bit of the first word that says that nothing follows.
    const LAST: u64 = 1 << 32;

    pub(crate) fn content(&self) -> Content {
        let deadline = self.deadline.map_or(0, |time| time.as_nanos().max(1));
        let last = if self.is_last { Self::LAST } else { 0 };
        [u64::from(self.number) | last, self.bytes, self.made.as_nanos(), deadline, self.asks]
    }

    pub(crate) fn of_content([number, bytes, made, deadline, asks]: Content) -> Self {
        Message {
            number: number as u32,
            bytes,
            made: Time::from_nanos(made),
            deadline: (deadline > 0).then(|| Time::from_nanos(deadline)),
            asks,
            is_last: number & Self::LAST != 0,
        }
    }
}

/// A transport protocol.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant)] // one of them for each flow
pub enum Protocol {
    /// TCP, with replaceable parts.
    Tcp(TcpSettings),
    /// UDP, without any control.
    Udp(UdpSettings),
    /// TFRC: unreliable packets at a rate that is fair to TCP (RFC 5348).
    Tfrc(TfrcSettings),
    /// ATP: messages with deadlines, repaired while they are of use (Gurtov, P9).
    Atp(AtpSettings),
}

deserialize_by_type!(Protocol {
    Tcp(settings: TcpSettings),
    Udp(settings: UdpSettings),
    Tfrc(settings: TfrcSettings),
    Atp(settings: AtpSettings),
});

impl Protocol {
    /// The word for it in scenario files and results.
    pub const fn word(&self) -> &'static str {
        match self {
            Protocol::Tcp(_) => "tcp",
            Protocol::Udp(_) => "udp",
            Protocol::Tfrc(_) => "tfrc",
            Protocol::Atp(_) => "atp",
        }
    }

    /// Payload bytes of a full packet.
    pub fn payload(&self) -> u64 {
        match self {
            Protocol::Tcp(tcp) => payload_of_full_segment(tcp),
            Protocol::Udp(udp) => udp.payload.as_bytes(),
            Protocol::Tfrc(tfrc) => tfrc.segment.as_bytes(),
            Protocol::Atp(atp) => atp.fragment.as_bytes(),
        }
    }

    /// Whether everything arrives, in order, as long as anything does.
    pub const fn is_reliable(&self) -> bool {
        match self {
            Protocol::Tcp(_) => true,
            Protocol::Udp(_) | Protocol::Tfrc(_) => false,
            Protocol::Atp(_) => false, // all may arrive, but not in order
        }
    }
}

/// What a carrier tells its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection stands.
    Connected,
    /// A message of the peer is complete.
    Arrived(Message),
    /// The message of this number has arrived at the peer, as far as this end can know.
    Ok(u32),
    /// The message of this number was given up because its deadline is over.
    Expired(u32),
    /// The peer wants no more of the message of this number.
    Aborted(u32),
    /// Nothing comes through any more: the application had better send less.
    Congested,
    /// The peer sends no more.
    PeerClosed,
    /// The peer does not answer; nothing more will arrive or be sent.
    Lost,
}

/// Which end of a connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that opens it.
    Opener,
    /// The one that waits for it.
    Other,
}

/// One end of a connection of some transport; packets leave through port 0.
// The larger variant is the one that nearly all flows use.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum Carrier {
    /// A full-duplex TCP connection: reliable and in order.
    Tcp(TcpCarrier),
    /// UDP: neither.
    Udp(Udp),
    /// TFRC: neither, at a rate that is fair to TCP.
    Tfrc(Tfrc),
    /// ATP: messages with deadlines, repaired while they are of use.
    Atp(Atp),
}

impl Carrier {
    /// Connection `number` of `flow`.
    pub fn new(protocol: &Protocol, flow: FlowId, number: u16, side: Side) -> Self {
        match protocol {
            Protocol::Tcp(settings) => Carrier::Tcp(TcpCarrier::new(settings, flow, number, side)),
            Protocol::Udp(settings) => Carrier::Udp(Udp::new(settings, flow, number)),
            Protocol::Tfrc(settings) => Carrier::Tfrc(Tfrc::new(settings, flow, number)),
            Protocol::Atp(settings) => Carrier::Atp(Atp::new(settings, flow, number)),
        }
    }

    /// Opens the connection, where the transport has any; [`Event::Connected`] follows.
    pub fn open(&mut self, now: Time, out: &mut Outbox) {
        match self {
            Carrier::Tcp(tcp) => tcp.open(now, out),
            Carrier::Udp(udp) => udp.open(),
            Carrier::Tfrc(tfrc) => tfrc.open(),
            Carrier::Atp(atp) => atp.open(),
        }
    }

    /// Sends a message; before the connection stands it waits.
    pub fn send(&mut self, now: Time, message: Message, out: &mut Outbox) {
        let fact = Fact::new(FactKind::MessageSent, self.flow()).about(u64::from(message.number), 0);
        out.fact(fact.values(message.bytes, message.deadline.map_or(0, Time::as_nanos)));
        match self {
            Carrier::Tcp(tcp) => tcp.send(now, message, out),
            Carrier::Udp(udp) => udp.send(message, out),
            Carrier::Tfrc(tfrc) => tfrc.send(now, message, out),
            Carrier::Atp(atp) => atp.send(now, message, out),
        }
    }

    /// Nothing more will be sent; what was sent still arrives, and the peer may go on.
    pub fn close(&mut self, now: Time, out: &mut Outbox) {
        match self {
            Carrier::Tcp(tcp) => tcp.close(now, out),
            Carrier::Udp(_) => {}
            Carrier::Tfrc(tfrc) => tfrc.close(now, out),
            Carrier::Atp(atp) => atp.close(now, out),
        }
    }

    /// Gives a message up, as far as the transport can.
    pub fn abort(&mut self, now: Time, message: u32, out: &mut Outbox) {
        match self {
            Carrier::Tcp(_) | Carrier::Udp(_) => {} // it is on its way
            Carrier::Tfrc(tfrc) => tfrc.abort(message),
            Carrier::Atp(atp) => atp.abort(now, message, out),
        }
    }

    /// A packet of this connection arrives.
    pub fn on_packet(&mut self, now: Time, packet: &Packet, out: &mut Outbox) {
        match self {
            Carrier::Tcp(tcp) => tcp.on_packet(now, packet, out),
            Carrier::Udp(udp) => udp.on_packet(packet, out),
            Carrier::Tfrc(tfrc) => tfrc.on_packet(now, packet, out),
            Carrier::Atp(atp) => atp.on_packet(now, packet, out),
        }
    }

    /// The instant last given by [`next_timeout`](Carrier::next_timeout) has come.
    pub fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        match self {
            Carrier::Tcp(tcp) => tcp.on_timeout(now, out),
            Carrier::Udp(_) => {}
            Carrier::Tfrc(tfrc) => tfrc.on_timeout(now, out),
            Carrier::Atp(atp) => atp.on_timeout(now, out),
        }
    }

    /// When to call [`on_timeout`](Carrier::on_timeout) next.
    pub fn next_timeout(&self) -> Option<Time> {
        match self {
            Carrier::Tcp(tcp) => tcp.next_timeout(),
            Carrier::Udp(_) => None,
            Carrier::Tfrc(tfrc) => tfrc.next_timeout(),
            Carrier::Atp(atp) => atp.next_timeout(),
        }
    }

    /// True when both ends have closed: at most it answers what comes again.
    pub fn is_over(&self) -> bool {
        match self {
            Carrier::Tcp(tcp) => matches!(tcp.connection().state(), State::TimeWait | State::Closed),
            Carrier::Udp(_) | Carrier::Tfrc(_) | Carrier::Atp(_) => false,
        }
    }

    /// What there is to tell, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events().pop_front()
    }

    /// The flow it belongs to.
    pub fn flow(&self) -> FlowId {
        match self {
            Carrier::Tcp(tcp) => tcp.flow(),
            Carrier::Udp(udp) => udp.flow(),
            Carrier::Tfrc(tfrc) => tfrc.flow(),
            Carrier::Atp(atp) => atp.flow(),
        }
    }

    /// Bytes of messages that the application gave.
    pub fn written(&self) -> u64 {
        match self {
            Carrier::Tcp(tcp) => tcp.written(),
            Carrier::Udp(udp) => udp.written(),
            Carrier::Tfrc(tfrc) => tfrc.written(),
            Carrier::Atp(atp) => atp.written(),
        }
    }

    /// Bytes of messages that have arrived here: in order where the transport has an order.
    pub fn delivered(&self) -> u64 {
        match self {
            Carrier::Tcp(tcp) => tcp.connection().delivered(),
            Carrier::Udp(udp) => udp.delivered(),
            Carrier::Tfrc(tfrc) => tfrc.delivered(),
            Carrier::Atp(atp) => atp.delivered(),
        }
    }

    /// Counts of the sending half's work.
    pub fn counters(&self) -> &Counters {
        match self {
            Carrier::Tcp(tcp) => tcp.connection().counters(),
            Carrier::Udp(udp) => udp.counters(),
            Carrier::Tfrc(tfrc) => tfrc.counters(),
            Carrier::Atp(atp) => atp.counters(),
        }
    }

    /// Checks the machine's invariants.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Carrier::Tcp(tcp) => tcp.connection().check(),
            Carrier::Udp(udp) => udp.check(),
            Carrier::Tfrc(tfrc) => tfrc.check(),
            Carrier::Atp(atp) => atp.check(),
        }
    }

    fn events(&mut self) -> &mut VecDeque<Event> {
        match self {
            Carrier::Tcp(tcp) => tcp.events(),
            Carrier::Udp(udp) => udp.events(),
            Carrier::Tfrc(tfrc) => tfrc.events(),
            Carrier::Atp(atp) => atp.events(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellwind_engine::time::Span;

    /// Carries packets between two ends, 50 ms apart, until nothing happens any more. `lost` says which packets are
    /// lost, in the order they leave; `on_event` is the application at both ends.
    fn exchange(
        opener: &mut Carrier,
        other: &mut Carrier,
        out: &mut Outbox,
        lost: impl Fn(usize) -> bool,
        mut on_event: impl FnMut(Time, bool, Event, &mut Carrier, &mut Outbox),
    ) {
        let mut under_way: Vec<(Time, bool, Packet)> = Vec::new();
        let (mut now, mut sent, mut opener_acted) = (Time::ZERO, 0, true);
        loop {
            let end = if opener_acted { &mut *opener } else { &mut *other };
            while let Some(event) = end.poll_event() {
                on_event(now, opener_acted, event, end, out);
            }
            for (_, packet) in out.take_packets() {
                if !lost(sent) {
                    under_way.push((now + Span::from_millis(50), !opener_acted, packet));
                }
                sent += 1;
            }
            let arrival = under_way.iter().map(|&(time, ..)| time).min();
            let timers = [opener.next_timeout(), other.next_timeout()];
            let Some(next) = arrival.into_iter().chain(timers.into_iter().flatten()).min() else { break };
            now = next;
            let arrived = under_way.iter().position(|&(time, ..)| time == next).map(|place| under_way.remove(place));
            opener_acted = arrived.map_or(timers[0] == Some(next), |(_, at_opener, _)| at_opener);
            let end = if opener_acted { &mut *opener } else { &mut *other };
            match arrived {
                Some((_, _, packet)) => end.on_packet(now, &packet, out),
                None => end.on_timeout(now, out),
            }
        }
    }

    #[test]
    fn messages_over_tcp_arrive_whole_in_order_and_once_whatever_is_lost() {
        for lost in 0..30 {
            let tcp = Protocol::Tcp(TcpSettings::default());
            let mut opener = Carrier::new(&tcp, FlowId(0), 0, Side::Opener);
            let mut other = Carrier::new(&tcp, FlowId(0), 0, Side::Other);
            let mut out = Outbox::new(false);
            opener.open(Time::ZERO, &mut out);
            for number in 0..5 {
                opener.send(Time::ZERO, Message { asks: 700, ..Message::new(number, 3000, Time::ZERO) }, &mut out);
            }
            let (mut arrived, mut answered, mut ok) = (Vec::new(), Vec::new(), Vec::new());
            let lose = |packet: usize| packet == lost || packet == lost + 2;
            exchange(&mut opener, &mut other, &mut out, lose, |now, at_opener, event, end, out| match event {
                Event::Arrived(message) if at_opener => answered.push(message.number),
                Event::Arrived(message) => {
                    assert_eq!(message.bytes, 3000);
                    arrived.push(message.number);
                    end.send(now, Message::new(message.number, message.asks, now), out);
                }
                Event::Ok(number) if at_opener => ok.push(number),
                _ => {}
            });
            assert_eq!(
                (&arrived[..], &answered[..], &ok[..]),
                (&[0, 1, 2, 3, 4][..], &[0, 1, 2, 3, 4][..], &[0, 1, 2, 3, 4][..])
            );
            assert_eq!((opener.delivered(), other.delivered()), (5 * 700, 5 * 3000));
            assert_eq!((opener.written(), other.written()), (5 * 3000, 5 * 700));
        }
    }

    #[test]
    fn a_message_over_udp_is_lost_with_any_of_its_packets() {
        let udp = Protocol::Udp(UdpSettings::default());
        let mut opener = Carrier::new(&udp, FlowId(0), 0, Side::Opener);
        let mut other = Carrier::new(&udp, FlowId(0), 0, Side::Other);
        let mut out = Outbox::new(false);
        opener.open(Time::ZERO, &mut out);
        // Three packets each, of 1472, 1472 and 56 bytes; the second one of the second message is lost.
        for number in 0..3 {
            opener.send(Time::ZERO, Message::new(number, 3000, Time::ZERO), &mut out);
        }
        let mut arrived = Vec::new();
        exchange(
            &mut opener,
            &mut other,
            &mut out,
            |packet| packet == 4,
            |_, _, event, _, _| {
                if let Event::Arrived(message) = event {
                    arrived.push(message.number);
                }
            },
        );
        assert_eq!(arrived, [0, 2]);
        assert_eq!(other.delivered(), 2 * 3000);
        assert_eq!((opener.written(), opener.counters().segments_sent), (9000, 9));
    }
}
