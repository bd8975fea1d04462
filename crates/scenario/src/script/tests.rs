//! The reports of scripts: what differs, and what is wrong in a script.

use super::*;

const HEAD: &str = "test = \"sender\"\ntransport = { extends = \"newreno\", mss = \"1000 B\" }\n---\n";

fn verdict(lines: &str) -> Verdict {
    let script = parse(&format!("{HEAD}{lines}"), "x.script").unwrap();
    compare(&script, &play(&script), Span::ZERO)
}

fn mistake(text: &str) -> String {
    parse(text, "x.script").expect_err("there is a mistake").to_string()
}

const START: &str = "0 open\n0 > syn\n0 write 3mss\n100ms < syn-ack\n";

#[test]
fn a_segment_at_another_instant_or_another_segment_differs() {
    let right = verdict(&format!("{START}100ms > data #1-#3\n1100ms > data #1\n"));
    assert!(right.holds(), "{}", right.report());
    assert!(right.report().is_empty());

    let late = verdict(&format!("{START}100ms > data #1-#3\n1s > data #1\n1200ms > nothing\n"));
    assert!(late.report().starts_with("x.script:9: `data #1` was sent at 1.1 s, not at 1 s\n"), "{}", late.report());
    let tolerant = verdict(&format!("{START}100ms > data #1-#3\n1s~100ms > data #1\n"));
    assert!(tolerant.holds(), "{}", tolerant.report());

    let more = verdict(&format!("{START}100ms > data #1-#2\n"));
    assert!(more.report().starts_with("x.script:8: `data #3` at 100 ms was not expected\n"), "{}", more.report());
    let missing = verdict(&format!("{START}100ms > data #1-#4\n"));
    assert!(missing.report().starts_with("x.script:8: `data #4` at 100 ms was not sent\n"), "{}", missing.report());
}

#[test]
fn a_report_shows_both_sides_around_the_difference() {
    let late = verdict(&format!("{START}100ms > data #1-#3\n1s > data #1\n1200ms > nothing\n"));
    let expected = "\
x.script:9: `data #1` was sent at 1.1 s, not at 1 s
    line  expected         seen
       5  0 s  syn         0 s  syn
       8  100 ms  data #1  100 ms  data #1
       8  100 ms  data #2  100 ms  data #2
       8  100 ms  data #3  100 ms  data #3
  !    9  1 s  data #1     1.1 s  data #1
";
    assert_eq!(late.report(), expected);
}

#[test]
fn claims_are_looked_at_where_they_stand() {
    let lines = format!("{START}100ms ? cwnd 4mss rto 1s una 1 nxt #3\n100ms > data #1-#3\n100ms ? cwnd 2mss..3mss\n");
    let found = verdict(&lines);
    assert_eq!(found.report(), "x.script:10: cwnd is 4000 B, not 2mss..3mss\n");
}

#[test]
fn sequence_numbers_may_be_those_of_a_document() {
    let head = HEAD.replace("\n---", "\nfirst_byte = 5000\n---");
    let text =
        format!("{head}0 open\n0 > syn\n0 write 2mss\n100ms < syn-ack\n100ms > data 5000:6000\n100ms > data #2\n");
    let script = parse(&text, "x.script").unwrap();
    assert!(compare(&script, &play(&script), Span::ZERO).holds());
    assert!(mistake(&format!("{text}200ms < ack 4000\n")).contains("a number from 4999 on"));
}

#[test]
fn mistakes_have_line_and_column() {
    let of = |line: &str| mistake(&format!("{HEAD}0 open\n{line}\n"));
    for (line, place, words) in [
        ("0 > dta #1", "5:5", "no such segment travels this way"),
        ("0 < syn", "5:5", "no such segment travels this way"),
        ("tomorrow open", "5:1", "this is no time"),
        ("0 sleep", "5:3", "no such verb"),
        ("0 write", "5:8", "the line ends too early"),
        ("0 write 5kg", "5:9", "this is no amount"),
        ("0 > data #3-#1", "5:10", "these are no segments"),
        ("0 > data 5:1", "5:10", "this is no range of bytes"),
        ("0 < ack #1 ts 5", "5:12", "this connection has no timestamps"),
        ("0 < ack #1 sack 1:2,3:4,5:6,7:8,9:10", "5:17", "at most 4 SACK blocks"),
        ("0 ? cwdn 5", "5:5", "did you mean `cwnd`?"),
        ("0 ? cwnd five", "5:10", "this is no value"),
        ("0 open now", "5:8", "the line should end here"),
    ] {
        let report = of(line);
        assert!(
            report.starts_with(&format!("x.script:{place}: error: ")) && report.contains(words),
            "{line}: {report}"
        );
    }
    assert!(of("10ms > nothing\n5ms > nothing").contains("time goes back: the line before is at 10 ms"));
    assert!(of("0 close\n0 write 5").contains("nothing can be written after close"));
    assert!(mistake("test = \"sender\"\n0 open\n").contains("nothing parts them here"));
    assert!(mistake("test = \"sender\"\n---\n0 open\n").contains("the key `transport` is missing"));
    assert!(mistake("tset = \"sender\"\n---\n0 open\n").contains("did you mean `test`?"));
    assert!(mistake(HEAD).contains("nothing happens in this script"));
    let wrong = HEAD.replace("1000 B", "0 B") + "0 open\n";
    assert!(mistake(&wrong).starts_with("x.script:2:"), "{}", mistake(&wrong));
    assert!(mistake(&wrong).contains("transport.mss: the value is out of range"), "{}", mistake(&wrong));
}
