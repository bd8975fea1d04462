//! Which packets are lost, which losses are one event, and the average interval between events (RFC 5348 §5).

use std::collections::VecDeque;

use cellwind_engine::time::{Span, Time};

/// Packets with higher numbers that say a packet is lost (RFC 5348 §5.1: NDUPACK).
const NDUPACK: usize = 3;
/// Weights of the latest intervals (RFC 5348 §5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// The least that discounting leaves of the weight of earlier intervals (RFC 5348 §5.5).
const THRESHOLD: f64 = 0.25;
/// More missing packets in one gap than any window holds: a number from elsewhere.
const LARGEST_GAP: u64 = 1 << 24;

/// The receiver's history of losses.
#[derive(Clone, Debug)]
pub struct LossHistory {
    discounting: bool,
    /// The lowest number that is neither received nor lost.
    next: u64,
    /// The packet before it.
    before: Option<(u64, Time)>,
    /// Packets received above `next`, by number.
    above: VecDeque<(u64, Time)>,
    /// The highest number received.
    highest: u64,
    /// The first packet lost in the latest loss event, and when it would have arrived.
    event: Option<(u64, Time)>,
    /// I_1 to I_8, the closed intervals, the latest first.
    intervals: VecDeque<Interval>,
    events: u64,
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    packets: f64,
    /// DF_i.
    discount: f64,
}

/// What an arrival told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Nothing about losses.
    Nothing,
    /// A loss event began, the first of all.
    FirstEvent,
    /// A loss event began.
    NewEvent,
}

impl LossHistory {
    /// An empty history; packets are numbered from 0.
    pub fn new(discounting: bool) -> Self {
        LossHistory {
            discounting,
            next: 0,
            before: None,
            above: VecDeque::new(),
            highest: 0,
            event: None,
            intervals: VecDeque::new(),
            events: 0,
        }
    }

    /// Whether packet `number` would be news: not here yet, not given up, and not far from all others.
    pub fn is_new(&self, number: u64) -> bool {
        let known = self.above.binary_search_by_key(&number, |&(other, _)| other).is_ok();
        number >= self.next && !known && number - self.next <= LARGEST_GAP
    }

    /// Whatever is missing below `number` did not fall to congestion.
    pub fn forgive_below(&mut self, number: u64) {
        if self.is_new(number) {
            self.next = self.next.max(number);
            self.above.retain(|&(other, _)| other >= number);
        }
    }

    /// Packet `number` arrives; the sender measures a round trip of `rtt`.
    pub fn on_packet(&mut self, now: Time, number: u64, rtt: Span) -> Told {
        if !self.is_new(number) {
            return Told::Nothing;
        }
        let at = self.above.partition_point(|&(other, _)| other < number);
        self.above.insert(at, (number, now));
        self.highest = self.highest.max(number);
        let mut told = Told::Nothing;
        while let Some(&front) = self.above.front() {
            if front.0 > self.next {
                if self.above.len() < NDUPACK {
                    break;
                }
                let lost = self.lose_until(front, rtt);
                told = if told == Told::Nothing { lost } else { told };
            }
            self.before = Some(front);
            self.next = front.0 + 1;
            self.above.pop_front();
        }
        told
    }

    /// All between the packet before the gap and `after` are lost.
    fn lose_until(&mut self, after: (u64, Time), rtt: Span) -> Told {
        let mut told = Told::Nothing;
        let (before, left) = self.before.unwrap_or((self.next, after.1)); // nothing came before: all at once
        let steps = (after.0 - before).max(1);
        for number in self.next..after.0 {
            // RFC 5348 §5.2: when it would have arrived, between its neighbours
            let share = u128::from(after.1.since(left).as_nanos()) * u128::from(number - before) / u128::from(steps);
            let at = left + Span::from_nanos(share as u64);
            // RFC 5348 §5.2: losses within a round trip of the first belong to its event
            let is_new = self.event.is_none_or(|(_, began)| at > began + rtt);
            if is_new {
                let first = self.event.is_none();
                self.begin_event(number, at);
                told = if first {
                    Told::FirstEvent
                } else if told == Told::Nothing {
                    Told::NewEvent
                } else {
                    told
                };
            }
        }
        told
    }

