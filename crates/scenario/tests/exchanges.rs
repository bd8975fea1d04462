//! Scripted exchanges: what each recovery sends, and when, for each kind of fault.
//!
//! The link takes 50 ms each way and no time to transmit, so that everything happens in rounds of 100 ms and
//! can be followed by hand. The SYN leaves at 0 and the first ten segments at 100 ms. Kept traces stand in
//! `exchanges/`; `CELLWIND_UPDATE=1` writes them anew, and the claims below each fault hold the reasons.

use std::fmt::Write;
use std::path::PathBuf;

use cellwind_engine::fact::{Fact, FactKind};
use cellwind_scenario::parse;
use cellwind_scenario::run::{Record, run};

const RECOVERIES: [&str; 4] = ["tahoe", "reno", "newreno", "sack"];
/// Payload of a segment.
const SEGMENT: u64 = 1000;

/// What the sender of one flow did.
struct Exchange {
    facts: Vec<(u64, Fact)>,
    /// Timeouts that were spurious, and those that were necessary.
    verdicts: (u64, u64),
}

impl Exchange {
    /// Twenty segments by `recovery`, with `faults` on the way down and `acks` on the way up.
    fn new(recovery: &str, faults: &str, acks: &str) -> Self {
        let text = format!(
            r#"
            [link.wire]
            delay = "50 ms"
            down.faults = [{faults}]
            up.faults = [{acks}]
            [flow.f]
            bulk = "20 segments"
            [flow.f.transport]
            extends = "{recovery}"
            mss = "1000 B"
            initial_window = "10 segments"
            receive_window = "64 segments"
            "#
        );
        let scenario = parse(&text, "exchange", &[]).unwrap_or_else(|error| panic!("{error}")).scenario;
        let record = Record { facts: Some(Vec::new()), capture: false };
        let run = run(&scenario, 0, record, &Default::default()).expect("the run ends");
        assert_eq!(run.flows[0].bytes, 20 * SEGMENT, "every byte arrives");
        let sender = run.machine_names.iter().position(|name| name == "flow/f/sender").expect("there is a sender");
        let of_sender = run.facts.iter().filter(|row| usize::from(row.machine()) == sender);
        let counters = run.flows[0].counters;
        let verdicts = (counters.spurious_timeouts, counters.necessary_timeouts);
        let facts = of_sender.map(|row| (row.time().as_nanos() / 1_000_000, row.fact())).collect();
        Exchange { facts, verdicts }
    }

    /// When the segment with this number was sent, first time and again, in ms.
    fn sent(&self, number: u64) -> Vec<u64> {
        let of_segment = |fact: &Fact| {
            matches!(fact.kind, FactKind::SegmentSent | FactKind::SegmentResent) && number_of(fact.seq) == number
        };
        self.facts.iter().filter(|(_, fact)| of_segment(fact)).map(|&(ms, _)| ms).collect()
    }

    /// All segments sent again, in order: when and which.
    fn resent(&self) -> Vec<(u64, u64)> {
        let again = self.facts.iter().filter(|(_, fact)| fact.kind == FactKind::SegmentResent);
        again.map(|&(ms, fact)| (ms, number_of(fact.seq))).collect()
    }

    /// When facts of this kind were told, in ms.
    fn times(&self, kind: FactKind) -> Vec<u64> {
        self.facts.iter().filter(|(_, fact)| fact.kind == kind).map(|&(ms, _)| ms).collect()
    }

    /// One line per instant: what was sent, and the windows in segments afterwards.
    fn trace(&self) -> String {
        let mut trace = String::new();
        let mut rest = self.facts.as_slice();
        while let Some(&(ms, _)) = rest.first() {
            let (now, later) = rest.split_at(rest.partition_point(|&(time, _)| time == ms));
            rest = later;
            let events: Vec<String> = now.iter().filter_map(|(_, fact)| describe(fact)).collect();
            if !events.is_empty() {
                writeln!(trace, "{ms:>6} ms  {}", events.join(" ")).expect("a string takes all");
            }
        }
        trace
    }
}

fn number_of(seq: u64) -> u64 {
    (seq - 1) / SEGMENT + 1
}

fn describe(fact: &Fact) -> Option<String> {
    let segments = |bytes: u64| format!("{:.1}", bytes as f64 / SEGMENT as f64);
    match fact.kind {
        FactKind::SegmentSent => Some(format!("{}", number_of(fact.seq))),
        FactKind::SegmentResent => Some(format!("again:{}", number_of(fact.seq))),
        FactKind::Timeout => Some("timeout".into()),
        FactKind::SpuriousTimeout => Some("(was spurious)".into()),
        FactKind::FastRetransmit => Some("fast-retransmit".into()),
        FactKind::Cwnd => Some(format!("cwnd={}", segments(fact.a))),
        FactKind::Ssthresh => Some(format!("ssthresh={}", segments(fact.a))),
        _ => None,
    }
}

