use super::settings::ProportionalFairSettings;
use super::*;
use cellwind_engine::random::Stream;

mod waiting;

/// Octets of a block.
const BLOCK: f64 = 40.0;

/// A cell of terminals that reach so many octets per TTI alone, and what each has sent.
struct Cell {
    scheduler: Scheduler,
    rates: Vec<f64>,
    /// Blocks that wait.
    waiting: Vec<u32>,
    sent: Vec<u64>,
    ttis: u64,
}

const PLENTY: u32 = 1_000;

impl Cell {
    fn new(discipline: Discipline, terminals: &[(f64, PriorityLevel)]) -> Self {
        let mut scheduler = Scheduler::new(discipline, 100.0);
        terminals.iter().for_each(|&(rate, priority)| scheduler.add(rate, BLOCK, priority));
        Cell {
            scheduler,
            rates: terminals.iter().map(|terminal| terminal.0).collect(),
            waiting: vec![PLENTY; terminals.len()],
            sent: vec![0; terminals.len()],
            ttis: 0,
        }
    }

    fn of(discipline: Discipline, rates: &[f64]) -> Self {
        let terminals: Vec<_> = rates.iter().map(|&rate| (rate, PriorityLevel::Background)).collect();
        Cell::new(discipline, &terminals)
    }

    /// One TTI of which so much is there; the blocks sent in it, by terminal. What waits does not shrink.
    fn tti(&mut self, resource: f64) -> Vec<u32> {
        let waiting = self.waiting.iter().enumerate().filter(|&(_, &blocks)| blocks > 0);
        let wish = |(terminal, &blocks): (usize, &u32)| Wish {
            terminal: terminal as u32,
            blocks,
            at_once: 1,
            ttis: 1,
            is_ready: true,
            granted: 0,
        };
        let mut wishes: Vec<Wish> = waiting.map(wish).collect();
        self.scheduler.share(1, resource, &mut wishes);
        self.ttis += 1;
        let mut granted = vec![0; self.sent.len()];
        for wish in wishes {
            assert!(wish.granted <= wish.blocks);
            granted[wish.terminal as usize] = wish.granted;
            self.sent[wish.terminal as usize] += u64::from(wish.granted);
        }
        granted
    }

    fn run(&mut self, ttis: u32) {
        (0..ttis).for_each(|_| drop(self.tti(1.0)));
    }

    /// Octets per TTI that a terminal has had.
    fn throughput(&self, terminal: usize) -> f64 {
        self.sent[terminal] as f64 * BLOCK / self.ttis as f64
    }

    /// Part of the resource that a terminal has had.
    fn resource(&self, terminal: usize) -> f64 {
        self.throughput(terminal) / self.rates[terminal]
    }

    fn all(&self) -> f64 {
        (0..self.sent.len()).map(|terminal| self.resource(terminal)).sum()
    }
}

fn proportional_fair() -> Discipline {
    Discipline::ProportionalFair(ProportionalFairSettings::default())
}

fn all_disciplines() -> [Discipline; 4] {
    [Discipline::FairThroughput, Discipline::FairResource, Discipline::CI, proportional_fair()]
}

/// Rates of five terminals in octets per TTI: no multiples of a block, nor of each other.
const RATES: [f64; 5] = [960.0, 700.0, 480.0, 333.0, 130.0];

#[test]
fn fair_throughput_gives_each_the_harmonic_share() {
    // Σ x / R = 1, so that x = 1 / Σ (1 / R); to a block in the long run.
    let mut cell = Cell::of(Discipline::FairThroughput, &RATES);
    let ttis = 10_000;
    cell.run(ttis);
    let share = 1.0 / RATES.iter().map(|rate| 1.0 / rate).sum::<f64>();
    for terminal in 0..5 {
        let blocks = share * f64::from(ttis) / BLOCK;
        assert!((cell.sent[terminal] as f64 - blocks).abs() <= 1.0, "{} for {blocks}", cell.sent[terminal]);
    }
}

#[test]
fn fair_resource_gives_each_the_same_part() {
    // Each has a fifth of the resource, hence R / 5 octets per TTI, to a block in the long run.
    let mut cell = Cell::of(Discipline::FairResource, &RATES);
    let ttis = 10_000;
    cell.run(ttis);
    for (terminal, rate) in RATES.into_iter().enumerate() {
        let blocks = rate / 5.0 * f64::from(ttis) / BLOCK;
        assert!((cell.sent[terminal] as f64 - blocks).abs() <= 1.0, "{} for {blocks}", cell.sent[terminal]);
    }
}

