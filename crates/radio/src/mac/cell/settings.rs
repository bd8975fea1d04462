//! Settings of a cell and of a terminal's place in it.

use cellwind_engine::directions::Direction;
use cellwind_engine::distribution::SpanDistribution;
use cellwind_engine::time::Span;
use cellwind_engine::units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mac::scheduler::settings::{Discipline, PriorityLevel};

/// The capacity that the terminals of a cell share (Teyeb, section 2.3.1.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellSettings {
    /// What the cell carries down when all goes to a terminal with a good C/I; counts the payload of RLC.
    pub capacity: Rate,
    /// The same for the other direction; by default as much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_capacity: Option<Rate>,
    /// Who gets how much.
    #[serde(default)]
    pub scheduler: Discipline,
    /// How often the capacity is shared out.
    #[serde(default = "CellSettings::default_tti")]
    pub tti: Span,
    /// The Eb/N0 that a bearer needs: with all of the cell's power, a terminal has the chip rate of 3.84 Mchip/s times
    /// its C/I over this, and at most the capacity.
    #[serde(default = "CellSettings::default_eb_n0")]
    pub eb_n0: Decibels,
    /// A dedicated channel is set up only while the cell could give this bit rate to all that are there, in each direction;
    /// a terminal that may not have it takes it from those with a lower priority (`arp`). Absent admits all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guaranteed: Option<Rate>,
    /// Calls that come and go and are served before all data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<CallSettings>,
}

impl CellSettings {
    fn default_tti() -> Span {
        Span::from_millis(10) // the shortest of TS 25.302 §7.1.6†, so that it divides all others
    }

    fn default_eb_n0() -> Decibels {
        Decibels(5.0) // Holma, Toskala: "WCDMA for UMTS"†, packet data in the downlink
    }

    /// What the cell carries in a direction.
    pub fn capacity(&self, direction: Direction) -> Rate {
        match direction {
            Direction::Down => self.capacity,
            Direction::Up => self.uplink_capacity.unwrap_or(self.capacity),
        }
    }

    /// The bit rate of a terminal that has the whole cell, in bit/s.
    ///
    /// Eb/N0 = (W / R) · C/I, so that R = W · (C/I) / (Eb/N0).
    pub fn alone(&self, radio: &RadioSettings, direction: Direction) -> f64 {
        let capacity = self.capacity(direction).as_bps() as f64;
        let Some(c_to_i) = radio.c_to_i else { return capacity };
        let rate = CHIP_RATE * Decibels(c_to_i.0 - self.eb_n0.0).ratio();
        rate.min(capacity)
    }
}

/// Chips per second (TS 25.201 §4.2.2†).
const CHIP_RATE: f64 = 3_840_000.0;

/// Calls with a fixed bit rate, in both directions. One that finds the cell full is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallSettings {
    /// From one call to the next, and until the first.
    pub interval: SpanDistribution,
    /// How long a call lasts.
    pub duration: SpanDistribution,
    /// What a call takes of the capacity.
    #[serde(default = "CallSettings::default_rate")]
    pub rate: Rate,
}

impl CallSettings {
    fn default_rate() -> Rate {
        Rate::from_bps(12_200).expect("not zero") // TS 26.071†: the highest rate of AMR speech
    }
}

/// How a terminal stands in its cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RadioSettings {
    /// Carrier to interference ratio with all of the cell's power; none is good enough for all of the capacity.
    pub c_to_i: Option<Decibels>,
    /// Traffic handling priority, 1 before 2 before 3; none is the background class, which comes last.
    pub thp: Option<u8>,
    /// Allocation/retention priority, 1 before all others up to 15, which is also that of those without.
    pub arp: Option<u8>,
}

impl RadioSettings {
    /// Traffic handling priority.
    pub fn priority(&self) -> PriorityLevel {
        self.thp.map_or(PriorityLevel::Background, |thp| PriorityLevel::ALL[usize::from(thp.clamp(1, 3)) - 1])
    }

    /// Takes the value of one key over from `other`.
    pub fn adopt(&mut self, key: &str, other: &Self) {
        match key {
            "c_to_i" => self.c_to_i = other.c_to_i,
            "thp" => self.thp = other.thp,
            "arp" => self.arp = other.arp,
            _ => {}
        }
    }

    /// Allocation/retention priority; a smaller number comes first.
    pub fn retention(&self) -> u8 {
        self.arp.unwrap_or(15) // TS 25.413 §9.2.1.3: no priority; the values are those of TS 36.423 §9.2.31, which took them over
    }
}

/// A ratio of powers in decibels, between -200 and 200.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Decibels(f64);

impl Decibels {
    /// So many decibels; `None` when they are out of range.
    pub fn new(decibels: f64) -> Option<Self> {
        // Adding zero turns -0 into 0, which is written without a sign.
        (-200.0..=200.0).contains(&decibels).then_some(Decibels(decibels + 0.0))
    }

    /// Decibels.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The ratio itself.
    pub fn ratio(self) -> f64 {
        10f64.powf(self.0 / 10.0)
    }
}
