//! A session: a World with its plan of changes, driven in virtual time or by a clock through the same doors.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use cellwind_engine::fact::{DropReason, FactRow};
use cellwind_engine::machine::Machine;
use cellwind_engine::packet::{Body, FlowId, Packet};
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::Size;
use cellwind_engine::world::{MachineId, Stalled, World};
use cellwind_path::traffic::Traffic;
use cellwind_radio::access::Stage;
use cellwind_radio::handover::Handover;
use cellwind_radio::mac::cell::settings::RadioSettings;
use cellwind_radio::settings::Manner;

use crate::build::{Built, FlowEndpoints, Part, Record, TO_TERMINALS, TerminalStages, build, build_live};
use crate::change::{Applied, Change, ChangeError, Patch, PatchSettings, Planned, When};
use crate::load::Loaded;
use crate::machines::AnyMachine;
use crate::mobility::Mover;
use crate::model::{Access, Link, Scenario, Spikes, Terminal};
use crate::run::{BearerResult, LinkResult};
use crate::spikes::SpikeSource;
use cellwind_engine::directions::{Direction, Directions};

/// A World with its plan of changes and its delay spikes.
///
/// Whoever drives it waits for [`next_timeout`](Session::next_timeout), calls
/// [`advance_to`](Session::advance_to), puts packets in by [`inject`](Session::inject) and takes those that left by
/// [`take_egress`](Session::take_egress). A late call changes nothing: packets and changes keep their own instants.
pub struct Session {
    world: World<AnyMachine>,
    flows: Vec<FlowEndpoints>,
    links: Vec<Directions<MachineId>>,
    terminals: Vec<TerminalStages>,
    link_settings: Vec<Link>,
    accesses: Vec<Access>,
    /// Accesses that are other for one terminal: its place, and that of the access.
    own: BTreeMap<(usize, usize), Access>,
    /// How each terminal stands in its cell.
    radios: Vec<RadioSettings>,
    access_names: Vec<String>,
    terminal_names: Vec<String>,
    /// Changes at instants, the first one first.
    timed: VecDeque<(Time, Planned)>,
    /// Changes after amounts of data, in the order of the scenario.
    after: Vec<(u16, Size, Planned)>,
    /// Those that have been applied.
    applied: Arc<Applied>,
    /// Spikes that come again and again, and what they hold.
    sources: Vec<(SpikeSource, Vec<Part>)>,
    /// Terminals on their ways.
    movers: Vec<Mover>,
    /// The ends of spikes that are going on.
    spikes: Vec<(Time, Vec<Part>)>,
    /// The ends of handovers at which terminals repeat their last acknowledgements, and how often.
    repeats: Vec<(Time, usize, u32)>,
    /// The receivers of each terminal that can do so.
    receivers: Vec<Vec<MachineId>>,
    /// How many spikes and pauses hold a part.
    holds: BTreeMap<Part, u32>,
    is_paused: bool,
    refused: Vec<ChangeError>,
}

impl Session {
    /// A session of one replication with the flows of the scenario.
    pub(crate) fn simulated(scenario: &Scenario, replication: u32, record: Record) -> Session {
        Session::new(scenario, replication, build(scenario, replication, record))
    }

    /// A live session of one replication: packets come from outside and leave to it. There is an entry and an exit for
    /// each terminal and direction, and each terminal has a bearer in every access, unless these are too many.
    pub fn live(loaded: &Loaded, replication: u32, facts: bool) -> Session {
        let record = Record { facts: facts.then(Vec::new), capture: false };
        Session::new(&loaded.scenario, replication, build_live(&loaded.scenario, replication, record))
    }

