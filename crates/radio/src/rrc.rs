//! Radio resource control: the state of one terminal and the channels it has in it.
//!
//! TS 25.331 §7.1 names the states, §14.4 the measurement of the traffic volume that leads from one to another; O. Teyeb,
//! "Quality of packet services in UMTS and heterogeneous networks" (2006), section 2.3.1.1, says what comes of it. Read
//! [`settings`] first. No message is sent here: an exchange between terminal and network is the time it takes.

use cellwind_engine::directions::{Direction, Directions};
use cellwind_engine::fact::{Fact, FactKind};
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::FlowId;
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};

use dch::Dch;
use settings::{Connected, Paging, RrcSettings, RrcState, TransportChannel};

mod dch;
pub mod settings;
mod volume;

/// The RRC of one terminal. Who owns it tells how much waits in each direction, after every change of that, and looks at
/// [`channel`](Rrc::channel) before it sends.
///
/// Calls that may set up a dedicated channel take `admit`, which says whether the cell has room for one, and takes that room
/// when it says so. The room is free again when the state is neither CELL_DCH nor on the way there:
/// [`holds_dch`](Rrc::holds_dch).
#[derive(Clone, Debug)]
pub struct Rrc {
    settings: RrcSettings,
    stream: Stream,
    state: RrcState,
    /// When the procedure under way is over: connection set-up, cell update or the set-up of a dedicated channel.
    ready: Option<Time>,
    dch: Directions<Dch>,
    /// Since when nothing waits, counted from the entry into the state.
    empty_since: Option<Time>,
    /// Nothing is sent on the common channels before, because of a cell reselection.
    silent_until: Time,
    /// The next cell reselection, while one would be noticed.
    reselection: Option<Time>,
    /// When a reselection was drawn last.
    reselected: Time,
    /// What facts told last.
    told: (Option<RrcState>, Directions<Option<TransportChannel>>),
}

impl Rrc {
    /// A terminal that is in its initial state at `now`, whose dedicated channel is `own` after its set-up; `stream` moves it
    /// from cell to cell.
    pub fn new(now: Time, settings: &RrcSettings, own: Directions<TransportChannel>, stream: Stream) -> Self {
        let dch = Directions { down: Dch::new(&settings.dch.down, own.down), up: Dch::new(&settings.dch.up, own.up) };
        let mut rrc = Rrc {
            settings: settings.clone(),
            stream,
            state: settings.initial,
            ready: None,
            dch,
            empty_since: Some(now),
            silent_until: now,
            reselection: None,
            reselected: now,
            told: (None, Directions { down: None, up: None }),
        };
        rrc.enter(now, settings.initial);
        rrc
    }

    /// The state.
    pub fn state(&self) -> RrcState {
        self.state
    }

    /// True while the terminal has a dedicated channel, or one is being set up for it.
    pub fn holds_dch(&self) -> bool {
        self.state == RrcState::CellDch || self.state == RrcState::CellFach && self.ready.is_some()
    }

    /// What may be sent now in a direction; `None` while nothing may.
    pub fn channel(&self, now: Time, direction: Direction) -> Option<TransportChannel> {
        match self.state {
            RrcState::Idle | RrcState::UraPch | RrcState::CellPch => None,
            RrcState::CellFach if now < self.silent_until => None,
            RrcState::CellFach => Some(match direction {
                Direction::Down => self.settings.fach,
                Direction::Up => self.settings.rach,
            }),
            RrcState::CellDch => Some(self.dch.get(direction).channel()),
        }
    }

    /// So many octets wait in a direction from now on.
    pub fn on_volume(
        &mut self,
        now: Time,
        direction: Direction,
        octets: u64,
        admit: &mut dyn FnMut() -> bool,
        out: &mut Outbox,
    ) {
        let is_set_up = self.state == RrcState::CellDch;
        self.dch.get_mut(direction).on_volume(now, octets, is_set_up);
        self.empty_since = if self.is_empty() { self.empty_since.or(Some(now)) } else { None };
        self.go_on(now, admit, out);
    }

