//! One direction of a dedicated channel: its bit rate, and what makes it another.

use cellwind_engine::time::{Span, Time};

use super::settings::{DchSettings, Oscillation, Release, TransportChannel};
use super::volume::{Above, Below};

/// One direction of a terminal's dedicated channel and the measurement of what waits for it.
#[derive(Clone, Debug)]
pub struct Dch {
    settings: DchSettings,
    /// The channels there are, by their rate.
    ladder: Vec<TransportChannel>,
    /// The place in `ladder` of the channel after set-up.
    first: usize,
    rung: usize,
    /// The upgrade or downgrade under way: when it takes effect, and to which rung.
    change: Option<(Time, usize)>,
    /// Octets that wait.
    volume: u64,
    above: Above,
    below: Below,
    is_slow: bool,
    /// When the fast or the slow time is over, while the channel is there.
    turn: Option<Time>,
}

impl Dch {
    /// A direction whose channel after set-up is `own`.
    pub fn new(settings: &DchSettings, own: TransportChannel) -> Self {
        let mut dch = Dch {
            settings: settings.clone(),
            ladder: Vec::new(),
            first: 0,
            rung: 0,
            change: None,
            volume: 0,
            above: Above::default(),
            below: Below::default(),
            is_slow: false,
            turn: None,
        };
        dch.build(own);
        dch.rung = dch.first;
        dch
    }

    fn build(&mut self, own: TransportChannel) {
        self.ladder = vec![own];
        if let Some(switching) = &self.settings.switching {
            self.ladder.extend(&switching.rates);
        }
        self.ladder.sort_by_key(|channel| channel.rate); // stable: the bearer's own channel comes first
        self.ladder.dedup_by_key(|channel| channel.rate);
        self.first = self.ladder.iter().position(|channel| channel.rate == own.rate).expect("it is in there");
    }

    /// Takes over other settings; a change under way is dropped, and the rate becomes the nearest that there is.
    pub fn set_settings(&mut self, now: Time, settings: &DchSettings, own: TransportChannel, is_set_up: bool) {
        let rate = self.channel_on_ladder().rate;
        self.settings = settings.clone();
        self.build(own);
        let nearest = self.ladder.iter().position(|channel| channel.rate >= rate);
        self.rung = nearest.unwrap_or(self.ladder.len() - 1);
        self.change = None;
        match self.settings.oscillation {
            None => (self.is_slow, self.turn) = (false, None),
            Some(oscillation) if is_set_up && self.turn.is_none() => self.turn = Some(now + oscillation.fast_for),
            Some(_) => {} // what goes on ends when it would have ended
        }
        self.on_volume(now, self.volume, is_set_up);
    }

    fn channel_on_ladder(&self) -> TransportChannel {
        self.ladder[self.rung]
    }

    /// The channel after its set-up.
    pub fn channel(&self) -> TransportChannel {
        match &self.settings.oscillation {
            Some(oscillation) if self.is_slow => oscillation.slow,
            _ => self.channel_on_ladder(),
        }
    }

    /// Octets that wait.
    pub fn volume(&self) -> u64 {
        self.volume
    }

    /// From now on so many octets wait.
    pub fn on_volume(&mut self, now: Time, octets: u64, is_set_up: bool) {
        self.volume = octets;
        self.above.observe(now, self.is_above(is_set_up), self.settings.pending_time);
        self.below.observe(now, self.is_below());
    }

    fn is_above(&self, is_set_up: bool) -> bool {
        let threshold = match &self.settings.switching {
            Some(switching) if is_set_up => switching.upgrade_above,
            _ => self.settings.threshold,
        };
        self.volume > threshold.as_bytes()
    }

    fn is_below(&self) -> bool {
        self.settings.switching.as_ref().is_some_and(|switching| self.volume < switching.downgrade_below.as_bytes())
    }

    /// When the volume on the common channel asks for a dedicated one.
    pub fn setup_due(&self) -> Option<Time> {
        self.above.due(self.settings.time_to_trigger, self.settings.pending_time)
    }

    /// The set-up was asked for.
    pub fn tell(&mut self, now: Time) {
        self.above.tell(now);
    }

    /// The channel is there from now on, at its first rate.
    pub fn set_up(&mut self, now: Time) {
        self.rung = self.first;
        self.change = None;
        self.is_slow = false;
        self.turn = self.settings.oscillation.map(|oscillation| now + oscillation.fast_for);
        self.restart(now, true);
    }

    /// The common channel carries the data from now on.
    pub fn leave(&mut self, now: Time) {
        self.change = None;
        self.is_slow = false;
        self.turn = None;
        self.restart(now, false);
    }

    fn restart(&mut self, now: Time, is_set_up: bool) {
        self.above.restart(now, self.is_above(is_set_up));
        self.below.restart(now, self.is_below());
    }

    fn upgrade_due(&self) -> Option<Time> {
        let can = self.change.is_none() && self.rung + 1 < self.ladder.len();
        if can { self.setup_due() } else { None }
    }

    fn downgrade_due(&self) -> Option<Time> {
        let switching = self.settings.switching.as_ref()?;
        let can = self.change.is_none() && self.rung > 0;
        if can { self.below.due(switching.downgrade_after) } else { None }
    }

    fn turn_due(&self) -> Option<Time> {
        let waits = self.settings.oscillation.is_some_and(|Oscillation { release, .. }| {
            release == Release::WhenEmpty && !self.is_slow && self.volume > 0
        });
        if waits { None } else { self.turn }
    }

    /// When the channel, once set up, has to be looked at next.
    pub fn next_timeout(&self) -> Option<Time> {
        let change = self.change.map(|(due, _)| due);
        [change, self.upgrade_due(), self.downgrade_due(), self.turn_due()].into_iter().flatten().min()
    }

    /// Does what is due of a channel that is set up; `reconfiguration` is how long a change takes.
    pub fn on_timeout(&mut self, now: Time, reconfiguration: Span) {
        let is_due = |due: Option<Time>| due.is_some_and(|due| due <= now);
        if let Some((due, rung)) = self.change
            && due <= now
        {
            self.change = None;
            self.rung = rung;
            self.restart(now, true);
        }
        if is_due(self.upgrade_due()) {
            self.above.tell(now);
            self.change = Some((now + reconfiguration, self.rung + 1));
        } else if is_due(self.downgrade_due()) {
            self.change = Some((now + reconfiguration, self.rung - 1));
        }
        if is_due(self.turn_due())
            && let Some(oscillation) = self.settings.oscillation
        {
            self.is_slow = !self.is_slow;
            self.turn = Some(now + if self.is_slow { oscillation.slow_for } else { oscillation.fast_for });
        }
    }
}
