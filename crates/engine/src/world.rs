//! The World: machines, their wiring and one calendar, behind four doors.
//!
//! [`next_timeout`](World::next_timeout) and [`advance_to`](World::advance_to) move time,
//! [`inject`](World::inject) and [`take_egress`](World::take_egress) exchange packets with the outside. A
//! late call changes nothing: every due instant is replayed in its own order with its own stamp.

use std::fmt;

use crate::calendar::Calendar;
use crate::fact::{DropReason, FactRow};
use crate::machine::{Machine, Outbox, Port, Sent};
use crate::packet::{Body, Packet};
use crate::time::Time;

/// Events at one instant after which a run counts as stalled; far above any real burst.
const MOST_EVENTS_AT_ONCE: u64 = 1_000_000;

/// How many of the last events before that are looked at for the machines to blame.
const SUSPECTS: u64 = 256;

/// A machine's number within its World.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineId(u16);

/// Where the packets of one output port go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// Into a machine's input port.
    To(MachineId, Port),
    /// Into the machine that the table names for the packet's flow, by flow number.
    ByFlow(Vec<(MachineId, Port)>),
    /// Out of the World, through the numbered exit.
    Exit(u16),
    /// Nowhere: no packet ever leaves through this port.
    Nowhere,
}

/// A packet seen at one of the points where packets are captured.
#[derive(Clone, Copy, Debug)]
pub struct Captured {
    /// When it passed.
    pub time: Time,
    /// The point, as numbered by [`World::capture_at`].
    pub point: u16,
    /// True when the machine there sent it, false when it received it.
    pub outgoing: bool,
    /// The packet.
    pub packet: Packet,
}

/// Time stands still: machines keep waking each other at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalled {
    /// The instant.
    pub time: Time,
    /// The machines that ran last, each once.
    pub machines: Vec<String>,
}

impl fmt::Display for Stalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "time stands still at {}: {MOST_EVENTS_AT_ONCE} events without progress, among {}",
            self.time,
            self.machines.join(", ")
        )
    }
}

impl std::error::Error for Stalled {}

/// Machines wired together, and the time.
pub struct World<M> {
    now: Time,
    machines: Vec<Node<M>>,
    /// Names of the machines, each followed by those of its parts; facts refer to them by number.
    names: Vec<String>,
    calendar: Calendar,
    outbox: Outbox,
    batch: Vec<Sent>,
    entries: Vec<(MachineId, Port)>,
    egress: Vec<(Time, u16, Packet)>,
    captured: Option<Vec<Captured>>,
    events: u64,
    events_at_now: u64,
    suspects: Vec<u16>,
    stop_when_finished: u32,
}

struct Node<M> {
    machine: M,
    /// Number of its name.
    name: u16,
    routes: Vec<Route>,
    capture_point: Option<u16>,
}

impl<M: Machine> Default for World<M> {
    fn default() -> Self {
        World::new()
    }
}

impl<M: Machine> World<M> {
    /// An empty World at time zero that records neither facts nor packets.
    pub fn new() -> Self {
        World {
            now: Time::ZERO,
            machines: Vec::new(),
            names: Vec::new(),
            calendar: Calendar::default(),
            outbox: Outbox::default(),
            batch: Vec::new(),
            entries: Vec::new(),
            egress: Vec::new(),
            captured: None,
            events: 0,
            events_at_now: 0,
            suspects: Vec::new(),
            stop_when_finished: u32::MAX,
        }
    }

    /// Records facts from now on, behind those in `buffer`, whose memory is used.
    pub fn record_facts(&mut self, buffer: Vec<FactRow>) {
        self.outbox.listen_into(buffer);
    }

    /// Captures packets from now on, at the points named by [`capture_at`](World::capture_at).
    pub fn record_packets(&mut self) {
        self.captured = Some(Vec::new());
    }

    /// Adds a machine; its name appears in facts and errors.
    pub fn add(&mut self, name: impl Into<String>, machine: M) -> MachineId {
        self.add_with_parts(name, machine, [])
    }

    /// Adds a machine whose parts have names of their own in facts (see [`Outbox::speak_as`]), in the order of their
    /// numbers from 0.
    pub fn add_with_parts(
        &mut self,
        name: impl Into<String>,
        machine: M,
        parts: impl IntoIterator<Item = String>,
    ) -> MachineId {
        let number = self.names.len() as u16;
        self.names.push(name.into());
        self.names.extend(parts);
        assert!(self.names.len() <= usize::from(u16::MAX), "a scenario is limited to 65535 names");
        let id = MachineId(u16::try_from(self.machines.len()).expect("a scenario is limited to 65536 machines"));
        self.calendar.add_machine();
        self.calendar.set(self.machines.len(), machine.next_timeout());
        self.machines.push(Node { machine, name: number, routes: Vec::new(), capture_point: None });
        id
    }

