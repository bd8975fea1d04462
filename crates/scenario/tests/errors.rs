//! The full text of every report.
//!
//! Each `tests/errors/NAME.toml` is loaded, with the settings of its lines `#! --set path=value`, and must fail with
//! exactly the text of `NAME.txt`. With `CELLWIND_UPDATE=1` in the environment the texts are written instead; read
//! the difference before keeping it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cellwind_scenario::{Mistake, ScenarioError, load, parse};

fn folder() -> &'static Path {
    // Tests run in the folder of the crate, so that reports name files the same way everywhere.
    Path::new("tests/errors")
}

fn sets(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("#! --set "));
    lines.map(|line| line.split_once('=').expect("path=value")).map(|(p, v)| (p.to_string(), v.to_string())).collect()
}

/// The mistakes of all files, by file.
fn mistakes() -> Vec<(PathBuf, ScenarioError)> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let sets = sets(&String::from_utf8_lossy(&fs::read(&path).unwrap()));
            match load(path.to_str().unwrap(), &sets).and_then(|loaded| loaded.check_simulated()) {
                Ok(_) => panic!("{} has no mistake", path.display()),
                Err(error) => (path, error),
            }
        })
        .collect()
}

#[test]
fn every_report_reads_as_kept() {
    let update = std::env::var_os("CELLWIND_UPDATE").is_some();
    let mut wrong = Vec::new();
    for (path, error) in mistakes() {
        let kept = path.with_extension("txt");
        let report = format!("{error}\n");
        if update {
            fs::write(&kept, &report).unwrap();
        } else if fs::read_to_string(&kept).unwrap_or_default() != report {
            wrong.push(format!("{}:\n{report}", kept.display()));
        }
    }
    assert!(wrong.is_empty(), "reports differ; CELLWIND_UPDATE=1 writes them anew\n\n{}", wrong.join("\n"));
}

#[test]
fn every_kind_of_mistake_has_a_report() {
    let shown: BTreeSet<&str> = mistakes().iter().map(|(_, error)| error.mistake().code()).collect();
    // These have no text of their own to keep; `files_that_cannot_be_read` and `a_long_chain_of_files_is_refused`
    // show them.
    let elsewhere = [
        Mistake::FileNotFound,
        Mistake::Directory,
        Mistake::Unreadable,
        Mistake::FileTooLarge,
        Mistake::ExtendsTooLong,
    ];
    for mistake in Mistake::ALL.iter().filter(|mistake| !elsewhere.contains(mistake)) {
        assert!(shown.contains(mistake.code()), "no file shows `{}`", mistake.code());
        assert!(mistake.meaning().ends_with('.'));
    }
}

#[test]
fn files_that_cannot_be_read() {
    let report = |path: &str| load(path, &[]).map(|loaded| loaded.name).unwrap_err();
    assert_eq!(report("tests/none.toml").to_string(), "tests/none.toml: error: there is no such file");
    assert_eq!(report("tests/none.toml").mistake(), Mistake::FileNotFound);
    assert_eq!(report("tests").to_string(), "tests: error: it is a directory, not a file");
    assert_eq!(report("tests/errors.rs/x").mistake(), Mistake::Unreadable);

    let large = std::env::temp_dir().join(format!("cellwind-large-{}.toml", std::process::id()));
    fs::File::create(&large).unwrap().set_len((16 << 20) + 1).unwrap();
    let error = report(large.to_str().unwrap());
    fs::remove_file(&large).unwrap();
    assert_eq!(error.mistake(), Mistake::FileTooLarge);
}

/// Each file of the chain is a step of recursion, so the length is bounded before it can exhaust the stack.
#[test]
fn a_long_chain_of_files_is_refused() {
    let folder = std::env::temp_dir().join(format!("cellwind-chain-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for number in 0..1000 {
        let text = format!("extends = './{}.toml'\nseed = 1\n", number + 1);
        fs::write(folder.join(format!("{number}.toml")), text).unwrap();
    }
    fs::write(folder.join("1000.toml"), "extends = 'umts-384'\n").unwrap();
    let load = |number: u32| load(folder.join(format!("{number}.toml")).to_str().unwrap(), &[]).map(|_| ());
    let (long, short) = (load(0), load(950));
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(short, Ok(()));
    let error = long.unwrap_err();
    assert_eq!(error.mistake(), Mistake::ExtendsTooLong);
    assert!(error.to_string().contains("99.toml:1:11: error: extends: "), "{error}");
}

#[test]
fn an_unknown_name_is_compared_with_the_presets() {
    let error = load("umts384", &[]).map(|loaded| loaded.name).unwrap_err();
    assert_eq!(
        error.to_string(),
        "error: there is no scenario preset of this name\n  \
         found:   \"umts384\"\n  \
         allowed: umts-384, umts-128, umts-64, umts-rlc-384, umts-states, umts-cell, wired, two-phones, handover-wlan-umts, walk-wlan-umts-gprs, web-umts, \
         video-umts, voip-umts, news-ticker, gprs-reselections, gprs-cells, fading-umts\n  \
         did you mean `umts-384`?\n  \
         a file is named by a path, such as \"./other.toml\""
    );
}

#[test]
fn texts_are_called_by_their_name() {
    let error = parse("seed = \"x\"", "notebook", &[]).map(|loaded| loaded.name).unwrap_err();
    assert!(error.to_string().starts_with("notebook:1:8: error: seed: the value has the wrong type\n"), "{error}");
    assert_eq!(error.path(), "seed");
}
