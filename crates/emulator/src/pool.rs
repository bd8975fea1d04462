//! The bodies of the packets on the path: slots of one size, taken and given back without asking the system.

use cellwind_engine::packet::Body;
use cellwind_scenario::Direction;

/// The most packets on the path at a time.
pub const MOST_PACKETS: usize = 1 << 16;
/// The most memory their bodies may take; pages that no packet ever reached cost none.
const MOST_BYTES: usize = 256 << 20;
/// A slot starts on a cache line.
const LINE: usize = 64;

/// A fixed number of slots for packet bodies.
///
/// The slot given back last is taken first, so that a path that holds few packets touches little memory.
pub struct Pool {
    bytes: Vec<u8>,
    slot_size: usize,
    notes: Vec<Note>,
    free: Vec<u32>,
}

/// What is known of the body in a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// Bytes in the slot.
    pub length: u32,
    /// Where the IP header begins; a link header comes before it.
    pub network: u16,
    /// The terminal it comes from or goes to.
    pub terminal: u16,
    /// Which way it goes.
    pub direction: Direction,
}

impl Note {
    /// Bytes of the IP packet.
    #[inline]
    pub fn ip_length(&self) -> u32 {
        self.length - u32::from(self.network)
    }
}

impl Pool {
    /// Slots for packets of at most `largest` bytes, link header included.
    pub fn new(largest: usize) -> Self {
        let slot_size = largest.next_multiple_of(LINE).max(LINE);
        let slots = MOST_PACKETS.min(MOST_BYTES / slot_size);
        Pool::with_slots(largest, slots)
    }

    /// So many slots for packets of at most `largest` bytes.
    pub fn with_slots(largest: usize, slots: usize) -> Self {
        let slot_size = largest.next_multiple_of(LINE).max(LINE);
        // Zeroed memory comes from the system as pages that exist once they are written to.
        let bytes = vec![0; slot_size * slots];
        Pool { bytes, slot_size, notes: vec![Note::default(); slots], free: (0..slots as u32).rev().collect() }
    }

    /// Bytes that fit a slot.
    pub fn slot_size(&self) -> usize {
        self.slot_size
    }

    /// Slots that are free.
    #[inline]
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Slots in use.
    pub fn used(&self) -> usize {
        self.notes.len() - self.free.len()
    }

    /// The slot that [`take`](Pool::take) would take, to be filled first; none when all are in use.
    #[inline]
    pub fn next_free(&mut self) -> Option<&mut [u8]> {
        let slot = *self.free.last()?;
        Some(self.slot(slot))
    }

    /// Takes the next free slot, which holds what `note` says; none when all are in use.
    #[inline]
    pub fn take(&mut self, note: Note) -> Option<Body> {
        debug_assert!(note.length as usize <= self.slot_size && u32::from(note.network) <= note.length);
        let slot = self.free.pop()?;
        self.notes[slot as usize] = note;
        Some(Body(slot))
    }

    /// The bytes of a body, with its link header, and what is known of it.
    #[inline]
    pub fn get(&self, body: Body) -> (&[u8], Note) {
        let note = self.notes[body.0 as usize];
        let start = body.0 as usize * self.slot_size;
        (&self.bytes[start..start + note.length as usize], note)
    }

    /// Gives a slot back; returns what was known of it.
    ///
    /// # Panics
    ///
    /// When more slots are given back than were taken.
    #[inline]
    pub fn give_back(&mut self, body: Body) -> Note {
        assert!(self.free.len() < self.notes.len(), "body {} is given back twice", body.0);
        self.free.push(body.0);
        self.notes[body.0 as usize]
    }

    fn slot(&mut self, slot: u32) -> &mut [u8] {
        let start = slot as usize * self.slot_size;
        &mut self.bytes[start..start + self.slot_size]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(length: u32) -> Note {
        Note { length, ..Note::default() }
    }

    #[test]
    fn a_body_keeps_its_bytes_until_it_is_given_back() {
        let mut pool = Pool::with_slots(100, 3);
        pool.next_free().unwrap()[..3].copy_from_slice(b"one");
        let one = pool.take(note(3)).unwrap();
        pool.next_free().unwrap()[..4].copy_from_slice(b"more");
        let two = pool.take(Note { terminal: 7, network: 1, ..note(4) }).unwrap();
        assert_eq!(pool.get(one).0, b"one");
        assert_eq!(pool.get(two), (&b"more"[..], Note { terminal: 7, network: 1, ..note(4) }));
        assert_eq!(pool.give_back(two).ip_length(), 3);
        assert_eq!(pool.used(), 1);
    }

    #[test]
    fn it_ends_when_all_slots_are_in_use() {
        let mut pool = Pool::with_slots(64, 2);
        let bodies = [pool.take(note(1)).unwrap(), pool.take(note(1)).unwrap()];
        assert_eq!((pool.take(note(1)), pool.next_free().is_none()), (None, true));
        pool.give_back(bodies[0]);
        assert_eq!(pool.take(note(1)), Some(bodies[0]));
    }

    #[test]
    #[should_panic(expected = "given back twice")]
    fn giving_back_too_much_is_noticed() {
        let mut pool = Pool::with_slots(64, 1);
        let body = pool.take(note(1)).unwrap();
        pool.give_back(body);
        pool.give_back(body);
    }

    #[test]
    fn large_packets_bound_the_memory() {
        let pool = Pool::new(65_535);
        assert_eq!(pool.free(), MOST_BYTES / 65_536);
        assert_eq!(Pool::new(1514).free(), MOST_PACKETS);
    }
}
