//! The RRC of a terminal, beside its bearer.

use cellwind_engine::directions::{Direction, Directions};
use cellwind_engine::machine::Outbox;
use cellwind_engine::random::Stream;
use cellwind_engine::time::Time;

use super::shared::SharedCell;
use crate::rrc::Rrc;
use crate::rrc::settings::{RrcSettings, TransportChannel};

/// What RRC knows of a bearer, and the cell of it.
#[derive(Clone, Debug)]
pub struct Control {
    /// Number of the terminal.
    number: u32,
    rrc: Rrc,
    /// What waited when it was looked at last.
    volumes: Directions<u64>,
    /// Whether the cell keeps room for a dedicated channel.
    holds_dch: bool,
}

impl Control {
    /// The RRC of terminal number `number`, whose dedicated channel is `own` after its set-up; `stream` moves it from cell to cell.
    pub fn new(now: Time, number: u16, rrc: &RrcSettings, own: Directions<TransportChannel>, stream: Stream) -> Self {
        let rrc = Rrc::new(now, rrc, own, stream);
        Control { number: number.into(), rrc, volumes: Directions::default(), holds_dch: false }
    }

    /// What may be sent in a direction.
    pub fn channel(&self, now: Time, direction: Direction) -> Option<TransportChannel> {
        self.rrc.channel(now, direction)
    }

    /// So much waits in each direction; does what is due.
    pub fn update(&mut self, now: Time, volumes: Directions<u64>, cell: Option<&mut SharedCell>, out: &mut Outbox) {
        let before = std::mem::replace(&mut self.volumes, volumes);
        self.run(now, cell, |rrc, admit| {
            for direction in Direction::BOTH {
                let octets = *volumes.get(direction);
                if octets != *before.get(direction) {
                    rrc.on_volume(now, direction, octets, admit, out);
                }
            }
            if rrc.next_timeout().is_some_and(|due| due <= now) {
                rrc.on_timeout(now, admit, out);
            }
        });
    }

    /// Asks the cell for room for the dedicated channel that the terminal begins with.
    pub fn begin(&mut self, now: Time, cell: Option<&mut SharedCell>) {
        self.holds_dch = self.rrc.holds_dch();
        if self.holds_dch && cell.is_some_and(|cell| !cell.admit(self.number)) {
            self.rrc.preempt(now);
            self.holds_dch = false;
        }
    }

    /// The cell has taken the dedicated channel away.
    pub fn preempt(&mut self, now: Time, cell: Option<&mut SharedCell>, out: &mut Outbox) {
        self.rrc.preempt(now);
        self.run(now, cell, |rrc, admit| rrc.on_timeout(now, admit, out));
    }

    /// Takes over other settings.
    pub fn set_settings(
        &mut self,
        now: Time,
        rrc: &RrcSettings,
        own: Directions<TransportChannel>,
        cell: Option<&mut SharedCell>,
        out: &mut Outbox,
    ) {
        self.run(now, cell, |machine, admit| machine.set_settings(now, rrc, own, admit, out));
    }

    /// When something is due.
    pub fn next_timeout(&self) -> Option<Time> {
        self.rrc.next_timeout()
    }

    /// Lets RRC act, with an admission that asks the cell, and gives the cell back what it does not need any more.
    fn run(
        &mut self,
        now: Time,
        mut cell: Option<&mut SharedCell>,
        act: impl FnOnce(&mut Rrc, &mut dyn FnMut() -> bool),
    ) {
        debug_assert!(self.rrc.next_timeout().is_none_or(|due| due >= now), "it was not woken");
        let number = self.number;
        act(&mut self.rrc, &mut || cell.as_deref_mut().is_none_or(|cell| cell.admit(number)));
        let holds_dch = self.rrc.holds_dch();
        if let Some(cell) = cell
            && self.holds_dch
            && !holds_dch
        {
            cell.release(number);
        }
        self.holds_dch = holds_dch;
    }
}

#[cfg(test)]
mod tests;