    /// The instant last given by [`next_timeout`](Rrc::next_timeout) has come.
    pub fn on_timeout(&mut self, now: Time, admit: &mut dyn FnMut() -> bool, out: &mut Outbox) {
        self.go_on(now, admit, out);
    }

    /// When to call [`on_timeout`](Rrc::on_timeout) next.
    pub fn next_timeout(&self) -> Option<Time> {
        let in_state = match self.state {
            RrcState::Idle | RrcState::UraPch | RrcState::CellPch => [None, None, None],
            RrcState::CellFach => [self.setup_due(), self.reselection, self.silence_due()],
            RrcState::CellDch => [self.dch.down.next_timeout(), self.dch.up.next_timeout(), None],
        };
        [self.ready, self.inactivity_due()].into_iter().chain(in_state).flatten().min()
    }

    /// The cell takes the dedicated channel away, or its set-up back: the terminal is in CELL_FACH again. Facts tell of it
    /// with the next call.
    pub fn preempt(&mut self, now: Time) {
        if self.holds_dch() {
            self.enter(now, RrcState::CellFach);
            Direction::BOTH.iter().for_each(|&direction| self.dch.get_mut(direction).tell(now)); // not asked for at once
        }
    }

    /// Takes over other settings; a procedure under way ends when it would have ended.
    pub fn set_settings(
        &mut self,
        now: Time,
        settings: &RrcSettings,
        own: Directions<TransportChannel>,
        admit: &mut dyn FnMut() -> bool,
        out: &mut Outbox,
    ) {
        let is_set_up = self.state == RrcState::CellDch;
        if settings.reselection != self.settings.reselection {
            self.reselection = None;
            self.reselected = now;
        }
        self.settings = settings.clone();
        for direction in Direction::BOTH {
            let settings = settings.dch.get(direction);
            self.dch.get_mut(direction).set_settings(now, settings, *own.get(direction), is_set_up);
        }
        self.plan_reselection(now);
        self.go_on(now, admit, out);
    }

    fn is_empty(&self) -> bool {
        self.dch.down.volume() == 0 && self.dch.up.volume() == 0
    }

    fn inactivity_due(&self) -> Option<Time> {
        let inactivity = match self.state {
            RrcState::Idle => return None,
            RrcState::UraPch | RrcState::CellPch => self.settings.paging_inactivity,
            RrcState::CellFach => self.settings.fach_inactivity,
            RrcState::CellDch => self.settings.dch_inactivity,
        };
        let is_busy = self.ready.is_some();
        if is_busy { None } else { self.empty_since.map(|since| since + inactivity) }
    }

    fn setup_due(&self) -> Option<Time> {
        let asks = [self.dch.down.setup_due(), self.dch.up.setup_due()];
        if self.ready.is_some() { None } else { asks.into_iter().flatten().min() }
    }

    /// When a silence ends that facts have told of.
    fn silence_due(&self) -> Option<Time> {
        let was_told = self.told == (Some(RrcState::CellFach), Directions { down: None, up: None });
        was_told.then_some(self.silent_until)
    }

    /// Does all that is due.
    fn go_on(&mut self, now: Time, admit: &mut dyn FnMut() -> bool, out: &mut Outbox) {
        while self.step(now, admit) {}
        self.tell(now, out);
    }

