//! Applications end to end: from the text of a scenario to rows, facts and captures.

use cellwind_engine::fact::FactKind;
use cellwind_scenario::capture::read::Reader;
use cellwind_scenario::run::{Record, Run, run};
use cellwind_scenario::{load, parse};

fn simulate(text: &str) -> Run {
    let scenario = parse(text, "applications", &[]).unwrap_or_else(|error| panic!("{error}")).scenario;
    let record = Record { facts: Some(Vec::new()), capture: true };
    run(&scenario, 0, record, &Default::default()).expect("the run ends")
}

/// How many facts of a kind a run told.
fn told(run: &Run, kind: FactKind) -> usize {
    run.facts.iter().filter(|row| row.fact().kind == kind).count()
}

const PAGE: &str = r#"
[link.wire]
rate = "1 Mbit/s"
delay = "50 ms"
[flow.page]
direction = "up"
application = { extends = "web-http-1.0", connections = 3 }
transport = "sack"
"#;

#[test]
fn a_page_is_in_the_row_the_facts_and_the_capture() {
    let run = simulate(PAGE);
    let flow = &run.flows[0];
    assert_eq!((flow.application, flow.bytes), ("web", 60_000));
    assert_eq!((flow.report.messages_sent, flow.report.messages_delivered), (11, 11));
    assert_eq!(flow.duration, flow.report.page_delay.mean(), "the page is all there is");
    assert_eq!(told(&run, FactKind::PageTextArrived), 1);
    assert_eq!(told(&run, FactKind::PageCompleted), 1);
    assert_eq!(told(&run, FactKind::MessageArrived), 11);
    // Eleven connections have eleven ports at the terminal, which is the server of content that goes up.
    for (_, file) in &run.captures {
        let mut reader = Reader::new(&file[..]).unwrap();
        while reader.read_blocks(1000).unwrap() {}
        let columns = &reader.columns;
        let mut ports: Vec<u16> = columns.source_port.iter().copied().filter(|&port| port != 80).collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports, (49_152..49_163).collect::<Vec<u16>>());
        assert!(columns.protocol.iter().all(|&protocol| protocol == 6));
    }
}

#[test]
fn the_same_seed_brings_the_same_bursts() {
    let text = r#"
        [link.wire]
        delay = "10 ms"
        [flow.bursts]
        application = { type = "on-off", rate = "64 kbit/s", packet = "200 B", on = "1 s", off = "1 s", lengths = "exponential", duration = "60 s" }
        transport = "udp"
        "#;
    let (one, again) = (simulate(text), simulate(text));
    assert_eq!(one.facts, again.facts);
    assert_ne!(simulate(&format!("seed = 2\n{text}")).facts, one.facts);
    let flow = &one.flows[0];
    assert!(flow.duration.is_some() && flow.report.messages_delivered == flow.report.messages_sent);
}

#[test]
fn a_capture_of_a_call_is_replayed_with_its_sizes_and_times() {
    let call = simulate(
        r#"
        [link.wire]
        delay = "20 ms"
        [flow.call]
        application = { extends = "voip-g729", duration = "2 s" }
        transport = "udp"
        "#,
    );
    let folder = std::env::temp_dir().join(format!("cellwind-trace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("call.pcapng"), &call.captures[0].1).unwrap();
    let text = "[link.wire]\ndelay = \"70 ms\"\n[flow.again]\nstart = \"1 s\"\ntransport = \"udp\"\n\
                application = { type = \"trace\", file = \"call.pcapng\" }\n";
    let file = folder.join("replay.toml");
    std::fs::write(&file, text).unwrap();
    let loaded = load(file.to_str().unwrap(), &[]).unwrap_or_else(|error| panic!("{error}"));
    let resolved = parse(&loaded.scenario.to_toml().unwrap(), "resolved", &[]).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(resolved.scenario, loaded.scenario);
    let replay = run(&loaded.scenario, 0, Record::default(), &Default::default()).unwrap();
    let flow = &replay.flows[0];
    // A hundred frames of 32 bytes, the last one 1.98 s after the first, and 70 ms on the way.
    assert_eq!((flow.report.messages_delivered, flow.bytes), (100, 3200));
    assert_eq!(flow.duration.unwrap().as_nanos(), 2_050_000_000);
}
