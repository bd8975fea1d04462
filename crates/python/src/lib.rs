//! The extension module `cellwind._core`: it converts, dispatches and maps errors, and has no logic of its own.

mod capture;
mod emulation;
mod ends;
mod error;
mod mismatch;
mod replay;
mod run;
mod scenario;
mod script;
mod tcp;

use pyo3::pymodule;

/// The core of cellwind: scenarios, simulated runs and the machines themselves.
#[pymodule]
mod _core {
    use pyo3::pyfunction;

    #[pymodule_export]
    use crate::capture::{CaptureError, Packets, read_packets};
    #[pymodule_export]
    use crate::emulation::{Emulation, LiveRun};
    #[pymodule_export]
    use crate::ends::{End, clean_leftovers, run_end};
    #[pymodule_export]
    use crate::error::{Cancelled, CommandError, EmulationError, RunError, ScenarioError};
    #[pymodule_export]
    use crate::mismatch::timer_mismatch;
    #[pymodule_export]
    use crate::replay::{drop_reasons, replay};
    #[pymodule_export]
    use crate::run::{CancelFlag, Run, fact_kinds, run, swarm};
    #[pymodule_export]
    use crate::scenario::{Scenario, preset_text, presets, schema};
    #[pymodule_export]
    use crate::script::{Script, ScriptRun};
    #[pymodule_export]
    use crate::tcp::{Receiver, Segment, Sender};

    /// Version of the core, which is that of the package.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
