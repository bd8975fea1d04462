//! Sequence numbers of AMD PDUs.

use std::fmt;

/// A sequence number modulo 4096 (TS 25.322 §9.4).
///
/// Numbers of a window are compared by their distance from its lower edge, the modulus base. Entities keep their state
/// variables as counts that do not wrap, a count being what TS 33.102 §6.4.8 calls COUNT-C: hyper frame number and sequence
/// number in one. Only the twelve low bits travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sn(u16);

impl Sn {
    /// How many there are.
    pub const MODULUS: u64 = 1 << 12;

    /// The number that a count has.
    #[inline]
    pub const fn of(count: u64) -> Self {
        Sn((count % Self::MODULUS) as u16)
    }

    /// The number whose value is this, modulo 4096.
    pub const fn new(value: u16) -> Self {
        Sn(value % Self::MODULUS as u16)
    }

    /// Its value, below 4096.
    #[inline]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// How far it lies above the number `base`.
    #[inline]
    pub const fn above(self, base: Sn) -> u16 {
        self.0.wrapping_sub(base.0) % Self::MODULUS as u16
    }

    /// The smallest count with this number that is not below the count `base` (TS 25.322 §9.4: the modulus base).
    #[inline]
    pub const fn count_from(self, base: u64) -> u64 {
        base + self.above(Sn::of(base)) as u64
    }
}

impl fmt::Display for Sn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_from_the_lower_edge_of_a_window() {
        // TS 25.322 §9.4: with the base 4090, the number 3 lies nine above it, and 4089 almost a whole turn.
        let base = Sn::new(4090);
        assert_eq!(Sn::new(3).above(base), 9);
        assert_eq!(Sn::new(4089).above(base), 4095);
        assert_eq!(Sn::new(4090).above(base), 0);
    }

    #[test]
    fn a_number_finds_its_count_from_the_base() {
        let base = 5 * Sn::MODULUS + 4090;
        assert_eq!(Sn::new(3).count_from(base), 6 * Sn::MODULUS + 3);
        assert_eq!(Sn::new(4090).count_from(base), base);
        assert_eq!(Sn::of(base + 17).count_from(base), base + 17);
    }
}
