//! The two ends of a TCP connection, driven by hand: for conformance scripts and teaching.

use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::{Flags, FlowId, Packet, SackBlocks};
use cellwind_engine::time::{Span, Time};
use cellwind_scenario::tcp_settings;
use cellwind_transport::tcp::receiver::Receiver as CoreReceiver;
use cellwind_transport::tcp::sender::{Sender as CoreSender, State};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::scenario_error;

/// A segment as it leaves an end. Sequence numbers count from the sender's SYN, which is 0.
#[pyclass(frozen, get_all, eq, module = "cellwind._core")]
#[derive(Clone, PartialEq)]
pub struct Segment {
    /// When it left, in seconds.
    t: f64,
    /// First sequence number.
    seq: u64,
    /// Payload bytes.
    length: u32,
    /// Acknowledgement number; None without the ACK flag.
    ack: Option<u64>,
    /// Receive window in bytes.
    window: u32,
    /// SYN flag.
    syn: bool,
    /// FIN flag.
    fin: bool,
    /// SACK blocks, the first one first; a D-SACK block is not among them.
    sack: Vec<(u64, u64)>,
    /// The D-SACK block (RFC 2883).
    dsack: Option<(u64, u64)>,
    /// Timestamp value; None without the option.
    tsval: Option<u32>,
    /// Timestamp echo reply; None without the option.
    tsecr: Option<u32>,
}

#[pymethods]
impl Segment {
    fn __repr__(&self) -> String {
        let mut text = format!("Segment(t={}, seq={}, length={}", self.t, self.seq, self.length);
        if let Some(ack) = self.ack {
            text += &format!(", ack={ack}");
        }
        for (name, set) in [("syn", self.syn), ("fin", self.fin)] {
            if set {
                text += &format!(", {name}=True");
            }
        }
        if !self.sack.is_empty() {
            text += &format!(", sack={:?}", self.sack);
        }
        if let Some(dsack) = self.dsack {
            text += &format!(", dsack={dsack:?}");
        }
        text + ")"
    }
}

impl Segment {
    fn new(now: Time, packet: &Packet) -> Self {
        let mut sack: Vec<_> = packet.sack.iter(packet.ack).collect();
        let dsack = (packet.flags.has(Flags::D_SACK) && !sack.is_empty()).then(|| sack.remove(0));
        let stamps = packet.flags.has(Flags::TIMESTAMPS).then_some(packet.timestamps);
        Segment {
            t: now.as_secs_f64(),
            seq: packet.seq,
            length: packet.payload,
            ack: packet.flags.has(Flags::ACK).then_some(packet.ack),
            window: packet.window,
            syn: packet.flags.has(Flags::SYN),
            fin: packet.flags.has(Flags::FIN),
            sack,
            dsack,
            tsval: stamps.map(|(value, _)| value),
            tsecr: stamps.map(|(_, echo)| echo),
        }
    }
}

/// The instant ``t`` seconds after the start, not before ``last``.
fn instant(t: f64, last: Time) -> PyResult<Time> {
    let ns = (t * 1e9).round();
    if !(0.0..=9e18).contains(&ns) {
        return Err(PyValueError::new_err(format!("t is in seconds from 0 to 9e9, not {t}")));
    }
    let now = Time::from_nanos(ns as u64);
    if now < last {
        return Err(PyValueError::new_err(format!("t = {t} lies before the last call's {}", last.as_secs_f64())));
    }
    Ok(now)
}

fn sent(now: Time, out: &mut Outbox) -> Vec<Segment> {
    out.take_packets().map(|(_, packet)| Segment::new(now, &packet)).collect()
}

fn blocks(ack: u64, sack: Vec<(u64, u64)>, dsack: Option<(u64, u64)>) -> PyResult<SackBlocks> {
    let mut blocks = SackBlocks::NONE;
    for (start, end) in dsack.into_iter().chain(sack) {
        if start >= end {
            return Err(PyValueError::new_err(format!("a SACK block ends after it starts, not ({start}, {end})")));
        }
        if !blocks.push(ack, start, end) {
            return Err(PyValueError::new_err(format!("a header holds at most {} SACK blocks", SackBlocks::MOST)));
        }
    }
    Ok(blocks)
}

