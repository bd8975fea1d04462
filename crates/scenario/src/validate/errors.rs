//! Errors on the way: settings that describe no process, or none of packets.

use cellwind_engine::directions::Direction;
use cellwind_path::errors::settings::{ErrorSettings, ErrorUnit};

use super::Checker;
use crate::error::{Mistake, ScenarioError, quoted};

impl Checker<'_> {
    pub(super) fn errors(
        &self,
        section: &str,
        name: &str,
        direction: Direction,
        (key, errors): (&str, &ErrorSettings),
    ) -> Result<(), ScenarioError> {
        let Err(unfit) = errors.check() else { return Ok(()) };
        let mut path = self.of_direction(section, name, direction, key);
        path.extend(unfit.keys.iter().map(String::as_str));
        let error = ScenarioError::new(Mistake::BadValue, unfit.message).found(unfit.found).allowed(unfit.allowed);
        Err(self.place(&path, error))
    }

    /// Refuses losses of a link that only blocks can have.
    pub(super) fn losses(
        &self,
        section: &str,
        name: &str,
        direction: Direction,
        loss: &ErrorSettings,
    ) -> Result<(), ScenarioError> {
        if loss.unit == ErrorUnit::Pdu {
            return Ok(());
        }
        let mut path = self.of_direction(section, name, direction, "loss");
        path.push("unit");
        let error =
            ScenarioError::new(Mistake::Conflict, "a link sends packets and has no TTI to be struck as a whole")
                .found(quoted("tti"))
                .allowed("nothing, or \"pdu\", which strikes each packet by itself");
        Err(self
            .place(&path, error.note("TTIs are in an access of type \"block-arq\" or \"umts\", which has `errors`")))
    }
}
