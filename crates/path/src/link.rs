//! A wired link: drop-tail queue, transmitter, delay line.
//!
//! With a constant rate the fate of a packet is known when it arrives, so that a packet costs one event:
//! its arrival at the far end. When the settings change, or the transmitter is held, the packet in transmission
//! and those on the line go on as they were, and those that wait are planned anew. A queue that looks at deadlines has
//! one event more per packet, at the instant its transmission begins.

use std::collections::VecDeque;

use cellwind_engine::fact::{DropReason, Fact, FactKind};
use cellwind_engine::machine::{Machine, Outbox, Port};
use cellwind_engine::packet::{Flags, FlowId, Packet};
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::{Rate, Size};

use crate::HANDED_BACK;
use crate::errors::ErrorProcess;
use crate::settings::{Expiry, LinkSettings, QueueLimit};
use crate::traffic::Traffic;

/// One direction of a wired link; packets enter and leave at port 0.
#[derive(Clone, Debug)]
pub struct Link {
    rate: Option<Rate>,
    /// Size and transmission time of the last packet: most packets have the size of the one before, and a
    /// comparison is cheaper than a division.
    last: (Size, Span),
    delay: Span,
    limit: QueueLimit,
    mark_above: Option<u32>,
    expiry: Option<Expiry>,
    /// Connections whose next packet tells that those before it expired.
    to_mark: Vec<(FlowId, u16)>,
    losses: ErrorProcess,
    /// When the transmitter has sent everything it was given; [`Time::MAX`] while it is held.
    idle_at: Time,
    /// While it is held: when the packet that was in transmission is sent.
    sent_at: Time,
    /// When the last packet arrives that began under earlier settings; none may overtake it.
    not_before: Time,
    under_way: VecDeque<UnderWay>,
    /// How many at the front of `under_way` have left the queue.
    started: usize,
    waiting_bytes: u64,
    traffic: Traffic,
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    starts: Time,
    arrives: Time,
    lost: bool,
    /// Its deadline will be over when its transmission is to begin.
    expires: bool,
    /// It joined a queue.
    waited: bool,
    packet: Packet,
}

impl Link {
    /// A link as `settings` describe it; `losses` drives its random loss.
    ///
    /// # Panics
    ///
    /// On losses that [`ErrorSettings::check`](crate::errors::settings::ErrorSettings::check) refuses.
    pub fn new(settings: &LinkSettings, losses: Stream) -> Self {
        Link {
            rate: settings.rate,
            last: (Size::ZERO, Span::ZERO),
            delay: settings.delay,
            limit: settings.queue,
            mark_above: settings.mark_above,
            expiry: settings.expiry,
            to_mark: Vec::new(),
            losses: ErrorProcess::new(&settings.loss, losses),
            idle_at: Time::ZERO,
            sent_at: Time::ZERO,
            not_before: Time::ZERO,
            under_way: VecDeque::new(),
            started: 0,
            waiting_bytes: 0,
            traffic: Traffic::default(),
        }
    }

    /// What went through.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Checks that no packet was lost or made inside.
    pub fn check(&self) -> Result<(), String> {
        self.traffic.check(self.under_way.iter().map(|entry| &entry.packet))
    }

    /// Changes the settings of all that has not begun to be transmitted; scripted faults are not among them.
    ///
    /// The order of packets is kept: after a decrease of the delay, packets wait for those on the line. A shorter queue
    /// keeps what it holds and takes nothing until there is room.
    pub fn set_settings(&mut self, now: Time, settings: &LinkSettings, out: &mut Outbox) {
        self.leave_queue(now, out);
        let begun = self.started.checked_sub(1).map(|last| self.under_way[last].arrives);
        self.not_before = self.not_before.max(begun.unwrap_or(Time::ZERO));
        let free_at = self.free_at();
        self.rate = settings.rate;
        self.last = (Size::ZERO, Span::ZERO);
        self.delay = settings.delay;
        self.limit = settings.queue;
        self.mark_above = settings.mark_above;
        self.expiry = settings.expiry;
        if self.losses.set_settings(&settings.loss) {
            for waiting in self.under_way.range_mut(self.started..) {
                waiting.lost = self.losses.strikes_packet();
            }
        }
        if !self.is_held() {
            self.plan(free_at);
        }
        out.fact(Fact::new(FactKind::SettingsChanged, FlowId::NONE));
    }

