//! The process of an end of an emulated path, started from the Python interpreter.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::fd::{AsFd, IntoRawFd, RawFd};
use std::path::PathBuf;
use std::sync::Mutex;

use cellwind_emulator::ends::{self, End as CoreEnd, EndProgram, EndSettings, Role, SpawnRequest};
use cellwind_emulator::kernel::kernel_tcp;
use cellwind_scenario::model::Kernel;
use indexmap::IndexMap;
use pyo3::exceptions::PyRuntimeError;
use pyo3::exceptions::PyValueError;
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

/// A network namespace with one TUN device, held by a process of its own, and no path behind it.
#[pyclass(frozen, module = "cellwind._core")]
pub struct End(Mutex<Option<CoreEnd>>);

#[pymethods]
impl End {
    /// Makes the end; ``kernel`` are settings of its TCP, as in ``live.kernel``.
    #[staticmethod]
    fn open(py: Python<'_>, kernel: IndexMap<String, String>) -> PyResult<Self> {
        let kernel: Vec<_> = kernel.into_iter().collect();
        let kernel =
            kernel_tcp(&Kernel::default(), &kernel).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let settings = EndSettings {
            name: "server".into(),
            role: Role::Server,
            names: Vec::new(),
            outside: false,
            mtu: 65_535,
            kernel,
        };
        let program = end_program(py)?;
        let end = py.detach(|| CoreEnd::open(&program, &settings)).map_err(end_error)?;
        Ok(End(Mutex::new(Some(end))))
    }

    /// A file descriptor of the TUN device, not blocking, which the caller closes: a read or write is one IP packet.
    fn tun(&self) -> PyResult<RawFd> {
        let file = self.with(|end| end.tun().try_clone_to_owned())?;
        Ok(file?.into_raw_fd())
    }

    /// Its addresses.
    #[getter]
    fn addresses(&self) -> PyResult<Vec<String>> {
        self.with(|end| end.addresses().iter().map(ToString::to_string).collect())
    }

    /// What could not be had, in words.
    #[getter]
    fn complaints(&self) -> PyResult<Vec<String>> {
        self.with(|end| end.complaints().to_vec())
    }

    /// Starts a command with all rights over the end's network, with these open files of this process.
    fn spawn(&self, argv: Vec<OsString>, env: HashMap<OsString, OsString>, files: [RawFd; 3]) -> PyResult<()> {
        // Opened anew, so that the command's copies are its own.
        let open = |number: RawFd, write: bool| {
            std::fs::OpenOptions::new().read(!write).write(write).open(format!("/proc/self/fd/{number}"))
        };
        let owned = [open(files[0], false)?, open(files[1], true)?, open(files[2], true)?];
        let stdio = [owned[0].as_fd(), owned[1].as_fd(), owned[2].as_fd()];
        let request = SpawnRequest { argv, env: env.into_iter().collect(), cwd: PathBuf::from("/"), stdio, user: None };
        self.with(|end| end.spawn(&request))?.map(drop).map_err(end_error)
    }

    /// Ends all of its processes and removes all of it.
    fn close(&self, py: Python<'_>) {
        let end = self.0.lock().map(|mut end| end.take()).unwrap_or(None);
        py.detach(|| drop(end));
    }
}

impl End {
    fn with<T>(&self, look: impl FnOnce(&CoreEnd) -> T) -> PyResult<T> {
        let end = self.0.lock().map_err(|_| EmulationError::new_err("the end is broken"))?;
        end.as_ref().map(look).ok_or_else(|| EmulationError::new_err("the end is closed"))
    }
}

fn end_error(error: ends::EndError) -> PyErr {
    EmulationError::new_err(error.to_string())
}
