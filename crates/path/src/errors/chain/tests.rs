//! The chain against theory.

use super::*;
use crate::errors::fritchman::{ErrorFree, FritchmanSettings};
use crate::errors::gilbert_elliott::GilbertElliottSettings;

fn chance(p: f64) -> Chance {
    Chance::new(p).unwrap()
}

fn chances(row: &[f64]) -> Vec<Chance> {
    row.iter().map(|&p| chance(p)).collect()
}

fn table(rows: &[&[f64]], errors: &[f64]) -> Result<ChainTable, Unfit> {
    let rows: Vec<Vec<Chance>> = rows.iter().map(|row| chances(row)).collect();
    ChainTable::new(&rows, &chances(errors), &[])
}

fn gilbert_elliott(good_to_bad: f64, bad_to_good: f64, good_errors: f64, bad_errors: f64) -> ChainTable {
    let settings = GilbertElliottSettings {
        good_to_bad: Some(chance(good_to_bad)),
        bad_to_good: Some(chance(bad_to_good)),
        rate: None,
        burst: None,
        good_errors: chance(good_errors),
        bad_errors: chance(bad_errors),
        step: None,
    };
    settings.chain().unwrap()
}

fn outcomes(table: &ChainTable, count: usize) -> Vec<bool> {
    let mut chain = Chain::new(table, None, Stream::new(11, 0, "errors"));
    (0..count).map(|_| chain.strikes()).collect()
}

/// Lengths of the runs of `value`, without the first and last run.
fn runs(outcomes: &[bool], value: bool) -> Vec<usize> {
    let all: Vec<&[bool]> = outcomes.chunk_by(|a, b| a == b).collect();
    let inner = &all[1..all.len() - 1];
    inner.iter().filter(|run| run[0] == value).map(|run| run.len()).collect()
}

/// How many runs are longer than `length`.
fn longer(runs: &[usize], length: usize) -> f64 {
    runs.iter().filter(|&&run| run > length).count() as f64
}

/// Fails where `found` of `count` trials are further from probability `p` than five standard deviations.
#[track_caller]
fn expect(found: f64, count: f64, p: f64) {
    let deviation = (count * p * (1.0 - p)).sqrt();
    assert!((found - count * p).abs() < 5.0 * deviation, "{found} of {count} where {p} are expected");
}

#[test]
fn the_stationary_distribution_is_that_of_theory() {
    let near = |found: Vec<f64>, expected: &[f64]| {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    };
    // q / (p + q) and p / (p + q).
    near(stationary(&[vec![0.9, 0.1], vec![0.4, 0.6]]).unwrap(), &[0.8, 0.2]);
    // A walk 0 ↔ 1 ↔ 2 with detailed balance: π0 · 0.5 = π1 · 0.25 and π1 · 0.5 = π2 · 0.1 give 1 : 2 : 10.
    let walk = [vec![0.5, 0.5, 0.0], vec![0.25, 0.25, 0.5], vec![0.0, 0.1, 0.9]];
    near(stationary(&walk).unwrap(), &[1.0 / 13.0, 2.0 / 13.0, 10.0 / 13.0]);
    // A round through three states takes each as often, though it is periodic.
    let round = [vec![0.0, 1.0, 0.0], vec![0.0, 0.0, 1.0], vec![1.0, 0.0, 0.0]];
    near(stationary(&round).unwrap(), &[1.0 / 3.0; 3]);
    // Rare changes, where a subtraction would cancel: p : q = 1e-12 : 3e-12.
    near(stationary(&[vec![1.0 - 1e-12, 1e-12], vec![3e-12, 1.0 - 3e-12]]).unwrap(), &[0.75, 0.25]);
    assert!(stationary(&[vec![1.0, 0.0], vec![0.5, 0.5]]).is_none());
}

/// The share of errors is (good errors · q + bad errors · p) / (p + q). Outcomes are correlated, so that the variance
/// of the share is that of independent ones times at most (1 + r) / (1 - r) with r = 1 - p - q.
#[test]
fn gilbert_elliott_has_the_error_rate_of_theory() {
    for (p, q, good, bad) in [(0.01, 0.1, 0.0, 1.0), (0.05, 0.3, 0.02, 0.6), (0.9, 0.8, 0.1, 0.9)] {
        let count = 1_000_000.0;
        let errors = outcomes(&gilbert_elliott(p, q, good, bad), count as usize);
        let share = (good * q + bad * p) / (p + q);
        let r: f64 = 1.0 - p - q;
        let factor = ((1.0 + r) / (1.0 - r)).max(1.0);
        let found = errors.iter().filter(|&&error| error).count() as f64;
        let deviation = (count * share * (1.0 - share) * factor).sqrt();
        assert!((found - share * count).abs() < 5.0 * deviation, "{found} for {share}");
    }
}