    fn new(scenario: &Scenario, replication: u32, built: Built) -> Session {
        let Built { world, flows, links, terminals } = built;
        let mut timed = Vec::new();
        let mut after = Vec::new();
        for planned in &scenario.plan {
            match planned.when {
                When::At(at) => timed.push((at, planned.clone())),
                When::After { terminal, amount } => after.push((terminal, amount, planned.clone())),
            }
        }
        timed.sort_by_key(|&(at, _)| at); // stable: at one instant in the order of the scenario
        let receivers = scenario.terminal.keys().map(|terminal| {
            let here = scenario.flow.values().zip(&flows).filter(|(flow, _)| scenario.repeats_acks(terminal, flow));
            here.map(|(_, ends)| ends.receiver).collect()
        });
        let mut session = Session {
            receivers: receivers.collect(),
            repeats: Vec::new(),
            world,
            flows,
            links,
            terminals,
            link_settings: scenario.link.values().cloned().collect(),
            accesses: scenario.access.values().cloned().collect(),
            own: BTreeMap::new(),
            radios: scenario.terminal.values().map(Terminal::radio).collect(),
            access_names: scenario.access.keys().cloned().collect(),
            terminal_names: scenario.terminal.keys().cloned().collect(),
            timed: timed.into(),
            after,
            applied: Arc::new(Applied::none_of(scenario.plan.len())),
            sources: Vec::new(),
            movers: Vec::new(),
            spikes: Vec::new(),
            holds: BTreeMap::new(),
            is_paused: false,
            refused: Vec::new(),
        };
        for (name, spikes) in &scenario.spikes {
            let stream = Stream::new(scenario.seed, replication, &format!("spikes/{name}"));
            let machines = session.held_by(scenario, spikes);
            session.sources.push((SpikeSource::new(spikes, stream), machines));
        }
        session.set_out(scenario, replication);
        session
    }

    /// The instant of the last event or change.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// When something happens next without input from outside.
    pub fn next_timeout(&mut self) -> Option<Time> {
        let something = self.world.next_timeout().into_iter().chain(self.next_planned()).min()?;
        // Where nothing else is left to happen, spikes and moves to come would only keep the session from ending.
        Some(self.next_spike().into_iter().chain(self.next_move()).fold(something, Time::min))
    }

    /// When the next planned change at an instant, or what the end of a spike or handover brings, is due.
    fn next_planned(&self) -> Option<Time> {
        let planned = self.timed.front().map(|&(at, _)| at);
        let spikes = self.spikes.iter().map(|&(ends, _)| ends);
        planned.into_iter().chain(spikes).chain(self.repeats.iter().map(|&(ends, ..)| ends)).min()
    }

    /// When the next spike that comes again and again begins.
    fn next_spike(&self) -> Option<Time> {
        self.sources.iter().filter_map(|(source, _)| source.next()).min()
    }

    /// Runs every event and applies every change up to and including `t`. Changes come after the events of their
    /// instant.
    pub fn advance_to(&mut self, t: Time) -> Result<(), Stalled> {
        loop {
            let changes = [self.next_planned(), self.next_spike(), self.next_move()];
            let due = changes.into_iter().flatten().min().filter(|&due| due <= t);
            self.world.advance_to(due.unwrap_or(t))?;
            let noticed = self.apply_reached()?;
            match due {
                _ if self.world.all_finished() => return Ok(()),
                _ if noticed => {}
                Some(due) => self.apply_due(due)?,
                None => return Ok(()),
            }
        }
    }

    /// Puts a packet in at the present instant: on its way down to a terminal, or up from it.
    pub fn inject(&mut self, terminal: u16, direction: Direction, packet: Packet) -> Result<(), Stalled> {
        let entry = 2 * terminal + u16::from(direction == Direction::Up);
        self.world.inject(entry, Packet { flow: FlowId(terminal), ..packet })?;
        self.apply_reached()?;
        Ok(())
    }

