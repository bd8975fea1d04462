//! The kernel's TCP at the ends, from the scenario and from words.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use cellwind_scenario::model::Kernel;

use crate::ends::KernelTcp;

/// The smallest buffer of a socket, one page, and what it begins with (tcp(7)).
const SMALLEST_BUFFER: u32 = 4096;
const FIRST_RECEIVE_BUFFER: u32 = 131_072;
const FIRST_SEND_BUFFER: u32 = 16_384;

/// A setting that the kernel's TCP does not have, or a value that it cannot take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongSetting {
    key: String,
    value: String,
    expected: String,
}

impl fmt::Display for WrongSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel setting {} = {:?}: expected {}", self.key, self.value, self.expected)
    }
}

impl std::error::Error for WrongSetting {}

/// Reads the value of one setting.
type Read = fn(&mut KernelTcp, &str) -> Option<()>;

/// The settings by their names, what a value looks like, and how it is read.
const SETTINGS: &[(&str, &str, Read)] = &[
    ("congestion_control", "a name such as cubic", |kernel, value| set(&mut kernel.congestion_control, value)),
    ("initial_window", SEGMENTS, |kernel, value| set(&mut kernel.initial_window, value)),
    ("mss", BYTES, |kernel, value| set(&mut kernel.mss, value)),
    ("window", BYTES, |kernel, value| set(&mut kernel.window, value)),
    ("rto_min", r#"a time such as "200 ms""#, |kernel, value| {
        let span: Span = value.parse().ok()?;
        kernel.rto_min = Some(Duration::from_nanos(span.as_nanos()));
        Some(())
    }),
    ("quickack", FLAG, |kernel, value| flag(&mut kernel.quickack, value)),
    ("sack", FLAG, |kernel, value| flag(&mut kernel.sack, value)),
    ("timestamps", FLAG, |kernel, value| flag(&mut kernel.timestamps, value)),
    ("dsack", FLAG, |kernel, value| flag(&mut kernel.dsack, value)),
    ("frto", FLAG, |kernel, value| flag(&mut kernel.frto, value)),
    ("recovery", "bits from 0 to 7", |kernel, value| set(&mut kernel.recovery, value)),
    ("early_retrans", FLAG, |kernel, value| flag(&mut kernel.early_retrans, value)),
    ("reordering", SEGMENTS, |kernel, value| set(&mut kernel.reordering, value)),
    ("rmem", SIZE, |kernel, value| size(&mut kernel.rmem, value, FIRST_RECEIVE_BUFFER)),
    ("wmem", SIZE, |kernel, value| size(&mut kernel.wmem, value, FIRST_SEND_BUFFER)),
    ("slow_start_after_idle", FLAG, |kernel, value| flag(&mut kernel.slow_start_after_idle, value)),
];

const FLAG: &str = "true or false";
const SEGMENTS: &str = "a number of segments";
const BYTES: &str = "a number of bytes";
const SIZE: &str = r#"a size such as "64 KiB""#;

/// The settings of a scenario with others, by name and value, put over them.
pub fn kernel_tcp(scenario: &Kernel, others: &[(String, String)]) -> Result<KernelTcp, WrongSetting> {
    let mut kernel = KernelTcp {
        congestion_control: scenario.congestion_control.clone(),
        initial_window: scenario.initial_window,
        sack: scenario.sack,
        timestamps: scenario.timestamps,
        dsack: scenario.dsack,
        frto: scenario.frto,
        recovery: scenario.recovery,
        early_retrans: scenario.early_retrans,
        rmem: scenario.rmem.map(|most| buffer(most, FIRST_RECEIVE_BUFFER)),
        wmem: scenario.wmem.map(|most| buffer(most, FIRST_SEND_BUFFER)),
        ..KernelTcp::default()
    };
    for (key, value) in others {
        let wrong = |expected: String| WrongSetting { key: key.clone(), value: value.clone(), expected };
        let names = || SETTINGS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
        let setting = SETTINGS.iter().find(|(name, ..)| name == key);
        let (_, expected, read) = setting.ok_or_else(|| wrong(format!("one of the keys {}", names())))?;
        read(&mut kernel, value).ok_or_else(|| wrong(expected.to_string()))?;
    }
    Ok(kernel)
}

fn set<T: FromStr>(setting: &mut Option<T>, value: &str) -> Option<()> {
    *setting = Some(value.parse().ok()?);
    Some(())
}

fn flag(setting: &mut Option<bool>, value: &str) -> Option<()> {
    *setting = Some(match value {
        "true" | "1" => true,
        "false" | "0" => false,
        _ => return None,
    });
    Some(())
}

fn size(setting: &mut Option<[u32; 3]>, value: &str, first: u32) -> Option<()> {
    let most: Size = value.parse().ok()?;
    *setting = Some(buffer(most, first));
    Some(())
}

/// Smallest, initial and largest buffer.
fn buffer(most: Size, first: u32) -> [u32; 3] {
    let most = u32::try_from(most.as_bytes()).unwrap_or(i32::MAX as u32).min(i32::MAX as u32);
    [SMALLEST_BUFFER.min(most), first.min(most), most]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_over_the_scenario() {
        let scenario = Kernel { sack: Some(true), congestion_control: Some("reno".into()), ..Kernel::default() };
        let others = [("sack", "0"), ("rto_min", "200 ms"), ("rmem", "64 KiB"), ("initial_window", "2")];
        let others = others.map(|(key, value)| (key.to_string(), value.to_string()));
        let kernel = kernel_tcp(&scenario, &others).unwrap();
        let expected = KernelTcp {
            congestion_control: Some("reno".into()),
            sack: Some(false),
            rto_min: Some(Duration::from_millis(200)),
            rmem: Some([4096, 65_536, 65_536]),
            initial_window: Some(2),
            ..KernelTcp::default()
        };
        assert_eq!(kernel, expected);
    }

    #[test]
    fn a_wrong_word_is_said() {
        let wrong = |key: &str, value: &str| {
            kernel_tcp(&Kernel::default(), &[(key.into(), value.into())]).unwrap_err().to_string()
        };
        assert_eq!(wrong("sack", "maybe"), r#"kernel setting sack = "maybe": expected true or false"#);
        let unknown = wrong("sac", "1");
        assert!(
            unknown.starts_with(r#"kernel setting sac = "1": expected one of the keys congestion_control, "#),
            "{unknown}"
        );
    }
}
