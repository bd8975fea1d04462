//! How the capacity of a cell is shared out among the terminals that have something to send, in one direction.
//!
//! TS 25.321 leaves it open; O. Teyeb, "Quality of packet services in UMTS and heterogeneous networks" (2006), section
//! 2.3.1.2, names the ways. In each TTI every terminal gets a share of the resource, which is the cell's power or time, as if
//! it could be cut as finely as one likes; then whole blocks are handed out against these shares. What a terminal is behind
//! by, or ahead, stands in its credit, so that no rounding favours or starves anybody. A terminal that wants less than its
//! share leaves the rest to the others.

use share::Entry;

use settings::{Discipline, PriorityLevel};

pub mod settings;
mod share;

/// What a terminal wants to send in this TTI, and what it may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Number of the terminal.
    pub terminal: u32,
    /// Blocks that wait, at most so many as one TTI of its channel carries.
    pub blocks: u32,
    /// False while a longer TTI of its own is running, at whose end it takes what it is given meanwhile.
    pub is_ready: bool,
    /// Blocks that it may send now: the answer.
    pub granted: u32,
}

/// The scheduler of one direction of a cell.
#[derive(Clone, Debug)]
pub struct Scheduler {
    discipline: Discipline,
    /// Number of TTIs over which [`Discipline::ProportionalFair`] forgets.
    memory: f64,
    terminals: Vec<Terminal>,
    /// Resource that was there and is not used yet, in TTIs, as far as the credit of those who wish for some goes.
    bank: f64,
    /// Number of the TTI.
    tti: u64,
    /// Kept for its memory.
    entries: Vec<Entry>,
}

/// What the scheduler knows of a terminal.
#[derive(Clone, Debug)]
struct Terminal {
    /// Octets that a TTI carries when the terminal has the whole cell.
    octets_per_tti: f64,
    /// Octets of a block.
    block: f64,
    priority: PriorityLevel,
    /// Resource it was given and has not used, in TTIs; negative when it has used more.
    credit: f64,
    /// Mean of the octets it was given per TTI, up to and with TTI number `updated`.
    mean: f64,
    updated: u64,
}

impl Terminal {
    /// The resource that one block takes.
    fn cost(&self) -> f64 {
        self.block / self.octets_per_tti
    }
}

/// Differences below this, in TTIs, come from rounding.
const NOTHING: f64 = 1e-9;

impl Scheduler {
    /// A scheduler without terminals; `memory` is the number of TTIs over which proportional fairness forgets.
    pub fn new(discipline: Discipline, memory: f64) -> Self {
        Scheduler { discipline, memory: memory.max(1.0), terminals: Vec::new(), bank: 0.0, tti: 0, entries: Vec::new() }
    }

    /// Changes the discipline from the next TTI on.
    pub fn set_discipline(&mut self, discipline: Discipline, memory: f64) {
        self.discipline = discipline;
        self.memory = memory.max(1.0);
    }

    /// Adds the terminal with the next number: `octets_per_tti` is what it could send with the whole cell, `block` the octets of
    /// its blocks.
    pub fn add(&mut self, octets_per_tti: f64, block: f64, priority: PriorityLevel) {
        let terminal = Terminal { octets_per_tti, block, priority, credit: 0.0, mean: 0.0, updated: self.tti };
        self.terminals.push(terminal);
    }

    /// Changes what is known of a terminal.
    pub fn set(&mut self, terminal: u32, octets_per_tti: f64, block: f64, priority: PriorityLevel) {
        let terminal = &mut self.terminals[terminal as usize];
        (terminal.octets_per_tti, terminal.block, terminal.priority) = (octets_per_tti, block, priority);
    }

