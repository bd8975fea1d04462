//! What the core of a sender does for detectors and responses.

use cellwind_engine::fact::FactKind;
use cellwind_engine::machine::Outbox;
use cellwind_engine::time::Time;

use super::Reaction;
use super::response::Learnt;
use crate::tcp::congestion::Cause;
use crate::tcp::core::{Core, ticks};
use crate::tcp::settings::Response;

impl Core {
    /// A reaction to a supposed loss that begins now, before anything is sent again.
    pub fn reaction(&mut self, cause: Cause, timeouts: u32, was_recovering: bool, now: Time) -> Reaction {
        if timeouts <= 1 {
            self.retransmissions.clear();
        }
        Reaction {
            cause,
            timeouts,
            windows: self.windows,
            flight: self.flight(),
            snd_una: self.snd_una,
            snd_max: self.snd_max,
            first_end: self.board.at(self.snd_una).map_or(self.snd_una, |segment| segment.end),
            is_repeated: cause == Cause::Timeout && self.board.iter().any(|segment| segment.transmissions > 1),
            was_recovering,
            at: now,
            retransmit_ts: self.timestamp_clock().map_or(0, |clock| ticks(now, clock)),
        }
    }

    /// Takes a reaction back that proved spurious, and goes on with new data. `ack` is what the ACK that told of it newly
    /// acknowledges, and whether it echoes a mark of congestion.
    pub fn undo(&mut self, reaction: &Reaction, response: Response, ack: (u64, bool), out: &mut Outbox) {
        let (acked, echoes_mark) = ack;
        self.snd_nxt = self.snd_max; // RFC 4015 §3.1 (8)
        let learnt = Learnt {
            windows: self.windows,
            flight: self.flight(),
            acked,
            initial_window: self.initial_window(),
            mss: self.mss,
        };
        // RFC 4015 §3.1 (9), and Linux, which then forgets `prior_ssthresh`: a mark (RFC 3168 §6.1.2) stands, whatever the
        // response.
        if !echoes_mark {
            self.windows = response.windows(reaction, &learnt);
            if response.restores(reaction) {
                self.congestion.undo();
            }
        }
        if reaction.cause == Cause::Timeout {
            self.rto.on_spurious_timeout(self.sampled, self.snd_max);
        }
        self.counters.reactions_undone += 1;
        let by_timer = u64::from(reaction.cause == Cause::Timeout);
        out.fact(self.fact(FactKind::ReactionUndone).values(u64::from(reaction.timeouts), by_timer));
    }

    /// Sends up to two new segments, whatever the congestion window says, and nothing old (RFC 5682 §2.1 (2b)).
    pub fn probe(&mut self, now: Time, out: &mut Outbox) {
        self.snd_nxt = self.snd_max;
        for _ in 0..2 {
            if self.can_send_new() {
                self.send_new(now, out);
            }
        }
    }

    /// Repairs after all when new segments were sent in vain, by slow start from three (RFC 5682 §2.1 (3a)), and from
    /// SND.UNA if it is to go back.
    pub fn go_back(&mut self, goes_back: bool) {
        self.windows.cwnd = 3 * self.mss;
        if goes_back {
            self.snd_nxt = self.snd_una;
        }
        self.confirm_timeout();
    }

    /// A timeout proved necessary.
    pub fn confirm_timeout(&mut self) {
        self.rto.on_necessary_timeout(self.sampled.is_some());
    }
}
