//! Loading, resolving and writing scenarios.

use cellwind_engine::units::Probability;
use cellwind_path::errors::settings::{ErrorModel, ErrorSettings, ErrorUnit};
use cellwind_radio::rlc::settings::RlcSettings;
use cellwind_scenario::model::{Access, Bulk, Protocol};
use cellwind_scenario::{
    Direction, Kind, Loaded, Mistake, ScenarioError, load, parse, preset_text, presets, tcp_settings,
};
use cellwind_transport::tcp::amount::Window;

fn sets(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect()
}

fn with(name: &str, pairs: &[(&str, &str)]) -> Loaded {
    load(name, &sets(pairs)).unwrap()
}

fn independent(rate: f64) -> ErrorSettings {
    ErrorSettings::independent(Probability::new(rate).unwrap())
}

fn mistake(result: Result<Loaded, ScenarioError>) -> ScenarioError {
    result.map(|loaded| loaded.name).unwrap_err()
}

/// The TCP settings of a flow, as TOML text to look into.
fn transport(loaded: &Loaded, flow: &str) -> toml::Table {
    let file: toml::Table = loaded.scenario.to_toml().unwrap().parse().unwrap();
    file["flow"][flow]["transport"].as_table().unwrap().clone()
}

fn scenario_names() -> impl Iterator<Item = &'static str> {
    presets().into_iter().filter(|(kind, ..)| *kind == Kind::Scenario).map(|(_, name, _)| name)
}

#[test]
fn every_ready_made_scenario_loads_without_a_warning() {
    for name in scenario_names() {
        let loaded = load(name, &[]).unwrap();
        assert_eq!(loaded.name, name);
        assert!(loaded.warnings.is_empty(), "{name}: {:?}", loaded.warnings);
        assert!(!loaded.summary.is_empty());
        assert!(!loaded.scenario.title.is_empty() && !loaded.scenario.description.is_empty());
    }
}

#[test]
fn every_part_that_is_a_preset_can_take_its_place() {
    for (kind, name, summary) in presets() {
        assert!(!summary.is_empty() && preset_text(kind, name).unwrap().contains(summary));
        match kind {
            Kind::Scenario => {}
            Kind::Access => drop(with("umts-384", &[("access.umts", name)])),
            Kind::Transport => {
                let loaded = with("news-ticker", &[("flow.ticker.transport", name)]);
                assert_eq!(loaded.scenario.flow["ticker"].transport.name(), name);
            }
            Kind::Application => {
                let loaded = with("web-umts", &[("flow.http-1_0.application", name)]);
                let resolved = parse(&loaded.scenario.to_toml().unwrap(), "again", &[]).unwrap();
                assert_eq!(resolved.scenario, loaded.scenario, "{name}");
            }
            Kind::Errors => {
                let of = |process: &str| ("access.umts.errors", format!("{{ type = '{process}', file = '{name}' }}"));
                let fits = |(path, value): (&str, String)| load("umts-384", &sets(&[(path, &value)])).is_ok();
                assert!(fits(of("markov")) != fits(of("trace")), "{name}");
            }
        }
    }
    assert_eq!(preset_text(Kind::Transport, "renoo").unwrap_err().nearest(), Some("reno"));
}

#[test]
fn the_resolved_file_loads_to_an_equal_scenario() {
    let variants: &[&[(&str, &str)]] = &[
        &[],
        &[("replications", "20"), ("seed", "9223372036854775807"), ("stop_at", "1.5 h")],
        &[("link.internet.down.rate", "10 Mbit/s"), ("link.internet.up.queue", "64 kB")],
        &[("link.internet.down.faults", "[{ drop_data = 12 }, { delay_segment = 9, by = '5 s', overtaking = true }]")],
        &[("flow.download.transport.extends", "sack"), ("flow.download.transport.rto.initial", "3 s")],
        &[("flow.download.transport.label", "mine"), ("title", "a \"quoted\"\ttitle\u{7}")],
        &[("flow.download.transport.initial_ssthresh", "20 segments"), ("flow.download.bulk", "27778 segments")],
        &[("access.umts.max_transmissions", "4"), ("access.umts.down.pdu", "40 B"), ("access.umts.errors", "7 %")],
    ];
    for set in variants {
        for name in ["umts-384", "umts-64"] {
            let loaded = with(name, set);
            let text = loaded.scenario.to_toml().unwrap();
            let again = parse(&text, name, &[]).unwrap_or_else(|error| panic!("{error}\n\n{text}"));
            assert_eq!(again.scenario, loaded.scenario);
            assert_eq!(again.scenario.digest(), loaded.scenario.digest());
            assert_eq!(again.scenario.to_toml().unwrap(), text);
        }
    }
    for name in scenario_names() {
        let scenario = load(name, &[]).unwrap().scenario;
        assert_eq!(parse(&scenario.to_toml().unwrap(), name, &[]).unwrap().scenario, scenario);
    }
}

