//! Recovery by selective acknowledgements (RFC 6675), on the scoreboard of [`Board`](crate::tcp::board::Board).

use cellwind_engine::machine::Outbox;
use cellwind_engine::time::Time;

use super::scoreboard::{Next, Repair, lose_by_runs, send_in_open};
use super::{Ack, LossRecovery, Timer};
use crate::tcp::core::Core;
use crate::tcp::settings::{DuplicateAcks, Rescue, SackPartialAck, SackSettings};

#[derive(Clone, Debug)]
pub(crate) struct Sack {
    repair: Repair,
    duplicate_acks: DuplicateAcks,
    rescue: Rescue,
    partial_ack: SackPartialAck,
    /// RecoveryPoint of the last loss that proved to be none.
    spurious_until: u64,
}

impl Sack {
    pub fn new(settings: &SackSettings) -> Self {
        Sack {
            repair: Repair::new(settings.reduction),
            duplicate_acks: settings.duplicate_acks,
            rescue: settings.rescue,
            partial_ack: settings.partial_ack,
            spurious_until: 0,
        }
    }

    /// IsLost(HighACK + 1).
    fn front_is_lost(core: &Core) -> bool {
        core.board.at(core.snd_una).is_some_and(|segment| segment.lost && !segment.sacked)
    }

    /// §5 (C), with NextSeg (§4): rules 1 to 4 in their order.
    fn fill_pipe(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        let rescue = self.rescue;
        self.repair.fill_pipe(core, now, out, |repair, core| {
            let hole = repair.next_hole(core);
            if let Some((start, true)) = hole {
                return Some(Next::Resend(start));
            }
            if core.can_send_new() {
                return Some(Next::New);
            }
            if let Some((start, false)) = hole {
                return Some(Next::Resend(start));
            }
            let may_rescue = rescue == Rescue::On && repair.may_rescue(core);
            core.board.last_missing().filter(|_| may_rescue).map(|segment| Next::Rescue(segment.start))
        });
    }

    /// Whether a partial ACK resends SND.UNA whatever the pipe says (Gurtov and Ludwig 2003 §III.A).
    fn partial_ack_resends(&self, core: &Core) -> bool {
        match self.partial_ack {
            SackPartialAck::Pipe => false,
            SackPartialAck::Resend => true,
            SackPartialAck::ResendUntilRecoveryPoint => core.snd_una < self.spurious_until,
        }
    }
}

impl LossRecovery for Sack {
    fn on_duplicate_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) {
        self.repair.note(core);
        lose_by_runs(core);
        if self.repair.is_recovering() {
            self.repair.on_ack(core, now);
            self.fill_pipe(core, now, out);
            return;
        }
        if ack.newly_sacked == 0 && self.duplicate_acks == DuplicateAcks::WithNewSack {
            return; // §2: only an ACK with new SACK information counts as duplicate
        }
        core.duplicate_acks += 1;
        let is_lost = core.duplicate_acks >= core.dup_thresh || Self::front_is_lost(core) || core.retransmits_early();
        if self.repair.may_begin(core) && is_lost {
            self.repair.begin(core, false, now, out);
            self.fill_pipe(core, now, out);
        } else if core.duplicate_acks < core.dup_thresh {
            core.limited_transmit(now, out); // §5 (3)
        }
    }

    fn on_new_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) -> Timer {
        self.repair.note(core);
        lose_by_runs(core);
        if !self.repair.is_recovering() {
            core.grow(ack.acked, now);
            if self.repair.may_begin(core) && core.retransmits_early() {
                self.repair.begin(core, false, now, out); // RFC 5827 §4.1 (A): the ACK before the hole was delayed
                self.fill_pipe(core, now, out);
            }
        } else if core.snd_una >= self.repair.recovery_point {
            self.repair.end(core, now); // §5 (A)
        } else {
            self.repair.on_ack(core, now);
            if self.partial_ack_resends(core) {
                self.repair.resend(core, core.snd_una, now, out); // in the pipe as every other
            }
            self.fill_pipe(core, now, out);
        }
        Timer::Restart
    }

    fn on_timeout(&mut self, core: &mut Core, _: Time) {
        self.repair.on_timeout(core);
    }

    fn on_spurious(&mut self, core: &mut Core) {
        self.spurious_until = self.repair.recovery_point;
        self.repair.abandon(core);
    }

    fn send(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        if !self.repair.is_recovering() {
            send_in_open(core, now, out);
        }
    }

    fn resume(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        match self.repair.is_recovering() {
            true => self.fill_pipe(core, now, out),
            false => send_in_open(core, now, out),
        }
    }

    fn is_recovering(&self) -> bool {
        self.repair.is_recovering()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::settings::TcpSettings;
    use cellwind_engine::packet::FlowId;
    use cellwind_engine::units::Size;

    /// A core with `count` segments of `length` bytes in flight, where a full segment has 100.
    fn core(count: u64, length: u64) -> Core {
        let mut core = Core::new(&TcpSettings { mss: Size::from_bytes(100), ..TcpSettings::default() }, FlowId(0));
        (0..count).for_each(|n| core.board.push(1 + n * length, 1 + (n + 1) * length, Time::ZERO));
        (core.snd_una, core.snd_nxt, core.snd_max) = (1, 1 + count * length, 1 + count * length);
        core
    }

    fn lost(core: &mut Core) -> Vec<u64> {
        lose_by_runs(core);
        core.board.iter().filter(|segment| segment.lost).map(|segment| segment.start).collect()
    }

    #[test]
    fn loss_needs_more_than_two_segments_of_sacked_data_above() {
        let mut core = core(8, 100);
        core.board.mark_sacked(201, 401, |_| {});
        assert_eq!(lost(&mut core), [0; 0]);
        core.board.mark_sacked(401, 501, |_| {});
        assert_eq!(lost(&mut core), [1, 101]);
    }

    #[test]
    fn loss_needs_three_separate_runs_when_they_are_short() {
        let mut core = core(8, 10);
        core.board.mark_sacked(11, 21, |_| {});
        core.board.mark_sacked(31, 41, |_| {});
        assert_eq!(lost(&mut core), [0; 0]);
        core.board.mark_sacked(51, 61, |_| {});
        assert_eq!(lost(&mut core), [1]);
    }

    #[test]
    fn what_is_sacked_decides_as_the_definition_does_for_each_segment() {
        // RFC 6675 §4, IsLost, segment by segment, for blocks in any order.
        for seed in 0..200_u64 {
            let mut core = core(30, 100);
            for step in 0..25 {
                let first = (seed * 7919 + step * step * 104_729 + step * 31) % 30;
                let after = first + 1 + (seed + step) % 2;
                core.board.mark_sacked(1 + first * 100, 1 + after * 100, |_| {});
                let is_sacked: Vec<bool> = core.board.iter().map(|segment| segment.sacked).collect();
                let is_lost = |place: usize| {
                    let above = &is_sacked[place..];
                    let runs = above.windows(2).filter(|pair| !pair[0] && pair[1]).count();
                    let bytes = 100 * above.iter().filter(|&&sacked| sacked).count();
                    !is_sacked[place] && (runs >= 3 || bytes > 200)
                };
                let expected: Vec<u64> = (0..30).filter(|&n| is_lost(n)).map(|n| 1 + 100 * n as u64).collect();
                lose_by_runs(&mut core);
                let holes = core.board.iter().filter(|segment| segment.lost && !segment.sacked);
                assert_eq!(holes.map(|segment| segment.start).collect::<Vec<_>>(), expected);
            }
        }
    }
}
