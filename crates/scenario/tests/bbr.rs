//! BBR over whole paths: how much it carries, how long the queue is, and whom it leaves room.

use cellwind_engine::fact::FactKind;
use cellwind_scenario::parse;
use cellwind_scenario::run::{Record, Run, run};

const VERSIONS: [&str; 2] = ["bbr", "bbr-v3"];

/// A path with a queue of four bandwidth-delay products, and flows that begin a second apart.
fn path(transports: &[&str], kbps: u64, one_way_ms: u64, loss: u64, seconds: u64) -> Run {
    let queue = 4.0 * bdp(kbps, one_way_ms);
    let mut text = format!(
        "stop_at = '{seconds} s'\n[link.wire]\nrate = '{kbps} kbit/s'\ndelay = '{one_way_ms} ms'\nqueue = '{queue} B'\nloss = '{loss} %'\n"
    );
    for (number, transport) in transports.iter().enumerate() {
        text += &format!("[flow.f{number}]\ntransport = '{transport}'\nbulk = 'unlimited'\nstart = '{number} s'\n");
    }
    let scenario = parse(&text, "bbr", &[]).unwrap_or_else(|error| panic!("{error}")).scenario;
    run(&scenario, 0, Record { facts: Some(Vec::new()), capture: false }, &Default::default()).expect("the run ends")
}

/// The bandwidth-delay product in bytes.
fn bdp(kbps: u64, one_way_ms: u64) -> f64 {
    (kbps * 2 * one_way_ms / 8) as f64
}

/// The share of the rate that the flow got, of its segments' data.
fn share(run: &Run, flow: usize, kbps: u64) -> f64 {
    run.flows[flow].goodput_bps() / (1000.0 * kbps as f64)
}

/// The mean queue at the arrival of packets from `after_s` on, in bytes.
fn mean_queue(run: &Run, after_s: f64) -> f64 {
    let lengths = run.facts.iter().filter(|row| row.fact().kind == FactKind::QueueLength);
    let late: Vec<u64> = lengths.filter(|row| row.time().as_secs_f64() > after_s).map(|row| row.fact().b).collect();
    late.iter().sum::<u64>() as f64 / late.len() as f64
}

/// Instants at which the window fell below half of what it was, in seconds.
fn collapses(run: &Run) -> Vec<f64> {
    let mut before = 0;
    let windows = run.facts.iter().filter(|row| row.fact().kind == FactKind::Cwnd);
    let fell = windows.filter(|row| {
        let now = row.fact().a;
        let fell = 2 * now < before;
        before = now;
        fell
    });
    fell.map(|row| row.time().as_secs_f64()).collect()
}

#[test]
fn a_flow_fills_the_path_and_its_queue_stays_below_a_product() {
    // Data is 1460 of 1500 bytes, 97.3 %; version 3 sends one per cent less than the bandwidth, and both spend two per cent
    // of the time in ProbeRTT and the first second in Startup.
    for version in VERSIONS {
        for (kbps, delay, least) in [(384, 135, 0.92), (100_000, 25, 0.94)] {
            let run = path(&[version], kbps, delay, 0, 60);
            let (got, queue) = (share(&run, 0, kbps), mean_queue(&run, 10.0) / bdp(kbps, delay));
            assert!(got > least, "{version} at {kbps} kbit/s got {got:.3}");
            assert!(queue < 0.8, "{version} at {kbps} kbit/s queues {queue:.2} products");
            assert_eq!(run.flows[0].counters.segments_retransmitted, 0);
        }
    }
}

#[test]
fn every_ten_seconds_the_window_falls_for_a_look_at_the_round_trip() {
    for version in VERSIONS {
        for (kbps, delay) in [(384, 135), (100_000, 25)] {
            let fell = collapses(&path(&[version], kbps, delay, 0, 60));
            assert_eq!(fell.len(), 5, "{version} at {kbps} kbit/s: {fell:?}");
            let pairs = fell.windows(2).map(|pair| pair[1] - pair[0]);
            pairs.for_each(|between| assert!((10.0..13.0).contains(&between), "{version} at {kbps} kbit/s: {fell:?}"));
        }
    }
}

#[test]
fn two_flows_share_within_a_quarter() {
    for version in VERSIONS {
        let run = path(&[version, version], 10_000, 25, 0, 60);
        let shares = [share(&run, 0, 10_000), share(&run, 1, 10_000)];
        assert!(shares.iter().sum::<f64>() > 0.93, "{version}: {shares:?}");
        assert!(shares.iter().all(|share| (0.4..0.6).contains(share)), "{version}: {shares:?}");
    }
}

#[test]
fn random_loss_costs_version_1_little_and_version_3_much_above_its_threshold() {
    // Version 1 does not answer to losses; version 3 bounds itself above 2 %. CUBIC gets 28 % at one per cent.
    let got = |version, loss| share(&path(&[version], 10_000, 25, loss, 60), 0, 10_000);
    let (first, third) = ([got("bbr", 1), got("bbr", 5)], [got("bbr-v3", 1), got("bbr-v3", 5)]);
    assert!(first[0] > 0.9 && first[1] > 0.85, "{first:?}");
    assert!(third[0] > 0.75 && third[1] < 0.5, "{third:?}");
}
