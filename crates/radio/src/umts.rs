//! The UMTS access: one machine with a radio bearer for each terminal.
//!
//! A bearer has an RLC entity (TS 25.322) at the network and one at the terminal, a dedicated channel in each direction
//! (TS 25.302) whose TTIs carry their PDUs, and the delays of the nodes. Part `2 n` of the machine is the way down to
//! terminal number `n` of the access, part `2 n + 1` the way up from it.
//!
//! With RRC ([`crate::rrc`]) a bearer has the channels of its terminal's state, with a cell ([`crate::mac::cell`]) it may send
//! what it is granted of the capacity that all share.

mod bearer;
mod control;
mod convergence;
mod delay;
pub mod settings;
mod shared;
#[cfg(test)]
mod testkit;
mod way;

use cellwind_engine::calendar::Calendar;
use cellwind_engine::directions::Direction;
use cellwind_engine::machine::{Machine, Outbox, Port};
use cellwind_engine::packet::Packet;
use cellwind_engine::random::Stream;
use cellwind_engine::time::Time;
use cellwind_path::traffic::Traffic;

use self::bearer::Bearer;
use self::settings::{UmtsSettings, UmtsShared};
use self::shared::SharedCell;
use crate::blocks::Blocks;
use crate::mac::cell::settings::RadioSettings;

/// A UMTS access with its terminals.
#[derive(Clone, Debug)]
pub struct Umts {
    shared: UmtsShared,
    bearers: Vec<Bearer>,
    terminals: Vec<Terminal>,
    /// When each bearer wants to be woken.
    calendar: Calendar,
    /// The cell, if terminals share its capacity.
    cell: Option<SharedCell>,
    /// What a cell draws its calls from.
    calls: Stream,
}

/// What an access keeps of a terminal beside its bearer.
#[derive(Clone, Debug)]
struct Terminal {
    radio: RadioSettings,
    /// What moves it from cell to cell.
    reselection: Stream,
}

impl Umts {
    /// An access without terminals, whose cell draws its calls from `calls`.
    pub fn new(shared: &UmtsShared, calls: Stream) -> Self {
        Umts {
            shared: shared.clone(),
            bearers: Vec::new(),
            terminals: Vec::new(),
            calendar: Calendar::default(),
            cell: shared.cell.as_ref().map(|cell| SharedCell::new(cell, calls.clone())),
            calls,
        }
    }

    /// Adds a terminal, whose random draws come from `stream`, which is asked for streams by the names `down/errors`,
    /// `up/errors` and `reselection`.
    ///
    /// # Panics
    ///
    /// When a TTI does not carry a single PDU.
    pub fn add_terminal(&mut self, settings: &UmtsSettings, radio: RadioSettings, stream: impl Fn(&str) -> Stream) {
        let number = self.bearers.len() as u16;
        self.calendar.add_machine();
        self.terminals.push(Terminal { radio, reselection: stream("reselection") });
        let mut bearer = Bearer::new(number, settings, stream);
        bearer.set_shared(self.cell.is_some());
        if let Some(cell) = &mut self.cell {
            cell.add(radio, bearer.payloads());
        }
        self.bearers.push(bearer);
        self.control(Time::ZERO, usize::from(number));
        // Those that have to give way to this one have not begun yet.
        while let Some(number) = self.cell.as_mut().and_then(SharedCell::next_preempted) {
            let quiet = &mut Outbox::new(false);
            let bearer = &mut self.bearers[number as usize];
            bearer.on_preempted(Time::ZERO, self.cell.as_mut(), quiet);
            self.calendar.set(number as usize, bearer.next_timeout());
        }
        self.calendar.set(number.into(), self.bearers[usize::from(number)].next_timeout());
    }

