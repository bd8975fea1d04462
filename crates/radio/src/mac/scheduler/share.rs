//! Sharing a resource out, in time linear in the number of those who want some.

use super::settings::PriorityLevel;

/// One who wants a share.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its number.
    pub terminal: u32,
    /// Its class.
    pub priority: PriorityLevel,
    /// Resource that it can use.
    pub needs: f64,
    /// Resource that an octet takes.
    pub per_octet: f64,
    /// Who has more of this comes first.
    pub key: f64,
    /// The resource it is given: the answer.
    pub share: f64,
}

impl Entry {
    /// Someone of this number who needs nothing yet.
    pub fn new(terminal: u32) -> Self {
        let priority = PriorityLevel::Background;
        Entry { terminal, priority, needs: 0.0, per_octet: 0.0, key: 0.0, share: 0.0 }
    }
}

/// Brings those who fulfil a condition to the front, and splits there.
pub fn split(entries: &mut [Entry], mut is_in_front: impl FnMut(&Entry) -> bool) -> (&mut [Entry], &mut [Entry]) {
    let mut front = 0;
    for place in 0..entries.len() {
        if is_in_front(&entries[place]) {
            entries.swap(front, place);
            front += 1;
        }
    }
    entries.split_at_mut(front)
}

fn needs(entries: &[Entry]) -> f64 {
    entries.iter().map(|entry| entry.needs).sum()
}

/// Gives all what they need.
fn satisfy(entries: &mut [Entry]) {
    entries.iter_mut().for_each(|entry| entry.share = entry.needs);
}

/// Shares out `resource` so that all who get less than they need get the same, measured in units of which one takes the
/// resource `weight`; returns what was given.
///
/// Like water in vessels of equal floor: the level is found by halving the number of vessels that may overflow.
pub fn fill(entries: &mut [Entry], resource: f64, weight: impl Fn(&Entry) -> f64) -> f64 {
    let all = needs(entries);
    if all <= resource {
        satisfy(entries);
        return all;
    }
    let height = |entry: &Entry| entry.needs / weight(entry);
    // Those below `low` get what they need, which takes `below`; those from `high` on are cut off and weigh `above`.
    let (mut low, mut high) = (0, entries.len());
    let (mut below, mut above) = (0.0, 0.0);
    while low < high {
        let open = &mut entries[low..high];
        let middle = open.len() / 2;
        open.select_nth_unstable_by(middle, |a, b| height(a).total_cmp(&height(b)));
        let level = height(&open[middle]);
        let lower = needs(&open[..middle]);
        let upper: f64 = open[middle..].iter().map(&weight).sum();
        if below + lower + level * (upper + above) <= resource {
            below += lower + open[middle].needs;
            low += middle + 1;
        } else {
            above += upper;
            high = low + middle;
        }
    }
    satisfy(&mut entries[..low]);
    let level = ((resource - below) / above).max(0.0);
    for entry in &mut entries[low..] {
        entry.share = level * weight(entry);
    }
    resource
}

/// Gives those with the largest keys what they need until `resource` is used up, and equal parts to those with the same key
/// if it does not last for all of them; returns what was given.
pub fn in_order(mut entries: &mut [Entry], resource: f64) -> f64 {
    let mut left = resource;
    while !entries.is_empty() {
        let all = needs(entries);
        if all <= left {
            satisfy(entries);
            return resource - left + all;
        }
        let middle = entries.len() / 2;
        entries.select_nth_unstable_by(middle, |a, b| b.key.total_cmp(&a.key));
        let key = entries[middle].key;
        let (larger, others) = split(entries, |entry| entry.key > key);
        let of_larger = needs(larger);
        if of_larger >= left {
            entries = larger;
            continue;
        }
        satisfy(larger);
        left -= of_larger;
        let (equal, smaller) = split(others, |entry| entry.key == key);
        let of_equal = needs(equal);
        if of_equal >= left {
            fill(equal, left, |_| 1.0);
            return resource;
        }
        satisfy(equal);
        left -= of_equal;
        entries = smaller;
    }
    resource - left
}

/// Those with the largest keys whose needs `resource` covers; of equals, the ones with the smaller numbers.
pub fn foremost(entries: &mut [Entry], resource: f64) -> &[Entry] {
    let mut left = resource;
    // Those below `low` are covered, those from `high` on are not.
    let (mut low, mut high) = (0, entries.len());
    while low < high {
        let open = &mut entries[low..high];
        let middle = open.len() / 2;
        open.select_nth_unstable_by(middle, |a, b| b.key.total_cmp(&a.key).then(a.terminal.cmp(&b.terminal)));
        let covered = needs(&open[..=middle]);
        if covered <= left {
            left -= covered;
            low += middle + 1;
        } else {
            high = low + middle;
        }
    }
    &entries[..low]
}
