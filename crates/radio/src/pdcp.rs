//! The Packet Data Convergence Protocol: its header, and header compression as what it costs and what it breaks
//! (TS 25.323).
//!
//! Headers are not made of bits here. A [`Compressor`] says how many octets a packet takes and what the decompressor
//! would be told; the [`Decompressor`] keeps the state that real ones keep, and so comes to the same wrong headers when
//! packets between the two were lost. A packet whose header comes out wrong is discarded.
//!
//! [`rfc1144`] is Van Jacobson's compression of TCP, [`rfc2507`] IP header compression, [`rohc`] robust header compression.

pub mod feedback;
mod fields;
pub mod rfc1144;
pub mod rfc2507;
pub mod rohc;
pub mod settings;
mod slots;

use cellwind_engine::packet::{Body, Packet};
use cellwind_engine::time::Time;

use self::feedback::Feedback;
use self::settings::{Compression, PdcpSettings};

/// PDU type and PID (TS 25.323 §8.2.2).
const HEADER_OCTETS: u32 = 1;

/// What becomes of a packet on its way to RLC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compressed {
    /// Octets of the PDCP PDU.
    pub octets: u32,
    /// What its header tells the other side.
    pub form: Form,
}

/// The form of a packet's headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Unchanged: PID 0, or no header at all (TS 25.323 §5.1.1, §8.2.1).
    #[default]
    Whole,
    /// A packet of RFC 1144.
    Rfc1144(rfc1144::Message),
    /// A packet of RFC 2507.
    Rfc2507(rfc2507::Message),
    /// A packet of RFC 3095.
    Rohc(rohc::Message),
}

/// What the decompressor makes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether its headers are right again; else it is discarded.
    pub is_right: bool,
    /// What the compressor should be told.
    pub feedback: Option<Feedback>,
}

impl Verdict {
    const RIGHT: Verdict = Verdict { is_right: true, feedback: None };
    const WRONG: Verdict = Verdict { is_right: false, feedback: None };

    fn of(is_right: bool) -> Self {
        if is_right { Verdict::RIGHT } else { Verdict::WRONG }
    }
}

/// The sending side of one direction.
#[derive(Clone, Debug)]
pub struct Compressor {
    settings: PdcpSettings,
    method: Option<Sending>,
}

#[derive(Clone, Debug)]
enum Sending {
    Rfc1144(rfc1144::Compressor),
    Rfc2507(rfc2507::Compressor),
    Rohc(rohc::Compressor),
}

impl Compressor {
    /// A compressor without contexts.
    pub fn new(settings: &PdcpSettings) -> Self {
        let method = match &settings.compression {
            Compression::None => None,
            Compression::Rfc1144(settings) => Some(Sending::Rfc1144(rfc1144::Compressor::new(settings))),
            Compression::Rfc2507(settings) => Some(Sending::Rfc2507(rfc2507::Compressor::new(settings))),
            Compression::Rohc(settings) => Some(Sending::Rohc(rohc::Compressor::new(settings))),
        };
        Compressor { settings: settings.clone(), method }
    }

    /// Changes the settings; what stays the same keeps its contexts.
    pub fn set_settings(&mut self, settings: &PdcpSettings) {
        if settings.compression == self.settings.compression {
            self.settings = settings.clone();
        } else {
            *self = Compressor::new(settings);
        }
    }

    /// Forgets all contexts, as after a handover (TS 25.323 §7, R/I).
    pub fn re_initialise(&mut self) {
        *self = Compressor::new(&self.settings);
    }

    /// A packet goes to RLC at `now`.
    #[inline]
    pub fn compress(&mut self, now: Time, packet: &Packet) -> Compressed {
        let whole = packet.size().as_bytes() as u32 + if self.settings.header { HEADER_OCTETS } else { 0 };
        match &mut self.method {
            // What comes from outside does not show its headers.
            Some(method) if packet.body == Body::NONE => {
                let (form, saved) = match method {
                    Sending::Rfc1144(method) => method.compress(packet),
                    Sending::Rfc2507(method) => method.compress(now, packet),
                    Sending::Rohc(method) => method.compress(packet),
                };
                Compressed { octets: whole.saturating_add_signed(-saved), form }
            }
            _ => Compressed { octets: whole, form: Form::Whole },
        }
    }

    /// The decompressor has told something.
    pub fn on_feedback(&mut self, feedback: Feedback) {
        match (&mut self.method, feedback) {
            (Some(Sending::Rfc2507(method)), Feedback::ContextState { cid }) => method.on_context_state(cid),
            (Some(Sending::Rohc(method)), Feedback::Rohc { cid, answer }) => method.on_feedback(cid, answer),
            // It was sent before the settings changed.
            _ => {}
        }
    }
}

/// The receiving side of one direction.
#[derive(Clone, Debug)]
pub struct Decompressor {
    settings: PdcpSettings,
    method: Option<Receiving>,
}

#[derive(Clone, Debug)]
enum Receiving {
    Rfc1144(rfc1144::Decompressor),
    Rfc2507(rfc2507::Decompressor),
    Rohc(rohc::Decompressor),
}

impl Decompressor {
    /// A decompressor without contexts.
    pub fn new(settings: &PdcpSettings) -> Self {
        let method = match &settings.compression {
            Compression::None => None,
            Compression::Rfc1144(settings) => Some(Receiving::Rfc1144(rfc1144::Decompressor::new(settings))),
            Compression::Rfc2507(settings) => Some(Receiving::Rfc2507(rfc2507::Decompressor::new(settings))),
            Compression::Rohc(settings) => Some(Receiving::Rohc(rohc::Decompressor::new(settings))),
        };
        Decompressor { settings: settings.clone(), method }
    }

    /// Changes the settings; what stays the same keeps its contexts.
    pub fn set_settings(&mut self, settings: &PdcpSettings) {
        if settings.compression == self.settings.compression {
            self.settings = settings.clone();
        } else {
            *self = Decompressor::new(settings);
        }
    }

    /// Forgets all contexts, as after a handover (TS 25.323 §7, R/I).
    pub fn re_initialise(&mut self) {
        *self = Decompressor::new(&self.settings);
    }

    /// A packet arrives from RLC in this form.
    #[inline]
    pub fn decompress(&mut self, packet: &Packet, form: Form) -> Verdict {
        match (form, &mut self.method) {
            (Form::Whole, _) => Verdict::RIGHT,
            (Form::Rfc1144(message), Some(Receiving::Rfc1144(method))) => method.decompress(packet, message),
            (Form::Rfc2507(message), Some(Receiving::Rfc2507(method))) => method.decompress(packet, message),
            (Form::Rohc(message), Some(Receiving::Rohc(method))) => method.decompress(packet, message),
            // Compressed under earlier settings: a PID that is not mapped any more (TS 25.323 §9.2).
            _ => Verdict::WRONG,
        }
    }
}

#[cfg(test)]
mod tests;
