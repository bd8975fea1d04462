//! Instants and durations in integer nanoseconds.
//!
//! [`Time`] counts from the start of a run, [`Span`] is the distance between two instants. Both hold
//! 64 bits, which is 584 years; arithmetic saturates at the far end, so that "never" stays "never".

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// An instant: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than every event of any run.
    pub const MAX: Time = Time(u64::MAX);

    /// The instant `ns` nanoseconds after the start.
    pub const fn from_nanos(ns: u64) -> Self {
        Time(ns)
    }

    /// The instant `ms` milliseconds after the start.
    pub const fn from_millis(ms: u64) -> Self {
        Time(ms * 1_000_000)
    }

    /// The instant `s` seconds after the start.
    pub const fn from_secs(s: u64) -> Self {
        Time(s * 1_000_000_000)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for output.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// The time passed since `earlier`, zero when `earlier` is in fact later.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The first multiple of `grid` that is not before this instant; the instant itself for a zero grid.
    pub const fn next_multiple_of(self, grid: Span) -> Time {
        if grid.0 == 0 {
            return self;
        }
        match self.0.checked_next_multiple_of(grid.0) {
            Some(ns) => Time(ns),
            None => Time::MAX,
        }
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// Longer than every run.
    pub const MAX: Span = Span(u64::MAX);

    /// A span of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Span(ns)
    }

    /// A span of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Span(us * 1_000)
    }

    /// A span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Span(ms * 1_000_000)
    }

    /// A span of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Span(s * 1_000_000_000)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds, for output.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// True for a span of no time.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The absolute difference to another span.
    pub const fn abs_diff(self, other: Span) -> Span {
        Span(self.0.abs_diff(other.0))
    }

    /// This span doubled `exponent` times, as an exponential back-off does.
    pub const fn doubled(self, exponent: u32) -> Span {
        let factor = if exponent < 64 { 1u64 << exponent } else { u64::MAX };
        Span(self.0.saturating_mul(factor))
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

/// The time between two instants; panics in debug builds when the right one is later.
impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        debug_assert!(self >= earlier, "{self} is before {earlier}");
        self.since(earlier)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

/// Saturates at zero: a span is never negative.
impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, factor: u64) -> Span {
        Span(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_never() {
        assert_eq!(Time::MAX + Span::from_secs(1), Time::MAX);
        assert_eq!(Span::MAX.doubled(3), Span::MAX);
        assert_eq!(Span::from_secs(1).doubled(200), Span::MAX);
        assert_eq!(Span::from_secs(1) - Span::from_secs(2), Span::ZERO);
    }

    #[test]
    fn the_next_grid_point_is_never_in_the_past() {
        let tti = Span::from_millis(20);
        assert_eq!(Time::from_millis(40).next_multiple_of(tti), Time::from_millis(40));
        assert_eq!(Time::from_nanos(40_000_001).next_multiple_of(tti), Time::from_millis(60));
        assert_eq!(Time::from_millis(7).next_multiple_of(Span::ZERO), Time::from_millis(7));
    }
}
