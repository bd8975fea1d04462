//! How the capacity of a cell is shared out among the terminals that have something to send, in one direction.
//!
//! TS 25.321 leaves it open; O. Teyeb, "Quality of packet services in UMTS and heterogeneous networks" (2006), section
//! 2.3.1.2, names the ways. Each terminal has a position, which tells what it has had: octets, or resource, which is the cell's
//! power or time. In each TTI those of the first rank that are furthest behind are brought forward in whole blocks until the
//! resource is used up, so that all who wait are at the same position but for a block. Whoever begins to wait stands where
//! those stand who waited: what it did not want before gives it no claim, and what it had beyond its share counts. That is
//! start-time fair queueing (P. Goyal, H. Vin, H. Cheng, IEEE/ACM Transactions on Networking 5(5), 1997) with the resource of a
//! TTI at a time.

use share::{Break, Entry};

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
    /// How many of them are of use only together, at least one; the others come in such numbers too.
    pub at_once: u32,
    /// TTIs of the cell that a TTI of its channel lasts, from 1 to 8.
    pub ttis: u32,
    /// False while a TTI of its channel is running.
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
    /// The position, by rank, where those begin who have not waited: that of the hindmost of those who wait, or of the
    /// foremost when none had to.
    levels: Vec<f64>,
    /// Whether the ranks of the terminals are those of their settings.
    is_ranked: bool,
    /// Resource that longer TTIs take which are running, by TTI: the one with number `n` at place `n` modulo the length.
    running: [f64; LONGEST],
    /// Resource that was granted and given back while others waited; negative: that was used and was not there.
    balance: f64,
    /// Whether anybody was left wanting in the last TTI.
    is_short: bool,
    /// Number of the TTI.
    tti: u64,
    /// Kept for their memory.
    entries: Vec<Entry>,
    breaks: Vec<Break>,
}

/// The longest TTI of a channel in those of a cell: 80 ms in 10 ms (TS 25.302 §7.1.6).
const LONGEST: usize = 8;

/// What the scheduler knows of a terminal.
#[derive(Clone, Debug)]
struct Terminal {
    /// Octets that a TTI carries when the terminal has the whole cell.
    octets_per_tti: f64,
    /// Octets of a block.
    block: f64,
    priority: PriorityLevel,
    /// Terminals of a smaller rank come first.
    rank: u32,
    /// What it has had: octets, resource, or the mean of its octets per TTI up to TTI number `seen`.
    had: f64,
    /// What it has saved of the price of its next blocks.
    saved: f64,
    /// Whether it got less than it wanted when it was ready last.
    is_waiting: bool,
    /// Number of the last TTI in which it wished something.
    seen: u64,
    /// Of its channel in that TTI.
    ttis: u32,
}

impl Terminal {
    /// The resource that one block takes.
    fn cost(&self) -> f64 {
        self.block / self.octets_per_tti
    }

    /// The resource that it takes of each TTI that a TTI of the channel lasts.
    fn price(&self) -> f64 {
        self.cost() / f64::from(self.ttis)
    }
}

impl Scheduler {
    /// A scheduler without terminals; `memory` is the number of TTIs over which proportional fairness forgets.
    pub fn new(discipline: Discipline, memory: f64) -> Self {
        Scheduler {
            discipline,
            memory: memory.max(1.0),
            terminals: Vec::new(),
            levels: Vec::new(),
            is_ranked: false,
            running: [0.0; LONGEST],
            balance: 0.0,
            is_short: false,
            tti: 0,
            entries: Vec::new(),
            breaks: Vec::new(),
        }
    }

    /// Changes the discipline from the next TTI on.
    pub fn set_discipline(&mut self, discipline: Discipline, memory: f64) {
        if std::mem::discriminant(&discipline) != std::mem::discriminant(&self.discipline) {
            // Positions mean something else.
            self.terminals.iter_mut().for_each(|terminal| (terminal.had, terminal.is_waiting) = (0.0, false));
            self.levels.clear();
            self.is_ranked = false;
        }
        self.discipline = discipline;
        self.memory = memory.max(1.0);
    }

