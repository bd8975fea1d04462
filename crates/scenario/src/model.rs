//! A scenario as typed values: who talks to whom, over what, and how.
//!
//! The doc comments of this module and of the settings it holds become the JSON Schema and the reference page.

use std::fmt;

use cellwind_engine::impl_text;
use cellwind_engine::text::{Reason, Text};
use cellwind_engine::time::Span;
use cellwind_path::settings::LinkSettings;
pub use cellwind_radio::access::Access;
use cellwind_radio::mac::cell::settings::{Decibels, RadioSettings};
use cellwind_transport::application::ApplicationSettings;
pub use cellwind_transport::carrier::Protocol;
use cellwind_transport::tcp::amount::Window;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::change::Planned;
use crate::de::LABELLED;
use crate::mobility::Way;
use cellwind_engine::directions::{Direction, Directions};

mod event;
mod live;
mod mobility;
mod spikes;

pub use event::Event;
pub use live::{Kernel, Live, Workload};
pub use mobility::{Condition, Mobility, Network, Next};
pub use spikes::{IntervalFrom, Spike, Spikes};

/// Servers, wired links, access networks and terminals, the flows between a server and a terminal, and what changes
/// while they run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// One line for headings.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What the scenario shows, in sentences.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Start of all random streams: the same seed gives the same results, bit for bit.
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// How often the scenario is run, each time with other random numbers.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub replications: u32,
    /// When a run ends at the latest; it ends earlier when all flows are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_at: Option<Span>,
    /// Wired links in the order written, from the servers towards the access networks. Every flow crosses all
    /// of them.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "std::collections::BTreeMap<String, Link>")]
    pub link: IndexMap<String, Link>,
    /// Access networks. Each terminal has its own bearer in one of them.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "std::collections::BTreeMap<String, crate::schema::AccessOrPreset>")]
    pub access: IndexMap<String, Access>,
    /// Terminals; without any, there is one named `ue`.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub terminal: IndexMap<String, Terminal>,
    /// Flows between a server and a terminal.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub flow: IndexMap<String, Flow>,
    /// Changes while the scenario runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub event: Vec<Event>,
    /// Delay spikes that come again and again, at random or from a list.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "std::collections::BTreeMap<String, Spikes>")]
    pub spikes: IndexMap<String, Spikes>,
    /// Ways of terminals through networks, one for each terminal that moves.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "std::collections::BTreeMap<String, Mobility>")]
    pub mobility: IndexMap<String, Mobility>,
    /// How the scenario runs live, with real packets.
    #[serde(skip_serializing_if = "Live::is_default")]
    pub live: Live,
    /// Commands that run at the ends of a live run.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub workload: IndexMap<String, Workload>,
    /// What the events do, checked and typed.
    #[serde(skip)]
    pub(crate) plan: Vec<Planned>,
    /// The ways of terminals, checked and typed.
    #[serde(skip)]
    pub(crate) ways: Vec<Way>,
}

/// The tables of [`Scenario`] whose keys are names of the writer's choice.
pub const SECTIONS: [&str; 7] = ["link", "access", "terminal", "flow", "spikes", "mobility", "workload"];

/// The terminal of a scenario that names none.
pub const DEFAULT_TERMINAL: &str = "ue";

/// The name of the other end.
pub const SERVER: &str = "server";

impl Default for Scenario {
    fn default() -> Self {
        Scenario {
            title: String::new(),
            description: String::new(),
            seed: 1,
            replications: 1,
            stop_at: None,
            link: IndexMap::new(),
            access: IndexMap::new(),
            terminal: IndexMap::new(),
            flow: IndexMap::new(),
            event: Vec::new(),
            spikes: IndexMap::new(),
            mobility: IndexMap::new(),
            live: Live::default(),
            workload: IndexMap::new(),
            plan: Vec::new(),
            ways: Vec::new(),
        }
    }
}

/// A wired link.
pub type Link = Directions<LinkSettings>;

/// A terminal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Terminal {
    /// The access network that serves it; by default the only one. In a scenario without any, terminals stand at
    /// the end of the wired links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// Carrier to interference ratio, with all of the power of its cell; absent means good enough for all of the cell's
    /// capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub c_to_i: Option<Decibels>,
    /// Traffic handling priority in its cell, 1 before 2 before 3; absent means the background class, which comes last
    /// (TS 23.107 §6.4.3†).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3))]
    pub thp: Option<u8>,
    /// Allocation/retention priority in its cell, 1 before all others (TS 25.413 §9.2.1.3); absent means 15, the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 15))]
    pub arp: Option<u8>,
}

impl Terminal {
    /// How it stands in its cell.
    pub fn radio(&self) -> RadioSettings {
        RadioSettings { c_to_i: self.c_to_i, thp: self.thp, arp: self.arp }
    }
}

/// Data from one end to the other, and the transport that carries it: `bulk`, or an `application`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Which way the data goes, or the content of an application; acknowledgements and requests go the other way.
    #[serde(default)]
    pub direction: Direction,
    /// The terminal at one end; by default the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
    /// How much is sent, when the flow is a plain transfer of data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulk: Option<Bulk>,
    /// What the flow carries, when it is not a plain transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "crate::schema::ApplicationOrPreset")]
    pub application: Option<ApplicationSettings>,
    /// When the flow starts.
    #[serde(default)]
    pub start: Span,
    /// The run does not wait for this flow: it ends with the last of the others.
    #[serde(default)]
    pub background: bool,
    /// The transport protocol and its settings.
    #[schemars(with = "crate::schema::TransportOrPreset")]
    pub transport: Transport,
}

