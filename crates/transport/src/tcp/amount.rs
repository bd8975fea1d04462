//! Amounts that a scenario may give in bytes or in full segments.

use cellwind_engine::units::Size;

/// A number of full segments, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments(pub u32);

/// A window in bytes or in full segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// So many bytes.
    Bytes(Size),
    /// So many full segments.
    Segments(Segments),
}

impl Window {
    /// The window in bytes, for segments of `mss` payload bytes.
    pub fn bytes(self, mss: u64) -> u64 {
        match self {
            Window::Bytes(size) => size.as_bytes(),
            Window::Segments(Segments(count)) => u64::from(count) * mss,
        }
    }
}

/// How many of the bytes that one ACK covers may count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerAck {
    /// At most so many full segments.
    Segments(Segments),
    /// All of them.
    All,
}

impl Default for PerAck {
    fn default() -> Self {
        PerAck::Segments(Segments(1)) // RFC 5681 §3.1 (2)
    }
}