    /// Takes the packets that left: when, at which terminal or from which, in which direction, what.
    pub fn take_egress(&mut self) -> impl Iterator<Item = (Time, u16, Direction, Packet)> + '_ {
        self.world.take_egress().map(|(time, exit, packet)| {
            let direction = if exit == TO_TERMINALS { Direction::Down } else { Direction::Up };
            (time, packet.flow.0, direction, packet)
        })
    }

    /// Takes the payloads of the packets that were dropped, and why they were.
    pub fn take_dropped(&mut self) -> impl Iterator<Item = (Body, DropReason)> + '_ {
        self.world.take_dropped()
    }

    /// Takes the facts told so far and keeps their memory for the next ones.
    pub fn drain_facts(&mut self) -> impl Iterator<Item = FactRow> + '_ {
        self.world.drain_facts()
    }

    /// The events that have been applied, to be read while the session goes on.
    pub fn applied(&self) -> Arc<Applied> {
        Arc::clone(&self.applied)
    }

    /// Takes the planned changes that could not be applied.
    pub fn take_refused(&mut self) -> Vec<ChangeError> {
        std::mem::take(&mut self.refused)
    }

    /// Names of the machines that facts refer to by number.
    pub fn machine_names(&self) -> Vec<String> {
        self.world.names().to_vec()
    }

    /// Every machine, or each part of those that have parts: the number of its name, the machine, and the part.
    fn parts(&self) -> impl Iterator<Item = (u16, &AnyMachine, u16)> {
        let numbers = self.world.name_numbers();
        self.world.machines().zip(numbers).flat_map(|((_, machine), (number, parts))| {
            let whole = (parts == 0).then_some((number, machine, 0));
            whole.into_iter().chain((0..parts).map(move |part| (number + 1 + part, machine, part)))
        })
    }

    /// What went through each stage of the path, by machine number.
    pub fn counters(&self) -> impl Iterator<Item = (u16, Traffic)> {
        self.parts().filter_map(|(number, machine, part)| Some((number, machine.traffic(part)?)))
    }

    /// The place of the access that each terminal is in, or moves to.
    pub fn access_of(&self, terminal: u16) -> Option<u16> {
        let terminal = &self.terminals[usize::from(terminal)];
        let place = terminal.switch.as_ref().map_or(0, |switch| match self.world.machine(switch.down) {
            AnyMachine::Handover(switch) => usize::from(switch.access()),
            _ => 0,
        });
        terminal.bearers.get(place).map(|bearer| bearer.access as u16)
    }

    /// Whether the path is paused.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// What went through bearers, and through links and the switches of terminals that move, so far.
    pub fn results(&self) -> (Vec<BearerResult>, Vec<LinkResult>) {
        let (mut bearers, mut links) = (Vec::new(), Vec::new());
        for (number, machine, part) in self.parts() {
            let name = &self.world.names()[usize::from(number)];
            if let AnyMachine::Handover(switch) = machine {
                links.push(LinkResult { name: name.clone(), traffic: *switch.traffic() });
            }
            let AnyMachine::Stage(stage) = machine else { continue };
            match (stage, name.strip_prefix("access/"), name.strip_prefix("link/")) {
                (Stage::Faults(_), ..) => {}
                (_, Some(name), _) => bearers.push(BearerResult {
                    name: name.into(),
                    traffic: stage.traffic(part),
                    blocks: stage.blocks(part).copied().unwrap_or_default(),
                }),
                (_, None, Some(name)) => links.push(LinkResult { name: name.into(), traffic: stage.traffic(part) }),
                (_, None, None) => {}
            }
        }
        (bearers, links)
    }

    /// Checks the invariants of every machine: its name and what is wrong.
    pub fn check(&self) -> Result<(), (String, String)> {
        for (name, machine) in self.world.machines() {
            machine.check().map_err(|what| (name.to_string(), what))?;
        }
        Ok(())
    }

    /// The machines and the time, for those who simulate.
    pub(crate) fn world(&self) -> &World<AnyMachine> {
        &self.world
    }

    /// The machines and the time, to take what was recorded.
    pub(crate) fn world_mut(&mut self) -> &mut World<AnyMachine> {
        &mut self.world
    }

    /// The two ends of each flow.
    pub(crate) fn flows(&self) -> &[FlowEndpoints] {
        &self.flows
    }
}

