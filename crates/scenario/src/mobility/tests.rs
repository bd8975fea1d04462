//! Chains against theory: how long a semi-Markov chain is in each state, and how often it goes where.

use super::*;

const START: Time = Time::ZERO;

fn secs(text: &str) -> SpanDistribution {
    text.parse().unwrap()
}

fn leaving(stay: &str, next: &[(usize, f64)]) -> Leaving {
    Leaving { when: Some(Decides::After(secs(stay))), next: next.to_vec() }
}

fn condition(leaving: Leaving) -> ConditionState {
    ConditionState { leaving, patches: Box::default() }
}

/// A network on its own access with one condition.
fn network(place: u16, delay: &str, leaving: Leaving) -> NetworkState {
    NetworkState {
        leaving,
        access: place,
        hard: Some((secs(delay), Bufferings::default())),
        duplicate_acks: 0,
        start: 0,
        conditions: vec![condition(Leaving::default())],
    }
}

fn mover(networks: Vec<NetworkState>) -> Mover {
    let way = Way { name: "x".into(), terminal: 0, start: 0, networks };
    Mover::new(&way, |name| Stream::new(1, 0, name))
}

/// The share of time in each state of the first `steps` steps of a chain, and how often it went from where to where;
/// `place` says which chain.
fn shares(mover: &mut Mover, steps: usize, states: usize, place: fn(&Mover) -> usize) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (mut spent, mut went) = (vec![0.0; states], vec![vec![0.0; states]; states]);
    let mut since = START;
    for _ in 0..steps {
        let now = mover.next_timeout().unwrap();
        let before = place(mover);
        spent[before] += (now - since).as_secs_f64();
        mover.step(now, Size::ZERO);
        went[before][place(mover)] += 1.0;
        since = now;
    }
    let whole: f64 = spent.iter().sum();
    for row in &mut went {
        let count: f64 = row.iter().sum();
        row.iter_mut().for_each(|times| *times /= count);
    }
    (spent.into_iter().map(|seconds| seconds / whole).collect(), went)
}

/// P = [0 ½ ½; 1 0 0; ¼ ¾ 0]: π = πP gives π0 = π1 + π2/4, π1 = π0/2 + 3π2/4, π2 = π0/2, so that π ∝ (8, 7, 4). With mean
/// times of 10, 4 and 6 s the shares of time are ∝ (80, 28, 24), in 132.
const P: [&[(usize, f64)]; 3] = [&[(1, 0.5), (2, 0.5)], &[(0, 1.0)], &[(0, 0.25), (1, 0.75)]];
const STAYS: [&str; 3] = ["exponential 10 s", "uniform 0 s to 8 s", "6 s"];
const SHARES: [f64; 3] = [80.0 / 132.0, 28.0 / 132.0, 24.0 / 132.0];

#[test]
fn networks_are_visited_as_long_as_theory_says() {
    let networks = (0..3).map(|place| network(place as u16, "0 s", leaving(STAYS[place], P[place]))).collect();
    let (spent, went) = shares(&mut mover(networks), 100_000, 3, |mover| mover.networks.place);
    // Of the about 42 000 stays in the first network, the mean of 10 s has a standard deviation of 0.05 s: half a percent
    // of its share. A frequency of n trials scatters by √(p (1 - p) / n), at most 0.0034 for the 21 000 from the third.
    for place in 0..3 {
        assert!((spent[place] - SHARES[place]).abs() < 0.01, "{place}: {}", spent[place]);
        for &(next, probability) in P[place] {
            assert!((went[place][next] - probability).abs() < 0.017, "{place} to {next}: {}", went[place][next]);
        }
        assert_eq!(went[place][place], 0.0);
    }
}

#[test]
fn conditions_are_visited_as_long_as_theory_says() {
    let conditions = (0..3).map(|place| condition(leaving(STAYS[place], P[place]))).collect();
    let forever = NetworkState { conditions, ..network(0, "0 s", Leaving::default()) };
    let (spent, _) = shares(&mut mover(vec![forever]), 100_000, 3, |mover| mover.conditions.place);
    (0..3).for_each(|place| assert!((spent[place] - SHARES[place]).abs() < 0.01, "{place}: {}", spent[place]));
}

