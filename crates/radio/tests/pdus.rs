//! Random PDUs come back as they were, and nothing that arrives makes the decoders panic.

mod arbitrary;

/// A hundred thousand random records of each kind of PDU, and as many arbitrary and damaged inputs.
#[test]
fn what_is_emitted_is_parsed_again() {
    let tally = arbitrary::run(1, 100_000).unwrap_or_else(|why| panic!("{why}"));
    assert!(tally.accepted > 10_000 && tally.refused > 10_000, "{tally:?}");
}