/// The flags of a segment put together from keyword arguments.
fn flags(base: Flags, syn: bool, fin: bool, timestamps: bool, dsack: bool) -> Flags {
    let named = [(syn, Flags::SYN), (fin, Flags::FIN), (timestamps, Flags::TIMESTAMPS), (dsack, Flags::D_SACK)];
    named.into_iter().filter(|(set, _)| *set).fold(base, |flags, (_, flag)| flags.with(flag))
}

/// The sending end of a TCP connection.
#[pyclass(subclass, module = "cellwind._core")]
pub struct Sender {
    sender: CoreSender,
    now: Time,
    window: u32,
}

#[pymethods]
impl Sender {
    /// A closed connection with the transport that ``settings``, a TOML value, describes.
    #[new]
    #[pyo3(signature = (settings = "\"reno\""))]
    fn new(settings: &str) -> PyResult<Self> {
        let settings = tcp_settings(settings).map_err(scenario_error)?;
        Ok(Sender { sender: CoreSender::new(&settings, FlowId(0)), now: Time::ZERO, window: 65535 })
    }

    /// Opens the connection at ``t`` seconds: the SYN leaves.
    #[pyo3(signature = (t = 0.0))]
    fn open(&mut self, t: f64) -> PyResult<Vec<Segment>> {
        self.at(t, |sender, now, out| sender.open(now, out))
    }

    /// Takes ``n`` more bytes from the application, at ``t`` or at the time of the last call.
    #[pyo3(signature = (n, t = None))]
    fn write(&mut self, n: u64, t: Option<f64>) -> PyResult<Vec<Segment>> {
        if self.sender.is_closed() {
            return Err(PyValueError::new_err("nothing can be written after close"));
        }
        self.at(t.unwrap_or(self.now.as_secs_f64()), |sender, now, out| sender.write(now, n, out))
    }

    /// The application has written everything: a FIN follows the last byte.
    #[pyo3(signature = (t = None))]
    fn close(&mut self, t: Option<f64>) -> PyResult<Vec<Segment>> {
        self.at(t.unwrap_or(self.now.as_secs_f64()), |sender, now, out| sender.close(now, out))
    }

    /// A segment from the receiver arrives; the window is that of the last one unless given.
    #[pyo3(signature = (t, ack, window = None, sack = Vec::new(), dsack = None, tsval = None, tsecr = None, syn = false, fin = false))]
    #[allow(clippy::too_many_arguments)] // the fields of a segment, by keyword
    fn on_segment(
        &mut self,
        t: f64,
        ack: u64,
        window: Option<u32>,
        sack: Vec<(u64, u64)>,
        dsack: Option<(u64, u64)>,
        tsval: Option<u32>,
        tsecr: Option<u32>,
        syn: bool,
        fin: bool,
    ) -> PyResult<Vec<Segment>> {
        self.window = window.unwrap_or(self.window);
        let packet = Packet {
            seq: u64::from(!syn),
            ack,
            answers: i32::MAX as u32, // the observer cannot tell which transmission a hand-made ACK answers
            window: self.window,
            timestamps: (tsval.unwrap_or(0), tsecr.unwrap_or(0)),
            sack: blocks(ack, sack, dsack)?,
            flags: flags(Flags::ACK, syn, fin, tsval.is_some() || tsecr.is_some(), dsack.is_some()),
            ..Packet::EMPTY
        };
        self.at(t, |sender, now, out| sender.on_segment(now, &packet, out))
    }

    /// Lets the retransmission timer expire if it is due at ``t``.
    fn on_timeout(&mut self, t: f64) -> PyResult<Vec<Segment>> {
        self.at(t, |sender, now, out| sender.on_timeout(now, out))
    }

    /// When the retransmission timer expires, in seconds; None when it does not run.
    fn next_timeout(&self) -> Option<f64> {
        self.sender.next_timeout().map(Time::as_secs_f64)
    }

    /// Congestion window in bytes.
    #[getter]
    fn cwnd(&self) -> u64 {
        self.sender.cwnd()
    }

    /// Slow start threshold in bytes; None while it is as high as can be.
    #[getter]
    fn ssthresh(&self) -> Option<u64> {
        self.sender.ssthresh()
    }

    /// Oldest unacknowledged sequence number.
    #[getter]
    fn snd_una(&self) -> u64 {
        self.sender.snd_una()
    }