    fn begin_event(&mut self, number: u64, at: Time) {
        self.events += 1;
        if let Some((began, _)) = self.event {
            // RFC 5348 §5.5: what was discounted stays so
            let discount = self.discount();
            for interval in &mut self.intervals {
                interval.discount *= discount;
            }
            self.intervals.push_front(Interval { packets: (number - began) as f64, discount: 1.0 }); // §5.3
            self.intervals.truncate(WEIGHTS.len());
        }
        self.event = Some((number, at));
    }

    /// Puts the interval before the first loss event in its place (RFC 5348 §6.3.1).
    pub fn set_first_interval(&mut self, packets: f64) {
        self.intervals.push_back(Interval { packets, discount: 1.0 });
        self.intervals.truncate(WEIGHTS.len());
    }

    /// p, the loss event rate; zero before the first event.
    pub fn loss_event_rate(&self) -> f64 {
        if self.event.is_none() || self.intervals.is_empty() {
            return 0.0;
        }
        let discount = self.discount();
        let last = self.intervals.len() - 1;
        // RFC 5348 §5.4, §5.5: the open interval counts only when it makes the mean larger
        let mut with_open = (self.open(), WEIGHTS[0]);
        for (interval, weight) in self.intervals.iter().take(last.min(WEIGHTS.len() - 1)).zip(&WEIGHTS[1..]) {
            let weight = weight * interval.discount * discount;
            with_open = (with_open.0 + interval.packets * weight, with_open.1 + weight);
        }
        let closed = self.closed();
        1.0 / (with_open.0 / with_open.1).max(closed.0 / closed.1)
    }

    /// Loss events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The highest number received.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// I_0: packets since the latest loss event began, with the one that began it.
    fn open(&self) -> f64 {
        self.event.map_or(0.0, |(began, _)| (self.highest - began + 1) as f64)
    }

    /// I_tot1 and W_tot1 of the closed intervals.
    fn closed(&self) -> (f64, f64) {
        self.intervals.iter().zip(WEIGHTS).fold((0.0, 0.0), |(total, weights), (interval, weight)| {
            (total + interval.packets * weight * interval.discount, weights + weight * interval.discount)
        })
    }

