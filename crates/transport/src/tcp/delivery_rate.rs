//! How fast data is delivered, by samples from one transmission to its acknowledgement.
//!
//! Read draft-cheng-iccrg-delivery-rate-estimation first; draft-ietf-ccwg-bbr §4.1 repeats it with the amounts in flight
//! and lost that version 3 of BBR needs. Connection variables (`C.`) are the fields of [`DeliveryRate`], those of a
//! packet (`P.`) the fields of [`Sent`], and a sample (`RS.`) is a [`RateSample`].

use std::collections::VecDeque;

use cellwind_engine::time::{Span, Time};

use super::board::Segment;

/// The estimator: what was delivered, and how it stood when each segment in flight was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveryRate {
    /// C.delivered: bytes acknowledged or SACKed so far.
    delivered: u64,
    /// C.delivered_time.
    delivered_at: Time,
    /// C.first_send_time.
    first_sent: Time,
    /// C.app_limited: samples of what was sent before so much is delivered show the application's rate.
    app_limited: u64,
    /// C.lost: bytes found lost so far.
    lost: u64,
    /// C.is_cwnd_limited holds until so much is delivered.
    window_limited: u64,
    /// Everything below was in flight at the last timeout: the recovery from it is not over.
    timed_out_below: u64,
    /// The last transmission of each segment in flight, in the order of sequence numbers.
    sent: VecDeque<Sent>,
    /// The shortest round trip so far.
    min_rtt: Option<Span>,
    /// What the ACK being processed has delivered.
    ack: AckInProgress,
}

/// State of a transmission (`P.`).
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// Sequence number after the segment.
    end: u64,
    at: Time,
    first_sent: Time,
    delivered_at: Time,
    delivered: u64,
    lost: u64,
    /// C.inflight with this segment.
    in_flight: u64,
    is_app_limited: bool,
    /// Which of two transmissions arrived is not known.
    is_resent: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct AckInProgress {
    now: Time,
    prior_in_flight: u64,
    newly_acked: u64,
    newest: Option<Sent>,
}

/// What an acknowledgement that delivers something tells (`RS.`), and how the connection stands then (`C.`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateSample {
    pub now: Time,
    pub mss: u64,
    /// C.delivered.
    pub total_delivered: u64,
    /// C.inflight after this ACK.
    pub in_flight: u64,
    /// C.inflight before it.
    pub prior_in_flight: u64,
    /// C.is_cwnd_limited.
    pub is_window_limited: bool,
    /// A loss is being repaired, after duplicate ACKs or a timeout.
    pub in_recovery: bool,
    /// RS.delivery_rate in bytes per second; none when the interval is shorter than any round trip.
    pub rate: Option<f64>,
    /// RS.delivered: bytes delivered since the newest segment it acknowledges was sent.
    pub delivered: u64,
    /// RS.prior_delivered: C.delivered when that was sent.
    pub prior_delivered: u64,
    /// RS.newly_acked: bytes it acknowledges or SACKs.
    pub newly_acked: u64,
    /// RS.lost: bytes found lost since that segment was sent.
    pub lost: u64,
    /// RS.tx_in_flight: C.inflight when that segment was sent.
    pub tx_in_flight: u64,
    pub is_app_limited: bool,
    /// RS.rtt: how long that segment took; none when it was sent twice.
    pub rtt: Option<Span>,
}

/// A segment found lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    pub start: u64,
    pub end: u64,
    /// C.inflight when it was sent.
    pub tx_in_flight: u64,
    /// Bytes found lost since, these included.
    pub lost: u64,
    pub is_app_limited: bool,
    /// C.delivered.
    pub total_delivered: u64,
    pub now: Time,
}

impl DeliveryRate {
    /// A segment that ends at `end` leaves, with which `in_flight` bytes are in the network; `window` is C.cwnd.
    pub fn on_sent(&mut self, end: u64, length: u64, in_flight: u64, window: u64, mss: u64, now: Time) {
        if in_flight <= length {
            // Nothing was in flight: the sample begins now (§3.2).
            self.first_sent = now;
            self.delivered_at = now;
        }
        if in_flight + mss > window {
            self.window_limited = self.delivered + in_flight;
        }
        let sent = Sent {
            end,
            at: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
            in_flight,
            is_app_limited: self.app_limited > 0,
            is_resent: false,
        };
        if self.sent.back().is_none_or(|last| last.end < end) {
            self.sent.push_back(sent);
        } else if let Some(earlier) = self.find(end) {
            *earlier = Sent { is_resent: true, ..sent };
        }
    }