    /// Begins to transmit nothing until [`release`](Link::release); what is in transmission or on the line goes on.
    pub fn hold(&mut self, now: Time, out: &mut Outbox) {
        if self.is_held() {
            return;
        }
        self.leave_queue(now, out);
        self.sent_at = self.free_at();
        self.plan(Time::MAX);
        out.fact(Fact::new(FactKind::TransmissionHeld, FlowId::NONE));
    }

    /// Goes on transmitting.
    pub fn release(&mut self, now: Time, out: &mut Outbox) {
        if !self.is_held() {
            return;
        }
        self.plan(self.sent_at.max(now));
        out.fact(Fact::new(FactKind::TransmissionReleased, FlowId::NONE));
    }

    /// Hands back all that has not arrived, in its order, through [`HANDED_BACK`].
    pub fn flush(&mut self, now: Time, out: &mut Outbox) {
        for UnderWay { starts, waited, packet, .. } in self.under_way.drain(..) {
            self.traffic.hand_back(&packet);
            out.send(HANDED_BACK, packet);
            tell_left(waited, starts, now, out);
        }
        self.started = 0;
        self.waiting_bytes = 0;
        self.sent_at = now;
        self.not_before = now;
        if !self.is_held() {
            self.idle_at = now;
        }
    }

    fn is_held(&self) -> bool {
        self.idle_at == Time::MAX
    }

    /// When the transmitter has sent all that has begun.
    fn free_at(&self) -> Time {
        self.under_way.get(self.started).map_or(self.idle_at, |waiting| waiting.starts)
    }

    /// Plans the waiting packets for a transmitter that is free at `free_at`.
    fn plan(&mut self, mut free_at: Time) {
        for at in self.started..self.under_way.len() {
            let taken = self.transmission(self.under_way[at].packet.size());
            let waiting = &mut self.under_way[at];
            waiting.starts = free_at;
            waiting.expires = self.expiry.is_some_and(|expiry| expiry.strikes(waiting.packet.deadline, free_at));
            if waiting.expires {
                waiting.arrives = free_at;
                continue;
            }
            free_at += taken;
            waiting.arrives = (free_at + self.delay).max(self.not_before);
        }
        self.idle_at = free_at;
    }

    /// How long the transmitter takes for `size`.
    #[inline]
    fn transmission(&mut self, size: Size) -> Span {
        if self.last.0 != size {
            self.last = (size, self.rate.map_or(Span::ZERO, |rate| rate.time_for(size)));
        }
        self.last.1
    }

    /// Notes which packets the transmitter has begun since the last look, whose fate is sure then, and drops those that it
    /// found expired.
    #[inline]
    fn leave_queue(&mut self, now: Time, out: &mut Outbox) {
        while let Some(entry) = self.under_way.get(self.started)
            && entry.starts <= now
        {
            self.waiting_bytes -= entry.packet.size().as_bytes();
            if entry.expires {
                self.drop_expired(now, out);
            } else {
                if !self.to_mark.is_empty() {
                    self.mark();
                }
                if self.losses.heeds_time() {
                    self.strike_first();
                }
                self.started += 1;
            }
        }
    }

    /// Marks the packet that has joined `waiting` others, where that is more than a queue should hold (RFC 3168 §5).
    #[inline(never)]
    fn mark_congestion(&mut self, above: u32, waiting: usize) {
        if let Some(UnderWay { packet, .. }) = self.under_way.back_mut()
            && waiting >= above as usize
            && packet.flags.has(Flags::ECT)
        {
            packet.flags = packet.flags.with(Flags::CE);
        }
    }

    /// Lets losses that depend on time strike the first that waits, as its transmission begins.
    #[inline(never)]
    fn strike_first(&mut self) {
        let taken = self.transmission(self.under_way[self.started].packet.size());
        let begun = &mut self.under_way[self.started];
        begun.lost |= self.losses.strikes_transmission(begun.starts, begun.starts + taken);
    }

