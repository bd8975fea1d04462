//! How long before a deadline to stop sleeping.
//!
//! The kernel wakes a sleeper tens of microseconds late, now and then a hundred. Whoever must be on time wakes
//! earlier than needed and watches the clock for the rest; how much earlier is learned from each wake-up.

use cellwind_engine::time::Span;

/// The bounds between which the spin adapts itself, and where it starts.
const SHORTEST: Span = Span::from_micros(20);
const LONGEST: Span = Span::from_micros(250);
const FIRST: Span = Span::from_micros(100);
/// A real-time thread that spins keeps everything else from its processor, and the kernel stops it for 50 ms when
/// it does so for 95 % of a second; it is woken sooner, too.
const LONGEST_REALTIME: Span = Span::from_micros(40);
/// The share of wake-ups that may come later than the spin covers is `DOWN / (UP + DOWN)`, one in a hundred.
const UP: Span = Span::from_nanos(9_900);
const DOWN: Span = Span::from_nanos(100);

/// The time between waking and a deadline.
#[derive(Clone, Copy, Debug)]
pub struct Spin {
    span: Span,
    longest: Span,
    adapts: bool,
}

impl Spin {
    /// A spin that learns, or one of a fixed length.
    pub fn new(fixed: Option<Span>, realtime: bool) -> Self {
        let longest = if realtime { LONGEST_REALTIME } else { LONGEST };
        let span = fixed.unwrap_or(FIRST);
        Spin {
            span: if realtime || fixed.is_none() { span.min(longest) } else { span },
            longest,
            adapts: fixed.is_none(),
        }
    }

    /// How long before the deadline to wake.
    #[inline]
    pub fn span(&self) -> Span {
        self.span
    }

    /// Learns from a wake-up that came so late: the spin settles where all but one in a hundred are covered
    /// (stochastic approximation of a quantile, Robbins and Monro 1951).
    pub fn woke(&mut self, late: Span) {
        if !self.adapts {
            return;
        }
        let span = if late > self.span { self.span + UP } else { self.span - DOWN };
        self.span = span.clamp(SHORTEST, self.longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellwind_engine::random::Stream;

    #[test]
    fn it_settles_where_one_in_a_hundred_is_not_covered() {
        // Wake-ups late by 0 to 120 µs, uniformly: the spin to cover all but one in a hundred is 118.8 µs.
        let mut spin = Spin::new(None, false);
        let mut stream = Stream::new(1, 0, "spin");
        let mut mean = 0.0;
        for n in 0..40_000 {
            spin.woke(Span::from_nanos(stream.below(120_000)));
            if n >= 20_000 {
                mean += spin.span().as_nanos() as f64 / 20_000.0;
            }
        }
        assert!((108_000.0..122_000.0).contains(&mean), "{mean}");
    }

    #[test]
    fn it_stays_within_its_bounds() {
        let mut spin = Spin::new(None, false);
        (0..10_000).for_each(|_| spin.woke(Span::from_millis(3)));
        assert_eq!(spin.span(), LONGEST);
        (0..10_000).for_each(|_| spin.woke(Span::ZERO));
        assert_eq!(spin.span(), SHORTEST);
        let mut realtime = Spin::new(None, true);
        (0..10_000).for_each(|_| realtime.woke(Span::from_millis(3)));
        assert_eq!(realtime.span(), LONGEST_REALTIME);
    }

    #[test]
    fn a_spin_that_is_set_stays() {
        let mut spin = Spin::new(Some(Span::ZERO), false);
        spin.woke(Span::from_millis(3));
        assert_eq!(spin.span(), Span::ZERO);
    }
}
