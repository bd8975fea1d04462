//! What loads and is probably not meant: the full text of warnings.

use cellwind_scenario::{Loaded, load, parse};

fn with(name: &str, pairs: &[(&str, &str)]) -> Loaded {
    let sets: Vec<_> = pairs.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    load(name, &sets).unwrap()
}

/// The warnings of the ready-made download over RLC with other values.
fn rlc(pairs: &[(&str, &str)]) -> Vec<String> {
    with("umts-rlc-384", pairs).warnings
}

/// Those that do not say what a rate is in effect: other modes of RLC have other headers, and other payloads.
fn of_packets(mut warnings: Vec<String>) -> Vec<String> {
    warnings.retain(|warning| !warning.contains(" in effect: "));
    warnings
}

#[test]
fn packets_that_cannot_pass_are_told_with_what_is_too_small() {
    let passing = |pairs: &[(&str, &str)]| of_packets(rlc(pairs));
    let one_pdu = "in transparent mode without `segmentation` a packet has one PDU, of 42 B (TS 25.322 §9.2.2.9)";
    let not_through =
        |why: &str| [format!("flow.download: packets of 1.5 kB do not get through access.umts down: {why}")];
    assert_eq!(passing(&[("access.umts.rlc", "tm")]), not_through(one_pdu));
    // 384 kbit/s for 10 ms are 12 PDUs of 40 B.
    let one_tti = "in transparent mode a packet has the PDUs of one TTI, 480 B together (TS 25.322 §9.2.2.9)";
    let segmented = [("access.umts.rlc", "{ type = 'tm', segmentation = true }"), ("access.umts.pdu", "40 B")];
    let mss = ("flow.download.transport.mss", "440 B");
    assert_eq!(passing(&segmented), not_through(one_tti));
    assert_eq!(passing(&[&segmented[..], &[mss]].concat()), [""; 0], "440 B and 40 B of headers fit");
    assert_eq!(passing(&[("access.umts.down.rlc.buffer", "1499 B")]), not_through("`rlc.buffer` has 1499 B"));
    assert_eq!(passing(&[("access.umts.rlc.queue", "1 kB")]), not_through("`rlc.queue` has 1 kB"));
    assert_eq!(passing(&[("access.umts.down.rlc.buffer", "1500 B")]), [""; 0]);
    // What the other direction carries are acknowledgements.
    assert_eq!(passing(&[("access.umts.up.rlc.buffer", "100 B")]), [""; 0]);
    let block_arq = with("umts-384", &[("access.umts.queue", "1 kB")]).warnings;
    assert_eq!(block_arq, not_through("`queue` has 1 kB"));
    let slow = passing(&[("access.umts.cell", "{ capacity = '100 bit/s' }")]);
    assert_eq!(
        slow,
        [
            "flow.download: a packet of 1.5 kB takes 2 min at the 100 bit/s that access.umts carries down (`cell.capacity`)"
        ]
    );
}

#[test]
fn a_live_run_sends_packets_of_the_mtu() {
    let text = "[access.umts]\nextends = 'umts-rlc-384'\nrlc = { type = 'um', queue = '1 kB' }\n";
    let loaded = parse(text, "live", &[]).unwrap();
    let told = |way| format!("live: packets of 1.5 kB do not get through access.umts {way}: `rlc.queue` has 1 kB");
    assert_eq!(of_packets(loaded.warnings), [told("down"), told("up")]);
}