/// Compares the traces of all recoveries under one fault with the kept ones.
fn keep(name: &str, exchanges: &[(&str, Exchange)]) {
    let mut text = String::new();
    for (recovery, exchange) in exchanges {
        writeln!(text, "{recovery}\n{}", exchange.trace()).expect("a string takes all");
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/exchanges").join(format!("{name}.txt"));
    if std::env::var_os("CELLWIND_UPDATE").is_some() {
        std::fs::write(&path, &text).expect("the trace can be kept");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, kept, "{} differs; CELLWIND_UPDATE=1 writes it anew", path.display());
}

fn all(faults: &str, acks: &str) -> Vec<(&'static str, Exchange)> {
    RECOVERIES.map(|recovery| (recovery, Exchange::new(recovery, faults, acks))).into()
}

#[test]
fn single_loss_is_repaired_by_the_third_duplicate_ack() {
    // Segments 4 to 10 arrive at 150 ms and their duplicate ACKs at 200 ms, 100 ms after they were sent.
    let exchanges = all("{ drop_segment = 3 }", "");
    for (recovery, exchange) in &exchanges {
        assert_eq!(exchange.sent(3), [100, 200], "{recovery}");
        assert_eq!(exchange.times(FactKind::FastRetransmit), [200], "{recovery}");
        assert!(exchange.times(FactKind::Timeout).is_empty(), "{recovery}");
        // Even Tahoe, which goes back to segment 3, finds the rest acknowledged when it goes on.
        assert_eq!(exchange.resent(), [(200, 3)], "{recovery}");
    }
    keep("single-loss", &exchanges);
}

#[test]
fn the_second_of_two_losses_is_resent_one_round_later_or_costs_reno_more() {
    let exchanges = all("{ drop_segment = 3 }, { drop_segment = 7 }", "");
    for (recovery, exchange) in &exchanges {
        assert_eq!(exchange.sent(3), [100, 200], "{recovery}");
        match *recovery {
            // The ACK of segment 3 is partial: RFC 6582 §3.2 resends the next hole at once.
            "newreno" => assert_eq!(exchange.resent(), [(200, 3), (300, 7)]),
            // Segment 7 counts as lost at 200 ms, but the pipe is full: 11 to 16 and the resent segment 3 make
            // seven, the window is six. The duplicate ACKs of 11 and later make room.
            "sack" => assert_eq!(exchange.resent(), [(200, 3), (300, 7)]),
            // The ACK of segment 3 ends fast recovery. The duplicate ACKs of 15 to 18 at 400 ms do not start another
            // one, as segment 7 was sent before the last ("bug fix"): the timer, restarted at 300 ms, must expire.
            "reno" => assert_eq!(exchange.resent(), [(200, 3), (1300, 7)]),
            _ => {}
        }
    }
    keep("two-losses", &exchanges);
}

#[test]
fn a_burst_loss_takes_newreno_one_round_each_and_sack_one_in_all() {
    let burst = "{ drop_segment = 3 }, { drop_segment = 4 }, { drop_segment = 5 }, { drop_segment = 6 }";
    let exchanges = all(burst, "");
    for (recovery, exchange) in &exchanges {
        match *recovery {
            "newreno" => assert_eq!(exchange.resent()[..4], [(200, 3), (300, 4), (400, 5), (500, 6)]),
            "sack" => {
                assert!(exchange.resent().len() == 4 && exchange.resent()[3].0 <= 300, "{:?}", exchange.resent());
            }
            _ => {}
        }
    }
    keep("burst-loss", &exchanges);
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    // The timer restarts with the ACK of segment 2 at 200 ms and runs for the minimum of 1 s.
    let exchanges = all("{ drop_segment = 3 }, { drop_segment = 3, transmission = 2 }", "");
    for (recovery, exchange) in &exchanges {
        assert_eq!(exchange.times(FactKind::Timeout), [1200], "{recovery}");
        assert_eq!(exchange.sent(3), [100, 200, 1200], "{recovery}");
    }
    keep("lost-retransmission", &exchanges);
}

#[test]
fn a_lost_tail_waits_for_the_timer() {
    // No segment follows the last one, so that no duplicate ACK tells of its loss. The timer restarts with the
    // last new ACK, which arrives 100 ms after segment 19 was sent.
    let exchanges = all("{ drop_segment = 20 }", "");
    for (recovery, exchange) in &exchanges {
        let last_ack = exchange.sent(19)[0] + 100;
        assert_eq!(exchange.times(FactKind::Timeout), [last_ack + 1000], "{recovery}");
        assert_eq!(exchange.resent(), [(last_ack + 1000, 20)], "{recovery}");
        assert_eq!(exchange.verdicts, (0, 1), "{recovery}");
    }
    keep("lost-tail", &exchanges);
}

#[test]
fn a_lost_burst_of_acks_costs_nothing_when_a_later_one_arrives() {
    // ACKs are cumulative (RFC 9293 §3.4): that of segment 10 stands for the nine before it.
    let acks: Vec<String> = (1..=9).map(|k| format!("{{ drop_ack = {k} }}")).collect();
    let exchanges = all("", &acks.join(", "));
    for (recovery, exchange) in &exchanges {
        assert!(exchange.resent().is_empty() && exchange.times(FactKind::Timeout).is_empty(), "{recovery}");
        // One ACK counts for one segment of growth (RFC 5681 §3.1 (2)): eleven segments leave at 200 ms.
        assert_eq!((exchange.sent(11)[0], exchange.sent(20)[0]), (200, 200), "{recovery}");
    }
    keep("lost-acks", &exchanges);
}

#[test]
fn reordering_by_three_segments_looks_like_a_loss_and_by_two_does_not() {
    // Segment 3 arrives 1 ms late, after all that were sent with it.
    let exchanges = all("{ delay_segment = 3, by = \"1 ms\", overtaking = true }", "");
    for (recovery, exchange) in &exchanges {
        assert_eq!(exchange.times(FactKind::FastRetransmit), [200], "{recovery}");
        assert_eq!(exchange.sent(3), [100, 200], "{recovery}");
    }
    keep("reordering", &exchanges);
    // Segment 8 has only 9 and 10 behind it: two duplicate ACKs.
    for (recovery, exchange) in all("{ delay_segment = 8, by = \"1 ms\", overtaking = true }", "") {
        assert!(exchange.resent().is_empty(), "{recovery}");
    }
}

#[test]
fn a_delay_spike_makes_the_timeouts_spurious() {
    // Segment 3 and all behind it are held for 5 s. The timer restarts with the ACK of segment 2 at 200 ms:
    // timeouts at 1200, 3200 (2 s later), and so on; the originals arrive at 5150 ms.
    let exchanges = all("{ delay_segment = 3, by = \"5 s\" }", "");
    for (recovery, exchange) in &exchanges {
        assert_eq!(exchange.times(FactKind::Timeout), [1200, 3200], "{recovery}");
        assert_eq!(exchange.times(FactKind::SpuriousTimeout), [5200], "{recovery}");
        assert_eq!(exchange.verdicts, (1, 0), "{recovery}");
    }
    keep("delay-spike", &exchanges);
}

#[test]
fn a_timeout_is_spurious_when_waiting_would_have_brought_an_ack() {
    // RFC 3522 §3.3: all data arrives at 150 ms and every ACK is lost. Without the retransmission at 1100 ms none
    // would come, though it carries nothing new.
    let acks: Vec<String> = (1..=10).map(|k| format!("{{ drop_ack = {k} }}")).collect();
    let data: Vec<String> = (1..=10).map(|n| format!("{{ drop_segment = {n} }}")).collect();
    for (faults, acks) in [(String::new(), acks.join(", ")), (data.join(", "), String::new())] {
        for (recovery, exchange) in all(&faults, &acks) {
            assert_eq!(exchange.times(FactKind::Timeout)[0], 1100, "{recovery}");
            assert_eq!(exchange.verdicts, (0, 1), "{recovery}");
        }
    }
    // The ACKs of the first two are lost, and the rest is late with the retransmission behind it: ACK 3 would have come.
    for (recovery, exchange) in all("{ delay_segment = 3, by = \"2 s\" }", "{ drop_ack = 1 }, { drop_ack = 2 }") {
        assert_eq!(exchange.times(FactKind::Timeout), [1100], "{recovery}");
        assert_eq!(exchange.times(FactKind::SpuriousTimeout), [2200], "{recovery}");
        assert_eq!(exchange.verdicts, (1, 0), "{recovery}");
    }
}

#[test]
fn without_faults_nothing_is_sent_twice() {
    let exchanges = all("", "");
    for (recovery, exchange) in &exchanges {
        assert!(exchange.resent().is_empty(), "{recovery}");
        assert_eq!((exchange.sent(10)[0], exchange.sent(20)[0]), (100, 200), "{recovery}");
    }
    keep("no-fault", &exchanges);
}
