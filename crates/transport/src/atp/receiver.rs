//! The receiving half of ATP: objects out of fragments, and acknowledgements with a vector of packets.

use std::collections::{BTreeMap, BTreeSet};

use cellwind_engine::time::{Span, Time};

use super::settings::{AtpCongestion, AtpSettings};
use crate::carrier::Message;
use crate::tfrc::rate::Feedback;
use crate::tfrc::report::{Arrival, Reports};

/// Packets that the vector of an acknowledgement covers.
pub const VECTOR: u64 = 128;
/// Packets after which an acknowledgement leaves even where one per round trip would do, so that none falls out of the vector.
const MOST_UNANSWERED: u32 = VECTOR as u32 / 2;
/// The most objects that are kept incomplete, and the most that are remembered as settled.
const MOST_OBJECTS: usize = 1024;

/// A fragment that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Fragment {
    /// Its packet's number, from 0; a retransmission has a new one.
    pub number: u64,
    /// When the packet was sent.
    pub sent: Time,
    /// The sender's round trip, once measured.
    pub rtt: Option<Span>,
    /// Its object.
    pub object: Message,
    /// Its place in the object.
    pub index: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// Fragments of the object.
    pub count: u64,
    /// Packets before this one expired in a queue (EXP).
    pub after_expired: bool,
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// The highest packet number that has arrived.
    pub highest: u64,
    /// Bit `n`: packet `highest - n` has arrived.
    pub vector: u128,
    /// The gap below `highest` is one of expired packets.
    pub expired: bool,
    /// When the packet of that number was sent.
    pub sent: Time,
    /// How long it was kept unanswered.
    pub delay: Span,
    /// X_recv in bytes per second and p, when the rate control reports (RFC 5348 §3.2.2).
    pub report: Option<(f64, f64)>,
}

/// What became of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was new.
    New,
    /// It was new and the last of its object.
    Complete,
    /// It was here before, or its object is complete or given up.
    Duplicate,
    /// Its object's deadline is over.
    Late,
}

/// The receiving half of an association.
#[derive(Clone, Debug)]
pub struct Receiver {
    every: u32,
    timer_span: Span,
    reports: Option<Reports>,
    /// The highest packet number, the vector below it, and when that packet was sent and arrived.
    latest: Option<(u64, u128, Time, Time)>,
    unanswered: u32,
    timer: Option<Time>,
    incomplete: BTreeMap<u32, Incomplete>,
    /// Objects that are complete, late or aborted.
    settled: BTreeSet<u32>,
    /// Numbers below are settled.
    settled_below: u32,
}

#[derive(Clone, Debug, Default)]
struct Incomplete {
    /// All fragments below have arrived.
    base: u64,
    above: BTreeSet<u64>,
}

impl Receiver {
    /// A receiver that has seen nothing.
    pub fn new(settings: &AtpSettings) -> Self {
        let by_rate = settings.congestion == AtpCongestion::Tfrc;
        Receiver {
            every: settings.ack_every.max(1),
            timer_span: settings.ack_timer,
            reports: by_rate.then(|| Reports::new(settings.fragment.as_bytes().max(1), true)),
            latest: None,
            unanswered: 0,
            timer: None,
            incomplete: BTreeMap::new(),
            settled: BTreeSet::new(),
            settled_below: 0,
        }
    }

    /// A fragment arrives; gives what became of it and the acknowledgement that is due at once.
    pub fn on_fragment(&mut self, now: Time, fragment: Fragment) -> (Outcome, Option<Ack>) {
        let in_order = self.note(now, &fragment);
        let outcome = self.collect(now, &fragment);
        self.unanswered += 1;
        let arrival =
            Arrival { number: fragment.number, sent: fragment.sent, rtt: fragment.rtt, bytes: fragment.bytes };
        let (told, enough) = match &mut self.reports {
            Some(reports) => {
                if fragment.after_expired {
                    reports.forgive_below(fragment.number);
                }
                (reports.on_packet(now, arrival), self.unanswered >= MOST_UNANSWERED)
            }
            None => (None, self.unanswered >= self.every || !in_order),
        };
        let at_once = told.is_some() || enough || outcome != Outcome::New || fragment.after_expired;
        if at_once {
            return (outcome, self.ack(now, told, fragment.after_expired));
        }
        if self.reports.is_none() {
            self.timer.get_or_insert(now + self.timer_span);
        }
        (outcome, None)
    }

    /// A timer has expired; gives the acknowledgement that is due.
    pub fn on_timeout(&mut self, now: Time) -> Option<Ack> {
        if let Some(told) = self.reports.as_mut().and_then(|reports| reports.on_timeout(now)) {
            return self.ack(now, Some(told), false);
        }
        if self.timer.is_some_and(|due| due <= now) { self.ack(now, None, false) } else { None }
    }

    /// When an acknowledgement is due.
    pub fn next_timeout(&self) -> Option<Time> {
        let report = self.reports.as_ref().and_then(Reports::next_timeout);
        [self.timer, report].into_iter().flatten().min()
    }

    /// Takes no more fragments of an object.
    pub fn abort(&mut self, object: u32) {
        self.incomplete.remove(&object);
        self.settle(object);
    }

    /// Whether fragments of an object are here and others are missing.
    pub fn has_incomplete(&self, object: u32) -> bool {
        self.incomplete.contains_key(&object)
    }

    /// Checks what is kept against its bounds.
    pub fn check(&self) -> Result<(), String> {
        match (self.incomplete.len(), self.settled.len()) {
            (incomplete, settled) if incomplete <= MOST_OBJECTS && settled <= MOST_OBJECTS => Ok(()),
            kept => Err(format!("{kept:?} incomplete and settled objects")),
        }
    }