#[test]
fn the_digest_covers_everything_but_the_replications() {
    let digest = |pairs: &[(&str, &str)]| with("umts-384", pairs).scenario.digest();
    let plain = digest(&[]);
    assert_eq!(plain.len(), 64);
    assert_eq!(plain, digest(&[("replications", "100")]));
    assert_eq!(plain, digest(&[("access.umts.tti", "0.02 s"), ("flow.download.bulk", "16000 kB")]));
    for change in [("seed", "2"), ("access.umts.up.errors", "0.01"), ("flow.download.transport.label", "other")] {
        assert_ne!(plain, digest(&[change]), "{change:?}");
    }
}

/// A resolved file keeps common settings above the directions, so that `--set` on it does what it does on the original.
#[test]
fn settings_changed_on_the_resolved_file_change_both_directions() {
    let text = with("umts-384", &[]).scenario.to_toml().unwrap();
    let change = [("access.umts.rate", "128 kbit/s"), ("access.umts.delay", "80 ms")];
    let again = parse(&text, "umts-384", &sets(&change)).unwrap();
    assert_eq!(again.scenario, with("umts-384", &change).scenario);
}

/// Bit rates of both directions of the access `umts`.
fn rates(loaded: &Loaded) -> (u64, u64) {
    match &loaded.scenario.access["umts"] {
        Access::BlockArq(bearer) => (bearer.down.rate.as_bps(), bearer.up.rate.as_bps()),
        Access::Umts(umts) => (umts.directions.down.rate.as_bps(), umts.directions.up.rate.as_bps()),
        Access::Link(_) => panic!("it has another type"),
    }
}

#[test]
fn within_a_source_what_is_for_one_direction_overrides_what_is_for_both() {
    let [slow, fast] = [("access.umts.up.rate", "64 kbit/s"), ("access.umts.rate", "128 kbit/s")];
    for together in [[slow, fast], [fast, slow]] {
        assert_eq!(rates(&with("umts-384", &together)), (128_000, 64_000));
    }
    let text = "extends = 'umts-384'\n[access.umts]\nup = { rate = '64 kbit/s' }\nrate = '128 kbit/s'\n";
    assert_eq!(rates(&parse(text, "x", &[]).unwrap()), (128_000, 64_000));
}

#[test]
fn what_a_more_specific_source_sets_for_both_directions_holds_for_both() {
    // The preset of the access has rates, TTIs and errors for each direction.
    let rlc = "umts-rlc-384";
    assert_eq!(rates(&with(rlc, &[])), (384_000, 64_000));
    assert_eq!(rates(&with(rlc, &[("access.umts.rate", "128 kbit/s")])), (128_000, 128_000));
    assert_eq!(errors(&with(rlc, &[("access.umts.errors", "0.3")]), "umts"), [&independent(0.3); 2]);
    // A file over the preset, one over that, values over files, and more values over these.
    let file = "extends = 'umts-rlc-384'\n[access.umts]\nrate = '128 kbit/s'\nup.errors = 0.2\nerrors = 0.1\n";
    let loaded = parse(file, "x", &[]).unwrap();
    assert_eq!(rates(&loaded), (128_000, 128_000));
    assert_eq!(errors(&loaded, "umts"), [&independent(0.1), &independent(0.2)]);
    let loaded = loaded.with_values(&sets(&[("access.umts.down.rate", "256 kbit/s")])).unwrap();
    assert_eq!(rates(&loaded), (256_000, 128_000));
    let loaded = loaded.with_values(&sets(&[("access.umts", "{ rate = '64 kbit/s' }")])).unwrap();
    assert_eq!(rates(&loaded), (64_000, 64_000));
    let loaded = loaded.with_values(&sets(&[("access.umts.up", "{ rate = '32 kbit/s' }")])).unwrap();
    assert_eq!(rates(&loaded), (64_000, 32_000));
}