    /// Adds the terminal with the next number: `octets_per_tti` is what it could send with the whole cell, `block` the octets of
    /// its blocks.
    pub fn add(&mut self, octets_per_tti: f64, block: f64, priority: PriorityLevel) {
        self.is_ranked = false;
        self.terminals.push(Terminal {
            octets_per_tti,
            block,
            priority,
            rank: u32::MAX,
            had: 0.0,
            saved: 0.0,
            is_waiting: false,
            seen: 0,
            ttis: 1,
        });
    }

    /// Changes what is known of a terminal.
    pub fn set(&mut self, terminal: u32, octets_per_tti: f64, block: f64, priority: PriorityLevel) {
        let terminal = &mut self.terminals[terminal as usize];
        let is_other = terminal.octets_per_tti != octets_per_tti && self.discipline == Discipline::CI;
        self.is_ranked &= terminal.priority == priority && !is_other;
        (terminal.octets_per_tti, terminal.block, terminal.priority) = (octets_per_tti, block, priority);
    }

    /// Shares out the TTI that comes `passed` TTIs after the last one that was shared out: `resource` is the part of it that is
    /// there, `wishes` leaves out who has none. Of two who are equal, the one that stands first comes first.
    pub fn share(&mut self, passed: u64, resource: f64, wishes: &mut [Wish]) {
        let available = self.pass(passed, resource);
        self.rank();
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        for (place, wish) in wishes.iter_mut().enumerate() {
            wish.granted = 0;
            entries.extend(self.enter(place as u32, wish));
        }
        let outcome = share::share(&mut entries, &mut self.breaks, available);
        self.is_short = outcome.satisfied.len() < entries.len();
        self.balance = available.min(0.0);
        self.lift_levels(&entries[outcome.satisfied], &entries[outcome.partial]);
        for entry in &entries {
            let wish = &mut wishes[entry.place as usize];
            wish.granted = entry.granted * wish.at_once;
            let terminal = &mut self.terminals[wish.terminal as usize];
            (terminal.saved, terminal.is_waiting) = (entry.saved, entry.is_short());
            terminal.had = entry.position * unit(self.discipline, terminal);
            for later in 1..terminal.ttis {
                self.running[slot(self.tti + u64::from(later))] += entry.taken;
            }
        }
        self.entries = entries;
    }

    /// Takes back what a terminal was granted in the TTI that was shared out last, and had no use for.
    pub fn give_back(&mut self, terminal: u32, blocks: u32) {
        let terminal = &mut self.terminals[terminal as usize];
        let blocks = f64::from(blocks);
        terminal.had -= blocks * step(self.discipline, self.memory, terminal) * unit(self.discipline, terminal);
        let price = blocks * terminal.price();
        if self.is_short {
            self.balance += price;
        }
        for later in 1..terminal.ttis {
            self.running[slot(self.tti + u64::from(later))] -= price;
        }
    }

    /// Lets TTIs pass; returns what is there of the last of them.
    fn pass(&mut self, passed: u64, resource: f64) -> f64 {
        let skipped = passed - 1;
        if skipped > 0 {
            let running =
                (1..passed).take(LONGEST).map(|later| std::mem::take(&mut self.running[slot(self.tti + later)]));
            self.balance = (self.balance - running.sum::<f64>() + skipped as f64 * resource).min(0.0);
        }
        self.tti += passed;
        self.balance -= std::mem::take(&mut self.running[slot(self.tti)]);
        if let Discipline::ProportionalFair(_) = self.discipline {
            let faded = fading(self.memory, passed);
            self.levels.iter_mut().for_each(|level| *level *= faded);
        }
        self.balance + resource
    }

