//! The event calendar: at most one wake-up per machine, in a stable order.
//!
//! A wake-up's place among equals is fixed when the machine asks for it. Moving it later leaves the old
//! entry where it is; the entry is put right when it reaches the front. So a timer pushed back at every
//! packet, as TCP's is, costs a comparison.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::time::Time;

/// Wake-ups of the machines of a World, by machine index.
#[derive(Clone, Debug, Default)]
pub struct Calendar {
    heap: BinaryHeap<Reverse<Entry>>,
    wakeups: Vec<Wakeup>,
    asked: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    time: Time,
    order: u64,
    machine: u32,
}

/// What a machine asked for, and the one heap entry that speaks for it.
#[derive(Clone, Copy, Debug)]
struct Wakeup {
    due: Time,
    order: u64,
    entry_time: Time,
    entry_order: u64,
}

impl Wakeup {
    const NONE: Wakeup = Wakeup { due: Time::MAX, order: 0, entry_time: Time::MAX, entry_order: 0 };
}

impl Calendar {
    /// Adds a machine without a wake-up.
    pub fn add_machine(&mut self) {
        self.wakeups.push(Wakeup::NONE);
    }

    /// Sets the machine's only wake-up, or removes it. Asking again for the same instant keeps the place.
    #[inline]
    pub fn set(&mut self, machine: usize, due: Option<Time>) {
        let due = due.unwrap_or(Time::MAX);
        let wakeup = &mut self.wakeups[machine];
        if wakeup.due == due {
            return;
        }
        self.asked += 1;
        wakeup.due = due;
        wakeup.order = self.asked;
        if due < wakeup.entry_time {
            wakeup.entry_time = due;
            wakeup.entry_order = self.asked;
            self.heap.push(Reverse(Entry { time: due, order: self.asked, machine: machine as u32 }));
        }
    }

    /// The earliest wake-up.
    #[inline]
    pub fn earliest(&mut self) -> Option<Time> {
        self.settle().map(|entry| entry.time)
    }

    /// Removes and returns the earliest wake-up that is not after `limit`.
    #[inline]
    pub fn pop(&mut self, limit: Time) -> Option<(Time, usize)> {
        let entry = self.settle()?;
        if entry.time > limit {
            return None;
        }
        self.heap.pop();
        let machine = entry.machine as usize;
        self.wakeups[machine] = Wakeup::NONE;
        Some((entry.time, machine))
    }

    /// Brings a true wake-up to the front and returns it.
    #[inline]
    fn settle(&mut self) -> Option<Entry> {
        while let Some(mut front) = self.heap.peek_mut() {
            let Reverse(entry) = *front;
            let wakeup = &mut self.wakeups[entry.machine as usize];
            if entry.order != wakeup.entry_order {
                PeekMut::pop(front); // an earlier entry took its place
            } else if entry.order == wakeup.order {
                return Some(entry);
            } else if wakeup.due == Time::MAX {
                wakeup.entry_time = Time::MAX;
                wakeup.entry_order = 0;
                PeekMut::pop(front);
            } else {
                wakeup.entry_time = wakeup.due;
                wakeup.entry_order = wakeup.order;
                *front = Reverse(Entry { time: wakeup.due, order: wakeup.order, machine: entry.machine });
            }
        }
        None
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

    #[test]
    fn equal_instants_keep_the_order_of_asking() {
        let mut calendar = calendar(3);
        let t = Time::from_millis(5);
        calendar.set(2, Some(t));
        calendar.set(0, Some(Time::from_millis(1)));
        calendar.set(1, Some(t));
        calendar.set(0, Some(t)); // moved lazily, so it comes last
        calendar.set(2, Some(t)); // asked again for the same instant: keeps its place
        let order: Vec<usize> = std::iter::from_fn(|| calendar.pop(Time::MAX)).map(|(_, machine)| machine).collect();
        assert_eq!(order, [2, 1, 0]);
    }

    #[test]
    fn nothing_after_the_limit_is_taken() {
        let mut calendar = calendar(1);
        calendar.set(0, Some(Time::from_millis(5)));
        assert_eq!(calendar.pop(Time::from_millis(4)), None);
        assert_eq!(calendar.pop(Time::from_millis(5)), Some((Time::from_millis(5), 0)));
        assert_eq!(calendar.earliest(), None);
    }

    #[test]
    fn random_operations_agree_with_a_sorted_list() {
        let mut stream = Stream::new(1, 0, "calendar");
        let mut calendar = calendar(8);
        let mut model: Vec<Option<(Time, u64)>> = vec![None; 8];
        for step in 0..20_000u64 {
            let machine = stream.below(8) as usize;
            match stream.below(4) {
                0 => {
                    let expected = (0..8).filter_map(|m| model[m].map(|key| (key, m))).min();
                    let popped = calendar.pop(Time::MAX);
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
