//! The ends of the path: network namespaces that belong to processes, and what stands in for them.
//!
//! An end is a process of its own ([`run_end`]), started from a fresh program because a namespace can only be entered
//! by a process with one thread. It makes a network, a mount and a process namespace, a TUN device whose other side
//! it hands to the parent, and runs commands. It lives as long as the socket to its parent: when either ends, in
//! whatever way, the kernel removes every process, device and namespace of it.
//!
//! [`End`] is the parent's side. With [`Role::Outside`] the end is the host itself, behind address translation whose
//! rules name their owner ([`clean_leftovers`]). [`open_bridge`] stands between two existing interfaces instead.

mod bridge;
mod caller;
mod command;
mod end;
mod error;
mod message;
mod names;
mod network;
mod outside;
mod process;
mod settings;

pub use bridge::{Bridge, BridgePort, open_bridge};
pub use caller::User;
pub use end::{End, EndProgram, Exit, ProcessId, SpawnRequest};
pub use error::EndError;
pub use outside::clean_leftovers;
pub use process::run_end;
pub use settings::{EndSettings, KernelTcp, Role};