#[test]
fn two_timers_and_probabilities_of_remaining_are_a_markov_chain() {
    // The thesis' form: every 2 s it remains with 0.9 or 0.7. The stationary share of the first is 0.3 / (0.1 + 0.3); both
    // stays are geometric. The effective number of 50 000 decisions is that of independent ones times
    // (1 - 0.6) / (1 + 0.6), whose σ is √(0.1875 / 12 500) = 0.004.
    let remains = |place: usize, stays: f64| leaving("2 s", &[(place, stays), (1 - place, 1.0 - stays)]);
    let networks = vec![network(0, "0 s", remains(0, 0.9)), network(1, "0 s", remains(1, 0.7))];
    let mut mover = mover(networks);
    let mut spent: [f64; 2] = [0.0; 2];
    let mut since = START;
    for _ in 0..50_000 {
        // One step may hold several decisions only where they fall on one instant, which they do not here.
        let now = mover.next_timeout().unwrap();
        assert_eq!((now - since).as_secs_f64(), 2.0);
        spent[mover.networks.place] += 2.0;
        mover.step(now, Size::ZERO);
        since = now;
    }
    assert!((spent[0] / 100_000.0 - 0.75).abs() < 0.02, "{spent:?}");
}

#[test]
fn a_stay_begins_when_the_handover_is_over_and_its_conditions_too() {
    let conditions = vec![condition(leaving("3 s", &[(1, 1.0)])), condition(leaving("3 s", &[(0, 1.0)]))];
    let networks = vec![
        network(0, "1 s", leaving("10 s", &[(1, 1.0)])),
        NetworkState { conditions, start: 1, ..network(1, "2 s", leaving("7 s", &[(0, 1.0)])) },
    ];
    let mut mover = mover(networks);
    let mut seen = Vec::new();
    for _ in 0..6 {
        let now = mover.next_timeout().unwrap();
        let step = mover.step(now, Size::ZERO).unwrap();
        let delay = step.handover.map(|change| match change {
            Change::Handover { to, manner: Manner::Hard { delay, .. }, .. } => (to, delay.as_secs_f64()),
            _ => unreachable!(),
        });
        seen.push((now.as_nanos() / 1_000_000_000, delay, mover.conditions.place));
    }
    // There from 12 s on: conditions change at 15 and 18 s, and at 19 s it goes back, where it is from 20 s on.
    let to_1 = (10, Some((1, 2.0)), 1);
    let expected =
        [to_1, (15, None, 0), (18, None, 1), (19, Some((0, 1.0)), 0), (30, Some((1, 2.0)), 1), (35, None, 0)];
    assert_eq!(seen, expected);
}

#[test]
fn an_amount_counts_from_when_the_state_begins() {
    let delivered = |bytes| Some(Decides::Delivered(Size::from_bytes(bytes)));
    let of = |place: usize, bytes| Leaving { when: delivered(bytes), next: vec![(1 - place, 1.0)] };
    let mut mover = mover(vec![network(0, "0 s", of(0, 1000)), network(1, "0 s", of(1, 500))]);
    assert_eq!((mover.next_timeout(), mover.next_amount()), (None, Some(Size::from_bytes(1000))));
    assert_eq!(mover.step(START, Size::from_bytes(999)), None);
    assert!(mover.step(START, Size::from_bytes(1200)).is_some());
    assert_eq!(mover.next_amount(), Some(Size::from_bytes(1700)));
    assert_eq!(mover.step(START, Size::from_bytes(1200)), None);
}

#[test]
fn conditions_do_not_move_the_draws_of_networks() {
    let networks = |with_conditions: bool| -> Vec<NetworkState> {
        (0..3)
            .map(|place| {
                let plain = network(place as u16, "uniform 0 s to 1 s", leaving(STAYS[place], P[place]));
                let ring = |next| condition(leaving("exponential 300 ms", &[(next, 1.0)]));
                let conditions = if with_conditions { vec![ring(1), ring(0)] } else { plain.conditions.clone() };
                NetworkState { conditions, ..plain }
            })
            .collect()
    };
    let handovers = |mut mover: Mover| {
        let mut found = Vec::new();
        while found.len() < 100 {
            let now = mover.next_timeout().unwrap();
            let step = mover.step(now, Size::ZERO);
            found.extend(step.and_then(|step| step.handover).map(|handover| (now, handover)));
        }
        found
    };
    assert_eq!(handovers(mover(networks(false))), handovers(mover(networks(true))));
}
