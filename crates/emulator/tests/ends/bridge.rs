//! Between two existing interfaces: pairs of virtual Ethernet to two machines that tests play.

use std::os::fd::AsFd;

use cellwind_emulator::ends::{BridgePort, End, open_bridge};

use crate::support::*;

/// A machine at the other side of an interface of this thread's host.
fn machine(interface: &str, address: &str) -> Option<End> {
    let machine = single()?;
    here(&["ip", "link", "add", interface, "type", "veth", "peer", "name", "eth0"]);
    here(&["ip", "link", "set", "eth0", "netns", &machine.pid().to_string()]);
    here(&["ip", "link", "set", interface, "up"]);
    run(&machine, &["ip", "address", "add", &format!("{address}/24"), "dev", "eth0"]);
    run(&machine, &["ip", "link", "set", "eth0", "up"]);
    Some(machine)
}

#[test]
fn two_machines_meet_through_the_sockets_alone() {
    if !is_root() {
        return skip("only root can open interfaces");
    }
    if single().is_none() {
        return;
    }
    play_host();
    let (Some(server), Some(phone)) = (machine("s0", "198.51.100.1"), machine("t0", "198.51.100.2")) else { return };
    let bridge = open_bridge("s0", "t0").expect("two interfaces");
    let name = |port: &BridgePort| (port.name.clone(), port.mtu);
    assert_eq!((name(&bridge.server_side), name(&bridge.terminal_side)), (("s0".into(), 1500), ("t0".into(), 1500)));
    let asking = start(&phone, &["timeout", "1", PROGRAM, "ping", "198.51.100.1"]);
    assert!(!asking.wait().0.status.success(), "there is no other way");
    let path = Path::between(bridge.server_side.socket.as_fd(), bridge.terminal_side.socket.as_fd());
    run(&phone, &[".", "ping", "198.51.100.1"]);
    // Large segments and missing checksums cross with the header that tells of them.
    for (from, to, address, port) in
        [(&phone, &server, "198.51.100.1", "8001"), (&server, &phone, "198.51.100.2", "8002")]
    {
        let serving = start(to, &[".", "serve", port, "3000000"]);
        assert_eq!(run(from, &[".", "fetch", &format!("{address}:{port}")]), "3000000\n");
        serving.output();
    }
    assert!(here(&["ip", "-d", "link", "show", "s0"]).contains("promiscuity 1"));
    drop(path);
    drop(bridge);
    assert!(here(&["ip", "-d", "link", "show", "s0"]).contains("promiscuity 0"), "as it was");
}

#[test]
fn interfaces_that_cannot_be_bridged_are_refused_in_words() {
    if !is_root() {
        return skip("only root can make interfaces");
    }
    if !has("ip") {
        return skip("ip is not installed");
    }
    play_host();
    here(&["ip", "link", "add", "a0", "type", "veth", "peer", "name", "b0"]);
    let refused = |one: &str, other: &str| open_bridge(one, other).expect_err("unfit").to_string();
    assert_eq!(refused("a0", "a0"), "cannot bridge a0: it cannot be on both sides");
    assert_eq!(refused("no0", "a0"), "cannot bridge no0: Device \"no0\" does not exist.");
    assert_eq!(refused("a0", "b0"), "cannot bridge a0: it is down (ip link set a0 up)");
    assert_eq!(refused("lo", "b0"), "cannot bridge lo: it is not an Ethernet interface but loopback");
}
