//! A live path in virtual time: the same packets at the same instants, without a clock.

use cellwind_engine::fact::DropReason;
use cellwind_engine::packet::{Body, Packet};
use cellwind_engine::time::Time;
use cellwind_scenario::{Direction, Session};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::run_error;
use crate::scenario::Scenario;

/// A packet that did not leave has no instant.
const NEVER: i64 = -1;
/// As the emulator takes apart what it reads: an IPv4 header, and the rest.
const HEADER: u32 = 20;

/// Names of the reasons for a drop, in the order of their codes, which begin at 1.
#[pyfunction]
pub fn drop_reasons() -> Vec<&'static str> {
    DropReason::ALL.iter().map(|reason| reason.name()).collect()
}

/// When each packet of a list, in the order of time, leaves the path of a live run of the scenario.
#[pyfunction]
#[pyo3(signature = (scenario, replication, time_ns, terminal, up, size))]
pub fn replay<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    replication: u32,
    time_ns: PyReadonlyArray1<'py, i64>,
    terminal: PyReadonlyArray1<'py, u16>,
    up: PyReadonlyArray1<'py, bool>,
    size: PyReadonlyArray1<'py, u32>,
) -> PyResult<Bound<'py, PyDict>> {
    let columns = (time_ns.as_slice()?, terminal.as_slice()?, up.as_slice()?, size.as_slice()?);
    let (times, terminals, ups, sizes) = columns;
    let count = times.len();
    if [terminals.len(), ups.len(), sizes.len()] != [count; 3] {
        return Err(PyValueError::new_err("the columns differ in length"));
    }
    if times.first().is_some_and(|&first| first < 0) || !times.is_sorted() {
        return Err(PyValueError::new_err("packets come in the order of time, from zero on"));
    }
    let known = scenario.0.scenario.terminal.len();
    if let Some(&unknown) = terminals.iter().find(|&&terminal| usize::from(terminal) >= known) {
        return Err(PyValueError::new_err(format!("there is no terminal {unknown}: the scenario has {known}")));
    }
    let packets = (0..count).map(|i| {
        let direction = if ups[i] { Direction::Up } else { Direction::Down };
        (Time::from_nanos(times[i] as u64), terminals[i], direction, sizes[i])
    });
    let packets: Vec<_> = packets.collect();
    let (left, dropped) =
        py.detach(|| drive(scenario, replication, &packets)).map_err(|stalled| run_error(stalled.into()))?;
    let found = PyDict::new(py);
    found.set_item("egress_ns", left.into_pyarray(py))?;
    found.set_item("drop_reason", dropped.into_pyarray(py))?;
    Ok(found)
}

/// The instants at which packets left, and why others did not, by the codes of the fact `drop`.
fn drive(
    scenario: &Scenario,
    replication: u32,
    packets: &[(Time, u16, Direction, u32)],
) -> Result<(Vec<i64>, Vec<u8>), cellwind_engine::world::Stalled> {
    let mut session = Session::live(&scenario.0, replication, false);
    let mut left = vec![NEVER; packets.len()];
    let mut dropped = vec![0; packets.len()];
    let mut inside = 0_usize;
    let mut collect = |session: &mut Session| {
        let mut gone = 0;
        for (time, _, _, packet) in session.take_egress() {
            left[packet.body.0 as usize] = time.as_nanos() as i64;
            gone += 1;
        }
        for (body, reason) in session.take_dropped() {
            dropped[body.0 as usize] = reason as u8;
            gone += 1;
        }
        gone
    };
    for (number, &(time, terminal, direction, size)) in packets.iter().enumerate() {
        session.advance_to(time)?;
        let header = size.min(HEADER);
        let packet = Packet {
            seq: number as u64 + 1,
            header: header as u16,
            payload: size - header,
            body: Body(number as u32),
            ..Packet::EMPTY
        };
        session.inject(terminal, direction, packet)?;
        inside += 1;
        inside -= collect(&mut session);
    }
    while inside > 0 {
        // A packet that is held for ever, by a link of no rate, has no next event.
        let Some(next) = session.next_timeout() else { break };
        session.advance_to(next)?;
        inside -= collect(&mut session);
    }
    Ok((left, dropped))
}
