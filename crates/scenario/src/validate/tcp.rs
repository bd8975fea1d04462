//! Checks of TCP settings.

use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use cellwind_transport::tcp::amount::{PerAck, Window};
use cellwind_transport::tcp::settings::{
    After, AfterMark, AfterSpurious, BandwidthFilter, BugFix, CongestionSettings, CubicSettings, EarlyRetransmit,
    FRtoVariant, GuardedAcks, LinuxUndoSettings, Pacing, Probe, PrrBound, RackSettings, RaiseMinimumSettings,
    RecoverySettings, ReductionSettings, Response, RestartOnDuplicateAck, SlowStartExit, SlowStartSettings,
    SpuriousSettings, TcpSettings, VegasSettings,
};

use super::out_of_range;
use crate::error::{Mistake, ScenarioError};

/// Bytes that the timestamps option takes from each segment (RFC 7323 §3.2, appendix A: 10, padded to 12).
const TIMESTAMPS_BYTES: u64 = 12;
/// The largest payload of an IPv4 packet with plain headers (RFC 791 §3.1: total length of 16 bits).
const LARGEST_MSS: u64 = 65_535 - 40;
/// IP and TCP headers at their longest, 60 bytes each (RFC 791 §3.1, RFC 9293 §3.1).
const LARGEST_HEADER: u64 = 120;
/// The largest window that scaling can express (RFC 7323 §2.3).
const LARGEST_WINDOW: u64 = 1 << 30;
/// The largest window without scaling (RFC 7323 §2).
const LARGEST_PLAIN_WINDOW: u64 = 65_535;

/// Keys below `transport`.
type Keys = &'static [&'static str];

