//! Version 1 (draft-cardwell-iccrg-bbr-congestion-control-00). Section numbers are the draft's.

use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};

use super::full_pipe::FullPipe;
use super::gain_cycle::{GainCycle, Phase};
use super::max_filter::MaxFilter;
use super::min_rtt::{MinRtt, ProbeRtt};
use super::rounds::Rounds;
use super::{MIN_PIPE_SEGMENTS, MOST_QUANTUM, bdp, nominal_bandwidth};
use crate::tcp::congestion::{Cause, CongestionControl, NewAck, Windows};
use crate::tcp::delivery_rate::{Loss, RateSample};
use crate::tcp::pacing::Pace;

/// BBRHighGain: 2/ln 2, the least that doubles the rate each round (§4.2.1).
const HIGH_GAIN: f64 = 2.885_390_081_777_926_8;
/// The gain of the window in ProbeBW (§4.3.4.3).
const PROBE_BW_WINDOW_GAIN: f64 = 2.0;
/// BtlBwFilterLen, in rounds (§4.1.1.4).
const BANDWIDTH_ROUNDS: u64 = 10;

/// BBR version 1.
#[derive(Clone, Debug)]
pub struct V1 {
    state: State,
    rounds: Rounds,
    /// BBR.BtlBw.
    bandwidth: MaxFilter<f64>,
    full_pipe: FullPipe,
    /// BBR.RTprop.
    min_rtt: MinRtt,
    pacing_rate: f64,
    send_quantum: u64,
    initial_cwnd: u64,
    /// The last known good window, while recovery or ProbeRTT changes it.
    prior_cwnd: u64,
    in_recovery: bool,
    /// For the first round of recovery, what is delivered is what may be sent (§4.2.3.4).
    conserves_packets: bool,
    /// Bytes found lost since the last ACK.
    lost: u64,
    /// In flight at the last ACK, without what was found lost since.
    in_flight: u64,
    /// What the last ACK delivered, and all until then.
    newly_acked: u64,
    delivered: u64,
    idle_restart: bool,
    draws: Stream,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Startup,
    Drain,
    ProbeBw(GainCycle),
    ProbeRtt(ProbeRtt),
}

impl V1 {
    /// `draws` decides where the gain cycle begins.
    pub fn new(draws: Stream) -> Self {
        V1 {
            state: State::Startup,
            rounds: Rounds::default(),
            bandwidth: MaxFilter::default(),
            full_pipe: FullPipe::default(),
            min_rtt: MinRtt::new(Time::ZERO, None),
            pacing_rate: f64::INFINITY,
            send_quantum: 0,
            initial_cwnd: 0,
            prior_cwnd: 0,
            in_recovery: false,
            conserves_packets: false,
            lost: 0,
            in_flight: 0,
            newly_acked: 0,
            delivered: 0,
            idle_restart: false,
            draws,
        }
    }

    fn pacing_gain(&self) -> f64 {
        match &self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => 1.0 / HIGH_GAIN, // §4.3.3
            State::ProbeBw(cycle) => cycle.gain(),
            State::ProbeRtt(_) => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match &self.state {
            State::Startup | State::Drain => HIGH_GAIN,
            State::ProbeBw(_) => PROBE_BW_WINDOW_GAIN,
            State::ProbeRtt(_) => 1.0,
        }
    }

    /// BBRInflight: what to have in flight for `gain` times the bandwidth-delay product (§4.2.3.2).
    fn inflight(&self, gain: f64) -> u64 {
        let Some(min_rtt) = self.min_rtt.value else { return self.initial_cwnd };
        bdp(self.bandwidth.get(), min_rtt, gain) + 3 * self.send_quantum
    }

