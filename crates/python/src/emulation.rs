//! A live run, from its start to its results.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use cellwind_emulator::counts::Counts;
use cellwind_emulator::driver::DriverSettings;
use cellwind_emulator::emulation::{
    Emulation as CoreEmulation, EmulationError as CoreError, EmulationSettings, LiveRun as CoreRun,
};
use cellwind_emulator::ends::{EndError, ProcessId};
use cellwind_emulator::ip::Refusal;
use cellwind_emulator::lateness::Summary;
use cellwind_emulator::writer::FactFile;
use cellwind_engine::fact::{DropReason, FactKind};
use cellwind_engine::time::{Span, Time};
use indexmap::IndexMap;
use pyo3::exceptions::{PyKeyError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::ends::end_program;
use crate::error::{CommandError, EmulationError, ScenarioError, scenario_error};
use crate::run::{bearer_rows, fact_columns, link_rows, traffic_row};
use crate::scenario::Scenario;

/// How long a wait goes on before Python may handle a signal.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(100);

fn emulation_error(error: CoreError) -> PyErr {
    match error {
        CoreError::Scenario(error) => scenario_error(*error),
        CoreError::Change(error) => ScenarioError::new_err(error.to_string()),
        CoreError::End(EndError::Command { .. }) => CommandError::new_err(error.to_string()),
        other => EmulationError::new_err(other.to_string()),
    }
}

/// A scenario that runs live between namespaces of its own. All methods may be called from any thread.
#[pyclass(frozen, module = "cellwind._core")]
pub struct Emulation {
    emulation: CoreEmulation,
    /// Names of the accesses, in the order of the scenario.
    accesses: Vec<String>,
}

#[pymethods]
impl Emulation {
    /// Makes the ends and lets packets travel; with ``hold`` only from ``begin`` on.
    #[staticmethod]
    #[pyo3(signature = (
        scenario, *, replication = 0, facts = false, capture = false, outside = false, bridge = None, realtime = false,
        spin_us = None, kernel = None, spool = None, hold = false
    ))]
    #[allow(clippy::too_many_arguments)]
    fn start(
        py: Python<'_>,
        scenario: &Scenario,
        replication: u32,
        facts: bool,
        capture: bool,
        outside: bool,
        bridge: Option<(String, String)>,
        realtime: bool,
        spin_us: Option<f64>,
        kernel: Option<IndexMap<String, String>>,
        spool: Option<PathBuf>,
        hold: bool,
    ) -> PyResult<Self> {
        let spin = spin_us.map(|us| seconds(us * 1e-6, "spin_us")).transpose()?;
        let settings = EmulationSettings {
            replication,
            facts,
            capture,
            outside,
            bridge,
            kernel: kernel.unwrap_or_default().into_iter().collect(),
            driver: DriverSettings { spin, realtime },
            spool: spool.unwrap_or_else(std::env::temp_dir),
        };
        let program = end_program(py)?;
        let accesses = scenario.0.scenario.access.keys().cloned().collect();
        let emulation = py.detach(|| {
            let emulation = CoreEmulation::open(&scenario.0, &program, settings)?;
            if !hold {
                emulation.begin(Span::ZERO)?;
            }
            Ok(emulation)
        });
        Ok(Emulation { emulation: emulation.map_err(emulation_error)?, accesses })
    }

    /// Lets packets travel: the time of the path is zero ``lead_s`` from now. Returns that instant, ns of CLOCK_MONOTONIC.
    #[pyo3(signature = (lead_s = 0.0))]
    fn begin(&self, py: Python<'_>, lead_s: f64) -> PyResult<u64> {
        let lead = seconds(lead_s, "lead_s")?;
        py.detach(|| self.emulation.begin(lead)).map_err(emulation_error)
    }

    /// When the path's time was zero, ns of CLOCK_MONOTONIC.
    #[getter]
    fn started_ns(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.emulation.started_ns()).map_err(emulation_error)
    }

    /// The names of the ends: ``server``, then the terminals.
    #[getter]
    fn ends(&self) -> Vec<String> {
        self.emulation.ends().to_vec()
    }

    /// The addresses of each end; nothing for a bridge.
    fn addresses(&self, py: Python<'_>) -> IndexMap<String, Vec<String>> {
        let addresses = py.detach(|| self.emulation.addresses());
        let text = |all: Vec<std::net::IpAddr>| all.iter().map(ToString::to_string).collect();
        addresses.into_iter().map(|(end, addresses)| (end, text(addresses))).collect()
    }

    /// The first process of an end, for ``nsenter``.
    fn end_pid(&self, py: Python<'_>, end: &str) -> PyResult<u32> {
        py.detach(|| self.emulation.end_pid(end)).map_err(emulation_error)
    }

    /// Starts a command at an end and returns its process, by its number there.
    #[pyo3(signature = (end, argv, *, env = None, cwd = None, stdin = 0, stdout = 1, stderr = 2, as_root = false))]
    #[allow(clippy::too_many_arguments)]
    fn spawn(
        &self,
        py: Python<'_>,
        end: &str,
        argv: Vec<OsString>,
        env: Option<HashMap<OsString, OsString>>,
        cwd: Option<PathBuf>,
        stdin: RawFd,
        stdout: RawFd,
        stderr: RawFd,
        as_root: bool,
    ) -> PyResult<u32> {
        let env = env.map_or_else(|| std::env::vars_os().collect(), |env| env.into_iter().collect());
        let cwd = cwd.map_or_else(std::env::current_dir, Ok)?;
        let files = [stdin, stdout, stderr];
        let process = py.detach(|| self.emulation.spawn(end, argv, env, cwd, files, as_root));
        process.map(|process| process.0).map_err(emulation_error)
    }

    /// Sends a signal to a command and to what it started.
    fn signal(&self, py: Python<'_>, end: &str, process: u32, signum: i32) -> PyResult<()> {
        py.detach(|| self.emulation.signal(end, ProcessId(process), signum)).map_err(emulation_error)
    }

    /// Waits until commands have ended: end, process, and exit code or 128 and the signal's number.
    #[pyo3(signature = (timeout_s = None))]
    fn wait(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<Vec<(String, u32, i32)>> {
        let mut left = timeout_s.map(|timeout| seconds(timeout, "timeout_s")).transpose()?;
        loop {
            let most = left.map_or(BETWEEN_SIGNALS, |left| BETWEEN_SIGNALS.min(Duration::from_nanos(left.as_nanos())));
            let ended = py.detach(|| self.emulation.wait(Some(most))).map_err(emulation_error)?;
            if !ended.is_empty() || left == Some(Span::ZERO) {
                return Ok(ended.into_iter().map(|ended| (ended.end, ended.process.0, ended.code)).collect());
            }
            py.check_signals()?;
            left = left.map(|left| left - Span::from_nanos(most.as_nanos() as u64));
        }
    }

    /// Changes a setting of a link or an access; returns when, in seconds since the start.
    fn set(&self, py: Python<'_>, path: String, value: String) -> PyResult<f64> {
        self.set_many(py, vec![(path, value)])
    }

    /// Changes several settings at one instant.
    fn set_many(&self, py: Python<'_>, pairs: Vec<(String, String)>) -> PyResult<f64> {
        instant(py.detach(|| self.emulation.set(&pairs)))
    }

    /// Moves a terminal to another access.
    #[pyo3(signature = (to, *, terminal = None, delay = None, buffering = None, soft = false))]
    fn handover(
        &self,
        py: Python<'_>,
        to: &str,
        terminal: Option<&str>,
        delay: Option<&str>,
        buffering: Option<&str>,
        soft: bool,
    ) -> PyResult<f64> {
        instant(py.detach(|| self.emulation.handover(to, terminal, delay, buffering, soft)))
    }

    /// Holds transmission for a while.
    #[pyo3(signature = (duration, *, terminal = None))]
    fn spike(&self, py: Python<'_>, duration: &str, terminal: Option<&str>) -> PyResult<f64> {
        instant(py.detach(|| self.emulation.spike(duration, terminal)))
    }

    /// Holds all transmission until ``resume``.
    fn pause(&self, py: Python<'_>) -> PyResult<f64> {
        instant(py.detach(|| self.emulation.pause()))
    }

    /// Lets transmission go on.
    fn resume(&self, py: Python<'_>) -> PyResult<f64> {
        instant(py.detach(|| self.emulation.resume()))
    }

    /// Counts, lateness and complaints of the moment.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let status = py.detach(|| self.emulation.status()).map_err(emulation_error)?;
        let row = PyDict::new(py);
        row.set_item("time_s", status.time.as_secs_f64())?;
        row.set_item("paused", status.counts.is_paused != 0)?;
        row.set_item("valid", status.is_valid)?;
        row.set_item("terminals", terminals(py, &self.emulation.ends()[1..], &self.accesses, &status.counts)?)?;
        let machines = PyDict::new(py);
        for (name, traffic) in status.stages.iter().zip(&status.counts.stages) {
            machines.set_item(name, traffic_row(py, name, traffic)?)?;
        }
        row.set_item("machines", machines)?;
        row.set_item("lateness", lateness(py, &status.lateness)?)?;
        row.set_item("spin_us", status.counts.spin_ns as f64 / 1e3)?;
        row.set_item("drops", drops(&status.counts))?;
        row.set_item("aside", status.counts.aside)?;
        row.set_item("packets_held", status.counts.slots_used)?;
        row.set_item("facts_lost", status.lost.0)?;
        row.set_item("captured_packets_lost", status.lost.1)?;
        row.set_item("complaints", status.complaints)?;
        Ok(row)
    }

    /// Ends all commands, removes the ends, and returns what the run left.
    fn stop(&self, py: Python<'_>) -> PyResult<LiveRun> {
        let mut run = py.detach(|| self.emulation.stop()).map_err(emulation_error)?;
        let facts = Mutex::new(run.facts.take());
        Ok(LiveRun { run, facts, accesses: self.accesses.clone() })
    }
}