    /// Next sequence number to send.
    #[getter]
    fn snd_nxt(&self) -> u64 {
        self.sender.snd_nxt()
    }

    /// Smoothed round-trip time in seconds; None before the first sample.
    #[getter]
    fn srtt(&self) -> Option<f64> {
        self.sender.srtt().map(Span::as_secs_f64)
    }

    /// Round-trip time variation in seconds.
    #[getter]
    fn rttvar(&self) -> f64 {
        self.sender.rttvar().as_secs_f64()
    }

    /// Retransmission timeout in seconds, with back-off.
    #[getter]
    fn rto(&self) -> f64 {
        self.sender.rto().as_secs_f64()
    }

    /// One of closed, syn-sent, syn-received, established, recovery, finished, given-up.
    #[getter]
    fn state(&self) -> &'static str {
        match self.sender.state() {
            State::Closed => "closed",
            State::SynSent { .. } => "syn-sent",
            State::SynReceived { .. } => "syn-received",
            State::Established if self.sender.is_recovering() => "recovery",
            State::Established => "established",
            State::Finished => "finished",
            State::GivenUp => "given-up",
        }
    }
}

impl Sender {
    fn at(&mut self, t: f64, call: impl FnOnce(&mut CoreSender, Time, &mut Outbox)) -> PyResult<Vec<Segment>> {
        self.now = instant(t, self.now)?;
        let mut out = Outbox::new(false);
        call(&mut self.sender, self.now, &mut out);
        Ok(sent(self.now, &mut out))
    }
}

/// The receiving end of a TCP connection.
#[pyclass(subclass, module = "cellwind._core")]
pub struct Receiver {
    receiver: CoreReceiver,
    now: Time,
}

#[pymethods]
impl Receiver {
    /// A receiver that waits for a SYN, with the transport that ``settings``, a TOML value, describes.
    #[new]
    #[pyo3(signature = (settings = "\"reno\""))]
    fn new(settings: &str) -> PyResult<Self> {
        let settings = tcp_settings(settings).map_err(scenario_error)?;
        Ok(Receiver { receiver: CoreReceiver::new(&settings, FlowId(0)), now: Time::ZERO })
    }

    /// A segment from the sender arrives.
    #[pyo3(signature = (t, seq, length = 0, tsval = None, tsecr = None, syn = false, fin = false))]
    #[allow(clippy::too_many_arguments)] // the fields of a segment, by keyword
    fn on_segment(
        &mut self,
        t: f64,
        seq: u64,
        length: u32,
        tsval: Option<u32>,
        tsecr: Option<u32>,
        syn: bool,
        fin: bool,
    ) -> PyResult<Vec<Segment>> {
        self.now = instant(t, self.now)?;
        let packet = Packet {
            seq,
            ack: u64::from(!syn),
            payload: length,
            timestamps: (tsval.unwrap_or(0), tsecr.unwrap_or(0)),
            flags: flags(if syn { Flags::NONE } else { Flags::ACK }, syn, fin, tsval.is_some(), false),
            ..Packet::EMPTY
        };
        let mut out = Outbox::new(false);
        self.receiver.on_segment(self.now, &packet, &mut out);
        Ok(sent(self.now, &mut out))
    }

    /// Sends the delayed ACK if it is due at ``t``.
    fn on_timeout(&mut self, t: f64) -> PyResult<Vec<Segment>> {
        self.now = instant(t, self.now)?;
        let mut out = Outbox::new(false);
        self.receiver.on_timeout(self.now, &mut out);
        Ok(sent(self.now, &mut out))
    }

    /// When the delayed ACK is due, in seconds; None when none waits.
    fn next_timeout(&self) -> Option<f64> {
        self.receiver.next_timeout().map(Time::as_secs_f64)
    }

    /// Next sequence number expected; 0 before the SYN.
    #[getter]
    fn rcv_nxt(&self) -> u64 {
        self.receiver.rcv_nxt()
    }

    /// Bytes of data delivered in order.
    #[getter]
    fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    /// The window it advertises, in bytes.
    #[getter]
    fn window(&self) -> u32 {
        self.receiver.window()
    }

    /// One of listening, established, closed.
    #[getter]
    fn state(&self) -> &'static str {
        match self.receiver.rcv_nxt() {
            0 => "listening",
            _ if self.receiver.is_closed() => "closed",
            _ => "established",
        }
    }
}
