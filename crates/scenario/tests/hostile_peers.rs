//! Senders and receivers of every preset survive what no peer should send.

use cellwind_scenario::presets::{Kind, PRESETS};
use cellwind_scenario::tcp_settings;

mod nonsense;

#[test]
fn every_preset_survives_arbitrary_segments() {
    // The same steps in greater number: `cargo run --release -p cellwind-scenario --example nonsense`.
    for preset in PRESETS.iter().filter(|preset| preset.kind == Kind::Transport) {
        let Ok(settings) = tcp_settings(&format!("\"{}\"", preset.name)) else { continue }; // not TCP
        let mut tally = nonsense::Tally::default();
        for seed in 0..3 {
            let survived = nonsense::run(&settings, seed, 8_000, &mut tally);
            survived.unwrap_or_else(|why| panic!("{}: {why}", preset.name));
        }
        let least = [tally.unacceptable, tally.sent, tally.fast_retransmits, tally.timeouts].into_iter().min();
        assert!(least > Some(0), "{}: {tally:?}", preset.name);
    }
}
