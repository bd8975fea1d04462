//! Robust header compression (RFC 3095) of UDP and RTP over IPv4, in U-mode and O-mode.
//!
//! The compressor sends whole contexts (IR), their dynamic part (FO: IR-DYN), and where all grows regularly a few bits of the
//! sequence number (SO: UO-0), from which the decompressor infers the rest. These bits are read relative to the last packet
//! that came (W-LSB), so that losses in a row do no harm up to their width; a checksum tells a wrong context.

use cellwind_engine::packet::{Flags, Packet};

use super::feedback::{Answer, Feedback};
use super::fields::{self, UDP_HEADERS, Who};
use super::settings::{RohcMode, RohcProfile, RohcSettings};
use super::slots::{Known, Slots};
use super::{Form, Verdict};

/// Type, profile and checksum of an IR or IR-DYN packet (§5.2.3, §5.2.4).
const IR_OCTETS: u32 = 3;
/// Static chain: IPv4 and UDP (§5.7.7.4, §5.7.7.5).
const STATIC_OCTETS: u32 = 10 + 4;
/// Static chain: RTP, its SSRC (§5.7.7.6).
const STATIC_RTP_OCTETS: u32 = 4;
/// Dynamic chain: IPv4 with an empty list of extensions, UDP checksum (§5.7.7.4, §5.7.7.5).
const DYNAMIC_OCTETS: u32 = 6 + 2;
/// Dynamic chain: the sequence number of the UDP profile (§5.11.1).
const DYNAMIC_UDP_OCTETS: u32 = 2;
/// Dynamic chain: RTP with an empty list of sources (§5.7.7.6).
const DYNAMIC_RTP_OCTETS: u32 = 9;
/// UO-0: four bits of the sequence number and a checksum of three (§5.7.1).
const UO_0_OCTETS: u32 = 1;
/// The sequence numbers that four bits tell apart, and how many of them lie below the last one (§4.5.1, §5.7: p = 1).
const UO_0_RANGE: i64 = 16;
const UO_0_BELOW: i64 = 1;
/// Headers of RTP without sources (RFC 3550 §5.1).
const RTP_HEADERS: u32 = 12;

/// What a packet tells the decompressor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    kind: Kind,
    cid: u8,
    /// The sequence number, of which UO-0 carries four bits.
    sn: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ir,
    IrDyn,
    Uo0,
}

/// The sending side.
#[derive(Clone, Debug)]
pub(super) struct Compressor {
    settings: RohcSettings,
    contexts: Slots<Who, Sent>,
}

/// A context of the compressor.
#[derive(Clone, Copy, Debug)]
struct Sent {
    sn: u32,
    ecn: Flags,
    /// IR packets still to be sent before the static part is taken for known.
    ir: u32,
    /// Packets with the dynamic part still to be sent before it is taken for known.
    fo: u32,
    /// Packets since the last IR packet, and since the last with the dynamic part.
    since_ir: u32,
    since_fo: u32,
}

impl Compressor {
    pub(super) fn new(settings: &RohcSettings) -> Self {
        // One number is reserved for what is not compressed (TS 25.323 §5.1.3.5).
        Compressor { settings: *settings, contexts: Slots::new(usize::from(settings.max_cid)) }
    }

    /// The form of a packet, and how many octets it saves.
    pub(super) fn compress(&mut self, packet: &Packet) -> (Form, i32) {
        let RohcSettings { profile, mode, repeats, ir_period, fo_period, .. } = self.settings;
        let is_rtp = profile == RohcProfile::Rtp;
        let rtp = if is_rtp { RTP_HEADERS } else { 0 };
        // RFC 3095 has no profile for TCP: with the PID of no compression it costs nothing.
        let payload = u32::from(packet.header.saturating_sub(UDP_HEADERS)) + packet.payload;
        if !fields::is_udp(packet) || payload < rtp {
            return (Form::Whole, 0);
        }
        let ecn = fields::ecn(packet);
        let fresh = Sent { sn: 0, ecn, ir: repeats, fo: 0, since_ir: 0, since_fo: 0 };
        let (cid, known) = self.contexts.find(fields::who(packet), fresh);
        let context = match known {
            Some(context) => {
                context.sn += 1;
                context
            }
            None => self.contexts.get_mut(cid).expect("it is a new one"),
        };
        if context.ecn != ecn {
            context.ecn = ecn;
            context.fo = repeats;
        }
        if mode == RohcMode::Unidirectional {
            // §5.3.1.1.2: timeouts of U-mode.
            if context.since_ir >= ir_period {
                context.ir = context.ir.max(1);
            } else if context.since_fo >= fo_period {
                context.fo = context.fo.max(1);
            }
        }
        let chain = DYNAMIC_OCTETS + if is_rtp { DYNAMIC_RTP_OCTETS } else { DYNAMIC_UDP_OCTETS };
        context.since_ir += 1;
        context.since_fo += 1;
        let (kind, octets) = if context.ir > 0 {
            context.ir -= 1;
            context.fo = context.fo.saturating_sub(1);
            (context.since_ir, context.since_fo) = (0, 0);
            (Kind::Ir, IR_OCTETS + STATIC_OCTETS + if is_rtp { STATIC_RTP_OCTETS } else { 0 } + chain)
        } else if context.fo > 0 {
            context.fo -= 1;
            context.since_fo = 0;
            (Kind::IrDyn, IR_OCTETS + chain)
        } else {
            (Kind::Uo0, UO_0_OCTETS + if self.settings.udp_checksum { 2 } else { 0 })
        };
        let octets = octets + u32::from(cid > 0); // Add-CID, §5.2.1
        let message = Message { kind, cid, sn: context.sn };
        (Form::Rohc(message), i32::from(UDP_HEADERS) + rtp as i32 - octets as i32)
    }

