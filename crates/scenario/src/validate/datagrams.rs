//! Checks of the transports over UDP that control their rate, and of what they can carry.

use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use cellwind_transport::atp::settings::{AtpCongestion, AtpSettings};
use cellwind_transport::carrier::Protocol;
use cellwind_transport::tfrc::settings::TfrcSettings;

use super::out_of_range;
use crate::error::{Mistake, ScenarioError};
use crate::model::Bulk;

/// The largest IPv4 packet (RFC 791 §3.1).
const LARGEST_PACKET: u64 = 65_535;
/// IP header at its longest, that of UDP, and what a transport adds (RFC 791 §3.1, RFC 768).
const LARGEST_HEADER: u64 = 128;
/// IPv4 and UDP.
const SMALLEST_HEADER: u64 = 28;

/// A mistake with the key below the flow that is to blame.
type Found = (&'static [&'static str], ScenarioError);

/// Checks the settings of TFRC.
pub fn tfrc(tfrc: &TfrcSettings) -> Result<(), Found> {
    packet(&["transport", "segment"], tfrc.segment, tfrc.header)?;
    takes_time(&["transport", "longest_interval"], tfrc.longest_interval)
}

/// Checks the settings of ATP.
pub fn atp(atp: &AtpSettings) -> Result<(), Found> {
    packet(&["transport", "fragment"], atp.fragment, atp.header)?;
    if atp.ack_every == 0 {
        return Err((&["transport", "ack_every"], out_of_range(0, "a whole number of at least 1")));
    }
    if atp.congestion == AtpCongestion::Tfrc && (atp.ack_every, atp.ack_timer) != by_default() {
        let message =
            "under TFRC an acknowledgement leaves once per round trip, and `ack_every` and `ack_timer` do nothing";
        let error = ScenarioError::new(Mistake::Conflict, message).allowed("congestion = \"aimd\", or neither of them");
        return Err((&["transport", "ack_every"], error));
    }
    takes_time(&["transport", "ack_timer"], atp.ack_timer)?;
    takes_time(&["transport", "initial_rto"], atp.initial_rto)
}

/// Checks that a plain transfer over this transport comes to an end, and keeps within a rate.
pub fn bulk(bulk: Bulk, protocol: &Protocol) -> Result<(), Found> {
    let conflict = |message: &str, allowed: &str| {
        let error = ScenarioError::new(Mistake::Conflict, message).found(protocol.word()).allowed(allowed);
        Err((&["bulk"] as &'static [&'static str], error))
    };
    match (protocol, bulk) {
        (Protocol::Tfrc(_), Bulk::Limited(_)) => conflict(
            "TFRC repairs nothing, so that nobody knows when an amount of data has arrived",
            "bulk = \"unlimited\" together with `stop_at`, or transport = \"atp\"",
        ),
        (Protocol::Atp(atp), _) if atp.congestion == AtpCongestion::Off => conflict(
            "a plain transfer has no rate of its own, and with `congestion = \"off\"` this transport has none either",
            "congestion = \"aimd\" or \"tfrc\", or an application with a rate, such as cbr or news",
        ),
        (Protocol::Atp(atp), Bulk::Limited(_)) if !atp.retransmit => conflict(
            "without retransmissions the first loss gives a plain transfer up",
            "retransmit = true, or an application with smaller messages, such as cbr or news",
        ),
        _ => Ok(()),
    }
}

fn by_default() -> (u32, Span) {
    let atp = AtpSettings::default();
    (atp.ack_every, atp.ack_timer)
}

fn packet(keys: &'static [&'static str], payload: Size, header: Size) -> Result<(), Found> {
    if !(SMALLEST_HEADER..=LARGEST_HEADER).contains(&header.as_bytes()) {
        let allowed = format!("{} to {}", Size::from_bytes(SMALLEST_HEADER), Size::from_bytes(LARGEST_HEADER));
        return Err((&["transport", "header"], out_of_range(header, &allowed)));
    }
    let most = LARGEST_PACKET - LARGEST_HEADER;
    if payload == Size::ZERO || payload.as_bytes() > most {
        return Err((keys, out_of_range(payload, &format!("1 B to {}", Size::from_bytes(most)))));
    }
    Ok(())
}

fn takes_time(keys: &'static [&'static str], span: Span) -> Result<(), Found> {
    if span.is_zero() { Err((keys, out_of_range("0 s", "a time above 0 s"))) } else { Ok(()) }
}
