use super::*;
use crate::device::Device;
use crate::lateness::Lateness;
use crate::pool::Pool;
use crate::testkit::*;
use std::os::fd::{AsFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;

const MOST_MS: u16 = 10_000;

fn start(scenario: &str, settings: DriverSettings) -> (Driver, Monotonic, Vec<OwnedFd>) {
    let (ends, networks) = ends(1);
    let clock = Monotonic::start_in(Span::ZERO);
    let lateness = Arc::new(Lateness::new(Span::from_millis(1)));
    let pool = Pool::with_slots(MTU as usize, 1000);
    let pump = Pump::new(clock, session(scenario), ends, pool, no_log(), lateness);
    (Driver::start(pump, settings).unwrap(), clock, networks)
}

fn wait_for_packet(network: &OwnedFd) {
    let ready = poll(&mut [PollFd::new(network.as_fd(), PollFlags::POLLIN)], PollTimeout::from(MOST_MS));
    assert_eq!(ready, Ok(1), "no packet for {MOST_MS} ms");
}

#[test]
fn no_packet_is_early_and_none_is_lost() {
    // Packets of 5 ms delay; each must arrive no sooner than that after it was sent.
    for spin in [None, Some(Span::ZERO)] {
        let settings = DriverSettings { spin, realtime: false };
        let (driver, clock, networks) = start("[link.wire]\ndelay = \"5 ms\"\n", settings);
        for mark in 0..50 {
            let sent = clock.now();
            write(&networks[0], &packet(address(0), 100, mark)).unwrap();
            wait_for_packet(&networks[1]);
            assert!(clock.now() >= sent + Span::from_millis(5));
            assert_eq!(marks(&networks[1]), [mark]);
        }
        let ended = driver.stop().unwrap();
        assert_eq!(ended.counts.terminals[0][0].packets_delivered, 50);
        assert_eq!(ended.counts.slots_used, 0);
    }
}

#[test]
fn what_is_not_granted_is_said_and_done_without() {
    // As root real-time scheduling is granted, as another user usually not; packets travel in any case.
    let settings = DriverSettings { spin: None, realtime: true };
    let (driver, _, networks) = start("[link.wire]\ndelay = \"1 ms\"\n", settings);
    write(&networks[0], &packet(address(0), 100, 1)).unwrap();
    wait_for_packet(&networks[1]);
    for complaint in driver.complaints() {
        assert!(complaint.starts_with("memory is not locked: ") || complaint.starts_with("no real-time scheduling: "));
    }
    assert!(!nix::unistd::geteuid().is_root() || driver.complaints().is_empty());
    assert_eq!(driver.stop().unwrap().counts.terminals[0][0].packets_delivered, 1);
}

#[test]
fn changes_are_applied_and_come_back() {
    let scenario = "[link.wire]\ndelay = \"1 h\"\n";
    let loaded = cellwind_scenario::parse(scenario, "test", &[]).unwrap();
    let (mut driver, clock, networks) = start(scenario, DriverSettings::default());
    for round in 0..20 {
        let delay = format!("{} us", 1 + round);
        let change = loaded.controls().set(&[("link.wire.delay".into(), delay)]).unwrap();
        let before = clock.now();
        let answer = driver.change(change.clone()).unwrap();
        assert_eq!(answer.result, Ok(()));
        assert!(answer.at >= before && answer.at <= clock.now());
        write(&networks[0], &packet(address(0), 100, round)).unwrap();
        wait_for_packet(&networks[1]);
        assert_eq!(marks(&networks[1]), [round]);
    }
    assert!(driver.change(Change::Pause).unwrap().result.is_ok());
    assert_eq!(driver.stop().unwrap().counts.is_paused, 1);
}

#[test]
fn counts_are_published_while_it_runs() {
    let (driver, _, networks) = start("[link.wire]\n", DriverSettings::default());
    let status = driver.status();
    for mark in 0..10 {
        write(&networks[1], &packet([100, 64, 0, 1], 100, mark)).unwrap();
    }
    while status.counts().terminals[0][1].packets_delivered < 10 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(driver.failure().is_none());
}

#[test]
fn what_happens_without_a_packet_is_published_too() {
    // The packet leaves, and the pause begins, soon after the counts were published.
    let (mut driver, clock, networks) = start("[link.wire]\ndelay = \"120 ms\"\n", DriverSettings::default());
    let status = driver.status();
    let until = |wanted: &dyn Fn(&Counts) -> bool| {
        let started = clock.now();
        while !wanted(&status.counts()) {
            assert!(clock.now().since(started) < Span::from_millis(MOST_MS.into()), "{:?}", status.counts());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    };
    write(&networks[0], &packet(address(0), 100, 1)).unwrap();
    until(&|counts| counts.terminals[0][0].packets_in == 1);
    until(&|counts| counts.terminals[0][0].packets_delivered == 1);
    for (change, is_paused) in [(Change::Pause, 1), (Change::Resume, 0), (Change::Pause, 1)] {
        driver.change(change).unwrap().result.unwrap();
        until(&|counts| counts.is_paused == is_paused);
    }
}

#[test]
fn a_device_that_is_gone_ends_the_run_and_says_so() {
    // A directory can be opened, and not be waited for.
    let (_, networks) = ends(0);
    let directory = std::fs::File::open("/").unwrap();
    let devices = vec![Device::ip(networks.into_iter().next().unwrap()), Device::ip(directory.into())];
    let ends = crate::pump::Ends { devices, addresses: crate::ip::Addresses::All(0), mtu: MTU };
    let clock = Monotonic::start_in(Span::ZERO);
    let lateness = Arc::new(Lateness::new(Span::from_millis(1)));
    let pump = Pump::new(clock, session("[link.wire]\n"), ends, Pool::with_slots(64, 1), no_log(), lateness);
    let mut driver = Driver::start(pump, DriverSettings::default()).unwrap();
    wait_for(&[&driver.ended()]);
    assert_eq!(driver.failure(), Some(&Failure::Wait(Errno::EPERM)));
    assert!(driver.change(Change::Pause).is_none());
    assert!(driver.stop().is_some());
}

#[test]
fn it_ends_with_its_controller() {
    let (driver, _, networks) = start("[link.wire]\n", DriverSettings::default());
    let ended = driver.ended();
    write(&networks[0], &packet(address(0), 100, 1)).unwrap();
    drop(driver.stop());
    wait_for(&[&ended]);
}
