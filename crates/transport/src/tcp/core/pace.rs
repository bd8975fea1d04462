//! The pace at which a sender lets segments go, and the delivery rate that some algorithms derive it from.

use cellwind_engine::time::Time;

use super::Core;
use crate::tcp::board::Segment;
use crate::tcp::congestion::Windows;
use crate::tcp::delivery_rate::View;
use crate::tcp::pacing::pace_of_window;

impl Core {
    /// Whether the pace lets a segment leave now. If not, [`paced_until`](Self::paced_until) says when it does; loops that
    /// send as much as the windows allow ask before each segment.
    #[inline]
    pub fn pace_allows(&mut self, now: Time) -> bool {
        self.pacer.as_mut().is_none_or(|pacer| pacer.allows(now))
    }

    /// When a segment that waits for its pace may leave.
    #[inline]
    pub fn paced_until(&self) -> Option<Time> {
        self.pacer.as_ref().and_then(|pacer| pacer.release())
    }

    /// Whether a segment waited for its pace, and need wait no longer.
    pub fn take_release(&mut self, now: Time) -> bool {
        self.pacer.as_mut().is_some_and(|pacer| pacer.take_release(now))
    }

    /// Adapts the pace to the algorithm, or to the windows and the round trip.
    #[inline]
    pub fn set_pace(&mut self) {
        if self.pacer.is_some() {
            self.adapt_pace();
        }
    }

    #[inline(never)]
    fn adapt_pace(&mut self) {
        let Some(pacer) = &mut self.pacer else { return };
        let Windows { cwnd, ssthresh } = self.windows;
        let flight = self.snd_nxt - self.snd_una;
        let of_window = || pace_of_window(cwnd, ssthresh, flight, self.rto.srtt(), self.mss);
        if let Some(pace) = self.congestion.pace().or_else(of_window) {
            pacer.set(pace, self.mss);
        }
    }

    /// The connection is open and the first window set.
    pub fn connect(&mut self, now: Time) {
        self.congestion.on_connected(&self.windows, self.rto.srtt(), now, self.mss);
        self.set_pace();
    }

    /// A segment that ends at `end` is about to leave and stands on the scoreboard.
    #[inline(never)]
    pub(super) fn note_sent(&mut self, end: u64, length: u64, now: Time) {
        let in_flight = self.in_network();
        let Some(delivery) = &mut self.delivery_rate else { return };
        let was_idle = in_flight <= length && delivery.is_app_limited();
        delivery.on_sent(end, length, in_flight, self.windows.cwnd, self.mss, now);
        if was_idle {
            self.congestion.on_restart_from_idle(&mut self.windows, now);
            self.set_pace();
        }
    }

    /// The application has nothing to send though the windows have room.
    #[inline(never)]
    pub(super) fn note_nothing_to_send(&mut self) {
        let in_flight = self.in_network();
        if let Some(delivery) = &mut self.delivery_rate
            && in_flight < self.windows.cwnd
        {
            delivery.limit_by_application(in_flight);
        }
    }

    /// An ACK is about to be taken.
    #[inline]
    pub fn begin_ack(&mut self, now: Time) {
        if self.delivery_rate.is_some() {
            self.begin_sample(now);
        }
    }

    #[inline(never)]
    fn begin_sample(&mut self, now: Time) {
        let in_flight = self.in_network();
        if let Some(delivery) = &mut self.delivery_rate {
            delivery.begin_ack(in_flight, now);
        }
    }

    /// Gives the congestion control the sample of the ACK that was taken, if it lives by samples.
    #[inline(never)]
    pub(super) fn take_rate_sample(&mut self, in_recovery: bool) {
        let in_flight = self.in_network();
        let Some(delivery) = &mut self.delivery_rate else { return };
        delivery.forget_below(self.snd_una);
        let view = View { mss: self.mss, in_flight, snd_una: self.snd_una, in_recovery };
        if let Some(sample) = delivery.take_sample(&view) {
            self.congestion.on_sample(&mut self.windows, &sample);
            if self.congestion.is_holding_back() {
                delivery.limit_by_application(in_flight);
            }
        }
    }

    /// Finds the segments below `seq` lost, by a rule whose mark only rises.
    pub fn lose_below(&mut self, seq: u64) {
        let Core { board, delivery_rate, congestion, windows, .. } = self;
        board.lose_below(seq, |segment: &Segment| {
            if let Some(delivery) = delivery_rate {
                congestion.on_lost(windows, &delivery.on_lost(segment));
            }
        });
    }

    /// Finds the last transmission of `segment` lost.
    pub fn lose(&mut self, segment: &Segment) {
        self.board.lose(segment.start);
        if let Some(delivery) = &mut self.delivery_rate {
            self.congestion.on_lost(&self.windows, &delivery.on_lost(segment));
        }
    }

    /// Whether the congestion control sets the window in recovery too, so that none of its reductions may.
    pub fn window_follows_model(&self) -> bool {
        self.delivery_rate.is_some()
    }

    /// What is believed to be in the network: the pipe of RFC 6675 §4, and after a timeout only what was sent since.
    fn in_network(&self) -> u64 {
        self.board.pipe().min(self.flight())
    }
}
