//! Settings of RLC entities, in the names of TS 25.331 §10.3.4.23 to §10.3.4.25.

use cellwind_engine::deserialize_by_type;
use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use cellwind_path::settings::QueueLimit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::Delivery;

/// The mode in which RLC carries one direction (TS 25.322 §4.2).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum RlcSettings {
    /// Acknowledged mode: PDUs are resent until the receiver has them, or their SDU is discarded.
    Am(AmSettings),
    /// Unacknowledged mode: SDUs are segmented and numbered, and not resent.
    Um(UmSettings),
    /// Transparent mode: SDUs pass without a header.
    Tm(TmSettings),
}

deserialize_by_type!(RlcSettings { Am(settings: AmSettings), Um(settings: UmSettings), Tm(settings: TmSettings) });

impl RlcSettings {
    /// The words for the modes.
    pub const MODES: [&'static str; 3] = ["am", "um", "tm"];

    /// The word for the mode.
    pub const fn mode(&self) -> &'static str {
        let [am, um, tm] = RlcSettings::MODES;
        match self {
            RlcSettings::Am(_) => am,
            RlcSettings::Um(_) => um,
            RlcSettings::Tm(_) => tm,
        }
    }

    /// Octets of the header of a PDU with data, without length indicators (TS 25.322 §9.2.1).
    pub const fn header_octets(&self) -> u64 {
        match self {
            RlcSettings::Am(_) => 2,
            RlcSettings::Um(_) => 1,
            RlcSettings::Tm(_) => 0,
        }
    }

    /// The smallest and the largest PDU.
    pub const fn pdu_sizes(&self) -> (Size, Size) {
        let smallest = match self {
            RlcSettings::Am(_) => 8, // a STATUS PDU with any SUFI and the ACK takes 7 octets (TS 25.322 §9.2.2.11)
            RlcSettings::Um(_) => 3, // header, length indicator and an octet of data
            RlcSettings::Tm(_) => 1,
        };
        let largest = 625; // TS 25.331 §10.3.5.23: a transport block has at most 5000 bits
        (Size::from_bytes(smallest), Size::from_bytes(largest))
    }
}

impl Default for RlcSettings {
    fn default() -> Self {
        RlcSettings::Am(AmSettings::default())
    }
}

/// One direction in acknowledged mode: its transmitting side at one end and its receiving side at the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AmSettings {
    /// Configured_Tx_Window_Size: most PDUs from the first unacknowledged one to the last sent (TS 25.322 §9.6).
    #[schemars(range(min = 1, max = 4095))]
    pub window: u16,
    /// Configured_Rx_Window_Size: how far above the first missing PDU the receiver accepts PDUs (TS 25.322 §9.6).
    #[schemars(range(min = 1, max = 4095))]
    pub receive_window: u16,
    /// What becomes of an SDU that does not get through (TS 25.322 §9.7.3).
    pub discard: Discard,
    /// MaxDAT: how often a PDU is sent before `discard` strikes, for `max-dat` and `reset`. PDUs resent for a poll count but
    /// are sent nevertheless.
    #[schemars(range(min = 1, max = 255))]
    pub max_dat: u8,
    /// Timer_Discard: how long an SDU may take until it is acknowledged, for `timer`.
    pub discard_timer: Span,
    /// Timer_MRW: after which the request to move the receiving window is sent again (TS 25.322 §9.5).
    pub timer_mrw: Span,
    /// MaxMRW: how often that request is sent before the entities are reset (TS 25.322 §9.6).
    #[schemars(range(min = 1))]
    pub max_mrw: u8,
    /// Timer_RST: after which a RESET PDU is sent again (TS 25.322 §9.5).
    pub timer_rst: Span,
    /// MaxRST: RESET PDUs are sent once less than so often before the error counts as unrecoverable and the entities are
    /// established anew (TS 25.322 §9.6).
    #[schemars(range(min = 1))]
    pub max_rst: u8,
    /// Order in which SDUs leave the receiver.
    pub delivery: Delivery,
    /// Bound of the SDUs of which no PDU was sent; what comes when it is reached is dropped.
    pub queue: QueueLimit,
    /// Bound of all that the transmitter keeps, unacknowledged SDUs included; absent means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Size>,
    /// Tells the end of an SDU that fills its PDU by the special value of the header extension, instead of by a length
    /// indicator in the next PDU (TS 25.322 §9.2.2.7).
    pub special_he: bool,
    /// When the transmitter asks for a status report.
    pub poll: PollSettings,
    /// When and how the receiver reports.
    pub status: StatusSettings,
}

impl Default for AmSettings {
    fn default() -> Self {
        AmSettings {
            window: 2047, // TS 25.331 §10.3.4.23: the largest window below half the sequence numbers
            receive_window: 2047,
            discard: Discard::MaxDat,
            max_dat: 10,                            // Teyeb, Table 6.1
            discard_timer: Span::from_millis(7500), // TS 25.331 §10.3.4.25: the longest
            timer_mrw: Span::from_millis(300),      // as the poll timer: both repeat what was lost
            max_mrw: 8,                             // TS 25.331 §10.3.4.25: 1 to 32
            timer_rst: Span::from_millis(300),
            max_rst: 8, // TS 25.331 §10.3.4.23: 1 to 32
            delivery: Delivery::InSequence,
            queue: QueueLimit::Unlimited,
            buffer: None,
            special_he: false, // TS 25.322 §9.2.2.7: only if configured
            poll: PollSettings::default(),
            status: StatusSettings::default(),
        }
    }
}

