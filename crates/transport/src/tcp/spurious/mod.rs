//! Detection of spurious timeouts, and the response to them.
//!
//! A detector is told of every timeout with the windows from before it, and judges by the acknowledgements
//! of new data that follow. When it finds the timeout spurious it answers with the windows to go back to;
//! the sender then continues with new data instead of resending. [`Spurious::Off`] takes every timeout for
//! a loss, as RFC 5681 does.

use cellwind_engine::packet::Packet;

use super::congestion::Windows;
use super::settings::SpuriousSettings;

/// The detector and response of a connection.
#[derive(Clone, Debug)]
pub(crate) enum Spurious {
    Off,
}

impl Spurious {
    pub fn new(settings: &SpuriousSettings) -> Self {
        match settings {
            SpuriousSettings::Off => Spurious::Off,
        }
    }

    /// The timer expired; `before` are the windows from before the reaction to it.
    pub fn on_timeout(&mut self, _before: Windows) {
        match self {
            Spurious::Off => {}
        }
    }

    /// An acknowledgement of new data: the windows to restore if the last timeout proves spurious.
    pub fn on_ack(&mut self, _ack: &Packet) -> Option<Windows> {
        match self {
            Spurious::Off => None,
        }
    }
}
