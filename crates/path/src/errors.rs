//! Errors on the way: which blocks that a bearer sends arrive broken, and which packets of a link do not arrive.
//!
//! A process is asked about one trial after the other: a block, with [`ErrorUnit::Tti`] all blocks of a TTI at once,
//! or on a link a packet. Independent errors forget everything between two trials; a [`chain`] of states makes bursts
//! ([`gilbert_elliott`], [`fritchman`], [`markov`]); a [`trace`] repeats what was recorded. [`blackouts`] lie over
//! all of them. Lengths of stays in a state and distances between errors are drawn, not trials, so that a rare error
//! costs little.

pub mod blackouts;
pub mod chain;
pub mod fritchman;
pub mod gilbert_elliott;
pub mod markov;
pub mod settings;
mod text;
pub mod trace;

use cellwind_engine::random::{IndependentErrors, Stream};
use cellwind_engine::time::{Span, Time};

use self::blackouts::Blackouts;
use self::chain::Chain;
use self::settings::{ErrorModel, ErrorSettings, ErrorUnit};
use self::trace::Trace;

/// The errors of one direction of a bearer or of a link.
///
/// A bearer calls [`begin`](ErrorProcess::begin) for each TTI in which it sends something, and then asks about the
/// blocks of that TTI in the order it sends them. A link asks about each packet: when it comes, by
/// [`strikes_packet`](ErrorProcess::strikes_packet), and when its transmission is sure, by
/// [`strikes_transmission`](ErrorProcess::strikes_transmission).
#[derive(Clone, Debug)]
pub struct ErrorProcess {
    settings: ErrorSettings,
    process: Process,
    blackouts: Blackouts,
    /// Whether the running TTI is in a blackout.
    is_dark: bool,
    /// Whether all of the running TTI is in error, where TTIs are struck as a whole.
    is_struck: bool,
}

#[derive(Clone, Debug)]
enum Process {
    Independent(IndependentErrors),
    Chain(Chain),
    Trace(Trace),
}

impl ErrorProcess {
    /// Errors as `settings` describe them, driven by `stream`.
    ///
    /// # Panics
    ///
    /// On settings that [`ErrorSettings::check`] refuses.
    pub fn new(settings: &ErrorSettings, stream: Stream) -> Self {
        ErrorProcess {
            process: Process::new(&settings.model, stream),
            blackouts: Blackouts::new(&settings.blackouts),
            is_dark: false,
            is_struck: false,
            settings: settings.clone(),
        }
    }

    /// Changes the settings of the TTIs or packets to come. What stays the same goes on where it was; another model, or the
    /// same with other parameters, begins anew. Says whether that was so.
    ///
    /// # Panics
    ///
    /// On settings that [`ErrorSettings::check`] refuses.
    pub fn set_settings(&mut self, settings: &ErrorSettings) -> bool {
        let begins_anew = settings.model != self.settings.model;
        if begins_anew {
            match (&mut self.process, &settings.model) {
                (Process::Independent(errors), ErrorModel::Independent(new)) => {
                    errors.set_probability(new.rate);
                }
                (process, model) => *process = Process::new(model, process.stream().clone()),
            }
        }
        if settings.blackouts != self.settings.blackouts {
            self.blackouts = Blackouts::new(&settings.blackouts);
        }
        self.settings = settings.clone();
        begins_anew
    }

    /// A TTI with something to send begins at `now` and lasts for `tti`; `now` never decreases.
    #[inline]
    pub fn begin(&mut self, now: Time, tti: Span) {
        self.process.begin(now);
        self.is_dark = self.blackouts.strike(now, now + tti);
        if self.settings.unit == ErrorUnit::Tti {
            self.is_struck = self.process.strikes() | self.is_dark;
        }
    }

