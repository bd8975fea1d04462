//! The sending half of ATP: objects, the packets that carry their fragments, and the control of congestion.

use std::collections::{BTreeSet, VecDeque};

use cellwind_engine::packet::FlowId;
use cellwind_engine::time::{Span, Time};

use super::receiver::{Ack, VECTOR};
use super::settings::{AtpCongestion, AtpSettings, FragmentLifetime};
use crate::carrier::Message;
use crate::tcp::congestion::{Cause, Congestion, NewAck, Windows};
use crate::tcp::rto::Rto;
use crate::tcp::settings::{RtoSettings, TcpSettings};
use crate::tfrc::rate::{Feedback, RateControl};

/// Packets sent later that say, once acknowledged, that a packet is lost: as conservative as TCP's three duplicates.
const THRESHOLD: u64 = 3;

/// What the sender tells of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All of it is acknowledged.
    Ok,
    /// Its deadline is over, or cannot be kept.
    Expired,
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The packet's number.
    pub number: u64,
    /// The object.
    pub object: Message,
    /// The fragment's place in the object.
    pub index: u64,
    /// First byte of the fragment, counting all objects.
    pub start: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// Whether the fragment was sent before.
    pub is_again: bool,
    /// Until when queues shall carry it.
    pub deadline: Option<Time>,
}

/// What an acknowledgement, or the lack of one, told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// The round trip it shows.
    pub sample: Option<Span>,
    /// The window, or the rate, was reduced for a loss.
    pub is_reduced: bool,
}

/// The sending half of an association.
#[derive(Clone, Debug)]
pub struct Sender {
    fragment: u64,
    retransmit: bool,
    lifetime: FragmentLifetime,
    refuse_hopeless: bool,

    objects: VecDeque<Object>,
    /// Bytes of all objects so far.
    written: u64,
    /// Packets from the oldest that nothing is known about; numbers are consecutive.
    packets: VecDeque<Packet>,
    /// The number of the next packet.
    next: u64,
    /// Payload bytes that are neither acknowledged nor lost.
    flight: u64,
    control: Control,
    rto: Rto,
    /// When nothing was acknowledged for too long.
    timer: Option<Time>,
    verdicts: VecDeque<(u32, Verdict)>,
}

/// An object that is not settled.
#[derive(Clone, Debug)]
struct Object {
    message: Message,
    /// First byte, counting all objects.
    start: u64,
    /// The first fragment that was never sent.
    fresh: u64,
    /// Fragments to send again.
    missing: BTreeSet<u64>,
    /// Fragments that are acknowledged.
    arrived: u64,
    /// Fragments that are neither.
    under_way: u64,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    object: u32,
    index: u64,
    bytes: u64,
    sent: Time,
    /// Neither acknowledged nor lost.
    is_open: bool,
}

/// What an acknowledgement brought.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    acked: u64,
    /// What was under way before it.
    flight: u64,
    rtt: Option<Span>,
    highest: u64,
}

/// What holds the sender back.
// One per association: the difference in size is of no account.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
enum Control {
    Off,
    Aimd {
        windows: Windows,
        congestion: Congestion,
        /// Losses of packets below belong to the last reduction.
        recovery_point: u64,
    },
    Tfrc {
        rate: RateControl,
        /// When the last packet left, and its payload.
        last: Option<(Time, u64)>,
    },
}

impl Sender {
    /// A sender that has nothing to send.
    pub fn new(settings: &AtpSettings) -> Self {
        let fragment = settings.fragment.as_bytes().max(1);
        let (initial, minimum) = (settings.initial_rto, settings.minimum_rto);
        let rto = RtoSettings { initial, minimum, ..RtoSettings::default() };
        let control = match settings.congestion {
            AtpCongestion::Off => Control::Off,
            AtpCongestion::Aimd => Control::Aimd {
                // RFC 3390 §1, as for TFRC's start
                windows: Windows { cwnd: (4 * fragment).min((2 * fragment).max(4380)), ssthresh: u64::MAX },
                congestion: Congestion::new(&TcpSettings::default(), FlowId::NONE),
                recovery_point: 0,
            },
            AtpCongestion::Tfrc => {
                Control::Tfrc { rate: RateControl::new(fragment, Span::from_secs(64), false), last: None }
            }
        };
        Sender {
            fragment,
            retransmit: settings.retransmit,
            lifetime: settings.lifetime,
            refuse_hopeless: settings.refuse_hopeless,
            objects: VecDeque::new(),
            written: 0,
            packets: VecDeque::new(),
            next: 0,
            flight: 0,
            control,
            rto: Rto::new(&rto),
            timer: None,
            verdicts: VecDeque::new(),
        }
    }