    /// Gives the terminals their ranks, where that has to be done anew.
    fn rank(&mut self) {
        if std::mem::replace(&mut self.is_ranked, true) {
            return;
        }
        if self.discipline != Discipline::CI {
            self.levels.resize(PriorityLevel::ALL.len(), 0.0);
            for terminal in &mut self.terminals {
                let rank = terminal.priority as u32;
                if std::mem::replace(&mut terminal.rank, rank) != rank {
                    (terminal.had, terminal.is_waiting) = (0.0, false);
                }
            }
            return;
        }
        let mut order: Vec<_> = self.terminals.iter_mut().collect();
        order.sort_by(|a, b| a.priority.cmp(&b.priority).then(b.octets_per_tti.total_cmp(&a.octets_per_tti)));
        let (mut rank, mut before) = (0, None);
        for terminal in order {
            let this = (terminal.priority, terminal.octets_per_tti);
            rank += u32::from(before.is_some_and(|before| before != this));
            before = Some(this);
            (terminal.rank, terminal.had, terminal.is_waiting) = (rank, 0.0, false);
        }
        self.levels.clear();
        self.levels.resize(rank as usize + 1, 0.0);
    }

    /// What a terminal brings to the TTI, if it is ready.
    fn enter(&mut self, place: u32, wish: &Wish) -> Option<Entry> {
        let terminal = &mut self.terminals[wish.terminal as usize];
        if terminal.seen + 1 < self.tti {
            (terminal.is_waiting, terminal.saved) = (false, 0.0);
        }
        if let Discipline::ProportionalFair(_) = self.discipline {
            terminal.had *= fading(self.memory, self.tti - terminal.seen);
        }
        terminal.seen = self.tti;
        if !wish.is_ready {
            return None;
        }
        terminal.ttis = wish.ttis;
        let position = terminal.had / unit(self.discipline, terminal);
        let level = self.levels[terminal.rank as usize];
        Some(Entry {
            place,
            rank: terminal.rank,
            blocks: wish.blocks / wish.at_once,
            price: terminal.price() * f64::from(wish.at_once),
            saved: terminal.saved,
            position: if terminal.is_waiting { position } else { position.max(level) },
            step: step(self.discipline, self.memory, terminal) * f64::from(wish.at_once),
            ..Entry::default()
        })
    }

    /// Lets the levels follow those who have been served.
    fn lift_levels(&mut self, satisfied: &[Entry], partial: &[Entry]) {
        for entry in satisfied {
            let level = &mut self.levels[entry.rank as usize];
            *level = level.max(entry.position);
        }
        if let Some(entry) = partial.first() {
            let waiting = partial.iter().filter(|entry| entry.is_short());
            let hindmost = waiting.map(|entry| entry.position).fold(f64::INFINITY, f64::min);
            let level = &mut self.levels[entry.rank as usize];
            if hindmost < f64::INFINITY {
                *level = level.max(hindmost);
            }
        }
    }
}

/// How much further a block brings a terminal.
fn step(discipline: Discipline, memory: f64, terminal: &Terminal) -> f64 {
    match discipline {
        Discipline::FairThroughput => terminal.block,
        Discipline::FairResource | Discipline::CI => terminal.cost(),
        Discipline::ProportionalFair(_) => terminal.cost() / memory,
    }
}

/// What makes a position of what a terminal has had: the mean of its octets counts by what it could have.
fn unit(discipline: Discipline, terminal: &Terminal) -> f64 {
    match discipline {
        Discipline::FairThroughput | Discipline::FairResource | Discipline::CI => 1.0,
        Discipline::ProportionalFair(_) => terminal.octets_per_tti,
    }
}

/// What is left of a mean after so many TTIs in which nothing was added.
fn fading(memory: f64, ttis: u64) -> f64 {
    (1.0 - 1.0 / memory).powi(i32::try_from(ttis).unwrap_or(i32::MAX))
}

fn slot(tti: u64) -> usize {
    (tti % LONGEST as u64) as usize
}

#[cfg(test)]
mod tests;
