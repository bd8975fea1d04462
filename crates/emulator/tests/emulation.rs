//! Whole emulations: real namespaces, the kernel's TCP, and the path between them. Skipped with the reason where
//! the machine does not allow it.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;

use cellwind_emulator::driver::DriverSettings;
use cellwind_emulator::emulation::{Emulation, EmulationError, EmulationSettings, LiveRun};
use cellwind_emulator::ends::{EndError, EndProgram, ProcessId};
use cellwind_engine::time::{Span, Time};
use pcap_file::pcapng::{Block, PcapNgReader};

/// The program of the tests: `tests/programs/end.rs`.
const PROGRAM: &str = env!("CARGO_BIN_EXE_cellwind-end");
/// How long a test waits for what must happen before it fails.
const PATIENCE: Duration = Duration::from_secs(30);
/// Ten milliseconds each way, and 1500 bytes take another six.
const PATH: &str = "[link.wire]\nrate = \"2 Mbit/s\"\ndelay = \"10 ms\"\n";

fn settings() -> EmulationSettings {
    EmulationSettings {
        replication: 0,
        facts: true,
        capture: true,
        outside: false,
        bridge: None,
        kernel: vec![("congestion_control".into(), "reno".into())],
        driver: DriverSettings::default(),
        spool: PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
    }
}

