//! What a capture holds, sent again: sizes and times, not contents.

use std::sync::Arc;

use cellwind_engine::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scheduled::Piece;

/// Replays one sender's packets of a capture: as many payload bytes at the same times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceSettings {
    /// A pcap or pcapng file; its path is relative to the scenario file.
    pub file: String,
    /// Address of the sender whose packets are replayed; by default the one that sent the most payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// The packets, from the time of the first.
    #[serde(skip)]
    pub pieces: Arc<[(Span, u64)]>,
}

impl TraceSettings {
    pub(crate) fn schedule(&self) -> Replay {
        Replay { pieces: self.pieces.clone(), next: 0 }
    }
}

/// The packets yet to come.
#[derive(Clone, Debug)]
pub struct Replay {
    pieces: Arc<[(Span, u64)]>,
    next: usize,
}

impl Iterator for Replay {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let &(at, bytes) = self.pieces.get(self.next)?;
        self.next += 1;
        Some(Piece { at, bytes, lifetime: None })
    }
}
