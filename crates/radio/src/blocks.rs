//! How many blocks a bearer sends.

/// Counts of the blocks of one direction of a bearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Blocks sent, retransmissions and control PDUs included.
    pub sent: u64,
    /// Blocks sent again.
    pub resent: u64,
    /// Blocks given up after their last allowed transmission.
    pub dropped: u64,
    /// Status reports about the other direction, in blocks of their own or in the padding of others.
    pub status: u64,
}
