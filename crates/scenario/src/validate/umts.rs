//! Checks of the UMTS access.

use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use cellwind_path::settings::QueueLimit;
use cellwind_radio::rlc::settings::{AmSettings, Discard, RlcSettings, Timer};
use cellwind_radio::umts::settings::BearerSettings;

use super::{fit, out_of_range};
use crate::error::{Mistake, ScenarioError};

/// A mistake with the keys below the access of which one is to blame.
pub(super) type Found = (Keys, ScenarioError);
pub(super) type Keys = &'static [&'static [&'static str]];

/// The TTIs of a dedicated channel (TS 25.302 §7.1.6†).
pub(super) const TTIS: [Span; 4] =
    [Span::from_millis(10), Span::from_millis(20), Span::from_millis(40), Span::from_millis(80)];
/// The least period of polls and of status reports: each is an event of its own, and a TTI sends one at most.
const LEAST_PERIOD: Span = TTIS[0];
/// The largest packet that usually comes, to which windows are compared.
const USUAL_PACKET: u64 = 1_500;

/// Checks both directions of a bearer.
pub fn modes(down: &BearerSettings, up: &BearerSettings) -> Result<(), Found> {
    let acknowledges = |bearer: &BearerSettings| matches!(bearer.rlc, RlcSettings::Am(_));
    if acknowledges(down) == acknowledges(up) {
        return Ok(());
    }
    let message = "acknowledged mode in one direction needs it in the other, where its status reports go";
    let error = ScenarioError::new(Mistake::Conflict, message)
        .allowed("am in both directions, or in neither (TS 25.322 §4.2.1.3)");
    Err((&[&["rlc", "type"]], error))
}

/// Checks one direction of a bearer.
pub fn bearer(bearer: &BearerSettings) -> Result<(), Found> {
    if !TTIS.contains(&bearer.tti) {
        let error = out_of_range(bearer.tti, "10 ms, 20 ms, 40 ms or 80 ms (TS 25.302)");
        return Err((&[&["tti"]], error));
    }
    let (smallest, largest) = bearer.rlc.pdu_sizes();
    if !(smallest..=largest).contains(&bearer.pdu) {
        let allowed = format!("{smallest} to {largest} in this mode of RLC (TS 25.322 §9.2)");
        return Err((&[&["pdu"]], out_of_range(bearer.pdu, &allowed)));
    }
    if bearer.format().is_none() {
        let capacity = bearer.rate.size_in(bearer.tti);
        let header = bearer.rlc.header_octets();
        let payload = Size::from_bytes(bearer.pdu.as_bytes() - header);
        let error = ScenarioError::new(Mistake::PduTooLarge, "the PDU does not fit into a TTI")
            .found(format!("a PDU of {} with {payload} of payload", bearer.pdu))
            .allowed(format!(
                "at most {capacity} of payload besides {header} B of header, since {} for {} carry no more \
                 (TS 25.302)",
                bearer.rate, bearer.tti
            ));
        return Err((&[&["pdu"], &["rate"], &["tti"]], error));
    }
    match &bearer.rlc {
        RlcSettings::Am(settings) => {
            holds(settings.queue, settings.buffer)?;
            am(settings)
        }
        RlcSettings::Um(settings) => holds(settings.queue, None),
        RlcSettings::Tm(settings) => holds(settings.queue, None),
    }
}

fn holds(queue: QueueLimit, buffer: Option<Size>) -> Result<(), Found> {
    fit::queue(queue).map_err(|error| -> Found { (&[&["rlc", "queue"]], error) })?;
    buffer.map_or(Ok(()), fit::buffer).map_err(|error| -> Found { (&[&["rlc", "buffer"]], error) })
}

fn least_one(keys: Keys, value: u64, clause: &str) -> Result<(), Found> {
    match value {
        0 => Err((keys, out_of_range(0, &format!("a whole number of at least 1 ({clause})")))),
        _ => Ok(()),
    }
}

fn takes_time(keys: Keys, span: Span, clause: &str) -> Result<(), Found> {
    match span.is_zero() {
        true => Err((keys, out_of_range(span, &format!("a time above 0 s ({clause})")))),
        false => Ok(()),
    }
}

/// TS 25.331 §10.3.4.4 and §10.3.4.1†: both periods begin at 100 ms; shorter ones are allowed here.
fn periodic(keys: Keys, timer: Timer, name: &str) -> Result<(), Found> {
    match timer {
        Timer::Of(period) if period < LEAST_PERIOD => {
            let allowed = format!("\"none\", or at least {LEAST_PERIOD}, the shortest TTI (TS 25.322 §9.5, {name})");
            Err((keys, out_of_range(period, &allowed)))
        }
        _ => Ok(()),
    }
}

fn am(am: &AmSettings) -> Result<(), Found> {
    const WINDOW: &str = "a whole number of PDUs from 1 to 4095 (TS 25.322 §9.6)";
    if !(1..=4095).contains(&am.window) {
        return Err((&[&["rlc", "window"]], out_of_range(am.window, WINDOW)));
    }
    if !(1..=4095).contains(&am.receive_window) {
        return Err((&[&["rlc", "receive_window"]], out_of_range(am.receive_window, WINDOW)));
    }
    if am.window > am.receive_window {
        let message =
            "the transmitter may send PDUs that the receiver's window does not take, and nobody asks for them again";
        let error = ScenarioError::new(Mistake::Conflict, message)
            .found(format!("a window of {} PDUs over one of {}", am.window, am.receive_window))
            .allowed("`window` at most as large as `receive_window` (TS 25.322 §9.6)");
        return Err((&[&["rlc", "window"], &["rlc", "receive_window"]], error));
    }
    least_one(&[&["rlc", "max_dat"]], am.max_dat.into(), "TS 25.322 §9.6, MaxDAT")?;
    least_one(&[&["rlc", "max_mrw"]], am.max_mrw.into(), "TS 25.322 §9.6, MaxMRW")?;
    least_one(&[&["rlc", "max_rst"]], am.max_rst.into(), "TS 25.322 §9.6, MaxRST")?;
    takes_time(&[&["rlc", "discard_timer"]], am.discard_timer, "TS 25.322 §9.5, Timer_Discard")?;
    takes_time(&[&["rlc", "timer_mrw"]], am.timer_mrw, "TS 25.322 §9.5, Timer_MRW")?;
    takes_time(&[&["rlc", "timer_rst"]], am.timer_rst, "TS 25.322 §9.5, Timer_RST")?;
    periodic(&[&["rlc", "poll", "periodic"]], am.poll.periodic, "Timer_Poll_Periodic")?;
    periodic(&[&["rlc", "status", "periodic"]], am.status.periodic, "Timer_Status_Periodic")?;
    least_one(&[&["rlc", "poll", "every_pdus"]], am.poll.every_pdus.unwrap_or(1).into(), "TS 25.322 §9.6, Poll_PDU")?;
    least_one(&[&["rlc", "poll", "every_sdus"]], am.poll.every_sdus.unwrap_or(1).into(), "TS 25.322 §9.6, Poll_SDU")?;
    if let Some(window) = am.status.window
        && !(1..=4095).contains(&window)
    {
        let allowed = "a whole number of PDUs from 1 to 4095 (TS 25.322 §9.2.2.11.3)";
        return Err((&[&["rlc", "status", "window"]], out_of_range(window, allowed)));
    }
    match am.poll.window {
        Some(percent) if !(1..=100).contains(&percent) => {
            let allowed = "a whole number of per cent from 1 to 100 (TS 25.322 §9.6, Poll_Window)";
            Err((&[&["rlc", "poll", "window"]], out_of_range(percent, allowed)))
        }
        _ => Ok(()),
    }
}

/// What is allowed in one direction of a bearer, and will hardly be meant.
pub fn warnings(bearer: &BearerSettings) -> Vec<String> {
    let RlcSettings::Am(am) = &bearer.rlc else { return Vec::new() };
    let AmSettings { poll, status, .. } = am;
    let polls = poll.last_pdu
        || poll.last_retransmitted_pdu
        || poll.every_pdus.is_some()
        || poll.every_sdus.is_some()
        || poll.window.is_some()
        || poll.periodic != Timer::None;
    let mut warnings = Vec::new();
    let payload = bearer.pdu.as_bytes().saturating_sub(bearer.rlc.header_octets());
    let window = u64::from(am.window.min(am.receive_window)) * payload;
    let of_window = match window < USUAL_PACKET {
        true => format!("a window of {window} B, less than a packet of {USUAL_PACKET} B, stays shut"),
        false => "the window stays shut once it is full".into(),
    };
    if !polls && status.periodic == Timer::None {
        let reports = match status.missing_pdu {
            true => "the receiver reports only when it sees a gap",
            false => "nothing makes the receiver report",
        };
        warnings.push(format!("{reports} and the transmitter never polls: {of_window} (TS 25.322 §9.7.1, §9.7.2)"));
    } else if !am.never_stands_still() {
        warnings.push(
            "the bearer may stand still when a poll is lost, until it is repeated by `poll.timer` (with `last_pdu` and \
             `last_retransmitted_pdu`) or `poll.periodic` (TS 25.322 §9.7.1; Teyeb, appendix C)"
                .into(),
        );
    }
    if status.periodic.span().is_some_and(|period| period <= bearer.tti) {
        warnings.push(format!(
            "`status.periodic` is not longer than a TTI of {}: reports go before data, which may find no room \
             (TS 25.322 §11.5.1)",
            bearer.tti
        ));
    }
    if let (Timer::Of(prohibit), Timer::Of(timer)) = (status.prohibit, poll.timer)
        && prohibit > timer
    {
        warnings.push(format!(
            "`status.prohibit` of {prohibit} is longer than `poll.timer` of {timer}: polls are repeated before their answer \
             may leave (TS 25.322 §9.5, Timer_Status_Prohibit and Timer_Poll)"
        ));
    }
    warnings
}

/// Keys of one direction, of those written for this scenario, that the discard of SDUs does not look at.
pub fn idle_keys(bearer: &BearerSettings, is_own: impl Fn(&str) -> bool) -> Vec<String> {
    let RlcSettings::Am(am) = &bearer.rlc else { return Vec::new() };
    let usual = AmSettings::default();
    let (by_number, by_time) = (matches!(am.discard, Discard::MaxDat | Discard::Reset), am.discard == Discard::Timer);
    // A scenario that was written out in full has them all; what is as usual there was not chosen.
    let keys = [
        ("max_dat", !by_number && am.max_dat != usual.max_dat, "`max-dat` and `reset`"),
        ("discard_timer", !by_time && am.discard_timer != usual.discard_timer, "`timer`"),
    ];
    let idle = keys.into_iter().filter(|&(key, is_idle, _)| is_idle && is_own(key));
    idle.map(|(key, _, of)| format!("`{key}` has no effect: it is for the discard by {of} (TS 25.322 §9.7.3)"))
        .collect()
}
