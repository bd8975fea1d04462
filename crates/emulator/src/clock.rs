//! Where a live run's time comes from.

use cellwind_engine::time::{Span, Time};
use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// Tells the time since the start of a run.
pub trait Clock {
    /// The instant now; never before one it told earlier.
    fn now(&self) -> Time;
}

/// CLOCK_MONOTONIC since the start of the run. Until then it stands at zero.
#[derive(Clone, Copy, Debug)]
pub struct Monotonic {
    start_ns: u64,
}

impl Monotonic {
    /// A clock that starts after `lead`.
    pub fn start_in(lead: Span) -> Self {
        Monotonic { start_ns: monotonic_ns().saturating_add(lead.as_nanos()) }
    }

    /// The same instant as CLOCK_MONOTONIC counts it, for timers of the kernel.
    pub fn kernel_ns(&self, instant: Time) -> u64 {
        self.start_ns.saturating_add(instant.as_nanos())
    }

    /// Sleeps until the start.
    pub fn wait_for_start(&self) {
        let start = TimeSpec::new((self.start_ns / 1_000_000_000) as i64, (self.start_ns % 1_000_000_000) as i64);
        let until = ClockNanosleepFlags::TIMER_ABSTIME;
        while let Err(Errno::EINTR) = clock_nanosleep(ClockId::CLOCK_MONOTONIC, until, &start) {}
    }
}

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> Time {
        Time::from_nanos(monotonic_ns().saturating_sub(self.start_ns))
    }
}

#[inline]
fn monotonic_ns() -> u64 {
    // The kernel refuses only clocks it does not know, and Linux always knows this one.
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("CLOCK_MONOTONIC exists");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_begins_at_the_start() {
        let clock = Monotonic::start_in(Span::from_millis(20));
        assert_eq!(clock.now(), Time::ZERO);
        clock.wait_for_start();
        let first = clock.now();
        assert!(clock.now() >= first && clock.kernel_ns(first) >= clock.kernel_ns(Time::ZERO));
    }
}