    /// An ACK is about to be taken; `in_flight` bytes are in the network.
    pub fn begin_ack(&mut self, in_flight: u64, now: Time) {
        self.ack = AckInProgress { now, prior_in_flight: in_flight, ..AckInProgress::default() };
    }

    /// The ACK tells that `segment` has arrived (UpdateRateSample, §3.3).
    #[inline]
    pub fn on_delivered(&mut self, segment: &Segment) {
        let bytes = segment.end - segment.start;
        self.delivered += bytes;
        self.delivered_at = self.ack.now;
        self.ack.newly_acked += bytes;
        let Some(&mut sent) = self.find(segment.end) else { return };
        let newer = |newest: Sent| (sent.at, sent.end) > (newest.at, newest.end);
        if self.ack.newest.is_none_or(newer) {
            self.ack.newest = Some(sent);
            self.first_sent = sent.at;
        }
    }

    /// Forgets the transmissions of what is acknowledged up to `ack`.
    #[inline]
    pub fn forget_below(&mut self, ack: u64) {
        while self.sent.front().is_some_and(|sent| sent.end <= ack) {
            self.sent.pop_front();
        }
    }

    /// `segment` was found lost.
    pub fn on_lost(&mut self, segment: &Segment) -> Loss {
        self.lost += segment.end - segment.start;
        let (lost, total_delivered) = (self.lost, self.delivered);
        let (tx_in_flight, lost, is_app_limited) = self
            .find(segment.end)
            .map_or((0, 0, false), |sent| (sent.in_flight, lost - sent.lost, sent.is_app_limited));
        let now = self.ack.now;
        Loss { start: segment.start, end: segment.end, tx_in_flight, lost, is_app_limited, total_delivered, now }
    }

    /// The retransmission timer expired, everything below `snd_max` was sent, and `forgotten` bytes of it count as lost
    /// though no recovery says so.
    pub fn on_timeout(&mut self, forgotten: u64, snd_max: u64) {
        self.lost += forgotten;
        self.timed_out_below = snd_max;
    }

    /// The application has nothing to send though the window has room, or the algorithm holds back: what is sent until
    /// all of that is delivered does not show what the path can do (§3.4).
    pub fn limit_by_application(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// Whether the application has had nothing to send lately.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// The sample of the ACK whose news were told by [`on_delivered`](Self::on_delivered) (GenerateRateSample, §3.3); none
    /// when there were none.
    pub fn take_sample(&mut self, view: &View) -> Option<RateSample> {
        let AckInProgress { now, prior_in_flight, newly_acked, newest } = self.ack;
        self.ack.newest = None;
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let sent = newest?;
        // The rate can be no higher than that of sending, nor than that of the ACKs (§2.2).
        let interval = (sent.at - sent.first_sent).max(self.delivered_at - sent.delivered_at);
        let delivered = self.delivered - sent.delivered;
        let rtt = (!sent.is_resent).then(|| now - sent.at);
        self.min_rtt = self.min_rtt.into_iter().chain(rtt).min();
        let plausible = interval > Span::ZERO && self.min_rtt.is_none_or(|shortest| interval >= shortest);
        Some(RateSample {
            now,
            mss: view.mss,
            total_delivered: self.delivered,
            in_flight: view.in_flight,
            prior_in_flight,
            is_window_limited: self.delivered < self.window_limited,
            in_recovery: view.in_recovery || view.snd_una < self.timed_out_below,
            rate: plausible.then(|| delivered as f64 / interval.as_secs_f64()),
            delivered,
            prior_delivered: sent.delivered,
            newly_acked,
            lost: self.lost - sent.lost,
            tx_in_flight: sent.in_flight,
            is_app_limited: sent.is_app_limited,
            rtt,
        })
    }

    /// The last transmission of the segment that ends at `end`.
    #[inline]
    fn find(&mut self, end: u64) -> Option<&mut Sent> {
        let index = match self.sent.front() {
            Some(first) if first.end >= end => 0,
            _ => self.sent.partition_point(|sent| sent.end < end),
        };
        self.sent.get_mut(index).filter(|sent| sent.end == end)
    }
}

/// What the estimator has to be told of the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub mss: u64,
    /// C.inflight after the ACK.
    pub in_flight: u64,
    pub snd_una: u64,
    pub in_recovery: bool,
}

#[cfg(test)]
mod tests;
