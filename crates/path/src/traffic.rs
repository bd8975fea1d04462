//! Counts of what enters and leaves a stage of the path.

use cellwind_engine::packet::Packet;

/// Packets and bytes of one direction of a stage: in = delivered + dropped + handed back + held, at every instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets that entered.
    pub packets_in: u64,
    /// Packets that left.
    pub packets_delivered: u64,
    /// Packets that were dropped.
    pub packets_dropped: u64,
    /// Packets that were handed back undelivered, because their terminal left.
    pub packets_handed_back: u64,
    /// Bytes that entered.
    pub bytes_in: u64,
    /// Bytes that left.
    pub bytes_delivered: u64,
    /// Bytes that were dropped.
    pub bytes_dropped: u64,
    /// Bytes that were handed back undelivered.
    pub bytes_handed_back: u64,
}

impl Traffic {
    /// Counts a packet that enters.
    #[inline]
    pub fn enter(&mut self, packet: &Packet) {
        self.packets_in += 1;
        self.bytes_in += packet.size().as_bytes();
    }

    /// Counts a packet that leaves.
    #[inline]
    pub fn deliver(&mut self, packet: &Packet) {
        self.packets_delivered += 1;
        self.bytes_delivered += packet.size().as_bytes();
    }

    /// Counts a packet that is dropped.
    #[inline]
    pub fn drop(&mut self, packet: &Packet) {
        self.packets_dropped += 1;
        self.bytes_dropped += packet.size().as_bytes();
    }

    /// Counts a packet that is handed back.
    pub fn hand_back(&mut self, packet: &Packet) {
        self.packets_handed_back += 1;
        self.bytes_handed_back += packet.size().as_bytes();
    }

    /// Packets inside by this count.
    pub fn packets_held(&self) -> u64 {
        self.packets_in - self.packets_delivered - self.packets_dropped - self.packets_handed_back
    }

    /// Bytes inside by this count.
    pub fn bytes_held(&self) -> u64 {
        self.bytes_in - self.bytes_delivered - self.bytes_dropped - self.bytes_handed_back
    }

    /// Compares the counts with what the stage really holds.
    pub fn check<'a>(&self, held: impl Iterator<Item = &'a Packet>) -> Result<(), String> {
        let (mut packets, mut bytes) = (0, 0);
        for packet in held {
            packets += 1;
            bytes += packet.size().as_bytes();
        }
        if (packets, bytes) == (self.packets_held(), self.bytes_held()) {
            return Ok(());
        }
        Err(format!("holds {packets} packets of {bytes} bytes, but the counts say {self:?}"))
    }
}