    /// Does one thing that is due; false when nothing is.
    fn step(&mut self, now: Time, admit: &mut dyn FnMut() -> bool) -> bool {
        let is_due = |due: Option<Time>| due.is_some_and(|due| due <= now);
        match self.state {
            RrcState::Idle | RrcState::UraPch | RrcState::CellPch => {
                if is_due(self.ready) {
                    let to_dch = self.state == RrcState::Idle && self.settings.connect_to == Connected::CellDch;
                    self.enter(now, if to_dch && admit() { RrcState::CellDch } else { RrcState::CellFach });
                } else if is_due(self.inactivity_due()) {
                    self.enter(now, RrcState::Idle);
                } else {
                    return self.wake(now);
                }
            }
            RrcState::CellFach if is_due(self.reselection) => {
                let gap = self.settings.reselection.map_or(Span::ZERO, |reselection| reselection.gap);
                self.silent_until = now + gap;
                // The message that ends the set-up cannot arrive meanwhile.
                self.ready = self.ready.map(|ready| ready.max(self.silent_until));
                self.reselection = None;
                self.plan_reselection(now);
            }
            RrcState::CellFach => {
                if is_due(self.ready) {
                    self.enter(now, RrcState::CellDch);
                } else if is_due(self.setup_due()) {
                    // TS 25.331 §14.4.2.1, event 4A; refused, it is told again after the pending time.
                    for direction in Direction::BOTH {
                        let dch = self.dch.get_mut(direction);
                        if is_due(dch.setup_due()) {
                            dch.tell(now);
                        }
                    }
                    if admit() {
                        self.ready = Some(now.max(self.silent_until) + self.settings.dch_setup);
                    }
                } else if is_due(self.inactivity_due()) {
                    self.enter(
                        now,
                        match self.settings.paging {
                            Paging::CellPch => RrcState::CellPch,
                            Paging::UraPch => RrcState::UraPch,
                            Paging::Idle => RrcState::Idle,
                        },
                    );
                } else {
                    return false;
                }
            }
            RrcState::CellDch => {
                if is_due(self.inactivity_due()) {
                    self.enter(now, RrcState::CellFach);
                } else {
                    for direction in Direction::BOTH {
                        self.dch.get_mut(direction).on_timeout(now, self.settings.reconfiguration);
                    }
                    return false;
                }
            }
        }
        true
    }

    /// Begins what leads out of a state without channels, when something waits; false when nothing new begins.
    fn wake(&mut self, now: Time) -> bool {
        let takes =
            if self.state == RrcState::Idle { self.settings.connection_setup } else { self.settings.cell_update };
        let begins = if self.dch.up.volume() > 0 {
            now
        } else if self.dch.down.volume() > 0 {
            now.next_multiple_of(self.settings.paging_cycle) // TS 25.331 §8.1.2: paging in the terminal's occasions
        } else {
            return false;
        };
        let ready = begins + takes;
        let is_new = self.ready.is_none_or(|before| ready < before);
        if is_new {
            self.ready = Some(ready);
        }
        is_new
    }

    fn enter(&mut self, now: Time, state: RrcState) {
        self.state = state;
        self.ready = None;
        self.empty_since = self.is_empty().then_some(now);
        for direction in Direction::BOTH {
            let dch = self.dch.get_mut(direction);
            if state == RrcState::CellDch { dch.set_up(now) } else { dch.leave(now) }
        }
        self.reselection = None;
        self.plan_reselection(now);
    }

    /// Draws the next cell reselection that is to come; the terminal moves in all states, and it is noticed in CELL_FACH.
    fn plan_reselection(&mut self, now: Time) {
        let Some(reselection) = self.settings.reselection else { return };
        if self.state != RrcState::CellFach || self.reselection.is_some() {
            return;
        }
        while self.reselected <= now {
            self.reselected += reselection.interval.draw(&mut self.stream);
        }
        self.reselection = Some(self.reselected);
    }

    /// Tells of the state and the channels if they are not those told before.
    fn tell(&mut self, now: Time, out: &mut Outbox) {
        let (state, channels) = &mut self.told;
        if *state != Some(self.state) {
            let before = state.map_or(0, |state| state as u64);
            out.fact(Fact::new(FactKind::RrcState, FlowId::NONE).values(self.state as u64, before));
            *state = Some(self.state);
        }
        let mut told = std::mem::take(channels);
        for direction in Direction::BOTH {
            let channel = self.channel(now, direction);
            if *told.get(direction) != channel {
                let rate = channel.map_or(0, |channel| channel.rate.as_bps());
                let fact = Fact::new(FactKind::ChannelRate, FlowId::NONE).values(rate, direction as u64);
                out.fact(fact);
                *told.get_mut(direction) = channel;
            }
        }
        self.told.1 = told;
    }
}

#[cfg(test)]
mod tests;
