//! Explicit congestion notification at the sender (RFC 3168 §6.1): what it asks for, what it answers to marks.

use cellwind_engine::packet::Flags;

/// What a SYN asks with (RFC 3168 §6.1.1).
pub const ASKS: Flags = Flags::ECE.with(Flags::CWR);

/// The sender's part of ECN.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ecn {
    /// The settings ask for it.
    pub wanted: bool,
    /// Both ends have agreed on it.
    pub is_on: bool,
    /// The acknowledgement that is being processed echoes a mark.
    pub echoes: bool,
    /// Everything below was sent before the window was last reduced.
    reduced_until: u64,
    /// The same, when a mark was the reason.
    marked_until: u64,
    /// The next new data tells that the window was reduced.
    tells: bool,
}

impl Ecn {
    pub fn new(wanted: bool) -> Self {
        Ecn { wanted, ..Ecn::default() }
    }

    /// Notes what an acknowledgement up to `ack` carries; true when it is news of congestion.
    #[inline]
    pub fn hears(&mut self, flags: Flags, ack: u64) -> bool {
        self.echoes = self.is_on && flags.has(Flags::ECE);
        self.echoes && ack > self.reduced_until // §6.1.2: not more than once every window of data
    }

    /// Whether the window was reduced by a mark for what was sent up to `seq`.
    pub fn has_reduced_for(&self, seq: u64) -> bool {
        seq < self.marked_until
    }

    /// The window was reduced when everything up to `snd_max` had been sent.
    pub fn on_reduction(&mut self, by_mark: bool, snd_max: u64) {
        self.reduced_until = snd_max;
        if by_mark {
            self.marked_until = snd_max;
        }
        self.tells = true;
    }

    /// The flags of a segment with `payload`. §6.1.5: what is sent again is not ECN-capable; §6.1.4: nor is a pure ACK.
    pub fn mark(&mut self, flags: Flags, payload: u32, is_new: bool) -> Flags {
        if !is_new || payload == 0 {
            return flags;
        }
        let flags = flags.with(Flags::ECT);
        // §6.1.2: CWR goes with the first new data after the reduction, and never with a retransmission.
        if std::mem::take(&mut self.tells) { flags.with(Flags::CWR) } else { flags }
    }
}

#[cfg(test)]
mod tests;
