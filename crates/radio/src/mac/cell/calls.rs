//! Calls that come and go: load that is served before all data.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cellwind_engine::random::Stream;
use cellwind_engine::time::Time;

use super::settings::CallSettings;

/// The calls of a cell.
#[derive(Clone, Debug)]
pub struct Calls {
    settings: CallSettings,
    stream: Stream,
    next: Time,
    /// When those that go on end.
    ends: BinaryHeap<Reverse<Time>>,
    /// How many the cell can carry at once.
    most: u64,
    lost: u64,
}

impl Calls {
    /// Calls from `now` on, of which the cell can carry so many at once.
    pub fn new(now: Time, settings: CallSettings, most: u64, mut stream: Stream) -> Self {
        let next = now + settings.interval.draw(&mut stream);
        Calls { settings, stream, next, ends: BinaryHeap::new(), most, lost: 0 }
    }

    /// How many go on.
    pub fn busy(&self) -> u64 {
        self.ends.len() as u64
    }

    /// How many found the cell full.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Calls have other settings; those that go on end when they would have ended.
    pub fn set_settings(&mut self, now: Time, settings: CallSettings, most: u64) {
        if settings.interval != self.settings.interval {
            self.next = now + settings.interval.draw(&mut self.stream);
        }
        self.settings = settings;
        self.most = most;
    }

    /// Lets calls end and begin that are due.
    pub fn on_timeout(&mut self, now: Time) {
        while self.ends.peek().is_some_and(|&Reverse(end)| end <= now) {
            self.ends.pop();
        }
        if self.next <= now {
            // Drawn for a lost call too, so that the calls to come do not depend on the capacity.
            let end = now + self.settings.duration.draw(&mut self.stream);
            if self.busy() < self.most {
                self.ends.push(Reverse(end));
            } else {
                self.lost += 1;
            }
            self.next = now + self.settings.interval.draw(&mut self.stream);
        }
    }

    /// When a call begins or ends next.
    pub fn next_timeout(&self) -> Time {
        self.ends.peek().map_or(self.next, |&Reverse(end)| end.min(self.next))
    }
}
