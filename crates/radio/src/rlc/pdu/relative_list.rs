//! The code words of the Relative List super-field, TS 25.322 §9.2.2.11.6.

use super::{AM_MODULUS, EmitError, ParseError};

/// Erroneous AMD PDUs, each told by its distance from the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelativeList {
    /// Sequence number of the first erroneous PDU.
    pub first: u16,
    /// The others.
    pub steps: Vec<Step>,
}

/// A number in a relative list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next erroneous PDU is so far from the one before.
    Next(u16),
    /// So many erroneous PDUs follow without a gap.
    Burst(u16),
}

/// Consecutive erroneous PDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Sequence number of the first.
    pub first: u16,
    /// How many, at least one.
    pub count: u16,
}

/// The code word that announces a burst.
const BURST: u8 = 0b0001;
/// The most code words of a list.
const MOST: usize = 15;

impl RelativeList {
    /// The list of `runs`, which are in order and have a gap between them; `None` when they are none.
    pub fn of(runs: &[Run]) -> Option<Self> {
        let first = runs.first()?.first;
        let mut steps = Vec::new();
        let mut last = first;
        for run in runs {
            if run.first != last {
                steps.push(Step::Next(run.first.wrapping_sub(last) % AM_MODULUS));
            }
            if run.count > 1 {
                steps.push(Step::Burst(run.count - 1));
            }
            last = (run.first + run.count - 1) % AM_MODULUS;
        }
        Some(RelativeList { first, steps })
    }

    /// The erroneous PDUs.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs = vec![Run { first: self.first, count: 1 }];
        for &step in &self.steps {
            let run = runs.last_mut().expect("there is always one");
            match step {
                Step::Burst(more) => run.count += more,
                Step::Next(1) => run.count += 1,
                Step::Next(distance) => {
                    let first = (run.first + run.count - 1 + distance) % AM_MODULUS;
                    runs.push(Run { first, count: 1 });
                }
            }
        }
        runs
    }

    /// The list as code words of four bits.
    pub fn code_words(&self) -> Result<Vec<u8>, EmitError> {
        let mut words = Vec::new();
        for &step in &self.steps {
            let (Step::Next(number) | Step::Burst(number)) = step;
            if number == 0 || number >= AM_MODULUS {
                return Err(EmitError::Field("steps"));
            }
            if matches!(step, Step::Burst(_)) {
                words.push(BURST);
            }
            // Three bits in a word, the least significant ones first; the last bit tells the last word.
            let mut left = number;
            while left > 0b111 {
                words.push((left as u8 & 0b111) << 1);
                left >>= 3;
            }
            words.push((left as u8) << 1 | 1);
        }
        if words.len() > MOST { Err(EmitError::Field("steps")) } else { Ok(words) }
    }

    /// The list of code words; numbers that no sequence number reaches are refused.
    pub fn from_code_words(first: u16, words: &[u8]) -> Result<Self, ParseError> {
        let mut steps = Vec::new();
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let is_burst = word == BURST;
            let mut word = if is_burst { *words.next().ok_or(ParseError::CodeWords)? } else { word };
            let mut number = 0u16;
            let mut shift = 0;
            loop {
                let bits = u16::from(word >> 1);
                // Twelve bits take four words.
                if shift >= 12 {
                    return Err(ParseError::CodeWords);
                }
                number |= bits << shift;
                shift += 3;
                if word & 1 == 1 {
                    // A last word of no bits would be the burst indicator.
                    if bits == 0 {
                        return Err(ParseError::CodeWords);
                    }
                    break;
                }
                word = *words.next().ok_or(ParseError::CodeWords)?;
            }
            steps.push(if is_burst { Step::Burst(number) } else { Step::Next(number) });
        }
        Ok(RelativeList { first, steps })
    }
}
