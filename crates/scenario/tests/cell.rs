//! Terminals that share a cell, in sessions whose settings change.

use cellwind_engine::fact::FactKind;
use cellwind_engine::packet::{Body, Packet};
use cellwind_engine::time::Time;
use cellwind_scenario::run::{Record, run};
use cellwind_scenario::{Direction, Session, parse};

/// PDUs carry 40 octets, and 384 kbit/s are 12 of them in 10 ms.
const CELL: &str = r#"
    [access.umts]
    type = "umts"
    rate = "384 kbit/s"
    pdu = "41 B"
    rlc = "um"
    [access.umts.cell]
    capacity = "384 kbit/s"
    [terminal.near]
    [terminal.far]
    c_to_i = "-8.01 dB"
"#;

/// A session in which more waits down to both terminals than it can deliver.
fn saturated(events: &str) -> Session {
    let mut session = Session::live(&parse(&format!("{CELL}{events}"), "cell", &[]).unwrap(), 0, true);
    for terminal in [0, 1] {
        for body in 0..500 {
            let packet = Packet { payload: 1_460, body: Body(body), ..Packet::EMPTY };
            session.inject(terminal, Direction::Down, packet).unwrap();
        }
    }
    session
}

/// PDUs that the two terminals were sent until each of these instants (s), since the one before.
fn sent(session: &mut Session, instants: &[u64]) -> Vec<[u64; 2]> {
    let mut before = [0; 2];
    let mut all = Vec::new();
    for &instant in instants {
        session.advance_to(Time::from_secs(instant)).unwrap();
        session.check().unwrap();
        let (bearers, _) = session.results();
        let sent = |name: &str| bearers.iter().find(|bearer| bearer.name == name).unwrap().blocks.sent;
        let now = ["umts/near/down", "umts/far/down"].map(sent);
        all.push([now[0] - before[0], now[1] - before[1]]);
        before = now;
    }
    assert_eq!(session.take_refused(), []);
    all
}

fn is_near(ours: [u64; 2], theirs: [u64; 2]) -> bool {
    // The rest of a TTI's resource stands over.
    ours.iter().zip(theirs).all(|(&ours, theirs)| ours.abs_diff(theirs) <= 13)
}

#[test]
fn the_scheduler_and_the_terminals_change_while_they_run() {
    // Alone one reaches 12 PDUs in a TTI, the other 6. The same rate for both: 1 / (1 / 12 + 1 / 6) = 4; the same resource:
    // 6 and 3; with a better C/I 6 and 6; with the priority all to the other.
    let events = r#"
        [[event]]
        at = "1 s"
        set = { "access.umts.cell.scheduler" = "fair-resource" }
        [[event]]
        at = "2 s"
        set = { "terminal.far.c_to_i" = "3 dB" }
        [[event]]
        at = "3 s"
        set = { "terminal.far.thp" = 1 }
    "#;
    let sent = sent(&mut saturated(events), &[1, 2, 3, 4]);
    for (ours, theirs) in sent.iter().zip([[400, 400], [600, 300], [600, 600], [0, 1_200]]) {
        assert!(is_near(*ours, theirs), "{sent:?}");
    }
}

/// The round trips of fifty pings to `far`, one a second, beside two downloads without end (ms).
fn pings(scheduler: &str, thp: &str, crowd: &str) -> Vec<u64> {
    let text = format!(
        r#"
        stop_at = "60 s"
        [link.internet]
        delay = "20 ms"
        [access.umts]
        extends = "umts-rlc-384"
        down.errors = 0
        [access.umts.cell]
        capacity = "384 kbit/s"
        scheduler = "{scheduler}"
        [terminal.near]
        [terminal.second]
        [terminal.far]
        {thp}
        [flow.far]
        terminal = "far"
        transport = "udp"
        application = {{ extends = "ping", count = 50 }}
        {crowd}
    "#
    );
    let loaded = parse(&text, "pings", &[]).unwrap();
    let record = Record { facts: Some(Vec::new()), capture: false };
    let run = run(&loaded.scenario, 0, record, &Default::default()).unwrap();
    let replies = run.facts.iter().filter(|row| row.fact().kind == FactKind::MessageArrived);
    replies.map(|row| row.fact().a / 1_000_000).collect()
}

#[test]
fn a_ping_beside_downloads_is_answered_as_if_it_were_alone() {
    let downloads: String = ["near", "second"]
        .map(|name| format!("[flow.{name}]\nterminal = \"{name}\"\ntransport = \"newreno\"\nbulk = \"unlimited\"\n"))
        .concat();
    for scheduler in ["fair-throughput", "fair-resource", "c-i", "proportional-fair"] {
        let alone = pings(scheduler, "", "");
        assert_eq!(alone, [190; 50], "{scheduler}");
        assert_eq!(pings(scheduler, "thp = 1", &downloads), alone, "{scheduler}");
        // Of three equal terminals each waits for a PDU of the others, twice in each direction at most.
        let beside = pings(scheduler, "", &downloads);
        assert!(beside.len() == 50 && beside.iter().all(|&rtt| rtt <= 190 + 40), "{scheduler}: {beside:?}");
    }
}

#[test]
fn a_cell_and_rrc_come_and_go() {
    let events = r#"
        [[event]]
        at = "1 s"
        set = { "access.umts.rrc.dch_setup" = "500 ms" }
    "#;
    let mut session = saturated(events);
    let sent = sent(&mut session, &[1, 2]);
    // In CELL_FACH for half a second, with a PDU in a TTI each; then both have dedicated channels.
    assert!(is_near(sent[0], [400, 400]), "{sent:?}");
    assert!(is_near(sent[1], [250, 250]), "{sent:?}");
    let states = session.drain_facts().filter(|row| row.fact().kind == FactKind::RrcState);
    let states: Vec<_> = states.map(|row| (row.time().as_nanos() / 1_000_000, row.fact().a)).collect();
    assert_eq!(states, [(1_000, 4), (1_000, 4), (1_500, 5), (1_500, 5)]);
}

#[test]
fn the_only_terminal_changes_although_nobody_wrote_it() {
    let text = CELL.split("[terminal.near]").next().unwrap();
    let event = "[[event]]\nat = \"1 s\"\nset = { \"terminal.ue.c_to_i\" = \"-8.01 dB\" }\n";
    assert!(parse(&format!("{text}{event}"), "cell", &[]).is_ok());
}