#[test]
fn tables_for_both_directions_merge_key_by_key_into_those_of_each() {
    let text = "extends = 'umts-rlc-384'\n[access.umts]\nrlc = { type = 'am', window = 900 }\ndown.rlc.window = 700\n";
    let file = parse(text, "x", &[]).unwrap();
    let rlc = |loaded: &Loaded| {
        let Access::Umts(umts) = &loaded.scenario.access["umts"] else { panic!("it has another type") };
        [&umts.directions.down.rlc, &umts.directions.up.rlc].map(|rlc| match rlc {
            RlcSettings::Am(am) => (am.window, am.max_dat, am.poll.last_pdu),
            _ => panic!("it has another mode"),
        })
    };
    assert_eq!(rlc(&file), [(700, 10, true), (900, 10, true)]);
    let other = file.with_values(&sets(&[("access.umts.rlc", "{ max_dat = 3, poll.last_pdu = false }")])).unwrap();
    assert_eq!(rlc(&other), [(700, 3, false), (900, 3, false)], "each keeps its window");
    let both = other.with_values(&sets(&[("access.umts.rlc.window", "500")])).unwrap();
    assert_eq!(rlc(&both), [(500, 3, false); 2]);
    // A table of another type replaces what a direction has, too.
    let um = file.with_values(&sets(&[("access.umts.rlc", "{ type = 'um' }")])).unwrap();
    let Access::Umts(umts) = &um.scenario.access["umts"] else { panic!("it has another type") };
    assert!(matches!((&umts.directions.down.rlc, &umts.directions.up.rlc), (RlcSettings::Um(_), RlcSettings::Um(_))));
    // So do the tables of the dedicated channel in RRC.
    let dch = |path: &str| format!("access.umts.rrc.dch.{path}pending_time");
    let [both, down] = [dch(""), dch("down.")];
    let rrc = with("umts-rlc-384", &[(&down, "20 ms"), (&both, "30 ms")]);
    let rrc = [rrc.with_values(&sets(&[(&both, "40 ms")])).unwrap(), rrc];
    let pending = rrc.each_ref().map(|loaded| match &loaded.scenario.access["umts"] {
        Access::Umts(umts) => umts.shared.rrc.as_ref().unwrap().dch.clone(),
        _ => panic!("it has another type"),
    });
    let pending =
        pending.map(|dch| [dch.down.pending_time, dch.up.pending_time].map(|time| time.as_nanos() / 1_000_000));
    assert_eq!(pending, [[40, 40], [20, 30]]);
}

#[test]
fn a_string_replaces_and_a_table_refines() {
    let base = "extends = 'umts-384'\nflow.download.transport = { mss = '536 B', label = 'small' }\n";
    let refined = parse(base, "x", &[]).unwrap();
    let tcp = transport(&refined, "download");
    assert_eq!((tcp["mss"].as_str(), tcp["recovery"]["type"].as_str()), (Some("536 B"), Some("reno")));

    let replaced = parse(base, "x", &sets(&[("flow.download.transport", "sack")])).unwrap();
    let tcp = transport(&replaced, "download");
    assert_eq!((tcp["mss"].as_str(), tcp["label"].as_str()), (Some("1460 B"), Some("sack")));

    let other_base = parse(base, "x", &sets(&[("flow.download.transport.extends", "newreno")])).unwrap();
    let tcp = transport(&other_base, "download");
    assert_eq!((tcp["mss"].as_str(), tcp["recovery"]["type"].as_str()), (Some("536 B"), Some("newreno")));
}

#[test]
fn a_choice_is_a_string_or_a_table_with_its_type() {
    let path = "flow.download.transport.recovery";
    let string = with("umts-384", &[(path, "newreno")]);
    let table = with("umts-384", &[(path, "{ type = 'newreno' }")]);
    assert_eq!(string.scenario, table.scenario);
    // Another type leaves nothing of the settings of the type before.
    let newreno = [(path, "{ type = 'newreno', partial_ack = 'slow-but-steady' }"), (path, "{ type = 'reno' }")];
    assert_eq!(with("umts-384", &newreno).scenario, with("umts-384", &[(path, "reno")]).scenario);
    // A setting beside a choice given as a string refines it.
    let refined = with("umts-384", &[(path, "newreno"), ("flow.download.transport.recovery.bug_fix", "off")]);
    assert_eq!(transport(&refined, "download")["recovery"]["bug_fix"].as_str(), Some("off"));
}

