//! Records: their text, and walks along them.

use super::*;

fn walk(text: &str, at_end: AtEnd, start: Start) -> Trace {
    let record = Arc::new(Record::parse(text).unwrap());
    let settings = TraceSettings { file: String::new(), at_end, start, step: None, record };
    Trace::new(&settings, Stream::new(1, 0, "errors"))
}

fn outcomes(walk: &mut Trace, count: usize) -> String {
    (0..count).map(|_| if walk.strikes() { '1' } else { '0' }).collect()
}

#[test]
fn a_record_is_played_exactly() {
    let text = "# measured\n0 3\n1 2\n\n0 1\n1 1\n";
    assert_eq!(outcomes(&mut walk(text, AtEnd::Repeat, Start::Beginning), 16), "0001101000110100");
    assert_eq!(outcomes(&mut walk(text, AtEnd::NoErrors, Start::Beginning), 16), "0001101000000000");
    let first = "1 2\n0 1\n";
    assert_eq!(outcomes(&mut walk(first, AtEnd::Repeat, Start::Beginning), 8), "11011011");
}

#[test]
fn runs_of_the_same_outcome_are_one() {
    assert_eq!(Record::parse("0 1\n0 2\n1 1\n1 4\n"), Record::parse("0 3\n1 5\n"));
    let record = Record::parse("0 3\n1 5\n0 2\n1 1").unwrap();
    assert_eq!((record.len(), record.errors()), (11, 6));
}

#[test]
fn a_random_start_is_anywhere_in_the_record() {
    let record = Arc::new(Record::parse("0 3\n1 1\n").unwrap());
    let settings =
        TraceSettings { file: String::new(), at_end: AtEnd::Repeat, start: Start::Random, step: None, record };
    let mut seen = std::collections::BTreeMap::new();
    for replication in 0..4000 {
        let mut walk = Trace::new(&settings, Stream::new(1, replication, "errors"));
        *seen.entry(outcomes(&mut walk, 5)).or_insert(0) += 1;
    }
    // Binomial standard deviation of 4000 trials at 1/4 is 27.4; five of them.
    assert_eq!(seen.keys().collect::<Vec<_>>(), ["00010", "00100", "01000", "10001"]);
    assert!(seen.values().all(|count: &i32| (count - 1000).abs() < 137), "{seen:?}");
}

#[test]
fn a_record_without_errors_has_none_for_ever() {
    let mut walk = walk("0 3\n", AtEnd::Repeat, Start::Beginning);
    assert_eq!(walk.take_successes(u64::MAX), u64::MAX);
}

#[test]
fn a_text_that_is_no_record_is_refused_at_the_place() {
    let bad = |text: &str| {
        let error = Record::parse(text).unwrap_err();
        (text[error.span].to_string(), error.message)
    };
    assert_eq!(bad("0 3\n  2 5\n"), ("2".into(), "this is no outcome"));
    assert_eq!(bad("0 3\n1\n"), ("1".into(), "the length of the run is missing"));
    assert_eq!(bad("0 x\n"), ("x".into(), "this is no length of a run"));
    assert_eq!(bad("0 0\n").1, "this is no length of a run");
    assert_eq!(bad("0 1 1\n"), ("1".into(), "there is more in the line than a run"));
    assert_eq!(bad("# nothing\n").1, "the record is empty");
    assert!(bad("1 8\n").1.contains("nothing but errors"));
}