#[test]
fn the_best_c_to_i_takes_all_and_equals_share() {
    let mut cell = Cell::of(Discipline::CI, &RATES);
    cell.run(1_000);
    assert_eq!(cell.sent, [24_000, 0, 0, 0, 0]);
    let mut cell = Cell::of(Discipline::CI, &[480.0, 700.0, 700.0, 480.0]);
    cell.run(1_000);
    assert_eq!(cell.sent, [0, 8_750, 8_750, 0]); // 700 / 2 · 1000 / 40
}

#[test]
fn proportional_fairness_over_constant_channels_is_a_fair_share_of_the_resource() {
    // Where R / mean is the same for all, mean = R / n. Within the time constant's hundred TTIs of the beginning.
    let mut cell = Cell::of(proportional_fair(), &RATES);
    cell.run(20_000);
    for terminal in 0..5 {
        assert!((cell.resource(terminal) - 0.2).abs() < 0.005, "{}", cell.resource(terminal));
    }
}

#[test]
fn proportional_fairness_rides_on_the_peaks() {
    // Two terminals whose rates are 200 and 800 octets in turns, against each other: each is served at its peak, and both
    // reach 400 per TTI, where a fair resource gives them (200 + 800) / 2 / 2 = 250.
    // Blocks are small enough to cut the resource finely: what is left of a bad TTI is worth more in a good one.
    let block = 0.5;
    let swing = |discipline| {
        let mut cell = Cell::of(discipline, &[200.0, 800.0]);
        cell.waiting = vec![2_000; 2];
        for tti in 0..10_000u32 {
            let rates = if tti % 2 == 0 { [200.0, 800.0] } else { [800.0, 200.0] };
            for (terminal, rate) in rates.into_iter().enumerate() {
                cell.scheduler.set(terminal as u32, rate, block, PriorityLevel::Background);
            }
            cell.tti(1.0);
        }
        [0, 1].map(|terminal| cell.throughput(terminal) * block / BLOCK)
    };
    assert!(swing(proportional_fair()).iter().all(|throughput| (throughput - 400.0).abs() < 4.0));
    assert!(swing(Discipline::FairResource).iter().all(|throughput| (throughput - 250.0).abs() < 2.5));
}

#[test]
fn what_one_does_not_want_goes_to_the_others() {
    for discipline in all_disciplines() {
        let mut cell = Cell::of(discipline, &RATES);
        cell.waiting[0] = 1; // of the 24 blocks that a TTI would carry for it
        cell.waiting[2] = 0;
        cell.run(10_000);
        assert!((cell.all() - 1.0).abs() < 0.001, "{discipline:?}: {}", cell.all());
    }
    // Terminal 0 wants one block, which is less than its share: 960 / 40 = 24 blocks are its resource, so 23/24 are left.
    let mut cell = Cell::of(Discipline::FairThroughput, &[960.0, 480.0, 480.0]);
    cell.waiting[0] = 1;
    cell.run(24_000);
    assert_eq!(cell.sent[0], 24_000);
    assert!((cell.throughput(1) - 480.0 * 23.0 / 24.0 / 2.0).abs() < 0.01);
}

#[test]
fn a_tti_never_carries_more_than_the_cell_but_for_the_rest_of_a_block() {
    let mut stream = Stream::new(1, 0, "wishes");
    for discipline in all_disciplines() {
        let mut cell = Cell::of(discipline, &RATES);
        let (mut given, mut used) = (0.0, 0.0);
        let largest = BLOCK / 130.0;
        for _ in 0..20_000 {
            for waiting in &mut cell.waiting {
                *waiting = if stream.below(3) == 0 { 0 } else { stream.below(30) as u32 };
            }
            let resource = stream.below(5) as f64 / 4.0;
            let blocks = cell.tti(resource);
            let cost: f64 = blocks.iter().zip(RATES).map(|(&blocks, rate)| f64::from(blocks) * BLOCK / rate).sum();
            given += resource;
            used += cost;
            assert!(used <= given + 1e-6, "{discipline:?}: {used} of {given}");
            // What was not covered by whole blocks before is used later: less than a block for each terminal.
            assert!(
                cost <= resource + RATES.map(|rate| BLOCK / rate).iter().sum::<f64>() + largest,
                "{cost} of {resource}"
            );
        }
    }
}

#[test]
fn fifty_terminals_with_small_shares_are_served_from_the_first_tti_on_and_in_turn() {
    // 960 octets are 24 blocks; each of 50 terminals has a share of 0.48 blocks.
    let mut cell = Cell::of(Discipline::FairThroughput, &[960.0; 50]);
    for _ in 0..1_000 {
        let blocks = cell.tti(1.0);
        assert_eq!(blocks.iter().sum::<u32>(), 24);
        let (least, most) = (cell.sent.iter().min(), cell.sent.iter().max());
        assert!(most.unwrap() - least.unwrap() <= 1, "{:?}", cell.sent);
    }
}