impl Session {
    /// Applies a change at the present instant, to all that it concerns or, on an error, to nothing.
    pub fn apply(&mut self, change: &Change) -> Result<(), ChangeError> {
        match change {
            Change::Set(patches) => self.set(patches)?,
            Change::Handover { terminal, to, manner, duplicate_acks } => {
                let terminal = usize::from(*terminal);
                self.handover(terminal, usize::from(*to), *manner)?;
                self.repeats.retain(|&(_, of, _)| of != terminal); // the handover before is replaced, if it lasts
                if let (1.., Manner::Hard { delay, .. }) = (*duplicate_acks, *manner) {
                    self.repeats.push((self.world.now() + delay, terminal, *duplicate_acks));
                }
            }
            Change::Spike { terminal, duration } => self.spike(*terminal, *duration)?,
            Change::Pause if !self.is_paused => {
                self.is_paused = true;
                self.hold(&self.all_stages())?;
            }
            Change::Resume if self.is_paused => {
                self.is_paused = false;
                self.release(&self.all_stages())?;
            }
            Change::Pause | Change::Resume => {}
        }
        self.apply_reached()?;
        Ok(())
    }

    /// Ends the spikes of this instant, repeats acknowledgements where handovers have ended, applies its planned changes,
    /// begins its spikes, and lets terminals move on.
    fn apply_due(&mut self, now: Time) -> Result<(), Stalled> {
        while let Some(over) = self.spikes.iter().position(|&(ends, _)| ends <= now) {
            let (_, machines) = self.spikes.remove(over);
            self.release(&machines)?;
        }
        while let Some(over) = self.repeats.iter().position(|&(ends, ..)| ends <= now) {
            let (_, terminal, times) = self.repeats.remove(over);
            for place in 0..self.receivers[terminal].len() {
                self.world.change(self.receivers[terminal][place], |machine, now, out| match machine {
                    AnyMachine::Sink(sink) => sink.ask_for_retransmission(times, now, out),
                    _ => unreachable!("a plain transfer by TCP has a sink"),
                })?;
            }
        }
        while self.timed.front().is_some_and(|&(at, _)| at <= now) {
            let Some((_, planned)) = self.timed.pop_front() else { break };
            self.apply_event(&planned)?;
        }
        for index in 0..self.sources.len() {
            while let Some(ends) = self.sources[index].0.take(now) {
                let machines = self.sources[index].1.clone();
                self.hold(&machines)?;
                self.spikes.push((ends, machines));
            }
        }
        self.move_on()
    }

    /// Applies the changes whose amount of data has been reached, if machines called for notice; says whether they did.
    fn apply_reached(&mut self) -> Result<bool, Stalled> {
        let mut noticed = false;
        while self.world.take_notice() {
            noticed = true;
            let reached = |session: &Session| {
                session.after.iter().position(|(terminal, amount, _)| session.passed(*terminal) >= *amount)
            };
            while let Some(reached) = reached(self) {
                let (_, _, planned) = self.after.remove(reached);
                self.apply_event(&planned)?;
            }
            self.move_on()?;
        }
        Ok(noticed)
    }

    fn apply_event(&mut self, planned: &Planned) -> Result<(), Stalled> {
        if self.apply_planned(&planned.change)? {
            self.applied.add(planned.event);
        }
        Ok(())
    }

    /// Applies a change that cannot be answered; says whether it was.
    fn apply_planned(&mut self, change: &Change) -> Result<bool, Stalled> {
        match self.apply(change) {
            Ok(()) => Ok(true),
            Err(ChangeError::Stalled(stalled)) => Err(stalled),
            Err(error) => {
                self.refused.push(error);
                Ok(false)
            }
        }
    }

    /// What a terminal was delivered.
    fn passed(&self, terminal: u16) -> Size {
        let meter = self.terminals[usize::from(terminal)].meter.map(|meter| self.world.machine(meter));
        match meter {
            Some(AnyMachine::Meter(meter)) => meter.passed(),
            _ => Size::ZERO,
        }
    }

