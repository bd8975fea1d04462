//! The end that takes what a file sender or a schedule sends.

use cellwind_engine::time::Time;

use super::end::{Desk, Part};
use crate::carrier::Event;

/// Counts messages, their delays and how many came in time.
#[derive(Clone, Debug)]
pub struct Collector {
    /// When the last deadline is over; none where messages have no deadline.
    until: Option<Time>,
    is_over: bool,
    arrived: u64,
    /// How many there will be, once the last one has come.
    expected: Option<u64>,
}

impl Collector {
    /// Complete when every message has arrived.
    pub fn of_all() -> Self {
        Collector { until: None, is_over: false, arrived: 0, expected: None }
    }

    /// Complete at the last deadline, whatever has arrived by then.
    pub fn until(until: Time) -> Self {
        Collector { until: Some(until), ..Collector::of_all() }
    }
}

impl Part for Collector {
    fn start(&mut self, _: &mut Desk<'_>) {}

    fn on_event(&mut self, line: u16, event: Event, desk: &mut Desk<'_>) {
        match event {
            Event::Arrived(message) if !self.is_over => {
                desk.take(&message, message.made);
                self.arrived += 1;
                if message.is_last {
                    self.expected = Some(u64::from(message.number) + 1);
                }
            }
            Event::PeerClosed => desk.close(line),
            _ => {}
        }
    }

    fn on_timeout(&mut self, _: &mut Desk<'_>) {
        self.is_over = true;
    }

    fn next_timeout(&self) -> Option<Time> {
        self.until.filter(|_| !self.is_over)
    }

    fn is_complete(&self) -> bool {
        match self.until {
            Some(_) => self.is_over,
            None => self.expected == Some(self.arrived),
        }
    }
}
