//! Linux's detection (tcp_input.c): timestamps, D-SACK and F-RTO, whichever tells first.
//!
//! `tcp_packet_delayed` is Eifel's test, on every ACK while the repair lasts; `undo_retrans` counts what D-SACK has
//! still to report; F-RTO asks whether an original is acknowledged (`tcp_process_loss`). Teyeb (2007, 6.1.3) measured Linux 2.4 without
//! F-RTO.

use super::d_sack::{self, DSack};
use super::f_rto::{self, FRto};
use super::{Cause, Detect, Finding, Reaction, Seen, echoes_original};
use crate::tcp::settings::LinuxUndoSettings;

#[derive(Clone, Debug)]
pub(super) struct Linux {
    d_sack: DSack,
    f_rto: Option<FRto>,
    repeated_timeouts: bool,
}

impl Linux {
    pub fn new(settings: &LinuxUndoSettings, sack: bool) -> Self {
        Linux {
            d_sack: DSack::new(d_sack::Rule::Linux),
            f_rto: settings.f_rto.then(|| FRto::new(if sack { f_rto::Rule::Originals } else { f_rto::Rule::Basic })),
            repeated_timeouts: settings.repeated_timeouts,
        }
    }
}

impl Detect for Linux {
    fn begin(&mut self, reaction: &Reaction, snd_una: u64) {
        self.d_sack.begin(reaction, snd_una);
        if let Some(f_rto) = self.f_rto.as_mut().filter(|_| reaction.cause == Cause::Timeout) {
            f_rto.begin(reaction, snd_una);
        }
    }

    fn judge(&mut self, reaction: &Reaction, seen: &Seen) -> Finding {
        if reaction.is_repeated && !self.repeated_timeouts {
            return Finding::Undecided; // `undo_marker` is cleared
        }
        if seen.is_new && echoes_original(seen.packet, reaction.retransmit_ts) {
            return Finding::Spurious;
        }
        let by_d_sack = self.d_sack.judge(reaction, seen);
        if by_d_sack == Finding::Spurious {
            return by_d_sack;
        }
        let f_rto = self.f_rto.as_mut().filter(|_| reaction.cause == Cause::Timeout);
        match f_rto.map(|f_rto| f_rto.judge(reaction, seen)) {
            Some(Finding::Necessary | Finding::Undecided) | None => by_d_sack, // D-SACK may still tell
            Some(finding) => finding,
        }
    }
}
