//! A cell: the capacity that its terminals share, who may have a dedicated channel, and the calls that come first.
//!
//! O. Teyeb, "Quality of packet services in UMTS and heterogeneous networks" (2006), section 2.3.1.2: the traffic handling
//! priority says who is served first while data flows, the allocation/retention priority who is admitted.

use cellwind_engine::directions::{Direction, Directions};
use cellwind_engine::fact::{Fact, FactKind};
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::FlowId;
use cellwind_engine::random::Stream;
use cellwind_engine::time::Time;

use super::scheduler::settings::Discipline;
use super::scheduler::{Scheduler, Wish};
use admission::Admission;
use calls::Calls;
use settings::{CellSettings, RadioSettings};

mod admission;
mod calls;
pub mod settings;

/// A cell with its terminals, which have numbers from 0.
#[derive(Clone, Debug)]
pub struct Cell {
    settings: CellSettings,
    terminals: Vec<Member>,
    schedulers: Directions<Scheduler>,
    admission: Admission,
    calls: Option<Calls>,
    stream: Stream,
}

/// A terminal of the cell.
#[derive(Clone, Copy, Debug)]
struct Member {
    radio: RadioSettings,
    /// Octets of a block in each direction.
    blocks: Directions<u64>,
}

impl Cell {
    /// A cell without terminals; `stream` draws its calls.
    pub fn new(settings: &CellSettings, stream: Stream) -> Self {
        let mut cell = Cell {
            settings: settings.clone(),
            terminals: Vec::new(),
            schedulers: schedulers(settings),
            admission: Admission::default(),
            calls: None,
            stream,
        };
        cell.plan_calls(Time::ZERO);
        cell
    }

    /// Adds the terminal with the next number, whose blocks carry so many octets.
    pub fn add(&mut self, radio: RadioSettings, blocks: Directions<u64>) {
        self.terminals.push(Member { radio, blocks });
        self.enrol(self.terminals.len() - 1);
    }

    /// Makes the schedulers know a terminal, which has the next number for them.
    fn enrol(&mut self, terminal: usize) {
        let Member { radio, blocks } = self.terminals[terminal];
        for direction in Direction::BOTH {
            let octets = self.octets_per_tti(&radio, direction);
            let block = *blocks.get(direction) as f64;
            self.schedulers.get_mut(direction).add(octets, block, radio.priority());
        }
    }

    /// Shares out one TTI of a direction, `passed` TTIs after the last one; see [`Scheduler::share`].
    pub fn share(&mut self, direction: Direction, passed: u64, wishes: &mut [Wish]) {
        let free = self.free(direction);
        self.schedulers.get_mut(direction).share(passed, free, wishes);
    }

    /// Takes back blocks that a terminal was granted and did not send.
    pub fn give_back(&mut self, direction: Direction, terminal: u32, blocks: u32) {
        self.schedulers.get_mut(direction).give_back(terminal, blocks);
    }

    /// Whether a terminal may have a dedicated channel; it has it then, and those at whose expense it does are added to
    /// `preempted`.
    pub fn admit(&mut self, terminal: u32, preempted: &mut Vec<u32>) -> bool {
        let retention = self.terminals[terminal as usize].radio.retention();
        self.admission.admit(terminal, retention, self.needs(terminal), self.free_for_all(), preempted)
    }

    /// Whether anybody holds a dedicated channel that it was admitted to.
    pub fn has_holders(&self) -> bool {
        !self.admission.is_empty()
    }

    /// A terminal has no dedicated channel any more.
    pub fn release(&mut self, terminal: u32) {
        self.admission.release(terminal);
    }

    /// Takes over other settings of the cell; terminals that lose their dedicated channel by it are added to `preempted`.
    pub fn set_settings(&mut self, now: Time, settings: &CellSettings, preempted: &mut Vec<u32>, out: &mut Outbox) {
        let tti = std::mem::replace(&mut self.settings, settings.clone()).tti;
        if tti == settings.tti {
            for direction in Direction::BOTH {
                self.schedulers.get_mut(direction).set_discipline(settings.scheduler, memory(settings));
            }
        } else {
            self.schedulers = schedulers(settings); // which count in TTIs
            (0..self.terminals.len()).for_each(|terminal| self.enrol(terminal));
        }
        self.plan_calls(now);
        self.tell_calls(out);
        for terminal in 0..self.terminals.len() {
            self.set_up(terminal as u32);
        }
        self.admission.squeeze(self.free_for_all(), preempted);
    }

