//! Whether the pipe is full: three rounds in which the bandwidth grew by less than a quarter (v1 §4.3.2.2, v3 §5.3.1.2).

/// The estimator of a full pipe.
#[derive(Clone, Copy, Debug, Default)]
pub struct FullPipe {
    /// BBR.full_bw: the bandwidth that growth is measured from.
    baseline: f64,
    /// BBR.full_bw_count: rounds without growth.
    rounds: u32,
    /// BBR.full_bw_now: full since the last [`restart`](Self::restart).
    pub is_full: bool,
}

impl FullPipe {
    const GROWTH: f64 = 1.25;
    const ROUNDS: u32 = 3;

    /// Takes the bandwidth at the begin of a round that the application did not limit.
    pub fn on_round(&mut self, bandwidth: f64) {
        if self.is_full {
            return;
        }
        if bandwidth >= self.baseline * Self::GROWTH {
            self.restart(bandwidth);
            return;
        }
        self.rounds += 1;
        self.is_full = self.rounds >= Self::ROUNDS;
    }

    /// Looks for growth from `baseline` on (ResetFullBW).
    pub fn restart(&mut self, baseline: f64) {
        *self = FullPipe { baseline, ..FullPipe::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rounds_without_a_quarter_more_fill_the_pipe() {
        let mut pipe = FullPipe::default();
        // 312 is less than 1.25 × 250 and the first round without growth; 380 is more, and the baseline of what follows.
        for bandwidth in [100.0, 200.0, 250.0, 312.0, 380.0, 400.0, 470.0] {
            pipe.on_round(bandwidth);
            assert!(!pipe.is_full);
        }
        pipe.on_round(474.0);
        assert!(pipe.is_full);
    }
}
