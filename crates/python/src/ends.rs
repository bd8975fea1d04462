//! The process of an end of an emulated path, started from the Python interpreter.

use std::os::fd::RawFd;

use cellwind_emulator::ends::{self, EndProgram};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::EmulationError;

/// Loads this module from its file, without its package, and becomes the process of an end. An interpreter that is
/// isolated and without site packages starts in a few milliseconds and has one thread.
const PROGRAM: &str = "\
import importlib.util, sys
spec = importlib.util.spec_from_file_location('cellwind._core', sys.argv[1])
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
core.run_end(int(sys.argv[2]))
";

/// The running interpreter as the program that becomes the process of an end.
pub fn end_program(py: Python<'_>) -> PyResult<EndProgram> {
    let interpreter: Option<String> = py.import("sys")?.getattr("executable")?.extract()?;
    let interpreter = interpreter
        .filter(|path| !path.is_empty())
        .ok_or_else(|| PyRuntimeError::new_err("the Python interpreter does not know its own file (sys.executable)"))?;
    let module: String = py.import("cellwind._core")?.getattr("__file__")?.extract()?;
    Ok(EndProgram::new(interpreter, ["-I", "-S", "-c", PROGRAM, &module]))
}

/// Becomes the process of an end of an emulated path, which listens on this socket; never returns.
///
/// Only for the interpreter that an emulation starts for this: it must have one thread.
#[pyfunction]
pub fn run_end(socket: RawFd) {
    ends::run_end(socket)
}

/// Removes the rules that killed emulations have left on this host, and says what was removed.
///
/// Running emulations are not touched. Needs root.
#[pyfunction]
pub fn clean_leftovers(py: Python<'_>) -> PyResult<Vec<String>> {
    py.detach(ends::clean_leftovers).map_err(|error| EmulationError::new_err(error.to_string()))
}
