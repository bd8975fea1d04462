//! Counts of a running path, and how they travel to those who ask for its status.

use cellwind_engine::fact::DropReason;
use cellwind_engine::packet::Packet;
use cellwind_engine::time::Time;
use cellwind_path::traffic::Traffic;

use crate::ip::Refusal;

/// What is counted of a path, at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// When.
    pub time: Time,
    /// What entered and left the path, per terminal: down, up.
    pub terminals: Vec<[Traffic; 2]>,
    /// Packets that did not enter or leave, in the order of [`Refusal::ALL`].
    pub refused: [u64; Refusal::ALL.len()],
    /// Packets that the path dropped, in the order of [`DropReason::ALL`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Frames that went past the path, because they belong to the link.
    pub aside: u64,
    /// Slots of packets in use.
    pub slots_used: u64,
    /// How long before a deadline the driver wakes, ns.
    pub spin_ns: u64,
    /// 1 while the path is paused, 0 otherwise.
    pub is_paused: u64,
    /// The place in the scenario of the access each terminal is in, counted from 1; 0 stands for none.
    pub accesses: Vec<u64>,
    /// The numbers of the machines that the path consists of.
    pub stage_numbers: Vec<u16>,
    /// What went through each of them.
    pub stages: Vec<Traffic>,
}

impl Counts {
    /// Zero counts of so many terminals and of these machines.
    pub fn new(terminals: usize, stage_numbers: Vec<u16>) -> Self {
        Counts {
            terminals: vec![Default::default(); terminals],
            accesses: vec![0; terminals],
            stages: vec![Traffic::default(); stage_numbers.len()],
            stage_numbers,
            ..Counts::default()
        }
    }

    /// Counts a refusal.
    #[inline]
    pub fn refuse(&mut self, refusal: Refusal) {
        self.refused[refusal as usize] += 1;
    }

    /// Counts a packet of a terminal that the path dropped.
    #[inline]
    pub fn drop(&mut self, traffic: (usize, usize), packet: &Packet, reason: DropReason) {
        self.terminals[traffic.0][traffic.1].drop(packet);
        self.dropped[reason as usize - 1] += 1;
    }

    /// How many numbers it consists of.
    pub fn words(&self) -> usize {
        self.numbers().count()
    }

    /// All numbers, in an order that [`from_numbers`](Counts::from_numbers) knows.
    pub fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        let traffic = |traffic: &Traffic| {
            let t = *traffic;
            let packets = [t.packets_in, t.packets_delivered, t.packets_dropped, t.packets_handed_back];
            packets.into_iter().chain([t.bytes_in, t.bytes_delivered, t.bytes_dropped, t.bytes_handed_back])
        };
        [self.time.as_nanos(), self.aside, self.slots_used, self.spin_ns, self.is_paused]
            .into_iter()
            .chain(self.refused)
            .chain(self.dropped)
            .chain(self.accesses.iter().copied())
            .chain(self.terminals.iter().flatten().chain(&self.stages).flat_map(traffic))
    }

    /// Puts numbers in the place of those it has; the counts of terminals and stages stay.
    pub fn from_numbers(mut self, numbers: &[u64]) -> Self {
        let mut numbers = numbers.iter().copied();
        let mut next = || numbers.next().unwrap_or_default();
        self.time = Time::from_nanos(next());
        (self.aside, self.slots_used, self.spin_ns, self.is_paused) = (next(), next(), next(), next());
        self.refused.iter_mut().for_each(|count| *count = next());
        self.dropped.iter_mut().for_each(|count| *count = next());
        self.accesses.iter_mut().for_each(|place| *place = next());
        for traffic in self.terminals.iter_mut().flatten().chain(&mut self.stages) {
            *traffic = Traffic {
                packets_in: next(),
                packets_delivered: next(),
                packets_dropped: next(),
                packets_handed_back: next(),
                bytes_in: next(),
                bytes_delivered: next(),
                bytes_dropped: next(),
                bytes_handed_back: next(),
            };
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_survive_as_numbers() {
        let empty = Counts::new(2, vec![1, 2, 5]);
        let numbers: Vec<u64> = (1..=empty.words() as u64).collect();
        let counts = empty.from_numbers(&numbers);
        assert!(counts.numbers().eq(numbers));
        assert_eq!(counts.stages[2].bytes_handed_back, counts.words() as u64);
    }
}
