//! IP header compression (RFC 2507).
//!
//! TCP is sent as differences as in RFC 1144, with two ways to repair a loss: the decompressor tries a difference twice, and
//! it asks for a header. UDP is sent as a context number, whose full header comes at exponentially growing distances after
//! a change, so that its loss does not last.

use cellwind_engine::packet::{Flags, Packet};
use cellwind_engine::time::{Span, Time};

use super::feedback::Feedback;
use super::fields::{self, Delta, Tcp, Who};
use super::settings::Rfc2507Settings;
use super::slots::{Known, Slots};
use super::{Form, Verdict};

/// COMPRESSED_TCP: context number, flags, checksum; differences follow (§6.1).
const TCP_OCTETS: u32 = 1 + 1 + 2;
/// COMPRESSED_TCP_NODELTA: context number, IPv4 identification, and the TCP header without its ports (§6.1).
const NO_DELTA_OCTETS: u32 = 1 + 2 + 16;
/// COMPRESSED_NON_TCP: context number, generation, IPv4 identification, UDP checksum (§5.1, §6.2).
const NON_TCP_OCTETS: u32 = 1 + 1 + 2 + 2;
/// Packets that are discarded before a header is asked for again.
const PATIENCE: u32 = 8;

/// What a packet tells the decompressor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// FULL_HEADER of TCP.
    FullTcp {
        /// Number of the context.
        cid: u8,
    },
    /// COMPRESSED_TCP.
    Tcp {
        /// Number of the context.
        cid: u8,
        /// The differences.
        delta: Delta,
        /// Whether the options come with it (bit O).
        with_options: bool,
    },
    /// COMPRESSED_TCP_NODELTA.
    TcpNoDelta {
        /// Number of the context.
        cid: u8,
    },
    /// FULL_HEADER of UDP.
    FullNonTcp {
        /// Number of the context.
        cid: u8,
        /// Its generation.
        generation: u8,
    },
    /// COMPRESSED_NON_TCP.
    NonTcp {
        /// Number of the context.
        cid: u8,
        /// Its generation.
        generation: u8,
    },
}

/// The sending side.
#[derive(Clone, Debug)]
pub(super) struct Compressor {
    f_max_period: u32,
    f_max_time: Span,
    header_requests: bool,
    tcp: Slots<Who, TcpContext>,
    non_tcp: Slots<Who, NonTcpContext>,
}

#[derive(Clone, Copy, Debug)]
struct TcpContext {
    saved: Tcp,
    /// The decompressor has asked for a header.
    is_asked: bool,
}

#[derive(Clone, Copy, Debug)]
struct NonTcpContext {
    ecn: Flags,
    generation: u8,
    /// F_PERIOD: compressed packets until the next full header after this one.
    period: u32,
    /// Compressed packets since the last full header.
    since: u32,
    /// When the last full header was sent.
    sent: Time,
}

impl Compressor {
    pub(super) fn new(settings: &Rfc2507Settings) -> Self {
        Compressor {
            f_max_period: settings.f_max_period,
            f_max_time: settings.f_max_time,
            header_requests: settings.header_requests,
            tcp: Slots::new(usize::from(settings.tcp_space) + 1),
            non_tcp: Slots::new(usize::from(settings.non_tcp_space) + 1),
        }
    }

    /// The form of a packet, and how many octets it saves.
    pub(super) fn compress(&mut self, now: Time, packet: &Packet) -> (Form, i32) {
        if fields::is_udp(packet) {
            self.compress_udp(now, packet)
        } else if fields::is_tcp(packet) {
            self.compress_tcp(packet)
        } else {
            (Form::Whole, 0)
        }
    }

    fn compress_tcp(&mut self, packet: &Packet) -> (Form, i32) {
        let next = Tcp::of(packet);
        let (cid, context) = self.tcp.find(next.who, TcpContext { saved: next, is_asked: false });
        let full = (Form::Rfc2507(Message::FullTcp { cid }), 0);
        let Some(context) = context else { return full };
        let before = std::mem::replace(&mut context.saved, next);
        if std::mem::take(&mut context.is_asked) {
            return full; // §10.2; the decompressor may have no context at all
        }
        let change = before.change_to(&next).filter(|_| before.flags == next.flags);
        let (message, octets) = match change {
            // A decompressor that cannot ask may have lost the full header.
            None if !self.header_requests => return full,
            // §6.1: all fields as they are, as after a retransmission.
            None => (Message::TcpNoDelta { cid }, NO_DELTA_OCTETS + next.options.octets()),
            Some(change) => {
                let (delta, octets) = change.written(before.payload);
                let with_options = before.options != next.options;
                let options = if with_options { next.options.octets() } else { 0 };
                (Message::Tcp { cid, delta, with_options }, TCP_OCTETS + octets + options)
            }
        };
        (Form::Rfc2507(message), i32::from(packet.header) - octets as i32)
    }