/// A finished live run.
#[pyclass(frozen, module = "cellwind._core")]
pub struct LiveRun {
    run: CoreRun,
    facts: Mutex<Option<FactFile>>,
    accesses: Vec<String>,
}

#[pymethods]
impl LiveRun {
    /// The time of day at the start, ISO 8601 in UTC.
    #[getter]
    fn started(&self, py: Python<'_>) -> PyResult<String> {
        let since = self.run.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let datetime = py.import("datetime")?;
        let utc = datetime.getattr("timezone")?.getattr("utc")?;
        let started = datetime.getattr("datetime")?.call_method1("fromtimestamp", (since.as_secs_f64(), utc))?;
        started.call_method0("isoformat")?.extract()
    }

    /// Seconds from the start to the end.
    #[getter]
    fn ended_s(&self) -> f64 {
        self.run.ended.as_secs_f64()
    }

    /// Totals per terminal and direction, as in the status.
    #[getter]
    fn terminals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let run = &self.run;
        terminals(py, &run.terminal_names, &self.accesses, &run.counts)
    }

    /// Totals per bearer and direction.
    #[getter]
    fn bearers<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        bearer_rows(py, &self.run.bearers)
    }

    /// Totals per wired link and direction.
    #[getter]
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        link_rows(py, &self.run.links)
    }

    /// Packets dropped, by reason.
    #[getter]
    fn drops(&self) -> IndexMap<&'static str, u64> {
        drops(&self.run.counts)
    }

    /// How late packets left, with the histogram.
    #[getter]
    fn lateness<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let run = &self.run;
        let row = lateness(py, &run.lateness)?;
        let (bins, counts): (Vec<f64>, Vec<u64>) = run.histogram.iter().map(|&(span, count)| (us(span), count)).unzip();
        row.set_item("bins_us", bins)?;
        row.set_item("counts", counts)?;
        Ok(row)
    }

    /// Whether few enough packets were late, and the path did not stop by itself.
    #[getter]
    fn valid(&self) -> bool {
        self.run.is_valid
    }

    /// What is not as it was asked for.
    #[getter]
    fn complaints(&self) -> Vec<String> {
        self.run.complaints.clone()
    }

    /// Names behind the codes of the column ``machine``.
    #[getter]
    fn machine_names(&self) -> Vec<String> {
        self.run.machine_names.clone()
    }

    /// Names behind the codes of the column ``kind``.
    #[getter]
    fn kind_names(&self) -> Vec<&'static str> {
        FactKind::ALL.iter().map(|kind| kind.name()).collect()
    }

    /// Names behind the codes of the column ``flow``: those of the terminals; the empty name means none.
    #[getter]
    fn flow_names(&self) -> Vec<String> {
        self.run.terminal_names.iter().cloned().chain([String::new()]).collect()
    }

    /// The next facts as columns of equal length, at most so many; those that remain by default.
    #[pyo3(signature = (most = None))]
    fn facts<'py>(&self, py: Python<'py>, most: Option<usize>) -> PyResult<Bound<'py, PyDict>> {
        let rows = py.detach(|| {
            let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
            facts.as_mut().map(|facts| facts.next(most.unwrap_or(usize::MAX))).transpose()
        })?;
        fact_columns(py, &rows.unwrap_or_default(), self.run.terminal_names.len() as u16)
    }

    /// A pcapng file per end, by its name.
    fn capture<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let files = PyDict::new(py);
        for (end, file) in &self.run.captures {
            files.set_item(end, PyBytes::new(py, &file.contents()?))?;
        }
        Ok(files)
    }

    /// Gives the capture of an end a name in the file system, in place of any file there.
    fn save_capture(&self, py: Python<'_>, end: &str, path: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let Some((_, file)) = self.run.captures.iter().find(|(name, _)| name == end) else {
                return Err(PyKeyError::new_err(format!("no packets were captured at {end}")));
            };
            file.save(&path).map_err(|error| PyOSError::new_err(format!("cannot write {}: {error}", path.display())))
        })
    }
}