    /// Takes over other settings of a terminal; terminals that lose their dedicated channel by it are added to `preempted`.
    pub fn set_terminal(
        &mut self,
        terminal: u32,
        radio: RadioSettings,
        blocks: Directions<u64>,
        preempted: &mut Vec<u32>,
    ) {
        self.terminals[terminal as usize] = Member { radio, blocks };
        self.set_up(terminal);
        self.admission.squeeze(self.free_for_all(), preempted);
    }

    /// The instant last given by [`next_timeout`](Cell::next_timeout) has come; terminals that lose their dedicated channel to a
    /// call are added to `preempted`.
    pub fn on_timeout(&mut self, now: Time, preempted: &mut Vec<u32>, out: &mut Outbox) {
        let Some(calls) = &mut self.calls else { return };
        let before = (calls.busy(), calls.lost());
        calls.on_timeout(now);
        if (calls.busy(), calls.lost()) != before {
            self.tell_calls(out);
            self.admission.squeeze(self.free_for_all(), preempted);
        }
    }

    /// When a call begins or ends next.
    pub fn next_timeout(&self) -> Option<Time> {
        self.calls.as_ref().map(Calls::next_timeout)
    }

    fn tell_calls(&self, out: &mut Outbox) {
        if let Some(calls) = &self.calls {
            out.fact(Fact::new(FactKind::Calls, FlowId::NONE).values(calls.busy(), calls.lost()));
        }
    }

    /// The calls that the settings ask for.
    fn plan_calls(&mut self, now: Time) {
        let Some(settings) = self.settings.calls else {
            self.calls = None;
            return;
        };
        let least = Direction::BOTH.map(|direction| self.settings.capacity(direction)).into_iter().min();
        let most = least.expect("two directions").as_bps() / settings.rate.as_bps();
        match &mut self.calls {
            Some(calls) => calls.set_settings(now, settings, most),
            None => self.calls = Some(Calls::new(now, settings, most, self.stream.clone())),
        }
    }

    /// Makes the schedulers and the admission know what a terminal is like.
    fn set_up(&mut self, terminal: u32) {
        let Member { radio, blocks } = self.terminals[terminal as usize];
        for direction in Direction::BOTH {
            let octets = self.octets_per_tti(&radio, direction);
            let block = *blocks.get(direction) as f64;
            self.schedulers.get_mut(direction).set(terminal, octets, block, radio.priority());
        }
        self.admission.set(terminal, radio.retention(), self.needs(terminal));
    }

    fn octets_per_tti(&self, radio: &RadioSettings, direction: Direction) -> f64 {
        self.settings.alone(radio, direction) * self.settings.tti.as_secs_f64() / 8.0
    }

    /// The part of a direction that calls leave.
    fn free(&self, direction: Direction) -> f64 {
        let (Some(calls), Some(settings)) = (&self.calls, self.settings.calls) else { return 1.0 };
        let taken = calls.busy() * settings.rate.as_bps();
        (1.0 - taken as f64 / self.settings.capacity(direction).as_bps() as f64).max(0.0)
    }

    fn free_for_all(&self) -> f64 {
        self.free(Direction::Down).min(self.free(Direction::Up))
    }

    /// The part of the cell that a terminal can count on, in the direction where it is larger.
    fn needs(&self, terminal: u32) -> f64 {
        let Some(guaranteed) = self.settings.guaranteed else { return 0.0 };
        let radio = &self.terminals[terminal as usize].radio;
        let part = |direction| guaranteed.as_bps() as f64 / self.settings.alone(radio, direction);
        part(Direction::Down).max(part(Direction::Up))
    }
}

/// Schedulers of a cell without terminals.
fn schedulers(settings: &CellSettings) -> Directions<Scheduler> {
    let scheduler = Scheduler::new(settings.scheduler, memory(settings));
    Directions { down: scheduler.clone(), up: scheduler }
}

/// Number of TTIs over which the scheduler forgets.
fn memory(settings: &CellSettings) -> f64 {
    match settings.scheduler {
        Discipline::ProportionalFair(fair) => fair.time_constant.as_secs_f64() / settings.tti.as_secs_f64(),
        Discipline::FairThroughput | Discipline::FairResource | Discipline::CI => 1.0,
    }
}

#[cfg(test)]
mod tests;
