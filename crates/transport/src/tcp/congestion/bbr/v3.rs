//! Version 3 (draft-ietf-ccwg-bbr, as it stood in 2026 with ProbeRTT at the expiry of the minimum). Section numbers are
//! the draft's. It names no response to marks of congestion; ECN is refused.

use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};

use super::aggregation::Aggregation;
use super::bounds::{BETA, LOSS_THRESHOLD, LongTerm, ShortTerm, inflight_at_loss};
use super::full_pipe::FullPipe;
use super::min_rtt::{MinRtt, ProbeRtt};
use super::probe_bw::{AckPhase, Phase, ProbeTimer};
use super::rounds::Rounds;
use super::{MIN_PIPE_SEGMENTS, MOST_QUANTUM, bdp, nominal_bandwidth};
use crate::tcp::congestion::{Cause, CongestionControl, NewAck, Windows};
use crate::tcp::delivery_rate::{Loss, RateSample};
use crate::tcp::pacing::Pace;

/// BBR.StartupPacingGain: 4 ln 2 (§2.4).
const STARTUP_PACING_GAIN: f64 = 2.77;
/// BBR.DrainPacingGain (§2.4).
const DRAIN_PACING_GAIN: f64 = 0.5;
/// BBR.DefaultCwndGain (§2.5).
const WINDOW_GAIN: f64 = 2.0;
/// BBR.ProbeRTTCwndGain (§2.14.2).
const PROBE_RTT_WINDOW_GAIN: f64 = 0.5;
/// What BBR.PacingMarginPercent leaves (§2.4).
const PACING_MARGIN: f64 = 0.99;
/// Rounds that Drain takes at most (§5.3.2).
const DRAIN_ROUNDS: u64 = 3;
/// BBRStartupFullLossCnt (§5.3.1.3): separate ranges lost in a round.
const STARTUP_LOSSES: u32 = 6;

/// BBR version 3.
#[derive(Clone, Debug)]
pub struct V3 {
    state: State,
    rounds: Rounds,
    /// BBR.max_bw_filter: the best of the cycle before and of this one.
    max_bandwidth: [f64; 2],
    /// BBR.bw.
    bandwidth: f64,
    min_rtt: MinRtt,
    full_pipe: FullPipe,
    /// BBR.full_bw_reached.
    pipe_was_full: bool,
    long_term: LongTerm,
    short_term: ShortTerm,
    aggregation: Aggregation,
    signals: Signals,
    ack_phase: AckPhase,
    probe_timer: ProbeTimer,
    /// The rate samples are of a probe that nothing was concluded from yet.
    is_bw_probe_sample: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    probe_rtt_cwnd: u64,
    pacing_rate: f64,
    send_quantum: u64,
    initial_cwnd: u64,
    mss: u64,
    prior_cwnd: u64,
    /// In which round the present recovery began.
    recovery: Option<u64>,
    idle_restart: bool,
    undo: Undo,
    draws: Stream,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Startup,
    Drain {
        /// BBR.drain_start_round.
        since_round: u64,
    },
    ProbeBw(Phase),
    ProbeRtt(ProbeRtt),
}

/// Signals of congestion, and what was delivered, in the present round (§5.5.10.3).
#[derive(Clone, Copy, Debug, Default)]
struct Signals {
    is_loss_in_round: bool,
    /// Separate ranges found lost in this round, and where the last one ends.
    lost_ranges: u32,
    lost_until: u64,
    /// BBR.loss_round_delivered and loss_round_start.
    round_delivered: u64,
    round_has_begun: bool,
    bandwidth_latest: f64,
    inflight_latest: u64,
}

/// What a recovery that proves spurious brings back (§5.5.11).
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    state: Option<Probing>,
    short_term: ShortTerm,
    long_term: Option<u64>,
}

/// A state that a loss may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probing {
    Startup,
    Up,
}

impl V3 {
    /// `draws` decides when to probe.
    pub fn new(draws: Stream) -> Self {
        V3 {
            state: State::Startup,
            rounds: Rounds::default(),
            max_bandwidth: [0.0; 2],
            bandwidth: 0.0,
            min_rtt: MinRtt::new(Time::ZERO, None),
            full_pipe: FullPipe::default(),
            pipe_was_full: false,
            long_term: LongTerm::default(),
            short_term: ShortTerm::default(),
            aggregation: Aggregation::default(),
            signals: Signals::default(),
            ack_phase: AckPhase::Init,
            probe_timer: ProbeTimer::default(),
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            probe_rtt_cwnd: 0,
            pacing_rate: f64::INFINITY,
            send_quantum: 0,
            initial_cwnd: 0,
            mss: 0,
            prior_cwnd: 0,
            recovery: None,
            idle_restart: false,
            undo: Undo::default(),
            draws,
        }
    }