    /// Takes an object, to be sent after those before it.
    pub fn push(&mut self, message: Message) {
        let start = self.written;
        self.written = self.written.saturating_add(message.bytes);
        let object = Object { message, start, fresh: 0, missing: BTreeSet::new(), arrived: 0, under_way: 0 };
        self.objects.push_back(object);
    }

    /// Forgets an object; false when it is not here.
    pub fn abort(&mut self, number: u32) -> bool {
        let before = self.objects.len();
        self.objects.retain(|object| object.message.number != number);
        self.objects.len() < before
    }

    /// The next packet, if one may leave now.
    pub fn next_packet(&mut self, now: Time) -> Option<Outgoing> {
        self.expire(now);
        loop {
            let at = self.objects.iter().position(|object| object.next(self.fragment).is_some())?;
            let object = &self.objects[at];
            let (index, is_again) = object.next(self.fragment)?;
            if self.refuse_hopeless && object.fresh == 0 && self.is_hopeless(object, now) {
                let number = object.message.number;
                self.objects.remove(at);
                self.verdicts.push_back((number, Verdict::Expired));
                continue;
            }
            let offset = index * self.fragment;
            let bytes = (object.message.bytes - offset).min(self.fragment);
            if !self.admits(bytes, now) {
                return None;
            }
            return Some(self.take(at, index, bytes, is_again, now));
        }
    }

    /// An acknowledgement arrives.
    pub fn on_ack(&mut self, now: Time, ack: Ack) -> Reaction {
        let first = self.next - self.packets.len() as u64;
        if ack.highest >= self.next || ack.sent > now {
            return Reaction::default(); // of what was never sent
        }
        let flight = self.flight;
        let mut acked = 0;
        let mut rtt = None;
        for below in (0..VECTOR).take_while(|below| ack.highest >= first + below) {
            let at = (ack.highest - below - first) as usize;
            if ack.vector >> below & 1 == 1 && self.packets[at].is_open {
                rtt = rtt.or((below == 0).then(|| now.since(self.packets[at].sent) - ack.delay));
                acked += self.settle(at, true);
            }
        }
        let mut reaction = Reaction::default();
        if let Some(sample) = rtt {
            self.rto.on_sample(sample, ack.highest);
            reaction.sample = Some(sample);
        }
        let lost = self.find_losses(first, ack);
        let congested = lost.filter(|_| !ack.expired);
        let arrival = Arrived { acked, flight, rtt, highest: ack.highest };
        reaction.is_reduced = self.react(now, arrival, congested);
        if let (Control::Tfrc { rate, .. }, Some((x_recv, p))) = (&mut self.control, ack.report) {
            rate.on_feedback(now, Feedback { sent: ack.sent, delay: ack.delay, x_recv, p });
        }
        if acked > 0 || lost.is_some() {
            self.restart_timer(now);
        }
        self.forget_settled();
        reaction
    }

    /// A timer has expired: a deadline, the next packet, or the lack of acknowledgements; true for the last.
    pub fn on_timeout(&mut self, now: Time) -> bool {
        if let Control::Tfrc { rate, .. } = &mut self.control
            && rate.nofeedback_at().is_some_and(|due| due <= now)
        {
            rate.on_nofeedback(now);
        }
        if self.timer.is_none_or(|due| due > now) {
            return false;
        }
        self.timer = None;
        if self.flight == 0 {
            return false;
        }
        // P9 III.B: whatever was under way has expired by now, and is sent again from the oldest on
        let flight = self.flight;
        for at in 0..self.packets.len() {
            if self.packets[at].is_open {
                self.settle(at, false);
            }
        }
        self.rto.back_off();
        if let Control::Aimd { windows, congestion, recovery_point } = &mut self.control {
            windows.ssthresh = congestion.ssthresh_after(Cause::Timeout, windows, flight, self.fragment);
            windows.cwnd = self.fragment;
            congestion.on_timeout(windows, self.fragment, now, self.next);
            *recovery_point = self.next;
        }
        self.forget_settled();
        true
    }