    /// DF: what a long open interval leaves of the earlier ones' weight (RFC 5348 §5.5).
    fn discount(&self) -> f64 {
        let (total, weights) = self.closed();
        let open = self.open();
        if !self.discounting || weights == 0.0 || open <= 2.0 * total / weights {
            return 1.0;
        }
        (2.0 * total / weights / open).max(THRESHOLD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(100);

    /// Gives packets `from..to` except the lost ones, one each 10 ms by number, and counts the events told.
    fn feed(history: &mut LossHistory, from: u64, to: u64, lost: &[u64]) -> usize {
        let arrivals = (from..to).filter(|number| !lost.contains(number));
        arrivals.filter(|&n| history.on_packet(Time::from_millis(10 * n), n, RTT) != Told::Nothing).count()
    }

    #[test]
    fn a_packet_is_lost_when_three_later_ones_are_there() {
        let mut history = LossHistory::new(true);
        assert_eq!(feed(&mut history, 0, 13, &[10]), 0);
        assert_eq!(history.on_packet(Time::from_millis(130), 13, RTT), Told::FirstEvent);
        // Reordered by two, nothing is lost.
        let mut history = LossHistory::new(true);
        feed(&mut history, 0, 13, &[10]);
        assert_eq!(history.on_packet(Time::from_millis(125), 10, RTT), Told::Nothing);
        assert_eq!(feed(&mut history, 13, 40, &[]), 0);
        assert_eq!(history.events(), 0);
    }

    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        // 10 ms apart: 20 would arrive at 200 ms, 30 at 300 ms, which is not more than a round trip later; 31 is.
        let mut history = LossHistory::new(true);
        feed(&mut history, 0, 60, &[20, 25, 30]);
        assert_eq!(history.events(), 1);
        let mut history = LossHistory::new(true);
        feed(&mut history, 0, 60, &[20, 31]);
        assert_eq!(history.events(), 2);
        // A gap of 25 packets is three events: at 20, 31 and 42.
        let mut history = LossHistory::new(true);
        feed(&mut history, 0, 60, &(20..45).collect::<Vec<_>>());
        assert_eq!(history.events(), 3);
    }

    #[test]
    fn the_mean_interval_by_hand() {
        // Events at 100, 200, 400, 500 with a first interval of 50: I_1 = 100, I_2 = 200, I_3 = 100, I_4 = 50, all of
        // weight one: 450 / 4. With the open interval in front and the oldest left out: I_0 = 50 makes 450 / 4, too; 99 more.
        let mut history = LossHistory::new(false);
        feed(&mut history, 0, 104, &[100]);
        history.set_first_interval(50.0);
        feed(&mut history, 104, 550, &[200, 400, 500]);
        assert_eq!(history.loss_event_rate(), 4.0 / 450.0);
        feed(&mut history, 550, 649, &[]);
        assert!((history.loss_event_rate() - 4.0 / 549.0).abs() < 1e-12);
    }

    #[test]
    fn eight_intervals_count_with_the_weights_of_the_rfc() {
        // Nine events 100 packets apart, the first interval 900 falls out: eight intervals of 100.
        let mut history = LossHistory::new(false);
        let lost: Vec<u64> = (1..=9).map(|n| 100 * n).collect();
        feed(&mut history, 0, 104, &lost);
        history.set_first_interval(900.0);
        feed(&mut history, 104, 804, &lost);
        // Eight events: seven of 100 with weights 1, 1, 1, 1, 0.8, 0.6, 0.4 and one of 900 with 0.2.
        assert!((history.loss_event_rate() - 6.0 / (580.0 + 180.0)).abs() < 1e-12);
        feed(&mut history, 804, 904, &lost);
        assert!((history.loss_event_rate() - 0.01).abs() < 1e-12);
    }

    #[test]
    fn a_long_time_without_loss_discounts_the_past() {
        // I_1 = I_2 = 100. I_0 = 400 is twice as long as twice the mean: DF = 0.5, and p = 1.5 / (400 + 0.5 × 100).
        let mut history = LossHistory::new(true);
        feed(&mut history, 0, 104, &[100]);
        history.set_first_interval(100.0);
        feed(&mut history, 104, 600, &[200]);
        assert!((history.loss_event_rate() - 1.5 / 450.0).abs() < 1e-12);
        // The next event at 10 000 makes it last: DF stops at 0.25, I_1 = 9800, and both earlier ones keep a quarter.
        feed(&mut history, 600, 10_004, &[10_000]);
        let (total, weights) = (9800.0 + 0.25 * 200.0, 1.5);
        assert!((history.loss_event_rate() - weights / total).abs() < 1e-12);
    }

    #[test]
    fn forgiven_gaps_are_no_events() {
        let mut history = LossHistory::new(true);
        feed(&mut history, 0, 10, &[]);
        history.forgive_below(15);
        feed(&mut history, 15, 30, &[]);
        assert_eq!(history.events(), 0);
    }

    #[test]
    fn numbers_from_elsewhere_change_nothing() {
        let mut history = LossHistory::new(true);
        feed(&mut history, 0, 10, &[]);
        assert_eq!(history.on_packet(Time::from_millis(100), u64::MAX, RTT), Told::Nothing);
        assert_eq!((history.highest(), feed(&mut history, 10, 20, &[])), (9, 0));
    }
}
