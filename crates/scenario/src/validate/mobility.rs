//! Checks of the ways of terminals.

use cellwind_engine::distribution::SpanDistribution;
use cellwind_engine::units::Size;
use indexmap::IndexMap;

use super::{Checker, ambiguous, out_of_range, soft_with, unknown_reference};
use crate::error::{Mistake, ScenarioError, quoted};
use crate::model::{Mobility, Network, Next};

/// Probabilities are decimals: what adds up to 1 may miss it by rounding.
const ROUNDING: f64 = 1e-9;

/// When and whereto a state is left, as written.
type Leaving<'a> = (Option<SpanDistribution>, Option<Size>, Option<&'a Next>);

impl Checker<'_> {
    pub(super) fn mobility(&self, name: &str, mobility: &Mobility) -> Result<(), ScenarioError> {
        let base = ["mobility", name];
        let networks = &mobility.network;
        let terminals = &self.scenario.terminal;
        match &mobility.terminal {
            Some(terminal) if !terminals.contains_key(terminal) => {
                let error = unknown_reference("terminal", terminal, terminals.keys());
                return Err(self.place(&["mobility", name, "terminal"], error));
            }
            Some(_) => {}
            None => return Err(self.place(&["mobility", name, "terminal"], ambiguous("terminal", terminals.keys()))),
        }
        if networks.is_empty() {
            let error = ScenarioError::new(Mistake::MissingKey, "the way has no network");
            let allowed = "at least one table such as [mobility.walk.network.wlan]";
            return Err(self.place(&base, error.allowed(allowed)));
        }
        let mut before = self.scenario.mobility.iter().take_while(|(other, _)| *other != name);
        if let Some((first, _)) = before.find(|(_, other)| other.terminal == mobility.terminal) {
            let message = format!("mobility.{first} moves this terminal already");
            return Err(self.place(&["mobility", name, "terminal"], conflict(message)));
        }
        self.begins(&base, &mobility.start, networks)?;
        for (network, settings) in networks {
            self.network(name, network, settings, mobility)?;
        }
        let start = mobility.start.as_ref().or(networks.keys().next()).expect("there is one");
        let at_first = self.scenario.access_of(mobility.terminal.as_deref().unwrap_or_default()).map(|(name, _)| name);
        let access = networks[start].access_or(start);
        if at_first.is_some_and(|first| first != access) {
            let message =
                format!("the terminal begins in access.{}, and its way in another", at_first.unwrap_or_default());
            return Err(
                self.place(&["mobility", name, "network", start, "access"], conflict(message).found(quoted(access)))
            );
        }
        let moved = mobility.terminal.as_deref().unwrap_or_default();
        for (index, event) in self.scenario.event.iter().enumerate() {
            let only = event.terminal.is_none() && terminals.len() == 1;
            if event.handover.is_some() && (only || event.terminal.as_deref() == Some(moved)) {
                let message = format!("mobility.{name} moves this terminal");
                return Err(self.place(&["event", &index.to_string(), "handover"], conflict(message)));
            }
        }
        Ok(())
    }

    fn network(&self, name: &str, network: &str, settings: &Network, of: &Mobility) -> Result<(), ScenarioError> {
        let base = ["mobility", name, "network", network];
        let at = |key: &'static str| [&base[..], &[key]].concat();
        let access = settings.access_or(network);
        if !self.scenario.access.contains_key(access) {
            let error = unknown_reference("access", access, self.scenario.access.keys());
            let key = if settings.access.is_some() { at("access") } else { base.to_vec() };
            return Err(self.place(&key, error));
        }
        self.leaving(&base, (settings.stay, settings.after, settings.next.as_ref()), &of.network)?;
        let of_hard = [
            ("delay", settings.delay.is_some()),
            ("buffering", settings.buffering.is_some()),
            ("duplicate_acks", settings.duplicate_acks.is_some()),
        ];
        if let Some((key, _)) = of_hard.into_iter().find(|&(_, is_given)| is_given && settings.soft) {
            return Err(self.place(&at(key), conflict(soft_with(key))));
        }
        if let Some(times) = settings.duplicate_acks {
            self.duplicate_acks(&at("duplicate_acks"), times, of.terminal.as_deref().unwrap_or_default())?;
        }
        self.begins(&base, &settings.start, &settings.condition)?;
        for (condition, settings_of) in &settings.condition {
            let base = [&base[..], &["condition", condition]].concat();
            let leaving = (settings_of.stay, settings_of.after, settings_of.next.as_ref());
            self.leaving(&base, leaving, &settings.condition)?;
        }
        Ok(())
    }

    /// Checks that `start` is one of the states.
    fn begins<T>(
        &self,
        base: &[&str],
        start: &Option<String>,
        states: &IndexMap<String, T>,
    ) -> Result<(), ScenarioError> {
        let Some(start) = start.as_ref().filter(|start| !states.contains_key(*start)) else { return Ok(()) };
        let what = if base.len() == 2 { "network" } else { "condition" };
        Err(self.place(&[base, &["start"]].concat(), unknown_state(what, start, states)))
    }

    fn leaving<T>(
        &self,
        base: &[&str],
        (stay, after, next): Leaving<'_>,
        states: &IndexMap<String, T>,
    ) -> Result<(), ScenarioError> {
        let at = |key: &'static str| [base, &[key]].concat();
        let what = if base.len() == 4 { "network" } else { "condition" };
        if stay.is_some() && after.is_some() {
            return Err(self.place(&at("after"), conflict("`stay` and `after` exclude each other".into())));
        }
        if let Some(stay) = stay.filter(|stay| stay.mean().is_zero()) {
            return Err(self.place(&at("stay"), out_of_range(stay, "times above 0 s")));
        }
        if let Some(after) = after.filter(|&after| after == Size::ZERO) {
            return Err(self.place(&at("after"), out_of_range(after, "an amount above 0 B")));
        }
        match (stay.is_some() || after.is_some(), next) {
            (true, None) => {
                let error = ScenarioError::new(Mistake::MissingKey, format!("the {what} does not say what follows"));
                Err(self.place(
                    base,
                    error.allowed(format!("`next` with the name of a {what}, or several with probabilities")),
                ))
            }
            (false, Some(_)) => {
                let error = ScenarioError::new(Mistake::MissingKey, format!("the {what} does not say when it is left"));
                Err(self.place(base, error.allowed("`stay` with a time, or `after` with an amount of data")))
            }
            (_, Some(Next(next))) => {
                for (name, probability) in next {
                    if !states.contains_key(name) {
                        return Err(self.place(&at("next"), unknown_state(what, name, states)));
                    }
                    if next.iter().filter(|(other, _)| other == name).count() > 1 {
                        let message = format!("`next` names {} twice", quoted(name));
                        return Err(self.place(&at("next"), conflict(message)));
                    }
                    if !(*probability > 0.0 && *probability <= 1.0) {
                        let error = out_of_range(probability, "a probability above 0 and up to 1");
                        return Err(self.place(&at("next"), error));
                    }
                }
                let sum: f64 = next.iter().map(|(_, probability)| probability).sum();
                if (sum - 1.0).abs() > ROUNDING {
                    let error = out_of_range(format!("probabilities that add up to {sum}"), "a sum of 1");
                    return Err(self.place(&at("next"), error));
                }
                Ok(())
            }
            (false, None) => Ok(()),
        }
    }
}

fn conflict(message: String) -> ScenarioError {
    ScenarioError::new(Mistake::Conflict, message)
}

fn unknown_state<T>(what: &str, name: &str, known: &IndexMap<String, T>) -> ScenarioError {
    ScenarioError::new(Mistake::UnknownReference, format!("there is no {what} of this name here"))
        .found(quoted(name))
        .known(name, known.keys())
}
