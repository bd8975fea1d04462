//! One direction of a terminal's radio bearer: what lies between its transmitter and its receiver, and around them.
use std::collections::VecDeque;

use cellwind_engine::directions::Direction;
use cellwind_engine::fact::{Fact, FactKind};
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::{FlowId, Packet};
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};
use cellwind_path::traffic::Traffic;

use super::delay::Delay;
use super::settings::{BearerSettings, NodeDelays};
use crate::access::Stage;
use crate::blocks::Blocks;
use crate::mac::channel::TtiClock;
use crate::pdcp::feedback::Feedback;
use crate::rlc::sdu::Carried;
use crate::rlc::sn::Sn;
use crate::rlc::{Entity, Format, Pdu};
use crate::rrc::settings::TransportChannel;
use cellwind_path::errors::ErrorProcess;

/// What one direction has for itself.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// Number of the part that it is.
    pub(super) part: u16,
    pub(super) format: Format,
    /// Octets that a PDU carries, at most.
    pub(super) payload: u64,
    pub(super) clock: TtiClock,
    /// Whether there is a channel.
    pub(super) is_open: bool,
    /// Whether the cell says how much may be sent in which TTI.
    pub(super) is_shared: bool,
    /// Whether the cell knows that there is something to send.
    pub(super) is_listed: bool,
    pub(super) errors: ErrorProcess,
    /// What its transmitter and its receiver both know.
    pub(super) carried: Carried,
    /// Ordinal of the first packet that waits for its transmission, as far as facts tell.
    told_waiting: u64,
    /// When a timer of the entity that sends ends, or the end of time.
    pub(super) rlc_due: Time,
    /// From the end of a TTI until the other entity has its PDUs.
    pub(super) between: Span,
    /// PDUs that arrive without error, by the instant they do.
    pub(super) in_flight: VecDeque<(Time, Vec<Pdu>)>,
    /// PDUs of the TTI that begins, before errors strike.
    pub(super) batch: Vec<Pdu>,
    /// Memory for those in flight.
    pub(super) spare: Vec<Vec<Pdu>>,
    /// Packets on the way to the transmitter.
    pub(super) ahead: Delay,
    /// Packets on the way from the receiver.
    pub(super) behind: Delay,
    /// Packets that are to be handed back at this instant.
    pub(super) emptied: Vec<Packet>,
    pub(super) blocks: Blocks,
    /// Packets that entered, left and were handed back; RLC counts what it drops.
    pub(super) traffic: Traffic,
}