    /// When to call [`on_timeout`](Sender::on_timeout) and [`next_packet`](Sender::next_packet) next.
    pub fn next_timeout(&self) -> Option<Time> {
        let deadline = self.objects.iter().filter(|object| object.next(self.fragment).is_some());
        // A deadline is over after its instant.
        let deadline = deadline.filter_map(|object| object.message.deadline).min().map(|at| at + Span::from_nanos(1));
        let (packet, nofeedback) = match &self.control {
            Control::Tfrc { rate, .. } => {
                let waits = self.objects.iter().any(|object| object.next(self.fragment).is_some());
                let watched = waits || self.flight > 0;
                (waits.then(|| self.earliest()), rate.nofeedback_at().filter(|_| watched))
            }
            Control::Off | Control::Aimd { .. } => (None, None),
        };
        [self.timer, deadline, packet, nofeedback].into_iter().flatten().min()
    }

    /// What there is to tell, oldest first.
    pub fn poll_verdict(&mut self) -> Option<(u32, Verdict)> {
        self.verdicts.pop_front()
    }

    /// True when nothing is left to send or to be acknowledged.
    pub fn is_done(&self) -> bool {
        self.objects.is_empty()
    }

    /// Bytes of all objects so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The sender's round trip.
    pub fn rtt(&self) -> Option<Span> {
        self.rto.srtt()
    }

    /// The retransmission timeout in force.
    pub fn timeout(&self) -> Span {
        self.rto.current()
    }

    /// The window in bytes, where there is one.
    pub fn cwnd(&self) -> Option<u64> {
        if let Control::Aimd { windows, .. } = &self.control { Some(windows.cwnd) } else { None }
    }

    /// The allowed rate in bytes per second and the loss event rate, where there is one.
    pub fn rate(&self) -> Option<(f64, f64)> {
        if let Control::Tfrc { rate, .. } = &self.control { Some((rate.rate(), rate.loss_event_rate())) } else { None }
    }

    /// Checks the flight, and the fragments under way of every object, against the packets.
    pub fn check(&self) -> Result<(), String> {
        let open = self.packets.iter().filter(|packet| packet.is_open);
        let flight: u64 = open.map(|packet| packet.bytes).sum();
        if flight != self.flight {
            return Err(format!("{flight} bytes are under way, but {} are counted", self.flight));
        }
        if self.flight > 0 && self.timer.is_none() {
            return Err("packets are under way and no timer runs".into());
        }
        for object in &self.objects {
            let known = object.arrived + object.under_way + object.missing.len() as u64;
            if known != object.fresh {
                return Err(format!("of {} fragments sent, {known} are known about: {object:?}", object.fresh));
            }
        }
        Ok(())
    }

    /// When the next packet may leave by the rate.
    fn earliest(&self) -> Time {
        match &self.control {
            Control::Tfrc { rate, last: Some((at, bytes)) } => *at + rate.interval(*bytes),
            _ => Time::ZERO,
        }
    }

    fn admits(&mut self, bytes: u64, now: Time) -> bool {
        let earliest = self.earliest();
        match &mut self.control {
            Control::Off => true,
            // A window below one packet still lets one go when nothing else is under way.
            Control::Aimd { windows, .. } => self.flight == 0 || self.flight + bytes <= windows.cwnd,
            Control::Tfrc { rate, .. } => {
                if earliest > now {
                    rate.on_held_back(now, earliest);
                }
                earliest <= now
            }
        }
    }

    fn take(&mut self, at: usize, index: u64, bytes: u64, is_again: bool, now: Time) -> Outgoing {
        let object = &mut self.objects[at];
        if is_again {
            object.missing.remove(&index);
        } else {
            object.fresh = index + 1;
        }
        object.under_way += 1;
        let message = object.message;
        let start = object.start + index * self.fragment;
        self.packets.push_back(Packet { object: message.number, index, bytes, sent: now, is_open: true });
        let number = self.next;
        self.next += 1;
        self.flight += bytes;
        if let Control::Tfrc { rate, last } = &mut self.control {
            rate.on_sent(now);
            *last = Some((now, bytes));
        }
        if self.timer.is_none() {
            self.restart_timer(now);
        }
        let deadline = self.deadline(message.deadline, now);
        Outgoing { number, object: message, index, start, bytes, is_again, deadline }
    }

    /// The lifetime of a fragment is never longer than its object's (thesis, section 5.4).
    fn deadline(&self, object: Option<Time>, now: Time) -> Option<Time> {
        let own = match self.lifetime {
            FragmentLifetime::Object => None,
            FragmentLifetime::Rto => Some(now + self.rto.current()),
            FragmentLifetime::RtoPlusRtt => Some(now + self.rto.current() + self.rto.srtt().unwrap_or_default()),
        };
        [object, own].into_iter().flatten().min()
    }

