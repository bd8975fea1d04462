//! A terminal's radio bearer: two RLC entities, and what lies between them and around them.

use std::collections::VecDeque;

use cellwind_engine::directions::{Direction, Directions};
use cellwind_engine::fact::{DropReason, Fact, FactKind};
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::{FlowId, Packet};
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};
use cellwind_path::traffic::Traffic;

use super::convergence::Convergence;
use super::delay::Delay;
use super::settings::{BearerSettings, NodeDelays, UmtsSettings};
use crate::access::Stage;
use crate::blocks::Blocks;
use crate::errors::ErrorProcess;
use crate::mac::channel::TtiClock;
use crate::pdcp::feedback::Feedback;
use crate::pdcp::{Compressed, Form};
use crate::rlc::sdu::{Carried, Sdu};
use crate::rlc::sn::Sn;
use crate::rlc::{Entity, Format, Pdu};

/// A bearer with both its directions.
#[derive(Clone, Debug)]
pub struct Bearer {
    /// The RLC entity that sends in each direction: the network's sends down, the terminal's up.
    entities: Directions<Entity>,
    ways: Directions<Way>,
    pdcp: Directions<Convergence>,
    /// SDUs that an entity hands up, before they go on.
    handed_up: Vec<Sdu>,
    /// What a decompressor tells its compressor, before it goes the other way.
    feedback: Vec<Feedback>,
}

/// What one direction has for itself.
#[derive(Clone, Debug)]
struct Way {
    /// Number of the part that it is.
    part: u16,
    format: Format,
    clock: TtiClock,
    errors: ErrorProcess,
    /// What its transmitter and its receiver both know.
    carried: Carried,
    /// From the end of a TTI until the other entity has its PDUs.
    between: Span,
    /// PDUs that arrive without error, by the instant they do.
    in_flight: VecDeque<(Time, Vec<Pdu>)>,
    /// PDUs of the TTI that begins, before errors strike.
    batch: Vec<Pdu>,
    /// Memory for those in flight.
    spare: Vec<Vec<Pdu>>,
    /// Packets on the way to the transmitter.
    ahead: Delay,
    /// Packets on the way from the receiver.
    behind: Delay,
    /// Packets that are to be handed back at this instant.
    emptied: Vec<Packet>,
    blocks: Blocks,
    /// Packets that entered, left and were handed back; RLC counts what it drops.
    traffic: Traffic,
}

impl Bearer {
    /// The bearer of the access's terminal number `number`; `stream` makes random streams from names.
    ///
    /// # Panics
    ///
    /// When a TTI does not carry a single PDU.
    pub fn new(number: u16, settings: &UmtsSettings, stream: impl Fn(&str) -> Stream) -> Self {
        let both = &settings.directions;
        let entity = |direction: Direction| {
            let (sends, receives) = (both.get(direction), both.get(direction.reverse()));
            Entity::new(Time::ZERO, (&sends.rlc, &receives.rlc), (format_of(sends), format_of(receives)))
        };
        let way = |direction: Direction| {
            let part = 2 * number + u16::from(direction == Direction::Up);
            let errors = stream(&format!("{}/errors", direction.word()));
            Way::new(direction, part, both.get(direction), &settings.shared.delays, errors)
        };
        Bearer {
            entities: Directions { down: entity(Direction::Down), up: entity(Direction::Up) },
            ways: Directions { down: way(Direction::Down), up: way(Direction::Up) },
            pdcp: Directions {
                down: Convergence::new(&settings.shared.pdcp),
                up: Convergence::new(&settings.shared.pdcp),
            },
            handed_up: Vec::new(),
            feedback: Vec::new(),
        }
    }

    /// What went through in one direction.
    pub fn traffic(&self, direction: Direction) -> Traffic {
        self.ways.get(direction).traffic()
    }

    /// How many PDUs it took.
    pub fn blocks(&self, direction: Direction) -> &Blocks {
        &self.ways.get(direction).blocks
    }

