//! Settings of the radio bearers.

use cellwind_engine::directions::Direction;
use cellwind_engine::time::Span;
use cellwind_engine::units::{Rate, Size};
use cellwind_path::settings::QueueLimit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use cellwind_path::errors::settings::ErrorSettings;

/// One direction of a block-ARQ bearer: RLC reduced to blocks that are resent until they arrive
/// (Lundsten, section 5.2 and appendix B).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockArqSettings {
    /// Rate of the radio link; counts whole packets, headers included.
    pub rate: Rate,
    /// Transmission time interval: how often a batch of blocks is sent.
    #[serde(default = "BlockArqSettings::default_tti")]
    pub tti: Span,
    /// Size of a block (a PDU).
    #[serde(default)]
    pub pdu: PduSize,
    /// Which blocks arrive in error: the probability of independent errors, or a table.
    #[serde(default)]
    pub errors: ErrorSettings,
    /// From the end of an erroneous block's TTI until it stands at the head of the queue again.
    #[serde(default)]
    pub feedback_delay: Span,
    /// How often a block is sent before it is given up, and with it every packet it belongs to.
    #[serde(default)]
    pub max_transmissions: Attempts,
    /// Order in which packets leave the bearer.
    #[serde(default)]
    pub delivery: Delivery,
    /// Fixed delay of processing and of the network behind the radio link, added to every packet.
    #[serde(default)]
    pub delay: Span,
    /// Bound of the queue of packets that wait for their first block to be sent.
    #[serde(default)]
    pub queue: QueueLimit,
    /// When a TTI starts if none is running.
    #[serde(default)]
    pub tti_start: TtiStart,
}

impl BlockArqSettings {
    fn default_tti() -> Span {
        Span::from_millis(20) // Lundsten Table 2; TS 25.302 §7.1.6† allows 10, 20, 40 and 80 ms
    }

    /// Takes the value of one key over from `other`.
    pub fn adopt(&mut self, key: &str, other: &Self) {
        match key {
            "rate" => self.rate = other.rate,
            "tti" => self.tti = other.tti,
            "pdu" => self.pdu = other.pdu,
            "errors" => self.errors = other.errors.clone(),
            "feedback_delay" => self.feedback_delay = other.feedback_delay,
            "max_transmissions" => self.max_transmissions = other.max_transmissions,
            "delivery" => self.delivery = other.delivery,
            "delay" => self.delay = other.delay,
            "queue" => self.queue = other.queue,
            "tti_start" => self.tti_start = other.tti_start,
            _ => {}
        }
    }

    /// Bytes of one block, and how many blocks a TTI carries; `None` when not a single byte fits.
    pub fn blocks_per_tti(&self) -> Option<(Size, u64)> {
        let capacity = self.rate.size_in(self.tti);
        let (pdu, count) = match self.pdu {
            PduSize::OnePerTti => (capacity, 1),
            PduSize::Bytes(pdu) => (pdu, capacity.as_bytes().checked_div(pdu.as_bytes())?),
        };
        (pdu > Size::ZERO && count > 0).then_some((pdu, count))
    }
}

/// What becomes of packets while their terminal moves from one access to another (Teyeb, section 7.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buffering {
    /// What is in flight when the handover starts and what arrives during it is dropped.
    #[default]
    None,
    /// What is in flight is dropped; what arrives is kept for the new access.
    Intermediate,
    /// Both are kept for the new access.
    Full,
}

/// What becomes of packets in each direction during a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bufferings {
    /// On the way to the terminal.
    pub down: Buffering,
    /// On the way from it.
    pub up: Buffering,
}

impl Bufferings {
    /// The same for both directions.
    pub const fn both(buffering: Buffering) -> Self {
        Bufferings { down: buffering, up: buffering }
    }

    /// That of one direction.
    pub const fn get(&self, direction: Direction) -> Buffering {
        match direction {
            Direction::Down => self.down,
            Direction::Up => self.up,
        }
    }
}

/// How a terminal changes from one access to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It leaves the old access before it is in the new one (Teyeb, section 7.1).
    Hard {
        /// How long it is in neither.
        delay: Span,
        /// What becomes of packets meanwhile.
        buffering: Bufferings,
    },
    /// It is in both: what is in flight in the old access arrives there, what comes goes through the new one.
    Soft,
}

/// Size of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PduSize {
    /// All that a TTI carries.
    #[default]
    OnePerTti,
    /// So many bytes; as many blocks as fit go into each TTI.
    Bytes(Size),
}

/// How often something may be tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attempts {
    /// Until it works.
    #[default]
    Unlimited,
    /// At most so often, counting the first time; never zero.
    AtMost(u32),
}

/// Order in which packets leave a bearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// A packet waits until all packets before it have left (TS 25.322 §4.2.1.3, in-sequence delivery).
    InSequence,
    /// A packet leaves when its last block arrives.
    #[default]
    OutOfSequence,
}

/// When a TTI starts if none is running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TtiStart {
    /// At multiples of the TTI, as the radio frames of UMTS do (TS 25.211 §5).
    #[default]
    Grid,
    /// As soon as there is something to send (Lundsten, appendix B.4).
    OnDemand,
}
