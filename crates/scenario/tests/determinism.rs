//! A run is a pure function of scenario, seed and replication.

use cellwind_scenario::parse;
use cellwind_scenario::run::{Record, Run, run};

const ALONE: &str = r#"
[access.umts]
extends = "umts-384"
[terminal.a]
access = "umts"
[flow.first]
terminal = "a"
bulk = "200 kB"
transport = "reno"
"#;

/// A second terminal with its own bearer, whose errors, losses and timers must not touch the first.
const NEIGHBOUR: &str = r#"
[terminal.b]
access = "umts"
[flow.second]
terminal = "b"
bulk = "500 kB"
transport = "sack"
start = "37 ms"
"#;

fn simulate(text: &str, replication: u32) -> Run {
    let scenario = parse(text, "determinism", &[]).unwrap_or_else(|error| panic!("{error}")).scenario;
    run(&scenario, replication, Record { facts: Some(Vec::new()), capture: true }, &Default::default())
        .expect("the run ends")
}

/// The facts of the flow `first` and of its bearer, with machine names in place of numbers.
fn of_first(run: &Run) -> Vec<String> {
    let told = run.facts.iter().map(|row| (&run.machine_names[usize::from(row.machine())], row));
    let of_first = told.filter(|(name, _)| name.contains("first") || name.contains("/a/"));
    of_first.map(|(name, row)| format!("{} {name} {:?}", row.time(), row.fact())).collect()
}

#[test]
fn two_runs_tell_the_same_facts_bit_for_bit() {
    let (first, second) = (simulate(ALONE, 3), simulate(ALONE, 3));
    assert!(first.facts.len() > 1000);
    assert_eq!(first.facts, second.facts);
    assert_eq!(first.captures, second.captures);
    assert_eq!((first.flows, first.events), (second.flows, second.events));
}

#[test]
fn results_keep_a_name_that_repeats_its_section() {
    let text = ALONE.replace("access.umts", "access.access").replace("\"umts\"", "\"access\"");
    let run = simulate(&format!("[link.link]\n{text}"), 0);
    assert_eq!(run.bearers[0].name, "access/a/down");
    assert_eq!(run.links[0].name, "link/down");
}

#[test]
fn replications_meet_different_radio() {
    assert_ne!(simulate(ALONE, 0).flows[0].duration, simulate(ALONE, 1).flows[0].duration);
}

#[test]
fn an_unrelated_flow_with_its_own_draws_changes_nothing() {
    let alone = of_first(&simulate(ALONE, 0));
    let beside = of_first(&simulate(&format!("{ALONE}{NEIGHBOUR}"), 0));
    assert!(alone.iter().any(|fact| fact.contains("BlockResent")), "the radio makes errors");
    assert_eq!(alone, beside);
}

#[test]
fn variants_under_one_seed_meet_the_same_block_errors() {
    // Common random numbers: the n-th block transmission fails or not, whoever sends.
    let errors = |transport: &str, more: &str| -> Vec<u64> {
        let run = simulate(&(ALONE.replace("\"reno\"", transport) + more), 0);
        let down = run.machine_names.iter().position(|name| name == "access/umts/a/down").expect("a bearer");
        let blocks = run.facts.iter().filter(|row| usize::from(row.machine()) == down);
        let ended = blocks
            .filter(|row| row.fact().kind.name().starts_with("block_") && row.fact().kind.name() != "block_delivered");
        ended.take(150).map(|row| row.fact().b).collect()
    };
    let bursts = "[access.umts.down.errors]\ntype = \"gilbert-elliott\"\nrate = 0.2\nburst = 5.0\n";
    for more in ["", bursts] {
        assert_eq!(errors("\"reno\"", more), errors("\"tahoe\"", more));
    }
    assert_ne!(errors("\"reno\"", ""), errors("\"reno\"", bursts));
}

#[test]
fn a_run_does_not_wait_for_a_flow_in_the_background() {
    // A transfer without end and a constant rate for an hour, beside one that ends; and neither is over before it.
    let beside = "[flow.endless]\nbulk = \"unlimited\"\nbackground = true\ntransport = \"reno\"\nterminal = \"a\"\n\
                  [flow.steady]\nbackground = true\ntransport = \"udp\"\nterminal = \"a\"\n\
                  application = { type = \"cbr\", rate = \"32 kbit/s\", packet = \"1000 B\", duration = \"1 h\" }\n";
    let run = simulate(&format!("{ALONE}{beside}"), 0);
    let [first, endless, steady] = &run.flows[..] else { panic!("three flows") };
    assert_eq!(first.bytes, 200_000);
    assert!(first.duration.is_some() && run.ended.as_nanos() < 60_000_000_000, "{}", run.ended);
    assert!(endless.duration.is_none() && endless.bytes > 10_000);
    assert!(steady.duration.is_none() && steady.bytes > 10_000);
    // One that is over first does not end the run in the place of the others.
    let short = beside.replace("\"1 h\"", "\"1 s\"");
    let run = simulate(&format!("{ALONE}{short}"), 0);
    assert!(run.flows[2].duration.is_some() && run.flows[0].duration.is_some());
}