    /// Checks that no packet was lost or made inside, and what the entities know.
    pub fn check(&self) -> Result<(), String> {
        for direction in Direction::BOTH {
            let (way, other) = (self.ways.get(direction), self.ways.get(direction.reverse()));
            way.check().map_err(|what| format!("{}: {what}", direction.word()))?;
            let entity = self.entities.get(direction).check(&way.carried, &other.carried);
            entity.map_err(|what| format!("the entity that sends {}: {what}", direction.word()))?;
        }
        Ok(())
    }

    /// Changes the settings of one direction, and the delays of the nodes and PDCP for both.
    pub fn set_settings(&mut self, direction: Direction, now: Time, settings: &UmtsSettings, out: &mut Outbox) {
        let both = &settings.directions;
        self.ways.get_mut(direction).set_settings(direction, both.get(direction), &settings.shared.delays);
        Direction::BOTH.iter().for_each(|&way| self.pdcp.get_mut(way).set_settings(&settings.shared.pdcp));
        // Its transmitter and its receiver: both ends have to do with it.
        for sending in Direction::BOTH {
            let (sends, receives) = (both.get(sending), both.get(sending.reverse()));
            let Directions { down, up } = &mut self.ways;
            let (own, other) = match sending {
                Direction::Down => (down, up),
                Direction::Up => (up, down),
            };
            let handed_up = &mut self.handed_up;
            self.entities.get_mut(sending).set_settings(
                now,
                (&sends.rlc, &receives.rlc),
                (own.format, other.format),
                &own.carried,
                &mut other.carried,
                &mut |sdu: &Sdu| handed_up.push(*sdu),
            );
            self.hand_up(sending.reverse(), now, out);
        }
        out.speak_as(self.ways.get(direction).part);
        out.fact(Fact::new(FactKind::SettingsChanged, FlowId::NONE));
        self.plan(now);
    }

    /// Begins no TTI in a direction until [`release`](Bearer::release); a running one ends.
    pub fn hold(&mut self, direction: Direction, out: &mut Outbox) {
        let way = self.ways.get_mut(direction);
        if way.clock.hold() {
            out.speak_as(way.part);
            out.fact(Fact::new(FactKind::TransmissionHeld, FlowId::NONE));
        }
    }

    /// Lets TTIs begin again in a direction.
    pub fn release(&mut self, direction: Direction, now: Time, out: &mut Outbox) {
        let way = self.ways.get_mut(direction);
        if way.clock.release() {
            out.speak_as(way.part);
            out.fact(Fact::new(FactKind::TransmissionReleased, FlowId::NONE));
            self.plan(now);
        }
    }

    /// Hands back all that a direction holds, in the order it entered. What is on the air is lost, and both entities are
    /// established anew (TS 25.322 §9.7.7), so that the other direction is emptied as well: what it held waits to be handed
    /// back, at the same instant.
    pub fn flush(&mut self, direction: Direction, out: &mut Outbox) {
        if self.ways.get(direction).emptied.is_empty() {
            Direction::BOTH.iter().for_each(|&way| self.ways.get_mut(way).empty());
            self.re_establish(out);
            Direction::BOTH.iter().for_each(|&way| self.pdcp.get_mut(way).re_initialise());
        }
        self.ways.get_mut(direction).hand_back(out);
    }

    /// Establishes both entities anew; what is in flight between them is lost.
    fn re_establish(&mut self, out: &mut Outbox) {
        let hfns = Direction::BOTH.map(|direction| self.entities.get(direction).hfn());
        for (direction, hfns) in [(Direction::Down, (hfns[0], hfns[1])), (Direction::Up, (hfns[1], hfns[0]))] {
            let way = self.ways.get_mut(direction);
            way.in_flight.clear();
            out.speak_as(way.part);
            self.entities.get_mut(direction).re_establish(hfns, &mut way.carried, out);
        }
    }

