//! Gives the RLC decoders arbitrary and damaged inputs: `pdus [MILLIONS OF INPUTS]`, ten without a number.

use std::process::ExitCode;
use std::time::Instant;

#[path = "../tests/arbitrary/mod.rs"]
mod arbitrary;

fn main() -> ExitCode {
    let millions: u64 = std::env::args().nth(1).map_or(10, |number| number.parse().expect("millions of inputs"));
    let start = Instant::now();
    match arbitrary::run(1, millions * 1_000_000) {
        Ok(tally) => {
            println!("{millions} million inputs in {:.0} s: {tally:?}", start.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
