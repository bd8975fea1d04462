//! How long terminals wait, and that none does so in vain.

use super::*;

/// Blocks that take from a third of a TTI to two and a half; together 4.88 TTIs.
const POOR: [f64; 5] = [120.0, 87.5, 60.0, 41.625, 16.25];

fn wish(terminal: u32, blocks: u32) -> Wish {
    Wish { terminal, blocks, at_once: 1, ttis: 1, is_ready: true, granted: 0 }
}

/// The most TTIs that terminal 0 waits for a block which it wants now and then, while the others want all they can get.
fn longest_wait(discipline: Discipline, rates: &[f64]) -> u32 {
    let mut cell = Cell::of(discipline, rates);
    let mut stream = Stream::new(1, 0, "instants");
    let (mut longest, mut waits) = (0, 0);
    let mut next = 100;
    for tti in 0..20_000 {
        cell.waiting[0] = u32::from(tti >= next);
        waits += cell.waiting[0];
        if cell.tti(1.0)[0] > 0 {
            longest = longest.max(waits);
            waits = 0;
            next = tti + 20 + stream.below(40);
        }
    }
    longest.max(waits)
}

#[test]
fn who_wants_a_block_now_and_then_waits_for_one_of_each_of_the_others() {
    // 40 / 60 for its own block and 4.88 TTIs for theirs are 5.55.
    let rates = [&[60.0], &POOR[..]].concat();
    for discipline in [Discipline::FairThroughput, Discipline::FairResource, proportional_fair()] {
        let longest = longest_wait(discipline, &rates);
        assert!(longest <= 6, "{discipline:?}: {longest}");
    }
    // Among equals 6 · 40 / 60 TTIs; whoever has the best C/I has its block in the first TTI that can carry it.
    assert!(longest_wait(Discipline::CI, &[60.0; 6]) <= 4);
    assert_eq!(longest_wait(Discipline::CI, &[&[130.0], &POOR[..]].concat()), 1);
    // In a cell whose TTI carries some blocks of each it does not wait at all.
    for discipline in all_disciplines() {
        assert_eq!(longest_wait(discipline, &[960.0, 960.0, 700.0, 480.0, 333.0]), 1, "{discipline:?}");
    }
}

#[test]
fn a_block_that_takes_long_does_not_hold_up_the_others() {
    // A block of the last terminal takes 1000 TTIs of all the resource. The others have theirs while it saves its own.
    for discipline in [Discipline::FairResource, proportional_fair()] {
        assert!(longest_wait(discipline, &[960.0, 960.0, 480.0, 0.04]) <= 1, "{discipline:?}");
    }
    let mut cell = Cell::of(Discipline::FairResource, &[960.0, 0.04]);
    cell.run(2_010);
    assert!(cell.sent[1] == 1 && cell.sent[0].abs_diff(12 * 2_010) <= 1, "{:?}", cell.sent);
}

/// What two schedulers grant to terminal 0 whose wishes come and go, without and with the others.
fn alone_and_beside(discipline: Discipline, terminals: &[(f64, PriorityLevel)]) {
    let mut alone = Cell::new(discipline, &terminals[..1]);
    let mut beside = Cell::new(discipline, terminals);
    let mut stream = Stream::new(1, 0, "wishes");
    for tti in 0..10_000 {
        let blocks = if stream.below(3) == 0 { 0 } else { stream.below(30) as u32 };
        (alone.waiting[0], beside.waiting[0]) = (blocks, blocks);
        let resource = stream.below(5) as f64 / 4.0;
        let (mut alone, mut beside) = (alone.tti(resource), beside.tti(resource));
        assert_eq!(alone.remove(0), beside.remove(0), "{discipline:?}, TTI {tti}");
    }
    assert!(beside.sent[1..].iter().sum::<u64>() > 10_000, "{discipline:?}: {:?}", beside.sent);
}

#[test]
fn the_first_priority_is_served_as_if_it_were_alone() {
    for discipline in all_disciplines() {
        let mut terminals = vec![(700.0, PriorityLevel::First)];
        terminals.extend(RATES.map(|rate| (rate, PriorityLevel::Second)));
        terminals.extend(POOR.map(|rate| (rate, PriorityLevel::Background)));
        alone_and_beside(discipline, &terminals);
    }
}

#[test]
fn the_best_c_to_i_is_served_as_if_it_were_alone() {
    let rates = [&[1_000.0], &RATES[..], &POOR[..]].concat();
    let terminals: Vec<_> = rates.iter().map(|&rate| (rate, PriorityLevel::Background)).collect();
    alone_and_beside(Discipline::CI, &terminals);
}

#[test]
fn who_pauses_after_each_block_gets_no_more_than_its_share() {
    // Of 500 terminals each has 24 / 500 blocks in a TTI; terminal 0 asks for one in every other TTI.
    for discipline in all_disciplines() {
        let mut cell = Cell::of(discipline, &[960.0; 500]);
        for tti in 0..20_000 {
            cell.waiting[0] = u32::from(tti % 2 == 0);
            cell.tti(1.0);
        }
        let share = 20_000 * 24 / 500;
        assert!((share / 2..=share + 30).contains(&cell.sent[0]), "{discipline:?}: {} of {share}", cell.sent[0]);
    }
}

