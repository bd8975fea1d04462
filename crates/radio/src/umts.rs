//! The UMTS access: one machine with a radio bearer for each terminal.
//!
//! A bearer has an RLC entity (TS 25.322) at the network and one at the terminal, a dedicated channel in each direction
//! (TS 25.302) whose TTIs carry their PDUs, and the delays of the nodes. Part `2 n` of the machine is the way down to
//! terminal number `n` of the access, part `2 n + 1` the way up from it.

mod bearer;
mod convergence;
mod delay;
pub mod settings;

use cellwind_engine::calendar::Calendar;
use cellwind_engine::directions::Direction;
use cellwind_engine::machine::{Machine, Outbox, Port};
use cellwind_engine::packet::Packet;
use cellwind_engine::random::Stream;
use cellwind_engine::time::Time;
use cellwind_path::traffic::Traffic;

use self::bearer::Bearer;
use self::settings::UmtsSettings;
use crate::blocks::Blocks;

/// A UMTS access with its terminals.
#[derive(Clone, Debug, Default)]
pub struct Umts {
    bearers: Vec<Bearer>,
    /// When each bearer wants to be woken.
    calendar: Calendar,
}

impl Umts {
    /// An access without terminals.
    pub fn new() -> Self {
        Umts::default()
    }

    /// Adds a terminal, whose random draws come from `stream`, which is asked for streams by the names `down/errors` and
    /// `up/errors`.
    ///
    /// # Panics
    ///
    /// When a TTI does not carry a single PDU.
    pub fn add_terminal(&mut self, settings: &UmtsSettings, stream: impl Fn(&str) -> Stream) {
        let number = self.bearers.len() as u16;
        self.calendar.add_machine();
        self.bearers.push(Bearer::new(number, settings, stream));
    }

    /// What went through a part.
    pub fn traffic(&self, part: u16) -> Traffic {
        let (bearer, direction) = place(part);
        self.bearers[bearer].traffic(direction)
    }

    /// How many PDUs that took.
    pub fn blocks(&self, part: u16) -> &Blocks {
        let (bearer, direction) = place(part);
        self.bearers[bearer].blocks(direction)
    }

    /// Checks the books and windows of every bearer.
    pub fn check(&self) -> Result<(), String> {
        self.bearers.iter().try_for_each(Bearer::check)
    }

    /// Changes the settings of one direction of a bearer for all that has not begun to be transmitted; those of both
    /// directions change with either.
    pub fn set_settings(&mut self, part: u16, now: Time, settings: &UmtsSettings, out: &mut Outbox) {
        self.visit(part, |bearer, direction| bearer.set_settings(direction, now, settings, out));
    }

    /// Begins no TTI of a part until [`release`](Umts::release); a running one ends.
    pub fn hold(&mut self, part: u16, out: &mut Outbox) {
        self.visit(part, |bearer, direction| bearer.hold(direction, out));
    }

    /// Lets TTIs of a part begin again.
    pub fn release(&mut self, part: u16, now: Time, out: &mut Outbox) {
        self.visit(part, |bearer, direction| bearer.release(direction, now, out));
    }

    /// Hands back all that a part holds, in the order it entered, and establishes the bearer anew.
    pub fn flush(&mut self, part: u16, out: &mut Outbox) {
        self.visit(part, |bearer, direction| bearer.flush(direction, out));
    }

    fn visit(&mut self, part: u16, change: impl FnOnce(&mut Bearer, Direction)) {
        let (place, direction) = place(part);
        let bearer = &mut self.bearers[place];
        change(bearer, direction);
        self.calendar.set(place, bearer.next_timeout());
    }
}

/// The place of a part's bearer, and its direction.
fn place(part: u16) -> (usize, Direction) {
    (usize::from(part / 2), Direction::BOTH[usize::from(part % 2)])
}

impl Machine for Umts {
    fn on_packet(&mut self, now: Time, port: Port, packet: &Packet, out: &mut Outbox) {
        self.visit(port.0, |bearer, direction| bearer.on_packet(direction, now, packet, out));
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        while let Some((_, place)) = self.calendar.due(now) {
            let bearer = &mut self.bearers[place];
            bearer.on_timeout(now, out);
            self.calendar.answer(place, bearer.next_timeout());
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.calendar.earliest()
    }
}

#[cfg(test)]
mod tests;
