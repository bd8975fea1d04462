//! The outside as the server's end, on a host that a thread of the test plays in namespaces of its own.

use std::process::Command;
use std::time::Duration;

use cellwind_emulator::ends::{End, EndError, EndSettings, Role, clean_leftovers};

use crate::kills::{await_ready, hold, kill};
use crate::support::*;

/// A host with one uplink, and the Internet behind it.
struct Host {
    internet: End,
}

impl Host {
    /// `None` where that cannot be played, after saying why.
    fn play() -> Option<Host> {
        if !is_root() {
            skip("only root can play a host");
            return None;
        }
        if !has("nft") && !has("iptables-restore") {
            skip("neither nft nor iptables is installed");
            return None;
        }
        let internet = single()?;
        play_host();
        here(&["ip", "link", "add", "up0", "type", "veth", "peer", "name", "net0"]);
        here(&["ip", "link", "set", "net0", "netns", &internet.pid().to_string()]);
        run(&internet, &["ip", "address", "add", "192.0.2.2/24", "dev", "net0"]);
        run(&internet, &["ip", "link", "set", "net0", "up"]);
        // Without addresses that come by themselves after a while.
        here(&["sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/up0/addr_gen_mode"]);
        here(&["ip", "address", "add", "192.0.2.1/24", "dev", "up0"]);
        here(&["ip", "link", "set", "up0", "up"]);
        here(&["ip", "route", "add", "default", "via", "192.0.2.2"]);
        await_that("the link is up", || here(&["ip", "-brief", "link", "show", "up0"]).contains(" UP "));
        // It knows the host and nobody behind it.
        run(&internet, &["ip", "route", "del", "100.64.0.0/15"]);
        Some(Host { internet })
    }

    /// All that an emulation could change here.
    fn state(&self) -> String {
        let rules = |programs: &[&str]| -> String {
            let found = programs.iter().filter(|program| has(program));
            found.map(|program| saved(program)).collect()
        };
        let forwarding = here(&["sh", "-c", "cd /proc/sys/net; grep . ipv4/ip_forward ipv[46]/conf/*/forwarding"]);
        let network = here(&["sh", "-c", "ip -brief link; ip -brief address; ip route; ip -6 route"]);
        [rules(&["nft", "iptables-save", "ip6tables-save"]), forwarding, network].concat()
    }
}

/// The rules, without counters, times and tables that hold none.
fn saved(program: &str) -> String {
    let words: &[&str] = if program == "nft" { &["nft", "list", "ruleset"] } else { &[program] };
    let text = here(words);
    let plain = |line: &&str| !line.starts_with('#') && !line.is_empty();
    let still =
        |line: &str| line.split(" [").next().unwrap_or(line).split(" packets ").next().unwrap_or(line).to_owned();
    text.lines().filter(plain).map(|line| still(line) + "\n").collect()
}

fn ends() -> Result<Vec<End>, EndError> {
    let both = [("server", Role::Outside), ("ue", Role::Terminal(0))].map(|(name, role)| EndSettings {
        outside: true,
        names: vec![("server".into(), Role::Outside)],
        ..settings(name, role)
    });
    End::open_all(&end_program(), &both)
}

fn reaches_the_internet_and_the_host(host: &Host) {
    let before = host.state();
    let both = ends().expect("the outside");
    let (server, terminal) = (&both[0], &both[1]);
    assert_eq!(
        server.complaints(),
        ["IPv6 ends at this host, which does not forward it (net.ipv6.conf.all.forwarding)"]
    );
    let path = Path::between(server.tun(), terminal.tun());
    for (address, port) in [("192.0.2.2", "8001"), ("192.0.2.2", "8002")] {
        let serving = start(&host.internet, &[".", "serve", port, "3000000"]);
        assert_eq!(run(terminal, &[".", "fetch", &format!("{address}:{port}")]), "3000000\n");
        serving.output();
    }
    run(terminal, &[".", "ping", "192.0.2.2"]);
    for address in server.addresses() {
        run(terminal, &[".", "ping", &address.to_string()]);
    }
    // A command at the server's end is one on the host.
    let serving = start(server, &[".", "serve", "8003", "1000"]);
    assert_eq!(run(terminal, &[".", "fetch", "server:8003"]), "1000\n");
    serving.output();
    // Nobody else gets through: the Internet would now find the way to the terminal, but not be let in.
    run(&host.internet, &["ip", "route", "add", "100.64.1.1/32", "via", "192.0.2.1"]);
    let refused = start(&host.internet, &["timeout", "1", PROGRAM, "ping", "100.64.1.1"]);
    assert!(!refused.wait().0.status.success(), "let in");
    drop(path);
    drop(both);
    assert_eq!(host.state(), before);
}

#[test]
fn a_terminal_reaches_the_outside_through_a_host_without_rules() {
    let Some(host) = Host::play() else { return };
    if !has("nft") {
        return skip("nft is not installed");
    }
    reaches_the_internet_and_the_host(&host);
}

/// As Docker and firewalls leave it: nothing is forwarded or let in but what is allowed.
#[test]
fn a_terminal_reaches_the_outside_through_a_host_that_drops() {
    let Some(host) = Host::play() else { return };
    if !has("iptables-restore") {
        return skip("iptables is not installed");
    }
    for program in ["iptables", "ip6tables"] {
        here(&[program, "-P", "FORWARD", "DROP"]);
        here(&[program, "-P", "INPUT", "DROP"]);
        here(&[program, "-A", "INPUT", "-i", "up0", "-p", "icmp", "-j", "ACCEPT"]);
        // So that the table exists before, too.
        here(&[program, "-t", "nat", "-A", "POSTROUTING", "-o", "lo", "-j", "ACCEPT"]);
    }
    reaches_the_internet_and_the_host(&host);
}

