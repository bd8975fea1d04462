//! Errors of the core as Python exceptions.

use cellwind_scenario::ScenarioError as CoreScenarioError;
use cellwind_scenario::run::RunError as CoreRunError;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    cellwind._core,
    ScenarioError,
    PyValueError,
    "A scenario is wrong. The text is the complete report: where, what was found, what is allowed, the nearest name."
);
create_exception!(
    cellwind._core,
    RunError,
    PyRuntimeError,
    "A run broke one of the core's own rules, such as events that stop advancing time. The text names the machines."
);
create_exception!(
    cellwind._core,
    EmulationError,
    PyRuntimeError,
    "An emulation cannot be made or has ended. The text says what is missing and what to do."
);
create_exception!(
    cellwind._core,
    CommandError,
    EmulationError,
    "A command cannot be started inside an end. The text says why."
);
create_exception!(cellwind._core, Cancelled, PyRuntimeError, "A run was stopped through its ``CancelFlag``.");

/// A wrong scenario.
pub fn scenario_error(error: CoreScenarioError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// A run without result.
pub fn run_error(error: CoreRunError) -> PyErr {
    match error {
        CoreRunError::Cancelled => Cancelled::new_err(error.to_string()),
        _ => RunError::new_err(error.to_string()),
    }
}
