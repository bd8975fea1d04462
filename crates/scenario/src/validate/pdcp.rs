//! Checks of PDCP.

use cellwind_radio::pdcp::settings::{Compression, PdcpSettings};

use super::out_of_range;
use super::umts::Found;
use crate::error::{Mistake, ScenarioError};

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
