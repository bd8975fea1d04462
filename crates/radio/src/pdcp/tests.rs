//! The layer as a bearer uses it.

use super::settings::{Rfc1144Settings, Rfc2507Settings, RohcProfile, RohcSettings};
use super::*;
use cellwind_engine::packet::{Flags, FlowId};

/// The `n`-th segment of a download in segments of 1000 bytes.
pub(super) fn segment(n: u64) -> Packet {
    Packet { seq: 1 + 1000 * n, ack: 301, payload: 1000, window: 8760, flags: Flags::ACK, ..Packet::EMPTY }
}

/// The `n`-th acknowledgement of a download.
pub(super) fn acknowledgement(n: u64) -> Packet {
    Packet { seq: 301, ack: 1 + 1000 * n, window: 8760, flags: Flags::ACK, ..Packet::EMPTY }
}

/// A datagram of UDP with 32 bytes: a frame of speech in RTP.
pub(super) fn datagram() -> Packet {
    Packet { header: 28, payload: 32, flags: Flags::UDP, ..Packet::EMPTY }
}

fn with(compression: Compression) -> PdcpSettings {
    PdcpSettings { header: true, compression }
}

/// A compressor and its decompressor.
pub(super) struct Pair {
    pub(super) compressor: Compressor,
    pub(super) decompressor: Decompressor,
    /// Octets of all PDCP PDUs without the PDCP header.
    pub(super) octets: Vec<u32>,
}

impl Pair {
    pub(super) fn new(compression: Compression) -> Self {
        let settings = with(compression);
        let (compressor, decompressor) = (Compressor::new(&settings), Decompressor::new(&settings));
        Pair { compressor, decompressor, octets: Vec::new() }
    }

    /// Sends a packet at an instant in ms, and says what the decompressor makes of it; none where it is lost.
    pub(super) fn send_at(&mut self, ms: u64, packet: &Packet, is_lost: bool) -> Option<Verdict> {
        let Compressed { octets, form } = self.compressor.compress(Time::from_millis(ms), packet);
        self.octets.push(octets - HEADER_OCTETS);
        (!is_lost).then(|| self.decompressor.decompress(packet, form))
    }

    /// The same, where the time does not matter; answers reach the compressor at once.
    pub(super) fn send(&mut self, packet: &Packet, is_lost: bool) -> Option<bool> {
        let verdict = self.send_at(0, packet, is_lost)?;
        if let Some(feedback) = verdict.feedback {
            self.compressor.on_feedback(feedback);
        }
        Some(verdict.is_right)
    }

    /// Octets of headers of the last packet.
    pub(super) fn header(&self, packet: &Packet) -> u32 {
        self.octets[self.octets.len() - 1] - packet.payload
    }
}

#[test]
fn the_header_takes_one_octet_or_none() {
    let octets = |settings: &PdcpSettings| Compressor::new(settings).compress(Time::ZERO, &segment(0)).octets;
    assert_eq!(octets(&PdcpSettings::default()), 1040);
    assert_eq!(octets(&with(Compression::None)), 1041);
}

#[test]
fn packets_from_outside_pass_unchanged() {
    for compression in [
        Compression::Rfc1144(Rfc1144Settings::default()),
        Compression::Rfc2507(Rfc2507Settings::default()),
        Compression::Rohc(RohcSettings::default()),
    ] {
        let mut compressor = Compressor::new(&with(compression));
        for n in 0..10 {
            let packet = Packet { body: Body(n), ..segment(u64::from(n)) };
            assert_eq!(compressor.compress(Time::ZERO, &packet), Compressed { octets: 1041, form: Form::Whole });
        }
    }
}

#[test]
fn a_form_of_another_method_is_discarded() {
    let mut pair = Pair::new(Compression::Rfc1144(Rfc1144Settings::default()));
    assert_eq!(pair.send(&segment(0), false), Some(true));
    let Compressed { form, .. } = pair.compressor.compress(Time::ZERO, &segment(1));
    pair.decompressor.set_settings(&with(Compression::None));
    assert!(!pair.decompressor.decompress(&segment(1), form).is_right);
    assert!(pair.decompressor.decompress(&segment(1), Form::Whole).is_right);
}

#[test]
fn equal_settings_keep_their_contexts_and_others_begin_anew() {
    let mut pair = Pair::new(Compression::Rfc1144(Rfc1144Settings::default()));
    pair.send(&segment(0), false);
    pair.compressor.set_settings(&with(Compression::Rfc1144(Rfc1144Settings::default())));
    pair.send(&segment(1), false);
    assert_eq!(pair.header(&segment(1)), 3);
    pair.compressor.re_initialise();
    pair.send(&segment(2), false);
    assert_eq!(pair.header(&segment(2)), 40);
}

/// Without loss every packet of every kind comes out right, whatever the order of flows, and never larger.
#[test]
fn nothing_is_discarded_where_nothing_is_lost() {
    for compression in [
        Compression::Rfc1144(Rfc1144Settings { slots: 2 }),
        Compression::Rfc2507(Rfc2507Settings { tcp_space: 1, non_tcp_space: 0, ..Rfc2507Settings::default() }),
        Compression::Rohc(RohcSettings { max_cid: 1, ..RohcSettings::default() }),
        Compression::Rohc(RohcSettings { profile: RohcProfile::Rtp, ..RohcSettings::default() }),
    ] {
        let mut pair = Pair::new(compression);
        let mut stream = cellwind_engine::random::Stream::new(1, 0, "packets");
        let mut sent = [0u64; 8];
        for _ in 0..20_000 {
            let flow = stream.below(4) as usize;
            let step = stream.below(10);
            // Mostly forward, sometimes a retransmission or a repetition.
            sent[flow] = if step == 0 { sent[flow].saturating_sub(3) } else { sent[flow] + step.min(2) - 1 };
            let mut packet = match flow {
                0 => segment(sent[flow]),
                1 => acknowledgement(sent[flow]),
                2 => Packet { window: 4380 + (sent[flow] as u32 % 7) * 1460, ..segment(sent[flow]) },
                _ => datagram(),
            };
            packet.flow = FlowId(flow as u16);
            if stream.below(100) == 0 {
                packet.flags = packet.flags.with(Flags::CE);
            }
            let whole = packet.size().as_bytes() as u32;
            assert_eq!(pair.send(&packet, false), Some(true), "{packet:?}");
            assert!(*pair.octets.last().unwrap() <= whole + 11, "{packet:?}"); // an IR packet of RTP with its number
        }
    }
}
