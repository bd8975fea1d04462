//! The way of a terminal: a chain of networks, and within each a chain of conditions (Teyeb, appendix B.2).
//!
//! A state decides where to go when a time is over or an amount of data was delivered. Times are drawn from any
//! distribution, so that the chains are semi-Markov; with a constant time and a probability of staying they are the
//! thesis' two timers. A network's time, and that of its first condition, begins when the handover to it is over.

use cellwind_engine::distribution::SpanDistribution;
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::Size;
use cellwind_radio::settings::{Bufferings, Manner};

use crate::change::{Change, Patch};

/// A way, checked and typed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Way {
    /// The name of its table.
    pub name: String,
    /// The terminal's place in the scenario.
    pub terminal: u16,
    /// The place of the network it begins in.
    pub start: usize,
    pub networks: Vec<NetworkState>,
}

/// A network of a way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NetworkState {
    pub leaving: Leaving,
    /// The access's place in the scenario.
    pub access: u16,
    /// How a handover to it happens: soft, or so long and with this buffering.
    pub hard: Option<(SpanDistribution, Bufferings)>,
    pub duplicate_acks: u32,
    /// The place of the condition it begins with.
    pub start: usize,
    /// At least one.
    pub conditions: Vec<ConditionState>,
}

/// A condition of a network.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConditionState {
    pub leaving: Leaving,
    /// What makes the access what it is in this condition, whatever it was before.
    pub patches: Box<[Patch]>,
}

/// When and whereto a state is left.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Leaving {
    /// None is never.
    pub when: Option<Decides>,
    /// Places of the states that may follow, and their probabilities, which add up to 1.
    pub next: Vec<(usize, f64)>,
}

/// When a state decides what follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Decides {
    After(SpanDistribution),
    Delivered(Size),
}

impl Way {
    /// Whether it waits for amounts of data.
    pub fn counts(&self) -> bool {
        let counts = |leaving: &Leaving| matches!(leaving.when, Some(Decides::Delivered(_)));
        let of_network = |network: &NetworkState| {
            counts(&network.leaving) || network.conditions.iter().any(|condition| counts(&condition.leaving))
        };
        self.networks.iter().any(of_network)
    }
}

/// A terminal on its way.
#[derive(Clone, Debug)]
pub(crate) struct Mover {
    way: Way,
    networks: Layer,
    conditions: Layer,
}

/// What a terminal's way changes at one instant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// What the access is like from now on.
    pub patches: Box<[Patch]>,
    /// The handover to it, if the network is another.
    pub handover: Option<Change>,
}

impl Mover {
    /// A terminal at the start of its way, at time zero. Networks and conditions draw from streams of their own, so that
    /// the conditions do not change when a terminal moves.
    pub fn new(way: &Way, stream: impl Fn(&str) -> Stream) -> Self {
        let layer = |name: &str| Layer { stream: stream(name), place: 0, due: Due::Never };
        let networks = layer(&format!("mobility/{}", way.name));
        let conditions = layer(&format!("mobility/{}/conditions", way.name));
        let mut mover = Mover { way: way.clone(), networks, conditions };
        mover.arrive(way.start, Time::ZERO, Size::ZERO);
        mover
    }

    /// The terminal's place in the scenario.
    pub fn terminal(&self) -> u16 {
        self.way.terminal
    }

    /// What the access is like when the way begins.
    pub fn first(&self) -> Box<[Patch]> {
        self.condition().patches.clone()
    }

    /// When the next decision is made, if it waits for an instant.
    pub fn next_timeout(&self) -> Option<Time> {
        self.networks.instant().into_iter().chain(self.conditions.instant()).min()
    }

    /// What must have been delivered to the terminal for the next decision that waits for data.
    pub fn next_amount(&self) -> Option<Size> {
        self.networks.amount().into_iter().chain(self.conditions.amount()).min()
    }

    /// Makes the decisions that are due, until one changes something. Of both kinds the network's comes first.
    pub fn step(&mut self, now: Time, delivered: Size) -> Option<Step> {
        loop {
            let network = &self.way.networks[self.networks.place];
            if self.networks.is_due(now, delivered) {
                let next = self.networks.decide(&network.leaving);
                if next == self.networks.place {
                    self.networks.enter(next, &network.leaving, now, delivered);
                    continue;
                }
                return Some(self.move_to(next, now, delivered));
            }
            if !self.conditions.is_due(now, delivered) {
                return None;
            }
            let next = self.conditions.decide(&self.condition().leaving.clone());
            let is_new = next != self.conditions.place;
            self.conditions.enter(next, &network.conditions[next].leaving, now, delivered);
            if is_new {
                return Some(Step { patches: self.condition().patches.clone(), handover: None });
            }
        }
    }

    fn condition(&self) -> &ConditionState {
        &self.way.networks[self.networks.place].conditions[self.conditions.place]
    }

    fn move_to(&mut self, next: usize, now: Time, delivered: Size) -> Step {
        let network = &self.way.networks[next];
        let (access, duplicate_acks) = (network.access, network.duplicate_acks);
        let (manner, delay) = match network.hard {
            Some((delay, buffering)) => {
                let delay = delay.draw(&mut self.networks.stream);
                (Manner::Hard { delay, buffering }, delay)
            }
            None => (Manner::Soft, Span::ZERO),
        };
        self.arrive(next, now + delay, delivered);
        let handover = Change::Handover { terminal: self.way.terminal, to: access, manner, duplicate_acks };
        Step { patches: self.condition().patches.clone(), handover: Some(handover) }
    }

    /// The terminal is in a network from `since` on.
    fn arrive(&mut self, place: usize, since: Time, delivered: Size) {
        let network = &self.way.networks[place];
        self.networks.enter(place, &network.leaving, since, delivered);
        self.conditions.enter(network.start, &network.conditions[network.start].leaving, since, delivered);
    }
}

/// One chain: the state it is in, and when that decides.
#[derive(Clone, Debug)]
struct Layer {
    stream: Stream,
    place: usize,
    due: Due,
}

/// When a state decides, on the clock and on the count of the path.
#[derive(Clone, Copy, Debug)]
enum Due {
    Never,
    At(Time),
    Delivered(Size),
}

impl Layer {
    fn enter(&mut self, place: usize, leaving: &Leaving, since: Time, delivered: Size) {
        self.place = place;
        self.due = match leaving.when {
            None => Due::Never,
            // Time goes on even where draws are zero.
            Some(Decides::After(stay)) => Due::At(since + stay.draw(&mut self.stream).max(Span::from_nanos(1))),
            Some(Decides::Delivered(amount)) => Due::Delivered(delivered + amount),
        };
    }

    fn instant(&self) -> Option<Time> {
        if let Due::At(instant) = self.due { Some(instant) } else { None }
    }

    fn amount(&self) -> Option<Size> {
        if let Due::Delivered(amount) = self.due { Some(amount) } else { None }
    }

    fn is_due(&self, now: Time, delivered: Size) -> bool {
        match self.due {
            Due::Never => false,
            Due::At(instant) => instant <= now,
            Due::Delivered(amount) => amount <= delivered,
        }
    }

    /// Draws what follows; a single successor draws nothing.
    fn decide(&mut self, leaving: &Leaving) -> usize {
        let (&(last, _), others) = leaving.next.split_last().expect("validated");
        if others.is_empty() {
            return last;
        }
        let mut rest = self.stream.uniform();
        for &(place, probability) in others {
            if rest < probability {
                return place;
            }
            rest -= probability;
        }
        last
    }
}

#[cfg(test)]
mod tests;
