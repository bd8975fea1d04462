//! One end of a bearer, in whichever modes its two directions are.

use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::Packet;
use cellwind_engine::time::Time;

use super::am::AmEntity;
use super::one_way::OneWay;
use super::sdu::{Carried, Sdu};
use super::settings::RlcSettings;
use super::sn::Sn;
use super::{Format, Pdu};

/// The RLC of one end of a bearer.
#[derive(Clone, Debug)]
pub enum Entity {
    /// Acknowledged mode, which takes both directions.
    Am(Box<AmEntity>),
    /// Unacknowledged or transparent mode, in each direction by itself.
    OneWay(OneWay),
}

impl Entity {
    /// The RLC of an end that is established at `now`: settings and formats of the direction that it sends, then of the one
    /// that it receives. Either both are in acknowledged mode or neither is.
    pub fn new(now: Time, settings: (&RlcSettings, &RlcSettings), formats: (Format, Format)) -> Self {
        match settings {
            (RlcSettings::Am(sends), RlcSettings::Am(receives)) => {
                Entity::Am(Box::new(AmEntity::new(now, (sends, receives), formats)))
            }
            (sends, _) => Entity::OneWay(OneWay::new(sends, formats.0).expect("both directions acknowledge")),
        }
    }

    /// Takes other settings over while it runs, for its direction to come; the modes stay as they are.
    pub fn set_settings(
        &mut self,
        now: Time,
        settings: (&RlcSettings, &RlcSettings),
        formats: (Format, Format),
        outgoing: &Carried,
        incoming: &mut Carried,
        delivered: &mut impl FnMut(&Sdu),
    ) {
        match (self, settings) {
            (Entity::Am(entity), (RlcSettings::Am(sends), RlcSettings::Am(receives))) => {
                entity.set_settings(now, (sends, receives), formats, incoming, delivered);
            }
            (Entity::OneWay(entity), (sends, _)) => entity.set_transmitter(sends, formats.0, outgoing),
            _ => unreachable!("a bearer keeps its modes"),
        }
    }

    /// Changes how PDUs are sent, which stay as large as they are: those that it sends, and those that it receives.
    pub fn set_formats(&mut self, formats: (Format, Format)) {
        match self {
            Entity::Am(entity) => entity.set_formats(formats),
            Entity::OneWay(entity) => entity.set_format(formats.0),
        }
    }

    /// Octets that wait to be sent, or sent again: the traffic volume (TS 25.331 §14.4), which has control PDUs in it only
    /// when nothing else waits.
    pub fn buffered(&self, now: Time, outgoing: &Carried) -> u64 {
        let octets = match self {
            Entity::Am(entity) => entity.buffered(outgoing),
            Entity::OneWay(_) => outgoing.unsent_octets(),
        };
        if octets == 0 && self.has_something_to_send(now, outgoing) { 1 } else { octets }
    }

    /// A packet is handed down, as an SDU of `octets`. It is dropped when there is no room for it.
    pub fn on_sdu(&mut self, now: Time, packet: &Packet, octets: u32, outgoing: &mut Carried, out: &mut Outbox) {
        match self {
            Entity::Am(entity) => entity.on_sdu(now, packet, octets, outgoing, out),
            Entity::OneWay(entity) => entity.on_sdu(now, packet, octets, outgoing, out),
        }
    }

    /// Whether it would send something, given an opportunity.
    #[inline]
    pub fn has_something_to_send(&self, now: Time, outgoing: &Carried) -> bool {
        match self {
            Entity::Am(entity) => entity.has_something_to_send(now, outgoing),
            Entity::OneWay(entity) => entity.has_something_to_send(outgoing),
        }
    }

    /// PDUs that it can only submit together next, at least one.
    pub fn at_once(&self, outgoing: &Carried) -> u64 {
        match self {
            Entity::Am(_) => 1,
            Entity::OneWay(entity) => entity.at_once(outgoing),
        }
    }

    /// Submits at most `blocks` PDUs to the lower layer and says how many.
    pub fn on_opportunity(
        &mut self,
        now: Time,
        blocks: u64,
        outgoing: &mut Carried,
        batch: &mut Vec<Pdu>,
        out: &mut Outbox,
    ) -> u64 {
        match self {
            Entity::Am(entity) => entity.on_opportunity(now, blocks, outgoing, batch, out),
            Entity::OneWay(entity) => entity.on_opportunity(now, blocks, outgoing, batch, out),
        }
    }

    /// PDUs have arrived without error. What they complete is `delivered`.
    pub fn on_pdu(
        &mut self,
        now: Time,
        pdu: Pdu,
        outgoing: &mut Carried,
        incoming: &mut Carried,
        delivered: &mut impl FnMut(&Sdu),
        out: &mut Outbox,
    ) {
        match self {
            Entity::Am(entity) => entity.on_pdu(now, pdu, outgoing, incoming, delivered, out),
            Entity::OneWay(entity) => entity.on_pdu(&pdu, incoming, delivered, out),
        }
    }

    /// Timers that have come due.
    pub fn on_timeout(&mut self, now: Time, outgoing: &mut Carried, incoming: &Carried, out: &mut Outbox) {
        match self {
            Entity::Am(entity) => entity.on_timeout(now, outgoing, incoming, out),
            Entity::OneWay(entity) => entity.on_timeout(now, outgoing, out),
        }
    }

    /// When a timer makes a difference next.
    #[inline]
    pub fn next_timeout(&self, outgoing: &Carried) -> Option<Time> {
        match self {
            Entity::Am(entity) => entity.next_timeout(outgoing),
            Entity::OneWay(entity) => entity.next_timeout(),
        }
    }

    /// Whether it has given up, so that both ends are to be established anew (TS 25.322 §11.4.4a).
    #[inline]
    pub fn is_unrecoverable(&self) -> bool {
        matches!(self, Entity::Am(entity) if entity.is_unrecoverable())
    }

    /// The hyper frame number of what it sends; without acknowledgements nobody asks for it.
    pub fn hfn(&self) -> u64 {
        match self {
            Entity::Am(entity) => entity.hfn(),
            Entity::OneWay(_) => 0,
        }
    }

    /// Establishes it anew (TS 25.322 §9.7.7), together with its peer and when nothing is in flight between them; `hfns` are
    /// the hyper frame numbers of the direction that it sends and of the one that it receives, from before.
    pub fn re_establish(&mut self, hfns: (u64, u64), outgoing: &mut Carried, out: &mut Outbox) {
        match self {
            Entity::Am(entity) => entity.re_establish(hfns, outgoing, out),
            Entity::OneWay(entity) => entity.re_establish(),
        }
    }

    /// How often a PDU of the last opportunities was sent by then.
    pub fn transmissions(&self, sn: Sn) -> u8 {
        match self {
            Entity::Am(entity) => entity.transmissions(sn),
            Entity::OneWay(_) => 1,
        }
    }

    /// Checks what it knows, and the books of both directions.
    pub fn check(&self, outgoing: &Carried, incoming: &Carried) -> Result<(), String> {
        match self {
            Entity::Am(entity) => entity.check(outgoing, incoming),
            Entity::OneWay(_) => outgoing.check(),
        }
    }
}