/// A mistake, with the values that may be to blame.
type Found = (&'static [Keys], ScenarioError);

/// Refuses values that do not go together.
fn conflict(keys: &'static [Keys], message: &str) -> Result<(), Found> {
    Err((keys, ScenarioError::new(Mistake::Conflict, message)))
}

/// Checks the settings of one connection.
pub fn check(tcp: &TcpSettings) -> Result<(), Found> {
    sizes(tcp)?;
    counts(tcp)?;
    timers(tcp)?;
    match &tcp.congestion {
        CongestionSettings::Cubic(settings) => cubic(settings)?,
        CongestionSettings::Westwood(settings) => westwood(settings.filter)?,
        CongestionSettings::Vegas(settings) => vegas(settings, tcp)?,
        CongestionSettings::Aimd(aimd) if aimd.after_mark == AfterMark::Abe && !tcp.ecn => {
            let keys: &[Keys] = &[&["congestion", "after_mark"], &["ecn"]];
            return conflict(keys, "ABE answers marks, which need `ecn = true`");
        }
        CongestionSettings::Bbr | CongestionSettings::BbrV3 if tcp.ecn => {
            let message = "BBR does not answer marks: leave `ecn` off, or choose another `congestion`";
            return conflict(&[&["ecn"], &["congestion"]], message);
        }
        CongestionSettings::Bbr
        | CongestionSettings::BbrV3
        | CongestionSettings::Aimd(_)
        | CongestionSettings::Veno(_) => {}
    }
    let needs_sack = matches!(
        tcp.recovery,
        RecoverySettings::Sack(_)
            | RecoverySettings::Fack(_)
            | RecoverySettings::Rack(_)
            | RecoverySettings::RenoSack(_)
    );
    if needs_sack && !tcp.sack {
        let message = "recovery by SACK needs a receiver that sends it: `sack = true`";
        let error = ScenarioError::new(Mistake::Conflict, message).note("without SACK, preset `newreno` comes nearest");
        return Err((&[&["recovery"], &["sack"]], error));
    }
    if matches!(tcp.recovery, RecoverySettings::Rack(_)) && tcp.limited_transmit {
        let message =
            "recovery `rack` sends as much new data as SACK reports gone, and has no use for Limited Transmit";
        return conflict(&[&["limited_transmit"], &["recovery"]], message);
    }
    if let RecoverySettings::Rack(rack) = &tcp.recovery
        && rack.tail_probe == Probe::Off
        && rack.max_ack_delay != RackSettings::default().max_ack_delay
    {
        let message = "`max_ack_delay` is for the probe of the tail: `tail_probe = \"on\"`";
        return conflict(&[&["recovery", "max_ack_delay"], &["recovery", "tail_probe"]], message);
    }
    duplicate_acks(tcp)?;
    if tcp.d_sack && !tcp.sack {
        return conflict(&[&["d_sack"], &["sack"]], "D-SACK is a kind of SACK and needs `sack = true`");
    }
    spurious(tcp)?;
    if !(1..=4).contains(&tcp.sack_blocks) {
        return Err((&[&["sack_blocks"]], out_of_range(tcp.sack_blocks, "1 to 4")));
    }
    faults(tcp)?;
    if tcp.sack_blocks != 4 && !tcp.sack {
        return conflict(
            &[&["sack_blocks"], &["sack"]],
            "there are no SACK blocks without `sack = true`, as in the preset `sack`",
        );
    }
    if !tcp.echo_duplicates && !tcp.timestamps {
        let why = "no timestamp is echoed without `timestamps = true`, as in the preset `newreno-eifel`";
        return conflict(&[&["echo_duplicates"], &["timestamps"]], why);
    }
    if tcp.delayed_ack.quick > 0 && tcp.delayed_ack.every == 1 {
        let keys: &[Keys] = &[&["delayed_ack", "quick"], &["delayed_ack", "every"]];
        return conflict(keys, "every ACK leaves at once: `quick` is for delayed ACKs, with `every` of 2 or more");
    }
    model_based(tcp)?;
    if tcp.slow_start.exit == SlowStartExit::HystartPlusPlus && tcp.initial_ssthresh.is_some() {
        let keys: &[Keys] = &[&["slow_start", "exit"], &["initial_ssthresh"]];
        return conflict(keys, "HyStart++ works only where no threshold is known yet (RFC 9406 §4.3)");
    }
    Ok(())
}

/// What duplicate ACKs may do beside starting a recovery.
fn duplicate_acks(tcp: &TcpSettings) -> Result<(), Found> {
    let guarded = match &tcp.recovery {
        RecoverySettings::Reno(reno) => (reno.guarded_acks, reno.bug_fix),
        RecoverySettings::Newreno(newreno) => (newreno.guarded_acks, newreno.bug_fix),
        _ => (GuardedAcks::Ignore, BugFix::Off),
    };
    if guarded.0 != GuardedAcks::Ignore && guarded.1 == BugFix::Off {
        let keys: &[Keys] = &[&["recovery", "guarded_acks"], &["recovery", "bug_fix"]];
        let why =
            "no duplicate ACK is kept from starting a fast retransmit: `bug_fix` must be `careful` or `less-careful`";
        return conflict(keys, why);
    }
    if tcp.early_retransmit != EarlyRetransmit::Off
        && matches!(tcp.recovery, RecoverySettings::Rack(_) | RecoverySettings::Vegas(_))
    {
        let why = "Early Retransmit lowers DupThresh, by which this recovery does not judge: `rack` has `recovery.tail_probe`, \
                   `vegas` its fine timeouts; the preset `sack` nearest takes it";
        return conflict(&[&["early_retransmit"], &["recovery"]], why);
    }
    let keys: &[Keys] = &[&["rto", "restart_on_duplicate_ack"], &["recovery"]];
    match (tcp.rto.restart_on_duplicate_ack, &tcp.recovery) {
        (RestartOnDuplicateAck::Never, _)
        | (RestartOnDuplicateAck::Always, RecoverySettings::Tahoe(_) | RecoverySettings::Rack(_)) => {}
        (RestartOnDuplicateAck::UpToDupThresh, RecoverySettings::Rack(_)) => {
            return conflict(keys, "recovery `rack` counts no duplicate ACKs: `never` or `always`");
        }
        (RestartOnDuplicateAck::UpToDupThresh, _) => {}
        (RestartOnDuplicateAck::Always, _) => {
            // Gurtov 2001, P4 §4.3: must not be combined
            let why = "this recovery sends new segments on duplicate ACKs above DupThresh, whose duplicate ACKs would restart the \
                       timer for ever when a retransmission is lost: `up-to-dup-thresh`, or a recovery that sends none \
                       (`tahoe`) or finds lost retransmissions (`rack`)";
            return conflict(keys, why);
        }
    }
    if tcp.rto.ignore_duplicate_acks && matches!(tcp.recovery, RecoverySettings::Rack(_)) {
        let keys: &[Keys] = &[&["rto", "ignore_duplicate_acks"], &["recovery"]];
        return conflict(
            keys,
            "recovery `rack` learns from every ACK which segments are lost: set `ignore_duplicate_acks = false`",
        );
    }
    Ok(())
}

/// BBR sets window and pace by its own model, which it builds from what SACK reports.
fn model_based(tcp: &TcpSettings) -> Result<(), Found> {
    if !matches!(tcp.congestion, CongestionSettings::Bbr | CongestionSettings::BbrV3) {
        if tcp.pacing == Pacing::ByAlgorithm {
            let message = "this congestion control sets no pace: `pacing = \"by-window\"`, or the preset `bbr`";
            return conflict(&[&["pacing"], &["congestion"]], message);
        }
        return Ok(());
    }
    if tcp.pacing != Pacing::ByAlgorithm {
        return conflict(&[&["pacing"], &["congestion"]], "BBR sends at its own pace: `pacing = \"by-algorithm\"`");
    }
    let knows_each_segment = !matches!(
        tcp.recovery,
        RecoverySettings::Tahoe(_)
            | RecoverySettings::Reno(_)
            | RecoverySettings::Newreno(_)
            | RecoverySettings::Vegas(_)
    );
    if !knows_each_segment {
        let message =
            "BBR needs to know of each segment when it is delivered: a recovery by SACK, as in the preset `bbr`";
        return conflict(&[&["recovery"], &["congestion"]], message);
    }
    if matches!(&tcp.recovery, RecoverySettings::Rack(rack) if rack.prr != PrrBound::default()) {
        let message =
            "BBR has its own answer to a loss, and `prr` none beside it: leave it out, as in the preset `bbr`";
        return conflict(&[&["recovery", "prr"], &["congestion"]], message);
    }
    let reduces = match &tcp.recovery {
        RecoverySettings::Sack(sack) => sack.reduction != ReductionSettings::AtOnce,
        RecoverySettings::Fack(fack) => fack.reduction != ReductionSettings::AtOnce || fack.overdamping,
        _ => false,
    };
    if reduces {
        let message = "BBR has its own answer to a loss, which `reduction` and `overdamping` would undo: \
                       `reduction = \"at-once\"` without `overdamping`, or recovery `rack`, as in the preset `bbr`";
        return conflict(&[&["recovery", "reduction"], &["recovery", "overdamping"], &["recovery"]], message);
    }
    if tcp.slow_start != SlowStartSettings::default() {
        let message = "BBR starts in its own way: settings of slow start have no effect";
        return conflict(&[&["slow_start"], &["congestion"]], message);
    }
    if tcp.initial_ssthresh.is_some() {
        return conflict(&[&["initial_ssthresh"], &["congestion"]], "BBR has no slow start threshold");
    }
    Ok(())
}

/// Emulated faults, which not every part can have.
fn faults(tcp: &TcpSettings) -> Result<(), Found> {
    if !(1..=100).contains(&tcp.faults.rto_percent) {
        return Err((&[&["faults", "rto_percent"]], out_of_range(tcp.faults.rto_percent, "1 to 100")));
    }
    if !tcp.faults.resend_all {
        return Ok(());
    }
    if matches!(tcp.recovery, RecoverySettings::Rack(_)) {
        let why = "recovery `rack` knows after a timeout what has arrived, and sends nothing else again: `resend_all` needs a \
                   recovery that goes back, as in the preset `freebsd-4.1`";
        return conflict(&[&["faults", "resend_all"], &["recovery"]], why);
    }
    if tcp.pacing != Pacing::Off {
        let why = "segments with a pace are not sent again all at once: `pacing = \"off\"`";
        return conflict(&[&["faults", "resend_all"], &["pacing"]], why);
    }
    match tcp.spurious {
        SpuriousSettings::FRto(_) | SpuriousSettings::Linux(LinuxUndoSettings { f_rto: true, .. }) => {
            let why = "F-RTO sends one segment again and then new ones, not everything at once: `spurious = \"off\"`";
            conflict(&[&["faults", "resend_all"], &["spurious"]], why)
        }
        _ => Ok(()),
    }
}

fn sizes(tcp: &TcpSettings) -> Result<(), Found> {
    let mss = tcp.mss.as_bytes();
    let options = if tcp.timestamps { TIMESTAMPS_BYTES } else { 0 };
    if mss <= options || mss > LARGEST_MSS {
        let least = Size::from_bytes(options + 1);
        let error = out_of_range(tcp.mss, &format!("{least} to {}", Size::from_bytes(LARGEST_MSS)));
        let why = format!("timestamps take {} of each segment", Size::from_bytes(options));
        return Err((&[&["mss"], &["timestamps"]], if options > 0 { error.note(why) } else { error }));
    }
    if tcp.header > Size::from_bytes(LARGEST_HEADER) {
        let allowed = format!("0 B to {}", Size::from_bytes(LARGEST_HEADER));
        return Err((&[&["header"]], out_of_range(tcp.header, &allowed)));
    }
    let window = tcp.receive_window.bytes(mss);
    if window < mss || window > LARGEST_WINDOW {
        let allowed = format!("one full segment ({}) to {}", tcp.mss, Size::from_bytes(LARGEST_WINDOW));
        return Err((&[&["receive_window"], &["mss"]], out_of_range(tcp.receive_window, &allowed)));
    }
    match tcp.initial_ssthresh {
        Some(ssthresh) if ssthresh.bytes(mss) < mss => {
            let allowed = format!("at least one full segment ({})", tcp.mss);
            Err((&[&["initial_ssthresh"], &["mss"]], out_of_range(ssthresh, &allowed)))
        }
        _ => Ok(()),
    }
}

fn counts(tcp: &TcpSettings) -> Result<(), Found> {
    let counts: [(&'static [Keys], u32); 3] = [
        (&[&["dup_thresh"]], tcp.dup_thresh),
        (&[&["delayed_ack", "every"]], tcp.delayed_ack.every),
        (&[&["rto", "attempts"]], tcp.rto.attempts),
    ];
    match counts.into_iter().find(|(_, count)| *count == 0) {
        Some((keys, count)) => Err((keys, out_of_range(count, "a whole number of at least 1"))),
        None => Ok(()),
    }
}

fn timers(tcp: &TcpSettings) -> Result<(), Found> {
    let (rto, zero) = (&tcp.rto, Span::ZERO);
    let positive: [(&'static [Keys], Span); 5] = [
        (&[&["timestamp_clock"]], tcp.timestamp_clock),
        (&[&["rto", "initial"]], rto.initial),
        (&[&["rto", "maximum"]], rto.maximum),
        (&[&["rto", "granularity"]], rto.granularity),
        (&[&["delayed_ack", "timer"]], if tcp.delayed_ack.every > 1 { tcp.delayed_ack.timer } else { rto.maximum }),
    ];
    if let Some((keys, span)) = positive.into_iter().find(|(_, span)| *span == zero) {
        return Err((keys, out_of_range(span, "a time above 0 s")));
    }
    let bounded: [(&'static [Keys], &str, Span); 2] = [
        (&[&["rto", "minimum"], &["rto", "maximum"]], "minimum", rto.minimum),
        (&[&["rto", "initial"], &["rto", "maximum"]], "initial", rto.initial),
    ];
    if let Some((keys, name, span)) = bounded.into_iter().find(|(.., span)| *span > rto.maximum) {
        let message = format!("`rto.{name}` must not be above `rto.maximum`");
        let error = ScenarioError::new(Mistake::Conflict, message)
            .found(format!("`rto.{name}` is {span} and `rto.maximum` is {}", rto.maximum));
        return Err((keys, error));
    }
    Ok(())
}

/// What a detector needs of the connection, and a response of its detector.
fn spurious(tcp: &TcpSettings) -> Result<(), Found> {
    let (after, response) = match tcp.spurious {
        SpuriousSettings::Off if tcp.rto.after_spurious != AfterSpurious::Standard => {
            let why = "nothing tells a spurious timeout: choose a detector, such as `spurious = \"eifel\"` with `timestamps = true`";
            return conflict(&[&["rto", "after_spurious"], &["spurious"]], why);
        }
        SpuriousSettings::Off => return Ok(()),
        SpuriousSettings::Eifel(_) if !tcp.timestamps => {
            let why =
                "Eifel detection compares timestamps and needs `timestamps = true`; the preset `newreno-eifel` has it";
            return conflict(&[&["spurious"], &["timestamps"]], why);
        }
        SpuriousSettings::Eifel(eifel) => (eifel.after, eifel.response),
        SpuriousSettings::DSack(_) if !tcp.d_sack => {
            let why = "detection by D-SACK needs a receiver that reports duplicates: `d_sack = true`, as in the preset `sack`";
            return conflict(&[&["spurious"], &["d_sack"]], why);
        }
        SpuriousSettings::DSack(d_sack) => (d_sack.after, d_sack.response),
        SpuriousSettings::FRto(f_rto) if f_rto.variant == FRtoVariant::Sack && !tcp.sack => {
            let why =
                "this F-RTO reads SACK blocks and needs `sack = true`, as in the preset `sack`; `basic` does without";
            return conflict(&[&["spurious", "variant"], &["sack"], &["spurious"]], why);
        }
        SpuriousSettings::FRto(f_rto) => (After::Timeouts, f_rto.response),
        SpuriousSettings::MinimumRtt(minimum) if !(0.01..=1.0).contains(&minimum.fraction) => {
            return Err((&[&["spurious", "fraction"]], out_of_range(minimum.fraction, "0.01 to 1")));
        }
        SpuriousSettings::MinimumRtt(minimum) => (After::Timeouts, minimum.response),
        SpuriousSettings::Linux(linux) if !(tcp.timestamps || tcp.d_sack || linux.f_rto) => {
            let why = "Linux detects by timestamps, D-SACK or F-RTO, and has none of them: `timestamps = true`, `d_sack = true` \
                       or `f_rto = true`; the preset `sack` has D-SACK";
            return conflict(&[&["spurious"], &["spurious", "f_rto"]], why);
        }
        SpuriousSettings::Linux(linux) => (After::Both, linux.response),
    };
    if after == After::FastRetransmits && tcp.rto.after_spurious != AfterSpurious::Standard {
        let why = "no timeout is judged: `spurious.after` must be `timeouts` or `both`";
        return conflict(&[&["rto", "after_spurious"], &["spurious", "after"]], why);
    }
    if let AfterSpurious::RaiseMinimum(RaiseMinimumSettings { step: Span::ZERO }) = tcp.rto.after_spurious {
        return Err((&[&["rto", "after_spurious", "step"]], out_of_range(Span::ZERO, "a time above 0 s")));
    }
    if response == Response::Rfc4015 && after != After::Timeouts {
        let why = "RFC 4015 answers timeouts only: `after = \"timeouts\"`, or the response `option-1`";
        return conflict(&[&["spurious", "after"], &["spurious", "response"]], why);
    }
    Ok(())
}

fn cubic(cubic: &CubicSettings) -> Result<(), Found> {
    let shares: [(&'static [Keys], f64, f64, f64); 3] = [
        (&[&["congestion", "c"]], cubic.c, 0.001, 1000.0),
        (&[&["congestion", "beta"]], cubic.beta, 0.1, 0.99),
        // RFC 9438 §4.2: never more than half a window per round trip
        (&[&["congestion", "growth_before_loss"]], cubic.growth_before_loss, 0.0, 0.5),
    ];
    match shares.into_iter().find(|&(_, value, least, most)| !(least..=most).contains(&value)) {
        Some((keys, value, least, most)) => Err((keys, out_of_range(value, &format!("{least} to {most}")))),
        None => Ok(()),
    }
}

fn westwood(filter: BandwidthFilter) -> Result<(), Found> {
    match filter {
        BandwidthFilter::PerAck(filter) if filter.tau == Span::ZERO => {
            Err((&[&["congestion", "filter", "tau"]], out_of_range(filter.tau, "a time above 0 s")))
        }
        _ => Ok(()),
    }
}

fn vegas(vegas: &VegasSettings, tcp: &TcpSettings) -> Result<(), Found> {
    if vegas.alpha > vegas.beta {
        let keys: &[Keys] = &[&["congestion", "alpha"], &["congestion", "beta"]];
        return conflict(
            keys,
            "Vegas lets the window shrink above `beta` and grow below `alpha`, which must not be larger",
        );
    }
    if tcp.slow_start.exit != SlowStartExit::None {
        let keys: &[Keys] = &[&["slow_start", "exit"], &["congestion"]];
        return conflict(
            keys,
            "Vegas ends slow start by itself, above `congestion.gamma`: `slow_start.exit` must be \"none\"",
        );
    }
    if tcp.slow_start.per_ack != PerAck::default() {
        let keys: &[Keys] = &[&["slow_start", "per_ack"], &["congestion"]];
        return conflict(keys, "Vegas has a slow start of its own: `slow_start.per_ack` must be \"1 segment\"");
    }
    Ok(())
}

/// What is allowed but probably not meant.
pub fn warnings(tcp: &TcpSettings) -> impl Iterator<Item = String> {
    let window = tcp.receive_window.bytes(tcp.mss.as_bytes());
    let cut = (!tcp.window_scaling && window > LARGEST_PLAIN_WINDOW).then(|| {
        let written = match tcp.receive_window {
            Window::Bytes(size) => size.to_string(),
            segments => format!("{segments} ({})", Size::from_bytes(window)),
        };
        format!("receive_window {written} is cut to 65535 B, because window_scaling is off")
    });
    cut.into_iter()
}