fn seconds(value: f64, name: &str) -> PyResult<Span> {
    let duration = Duration::try_from_secs_f64(value);
    let ns = duration.ok().and_then(|duration| u64::try_from(duration.as_nanos()).ok());
    ns.map(Span::from_nanos).ok_or_else(|| PyValueError::new_err(format!("{name} is not a time: {value}")))
}

fn instant(at: Result<Time, CoreError>) -> PyResult<f64> {
    at.map(Time::as_secs_f64).map_err(emulation_error)
}

fn us(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e3
}

fn lateness<'py>(py: Python<'py>, summary: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("n", summary.count)?;
    row.set_item("p50_us", us(summary.p50))?;
    row.set_item("p99_us", us(summary.p99))?;
    row.set_item("worst_us", us(summary.worst))?;
    row.set_item("over_limit", summary.over_limit)?;
    Ok(row)
}

/// Per terminal the access it is in, and its traffic down and up.
fn terminals<'py>(
    py: Python<'py>,
    names: &[String],
    accesses: &[String],
    counts: &Counts,
) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for ((name, [down, up]), place) in names.iter().zip(&counts.terminals).zip(&counts.accesses) {
        let row = PyDict::new(py);
        let access = (*place as usize).checked_sub(1).and_then(|place| accesses.get(place));
        row.set_item("access", access)?;
        for (direction, traffic) in [("down", down), ("up", up)] {
            let traffic_row = traffic_row(py, direction, traffic)?;
            traffic_row.del_item("name")?;
            traffic_row.set_item("packets_held", traffic.packets_held())?;
            row.set_item(direction, traffic_row)?;
        }
        all.set_item(name, row)?;
    }
    Ok(all)
}

/// Packets that did not make it, by reason: what the ends sent in vain, then what the path dropped.
fn drops(counts: &Counts) -> IndexMap<&'static str, u64> {
    let refused = Refusal::ALL.iter().map(|refusal| refusal.name()).zip(counts.refused);
    let dropped = DropReason::ALL.iter().map(|reason| reason.name()).zip(counts.dropped);
    refused.chain(dropped).filter(|&(_, count)| count > 0).collect()
}
