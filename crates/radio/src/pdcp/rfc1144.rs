//! Compression of TCP/IP headers after Van Jacobson (RFC 1144).
//!
//! Headers are sent as differences from the packet before. When a packet is lost, the decompressor adds later
//! differences to the wrong header; the TCP checksum of everything that follows is wrong until the compressor sends a whole
//! header, which it does when it sees TCP retransmit: one loss costs a window (§4.1, §4.2).

use cellwind_engine::packet::Packet;

use super::fields::{self, Delta, Tcp, Who};
use super::settings::Rfc1144Settings;
use super::slots::{Known, Slots};
use super::{Form, Verdict};

/// What a packet tells the decompressor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// UNCOMPRESSED_TCP: the whole header, for a slot.
    Uncompressed {
        /// The slot.
        slot: u8,
    },
    /// COMPRESSED_TCP: the differences.
    Compressed {
        /// The slot, where it is told (bit C); else that of the last packet.
        slot: Option<u8>,
        /// The differences.
        delta: Delta,
    },
}

/// The sending side.
#[derive(Clone, Debug)]
pub(super) struct Compressor {
    slots: Slots<Who, Tcp>,
    /// The slot of the last packet.
    last: Option<u8>,
}

impl Compressor {
    pub(super) fn new(settings: &Rfc1144Settings) -> Self {
        Compressor { slots: Slots::new(usize::from(settings.slots)), last: None }
    }

    /// The form of a packet, and how many octets it saves.
    pub(super) fn compress(&mut self, packet: &Packet) -> (Form, i32) {
        // §3.2.3: other packets, SYN and FIN are of TYPE_IP and change nothing.
        if !fields::is_tcp(packet) {
            return (Form::Whole, 0);
        }
        let next = Tcp::of(packet);
        let (slot, saved) = self.slots.find(next.who, next);
        let last = self.last.replace(slot);
        let change = saved.and_then(|saved| {
            let before = std::mem::replace(saved, next);
            // §3.2.3: options, and fields that should not change. differs: so do the ECN bits of TCP's flags, which RFC 1144
            // does not know and would lose.
            let is_same = before.options == next.options && before.flags == next.flags;
            is_same.then(|| before.change_to(&next))?.map(|change| change.written(before.payload))
        });
        match change {
            None => (Form::Rfc1144(Message::Uncompressed { slot }), 0),
            Some((delta, octets)) => {
                let slot = (last != Some(slot)).then_some(slot);
                // §3.2.2: the change mask, the connection number, the checksum, the changes. The packet ID grows by one.
                let header = 1 + u32::from(slot.is_some()) + 2 + octets;
                (Form::Rfc1144(Message::Compressed { slot, delta }), i32::from(packet.header) - header as i32)
            }
        }
    }
}

/// The receiving side.
#[derive(Clone, Debug)]
pub(super) struct Decompressor {
    slots: Known<Tcp>,
    last: Option<u8>,
}

impl Decompressor {
    pub(super) fn new(_: &Rfc1144Settings) -> Self {
        Decompressor { slots: Known::new(), last: None }
    }

    /// differs: no packet is tossed after an error on the link, since RLC does not tell of what it lost (§3.2.4).
    pub(super) fn decompress(&mut self, packet: &Packet, message: Message) -> Verdict {
        let sent = Tcp::of(packet);
        match message {
            Message::Uncompressed { slot } => {
                self.last = Some(slot);
                self.slots.put(slot, sent);
                Verdict::RIGHT
            }
            Message::Compressed { slot, delta } => {
                self.last = slot.or(self.last);
                let Some(saved) = self.last.and_then(|slot| self.slots.get_mut(slot)) else { return Verdict::WRONG };
                saved.apply(delta.read(saved.payload), sent.payload);
                // The TCP checksum tells every wrong header (§4.1).
                Verdict::of(*saved == sent)
            }
        }
    }
}

#[cfg(test)]
mod tests;
