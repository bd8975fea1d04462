//! Random lengths of time: a distribution that scenario files write as text, and draws from it.

use std::fmt;

use crate::impl_text;
use crate::random::Stream;
use crate::text::{Reason, Text};
use crate::time::Span;

/// The distribution of a length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanDistribution {
    /// Always the same; draws nothing from the stream.
    Constant(Span),
    /// Any nanosecond between two bounds, both included, with the same probability.
    Uniform {
        /// The least.
        from: Span,
        /// The most, which is not below the least.
        to: Span,
    },
    /// Without memory, with this mean.
    Exponential(Span),
}

impl SpanDistribution {
    /// The next length of time.
    pub fn draw(&self, stream: &mut Stream) -> Span {
        match *self {
            SpanDistribution::Constant(span) => span,
            SpanDistribution::Uniform { from, to } => {
                let choices = (to - from).as_nanos().saturating_add(1);
                from + Span::from_nanos(stream.below(choices))
            }
            SpanDistribution::Exponential(mean) => {
                // Inverts P(length > t) = exp(-t / mean); 1 - u is in (0, 1], so that the logarithm is finite.
                let length = -(1.0 - stream.uniform()).ln() * mean.as_nanos() as f64;
                Span::from_nanos(length as u64)
            }
        }
    }

    /// The mean of many draws.
    pub fn mean(&self) -> Span {
        match *self {
            SpanDistribution::Constant(span) | SpanDistribution::Exponential(span) => span,
            SpanDistribution::Uniform { from, to } => from + (to - from) / 2,
        }
    }
}

impl Text for SpanDistribution {
    const EXPECTED: &'static str = r#"a time such as "30 s", "uniform 20 s to 40 s" or "exponential 30 s""#;
    const PATTERN: &'static str = r"^(uniform +\d+(\.\d+)? *(ns|us|µs|ms|s|min|h|day|days) +to +|exponential +)?\d+(\.\d+)? *(ns|us|µs|ms|s|min|h|day|days)$";

    fn parse(text: &str) -> Result<Self, Reason> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        match word {
            "exponential" => Span::parse(rest.trim()).map(SpanDistribution::Exponential),
            "uniform" => {
                let (from, to) = rest.split_once(" to ").ok_or(Reason::OneBound)?;
                match (Span::parse(from.trim())?, Span::parse(to.trim())?) {
                    (from, to) if from > to => Err(Reason::Reversed),
                    (from, to) => Ok(SpanDistribution::Uniform { from, to }),
                }
            }
            _ => Span::parse(text).map(SpanDistribution::Constant).map_err(Reason::or_unknown_word),
        }
    }
}

impl fmt::Display for SpanDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpanDistribution::Constant(span) => span.fmt(f),
            SpanDistribution::Uniform { from, to } => write!(f, "uniform {from} to {to}"),
            SpanDistribution::Exponential(mean) => write!(f, "exponential {mean}"),
        }
    }
}

impl_text!(SpanDistribution);

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation of a hundred thousand draws, in seconds.
    fn moments(text: &str) -> (f64, f64) {
        let distribution: SpanDistribution = text.parse().unwrap();
        let mut stream = Stream::new(7, 0, "x");
        let draws: Vec<f64> = (0..100_000).map(|_| distribution.draw(&mut stream).as_secs_f64()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn draws_have_the_moments_of_theory() {
        // The mean of n draws has the standard deviation σ / √n; five of them. Uniform: σ = (b - a) / √12.
        let (mean, deviation) = moments("uniform 20 s to 40 s");
        assert!((mean - 30.0).abs() < 5.0 * 5.774 / 316.2, "{mean}");
        assert!((deviation - 5.774).abs() < 0.03, "{deviation}");
        // Exponential: σ is the mean.
        let (mean, deviation) = moments("exponential 5 s");
        assert!((mean - 5.0).abs() < 5.0 * 5.0 / 316.2, "{mean}");
        assert!((deviation - 5.0).abs() < 0.1, "{deviation}");
        assert_eq!(moments("250 ms"), (0.25, 0.0));
    }

    #[test]
    fn an_exponential_length_has_no_memory() {
        // P(length > mean) = 1 / e, and of those above the mean the same share is above twice the mean. The standard
        // deviation of the count of 100 000 draws is 153; five of them.
        let distribution = SpanDistribution::Exponential(Span::from_secs(3));
        let mut stream = Stream::new(1, 0, "x");
        let draws: Vec<Span> = (0..100_000).map(|_| distribution.draw(&mut stream)).collect();
        let above = |seconds| draws.iter().filter(|&&draw| draw > Span::from_secs(seconds)).count() as f64;
        assert!((above(3) - 36_788.0).abs() < 765.0, "{}", above(3));
        assert!((above(6) - 13_534.0).abs() < 541.0, "{}", above(6));
    }

    #[test]
    fn both_bounds_of_a_uniform_length_come_up() {
        let distribution: SpanDistribution = "uniform 3 ns to 5 ns".parse().unwrap();
        let mut stream = Stream::new(1, 0, "x");
        let mut seen = [0; 9];
        (0..3000).for_each(|_| seen[distribution.draw(&mut stream).as_nanos() as usize] += 1);
        assert_eq!(seen.iter().sum::<i32>(), seen[3] + seen[4] + seen[5]);
        assert!(seen[3..=5].iter().all(|&count| count > 870), "{seen:?}"); // 1000, σ = 25.8
    }

    #[test]
    fn distributions_survive_their_text() {
        for text in ["30 s", "uniform 20 s to 40 s", "uniform 1.5 s to 1.5 s", "exponential 250 ms"] {
            let distribution: SpanDistribution = text.parse().unwrap();
            assert_eq!(distribution.to_string().parse(), Ok(distribution), "{text}");
        }
    }

    #[test]
    fn bad_texts_are_refused_with_the_reason() {
        let reason = |text: &str| text.parse::<SpanDistribution>().unwrap_err().reason;
        assert_eq!(reason("uniform 40 s to 20 s"), Reason::Reversed);
        assert_eq!(reason("uniform 40 s"), Reason::OneBound);
        assert_eq!(reason("normal 40 s"), Reason::UnknownWord);
        assert_eq!(reason("exponential 40"), Reason::MissingUnit);
        assert_eq!(reason("uniform 1 s to 2 m"), Reason::UnknownUnit("m".into()));
        assert_eq!(reason("-1 s"), Reason::Negative);
    }
}
