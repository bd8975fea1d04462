//! The scenario file: types, units, presets, validation, and building a World from it.
//!
//! A file goes through four steps, each a module: [`node`] parses TOML into a tree whose values remember where
//! they stand; [`resolve`] lays it over what it extends and applies `--set`; [`de`] turns the tree into the types of
//! [`model`]; `validate` checks what types cannot say. Every mistake on the way is a [`ScenarioError`].
//!
//! A [`Session`] is the World of one replication with its plan of changes. [`run`] drives one in virtual time and
//! collects the results; [`swarm`] does so with random scenarios and all checks on; a live run drives one by a clock.

mod build;
pub mod capture;
pub mod change;
pub mod de;
pub mod error;
mod error_files;
mod load;
pub mod machines;
mod mobility;
pub mod model;
pub mod node;
pub mod presets;
mod read;
pub mod resolve;
pub mod run;
pub mod schema;
pub mod script;
pub mod session;
pub mod source;
mod spikes;
pub mod swarm;
mod traces;
mod validate;
mod write;

pub use cellwind_engine::directions::{Direction, Directions};
pub use change::{Change, ChangeError};
pub use error::{Mistake, ScenarioError};
pub use load::{Loaded, load, parse, preset_text, presets, tcp_settings};
pub use model::Scenario;
pub use presets::Kind;
pub use schema::schema;
pub use session::Session;
