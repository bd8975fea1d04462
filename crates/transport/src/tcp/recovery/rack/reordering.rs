//! How long RACK waits for a segment that others have overtaken (RFC 8985 §6.2, steps 1, 3 and 4).

use cellwind_engine::time::{Span, Time};

/// For how many recoveries a larger window is kept (§6.2 step 4).
const PERSIST: u32 = 16;
/// Over how long the shortest round trip is looked for, so that a longer path is noticed (§6.2 step 1; Linux: 300 s).
const MIN_RTT_WINDOW: Span = Span::from_secs(300);

/// What has been seen of reordering.
#[derive(Clone, Debug)]
pub(super) struct Reordering {
    /// RACK.min_RTT, and when it was measured.
    min_rtt: Option<(Span, Time)>,
    /// RACK.fack.
    fack: u64,
    /// The highest end among the segments of the ACK that is being taken.
    highest: u64,
    /// RACK.reordering_seen.
    seen: bool,
    /// RACK.reo_wnd_mult.
    reo_wnd_mult: u32,
    /// RACK.reo_wnd_persist.
    reo_wnd_persist: u32,
    /// RACK.dsack_round.
    dsack_round: Option<u64>,
}

impl Default for Reordering {
    fn default() -> Self {
        Reordering {
            min_rtt: None,
            fack: 0,
            highest: 0,
            seen: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: PERSIST,
            dsack_round: None,
        }
    }
}

impl Reordering {
    /// Takes the round trip of a segment that was sent once.
    pub fn on_rtt(&mut self, rtt: Span, now: Time) {
        let keeps = |&(shortest, since): &(Span, Time)| shortest < rtt && now.since(since) <= MIN_RTT_WINDOW;
        if !self.min_rtt.as_ref().is_some_and(keeps) {
            self.min_rtt = Some((rtt, now));
        }
    }

    /// Takes `srtt` for the shortest round trip as long as none was measured.
    pub fn begin_with(&mut self, srtt: Option<Span>, now: Time) {
        self.min_rtt = self.min_rtt.or(srtt.map(|srtt| (srtt, now)));
    }

    /// Whether a round trip is too short to be that of a retransmission (§6.2 step 2).
    pub fn is_below_min_rtt(&self, rtt: Span) -> bool {
        self.min_rtt.is_some_and(|(shortest, _)| rtt < shortest)
    }

    /// RACK_detect_reordering (§6.2 step 3). All segments of an ACK are compared with what came before that ACK, so that
    /// their order does not matter.
    pub fn on_delivered(&mut self, end: u64, is_resent: bool) {
        self.seen |= end < self.fack && !is_resent;
        self.highest = self.highest.max(end);
    }

    /// An acceptable ACK, after its segments; `d_sack` tells whether it reports a duplicate.
    pub fn on_arrival(&mut self, d_sack: bool, snd_una: u64, snd_nxt: u64) {
        self.fack = self.highest;
        if self.dsack_round.is_some_and(|round| snd_una >= round) {
            self.dsack_round = None;
        }
        if d_sack && self.dsack_round.is_none() {
            self.dsack_round = Some(snd_nxt);
            self.reo_wnd_mult += 1;
            self.reo_wnd_persist = PERSIST;
        }
    }

    /// A recovery is over.
    pub fn on_recovered(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// RACK.reo_wnd (§6.2 step 4). `is_certain` tells that recovery has begun or that enough is SACKed to begin it.
    pub fn window(&self, is_certain: bool, srtt: Option<Span>) -> Span {
        if !self.seen && is_certain {
            return Span::ZERO;
        }
        let min_rtt = self.min_rtt.map_or(Span::ZERO, |(shortest, _)| shortest);
        (min_rtt * u64::from(self.reo_wnd_mult) / 4).min(srtt.unwrap_or(Span::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn measured() -> Reordering {
        let mut reordering = Reordering::default();
        reordering.on_rtt(MS(120), Time::ZERO);
        reordering.on_rtt(MS(100), Time::ZERO);
        reordering.on_rtt(MS(140), Time::ZERO);
        reordering
    }

    #[test]
    fn without_reordering_nothing_waits_once_recovery_is_certain() {
        let reordering = measured();
        assert_eq!(reordering.window(false, None), MS(25));
        assert_eq!(reordering.window(true, None), MS(0));
    }

    #[test]
    fn an_original_below_what_was_delivered_before_is_reordering() {
        let mut reordering = measured();
        // One ACK reports 4 and 1 to 2: they may have arrived in order.
        [401, 101, 201].into_iter().for_each(|end| reordering.on_delivered(end, false));
        reordering.on_arrival(false, 201, 501);
        assert_eq!(reordering.window(true, None), MS(0));
        reordering.on_delivered(301, true); // a retransmission tells nothing
        reordering.on_arrival(false, 401, 501);
        assert_eq!(reordering.window(true, None), MS(0));
        reordering.on_delivered(351, false);
        assert_eq!(reordering.window(true, None), MS(25));
    }

    #[test]
    fn each_round_with_a_d_sack_adds_a_quarter_up_to_srtt() {
        let mut reordering = measured();
        reordering.on_arrival(true, 1, 1001);
        assert_eq!(reordering.window(false, None), MS(50));
        reordering.on_arrival(true, 501, 1501); // the same round
        assert_eq!(reordering.window(false, None), MS(50));
        reordering.on_arrival(true, 1001, 2001);
        assert_eq!(reordering.window(false, None), MS(75));
        assert_eq!(reordering.window(false, Some(MS(60))), MS(60));
    }

    #[test]
    fn sixteen_recoveries_without_d_sack_make_it_small_again() {
        let mut reordering = measured();
        reordering.on_arrival(true, 1, 1001);
        (0..15).for_each(|_| reordering.on_recovered());
        assert_eq!(reordering.window(false, None), MS(50));
        reordering.on_recovered();
        assert_eq!(reordering.window(false, None), MS(25));
    }

    #[test]
    fn the_shortest_round_trip_is_forgotten_after_five_minutes() {
        let mut reordering = measured();
        reordering.on_rtt(MS(400), Time::ZERO + Span::from_secs(301));
        assert_eq!(reordering.window(false, None), MS(100));
    }
}
