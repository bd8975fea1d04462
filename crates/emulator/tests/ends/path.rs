//! Packets between ends, and how their kernels treat them.

use std::time::Duration;

use cellwind_emulator::ends::{End, EndSettings, KernelTcp, Role};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::support::*;

/// Enough bytes for the kernel to merge segments where it may.
const BYTES: &str = "3000000";

fn fetches(from: &End, server: &End, address: &str, port: &str) {
    let serving = start(server, &[".", "serve", port, BYTES]);
    let fetched = run(from, &[".", "fetch", &format!("{address}:{port}")]);
    assert_eq!(fetched.trim(), BYTES, "over {address}");
    serving.output();
}

#[test]
fn packets_of_every_kind_cross_both_ways() {
    let Some((server, terminal, _path)) = pair(&KernelTcp::default()) else { return };
    assert_eq!((server.complaints(), terminal.complaints()), (&[][..], &[][..]));
    for (from, to) in [(&terminal, &server), (&server, &terminal)] {
        for address in to.addresses() {
            run(from, &[".", "ping", &address.to_string()]);
        }
    }
    fetches(&terminal, &server, "100.64.0.1", "8001");
    fetches(&terminal, &server, "[fd77:6365:6c6c::1]", "8002");
    fetches(&server, &terminal, "100.64.1.1", "8003");
    fetches(&server, &terminal, "[fd77:6365:6c6c::101]", "8004");
    // Names, and loopback.
    fetches(&terminal, &server, "server", "8005");
    fetches(&server, &terminal, "ue", "8006");
    fetches(&terminal, &terminal, "127.0.0.1", "8007");
    for (address, port) in [("100.64.0.1", "9001"), ("[fd77:6365:6c6c::1]", "9002")] {
        let echo = start(&server, &[".", "udp-echo", port]);
        run(&terminal, &[".", "udp-ask", &format!("{address}:{port}")]);
        echo.output();
    }
}

#[test]
fn many_terminals_have_their_own_namespaces_and_addresses() {
    let ends: Vec<EndSettings> =
        (0..5).map(|number| settings(&format!("ue{number}"), Role::Terminal(number))).collect();
    let Some(ends) = usable(End::open_all(&end_program(), &ends)) else { return };
    for (number, end) in ends.iter().enumerate() {
        let addresses = run(end, &["ip", "-brief", "address", "show", "dev", end.device()]);
        let expected = format!("100.64.1.{}/32 fd77:6365:6c6c::{:x}/128", number + 1, 0x101 + number);
        assert!(addresses.trim().ends_with(&expected), "{addresses}");
        let link = run(end, &["ip", "link", "show", "dev", end.device()]);
        assert!(link.contains("mtu 1500") && link.contains("qlen 10000"), "{link}");
        let namespace = run(end, &["readlink", "/proc/self/ns/net"]);
        let outer = std::fs::read_link(format!("/proc/{}/ns/net", end.pid()));
        assert!(outer.is_ok_and(|link| link.to_str() == Some(namespace.trim())), "pid() is in the end's namespace");
    }
    let first: Vec<u32> = ends.iter().map(End::pid).collect();
    End::close_all(ends);
    assert!(first.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()), "all are gone");
}

/// By reading the device for longer than the kernel waits before it asks for routers.
#[test]
fn a_device_is_silent_until_a_command_speaks() {
    let Some(end) = single() else { return };
    let mut waiting = [PollFd::new(end.tun(), PollFlags::POLLIN)];
    assert_eq!(poll(&mut waiting, PollTimeout::from(1500u16)), Ok(0), "a packet that nobody sent");
}

#[test]
fn the_kernel_s_tcp_is_as_asked_for() {
    let kernel = KernelTcp {
        congestion_control: Some("reno".into()),
        initial_window: Some(3),
        mss: Some(1200),
        window: Some(65536),
        rto_min: Some(Duration::from_millis(300)),
        quickack: Some(true),
        sack: Some(false),
        timestamps: Some(false),
        dsack: Some(false),
        frto: Some(false),
        recovery: Some(0),
        early_retrans: Some(false),
        reordering: Some(5),
        rmem: Some([4096, 100_000, 200_000]),
        wmem: Some([4096, 50_000, 90_000]),
        slow_start_after_idle: Some(false),
    };
    let Some((server, terminal, _path)) = pair(&kernel) else { return };
    for end in [&server, &terminal] {
        for (name, value) in [
            ("tcp_no_metrics_save", "1"),
            ("tcp_sack", "0"),
            ("tcp_timestamps", "0"),
            ("tcp_dsack", "0"),
            ("tcp_frto", "0"),
            ("tcp_recovery", "0"),
            ("tcp_early_retrans", "0"),
            ("tcp_reordering", "5"),
            ("tcp_rmem", "4096\t100000\t200000"),
            ("tcp_wmem", "4096\t50000\t90000"),
            ("tcp_slow_start_after_idle", "0"),
        ] {
            assert_eq!(run(end, &["cat", &format!("/proc/sys/net/ipv4/{name}")]).trim(), value, "{name}");
        }
        for family in ["-4", "-6"] {
            let routes = run(end, &["ip", family, "route", "show", "dev", end.device()]);
            for words in
                ["congctl reno", "initcwnd 3", "advmss 1200", "window 65536", "rto_min lock 300ms", "quickack 1"]
            {
                assert!(routes.contains(words), "{words:?} in {routes}");
            }
        }
    }
}

/// By `ss`, at the sender, in the middle of a transfer.
#[test]
fn connections_use_the_congestion_control_asked_for() {
    if !has("ss") {
        return skip("ss is not installed");
    }
    for algorithm in ["reno", "cubic"] {
        let kernel = KernelTcp { congestion_control: Some(algorithm.into()), ..KernelTcp::default() };
        let Some((server, terminal, _path)) = pair(&kernel) else { return };
        for (address, port) in [("100.64.0.1", "8001"), ("[fd77:6365:6c6c::1]", "8002")] {
            let serving = start(&server, &[".", "serve", port, "100000000000"]);
            let fetching = start(&terminal, &[".", "fetch", &format!("{address}:{port}")]);
            await_that(algorithm, || {
                let shown = run(&server, &["ss", "-tinH", &format!("sport = :{port}")]);
                shown.split_whitespace().any(|word| word == algorithm)
            });
            server.signal(serving.process, libc::SIGKILL).expect("an end");
            serving.wait();
            fetching.wait();
        }
    }
}