    /// A packet enters in a direction.
    pub fn on_packet(&mut self, direction: Direction, now: Time, packet: &Packet, out: &mut Outbox) {
        let way = self.ways.get_mut(direction);
        way.traffic.enter(packet);
        if let Some(packet) = way.ahead.enter(now, *packet) {
            self.hand_down(direction, now, &packet, out);
            self.plan(now);
        }
    }

    /// Passes a packet on to the transmitter of a direction.
    fn hand_down(&mut self, direction: Direction, now: Time, packet: &Packet, out: &mut Outbox) {
        let compressed = self.pdcp.get_mut(direction).compressor.compress(now, packet);
        self.enter_rlc(direction, now, packet, compressed, out);
    }

    fn enter_rlc(
        &mut self,
        direction: Direction,
        now: Time,
        packet: &Packet,
        Compressed { octets, form }: Compressed,
        out: &mut Outbox,
    ) {
        let way = self.ways.get_mut(direction);
        out.speak_as(way.part);
        let ordinal = way.carried.end();
        self.entities.get_mut(direction).on_sdu(now, packet, octets, &mut way.carried, out);
        if form != Form::Whole {
            way.carried.set_form(ordinal, form);
        }
    }

    /// Does all that is due: what arrives first, what is sent last.
    pub fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        for direction in Direction::BOTH {
            self.arrive(direction, now, out);
            while let Some(packet) = self.ways.get_mut(direction).ahead.leave(now) {
                self.hand_down(direction, now, &packet, out);
            }
        }
        for direction in Direction::BOTH {
            self.expire(direction, now, out);
        }
        if Direction::BOTH.iter().any(|&direction| self.entities.get(direction).is_unrecoverable()) {
            self.re_establish(out);
        }
        self.plan(now);
        for direction in Direction::BOTH {
            self.begin_tti(direction, now, out);
            let way = self.ways.get_mut(direction);
            while let Some(packet) = way.behind.leave(now) {
                way.leave(&packet, out);
            }
        }
        self.plan(now);
    }

    /// When something is due.
    pub fn next_timeout(&self) -> Option<Time> {
        let of = |direction: Direction| {
            let way = self.ways.get(direction);
            let arrival = way.in_flight.front().map(|&(arrives, _)| arrives);
            let rlc = self.entities.get(direction).next_timeout(&way.carried);
            [way.clock.next(), arrival, rlc, way.ahead.next(), way.behind.next()].into_iter().flatten().min()
        };
        match (of(Direction::Down), of(Direction::Up)) {
            (Some(down), Some(up)) => Some(down.min(up)),
            (down, up) => down.or(up),
        }
    }

    /// PDUs that were sent in a direction reach the other entity.
    fn arrive(&mut self, direction: Direction, now: Time, out: &mut Outbox) {
        while let Some(mut pdus) = self.ways.get_mut(direction).arrived(now) {
            if out.is_listening() {
                self.tell_arrived(direction, &pdus, out);
            }
            let receiver = self.entities.get_mut(direction.reverse());
            let Directions { down, up } = &mut self.ways;
            let (sends, receives) = match direction {
                Direction::Down => (up, down),
                Direction::Up => (down, up),
            };
            let handed_up = &mut self.handed_up;
            out.speak_as(sends.part);
            for pdu in pdus.drain(..) {
                let mut delivered = |sdu: &Sdu| handed_up.push(*sdu);
                receiver.on_pdu(now, pdu, &mut sends.carried, &mut receives.carried, &mut delivered, out);
            }
            receives.spare.push(pdus);
            self.hand_up(direction, now, out);
        }
    }

    fn tell_arrived(&self, direction: Direction, pdus: &[Pdu], out: &mut Outbox) {
        let way = self.ways.get(direction);
        out.speak_as(way.part);
        for pdu in pdus {
            if let Some(stretch) = Stretch::of(pdu, way.carried.sent_to, way.format.pdu) {
                stretch.tell(self.entities.get(direction), FactKind::BlockDelivered, 0, out);
            }
        }
    }

    /// Timers of the entity that sends in a direction end.
    fn expire(&mut self, direction: Direction, now: Time, out: &mut Outbox) {
        let Directions { down, up } = &mut self.ways;
        let (way, back) = match direction {
            Direction::Down => (down, up),
            Direction::Up => (up, down),
        };
        let entity = self.entities.get_mut(direction);
        if entity.next_timeout(&way.carried).is_some_and(|due| due <= now) {
            out.speak_as(way.part);
            entity.on_timeout(now, &mut way.carried, &back.carried, out);
        }
    }

    /// Passes on what the receiver of a direction has handed up.
    fn hand_up(&mut self, direction: Direction, now: Time, out: &mut Outbox) {
        let way = self.ways.get_mut(direction);
        if self.handed_up.is_empty() {
            return;
        }
        out.speak_as(way.part);
        for sdu in self.handed_up.drain(..) {
            let packet = &sdu.packet;
            if let Some(feedback) = Feedback::of_packet(packet) {
                way.traffic.deliver(packet);
                self.pdcp.get_mut(direction.reverse()).compressor.on_feedback(feedback);
                continue;
            }
            let verdict = self.pdcp.get_mut(direction).decompressor.decompress(packet, sdu.form);
            self.feedback.extend(verdict.feedback);
            if !verdict.is_right {
                way.traffic.drop(packet);
                out.drop(packet, DropReason::HeaderDamaged);
                continue;
            }
            let leaves = way.behind.leaves(now);
            let fact = Fact::new(FactKind::PacketDelivered, packet.flow);
            let fact = fact.about(packet.seq, packet.size().as_bytes() as u32);
            out.fact(fact.values((leaves - sdu.entered).as_nanos(), 0));
            if let Some(packet) = way.behind.enter(now, *packet) {
                way.leave(&packet, out);
            }
        }
        if !self.feedback.is_empty() {
            self.tell_compressor(direction, now, out);
        }
    }

    /// Sends the feedback about a direction the other way, each message as an SDU of its own.
    fn tell_compressor(&mut self, direction: Direction, now: Time, out: &mut Outbox) {
        let back = direction.reverse();
        let mut feedback = std::mem::take(&mut self.feedback);
        for feedback in feedback.drain(..) {
            let packet = feedback.to_packet();
            self.ways.get_mut(back).traffic.enter(&packet);
            let whole = Compressed { octets: feedback.octets(), form: Form::Whole };
            self.enter_rlc(back, now, &packet, whole, out);
        }
        self.feedback = feedback; // keeps the allocation
        out.speak_as(self.ways.get(direction).part);
    }

    /// Plans a TTI where an entity has something to send.
    fn plan(&mut self, now: Time) {
        for direction in Direction::BOTH {
            let way = self.ways.get_mut(direction);
            if way.clock.next().is_none() && self.entities.get(direction).has_something_to_send(now, &way.carried) {
                way.clock.plan(now, way.format.tti);
            }
        }
    }

    fn begin_tti(&mut self, direction: Direction, now: Time, out: &mut Outbox) {
        let way = self.ways.get_mut(direction);
        if !way.clock.begin(now, way.format.tti) {
            return;
        }
        out.speak_as(way.part);
        let entity = self.entities.get_mut(direction);
        debug_assert!(way.batch.is_empty());
        entity.on_opportunity(now, u64::from(way.format.blocks), &mut way.carried, &mut way.batch, out);
        if out.is_listening() {
            way.send(now, |pdus, error| tell_sent(entity, pdus, error, out));
        } else {
            way.send(now, |_, _| ());
        }
    }
}

