//! Named, counter-based random streams.
//!
//! A stream is a pure function of (seed, replication, name): adding a machine, a flow or a thread never
//! shifts another's numbers, and two variants under the same seed meet the same radio. The generator is
//! Philox 4×32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).

use crate::units::Probability;

/// A stream of random numbers of one machine's one purpose.
#[derive(Clone, Debug)]
pub struct Stream {
    key: [u32; 2],
    /// Low half counts blocks, high half is the stream's own number.
    counter: [u32; 4],
    block: [u32; 4],
    used: usize,
}

impl Stream {
    /// The stream called `name` (such as `"access/umts/ue/down/errors"`) of one replication of one seed.
    pub fn new(seed: u64, replication: u32, name: &str) -> Self {
        let number = mix(fnv1a(name.as_bytes()) ^ mix(u64::from(replication)));
        Stream {
            key: [seed as u32, (seed >> 32) as u32],
            counter: [0, 0, number as u32, (number >> 32) as u32],
            block: [0; 4],
            used: 4,
        }
    }

    /// Sixty-four random bits.
    pub fn next_u64(&mut self) -> u64 {
        if self.used >= 4 {
            self.block = philox(self.counter, self.key);
            self.used = 0;
            let (low, carry) = self.counter[0].overflowing_add(1);
            self.counter[0] = low;
            self.counter[1] = self.counter[1].wrapping_add(u32::from(carry));
        }
        let bits = u64::from(self.block[self.used]) | u64::from(self.block[self.used + 1]) << 32;
        self.used += 2;
        bits
    }

    /// A number uniform in `[0, 1)`, a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A whole number uniform in `0..bound`, by multiplication (bias below `bound / 2^64`).
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

/// Independent errors of one probability, drawn as the distance to the next error.
///
/// The distance is geometric, so that a rare error costs one draw and one logarithm instead of a draw for
/// every trial; at probability zero nothing is ever drawn.
#[derive(Clone, Debug)]
pub struct IndependentErrors {
    probability: Probability,
    stream: Stream,
    /// Trials that still succeed before the next error.
    successes: u64,
}

impl IndependentErrors {
    /// Errors of `probability` driven by `stream`.
    pub fn new(probability: Probability, stream: Stream) -> Self {
        let mut errors = IndependentErrors { probability, stream, successes: 0 };
        errors.successes = errors.draw();
        errors
    }

    /// The stream that drives them, as far as it was used.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Changes the probability of the trials to come, and says whether it was another one before.
    ///
    /// As the distance to the next error has no memory, drawing it anew is all it takes.
    pub fn set_probability(&mut self, probability: Probability) -> bool {
        let changed = probability != self.probability;
        if changed {
            self.probability = probability;
            self.successes = self.draw();
        }
        changed
    }

    /// True when the next trial is an error.
    #[inline]
    pub fn strikes(&mut self) -> bool {
        if self.successes > 0 {
            self.successes -= 1;
            return false;
        }
        self.successes = self.draw();
        true
    }

    /// Takes up to `most` error-free trials in one step and says how many there were; when fewer than
    /// `most`, the trial after them is an error.
    #[inline]
    pub fn take_successes(&mut self, most: u64) -> u64 {
        let taken = self.successes.min(most);
        self.successes -= taken;
        taken
    }

