//! A news ticker: updates at a regular interval, each of which makes the one before worthless (Gurtov, P9 §IV.A).

use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scheduled::Piece;

/// A news ticker (Gurtov, P9 §IV.A): an update at a regular interval, of no use when its lifetime is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NewsSettings {
    /// Size of an update: 5 kB in Gurtov, P9 §IV.A.
    pub update: Size,
    /// From one update to the next: 5 s in Gurtov, P9 §IV.A.
    pub interval: Span,
    /// How long an update is of use; by default until the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Span>,
    /// How many updates there are.
    #[schemars(range(min = 1))]
    pub updates: u32,
}

impl Default for NewsSettings {
    fn default() -> Self {
        // Gurtov, P9 §IV.A; its figure 3 shows ten of them.
        NewsSettings { update: Size::from_bytes(5000), interval: Span::from_secs(5), lifetime: None, updates: 10 }
    }
}

impl NewsSettings {
    /// How long an update is of use.
    pub fn life(&self) -> Span {
        self.lifetime.unwrap_or(self.interval)
    }

    /// Until the last update is of no use any more.
    pub fn length(&self) -> Span {
        self.interval * u64::from(self.updates - 1) + self.life()
    }

    pub(crate) fn schedule(&self) -> Updates {
        Updates { settings: self.clone(), next: 0 }
    }
}

/// The updates yet to come.
#[derive(Clone, Debug)]
pub struct Updates {
    settings: NewsSettings,
    next: u32,
}

impl Iterator for Updates {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let at = self.settings.interval * u64::from(self.next);
        let bytes = self.settings.update.as_bytes();
        self.next += 1;
        (self.next <= self.settings.updates).then_some(Piece { at, bytes, lifetime: Some(self.settings.life()) })
    }
}
