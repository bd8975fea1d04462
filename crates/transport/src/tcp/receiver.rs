//! The receiving end of a TCP connection (RFC 9293), as a machine.
//!
//! It answers the handshake, puts data in order, and acknowledges: at once or delayed (RFC 5681 §4.2), with
//! SACK (RFC 2018) and D-SACK (RFC 2883) blocks and echoed timestamps (RFC 7323). Its own direction carries
//! no data and is not closed; a lost SYN-ACK is repaired by the sender's next SYN.

use cellwind_engine::fact::{Fact, FactKind};
use cellwind_engine::machine::{Outbox, Port};
use cellwind_engine::packet::{Body, Deadline, Flags, FlowId, Packet, SackBlocks};
use cellwind_engine::time::{Span, Time};

use super::core::ticks;
use super::options;
use super::settings::{DelayedAck, TcpSettings};
use runs::Runs;

/// The receiving end of a connection. ACKs leave through port 0.
#[derive(Clone, Debug)]
pub struct Receiver {
    flow: FlowId,
    header: u64,
    syn_header: u64,
    window: u32,
    most_window: u32,
    sack: bool,
    d_sack: bool,
    ecn: EcnEcho,
    most_blocks: usize,
    echo_duplicates: bool,
    delayed_ack: DelayedAck,
    timestamp_clock: Option<Span>,

    /// RCV.NXT; zero until the SYN arrives.
    rcv_nxt: u64,
    /// Data above a gap.
    runs: Runs,
    /// Data segments that no ACK answers yet.
    unanswered: u32,
    /// ACKs that still leave at once, at the start of the connection.
    quick: u32,
    /// When the delayed ACK is due.
    timer: Option<Time>,
    /// TS.Recent (RFC 7323 §4.3).
    ts_recent: u32,
    /// The number of the first of the `unanswered`, or of those that the last ACK answered: the observer's mark.
    answers: u32,
    last_ack_sent: u64,
    fin: Option<u64>,
    /// Segments with data that were not taken.
    refused: u64,
}

impl Receiver {
    /// A receiver that waits for the SYN of `flow`.
    pub fn new(settings: &TcpSettings, flow: FlowId) -> Self {
        let payload = options::payload(settings);
        Receiver {
            flow,
            header: settings.header.as_bytes() + options::on_segment(settings),
            syn_header: settings.header.as_bytes() + options::on_syn(settings),
            most_window: advertised(settings.receive_window.bytes(payload), settings.window_scaling),
            window: advertised(settings.receive_window.bytes(payload), settings.window_scaling),
            sack: settings.sack,
            d_sack: settings.d_sack,
            ecn: EcnEcho { wanted: settings.ecn, ..EcnEcho::default() },
            most_blocks: options::most_sack_blocks(settings).min(settings.sack_blocks as usize),
            echo_duplicates: settings.echo_duplicates,
            refused: 0,
            delayed_ack: settings.delayed_ack,
            quick: settings.delayed_ack.quick,
            timestamp_clock: settings.timestamps.then_some(settings.timestamp_clock),
            rcv_nxt: 0,
            runs: Runs::default(),
            unanswered: 0,
            timer: None,
            ts_recent: 0,
            answers: 0,
            last_ack_sent: 0,
            fin: None,
        }
    }

    /// A segment arrives from the sender.
    pub fn on_segment(&mut self, now: Time, packet: &Packet, out: &mut Outbox) {
        if packet.flags.has(Flags::SYN) {
            self.on_syn(packet, now, out);
            return;
        }
        if self.rcv_nxt == 0 || !packet.occupies_sequence_space() {
            return; // no connection yet, or a pure ACK
        }
        self.ecn.take(packet.flags);
        self.note_timestamp(packet);
        let before = self.rcv_nxt;
        let (start, end) = (packet.seq, packet.end());
        let duplicate = self.duplicate(start, end);
        let had_gap = !self.runs.is_empty();
        let acceptable = end > before && end - before <= u64::from(self.window);
        let acceptable = acceptable && self.fin.is_none_or(|fin| end <= fin); // nothing follows a FIN
        if acceptable {
            if packet.flags.has(Flags::FIN) {
                self.fin = Some(end);
            }
            if start > before {
                self.runs.insert(start, end);
            } else {
                self.rcv_nxt = if had_gap { self.runs.absorb(end) } else { end };
            }
        }
        self.refused += u64::from(!acceptable && end > before);
        let nothing_new = duplicate == Some((start, end));
        let received = Fact::new(FactKind::SegmentReceived, self.flow).about(start, packet.payload);
        out.fact(received.values(self.rcv_nxt, u64::from(nothing_new)));

        if self.unanswered == 0 {
            self.answers = packet.number;
        }
        self.unanswered += 1;
        // RFC 5681 §4.2: at once when out of order or when it fills a gap; at the latest every n-th segment.
        let in_order = self.rcv_nxt > before && !had_gap;
        let enough = self.quick > 0 || self.unanswered >= self.delayed_ack.every;
        if !in_order || enough || self.is_closed() {
            self.acknowledge(duplicate, now, out);
        } else if self.timer.is_none() {
            self.timer = Some(now + self.delayed_ack.timer);
        }
    }

