//! Eifel detection (RFC 3522): the first ACK of new data echoes the timestamp of the original, or of the
//! retransmission.

use cellwind_engine::packet::Flags;

use super::{Detect, Finding, Reaction, Seen, echoes_original};
use crate::tcp::settings::{EifelSettings, LostAcks};

#[derive(Clone, Debug)]
pub(super) struct Eifel {
    lost_acks: LostAcks,
    /// An ACK has reported a duplicate before: the receiver knows D-SACK.
    peer_reports_duplicates: bool,
}

impl Eifel {
    pub fn new(settings: &EifelSettings) -> Self {
        Eifel { lost_acks: settings.lost_acks, peer_reports_duplicates: false }
    }

    /// RFC 3522 §3.2 (5): an ACK of everything may be the first to arrive of many, and the reaction a timely one.
    fn is_doubtful(&self, seen: &Seen) -> bool {
        let reports_duplicate = seen.packet.flags.has(Flags::D_SACK);
        reports_duplicate || (seen.packet.ack == seen.snd_max && !self.peer_reports_duplicates)
    }
}

impl Detect for Eifel {
    fn observe(&mut self, seen: &Seen) {
        self.peer_reports_duplicates |= seen.packet.flags.has(Flags::D_SACK);
    }

    fn judge(&mut self, reaction: &Reaction, seen: &Seen) -> Finding {
        let doubtful = self.lost_acks == LostAcks::Necessary && self.is_doubtful(seen);
        if !seen.is_new {
            return Finding::Undecided; // RFC 3522 §3.2 (3): the first acceptable ACK
        }
        if echoes_original(seen.packet, reaction.retransmit_ts) && !doubtful {
            Finding::Spurious // §3.2 (4), (6)
        } else {
            Finding::Necessary
        }
    }
}
