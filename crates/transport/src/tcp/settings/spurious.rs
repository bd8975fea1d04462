//! Settings of the detection of spurious timeouts and of the response to them.

use schemars::JsonSchema;
use serde::Serialize;

/// How a spurious timeout is noticed and answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum SpuriousSettings {
    /// Every timeout is taken for a loss (RFC 5681).
    Off,
}
