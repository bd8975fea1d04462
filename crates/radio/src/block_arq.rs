//! The block-ARQ bearer: RLC acknowledged mode reduced to its effect on packets (Lundsten, section 5.2
//! and appendix B).
//!
//! Packets form one stream of bytes that is cut into blocks as they are sent, so that a block can carry the
//! end of one packet, whole packets and the start of another. Each TTI sends a batch of blocks: first those
//! that come back for retransmission, then new ones. An erroneous block stands at the head of the queue
//! again after the feedback delay. A packet is complete when all blocks that carry a part of it are there.

use std::collections::VecDeque;

use cellwind_engine::fact::{DropReason, Fact, FactKind};
use cellwind_engine::machine::{Machine, Outbox, Port};
use cellwind_engine::packet::{FlowId, Packet};
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};
use cellwind_path::HANDED_BACK;
use cellwind_path::settings::QueueLimit;
use cellwind_path::traffic::Traffic;

use crate::blocks::Blocks;
use crate::settings::{Attempts, BlockArqSettings, Delivery, TtiStart};
use cellwind_path::errors::ErrorProcess;

/// One direction of a bearer; packets enter and leave at port 0.
#[derive(Clone, Debug)]
pub struct BlockArq {
    tti: Span,
    pdu: u64,
    blocks_per_tti: u64,
    feedback_delay: Span,
    attempts: Attempts,
    delivery: Delivery,
    delay: Span,
    limit: QueueLimit,
    tti_start: TtiStart,
    errors: ErrorProcess,

    /// Packets that are not complete, or wait for an earlier one, by place in the stream.
    held: VecDeque<Held>,
    /// Ordinal of the first packet in `held`; ordinals count packets from the start of the run.
    first_held: u64,
    /// Ordinal of the packet that the next new block begins with.
    next_packet: u64,
    /// Bytes of that packet already put into blocks.
    next_offset: u64,
    /// Bytes that wait for their first transmission.
    unsent_bytes: u64,
    /// Number of the next new block.
    next_block: u64,
    /// Erroneous blocks, by the instant at which they are at the head of the queue again.
    returning: VecDeque<(Time, Block)>,
    /// Ordinal of the packet that leaves next in sequence.
    next_to_leave: u64,
    air: Air,
    /// Whether no TTI may begin.
    is_held: bool,
    /// The blocks of the running TTI; new blocks without error are kept as one stretch.
    on_air: Vec<OnAir>,
    /// When the last packet leaves that was complete under earlier settings; none may overtake it.
    not_before: Time,
    /// Complete packets on their way to the upper layer.
    leaving: VecDeque<(Time, Packet)>,
    /// Their ordinals, apart from them because packets of a round size move faster.
    leaving_ordinals: VecDeque<u64>,
    blocks: Blocks,
    traffic: Traffic,
}

/// What the radio link is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Air {
    Idle,
    /// The next TTI starts then.
    Waiting(Time),
    /// The running TTI ends then.
    Sending(Time),
}

/// A packet in the bearer.
#[derive(Clone, Copy, Debug)]
struct Held {
    packet: Packet,
    entered: Time,
    /// Bytes that have not arrived.
    missing: u64,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Open,
    /// All bytes have arrived.
    Complete,
    /// Handed up, out of sequence.
    Left,
    /// A block of it was given up.
    Abandoned,
}

/// A stretch of the stream that is sent in one piece.
#[derive(Clone, Copy, Debug)]
struct Block {
    number: u64,
    /// Ordinal of the packet it begins with, and where in that packet.
    packet: u64,
    offset: u64,
    length: u64,
    transmissions: u32,
}

/// Part of a batch.
#[derive(Clone, Copy, Debug)]
enum OnAir {
    /// New blocks of `size` bytes (the last may be shorter), none in error.
    Fine { first: Block, count: u64, size: u64 },
    /// One block, in error or sent before.
    Single { block: Block, error: bool },
}

