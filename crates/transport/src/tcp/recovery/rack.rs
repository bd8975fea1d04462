//! Recovery by time: RACK finds losses, TLP probes for those at the tail (RFC 8985), and PRR spreads the reduction of
//! the window (RFC 6937).
//!
//! Variables have the names of RFC 8985 §5.3. The scoreboard's queue of transmissions is the list in the order of time
//! that §6.2 recommends.

mod reordering;

use std::collections::BTreeSet;

use cellwind_engine::fact::FactKind;
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::{Flags, Packet};
use cellwind_engine::time::{Span, Time};

use super::reduction::Reduction;
use super::{Ack, LossRecovery, Timer};
use crate::tcp::board::Segment;
use crate::tcp::congestion::Cause;
use crate::tcp::core::{Core, ticks};
use crate::tcp::settings::{Probe, RackSettings};
use reordering::Reordering;

/// PTO while there is no SRTT (§7.2).
const PTO_WITHOUT_SRTT: Span = Span::from_secs(1);

#[derive(Clone, Debug)]
pub(crate) struct Rack {
    reduction: Reduction,
    tail_probe: Probe,
    /// TLP.max_ack_delay.
    max_ack_delay: Span,
    /// Tick of the timestamp clock, when the connection has timestamps.
    clock: Option<Span>,
    phase: Phase,
    /// RACK.xmit_ts and RACK.end_seq, of the segment sent last of all that were delivered; none before the first.
    newest: Option<(Time, u64)>,
    /// RACK.rtt.
    rtt: Span,
    /// The segment sent last among those that the present acknowledgement reports.
    newest_here: Option<(Time, u64)>,
    /// Bytes delivered when the last acknowledgement had been taken.
    delivered: u64,
    reordering: Reordering,
    /// Starts of the segments that were found lost and not sent again since.
    to_resend: BTreeSet<u64>,
    /// The loss probe that no acknowledgement has answered.
    probe: Option<LossProbe>,
    /// Round-trip samples when the last probe was sent; another probe needs a newer one (§7.3).
    samples_at_probe: Option<u64>,
    timer: Option<(Purpose, Time)>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Open,
    /// Fast recovery, until everything below `point` is acknowledged.
    Recovery {
        point: u64,
    },
    /// Recovery after a timeout: the window grows. While F-RTO has doubts about the timeout, nothing is resent.
    AfterTimeout {
        point: u64,
        holds: bool,
    },
}

/// A probe in flight (§5.3).
#[derive(Clone, Copy, Debug)]
struct LossProbe {
    /// TLP.end_seq.
    end_seq: u64,
    /// TLP.is_retrans.
    is_retrans: bool,
    /// FlightSize when it was sent.
    flight: u64,
}

/// What the timer stands for (§5.4); the retransmission timer waits while it runs (§8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// The RACK reordering timer.
    Reordering,
    /// The TLP PTO.
    Probe,
}

/// RACK_sent_after (§6.2).
fn sent_after(first: (Time, u64), second: (Time, u64)) -> bool {
    first > second
}

impl Rack {
    pub fn new(settings: &RackSettings, timestamp_clock: Option<Span>) -> Self {
        Rack {
            reduction: Reduction::proportional(settings.prr),
            tail_probe: settings.tail_probe,
            max_ack_delay: settings.max_ack_delay,
            clock: timestamp_clock,
            phase: Phase::Open,
            newest: None,
            rtt: Span::ZERO,
            newest_here: None,
            delivered: 0,
            reordering: Reordering::default(),
            to_resend: BTreeSet::new(),
            probe: None,
            samples_at_probe: None,
            timer: None,
        }
    }

    /// Whether the timestamp echoed shows that `packet` does not answer the last transmission of `segment` (§6.2 step 2).
    fn answers_earlier(&self, segment: &Segment, packet: &Packet) -> bool {
        let (_, echo) = packet.timestamps;
        let sent = self.clock.filter(|_| packet.flags.has(Flags::TIMESTAMPS) && echo != 0);
        sent.is_some_and(|clock| (echo.wrapping_sub(ticks(segment.sent, clock)) as i32) < 0)
    }

    /// RACK_detect_loss (§6.2 step 5); true if it found any. Arms the timer for what is not yet overdue.
    fn detect_losses(&mut self, core: &mut Core, now: Time) -> bool {
        if self.timer.is_some_and(|(purpose, _)| purpose == Purpose::Reordering) {
            self.timer = None;
        }
        let Some(newest) = self.newest else { return false };
        let is_open = matches!(self.phase, Phase::Open);
        // differs: DupThresh counts in bytes, as IsLost of RFC 6675 §4 does.
        let enough = core.board.sacked_bytes() > u64::from(core.dup_thresh.saturating_sub(1)) * core.mss;
        let reo_wnd = self.reordering.window(!is_open || enough, core.rto.srtt());
        let mut found = false;
        while let Some(segment) = core.board.oldest_transmission() {
            if !sent_after(newest, (segment.sent, segment.end)) {
                break;
            }
            let overdue = segment.sent + self.rtt + reo_wnd;
            if overdue > now {
                // differs: at the instant of the first of them, and not once for all.
                self.timer = Some((Purpose::Reordering, overdue));
                break;
            }
            self.lose(core, &segment);
            found = true;
        }
        found
    }

