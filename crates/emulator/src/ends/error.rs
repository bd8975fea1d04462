//! What can go wrong with an end of the path.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why an end of the path cannot be made or used. The text says what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndError {
    /// The caller may not make namespaces.
    NoNamespaces {
        /// What the system says.
        reason: String,
        /// The system's setting that forbids it, if known.
        setting: Option<String>,
    },
    /// This needs root, and no namespace of the user's own helps.
    NotRoot {
        /// What needs it.
        what: String,
    },
    /// There is no TUN device, or it may not be used.
    NoTun {
        /// What the system says.
        reason: String,
    },
    /// A program of the system is not installed.
    NoProgram {
        /// The names, any of which would do.
        names: String,
        /// The package that usually has it.
        package: String,
    },
    /// A program of the system refused what it was told.
    Refused {
        /// The program.
        program: String,
        /// What it said.
        reason: String,
    },
    /// The host uses the addresses of the ends itself.
    AddressClash {
        /// The addresses of the ends.
        ours: String,
        /// The route or address of the host.
        theirs: String,
    },
    /// A setting of the kernel cannot be changed.
    Setting {
        /// The setting.
        name: String,
        /// The value asked for.
        value: String,
        /// What the system says.
        reason: String,
    },
    /// A step of the set-up failed.
    Setup {
        /// What was tried.
        what: String,
        /// What the system says.
        reason: String,
    },
    /// A command cannot be started.
    Command {
        /// The command.
        program: String,
        /// What the system says.
        reason: String,
    },
    /// An interface cannot be bridged.
    Interface {
        /// The interface.
        name: String,
        /// Why not.
        reason: String,
    },
    /// The process of the end is no more.
    Gone {
        /// How it ended, and its last words.
        reason: String,
    },
}

impl EndError {
    /// A failed step of the set-up.
    pub(super) fn setup(what: impl Into<String>, reason: impl fmt::Display) -> EndError {
        EndError::Setup { what: what.into(), reason: reason.to_string() }
    }
}

impl fmt::Display for EndError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndError::NoNamespaces { reason, setting } => {
                write!(to, "cannot make a network namespace: {reason}; run as root (sudo)")?;
                match setting {
                    Some(setting) => write!(to, ", or allow user namespaces: {setting}"),
                    None => write!(to, ", or where user namespaces are allowed"),
                }
            }
            EndError::NotRoot { what } => write!(to, "{what} needs root: run with sudo"),
            EndError::NoTun { reason } => write!(
                to,
                "cannot use /dev/net/tun: {reason}; load the kernel module tun, and in a container pass the device \
                 (--device /dev/net/tun) and the capability NET_ADMIN"
            ),
            EndError::NoProgram { names, package } => {
                write!(to, "{names} is not installed (Debian: apt-get install {package})")
            }
            EndError::Refused { program, reason } => write!(to, "{program} says: {reason}"),
            EndError::AddressClash { ours, theirs } => {
                write!(to, "the addresses of the emulated ends, {ours}, are in use on this host: {theirs}")
            }
            EndError::Setting { name, value, reason } => write!(to, "cannot set {name} to {value}: {reason}"),
            EndError::Setup { what, reason } => write!(to, "cannot {what}: {reason}"),
            EndError::Command { program, reason } => write!(to, "cannot run {program}: {reason}"),
            EndError::Interface { name, reason } => write!(to, "cannot bridge {name}: {reason}"),
            EndError::Gone { reason } => write!(to, "the process that holds the end is gone: {reason}"),
        }
    }
}

impl std::error::Error for EndError {}
