//! Radio Link Control, TS 25.322.
//!
//! [`pdu`] is the PDUs as bits. Entities exchange [`Pdu`]s, which say the same without the bits, and share what a direction
//! carries in [`sdu::Carried`].

use cellwind_engine::time::Span;

pub use self::entity::Entity;
use self::pdu::{Reset, Status};
use self::sn::Sn;

pub mod am;
pub mod entity;
pub mod one_way;
pub mod pdu;
pub mod sdu;
pub mod settings;
pub mod sn;
pub mod tm;
pub mod um;

/// What entities send each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pdu {
    /// AMD PDUs.
    Data(Run),
    /// An AMD PDU with a piggybacked STATUS PDU in its padding.
    DataWithStatus(Run, Status),
    /// A STATUS PDU.
    Status(Status),
    /// A RESET PDU.
    Reset(Reset),
    /// A RESET ACK PDU.
    ResetAck(Reset),
    /// UMD or TMD PDUs, sent one behind the other. They are told by their counts: far more may be under way than the seven bits
    /// of a UMD PDU tell apart, and a TMD PDU has no number.
    Unacknowledged {
        /// Count of the first.
        first: u64,
        /// How many, at least one.
        count: u16,
    },
}

impl Pdu {
    /// How many PDUs it is.
    #[inline]
    pub fn count(&self) -> u64 {
        match self {
            Pdu::Data(run) => u64::from(run.count),
            Pdu::Unacknowledged { count, .. } => u64::from(*count),
            _ => 1,
        }
    }
}

/// AMD PDUs with consecutive sequence numbers, sent one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Sequence number of the first.
    pub first: Sn,
    /// How many, at least one.
    pub count: u16,
    /// Whether the last one has the polling bit.
    pub poll: bool,
    /// Whether they were sent before.
    pub resent: bool,
}

impl Run {
    /// Takes the first `count` PDUs off, of which there are at least so many; what is left may be none.
    #[inline]
    pub fn split_off(&mut self, count: u16) -> Run {
        let poll = self.poll && count == self.count;
        let taken = Run { count, poll, ..*self };
        self.first = Sn::of(u64::from(self.first.get()) + u64::from(count));
        self.count -= count;
        taken
    }
}

/// How a direction is cut into PDUs and sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Octets of a PDU with its header.
    pub pdu: u16,
    /// Transmission time interval.
    pub tti: Span,
    /// Most PDUs of a TTI.
    pub blocks: u32,
}
