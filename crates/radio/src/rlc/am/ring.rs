//! A bit for each sequence number of a window, found by the low bits of the PDU's count.

use crate::rlc::sn::Sn;

const WORDS: usize = (Sn::MODULUS / 64) as usize;

/// One bit for each of the last 4096 counts; ranges are of counts and never longer than that.
#[derive(Clone, Debug)]
pub struct Ring {
    words: Box<[u64; WORDS]>,
}

impl Ring {
    /// No bit set.
    pub fn new() -> Self {
        Ring { words: Box::new([0; WORDS]) }
    }

    /// Clears all bits.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// The bit of a count.
    #[inline]
    pub fn get(&self, count: u64) -> bool {
        self.words[index(count)] >> (count % 64) & 1 == 1
    }

    /// Sets the bit of a count and says whether it was not.
    #[inline]
    pub fn insert(&mut self, count: u64) -> bool {
        let word = &mut self.words[index(count)];
        let bit = 1 << (count % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Sets the bits of `from..to` and says whether one of them was not.
    #[inline]
    pub fn set(&mut self, from: u64, to: u64) -> bool {
        let mut new = 0;
        for_each_word(from, to, |word, mask| {
            let word = &mut self.words[word];
            new |= mask & !*word;
            *word |= mask;
        });
        new != 0
    }

    /// Clears the bits of `from..to`.
    #[inline]
    pub fn unset(&mut self, from: u64, to: u64) {
        for_each_word(from, to, |word, mask| self.words[word] &= !mask);
    }

    /// The first count of `from..to` whose bit is set; `to` when none is.
    #[inline]
    pub fn first_set(&self, from: u64, to: u64) -> u64 {
        self.first(from, to, 0)
    }

    /// The first count of `from..to` whose bit is not set; `to` when all are.
    #[inline]
    pub fn first_unset(&self, from: u64, to: u64) -> u64 {
        self.first(from, to, u64::MAX)
    }

    /// The first count of `from..to` whose bit differs from those of `other`.
    #[inline]
    fn first(&self, from: u64, to: u64, other: u64) -> u64 {
        let mut count = from;
        while count < to {
            let found = (self.words[index(count)] ^ other) >> (count % 64);
            if found != 0 {
                return (count + u64::from(found.trailing_zeros())).min(to);
            }
            count = (count / 64 + 1) * 64;
        }
        to
    }

    /// How many bits of `from..to` are set.
    pub fn count(&self, from: u64, to: u64) -> u32 {
        let mut set = 0;
        for_each_word(from, to, |word, mask| set += (self.words[word] & mask).count_ones());
        set
    }

    /// The bits of `from` and the seven behind it, the first in the most significant place.
    #[inline]
    pub fn octet(&self, from: u64) -> u8 {
        let low = self.words[index(from)] >> (from % 64);
        let bits = match from % 64 {
            0..=56 => low,
            shift => low | self.words[index(from + 63)] << (64 - shift),
        };
        (bits as u8).reverse_bits()
    }
}

#[inline]
fn index(count: u64) -> usize {
    (count / 64) as usize % WORDS
}

/// Calls `visit` with the place of each word that has bits of `from..to`, and a mask of these.
#[inline]
fn for_each_word(from: u64, to: u64, mut visit: impl FnMut(usize, u64)) {
    debug_assert!(to <= from + Sn::MODULUS, "{from} to {to} is more than a turn");
    let mut count = from;
    while count < to {
        let in_word = (64 - count % 64).min(to - count);
        let mask = (u64::MAX >> (64 - in_word)) << (count % 64);
        visit(index(count), mask);
        count += in_word;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_go_across_words_and_around_the_ring() {
        let mut ring = Ring::new();
        let from = Sn::MODULUS * 3 - 70;
        assert!(ring.set(from, from + 140) && ring.set(from + 100, from + 150) && !ring.set(from + 100, from + 150));
        assert!(!ring.get(from - 1) && ring.get(from) && ring.get(from + 149) && !ring.get(from + 150));
        assert_eq!(ring.count(from - 5, from + 200), 150);
        ring.unset(from + 63, from + 66);
        assert_eq!(ring.first_unset(from, from + 150), from + 63);
        assert_eq!(ring.first_set(from + 63, from + 150), from + 66);
        assert_eq!(ring.first_unset(from + 66, from + 100), from + 100);
        assert_eq!(ring.first_set(from + 150, from + 1000), from + 1000);
    }

    #[test]
    fn an_octet_has_its_first_bit_in_front() {
        let mut ring = Ring::new();
        for start in [0, 56, 57, 60, 63, Sn::MODULUS - 3] {
            ring.clear();
            ring.set(start, start + 2);
            ring.set(start + 7, start + 8);
            assert_eq!(ring.octet(start), 0b1100_0001, "{start}");
        }
    }
}