    /// The decompressor answers (O-mode, §5.4.2.1).
    pub(super) fn on_feedback(&mut self, cid: u8, answer: Answer) {
        let repeats = self.settings.repeats;
        let Some(context) = self.contexts.get_mut(cid) else { return };
        match answer {
            Answer::Ack => (context.ir, context.fo) = (0, 0),
            Answer::Nack => context.fo = context.fo.max(repeats),
            Answer::StaticNack => context.ir = context.ir.max(repeats),
        }
    }
}

/// The receiving side.
#[derive(Clone, Debug)]
pub(super) struct Decompressor {
    settings: RohcSettings,
    contexts: Known<Received>,
}

/// A context of the decompressor.
#[derive(Clone, Copy, Debug)]
struct Received {
    who: Who,
    ecn: Flags,
    /// Sequence number of the last packet that was right.
    sn: u32,
    state: State,
    /// Wrong packets in a row.
    failures: u32,
}

/// What the decompressor takes for right (§5.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No Context.
    Nothing,
    /// Static Context.
    Static,
    /// Full Context.
    Full,
}

impl Decompressor {
    pub(super) fn new(settings: &RohcSettings) -> Self {
        Decompressor { settings: *settings, contexts: Known::new() }
    }

    /// differs: a checksum of three bits lets an eighth of wrong headers pass, here it tells all; and nothing is repaired
    /// with the help of a clock (§5.3.2.2.4).
    pub(super) fn decompress(&mut self, packet: &Packet, message: Message) -> Verdict {
        let Message { kind, cid, sn } = message;
        let (who, ecn) = (fields::who(packet), fields::ecn(packet));
        if kind == Kind::Ir {
            let is_news = self.contexts.get_mut(cid).is_none_or(|context| context.state != State::Full);
            self.contexts.put(cid, Received { who, ecn, sn, state: State::Full, failures: 0 });
            return self.right(cid, is_news);
        }
        let Some(context) = self.contexts.get_mut(cid) else { return self.wrong(cid, Answer::StaticNack) };
        let is_right = match (kind, context.state) {
            (_, State::Nothing) => return self.wrong(cid, Answer::StaticNack),
            // §5.3.2.2.3: without a dynamic part only a stronger checksum will do.
            (Kind::Uo0, State::Static) => false,
            (Kind::Uo0, _) => {
                let offset = i64::from(sn) - i64::from(context.sn) + UO_0_BELOW;
                context.who == who && context.ecn == ecn && (0..UO_0_RANGE).contains(&offset)
            }
            _ => context.who == who,
        };
        if is_right {
            let is_news = context.state != State::Full;
            *context = Received { who, ecn, sn, state: State::Full, failures: 0 };
            return self.right(cid, is_news);
        }
        context.failures += 1;
        if context.failures < self.settings.failures {
            return Verdict::WRONG;
        }
        context.failures = 0;
        let answer = match context.state {
            State::Full => {
                context.state = State::Static;
                Answer::Nack
            }
            _ => {
                context.state = State::Nothing;
                Answer::StaticNack
            }
        };
        self.wrong(cid, answer)
    }

    fn right(&self, cid: u8, is_news: bool) -> Verdict {
        let tells = is_news && self.settings.mode == RohcMode::Optimistic;
        Verdict { is_right: true, feedback: tells.then_some(Feedback::Rohc { cid, answer: Answer::Ack }) }
    }

    fn wrong(&self, cid: u8, answer: Answer) -> Verdict {
        let tells = self.settings.mode == RohcMode::Optimistic;
        Verdict { is_right: false, feedback: tells.then_some(Feedback::Rohc { cid, answer }) }
    }
}

#[cfg(test)]
mod tests;
