//! A bounded set of contexts, of which the one longest unused makes room.

/// Contexts by key; a context's number is its place.
#[derive(Clone, Debug)]
pub(super) struct Slots<K, T> {
    entries: Vec<Slot<K, T>>,
    most: usize,
    /// Counts uses.
    clock: u64,
}

#[derive(Clone, Debug)]
struct Slot<K, T> {
    key: K,
    value: T,
    used: u64,
}

impl<K: PartialEq, T> Slots<K, T> {
    pub(super) fn new(most: usize) -> Self {
        Slots { entries: Vec::new(), most, clock: 0 }
    }

    /// The number of this key's context, and its value if it is not a new one; a new one begins with `fresh`.
    pub(super) fn find(&mut self, key: K, fresh: T) -> (u8, Option<&mut T>) {
        self.clock += 1;
        let used = self.clock;
        if let Some(at) = self.entries.iter().position(|slot| slot.key == key) {
            self.entries[at].used = used;
            return (at as u8, Some(&mut self.entries[at].value));
        }
        let slot = Slot { key, value: fresh, used };
        if self.entries.len() < self.most {
            self.entries.push(slot);
            return ((self.entries.len() - 1) as u8, None);
        }
        let oldest = (0..self.entries.len()).min_by_key(|&at| self.entries[at].used).unwrap_or(0);
        self.entries[oldest] = slot;
        (oldest as u8, None)
    }

    /// The context of this number, if there is one.
    pub(super) fn get_mut(&mut self, number: u8) -> Option<&mut T> {
        self.entries.get_mut(usize::from(number)).map(|slot| &mut slot.value)
    }
}

/// Contexts of a decompressor, by number.
#[derive(Clone, Debug)]
pub(super) struct Known<T>(Vec<Option<T>>);

impl<T> Known<T> {
    pub(super) fn new() -> Self {
        Known(Vec::new())
    }

    pub(super) fn put(&mut self, number: u8, value: T) {
        let at = usize::from(number);
        if self.0.len() <= at {
            self.0.resize_with(at + 1, || None);
        }
        self.0[at] = Some(value);
    }

    pub(super) fn get_mut(&mut self, number: u8) -> Option<&mut T> {
        self.0.get_mut(usize::from(number))?.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_context_longest_unused_makes_room() {
        let mut slots = Slots::new(2);
        assert_eq!(slots.find('a', 1).0, 0);
        assert_eq!(slots.find('b', 2).0, 1);
        assert_eq!(slots.find('a', 9), (0, Some(&mut 1)));
        assert_eq!(slots.find('c', 3), (1, None));
        assert_eq!(slots.find('b', 4), (0, None));
        assert_eq!((slots.get_mut(0).copied(), slots.get_mut(1).copied(), slots.get_mut(2)), (Some(4), Some(3), None));
    }
}
