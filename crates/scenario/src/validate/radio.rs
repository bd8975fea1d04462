//! Checks of how terminals stand in their cells.

use cellwind_radio::mac::cell::settings::CellSettings;

use super::{Checker, out_of_range};
use crate::error::{Mistake, ScenarioError};
use crate::model::{Access, Scenario, Terminal};

/// Levels of allocation/retention priority, and of traffic handling priority.
const MOST_ARP: u8 = 15;
const MOST_THP: u8 = 3;

/// The cells of a scenario.
fn cells(scenario: &Scenario) -> impl Iterator<Item = &CellSettings> {
    scenario.access.values().filter_map(Access::cell)
}

impl Checker<'_> {
    /// Checks the keys of a terminal that only a cell heeds.
    pub(super) fn radio(&self, name: &str, terminal: &Terminal) -> Result<(), ScenarioError> {
        let blame = |key: &str, error| Err(self.place(&["terminal", name, key], error));
        if let Some(thp) = terminal.thp.filter(|thp| !(1..=MOST_THP).contains(thp)) {
            let allowed = format!("1 to {MOST_THP}, or none for the background class (TS 23.107)");
            return blame("thp", out_of_range(thp, &allowed));
        }
        if let Some(arp) = terminal.arp.filter(|arp| !(1..=MOST_ARP).contains(arp)) {
            return blame("arp", out_of_range(arp, &format!("1 to {MOST_ARP} (TS 25.413 §9.2.1.3)")));
        }
        let is_set =
            [("c_to_i", terminal.c_to_i.is_some()), ("thp", terminal.thp.is_some()), ("arp", terminal.arp.is_some())];
        let first = is_set.iter().find(|(_, is_set)| *is_set);
        if let Some((key, _)) = first
            && cells(self.scenario).next().is_none()
        {
            let message = "only terminals that share a cell differ in this, and no access has a cell";
            let error = ScenarioError::new(Mistake::Conflict, message);
            return blame(
                key,
                error.allowed("a table [access.NAME.cell] with `capacity`, in an access of type \"umts\""),
            );
        }
        if terminal.arp.is_some() && cells(self.scenario).all(|cell| cell.guaranteed.is_none()) {
            let message = "the priority of admission decides nothing where all are admitted";
            let error = ScenarioError::new(Mistake::Conflict, message);
            return blame("arp", error.allowed("`guaranteed` in [access.NAME.cell], beside it"));
        }
        Ok(())
    }
}
