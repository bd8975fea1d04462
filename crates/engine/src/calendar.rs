//! The event calendar: at most one wake-up per machine, in a stable order.
//!
//! A tournament among the machines: each inner node of a binary tree remembers which of its two sides wakes
//! first. A machine that moves its wake-up replays only the matches it takes part in, and stops as soon as
//! one goes to somebody else as before, so that a timer pushed back at every packet, as TCP's is, costs a
//! comparison or two.

use crate::time::Time;

/// Wake-ups of the machines of a World, by machine index.
#[derive(Clone, Debug, Default)]
pub struct Calendar {
    /// What each machine asked for; a power of two of them, the last ones for machines still to come.
    wakeups: Vec<Wakeup>,
    machines: usize,
    /// The machines, from place `wakeups.len()` on, and before them the winner of each match: place `n` is played
    /// between places `2n` and `2n + 1`, and the overall winner stands at place 1.
    tree: Vec<u32>,
    asked: u64,
}

/// An instant, and the place among equals, fixed when the machine asks: the instant in the high half of one
/// number, so that a match is one comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wakeup(u128);

impl Wakeup {
    const NONE: Wakeup = Wakeup(u128::MAX);

    #[inline]
    fn new(due: Time, order: u64) -> Self {
        Wakeup(u128::from(due.as_nanos()) << 64 | u128::from(order))
    }

    #[inline]
    fn due(self) -> Time {
        Time::from_nanos((self.0 >> 64) as u64)
    }
}

impl Calendar {
    /// Adds a machine without a wake-up.
    pub fn add_machine(&mut self) {
        self.machines += 1;
        let places = self.machines.next_power_of_two();
        if places > self.wakeups.len() {
            self.wakeups.resize(places, Wakeup::NONE);
            self.tree = vec![0; 2 * places];
            (0..places).for_each(|machine| self.tree[places + machine] = machine as u32);
            for place in (1..places).rev() {
                let (left, right) = (self.tree[2 * place], self.tree[2 * place + 1]);
                let left_first = self.wakeups[left as usize] <= self.wakeups[right as usize];
                self.tree[place] = if left_first { left } else { right };
            }
        }
    }

    /// Sets the machine's only wake-up, or removes it. Asking again for the same instant keeps the place.
    #[inline]
    pub fn set(&mut self, machine: usize, due: Option<Time>) {
        if self.wakeups[machine].due() != due.unwrap_or(Time::MAX) {
            self.answer(machine, due);
        }
    }

    /// The earliest wake-up.
    #[inline]
    pub fn earliest(&self) -> Option<Time> {
        let due = self.wakeups.get(self.winner())?.due();
        (due < Time::MAX).then_some(due)
    }

    /// The earliest wake-up that is not after `limit`, and whose it is. It stays until [`answer`](Self::answer).
    #[inline]
    pub fn due(&self, limit: Time) -> Option<(Time, usize)> {
        let due = self.earliest().filter(|&due| due <= limit)?;
        Some((due, self.winner()))
    }

    /// Replaces the wake-up of a machine that was woken by the one it asks for now, be it the same instant.
    #[inline]
    pub fn answer(&mut self, machine: usize, next: Option<Time>) {
        self.asked += 1;
        self.wakeups[machine] = next.map_or(Wakeup::NONE, |due| Wakeup::new(due, self.asked));
        self.replay(machine);
    }

    #[inline]
    fn winner(&self) -> usize {
        self.tree.get(1).map_or(0, |&machine| machine as usize)
    }

    /// Plays the matches of one machine again, from its own upwards.
    #[inline]
    fn replay(&mut self, machine: usize) {
        let mut place = self.wakeups.len() + machine;
        let (mut winner, mut earliest) = (machine as u32, self.wakeups[machine]);
        while place > 1 {
            let rival = self.tree[place ^ 1];
            let rivals = self.wakeups[rival as usize];
            if rivals < earliest {
                (winner, earliest) = (rival, rivals);
            }
            place /= 2;
            if self.tree[place] == winner && winner != machine as u32 {
                return; // the same other machine goes on, with the same wake-up
            }
            self.tree[place] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn calendar(machines: usize) -> Calendar {
        let mut calendar = Calendar::default();
        (0..machines).for_each(|_| calendar.add_machine());
        calendar
    }

    /// Wakes the next machine, which asks for nothing more.
    fn take(calendar: &mut Calendar, limit: Time) -> Option<(Time, usize)> {
        let (due, machine) = calendar.due(limit)?;
        calendar.answer(machine, None);
        Some((due, machine))
    }

    #[test]
    fn equal_instants_keep_the_order_of_asking() {
        let mut calendar = calendar(3);
        let t = Time::from_millis(5);
        calendar.set(2, Some(t));
        calendar.set(0, Some(Time::from_millis(1)));
        calendar.set(1, Some(t));
        calendar.set(0, Some(t)); // moved, so it comes last
        calendar.set(2, Some(t)); // asked again for the same instant: keeps its place
        let order: Vec<usize> =
            std::iter::from_fn(|| take(&mut calendar, Time::MAX)).map(|(_, machine)| machine).collect();
        assert_eq!(order, [2, 1, 0]);
    }

    #[test]
    fn nothing_after_the_limit_is_taken() {
        let mut calendar = calendar(1);
        calendar.set(0, Some(Time::from_millis(5)));
        assert_eq!(take(&mut calendar, Time::from_millis(4)), None);
        assert_eq!(take(&mut calendar, Time::from_millis(5)), Some((Time::from_millis(5), 0)));
        assert_eq!(calendar.earliest(), None);
    }

    #[test]
    fn machines_may_join_late() {
        let mut calendar = Calendar::default();
        for machine in 0..9u64 {
            calendar.add_machine();
            calendar.set(machine as usize, Some(Time::from_millis(100 - 7 * (machine % 4) - machine)));
        }
        let order: Vec<usize> =
            std::iter::from_fn(|| take(&mut calendar, Time::MAX)).map(|(_, machine)| machine).collect();
        assert_eq!(order, [7, 3, 6, 2, 5, 1, 8, 4, 0]);
    }

    #[test]
    fn an_empty_calendar_has_nothing() {
        assert_eq!(Calendar::default().earliest(), None);
        assert_eq!(Calendar::default().due(Time::MAX), None);
    }

    #[test]
    fn random_operations_agree_with_a_sorted_list() {
        for machines in 1..=9 {
            let mut stream = Stream::new(1, 0, "calendar");
            let mut calendar = calendar(machines);
            let mut model: Vec<Option<(Time, u64)>> = vec![None; machines];
            for step in 0..5_000u64 {
                let machine = stream.below(machines as u64) as usize;
                match stream.below(4) {
                    0 => {
                        let expected = (0..machines).filter_map(|m| model[m].map(|key| (key, m))).min();
                        let popped = take(&mut calendar, Time::MAX);
                        assert_eq!(popped, expected.map(|((time, _), m)| (time, m)));
                        if let Some((_, m)) = popped {
                            model[m] = None;
                        }
                    }
                    1 => {
                        calendar.set(machine, None);
                        model[machine] = None;
                    }
                    _ => {
                        let due = Time::from_nanos(stream.below(50));
                        calendar.set(machine, Some(due));
                        if model[machine].is_none_or(|(time, _)| time != due) {
                            model[machine] = Some((due, step));
                        }
                    }
                }
                assert_eq!(calendar.earliest(), model.iter().flatten().map(|&(time, _)| time).min());
            }
        }
    }
}