    /// §4.1.1.5: samples that the application limited count only when they are higher.
    fn update_bandwidth(&mut self, sample: &RateSample) {
        self.rounds.update(sample);
        if let Some(rate) = sample.rate
            && (rate >= self.bandwidth.get() || !sample.is_app_limited)
        {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.rounds.count, rate);
        }
    }

    /// §4.3.4.4.
    fn check_cycle_phase(&mut self, sample: &RateSample) {
        let (drained, filled) = (self.inflight(1.0), self.inflight(self.pacing_gain()));
        if let State::ProbeBw(cycle) = &mut self.state {
            cycle.check(&Phase {
                now: sample.now,
                min_rtt: self.min_rtt.value.unwrap_or(Span::ZERO),
                has_lost: self.lost > 0,
                has_filled: sample.prior_in_flight >= filled,
                has_drained: sample.prior_in_flight <= drained,
            });
        }
    }

    /// §4.3.2.2 and §4.3.3.
    fn check_full_pipe_and_drain(&mut self, sample: &RateSample) {
        if self.rounds.has_begun && !sample.is_app_limited {
            self.full_pipe.on_round(self.bandwidth.get());
        }
        if matches!(self.state, State::Startup) && self.full_pipe.is_full {
            self.state = State::Drain;
        }
        if matches!(self.state, State::Drain) && sample.in_flight <= self.inflight(1.0) {
            self.enter_probe_bw(sample.now);
        }
    }

    fn enter_probe_bw(&mut self, now: Time) {
        self.state = State::ProbeBw(GainCycle::new(self.draws.below(7), now));
    }

    /// §4.3.5: enters ProbeRTT when the estimate is out of date, and leaves it.
    fn check_probe_rtt(&mut self, windows: &mut Windows, sample: &RateSample) {
        if !matches!(self.state, State::ProbeRtt(_)) && self.min_rtt.is_expired && !self.idle_restart {
            self.save_window(windows);
            self.state = State::ProbeRtt(ProbeRtt::default());
        }
        if let State::ProbeRtt(probe) = &mut self.state {
            let has_drained = sample.in_flight <= MIN_PIPE_SEGMENTS * sample.mss;
            if probe.note(sample.now, has_drained, self.rounds.has_begun) {
                self.rounds.restart(sample.total_delivered);
            }
            if probe.is_done(sample.now) {
                self.min_rtt.confirm(sample.now);
                windows.cwnd = windows.cwnd.max(self.prior_cwnd);
                self.exit_probe_rtt(sample.now);
            }
        }
        self.idle_restart = false;
    }

    fn exit_probe_rtt(&mut self, now: Time) {
        if self.full_pipe.is_full { self.enter_probe_bw(now) } else { self.state = State::Startup }
    }

    /// §4.2.1: before the pipe is full, the rate only rises.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bandwidth.get();
        if rate > 0.0 && (self.full_pipe.is_full || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// §4.2.2: a segment below 1.2 Mbit/s, two below 24 Mbit/s, then what leaves in 1 ms.
    fn set_send_quantum(&mut self, mss: u64) {
        self.send_quantum = match 8.0 * self.pacing_rate {
            bps if bps < 1.2e6 => mss,
            bps if bps < 24e6 => 2 * mss,
            bps => ((bps / 8.0 * 1e-3) as u64).min(MOST_QUANTUM),
        };
    }

    /// §4.2.3.4 to §4.2.3.6.
    fn set_window(&mut self, windows: &mut Windows, sample: &RateSample) {
        let mss = sample.mss;
        let target = self.inflight(self.window_gain());
        let mut cwnd = windows.cwnd;
        if self.lost > 0 {
            cwnd = cwnd.saturating_sub(self.lost).max(mss);
        }
        if self.conserves_packets {
            cwnd = cwnd.max(sample.in_flight + sample.newly_acked);
        } else if self.full_pipe.is_full {
            cwnd = (cwnd + sample.newly_acked).min(target);
        } else if cwnd < target || sample.total_delivered < self.initial_cwnd {
            cwnd += sample.newly_acked;
        }
        let floor = MIN_PIPE_SEGMENTS * mss;
        windows.cwnd = cwnd.max(floor);
        if matches!(self.state, State::ProbeRtt(_)) {
            windows.cwnd = windows.cwnd.min(floor);
        }
        self.lost = 0;
    }

    /// Notices the end of recovery (§4.2.3.4), and that of its first round.
    fn follow_recovery(&mut self, windows: &mut Windows, sample: &RateSample) {
        if self.rounds.has_begun {
            self.conserves_packets = false;
        }
        if self.in_recovery && !sample.in_recovery {
            self.conserves_packets = false;
            windows.cwnd = windows.cwnd.max(self.prior_cwnd);
        }
        self.in_recovery = sample.in_recovery;
    }

    fn save_window(&mut self, windows: &Windows) {
        let is_modulated = self.in_recovery || matches!(self.state, State::ProbeRtt(_));
        self.prior_cwnd = if is_modulated { self.prior_cwnd.max(windows.cwnd) } else { windows.cwnd };
    }
}

impl CongestionControl for V1 {
    fn on_connected(&mut self, windows: &Windows, srtt: Option<Span>, now: Time, mss: u64) {
        self.min_rtt = MinRtt::new(now, srtt);
        self.initial_cwnd = windows.cwnd;
        self.pacing_rate = HIGH_GAIN * nominal_bandwidth(windows.cwnd, srtt);
        self.set_send_quantum(mss);
    }

    fn on_sample(&mut self, windows: &mut Windows, sample: &RateSample) {
        // §3.5.2: the model and the state first, then what they control.
        self.update_bandwidth(sample);
        self.follow_recovery(windows, sample);
        self.check_cycle_phase(sample);
        self.check_full_pipe_and_drain(sample);
        self.min_rtt.update(sample.rtt, sample.now, true);
        self.check_probe_rtt(windows, sample);
        self.set_pacing_rate(self.pacing_gain());
        self.set_send_quantum(sample.mss);
        self.set_window(windows, sample);
        (self.delivered, self.in_flight, self.newly_acked) =
            (sample.total_delivered, sample.in_flight, sample.newly_acked);
    }

    fn on_lost(&mut self, _: &Windows, loss: &Loss) {
        self.lost += loss.end - loss.start;
        self.in_flight = self.in_flight.saturating_sub(loss.end - loss.start);
    }

    /// §4.4.3: an application that comes back finds the pipe empty, and fills it at the bandwidth.
    fn on_restart_from_idle(&mut self, _: &mut Windows, _: Time) {
        self.idle_restart = true;
        if matches!(self.state, State::ProbeBw(_)) {
            self.set_pacing_rate(1.0);
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

    /// §4.2.3.4: the window is saved, and for a round what is delivered is what may be sent.
    fn ssthresh_after(&mut self, cause: Cause, windows: &Windows, _: u64, _: u64) -> u64 {
        self.save_window(windows);
        self.in_recovery = true;
        self.conserves_packets = cause != Cause::Timeout;
        self.rounds.restart(self.delivered);
        self.lost = 0; // what began the recovery has left `in_flight` already
        windows.ssthresh
    }

    /// §4.2.3.4: what is in flight, and what the last ACK delivered.
    fn window_after(&self, _: u64, _: u64, mss: u64) -> u64 {
        self.in_flight + self.newly_acked.max(mss)
    }

    fn on_timeout(&mut self, _: &mut Windows, _: u64) {} // the window is one segment (§4.2.3.4), as for every sender
}

#[cfg(test)]
mod tests;
