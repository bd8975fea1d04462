//! Settings of the RRC states and of the channels in them.

use cellwind_engine::directions::{Direction, Directions};
use cellwind_engine::distribution::SpanDistribution;
use cellwind_engine::time::Span;
use cellwind_engine::units::{Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The RRC states of a terminal and what leads from one into another (TS 25.331 §7.1; Teyeb, section 2.3.1.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RrcSettings {
    /// The state in which the run begins.
    pub initial: RrcState,
    /// How long a connection takes to be set up from idle.
    pub connection_setup: Span,
    /// The state that a new connection begins in.
    pub connect_to: Connected,
    /// How long the set-up of a dedicated channel takes; data goes on over the common channels meanwhile.
    pub dch_setup: Span,
    /// How long a change of the dedicated channel's bit rate takes; data goes on at the old one meanwhile.
    pub reconfiguration: Span,
    /// After how long with empty buffers CELL_DCH becomes CELL_FACH.
    pub dch_inactivity: Span,
    /// After how long with empty buffers CELL_FACH is left for the state in `paging`.
    pub fach_inactivity: Span,
    /// The state that follows CELL_FACH.
    pub paging: Paging,
    /// After how long in a paging state the connection is released, so that the terminal is idle.
    pub paging_inactivity: Span,
    /// How often a terminal listens for paging, in idle and in the paging states: data for it waits for the next multiple of this.
    pub paging_cycle: Span,
    /// How long the cell update takes by which a terminal leaves a paging state.
    pub cell_update: Span,
    /// The common channel that carries data down in CELL_FACH.
    pub fach: TransportChannel,
    /// The common channel that carries data up in CELL_FACH.
    pub rach: TransportChannel,
    /// The terminal moves from cell to cell; absent means that it stays where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reselection: Option<Reselection>,
    /// What decides on the dedicated channel, in each direction.
    pub dch: Directions<DchSettings>,
}

impl Default for RrcSettings {
    fn default() -> Self {
        RrcSettings {
            initial: RrcState::CellFach, // Teyeb, Table 2.1: the first ping is as fast as the second
            connection_setup: Span::from_millis(600), // Qian et al., "Characterizing radio resource allocation for 3G networks" (IMC 2010)†
            connect_to: Connected::CellFach,
            dch_setup: Span::from_secs(1),        // Teyeb, section 2.3.1.1: around 1 second
            reconfiguration: Span::from_secs(1),  // as the set-up: it is the same exchange (TS 25.331 §8.2.2)
            dch_inactivity: Span::from_secs(5),   // Qian et al.†
            fach_inactivity: Span::from_secs(12), // Qian et al.†
            paging: Paging::CellPch,              // Teyeb, section 2.3.1.1
            paging_inactivity: Span::from_secs(30 * 60), // our choice: longer than the pauses that are looked at
            paging_cycle: Span::from_millis(640), // TS 25.304 §8.3†: 2^k radio frames, k = 6
            cell_update: Span::from_millis(300),  // one exchange over FACH: Teyeb, Table 2.1
            fach: TransportChannel::new(32, 10),  // TS 34.108 §6.10.2.4.3†: one block of 40 octets per TTI
            rach: TransportChannel::new(16, 20),  // TS 34.108 §6.10.2.4.4†: one block of 40 octets per TTI
            reselection: None,
            dch: Directions::default(),
        }
    }
}

impl RrcSettings {
    /// The channels that a terminal may have in a direction, besides the bearer's own.
    pub fn channels(&self, direction: Direction) -> impl Iterator<Item = TransportChannel> + '_ {
        let common = match direction {
            Direction::Down => self.fach,
            Direction::Up => self.rach,
        };
        let dch = self.dch.get(direction);
        let rates = dch.switching.iter().flat_map(|switching| switching.rates.iter().copied());
        let slow = dch.oscillation.iter().map(|oscillation| oscillation.slow);
        std::iter::once(common).chain(rates).chain(slow)
    }
}

/// A state of RRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum RrcState {
    /// No connection.
    Idle = 1,
    /// A connection without channels; the network knows the registration area the terminal is in.
    UraPch = 2,
    /// A connection without channels; the network knows the cell the terminal is in.
    CellPch = 3,
    /// The terminal shares common channels with others.
    CellFach = 4,
    /// The terminal has a dedicated channel.
    CellDch = 5,
}

/// The state that a new connection begins in (TS 25.331 §8.1.3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connected {
    /// On the common channels.
    CellFach,
    /// On a dedicated channel; `connection_setup` counts for both then.
    CellDch,
}