#[test]
fn compression_that_finds_no_headers_is_told() {
    let pdcp = |method: &str| ("access.umts.pdcp", format!("{{ header = true, compression = '{method}' }}"));
    let of = |name, method| {
        let (path, value) = pdcp(method);
        with(name, &[(path, &value)])
    };
    let idle = |what: &str| [format!("access.umts.pdcp.compression: {what}, which no flow here has")];
    assert_eq!(of("umts-rlc-384", "rohc").warnings, idle("`rohc` compresses headers of UDP"));
    assert_eq!(of("umts-rlc-384", "rfc1144").warnings, [""; 0]);
    let text = "[flow.talk]\napplication = 'voip-g729'\ntransport = 'udp'\n[access.umts]\nextends = 'umts-rlc-384'\n";
    let talk = |method: &str| parse(&format!("{text}pdcp = {{ header = true, compression = '{method}' }}"), "t", &[]);
    assert_eq!(talk("rfc1144").unwrap().warnings, idle("`rfc1144` compresses headers of TCP"));
    assert_eq!(talk("rfc2507").unwrap().warnings, [""; 0]);
    assert_eq!(talk("rohc").unwrap().warnings, [""; 0]);
    // Live nothing is compressed, which is told once.
    let live = "access.umts.pdcp.compression: packets of a live run do not show their headers and pass unchanged";
    assert_eq!(talk("rohc").unwrap().live_warnings(), [live]);
    let without_flow = "[access.umts]\nextends = 'umts-rlc-384'\npdcp = { header = true, compression = 'rohc' }";
    let without_flow = parse(without_flow, "live", &[]).unwrap();
    assert_eq!((without_flow.warnings.as_slice(), without_flow.live_warnings().len()), (&[live.to_string()][..], 0));
}

#[test]
fn rates_that_are_no_whole_number_of_pdus_are_told_with_what_they_are() {
    // 100 kbit/s for 10 ms are 125 B, which is 3 PDUs of 40 B; 33 kbit/s for 20 ms are 82 B.
    let down = rlc(&[("access.umts.down.rate", "100 kbit/s")]);
    assert_eq!(down, ["access.umts.down: 100 kbit/s are 96 kbit/s in effect: a TTI of 10 ms has 3 PDUs of 40 B"]);
    let text =
        "[flow.a]\nbulk = '1 MB'\ntransport = 'reno'\n[access.umts]\ntype = 'umts'\nrate = '33 kbit/s'\ntti = '10 ms'";
    let both = parse(text, "both", &[]).unwrap().warnings;
    assert_eq!(both, ["access.umts: 33 kbit/s are 32 kbit/s in effect: a TTI of 10 ms has 1 PDU of 40 B"]);
    assert_eq!(rlc(&[("access.umts.down.rate", "96 kbit/s")]), [""; 0]);
}

#[test]
fn keys_that_the_discard_does_not_look_at_are_told_where_they_were_written() {
    let max_dat =
        "access.umts.rlc: `max_dat` has no effect: it is for the discard by `max-dat` and `reset` (TS 25.322 §9.7.3)";
    let (timer, dat) = (("access.umts.rlc.discard", "timer"), ("access.umts.rlc.max_dat", "5"));
    assert_eq!(rlc(&[timer, dat]), [max_dat]);
    assert_eq!(rlc(&[("access.umts.rlc.discard", "none"), dat]), [max_dat]);
    assert_eq!(rlc(&[timer]), [""; 0], "what the preset has was not chosen here");
    let time = "access.umts.rlc: `discard_timer` has no effect: it is for the discard by `timer` (TS 25.322 §9.7.3)";
    assert_eq!(rlc(&[("access.umts.rlc.discard_timer", "2 s")]), [time]);
    // A scenario written out in full is not blamed for what is as usual.
    let full = with("umts-rlc-384", &[timer]).scenario.to_toml().unwrap();
    assert_eq!(parse(&full, "full", &[]).unwrap().warnings, [""; 0]);
}

#[test]
fn an_event_after_more_than_there_is_never_comes() {
    let event = |after: &str| format!("[{{ after = '{after}', spike = '1 s' }}]");
    let of = |after: &str| with("umts-rlc-384", &[("flow.download.bulk", "1 MB"), ("event", &event(after))]).warnings;
    assert_eq!(of("900 MB"), ["event.0 never comes: the flows of terminal.ue do not bring it 900 MB (`after`)"]);
    assert_eq!(of("1 MB"), [""; 0]);
}

#[test]
fn a_slow_channel_that_is_faster_is_told() {
    let slow = "{ fast_for = '1 s', slow_for = '1 s', slow = { rate = '128 kbit/s', tti = '10 ms' } }";
    let of = |path| rlc(&[(path, slow)]);
    let up = "access.umts.up: the slow channel of `rrc.dch.oscillation`, 128 kbit/s, is faster than the fast one, 64 kbit/s \
              (RFC 3481 §2.7)";
    assert_eq!(of("access.umts.rrc.dch.oscillation"), [up]);
    assert_eq!(of("access.umts.rrc.dch.down.oscillation"), [""; 0]);
}
