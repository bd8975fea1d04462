//! Scripts: segments given to one end of a TCP connection, and what it must answer, to the instant.
//!
//! A script is a header in the language of scenarios and lines of time, direction and segment ([`read`]). [`play`]
//! drives our sender or receiver by it in virtual time; somebody else may play the same script against another TCP
//! and hand in what was [`Seen`]. [`compare`] puts what was expected beside it. `docs/scripts.md` has the format.

mod compare;
mod play;
mod read;
mod segment;
mod words;

use cellwind_engine::time::{Span, Time};
use cellwind_transport::tcp::settings::TcpSettings;

pub use compare::{Row, Verdict, compare};
pub use play::{Played, play};
pub use read::{load, parse};
pub use segment::{Echo, Form, Seen, Segment};

/// A script that was read and found right.
#[derive(Clone, Debug)]
pub struct Script {
    /// The file's name.
    pub name: String,
    /// The comment above the first key, on one line.
    pub summary: String,
    /// Which end is under test; the script plays the other one.
    pub test: Side,
    /// The connection.
    pub transport: TcpSettings,
    /// How the kernel's TCP is expected to do.
    pub kernel: Kernel,
    /// The number that the script gives to the first byte of data.
    pub first_byte: u64,
    /// The lines in their order.
    pub steps: Vec<Step>,
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The end that opens the connection and sends data.
    Sender,
    /// The end that acknowledges.
    Receiver,
}

/// What is expected of the kernel's TCP when it plays the end under test.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Kernel {
    /// Whether it should send what the script expects.
    pub follows: bool,
    /// Why not, or what to know.
    pub because: Option<String>,
    /// How far from the expected instant it may send.
    pub tolerance: Span,
    /// Settings of its namespace beside those that follow from the transport, as in `live.kernel`.
    pub set: indexmap::IndexMap<String, String>,
}

impl Default for Kernel {
    fn default() -> Self {
        let tolerance = Span::from_millis(20); // timers of the kernel run by ticks of up to 10 ms
        Kernel { follows: false, because: None, tolerance, set: indexmap::IndexMap::new() }
    }
}

/// One line of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// When it happens.
    pub at: Time,
    /// How far from it what is expected may happen.
    pub tolerance: Span,
    /// Line in the file, from 1.
    pub line: usize,
    /// The line as written.
    pub text: String,
    /// What it says.
    pub action: Action,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The application opens the connection.
    Open,
    /// The application writes so many bytes.
    Write(u64),
    /// The application has written everything.
    Close,
    /// A segment arrives at the end under test.
    Arrives(Segment),
    /// The end under test sends a segment of this form.
    Leaves(Form),
    /// Nothing happens; what is sent until then must have been expected.
    Nothing,
    /// Values that the end under test must have now.
    Has(Vec<Claim>),
}

/// A value of the end under test that must lie within bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// What is looked at.
    pub quantity: Quantity,
    /// The least it may be, and the most.
    pub bounds: (u64, u64),
    /// The bounds as written.
    pub text: String,
}

/// Declares what claims can be about, with their names in scripts and units.
macro_rules! quantities {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal $kind:ident $side:ident,)+) => {
        /// What a claim looks at.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Quantity { $($(#[doc = $doc])+ $variant,)+ }

        impl Quantity {
            /// All of them.
            pub const ALL: &[Quantity] = &[$(Quantity::$variant,)+];

            /// The word in scripts.
            pub const fn name(self) -> &'static str {
                match self { $(Quantity::$variant => $name,)+ }
            }

            /// What kind of value it has.
            const fn kind(self) -> Kind {
                match self { $(Quantity::$variant => Kind::$kind,)+ }
            }

            /// Which end has it.
            const fn side(self) -> Side {
                match self { $(Quantity::$variant => Side::$side,)+ }
            }
        }
    };
}

quantities! {
    /// The congestion window.
    Cwnd = "cwnd" Bytes Sender,
    /// The slow start threshold; as high as can be until a loss.
    Ssthresh = "ssthresh" Bytes Sender,
    /// The retransmission timeout in force, with back-off.
    Rto = "rto" Span Sender,
    /// The smoothed round-trip time.
    Srtt = "srtt" Span Sender,
    /// The variation of the round-trip time.
    Rttvar = "rttvar" Span Sender,
    /// When the timer expires, after the start.
    Timer = "timer" Span Sender,
    /// The oldest sequence number that is not acknowledged.
    SndUna = "una" Number Sender,
    /// The next sequence number to send.
    SndNxt = "nxt" Number Sender,
    /// 1 while a loss found by duplicate ACKs is being repaired.
    Recovering = "recovering" Count Sender,
    /// Expiries of the timer so far.
    Timeouts = "timeouts" Count Sender,
    /// Fast retransmits begun so far.
    FastRetransmits = "fast-retransmits" Count Sender,
    /// Round-trip samples taken so far.
    Samples = "samples" Count Sender,
    /// The next sequence number expected.
    RcvNxt = "expects" Number Receiver,
    /// Bytes delivered in order.
    Delivered = "delivered" Bytes Receiver,
    /// The window it advertises.
    Window = "window" Bytes Receiver,
}

/// Kinds of values of claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bytes,
    Span,
    Number,
    Count,
}

#[cfg(test)]
mod tests;
