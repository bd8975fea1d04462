//! The TCP throughput equation (RFC 5348 §3.1).

/// X_Bps, the average rate in bytes per second of a TCP with segments of `s` bytes, a round trip of `r` seconds and a loss
/// event rate of `p`; one ACK for each packet (b = 1) and a timeout of four round trips.
pub fn throughput(s: f64, r: f64, p: f64) -> f64 {
    s / (r * f(p))
}

/// The loss event rate at which the equation gives `x` bytes per second, to a millionth of itself; 1 when even that gives more.
pub fn loss_rate_for(s: f64, r: f64, x: f64) -> f64 {
    let (mut low, mut high) = (1e-12, 1.0);
    if throughput(s, r, high) >= x {
        return high;
    }
    if throughput(s, r, low) <= x {
        return low;
    }
    // The equation falls with p: halve the interval of its logarithm.
    while high / low > 1.000_001 {
        let middle = (low * high).sqrt();
        if throughput(s, r, middle) > x { low = middle } else { high = middle }
    }
    (low * high).sqrt()
}

/// The denominator for a round trip of one second, with t_RTO = 4 R.
fn f(p: f64) -> f64 {
    (2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equation_by_hand() {
        // p = 0.01: sqrt(0.02/3) = 0.0816497; 12 sqrt(0.00375) 0.01 1.0032 = 0.0073719; 1000 / (0.1 × 0.0890216) = 112332.
        assert!((throughput(1000.0, 0.1, 0.01) - 112_332.0).abs() < 2.0);
        // p = 1: sqrt(2/3) + 12 sqrt(3/8) 33 = 243.315 round trips for one packet
        assert!((throughput(1000.0, 1.0, 1.0) - 4.1099).abs() < 1e-4);
    }

    #[test]
    fn the_inverse_gives_back_the_loss_event_rate() {
        for p in [1e-6, 1e-3, 0.02, 0.3] {
            let x = throughput(1460.0, 0.3, p);
            assert!((loss_rate_for(1460.0, 0.3, x) / p - 1.0).abs() < 1e-5);
        }
        assert_eq!(loss_rate_for(1000.0, 1.0, 1.0), 1.0);
    }
}
