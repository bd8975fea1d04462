//! Numbers that one thread publishes now and then and others read whenever they like, never half old, half new.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A row of numbers behind a sequence lock (Boehm, "Can seqlocks get along with programming language memory
/// models?", 2012): the writer never waits, a reader that met it tries again.
#[derive(Debug)]
pub struct Board {
    /// Odd while the writer writes.
    sequence: AtomicU64,
    words: Box<[AtomicU64]>,
}

impl Board {
    /// A board of so many numbers, all zero.
    pub fn new(words: usize) -> Self {
        Board { sequence: AtomicU64::new(0), words: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Publishes new numbers, the same count every time; only ever from one thread.
    pub fn publish(&self, numbers: impl Iterator<Item = u64>) {
        let sequence = self.sequence.load(Ordering::Relaxed);
        self.sequence.store(sequence + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        for (word, number) in self.words.iter().zip(numbers) {
            word.store(number, Ordering::Relaxed);
        }
        self.sequence.store(sequence + 2, Ordering::Release);
    }

    /// The numbers published last.
    pub fn read(&self) -> Vec<u64> {
        loop {
            let before = self.sequence.load(Ordering::Acquire);
            let numbers = self.words.iter().map(|word| word.load(Ordering::Relaxed)).collect();
            fence(Ordering::Acquire);
            if before.is_multiple_of(2) && self.sequence.load(Ordering::Relaxed) == before {
                return numbers;
            }
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_never_sees_half_of_a_publication() {
        // The writer publishes rows of equal numbers; each row read must be one of them.
        let board = Board::new(64);
        std::thread::scope(|scope| {
            scope.spawn(|| (1..=20_000).for_each(|n| board.publish(std::iter::repeat_n(n, 64))));
            let mut last = 0;
            while last < 20_000 {
                let numbers = board.read();
                assert!(numbers.iter().all(|&n| n == numbers[0]) && numbers[0] >= last, "{numbers:?}");
                last = numbers[0];
            }
        });
    }
}