impl BlockArq {
    /// A bearer as `settings` describe it; `errors` drives its block errors.
    ///
    /// `None` when a TTI does not carry a single block.
    ///
    /// # Panics
    ///
    /// On errors that [`ErrorSettings::check`](cellwind_path::errors::settings::ErrorSettings::check) refuses.
    pub fn new(settings: &BlockArqSettings, errors: Stream) -> Option<Self> {
        let (pdu, blocks_per_tti) = settings.blocks_per_tti()?;
        Some(BlockArq {
            tti: settings.tti,
            pdu: pdu.as_bytes(),
            blocks_per_tti,
            feedback_delay: settings.feedback_delay,
            attempts: settings.max_transmissions,
            delivery: settings.delivery,
            delay: settings.delay,
            limit: settings.queue,
            tti_start: settings.tti_start,
            errors: ErrorProcess::new(&settings.errors, errors),
            held: VecDeque::new(),
            first_held: 0,
            next_packet: 0,
            next_offset: 0,
            unsent_bytes: 0,
            next_block: 0,
            returning: VecDeque::new(),
            next_to_leave: 0,
            air: Air::Idle,
            is_held: false,
            on_air: Vec::new(),
            not_before: Time::ZERO,
            leaving: VecDeque::new(),
            leaving_ordinals: VecDeque::new(),
            blocks: Blocks::default(),
            traffic: Traffic::default(),
        })
    }

    /// What went through.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// How many blocks it took.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Checks that no packet was lost or made inside, and that the queue's byte count is right.
    pub fn check(&self) -> Result<(), String> {
        let inside = self.held.iter().filter(|held| matches!(held.fate, Fate::Open | Fate::Complete));
        self.traffic.check(inside.map(|held| &held.packet).chain(self.leaving.iter().map(|(.., packet)| packet)))?;
        let unsent = self.held.iter().skip((self.next_packet - self.first_held) as usize);
        let unsent: u64 = unsent.map(|held| on_stream(&held.packet)).sum();
        if unsent == self.unsent_bytes + self.next_offset {
            Ok(())
        } else {
            Err(format!("{unsent} bytes wait, but {} are counted", self.unsent_bytes + self.next_offset))
        }
    }

    /// Changes the settings of all that has not begun to be transmitted. False when a TTI would not carry a single
    /// block: then nothing changes.
    ///
    /// The running TTI ends as it began. Blocks that come back are cut anew where the new size is smaller, and packets
    /// leave in their order after a decrease of the delay. A shorter queue keeps what it holds and takes nothing until
    /// there is room.
    pub fn set_settings(&mut self, now: Time, settings: &BlockArqSettings, out: &mut Outbox) -> bool {
        let Some((pdu, blocks_per_tti)) = settings.blocks_per_tti() else { return false };
        self.tti = settings.tti;
        self.pdu = pdu.as_bytes();
        self.blocks_per_tti = blocks_per_tti;
        self.feedback_delay = settings.feedback_delay;
        self.attempts = settings.max_transmissions;
        self.not_before = self.leaving.back().map_or(now, |&(leaves, ..)| leaves);
        self.delay = settings.delay;
        self.limit = settings.queue;
        self.tti_start = settings.tti_start;
        self.errors.set_settings(&settings.errors);
        for (ready, block) in std::mem::take(&mut self.returning) {
            self.come_back(ready, block);
        }
        self.set_delivery(now, settings.delivery, out);
        self.plan(now);
        out.fact(Fact::new(FactKind::SettingsChanged, FlowId::NONE));
        true
    }

    /// Packets that waited for earlier ones leave when they need not any more.
    fn set_delivery(&mut self, now: Time, delivery: Delivery, out: &mut Outbox) {
        if self.delivery == Delivery::InSequence && delivery == Delivery::OutOfSequence {
            for ordinal in self.first_held..self.first_held + self.held.len() as u64 {
                let held = self.held_mut(ordinal);
                if held.fate == Fate::Complete {
                    held.fate = Fate::Left;
                    let held = *held;
                    self.leave(ordinal, held, now, out);
                }
            }
            self.forget_settled();
        }
        self.delivery = delivery;
    }

    /// Begins no TTI until [`release`](BlockArq::release); a running one ends.
    pub fn hold(&mut self, out: &mut Outbox) {
        if self.is_held {
            return;
        }
        self.is_held = true;
        if let Air::Waiting(_) = self.air {
            self.air = Air::Idle;
        }
        out.fact(Fact::new(FactKind::TransmissionHeld, FlowId::NONE));
    }

