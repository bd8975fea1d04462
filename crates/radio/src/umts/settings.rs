//! Settings of the UMTS access.

use cellwind_engine::directions::{Direction, Shared, WithShared};
use cellwind_engine::time::Span;
use cellwind_engine::units::{Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mac::cell::settings::CellSettings;
use crate::pdcp::settings::PdcpSettings;
use crate::rlc::Format;
use crate::rlc::settings::RlcSettings;
use crate::rrc::settings::{RrcSettings, TransportChannel};
use cellwind_path::errors::settings::ErrorSettings;

/// A UMTS access: a radio bearer with RLC for each terminal.
pub type UmtsSettings = WithShared<UmtsShared, BearerSettings>;

/// All channels that a terminal may have in a direction.
pub fn channels(settings: &UmtsSettings, direction: Direction) -> impl Iterator<Item = TransportChannel> + '_ {
    let own = settings.directions.get(direction).channel();
    let others = settings.shared.rrc.iter().flat_map(move |rrc| rrc.channels(direction));
    std::iter::once(own).chain(others)
}

/// One direction of a terminal's radio bearer on a dedicated channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BearerSettings {
    /// Rate of the bearer as networks are specified: it counts what PDUs carry, not their headers (TS 34.108
    /// §6.11.4: 1328 bits of payload in 20 ms are 66.4 kbit/s).
    pub rate: Rate,
    /// Transmission time interval: 10, 20, 40 or 80 ms (TS 25.302 §7.1.6†).
    #[serde(default = "BearerSettings::default_tti")]
    pub tti: Span,
    /// Size of an RLC PDU with its header; a TTI carries as many as the rate allows.
    #[serde(default = "BearerSettings::default_pdu")]
    pub pdu: Size,
    /// Which PDUs arrive broken.
    #[serde(default)]
    pub errors: ErrorSettings,
    /// Radio link control.
    #[serde(default)]
    pub rlc: RlcSettings,
}

/// What both directions of a UMTS access have in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UmtsShared {
    /// How long each node takes to pass something on.
    pub delays: NodeDelays,
    /// The Packet Data Convergence Protocol above RLC.
    pub pdcp: PdcpSettings,
    /// The states of a terminal, and the channels it has in them; absent gives it a dedicated channel for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rrc: Option<RrcSettings>,
    /// The capacity that all terminals share; absent gives each what its channel carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellSettings>,
}

/// How long each node of the network takes to pass something on, in either direction.
///
/// `ue` and `node_b` lie between the two RLC entities, so that each PDU and each status report spends them; the others
/// lie behind the network's entity, so that each packet does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NodeDelays {
    /// The terminal.
    pub ue: Span,
    /// The base station, with the way to its controller (Iub).
    pub node_b: Span,
    /// The radio network controller, with the way to the core network (Iu).
    pub rnc: Span,
    /// The serving GPRS support node, with the way to the gateway (Gn).
    pub sgsn: Span,
    /// The gateway GPRS support node.
    pub ggsn: Span,
}

impl BearerSettings {
    fn default_tti() -> Span {
        Span::from_millis(10) // Lo, Table 3; Teyeb, Table 5.3
    }

    fn default_pdu() -> Size {
        Size::from_bytes(42) // 336 bits, as the bearers of TS 34.108 §6.10.2.4† have up to 384 kbit/s
    }

    /// How the direction is cut into PDUs and sent; `None` when a TTI does not carry a single PDU with payload.
    pub fn format(&self) -> Option<Format> {
        self.format_on(self.channel())
    }

    /// The same on another channel than the bearer's own.
    pub fn format_on(&self, channel: TransportChannel) -> Option<Format> {
        let pdu = u16::try_from(self.pdu.as_bytes()).ok()?;
        let payload = Some(self.payload()).filter(|&payload| payload > 0)?;
        let blocks = u32::try_from(channel.rate.size_in(channel.tti).as_bytes() / payload).ok()?;
        (blocks > 0).then_some(Format { pdu, tti: channel.tti, blocks })
    }

    /// The bearer's own channel, which it has without RRC, and after the set-up of a dedicated one.
    pub fn channel(&self) -> TransportChannel {
        TransportChannel { rate: self.rate, tti: self.tti }
    }

    /// Octets that a PDU carries, at most.
    pub fn payload(&self) -> u64 {
        self.pdu.as_bytes().saturating_sub(self.rlc.header_octets())
    }

    /// Takes the value of one key over from `other`.
    pub fn adopt(&mut self, key: &str, other: &Self) {
        match key {
            "rate" => self.rate = other.rate,
            "tti" => self.tti = other.tti,
            "pdu" => self.pdu = other.pdu,
            "errors" => self.errors = other.errors.clone(),
            "rlc" => self.rlc = other.rlc.clone(),
            _ => {}
        }
    }
}

impl UmtsShared {
    /// Takes the value of one key over from `other`.
    pub fn adopt(&mut self, key: &str, other: &Self) {
        match key {
            "delays" => self.delays = other.delays,
            "pdcp" => self.pdcp = other.pdcp.clone(),
            "rrc" => self.rrc = other.rrc.clone(),
            "cell" => self.cell = other.cell.clone(),
            _ => {}
        }
    }
}

impl Shared for UmtsShared {
    const NAME: &'static str = "$cellwind::Directions+delays+pdcp+rrc+cell";
}

impl NodeDelays {
    /// From one RLC entity to the other, besides the time on the air.
    pub fn between_entities(&self) -> Span {
        self.ue + self.node_b
    }

    /// Between the network's RLC entity and the wired links.
    pub fn behind_network(&self) -> Span {
        self.rnc + self.sgsn + self.ggsn
    }
}

#[cfg(test)]
mod tests {
    use cellwind_engine::directions::DIRECTIONS;

    use super::*;

    #[test]
    fn shared_keys_are_announced_to_the_deserializer() {
        let announced = UmtsShared::NAME.strip_prefix(DIRECTIONS).unwrap();
        let schema = schemars::schema_for!(UmtsShared);
        let keys = schema.get("properties").and_then(|properties| properties.as_object()).unwrap();
        let mut keys: Vec<_> = keys.keys().map(|key| format!("+{key}")).collect();
        let mut announced: Vec<_> = announced.split('+').skip(1).map(|key| format!("+{key}")).collect();
        keys.sort();
        announced.sort();
        assert_eq!(keys, announced);
    }
}
