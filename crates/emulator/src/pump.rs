//! Carries packets between devices and a session: the work of the timing thread, without its waiting.
//!
//! A packet is stamped when it is read. All that follows is computed from that stamp and the models, never from the
//! moment the driver got around to it, so that a late driver changes when packets leave and not in which order, what is
//! dropped, or when the next one is due.

use std::sync::Arc;

use cellwind_engine::packet::{Body, FlowId, Packet};
use cellwind_engine::time::{Span, Time};
use cellwind_engine::world::Stalled;
use cellwind_scenario::Direction;
use cellwind_scenario::session::Session;
use nix::errno::Errno;

use crate::clock::Clock;
use crate::counts::Counts;
use crate::device::{Arrival, Device};
use crate::ip::{Addresses, Ip, Refusal, examine};
use crate::lateness::Lateness;
use crate::log::Log;
use crate::pool::{Note, Pool};

/// The place of the server among the ends; terminals follow.
pub const SERVER: usize = 0;
/// Packets read from one device before the others have their turn.
const AT_ONCE: usize = 32;

/// Why the path stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The models stand still.
    Stalled(Stalled),
    /// The device of the end at this place is gone.
    Device(usize, Errno),
    /// The kernel refused to wait.
    Wait(Errno),
    /// A fault of this program.
    Panic,
}

impl From<Stalled> for Failure {
    fn from(stalled: Stalled) -> Self {
        Failure::Stalled(stalled)
    }
}

/// Devices at both sides of a session.
pub struct Pump<C> {
    clock: C,
    session: Session,
    pool: Pool,
    /// Where packets go to be counted when the pool is exhausted.
    spare: Vec<u8>,
    /// The server's device, then those of the terminals.
    devices: Vec<Device>,
    addresses: Addresses,
    mtu: u32,
    log: Log,
    lateness: Arc<Lateness>,
    counts: Counts,
    /// Numbers of the last packets, per terminal: down, up.
    numbers: Vec<[u64; 2]>,
}

/// What a pump needs besides a clock and a session.
pub struct Ends {
    /// The server's device, then those of the terminals in the order of the scenario.
    pub devices: Vec<Device>,
    /// Which terminal has which address.
    pub addresses: Addresses,
    /// The largest IP packet.
    pub mtu: u32,
}

impl<C: Clock> Pump<C> {
    /// A pump between `ends` and `session`, with room for as many packets as `pool` has.
    pub fn new(clock: C, session: Session, ends: Ends, pool: Pool, log: Log, lateness: Arc<Lateness>) -> Self {
        let Ends { devices, addresses, mtu } = ends;
        let terminals = devices.len() - 1;
        let counts = Counts::new(terminals, session.counters().map(|(number, _)| number).collect());
        let spare = vec![0; pool.slot_size()];
        let numbers = vec![[0; 2]; terminals];
        Pump { clock, session, pool, spare, devices, addresses, mtu, log, lateness, counts, numbers }
    }

    /// The devices, server first.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The session, to ask and to change it.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// The clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// The counts that are kept all the time, with those of the session taken now.
    pub fn counts(&mut self) -> &Counts {
        self.counts.time = self.session.now();
        self.counts.slots_used = self.pool.used() as u64;
        self.counts.is_paused = u64::from(self.session.is_paused());
        for (terminal, place) in self.counts.accesses.iter_mut().enumerate() {
            *place = self.session.access_of(terminal as u16).map_or(0, |place| u64::from(place) + 1);
        }
        for (count, (_, traffic)) in self.counts.stages.iter_mut().zip(self.session.counters()) {
            *count = traffic;
        }
        &self.counts
    }

    /// The session, when the work is over.
    pub fn into_session(self) -> Session {
        self.session
    }

    /// Notes how long before a deadline the driver wakes.
    pub fn note_spin(&mut self, spin: Span) {
        self.counts.spin_ns = spin.as_nanos();
    }

    /// Runs all that is due by now, and sends what left the path.
    #[inline]
    pub fn advance(&mut self) -> Result<(), Failure> {
        let now = self.clock.now();
        self.advance_to(now)
    }

