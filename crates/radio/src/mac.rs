//! Medium access control: what may be sent in each TTI (TS 25.321).
//!
//! [`cell`] is the capacity that the terminals of a cell share, [`scheduler`] how it is shared out.

pub mod cell;
pub mod scheduler;