#[test]
fn what_is_new_can_be_set_in_one_value() {
    let flow = "{ transport = 'sack', bulk = '1 MB', terminal = 'ben' }";
    let loaded = with("two-phones", &[("flow.third", flow), ("link.backbone", "{ delay = '5 ms' }")]);
    assert_eq!(loaded.scenario.flow["third"].transport.name(), "sack");
    assert_eq!(loaded.scenario.link.keys().collect::<Vec<_>>(), ["internet", "backbone"]);
    // An access may also begin with the preset it extends, and then be refined.
    let access = [("access.slow.extends", "umts-64"), ("access.slow.errors", "0.2"), ("terminal.ben.access", "slow")];
    assert!(with("two-phones", &access).scenario.access.contains_key("slow"));
    // Without any terminal table there is one named `ue`.
    assert!(with("umts-384", &[("terminal.ue.access", "umts")]).scenario.terminal.contains_key("ue"));
}

#[test]
fn a_scenario_beyond_the_size_of_a_world_is_refused() {
    let flow = |number: u32| format!("[flow.f{number}]\nbulk = '1 kB'\ntransport = 'reno'\n");
    let flows = |count: u32| (0..count).map(flow).collect::<String>() + "[link.line]\n[terminal.ue]\n";
    assert!(parse(&flows(16_382), "large", &[]).is_ok());
    assert_eq!(mistake(parse(&flows(16_383), "larger", &[])).mistake(), Mistake::OutOfRange);
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let loaded = parse("\u{feff}# Mine\r\nextends = 'umts-384'\r\n", "windows", &[]).unwrap();
    assert_eq!(loaded.summary, "Mine");
}

#[test]
fn shells_take_the_quotes_and_the_value_stays_a_string() {
    let quoted = with("umts-384", &[("access.umts.delay", "\"80 ms\""), ("title", "'x = 1'")]);
    let bare = with("umts-384", &[("access.umts.delay", "80 ms"), ("title", "x = 1")]);
    assert_eq!(quoted.scenario, bare.scenario);
}

#[test]
fn later_values_win_and_values_can_be_added_to_a_loaded_scenario() {
    let once = with("umts-384", &[("access.umts.errors", "0.05"), ("seed", "7")]);
    let changed = once.with_values(&sets(&[("access.umts.errors", "0.2")])).unwrap();
    assert_eq!(changed.scenario, with("umts-384", &[("seed", "7"), ("access.umts.errors", "0.2")]).scenario);
    assert_eq!((changed.name, changed.summary), (once.name.clone(), once.summary.clone()));
    assert_eq!(mistake(once.with_values(&sets(&[("seed", "x")]))).path(), "seed");
}

#[test]
fn links_keep_the_order_they_were_written_in() {
    let text =
        "extends = 'umts-384'\nlink.zulu.delay = '1 ms'\nlink.alpha.delay = '2 ms'\nlink.internet.up.delay = '3 ms'\n";
    let names: Vec<String> = parse(text, "x", &[]).unwrap().scenario.link.keys().cloned().collect();
    assert_eq!(names, ["internet", "zulu", "alpha"]);
}

#[test]
fn what_is_left_away_is_filled_in() {
    let loaded = with("umts-384", &[]);
    let flow = &loaded.scenario.flow["download"];
    assert_eq!(loaded.scenario.terminal_of(flow), "ue");
    assert_eq!(loaded.scenario.access_of("ue").unwrap().0, "umts");
    let wired = with("wired", &[]);
    assert!(wired.scenario.access_of("ue").is_none());
    assert!(matches!(wired.scenario.flow["download"].bulk, Some(Bulk::Limited(Window::Bytes(_)))));
    assert!(matches!(wired.scenario.flow["download"].transport.protocol, Protocol::Tcp(_)));
}

