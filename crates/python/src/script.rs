//! Scripts of segments.

use std::path::PathBuf;

use cellwind_engine::packet::{Flags, Packet, SackBlocks};
use cellwind_engine::time::{Span, Time};
use cellwind_scenario::script::{
    Action, Echo, Played, Script as CoreScript, Seen, Segment, Side, Verdict, compare, load, parse, play,
};
use indexmap::IndexMap;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

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

    /// The transport with its preset resolved, as JSON.
    #[getter]
    fn transport_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0.transport).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// What is expected of the kernel: whether it follows, why not, tolerance in seconds, settings.
    #[getter]
    fn kernel(&self) -> (bool, Option<String>, f64, IndexMap<String, String>) {
        let kernel = &self.0.kernel;
        (kernel.follows, kernel.because.clone(), kernel.tolerance.as_secs_f64(), kernel.set.clone())
    }

    /// What the script does itself, and its end: instant in seconds, word, and bytes written or fields of a segment.
    fn acts<'py>(&self, py: Python<'py>) -> PyResult<Vec<(f64, &'static str, Bound<'py, PyAny>)>> {
        let mut acts = Vec::new();
        for step in &self.0.steps {
            let nothing = || py.None().into_bound(py);
            let (word, value) = match &step.action {
                Action::Open => ("open", nothing()),
                Action::Write(bytes) => ("write", bytes.into_pyobject(py)?.into_any()),
                Action::Close => ("close", nothing()),
                Action::Arrives(segment) => ("arrives", fields(py, segment)?.into_any()),
                Action::Leaves(_) | Action::Nothing | Action::Has(_) => ("wait", nothing()),
            };
            acts.push((step.at.as_secs_f64(), word, value));
        }
        Ok(acts)
    }

    /// Compares segments that another TCP sent with the script; claims are not looked at.
    ///
    /// Each is instant in ns, flags as in the header, sequence number, acknowledgement, payload, window, SACK blocks,
    /// and timestamps or None.
    fn judge(&self, seen: Vec<SeenSegment>, tolerance_s: f64) -> ScriptRun {
        let seen = seen.into_iter().map(seen_segment).collect();
        let played = Played { seen, broken: Vec::new() };
        ScriptRun(compare(&self.0, &played, Span::from_nanos((tolerance_s * 1e9) as u64)))
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

/// A segment as another TCP sent it.
type SeenSegment = (u64, u8, u64, u64, u32, u32, Vec<(u64, u64)>, Option<(u32, u32)>);

/// Bits of the header (RFC 9293 §3.1) and their names here.
const BITS: [(u8, Flags); 5] =
    [(1, Flags::FIN), (2, Flags::SYN), (16, Flags::ACK), (64, Flags::ECE), (128, Flags::CWR)];

fn seen_segment(segment: SeenSegment) -> Seen {
    let (at, bits, seq, ack, payload, window, blocks, timestamps) = segment;
    let set = BITS.iter().filter(|(bit, _)| bits & bit != 0);
    let mut flags = set.fold(Flags::NONE, |flags, (_, flag)| flags.with(*flag));
    if timestamps.is_some() {
        flags = flags.with(Flags::TIMESTAMPS);
    }
    let mut sack = SackBlocks::NONE;
    for (start, end) in blocks.into_iter().filter(|(start, end)| start < end) {
        sack.push(ack, start, end);
    }
    let timestamps = timestamps.unwrap_or((0, 0));
    let packet = Packet { seq, ack, payload, window, sack, timestamps, flags, ..Packet::EMPTY };
    Seen { at: Time::from_nanos(at), packet }
}

fn fields<'py>(py: Python<'py>, segment: &Segment) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    let bits = BITS.iter().filter(|(_, flag)| segment.flags.has(*flag)).map(|(bit, _)| bit).sum::<u8>();
    fields.set_item("flags", bits)?;
    fields.set_item("ce", segment.flags.has(Flags::CE))?;
    fields.set_item("ect", segment.flags.has(Flags::ECT))?;
    fields.set_item("seq", segment.seq)?;
    fields.set_item("payload", segment.payload)?;
    fields.set_item("ack", segment.ack)?;
    fields.set_item("window", segment.window)?;
    fields.set_item("sack", segment.sack.clone())?;
    fields.set_item("stamp", segment.stamp)?;
    match segment.echo {
        Echo::First => fields.set_item("echo", "first")?,
        Echo::Last => fields.set_item("echo", "last")?,
        Echo::Value(value) => fields.set_item("echo", value)?,
    }
    Ok(fields)
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
