//! Traffic volume measurement: when it is told that much, or little, waits in a buffer.
//!
//! TS 25.331 §14.4.2: event 4A, the volume has become larger than an absolute threshold; event 4B, smaller.

use cellwind_engine::time::{Span, Time};

/// Event 4A of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Above {
    since: Option<Time>,
    told: Option<Time>,
}

impl Above {
    /// Takes up the volume that is there from now on.
    pub fn observe(&mut self, now: Time, is_above: bool, pending_time: Span) {
        match (is_above, self.since) {
            (true, None) => self.since = Some(now),
            (false, Some(_)) => {
                self.since = None;
                if pending_time.is_zero() {
                    self.told = None;
                }
            }
            _ => {}
        }
    }

    /// When to tell, if nothing changes until then.
    pub fn due(&self, time_to_trigger: Span, pending_time: Span) -> Option<Time> {
        let triggered = self.since? + time_to_trigger;
        match self.told {
            None => Some(triggered),
            Some(_) if pending_time.is_zero() => None,
            Some(told) => Some(triggered.max(told + pending_time)),
        }
    }

    /// It was told.
    pub fn tell(&mut self, now: Time) {
        self.told = Some(now);
    }

    /// Measures anew, on another channel.
    pub fn restart(&mut self, now: Time, is_above: bool) {
        *self = Above { since: is_above.then_some(now), told: None };
    }
}

/// Event 4B of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Below {
    since: Option<Time>,
}

impl Below {
    /// Takes up the volume that is there from now on.
    pub fn observe(&mut self, now: Time, is_below: bool) {
        self.since = if is_below { self.since.or(Some(now)) } else { None };
    }

    /// When to tell, if nothing changes until then.
    pub fn due(&self, time_to_trigger: Span) -> Option<Time> {
        self.since.map(|since| since + time_to_trigger)
    }

    /// Measures anew, on another channel.
    pub fn restart(&mut self, now: Time, is_below: bool) {
        self.since = is_below.then_some(now);
    }
}
