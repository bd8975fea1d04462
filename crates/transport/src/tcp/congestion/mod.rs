//! Congestion control: how the window grows with acknowledgements and what a loss leaves of it.
//!
//! An algorithm is one file and one variant of [`Congestion`]. Loss recovery decides *when* data counts as
//! lost; what is here decides *how much* may be in flight.

mod aimd;

use aimd::Aimd;

use super::settings::CongestionSettings;

/// The two windows every algorithm works on, in bytes (RFC 5681 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow start threshold.
    pub ssthresh: u64,
}

/// What an algorithm must answer.
pub(crate) trait CongestionControl {
    /// New data was acknowledged outside of loss recovery: the window may grow.
    fn on_ack(&mut self, windows: &mut Windows, acked: u64, mss: u64);

    /// A loss was found with `flight` bytes outstanding: the new slow start threshold.
    fn ssthresh_after_loss(&mut self, windows: &Windows, flight: u64, mss: u64) -> u64;
}

/// The algorithm of a connection.
#[derive(Clone, Debug)]
pub(crate) enum Congestion {
    Aimd(Aimd),
}

impl Congestion {
    pub fn new(settings: &CongestionSettings) -> Self {
        match settings {
            CongestionSettings::Aimd => Congestion::Aimd(Aimd),
        }
    }
}

impl CongestionControl for Congestion {
    fn on_ack(&mut self, windows: &mut Windows, acked: u64, mss: u64) {
        match self {
            Congestion::Aimd(aimd) => aimd.on_ack(windows, acked, mss),
        }
    }

    fn ssthresh_after_loss(&mut self, windows: &Windows, flight: u64, mss: u64) -> u64 {
        match self {
            Congestion::Aimd(aimd) => aimd.ssthresh_after_loss(windows, flight, mss),
        }
    }
}
