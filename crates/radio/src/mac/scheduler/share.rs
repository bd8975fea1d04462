//! Cutting a TTI's resource into blocks, in time linear in the number of those who want some.

use std::ops::Range;

/// One who wants blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// Its place among the wishes.
    pub place: u32,
    /// Who has a smaller one comes first.
    pub rank: u32,
    /// Blocks that it wants.
    pub blocks: u32,
    /// Resource that a block takes of this TTI, and of each that its channel's TTI lasts beyond.
    pub price: f64,
    /// What it has saved of the price of its next block.
    pub saved: f64,
    /// How far it has come, with what it has saved.
    pub position: f64,
    /// How much further a block brings it.
    pub step: f64,
    /// What is its share of this TTI's resource beyond whole blocks.
    pub rest: f64,
    /// Resource that its blocks take of each TTI beside what it had saved, and that it saves: the answer.
    pub taken: f64,
    /// The blocks that it is granted: the answer, with what it has saved then.
    pub granted: u32,
}

/// Differences below this, in TTIs, come from rounding.
const NOTHING: f64 = 1e-9;

impl Entry {
    fn needs(&self) -> f64 {
        (f64::from(self.blocks) * self.price - self.saved).max(0.0)
    }

    /// Resource that takes it one position further.
    fn weight(&self) -> f64 {
        self.price / self.step
    }

    /// Where its next block begins.
    fn begins(&self) -> f64 {
        self.position - self.saved / self.weight()
    }

    /// Where it is when it has all that it wants.
    fn ceiling(&self) -> f64 {
        self.position + self.needs() / self.weight()
    }

    /// What its next block still takes.
    fn lacks(&self) -> f64 {
        self.price - self.saved
    }

    /// Grants it blocks; returns what that takes of the TTI.
    fn grant(&mut self, blocks: u32) -> f64 {
        self.granted += blocks;
        let price = f64::from(blocks) * self.price;
        let saved = price.min(self.saved);
        self.saved -= saved;
        self.take(price - saved)
    }

    /// Saves resource of the TTI for its next block.
    fn save(&mut self, resource: f64) -> f64 {
        self.saved += resource;
        self.take(resource)
    }

    fn take(&mut self, resource: f64) -> f64 {
        self.taken += resource;
        self.position += resource / self.weight();
        resource
    }

    /// Whether it is left wanting.
    pub fn is_short(&self) -> bool {
        self.granted < self.blocks
    }
}

/// Who got how much: all that they want, a part of it, or nothing at all.
#[derive(Debug)]
pub struct Outcome {
    pub satisfied: Range<usize>,
    /// Of one rank, the last one that got anything.
    pub partial: Range<usize>,
}

/// Grants `resource` to those of the smallest rank that want it, what they leave to those of the next, and so on. Those of the
/// rank for which it does not last are brought to the same position, as far as whole blocks go, or nearer to it.
pub fn share(entries: &mut [Entry], breaks: &mut Vec<Break>, resource: f64) -> Outcome {
    let (partial, left) = cut(entries, resource);
    let satisfied = 0..partial.start;
    for entry in &mut entries[satisfied.clone()] {
        entry.grant(entry.blocks);
    }
    if !partial.is_empty() {
        fill(&mut entries[partial.clone()], breaks, left);
    }
    Outcome { satisfied, partial }
}

/// Brings those who fulfil a condition to the front, and says how many they are.
fn split(entries: &mut [Entry], mut is_in_front: impl FnMut(&Entry) -> bool) -> usize {
    let mut front = 0;
    for place in 0..entries.len() {
        if is_in_front(&entries[place]) {
            entries.swap(front, place);
            front += 1;
        }
    }
    front
}

fn needs(entries: &[Entry]) -> f64 {
    entries.iter().map(Entry::needs).sum()
}

