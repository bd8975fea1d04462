//! Terminals that move: equation 7.1 and changes of a whole path at one instant, worked out by hand.

use cellwind_engine::fact::FactKind;
use cellwind_engine::packet::{Body, Packet};
use cellwind_engine::time::Time;
use cellwind_scenario::Direction::{Down, Up};
use cellwind_scenario::{ChangeError, Direction, Session, parse};

/// WLAN and UMTS of Teyeb's Table 7.1.
const NETWORKS: &str = r#"
    [access.wlan]
    type = "link"
    rate = "1 Mbit/s"
    delay = "5 ms"
    up.rate = "64 kbit/s"
    [access.umts]
    type = "link"
    rate = "384 kbit/s"
    delay = "75 ms"
    up.rate = "32 kbit/s"
    [terminal.ue]
    access = "wlan"
"#;

fn session(text: &str) -> Session {
    Session::live(&parse(text, "live", &[]).unwrap(), 0, true)
}

/// Puts packets in at their instants (ms), of so many bytes each, and runs to the end: what comes out when (us), which way.
fn run(session: &mut Session, packets: &[(u64, Direction, u32, u64)]) -> Vec<(u64, Direction, u32)> {
    for &(at, direction, body, size) in packets {
        session.advance_to(Time::from_millis(at)).unwrap();
        let packet = Packet { payload: size as u32 - 40, body: Body(body), ..Packet::EMPTY };
        session.inject(0, direction, packet).unwrap();
    }
    while let Some(next) = session.next_timeout() {
        session.advance_to(next).unwrap();
        session.check().unwrap();
    }
    let us = |time: Time| time.as_nanos() / 1_000;
    session.take_egress().map(|(time, _, direction, packet)| (us(time), direction, packet.body.0)).collect()
}

/// Packets of 1500 bytes go down, 0 to 4 at 0 ms, 5 at 60 and 6 at 140 ms; acknowledgements of 40 bytes go up, 10 at 20
/// and 11 at 60 ms. The handover from 30 to 130 ms takes the packets 2 to 4 and 10 out of the air: a packet takes 12 ms in
/// the WLAN and an acknowledgement 5 ms, and both 5 ms more on the way, so that 0 and 1 have left at 17 and 29 ms.
fn through_a_handover(buffering: &str) -> Vec<(u64, Direction, u32)> {
    let event = "[[event]]\nat = \"30 ms\"\nhandover = \"umts\"\ndelay = \"100 ms\"\n";
    let mut session = session(&format!("{NETWORKS}{event}buffering = \"{buffering}\"\n"));
    let mut packets: Vec<_> = (0..5).map(|body| (0, Down, body, 1500)).collect();
    packets.extend([(27, Up, 10, 40), (60, Down, 5, 1500), (60, Up, 11, 40), (140, Down, 6, 1500)]);
    let left = run(&mut session, &packets);
    assert_eq!(left[..2], [(17_000, Down, 0), (29_000, Down, 1)]);
    assert!(left[2..].iter().all(|&(at, ..)| at > 130_000), "a packet left during the handover");
    left[2..].to_vec()
}

/// Teyeb, equation 7.1: d = size / rate + latency + queueing, in the network that a packet enters, here in microseconds.
fn delay(size: u64, kbps: u64, latency: u64, queueing: u64) -> u64 {
    size * 8_000 / kbps + latency + queueing
}

#[test]
fn packets_that_queued_through_a_handover_are_timed_anew_as_if_they_arrived_at_its_end() {
    // 31.25 ms of transmission and 75 ms of latency in UMTS, behind those before it; 10 ms for an acknowledgement. Packet 6
    // arrives at 140 ms, when the four before it keep the transmitter busy until 255 ms.
    let left = through_a_handover("full");
    let anew = |place: u64| 130_000 + delay(1500, 384, 75_000, place * 31_250);
    let expected = [
        (130_000 + delay(40, 32, 75_000, 0), Up, 10),
        (130_000 + delay(40, 32, 75_000, 10_000), Up, 11),
        (anew(0), Down, 2),
        (anew(1), Down, 3),
        (anew(2), Down, 4),
        (anew(3), Down, 5),
        (140_000 + delay(1500, 384, 75_000, 115_000), Down, 6),
    ];
    assert_eq!(left, expected);
    // As numbers: 106.25 ms without a queue, as the table in the thesis' own figures has it.
    assert_eq!(expected.map(|(at, ..)| at), [215_000, 225_000, 236_250, 267_500, 298_750, 330_000, 361_250]);
}

#[test]
fn what_was_dropped_makes_no_queue_in_the_new_network() {
    let left = through_a_handover("intermediate");
    assert_eq!(left, [(215_000, Up, 11), (236_250, Down, 5), (267_500, Down, 6)]); // 6 waits for 5 until 161.25 ms
    assert_eq!(through_a_handover("none"), [(246_250, Down, 6)]);
}