    /// Shares out one TTI: `resource` is the part of it that is there, `wishes` leaves out who has none. Of two who are equal,
    /// the one that stands first comes first.
    pub fn share(&mut self, resource: f64, wishes: &mut [Wish]) {
        self.tti += 1;
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        for wish in &*wishes {
            let number = wish.terminal;
            let terminal = &mut self.terminals[number as usize];
            let needs = f64::from(wish.blocks) * terminal.cost() - terminal.credit;
            if needs > NOTHING {
                let per_octet = 1.0 / terminal.octets_per_tti;
                let priority = terminal.priority;
                let key = match self.discipline {
                    Discipline::CI => terminal.octets_per_tti,
                    Discipline::ProportionalFair(_) => {
                        fade(terminal, self.tti - 1, self.memory);
                        terminal.octets_per_tti / terminal.mean
                    }
                    Discipline::FairThroughput | Discipline::FairResource => 0.0,
                };
                entries.push(Entry { priority, needs, per_octet, key, ..Entry::new(number) });
            }
        }
        let mut left = resource;
        let mut rest = &mut entries[..];
        // TS 23.107 §6.4.3†: traffic handling priority comes before all else.
        for priority in PriorityLevel::ALL {
            let (class, others) = share::split(rest, |entry| entry.priority == priority);
            rest = others;
            left -= match self.discipline {
                Discipline::FairThroughput => share::fill(class, left, |entry| entry.per_octet),
                Discipline::FairResource => share::fill(class, left, |_| 1.0),
                Discipline::CI | Discipline::ProportionalFair(_) => share::in_order(class, left),
            };
        }
        for entry in &entries {
            let terminal = &mut self.terminals[entry.terminal as usize];
            terminal.credit += entry.share;
            if let Discipline::ProportionalFair(_) = self.discipline {
                fade(terminal, self.tti, self.memory);
                terminal.mean += entry.share / entry.per_octet / self.memory;
            }
        }
        self.entries = entries;
        // What nobody needs pays for those who owe and have nothing to send, so that the others' credit is covered.
        let credit = |wish: &Wish| self.terminals[wish.terminal as usize].credit.max(0.0);
        self.bank = (self.bank + resource).min(wishes.iter().map(credit).sum());
        self.hand_out(wishes);
    }

    /// Takes back what a terminal was granted and had no use for.
    pub fn give_back(&mut self, terminal: u32, blocks: u32) {
        let terminal = &mut self.terminals[terminal as usize];
        let unused = f64::from(blocks) * terminal.cost();
        terminal.credit += unused;
        self.bank += unused;
    }

    /// Turns credit into whole blocks: first those that are covered by it, then one more each for those who are furthest from
    /// what is theirs, as long as the resource lasts.
    fn hand_out(&mut self, wishes: &mut [Wish]) {
        self.entries.clear();
        for (place, wish) in wishes.iter_mut().enumerate() {
            let terminal = &mut self.terminals[wish.terminal as usize];
            let cost = terminal.cost();
            let covered = ((terminal.credit.min(self.bank) + NOTHING) / cost).max(0.0) as u32; // rounds down
            wish.granted = if wish.is_ready { covered.min(wish.blocks) } else { 0 };
            let used = f64::from(wish.granted) * cost;
            terminal.credit -= used;
            self.bank -= used;
            if wish.is_ready && wish.granted < wish.blocks && terminal.credit > NOTHING {
                let behind = Entry { needs: cost, key: terminal.credit / cost, ..Entry::new(place as u32) };
                self.entries.push(behind);
            }
        }
        for entry in share::foremost(&mut self.entries, self.bank + NOTHING) {
            let wish = &mut wishes[entry.terminal as usize];
            wish.granted += 1;
            self.terminals[wish.terminal as usize].credit -= entry.needs;
            self.bank -= entry.needs;
        }
    }
}

/// Brings a terminal's mean up to TTI number `tti`, as if it had been given nothing since.
fn fade(terminal: &mut Terminal, tti: u64, memory: f64) {
    let missed = i32::try_from(tti - terminal.updated).unwrap_or(i32::MAX);
    if missed > 0 {
        terminal.mean *= (1.0 - 1.0 / memory).powi(missed);
        terminal.updated = tti;
    }
}

#[cfg(test)]
mod tests;