    /// Goes on transmitting.
    pub fn release(&mut self, now: Time, out: &mut Outbox) {
        if !self.is_held {
            return;
        }
        self.is_held = false;
        self.plan(now);
        out.fact(Fact::new(FactKind::TransmissionReleased, FlowId::NONE));
    }

    /// Hands back all that has not left, in the order it entered, through [`HANDED_BACK`]; a running TTI breaks off.
    pub fn flush(&mut self, out: &mut Outbox) {
        let leaving = self.leaving.drain(..).map(|(_, packet)| packet);
        let mut inside: Vec<(u64, Packet)> = self.leaving_ordinals.drain(..).zip(leaving).collect();
        let held = (self.first_held..).zip(&self.held);
        let open = held.filter(|(_, held)| matches!(held.fate, Fate::Open | Fate::Complete));
        inside.extend(open.map(|(ordinal, held)| (ordinal, held.packet)));
        inside.sort_unstable_by_key(|&(ordinal, _)| ordinal);
        for (_, packet) in inside {
            self.traffic.hand_back(&packet);
            out.send(HANDED_BACK, packet);
        }
        leave_queue(self.waiting() as u64, out);
        self.first_held += self.held.len() as u64;
        self.held.clear();
        self.next_packet = self.first_held;
        self.next_offset = 0;
        self.unsent_bytes = 0;
        self.returning.clear();
        self.next_to_leave = self.first_held;
        self.not_before = Time::ZERO;
        self.on_air.clear();
        self.air = Air::Idle;
    }

    fn held_mut(&mut self, ordinal: u64) -> &mut Held {
        &mut self.held[(ordinal - self.first_held) as usize]
    }

    /// Packets of which no byte was sent.
    fn waiting(&self) -> usize {
        let started = (self.next_packet - self.first_held) as usize + usize::from(self.next_offset > 0);
        self.held.len() - started
    }

    /// Cuts the next new block, of at most `most` bytes, off the stream.
    fn cut(&mut self, most: u64) -> Block {
        let length = most.min(self.unsent_bytes);
        let block = Block {
            number: self.next_block,
            packet: self.next_packet,
            offset: self.next_offset,
            length,
            transmissions: 1,
        };
        self.unsent_bytes -= length;
        self.next_offset += length;
        while self.next_packet - self.first_held < self.held.len() as u64 {
            let size = on_stream(&self.held_mut(self.next_packet).packet);
            if self.next_offset < size {
                break;
            }
            self.next_offset -= size;
            self.next_packet += 1;
        }
        block
    }

    /// Plans the next TTI when none is running; a new packet does not wait for a block that comes back later.
    fn plan(&mut self, now: Time) {
        if matches!(self.air, Air::Sending(_)) || self.is_held {
            return;
        }
        let ready = if self.unsent_bytes > 0 { Some(now) } else { self.returning.front().map(|&(ready, _)| ready) };
        let Some(ready) = ready else { return };
        let starts = ready.max(now);
        self.air = Air::Waiting(match self.tti_start {
            TtiStart::OnDemand => starts,
            TtiStart::Grid => starts.next_multiple_of(self.tti),
        });
    }

    /// Puts together the batch of a TTI that starts now.
    fn begin_tti(&mut self, now: Time, out: &mut Outbox) {
        debug_assert!(self.on_air.is_empty());
        self.errors.begin(now, self.tti);
        let waiting = self.waiting();
        let mut room = self.blocks_per_tti;
        while room > 0 && self.returning.front().is_some_and(|&(ready, _)| ready <= now) {
            let (_, mut block) = self.returning.pop_front().expect("there is a front");
            block.transmissions = block.transmissions.saturating_add(1);
            let error = self.errors.strikes();
            self.on_air.push(OnAir::Single { block, error });
            room -= 1;
        }
        while room > 0 && self.unsent_bytes > 0 {
            let fine = self.errors.take_successes(room.min(self.unsent_bytes.div_ceil(self.pdu)));
            if fine > 0 {
                let first = self.cut(fine * self.pdu);
                self.next_block += fine;
                room -= fine;
                self.on_air.push(OnAir::Fine { first, count: fine, size: self.pdu });
            } else {
                let error = self.errors.strikes();
                debug_assert!(error, "no success was left");
                let block = self.cut(self.pdu);
                self.next_block += 1;
                room -= 1;
                self.on_air.push(OnAir::Single { block, error });
            }
        }
        debug_assert!(!self.on_air.is_empty(), "a TTI is only planned with something to send");
        leave_queue((waiting - self.waiting()) as u64, out);
        self.air = Air::Sending(now + self.tti);
    }

