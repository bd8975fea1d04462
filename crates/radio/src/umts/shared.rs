//! The cell of an access whose terminals share its capacity.

use cellwind_engine::directions::{Direction, Directions};
use cellwind_engine::machine::Outbox;
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};

use crate::mac::cell::Cell;
use crate::mac::cell::settings::{CellSettings, RadioSettings};
use crate::mac::channel::TtiClock;
use crate::mac::scheduler::Wish;

/// A cell, and which of its terminals have something to send.
#[derive(Clone, Debug)]
pub struct SharedCell {
    cell: Cell,
    tti: Span,
    clock: TtiClock,
    /// When the TTI began that was shared out last, and how many TTIs after the one before.
    began: Time,
    passed: u64,
    /// Terminals with something to send, in no particular order.
    listed: Directions<Vec<u32>>,
    /// What they wish in the TTI that begins.
    wishes: Vec<Wish>,
    /// Terminals whose dedicated channel was taken away and who do not know yet.
    preempted: Vec<u32>,
}

impl SharedCell {
    /// A cell without terminals.
    pub fn new(settings: &CellSettings, stream: Stream) -> Self {
        SharedCell {
            cell: Cell::new(settings, stream),
            tti: settings.tti,
            clock: TtiClock::default(),
            began: Time::ZERO,
            passed: 1,
            listed: Directions::default(),
            wishes: Vec::new(),
            preempted: Vec::new(),
        }
    }

    /// Adds the terminal with the next number, whose PDUs carry so many octets.
    pub fn add(&mut self, radio: RadioSettings, payloads: Directions<u64>) {
        self.cell.add(radio, payloads);
    }

    /// Takes over other settings.
    pub fn set_settings(&mut self, now: Time, settings: &CellSettings, out: &mut Outbox) {
        self.cell.set_settings(now, settings, &mut self.preempted, out);
        if self.tti != settings.tti {
            self.tti = settings.tti;
            self.clock.cancel();
            self.plan(now);
        }
    }

    /// Takes over other settings of a terminal.
    pub fn set_terminal(&mut self, terminal: u32, radio: RadioSettings, payloads: Directions<u64>) {
        self.cell.set_terminal(terminal, radio, payloads, &mut self.preempted);
    }

    /// Whether a terminal may have a dedicated channel; it has it then.
    pub fn admit(&mut self, terminal: u32) -> bool {
        self.cell.admit(terminal, &mut self.preempted)
    }

    /// A terminal has no dedicated channel any more.
    pub fn release(&mut self, terminal: u32) {
        self.cell.release(terminal);
    }

    /// A terminal whose dedicated channel was taken away, and who has to be told.
    pub fn next_preempted(&mut self) -> Option<u32> {
        self.preempted.pop()
    }

    /// A terminal has something to send from `now` on, in a direction in which it had not.
    pub fn list(&mut self, now: Time, terminal: u32, direction: Direction) {
        self.listed.get_mut(direction).push(terminal);
        self.plan(now);
    }

    /// Begins the TTI whose time has come, and says whether it has.
    pub fn begin_tti(&mut self, now: Time) -> bool {
        let begins = self.clock.begin(now, self.tti);
        if begins {
            self.passed = (now.since(self.began).as_nanos() / self.tti.as_nanos()).max(1);
            self.began = now;
        }
        begins
    }

    /// Shares out the TTI that has begun in a direction. `wish` says what a terminal wants in a TTI of this length, or nothing
    /// when it has nothing to send any more.
    pub fn share(&mut self, direction: Direction, mut wish: impl FnMut(u32, Span) -> Option<Wish>) {
        self.wishes.clear();
        let (wishes, tti) = (&mut self.wishes, self.tti);
        self.listed.get_mut(direction).retain(|&terminal| {
            let wish = wish(terminal, tti);
            wishes.extend(wish);
            wish.is_some()
        });
        self.cell.share(direction, self.passed, &mut self.wishes);
    }

    /// A terminal that may send in the direction shared out last, and how many blocks.
    pub fn next_grant(&mut self) -> Option<(u32, u32)> {
        while let Some(wish) = self.wishes.pop() {
            if wish.granted > 0 {
                return Some((wish.terminal, wish.granted));
            }
        }
        None
    }

    /// Takes back blocks that a terminal was granted and did not send.
    pub fn give_back(&mut self, direction: Direction, terminal: u32, blocks: u32) {
        if blocks > 0 {
            self.cell.give_back(direction, terminal, blocks);
        }
    }

    /// Plans the next TTI, if there is something to send.
    pub fn plan(&mut self, now: Time) {
        if !self.listed.down.is_empty() || !self.listed.up.is_empty() {
            self.clock.plan(now, self.tti);
        }
    }

    /// Lets calls come and go that have done so by now.
    pub fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        while let Some(due) = self.cell.next_timeout()
            && due <= now
        {
            self.cell.on_timeout(due, &mut self.preempted, out);
        }
    }

    /// When a TTI begins, or a call begins or ends where that makes a difference: while nobody has anything to send or a
    /// dedicated channel, it is noticed later.
    pub fn next_timeout(&self) -> Option<Time> {
        let is_used = !self.listed.down.is_empty() || !self.listed.up.is_empty() || self.cell.has_holders();
        let calls = if is_used { self.cell.next_timeout() } else { None };
        [self.clock.next(), calls].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests;