    /// Notes a packet's number; true when it is the next one.
    fn note(&mut self, now: Time, fragment: &Fragment) -> bool {
        let (highest, vector, ..) = self.latest.unwrap_or((fragment.number, 0, now, now));
        let is_first = self.latest.is_none();
        if fragment.number >= highest {
            let steps = fragment.number - highest;
            let moved = if steps < VECTOR { vector << steps } else { 0 };
            self.latest = Some((fragment.number, moved | 1, fragment.sent, now));
            return is_first || steps == 1;
        }
        let below = highest - fragment.number;
        if below < VECTOR
            && let Some(latest) = &mut self.latest
        {
            latest.1 |= 1 << below;
        }
        false
    }

    fn collect(&mut self, now: Time, fragment: &Fragment) -> Outcome {
        let number = fragment.object.number;
        if self.is_settled(number) {
            return Outcome::Duplicate;
        }
        if fragment.object.deadline.is_some_and(|deadline| deadline < now) {
            self.abort(number);
            return Outcome::Late;
        }
        let object = self.incomplete.entry(number).or_default();
        if fragment.index < object.base || !object.above.insert(fragment.index) {
            return Outcome::Duplicate;
        }
        while object.above.first() == Some(&object.base) {
            object.above.pop_first();
            object.base += 1;
        }
        if object.base >= fragment.count {
            self.abort(number);
            return Outcome::Complete;
        }
        if self.incomplete.len() > MOST_OBJECTS
            && let Some((oldest, _)) = self.incomplete.pop_first()
        {
            self.settle(oldest);
        }
        Outcome::New
    }

    fn is_settled(&self, object: u32) -> bool {
        object < self.settled_below || self.settled.contains(&object)
    }

    fn settle(&mut self, object: u32) {
        self.settled.insert(object);
        while self.settled.remove(&self.settled_below) {
            self.settled_below += 1;
        }
        if self.settled.len() > MOST_OBJECTS
            && let Some(oldest) = self.settled.pop_first()
        {
            self.settled_below = oldest.saturating_add(1);
        }
    }

    fn ack(&mut self, now: Time, told: Option<Feedback>, expired: bool) -> Option<Ack> {
        let (highest, vector, sent, arrived) = self.latest?;
        self.unanswered = 0;
        self.timer = None;
        let report = told.map(|feedback| (feedback.x_recv, feedback.p));
        Some(Ack { highest, vector, expired, sent, delay: now.since(arrived), report })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn fragment(number: u64, index: u64) -> Fragment {
        let object = Message { deadline: Some(at(1000)), ..Message::new(7, 3000, Time::ZERO) };
        let sent = Time::ZERO;
        Fragment { number, sent, rtt: None, object, index, bytes: 1000, count: 3, after_expired: false }
    }

    fn receiver() -> Receiver {
        Receiver::new(&AtpSettings::default())
    }

    #[test]
    fn every_second_packet_is_acknowledged_or_after_half_a_second() {
        let mut receiver = receiver();
        assert_eq!(receiver.on_fragment(at(10), fragment(0, 0)), (Outcome::New, None));
        assert_eq!(receiver.next_timeout(), Some(at(510)));
        let (outcome, ack) = receiver.on_fragment(at(20), fragment(1, 1));
        assert_eq!((outcome, ack.map(|ack| (ack.highest, ack.vector))), (Outcome::New, Some((1, 0b11))));
        assert_eq!(receiver.next_timeout(), None);
    }

    #[test]
    fn a_gap_and_a_complete_object_are_told_at_once() {
        let mut receiver = receiver();
        receiver.on_fragment(at(10), fragment(0, 0));
        let (_, ack) = receiver.on_fragment(at(20), fragment(3, 2));
        assert_eq!(ack.map(|ack| (ack.highest, ack.vector)), Some((3, 0b1001)));
        let (outcome, ack) = receiver.on_fragment(at(30), fragment(4, 1));
        assert_eq!((outcome, ack.map(|ack| ack.vector)), (Outcome::Complete, Some(0b10011)));
        assert_eq!(receiver.on_fragment(at(40), fragment(5, 1)).0, Outcome::Duplicate);
    }

    #[test]
    fn what_comes_after_its_deadline_is_not_kept() {
        let mut receiver = receiver();
        receiver.on_fragment(at(10), fragment(0, 0));
        receiver.on_fragment(at(20), fragment(1, 1));
        assert_eq!(receiver.on_fragment(at(1001), fragment(2, 2)).0, Outcome::Late);
        assert!(!receiver.has_incomplete(7));
        receiver.check().unwrap();
    }

    #[test]
    fn an_expiry_is_told_at_once() {
        let mut receiver = receiver();
        receiver.on_fragment(at(10), fragment(0, 0));
        let (_, ack) = receiver.on_fragment(at(20), Fragment { after_expired: true, ..fragment(4, 1) });
        assert_eq!(ack.map(|ack| (ack.expired, ack.vector)), Some((true, 0b10001)));
    }

    #[test]
    fn numbers_from_elsewhere_are_survived() {
        let mut receiver = receiver();
        for number in [0, u64::MAX, 3, u64::MAX - 200, 1] {
            let object = Message::new(number as u32, u64::MAX, Time::ZERO);
            receiver.on_fragment(at(10), Fragment { object, count: u64::MAX, index: number, ..fragment(number, 0) });
            receiver.check().unwrap();
        }
    }
}
