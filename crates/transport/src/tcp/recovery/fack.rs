//! Recovery by forward acknowledgement (M. Mathis and J. Mahdavi, "Forward acknowledgement: refining TCP congestion
//! control", SIGCOMM 1996).
//!
//! SND.FACK is the forward-most data that the receiver holds. All that is missing below it counts as lost, so that the
//! data in the network is known to be `awnd = snd.nxt − snd.fack + retran_data`: on the scoreboard this is the pipe, with
//! that rule of loss. On a path that reorders, the rule is wrong, and Linux leaves it there.

use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::Packet;
use cellwind_engine::time::Time;

use super::scoreboard::{Next, Repair, lose_by_runs, send_in_open};
use super::{Ack, LossRecovery, Timer};
use crate::tcp::board::Segment;
use crate::tcp::core::Core;
use crate::tcp::settings::{FackSettings, Reordering};

/// The highest DupThresh that reordering may lead to (Linux 2.4, TCP_MAX_REORDERING).
const MOST_REORDERING: u64 = 127;

#[derive(Clone, Debug)]
pub(crate) struct Fack {
    repair: Repair,
    overdamping: bool,
    reordering: Reordering,
    /// SND.FACK after the last ACK.
    forward: u64,
    /// Start of the lowest segment below `forward` that arrived late by its first transmission, since the last ACK.
    late: Option<u64>,
    /// Reordering was seen: what is missing below SND.FACK need not be lost (Linux 2.4, tcp_update_reordering).
    is_reordered: bool,
}

impl Fack {
    pub fn new(settings: &FackSettings) -> Self {
        Fack {
            repair: Repair::new(settings.reduction),
            overdamping: settings.overdamping,
            reordering: settings.reordering,
            forward: 0,
            late: None,
            is_reordered: false,
        }
    }

    /// Moves SND.FACK and judges what is below.
    fn note(&mut self, core: &mut Core) {
        self.repair.note(core);
        // After a timeout segments come late by the timeout's doing, not by the path's.
        if let Some(start) =
            self.late.take().filter(|_| core.snd_una >= self.repair.recovery_point || self.is_recovering())
        {
            let distance = core.forward_most().saturating_sub(start).div_ceil(core.mss).min(MOST_REORDERING) as u32;
            if distance > core.dup_thresh {
                core.dup_thresh = distance;
                self.is_reordered = true;
            }
        }
        self.forward = core.forward_most();
        if self.is_reordered {
            lose_by_runs(core);
        } else if self.is_recovering() {
            core.lose_below(self.forward);
        }
    }

    /// Whether a loss is found: more than DupThresh segments lie between SND.UNA and SND.FACK, or so many duplicate ACKs
    /// have come (§3.2).
    fn finds_loss(&self, core: &Core) -> bool {
        if core.duplicate_acks >= core.dup_thresh || core.retransmits_early() {
            return true;
        }
        if self.is_reordered {
            return core.board.at(core.snd_una).is_some_and(|segment| segment.lost && !segment.sacked);
        }
        self.forward - core.snd_una > u64::from(core.dup_thresh) * core.mss
    }

    fn begin(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        if !self.is_reordered {
            core.lose_below(self.forward);
        }
        // Slow start has overshot by a whole window, so that the half is halved.
        let halved_again = self.overdamping && core.windows.cwnd <= core.windows.ssthresh;
        self.repair.begin(core, halved_again, now, out);
    }

    fn fill_pipe(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        self.repair.fill_pipe(core, now, out, |repair, core| match repair.next_hole(core) {
            Some((start, true)) => Some(Next::Resend(start)),
            _ => core.can_send_new().then_some(Next::New),
        });
    }
}

impl LossRecovery for Fack {
    fn on_delivered(&mut self, segment: &Segment, _: &Packet, _: Time) {
        if self.reordering == Reordering::Adaptive && segment.transmissions == 1 && segment.end < self.forward {
            self.late = Some(self.late.map_or(segment.start, |late| late.min(segment.start)));
        }
    }

    fn on_duplicate_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) {
        self.note(core);
        if self.is_recovering() {
            self.repair.on_ack(core, now);
            self.fill_pipe(core, now, out);
            return;
        }
        if ack.newly_sacked == 0 {
            return; // RFC 6675 §2: without new SACK information it tells of nothing that left the network
        }
        core.duplicate_acks += 1;
        if self.repair.may_begin(core) && self.finds_loss(core) {
            self.begin(core, now, out);
            self.fill_pipe(core, now, out);
        } else if core.duplicate_acks < core.dup_thresh {
            core.limited_transmit(now, out);
        }
    }

    fn on_new_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) -> Timer {
        self.note(core);
        if !self.is_recovering() {
            core.grow(ack.acked, now);
            if self.repair.may_begin(core) && core.retransmits_early() {
                self.begin(core, now, out); // RFC 5827 §4.1 (A): the ACK before the hole was delayed
                self.fill_pipe(core, now, out);
            }
        } else if core.snd_una >= self.repair.recovery_point {
            self.repair.end(core, now);
        } else {
            self.repair.on_ack(core, now);
            self.fill_pipe(core, now, out);
        }
        Timer::Restart
    }

    fn on_timeout(&mut self, core: &mut Core, _: Time) {
        self.repair.on_timeout(core);
        (self.forward, self.late) = (core.snd_una, None);
    }

    fn on_spurious(&mut self, core: &mut Core) {
        self.repair.abandon(core);
    }

    fn send(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        if !self.is_recovering() {
            send_in_open(core, now, out);
        }
    }

    fn resume(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        match self.is_recovering() {
            true => self.fill_pipe(core, now, out),
            false => send_in_open(core, now, out),
        }
    }

    fn is_recovering(&self) -> bool {
        self.repair.is_recovering()
    }
}