    /// Whether the object would arrive too late at the rate of the moment; unknown before a round trip is measured.
    fn is_hopeless(&self, object: &Object, now: Time) -> bool {
        let (Some(deadline), Some(srtt)) = (object.message.deadline, self.rto.srtt()) else { return false };
        let rate = match &self.control {
            Control::Off => return now + srtt / 2 > deadline,
            Control::Aimd { windows, .. } => windows.cwnd as f64 / srtt.as_secs_f64(),
            Control::Tfrc { rate, .. } => rate.rate(),
        };
        let needed = object.message.bytes as f64 / rate + srtt.as_secs_f64() / 2.0;
        now + Span::from_nanos((needed * 1e9) as u64) > deadline
    }

    /// Gives up what is too late to be sent; what is all under way gets its verdict from the receiver.
    fn expire(&mut self, now: Time) {
        let (fragment, verdicts) = (self.fragment, &mut self.verdicts);
        self.objects.retain(|object| {
            let is_over = object.message.deadline.is_some_and(|deadline| deadline < now);
            let gives_up = is_over && object.next(fragment).is_some();
            if gives_up {
                verdicts.push_back((object.message.number, Verdict::Expired));
            }
            !gives_up
        });
    }

    /// Closes the packet at `at`, which has arrived or is lost; gives its payload.
    fn settle(&mut self, at: usize, has_arrived: bool) -> u64 {
        let Packet { object, index, bytes, .. } = self.packets[at];
        self.packets[at].is_open = false;
        self.flight -= bytes;
        let Some(place) = self.objects.iter().position(|other| other.message.number == object) else { return bytes };
        let object = &mut self.objects[place];
        object.under_way -= 1;
        let verdict = if has_arrived {
            object.arrived += 1;
            (object.arrived == object.count(self.fragment)).then_some(Verdict::Ok)
        } else {
            object.missing.insert(index);
            (!self.retransmit).then_some(Verdict::Expired) // P9 V.D: without a second try the object is lost with it
        };
        if let Some(verdict) = verdict {
            self.verdicts.push_back((self.objects[place].message.number, verdict));
            self.objects.remove(place);
        }
        bytes
    }

    /// Finds what is lost by this acknowledgement: three later packets have arrived, or it lies in a gap of expired
    /// packets. Gives the highest number lost.
    fn find_losses(&mut self, first: u64, ack: Ack) -> Option<u64> {
        let until = if ack.expired { ack.highest } else { (ack.highest + 1).saturating_sub(THRESHOLD) };
        let mut lost = None;
        for number in first..until {
            let at = (number - first) as usize;
            if self.packets[at].is_open {
                self.settle(at, false);
                lost = Some(number);
            }
        }
        lost
    }

    /// RFC 5681 §3.1, §3.2: the window grows with what is acknowledged and halves once for the losses of a window.
    fn react(&mut self, now: Time, arrived: Arrived, lost: Option<u64>) -> bool {
        let mss = self.fragment;
        let Control::Aimd { windows, congestion, recovery_point } = &mut self.control else { return false };
        let Arrived { acked, flight, rtt, highest } = arrived;
        if lost.is_some_and(|number| number >= *recovery_point) {
            windows.ssthresh = congestion.ssthresh_after(Cause::DuplicateAcks, windows, flight, mss);
            windows.cwnd = windows.ssthresh;
            *recovery_point = self.next;
            return true;
        }
        if acked > 0 && highest >= *recovery_point {
            let srtt = self.rto.srtt();
            // Slow start counts rounds by sequence numbers; packet numbers are as good.
            let (snd_una, snd_nxt) = (highest, self.next);
            let ack = NewAck { now, acked, mss, flight, snd_una, snd_nxt, rtt, srtt, min_rtt: None };
            congestion.on_ack(windows, ack);
        }
        false
    }

    fn restart_timer(&mut self, now: Time) {
        self.timer = (self.flight > 0).then(|| now + self.rto.current());
    }

    fn forget_settled(&mut self) {
        while self.packets.front().is_some_and(|packet| !packet.is_open) {
            self.packets.pop_front();
        }
    }
}

impl Object {
    /// Fragments of the object.
    fn count(&self, fragment: u64) -> u64 {
        self.message.bytes.div_ceil(fragment)
    }

    /// The fragment to send next, and whether it was sent before.
    fn next(&self, fragment: u64) -> Option<(u64, bool)> {
        let again = self.missing.first().map(|&index| (index, true));
        again.or((self.fresh < self.count(fragment)).then_some((self.fresh, false)))
    }
}

#[cfg(test)]
mod tests;