    /// UpdateModelAndState (§5.2.3).
    fn update_model_and_state(&mut self, windows: &mut Windows, sample: &RateSample) {
        self.update_latest_delivery_signals(sample);
        self.update_congestion_signals(windows, sample);
        let (round, cwnd) = (self.rounds.count, windows.cwnd);
        self.aggregation.update(sample.now, sample.newly_acked, self.bandwidth, cwnd, round, self.pipe_was_full);
        self.check_full_pipe(sample);
        self.check_startup_done(sample);
        self.check_drain_done(sample);
        self.update_probe_bw_cycle(windows, sample);
        self.update_min_rtt(sample);
        self.check_probe_rtt(windows, sample);
        self.advance_latest_delivery_signals(sample);
        self.bound_bandwidth();
    }

    /// UpdateControlParameters (§5.2.3).
    fn update_control_parameters(&mut self, windows: &mut Windows, sample: &RateSample) {
        self.set_pacing_rate(self.pacing_gain());
        self.set_send_quantum();
        self.set_window(windows, sample);
    }

    fn pacing_gain(&self) -> f64 {
        match &self.state {
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain { .. } => DRAIN_PACING_GAIN,
            State::ProbeBw(phase) => phase.pacing_gain(),
            State::ProbeRtt(_) => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match &self.state {
            State::Startup | State::Drain { .. } => WINDOW_GAIN,
            State::ProbeBw(phase) => phase.window_gain(),
            State::ProbeRtt(_) => PROBE_RTT_WINDOW_GAIN,
        }
    }

    /// BBR.max_bw.
    fn max_bandwidth(&self) -> f64 {
        self.max_bandwidth[0].max(self.max_bandwidth[1])
    }

    /// BDPMultiple (§5.6.4.2).
    fn bdp(&self, bandwidth: f64, gain: f64) -> u64 {
        self.min_rtt.value.map_or(self.initial_cwnd, |min_rtt| bdp(bandwidth, min_rtt, gain))
    }

    /// QuantizationBudget (§5.6.4.2), with the offload budget of TCP (§5.5.8.1).
    fn quantized(&self, inflight: u64) -> u64 {
        let inflight = inflight.max(3 * self.send_quantum).max(self.min_pipe());
        if matches!(self.state, State::ProbeBw(Phase::Up)) { inflight + 2 * self.mss } else { inflight }
    }

    /// Inflight(bw, gain).
    fn inflight(&self, bandwidth: f64, gain: f64) -> u64 {
        self.quantized(self.bdp(bandwidth, gain))
    }

    /// TargetInflight (§5.3.3.5.3).
    fn target_inflight(&self, cwnd: u64) -> u64 {
        self.bdp(self.bandwidth, 1.0).min(cwnd)
    }

    fn min_pipe(&self) -> u64 {
        MIN_PIPE_SEGMENTS * self.mss
    }

    fn is_probing_bandwidth(&self) -> bool {
        matches!(self.state, State::Startup | State::ProbeBw(Phase::Refill | Phase::Up))
    }

    /// §5.5.10.3.
    fn update_latest_delivery_signals(&mut self, sample: &RateSample) {
        let signals = &mut self.signals;
        signals.bandwidth_latest = signals.bandwidth_latest.max(sample.rate.unwrap_or(0.0));
        signals.inflight_latest = signals.inflight_latest.max(sample.delivered);
        signals.round_has_begun = sample.prior_delivered >= signals.round_delivered;
        if signals.round_has_begun {
            signals.round_delivered = sample.total_delivered;
        }
    }

    fn advance_latest_delivery_signals(&mut self, sample: &RateSample) {
        if self.signals.round_has_begun {
            self.signals.bandwidth_latest = sample.rate.unwrap_or(0.0);
            self.signals.inflight_latest = sample.delivered;
            self.signals.lost_ranges = 0;
        }
    }

    fn reset_congestion_signals(&mut self) {
        self.signals.is_loss_in_round = false;
        self.signals.bandwidth_latest = 0.0;
        self.signals.inflight_latest = 0;
    }

    /// UpdateMaxBw (§5.5.5), and once per round the answer to losses where nothing is probed (§5.5.10.3).
    fn update_congestion_signals(&mut self, windows: &Windows, sample: &RateSample) {
        self.rounds.update(sample);
        if self.rounds.has_begun {
            self.probe_timer.count_round();
        }
        if let Some(rate) = sample.rate
            && (rate >= self.max_bandwidth() || !sample.is_app_limited)
        {
            self.max_bandwidth[1] = self.max_bandwidth[1].max(rate);
        }
        if !self.signals.round_has_begun {
            return;
        }
        if self.signals.is_loss_in_round && !self.is_probing_bandwidth() {
            let Signals { bandwidth_latest, inflight_latest, .. } = self.signals;
            self.short_term.lower(self.max_bandwidth(), windows.cwnd, bandwidth_latest, inflight_latest);
        }
        self.signals.is_loss_in_round = false;
    }

    /// §5.3.1.2.
    fn check_full_pipe(&mut self, sample: &RateSample) {
        if self.rounds.has_begun && !sample.is_app_limited {
            self.full_pipe.on_round(sample.rate.unwrap_or(0.0));
            self.pipe_was_full |= self.full_pipe.is_full;
        }
    }

    /// §5.3.1: Startup ends with a full pipe, or when a round of recovery loses too much.
    fn check_startup_done(&mut self, sample: &RateSample) {
        if !matches!(self.state, State::Startup) {
            return;
        }
        let for_a_round = sample.in_recovery && self.recovery.is_some_and(|begun| self.rounds.count > begun);
        let ends_round = self.signals.round_has_begun && self.signals.lost_ranges >= STARTUP_LOSSES;
        if !self.pipe_was_full && for_a_round && ends_round && is_too_high(sample.lost, sample.tx_in_flight) {
            self.undo.state = Some(Probing::Startup);
            self.pipe_was_full = true;
            self.long_term.inflight = Some(self.bdp(self.bandwidth, 1.0).max(self.signals.inflight_latest));
        }
        if self.pipe_was_full {
            self.state = State::Drain { since_round: self.rounds.count };
        }
    }

    /// §5.3.2.
    fn check_drain_done(&mut self, sample: &RateSample) {
        if let State::Drain { since_round } = self.state {
            let is_drained = sample.in_flight <= self.inflight(self.bandwidth, 1.0);
            if is_drained || self.rounds.count > since_round + DRAIN_ROUNDS {
                self.start_down(sample.now, sample.total_delivered);
            }
        }
    }

    /// StartProbeBW_DOWN (§5.3.3.6).
    fn start_down(&mut self, now: Time, delivered: u64) {
        self.reset_congestion_signals();
        self.probe_timer.restart(&mut self.draws, now);
        self.ack_phase = AckPhase::ProbeStopping;
        self.rounds.restart(delivered);
        self.state = State::ProbeBw(Phase::Down);
    }

    /// StartProbeBW_REFILL.
    fn start_refill(&mut self, delivered: u64) {
        self.short_term = ShortTerm::default();
        self.long_term.begin_probe();
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.rounds.restart(delivered);
        self.state = State::ProbeBw(Phase::Refill);
    }

    /// StartProbeBW_UP.
    fn start_up(&mut self, windows: &Windows, sample: &RateSample) {
        self.is_bw_probe_sample = true;
        self.ack_phase = AckPhase::ProbeStarting;
        self.rounds.restart(sample.total_delivered);
        self.full_pipe.restart(sample.rate.unwrap_or(0.0));
        self.long_term.steepen(windows.cwnd, self.mss);
        self.state = State::ProbeBw(Phase::Up);
    }

    /// UpdateProbeBWCyclePhase (§5.3.3.6).
    fn update_probe_bw_cycle(&mut self, windows: &Windows, sample: &RateSample) {
        if !self.pipe_was_full || self.adapt_long_term_model(windows, sample) {
            return;
        }
        let State::ProbeBw(phase) = self.state else { return };
        match phase {
            Phase::Down | Phase::Cruise if self.is_time_to_probe(windows, sample.now) => {
                self.start_refill(sample.total_delivered);
            }
            Phase::Down if self.is_time_to_cruise(sample) => self.state = State::ProbeBw(Phase::Cruise),
            Phase::Down | Phase::Cruise => {}
            Phase::Refill if self.rounds.has_begun => self.start_up(windows, sample),
            Phase::Refill => {}
            Phase::Up => {
                if self.is_time_to_go_down(windows, sample) {
                    self.prev_probe_too_high = false; // no high loss yet
                    self.start_down(sample.now, sample.total_delivered);
                }
            }
        }
    }

    fn is_time_to_probe(&self, windows: &Windows, now: Time) -> bool {
        self.probe_timer.is_over(now, self.target_inflight(windows.cwnd) / self.mss)
    }

    fn is_time_to_cruise(&self, sample: &RateSample) -> bool {
        let has_headroom = self.long_term.with_headroom(self.mss).is_none_or(|room| sample.in_flight <= room);
        has_headroom && sample.in_flight <= self.inflight(self.max_bandwidth(), 1.0)
    }

    /// IsTimeToGoDown: the bound of a probe that went too high is reached, or the bandwidth grows no more.
    fn is_time_to_go_down(&mut self, windows: &Windows, sample: &RateSample) -> bool {
        let at_bound = |bytes| self.long_term.inflight.is_some_and(|bound| bytes >= bound);
        if self.prev_probe_too_high && at_bound(sample.in_flight) {
            self.prev_probe_precautionary = true;
            return true;
        }
        if sample.is_window_limited && at_bound(windows.cwnd) {
            self.full_pipe.restart(sample.rate.unwrap_or(0.0)); // the bound limits the bandwidth
            return false;
        }
        self.full_pipe.is_full
    }

    /// AdaptLongTermModel: follows the ACKs of a probe and raises the bound while losses are few; true when it has decided
    /// what comes next.
    fn adapt_long_term_model(&mut self, windows: &Windows, sample: &RateSample) -> bool {
        let in_probe_bw = matches!(self.state, State::ProbeBw(_));
        if self.rounds.has_begun && self.ack_phase == AckPhase::ProbeStarting {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.rounds.has_begun && self.ack_phase == AckPhase::ProbeStopping {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if in_probe_bw && !sample.is_app_limited {
                self.max_bandwidth = [self.max_bandwidth[1], 0.0]; // AdvanceMaxBwFilter (§5.5.6)
            }
            if in_probe_bw && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_refill(sample.total_delivered);
                return true;
            }
        }
        let Some(bound) = self.long_term.inflight else { return false };
        if is_too_high(sample.lost, sample.tx_in_flight) {
            return false;
        }
        self.long_term.inflight = Some(bound.max(sample.tx_in_flight));
        if matches!(self.state, State::ProbeBw(Phase::Up)) {
            // ProbeInflightLongtermUpward
            if sample.is_window_limited && self.long_term.inflight.is_some_and(|bound| windows.cwnd >= bound) {
                self.long_term.raise(sample.newly_acked, self.mss);
            }
            if self.rounds.has_begun {
                self.long_term.steepen(windows.cwnd, self.mss);
            }
        }
        false
    }

    /// UpdateMinRTT (§5.3.4.3): the window of ProbeRTT comes from the estimate that expires.
    fn update_min_rtt(&mut self, sample: &RateSample) {
        if self.min_rtt.expires(sample.now) && !matches!(self.state, State::ProbeRtt(_)) {
            self.probe_rtt_cwnd = self.bdp(self.bandwidth, PROBE_RTT_WINDOW_GAIN).max(self.min_pipe());
        }
        self.min_rtt.update(sample.rtt, sample.now, false);
    }

    /// CheckProbeRTT and HandleProbeRTT (§5.3.4.3).
    fn check_probe_rtt(&mut self, windows: &mut Windows, sample: &RateSample) {
        if !matches!(self.state, State::ProbeRtt(_)) && self.min_rtt.is_expired && !self.idle_restart {
            self.save_window(windows);
            self.state = State::ProbeRtt(ProbeRtt::default());
            self.ack_phase = AckPhase::ProbeStopping;
            self.rounds.restart(sample.total_delivered);
        }
        if let State::ProbeRtt(probe) = &mut self.state {
            let has_drained = sample.in_flight <= self.probe_rtt_cwnd;
            if probe.note(sample.now, has_drained, self.rounds.has_begun) {
                self.rounds.restart(sample.total_delivered);
            }
            if probe.is_done(sample.now) {
                windows.cwnd = windows.cwnd.max(self.prior_cwnd);
                self.exit_probe_rtt(sample.now, sample.total_delivered);
            }
        }
        self.idle_restart = false;
    }

    /// §5.3.4.4: the pipe is drained already, so that the cycle begins by cruising.
    fn exit_probe_rtt(&mut self, now: Time, delivered: u64) {
        self.min_rtt.confirm(now);
        self.short_term = ShortTerm::default();
        if self.pipe_was_full {
            self.start_down(now, delivered);
            self.state = State::ProbeBw(Phase::Cruise);
        } else {
            self.state = State::Startup;
        }
    }

    /// BoundBWForModel.
    fn bound_bandwidth(&mut self) {
        let most = self.max_bandwidth();
        self.bandwidth = self.short_term.bandwidth.map_or(most, |bound| bound.min(most));
    }

    /// §5.6.2: before the pipe is full, the rate only rises.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bandwidth * PACING_MARGIN;
        if rate > 0.0 && (self.pipe_was_full || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// §5.6.3.
    fn set_send_quantum(&mut self) {
        self.send_quantum = ((self.pacing_rate * 1e-3) as u64).min(MOST_QUANTUM).max(2 * self.mss);
    }

    /// SetCwnd (§5.6.4.6) and BoundCwndForModel (§5.6.4.7).
    fn set_window(&mut self, windows: &mut Windows, sample: &RateSample) {
        let wanted = self.bdp(self.bandwidth, self.window_gain()) + self.aggregation.extra_acked();
        let most = self.quantized(wanted); // BBR.max_inflight
        let mut cwnd = windows.cwnd;
        if self.pipe_was_full {
            cwnd = (cwnd + sample.newly_acked).min(most);
        } else if cwnd < most || sample.total_delivered < self.initial_cwnd {
            cwnd += sample.newly_acked;
        }
        cwnd = cwnd.max(self.min_pipe());
        let long_term = match &self.state {
            State::ProbeRtt(_) => {
                cwnd = cwnd.min(self.probe_rtt_cwnd);
                self.long_term.with_headroom(self.mss)
            }
            State::ProbeBw(Phase::Cruise) => self.long_term.with_headroom(self.mss),
            State::ProbeBw(_) => self.long_term.inflight,
            State::Startup | State::Drain { .. } => None,
        };
        let cap = long_term.into_iter().chain(self.short_term.inflight).min();
        windows.cwnd = cap.map_or(cwnd, |cap| cwnd.min(cap.max(self.min_pipe())));
    }

    /// RestoreCwnd at the end of recovery (§5.6.4.4).
    fn follow_recovery(&mut self, windows: &mut Windows, sample: &RateSample) {
        if self.recovery.is_some() && !sample.in_recovery {
            windows.cwnd = windows.cwnd.max(self.prior_cwnd);
            self.recovery = None;
        }
    }

    fn save_window(&mut self, windows: &Windows) {
        let is_modulated = self.recovery.is_some() || matches!(self.state, State::ProbeRtt(_));
        self.prior_cwnd = if is_modulated { self.prior_cwnd.max(windows.cwnd) } else { windows.cwnd };
    }

    /// SaveStateUponLoss (§5.5.11.1).
    fn save_state(&mut self, windows: &Windows) {
        self.save_window(windows);
        self.undo = Undo { state: None, short_term: self.short_term, long_term: self.long_term.inflight };
    }

    /// HandleInflightTooHigh (§5.5.10.2).
    fn handle_inflight_too_high(&mut self, windows: &Windows, tx_in_flight: u64, loss: &Loss) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false; // one answer to a probe
        if !loss.is_app_limited {
            let least = (self.target_inflight(windows.cwnd) as f64 * BETA) as u64;
            self.long_term.inflight = Some(tx_in_flight.max(least));
        }
        if matches!(self.state, State::ProbeBw(Phase::Up)) {
            self.undo.state = Some(Probing::Up);
            self.start_down(loss.now, loss.total_delivered);
        }
    }
}

impl CongestionControl for V3 {
    fn on_connected(&mut self, windows: &Windows, srtt: Option<Span>, now: Time, mss: u64) {
        self.mss = mss;
        self.min_rtt = MinRtt::new(now, srtt);
        self.initial_cwnd = windows.cwnd;
        self.probe_rtt_cwnd = windows.cwnd;
        self.pacing_rate = STARTUP_PACING_GAIN * nominal_bandwidth(windows.cwnd, srtt);
        self.aggregation.restart(now);
        self.set_send_quantum();
    }

