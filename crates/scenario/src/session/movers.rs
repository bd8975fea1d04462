//! Terminals on their ways.

use cellwind_engine::random::Stream;
use cellwind_engine::time::Time;
use cellwind_engine::world::Stalled;

use super::Session;
use crate::change::Change;
use crate::machines::AnyMachine;
use crate::mobility::Mover;
use crate::model::Scenario;

impl Session {
    /// Sets the terminals on their ways, at time zero.
    pub(super) fn set_out(&mut self, scenario: &Scenario, replication: u32) {
        let stream = |name: &str| Stream::new(scenario.seed, replication, name);
        self.movers = scenario.ways.iter().map(|way| Mover::new(way, stream)).collect();
        for mover in 0..self.movers.len() {
            let first = self.movers[mover].first();
            let begun = self.apply_planned(&Change::Set(first)).and_then(|_| self.await_amount(mover));
            debug_assert!(begun.is_ok(), "nothing has happened yet");
        }
    }

    /// When the next terminal decides where to go.
    pub(super) fn next_move(&self) -> Option<Time> {
        self.movers.iter().filter_map(Mover::next_timeout).min()
    }

    /// Makes the decisions that are due, by the time or by what was delivered.
    pub(super) fn move_on(&mut self) -> Result<(), Stalled> {
        for mover in 0..self.movers.len() {
            loop {
                let delivered = self.passed(self.movers[mover].terminal());
                let Some(step) = self.movers[mover].step(self.world.now(), delivered) else { break };
                // First the access, so that what a handover without delay brings meets it as it is now.
                self.apply_planned(&Change::Set(step.patches))?;
                if let Some(handover) = step.handover {
                    self.apply_planned(&handover)?;
                }
            }
            self.await_amount(mover)?;
        }
        Ok(())
    }

    /// Asks for notice of the amount that a terminal's next decision waits for.
    fn await_amount(&mut self, mover: usize) -> Result<(), Stalled> {
        let Some(amount) = self.movers[mover].next_amount() else { return Ok(()) };
        let terminal = usize::from(self.movers[mover].terminal());
        let Some(meter) = self.terminals[terminal].meter else { return Ok(()) };
        self.world.change(meter, |machine, _, _| {
            if let AnyMachine::Meter(meter) = machine {
                meter.call_at(amount);
            }
        })
    }
}
