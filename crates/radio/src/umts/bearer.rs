//! A terminal's radio bearer: two RLC entities, and what lies between them and around them.

use cellwind_engine::directions::{Direction, Directions};
use cellwind_engine::fact::{DropReason, Fact, FactKind};
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::{FlowId, Packet};
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};
use cellwind_path::traffic::Traffic;

use super::control::Control;
use super::convergence::Convergence;
use super::settings::UmtsSettings;
use super::shared::SharedCell;
use super::way::{Stretch, Way, format_of, tell_sent};
use crate::blocks::Blocks;
use crate::mac::scheduler::Wish;
use crate::pdcp::feedback::Feedback;
use crate::pdcp::{Compressed, Form};
use crate::rlc::sdu::Sdu;
use crate::rlc::{Entity, Pdu};
use crate::rrc::settings::{RrcSettings, TransportChannel};

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
    /// The channel of each direction without RRC, and after the set-up of a dedicated one.
    own: Directions<TransportChannel>,
    /// RRC, if the access has any.
    control: Option<Box<Control>>,
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
        let mut bearer = Bearer {
            entities: Directions { down: entity(Direction::Down), up: entity(Direction::Up) },
            ways: Directions { down: way(Direction::Down), up: way(Direction::Up) },
            pdcp: Directions {
                down: Convergence::new(&settings.shared.pdcp),
                up: Convergence::new(&settings.shared.pdcp),
            },
            handed_up: Vec::new(),
            feedback: Vec::new(),
            own: Directions { down: both.down.channel(), up: both.up.channel() },
            control: None,
        };
        bearer.look_at_timers();
        bearer
    }

    /// Gives the bearer RRC, or takes it away, which gives it back its own channels; `stream` moves the terminal from cell to
    /// cell.
    pub fn set_control(&mut self, now: Time, rrc: Option<&RrcSettings>, stream: Stream) {
        self.control = rrc.map(|rrc| Box::new(Control::new(now, self.ways.down.part / 2, rrc, self.own, stream)));
        for direction in Direction::BOTH {
            self.ways.get_mut(direction).set_channel(Some(*self.own.get(direction)));
        }
    }

    /// Octets that PDUs carry, at most.
    pub fn payloads(&self) -> Directions<u64> {
        Directions { down: self.ways.down.payload, up: self.ways.up.payload }
    }

    /// Asks the cell for room for the dedicated channel that the terminal has already.
    pub fn ask_for_dch(&mut self, now: Time, cell: Option<&mut SharedCell>) {
        if let Some(control) = &mut self.control {
            control.begin(now, cell);
        }
    }

    /// Takes over the settings of RRC.
    pub fn set_rrc(
        &mut self,
        now: Time,
        rrc: Option<&RrcSettings>,
        mut cell: Option<&mut SharedCell>,
        out: &mut Outbox,
    ) {
        if let (Some(control), Some(rrc)) = (&mut self.control, rrc) {
            out.speak_as(self.ways.down.part);
            control.set_settings(now, rrc, self.own, cell.as_deref_mut(), out);
        }
        self.settle(now, cell, out);
    }

    /// Says whether a cell decides on how much may be sent in each TTI.
    pub fn set_shared(&mut self, is_shared: bool) {
        for direction in Direction::BOTH {
            let way = self.ways.get_mut(direction);
            way.is_shared = is_shared;
            way.is_listed = false;
            way.clock.cancel();
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

    /// Changes the settings of one direction, and the delays of the nodes and PDCP for both. Entities in acknowledged mode are
    /// established anew for PDUs of another size, as all those of a window have the same (TS 25.322 §9.7.7).
    pub fn set_settings(
        &mut self,
        direction: Direction,
        now: Time,
        settings: &UmtsSettings,
        cell: Option<&mut SharedCell>,
        out: &mut Outbox,
    ) {
        let both = &settings.directions;
        let pdu = self.ways.get(direction).format.pdu;
        self.ways.get_mut(direction).set_settings(direction, both.get(direction), &settings.shared.delays);
        Direction::BOTH.iter().for_each(|&way| self.pdcp.get_mut(way).set_settings(&settings.shared.pdcp));
        // Its transmitter and its receiver: both ends have to do with it.
        for sending in Direction::BOTH {
            let (sends, receives) = (both.get(sending), both.get(sending.reverse()));
            let (own, other) = self.ways.both_mut(sending);
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
        if self.ways.get(direction).format.pdu != pdu && matches!(self.entities.get(direction), Entity::Am(_)) {
            self.re_establish(out);
        }
        out.speak_as(self.ways.get(direction).part);
        out.fact(Fact::new(FactKind::SettingsChanged, FlowId::NONE));
        *self.own.get_mut(direction) = both.get(direction).channel();
        self.set_rrc(now, settings.shared.rrc.as_ref(), cell, out);
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
    pub fn flush(&mut self, direction: Direction, now: Time, cell: Option<&mut SharedCell>, out: &mut Outbox) {
        if self.ways.get(direction).emptied.is_empty() {
            Direction::BOTH.iter().for_each(|&way| self.ways.get_mut(way).empty());
            self.re_establish(out);
            Direction::BOTH.iter().for_each(|&way| self.pdcp.get_mut(way).re_initialise());
        }
        self.ways.get_mut(direction).hand_back(out);
        self.settle(now, cell, out);
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
    pub fn on_packet(
        &mut self,
        direction: Direction,
        now: Time,
        packet: &Packet,
        cell: Option<&mut SharedCell>,
        out: &mut Outbox,
    ) {
        let way = self.ways.get_mut(direction);
        way.traffic.enter(packet);
        if let Some(packet) = way.ahead.enter(now, *packet) {
            self.hand_down(direction, now, &packet, out);
            self.settle(now, cell, out);
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
        if way.carried.end() > ordinal {
            let joined = Fact::new(FactKind::QueueLength, packet.flow).about(packet.seq, octets);
            out.fact(joined.values(way.carried.waiting() as u64, way.carried.unsent_octets()));
        }
        if form != Form::Whole {
            way.carried.set_form(ordinal, form);
        }
    }

    /// Does all that is due: what arrives first, what is sent last.
    pub fn on_timeout(&mut self, now: Time, mut cell: Option<&mut SharedCell>, out: &mut Outbox) {
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
        self.go_on(now, cell.as_deref_mut(), out);
        for direction in Direction::BOTH {
            self.begin_tti(direction, now, out);
            let way = self.ways.get_mut(direction);
            while let Some(packet) = way.behind.leave(now) {
                way.leave(&packet, out);
            }
        }
        self.settle(now, cell, out);
    }

    /// What the bearer wishes in a TTI of its cell, which lasts `tti`; nothing when it has nothing to send in that direction.
    pub fn wish(&mut self, direction: Direction, now: Time, terminal: u32, tti: Span) -> Option<Wish> {
        let way = self.ways.get_mut(direction);
        let entity = self.entities.get(direction);
        way.is_listed = way.may_send() && entity.has_something_to_send(now, &way.carried);
        way.is_listed.then(|| {
            // One more for what has no octets, such as a status report.
            let waiting = entity.buffered(now, &way.carried) / way.payload + 1;
            let at_once = entity.at_once(&way.carried).min(way.format.blocks.into()) as u32;
            let blocks = if at_once > 1 { at_once } else { waiting.min(way.format.blocks.into()) as u32 };
            let ttis = (way.format.tti.as_nanos() / tti.as_nanos()) as u32;
            Wish { terminal, blocks, at_once, ttis, is_ready: way.clock.is_ready(now, way.format.tti), granted: 0 }
        })
    }

    /// Begins a TTI with at most `blocks` PDUs, as the cell grants it, and says how many they are.
    pub fn on_grant(
        &mut self,
        direction: Direction,
        now: Time,
        blocks: u32,
        cell: Option<&mut SharedCell>,
        out: &mut Outbox,
    ) -> u32 {
        let way = self.ways.get_mut(direction);
        way.clock.begin_at_once(now, way.format.tti);
        let sent = self.transmit(direction, now, blocks.into(), out);
        self.settle(now, cell, out);
        sent as u32
    }

    /// The cell has taken the dedicated channel away.
    pub fn on_preempted(&mut self, now: Time, mut cell: Option<&mut SharedCell>, out: &mut Outbox) {
        if let Some(control) = &mut self.control {
            out.speak_as(self.ways.down.part);
            control.preempt(now, cell.as_deref_mut(), out);
        }
        self.settle(now, cell, out);
    }

    /// Whether a direction has something to send that its cell does not know of; it is expected to know from now on.
    pub fn is_to_be_listed(&mut self, direction: Direction, now: Time) -> bool {
        let way = self.ways.get_mut(direction);
        let is_new = way.is_shared
            && !way.is_listed
            && way.may_send()
            && self.entities.get(direction).has_something_to_send(now, &way.carried);
        way.is_listed |= is_new;
        is_new
    }

    /// When something is due.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        let control = self.control.as_ref().and_then(|control| control.next_timeout()).unwrap_or(Time::MAX);
        let next = self.ways.down.next().min(self.ways.up.next()).min(control);
        (next < Time::MAX).then_some(next)
    }

    /// PDUs that were sent in a direction reach the other entity.
    fn arrive(&mut self, direction: Direction, now: Time, out: &mut Outbox) {
        while let Some(mut pdus) = self.ways.get_mut(direction).arrived(now) {
            if out.is_listening() {
                self.tell_arrived(direction, &pdus, out);
            }
            let receiver = self.entities.get_mut(direction.reverse());
            let (receives, sends) = self.ways.both_mut(direction);
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
        let (way, back) = self.ways.both_mut(direction);
        let entity = self.entities.get_mut(direction);
        if way.rlc_due <= now {
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

    /// [`go_on`](Bearer::go_on), as the last thing at this instant: then it looks when timers end.
    fn settle(&mut self, now: Time, cell: Option<&mut SharedCell>, out: &mut Outbox) {
        self.go_on(now, cell, out);
        self.look_at_timers();
        if out.is_listening() {
            Direction::BOTH.iter().for_each(|&way| self.ways.get_mut(way).tell_queue(out));
        }
    }

    /// Notes when the timers of RLC end.
    fn look_at_timers(&mut self) {
        for direction in Direction::BOTH {
            let way = self.ways.get_mut(direction);
            way.rlc_due = self.entities.get(direction).next_timeout(&way.carried).unwrap_or(Time::MAX);
        }
    }

    /// Lets RRC know what waits and do what is due, and plans what there is to send.
    fn go_on(&mut self, now: Time, cell: Option<&mut SharedCell>, out: &mut Outbox) {
        if let Some(control) = &mut self.control {
            let volume = |direction| {
                let way: &Way = self.ways.get(direction);
                self.entities.get(direction).buffered(now, &way.carried)
            };
            let volumes = Directions { down: volume(Direction::Down), up: volume(Direction::Up) };
            out.speak_as(self.ways.down.part);
            control.update(now, volumes, cell, out);
            let changed = Direction::BOTH
                .map(|direction| self.ways.get_mut(direction).set_channel(control.channel(now, direction)));
            if changed.contains(&true) {
                let (down, up) = (self.ways.down.format, self.ways.up.format);
                self.entities.down.set_formats((down, up));
                self.entities.up.set_formats((up, down));
            }
        }
        self.plan(now);
    }

    /// Plans a TTI where an entity has something to send.
    fn plan(&mut self, now: Time) {
        for direction in Direction::BOTH {
            let way = self.ways.get_mut(direction);
            let is_free = way.clock.next().is_none() && way.is_open && !way.is_shared;
            if is_free && self.entities.get(direction).has_something_to_send(now, &way.carried) {
                way.clock.plan(now, way.format.tti);
            }
        }
    }

    fn begin_tti(&mut self, direction: Direction, now: Time, out: &mut Outbox) {
        let way = self.ways.get_mut(direction);
        if way.clock.begin(now, way.format.tti) {
            let blocks = way.format.blocks.into();
            self.transmit(direction, now, blocks, out);
        }
    }

    /// Sends at most `blocks` PDUs in the TTI that begins, and says how many they are.
    fn transmit(&mut self, direction: Direction, now: Time, blocks: u64, out: &mut Outbox) -> u64 {
        let way = self.ways.get_mut(direction);
        out.speak_as(way.part);
        let entity = self.entities.get_mut(direction);
        debug_assert!(way.batch.is_empty());
        let sent = entity.on_opportunity(now, blocks, &mut way.carried, &mut way.batch, out);
        if out.is_listening() {
            way.send(now, |pdus, error| tell_sent(entity, pdus, error, out));
        } else {
            way.send(now, |_, _| ());
        }
        sent
    }
}
