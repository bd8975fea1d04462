//! Damaged scenario files: the loader answers with a scenario or a readable report, whatever the bytes.

use cellwind_scenario::{Kind, parse, preset_text, presets};

/// Mutated texts per preset.
const CASES: u64 = 400;

/// A counter-based generator (SplitMix64), so that a failing case can be run again alone.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}

/// Pieces that mean something in a scenario, to be put where they do not belong.
const PIECES: &[&str] = &[
    "\"",
    "'",
    "\"\"\"",
    "[",
    "]",
    "[[",
    "{",
    "}",
    "=",
    ".",
    ",",
    "#",
    "\n",
    "\r",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "é",
    "-",
    "0",
    "1e999",
    "inf",
    "nan",
    "99999999999999999999",
    "\"384 kbit/s\"",
    "\"unlimited\"",
    "type",
    "extends",
    "down",
    "up",
    "label",
    "faults = [{}]",
    "extends = \"umts-64\"\n",
    "true",
    "1979-05-27",
    "[flow.download.transport.recovery]\n",
];

fn mutate(text: &str, random: &mut Random) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(7) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            2 => {
                let piece = PIECES[random.below(PIECES.len())];
                bytes.splice(at..at, piece.bytes());
            }
            3 => {
                let end = (at + random.below(12)).min(bytes.len());
                bytes.drain(at..end);
            }
            // A line is deleted, doubled or moved to the end.
            kind => {
                let mut lines: Vec<Vec<u8>> =
                    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                if lines.is_empty() {
                    continue;
                }
                let at = random.below(lines.len());
                let line = lines[at].clone();
                match kind {
                    4 => drop(lines.remove(at)),
                    5 => lines.insert(at, line),
                    _ => {
                        lines.remove(at);
                        lines.push(line);
                    }
                }
                bytes = lines.concat();
            }
        }
    }
    bytes
}

fn check(text: &str, sets: &[(String, String)]) {
    match parse(text, "damaged", sets) {
        Ok(loaded) => {
            // What loads can be written and read again.
            let written = loaded.scenario.to_toml().unwrap();
            assert_eq!(parse(&written, "written", &[]).unwrap().scenario, loaded.scenario, "{text}");
        }
        Err(error) => {
            let report = error.to_string();
            assert!(report.contains("error: "), "{report}");
            assert!(report.lines().all(|line| line.chars().count() < 400), "{report}");
            assert!(!report.chars().any(|c| c.is_control() && c != '\n'), "{report:?}");
        }
    }
}

#[test]
fn damaged_files_never_bring_the_loader_down() {
    for (index, (kind, name, _)) in presets().into_iter().enumerate() {
        let part = preset_text(kind, name).unwrap();
        // A part is tried inside a scenario, under the header that makes it one.
        let text = match kind {
            Kind::Scenario => part.to_string(),
            Kind::Access => {
                format!("extends = \"umts-384\"\n[access.umts]\n{}", part.replace("\n[", "\n[access.umts."))
            }
            Kind::Transport => {
                let part = part.replace("\n[", "\n[flow.download.transport.");
                let flow = "[flow.download]\napplication = \"news-ticker\"\n";
                format!("[link.wire]\n{flow}[flow.download.transport]\n{part}")
            }
            Kind::Application => {
                let flow = "[flow.download]\ntransport = \"sack\"\n";
                format!("[link.wire]\n{flow}[flow.download.application]\n{part}")
            }
            Kind::Errors if part.contains("transitions") => {
                format!("extends = \"umts-384\"\n[access.umts.errors]\ntype = \"markov\"\n{part}")
            }
            Kind::Errors => continue, // a record is no TOML
        };
        parse(&text, "whole", &[]).unwrap_or_else(|error| panic!("{error}"));
        for case in 0..CASES {
            let mut random = Random((index as u64) << 32 | case);
            check(&String::from_utf8_lossy(&mutate(&text, &mut random)), &[]);
        }
    }
}

#[test]
fn damaged_settings_never_bring_the_loader_down() {
    let text = preset_text(Kind::Scenario, "two-phones").unwrap();
    for case in 0..2_000 {
        let mut random = Random(case);
        let path = mutate("flow.anna.transport.recovery.bug_fix", &mut random);
        let value = mutate("{ type = \"sack\", rescue = [1, 2] }", &mut random);
        let set = (String::from_utf8_lossy(&path).into_owned(), String::from_utf8_lossy(&value).into_owned());
        check(text, &[set]);
    }
}
