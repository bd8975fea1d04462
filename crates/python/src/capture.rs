//! Reading captures.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Mutex;

use cellwind_scenario::capture::read::{Columns, ReadError, Reader};
use numpy::IntoPyArray;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

create_exception!(cellwind._core, CaptureError, PyValueError, "A file is not a capture.");

/// Packets read at once, before Ctrl-C is looked for: some ten milliseconds of work.
const AT_ONCE: usize = 1 << 16;
const BUFFER_BYTES: usize = 1 << 20;

/// What was read from a capture.
#[pyclass(frozen, module = "cellwind._core")]
pub struct Packets {
    columns: Mutex<Columns>,
    count: u64,
    endpoints: Vec<String>,
    ignored: Vec<(String, u64)>,
    damage: Option<String>,
}

#[pymethods]
impl Packets {
    /// Packets read.
    #[getter]
    fn count(&self) -> u64 {
        self.count
    }

    /// Addresses behind the codes of the columns ``source`` and ``target``.
    #[getter]
    fn endpoints(&self) -> Vec<String> {
        self.endpoints.clone()
    }

    /// How many frames were passed over, by reason.
    #[getter]
    fn ignored<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let reasons = PyDict::new(py);
        for (reason, count) in &self.ignored {
            reasons.set_item(reason, count)?;
        }
        Ok(reasons)
    }

    /// Where the file is damaged and how; None when it was read to its end.
    #[getter]
    fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// The packets as columns, handed over without copying; they can be taken once.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = std::mem::take(&mut *self.columns.lock().expect("no holder panics"));
        let given = PyDict::new(py);
        given.set_item("time_ns", columns.time_ns.into_pyarray(py))?;
        given.set_item("source", columns.source.into_pyarray(py))?;
        given.set_item("target", columns.target.into_pyarray(py))?;
        given.set_item("source_port", columns.source_port.into_pyarray(py))?;
        given.set_item("target_port", columns.target_port.into_pyarray(py))?;
        given.set_item("protocol", columns.protocol.into_pyarray(py))?;
        given.set_item("ip_length", columns.ip_length.into_pyarray(py))?;
        given.set_item("ip_id", columns.ip_id.into_pyarray(py))?;
        given.set_item("ecn", columns.ecn.into_pyarray(py))?;
        given.set_item("payload", columns.payload.into_pyarray(py))?;
        given.set_item("flags", columns.flags.into_pyarray(py))?;
        given.set_item("seq", columns.seq.into_pyarray(py))?;
        given.set_item("ack", columns.ack.into_pyarray(py))?;
        given.set_item("window", columns.window.into_pyarray(py))?;
        given.set_item("options", columns.options.into_pyarray(py))?;
        given.set_item("mss", columns.mss.into_pyarray(py))?;
        given.set_item("window_scale", columns.window_scale.into_pyarray(py))?;
        given.set_item("tsval", columns.tsval.into_pyarray(py))?;
        given.set_item("tsecr", columns.tsecr.into_pyarray(py))?;
        given.set_item("sack_row", columns.sack_row.into_pyarray(py))?;
        given.set_item("sack_start", columns.sack_start.into_pyarray(py))?;
        given.set_item("sack_end", columns.sack_end.into_pyarray(py))?;
        Ok(given)
    }
}

/// Reads a pcapng or pcap file in one pass, keeping numbers only.
///
/// A damaged file yields the packets before the damage. Raises CaptureError for a file of another kind, and OSError.
#[pyfunction]
pub fn read_packets(py: Python<'_>, path: PathBuf) -> PyResult<Packets> {
    let open = || -> Result<_, ReadError> { Reader::new(BufReader::with_capacity(BUFFER_BYTES, File::open(path)?)) };
    let mut reader = py.detach(open).map_err(read_error)?;
    let damage = loop {
        match py.detach(|| reader.read_blocks(AT_ONCE)) {
            Ok(true) => py.check_signals()?,
            Ok(false) => break None,
            Err(damage @ ReadError::Damaged { .. }) => break Some(damage.to_string()),
            Err(error) => return Err(read_error(error)),
        }
    };
    Ok(Packets {
        count: reader.packets(),
        columns: Mutex::new(reader.columns),
        endpoints: reader.endpoints.iter().map(ToString::to_string).collect(),
        ignored: reader.ignored.iter().map(|(why, count)| (why.to_string(), *count)).collect(),
        damage,
    })
}

fn read_error(error: ReadError) -> PyErr {
    match error {
        ReadError::Io(error) => error.into(),
        error => CaptureError::new_err(error.to_string()),
    }
}