#[test]
fn what_one_did_not_want_gives_it_no_claim() {
    // All are satisfied for a while. Then all want more than there is, and a third one comes.
    for discipline in all_disciplines() {
        let mut cell = Cell::of(discipline, &[960.0; 3]);
        cell.waiting = vec![1, 20, 0];
        cell.run(1_000);
        cell.waiting.fill(PLENTY);
        cell.sent.fill(0);
        cell.run(10);
        assert!(cell.sent.iter().all(|&sent| sent.abs_diff(80) <= 1), "{discipline:?}: {:?}", cell.sent);
    }
}

#[test]
fn blocks_that_are_of_use_only_together_are_saved_for() {
    // 60 blocks are two TTIs and a half of all the resource, and five of a half of it: 100 times in 500 TTIs.
    for discipline in [Discipline::FairThroughput, Discipline::FairResource, proportional_fair()] {
        let mut cell = Cell::of(discipline, &[960.0, 960.0]);
        for _ in 0..500 {
            let mut wishes = [Wish { at_once: 60, ..wish(0, 60) }, wish(1, PLENTY)];
            cell.scheduler.share(1, 1.0, &mut wishes);
            assert!(wishes[0].granted.is_multiple_of(60), "{discipline:?}: {wishes:?}");
            wishes.iter().for_each(|wish| cell.sent[wish.terminal as usize] += u64::from(wish.granted));
        }
        assert!(cell.sent.iter().all(|&sent| sent.abs_diff(6_000) <= 60), "{discipline:?}: {:?}", cell.sent);
    }
}

#[test]
fn what_nobody_used_is_gone() {
    for discipline in all_disciplines() {
        let mut cell = Cell::of(discipline, &[950.0, 950.0]);
        cell.run(10);
        let mut wishes = [wish(0, PLENTY), wish(1, PLENTY)];
        cell.scheduler.share(100, 1.0, &mut wishes);
        assert_eq!(wishes[0].granted + wishes[1].granted, 23, "{discipline:?}"); // 950 / 40
    }
    // A TTI of eight that has begun takes its resource also while nobody asks for any.
    let mut cell = Cell::of(Discipline::FairThroughput, &[960.0, 960.0]);
    cell.scheduler.share(1, 1.0, &mut [Wish { blocks: 96, ttis: 8, ..wish(0, 0) }]);
    for (passed, expected) in [(3, 12), (4, 12), (1, 24)] {
        let mut wishes = [wish(1, PLENTY)];
        cell.scheduler.share(passed, 1.0, &mut wishes);
        assert_eq!(wishes[0].granted, expected);
    }
}

#[test]
fn the_level_is_that_of_a_search_by_halving_the_height() {
    let mut stream = Stream::new(1, 0, "vessels");
    for round in 0..2_000 {
        let count = 1 + stream.below(20);
        let entry = |place| Entry {
            place: place as u32,
            blocks: 1 + stream.below(9) as u32,
            price: (1 + stream.below(20)) as f64 / 40.0,
            position: stream.below(50) as f64 / 10.0,
            step: (1 + stream.below(4)) as f64 / 4.0,
            ..Entry::default()
        };
        let entries: Vec<Entry> = (0..count).map(entry).collect();
        let takes = |level: f64| -> f64 {
            let of = |one: &Entry| one.price * ((level - one.position) / one.step).clamp(0.0, f64::from(one.blocks));
            entries.iter().map(of).sum()
        };
        let resource = takes(100.0) * stream.below(100) as f64 / 100.0;
        let (mut low, mut high) = (0.0, 100.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            *(if takes(middle) <= resource { &mut low } else { &mut high }) = middle;
        }
        let mut given = entries.clone();
        let outcome = share::share(&mut given, &mut Vec::new(), resource);
        assert_eq!((outcome.satisfied, outcome.partial), (0..0, 0..entries.len()), "round {round}");
        for after in &given {
            let one = &entries[after.place as usize];
            // Whole blocks: the one in which the level lies may be granted or not.
            let fine = (low - one.position) / one.step;
            let least = (fine.max(0.0).floor() as u32).min(one.blocks);
            assert!((least..=least + 1).contains(&after.granted), "round {round}: {after:?} at {low}");
        }
        let used: f64 = given.iter().map(|one| one.taken).sum();
        assert!((used - resource).abs() < 1e-6, "round {round}: {used} of {resource}");
    }
}

/// A terminal of a random cell.
struct Drawn {
    rate: f64,
    /// Blocks that wait.
    queue: u32,
    ttis: u32,
    /// Blocks of a TTI of its channel.
    most: u32,
    /// Of a thousand TTIs, those in which blocks come.
    often: u64,
    /// Resource that those of smaller ranks left since it began to wait, in TTIs.
    passed_by: f64,
}

