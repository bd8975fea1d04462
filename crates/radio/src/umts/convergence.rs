//! PDCP of one direction of a bearer.

use crate::pdcp::settings::PdcpSettings;
use crate::pdcp::{Compressor, Decompressor};

/// The two ends of a direction.
#[derive(Clone, Debug)]
pub(super) struct Convergence {
    pub(super) compressor: Compressor,
    pub(super) decompressor: Decompressor,
}

impl Convergence {
    /// Ends without contexts.
    pub(super) fn new(settings: &PdcpSettings) -> Self {
        Convergence { compressor: Compressor::new(settings), decompressor: Decompressor::new(settings) }
    }

    /// Changes the settings; what stays the same keeps its contexts.
    pub(super) fn set_settings(&mut self, settings: &PdcpSettings) {
        self.compressor.set_settings(settings);
        self.decompressor.set_settings(settings);
    }

    /// Forgets all contexts.
    pub(super) fn re_initialise(&mut self) {
        self.compressor.re_initialise();
        self.decompressor.re_initialise();
    }
}
