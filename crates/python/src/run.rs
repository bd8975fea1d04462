//! Running a replication, and its results.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use cellwind_engine::fact::{FactKind, FactRow};
use cellwind_engine::time::Span;
use cellwind_path::traffic::Traffic;
use cellwind_scenario::run::{BearerResult, FlowResult, LinkResult, Record, Run as CoreRun, run as core_run};
use cpu_time::ThreadTime;
use numpy::{Element, IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::{run_error, scenario_error};
use crate::scenario::Scenario;

/// A flag shared with running replications. Once cancelled it stays so.
#[pyclass(frozen, module = "cellwind._core")]
#[derive(Default)]
pub struct CancelFlag(Arc<AtomicBool>);

#[pymethods]
impl CancelFlag {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Asks every run that was given this flag to stop soon; they raise ``Cancelled``.
    fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One finished replication: totals per flow, bearer and link, and the facts if they were asked for.
#[pyclass(frozen, module = "cellwind._core")]
pub struct Run {
    run: CoreRun,
    cpu_s: f64,
    facts: Mutex<Vec<FactRow>>,
}

#[pymethods]
impl Run {
    /// Number of the replication, from 0.
    #[getter]
    fn replication(&self) -> u32 {
        self.run.replication
    }

    /// Virtual seconds that passed.
    #[getter]
    fn simulated_s(&self) -> f64 {
        self.run.ended.as_secs_f64()
    }

    /// Events handled.
    #[getter]
    fn events(&self) -> u64 {
        self.run.events
    }

    /// Processor seconds spent. The only field that differs between two equal runs.
    #[getter]
    fn cpu_s(&self) -> f64 {
        self.cpu_s
    }

    /// Totals per flow.
    #[getter]
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let rows = self.run.flows.iter().map(|flow| {
            let row = PyDict::new(py);
            row.set_item("name", &flow.name)?;
            row.set_item("transport", &flow.transport)?;
            row.set_item("completed", flow.duration.is_some())?;
            row.set_item("bytes", flow.bytes)?;
            row.set_item("start_s", flow.start.as_secs_f64())?;
            row.set_item("duration_s", flow.duration.map(|span| span.as_secs_f64()))?;
            row.set_item("goodput_bps", flow.goodput_bps())?;
            row.set_item("segments_sent", flow.counters.segments_sent)?;
            row.set_item("segments_retransmitted", flow.counters.segments_retransmitted)?;
            row.set_item("timeouts", flow.counters.timeouts)?;
            row.set_item("fast_retransmits", flow.counters.fast_retransmits)?;
            row.set_item("spurious_timeouts", flow.counters.spurious_timeouts)?;
            row.set_item("necessary_timeouts", flow.counters.necessary_timeouts)?;
            row.set_item("rtt_mean_s", flow.rtt_mean().map(|span| span.as_secs_f64()))?;
            application_columns(&row, flow)?;
            Ok(row)
        });
        rows.collect()
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

    /// Names behind the codes of the column ``flow``; the empty name means no flow.
    #[getter]
    fn flow_names(&self) -> Vec<&str> {
        self.run.flows.iter().map(|flow| flow.name.as_str()).chain([""]).collect()
    }

    /// The facts as columns of equal length; they can be taken once.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = std::mem::take(&mut *self.facts.lock().expect("no holder panics"));
        let no_flow = self.run.flows.len() as u16;
        let columns = fact_columns(py, &rows, no_flow)?;
        spare::give(rows);
        Ok(columns)
    }

    /// A pcapng file per end, keyed by ``"server"`` and the names of the terminals.
    fn capture<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let files = PyDict::new(py);
        for (name, bytes) in &self.run.captures {
            files.set_item(name, PyBytes::new(py, bytes))?;
        }
        Ok(files)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        spare::give(std::mem::take(self.facts.get_mut().expect("no holder panics")));
    }
}

/// The columns of a flow's application; those that are not its own stay empty.
fn application_columns(row: &Bound<'_, PyDict>, flow: &FlowResult) -> PyResult<()> {
    let report = &flow.report;
    let seconds = |span: Option<Span>| span.map(|span| span.as_secs_f64());
    let has_messages = flow.application != "bulk";
    row.set_item("application", flow.application)?;
    row.set_item("messages_sent", has_messages.then_some(report.messages_sent))?;
    row.set_item("messages_delivered", has_messages.then_some(report.messages_delivered))?;
    row.set_item("messages_on_time", report.messages_on_time)?;
    row.set_item("delay_mean_s", seconds(report.delay.mean()))?;
    row.set_item("delay_max_s", seconds(report.delay.most()))?;
    row.set_item("initial_delay_s", seconds(report.initial_delay.mean()))?;
    row.set_item("page_delay_s", seconds(report.page_delay.mean()))?;
    row.set_item("startup_delay_s", seconds(report.startup_delay))?;
    row.set_item("rebufferings", report.rebuffering.map(|(count, _)| count))?;
    row.set_item("rebuffering_s", report.rebuffering.map(|(_, span)| span.as_secs_f64()))?;
    row.set_item("rate_switches", report.rate_switches)?;
    row.set_item("media_bps", report.media_bps())
}

/// Buffers for facts, kept from one run to the next: getting fresh memory from the system takes longer than
/// filling it.
mod spare {
    use std::sync::Mutex;

    use cellwind_engine::fact::FactRow;