    /// Reads what waits at a device, up to a batch; true when more may wait.
    #[inline]
    pub fn read(&mut self, place: usize) -> Result<bool, Failure> {
        for _ in 0..AT_ONCE {
            let slot = self.pool.next_free().unwrap_or(&mut self.spare);
            let device = &mut self.devices[place];
            let arrival = device.receive(slot).map_err(|errno| Failure::Device(place, errno))?;
            match arrival {
                Arrival::Packet { length, network } => {
                    let stamp = self.clock.now();
                    let examined = examine(&slot[network..length], self.mtu, device.pads());
                    match examined.and_then(|ip| self.accept(place, network, ip)) {
                        Ok((body, ip)) => self.carry(place, body, ip, stamp)?,
                        Err(refusal) => self.counts.refuse(refusal),
                    }
                }
                Arrival::Aside { length } => {
                    self.counts.aside += 1;
                    let bytes = &slot[..length];
                    // Only a bridge has frames that are none of the path's, and a bridge has two sides.
                    if let [server, terminal] = &self.devices[..] {
                        let other = if place == SERVER { terminal } else { server };
                        other.send(bytes, 0);
                    }
                }
                Arrival::Refused(refusal) => self.counts.refuse(refusal),
                Arrival::Nothing => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Takes the slot of a packet that is to travel.
    #[inline]
    fn accept(&mut self, place: usize, network: usize, ip: Ip) -> Result<(Body, Ip), Refusal> {
        let (terminal, direction) = match place {
            SERVER => (self.addresses.terminal(ip.destination)?, Direction::Down),
            place => ((place - 1) as u16, Direction::Up),
        };
        let note = Note { length: network as u32 + ip.length, network: network as u16, terminal, direction };
        Ok((self.pool.take(note).ok_or(Refusal::NoSlot)?, ip))
    }

    /// Puts a packet onto the path at the instant of its stamp.
    #[inline]
    fn carry(&mut self, place: usize, body: Body, ip: Ip, stamp: Time) -> Result<(), Failure> {
        // What was due before it goes first, so that captures are in the order of time.
        self.advance_to(stamp)?;
        let (frame, Note { network, terminal, direction, .. }) = self.pool.get(body);
        if self.log.wants_packets() {
            self.log.packet(stamp, place as u16, &frame[usize::from(network)..]);
        }
        let number = &mut self.numbers[usize::from(terminal)][direction as usize];
        *number += 1;
        let (payload, header) = (ip.length - u32::from(ip.header), ip.header);
        let packet = Packet { seq: *number, payload, header, flow: FlowId(terminal), body, ..Packet::EMPTY };
        self.counts.terminals[usize::from(terminal)][direction as usize].enter(&packet);
        self.session.inject(terminal, direction, packet)?;
        // A path without delay lets it out at once.
        self.advance_to(stamp)
    }

    #[inline]
    fn advance_to(&mut self, now: Time) -> Result<(), Failure> {
        self.session.advance_to(now)?;
        self.send();
        Ok(())
    }

    /// Sends what left the path, frees what it dropped, and hands on what it told.
    #[inline]
    fn send(&mut self) {
        for (due, terminal, direction, packet) in self.session.take_egress() {
            let terminal = usize::from(terminal);
            let place = if direction == Direction::Down { terminal + 1 } else { SERVER };
            let (frame, note) = self.pool.get(packet.body);
            let written = self.clock.now();
            let is_taken = self.devices[place].send(frame, usize::from(note.network));
            self.lateness.add(written.since(due));
            let traffic = &mut self.counts.terminals[terminal][direction as usize];
            if is_taken {
                traffic.deliver(&packet);
                if self.log.wants_packets() {
                    self.log.packet(due, place as u16, &frame[usize::from(note.network)..]);
                }
            } else {
                traffic.drop(&packet);
                self.counts.refuse(Refusal::NotTaken);
            }
            self.pool.give_back(packet.body);
        }
        for (body, reason) in self.session.take_dropped() {
            let note = self.pool.give_back(body);
            let packet = Packet { header: 0, payload: note.ip_length(), ..Packet::EMPTY };
            self.counts.drop((usize::from(note.terminal), note.direction as usize), &packet, reason);
        }
        if self.log.wants_facts() {
            for row in self.session.drain_facts() {
                self.log.fact(row);
            }
        }
    }
}

#[cfg(test)]
mod tests;
