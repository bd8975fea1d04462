//! Rates, sizes and probabilities as types, so that mixing them does not compile.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use crate::time::Span;

/// A data rate in whole bits per second, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(u64);

/// A probability of an independent event, at least 0 and below 1.
///
/// One is excluded: a link that loses everything, or a block that never arrives, is a blackout and not
/// an error rate, and acknowledged transfers over it would never end.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Rate {
    /// A rate of `bps` bits per second; `None` for zero.
    pub const fn from_bps(bps: u64) -> Option<Self> {
        if bps == 0 { None } else { Some(Rate(bps)) }
    }

    /// A rate of `kbps` kilobits (1000 bits) per second, for constants; panics at zero.
    pub const fn from_kbps(kbps: u64) -> Self {
        assert!(kbps > 0, "a rate is never zero");
        Rate(kbps * 1_000)
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// The time it takes to send `size`, rounded up to a nanosecond so that a link never exceeds its rate.
    pub const fn time_for(self, size: Size) -> Span {
        const NANOS: u64 = 1_000_000_000;
        let bits = size.0.saturating_mul(8);
        // Packets fit 64 bits; whole files at nanosecond resolution need 128.
        match bits.checked_mul(NANOS) {
            Some(product) => Span::from_nanos(product.div_ceil(self.0)),
            None => {
                let ns = (bits as u128 * NANOS as u128).div_ceil(self.0 as u128);
                Span::from_nanos(if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 })
            }
        }
    }

    /// The whole bytes that fit into `span` at this rate.
    pub const fn size_in(self, span: Span) -> Size {
        let bits = self.0 as u128 * span.as_nanos() as u128 / 1_000_000_000;
        Size((bits / 8) as u64)
    }
}

impl Size {
    /// No data.
    pub const ZERO: Size = Size(0);

    /// An amount of `bytes` bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Size(bytes)
    }

    /// Bytes.
    pub const fn as_bytes(self) -> u64 {
        self.0
    }
}

impl Probability {
    /// The event never happens.
    pub const ZERO: Probability = Probability(0.0);

    /// A probability; `None` unless `0 <= p < 1`.
    pub fn new(p: f64) -> Option<Self> {
        (0.0..1.0).contains(&p).then_some(Probability(p))
    }

    /// The value.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Add for Size {
    type Output = Size;
    fn add(self, other: Size) -> Size {
        Size(self.0 + other.0)
    }
}

impl AddAssign for Size {
    fn add_assign(&mut self, other: Size) {
        self.0 += other.0;
    }
}

impl Sub for Size {
    type Output = Size;
    fn sub(self, other: Size) -> Size {
        Size(self.0 - other.0)
    }
}

impl SubAssign for Size {
    fn sub_assign(&mut self, other: Size) {
        self.0 -= other.0;
    }
}

impl Sum for Size {
    fn sum<I: Iterator<Item = Size>>(iter: I) -> Size {
        iter.fold(Size::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sending_time_rounds_up() {
        // 576 bytes at 384 kbit/s are exactly 12 ms; one byte at 3 bit/s is 8/3 s.
        assert_eq!(Rate::from_kbps(384).time_for(Size::from_bytes(576)), Span::from_millis(12));
        let slow = Rate::from_bps(3).unwrap();
        assert_eq!(slow.time_for(Size::from_bytes(1)), Span::from_nanos(2_666_666_667));
    }

    #[test]
    fn large_transfers_do_not_overflow() {
        let size = Size::from_bytes(1 << 50);
        assert_eq!(Rate::from_bps(8).unwrap().time_for(size), Span::MAX);
        assert_eq!(Rate::from_kbps(8_000_000).time_for(size).as_nanos(), 1 << 50);
    }

    #[test]
    fn a_tti_carries_whole_bytes() {
        assert_eq!(Rate::from_kbps(384).size_in(Span::from_millis(20)), Size::from_bytes(960));
        assert_eq!(Rate::from_kbps(64).size_in(Span::from_millis(10)), Size::from_bytes(80));
    }

    #[test]
    fn probabilities_stop_below_one() {
        assert!(Probability::new(1.0).is_none());
        assert!(Probability::new(f64::NAN).is_none());
        assert!(Probability::new(0.999).is_some());
    }
}