    fn compress_udp(&mut self, now: Time, packet: &Packet) -> (Form, i32) {
        let ecn = fields::ecn(packet);
        let fresh = NonTcpContext { ecn, generation: 0, period: 1, since: 0, sent: now };
        let (cid, context) = self.non_tcp.find(fields::who(packet), fresh);
        let Some(context) = context else {
            return (Form::Rfc2507(Message::FullNonTcp { cid, generation: 0 }), 0);
        };
        if context.ecn != ecn {
            // §3.3.3: another generation, whose full headers begin anew. Six bits count them.
            let generation = (context.generation + 1) % 64;
            *context = NonTcpContext { generation, ..fresh };
            return (Form::Rfc2507(Message::FullNonTcp { cid, generation }), 0);
        }
        let generation = context.generation;
        // §3.3.1: after a full header as many compressed ones as F_PERIOD, which doubles; §3.3.2: never more than
        // F_MAX_PERIOD, nor longer than F_MAX_TIME.
        if context.since >= context.period || now.since(context.sent) > self.f_max_time {
            context.period = (2 * context.period).min(self.f_max_period);
            context.since = 0;
            context.sent = now;
            return (Form::Rfc2507(Message::FullNonTcp { cid, generation }), 0);
        }
        context.since += 1;
        let saved = u32::from(fields::UDP_HEADERS) - NON_TCP_OCTETS;
        (Form::Rfc2507(Message::NonTcp { cid, generation }), saved as i32)
    }

    /// The decompressor asks for a header of this TCP context.
    pub(super) fn on_context_state(&mut self, cid: u8) {
        if let Some(context) = self.tcp.get_mut(cid) {
            context.is_asked = true;
        }
    }
}

/// The receiving side.
#[derive(Clone, Debug)]
pub(super) struct Decompressor {
    twice: bool,
    header_requests: bool,
    tcp: Known<KnownTcp>,
    non_tcp: Known<(Who, Flags, u8)>,
}

#[derive(Clone, Copy, Debug)]
struct KnownTcp {
    saved: Tcp,
    /// Packets discarded in a row.
    discarded: u32,
}

impl Decompressor {
    pub(super) fn new(settings: &Rfc2507Settings) -> Self {
        Decompressor {
            twice: settings.twice,
            header_requests: settings.header_requests,
            tcp: Known::new(),
            non_tcp: Known::new(),
        }
    }

    pub(super) fn decompress(&mut self, packet: &Packet, message: Message) -> Verdict {
        let sent = Tcp::of(packet);
        match message {
            Message::FullTcp { cid } => {
                self.tcp.put(cid, KnownTcp { saved: sent, discarded: 0 });
                Verdict::RIGHT
            }
            Message::TcpNoDelta { cid } => match self.tcp.get_mut(cid) {
                // Addresses and ports are those of the context.
                Some(known) if known.saved.who == sent.who => {
                    *known = KnownTcp { saved: sent, discarded: 0 };
                    Verdict::RIGHT
                }
                _ => self.ask(cid),
            },
            Message::Tcp { cid, delta, with_options } => {
                let twice = self.twice;
                let Some(known) = self.tcp.get_mut(cid) else { return self.ask(cid) };
                let saved = &mut known.saved;
                let change = delta.read(saved.payload);
                if with_options {
                    saved.options = sent.options;
                }
                saved.apply(change, sent.payload);
                if twice && *saved != sent {
                    // §10.1: as if one packet with the same difference had been lost. Where that is wrong too, the checksum
                    // says so, and the header is as if it had not been tried.
                    let mut tried = *saved;
                    tried.apply(change, sent.payload);
                    if tried == sent {
                        *saved = tried;
                    }
                }
                if *saved == sent {
                    known.discarded = 0;
                    return Verdict::RIGHT;
                }
                known.discarded += 1;
                if known.discarded % PATIENCE == 1 { self.ask(cid) } else { Verdict::WRONG }
            }
            Message::FullNonTcp { cid, generation } => {
                self.non_tcp.put(cid, (fields::who(packet), fields::ecn(packet), generation));
                Verdict::RIGHT
            }
            Message::NonTcp { cid, generation } => {
                // §3.3.3: a packet of another generation than the context's is discarded.
                let expected = (fields::who(packet), fields::ecn(packet), generation);
                Verdict::of(self.non_tcp.get_mut(cid).is_some_and(|known| *known == expected))
            }
        }
    }

    /// Discards a packet and asks for a header, if that is wanted (§10.2).
    fn ask(&self, cid: u8) -> Verdict {
        Verdict { is_right: false, feedback: self.header_requests.then_some(Feedback::ContextState { cid }) }
    }
}

#[cfg(test)]
mod tests;