    /// The peer's SYN arrives at an end that answers it by itself.
    pub(crate) fn on_handshake(&mut self, packet: &Packet) {
        self.ecn.negotiate(packet.flags);
        self.note_timestamp(packet);
        self.rcv_nxt = self.rcv_nxt.max(1);
        self.last_ack_sent = self.rcv_nxt;
    }

    /// A segment without data arrives; its timestamp may be the one to echo.
    pub(crate) fn on_bare_segment(&mut self, packet: &Packet) {
        if self.rcv_nxt > 0 {
            self.note_timestamp(packet);
        }
    }

    /// Acknowledges again what it has.
    pub(crate) fn acknowledge_again(&mut self, now: Time, out: &mut Outbox) {
        self.acknowledge(None, now, out);
    }

    /// Lets the acknowledgement ride on a segment of the other direction; no ACK of its own is owed any more.
    ///
    /// differs: such a segment carries no SACK blocks (RFC 2018 §4 wants them on every ACK). They have left on the ACKs
    /// that out-of-order data gets at once.
    pub(crate) fn ride_on(&mut self, segment: &mut Packet) {
        self.timer = None;
        if self.unanswered > 0 {
            self.unanswered = 0;
            self.quick = self.quick.saturating_sub(1);
        }
        segment.ack = self.rcv_nxt;
        segment.answers = self.answers;
        segment.window = self.window;
        if self.ecn.echoes {
            segment.flags = segment.flags.with(Flags::ECE);
        }
        segment.timestamps.1 = if self.timestamp_clock.is_some() { self.ts_recent } else { 0 };
        self.last_ack_sent = self.rcv_nxt;
    }