impl Way {
    fn new(direction: Direction, part: u16, settings: &BearerSettings, delays: &NodeDelays, errors: Stream) -> Self {
        let mut way = Way {
            part,
            format: format_of(settings),
            clock: TtiClock::default(),
            errors: ErrorProcess::new(&settings.errors, errors),
            carried: Carried::default(),
            between: Span::ZERO,
            in_flight: VecDeque::new(),
            batch: Vec::new(),
            spare: Vec::new(),
            ahead: Delay::default(),
            behind: Delay::default(),
            emptied: Vec::new(),
            blocks: Blocks::default(),
            traffic: Traffic::default(),
        };
        way.set_delays(direction, delays);
        way
    }

    fn set_settings(&mut self, direction: Direction, settings: &BearerSettings, delays: &NodeDelays) {
        self.format = format_of(settings);
        self.clock.cancel();
        self.errors.set_settings(&settings.errors);
        self.set_delays(direction, delays);
    }

    fn set_delays(&mut self, direction: Direction, delays: &NodeDelays) {
        self.between = delays.between_entities();
        let (ahead, behind) = match direction {
            Direction::Down => (delays.behind_network(), Span::ZERO),
            Direction::Up => (Span::ZERO, delays.behind_network()),
        };
        self.ahead.set_span(ahead);
        self.behind.set_span(behind);
    }