    fn set(&mut self, patches: &[Patch]) -> Result<(), ChangeError> {
        let mut link_settings = None;
        let mut accesses = None;
        let mut own = None;
        for patch in patches {
            let Patch { place, terminal, direction, keys, settings } = patch;
            match settings {
                PatchSettings::Link(new) => {
                    let links = link_settings.get_or_insert_with(|| self.link_settings.clone());
                    let settings = links[*place].get_mut(*direction);
                    keys.iter().for_each(|key| settings.adopt(key, new));
                }
                PatchSettings::Terminal(_) => {}
                PatchSettings::Access(new) => {
                    let all = accesses.get_or_insert_with(|| self.accesses.clone());
                    let own = own.get_or_insert_with(|| self.own.clone());
                    let adopt = |access: &mut Access| keys.iter().for_each(|key| access.adopt(*direction, key, new));
                    match terminal {
                        Some(terminal) => adopt(own.entry((*terminal, *place)).or_insert_with(|| all[*place].clone())),
                        None => {
                            adopt(&mut all[*place]);
                            own.iter_mut().filter(|((_, at), _)| at == place).for_each(|(_, access)| adopt(access));
                        }
                    }
                }
            }
        }
        let all = accesses.iter().flatten().enumerate();
        let of_one = own.iter().flatten().map(|(&(_, place), access)| (place, access));
        if let Some((place, _)) = all.chain(of_one).find(|(_, access)| !access.carries_blocks()) {
            return Err(ChangeError::NoBlock { access: self.access_names[place].clone() });
        }
        self.link_settings = link_settings.unwrap_or_else(|| std::mem::take(&mut self.link_settings));
        self.accesses = accesses.unwrap_or_else(|| std::mem::take(&mut self.accesses));
        self.own = own.unwrap_or_else(|| std::mem::take(&mut self.own));
        for patch in patches {
            self.put(patch)?;
        }
        Ok(())
    }

    /// Gives the machines of a patch their settings as they are now.
    fn put(&mut self, patch: &Patch) -> Result<(), Stalled> {
        let Patch { place, terminal: only, direction, settings, keys } = patch;
        if let PatchSettings::Link(_) = settings {
            let settings = self.link_settings[*place].get(*direction);
            let id = *self.links[*place].get(*direction);
            return self.world.change(id, |machine, now, out| {
                if let Stage::Link(link) = machine.stage_mut() {
                    link.set_settings(now, settings, out);
                }
            });
        }
        if let PatchSettings::Terminal(new) = settings {
            keys.iter().for_each(|key| self.radios[*place].adopt(key, new));
            let radio = self.radios[*place];
            for bearer in &self.terminals[*place].bearers {
                let (id, part) = bearer.stages.down[0];
                self.world.change(id, |machine, now, out| machine.stage_mut().set_radio(part, now, radio, out))?;
            }
            return Ok(());
        }
        let all = self.terminals.iter().enumerate();
        for (terminal, bearer) in all.flat_map(|(at, terminal)| terminal.bearers.iter().map(move |bearer| (at, bearer)))
        {
            if bearer.access != *place || only.is_some_and(|only| only != terminal) {
                continue;
            }
            let (id, part) = bearer.stages.get(*direction)[0];
            let access = self.own.get(&(terminal, *place)).unwrap_or(&self.accesses[*place]);
            self.world.change(id, |machine, now, out| {
                machine.stage_mut().set_access(part, now, *direction, access, out);
            })?;
        }
        Ok(())
    }

    fn handover(&mut self, terminal: usize, to: usize, manner: Manner) -> Result<(), ChangeError> {
        let stages = &self.terminals[terminal];
        let target = stages.bearers.iter().position(|bearer| bearer.access == to);
        let (Some(target), Some(switches)) = (target, &stages.switch) else {
            let (terminal, access) = (self.terminal_names[terminal].clone(), self.access_names[to].clone());
            return Err(ChangeError::NoBearer { terminal, access });
        };
        for direction in Direction::BOTH {
            let switch = *switches.get(direction);
            let Manner::Hard { delay, buffering } = manner else {
                self.world.change(switch, |machine, _, out| of_switch(machine).begin_soft(target as u8, out))?;
                continue;
            };
            let left = self.world.change(switch, |machine, now, out| {
                of_switch(machine).begin(now, target as u8, delay, buffering.get(direction), out)
            })?;
            for bearer in left {
                // The stage next to the end first, since it holds the oldest packets.
                for &(stage, part) in stages.bearers[usize::from(bearer)].stages.get(direction).iter().rev() {
                    self.world.change(stage, |machine, now, out| machine.stage_mut().flush(part, now, out))?;
                }
            }
        }
        if matches!(manner, Manner::Hard { delay: Span::ZERO, .. }) {
            // When both directions are empty, since a bearer may be made anew for both at once.
            for direction in Direction::BOTH {
                // Not by way of the enum, whose only caller is the World.
                let switch = *switches.get(direction);
                self.world.change(switch, |machine, now, out| of_switch(machine).on_timeout(now, out))?;
            }
        }
        Ok(())
    }