/// The state after CELL_FACH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Paging {
    /// CELL_PCH.
    CellPch,
    /// URA_PCH, which differs in where a terminal is paged and not in how long it takes.
    UraPch,
    /// The connection is released.
    Idle,
}

/// A channel that carries so much in each TTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransportChannel {
    /// Bit rate; counts the payload of RLC.
    pub rate: Rate,
    /// Transmission time interval.
    pub tti: Span,
}

impl TransportChannel {
    /// A channel of `kbps` kbit/s with a TTI of `tti` ms.
    pub const fn new(kbps: u64, tti: u64) -> Self {
        TransportChannel { rate: Rate::from_kbps(kbps), tti: Span::from_millis(tti) }
    }
}

/// How a terminal moves from cell to cell. In CELL_FACH nothing is sent while it does; a dedicated channel does not notice,
/// thanks to soft handover (Teyeb, section 2.3.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reselection {
    /// From one cell reselection to the next, and until the first; in the mean more than `gap`.
    pub interval: SpanDistribution,
    /// How long nothing is sent.
    #[serde(default = "Reselection::default_gap")]
    pub gap: Span,
}

impl Reselection {
    fn default_gap() -> Span {
        Span::from_millis(900) // Teyeb, section 2.3.1.1: around 0.9 seconds
    }
}

/// What decides on the dedicated channel in one direction: the traffic volume, which is what waits in the RLC buffer
/// (TS 25.331 §14.4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DchSettings {
    /// A traffic volume above this takes the terminal from CELL_FACH to CELL_DCH.
    pub threshold: Size,
    /// How long the traffic volume must be above a threshold.
    pub time_to_trigger: Span,
    /// How long after it told of a traffic volume above a threshold the terminal may do so again; 0 means not before it was below.
    pub pending_time: Span,
    /// The bit rate follows the traffic volume; absent means that it stays what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switching: Option<RateSwitching>,
    /// The dedicated channel is fast and slow by turns; absent means that it is always fast.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oscillation: Option<Oscillation>,
}

impl Default for DchSettings {
    fn default() -> Self {
        DchSettings {
            threshold: Size::from_bytes(250),     // Teyeb, Figure 2.6
            time_to_trigger: Span::ZERO,          // TS 25.331 §10.3.7.64†, the least there is
            pending_time: Span::from_millis(250), // TS 25.331 §10.3.7.70†, the least there is
            switching: None,
            oscillation: None,
        }
    }
}

/// Upgrades and downgrades of a dedicated channel's bit rate, one step at a time (Teyeb, Figure 2.5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateSwitching {
    /// The channels there are beside the bearer's own, which is the one after set-up.
    pub rates: Vec<TransportChannel>,
    /// A traffic volume above this upgrades the bit rate (TS 25.331 §14.4.2.1, event 4A).
    #[serde(default = "RateSwitching::default_upgrade_above")]
    pub upgrade_above: Size,
    /// A traffic volume below this downgrades it (TS 25.331 §14.4.2.2, event 4B).
    #[serde(default = "RateSwitching::default_downgrade_below")]
    pub downgrade_below: Size,
    /// How long the traffic volume must be below.
    #[serde(default = "RateSwitching::default_downgrade_after")]
    pub downgrade_after: Span,
}

impl RateSwitching {
    fn default_upgrade_above() -> Size {
        Size::from_bytes(1024) // our choice among the thresholds of TS 25.331 §10.3.7.72†; Teyeb gives none
    }

    fn default_downgrade_below() -> Size {
        Size::from_bytes(64) // our choice among the thresholds of TS 25.331 §10.3.7.72†; Teyeb gives none
    }

    fn default_downgrade_after() -> Span {
        Span::from_millis(2560) // our choice among the times to trigger of TS 25.331 §10.3.7.64†
    }
}

/// Bandwidth oscillation: a fast channel that is allocated and released again and again (RFC 3481 §2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Oscillation {
    /// How long the fast channel is allocated at a time, beginning with the entry into CELL_DCH.
    pub fast_for: Span,
    /// How long the slow one takes its place.
    pub slow_for: Span,
    /// The slow channel.
    pub slow: TransportChannel,
    /// When the fast channel is released.
    #[serde(default)]
    pub release: Release,
}

/// When a fast channel is released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// When its time is over.
    #[default]
    Periodic,
    /// When its time is over and nothing waits for it, which RFC 3481 §3.1 recommends.
    WhenEmpty,
}
