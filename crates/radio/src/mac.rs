//! Medium access control: when something may be sent, and how much (TS 25.321).
//!
//! [`channel`] says when the TTIs of a dedicated channel begin. [`cell`] is the capacity that the terminals of a cell share,
//! [`scheduler`] how it is shared out.

pub mod cell;
pub mod channel;
pub mod scheduler;