fn draw(stream: &mut Stream, longest_tti: u64) -> Drawn {
    let ttis = 1 << stream.below(longest_tti);
    Drawn {
        rate: [960.0, 960.0, 480.0, 480.0, 321.0, 77.0, 60.0, 31.0, 9.0][stream.below(9) as usize],
        queue: 0,
        ttis,
        most: ttis * (1 + stream.below(24) as u32),
        often: [1_000, 300, 30][stream.below(3) as usize],
        passed_by: 0.0,
    }
}

/// A TTI for the wishes of `drawn`, of which `available` is there: checks that all of it is used while anybody waits, no more
/// than that, and in the order of the ranks. Returns for each wish what those of smaller ranks left.
fn share_checked(scheduler: &mut Scheduler, resource: f64, available: f64, wishes: &mut [Wish]) -> Vec<f64> {
    scheduler.share(1, resource, wishes);
    let entries = &scheduler.entries;
    let spent: f64 = entries.iter().map(|entry| entry.taken).sum();
    assert!(spent <= available + 1e-6, "{spent} of {available}");
    let short = entries.iter().filter(|entry| entry.is_short()).map(|entry| entry.rank).min();
    assert!(short.is_none() || spent >= available - 1e-6, "{spent} of {available}, and somebody waits");
    for entry in entries {
        assert!(entry.granted == 0 || short.is_none_or(|rank| entry.rank <= rank), "{entry:?} before {short:?}");
        let terminal = &scheduler.terminals[wishes[entry.place as usize].terminal as usize];
        assert!((0.0..=terminal.price() + 1e-6).contains(&terminal.saved), "{terminal:?}");
    }
    let left = |wish: &Wish| {
        assert!(wish.granted <= if wish.is_ready { wish.blocks } else { 0 }, "{wish:?}");
        let rank = scheduler.terminals[wish.terminal as usize].rank;
        let smaller = entries.iter().filter(|entry| entry.rank < rank);
        let left = available - smaller.map(|entry| entry.taken).sum::<f64>();
        if short.is_some_and(|short| short < rank) { 0.0 } else { left.max(0.0) }
    };
    wishes.iter().map(left).collect()
}

#[test]
fn nobody_stalls_and_nothing_is_lost_whatever_comes() {
    for seed in 0..10_000 {
        let mut stream = Stream::new(seed, 0, "cells");
        let mut scheduler = Scheduler::new(all_disciplines()[seed as usize % 4], 2.0 + stream.below(200) as f64);
        let longest_tti = if stream.below(2) == 0 { 1 } else { 4 };
        let mut drawn: Vec<_> = (0..1 + stream.below(8)).map(|_| draw(&mut stream, longest_tti)).collect();
        for one in &drawn {
            let priority = PriorityLevel::ALL[if stream.below(2) == 0 { 3 } else { stream.below(4) as usize }];
            scheduler.add(one.rate, BLOCK, priority);
        }
        // TTIs in which each could send the dearest block, or for which each could have the cell with the longest TTI.
        let longest = |one: &Drawn| (BLOCK / one.rate).max(f64::from(one.ttis));
        let round = drawn.len() as f64 * drawn.iter().map(longest).fold(0.0, f64::max);
        let has_calls = stream.below(3) == 0;
        let (mut given, mut used) = (0.0, 0.0);
        for tti in 1..150_u64 {
            for one in &mut drawn {
                if stream.below(1_000) < one.often {
                    one.queue = (one.queue + 1 + stream.below(30) as u32).min(500);
                }
            }
            let resource = if has_calls { stream.below(3) as f64 / 2.0 } else { 1.0 };
            let available = (scheduler.balance + resource - scheduler.running[slot(tti)]).max(0.0);
            let waiting = drawn.iter().enumerate().filter(|(_, one)| one.queue > 0);
            let wish = |(number, one): (usize, &Drawn)| Wish {
                blocks: one.queue.min(one.most),
                ttis: one.ttis,
                is_ready: tti % u64::from(one.ttis) == 0,
                ..wish(number as u32, 0)
            };
            let mut wishes: Vec<Wish> = waiting.map(wish).collect();
            let left = share_checked(&mut scheduler, resource, available, &mut wishes);
            for (wish, left) in wishes.iter().zip(left) {
                let one = &mut drawn[wish.terminal as usize];
                one.queue -= wish.granted;
                used += f64::from(wish.granted) * BLOCK / one.rate;
                let left = if wish.is_ready { left * f64::from(one.ttis) } else { 0.0 };
                one.passed_by = if wish.granted > 0 { 0.0 } else { one.passed_by + left };
                assert!(one.passed_by <= 2.0 * round, "seed {seed}: {} of {round}", one.passed_by);
            }
            given += resource;
            // Ahead of what was there are only longer TTIs: what they take until they end, and what calls took from them.
            let (ahead, owed) = (scheduler.running.iter().sum::<f64>(), -scheduler.balance);
            assert!(used <= given + ahead + owed + 1e-6, "seed {seed}: {used} of {given}");
            assert!(ahead <= 7.0 + 1e-6 && owed <= 7.0 + 1e-6, "seed {seed}: {ahead} and {owed}");
        }
    }
}