/// A transport with the name that results show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transport {
    /// Name in results; by default that of the preset it was made from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// The protocol and its settings.
    #[serde(flatten)]
    pub protocol: Protocol,
}

impl Transport {
    /// What results call it: its label, or the protocol's type.
    pub fn name(&self) -> &str {
        match (self.label.as_str(), &self.protocol) {
            ("", protocol) => protocol.word(),
            (label, _) => label,
        }
    }
}

impl Flow {
    /// The word for what it carries, as results show it.
    pub fn carries(&self) -> &'static str {
        self.application.as_ref().map_or("bulk", ApplicationSettings::word)
    }
}

impl<'de> Deserialize<'de> for Transport {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(LABELLED, TransportVisitor)
    }
}

struct TransportVisitor;

impl<'de> Visitor<'de> for TransportVisitor {
    type Value = Transport;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Transport, A::Error> {
        let missing = || A::Error::invalid_length(0, &"a label and a transport");
        let label = parts.next_element()?.ok_or_else(missing)?;
        let protocol = parts.next_element()?.ok_or_else(missing)?;
        Ok(Transport { label, protocol })
    }
}

/// How much a flow sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bulk {
    /// So many bytes, or full segments of its transport.
    Limited(Window),
    /// Data without end.
    Unlimited,
}

impl Text for Bulk {
    const EXPECTED: &'static str = r#"an amount of data such as "16 MB" or "200 segments", or "unlimited""#;
    const PATTERN: &'static str = r"^(unlimited|\d+ *segments?|\d+(\.\d+)? *(B|kB|MB|GB|KiB|MiB|GiB))$";

    fn parse(text: &str) -> Result<Self, Reason> {
        if text == "unlimited" { Ok(Bulk::Unlimited) } else { Window::parse(text).map(Bulk::Limited) }
    }
}

impl fmt::Display for Bulk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bulk::Limited(amount) => amount.fmt(f),
            Bulk::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl_text!(Bulk);

impl Scenario {
    /// Writes out what may be left away, so that every later reader finds it: the terminal `ue`, the only access
    /// of a terminal or the first on its way, the only terminal of a flow or a way.
    pub(crate) fn fill_in(&mut self) {
        if self.terminal.is_empty() {
            self.terminal.insert(DEFAULT_TERMINAL.into(), Terminal::default());
        }
        if let [access] = self.access.keys().collect::<Vec<_>>()[..] {
            for terminal in self.terminal.values_mut() {
                terminal.access.get_or_insert_with(|| access.clone());
            }
        }
        if let [terminal] = self.terminal.keys().collect::<Vec<_>>()[..] {
            for flow in self.flow.values_mut() {
                flow.terminal.get_or_insert_with(|| terminal.clone());
            }
            for way in self.mobility.values_mut() {
                way.terminal.get_or_insert_with(|| terminal.clone());
            }
        }
        let first: Vec<_> = self.terminal.keys().map(|terminal| self.first_on_way(terminal)).collect();
        for (terminal, first) in self.terminal.values_mut().zip(first) {
            terminal.access = terminal.access.take().or(first);
        }
    }

    /// The access of the first network of a terminal's way.
    fn first_on_way(&self, terminal: &str) -> Option<String> {
        let way = self.mobility.values().find(|way| way.terminal.as_deref() == Some(terminal))?;
        let start = way.start.as_ref().or(way.network.keys().next())?;
        Some(way.network.get(start)?.access_or(start).to_string())
    }

    /// The name of the terminal at one end of a flow of this scenario.
    pub fn terminal_of<'a>(&'a self, flow: &'a Flow) -> &'a str {
        let only = || self.terminal.keys().next().map(String::as_str);
        flow.terminal.as_deref().or_else(only).unwrap_or(DEFAULT_TERMINAL)
    }

    /// Whether the flow is a plain download by TCP to the terminal, whose receiver can be made to repeat its last
    /// acknowledgement.
    pub fn repeats_acks(&self, terminal: &str, flow: &Flow) -> bool {
        let is_download = flow.direction == Direction::Down && flow.bulk.is_some();
        is_download && matches!(flow.transport.protocol, Protocol::Tcp(_)) && self.terminal_of(flow) == terminal
    }

    /// The access network of a terminal, with its name; none when it stands at the end of the wired links.
    pub fn access_of(&self, terminal: &str) -> Option<(&str, &Access)> {
        let name = self.terminal.get(terminal)?.access.as_deref()?;
        self.access.get_key_value(name).map(|(name, access)| (name.as_str(), access))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellwind_engine::units::Size;
    use cellwind_transport::tcp::amount::Segments;

    #[test]
    fn amounts_of_data_survive_their_text() {
        for bulk in [
            Bulk::Unlimited,
            Bulk::Limited(Window::Segments(Segments(27_778))),
            Bulk::Limited(Window::Bytes(Size::from_bytes(16_000_000))),
        ] {
            assert_eq!(bulk.to_string().parse(), Ok(bulk));
        }
        assert_eq!("0 B".parse::<Bulk>().unwrap_err().reason, Reason::Zero);
        assert_eq!("lots".parse::<Bulk>().unwrap_err().reason, Reason::UnknownWord);
    }
}