    fn on_sample(&mut self, windows: &mut Windows, sample: &RateSample) {
        self.follow_recovery(windows, sample);
        self.update_model_and_state(windows, sample);
        self.update_control_parameters(windows, sample);
    }

    /// HandleLostPacket (§5.5.10.2).
    fn on_lost(&mut self, windows: &Windows, loss: &Loss) {
        if !self.signals.is_loss_in_round {
            self.signals.round_delivered = loss.total_delivered;
            self.save_state(windows);
        }
        self.signals.is_loss_in_round = true;
        self.signals.lost_ranges += u32::from(loss.start != self.signals.lost_until);
        self.signals.lost_until = loss.end;
        if self.is_bw_probe_sample && is_too_high(loss.lost, loss.tx_in_flight) {
            let in_flight = inflight_at_loss(loss.tx_in_flight, loss.lost, loss.end - loss.start);
            self.handle_inflight_too_high(windows, in_flight, loss);
        }
    }

    /// HandleRestartFromIdle (§5.4.1).
    fn on_restart_from_idle(&mut self, windows: &mut Windows, now: Time) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        match &self.state {
            State::ProbeBw(_) => self.set_pacing_rate(1.0),
            // differs: the next round begins with the first ACK, not with the amount delivered until now.
            State::ProbeRtt(probe) if probe.has_lasted(now) => {
                windows.cwnd = windows.cwnd.max(self.prior_cwnd);
                self.exit_probe_rtt(now, 0);
            }
            _ => {}
        }
    }