#[test]
fn gilbert_elliott_has_geometric_bursts_and_gaps() {
    let errors = outcomes(&gilbert_elliott(0.02, 0.25, 0.0, 1.0), 2_000_000);
    let (bursts, gaps) = (runs(&errors, true), runs(&errors, false));
    // P(burst > n) = (1 - q)^n and P(gap > n) = (1 - p)^n; runs are independent.
    for n in [1, 2, 4, 8, 16] {
        expect(longer(&bursts, n), bursts.len() as f64, 0.75f64.powi(n as i32));
    }
    for n in [1, 10, 50, 100, 200] {
        expect(longer(&gaps, n), gaps.len() as f64, 0.98f64.powi(n as i32));
    }
}

/// The correlation of two outcomes that are k apart is (1 - p - q)^k where all of the bad state is in error. Its
/// estimate from n outcomes has a standard deviation below √((1 + r²) / (1 - r²) / n) (Bartlett); five of them.
#[test]
fn gilbert_elliott_has_the_autocorrelation_of_theory() {
    let (p, q, n) = (0.05, 0.15, 2_000_000);
    let errors = outcomes(&gilbert_elliott(p, q, 0.0, 1.0), n);
    let mean = p / (p + q);
    let r: f64 = 1.0 - p - q;
    for k in [1, 2, 5, 10, 20] {
        let products = errors.windows(k + 1).map(|w| (f64::from(w[0]) - mean) * (f64::from(w[k]) - mean));
        let found = products.sum::<f64>() / (n - k) as f64 / (mean * (1.0 - mean));
        let tolerance = 5.0 * ((1.0 + r * r) / (1.0 - r * r) / n as f64).sqrt();
        assert!((found - r.powi(k as i32)).abs() < tolerance, "{found} at {k}");
    }
}

#[test]
fn a_mean_rate_and_a_mean_burst_give_these_means() {
    let settings = GilbertElliottSettings {
        good_to_bad: None,
        bad_to_good: None,
        rate: Some(chance(0.1)),
        burst: Some(5.0),
        good_errors: Chance::NEVER,
        bad_errors: Chance::ALWAYS,
        step: None,
    };
    // q = 1 / 5; p = 0.1 / 0.9 / 5.
    let (p, q) = settings.changes().unwrap();
    assert!((p.get() - 0.1 / 4.5).abs() < 1e-15 && q.get() == 0.2);
    // 2000 blocks in the good state make a mean of 45 with a burst of 5, a share of 0.1.
    let errors = outcomes(&settings.chain().unwrap(), 1_000_000);
    let bursts = runs(&errors, true);
    let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
    // The standard deviation of a geometric length of mean 5 is √20; of about 20 000 of them, 0.032; five of them.
    assert!((mean - 5.0).abs() < 0.16, "{mean}");
    // Errors of the good and the bad state count: (0.1 - 0.02) / (0.5 - 0.02) = 1/6 of blocks in the bad state.
    let settings = GilbertElliottSettings { good_errors: chance(0.02), bad_errors: chance(0.5), ..settings };
    let (p, q) = settings.changes().unwrap();
    assert!((p.get() / (p.get() + q.get()) - 1.0 / 6.0).abs() < 1e-12);
}

/// After an error, a gap of at least m ≥ 1 has the probability Σ enter · stay^(m - 1) (Fritchman, eq. for P(0^m|1)).
#[test]
fn fritchman_has_gaps_of_a_sum_of_geometric_distributions() {
    let states = [(0.3, 0.5), (0.15, 0.9), (0.05, 0.995)];
    let error_free =
        states.iter().map(|&(enter, stay)| ErrorFree { enter: chance(enter), stay: chance(stay) }).collect();
    let errors = outcomes(&FritchmanSettings { error_free, step: None }.chain().unwrap(), 2_000_000);
    let gaps = runs(&errors, false);
    for m in [2, 3, 5, 10, 30, 100, 400] {
        // Of the gaps of at least 1, which come with the probability Σ enter.
        let p: f64 = states.iter().map(|(enter, stay): &(f64, f64)| enter / 0.5 * stay.powi(m - 1)).sum();
        expect(longer(&gaps, m as usize - 1), gaps.len() as f64, p);
    }
    // Bursts go on with probability 0.5.
    let bursts = runs(&errors, true);
    for n in [1, 2, 4, 8] {
        expect(longer(&bursts, n), bursts.len() as f64, 0.5f64.powi(n as i32));
    }
    // The mean gap is Σ enter / (1 - stay) after each error: 0.6 + 1.5 + 10 = 12.1, so that one block in 13.1 is an error.
    // 13.1 ± 4 % is five standard deviations of the sum of 150 000 gaps, whose own is about 62.
    let every = errors.len() as f64 / errors.iter().filter(|&&error| error).count() as f64;
    assert!((every / 13.1 - 1.0).abs() < 0.07, "{every}");
}

