//! The end of a bearer that sends one direction and receives the other without acknowledgements, so that the two have nothing to
//! do with each other (TS 25.322 §4.2.1.1, §4.2.1.2).

use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::Packet;
use cellwind_engine::time::Time;

use super::sdu::{Carried, Sdu};
use super::settings::RlcSettings;
use super::{Format, Pdu, tm, um};

/// A transmitting and a receiving entity, each in unacknowledged or transparent mode.
#[derive(Clone, Debug)]
pub struct OneWay {
    transmitter: Transmitter,
    receiver: um::Receiver,
    /// When the SDU that waits longest is to be discarded.
    due: Option<Time>,
}

#[derive(Clone, Debug)]
enum Transmitter {
    Um(um::Transmitter),
    Tm(tm::Transmitter),
}

/// Calls the same method of whichever transmitter it is.
macro_rules! each {
    ($self:ident, $transmitter:ident => $call:expr) => {
        match $self.transmitter {
            Transmitter::Um(ref mut $transmitter) => $call,
            Transmitter::Tm(ref mut $transmitter) => $call,
        }
    };
}

impl OneWay {
    /// An end that sends PDUs of `format`; `None` for acknowledged mode.
    pub fn new(settings: &RlcSettings, format: Format) -> Option<Self> {
        let transmitter = match settings {
            RlcSettings::Am(_) => return None,
            RlcSettings::Um(settings) => Transmitter::Um(um::Transmitter::new(settings, format)),
            RlcSettings::Tm(settings) => Transmitter::Tm(tm::Transmitter::new(settings, format)),
        };
        Some(OneWay { transmitter, receiver: um::Receiver::default(), due: None })
    }

    /// Changes the settings of its mode, and the format of the PDUs to come.
    pub fn set_transmitter(&mut self, settings: &RlcSettings, format: Format, outgoing: &Carried) {
        match (&mut self.transmitter, settings) {
            (Transmitter::Um(transmitter), RlcSettings::Um(settings)) => transmitter.set(settings, format),
            (Transmitter::Tm(transmitter), RlcSettings::Tm(settings)) => transmitter.set(settings, format),
            _ => unreachable!("an entity keeps its mode"),
        }
        self.plan(outgoing);
    }

    /// Changes how PDUs are sent, which stay as large as they are.
    pub fn set_format(&mut self, format: Format) {
        each!(self, transmitter => transmitter.set_format(format));
    }

    /// Takes a packet of `octets` from the upper layer.
    pub fn on_sdu(&mut self, now: Time, packet: &Packet, octets: u32, outgoing: &mut Carried, out: &mut Outbox) {
        each!(self, transmitter => transmitter.on_sdu(now, packet, octets, outgoing, out));
        self.plan(outgoing);
    }

    /// Whether it needs a PDU.
    pub fn has_something_to_send(&self, outgoing: &Carried) -> bool {
        match &self.transmitter {
            Transmitter::Um(transmitter) => transmitter.has_something_to_send(outgoing),
            Transmitter::Tm(transmitter) => transmitter.has_something_to_send(outgoing),
        }
    }

    /// PDUs that it can only send together next.
    pub fn at_once(&self, outgoing: &Carried) -> u64 {
        match &self.transmitter {
            Transmitter::Um(_) => 1,
            Transmitter::Tm(transmitter) => transmitter.at_once(outgoing),
        }
    }

    /// Fills at most `blocks` PDUs and says how many.
    pub fn on_opportunity(
        &mut self,
        now: Time,
        blocks: u64,
        outgoing: &mut Carried,
        batch: &mut Vec<Pdu>,
        out: &mut Outbox,
    ) -> u64 {
        let used = match &mut self.transmitter {
            Transmitter::Um(transmitter) => transmitter.on_opportunity(now, blocks, outgoing, batch, out),
            Transmitter::Tm(transmitter) => transmitter.on_opportunity(blocks, outgoing, batch, out),
        };
        self.plan(outgoing);
        used
    }

    /// PDUs arrive, and what they complete is handed up.
    pub fn on_pdu(&mut self, pdu: &Pdu, incoming: &mut Carried, delivered: &mut impl FnMut(&Sdu), out: &mut Outbox) {
        let &Pdu::Unacknowledged { first, count } = pdu else {
            unreachable!("the peer is in the same mode");
        };
        self.receiver.on_pdus(first, count, incoming, delivered, out);
    }

    /// When an SDU is to be discarded.
    pub fn next_timeout(&self) -> Option<Time> {
        self.due
    }

    /// Discards SDUs whose time is over.
    pub fn on_timeout(&mut self, now: Time, outgoing: &mut Carried, out: &mut Outbox) {
        each!(self, transmitter => transmitter.on_timeout(now, outgoing, out));
        self.plan(outgoing);
    }

    /// Begins anew (§9.7.7) when all that its direction carried was taken out and nothing is in flight.
    pub fn re_establish(&mut self) {
        self.receiver = um::Receiver::default();
        self.due = None;
    }

    fn plan(&mut self, outgoing: &Carried) {
        self.due = each!(self, transmitter => transmitter.next_timeout(outgoing));
    }
}
