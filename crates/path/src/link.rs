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
use cellwind_engine::random::{IndependentErrors, Stream};
use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::{Rate, Size};

use crate::HANDED_BACK;
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
    losses: IndependentErrors,
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
    packet: Packet,
}

impl Link {
    /// A link as `settings` describe it; `losses` drives its random loss.
    pub fn new(settings: &LinkSettings, losses: Stream) -> Self {
        Link {
            rate: settings.rate,
            last: (Size::ZERO, Span::ZERO),
            delay: settings.delay,
            limit: settings.queue,
            mark_above: settings.mark_above,
            expiry: settings.expiry,
            to_mark: Vec::new(),
            losses: IndependentErrors::new(settings.loss, losses),
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
        if self.losses.set_probability(settings.loss) {
            for waiting in self.under_way.range_mut(self.started..) {
                waiting.lost = self.losses.strikes();
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
        for UnderWay { packet, .. } in self.under_way.drain(..) {
            self.traffic.hand_back(&packet);
            out.send(HANDED_BACK, packet);
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

    /// Notes which packets the transmitter has begun since the last look, and drops those that it found expired.
    #[inline]
    fn leave_queue(&mut self, now: Time, out: &mut Outbox) {
        while let Some(entry) = self.under_way.get(self.started)
            && entry.starts <= now
        {
            self.waiting_bytes -= entry.packet.size().as_bytes();
            if entry.expires {
                self.drop_expired(out);
            } else {
                if !self.to_mark.is_empty() {
                    self.mark();
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

    /// Drops the first that waits.
    #[inline(never)]
    fn drop_expired(&mut self, out: &mut Outbox) {
        let Some(UnderWay { packet, .. }) = self.under_way.remove(self.started) else { return };
        self.traffic.drop(&packet);
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
        let lost = self.losses.strikes();
        self.waiting_bytes += size.as_bytes();
        let arrives = if expires { starts } else { (self.idle_at + self.delay).max(self.not_before) };
        self.under_way.push_back(UnderWay { starts, arrives, lost, expires, packet: *packet });
        if let Some(above) = self.mark_above
            && starts > now
        {
            self.mark_congestion(above, waiting);
        }
        if out.is_listening() && starts > now {
            let joined = Fact::new(FactKind::QueueLength, packet.flow).about(packet.seq, size.as_bytes() as u32);
            out.fact(joined.values(waiting as u64 + 1, self.waiting_bytes));
        }
        if self.expiry.is_some() {
            self.leave_queue(now, out);
        }
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        if self.expiry.is_some() {
            self.leave_queue(now, out);
        }
        while let Some(UnderWay { arrives, lost, packet, .. }) = self.under_way.front()
            && *arrives <= now
        {
            if self.started > 0 {
                self.started -= 1;
            } else {
                self.waiting_bytes -= packet.size().as_bytes(); // it left the queue since the last look
            }
            if *lost {
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
mod tests {
    use super::*;
    use crate::testkit::{packet, run};
    use cellwind_engine::packet::Deadline;
    use cellwind_engine::units::Probability;

    fn link(settings: LinkSettings) -> Link {
        Link::new(&settings, Stream::new(1, 0, "loss"))
    }

    fn settings() -> LinkSettings {
        LinkSettings { rate: Some(Rate::from_kbps(384)), delay: Span::from_millis(135), ..Default::default() }
    }

    #[test]
    fn packets_leave_one_transmission_time_apart() {
        // 576 bytes at 384 kbit/s take 12 ms; two that arrive together wait for each other.
        let mut link = link(settings());
        let left = run(&mut link, &[(0, packet(1, 536)), (0, packet(537, 536)), (100, packet(1073, 536))]);
        let times: Vec<u64> = left.iter().map(|&(time, _)| time.as_nanos() / 1_000_000).collect();
        assert_eq!(times, [147, 159, 247]);
    }

    #[test]
    fn the_queue_drops_the_tail_and_not_the_packet_in_transmission() {
        let mut link = link(LinkSettings { queue: QueueLimit::Packets(1), ..settings() });
        let burst: Vec<_> = (0..4).map(|n| (0, packet(1 + n * 536, 536))).collect();
        let left = run(&mut link, &burst);
        assert_eq!(left.len(), 2);
        assert_eq!(link.traffic().packets_dropped, 2);
        link.check().unwrap();
    }

    #[test]
    fn a_queue_that_marks_does_so_to_what_finds_others_waiting() {
        let mut link = link(LinkSettings { mark_above: Some(2), ..settings() });
        let capable = |n: u64| Packet { flags: Flags::ACK.with(Flags::ECT), ..packet(1 + n * 536, 536) };
        let mut burst: Vec<_> = (0..5).map(|n| (0, capable(n))).collect();
        burst.push((0, packet(2681, 536)));
        let left = run(&mut link, &burst);
        let marks: Vec<bool> = left.iter().map(|(_, packet)| packet.flags.has(Flags::CE)).collect();
        // One is in transmission; the next two find none and one waiting, the last does not understand marks.
        assert_eq!(marks, [false, false, false, true, true, false]);
        link.check().unwrap();
    }

    #[test]
    fn a_queue_bounded_in_bytes_takes_what_fits() {
        let mut link = link(LinkSettings { queue: QueueLimit::Bytes(Size::from_bytes(1200)), ..settings() });
        let burst: Vec<_> = (0..5).map(|n| (0, packet(1 + n * 536, 536))).collect();
        assert_eq!(run(&mut link, &burst).len(), 3); // one in transmission, 2 × 576 waiting
    }

    #[test]
    fn without_a_rate_only_the_delay_counts() {
        let mut link = link(LinkSettings { rate: None, queue: QueueLimit::Packets(1), ..settings() });
        let burst: Vec<_> = (0..4).map(|n| (0, packet(1 + n * 536, 536))).collect();
        let left = run(&mut link, &burst);
        assert!(left.iter().all(|&(time, _)| time == Time::from_millis(135)));
        assert_eq!(left.len(), 4);
    }

    #[test]
    fn random_loss_is_counted_and_takes_transmission_time() {
        let loss = Probability::new(0.3).unwrap();
        let mut link = link(LinkSettings { loss, ..settings() });
        let packets: Vec<_> = (0..1000).map(|n| (n * 20, packet(1 + n * 536, 536))).collect();
        let left = run(&mut link, &packets);
        let dropped = link.traffic().packets_dropped;
        assert_eq!(left.len() as u64 + dropped, 1000);
        assert!((225..375).contains(&dropped), "{dropped}"); // 300 with deviation 14.5, five of them
        link.check().unwrap();
    }

    /// What to do to a link, and when (ms).
    type Deed = fn(&mut Link, Time, &mut Outbox);

    /// 100 ms per 1000-byte packet, then 50 ms on the line.
    fn slow() -> LinkSettings {
        LinkSettings { rate: Some(Rate::from_kbps(80)), delay: Span::from_millis(50), ..Default::default() }
    }

    /// Gives the link four packets of 1000 bytes at once and does the deeds: what leaves port 0, and when (ms).
    fn with_deeds(link: &mut Link, deeds: &[(u64, Deed)]) -> Vec<(u64, u64)> {
        let mut out = Outbox::new(false);
        for n in 0..4 {
            link.on_packet(Time::ZERO, Port(0), &packet(n, 960), &mut out);
        }
        let mut left = Vec::new();
        let mut deeds = deeds.iter().peekable();
        loop {
            let deed = deeds.peek().map_or(Time::MAX, |(ms, _)| Time::from_millis(*ms));
            let due = link.next_timeout().unwrap_or(Time::MAX);
            let now = deed.min(due);
            if now == Time::MAX {
                return left;
            }
            if due <= deed {
                link.on_timeout(now, &mut out);
            } else if let Some((_, deed)) = deeds.next() {
                deed(link, now, &mut out);
            }
            link.check().unwrap();
            left.extend(out.take_packets().map(|(_, packet)| (now.as_nanos() / 1_000_000, packet.seq)));
        }
    }

    #[test]
    fn a_new_rate_holds_from_the_next_packet_on() {
        // At 110 ms the second packet is in transmission, until 200 ms. The others take 50 ms each at twice the rate.
        let faster: Deed = |link, now, out| {
            link.set_settings(now, &LinkSettings { rate: Some(Rate::from_kbps(160)), ..slow() }, out);
        };
        let left = with_deeds(&mut link(slow()), &[(110, faster)]);
        assert_eq!(left, [(150, 0), (250, 1), (300, 2), (350, 3)]);
    }

    #[test]
    fn a_rate_changed_twice_within_one_packet_leaves_that_packet_alone() {
        let set = |kbps| {
            move |link: &mut Link, now, out: &mut Outbox| {
                link.set_settings(now, &LinkSettings { rate: Some(Rate::from_kbps(kbps)), ..slow() }, out);
            }
        };
        let mut link = link(slow());
        let mut out = Outbox::new(false);
        (0..3).for_each(|n| link.on_packet(Time::ZERO, Port(0), &packet(n, 960), &mut out));
        set(160)(&mut link, Time::from_millis(10), &mut out);
        set(800)(&mut link, Time::from_millis(20), &mut out);
        let left: Vec<u64> = run(&mut link, &[]).iter().map(|(time, _)| time.as_nanos() / 1_000_000).collect();
        assert_eq!(left, [150, 160, 170]); // sent at 100, 110 and 120
    }

    #[test]
    fn nobody_overtakes_after_a_decrease_of_the_delay() {
        // Sent at 100, 200, 300 and 400 ms. The first is on the line until 150 ms, the second in transmission.
        let nearer: Deed = |link, now, out| {
            link.set_settings(now, &LinkSettings { delay: Span::ZERO, ..slow() }, out);
        };
        let left = with_deeds(&mut link(slow()), &[(110, nearer)]);
        assert_eq!(left, [(150, 0), (250, 1), (300, 2), (400, 3)]);
        // With a rate so high that the third would be there before the second.
        let much_nearer: Deed = |link, now, out| {
            link.set_settings(now, &LinkSettings { rate: None, delay: Span::ZERO, ..slow() }, out);
        };
        let left = with_deeds(&mut link(slow()), &[(110, much_nearer)]);
        assert_eq!(left, [(150, 0), (250, 1), (250, 2), (250, 3)]);
    }

    #[test]
    fn an_increase_of_the_loss_strikes_those_that_wait() {
        let lossy: Deed = |link, now, out| {
            let settings = LinkSettings { loss: Probability::new(0.999_999).unwrap(), ..slow() };
            link.set_settings(now, &settings, out);
        };
        let mut link = link(slow());
        assert_eq!(with_deeds(&mut link, &[(110, lossy)]), [(150, 0), (250, 1)]);
        assert_eq!(link.traffic().packets_dropped, 2);
    }

    #[test]
    fn while_it_is_held_only_what_has_begun_goes_on() {
        // At 110 ms the second packet is in transmission; the third begins at the release.
        let (hold, release): (Deed, Deed) =
            (|link, now, out| link.hold(now, out), |link, now, out| link.release(now, out));
        let left = with_deeds(&mut link(slow()), &[(110, hold), (1000, release)]);
        assert_eq!(left, [(150, 0), (250, 1), (1150, 2), (1250, 3)]);
        // A release before the packet in transmission is sent changes nothing.
        let left = with_deeds(&mut link(slow()), &[(110, hold), (190, release)]);
        assert_eq!(left, [(150, 0), (250, 1), (350, 2), (450, 3)]);
    }

    #[test]
    fn what_arrives_while_it_is_held_waits_in_the_queue() {
        let mut link = link(LinkSettings { rate: None, queue: QueueLimit::Packets(1), ..slow() });
        let mut out = Outbox::new(false);
        link.hold(Time::ZERO, &mut out);
        (0..2).for_each(|n| link.on_packet(Time::from_millis(1), Port(0), &packet(n, 960), &mut out));
        assert_eq!(link.traffic().packets_dropped, 1);
        assert_eq!(link.next_timeout(), Some(Time::MAX));
        link.release(Time::from_millis(20), &mut out);
        assert_eq!(run(&mut link, &[]).iter().map(|&(time, _)| time).collect::<Vec<_>>(), [Time::from_millis(70)]);
        link.check().unwrap();
    }

    #[test]
    fn settings_that_change_while_it_is_held_count_at_the_release() {
        let hold: Deed = |link, now, out| link.hold(now, out);
        let faster: Deed = |link, now, out| {
            link.set_settings(now, &LinkSettings { rate: Some(Rate::from_kbps(160)), ..slow() }, out);
        };
        let release: Deed = |link, now, out| link.release(now, out);
        let left = with_deeds(&mut link(slow()), &[(110, hold), (120, faster), (1000, release)]);
        assert_eq!(left, [(150, 0), (250, 1), (1100, 2), (1150, 3)]);
    }

    #[test]
    fn all_that_has_not_arrived_is_handed_back_in_order() {
        let mut link = link(slow());
        let mut out = Outbox::new(false);
        (0..4).for_each(|n| link.on_packet(Time::ZERO, Port(0), &packet(n, 960), &mut out));
        link.on_timeout(Time::from_millis(150), &mut out);
        assert_eq!(out.take_packets().count(), 1);
        link.flush(Time::from_millis(160), &mut out);
        let back: Vec<_> = out.take_packets().map(|(port, packet)| (port, packet.seq)).collect();
        assert_eq!(back, [(HANDED_BACK, 1), (HANDED_BACK, 2), (HANDED_BACK, 3)]);
        link.check().unwrap();
        assert_eq!((link.traffic().packets_handed_back, link.traffic().packets_held()), (3, 0));
        // The transmitter is free at once.
        let left = run(&mut link, &[(200, packet(9, 960))]);
        assert_eq!(left[0].0, Time::from_millis(350));
    }

    /// Packets of 1000 bytes from flow 0 whose deadlines (ms) are given.
    fn with_deadlines(deadlines: &[u64]) -> Vec<(u64, Packet)> {
        let deadline = |&ms: &u64| Deadline::at(Time::from_millis(ms));
        (0..).zip(deadlines).map(|(n, ms)| (0, Packet { deadline: deadline(ms), ..packet(n, 960) })).collect()
    }

    fn expiring(fix_ttl: u64, mark: bool) -> LinkSettings {
        let fix_ttl = Span::from_millis(fix_ttl);
        LinkSettings { expiry: Some(Expiry { fix_ttl, mark }), ..slow() }
    }

    #[test]
    fn what_has_expired_when_it_is_to_be_sent_takes_no_time() {
        // They would be sent at 0, 100, 200 and 300 ms; the second and third are over at 100 ms, the fourth goes then.
        let mut link = link(expiring(0, true));
        let left = run(&mut link, &with_deadlines(&[0, 99, 60, 100, 400]));
        let left: Vec<_> = left
            .iter()
            .map(|(time, packet)| (time.as_nanos() / 1_000_000, packet.seq, packet.flags.has(Flags::EXP)))
            .collect();
        assert_eq!(left, [(150, 0, false), (250, 3, true), (350, 4, false)]);
        assert_eq!((link.traffic().packets_dropped, link.traffic().packets_held()), (2, 0));
        link.check().unwrap();
    }

    #[test]
    fn fix_ttl_must_be_left_at_the_start_of_transmission() {
        // At 100 ms the second has 50 ms left and the third 51.
        let left = run(&mut link(expiring(51, false)), &with_deadlines(&[51, 150, 151]));
        assert_eq!(left.iter().map(|(_, packet)| packet.seq).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(left[1].0, Time::from_millis(250));
        assert!(run(&mut link(expiring(51, false)), &with_deadlines(&[50])).is_empty());
    }

    #[test]
    fn deadlines_are_looked_at_again_when_the_plan_changes() {
        // All would go in time, but nothing begins from 110 to 350 ms.
        let mut link = link(expiring(0, false));
        let mut out = Outbox::new(true);
        for (_, packet) in with_deadlines(&[1000, 1000, 300, 1000]) {
            link.on_packet(Time::ZERO, Port(0), &packet, &mut out);
        }
        link.on_timeout(Time::from_millis(100), &mut out);
        link.hold(Time::from_millis(110), &mut out);
        link.release(Time::from_millis(350), &mut out);
        let left = run(&mut link, &[]);
        assert_eq!(left.iter().map(|(_, packet)| packet.seq).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(left[2].0, Time::from_millis(500));
        link.check().unwrap();
    }

    #[test]
    fn expired_packets_fill_the_queue_until_their_turn() {
        let mut link = link(LinkSettings { queue: QueueLimit::Packets(2), ..expiring(0, false) });
        let left = run(&mut link, &with_deadlines(&[0, 1, 1, 900]));
        assert_eq!((left.len(), link.traffic().packets_dropped), (1, 3));
    }
}
