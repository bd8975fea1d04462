//! The connections of one end of a flow.

use std::collections::VecDeque;

use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::{FlowId, Packet};
use cellwind_engine::time::Time;

use crate::carrier::{Carrier, Event, Message, Protocol, Side};
use crate::tcp::Counters;

/// All connections of one end, by number.
#[derive(Clone, Debug)]
pub struct Lines {
    protocol: Protocol,
    flow: FlowId,
    side: Side,
    carriers: Vec<Carrier>,
    /// The connections before this one are over.
    first_busy: usize,
    /// Connections that may have something to tell.
    stirred: VecDeque<u16>,
}

impl Lines {
    pub fn new(protocol: &Protocol, flow: FlowId, side: Side) -> Self {
        Lines { protocol: protocol.clone(), flow, side, carriers: Vec::new(), first_busy: 0, stirred: VecDeque::new() }
    }

    pub fn flow(&self) -> FlowId {
        self.flow
    }

    /// Opens one more connection and gives its number.
    pub fn open(&mut self, now: Time, out: &mut Outbox) -> u16 {
        let line = self.add();
        self.carriers[usize::from(line)].open(now, out);
        self.stirred.push_back(line);
        line
    }

    pub fn send(&mut self, line: u16, now: Time, message: Message, out: &mut Outbox) {
        self.carriers[usize::from(line)].send(now, message, out);
        self.stirred.push_back(line);
    }

    pub fn close(&mut self, line: u16, now: Time, out: &mut Outbox) {
        self.carriers[usize::from(line)].close(now, out);
        self.stirred.push_back(line);
    }

    pub fn on_packet(&mut self, now: Time, packet: &Packet, out: &mut Outbox) {
        let line = usize::from(packet.connection);
        while self.side == Side::Other && self.carriers.len() <= line {
            self.add();
        }
        let Some(carrier) = self.carriers.get_mut(line) else { return };
        carrier.on_packet(now, packet, out);
        self.stirred.push_back(packet.connection);
    }

    pub fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        for (line, carrier) in self.carriers.iter_mut().enumerate().skip(self.first_busy) {
            if carrier.next_timeout().is_some_and(|due| due <= now) {
                carrier.on_timeout(now, out);
                self.stirred.push_back(line as u16);
            }
        }
        while self.carriers.get(self.first_busy).is_some_and(Carrier::is_over) {
            self.first_busy += 1;
        }
    }

    pub fn next_timeout(&self) -> Option<Time> {
        self.carriers[self.first_busy..].iter().filter_map(Carrier::next_timeout).min()
    }

    /// The next thing that a connection has to tell.
    pub fn poll_event(&mut self) -> Option<(u16, Event)> {
        while let Some(&line) = self.stirred.front() {
            if let Some(event) = self.carriers[usize::from(line)].poll_event() {
                return Some((line, event));
            }
            self.stirred.pop_front();
        }
        None
    }

    pub fn written(&self) -> u64 {
        self.carriers.iter().map(Carrier::written).sum()
    }

    pub fn delivered(&self) -> u64 {
        self.carriers.iter().map(Carrier::delivered).sum()
    }

    pub fn counters(&self) -> Counters {
        self.carriers.iter().fold(Counters::default(), |sum, carrier| sum.with(carrier.counters()))
    }

    pub fn check(&self) -> Result<(), String> {
        self.carriers.iter().try_for_each(Carrier::check)
    }

    fn add(&mut self) -> u16 {
        // Validation bounds how many an application opens.
        let line = u16::try_from(self.carriers.len()).expect("connections have 16-bit numbers");
        self.carriers.push(Carrier::new(&self.protocol, self.flow, line, self.side));
        line
    }
}
