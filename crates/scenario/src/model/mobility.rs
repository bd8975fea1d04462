//! Ways of terminals through networks.

use std::fmt;

use cellwind_engine::distribution::SpanDistribution;
use cellwind_engine::impl_text;
use cellwind_engine::text::{Reason, Text};
use cellwind_engine::units::Size;
use cellwind_radio::settings::Bufferings;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Value;

/// How a terminal moves: a state machine of networks, and in each network one of its conditions (Teyeb, appendix B.2,
/// a two-layer Markov chain). It is deterministic where times are fixed and each state has one successor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mobility {
    /// The terminal that moves; by default the only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
    /// The network it begins in; by default the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// The networks. Several may stand for one access, as cells of it do: a change between them is a handover as well,
    /// and its bearer is made anew.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "std::collections::BTreeMap<String, Network>")]
    pub network: IndexMap<String, Network>,
}

/// A network that a terminal moves through.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// The access that it stands for; by default the one of its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// How long until `next` decides, from when the terminal is in the network. Without it and `after` it stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stay: Option<SpanDistribution>,
    /// `next` decides as soon as the terminal was delivered so much since it came, in whole packets with their headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Size>,
    /// The network that follows, or several with their probabilities: `"umts 0.9, gprs 0.1"`. The same one again means that
    /// nothing changes until it decides again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
    /// How long a handover to this network takes; no packet leaves during it. By default no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<SpanDistribution>,
    /// What becomes of packets during a handover to this network, as in `event`. By default `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffering: Option<Bufferings>,
    /// Handovers to this network are soft, as in `event`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub soft: bool,
    /// How often the terminal repeats its last acknowledgement when a handover to this network ends, as in `event`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub duplicate_acks: Option<u32>,
    /// The condition that the network is in when the terminal comes; by default the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Conditions of the network, while the terminal is in it.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "std::collections::BTreeMap<String, Condition>")]
    pub condition: IndexMap<String, Condition>,
}

impl Network {
    /// The access that the network of this name stands for.
    pub fn access_or<'a>(&'a self, name: &'a str) -> &'a str {
        self.access.as_deref().unwrap_or(name)
    }
}

/// A condition of a network: what its access is like for this terminal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Condition {
    /// How long until `next` decides. Without it and `after` the condition lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stay: Option<SpanDistribution>,
    /// `next` decides as soon as the terminal was delivered so much since the condition began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Size>,
    /// The condition that follows, or several with their probabilities, as in `network`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
    /// Settings of the access, by the path below it, such as `down.rate`. What other conditions of this access set and this
    /// one does not is as the access has it.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub set: IndexMap<String, Value>,
}

/// What follows a state: the names of others with their probabilities, in the order written.
#[derive(Clone, Debug, PartialEq)]
pub struct Next(pub Vec<(String, f64)>);

impl Text for Next {
    const EXPECTED: &'static str = r#"a name such as "umts", or names with probabilities such as "umts 0.9, gprs 0.1""#;
    const PATTERN: &'static str = r"^[A-Za-z0-9_-]+( +[01](\.\d+)?( *, *[A-Za-z0-9_-]+ +[01](\.\d+)?)*)?$";

    fn from_number(_: f64) -> Result<Self, Reason> {
        Err(Reason::NotAWord)
    }

    fn parse(text: &str) -> Result<Self, Reason> {
        let of = |part: &str| match part.trim().split_once(' ') {
            Some((name, probability)) => {
                let probability: f64 = probability.trim().parse().map_err(|_| Reason::NotAProbability)?;
                Ok((name.to_string(), probability))
            }
            None => Err(Reason::NotAProbability),
        };
        if text.contains([' ', ',']) {
            text.split(',').map(of).collect::<Result<_, _>>().map(Next)
        } else {
            Ok(Next(vec![(text.to_string(), 1.0)]))
        }
    }
}

impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(only, probability)] = &self.0[..]
            && *probability == 1.0
        {
            return f.write_str(only);
        }
        for (place, (name, probability)) in self.0.iter().enumerate() {
            write!(f, "{}{name} {probability}", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl_text!(Next);
