//! Feeds the sender and receiver of every transport preset with arbitrary segments: `nonsense [MILLIONS OF STEPS]`, ten
//! without a number.

use std::process::ExitCode;
use std::time::Instant;

use cellwind_scenario::presets::{Kind, PRESETS};
use cellwind_scenario::tcp_settings;

#[path = "../tests/nonsense/mod.rs"]
mod nonsense;

fn main() -> ExitCode {
    let millions: u64 = std::env::args().nth(1).map_or(10, |number| number.parse().expect("millions of steps"));
    let presets = PRESETS.iter().filter(|preset| preset.kind == Kind::Transport);
    let tcp = |name: &'static str| Some((name, tcp_settings(&format!("\"{name}\"")).ok()?));
    let presets: Vec<_> = presets.filter_map(|preset| tcp(preset.name)).collect();
    let steps = (millions * 1_000_000).div_ceil(presets.len() as u64);
    let start = Instant::now();
    let mut tally = nonsense::Tally::default();
    for (name, settings) in &presets {
        if let Err(why) = nonsense::run(settings, 1, steps, &mut tally) {
            eprintln!("{name}: {why}");
            return ExitCode::FAILURE;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{} presets, {} steps in {seconds:.0} s: {tally:?}", presets.len(), steps * presets.len() as u64);
    ExitCode::SUCCESS
}