impl AmSettings {
    /// Whether a transmitter that waits for an answer asks again, whatever was lost. If not, a bearer may stand still until
    /// another SDU comes, or for ever once its window is full (Teyeb, appendix C; TS 25.322 §9.7.1: the network should
    /// configure RLC to avoid deadlocks).
    pub fn never_stands_still(&self) -> bool {
        let poll = &self.poll;
        let polls_last = (poll.last_pdu && poll.last_retransmitted_pdu) || poll.every_pdus == Some(1);
        poll.periodic != Timer::None || (poll.timer != Timer::None && polls_last)
    }
}

/// What becomes of an SDU that does not get through (TS 25.322 §9.7.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Discard {
    /// It is resent for ever.
    None,
    /// It is discarded when a PDU of it was sent `max_dat` times in vain, and the receiver is told (§9.7.3.3).
    #[default]
    MaxDat,
    /// It is discarded when `discard_timer` ends, and the receiver is told (§9.7.3.1).
    Timer,
    /// Both entities are reset when a PDU was sent `max_dat` times in vain (§9.7.3.4).
    Reset,
}

/// When the transmitter asks for a status report (TS 25.322 §9.7.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PollSettings {
    /// With the last PDU that there is to send, or that the window allows.
    pub last_pdu: bool,
    /// With the last PDU that is to be resent.
    pub last_retransmitted_pdu: bool,
    /// Poll_PDU: with every so many PDUs; retransmissions count.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub every_pdus: Option<u16>,
    /// Poll_SDU: with the last PDU of every so many SDUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub every_sdus: Option<u16>,
    /// Poll_Window: when so many percent of the window lie between the first unacknowledged PDU and the last sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub window: Option<u8>,
    /// Timer_Poll_Periodic: again and again after this time, 10 ms or more.
    pub periodic: Timer,
    /// Timer_Poll: when a poll was not answered for this long. Without it a bearer whose last poll is lost may stand still
    /// (Teyeb, appendix C).
    pub timer: Timer,
    /// Timer_Poll_Prohibit: the shortest time between two polls; what asks for one meanwhile is deferred to its end.
    pub prohibit: Timer,
}

impl Default for PollSettings {
    fn default() -> Self {
        PollSettings {
            last_pdu: true, // this and what follows: Teyeb, Table 5.3
            last_retransmitted_pdu: true,
            every_pdus: None,
            every_sdus: None,
            window: None,
            periodic: Timer::None,
            timer: Timer::Of(Span::from_millis(300)),
            prohibit: Timer::None,
        }
    }
}

/// When and how the receiver reports which PDUs it has (TS 25.322 §9.7.2), besides answering polls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StatusSettings {
    /// When it receives a new PDU while others are missing.
    pub missing_pdu: bool,
    /// Timer_Status_Periodic: again and again after this time, 10 ms or more.
    pub periodic: Timer,
    /// Timer_Status_Prohibit: the shortest time between two reports; what asks for one meanwhile is deferred to its end.
    pub prohibit: Timer,
    /// Timer_EPC: how long a report and the retransmissions it asks for are under way. When they should all have arrived and
    /// have not, another report follows; until then none is sent (TS 25.322 of Releases 99 to 6, §9.7.4).
    pub estimated_pdu_counter: Timer,
    /// WSN: the window that the receiver allows the transmitter, if that is smaller than the transmitter's own. It is told in
    /// a WINDOW SUFI at the beginning, after a reset and when it changes (TS 25.322 §9.2.2.11.3).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4095))]
    pub window: Option<u16>,
    /// How missing PDUs are told.
    pub format: StatusFormat,
    /// Puts a report into the padding of a PDU where it fits (TS 25.322 §9.2.1.6 and §11.5.2.1).
    pub piggyback: bool,
}

impl Default for StatusSettings {
    fn default() -> Self {
        StatusSettings {
            missing_pdu: true, // Teyeb, Table 5.3
            periodic: Timer::None,
            prohibit: Timer::Of(Span::from_millis(100)), // Teyeb, Table 5.3: 50, 100 and 150 ms
            estimated_pdu_counter: Timer::None,
            window: None,
            format: StatusFormat::Bitmap,
            piggyback: false,
        }
    }
}

/// How a STATUS PDU tells which PDUs are missing (TS 25.322 §9.2.2.11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StatusFormat {
    /// One bit per PDU, in octets.
    #[default]
    Bitmap,
    /// Pairs of a sequence number and how many more are missing behind it.
    List,
    /// Distances in code words of three bits.
    RelativeList,
}

/// One direction in unacknowledged mode (TS 25.322 §4.2.1.2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UmSettings {
    /// Timer_Discard: how long an SDU may wait until it is sent (TS 25.322 §9.7.3.2).
    pub discard_timer: Timer,
    /// Bound of the SDUs of which no PDU was sent; what comes when it is reached is dropped.
    pub queue: QueueLimit,
}

/// One direction in transparent mode (TS 25.322 §4.2.1.1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TmSettings {
    /// Sends an SDU that is larger than a PDU in several, all in one TTI and alone in it; otherwise such an SDU is dropped
    /// (TS 25.322 §9.2.2.9).
    pub segmentation: bool,
    /// Timer_Discard: how long an SDU may wait until it is sent (TS 25.322 §9.7.3.2). Without it, SDUs of earlier TTIs that
    /// still wait are dropped when another one comes (§9.7.3.5).
    pub discard_timer: Timer,
    /// Bound of the SDUs of which no PDU was sent; what comes when it is reached is dropped.
    pub queue: QueueLimit,
}

/// A timer that need not be configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timer {
    /// It is not.
    #[default]
    None,
    /// It runs this long, which is never zero.
    Of(Span),
}

impl Timer {
    /// How long it runs; none when it is not configured.
    pub fn span(self) -> Option<Span> {
        match self {
            Timer::None => None,
            Timer::Of(span) => Some(span),
        }
    }
}