impl Way {
    pub(super) fn new(
        direction: Direction,
        part: u16,
        settings: &BearerSettings,
        delays: &NodeDelays,
        errors: Stream,
    ) -> Self {
        let mut way = Way {
            part,
            format: format_of(settings),
            payload: settings.payload(),
            clock: TtiClock::default(),
            is_open: true,
            is_shared: false,
            is_listed: false,
            errors: ErrorProcess::new(&settings.errors, errors),
            carried: Carried::of_part(part),
            told_waiting: 0,
            rlc_due: Time::MAX,
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

    /// When something is due, or the end of time.
    #[inline]
    pub(super) fn next(&self) -> Time {
        let arrival = self.in_flight.front().map_or(Time::MAX, |&(arrives, _)| arrives);
        let or_never = |time: Option<Time>| time.unwrap_or(Time::MAX);
        let radio = or_never(self.clock.next()).min(arrival).min(self.rlc_due);
        radio.min(or_never(self.ahead.next())).min(or_never(self.behind.next()))
    }

    pub(super) fn set_settings(&mut self, direction: Direction, settings: &BearerSettings, delays: &NodeDelays) {
        self.format = format_of(settings);
        self.payload = settings.payload();
        self.is_open = true; // until RRC says otherwise
        self.clock.cancel();
        self.errors.set_settings(&settings.errors);
        self.set_delays(direction, delays);
    }

    /// Sends on another channel from now on, or on none; says whether it is another one.
    pub(super) fn set_channel(&mut self, channel: Option<TransportChannel>) -> bool {
        let Some(TransportChannel { rate, tti }) = channel else {
            self.is_open = false;
            self.clock.cancel();
            return false;
        };
        let blocks = (rate.size_in(tti).as_bytes() / self.payload) as u32;
        let format = Format { tti, blocks, ..self.format };
        let is_other = format != self.format;
        if is_other {
            self.format = format;
            self.clock.cancel();
        }
        self.is_open = true;
        is_other
    }

    /// Whether a TTI may begin sooner or later without anything but time passing.
    pub(super) fn may_send(&self) -> bool {
        self.is_open && !self.clock.is_held()
    }

    pub(super) fn set_delays(&mut self, direction: Direction, delays: &NodeDelays) {
        self.between = delays.between_entities();
        let (ahead, behind) = match direction {
            Direction::Down => (delays.behind_network(), Span::ZERO),
            Direction::Up => (Span::ZERO, delays.behind_network()),
        };
        self.ahead.set_span(ahead);
        self.behind.set_span(behind);
    }

    pub(super) fn traffic(&self) -> Traffic {
        let dropped = self.carried.traffic();
        Traffic {
            packets_dropped: self.traffic.packets_dropped + dropped.packets_dropped,
            bytes_dropped: self.traffic.bytes_dropped + dropped.bytes_dropped,
            ..self.traffic
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
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
    pub(super) fn leave(&mut self, packet: &Packet, out: &mut Outbox) {
        self.traffic.deliver(packet);
        out.send(Stage::exit(self.part), *packet);
    }

    /// Tells how many packets do not wait any more.
    pub(super) fn tell_queue(&mut self, out: &mut Outbox) {
        let first = self.carried.first_waiting();
        if first > self.told_waiting {
            out.speak_as(self.part);
            out.fact(Fact::new(FactKind::QueueLeft, FlowId::NONE).values(first - self.told_waiting, 0));
            self.told_waiting = first;
        }
    }

    /// Takes all out that has not left, to be handed back.
    pub(super) fn empty(&mut self) {
        for packet in self.behind.drain().chain(self.carried.drain()).chain(self.ahead.drain()) {
            match Feedback::of_packet(&packet) {
                Some(_) => self.traffic.drop(&packet), // about contexts that are no more
                None => self.emptied.push(packet),
            }
        }
        self.clock.cancel();
    }

    pub(super) fn hand_back(&mut self, out: &mut Outbox) {
        for packet in self.emptied.drain(..) {
            self.traffic.hand_back(&packet);
            out.send(Stage::way_back(self.part), packet);
        }
    }

    /// The next PDUs that have arrived by `now`.
    pub(super) fn arrived(&mut self, now: Time) -> Option<Vec<Pdu>> {
        self.in_flight.front().filter(|&&(arrives, _)| arrives <= now)?;
        self.in_flight.pop_front().map(|(_, pdus)| pdus)
    }

    /// Sends the batch of a TTI that begins at `now`: errors strike, and what is left is on its way. `tell` hears of each
    /// stretch of data, and whether it is in error.
    pub(super) fn send(&mut self, now: Time, mut tell: impl FnMut(&Stretch, bool)) {
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
pub(super) struct Stretch {
    /// Count of the first since the bearer was established.
    first: u64,
    count: u16,
    /// Octets of each, with header.
    octets: u16,
    is_resent: bool,
}

impl Stretch {
    /// What is to be told of a PDU of a direction that has sent all counts below `sent_to`; nothing of control PDUs.
    pub(super) fn of(pdu: &Pdu, sent_to: u64, octets: u16) -> Option<Stretch> {
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
    pub(super) fn part(&self, begin: u64, count: u16) -> Stretch {
        Stretch { first: self.first + begin, count, ..*self }
    }

    /// A fact of each PDU, with how often it was sent and another value.
    pub(super) fn tell(&self, entity: &Entity, kind: FactKind, value: u64, out: &mut Outbox) {
        for number in self.first..self.first + u64::from(self.count) {
            let transmissions = u64::from(entity.transmissions(Sn::of(number)));
            let fact = Fact::new(kind, FlowId::NONE).about(number, self.octets.into());
            out.fact(fact.values(transmissions, value));
        }
    }
}

/// Tells that `entity` sent PDUs, and whether they are in error.
pub(super) fn tell_sent(entity: &Entity, pdus: &Stretch, error: bool, out: &mut Outbox) {
    let kind = if pdus.is_resent { FactKind::BlockResent } else { FactKind::BlockSent };
    pdus.tell(entity, kind, u64::from(error), out);
}

/// How the PDUs of a valid direction are sent.
pub(super) fn format_of(settings: &BearerSettings) -> Format {
    settings.format().expect("validated")
}