/// The switches that the comment of the preset tells (Teyeb 2007, table 6.1).
#[test]
fn linux_2_4_can_be_had_without_each_of_its_options() {
    let without_eifel = "timestamps = false";
    let without_d_sack = "d_sack = false";
    let without_fack = "recovery = { type = 'sack', reduction = 'rate-halving' }";
    let without_sack = "sack = false, d_sack = false, recovery = { type = 'newreno', partial_ack = 'slow-but-steady' }";
    for (sack, has_d_sack) in [
        ("", true),
        (without_fack, true),
        (without_d_sack, false),
        (&format!("{without_d_sack}, {without_fack}"), false),
        (without_sack, false),
    ] {
        for eifel in ["", without_eifel] {
            let blind = if eifel == without_eifel && !has_d_sack { "spurious = 'off'" } else { "" };
            let changes: Vec<&str> =
                ["extends = 'linux-2.4'", sack, eifel, blind].into_iter().filter(|text| !text.is_empty()).collect();
            let settings =
                tcp_settings(&format!("{{ {} }}", changes.join(", "))).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((settings.timestamps, settings.d_sack), (eifel.is_empty(), has_d_sack));
        }
    }
}

#[test]
fn files_extend_files_beside_them() {
    let folder = std::env::temp_dir().join(format!("cellwind-extends-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("parts")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("mine.toml", "# Mine\nextends = './parts/base.toml'\nflow.download.transport = './parts/tiny.toml'\n");
    write("parts/base.toml", "extends = 'umts-64'\naccess.umts = { extends = 'slow.toml', errors = 0.3 }\n");
    write("parts/slow.toml", "extends = 'umts-64'\nrate = '32 kbit/s'\n");
    write("parts/tiny.toml", "extends = 'reno'\nmss = '100 B'\n");
    let loaded = load(folder.join("mine.toml").to_str().unwrap(), &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    let loaded = loaded.unwrap();
    let Access::BlockArq(bearer) = &loaded.scenario.access["umts"] else { panic!("it has another type") };
    assert_eq!((bearer.down.rate.as_bps(), &bearer.down.errors), (32_000, &independent(0.3)));
    assert_eq!((loaded.name.as_str(), loaded.summary.as_str()), ("mine", "Mine"));
    assert_eq!(loaded.scenario.flow["download"].transport.name(), "tiny");
}

#[test]
fn what_is_probably_not_meant_is_a_warning() {
    let spare = with("umts-384", &[("access.spare", "umts-64"), ("terminal.ue.access", "umts")]);
    assert_eq!(spare.warnings, ["access.spare serves no terminal"]);
    let late = with("wired", &[("stop_at", "1 s"), ("flow.download.start", "2 s")]);
    assert_eq!(late.warnings, ["flow.download starts when the scenario has already ended"]);
    let window = with("wired", &[("flow.download.transport.receive_window", "128 KiB")]);
    assert_eq!(window.warnings.len(), 1);
}

/// The depth of keys is bounded before it can exhaust the stack.
#[test]
fn absurdly_deep_keys_are_refused() {
    let dotted = format!("{}a = 1\n", "a.".repeat(200_000));
    let header = format!("[{}a]\n", "a.".repeat(200_000));
    let quoted = format!("{}a = 1\n", "\"a\" . ".repeat(200_000));
    let inline = format!("x = {}1{}\n", "{ a = ".repeat(50_000), "}".repeat(50_000));
    let array = format!("x = {}{}\n", "[".repeat(50_000), "]".repeat(50_000));
    for text in [&dotted, &header, &quoted, &inline, &array] {
        assert_eq!(mistake(parse(text, "deep", &[])).mistake(), Mistake::Syntax);
    }
    let path = "a.".repeat(100_000) + "a";
    assert_eq!(mistake(load("wired", &sets(&[(&path, "1")]))).mistake(), Mistake::BadSet);
    let value = format!("{}1{}", "[".repeat(50_000), "]".repeat(50_000));
    assert_eq!(mistake(load("wired", &sets(&[("title", &value)]))).mistake(), Mistake::Syntax);
}

/// The errors of both directions of an access.
fn errors<'a>(loaded: &'a Loaded, access: &str) -> [&'a ErrorSettings; 2] {
    Direction::BOTH.map(|way| loaded.scenario.access[access].errors(way).1)
}

#[test]
fn a_bare_rate_is_short_for_independent_errors() {
    // The preset has 0.1 downlink and 0.0 uplink.
    let blackouts = with("umts-384", &[("access.umts.errors.blackouts", "[{ duration = '1 s' }]")]);
    let [down, up] = errors(&blackouts, "umts");
    assert_eq!((&down.model, down.blackouts.len()), (&independent(0.1).model, 1));
    assert_eq!((&up.model, up.blackouts.len()), (&independent(0.0).model, 1), "each keeps its rate");
    let rate = with("umts-384", &[("access.umts.errors.rate", "20 %"), ("access.umts.errors.unit", "tti")]);
    let [down, up] = errors(&rate, "umts");
    assert_eq!((&down.model, down.unit), (&independent(0.2).model, ErrorUnit::Tti));
    assert_eq!(up, down);
    // Another type replaces what was there; a bare rate replaces all.
    let sets = [("access.umts.down.errors", "{ type = 'gilbert-elliott', rate = 0.1, burst = 4 }")];
    let bursts = with("umts-384", &sets);
    assert!(matches!(errors(&bursts, "umts")[0].model, ErrorModel::GilbertElliott(_)));
    let again = with("umts-384", &[sets[0], ("access.umts.down.errors", "0.3")]);
    assert_eq!(errors(&again, "umts")[0], &independent(0.3));
}

/// The losses of both directions of a wired link.
fn losses<'a>(loaded: &'a Loaded, link: &str) -> [&'a ErrorSettings; 2] {
    Direction::BOTH.map(|way| &loaded.scenario.link[link].get(way).loss)
}

#[test]
fn losses_of_links_are_a_rate_or_a_process() {
    let text = "[link.wire]\nloss = 0.1\n[access.wlan]\ntype = 'link'\nloss = '1 %'\n\
                down.loss = { type = 'trace', file = 'bursts' }\n\
                [flow.f]\nbulk = '1 MB'\ntransport = 'reno'\n";
    let loaded = |pairs| parse(text, "losses", &sets(pairs)).unwrap();
    let plain = loaded(&[]);
    assert_eq!(losses(&plain, "wire"), [&independent(0.1); 2]);
    let [down, up] = errors(&plain, "wlan");
    assert!(matches!(&down.model, ErrorModel::Trace(trace) if !trace.record.is_empty()), "{down:?}");
    assert_eq!(up, &independent(0.01));
    // A rate is a table that can be added to; another type replaces what was there.
    let blackouts = [("link.wire.up.loss.blackouts", "[{ duration = '1 s' }]")];
    let dark = loaded(&blackouts);
    let [down, up] = losses(&dark, "wire");
    assert_eq!((down, &up.model, up.blackouts.len()), (&independent(0.1), &independent(0.1).model, 1));
    let bursts = loaded(&[("link.wire.loss", "{ type = 'markov', file = 'three-states' }")]);
    assert!(losses(&bursts, "wire").iter().all(|loss| matches!(&loss.model, ErrorModel::Markov(_))));
    for loaded in [plain, dark, bursts] {
        let again = parse(&loaded.scenario.to_toml().unwrap(), "again", &[]).unwrap();
        assert_eq!(again.scenario, loaded.scenario);
    }
}

#[test]
fn files_of_errors_are_relative_to_the_file_that_names_them() {
    let folder = std::env::temp_dir().join(format!("cellwind-error-files-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("measured")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("measured/walk.toml", "transitions = [[0.9, 0.1], [0.5, 0.5]]\nerrors = [0.0, 0.8]\n");
    write("measured/walk.runs", "0 5\n1 2\n");
    let errors_of = "down.errors = { type = 'markov', file = 'measured/walk.toml' }\n\
                     up.errors = { type = 'trace', file = 'measured/walk.runs', blackouts = [{ duration = '1 s' }] }\n";
    write("bad-air.toml", &format!("extends = 'umts-64'\n{errors_of}"));
    write("one.toml", "extends = 'umts-64'\naccess.umts = { extends = './bad-air.toml' }\n");
    let loaded = load(folder.join("one.toml").to_str().unwrap(), &[]).unwrap();
    let [down, up] = errors(&loaded, "umts");
    let (ErrorModel::Markov(chain), ErrorModel::Trace(trace)) = (&down.model, &up.model) else { panic!("{down:?}") };
    assert_eq!((chain.transitions.len(), chain.errors[1].get(), &chain.file), (2, 0.8, &None));
    assert_eq!((trace.record.len(), trace.record.errors()), (7, 2));
    // The chain stands in the resolved scenario, the record beside it.
    let text = loaded.scenario.to_toml().unwrap();
    assert_eq!(parse(&text, "one", &[]).unwrap().scenario, loaded.scenario);
    std::fs::remove_dir_all(folder).unwrap();
}