    /// Inverts P(distance >= n) = (1 - p)^n.
    fn draw(&mut self) -> u64 {
        let p = self.probability.get();
        if p == 0.0 {
            return u64::MAX;
        }
        let survival = 1.0 - self.stream.uniform(); // in (0, 1], so the logarithm is finite
        let distance = survival.ln() / (-p).ln_1p();
        if distance < u64::MAX as f64 { distance as u64 } else { u64::MAX }
    }
}

/// One Philox 4×32 block with ten rounds.
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    const MULTIPLIERS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
    const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
    for _ in 0..10 {
        let first = MULTIPLIERS[0] * u64::from(counter[0]);
        let second = MULTIPLIERS[1] * u64::from(counter[2]);
        counter = [
            (second >> 32) as u32 ^ counter[1] ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ counter[3] ^ key[1],
            first as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

/// FNV-1a, 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3))
}

/// The finalizer of SplitMix64: every input bit reaches every output bit.
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_gives_the_published_vectors() {
        // kat_vectors of the authors' Random123 distribution, philox4x32 with 10 rounds.
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_E8D5, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408F_276D, 0x41C8_3B0E, 0xA20B_C7C6, 0x6D54_51FD]);
        let pi_digits = [0x243F_6A88, 0x85A3_08D3, 0x1319_8A2E, 0x0370_7344];
        assert_eq!(philox(pi_digits, [0xA409_3822, 0x299F_31D0]), [0xD16C_FE09, 0x94FD_CCEB, 0x5001_E420, 0x2412_6EA1]);
    }

    #[test]
    fn streams_differ_in_name_replication_and_seed() {
        let first = |seed, replication, name| Stream::new(seed, replication, name).next_u64();
        let reference = first(1, 0, "a");
        assert_eq!(reference, first(1, 0, "a"));
        assert_ne!(reference, first(2, 0, "a"));
        assert_ne!(reference, first(1, 1, "a"));
        assert_ne!(reference, first(1, 0, "b"));
    }

    #[test]
    fn skipping_gives_the_same_errors_as_asking_one_by_one() {
        let errors = || IndependentErrors::new(Probability::new(0.1).unwrap(), Stream::new(7, 0, "x"));
        let (mut single, mut batched) = (errors(), errors());
        let one_by_one: Vec<bool> = (0..10_000).map(|_| single.strikes()).collect();
        let mut in_batches = Vec::new();
        while in_batches.len() < 10_000 {
            let good = batched.take_successes(24);
            in_batches.extend((0..good).map(|_| false));
            if good < 24 {
                assert!(batched.strikes());
                in_batches.push(true);
            }
        }
        assert_eq!(one_by_one, in_batches[..10_000]);
    }

    #[test]
    fn the_error_rate_and_the_gaps_are_geometric() {
        // Binomial standard deviation of 1e6 trials at 0.1 is 300; five of them.
        let mut errors = IndependentErrors::new(Probability::new(0.1).unwrap(), Stream::new(3, 0, "x"));
        let trials: Vec<bool> = (0..1_000_000).map(|_| errors.strikes()).collect();
        let count = trials.iter().filter(|&&error| error).count() as i64;
        assert!((count - 100_000).abs() < 1_500, "{count}");
        // Errors are independent: the pair "error, error" has probability 0.01.
        let pairs = trials.windows(2).filter(|pair| pair[0] && pair[1]).count() as i64;
        assert!((pairs - 10_000).abs() < 600, "{pairs}");
    }

    #[test]
    fn a_changed_probability_holds_from_the_next_trial_on() {
        let mut errors = IndependentErrors::new(Probability::ZERO, Stream::new(3, 0, "x"));
        assert!(!errors.set_probability(Probability::ZERO));
        assert!(errors.set_probability(Probability::new(0.5).unwrap()));
        // Binomial standard deviation of 1e4 trials at 0.5 is 50; five of them.
        let count = (0..10_000).filter(|_| errors.strikes()).count() as i64;
        assert!((count - 5_000).abs() < 250, "{count}");
        assert!(errors.set_probability(Probability::ZERO));
        assert!((0..1000).all(|_| !errors.strikes()));
    }

    #[test]
    fn probability_zero_never_errs() {
        let mut errors = IndependentErrors::new(Probability::ZERO, Stream::new(3, 0, "x"));
        assert!((0..1000).all(|_| !errors.strikes()));
        assert_eq!(errors.take_successes(1 << 40), 1 << 40);
    }
}