    /// Gives a bearer its RRC, if the access has any.
    fn control(&mut self, now: Time, place: usize) {
        if let Some(cell) = &mut self.cell {
            cell.release(place as u32); // of the RRC before
        }
        let stream = self.terminals[place].reselection.clone();
        let bearer = &mut self.bearers[place];
        bearer.set_control(now, self.shared.rrc.as_ref(), stream);
        bearer.ask_for_dch(now, self.cell.as_mut());
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
    /// directions, and of the cell, change with any.
    pub fn set_settings(&mut self, part: u16, now: Time, settings: &UmtsSettings, out: &mut Outbox) {
        if (&self.shared.rrc, &self.shared.cell) != (&settings.shared.rrc, &settings.shared.cell) {
            self.set_shared(now, &settings.shared, out);
        }
        self.visit(part, now, out, |bearer, direction, cell, out| {
            bearer.set_settings(direction, now, settings, cell, out);
        });
        let (place, _) = place(part);
        if let Some(cell) = &mut self.cell {
            cell.set_terminal(place as u32, self.terminals[place].radio, self.bearers[place].payloads());
        }
        self.tell_preempted(now, out);
    }

    /// Takes over what all bearers have in common.
    fn set_shared(&mut self, now: Time, shared: &UmtsShared, out: &mut Outbox) {
        let before = std::mem::replace(&mut self.shared, shared.clone());
        match (&mut self.cell, &shared.cell) {
            (Some(cell), Some(settings)) => cell.set_settings(now, settings, out),
            (_, settings) => self.cell = settings.as_ref().map(|cell| SharedCell::new(cell, self.calls.clone())),
        }
        for place in 0..self.bearers.len() {
            let bearer = &mut self.bearers[place];
            if before.cell.is_some() != shared.cell.is_some() {
                if let Some(cell) = &mut self.cell {
                    cell.add(self.terminals[place].radio, bearer.payloads());
                }
                bearer.set_shared(self.cell.is_some());
                bearer.ask_for_dch(now, self.cell.as_mut());
            }
            if before.rrc.is_some() != shared.rrc.is_some() {
                self.control(now, place);
            }
            self.bearers[place].set_rrc(now, shared.rrc.as_ref(), self.cell.as_mut(), out);
            let due = self.look_at(place, now);
            self.calendar.set(place, due);
        }
    }

    /// Changes how the terminal of a part stands in the cell.
    pub fn set_radio(&mut self, part: u16, now: Time, radio: RadioSettings, out: &mut Outbox) {
        let (place, _) = place(part);
        self.terminals[place].radio = radio;
        if let Some(cell) = &mut self.cell {
            cell.set_terminal(place as u32, radio, self.bearers[place].payloads());
        }
        self.tell_preempted(now, out);
    }

    /// Begins no TTI of a part until [`release`](Umts::release); a running one ends.
    pub fn hold(&mut self, part: u16, out: &mut Outbox) {
        let (place, direction) = place(part);
        let bearer = &mut self.bearers[place];
        bearer.hold(direction, out);
        self.calendar.set(place, bearer.next_timeout());
    }

    /// Lets TTIs of a part begin again.
    pub fn release(&mut self, part: u16, now: Time, out: &mut Outbox) {
        self.visit(part, now, out, |bearer, direction, _, out| bearer.release(direction, now, out));
    }

    /// Hands back all that a part holds, in the order it entered, and establishes the bearer anew.
    pub fn flush(&mut self, part: u16, now: Time, out: &mut Outbox) {
        self.visit(part, now, out, |bearer, direction, cell, out| bearer.flush(direction, now, cell, out));
    }

    fn visit(
        &mut self,
        part: u16,
        now: Time,
        out: &mut Outbox,
        change: impl FnOnce(&mut Bearer, Direction, Option<&mut SharedCell>, &mut Outbox),
    ) {
        if let Some(cell) = &mut self.cell {
            cell.on_timeout(now, out);
        }
        let (place, direction) = place(part);
        change(&mut self.bearers[place], direction, self.cell.as_mut(), out);
        let due = self.look_at(place, now);
        self.calendar.set(place, due);
        self.tell_preempted(now, out);
    }

    /// When a bearer wants to be woken, after its cell has heard of what it has to send.
    fn look_at(&mut self, place: usize, now: Time) -> Option<Time> {
        let bearer = &mut self.bearers[place];
        if let Some(cell) = &mut self.cell {
            for direction in Direction::BOTH {
                if bearer.is_to_be_listed(direction, now) {
                    cell.list(now, place as u32, direction);
                }
            }
        }
        bearer.next_timeout()
    }

    /// Lets terminals know that their dedicated channel was taken away.
    fn tell_preempted(&mut self, now: Time, out: &mut Outbox) {
        while let Some(terminal) = self.cell.as_mut().and_then(SharedCell::next_preempted) {
            let place = terminal as usize;
            self.bearers[place].on_preempted(now, self.cell.as_mut(), out);
            let due = self.look_at(place, now);
            self.calendar.set(place, due);
        }
    }

    /// Shares out a TTI of the cell, if one begins.
    fn share(&mut self, now: Time, out: &mut Outbox) {
        if !self.cell.as_mut().is_some_and(|cell| cell.begin_tti(now)) {
            return;
        }
        for direction in Direction::BOTH {
            let Umts { cell: Some(cell), bearers, .. } = self else { return };
            cell.share(direction, |terminal, tti| bearers[terminal as usize].wish(direction, now, terminal, tti));
            while let Some((terminal, blocks)) = self.cell.as_mut().and_then(SharedCell::next_grant) {
                let bearer = &mut self.bearers[terminal as usize];
                let sent = bearer.on_grant(direction, now, blocks, self.cell.as_mut(), out);
                self.calendar.set(terminal as usize, bearer.next_timeout());
                if let Some(cell) = &mut self.cell {
                    cell.give_back(direction, terminal, blocks - sent);
                }
            }
        }
        if let Some(cell) = &mut self.cell {
            cell.plan(now);
        }
        self.tell_preempted(now, out);
    }
}

/// The place of a part's bearer, and its direction.
fn place(part: u16) -> (usize, Direction) {
    (usize::from(part / 2), Direction::BOTH[usize::from(part % 2)])
}

impl Machine for Umts {
    fn on_packet(&mut self, now: Time, port: Port, packet: &Packet, out: &mut Outbox) {
        self.visit(port.0, now, out, |bearer, direction, cell, out| {
            bearer.on_packet(direction, now, packet, cell, out);
        });
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        if let Some(cell) = &mut self.cell {
            cell.on_timeout(now, out);
            self.tell_preempted(now, out);
        }
        while let Some((_, place)) = self.calendar.due(now) {
            self.bearers[place].on_timeout(now, self.cell.as_mut(), out);
            let due = self.look_at(place, now);
            self.calendar.answer(place, due);
        }
        if self.cell.is_some() {
            self.tell_preempted(now, out);
            self.share(now, out);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        let bearers = self.calendar.earliest();
        match &self.cell {
            None => bearers,
            Some(cell) => [bearers, cell.next_timeout()].into_iter().flatten().min(),
        }
    }
}

#[cfg(test)]
mod tests;
