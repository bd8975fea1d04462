//! Senders and receivers of every preset survive what no peer should send.

use cellwind_scenario::presets::{Kind, PRESETS};
use cellwind_scenario::tcp_settings;

mod nonsense;

#[test]
fn every_preset_survives_arbitrary_segments() {
    // The same steps in greater number: `cargo run --release -p cellwind-scenario --example nonsense`.
    for preset in PRESETS.iter().filter(|preset| preset.kind == Kind::Transport) {
        let Ok(settings) = tcp_settings(&format!("\"{}\"", preset.name)) else { continue }; // not TCP
        let met = (0..3).map(|seed| nonsense::run(&settings, seed, 4_000));
        let met: Result<u64, String> = met.sum();
        assert!(met.unwrap_or_else(|why| panic!("{}: {why}", preset.name)) > 100, "{}", preset.name);
    }
}
