//! A dedicated transport channel: when its TTIs begin.

use cellwind_engine::time::{Span, Time};

/// When the TTIs of a channel begin: at multiples of the TTI, as radio frames do (TS 25.211 §5), and only with
/// something to send.
#[derive(Clone, Copy, Debug, Default)]
pub struct TtiClock {
    /// When the running TTI ends, or the last one did.
    free: Time,
    /// When the next one begins.
    next: Option<Time>,
    is_held: bool,
}

impl TtiClock {
    /// Plans the next TTI, if none is planned, for something to send at `now`.
    #[inline]
    pub fn plan(&mut self, now: Time, tti: Span) {
        if self.next.is_none() && !self.is_held {
            self.next = Some(self.free.max(now).next_multiple_of(tti));
        }
    }

    /// When the next TTI begins.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// Begins the planned TTI if its time has come, and says whether it has.
    #[inline]
    pub fn begin(&mut self, now: Time, tti: Span) -> bool {
        let begins = self.next.is_some_and(|next| next <= now);
        if begins {
            self.next = None;
            self.free = now + tti;
        }
        begins
    }

    /// Whether a TTI may begin now.
    #[inline]
    pub fn is_ready(&self, now: Time, tti: Span) -> bool {
        !self.is_held && self.free <= now && now.next_multiple_of(tti) == now
    }

    /// Begins a TTI that was not planned.
    #[inline]
    pub fn begin_at_once(&mut self, now: Time, tti: Span) {
        self.next = None;
        self.free = now + tti;
    }

    /// Whether TTIs may begin at all.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Forgets the TTI that is planned, whose grid or content has changed.
    pub fn cancel(&mut self) {
        self.next = None;
    }

    /// Begins no TTI until [`release`](TtiClock::release). False when that was so already.
    pub fn hold(&mut self) -> bool {
        self.next = None;
        !std::mem::replace(&mut self.is_held, true)
    }

    /// Lets TTIs begin again. False when nothing held them.
    pub fn release(&mut self) -> bool {
        std::mem::replace(&mut self.is_held, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttis_begin_on_the_grid_and_do_not_overlap() {
        let tti = Span::from_millis(20);
        let mut clock = TtiClock::default();
        clock.plan(Time::from_millis(3), tti);
        assert_eq!(clock.next(), Some(Time::from_millis(20)));
        clock.plan(Time::from_millis(19), tti);
        assert!(!clock.begin(Time::from_millis(19), tti));
        assert!(clock.begin(Time::from_millis(20), tti));
        // The channel is busy until 40 ms, and then a longer TTI begins at a multiple of its own length.
        clock.plan(Time::from_millis(20), tti);
        assert_eq!(clock.next(), Some(Time::from_millis(40)));
        clock.cancel();
        clock.plan(Time::from_millis(20), Span::from_millis(80));
        assert_eq!(clock.next(), Some(Time::from_millis(80)));
    }

    #[test]
    fn a_held_channel_begins_nothing() {
        let tti = Span::from_millis(10);
        let mut clock = TtiClock::default();
        clock.plan(Time::ZERO, tti);
        assert!(clock.hold() && !clock.hold());
        clock.plan(Time::ZERO, tti);
        assert_eq!(clock.next(), None);
        assert!(clock.release() && !clock.release());
        clock.plan(Time::from_millis(5), tti);
        assert_eq!(clock.next(), Some(Time::from_millis(10)));
    }
}
