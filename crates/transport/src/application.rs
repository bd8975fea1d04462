//! Applications: what is sent, when, and what became of it.
//!
//! An application has two ends. One has the content: it answers requests ([`responder`]), sends files ([`files`]), or
//! sends by a schedule ([`scheduled`]). The other asks for it ([`request_reply`], [`ping`], [`web`], [`video`]) or takes what comes
//! ([`collector`]). Each end is a machine of its own, above carriers of any transport that can carry it; the end that
//! takes the content tells when the application has come to its end.

pub mod cbr;
pub mod collector;
pub mod end;
pub mod files;
pub(crate) mod lines;
pub mod news;
pub mod on_off;
pub mod ping;
pub mod playback;
pub mod report;
pub mod request_reply;
pub mod responder;
pub mod scheduled;
pub mod settings;
#[cfg(test)]
mod testkit;
pub mod trace;
pub mod video;
pub mod voip;
pub mod web;

#[cfg(test)]
mod tests;

pub use end::End;
pub use report::Report;
pub use settings::ApplicationSettings;