    fn traffic(&self) -> Traffic {
        let dropped = self.carried.traffic();
        Traffic {
            packets_dropped: self.traffic.packets_dropped + dropped.packets_dropped,
            bytes_dropped: self.traffic.bytes_dropped + dropped.bytes_dropped,
            ..self.traffic
        }
    }

    fn check(&self) -> Result<(), String> {
        self.carried.check()?;
        let traffic = self.traffic();
        let around: Vec<&Packet> = self.ahead.packets().chain(self.behind.packets()).chain(&self.emptied).collect();
        let bytes = around.iter().map(|packet| packet.size().as_bytes()).sum::<u64>();
        let rlc = self.carried.traffic();
        let held = (around.len() as u64 + rlc.packets_held(), bytes + rlc.bytes_held());
        if held == (traffic.packets_held(), traffic.bytes_held()) {
            return Ok(());
        }
        Err(format!("holds {} packets of {} bytes, but the counts say {traffic:?}", held.0, held.1))
    }

    /// A packet leaves the access.
    fn leave(&mut self, packet: &Packet, out: &mut Outbox) {
        self.traffic.deliver(packet);
        out.send(Stage::exit(self.part), *packet);
    }

    /// Takes all out that has not left, to be handed back.
    fn empty(&mut self) {
        for packet in self.behind.drain().chain(self.carried.drain()).chain(self.ahead.drain()) {
            match Feedback::of_packet(&packet) {
                Some(_) => self.traffic.drop(&packet), // about contexts that are no more
                None => self.emptied.push(packet),
            }
        }
        self.clock.cancel();
    }

    fn hand_back(&mut self, out: &mut Outbox) {
        for packet in self.emptied.drain(..) {
            self.traffic.hand_back(&packet);
            out.send(Stage::way_back(self.part), packet);
        }
    }

    /// The next PDUs that have arrived by `now`.
    fn arrived(&mut self, now: Time) -> Option<Vec<Pdu>> {
        self.in_flight.front().filter(|&&(arrives, _)| arrives <= now)?;
        self.in_flight.pop_front().map(|(_, pdus)| pdus)
    }