    /// Connects one of the machine's output ports.
    pub fn connect(&mut self, from: MachineId, port: Port, route: Route) {
        let routes = &mut self.machines[usize::from(from.0)].routes;
        let place = usize::from(port.0);
        routes.resize(routes.len().max(place + 1), Route::Nowhere);
        routes[place] = route;
    }

    /// Adds a door for [`inject`](World::inject) and returns its number.
    pub fn add_entry(&mut self, to: MachineId, port: Port) -> u16 {
        self.entries.push((to, port));
        (self.entries.len() - 1) as u16
    }

    /// Captures all packets that enter or leave `machine` as seen at `point`.
    pub fn capture_at(&mut self, machine: MachineId, point: u16) {
        self.machines[usize::from(machine.0)].capture_point = Some(point);
    }

    /// The instant of the last event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events handled: packets delivered to machines and timeouts.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// How many machines have said that their task is over.
    pub fn finished(&self) -> u32 {
        self.outbox.finished
    }

    /// The machines with their names, in the order they were added.
    pub fn machines(&self) -> impl Iterator<Item = (&str, &M)> {
        self.machines.iter().map(|node| (self.names[usize::from(node.name)].as_str(), &node.machine))
    }

    /// All names that facts refer to by number: those of the machines in the order they were added, each followed by
    /// those of its parts.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// For each machine the number of its name, and how many parts' names follow.
    pub fn name_numbers(&self) -> impl Iterator<Item = (u16, u16)> {
        let next = self.machines.iter().skip(1).map(|node| node.name).chain([self.names.len() as u16]);
        self.machines.iter().zip(next).map(|(node, next)| (node.name, next - node.name - 1))
    }

    /// Takes the facts recorded so far.
    pub fn take_facts(&mut self) -> Vec<FactRow> {
        self.outbox.take_facts()
    }