#[test]
fn states_follow_each_other_as_the_table_says() {
    // Errors tell the state apart: 0 never, 1 always, and 2 comes only after 1 and never errs.
    let chain = table(&[&[0.6, 0.4, 0.0], &[0.1, 0.0, 0.9], &[0.5, 0.5, 0.0]], &[0.0, 1.0, 0.0]).unwrap();
    let mut walk = Chain::new(&chain, None, Stream::new(2, 0, "errors"));
    let mut counts = [[0.0f64; 3]; 3];
    for _ in 0..300_000 {
        let from = walk.at;
        assert_eq!(walk.strikes(), from == 1);
        counts[from][walk.at] += 1.0;
    }
    let rows = [[0.6, 0.4, 0.0], [0.1, 0.0, 0.9], [0.5, 0.5, 0.0]];
    for (counts, row) in counts.iter().zip(rows) {
        let from: f64 = counts.iter().sum();
        counts.iter().zip(row).for_each(
            |(&count, p)| {
                if p == 0.0 { assert_eq!(count, 0.0) } else { expect(count, from, p) }
            },
        );
    }
}

#[test]
fn the_first_state_has_the_distribution_that_was_asked_for() {
    let first = |chain: &ChainTable| {
        let bad = |&replication: &u32| Chain::new(chain, None, Stream::new(1, replication, "errors")).strikes();
        (0..20_000).filter(bad).count() as f64
    };
    expect(first(&gilbert_elliott(0.1, 0.4, 0.0, 1.0)), 20_000.0, 0.2);
    let rows = [chances(&[0.9, 0.1]), chances(&[0.4, 0.6])];
    let told = ChainTable::new(&rows, &chances(&[0.0, 1.0]), &chances(&[0.3, 0.7])).unwrap();
    expect(first(&told), 20_000.0, 0.7);
}

#[test]
fn a_chain_that_goes_on_with_time_keeps_its_state_within_a_step() {
    // A step of 10 ms; a look each 30 ms finds what is three steps further: correlation r^3, whatever is sent between.
    let (p, q) = (0.05, 0.15);
    let step = Span::from_millis(10);
    let mut chain = Chain::new(&gilbert_elliott(p, q, 0.0, 1.0), Some(step), Stream::new(3, 0, "errors"));
    let count = 300_000;
    let errors: Vec<bool> = (0..count)
        .map(|look| {
            chain.begin(Time::from_millis(30 * look));
            let taken = chain.take_successes(20);
            assert!(taken == 0 || taken == 20);
            let error = taken == 0;
            assert!((0..look % 5).all(|_| chain.strikes() == error));
            error
        })
        .collect();
    let mean: f64 = p / (p + q);
    let r = (1.0 - p - q).powi(3);
    let products = errors.windows(2).map(|w| (f64::from(w[0]) - mean) * (f64::from(w[1]) - mean));
    let found = products.sum::<f64>() / count as f64 / (mean * (1.0 - mean));
    // As above, five standard deviations.
    let tolerance = 5.0 * ((1.0 + r * r) / (1.0 - r * r) / count as f64).sqrt();
    assert!((found - r).abs() < tolerance, "{found} for {r}");
}

#[test]
fn a_share_of_errors_in_a_timed_state_strikes_blocks_one_by_one() {
    let only = ChainTable::new(&[vec![Chance::ALWAYS]], &[chance(0.3)], &[]).unwrap();
    let mut chain = Chain::new(&only, Some(Span::from_millis(10)), Stream::new(3, 0, "errors"));
    chain.begin(Time::from_secs(100));
    expect((0..100_000).filter(|_| chain.strikes()).count() as f64, 100_000.0, 0.3);
}

#[test]
fn tables_that_are_no_chains_are_refused() {
    let reason = |rows: &[&[f64]], errors: &[f64]| table(rows, errors).unwrap_err();
    assert_eq!(reason(&[], &[]).keys, ["transitions"]);
    assert_eq!(reason(&[&[0.5, 0.5], &[1.0]], &[0.0, 0.0]).keys, ["transitions", "1"]);
    let sum = reason(&[&[0.5, 0.5], &[0.5, 0.4]], &[0.0, 0.0]);
    assert_eq!((sum.keys, sum.found.as_str()), (vec!["transitions".into(), "1".into()], "a sum of 0.9"));
    assert_eq!(reason(&[&[1.0]], &[0.0, 0.0]).keys, ["errors"]);
    assert!(reason(&[&[1.0, 0.0], &[0.5, 0.5]], &[0.0, 0.0]).message.contains("not every state"));
    assert!(reason(&[&[0.5, 0.5], &[0.5, 0.5]], &[1.0, 1.0]).message.contains("nothing but errors"));
    // Five decimals are enough.
    assert!(table(&[&[0.33333, 0.66667], &[0.333333, 0.66666]], &[0.0, 1.0]).is_ok());
}