    /// Sends the batch of a TTI that begins at `now`: errors strike, and what is left is on its way. `tell` hears of each
    /// stretch of data, and whether it is in error.
    fn send(&mut self, now: Time, mut tell: impl FnMut(&Stretch, bool)) {
        self.errors.begin(now, self.format.tti);
        let mut arriving = self.spare.pop().unwrap_or_default();
        for pdu in self.batch.drain(..) {
            let sent = pdu.count();
            self.blocks.sent += sent;
            let errors = &mut self.errors;
            let stretch = Stretch::of(&pdu, self.carried.sent_to, self.format.pdu);
            let mut tell = |begin: u64, fine: u16, lost: u16| {
                if let Some(stretch) = &stretch {
                    tell(&stretch.part(begin, fine), false);
                    tell(&stretch.part(begin + u64::from(fine), lost), true);
                }
            };
            match pdu {
                Pdu::Data(mut run) => {
                    self.blocks.resent += if run.resent { sent } else { 0 };
                    survivors(errors, sent, |begin, fine, lost| {
                        tell(begin, fine, lost);
                        if fine > 0 {
                            arriving.push(Pdu::Data(run.split_off(fine)));
                        }
                        run.split_off(lost);
                    });
                }
                Pdu::Unacknowledged { first, .. } => survivors(errors, sent, |begin, fine, lost| {
                    tell(begin, fine, lost);
                    if fine > 0 {
                        arriving.push(Pdu::Unacknowledged { first: first + begin, count: fine });
                    }
                }),
                pdu => {
                    self.blocks.resent += u64::from(matches!(&pdu, Pdu::DataWithStatus(run, _) if run.resent));
                    self.blocks.status += u64::from(matches!(pdu, Pdu::Status(_) | Pdu::DataWithStatus(..)));
                    let is_lost = errors.strikes();
                    tell(0, u16::from(!is_lost), u16::from(is_lost));
                    if !is_lost {
                        arriving.push(pdu);
                    }
                }
            }
        }
        let arrives = now + self.format.tti + self.between;
        // What is sent under a shorter delay does not overtake what is on its way.
        let arrives = self.in_flight.back().map_or(arrives, |&(before, _)| before.max(arrives));
        self.in_flight.push_back((arrives, arriving));
    }
}

/// Lets errors strike `sent` PDUs: tells again and again behind how many of them how many arrive, and how many are lost
/// behind these (one or none).
#[inline]
fn survivors(errors: &mut ErrorProcess, sent: u64, mut tell: impl FnMut(u64, u16, u16)) {
    let mut begin = 0;
    while begin < sent {
        let fine = errors.take_successes(sent - begin);
        let lost = u64::from(begin + fine < sent && errors.strikes());
        tell(begin, fine as u16, lost as u16);
        begin += fine + lost;
    }
}

/// PDUs with data that were sent one behind the other, as facts tell of them.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Count of the first since the bearer was established.
    first: u64,
    count: u16,
    /// Octets of each, with header.
    octets: u16,
    is_resent: bool,
}

impl Stretch {
    /// What is to be told of a PDU of a direction that has sent all counts below `sent_to`; nothing of control PDUs.
    fn of(pdu: &Pdu, sent_to: u64, octets: u16) -> Option<Stretch> {
        match pdu {
            Pdu::Data(run) | Pdu::DataWithStatus(run, _) => {
                // Of the counts with this number the last one that was sent, as a window is shorter than a turn.
                let last = sent_to.saturating_sub(1);
                let first = last - u64::from(Sn::of(last).above(run.first));
                Some(Stretch { first, count: run.count, octets, is_resent: run.resent })
            }
            Pdu::Unacknowledged { first, count } => {
                Some(Stretch { first: *first, count: *count, octets, is_resent: false })
            }
            Pdu::Status(_) | Pdu::Reset(_) | Pdu::ResetAck(_) => None,
        }
    }

    /// So many of its PDUs behind `begin` of them.
    fn part(&self, begin: u64, count: u16) -> Stretch {
        Stretch { first: self.first + begin, count, ..*self }
    }

    /// A fact of each PDU, with how often it was sent and another value.
    fn tell(&self, entity: &Entity, kind: FactKind, value: u64, out: &mut Outbox) {
        for number in self.first..self.first + u64::from(self.count) {
            let transmissions = u64::from(entity.transmissions(Sn::of(number)));
            let fact = Fact::new(kind, FlowId::NONE).about(number, self.octets.into());
            out.fact(fact.values(transmissions, value));
        }
    }
}

/// Tells that `entity` sent PDUs, and whether they are in error.
fn tell_sent(entity: &Entity, pdus: &Stretch, error: bool, out: &mut Outbox) {
    let kind = if pdus.is_resent { FactKind::BlockResent } else { FactKind::BlockSent };
    pdus.tell(entity, kind, u64::from(error), out);
}

/// How the PDUs of a valid direction are sent.
fn format_of(settings: &BearerSettings) -> Format {
    settings.format().expect("validated")
}
