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
fn after_a_handover(buffering: &str) -> (Session, Vec<(u64, Direction, u32)>) {
    let event = "[[event]]\nat = \"30 ms\"\nhandover = \"umts\"\ndelay = \"100 ms\"\n";
    let mut session = session(&format!("{NETWORKS}{event}buffering = \"{buffering}\"\n"));
    let mut packets: Vec<_> = (0..5).map(|body| (0, Down, body, 1500)).collect();
    packets.extend([(27, Up, 10, 40), (60, Down, 5, 1500), (60, Up, 11, 40), (140, Down, 6, 1500)]);
    let left = run(&mut session, &packets);
    assert_eq!(left[..2], [(17_000, Down, 0), (29_000, Down, 1)]);
    assert!(left[2..].iter().all(|&(at, ..)| at > 130_000), "a packet left during the handover");
    (session, left[2..].to_vec())
}

fn through_a_handover(buffering: &str) -> Vec<(u64, Direction, u32)> {
    after_a_handover(buffering).1
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
fn what_a_handover_dropped_stands_in_the_results_of_its_switch() {
    // Of the seven packets that go down through the switch three come back from the WLAN: 0 and 1 were there, 6 comes after.
    for (buffering, dropped) in [("none", [4, 2]), ("intermediate", [3, 1]), ("full", [0, 0])] {
        let (session, _) = after_a_handover(buffering);
        let (bearers, links) = session.results();
        assert!(bearers.iter().all(|bearer| bearer.traffic.packets_dropped == 0));
        let switches: Vec<_> = links.iter().map(|link| (link.name.as_str(), link.traffic.packets_dropped)).collect();
        assert_eq!(switches, [("handover/ue/down", dropped[0]), ("handover/ue/up", dropped[1])], "{buffering}");
        let down = &links[0].traffic;
        assert_eq!((down.packets_in, down.packets_delivered), (10, 10 - dropped[0]));
    }
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
        loaded.controls().set(&sets).unwrap()
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

#[test]
fn in_a_soft_handover_nothing_waits_and_packets_of_the_faster_network_overtake() {
    // In UMTS the two packets arrive at 106.25 and 137.5 ms and the acknowledgement at 85 ms, as if nothing had happened;
    // what comes from 40 ms on takes the WLAN, 17 ms for a packet and 10 ms for an acknowledgement.
    let text = NETWORKS.replace("access = \"wlan\"", "access = \"umts\"");
    let event = "[[event]]\nat = \"40 ms\"\nhandover = \"wlan\"\nsoft = true\n";
    let mut session = session(&format!("{text}{event}"));
    let packets = [
        (0, Down, 0, 1500),
        (0, Down, 1, 1500),
        (0, Up, 10, 40),
        (40, Down, 2, 1500),
        (45, Up, 11, 40),
        (90, Down, 3, 1500),
    ];
    let left = run(&mut session, &packets);
    let expected = [
        (55_000, Up, 11),
        (57_000, Down, 2),
        (85_000, Up, 10),
        (106_250, Down, 0),
        (107_000, Down, 3),
        (137_500, Down, 1),
    ];
    assert_eq!(left, expected);
    assert_eq!(session.take_dropped().count(), 0);
    assert_eq!(session.access_of(0), Some(0));
}

#[test]
fn a_hard_handover_after_a_soft_one_breaks_both_legs() {
    let text = NETWORKS.replace("access = \"wlan\"", "access = \"umts\"");
    let events = "[[event]]\nat = \"40 ms\"\nhandover = \"wlan\"\nsoft = true\n\
                  [[event]]\nat = \"50 ms\"\nhandover = \"wlan\"\nbuffering = \"full\"\ndelay = \"10 ms\"\n";
    let mut session = session(&format!("{text}{events}"));
    // Packet 0 of the UMTS leg stands before packet 1 of the WLAN leg.
    let left = run(&mut session, &[(0, Down, 0, 1500), (45, Down, 1, 1500)]);
    assert_eq!(left, [(60_000 + 17_000, Down, 0), (60_000 + 29_000, Down, 1)]);
}

#[test]
fn a_change_of_the_cell_may_lose_what_goes_down_and_delay_what_goes_up() {
    // Gurtov, P7 section IV.C: in the uplink buffered data is sent in the new cell, in the downlink it is rarely carried
    // over. Packet 0 and the acknowledgement are in flight at 40 ms; packet 1 and 11 come during the change.
    let text = NETWORKS.replace("access = \"wlan\"", "access = \"umts\"");
    let event =
        "[[event]]\nat = \"40 ms\"\nhandover = \"umts\"\ndelay = \"100 ms\"\nbuffering = \"none down, full up\"\n";
    let mut session = session(&format!("{text}{event}"));
    let packets = [(0, Down, 0, 1500), (0, Up, 10, 40), (60, Down, 1, 1500), (60, Up, 11, 40), (140, Down, 2, 1500)];
    assert_eq!(run(&mut session, &packets), [(225_000, Up, 10), (235_000, Up, 11), (246_250, Down, 2)]);
    let mut dropped: Vec<_> = session.take_dropped().map(|(Body(body), _)| body).collect();
    dropped.sort_unstable();
    assert_eq!(dropped, [0, 1]);
}

/// From the WLAN at 50 ms into UMTS, where the terminal is from 80 ms on; at 180 ms half of the rate is gone.
const WALK: &str = r#"
    [mobility.walk.network.office]
    access = "wlan"
    stay = "50 ms"
    next = "umts"
    [mobility.walk.network.umts]
    delay = "30 ms"
    buffering = "full"
    [mobility.walk.network.umts.condition.clear]
    stay = "100 ms"
    next = "shadow"
    [mobility.walk.network.umts.condition.shadow]
    set = { "down.rate" = "192 kbit/s" }
"#;

#[test]
fn a_terminal_goes_its_way_through_networks_and_their_conditions() {
    let networks = NETWORKS.replace("access = \"wlan\"\n", "");
    let packets =
        [(0, Down, 0, 1500), (49, Down, 1, 1500), (170, Down, 2, 1500), (171, Down, 3, 1500), (200, Up, 10, 40)];
    // Packet 1 is kept for 80 ms. Packet 2 begins at the old rate and completes at 201.25 ms; packet 3 takes 62.5 ms then.
    let expected = [(17_000, Down, 0), (186_250, Down, 1), (276_250, Down, 2), (285_000, Up, 10), (338_750, Down, 3)];
    let mut walker = session(&format!("{networks}{WALK}"));
    assert_eq!(run(&mut walker, &packets), expected);
    assert_eq!(walker.access_of(0), Some(1));
    // A driver that comes late gets the same.
    let mut late = session(&format!("{networks}{WALK}"));
    for &(at, direction, body, size) in &packets {
        late.advance_to(Time::from_millis(at)).unwrap();
        let packet = Packet { payload: size as u32 - 40, body: Body(body), ..Packet::EMPTY };
        late.inject(0, direction, packet).unwrap();
    }
    late.advance_to(Time::from_secs(3_600)).unwrap();
    assert_eq!(
        late.take_egress().map(|(time, ..)| time.as_nanos() / 1000).collect::<Vec<_>>(),
        expected.map(|left| left.0)
    );
}

#[test]
fn a_condition_is_that_of_one_terminal_and_does_not_outlast_the_next() {
    let conditions = r#"
        [terminal.other]
        access = "umts"
        [mobility.stand]
        terminal = "ue"
        [mobility.stand.network.umts.condition.slow]
        stay = "1 s"
        next = "far"
        set = { rate = "96 kbit/s" }
        [mobility.stand.network.umts.condition.far]
        stay = "1 s"
        next = "slow"
        set = { delay = "200 ms" }
    "#;
    let text = NETWORKS.replace("access = \"wlan\"", "access = \"umts\"");
    let mut session = session(&format!("{text}{conditions}"));
    let packet = |body| Packet { payload: 1460, body: Body(body), ..Packet::EMPTY };
    for (at, body) in [(0, 0), (1_000, 1), (2_000, 2)] {
        session.advance_to(Time::from_millis(at)).unwrap();
        session.inject(0, Down, packet(body)).unwrap();
        session.inject(1, Down, packet(10 + body)).unwrap();
    }
    session.advance_to(Time::from_millis(2_900)).unwrap();
    let mut left: Vec<_> =
        session.take_egress().map(|(time, .., packet)| (packet.body.0, time.as_nanos() / 1000)).collect();
    left.sort_unstable();
    // 1500 bytes take 125 ms at 96 kbit/s, and 31.25 ms at 384.
    let expected = [(0, 200_000), (1, 1_231_250), (2, 2_200_000), (10, 106_250), (11, 1_106_250), (12, 2_106_250)];
    assert_eq!(left, expected);
}

#[test]
fn an_amount_sends_a_terminal_on_its_way_as_often_as_it_is_delivered() {
    let ring = "[mobility.ring.network.wlan]\nafter = \"2000 B\"\nnext = \"umts\"\n\
                [mobility.ring.network.umts]\nafter = \"1500 B\"\nnext = \"wlan\"\nsoft = true\n";
    let mut session = session(&format!("{NETWORKS}{ring}"));
    // Two packets of the WLAN complete 3000 bytes at 29 ms; the third goes through UMTS and brings the terminal back.
    let left = run(&mut session, &[(0, Down, 0, 1500), (0, Down, 1, 1500), (30, Down, 2, 1500), (200, Down, 3, 1500)]);
    assert_eq!(left, [(17_000, Down, 0), (29_000, Down, 1), (136_250, Down, 2), (217_000, Down, 3)]);
    let down = session.machine_names().iter().position(|name| name == "handover/ue/down").unwrap();
    let moves: Vec<_> = session
        .drain_facts()
        .filter(|row| row.fact().kind == FactKind::HandoverEnded && usize::from(row.machine()) == down)
        .map(|row| (row.time().as_nanos() / 1000, row.fact().a))
        .collect();
    assert_eq!(moves, [(29_000, 1), (136_250, 0)]);
}

#[test]
fn a_random_way_depends_on_seed_replication_and_name_alone() {
    let way = |name: &str| {
        format!(
            "[mobility.{name}.network.wlan]\nstay = \"exponential 2 s\"\nnext = \"umts 0.5, cell 0.5\"\n\
             [mobility.{name}.network.umts]\nstay = \"exponential 2 s\"\nnext = \"wlan 0.9, umts 0.1\"\n\
             [mobility.{name}.network.cell]\naccess = \"wlan\"\nstay = \"1 s\"\nnext = \"wlan\"\n\
             delay = \"uniform 0 s to 500 ms\"\n"
        )
    };
    let moves = |text: &str, replication| {
        let loaded = parse(&format!("{NETWORKS}{text}"), "live", &[]).unwrap();
        let mut session = Session::live(&loaded, replication, true);
        session.advance_to(Time::from_secs(200)).unwrap();
        let facts = session.drain_facts().filter(|row| row.fact().kind == FactKind::HandoverStarted);
        facts.map(|row| (row.time(), row.fact().a, row.fact().b)).collect::<Vec<_>>()
    };
    let alone = moves(&way("x"), 0);
    assert!(alone.len() > 100, "{}", alone.len());
    assert_eq!(alone, moves(&way("x"), 0));
    assert_ne!(alone, moves(&way("x"), 1));
    assert_ne!(alone, moves(&way("y"), 0));
    let beside = format!("[link.line]\n[spikes.x]\ninterval = \"exponential 1 s\"\nduration = \"10 ms\"\n{}", way("x"));
    assert_eq!(alone, moves(&beside, 0));
}

#[test]
fn a_live_run_is_not_asked_for_what_kernels_do_not_do() {
    let flow = "[flow.f]\nbulk = \"1 MB\"\ntransport = \"reno\"\n";
    let event = "[[event]]\nat = \"1 s\"\nhandover = \"umts\"\n";
    let refused = |text: &str| {
        let loaded = parse(&format!("{NETWORKS}{flow}{text}"), "live", &[]).unwrap();
        loaded.check_live().map_err(|error| error.path().to_string())
    };
    assert_eq!(refused(event), Ok(()));
    assert_eq!(refused(&format!("{event}duplicate_acks = 3\n")), Err("event.0.duplicate_acks".into()));
    let way = "[mobility.x.network.wlan]\n[mobility.x.network.umts]\nduplicate_acks = 3\n";
    assert_eq!(refused(way), Err("mobility.x.network.umts.duplicate_acks".into()));
}

#[test]
fn ways_survive_the_resolved_file() {
    let text = format!(
        "{}{WALK}[mobility.walk.network.x]\naccess = \"wlan\"\nsoft = true\n",
        NETWORKS.replace("access = \"wlan\"\n", "")
    );
    let sets = [("mobility.walk.network.office.next".into(), "umts 0.25, office 0.75".into())];
    let loaded = parse(&text, "live", &sets).unwrap();
    assert_eq!(loaded.scenario.terminal["ue"].access.as_deref(), Some("wlan"));
    let again = parse(&loaded.scenario.to_toml().unwrap(), "again", &[]).unwrap();
    assert_eq!(again.scenario, loaded.scenario);
    assert_eq!(again.scenario.digest(), loaded.scenario.digest());
}

/// A bearer with RLC in acknowledged mode, where PDUs and reports fail.
const RLC: &str = r#"
    [access.rlc]
    extends = "umts-rlc-384"
    up.errors = 0.1
    [terminal.ue]
    access = "rlc"
    [access.wlan]
    type = "link"
    rate = "1 Mbit/s"
    delay = "5 ms"
"#;

/// Thirty packets down and thirty acknowledgements up, one every 5 ms; what came out each way, in its order.
fn over_rlc(event: &str) -> (Vec<u32>, Vec<u32>) {
    let mut session = session(&format!("{RLC}[[event]]\nat = \"100 ms\"\n{event}"));
    let packets = (0..30).flat_map(|n| [(5 * u64::from(n), Down, n, 1500), (5 * u64::from(n), Up, n, 40)]);
    let left = run(&mut session, &packets.collect::<Vec<_>>());
    let of = |way| left.iter().filter(|left| left.1 == way).map(|left| left.2).collect();
    (of(Down), of(Up))
}

#[test]
fn rlc_hands_over_all_that_it_holds_and_begins_anew() {
    let all: Vec<u32> = (0..30).collect();
    for to in ["wlan", "rlc"] {
        for delay in ["0 s", "1 ms", "300 ms"] {
            let (down, up) = over_rlc(&format!("handover = \"{to}\"\ndelay = \"{delay}\"\nbuffering = \"full\"\n"));
            assert_eq!((&down, &up), (&all, &all), "to {to} in {delay}");
        }
    }
}

#[test]
fn a_change_of_the_cell_under_rlc_loses_one_direction_and_keeps_the_other() {
    // At 100 ms no packet has come down, which takes 31.25 ms and 60 ms in the nodes at least; those from 130 ms on do.
    let (down, up) = over_rlc("handover = \"rlc\"\ndelay = \"30 ms\"\nbuffering = \"none down, full up\"\n");
    assert_eq!(up, (0..30).collect::<Vec<_>>());
    assert_eq!(down, [26, 27, 28, 29]);
}

#[test]
fn conditions_change_a_bearer_with_rlc_while_it_runs() {
    let way = "[mobility.x.network.rlc.condition.good]\nstay = \"40 ms\"\nnext = \"poor\"\n\
               [mobility.x.network.rlc.condition.poor]\nstay = \"40 ms\"\nnext = \"good\"\n\
               set = { down.errors = 0.4, down.rate = \"128 kbit/s\" }\n";
    let mut session = session(&format!("{RLC}{way}"));
    let packets: Vec<_> = (0..30).map(|n| (5 * u64::from(n), Down, n, 1500)).collect();
    let left = run(&mut session, &packets);
    assert_eq!(left.iter().map(|left| left.2).collect::<Vec<_>>(), (0..30).collect::<Vec<_>>());
}
