//! Ends of the path on the real kernel: namespaces, devices, rules and commands.
//!
//! What a machine does not allow is skipped with its reason; `CELLWIND_NO_SKIP=1` makes that a failure. Nothing here
//! touches the network of the host: tests of its rules play the host in a namespace of their own.

mod bridge;
mod commands;
mod kills;
mod outside;
mod path;
mod refusals;
mod support;