/// The rank for which the resource does not last, behind those for which it does, and what is left for it.
fn cut(entries: &mut [Entry], resource: f64) -> (Range<usize>, f64) {
    let mut left = resource.max(0.0);
    let (mut low, mut high) = (0, entries.len());
    while low < high {
        let open = &mut entries[low..high];
        let middle = open.len() / 2;
        let rank = open.select_nth_unstable_by_key(middle, |entry| entry.rank).1.rank;
        let before = split(open, |entry| entry.rank < rank);
        let same = split(&mut open[before..], |entry| entry.rank == rank);
        let (of_before, of_same) = (needs(&open[..before]), needs(&open[before..before + same]));
        if of_before > left + NOTHING {
            high = low + before;
        } else if of_before + of_same > left + NOTHING {
            return (low + before..low + before + same, left - of_before);
        } else {
            left -= of_before + of_same;
            low += before + same;
        }
    }
    (low..low, left)
}

/// Shares out among those of one rank what does not last for all of them.
fn fill(entries: &mut [Entry], breaks: &mut Vec<Break>, resource: f64) {
    breaks.clear();
    for entry in &*entries {
        breaks.push(Break { at: entry.position, weight: entry.weight() });
        breaks.push(Break { at: entry.ceiling(), weight: -entry.weight() });
    }
    let level = level(breaks, resource);
    let mut left = resource;
    for entry in &mut *entries {
        let rise = level.min(entry.ceiling()) - entry.position;
        let has = entry.saved + entry.weight() * rise.max(0.0);
        let whole = ((has + NOTHING) / entry.price) as u32; // rounds down
        left -= entry.grant(whole.min(entry.blocks));
        entry.rest = (has - f64::from(entry.granted) * entry.price - entry.saved).max(0.0);
    }
    // The parts of blocks together make more whole ones. A block that is too large for that gathers its own share.
    let parts = left + NOTHING;
    for entry in &mut *entries {
        if entry.is_short() && entry.lacks() > parts {
            left -= entry.save(entry.rest);
        }
    }
    let count = split(entries, |entry| entry.is_short() && entry.lacks() <= parts);
    let others = &mut entries[..count];
    let covered = foremost(others, left + NOTHING);
    left -= others[..covered].iter_mut().map(|entry| entry.grant(1)).sum::<f64>();
    if let Some(next) = others.get_mut(covered) {
        next.save(left.max(0.0));
    }
}

/// Where the resource that it takes to rise begins to grow faster, or less fast.
#[derive(Clone, Copy, Debug)]
pub struct Break {
    at: f64,
    weight: f64,
}

/// How high `resource` reaches, like water in vessels with floors and ceilings of their own: found by halving, again and
/// again, the breaks among which it lies.
fn level(breaks: &mut [Break], resource: f64) -> f64 {
    let (mut low, mut high) = (0, breaks.len());
    let (mut weight, mut moment, mut floor) = (0.0, 0.0, f64::NEG_INFINITY);
    while low < high {
        let open = &mut breaks[low..high];
        let middle = open.len() / 2;
        let at = open.select_nth_unstable_by(middle, |a, b| a.at.total_cmp(&b.at)).1.at;
        let lower = &open[..=middle];
        let heavier = weight + lower.iter().map(|one| one.weight).sum::<f64>();
        let more = moment + lower.iter().map(|one| one.weight * one.at).sum::<f64>();
        if heavier * at - more <= resource {
            (weight, moment, floor) = (heavier, more, at);
            low += middle + 1;
        } else {
            high = low + middle;
        }
    }
    // Between two vessels nothing may rise, but for rounding.
    let ceiling = breaks.get(low).map_or(f64::INFINITY, |next| next.at);
    ((resource + moment) / weight).min(ceiling).max(floor)
}

/// Brings those to the front whose next blocks come first and whom `resource` covers, and behind them the one that is next;
/// of equals, the one whose wish stands first. Says how many are covered.
fn foremost(entries: &mut [Entry], resource: f64) -> usize {
    let mut left = resource;
    // Those below `low` are covered, the one at `high` is not.
    let (mut low, mut high) = (0, entries.len());
    while low < high {
        let open = &mut entries[low..high];
        let middle = open.len() / 2;
        let order = |a: &Entry, b: &Entry| a.begins().total_cmp(&b.begins()).then(a.place.cmp(&b.place));
        open.select_nth_unstable_by(middle, order);
        let needed: f64 = open[..=middle].iter().map(Entry::lacks).sum();
        if needed <= left {
            left -= needed;
            low += middle + 1;
        } else {
            high = low + middle;
        }
    }
    low
}