    fn lose(&mut self, core: &mut Core, segment: &Segment) {
        core.lose(segment);
        self.to_resend.insert(segment.start);
    }

    /// Acts on an acknowledgement after the board has taken it: finds losses, and begins or goes on with recovery.
    fn act(&mut self, core: &mut Core, progress: bool, now: Time, out: &mut Outbox) {
        let delivered = core.delivered - std::mem::replace(&mut self.delivered, core.delivered);
        let found = self.detect_losses(core, now);
        let begins = found && matches!(self.phase, Phase::Open);
        let before = core.windows.cwnd;
        if begins {
            self.enter(core, now, out);
        }
        if matches!(self.phase, Phase::Recovery { .. }) && !core.window_follows_model() {
            match begins {
                true => self.reduction.begin(core, before, delivered),
                false => self.reduction.on_ack(core, delivered, progress && !found, now),
            }
        }
        self.transmit(core, now, out);
    }

    fn enter(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        core.begin_fast_retransmit(now, out);
        self.phase = Phase::Recovery { point: core.snd_max };
        self.forget_probe();
    }

    /// TLP_init (§7.1).
    fn forget_probe(&mut self) {
        self.probe = None;
        if self.timer.is_some_and(|(purpose, _)| purpose == Purpose::Probe) {
            self.timer = None;
        }
    }

    /// Sends the lowest segment found lost again; false when there is none.
    fn resend_next(&mut self, core: &mut Core, now: Time, out: &mut Outbox) -> bool {
        while let Some(start) = self.to_resend.pop_first() {
            let segment = core.board.at(start.max(core.snd_una)).filter(|segment| segment.end > start).copied();
            if let Some(segment) = segment.filter(|segment| segment.lost && !segment.resent && !segment.sacked) {
                core.resend(segment.start, now, out);
                self.reduction.on_sent(segment.length());
                return true;
            }
        }
        false
    }

    /// Sends what the window lets out: first what was lost, then new data.
    fn transmit(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        loop {
            let pipe = core.board.pipe();
            let room = core.windows.cwnd.saturating_sub(pipe);
            // After a timeout the first segment goes whatever else may still be in the network.
            let (after_timeout, holds) = match self.phase {
                Phase::AfterTimeout { holds, .. } => (true, holds),
                Phase::Open | Phase::Recovery { .. } => (false, false),
            };
            let must = after_timeout && self.to_resend.first() == Some(&core.snd_una);
            let may_resend = !self.to_resend.is_empty() && !holds && (room >= core.mss || pipe == 0 || must);
            let fits = core.next_new_length().is_some_and(|length| length <= room || pipe == 0);
            let may_send_new = fits && core.can_send_new();
            if !(may_resend || may_send_new) || !core.pace_allows(now) {
                return;
            }
            if may_resend && self.resend_next(core, now, out) {
                continue;
            }
            if !may_send_new {
                return;
            }
            let before = core.snd_max;
            core.send_new(now, out);
            self.reduction.on_sent(core.snd_max - before);
            self.schedule_probe(core, now);
        }
    }

    /// Schedules a loss probe, where recovery has not begun and nothing is SACKed (§7.2).
    fn schedule_probe(&mut self, core: &Core, now: Time) {
        let is_quiet =
            matches!(self.phase, Phase::Open) && core.board.sacked_bytes() == 0 && core.snd_una < core.snd_max;
        if self.tail_probe == Probe::Off || !is_quiet {
            return;
        }
        // TLP_calc_PTO
        let pto = match core.rto.srtt() {
            Some(srtt) if core.flight() <= core.mss => srtt * 2 + self.max_ack_delay,
            Some(srtt) => srtt * 2,
            None => PTO_WITHOUT_SRTT,
        };
        let due = core.timer.map_or(now + pto, |expiry| (now + pto).min(expiry));
        self.timer = Some((Purpose::Probe, due));
    }

    /// TLP_send_probe (§7.3).
    fn send_probe(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        let samples = core.counters.rtt_samples;
        if self.probe.is_none() && self.samples_at_probe != Some(samples) {
            let is_retrans = !core.can_send_new();
            if is_retrans {
                let last = core.board.last_missing().map(|segment| segment.start);
                last.into_iter().for_each(|start| core.resend(start, now, out));
            } else {
                core.send_new(now, out);
            }
            self.probe = Some(LossProbe { end_seq: core.snd_max, is_retrans, flight: core.flight() });
            self.samples_at_probe = Some(samples);
            out.fact(core.fact(FactKind::TailLossProbe).values(u64::from(is_retrans), 0));
        }
        core.restart_timer(now);
    }

