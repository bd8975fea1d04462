//! Scripts of segments.

use std::path::PathBuf;

use cellwind_engine::time::Span;
use cellwind_scenario::script::{Script as CoreScript, Side, Verdict, compare, load, parse, play};
use pyo3::prelude::*;

use crate::error::scenario_error;

/// A script that was read and found right.
#[pyclass(frozen, module = "cellwind._core")]
pub struct Script(pub CoreScript);

#[pymethods]
impl Script {
    /// Reads a file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        load(&path).map(Script).map_err(scenario_error)
    }

    /// Reads the text of a script.
    #[staticmethod]
    #[pyo3(signature = (text, name = "script"))]
    fn parse(text: &str, name: &str) -> PyResult<Self> {
        parse(text, name).map(Script).map_err(scenario_error)
    }

    /// Plays it against cellwind's own sender or receiver, in virtual time.
    fn play(&self, py: Python<'_>) -> ScriptRun {
        py.detach(|| ScriptRun(compare(&self.0, &play(&self.0), Span::ZERO)))
    }

    /// The file's name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The comment above the first key, on one line.
    #[getter]
    fn summary(&self) -> &str {
        &self.0.summary
    }

    /// The end under test: sender or receiver.
    #[getter]
    fn test(&self) -> &'static str {
        match self.0.test {
            Side::Sender => "sender",
            Side::Receiver => "receiver",
        }
    }
}

/// What a script expected beside what was seen.
#[pyclass(frozen, module = "cellwind._core")]
pub struct ScriptRun(pub Verdict);

#[pymethods]
impl ScriptRun {
    /// Whether everything was as expected.
    #[getter]
    fn holds(&self) -> bool {
        self.0.holds()
    }

    /// The first difference with the segments around it, and every claim that does not hold; empty when all is well.
    #[getter]
    fn report(&self) -> String {
        self.0.report()
    }

    /// Everything expected and seen, side by side; what differs is marked.
    #[getter]
    fn table(&self) -> String {
        self.0.table_of_all()
    }

    /// Instants and segments that were seen.
    #[getter]
    fn seen(&self) -> Vec<(f64, String)> {
        let seen = self.0.rows.iter().filter_map(|row| row.seen.as_ref());
        seen.map(|(at, segment)| (at.as_secs_f64(), segment.clone())).collect()
    }
}
