//! Every script of `tests/scripts/` holds on our sender and receiver.

use std::path::{Path, PathBuf};

use cellwind_engine::time::Span;
use cellwind_scenario::script::{compare, load, play};

fn scripts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            scripts(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "script") {
            found.push(path);
        }
    }
}

#[test]
fn every_script_holds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scripts");
    let mut found = Vec::new();
    scripts(&root, &mut found);
    found.sort();
    assert!(!found.is_empty());
    let mut wrong = String::new();
    for path in &found {
        match load(path) {
            Err(error) => wrong.push_str(&format!("{error}\n")),
            Ok(script) => wrong.push_str(&compare(&script, &play(&script), Span::ZERO).report()),
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
