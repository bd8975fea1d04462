//! Why an emulation cannot be made, or not do what it is asked.

use std::fmt;
use std::io;

use cellwind_scenario::ScenarioError;
use cellwind_scenario::change::ChangeError;

use crate::ends::EndError;
use crate::kernel::WrongSetting;

/// Why an emulation cannot be made, or not do what it is asked.
#[derive(Debug)]
pub enum EmulationError {
    /// An end cannot be made or used.
    End(EndError),
    /// A setting of the kernel's TCP is wrong.
    Kernel(WrongSetting),
    /// What was asked for contradicts the scenario.
    Scenario(Box<ScenarioError>),
    /// A change does not fit the scenario as it is now.
    Change(ChangeError),
    /// A call to the system failed.
    System {
        /// What was tried.
        what: String,
        /// What the system says.
        error: io::Error,
    },
    /// A bridge has one terminal.
    BridgeOfMany {
        /// Terminals of the scenario.
        terminals: usize,
    },
    /// There is no end of this name.
    NoEnd {
        /// The name.
        name: String,
        /// The names there are.
        ends: Vec<String>,
    },
    /// Packets do not travel yet.
    NotBegun,
    /// It has begun already.
    Begun,
    /// It was stopped.
    Stopped,
    /// The path stopped by itself.
    Broken {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for EmulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmulationError::End(error) => error.fmt(f),
            EmulationError::Kernel(error) => error.fmt(f),
            EmulationError::Scenario(error) => error.fmt(f),
            EmulationError::Change(error) => error.fmt(f),
            EmulationError::System { what, error } => write!(f, "cannot {what}: {error}"),
            EmulationError::BridgeOfMany { terminals } => {
                write!(f, "a bridge is the way of one terminal, and the scenario has {terminals}")
            }
            EmulationError::NoEnd { name, ends } => {
                write!(f, "there is no end {name:?} to run commands at; there are: {}", ends.join(", "))
            }
            EmulationError::NotBegun => f.write_str("the emulation has not begun"),
            EmulationError::Begun => f.write_str("the emulation has begun already"),
            EmulationError::Stopped => f.write_str("the emulation was stopped"),
            EmulationError::Broken { reason } => write!(f, "the path stopped: {reason}"),
        }
    }
}

impl std::error::Error for EmulationError {}

impl From<EndError> for EmulationError {
    fn from(error: EndError) -> Self {
        EmulationError::End(error)
    }
}

impl From<ScenarioError> for EmulationError {
    fn from(error: ScenarioError) -> Self {
        EmulationError::Scenario(Box::new(error))
    }
}
