//! A session driven from outside: what goes in, what changes, what comes out and when, worked out by hand.

use cellwind_engine::fact::{DropReason, FactKind};
use cellwind_engine::packet::{Body, Packet};
use cellwind_engine::time::Time;
use cellwind_scenario::{Change, ChangeError, Direction, Mistake, Session, parse};

/// Two accesses without loss: 1000 bytes take 100 ms in `slow` and 10 ms in `fast`, and 50 ms or none on the way.
const ACCESSES: &str = r#"
    [access.slow]
    type = "link"
    rate = "80 kbit/s"
    delay = "50 ms"
    [access.fast]
    type = "link"
    rate = "800 kbit/s"
    [terminal.ue]
    access = "slow"
"#;

fn session(text: &str) -> Session {
    Session::live(&parse(text, "live", &[]).unwrap(), 0, true)
}

/// A packet of 1000 bytes whose payload has this number.
fn packet(body: u32) -> Packet {
    Packet { payload: 960, body: Body(body), ..Packet::EMPTY }
}

fn ms(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

/// Puts the packets in at their instants (ms) and runs to the end: what comes out when, which way.
fn run(session: &mut Session, packets: &[(u64, Direction, u32)]) -> Vec<(u64, Direction, u32)> {
    for &(at, direction, body) in packets {
        session.advance_to(Time::from_millis(at)).unwrap();
        session.inject(0, direction, packet(body)).unwrap();
    }
    finish(session)
}

fn finish(session: &mut Session) -> Vec<(u64, Direction, u32)> {
    while let Some(next) = session.next_timeout() {
        session.advance_to(next).unwrap();
        session.check().unwrap();
    }
    assert_eq!(session.take_refused(), []);
    session.take_egress().map(|(time, _, direction, packet)| (ms(time), direction, packet.body.0)).collect()
}

use Direction::{Down, Up};

#[test]
fn packets_cross_links_and_bearer_both_ways() {
    let text = format!("[link.line]\ndelay = \"7 ms\"\n{ACCESSES}");
    let left = run(&mut session(&text), &[(0, Down, 1), (0, Up, 2), (1, Down, 3)]);
    // Down: line, then bearer, where packet 3 waits from 8 to 107 ms. Up: bearer, then line.
    assert_eq!(left, [(157, Down, 1), (157, Up, 2), (257, Down, 3)]);
}

#[test]
fn each_terminal_has_its_own_doors() {
    let mut session = session("[link.line]\ndelay = \"7 ms\"\n[terminal.a]\n[terminal.b]\n");
    session.inject(1, Down, packet(1)).unwrap();
    session.inject(0, Up, packet(2)).unwrap();
    session.advance_to(Time::from_millis(7)).unwrap();
    let left: Vec<_> = session.take_egress().map(|(_, terminal, way, packet)| (terminal, way, packet.body.0)).collect();
    assert_eq!(left, [(1, Down, 1), (0, Up, 2)]);
}

#[test]
fn a_late_driver_changes_nothing() {
    let text = format!(
        "{ACCESSES}[[event]]\nat = \"120 ms\"\nset = {{ \"access.slow.rate\" = \"160 kbit/s\" }}\n\
         [[event]]\nat = \"170 ms\"\nspike = \"100 ms\"\n[[event]]\nat = \"400 ms\"\nhandover = \"fast\"\n"
    );
    let burst: Vec<_> = (0..6).map(|body| (0, Down, body)).collect();
    let on_time = run(&mut session(&text), &burst);
    let mut late = session(&text);
    (0..6).for_each(|body| late.inject(0, Down, packet(body)).unwrap());
    late.advance_to(Time::from_secs(10)).unwrap();
    let left: Vec<_> = late.take_egress().map(|(time, _, way, packet)| (ms(time), way, packet.body.0)).collect();
    assert_eq!(left, on_time);
    // Sent at 100, 200 (begun at the old rate), then held until 270 ms; sent at 320 and 370 ms. The last is sent at
    // 420 ms, but the handover at 400 ms comes first, with the fourth on the line.
    assert_eq!(on_time, [(150, Down, 0), (250, Down, 1), (370, Down, 2)]);
    assert_eq!(late.take_dropped().map(|(Body(body), _)| body).collect::<Vec<_>>(), [3, 4, 5]);
}

/// Packets 0 to 3 go down and 10 up at 0 ms. The handover at 160 ms takes 100 ms; packets 4 and 11 arrive at 200 ms.
fn handed_over(buffering: &str) -> (Vec<(u64, Direction, u32)>, Vec<u32>) {
    let mut session = session(&format!(
        "{ACCESSES}[[event]]\nat = \"160 ms\"\nhandover = \"fast\"\ndelay = \"100 ms\"\nbuffering = \"{buffering}\"\n"
    ));
    let mut packets: Vec<_> = (0..4).map(|body| (0, Down, body)).collect();
    packets.extend([(0, Up, 10), (20, Up, 12), (200, Down, 4), (200, Up, 11), (300, Down, 5)]);
    assert_eq!(session.access_of(0), Some(0));
    let left = run(&mut session, &packets);
    assert_eq!(session.access_of(0), Some(1));
    let mut dropped: Vec<_> = session.take_dropped().collect();
    assert!(dropped.iter().all(|&(_, reason)| reason == DropReason::Handover));
    dropped.sort_by_key(|&(body, _)| body);
    (left, dropped.into_iter().map(|(Body(body), _)| body).collect())
}

#[test]
fn a_handover_without_buffering_drops_both_directions() {
    let (left, dropped) = handed_over("none");
    assert_eq!(left, [(150, Down, 0), (150, Up, 10), (310, Down, 5)]);
    assert_eq!(dropped, [1, 2, 3, 4, 11, 12]);
}

#[test]
fn a_handover_with_intermediate_buffering_keeps_what_arrives() {
    let (left, dropped) = handed_over("intermediate");
    assert_eq!(left, [(150, Down, 0), (150, Up, 10), (270, Down, 4), (270, Up, 11), (310, Down, 5)]);
    assert_eq!(dropped, [1, 2, 3, 12]);
}

#[test]
fn a_handover_with_full_buffering_keeps_all_as_if_it_arrived_at_its_end() {
    // Teyeb, equation 7.1: the rate and latency of the new access, and the queue that the packets make there.
    let (left, dropped) = handed_over("full");
    let down = [(150, Down, 0), (270, Down, 1), (280, Down, 2), (290, Down, 3), (300, Down, 4), (310, Down, 5)];
    let up = [(150, Up, 10), (270, Up, 12), (280, Up, 11)];
    assert_eq!(left.iter().copied().filter(|left| left.1 == Down).collect::<Vec<_>>(), down);
    assert_eq!(left.iter().copied().filter(|left| left.1 == Up).collect::<Vec<_>>(), up);
    assert_eq!(dropped, [0; 0]);
}

#[test]
fn a_handover_without_delay_is_over_at_once() {
    let text = format!("{ACCESSES}[[event]]\nat = \"160 ms\"\nhandover = \"fast\"\nbuffering = \"full\"\n");
    let left = run(&mut session(&text), &[(0, Down, 0), (0, Down, 1), (0, Down, 2), (160, Down, 3)]);
    assert_eq!(left, [(150, Down, 0), (170, Down, 1), (180, Down, 2), (190, Down, 3)]);
}

#[test]
fn a_change_comes_with_the_packet_that_completes_an_amount() {
    // The second packet completes 2000 bytes at 250 ms. The two in flight are dropped, and the fifth takes 10 ms.
    let text = format!("{ACCESSES}[[event]]\nafter = \"1500 B\"\nhandover = \"fast\"\n");
    let mut packets: Vec<_> = (0..4).map(|body| (0, Down, body)).collect();
    packets.push((250, Down, 4));
    let mut session = session(&text);
    assert_eq!(run(&mut session, &packets), [(150, Down, 0), (250, Down, 1), (260, Down, 4)]);
    let facts: Vec<_> = session.drain_facts().collect();
    let started = facts.iter().find(|row| row.fact().kind == FactKind::HandoverStarted).unwrap();
    assert_eq!((started.time(), started.fact().a), (Time::from_millis(250), 1));
}

#[test]
fn an_amount_counts_for_its_terminal_among_others_without_an_access() {
    let text = "[link.line]\ndelay = \"7 ms\"\n[terminal.a]\n[terminal.b]\n\
                [[event]]\nafter = \"1500 B\"\nterminal = \"b\"\nset = { \"link.line.delay\" = \"9 ms\" }\n";
    let mut session = session(text);
    for (at, terminal) in [(0, 0), (0, 0), (10, 1), (20, 1), (30, 0)] {
        session.advance_to(Time::from_millis(at)).unwrap();
        session.inject(terminal, Down, packet(at as u32)).unwrap();
    }
    assert_eq!(finish(&mut session), [(7, Down, 0), (7, Down, 0), (17, Down, 10), (27, Down, 20), (39, Down, 30)]);
}

#[test]
fn a_spike_holds_both_directions_of_the_bearer_behind_its_queue() {
    let text = format!("{ACCESSES}[[event]]\nat = \"50 ms\"\nspike = \"1 s\"\n");
    let packets = [(0, Down, 0), (0, Down, 1), (60, Up, 10), (60, Down, 2)];
    // Packet 0 is in transmission until 100 ms; all others begin at 1050 ms.
    let left = run(&mut session(&text), &packets);
    assert_eq!(left, [(150, Down, 0), (1200, Down, 1), (1200, Up, 10), (1300, Down, 2)]);
}

#[test]
fn a_spike_without_an_access_holds_the_last_link() {
    let text = "[link.far]\ndelay = \"5 ms\"\n[link.near]\nrate = \"80 kbit/s\"\n\
                [[event]]\nat = \"3 ms\"\nspike = \"97 ms\"\n";
    assert_eq!(run(&mut session(text), &[(0, Down, 0), (3, Up, 1)]), [(200, Down, 0), (205, Up, 1)]);
}

#[test]
fn spikes_and_a_pause_hold_until_the_last_of_them_is_over() {
    let mut session = session(&format!("{ACCESSES}[[event]]\nat = \"10 ms\"\nspike = \"200 ms\"\n"));
    session.advance_to(Time::from_millis(20)).unwrap();
    session.apply(&Change::Pause).unwrap();
    session.apply(&Change::Pause).unwrap();
    session.inject(0, Down, packet(0)).unwrap();
    session.advance_to(Time::from_millis(300)).unwrap();
    assert!(session.is_paused());
    session
        .apply(&Change::Spike { terminal: Some(0), duration: cellwind_engine::time::Span::from_millis(50) })
        .unwrap();
    session.apply(&Change::Resume).unwrap();
    session.apply(&Change::Resume).unwrap();
    assert_eq!(finish(&mut session), [(500, Down, 0)]); // from 350 ms on
}

#[test]
fn changes_are_parsed_beforehand_and_keep_what_they_do_not_name() {
    let loaded = parse(ACCESSES, "live", &[]).unwrap();
    let mut session = Session::live(&loaded, 0, false);
    let set = |path: &str, value: &str| loaded.controls().set(&[(path.into(), value.into())]).unwrap();
    session.apply(&set("access.slow.down.rate", "160 kbit/s")).unwrap();
    session.apply(&set("access.slow.delay", "20 ms")).unwrap();
    session.inject(0, Down, packet(0)).unwrap();
    session.inject(0, Up, packet(1)).unwrap();
    assert_eq!(finish(&mut session), [(70, Down, 0), (120, Up, 1)]);
    let change = loaded.change_handover("fast", None, Some("10 ms"), Some("full"), false).unwrap();
    session.apply(&change).unwrap();
    session.inject(0, Down, packet(2)).unwrap();
    assert_eq!(finish(&mut session), [(140, Down, 2)]); // from 120 ms on, 10 ms each for handover and transmission
    assert!(matches!(loaded.change_spike("1 s", Some("ue")), Ok(Change::Spike { terminal: Some(0), .. })));
    let (bearers, links) = session.results();
    let switches: Vec<_> = links.iter().map(|link| (link.name.as_str(), link.traffic.packets_dropped)).collect();
    assert_eq!((bearers.len(), switches), (4, vec![("handover/ue/down", 0), ("handover/ue/up", 0)]));
}

#[test]
fn a_value_for_both_directions_changes_those_of_each_while_a_session_runs() {
    let access = "[access.a]\ntype = \"link\"\ndown.rate = \"80 kbit/s\"\nup.rate = \"40 kbit/s\"\n";
    let event = "[[event]]\nat = \"1 ms\"\nset = { \"access.a.rate\" = \"160 kbit/s\" }\n";
    let one_way = event.replace(" }", ", \"access.a.up.rate\" = \"400 kbit/s\" }");
    let other_order = "[[event]]\nat = \"1 ms\"\nset.access.a = { up.rate = \"400 kbit/s\", rate = \"160 kbit/s\" }\n";
    let arrivals = |text: &str, sets: &[(String, String)]| {
        let loaded = parse(&format!("{access}{text}"), "live", &[]).unwrap();
        let mut session = Session::live(&loaded, 0, false);
        session.apply(&loaded.controls().set(sets).unwrap()).unwrap();
        session.advance_to(Time::from_millis(100)).unwrap();
        session.inject(0, Down, packet(0)).unwrap();
        session.inject(0, Up, packet(1)).unwrap();
        let mut arrivals = finish(&mut session);
        arrivals.sort_by_key(|&(.., number)| number);
        arrivals.iter().map(|&(at, ..)| at - 100).collect::<Vec<_>>()
    };
    // Packets of 1000 bytes.
    assert_eq!(arrivals("", &[]), [100, 200]);
    assert_eq!(arrivals("", &[("access.a.rate".into(), "160 kbit/s".into())]), [50, 50]);
    assert_eq!(arrivals(event, &[]), [50, 50]);
    for text in [&one_way, other_order] {
        assert_eq!(arrivals(text, &[]), [50, 20]);
    }
}

#[test]
fn a_set_of_an_event_is_tried_on_top_of_what_comes_before_it() {
    let event = |at: u32, set: &str| format!("[[event]]\nat = \"{at} s\"\nset = {{ {set} }}\n");
    let [cell, far] = ["access.u.cell.capacity = \"960 kbit/s\"", "terminal.ue.c_to_i = \"-8 dB\""];
    let load = |events: String| parse(&format!("access.u = \"umts-rlc-384\"\n{events}"), "x", &[]).map(drop);
    load(event(1, cell) + &event(2, far)).unwrap();
    load(event(2, far) + &event(1, cell)).expect("the cell comes first, wherever it is written");
    load(event(1, &format!("{far}, {cell}"))).expect("both come at once");
    let early = load(event(1, far) + &event(2, cell)).unwrap_err();
    assert_eq!((early.path(), early.mistake()), ("terminal.ue.c_to_i".into(), Mistake::Conflict));
}

#[test]
fn changes_by_hand_are_on_top_of_those_before_them_and_of_events() {
    let text = "access.u = \"umts-rlc-384\"\n[[event]]\nat = \"1 s\"\nset = { \"access.u.cell.capacity\" = \"960 kbit/s\" }\n\
                [[event]]\nafter = \"1 GB\"\nset = { \"access.u.rate\" = \"64 kbit/s\" }\n";
    let loaded = parse(text, "live", &[]).unwrap();
    let mut session = Session::live(&loaded, 0, false);
    let mut controls = loaded.controls();
    let far = [("terminal.ue.c_to_i".to_string(), "-8 dB".to_string())];
    controls.follow(&session.applied());
    assert!(controls.set(&far).unwrap_err().to_string().contains("no access has a cell"));
    session.advance_to(Time::from_millis(1_000)).unwrap();
    controls.follow(&session.applied());
    session.apply(&controls.set(&far).unwrap()).unwrap();
    let cell = |key: &str, value: &str| [(format!("access.u.cell.{key}"), value.to_string())];
    session.apply(&controls.set(&cell("scheduler", "c-i")).unwrap()).unwrap();
    // By hand alone, and deep in what was set before.
    let loaded = parse("access.u = \"umts-rlc-384\"\n", "live", &[]).unwrap();
    let mut controls = loaded.controls();
    controls.set(&cell("capacity", "960 kbit/s")).unwrap();
    controls.set(&far).unwrap();
    assert!(controls.set(&cell("capacity", "much")).is_err());
    let change = controls.set(&cell("scheduler", "c-i")).unwrap();
    let again = controls.set(&cell("capacity", "960 kbit/s")).unwrap();
    assert_eq!(again, change, "nothing of what was set is forgotten");
}

#[test]
fn a_change_of_several_values_is_applied_whole_or_not_at_all() {
    let loaded =
        parse("[access.a]\ntype = \"block-arq\"\nrate = \"32 kbit/s\"\npdu = \"40 B\"\n", "live", &[]).unwrap();
    let mut session = Session::live(&loaded, 0, true);
    let set = |sets: &[(&str, &str)]| {
        let sets: Vec<_> = sets.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
        loaded.controls().set(&sets).unwrap()
    };
    // Alone each of them leaves room for a block, but not both: 16 kbit/s for 10 ms carry 20 bytes.
    session.apply(&set(&[("access.a.rate", "16 kbit/s")])).unwrap();
    session.drain_facts().count();
    let refused = session.apply(&set(&[("access.a.errors", "0.5"), ("access.a.tti", "10 ms")])).unwrap_err();
    assert_eq!(refused, ChangeError::NoBlock { access: "a".into() });
    assert_eq!(session.drain_facts().count(), 0);
    session.apply(&set(&[("access.a.tti", "10 ms"), ("access.a.rate", "32 kbit/s")])).unwrap();
    assert_eq!(session.drain_facts().count(), 2); // one for each direction
}

#[test]
fn keys_that_only_go_together_are_set_in_any_order() {
    let loaded =
        parse("[access.a]\ntype = \"block-arq\"\nrate = \"32 kbit/s\"\npdu = \"40 B\"\n", "live", &[]).unwrap();
    // A TTI of 20 ms carries 80 bytes of 32 kbit/s, and 160 of 64.
    let rate = ("access.a.rate".to_string(), "64 kbit/s".to_string());
    let pdu = ("access.a.pdu".to_string(), "160 B".to_string());
    assert!(loaded.controls().set(std::slice::from_ref(&pdu)).is_err());
    for sets in [[rate.clone(), pdu.clone()], [pdu, rate]] {
        let mut session = Session::live(&loaded, 0, false);
        session.apply(&loaded.controls().set(&sets).unwrap()).unwrap();
        session.inject(0, Down, Packet { header: 40, payload: 280, ..packet(0) }).unwrap();
        assert_eq!(finish(&mut session), [(40, Down, 0)]); // two TTIs with a block each
    }
}

#[test]
fn errors_change_while_a_session_runs() {
    // A TTI of 20 ms carries the two blocks of a packet of 80 bytes. What is lost goes again at once.
    let access = "[access.a]\ntype = \"block-arq\"\nrate = \"32 kbit/s\"\npdu = \"40 B\"\ntti_start = \"on-demand\"\n";
    let loaded = parse(access, "live", &[]).unwrap();
    let mut session = Session::live(&loaded, 0, true);
    let errors = |value: &str| loaded.controls().set(&[("access.a.errors".into(), value.into())]).unwrap();
    // Everything up to 500 ms is lost: the TTI that begins there is the first that arrives.
    session.apply(&errors("{ blackouts = [{ duration = '500 ms' }] }")).unwrap();
    session.inject(0, Down, Packet { header: 40, payload: 40, ..packet(0) }).unwrap();
    assert_eq!(finish(&mut session), [(520, Down, 0)]);
    session.apply(&errors("0.0")).unwrap();
    session.inject(0, Down, Packet { header: 40, payload: 40, ..packet(1) }).unwrap();
    assert_eq!(finish(&mut session), [(540, Down, 1)]);
    let report = loaded.controls().set(&[("access.a.errors".into(), "{ type = 'trace', file = 'burst' }".into())]);
    assert!(report.unwrap_err().to_string().contains("did you mean `bursts`?"));
}

#[test]
fn mistakes_of_a_running_session_read_like_those_of_a_file() {
    let loaded = parse(ACCESSES, "live", &[]).unwrap();
    let report = |result: Result<Change, cellwind_scenario::ScenarioError>| result.unwrap_err().to_string();
    let set = |path: &str, value: &str| report(loaded.controls().set(&[(path.into(), value.into())]));
    let unknown = set("access.slow.los", "0.1");
    assert!(unknown.contains("access.slow.los: this key is not known here"), "{unknown}");
    assert!(unknown.contains("did you mean `loss`?"), "{unknown}");
    assert!(set("flow.x.start", "1 s").contains("this cannot change while the scenario runs"));
    assert!(set("access.slow.type", "block-arq").contains("this cannot change while the scenario runs"));
    assert!(report(loaded.change_handover("fats", None, None, None, false)).contains("did you mean `fast`?"));
    assert!(
        report(loaded.change_handover("fast", None, None, Some("full"), true)).contains("`buffering` goes with a hard")
    );
    assert!(report(loaded.change_spike("soon", None)).contains("spike:1:9: error: spike: "));
}

/// What comes out with these spikes, of packets that go down at 0 ms (0 to 3) and up at 0 ms (10 and 11).
fn with_spikes(spikes: &str) -> Vec<(u64, Direction, u32)> {
    let mut packets: Vec<_> = (0..4).map(|body| (0, Down, body)).collect();
    packets.extend([(0, Up, 10), (0, Up, 11)]);
    run(&mut session(&format!("[link.line]\ndelay = \"7 ms\"\n{ACCESSES}[spikes.x]\n{spikes}")), &packets)
}

#[test]
fn spikes_hold_both_directions_behind_the_queue_and_what_is_in_transmission_completes() {
    // Down, packets are transmitted from 7 ms on for 100 ms each, up from 0 ms on. The spikes begin at 150 and 500 ms,
    // during the second packets, which complete.
    let left = with_spikes("interval = \"150 ms\"\nduration = \"200 ms\"\n");
    let both = [(157, Down, 0), (157, Up, 10), (257, Down, 1), (257, Up, 11), (500, Down, 2), (600, Down, 3)];
    assert_eq!(left, both);
    // One that ends while the packet is being transmitted delays nothing.
    let left = with_spikes("list = [{ at = \"110 ms\", duration = \"90 ms\" }]\n");
    assert_eq!(left, [(157, Down, 0), (157, Up, 10), (257, Down, 1), (257, Up, 11), (357, Down, 2), (457, Down, 3)]);
    // From 50 to 350 ms as two that overlap.
    let list = "{ at = \"50 ms\", duration = \"200 ms\" }, { at = \"200 ms\", duration = \"150 ms\" }";
    let left = with_spikes(&format!("list = [{list}]\n"));
    assert_eq!(left, [(157, Down, 0), (157, Up, 10), (500, Down, 1), (507, Up, 11), (600, Down, 2), (700, Down, 3)]);
}

#[test]
fn spikes_act_where_and_which_way_they_say() {
    let list = "list = [{ at = \"0 s\", duration = \"300 ms\" }]\n";
    let down = with_spikes(&format!("{list}direction = \"down\"\n"));
    assert_eq!(down, [(157, Up, 10), (257, Up, 11), (450, Down, 0), (550, Down, 1), (650, Down, 2), (750, Down, 3)]);
    assert_eq!(with_spikes(&format!("{list}direction = \"down\"\nterminal = \"ue\"\n")), down);
    // The line takes no time to send, so that all reach the bearer at 307 ms; what comes up waits behind the bearer.
    let link = with_spikes(&format!("{list}link = \"line\"\n"));
    assert_eq!(link, [(307, Up, 10), (307, Up, 11), (457, Down, 0), (557, Down, 1), (657, Down, 2), (757, Down, 3)]);
    assert_eq!(with_spikes(&format!("{list}link = \"line\"\ndirection = \"up\"\n"))[0], (157, Down, 0));
}

#[test]
fn a_list_without_an_access_holds_the_link_next_to_the_terminals() {
    let links = "[link.a]\ndelay = \"5 ms\"\n[link.b]\nrate = \"80 kbit/s\"\n";
    let mut session = session(&format!("{links}[spikes.x]\nlist = [{{ at = \"0 s\", duration = \"300 ms\" }}]\n"));
    assert_eq!(run(&mut session, &[(0, Down, 0), (0, Up, 1)]), [(400, Down, 0), (405, Up, 1)]);
}

#[test]
fn random_spikes_depend_on_seed_replication_and_name_alone() {
    let random = "interval = \"exponential 300 ms\"\nduration = \"uniform 20 ms to 500 ms\"\n";
    let packets: Vec<_> = (0..100).map(|body| (u64::from(body) * 150, Down, body)).collect();
    let left = |text: &str, replication| {
        let loaded = parse(&format!("{ACCESSES}{text}"), "live", &[]).unwrap();
        run(&mut Session::live(&loaded, replication, false), &packets)
    };
    let alone = left(&format!("[spikes.x]\n{random}"), 0);
    assert_eq!(alone, left(&format!("[spikes.x]\n{random}"), 0));
    assert_ne!(alone, left(&format!("[spikes.x]\n{random}"), 1));
    assert_ne!(alone, left(&format!("[spikes.y]\n{random}"), 0));
    // More machines and other spikes move nobody's draws.
    let beside = format!("[spikes.w]\ndirection = \"up\"\n{random}[link.fast]\n[spikes.x]\n{random}");
    assert_eq!(alone, left(&beside, 0));
    // A driver that comes late gets the same packets at the same instants.
    let loaded = parse(&format!("{ACCESSES}[spikes.x]\n{random}"), "live", &[]).unwrap();
    let mut late = Session::live(&loaded, 0, false);
    for &(at, way, body) in &packets {
        late.advance_to(Time::from_millis(at)).unwrap();
        late.inject(0, way, packet(body)).unwrap();
    }
    late.advance_to(Time::from_secs(3_600)).unwrap();
    let egress: Vec<_> = late.take_egress().map(|(time, _, way, packet)| (ms(time), way, packet.body.0)).collect();
    assert_eq!(egress, alone);
}

#[test]
fn equal_sessions_do_the_same_and_other_replications_do_not() {
    let text = format!("{ACCESSES}[[event]]\nat = \"1 s\"\nset = {{ \"access.slow.loss\" = 0.5 }}\n");
    let packets: Vec<_> = (0..100).map(|body| (u64::from(body) * 150, Down, body)).collect();
    let loaded = parse(&text, "live", &[]).unwrap();
    let left = |replication| run(&mut Session::live(&loaded, replication, false), &packets);
    assert_eq!(left(0), left(0));
    assert_ne!(left(0), left(1));
}

#[test]
fn losses_of_links_change_to_any_process() {
    // A packet each 100 ms, in transmission for as long in the wire and then in the access. From 1 s on the wire strikes two of
    // five that come, from 2 s on only what its blackout meets, and from 3 s on nothing.
    let text = format!(
        "[link.wire]\nrate = \"80 kbit/s\"\n{ACCESSES}\
         [[event]]\nat = \"1 s\"\nset = {{ \"link.wire.down.loss\" = {{ type = \"markov\", transitions = \
         [[0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0]], errors = [0, 1, 1, 0, 0], \
         initial = [1, 0, 0, 0, 0] }} }}\n\
         [[event]]\nat = \"2 s\"\nset = {{ \"link.wire.down.loss\" = {{ type = \"independent\", blackouts = [{{ at = \"2150 ms\", \
         duration = \"100 ms\" }}] }} }}\n\
         [[event]]\nat = \"3 s\"\nset = {{ \"link.wire.down.loss\" = 0 }}\n"
    );
    let packets: Vec<_> = (0..60).map(|body| (u64::from(body) * 100 + 1, Down, body)).collect();
    let loaded = parse(&text, "live", &[]).unwrap();
    let struck = |session: &mut Session, packets: &[_]| {
        let left: Vec<u32> = run(session, packets).iter().map(|&(_, _, body)| body).collect();
        (0..60).filter(|body| !left.contains(body)).collect::<Vec<u32>>()
    };
    assert_eq!(struck(&mut Session::live(&loaded, 0, false), &packets), [11, 12, 16, 17, 21, 22]);
    // By hand, in the access: the record begins with 46 that arrive, 3 that do not, and 22 that do.
    let loaded = parse(ACCESSES, "live", &[]).unwrap();
    let change = [("access.slow.loss".into(), "{ type = 'trace', file = 'bursts' }".into())];
    let mut session = Session::live(&loaded, 0, false);
    session.apply(&loaded.controls().set(&change).unwrap()).unwrap();
    assert_eq!(struck(&mut session, &packets), [46, 47, 48]);
}

#[test]
fn a_handover_to_the_only_access_is_an_outage() {
    let mut session = session("[access.only]\ntype = \"link\"\nrate = \"80 kbit/s\"\n");
    session.inject(0, Down, packet(0)).unwrap();
    session.advance_to(Time::from_millis(10)).unwrap();
    let delay = cellwind_engine::time::Span::from_millis(50);
    let manner = cellwind_radio::settings::Manner::Hard { delay, buffering: Default::default() };
    let change = Change::Handover { terminal: 0, to: 0, manner, duplicate_acks: 0 };
    session.apply(&change).unwrap();
    session.advance_to(Time::from_millis(60)).unwrap();
    session.inject(0, Down, packet(1)).unwrap();
    assert_eq!(finish(&mut session), [(160, Down, 1)]);
}

#[test]
fn events_survive_the_resolved_file() {
    let text = format!(
        "{ACCESSES}[[event]]\nat = \"1 s\"\nset = {{ \"access.slow.loss\" = 0.5, access.fast.rate = \"1 Mbit/s\" }}\n\
         [[event]]\nafter = \"64 KiB\"\nterminal = \"ue\"\nhandover = \"fast\"\nbuffering = \"full\"\n\
         [live.kernel]\nsack = false\n[workload.web]\nat = \"server\"\ncommand = [\"true\"]\n"
    );
    let loaded = parse(&text, "live", &[]).unwrap();
    let again = parse(&loaded.scenario.to_toml().unwrap(), "again", &[]).unwrap();
    assert_eq!(again.scenario, loaded.scenario);
    assert_eq!(again.scenario.digest(), loaded.scenario.digest());
}

#[test]
fn a_simulated_download_moves_after_half_of_it() {
    use cellwind_scenario::run::{Record, run};
    let never = std::sync::atomic::AtomicBool::new(false);
    let ends = |buffering: &str| {
        let sets = [("event.0.buffering".to_string(), buffering.to_string())];
        let loaded = cellwind_scenario::load("handover-wlan-umts", &sets).unwrap();
        let record = Record { facts: Some(Vec::new()), capture: false };
        let run = run(&loaded.scenario, 0, record, &never).unwrap();
        let moments = |kind| run.facts.iter().find(|row| row.fact().kind == kind).unwrap().time();
        let started = moments(FactKind::HandoverStarted);
        let none_leaves = |row: &&cellwind_engine::fact::FactRow| {
            let received = matches!(row.fact().kind, FactKind::SegmentReceived | FactKind::AckReceived);
            received && row.time() > started && row.time() < moments(FactKind::HandoverEnded)
        };
        assert_eq!(run.facts.iter().filter(none_leaves).count(), 0);
        assert_eq!(moments(FactKind::HandoverEnded).since(started).as_secs_f64(), 2.0);
        // Half of a mebibyte at 1 Mbit/s takes 4.2 s.
        assert!((4.2..5.5).contains(&started.as_secs_f64()), "{started}");
        run.flows[0].duration.expect("it completes").as_secs_f64()
    };
    // The other half at 384 kbit/s takes 11.2 s, after 2 s of handover.
    let spent = ["none", "intermediate", "full"].map(ends);
    assert!(spent.iter().all(|&seconds| (17.4..25.0).contains(&seconds)), "{spent:?}");
}

/// A terminal is cut off from 2 to 4 s, and the sender's timer runs for 3 s at least. Of the three ACKs at the end, 0.4 ms
/// apart, the first is new to the sender, since those on their way were lost: it lets a segment go, which takes 15 ms, and
/// whose ACK, at 4000.4 + 15 + 0.4 ms, is the third duplicate.
#[test]
fn a_terminal_repeats_its_acknowledgement_when_the_handover_is_over() {
    use cellwind_scenario::run::{Record, run};
    let never = std::sync::atomic::AtomicBool::new(false);
    let first_reaction = |asks: &str| {
        let text = format!(
            "{ACCESSES}[flow.f]\nbulk = \"200 kB\"\n[flow.f.transport]\nextends = \"reno\"\nrto.minimum = \"3 s\"\n\
             [[event]]\nat = \"2 s\"\nhandover = \"fast\"\ndelay = \"2 s\"\n{asks}"
        );
        let record = Record { facts: Some(Vec::new()), capture: false };
        let run = run(&parse(&text, "asks", &[]).unwrap().scenario, 0, record, &never).unwrap();
        let reactions = [FactKind::FastRetransmit, FactKind::Timeout];
        let first = run.facts.iter().find(|row| reactions.contains(&row.fact().kind)).unwrap();
        (first.fact().kind, first.time().as_nanos() / 100_000)
    };
    assert_eq!(first_reaction("duplicate_acks = 3\n"), (FactKind::FastRetransmit, 40_158));
    let (kind, at) = first_reaction("");
    assert!(kind == FactKind::Timeout && at > 45_000, "{at}");
}