    /// TLP_process_ack (§7.4.2).
    fn judge_probe(&mut self, core: &mut Core, packet: &Packet, acked: u64) {
        let Some(probe) = self.probe.filter(|probe| packet.ack >= probe.end_seq) else { return };
        let mut blocks = packet.sack.iter(packet.ack);
        let d_sack = if packet.flags.has(Flags::D_SACK) { blocks.next() } else { None };
        let is_over = if !probe.is_retrans || d_sack.is_some_and(|(_, end)| end == probe.end_seq) {
            true
        } else if packet.ack > probe.end_seq {
            core.lower_ssthresh_for(Cause::DuplicateAcks, probe.flight); // the probe repaired a loss
            if !core.window_follows_model() {
                core.windows.cwnd = core.reduced;
            }
            true
        } else {
            acked == 0 && packet.sack.is_empty()
        };
        if is_over {
            self.probe = None;
        }
    }

    /// Ends a recovery that is complete.
    fn note_end(&mut self, core: &mut Core, now: Time) {
        let over = match self.phase {
            Phase::Open => false,
            Phase::Recovery { point } | Phase::AfterTimeout { point, .. } => core.snd_una >= point,
        };
        if over {
            if matches!(self.phase, Phase::Recovery { .. }) && !core.window_follows_model() {
                self.reduction.end(core, now);
            }
            self.phase = Phase::Open;
            self.reordering.on_recovered();
        }
    }
}

impl LossRecovery for Rack {
    fn on_delivered(&mut self, segment: &Segment, packet: &Packet, now: Time) {
        let rtt = now - segment.sent;
        let is_resent = segment.transmissions > 1;
        self.reordering.on_delivered(segment.end, is_resent);
        if is_resent && (self.answers_earlier(segment, packet) || self.reordering.is_below_min_rtt(rtt)) {
            return; // it may answer the original
        }
        if !is_resent {
            self.reordering.on_rtt(rtt, now); // §6.2 step 1
        }
        let sent = (segment.sent, segment.end);
        if self.newest_here.is_none_or(|newest| sent_after(sent, newest)) {
            self.newest_here = Some(sent);
            self.rtt = rtt;
        }
        if self.newest.is_none_or(|newest| sent_after(sent, newest)) {
            self.newest = Some(sent);
        }
    }

    fn on_arrival(&mut self, core: &mut Core, packet: &Packet, acked: u64) {
        self.newest_here = None;
        self.reordering.on_arrival(packet.flags.has(Flags::D_SACK), core.snd_una, core.snd_nxt);
        self.judge_probe(core, packet, acked);
    }

    fn on_duplicate_ack(&mut self, core: &mut Core, _: Ack, now: Time, out: &mut Outbox) {
        self.act(core, false, now, out);
    }

    fn on_new_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) -> Timer {
        if self.timer.is_some_and(|(purpose, _)| purpose == Purpose::Probe) {
            self.timer = None;
        }
        self.note_end(core, now);
        if !matches!(self.phase, Phase::Recovery { .. }) {
            core.grow(ack.acked, now);
        }
        core.restart_timer(now);
        self.act(core, true, now, out);
        self.schedule_probe(core, now);
        Timer::Keep
    }

    fn on_timeout(&mut self, core: &mut Core, now: Time) {
        self.forget_probe();
        self.timer = None;
        self.phase = Phase::AfterTimeout { point: core.snd_max, holds: false };
        if core.board.at(core.snd_una).is_some_and(|segment| segment.sacked) {
            core.board.forget(); // the receiver has reneged (RFC 2018 §8)
            self.to_resend.clear();
        }
        // RACK_mark_losses_on_RTO (§6.3)
        let reo_wnd = self.reordering.window(true, core.rto.srtt());
        while let Some(segment) = core.board.oldest_transmission() {
            if segment.sent + self.rtt + reo_wnd > now {
                break;
            }
            self.lose(core, &segment);
        }
        if let Some(first) = core.board.at(core.snd_una).copied() {
            self.lose(core, &first);
        }
    }

    fn on_spurious(&mut self, core: &mut Core) {
        core.board.take_back_losses(std::mem::take(&mut self.to_resend));
        if matches!(self.phase, Phase::AfterTimeout { .. }) {
            // The retransmission was taken for delivered, where §6.2 step 2 could not tell, and was not: originals, all
            // sent before it, are still to come.
            self.newest = None;
        }
        self.phase = Phase::Open;
    }

    fn send(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        self.reordering.begin_with(core.rto.srtt(), now); // of the handshake
        self.transmit(core, now, out);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.timer.map(|(_, due)| due)
    }

    fn on_timer(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        match self.timer.take() {
            Some((Purpose::Probe, _)) => self.send_probe(core, now, out),
            Some((Purpose::Reordering, _)) => {
                self.act(core, false, now, out);
                core.restart_timer(now);
            }
            None => {}
        }
    }

    fn hold(&mut self, now_holds: bool) {
        if let Phase::AfterTimeout { holds, .. } = &mut self.phase {
            *holds = now_holds;
        }
    }

    fn keeps_board(&self) -> bool {
        true
    }

    fn is_recovering(&self) -> bool {
        matches!(self.phase, Phase::Recovery { .. })
    }
}