    static BUFFERS: Mutex<Vec<Vec<FactRow>>> = Mutex::new(Vec::new());
    /// More would hold more memory than they save time.
    const MOST: usize = 4;
    /// Larger buffers, of 40 MB and more, go back to the system.
    const MOST_ROWS: usize = 1 << 20;

    /// An empty buffer, with memory if there is one to spare.
    pub fn take() -> Vec<FactRow> {
        BUFFERS.lock().expect("no holder panics").pop().unwrap_or_default()
    }

    /// Keeps the memory of a buffer for a later run.
    pub fn give(mut rows: Vec<FactRow>) {
        let mut buffers = BUFFERS.lock().expect("no holder panics");
        if buffers.len() < MOST && (1..=MOST_ROWS).contains(&rows.capacity()) {
            rows.clear();
            buffers.push(rows);
        }
    }
}

/// Facts as columns of equal length; flows from `no_flow` on stand for none.
pub fn fact_columns<'py>(py: Python<'py>, rows: &[FactRow], no_flow: u16) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    columns.set_item("time_ns", column(py, rows, |row| row.time().as_nanos() as i64))?;
    columns.set_item("machine", column(py, rows, |row| row.machine()))?;
    columns.set_item("kind", column(py, rows, |row| row.fact().kind as u8))?;
    // Flow numbers end at the number of flows; what belongs to none comes behind them.
    columns.set_item("flow", column(py, rows, |row| row.fact().flow.0.min(no_flow)))?;
    columns.set_item("seq", column(py, rows, |row| row.fact().seq as i64))?;
    columns.set_item("length", column(py, rows, |row| row.fact().length as i32))?;
    columns.set_item("a", column(py, rows, |row| row.fact().a as i64))?;
    columns.set_item("b", column(py, rows, |row| row.fact().b as i64))?;
    Ok(columns)
}

/// Totals of bearers, one row each.
pub fn bearer_rows<'py>(py: Python<'py>, bearers: &[BearerResult]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let rows = bearers.iter().map(|bearer| {
        let row = traffic_row(py, &bearer.name, &bearer.traffic)?;
        row.set_item("blocks_sent", bearer.blocks.sent)?;
        row.set_item("blocks_resent", bearer.blocks.resent)?;
        row.set_item("blocks_dropped", bearer.blocks.dropped)?;
        row.set_item("status_reports", bearer.blocks.status)?;
        Ok(row)
    });
    rows.collect()
}

/// Totals of wired links, one row each.
pub fn link_rows<'py>(py: Python<'py>, links: &[LinkResult]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    links.iter().map(|link| traffic_row(py, &link.name, &link.traffic)).collect()
}

/// One column of the facts, laid out in Rust and handed to numpy as it is.
fn column<'py, T: Element + Send>(
    py: Python<'py>,
    rows: &[FactRow],
    value: impl Fn(&FactRow) -> T + Send + Sync,
) -> Bound<'py, PyArray1<T>> {
    py.detach(|| rows.iter().map(value).collect::<Vec<T>>()).into_pyarray(py)
}

/// A name and what went through.
pub fn traffic_row<'py>(py: Python<'py>, name: &str, traffic: &Traffic) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("name", name)?;
    row.set_item("packets_in", traffic.packets_in)?;
    row.set_item("packets_delivered", traffic.packets_delivered)?;
    row.set_item("packets_dropped", traffic.packets_dropped)?;
    row.set_item("bytes_in", traffic.bytes_in)?;
    row.set_item("bytes_delivered", traffic.bytes_delivered)?;
    row.set_item("bytes_dropped", traffic.bytes_dropped)?;
    row.set_item("packets_handed_back", traffic.packets_handed_back)?;
    row.set_item("bytes_handed_back", traffic.bytes_handed_back)?;
    row.set_item("bytes_held", traffic.bytes_held())?;
    Ok(row)
}

/// Runs one replication; the result depends on the scenario, its seed and ``replication`` alone.
#[pyfunction]
#[pyo3(signature = (scenario, replication, facts = false, capture = false, cancel = None))]
pub fn run(
    py: Python<'_>,
    scenario: &Scenario,
    replication: u32,
    facts: bool,
    capture: bool,
    cancel: Option<&CancelFlag>,
) -> PyResult<Run> {
    let cancel = cancel.map(|flag| Arc::clone(&flag.0)).unwrap_or_default();
    scenario.0.check_simulated().map_err(scenario_error)?;
    let scenario = &scenario.0.scenario;
    py.detach(|| {
        let start = ThreadTime::now();
        let facts = facts.then(spare::take);
        let mut run = core_run(scenario, replication, Record { facts, capture }, &cancel).map_err(run_error)?;
        let cpu_s = start.elapsed().as_secs_f64();
        let facts = Mutex::new(std::mem::take(&mut run.facts));
        Ok(Run { run, cpu_s, facts })
    })
}

/// Name and meaning of every kind of fact, in the order of their codes.
#[pyfunction]
pub fn fact_kinds() -> Vec<(&'static str, &'static str)> {
    FactKind::ALL.iter().map(|kind| (kind.name(), kind.meaning())).collect()
}

/// Runs ``count`` random scenarios from ``seed`` on with all checks; one text per failure, none when all held.
#[pyfunction]
#[pyo3(signature = (seed, count, cancel = None))]
pub fn swarm(py: Python<'_>, seed: u64, count: u64, cancel: Option<&CancelFlag>) -> Vec<String> {
    let cancel = cancel.map(|flag| Arc::clone(&flag.0)).unwrap_or_default();
    py.detach(|| cellwind_scenario::swarm::swarm(seed, count, &cancel))
}