    /// The blocks of the running TTI arrive.
    fn end_tti(&mut self, now: Time, out: &mut Outbox) {
        self.air = Air::Idle;
        let mut on_air = std::mem::take(&mut self.on_air);
        for batch in on_air.drain(..) {
            match batch {
                OnAir::Fine { first, count, size } => {
                    self.blocks.sent += count;
                    if out.is_listening() {
                        tell_fine(first, count, size, out);
                    }
                    self.arrive(first, now, out);
                }
                OnAir::Single { block, error } => self.end_single(block, error, now, out),
            }
        }
        self.on_air = on_air; // keeps the allocation
        self.release_in_sequence(now, out);
    }

    fn end_single(&mut self, block: Block, error: bool, now: Time, out: &mut Outbox) {
        let first = block.transmissions == 1;
        self.blocks.sent += 1;
        self.blocks.resent += u64::from(!first);
        let kind = if first { FactKind::BlockSent } else { FactKind::BlockResent };
        let fact = |kind| Fact::new(kind, FlowId::NONE).about(block.number, block.length as u32);
        let transmissions = u64::from(block.transmissions);
        out.fact(fact(kind).values(transmissions, u64::from(error)));
        if !error {
            out.fact(fact(FactKind::BlockDelivered).values(transmissions, 0));
            self.arrive(block, now, out);
        } else if matches!(self.attempts, Attempts::AtMost(most) if block.transmissions >= most) {
            self.give_up(block, out);
        } else {
            self.come_back(now + self.feedback_delay, block);
        }
    }

    /// Puts a block into the queue of those sent again, in pieces if it is larger than blocks are by now.
    fn come_back(&mut self, ready: Time, mut block: Block) {
        while block.length > self.pdu {
            let piece = Block { length: self.pdu, ..block };
            self.returning.push_back((ready, piece));
            block.number = self.next_block;
            self.next_block += 1;
            block.length -= piece.length;
            block.offset += piece.length;
            while let size = on_stream(&self.held_mut(block.packet).packet)
                && block.offset >= size
            {
                block.offset -= size;
                block.packet += 1;
            }
        }
        self.returning.push_back((ready, block));
    }

    /// Calls `visit` for each packet that a block carries a part of, with that part's length.
    fn for_each_part(&mut self, block: Block, mut visit: impl FnMut(&mut Self, u64, u64)) {
        let (mut ordinal, mut offset, mut rest) = (block.packet, block.offset, block.length);
        while rest > 0 {
            let size = on_stream(&self.held_mut(ordinal).packet);
            let part = rest.min(size - offset);
            visit(self, ordinal, part);
            rest -= part;
            offset = 0;
            ordinal += 1;
        }
    }

    /// A block has arrived without error.
    fn arrive(&mut self, block: Block, now: Time, out: &mut Outbox) {
        let delivery = self.delivery;
        self.for_each_part(block, |bearer, ordinal, part| {
            let held = bearer.held_mut(ordinal);
            held.missing -= part;
            if held.missing == 0 && held.fate == Fate::Open {
                held.fate = Fate::Complete;
                if delivery == Delivery::OutOfSequence {
                    held.fate = Fate::Left;
                    let held = *held;
                    bearer.leave(ordinal, held, now, out);
                }
            }
        });
        if delivery == Delivery::OutOfSequence {
            self.forget_settled();
        }
    }

    /// A block is given up: the packets it carries parts of can never be complete.
    fn give_up(&mut self, block: Block, out: &mut Outbox) {
        self.blocks.dropped += 1;
        self.for_each_part(block, |bearer, ordinal, part| {
            let held = bearer.held_mut(ordinal);
            held.missing -= part;
            if held.fate != Fate::Abandoned {
                held.fate = Fate::Abandoned;
                let packet = held.packet;
                bearer.traffic.drop(&packet);
                out.drop(&packet, DropReason::AttemptsExhausted);
            }
        });
        self.forget_settled();
    }