    /// Drops the first that waits.
    #[inline(never)]
    fn drop_expired(&mut self, now: Time, out: &mut Outbox) {
        let Some(UnderWay { packet, waited, .. }) = self.under_way.remove(self.started) else { return };
        self.traffic.drop(&packet);
        tell_left(waited, now, now, out);
        out.drop(&packet, DropReason::Expired);
        let connection = (packet.flow, packet.connection);
        if self.expiry.is_some_and(|expiry| expiry.mark) && !self.to_mark.contains(&connection) {
            self.to_mark.push(connection);
        }
    }

    /// Marks the first that waits if packets of its connection expired before it.
    #[inline(never)]
    fn mark(&mut self) {
        let packet = &mut self.under_way[self.started].packet;
        if let Some(at) = self.to_mark.iter().position(|&marked| marked == (packet.flow, packet.connection)) {
            packet.flags = packet.flags.with(Flags::EXP);
            self.to_mark.swap_remove(at);
        }
    }
}

/// Tells that a packet does not wait any more, if it did, since its transmission began.
#[inline]
fn tell_left(waited: bool, starts: Time, now: Time, out: &mut Outbox) {
    if waited && out.is_listening() {
        let since = now - starts.min(now);
        out.fact(Fact::new(FactKind::QueueLeft, FlowId::NONE).values(1, since.as_nanos()));
    }
}

impl Machine for Link {
    fn on_packet(&mut self, now: Time, _: Port, packet: &Packet, out: &mut Outbox) {
        self.traffic.enter(packet);
        self.leave_queue(now, out);
        let waiting = self.under_way.len() - self.started;
        let size = packet.size();
        if self.idle_at > now && !self.limit.admits(waiting, self.waiting_bytes, size) {
            self.traffic.drop(packet);
            out.drop(packet, DropReason::QueueFull);
            return;
        }
        let starts = self.idle_at.max(now);
        let expires = self.expiry.is_some_and(|expiry| expiry.strikes(packet.deadline, starts));
        let taken = if expires { Span::ZERO } else { self.transmission(size) };
        self.idle_at = starts + taken;
        let lost = self.losses.strikes_packet();
        self.waiting_bytes += size.as_bytes();
        let arrives = if expires { starts } else { (self.idle_at + self.delay).max(self.not_before) };
        let waited = starts > now;
        self.under_way.push_back(UnderWay { starts, arrives, lost, expires, waited, packet: *packet });
        if let Some(above) = self.mark_above
            && waited
        {
            self.mark_congestion(above, waiting);
        }
        if out.is_listening() && waited {
            let joined = Fact::new(FactKind::QueueLength, packet.flow).about(packet.seq, size.as_bytes() as u32);
            out.fact(joined.values(waiting as u64 + 1, self.waiting_bytes));
        }
        if self.expiry.is_some() {
            self.leave_queue(now, out);
        }
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        if self.expiry.is_some() || self.losses.heeds_time() {
            self.leave_queue(now, out);
        }
        while let Some(&UnderWay { starts, arrives, lost, waited, ref packet, .. }) = self.under_way.front()
            && arrives <= now
        {
            tell_left(waited, starts, now, out);
            if self.started > 0 {
                self.started -= 1;
            } else {
                self.waiting_bytes -= packet.size().as_bytes(); // it left the queue since the last look
            }
            if lost {
                self.traffic.drop(packet);
                out.drop(packet, DropReason::RandomLoss);
            } else {
                self.traffic.deliver(packet);
                out.send(Port(0), *packet);
            }
            self.under_way.pop_front();
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        // `Time::MAX` is never: what waits while it is held
        let arrives = self.under_way.front().map(|entry| entry.arrives);
        let starts = self.expiry.and_then(|_| self.under_way.get(self.started)).map(|waiting| waiting.starts);
        arrives.min(starts.or(arrives))
    }
}

#[cfg(test)]
mod tests;
