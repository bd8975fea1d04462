//! Waits for a deadline or a readable descriptor, whichever comes first, as exactly as a process can.

use std::os::fd::AsFd;

use cellwind_engine::time::Time;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, TimerSetTimeFlags};
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};

use crate::clock::{Clock, Monotonic};
use crate::spin::Spin;

/// Marks the timer among the descriptors.
const TIMER: u64 = u64::MAX;
/// Descriptors told of at once; the others are told of next time.
const AT_ONCE: usize = 64;

/// Sleeps in the kernel until shortly before a deadline, then leaves the rest to its caller's loop.
pub struct Waiter {
    clock: Monotonic,
    spin: Spin,
    epoll: Epoll,
    timer: TimerFd,
    /// When the timer will fire; none when it is off or has fired.
    armed: Option<Time>,
    /// When the last wait ended, if it was one.
    slept: Option<Time>,
    events: [EpollEvent; AT_ONCE],
}

impl Waiter {
    /// A waiter by `clock` that wakes before deadlines as `spin` says.
    pub fn new(clock: Monotonic, spin: Spin) -> Result<Self, Errno> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        // Told of once per expiration, so that the timer need not be read.
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER))?;
        Ok(Waiter { clock, spin, epoll, timer, armed: None, slept: None, events: [EpollEvent::empty(); AT_ONCE] })
    }

    /// Tells of `fd` by `token` as long as it is readable.
    pub fn watch(&self, fd: impl AsFd, token: u64) -> Result<(), Errno> {
        self.epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, token))
    }

    /// Waits until a descriptor is readable or the time to begin spinning for `deadline` has come.
    ///
    /// When that time has come already it does not wait at all: a caller that loops until its deadline spins, and
    /// still hears of its descriptors. The tokens of those that are readable are returned.
    #[inline]
    pub fn wait(&mut self, deadline: Option<Time>) -> Result<impl Iterator<Item = u64> + '_, Errno> {
        let spin = self.spin.span().as_nanos();
        let wake = deadline.map(|deadline| Time::from_nanos(deadline.as_nanos().saturating_sub(spin)));
        self.slept = None;
        if wake.is_some_and(|wake| wake <= self.clock.now()) {
            return self.ready(EpollTimeout::ZERO);
        }
        self.arm(wake)?;
        self.ready(EpollTimeout::NONE)
    }

    /// When the last wait ended; none when it was not one, because the time to spin had come.
    #[inline]
    pub fn slept(&self) -> Option<Time> {
        self.slept
    }

    /// The time by its clock.
    #[inline]
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// How long before a deadline it wakes at present.
    pub fn spin(&self) -> &Spin {
        &self.spin
    }

    /// Waits for an instant, and for nothing else.
    pub fn wait_until(&mut self, instant: Time) -> Result<(), Errno> {
        while self.clock.now() < instant {
            let _ = self.wait(Some(instant))?;
        }
        Ok(())
    }

    fn arm(&mut self, wake: Option<Time>) -> Result<(), Errno> {
        if wake != self.armed {
            match wake {
                Some(wake) => {
                    let ns = self.clock.kernel_ns(wake);
                    let at = TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64);
                    self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
                }
                None => self.timer.unset()?,
            }
            self.armed = wake;
        }
        Ok(())
    }

    #[inline]
    fn ready(&mut self, timeout: EpollTimeout) -> Result<impl Iterator<Item = u64> + '_, Errno> {
        let count = match self.epoll.wait(&mut self.events, timeout) {
            Err(Errno::EINTR) => 0,
            other => other?,
        };
        let events = &self.events[..count];
        let has_fired = events.iter().any(|event| event.data() == TIMER);
        let armed = if has_fired { self.armed.take() } else { None };
        if timeout.is_none() {
            let now = self.clock.now();
            self.slept = Some(now);
            // Only a wake-up from sleep tells how late sleepers wake.
            if let Some(wake) = armed {
                self.spin.woke(now.since(wake));
            }
        }
        Ok(events.iter().map(EpollEvent::data).filter(|&token| token != TIMER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellwind_engine::time::Span;
    use nix::sys::eventfd::EventFd;

    #[test]
    fn it_wakes_for_descriptors_and_deadlines_and_never_early() {
        let clock = Monotonic::start_in(Span::ZERO);
        let mut waiter = Waiter::new(clock, Spin::new(None, false)).unwrap();
        let event = EventFd::new().unwrap();
        waiter.watch(&event, 7).unwrap();
        assert_eq!(waiter.wait(Some(Time::ZERO)).unwrap().count(), 0);
        for _ in 0..20 {
            let instant = clock.now() + Span::from_millis(1);
            waiter.wait_until(instant).unwrap();
            assert!(clock.now() >= instant);
        }
        event.write(1).unwrap();
        assert_eq!(waiter.wait(None).unwrap().collect::<Vec<_>>(), [7]);
        let far = clock.now() + Span::from_secs(3600);
        assert_eq!(waiter.wait(Some(far)).unwrap().collect::<Vec<_>>(), [7]);
        event.read().unwrap();
        assert_eq!(waiter.wait(Some(Time::ZERO)).unwrap().count(), 0);
    }
}