#[test]
fn a_terminal_that_needs_many_ttis_for_a_block_gets_it() {
    for discipline in all_disciplines() {
        let mut cell = Cell::of(discipline, &[7.0]); // 5.7 TTIs for a block
        cell.run(1_000);
        assert_eq!(cell.sent[0], 175, "{discipline:?}"); // 7 · 1000 / 40
    }
}

#[test]
fn traffic_handling_priority_comes_before_the_discipline() {
    for discipline in all_disciplines() {
        let first = (130.0, PriorityLevel::First);
        let second = (960.0, PriorityLevel::Second);
        let background = (960.0, PriorityLevel::Background);
        let mut cell = Cell::new(discipline, &[background, second, first]);
        cell.run(1_000);
        assert_eq!(cell.sent[..2], [0, 0], "{discipline:?}");
        // The first wants one block of its 3.25, the second has what is left, the background nothing.
        cell.waiting[2] = 1;
        cell.sent.fill(0);
        cell.run(1_000);
        assert!(cell.sent[2] >= 995 && cell.sent[0] == 0, "{discipline:?}: {:?}", cell.sent);
        let rest = 960.0 * (1.0 - BLOCK / 130.0) / BLOCK * 1_000.0;
        assert!((cell.sent[1] as f64 - rest).abs() < 30.0, "{discipline:?}: {} of {rest}", cell.sent[1]);
    }
}

#[test]
fn nothing_is_sent_while_the_cell_is_blocked() {
    for discipline in all_disciplines() {
        let mut cell = Cell::of(discipline, &RATES);
        cell.run(100);
        let before = cell.sent.clone();
        for _ in 0..100 {
            cell.tti(0.0);
        }
        // What was left of the last TTI before is less than a block of each.
        assert!(cell.sent.iter().zip(&before).all(|(after, before)| after - before <= 1), "{discipline:?}");
    }
}

#[test]
fn a_longer_tti_takes_its_part_of_each_tti_that_it_lasts() {
    // Both at 24 blocks in a TTI. Alone, a TTI of four begins with all 96 blocks and nothing is left until it ends.
    for discipline in all_disciplines() {
        let mut cell = Cell::of(discipline, &[960.0, 960.0]);
        let mut sent = [0; 2];
        for tti in 0..1_000 {
            let mut wishes = [
                Wish { terminal: 0, blocks: 24, at_once: 1, ttis: 1, is_ready: true, granted: 0 },
                Wish { terminal: 1, blocks: 96, at_once: 1, ttis: 4, is_ready: tti % 4 == 0, granted: 0 },
            ];
            let wishes = if tti < 4 { &mut wishes[1..] } else { &mut wishes[..] };
            cell.scheduler.share(1, 1.0, wishes);
            wishes.iter().for_each(|wish| sent[wish.terminal as usize] += wish.granted);
            assert!(tti >= 4 || sent == [0, 96]);
        }
        // Then half of 24 · 996 each, but for a TTI of the longer one, and a hundredth while the mean swings.
        assert!(sent[0].abs_diff(11_952) <= 120 && sent[1].abs_diff(11_952 + 96) <= 120, "{discipline:?}: {sent:?}");
    }
}

#[test]
fn nobody_waits_for_those_who_owe_and_have_nothing_to_send() {
    // Each block takes 0.55 of a TTI. Whoever is served first owes for it, and then has nothing to send any more.
    for discipline in all_disciplines() {
        let mut cell = Cell::of(discipline, &[72.0, 72.0, 72.0]);
        cell.run(3);
        for waiting in [[0, 1, 0], [0, 0, 1], [1, 0, 0]] {
            cell.waiting = waiting.to_vec();
            let before: u64 = cell.sent.iter().sum();
            cell.run(4);
            let sent = cell.sent.iter().sum::<u64>() - before;
            assert!((4..=8).contains(&sent), "{discipline:?}: {sent} of one at a time");
        }
    }
}

#[test]
fn what_is_given_back_is_there_for_the_next_tti() {
    let mut cell = Cell::of(Discipline::FairThroughput, &[960.0]);
    assert_eq!(cell.tti(1.0), [24]);
    cell.scheduler.give_back(0, 10);
    assert_eq!(cell.tti(0.0), [10]);
    assert_eq!(cell.tti(0.0), [0]);
}