    /// Takes the facts recorded so far and keeps their memory for the next ones.
    pub fn drain_facts(&mut self) -> impl Iterator<Item = FactRow> + '_ {
        self.outbox.drain_facts()
    }

    /// Takes the payloads of the packets that machines dropped, and why they did.
    pub fn take_dropped(&mut self) -> impl Iterator<Item = (Body, DropReason)> + '_ {
        self.outbox.take_dropped()
    }

    /// Takes the packets captured so far.
    pub fn take_captured(&mut self) -> Vec<Captured> {
        self.captured.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// When something happens next without input from outside.
    #[inline]
    pub fn next_timeout(&mut self) -> Option<Time> {
        self.calendar.earliest()
    }

    /// Makes [`advance_to`](World::advance_to) return as soon as `count` machines have said that their task is over.
    pub fn stop_when_finished(&mut self, count: u32) {
        self.stop_when_finished = count;
    }

    /// Whether as many machines as [`stop_when_finished`](World::stop_when_finished) asks for have finished.
    #[inline]
    pub fn all_finished(&self) -> bool {
        self.outbox.finished >= self.stop_when_finished
    }

    /// Runs every event up to and including `t`, or until enough machines have finished, or one has called for the
    /// driver's notice (see [`take_notice`](World::take_notice)).
    pub fn advance_to(&mut self, t: Time) -> Result<(), Stalled> {
        self.run(Some(t))
    }

    /// Whether a machine has called for the driver's notice since the last question.
    pub fn take_notice(&mut self) -> bool {
        std::mem::take(&mut self.outbox.noticed)
    }

    /// Lets `visit` change a machine at the present instant, carries what it sends, and asks it when to wake it.
    pub fn change<R>(
        &mut self,
        id: MachineId,
        visit: impl FnOnce(&mut M, Time, &mut Outbox) -> R,
    ) -> Result<R, Stalled> {
        self.move_clock(self.now, id.0)?;
        let node = &mut self.machines[usize::from(id.0)];
        self.outbox.begin(id.0, node.name, self.now);
        let machine = &mut node.machine;
        let answer = visit(machine, self.now, &mut self.outbox);
        self.calendar.set(usize::from(id.0), machine.next_timeout());
        self.run(None)?;
        Ok(answer)
    }

    /// A machine.
    pub fn machine(&self, id: MachineId) -> &M {
        &self.machines[usize::from(id.0)].machine
    }

    /// Puts a packet in through a numbered entry, now.
    pub fn inject(&mut self, entry: u16, packet: Packet) -> Result<(), Stalled> {
        let machine = self.machines.len() as u32 + u32::from(entry);
        self.outbox.sends.push(Sent { machine, port: Port(0), packet });
        self.run(None)
    }

    /// Takes the packets that left through exits: when, which exit, what.
    pub fn take_egress(&mut self) -> impl Iterator<Item = (Time, u16, Packet)> + '_ {
        self.egress.drain(..)
    }

    /// Delivers what was sent at this instant and, with a limit, runs every event up to and including it.
    ///
    /// All doors lead here, so that the machines are compiled into this loop and nowhere else.
    #[inline(never)]
    fn run(&mut self, limit: Option<Time>) -> Result<(), Stalled> {
        loop {
            self.deliver()?;
            let Some(t) = limit else { return Ok(()) };
            if self.all_finished() || self.outbox.noticed {
                return Ok(());
            }
            let Some((due, index)) = self.calendar.due(t) else {
                if t > self.now {
                    self.now = t;
                    self.events_at_now = 0;
                }
                return Ok(());
            };
            // What a machine asks for in the past, because something became urgent that was not, is due now.
            let due = due.max(self.now);
            self.move_clock(due, index as u16)?;
            let node = &mut self.machines[index];
            self.outbox.begin(index as u16, node.name, due);
            let machine = &mut node.machine;
            machine.on_timeout(due, &mut self.outbox);
            self.calendar.answer(index, machine.next_timeout());
        }
    }

    /// Carries packets from machine to machine until none is under way at this instant.
    #[inline(always)]
    fn deliver(&mut self) -> Result<(), Stalled> {
        // Two buffers take turns, so that a packet is read where it lies while its receiver sends others.
        let mut batch = std::mem::take(&mut self.batch);
        while !self.outbox.sends.is_empty() {
            std::mem::swap(&mut batch, &mut self.outbox.sends);
            for sent in &batch {
                self.carry(sent)?;
            }
            batch.clear();
        }
        self.batch = batch;
        Ok(())
    }

    /// Takes a packet along the route of the port it left through.
    #[inline]
    fn carry(&mut self, sent: &Sent) -> Result<(), Stalled> {
        let index = sent.machine as usize;
        let (to, port) = match self.machines.get(index) {
            Some(from) => {
                if self.captured.is_some()
                    && let Some(point) = from.capture_point
                {
                    self.capture(point, true, sent.packet);
                }
                match &self.machines[index].routes[usize::from(sent.port.0)] {
                    Route::To(to, port) => (*to, *port),
                    Route::ByFlow(table) => table[usize::from(sent.packet.flow.0)],
                    Route::Exit(exit) => {
                        self.egress.push((self.now, *exit, sent.packet));
                        return Ok(());
                    }
                    Route::Nowhere => unreachable!("a packet leaves through a port that is not connected"),
                }
            }
            None => self.entries[index - self.machines.len()],
        };
        self.hand_over(to, port, &sent.packet)
    }

    #[inline]
    fn hand_over(&mut self, to: MachineId, port: Port, packet: &Packet) -> Result<(), Stalled> {
        self.move_clock(self.now, to.0)?;
        let index = usize::from(to.0);
        if self.captured.is_some()
            && let Some(point) = self.machines[index].capture_point
        {
            self.capture(point, false, *packet);
        }
        let node = &mut self.machines[index];
        self.outbox.begin(to.0, node.name, self.now);
        let machine = &mut node.machine;
        machine.on_packet(self.now, port, packet, &mut self.outbox);
        self.calendar.set(index, machine.next_timeout());
        Ok(())
    }

    #[cold]
    fn capture(&mut self, point: u16, outgoing: bool, packet: Packet) {
        let captured = Captured { time: self.now, point, outgoing, packet };
        self.captured.get_or_insert_default().push(captured);
    }

    /// Counts an event of `machine` and notices when the clock stops.
    #[inline]
    fn move_clock(&mut self, to: Time, machine: u16) -> Result<(), Stalled> {
        self.events += 1;
        if to > self.now {
            self.now = to;
            self.events_at_now = 0;
            return Ok(());
        }
        self.events_at_now += 1;
        if self.events_at_now + SUSPECTS > MOST_EVENTS_AT_ONCE { self.suspect(machine) } else { Ok(()) }
    }

    /// Remembers who runs while the clock stands still, and gives up at the limit.
    #[cold]
    fn suspect(&mut self, machine: u16) -> Result<(), Stalled> {
        if self.events_at_now + SUSPECTS == MOST_EVENTS_AT_ONCE + 1 {
            self.suspects.clear();
        }
        if !self.suspects.contains(&machine) {
            self.suspects.push(machine);
        }
        if self.events_at_now <= MOST_EVENTS_AT_ONCE {
            return Ok(());
        }
        let name = |&machine: &u16| self.names[usize::from(self.machines[usize::from(machine)].name)].clone();
        Err(Stalled { time: self.now, machines: self.suspects.iter().map(name).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    /// Sends every packet on after a fixed delay.
    struct Delay {
        delay: Span,
        held: std::collections::VecDeque<(Time, Packet)>,
    }

    impl Delay {
        fn of_millis(ms: u64) -> Self {
            Delay { delay: Span::from_millis(ms), held: Default::default() }
        }
    }

    impl Machine for Delay {
        fn on_packet(&mut self, now: Time, _: Port, packet: &Packet, _: &mut Outbox) {
            self.held.push_back((now + self.delay, *packet));
        }

        fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
            while self.held.front().is_some_and(|&(due, _)| due <= now) {
                let (_, packet) = self.held.pop_front().unwrap();
                out.send(Port(0), packet);
            }
        }

        fn next_timeout(&self) -> Option<Time> {
            self.held.front().map(|&(due, _)| due)
        }
    }

    #[test]
    fn a_late_wake_up_replays_every_instant_with_its_own_stamp() {
        let mut world = World::new();
        let first = world.add("first", Delay::of_millis(3));
        let second = world.add("second", Delay::of_millis(4));
        world.connect(first, Port(0), Route::To(second, Port(0)));
        world.connect(second, Port(0), Route::Exit(9));
        let entry = world.add_entry(first, Port(0));
        world.inject(entry, Packet::EMPTY).unwrap();
        world.advance_to(Time::from_millis(1)).unwrap();
        world.inject(entry, Packet::EMPTY).unwrap();
        world.advance_to(Time::from_secs(1)).unwrap();
        let left: Vec<_> = world.take_egress().map(|(time, exit, _)| (time, exit)).collect();
        assert_eq!(left, [(Time::from_millis(7), 9), (Time::from_millis(8), 9)]);
    }

    /// Sends every packet on at once.
    struct Pass;

    impl Machine for Pass {
        fn on_packet(&mut self, _: Time, _: Port, packet: &Packet, out: &mut Outbox) {
            out.send(Port(0), *packet);
        }

        fn on_timeout(&mut self, _: Time, _: &mut Outbox) {}

        fn next_timeout(&self) -> Option<Time> {
            None
        }
    }

    /// Asks for an instant that has passed as soon as it is given a packet, and tells when it is woken.
    struct Late {
        asks: bool,
    }

    impl Machine for Late {
        fn on_packet(&mut self, _: Time, _: Port, _: &Packet, _: &mut Outbox) {
            self.asks = true;
        }

        fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
            self.asks = false;
            out.send(Port(0), Packet { seq: now.as_nanos(), ..Packet::EMPTY });
        }

        fn next_timeout(&self) -> Option<Time> {
            self.asks.then_some(Time::from_millis(1))
        }
    }

    #[test]
    fn what_is_asked_for_in_the_past_is_due_now() {
        let mut world = World::new();
        let late = world.add("late", Late { asks: false });
        world.connect(late, Port(0), Route::Exit(0));
        let entry = world.add_entry(late, Port(0));
        world.advance_to(Time::from_millis(5)).unwrap();
        world.inject(entry, Packet::EMPTY).unwrap();
        world.advance_to(Time::from_millis(9)).unwrap();
        let left: Vec<_> = world.take_egress().map(|(time, _, packet)| (time, Time::from_nanos(packet.seq))).collect();
        assert_eq!(left, [(Time::from_millis(5), Time::from_millis(5))]);
    }

    #[test]
    fn time_that_passes_without_events_is_progress() {
        let mut world = World::new();
        let pass = world.add("pass", Pass);
        world.connect(pass, Port(0), Route::Exit(0));
        let entry = world.add_entry(pass, Port(0));
        for n in 0..=MOST_EVENTS_AT_ONCE {
            world.advance_to(Time::from_nanos(n)).unwrap();
            world.inject(entry, Packet::EMPTY).unwrap();
        }
        assert_eq!(world.take_egress().count() as u64, MOST_EVENTS_AT_ONCE + 1);
    }

    #[test]
    fn a_loop_without_delay_ends_with_the_names_of_its_machines() {
        let mut world = World::new();
        let ping = world.add("ping", Delay::of_millis(0));
        let pong = world.add("pong", Delay::of_millis(0));
        world.add("bystander", Delay::of_millis(0));
        world.connect(ping, Port(0), Route::To(pong, Port(0)));
        world.connect(pong, Port(0), Route::To(ping, Port(0)));
        let entry = world.add_entry(ping, Port(0));
        world.inject(entry, Packet::EMPTY).unwrap();
        let stalled = world.advance_to(Time::from_secs(1)).unwrap_err();
        let mut machines = stalled.machines.clone();
        machines.sort();
        assert_eq!(machines, ["ping", "pong"]);
        assert!(stalled.to_string().contains("time stands still at 0.000000000 s"), "{stalled}");
    }
}