    /// The delayed ACK is due.
    pub fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        if self.timer.is_some_and(|due| due <= now) {
            self.acknowledge(None, now, out);
        }
    }

    /// When the delayed ACK is due.
    pub fn next_timeout(&self) -> Option<Time> {
        self.timer
    }

    /// RCV.NXT: the next sequence number expected.
    pub fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// Bytes of data delivered in order.
    pub fn delivered(&self) -> u64 {
        self.rcv_nxt.saturating_sub(1 + u64::from(self.is_closed()))
    }

    /// True when the FIN and everything before it has arrived.
    pub fn is_closed(&self) -> bool {
        self.fin == Some(self.rcv_nxt)
    }

    /// Segments with data that were outside of the window or behind the FIN.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Closes or opens the window, up to what the buffer allows, and tells the sender.
    pub fn set_window(&mut self, window: u32, now: Time, out: &mut Outbox) {
        self.window = window.min(self.most_window);
        if self.rcv_nxt > 0 {
            self.acknowledge(None, now, out);
        }
    }

    /// Repeats the last acknowledgement so often, so that a sender that waits for a timeout starts a fast retransmit: what
    /// a terminal may do when a handover ends (Teyeb 2007, 7.1.1). Not once the FIN has come.
    pub fn ask_for_retransmission(&mut self, times: u32, now: Time, out: &mut Outbox) {
        if self.rcv_nxt > 0 && !self.is_closed() {
            (0..times).for_each(|_| self.acknowledge(None, now, out));
        }
    }

    /// The advertised window in bytes.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// Checks that the runs above the gap are apart and in order.
    pub fn check(&self) -> Result<(), String> {
        self.runs.check(self.rcv_nxt)
    }

    #[inline(never)]
    fn on_syn(&mut self, packet: &Packet, now: Time, out: &mut Outbox) {
        self.ecn.negotiate(packet.flags);
        self.note_timestamp(packet);
        self.rcv_nxt = self.rcv_nxt.max(1);
        let flags = Flags::SYN.with(Flags::ACK);
        let flags = if self.sack { flags.with(Flags::SACK_PERMITTED) } else { flags };
        let flags = if self.ecn.is_on { flags.with(Flags::ECE) } else { flags }; // RFC 3168 §6.1.1
        let syn_ack = Packet { seq: 0, ..self.bare_segment(self.syn_header, flags, now) };
        self.last_ack_sent = self.rcv_nxt;
        out.send(Port(0), syn_ack);
    }

    /// RFC 7323 §4.3: the timestamp to echo is that of the segment at the left edge of what is unacknowledged, or of
    /// one sent again below it, whose ACK may have been lost. It never goes back.
    fn note_timestamp(&mut self, packet: &Packet) {
        if packet.seq > self.last_ack_sent {
            return;
        }
        let is_first = self.rcv_nxt == 0;
        if !self.echo_duplicates && packet.end() <= self.last_ack_sent && !is_first {
            return; // RFC 1323 §3.4 (2): only a segment that holds Last.ACK.sent
        }
        let is_newer = packet.timestamps.0.wrapping_sub(self.ts_recent) < 1 << 31;
        if packet.flags.has(Flags::TIMESTAMPS) && (is_first || is_newer) {
            self.ts_recent = packet.timestamps.0;
        }
    }

    /// The part of `[start, end)` that was here before (RFC 2883 §4), if any.
    fn duplicate(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        if start < self.rcv_nxt {
            return Some((start, end.min(self.rcv_nxt)));
        }
        if self.runs.is_empty() { None } else { self.runs.overlap(start, end) }
    }

    #[inline]
    fn acknowledge(&mut self, duplicate: Option<(u64, u64)>, now: Time, out: &mut Outbox) {
        self.timer = None;
        self.unanswered = 0;
        self.quick = self.quick.saturating_sub(1);
        let flags = if self.ecn.echoes { Flags::ACK.with(Flags::ECE) } else { Flags::ACK };
        let mut ack = self.bare_segment(self.header, flags, now);
        if self.sack {
            self.add_blocks(&mut ack, duplicate);
        }
        if out.is_listening() {
            let sent = Fact::new(FactKind::AckSent, self.flow).about(ack.ack, 0);
            out.fact(sent.values(u64::from(ack.window), ack.sack.len() as u64));
        }
        self.last_ack_sent = self.rcv_nxt;
        out.send(Port(0), ack);
    }

    /// RFC 2018 §4: the run that changed last comes first; a D-SACK block goes before it (RFC 2883 §4).
    #[inline(never)]
    fn add_blocks(&self, ack: &mut Packet, duplicate: Option<(u64, u64)>) {
        if self.d_sack
            && let Some((start, end)) = duplicate
        {
            ack.sack.push(ack.ack, start, end);
            ack.flags = ack.flags.with(Flags::D_SACK);
        }
        for (start, end) in self.runs.latest().take(self.most_blocks.saturating_sub(ack.sack.len())) {
            ack.sack.push(ack.ack, start, end);
        }
        ack.header += options::sack(ack.sack.len()) as u16;
    }

    #[inline(always)] // built in registers, not copied from the stack
    fn bare_segment(&self, header: u64, flags: Flags, now: Time) -> Packet {
        let stamped = self.timestamp_clock.is_some();
        Packet {
            seq: 1,
            ack: self.rcv_nxt,
            number: 0,
            answers: self.answers,
            window: self.window,
            payload: 0,
            timestamps: self.timestamp_clock.map_or((0, 0), |clock| (ticks(now, clock), self.ts_recent)),
            sack: SackBlocks::NONE,
            body: Body::NONE,
            deadline: Deadline::NONE,
            flow: self.flow,
            header: header as u16,
            flags: if stamped { flags.with(Flags::TIMESTAMPS) } else { flags },
            connection: 0,
        }
    }
}

/// The receiver's part of ECN (RFC 3168 §6.1.3).
#[derive(Clone, Copy, Debug, Default)]
struct EcnEcho {
    /// The settings ask for it.
    wanted: bool,
    /// Both ends have agreed on it.
    is_on: bool,
    /// ACKs echo a mark, until the sender tells that it has reduced its window.
    echoes: bool,
}

impl EcnEcho {
    /// §6.1.1: a SYN asks with ECE and CWR, a SYN-ACK agrees with ECE alone.
    fn negotiate(&mut self, flags: Flags) {
        let agrees = flags.has(Flags::ECE) && flags.has(Flags::CWR) != flags.has(Flags::ACK);
        *self = EcnEcho { wanted: self.wanted, is_on: self.wanted && agrees, echoes: false };
    }

    /// A segment with data or a FIN has come.
    #[inline]
    fn take(&mut self, flags: Flags) {
        if self.is_on {
            let told = flags.has(Flags::CWR);
            self.echoes = flags.has(Flags::CE) || (self.echoes && !told);
        }
    }
}

/// The window that the header can say: 16 bits, shifted by the smallest scale that fits (RFC 7323 §2).
fn advertised(buffer: u64, scaling: bool) -> u32 {
    let field = 65535;
    if !scaling {
        return buffer.min(field) as u32;
    }
    let buffer = buffer.min(field << MOST_SCALE);
    let scale = scale_for(buffer);
    (buffer >> scale << scale) as u32
}

/// The shift that a window of `buffer` bytes needs (RFC 7323 §2.3 bounds it at 14).
pub fn scale_for(buffer: u64) -> u32 {
    (0..MOST_SCALE).find(|&scale| buffer >> scale <= 65535).unwrap_or(MOST_SCALE)
}

const MOST_SCALE: u32 = 14;

mod runs;
#[cfg(test)]
mod tests;