    /// Takes up to `most` error-free blocks in one step and says how many there were; when fewer than `most`, the
    /// block after them is an error.
    #[inline]
    pub fn take_successes(&mut self, most: u64) -> u64 {
        match self.settings.unit {
            ErrorUnit::Tti => most * u64::from(!self.is_struck),
            ErrorUnit::Pdu if self.is_dark => 0,
            ErrorUnit::Pdu => self.process.take_successes(most),
        }
    }

    /// True when the next block is an error.
    #[inline]
    pub fn strikes(&mut self) -> bool {
        match self.settings.unit {
            ErrorUnit::Tti => self.is_struck,
            // A block that a blackout takes is a trial like any other, whose own outcome does not matter.
            ErrorUnit::Pdu => self.process.strikes() | self.is_dark,
        }
    }

    /// Takes the next packet of a link as a trial and says whether it will be lost, as far as that does not depend on when
    /// it is transmitted.
    #[inline]
    pub fn strikes_packet(&mut self) -> bool {
        !self.process.goes_with_time() && self.process.strikes()
    }

    /// Whether it depends on the time of its transmission if a packet is lost.
    #[inline]
    pub fn heeds_time(&self) -> bool {
        self.process.goes_with_time() || !self.blackouts.is_empty()
    }

    /// Whether a packet is lost because of when it is transmitted, from `begins` to `ends`: in a blackout for however
    /// short, or by the state, or the entry of a record, at its end. `begins` never decreases.
    pub fn strikes_transmission(&mut self, begins: Time, ends: Time) -> bool {
        // Where transmission takes no time, it still has its instant.
        let is_dark = self.blackouts.strike(begins, ends.max(begins + Span::from_nanos(1)));
        if !self.process.goes_with_time() {
            return is_dark;
        }
        self.process.begin(ends);
        self.process.strikes() | is_dark
    }
}

impl Process {
    fn new(model: &ErrorModel, stream: Stream) -> Self {
        match model {
            ErrorModel::Independent(settings) => Process::Independent(IndependentErrors::new(settings.rate, stream)),
            ErrorModel::GilbertElliott(settings) => {
                Process::Chain(Chain::new(&settings.chain().expect("checked"), settings.step, stream))
            }
            ErrorModel::Fritchman(settings) => {
                Process::Chain(Chain::new(&settings.chain().expect("checked"), settings.step, stream))
            }
            ErrorModel::Markov(settings) => {
                Process::Chain(Chain::new(&settings.chain().expect("checked"), settings.step, stream))
            }
            ErrorModel::Trace(settings) => Process::Trace(Trace::new(settings, stream)),
        }
    }

    fn stream(&self) -> &Stream {
        match self {
            Process::Independent(errors) => errors.stream(),
            Process::Chain(chain) => chain.stream(),
            Process::Trace(trace) => trace.stream(),
        }
    }

    /// Takes the steps that are due with time.
    #[inline]
    fn begin(&mut self, now: Time) {
        match self {
            Process::Independent(_) => {}
            Process::Chain(chain) => chain.begin(now),
            Process::Trace(trace) => trace.begin(now),
        }
    }

    /// Whether it takes its steps with time and not with trials.
    #[inline]
    fn goes_with_time(&self) -> bool {
        match self {
            Process::Independent(_) => false,
            Process::Chain(chain) => chain.goes_with_time(),
            Process::Trace(trace) => trace.goes_with_time(),
        }
    }

    #[inline]
    fn take_successes(&mut self, most: u64) -> u64 {
        match self {
            Process::Independent(errors) => errors.take_successes(most),
            Process::Chain(chain) => chain.take_successes(most),
            Process::Trace(trace) => trace.take_successes(most),
        }
    }

    #[inline]
    fn strikes(&mut self) -> bool {
        match self {
            Process::Independent(errors) => errors.strikes(),
            Process::Chain(chain) => chain.strikes(),
            Process::Trace(trace) => trace.strikes(),
        }
    }
}

#[cfg(test)]
mod tests;
