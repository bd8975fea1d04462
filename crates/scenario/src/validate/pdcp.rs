//! Checks of PDCP.

use cellwind_radio::pdcp::settings::{Compression, PdcpSettings};

use super::umts::Found;
use super::warnings::visits;
use super::{fit, out_of_range};
use crate::error::{Mistake, ScenarioError};
use crate::model::{Access, Protocol, Scenario};

/// Checks the settings of PDCP.
pub fn pdcp(pdcp: &PdcpSettings) -> Result<(), Found> {
    if !pdcp.header && pdcp.compression != Compression::None {
        let message = "header compression needs the PDCP header, whose PID tells its packets apart";
        let error = ScenarioError::new(Mistake::Conflict, message)
            .found("`header` is false")
            .allowed("header = true, or compression = \"none\" (TS 25.323 §5.1.1)");
        return Err((&[&["pdcp", "compression"], &["pdcp", "header"]], error));
    }
    match &pdcp.compression {
        Compression::None => Ok(()),
        Compression::Rfc1144(settings) => number("slots", settings.slots.into(), 1, 256, "RFC 1144 §5.1"),
        Compression::Rfc2507(settings) => {
            number("tcp_space", settings.tcp_space.into(), 0, 255, "numbers of one octet, RFC 2507 §5.3")?;
            number("non_tcp_space", settings.non_tcp_space.into(), 0, 255, "numbers of one octet, RFC 2507 §5.3")?;
            number("f_max_period", settings.f_max_period, 1, 65_535, "RFC 2507 §14")?;
            match settings.f_max_time.is_zero() {
                false => Ok(()),
                true => Err((of("f_max_time"), out_of_range(settings.f_max_time, "a time above 0 s (RFC 2507 §14)"))),
            }
        }
        Compression::Rohc(settings) => {
            number("max_cid", settings.max_cid.into(), 1, 15, "numbers of one octet, RFC 3095 §5.2.1")?;
            number("repeats", settings.repeats, 1, 1_000, "RFC 3095 §5.3.1.1.1")?;
            number("ir_period", settings.ir_period, 1, 1_000_000, "RFC 3095 §5.3.1.1.2")?;
            number("fo_period", settings.fo_period, 1, 1_000_000, "RFC 3095 §5.3.1.1.2")?;
            number("failures", settings.failures, 1, 1_000, "RFC 3095 §5.3.2.2.3")
        }
    }
}

/// Compression that has nothing to compress.
pub fn warnings(scenario: &Scenario) -> Vec<String> {
    if scenario.flow.is_empty() {
        return live_warnings(scenario);
    }
    let idle = |(name, method): (&str, &Compression)| {
        let mut flows = scenario.flow.values().filter(|flow| visits(scenario, scenario.terminal_of(flow), name));
        if flows.any(|flow| compresses(method, &flow.transport.protocol)) {
            return None;
        }
        let (word, headers) = match method {
            Compression::None => return None,
            Compression::Rfc1144(_) => ("rfc1144", "TCP"),
            Compression::Rfc2507(_) => ("rfc2507", "TCP and UDP"),
            Compression::Rohc(_) => ("rohc", "UDP"),
        };
        Some(format!(
            "access.{name}.pdcp.compression: `{word}` compresses headers of {headers}, which no flow here has"
        ))
    };
    compressing(scenario).filter_map(idle).collect()
}

/// Compression in a live run, where it has nothing to compress.
pub fn live_warnings(scenario: &Scenario) -> Vec<String> {
    let idle = |(name, _)| {
        format!("access.{name}.pdcp.compression: packets of a live run do not show their headers and pass unchanged")
    };
    compressing(scenario).map(idle).collect()
}

/// The accesses with header compression.
fn compressing(scenario: &Scenario) -> impl Iterator<Item = (&str, &Compression)> {
    scenario.access.iter().filter_map(|(name, access)| match access {
        Access::Umts(umts) if umts.shared.pdcp.compression != Compression::None => {
            Some((name.as_str(), &umts.shared.pdcp.compression))
        }
        _ => None,
    })
}

/// Whether a method of compression knows the headers of a transport.
fn compresses(method: &Compression, protocol: &Protocol) -> bool {
    let is_tcp = matches!(protocol, Protocol::Tcp(_));
    let is_whole = fit::header(protocol) >= if is_tcp { 40 } else { 28 }; // RFC 791, RFC 9293, RFC 768
    is_whole
        && match method {
            Compression::None => false,
            Compression::Rfc1144(_) => is_tcp,
            Compression::Rfc2507(_) => true,
            Compression::Rohc(_) => !is_tcp,
        }
}

fn number(key: &'static str, value: u32, least: u32, most: u32, clause: &str) -> Result<(), Found> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => {
            let allowed = format!("a whole number from {least} to {most} ({clause})");
            Err((of(key), out_of_range(value, &allowed)))
        }
    }
}

/// The path of a key of the compression.
fn of(key: &'static str) -> super::umts::Keys {
    match key {
        "slots" => &[&["pdcp", "compression", "slots"]],
        "tcp_space" => &[&["pdcp", "compression", "tcp_space"]],
        "non_tcp_space" => &[&["pdcp", "compression", "non_tcp_space"]],
        "f_max_period" => &[&["pdcp", "compression", "f_max_period"]],
        "f_max_time" => &[&["pdcp", "compression", "f_max_time"]],
        "max_cid" => &[&["pdcp", "compression", "max_cid"]],
        "repeats" => &[&["pdcp", "compression", "repeats"]],
        "ir_period" => &[&["pdcp", "compression", "ir_period"]],
        "fo_period" => &[&["pdcp", "compression", "fo_period"]],
        _ => &[&["pdcp", "compression", "failures"]],
    }
}