    /// Hands up what is complete and has nothing open before it.
    fn release_in_sequence(&mut self, now: Time, out: &mut Outbox) {
        if self.delivery == Delivery::OutOfSequence {
            return;
        }
        self.next_to_leave = self.next_to_leave.max(self.first_held);
        while let Some(&held) = self.held.get((self.next_to_leave - self.first_held) as usize) {
            match held.fate {
                Fate::Open => break,
                Fate::Complete => {
                    self.held_mut(self.next_to_leave).fate = Fate::Left;
                    self.leave(self.next_to_leave, held, now, out);
                }
                Fate::Left | Fate::Abandoned => {}
            }
            self.next_to_leave += 1;
        }
        self.forget_settled();
    }

    /// Forgets packets at the front of which nothing is under way any more.
    fn forget_settled(&mut self) {
        while let Some(held) = self.held.front()
            && held.missing == 0
            && matches!(held.fate, Fate::Left | Fate::Abandoned)
        {
            self.held.pop_front();
            self.first_held += 1;
        }
    }

    fn leave(&mut self, ordinal: u64, held: Held, now: Time, out: &mut Outbox) {
        let fact = Fact::new(FactKind::PacketDelivered, held.packet.flow);
        let fact = fact.about(held.packet.seq, held.packet.size().as_bytes() as u32);
        let leaves = (now + self.delay).max(self.not_before);
        out.fact(fact.values((leaves - held.entered).as_nanos(), 0));
        if leaves <= now {
            self.traffic.deliver(&held.packet);
            out.send(Port(0), held.packet);
        } else {
            self.leaving.push_back((leaves, held.packet));
            self.leaving_ordinals.push_back(ordinal);
        }
    }
}

impl Machine for BlockArq {
    fn on_packet(&mut self, now: Time, _: Port, packet: &Packet, out: &mut Outbox) {
        self.traffic.enter(packet);
        let size = packet.size();
        let waiting = self.waiting();
        if !self.limit.admits(waiting, self.unsent_bytes, size) {
            self.traffic.drop(packet);
            out.drop(packet, DropReason::QueueFull);
            return;
        }
        let length = on_stream(packet);
        self.held.push_back(Held { packet: *packet, entered: now, missing: length, fate: Fate::Open });
        self.unsent_bytes += length;
        let joined = Fact::new(FactKind::QueueLength, packet.flow).about(packet.seq, size.as_bytes() as u32);
        out.fact(joined.values(waiting as u64 + 1, self.unsent_bytes));
        self.plan(now);
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        while let Some(&(due, packet)) = self.leaving.front()
            && due <= now
        {
            self.leaving.pop_front();
            self.leaving_ordinals.pop_front();
            self.traffic.deliver(&packet);
            out.send(Port(0), packet);
        }
        match self.air {
            Air::Sending(ends) if ends <= now => self.end_tti(now, out),
            Air::Waiting(starts) if starts <= now => self.begin_tti(now, out),
            _ => {}
        }
        self.plan(now);
        if self.air == Air::Waiting(now) {
            self.begin_tti(now, out); // the next TTI follows the last one without a gap
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        let radio = match self.air {
            Air::Idle => None,
            Air::Waiting(time) | Air::Sending(time) => Some(time),
        };
        let leaving = self.leaving.front().map(|&(due, ..)| due);
        match (radio, leaving) {
            (Some(radio), Some(leaving)) => Some(radio.min(leaving)),
            (radio, leaving) => radio.or(leaving),
        }
    }
}

/// Tells that so many packets do not wait any more.
fn leave_queue(packets: u64, out: &mut Outbox) {
    if packets > 0 {
        out.fact(Fact::new(FactKind::QueueLeft, FlowId::NONE).values(packets, 0));
    }
}

/// Tells of blocks that arrived at their first transmission.
fn tell_fine(first: Block, count: u64, size: u64, out: &mut Outbox) {
    for n in 0..count {
        let length = size.min(first.length - n * size) as u32;
        let fact = |kind| Fact::new(kind, FlowId::NONE).about(first.number + n, length);
        out.fact(fact(FactKind::BlockSent).values(1, 0));
        out.fact(fact(FactKind::BlockDelivered).values(1, 0));
    }
}

/// Bytes that a packet takes in the stream: one at least, as settings without headers make ACKs of no size.
fn on_stream(packet: &Packet) -> u64 {
    packet.size().as_bytes().max(1)
}

#[cfg(test)]
mod tests;