    fn spike(&mut self, terminal: Option<u16>, duration: Span) -> Result<(), Stalled> {
        let machines = match terminal {
            Some(terminal) => self.bearers_of(usize::from(terminal), &Direction::BOTH),
            None => self.all_bearers(&Direction::BOTH),
        };
        self.hold(&machines)?;
        self.spikes.push((self.world.now() + duration, machines));
        Ok(())
    }

    /// The transmitters of a terminal: its bearers, or without an access the link next to it.
    fn bearers_of(&self, terminal: usize, ways: &[Direction]) -> Vec<Part> {
        let bearers = &self.terminals[terminal].bearers;
        let of_bearers = bearers.iter().flat_map(|bearer| ways.iter().map(|&way| bearer.stages.get(way)[0]));
        let next_link = self.links.last().filter(|_| bearers.is_empty());
        of_bearers.chain(next_link.into_iter().flat_map(|link| ways.iter().map(|&way| (*link.get(way), 0)))).collect()
    }

    /// The transmitters of all terminals.
    fn all_bearers(&self, ways: &[Direction]) -> Vec<Part> {
        let all = (0..self.terminals.len()).flat_map(|terminal| self.bearers_of(terminal, ways));
        all.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// What the spikes of a table hold.
    fn held_by(&self, scenario: &Scenario, spikes: &Spikes) -> Vec<Part> {
        let one = spikes.direction.map(|way| [way]);
        let ways = one.as_ref().map_or(&Direction::BOTH[..], |one| one);
        let link = spikes.link.as_ref().and_then(|name| scenario.link.get_index_of(name));
        let terminal = spikes.terminal.as_ref().and_then(|name| scenario.terminal.get_index_of(name));
        match (link, terminal) {
            (Some(link), _) => ways.iter().map(|&way| (*self.links[link].get(way), 0)).collect(),
            (None, Some(terminal)) => self.bearers_of(terminal, ways),
            (None, None) => self.all_bearers(ways),
        }
    }

    /// Every transmitter.
    fn all_stages(&self) -> Vec<Part> {
        let links = self.links.iter().flat_map(|link| [(link.down, 0), (link.up, 0)]);
        let bearers = self.terminals.iter().flat_map(|terminal| &terminal.bearers);
        links.chain(bearers.flat_map(|bearer| [bearer.stages.down[0], bearer.stages.up[0]])).collect()
    }

    fn hold(&mut self, parts: &[Part]) -> Result<(), Stalled> {
        for &(id, part) in parts {
            let holds = self.holds.entry((id, part)).or_default();
            *holds += 1;
            if *holds == 1 {
                self.world.change(id, |machine, now, out| machine.stage_mut().hold(part, now, out))?;
            }
        }
        Ok(())
    }

    fn release(&mut self, parts: &[Part]) -> Result<(), Stalled> {
        for &(id, part) in parts {
            let holds = self.holds.entry((id, part)).or_insert(1);
            *holds -= 1;
            if *holds == 0 {
                self.world.change(id, |machine, now, out| machine.stage_mut().release(part, now, out))?;
            }
        }
        Ok(())
    }
}

fn of_switch(machine: &mut AnyMachine) -> &mut Handover {
    match machine {
        AnyMachine::Handover(switch) => switch,
        _ => unreachable!("it is a switch"),
    }
}

mod movers;
#[cfg(test)]
mod tests;