/// An emulation; `None` where the machine has no namespaces for us.
fn start(scenario: &str, settings: EmulationSettings) -> Option<Emulation> {
    let loaded = cellwind_scenario::parse(scenario, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    let program = EndProgram::new(PROGRAM, ["end"]);
    match Emulation::open(&loaded, &program, settings) {
        Ok(emulation) => Some(emulation),
        Err(EmulationError::End(
            error @ (EndError::NoNamespaces { .. } | EndError::NoTun { .. } | EndError::NoProgram { .. }),
        )) => {
            assert!(std::env::var_os("CELLWIND_NO_SKIP").is_none_or(|value| value != "1"), "skipped: {error}");
            let _ = writeln!(std::io::stderr(), "SKIP: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Starts words of [`PROGRAM`] at an end; what it writes can be read from the pipe.
fn spawn(emulation: &Emulation, end: &str, words: &[&str]) -> (ProcessId, std::io::PipeReader) {
    let argv = [PROGRAM].iter().chain(words).map(|&word| word.into()).collect();
    let (reader, writer) = std::io::pipe().unwrap();
    let nothing = File::open("/dev/null").unwrap();
    let files = [nothing.as_raw_fd(), writer.as_raw_fd(), writer.as_raw_fd()];
    let env = std::env::vars_os().collect();
    (emulation.spawn(end, argv, env, "/".into(), files, true).unwrap(), reader)
}

/// Waits until all of `commands` have ended well, and returns what they wrote.
fn finish(emulation: &Emulation, commands: Vec<(ProcessId, std::io::PipeReader)>) -> Vec<String> {
    let mut left = commands.len();
    while left > 0 {
        let ended = emulation.wait(Some(PATIENCE)).unwrap();
        assert!(!ended.is_empty(), "a command hangs");
        for command in &ended {
            assert_eq!(command.code, 0, "{command:?}");
        }
        left -= ended.len();
    }
    let read = |(_, mut reader): (ProcessId, std::io::PipeReader)| {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    };
    commands.into_iter().map(read).collect()
}

/// Time and bytes of each packet of a capture.
fn packets(run: &LiveRun, end: &str) -> Vec<(u64, Vec<u8>)> {
    let (_, file) = run.captures.iter().find(|(name, _)| name == end).unwrap();
    let bytes = file.contents().unwrap();
    let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
    let mut found = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            found.push((packet.timestamp.as_nanos() as u64, packet.data.to_vec()));
        }
    }
    found
}

#[test]
fn terminals_reach_each_other_by_way_of_the_server() {
    let two = format!("{PATH}[terminal.anna]\n[terminal.ben]\n");
    let Some(emulation) = start(&two, settings()) else { return };
    emulation.begin(Span::ZERO).unwrap();
    for address in ["100.64.1.2", "fd77:6365:6c6c::102"] {
        let ping = spawn(&emulation, "anna", &["ping", address]);
        finish(&emulation, vec![ping]);
    }
    let run = emulation.stop().unwrap();
    // There and back over both terminals' ways, and no word from the server of a shorter one.
    let ways = |terminal: usize| run.counts.terminals[terminal].map(|traffic| traffic.packets_delivered);
    assert_eq!((ways(0), ways(1)), ([2, 2], [2, 2]));
    assert_eq!(run.counts.refused.iter().sum::<u64>(), 0, "{:?}", run.counts.refused);
}

#[test]
fn a_transfer_crosses_the_path_at_its_rate() {
    // 100 kB by the kernel's TCP, with pings of both families before it; then captures, facts and counts are compared.
    let Some(emulation) = start(PATH, settings()) else { return };
    emulation.begin(Span::ZERO).unwrap();
    for address in ["100.64.0.1", "fd77:6365:6c6c::1"] {
        let ping = spawn(&emulation, "ue", &["ping", address]);
        finish(&emulation, vec![ping]);
    }
    let server = spawn(&emulation, "server", &["serve", "5001", "100000"]);
    let client = spawn(&emulation, "ue", &["fetch", "100.64.0.1:5001"]);
    assert_eq!(finish(&emulation, vec![client, server])[0], "100000\n");
    let mut run = emulation.stop().unwrap();

    let [down, up] = run.counts.terminals[0];
    assert_eq!((down.packets_dropped, up.packets_dropped), (0, 0));
    let (server, terminal) = (packets(&run, "server"), packets(&run, "ue"));
    assert_eq!(server.len() as u64, down.packets_in + up.packets_delivered);
    assert_eq!(terminal.len() as u64, down.packets_delivered + up.packets_in);
    // Both captures are in the order of time, and each packet arrives as it left, no sooner than the path allows.
    for capture in [&server, &terminal] {
        assert!(capture.is_sorted_by_key(|&(time, _)| time));
    }
    let mut paired = HashSet::new();
    let mut under_way = 0;
    for (sent, bytes) in server.iter().filter(|(_, bytes)| bytes[0] >> 4 == 4 && bytes[12..16] == [100, 64, 0, 1]) {
        let arrival = terminal.iter().enumerate().find(|(place, (_, other))| other == bytes && !paired.contains(place));
        let Some((place, (arrived, _))) = arrival else {
            under_way += 1;
            continue;
        };
        paired.insert(place);
        let transmission = 8 * bytes.len() as u64 * 500; // ns at 2 Mbit/s
        assert!(*arrived >= sent + transmission + 10_000_000, "{sent} {arrived}");
    }
    assert!(under_way <= down.packets_held());
    assert!(paired.len() >= 70, "{}", paired.len());
    let facts = run.facts.as_mut().unwrap();
    let rows = facts.next(usize::MAX).unwrap();
    assert!(!rows.is_empty() && rows.is_sorted_by_key(|row| row.time()));
    assert_eq!(run.lateness.count, down.packets_delivered + up.packets_delivered);
    assert_eq!(run.links[0].traffic, down);
}

#[test]
fn changes_take_effect_at_the_instant_they_return() {
    let Some(emulation) = start(PATH, settings()) else { return };
    assert!(matches!(emulation.set(&[("link.wire.delay".into(), "1 ms".into())]), Err(EmulationError::NotBegun)));
    emulation.begin(Span::ZERO).unwrap();
    let set = |path: &str, value: &str| emulation.set(&[(path.into(), value.into())]);
    assert!(matches!(set("link.wire.delai", "1 ms"), Err(EmulationError::Scenario(_))));
    let first = set("link.wire.delay", "200 ms").unwrap();
    finish(&emulation, vec![spawn(&emulation, "ue", &["ping", "100.64.0.1"])]);
    let second = set("link.wire.delay", "1 ms").unwrap();
    assert!(second > first + Span::from_millis(400), "{first} {second}");
    emulation.pause().unwrap();
    assert!(matches!(emulation.begin(Span::ZERO), Err(EmulationError::Begun)));
    emulation.resume().unwrap();
    finish(&emulation, vec![spawn(&emulation, "ue", &["ping", "100.64.0.1"])]);
    let status = emulation.status().unwrap();
    assert!(status.time > second && status.counts.time <= status.time);
    let run = emulation.stop().unwrap();
    assert!(run.ended > second);
    assert!(matches!(emulation.stop(), Err(EmulationError::Stopped)));
    assert!(matches!(emulation.wait(None), Err(EmulationError::Stopped)));
}

#[test]
fn several_terminals_have_their_own_ways() {
    let scenario = format!("{PATH}[terminal.one]\n[terminal.two]\n");
    let Some(emulation) = start(&scenario, settings()) else { return };
    emulation.begin(Span::ZERO).unwrap();
    let pings = ["one", "two"].map(|end| spawn(&emulation, end, &["ping", "100.64.0.1"]));
    finish(&emulation, pings.into());
    let run = emulation.stop().unwrap();
    assert_eq!(run.terminal_names, ["one", "two"]);
    for [down, up] in &run.counts.terminals {
        assert_eq!((up.packets_delivered, down.packets_delivered), (1, 1));
    }
}

#[test]
fn a_path_that_is_held_begins_when_it_is_told() {
    let Some(emulation) = start(PATH, settings()) else { return };
    let ping = spawn(&emulation, "ue", &["ping", "100.64.0.1"]);
    assert_eq!(emulation.wait(Some(Duration::from_millis(50))).unwrap(), []);
    let zero = emulation.begin(Span::from_millis(100)).unwrap();
    assert_eq!(emulation.started_ns().unwrap(), zero);
    finish(&emulation, vec![ping]);
    let run = emulation.stop().unwrap();
    // The packet that waited in the device enters at the start.
    let terminal = packets(&run, "ue");
    assert_eq!(terminal.len(), 2);
    assert!(terminal[1].0 > terminal[0].0 + 20_000_000);
    assert!(run.ended > Time::ZERO);
}

#[test]
fn an_emulation_that_never_began_leaves_an_empty_run() {
    let Some(emulation) = start(PATH, settings()) else { return };
    let run = emulation.stop().unwrap();
    assert!(run.is_valid && run.counts.terminals[0][0].packets_in == 0);
}

#[test]
fn an_end_that_does_not_exist_is_named() {
    let Some(emulation) = start(PATH, settings()) else { return };
    let error = emulation.end_pid("phone").unwrap_err();
    assert_eq!(error.to_string(), r#"there is no end "phone" to run commands at; there are: server, ue"#);
}
