//! Proportional rate reduction (RFC 6937): spreads the reduction of the window over the round trip of a recovery.

use crate::tcp::settings::PrrBound;

/// State of one recovery (§3); variables as in the RFC, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    bound: PrrBound,
    ssthresh: u64,
    prr_delivered: u64,
    prr_out: u64,
    /// RecoverFS: FlightSize when recovery began.
    recover_fs: u64,
}

impl Prr {
    /// Recovery begins with `flight` bytes outstanding.
    pub fn new(bound: PrrBound, ssthresh: u64, flight: u64) -> Self {
        Prr { bound, ssthresh, prr_delivered: 0, prr_out: 0, recover_fs: flight.max(1) }
    }

    /// SndCnt: how much the ACK that just delivered `delivered` bytes lets out, with `pipe` bytes in the network.
    ///
    /// `progress` tells that the ACK moved SND.UNA and found no new loss.
    pub fn on_ack(&mut self, delivered: u64, pipe: u64, mss: u64, progress: bool) -> u64 {
        self.prr_delivered += delivered;
        if pipe > self.ssthresh {
            let share =
                (u128::from(self.prr_delivered) * u128::from(self.ssthresh)).div_ceil(u128::from(self.recover_fs));
            // differs: rounded up to whole segments, as the RFC's examples count and Linux does, not to bytes.
            let target = u64::try_from(share).unwrap_or(u64::MAX).div_ceil(mss).saturating_mul(mss);
            return target.saturating_sub(self.prr_out);
        }
        let banked = self.prr_delivered.saturating_sub(self.prr_out);
        let limit = match self.bound {
            PrrBound::Conservative => banked,
            PrrBound::SlowStart => banked.max(delivered) + mss,
            PrrBound::SafeAck if progress => banked.max(delivered) + mss,
            PrrBound::SafeAck => banked.max(delivered),
        };
        limit.min(self.ssthresh - pipe)
    }

    /// `bytes` were sent or resent.
    pub fn on_sent(&mut self, bytes: u64) {
        self.prr_out += bytes;
    }
}
