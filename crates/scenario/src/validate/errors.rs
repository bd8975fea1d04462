//! Errors on the air: settings that describe no process.

use cellwind_engine::directions::Direction;
use cellwind_radio::errors::settings::ErrorSettings;

use super::Checker;
use crate::error::{Mistake, ScenarioError};

impl Checker<'_> {
    pub(super) fn errors(
        &self,
        access: &str,
        direction: Direction,
        errors: &ErrorSettings,
    ) -> Result<(), ScenarioError> {
        let Err(unfit) = errors.check() else { return Ok(()) };
        let mut path = self.of_direction("access", access, direction, "errors");
        path.extend(unfit.keys.iter().map(String::as_str));
        let error = ScenarioError::new(Mistake::BadValue, unfit.message).found(unfit.found).allowed(unfit.allowed);
        Err(self.place(&path, error))
    }
}
