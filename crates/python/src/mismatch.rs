//! What a log does to deadlines: a door to the emulator's measurement.

use std::path::PathBuf;

use cellwind_emulator::mismatch::{Logging, measure};
use cellwind_engine::time::Span;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// How late the driver's waiting was, in ns, at `count` deadlines that are `mean_gap_us` apart on average, while
/// `logging` (`local`, `remote`, `remote_priority`) writes a line at each to a file in `directory`.
///
/// Raises OSError, PermissionError among them where priority is not allowed, and ValueError for another `logging`.
#[pyfunction]
pub fn timer_mismatch(
    py: Python<'_>,
    logging: &str,
    directory: PathBuf,
    count: usize,
    mean_gap_us: u64,
) -> PyResult<Vec<u64>> {
    let logging = match logging {
        "local" => Logging::Local,
        "remote" => Logging::Remote,
        "remote_priority" => Logging::RemotePriority,
        other => return Err(PyValueError::new_err(format!("there is no logging {other:?}"))),
    };
    let late = py.detach(|| measure(logging, &directory, count, Span::from_micros(mean_gap_us)))?;
    Ok(late.into_iter().map(|span| span.as_nanos()).collect())
}
