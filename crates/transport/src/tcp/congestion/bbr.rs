//! BBR: congestion control by a model of the path, the bandwidth of its bottleneck and its round trip without queues.
//!
//! [`V1`] is version 1 (draft-cardwell-iccrg-bbr-congestion-control-00; Cardwell et al., "BBR: Congestion-Based Congestion
//! Control", ACM Queue 14 (5), 2016), [`V3`] version 3 (draft-ietf-ccwg-bbr). Both send at a multiple of the bandwidth and
//! keep a multiple of the bandwidth-delay product in flight; the state machine varies the multiples to see the one
//! without spoiling the other. Version 3 also bounds both by what losses told. What they share stands in the parts
//! beside; rates are in bytes per second, amounts in bytes.

mod aggregation;
mod bounds;
mod full_pipe;
mod gain_cycle;
mod max_filter;
mod min_rtt;
mod probe_bw;
mod rounds;
mod v1;
mod v3;

pub use v1::V1;
pub use v3::V3;

use cellwind_engine::time::Span;

/// ProbeRTTDuration (v1 §4.3.5, v3 §2.14.2).
const PROBE_RTT_DURATION: Span = Span::from_millis(200);
/// BBRMinPipeCwnd, in segments (v1 §4.2.3.2, v3 §2.7).
const MIN_PIPE_SEGMENTS: u64 = 4;
/// The most that leaves together: 64 KBytes (v1 §4.2.2, v3 §5.6.3).
const MOST_QUANTUM: u64 = 65_536;

/// The bandwidth-delay product times `gain`.
fn bdp(bandwidth: f64, min_rtt: Span, gain: f64) -> u64 {
    (gain * bandwidth * min_rtt.as_secs_f64()) as u64
}

/// The rate at which a first window of `cwnd` bytes would leave, evenly over a round trip; over 1 ms when there is none
/// yet (v1 §4.2.1 and v3 §5.6.2, InitPacingRate).
fn nominal_bandwidth(cwnd: u64, srtt: Option<Span>) -> f64 {
    let round_trip = srtt.filter(|&srtt| srtt > Span::ZERO).unwrap_or(Span::from_millis(1));
    cwnd as f64 / round_trip.as_secs_f64()
}

#[cfg(test)]
mod testing;