    fn pace(&self) -> Option<Pace> {
        Some(Pace { rate: self.pacing_rate, quantum: self.send_quantum })
    }

    fn is_holding_back(&self) -> bool {
        matches!(self.state, State::ProbeRtt(_))
    }

    /// The window follows the model: [`on_sample`](CongestionControl::on_sample) moves it.
    fn slow_start(&mut self, _: &mut Windows, _: &NewAck) -> bool {
        true
    }

    fn on_ack(&mut self, _: &mut Windows, _: &NewAck) {}

    fn on_ack_while_not_limiting(&mut self) {}

    /// OnEnterFastRecovery and OnEnterRTO (§5.6.4.4).
    fn ssthresh_after(&mut self, _: Cause, windows: &Windows, _: u64, _: u64) -> u64 {
        self.save_state(windows);
        self.recovery.get_or_insert(self.rounds.count);
        windows.ssthresh
    }

    /// Fast recovery leaves the window to the model.
    fn window_after(&self, before: u64, _: u64, _: u64) -> u64 {
        before
    }

    fn on_timeout(&mut self, _: &mut Windows, _: u64) {} // the window is one segment (§5.6.4.4), as for every sender

    /// HandleSpuriousLossDetection (§5.5.11.2).
    fn undo(&mut self) {
        self.signals.is_loss_in_round = false;
        self.full_pipe.restart(0.0);
        let Undo { state, short_term, long_term } = std::mem::take(&mut self.undo);
        // Infinite, which is none, is the most.
        let most = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.max(b));
        self.short_term.bandwidth = self.short_term.bandwidth.zip(short_term.bandwidth).map(|(a, b)| a.max(b));
        self.short_term.inflight = most(self.short_term.inflight, short_term.inflight);
        self.long_term.inflight = most(self.long_term.inflight, long_term);
        let in_probe_rtt = matches!(self.state, State::ProbeRtt(_));
        match state {
            Some(Probing::Startup) if !matches!(self.state, State::Startup) => {
                self.pipe_was_full = false;
                if !in_probe_rtt {
                    self.state = State::Startup;
                }
            }
            Some(Probing::Up) if !in_probe_rtt && !matches!(self.state, State::ProbeBw(Phase::Up)) => {
                self.start_refill(self.signals.round_delivered);
            }
            _ => {}
        }
    }
}

/// IsInflightTooHigh (§5.5.10.2).
fn is_too_high(lost: u64, tx_in_flight: u64) -> bool {
    lost as f64 > tx_in_flight as f64 * LOSS_THRESHOLD
}

#[cfg(test)]
mod tests;