/// A host that forwards keeps doing so, and nothing of it is guarded.
#[test]
fn a_router_stays_one() {
    let Some(host) = Host::play() else { return };
    if !has("nft") {
        return skip("nft is not installed");
    }
    here(&["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding"]);
    let before = host.state();
    let both = ends().expect("the outside");
    assert_eq!(both[0].complaints(), &[] as &[String]);
    assert!(!host.state().contains("guards="), "{}", host.state());
    let routes = run(&both[1], &["ip", "-6", "route", "show", "default"]);
    assert!(routes.contains("cellwind0"), "IPv6 goes on: {routes:?}");
    drop(both);
    assert_eq!(host.state(), before);
}

#[test]
fn addresses_in_use_are_a_clash() {
    let Some(host) = Host::play() else { return };
    here(&["ip", "route", "add", "100.64.0.0/10", "dev", "up0"]);
    let error = ends().expect_err("a clash").to_string();
    let expected =
        "the addresses of the emulated ends, 100.64.0.0/15, are in use on this host: route 100.64.0.0/10 dev up0";
    assert_eq!(error, expected);
    here(&["ip", "route", "del", "100.64.0.0/10"]);
    here(&["ip", "-6", "route", "add", "fd00::/8", "dev", "up0"]);
    let error = ends().expect_err("a clash").to_string();
    assert!(error.ends_with("route fd00::/8 dev up0"), "{error}");
    here(&["ip", "-6", "route", "del", "fd00::/8"]);
    // One emulation is the other's clash.
    let first = ends().expect("the outside");
    assert!(matches!(ends(), Err(EndError::AddressClash { .. })));
    drop(first);
    drop(host);
}

#[test]
fn killing_the_parent_or_a_process_of_the_outside_removes_every_rule() {
    let Some(host) = Host::play() else { return };
    let before = host.state();
    for round in 0..60u64 {
        let mark = format!("CELLWIND_TEST=outside-{}-{round}", std::process::id());
        let mut parent = hold("outside", &mark);
        let share = (round as f64 * 0.618_033_988_749_895).fract();
        std::thread::sleep(Duration::from_secs_f64(share * 0.2));
        // Every third time one process after the other, in an order of its own.
        if round % 3 == 0 {
            let all = processes_with(&mark);
            if let Some(&victim) = all.get(round as usize % all.len().max(1)) {
                kill(victim, libc::SIGKILL);
            }
        }
        parent.kill().expect("a child");
        parent.wait().expect("a child");
        await_that(&mark, || processes_with(&mark).is_empty());
        // The kernel takes a device away shortly after the last process that had it open.
        await_that("all is as before", || host.state() == before);
    }
}

/// By stopping all three that would remove the rules before killing them.
#[test]
fn leftovers_of_the_killed_are_found_and_removed() {
    for with_iptables in [false, true] {
        let Some(host) = Host::play() else { return };
        if with_iptables {
            if !has("iptables-restore") {
                return skip("iptables is not installed");
            }
            // One rule in each chain: the program makes chains with the first and leaves them without any.
            here(&["iptables", "-t", "nat", "-A", "POSTROUTING", "-o", "lo", "-j", "ACCEPT"]);
            for (program, chain) in [("iptables", "FORWARD"), ("iptables", "INPUT"), ("ip6tables", "INPUT")] {
                here(&[program, "-A", chain, "-i", "lo", "-j", "ACCEPT"]);
            }
        }
        let before = host.state();
        let mark = format!("CELLWIND_TEST=leftover-{}-{with_iptables}", std::process::id());
        let mut parent = hold("outside", &mark);
        await_ready(&mut parent);
        // A living emulation keeps its own.
        let during = host.state();
        assert_ne!(during, before);
        assert_eq!(clean_leftovers().expect("root"), Vec::<String>::new());
        assert_eq!(host.state(), during);
        let all = processes_with(&mark);
        all.iter().for_each(|&process| kill(process, libc::SIGSTOP));
        all.iter().for_each(|&process| kill(process, libc::SIGKILL));
        parent.wait().expect("a child");
        await_that(&mark, || processes_with(&mark).is_empty());
        assert_ne!(host.state(), before, "nobody has removed them");
        let removed = clean_leftovers().expect("root");
        assert!(removed.iter().any(|words| words.contains("forwarding of packets from up0")), "{removed:?}");
        await_that("the device is gone", || !host.state().contains("cellwind0"));
        assert_eq!(host.state(), before);
        assert_eq!(clean_leftovers().expect("root"), Vec::<String>::new());
    }
}

/// The next emulation clears the way by itself.
#[test]
fn leftovers_do_not_stand_in_the_way() {
    let Some(host) = Host::play() else { return };
    let before = host.state();
    let mark = format!("CELLWIND_TEST=way-{}", std::process::id());
    let mut parent = hold("outside", &mark);
    await_ready(&mut parent);
    let all = processes_with(&mark);
    all.iter().for_each(|&process| kill(process, libc::SIGSTOP));
    all.iter().for_each(|&process| kill(process, libc::SIGKILL));
    parent.wait().expect("a child");
    await_that("the device is gone", || {
        !Command::new("ip").args(["link", "show", "cellwind0"]).output().expect("ip").status.success()
    });
    drop(ends().expect("the outside"));
    assert_eq!(host.state(), before);
}
