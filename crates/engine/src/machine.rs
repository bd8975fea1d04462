//! The contract of a machine, and the outbox through which it answers.

use crate::fact::{DropReason, Fact, FactKind, FactRow};
use crate::packet::{Body, Packet};
use crate::stream::Streams;
use crate::time::Time;

/// A protocol machine: given the time and an input, it answers with packets and facts in the outbox.
///
/// It never reads a clock, sleeps, locks or prints. After every call the World asks for
/// [`next_timeout`](Machine::next_timeout); a machine that wants to be woken keeps its own timers and
/// reports the earliest.
pub trait Machine {
    /// A packet arrives at `port`.
    fn on_packet(&mut self, now: Time, port: Port, packet: &Packet, out: &mut Outbox);

    /// The instant last given by `next_timeout` has come.
    fn on_timeout(&mut self, now: Time, out: &mut Outbox);

    /// When to call [`on_timeout`](Machine::on_timeout) next.
    fn next_timeout(&self) -> Option<Time>;
}

/// One of a machine's doors, numbered by the machine itself; inputs and outputs count apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Port(pub u16);

/// Where a machine puts its answers.
#[derive(Debug, Default)]
pub struct Outbox {
    pub(crate) machine: u16,
    /// Number by which facts name the machine; those of its parts follow.
    first_name: u16,
    /// Number of who tells facts now.
    teller: u16,
    pub(crate) now: Time,
    pub(crate) sends: Vec<Sent>,
    pub(crate) finished: u32,
    pub(crate) noticed: bool,
    streams: Streams,
    listening: bool,
    facts: Vec<FactRow>,
    dropped: Vec<(Body, DropReason)>,
}

/// A packet on its way from one machine to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Number of the machine that sent it; those behind the last machine are the World's entries.
    pub machine: u32,
    pub port: Port,
    pub packet: Packet,
}

impl Outbox {
    /// An outbox that keeps facts if `listening`.
    pub fn new(listening: bool) -> Self {
        Outbox { listening, ..Outbox::default() }
    }

    /// Sends `packet` out of `port`, at this very instant.
    #[inline]
    pub fn send(&mut self, port: Port, packet: Packet) {
        self.sends.push(Sent { machine: u32::from(self.machine), port, packet });
    }

    /// How many packets wait here, to name those that follow by.
    #[inline]
    pub fn sent(&self) -> usize {
        self.sends.len()
    }

    /// The packets sent since there were `mark` of them, which whoever made a part send them may complete.
    pub fn sent_since(&mut self, mark: usize) -> impl Iterator<Item = &mut Packet> {
        self.sends[mark..].iter_mut().map(|sent| &mut sent.packet)
    }

    /// Takes back the packets from number `from` up to, not including, number `to`.
    pub fn take_back(&mut self, from: usize, to: usize) {
        self.sends.drain(from..to);
    }

    /// What the bytes of streams mean, for the ends that write and read them.
    pub fn streams(&mut self) -> &mut Streams {
        &mut self.streams
    }

    /// Tells a fact; one predictable branch when nobody listens.
    #[inline]
    pub fn fact(&mut self, fact: Fact) {
        if self.listening {
            self.facts.push(FactRow::new(self.now, self.teller, fact));
        }
    }

    /// Drops `packet`: tells so, and remembers its payload for [`take_dropped`](Outbox::take_dropped).
    pub fn drop(&mut self, packet: &Packet, reason: DropReason) {
        if packet.body != Body::NONE {
            self.dropped.push((packet.body, reason));
        }
        let length = packet.size().as_bytes() as u32;
        self.fact(Fact::new(FactKind::Drop, packet.flow).about(packet.seq, length).values(reason as u64, 0));
    }

    /// True when facts are kept, for callers whose facts are costly to make.
    #[inline]
    pub fn is_listening(&self) -> bool {
        self.listening
    }

    /// Says that this machine's task is over, once per machine.
    pub fn finished(&mut self) {
        self.finished += 1;
    }

    /// Makes the World return to its driver after this event, because the driver has to do something at this instant.
    pub fn notice(&mut self) {
        self.noticed = true;
    }

    /// Takes the payloads of the packets dropped so far, and why they were.
    pub fn take_dropped(&mut self) -> impl Iterator<Item = (Body, DropReason)> + '_ {
        self.dropped.drain(..)
    }

    /// Takes the packets sent so far; for callers that drive a machine without a World.
    pub fn take_packets(&mut self) -> impl Iterator<Item = (Port, Packet)> + '_ {
        self.sends.drain(..).map(|sent| (sent.port, sent.packet))
    }

    /// Keeps facts from now on, behind those in `buffer`.
    pub fn listen_into(&mut self, buffer: Vec<FactRow>) {
        self.listening = true;
        self.facts = buffer;
    }

    /// Takes the facts told so far.
    pub fn take_facts(&mut self) -> Vec<FactRow> {
        std::mem::take(&mut self.facts)
    }

    /// Takes the facts told so far and keeps their memory for the next ones.
    pub fn drain_facts(&mut self) -> impl Iterator<Item = FactRow> + '_ {
        self.facts.drain(..)
    }

    /// Names the machine and instant that the next facts and packets belong to; facts name the machine by a number of
    /// their own, since machines may have parts with names.
    #[inline]
    pub fn begin(&mut self, machine: u16, name: u16, now: Time) {
        self.machine = machine;
        self.first_name = name;
        self.teller = name;
        self.now = now;
    }

    /// Lets `tell` tell facts as the machine's part number `part`.
    #[inline]
    pub fn speaking_as<R>(&mut self, part: u16, tell: impl FnOnce(&mut Self) -> R) -> R {
        let teller = self.teller;
        self.speak_as(part);
        let told = tell(self);
        self.teller = teller;
        told
    }

    /// From now on it is the machine's part number `part` that tells facts, until the next input.
    #[inline]
    pub fn speak_as(&mut self, part: u16) {
        self.teller = self.first_name + 1 + part;
    }
}