#[test]
fn a_move_to_a_faster_network_keeps_the_order_and_times_anew_all_that_was_kept() {
    // In UMTS three packets would arrive at 106.25, 137.5 and 168.75 ms; the handover at 120 ms, which takes no time, has
    // two of them and the one that comes then arrive 17, 29 and 41 ms later over the WLAN.
    let text = NETWORKS.replace("access = \"wlan\"", "access = \"umts\"");
    let event = "[[event]]\nat = \"120 ms\"\nhandover = \"wlan\"\nbuffering = \"full\"\n";
    let mut session = session(&format!("{text}{event}"));
    let packets = [(0, Down, 0, 1500), (0, Down, 1, 1500), (0, Down, 2, 1500), (120, Down, 3, 1500)];
    let at = |place: u64| 120_000 + delay(1500, 1000, 5_000, place * 12_000);
    assert_eq!(run(&mut session, &packets), [(106_250, Down, 0), (at(0), Down, 1), (at(1), Down, 2), (at(2), Down, 3)]);
}

#[test]
fn a_change_of_links_and_accesses_is_one_instant_for_all_of_them() {
    let line = "[link.line]\nrate = \"8 Mbit/s\"\ndelay = \"3 ms\"\n";
    let set = "\"link.line.delay\" = \"1 ms\", \"link.line.down.rate\" = \"4 Mbit/s\", \"access.wlan.rate\" = \"2 Mbit/s\", \
               \"access.wlan.delay\" = \"2 ms\", \"access.umts.delay\" = \"50 ms\"";
    let mut session = session(&format!("{line}{NETWORKS}[[event]]\nat = \"9 ms\"\nset = {{ {set} }}\n"));
    // Packet 0 reaches the WLAN at 4.5 ms and is in transmission there until 16.5 ms, at the old rate and delay. Packet 1
    // waits, and is sent in 6 ms; its delay of 2 ms would bring it to 24.5 ms, after packet 0 at 21.5 ms. Packet 2 comes at
    // the very instant: 3 ms and 1 ms on the line, from 22.5 ms on in the WLAN.
    let left = run(&mut session, &[(0, Down, 0, 1500), (4, Down, 1, 1500), (9, Down, 2, 1500)]);
    assert_eq!(left, [(21_500, Down, 0), (24_500, Down, 1), (30_500, Down, 2)]);
    let facts: Vec<_> = session.drain_facts().collect();
    let names = session.machine_names();
    let changed: Vec<_> = facts.iter().filter(|row| row.fact().kind == FactKind::SettingsChanged).collect();
    assert!(changed.iter().all(|row| row.time() == Time::from_millis(9)));
    let machines: std::collections::BTreeSet<&str> =
        changed.iter().map(|row| names[usize::from(row.machine())].as_str()).collect();
    let both = |name: &str| [format!("{name}/down"), format!("{name}/up")];
    let expected: std::collections::BTreeSet<String> =
        ["link/line", "access/wlan/ue", "access/umts/ue"].into_iter().flat_map(both).collect();
    assert_eq!(machines, expected.iter().map(String::as_str).collect());
    // Nothing happens between the first and the last of them.
    let first = facts.iter().position(|row| row.fact().kind == FactKind::SettingsChanged).unwrap();
    assert!(facts[first..first + changed.len()].iter().all(|row| row.fact().kind == FactKind::SettingsChanged));
}

#[test]
fn a_change_that_one_access_refuses_leaves_links_and_other_accesses_as_they_were() {
    let text = format!(
        "[link.line]\ndelay = \"3 ms\"\n{NETWORKS}[access.radio]\ntype = \"block-arq\"\nrate = \"32 kbit/s\"\npdu = \"40 B\"\n"
    );
    let loaded = parse(&text, "live", &[]).unwrap();
    let mut session = Session::live(&loaded, 0, true);
    let set = |sets: &[(&str, &str)]| {
        let sets: Vec<_> = sets.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
        loaded.change_set(&sets).unwrap()
    };
    session.apply(&set(&[("access.radio.rate", "16 kbit/s")])).unwrap();
    session.drain_facts().count();
    // 16 kbit/s for 10 ms carry half a block.
    let refused = session.apply(&set(&[
        ("link.line.delay", "500 ms"),
        ("access.wlan.delay", "500 ms"),
        ("access.radio.tti", "10 ms"),
    ]));
    assert_eq!(refused, Err(ChangeError::NoBlock { access: "radio".into() }));
    assert_eq!(session.drain_facts().count(), 0);
    assert_eq!(run(&mut session, &[(0, Down, 0, 1500)]), [(20_000, Down, 0)]);
}
