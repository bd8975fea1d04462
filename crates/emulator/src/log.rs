//! What the timing thread hands to the writer: facts and packets, through rings that never make it wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cellwind_engine::fact::FactRow;
use cellwind_engine::time::Time;
use rtrb::{Consumer, Producer, RingBuffer};

/// Facts that may wait for the writer, which looks a hundred times a second: six million facts a second.
const FACTS: usize = 1 << 16;
/// Bytes of packets that may wait: six gigabits a second.
const PACKET_BYTES: usize = 8 << 20;

/// The timing thread's end.
pub struct Log {
    facts: Option<Producer<FactRow>>,
    packets: Option<Producer<u8>>,
    lost: Arc<Lost>,
}

/// The writer's end.
pub struct LogReader {
    /// Facts in the order they were told.
    pub(crate) facts: Option<Consumer<FactRow>>,
    /// Packets, each behind a [`PacketHeader`].
    pub(crate) packets: Option<Consumer<u8>>,
}

/// What did not fit into the rings.
#[derive(Debug, Default)]
pub struct Lost {
    facts: AtomicU64,
    packets: AtomicU64,
}

/// What stands before a packet in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketHeader {
    pub time: Time,
    /// The end where it was seen: 0 is the server, terminals follow.
    pub end: u16,
    pub length: u32,
}

impl PacketHeader {
    pub const SIZE: usize = 14;

    fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..8].copy_from_slice(&self.time.as_nanos().to_le_bytes());
        bytes[8..10].copy_from_slice(&self.end.to_le_bytes());
        bytes[10..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    pub fn from_bytes(bytes: &[u8; Self::SIZE]) -> Self {
        let (time, rest) = bytes.split_first_chunk().expect("eight of fourteen");
        let (end, length) = rest.split_first_chunk().expect("two of six");
        PacketHeader {
            time: Time::from_nanos(u64::from_le_bytes(*time)),
            end: u16::from_le_bytes(*end),
            length: u32::from_le_bytes(length.try_into().expect("the last four")),
        }
    }
}

impl Lost {
    /// Facts that were told and not written, because the writer was too far behind.
    pub fn facts(&self) -> u64 {
        self.facts.load(Relaxed)
    }

    /// Packets that were seen and not written.
    pub fn packets(&self) -> u64 {
        self.packets.load(Relaxed)
    }
}

/// Rings for facts and packets, as wanted.
pub fn log(facts: bool, packets: bool) -> (Log, LogReader) {
    log_of(if facts { FACTS } else { 0 }, if packets { PACKET_BYTES } else { 0 })
}

/// Rings of so many facts and bytes of packets; none for zero.
pub(crate) fn log_of(facts: usize, packet_bytes: usize) -> (Log, LogReader) {
    let (fact_producer, fact_consumer) = (facts > 0).then(|| RingBuffer::new(facts)).unzip();
    let (producer, consumer) = (packet_bytes > 0).then(|| RingBuffer::new(packet_bytes)).unzip();
    let lost = Arc::new(Lost::default());
    (Log { facts: fact_producer, packets: producer, lost }, LogReader { facts: fact_consumer, packets: consumer })
}

impl Log {
    /// Whether facts are wanted.
    pub fn wants_facts(&self) -> bool {
        self.facts.is_some()
    }

    /// Whether packets are wanted.
    #[inline]
    pub fn wants_packets(&self) -> bool {
        self.packets.is_some()
    }

    /// The counts of what does not fit.
    pub fn lost(&self) -> Arc<Lost> {
        Arc::clone(&self.lost)
    }

    /// Hands over a fact.
    #[inline]
    pub fn fact(&mut self, row: FactRow) {
        if let Some(facts) = &mut self.facts
            && facts.push(row).is_err()
        {
            self.lost.facts.fetch_add(1, Relaxed);
        }
    }

    /// Hands over a packet seen at `end`: 0 is the server, terminals follow.
    #[inline]
    pub fn packet(&mut self, time: Time, end: u16, bytes: &[u8]) {
        let Some(packets) = &mut self.packets else { return };
        let header = PacketHeader { time, end, length: bytes.len() as u32 }.to_bytes();
        if packets.slots() < header.len() + bytes.len() {
            self.lost.packets.fetch_add(1, Relaxed);
            return;
        }
        let fits = "the slots were counted";
        packets.push_entire_slice(&header).expect(fits);
        packets.push_entire_slice(bytes).expect(fits);
    }
}
