//! The end of the data over transports without a handshake: told until it is answered.

use cellwind_engine::time::{Span, Time};

/// How often it is told before nobody is expected to listen any more.
const MOST: u32 = 8;

/// How far the end of the data has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Farewell {
    /// There may be more.
    #[default]
    Open,
    /// There is nothing after what waits.
    Closed,
    /// Told so many times, next at that instant.
    Told(u32, Time),
    /// Answered, or given up.
    Done,
}

impl Farewell {
    /// Nothing comes after what waits.
    pub fn close(&mut self) {
        if *self == Farewell::Open {
            *self = Farewell::Closed;
        }
    }

    /// The peer has heard it.
    pub fn on_answer(&mut self) {
        if let Farewell::Told(..) = self {
            *self = Farewell::Done;
        }
    }

    /// Whether it is to be told now that all has been sent; the next time is `timeout` later.
    pub fn is_due(&mut self, now: Time, timeout: Span) -> bool {
        let told = match *self {
            Farewell::Closed => 0,
            Farewell::Told(told, again) if again <= now => told,
            _ => return false,
        };
        *self = if told < MOST { Farewell::Told(told + 1, now + timeout) } else { Farewell::Done };
        told < MOST
    }

    /// When it is told again.
    pub fn next_timeout(&self) -> Option<Time> {
        if let Farewell::Told(_, again) = *self { Some(again) } else { None }
    }

    /// Whether data may still be sent or answered.
    pub fn is_before(&self) -> bool {
        matches!(self, Farewell::Open | Farewell::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_told_until_it_is_answered_or_eight_times() {
        let mut farewell = Farewell::default();
        assert!(!farewell.is_due(Time::ZERO, Span::from_secs(1)));
        farewell.close();
        for second in 0..8 {
            assert!(farewell.is_due(Time::from_secs(second), Span::from_secs(1)));
            assert_eq!(farewell.next_timeout(), Some(Time::from_secs(second + 1)));
            assert!(!farewell.is_due(Time::from_secs(second), Span::from_secs(1)));
        }
        assert!(!farewell.is_due(Time::from_secs(8), Span::from_secs(1)));
        assert_eq!(farewell, Farewell::Done);
    }
}
