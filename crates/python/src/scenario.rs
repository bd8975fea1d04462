//! Scenarios and presets.

use cellwind_scenario::{Kind, Loaded, load, parse, preset_text as core_preset_text, presets as core_presets};
use indexmap::IndexMap;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::scenario_error;

/// A scenario that was read, completed with its presets, and found valid.
#[pyclass(frozen, module = "cellwind._core")]
pub struct Scenario(pub Loaded);

#[pymethods]
impl Scenario {
    /// Reads a file, or the ready-made scenario of that name.
    #[staticmethod]
    #[pyo3(signature = (path, sets = Vec::new()))]
    fn load(path: &str, sets: Vec<(String, String)>) -> PyResult<Self> {
        load(path, &sets).map(Scenario).map_err(scenario_error)
    }

    /// Reads the text of a scenario file, as ``load`` does.
    #[staticmethod]
    #[pyo3(signature = (text, name = "scenario", sets = Vec::new()))]
    fn parse(text: &str, name: &str, sets: Vec<(String, String)>) -> PyResult<Self> {
        parse(text, name, &sets).map(Scenario).map_err(scenario_error)
    }

    /// The same scenario with (dotted path, TOML value) pairs put over it.
    fn with_values(&self, sets: Vec<(String, String)>) -> PyResult<Self> {
        self.0.with_values(&sets).map(Scenario).map_err(scenario_error)
    }

    /// The scenario with all presets resolved.
    fn to_toml(&self) -> PyResult<String> {
        self.0.scenario.to_toml().map_err(scenario_error)
    }

    /// Name of the preset, or of the file without its suffix.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// One line for people; empty when the file has none.
    #[getter]
    fn title(&self) -> &str {
        &self.0.scenario.title
    }

    /// What the experiment is about; empty when the file has none.
    #[getter]
    fn description(&self) -> &str {
        &self.0.scenario.description
    }

    /// Seed of all random streams.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.scenario.seed
    }

    /// How often the scenario is to be run.
    #[getter]
    fn replications(&self) -> u32 {
        self.0.scenario.replications
    }

    /// Hexadecimal digest of the resolved scenario, without ``replications``.
    #[getter]
    fn digest(&self) -> String {
        self.0.scenario.digest()
    }

    /// Names of the flows, in the order of the file.
    #[getter]
    fn flows(&self) -> Vec<&str> {
        self.0.scenario.flow.keys().map(String::as_str).collect()
    }

    /// Flow to the name of its transport preset, or to the type of its transport.
    #[getter]
    fn transports(&self) -> IndexMap<&str, &str> {
        self.0.scenario.flow.iter().map(|(name, flow)| (name.as_str(), flow.transport.name())).collect()
    }

    /// What is legal but probably not meant.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.clone()
    }

    /// What a live run leaves without effect, besides.
    #[getter]
    fn live_warnings(&self) -> Vec<String> {
        self.0.live_warnings()
    }
}

/// JSON Schema of the scenario file, as JSON text.
#[pyfunction]
pub fn schema() -> String {
    cellwind_scenario::schema()
}

/// Kind, name and summary of everything ready-made.
#[pyfunction]
pub fn presets() -> Vec<(&'static str, &'static str, &'static str)> {
    core_presets().into_iter().map(|(kind, name, summary)| (kind.word(), name, summary)).collect()
}

/// The TOML text of a preset.
#[pyfunction]
pub fn preset_text(kind: &str, name: &str) -> PyResult<&'static str> {
    let kind = Kind::from_word(kind).ok_or_else(|| {
        let words = Kind::ALL.map(Kind::word).join(", ");
        PyValueError::new_err(format!("{kind:?} is not one of {words}"))
    })?;
    core_preset_text(kind, name).map_err(scenario_error)
}
