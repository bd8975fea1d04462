//! The reliable core of a TCP sender: sequence numbers, scoreboard, windows, transmission and timer.
//!
//! What every recovery shares. Sequence variables carry the names of RFC 9293 §3.3.1; the SYN is number 0
//! and the first byte of data number 1.

use cellwind_engine::fact::{Fact, FactKind};
use cellwind_engine::machine::{Outbox, Port};
use cellwind_engine::packet::{Body, Deadline, Flags, FlowId, Packet, SackBlocks};
use cellwind_engine::time::{Span, Time};

use super::board::{Board, Segment};
use super::congestion::{Arrival, Cause, Congestion, NewAck, Windows};
use super::counters::Counters;
use super::delivery_rate::DeliveryRate;
use super::ecn::Ecn;
use super::options;
use super::pacing::Pacer;
use super::persist::Persist;
use super::rto::Rto;
use super::settings::{
    AimdSettings, CongestionSettings, EarlyRetransmit, Halving, InitialWindow, Lifetime, Pacing, RecoverySettings,
    RttTiming, SpuriousSettings, TcpSettings,
};
use super::spurious::{Reaction, Retransmissions};

mod early_retransmit;
mod pace;

/// State shared by sender and recovery.
#[derive(Clone, Debug)]
pub(crate) struct Core {
    pub flow: FlowId,
    /// Payload of a full segment (SMSS, RFC 5681 §2).
    pub mss: u64,
    header: u16,
    timestamps: Option<Span>,
    ts_recent: u32,
    /// The acknowledgement number on what is sent: the peer's SYN, unless the peer sends data too.
    pub rcv_nxt: u64,
    pub dup_thresh: u32,
    limited_transmit: bool,
    early_retransmit: EarlyRetransmit,
    /// The receiver sends SACK blocks.
    has_sack: bool,
    restart_on_fast_retransmit: bool,
    timing: RttTiming,
    initial_window: InitialWindow,
    lifetime: Lifetime,

    pub snd_una: u64,
    pub snd_nxt: u64,
    /// The highest sequence number sent, plus one; SND.NXT falls behind it after a timeout.
    pub snd_max: u64,
    /// SND.WND in bytes.
    pub snd_wnd: u64,
    /// Sequence number after the last byte that the application wrote.
    pub written: u64,
    /// The application has nothing more to write.
    pub closed: bool,

    pub board: Board,
    /// What [`Packet::number`] the next packet gets.
    pub next_number: u32,
    /// Bytes that cumulative or selective acknowledgements have reported so far.
    pub delivered: u64,
    pub windows: Windows,
    /// The window that the present fast recovery leads to.
    pub reduced: u64,
    pub congestion: Congestion,
    pub ecn: Ecn,
    /// The pace of segments, if they have one.
    pacer: Option<Box<Pacer>>,
    /// Samples of the delivery rate, if the congestion control lives by them.
    delivery_rate: Option<Box<DeliveryRate>>,
    /// Whether a loss takes the receiver's window into account.
    halves_used_window: bool,
    arrived: Arrived,
    pub duplicate_acks: u32,
    /// What was sent again since the last reaction to a loss, where D-SACK is to tell of it.
    pub retransmissions: Retransmissions,
    /// The fast retransmit that the last acknowledgement began, until the sender has told the detector.
    pub begun: Option<Reaction>,
    /// Bytes sent by Limited Transmit since the last new ACK.
    limited_bytes: u64,

    pub rto: Rto,
    /// Bytes sent beyond the receiver's window, by a fault.
    pub overrun: u64,
    /// Probing of a closed window.
    pub persist: Persist,
    /// The round-trip sample that the last acknowledgement of new data gave.
    pub sampled: Option<Span>,
    /// When the retransmission timer expires.
    pub timer: Option<Time>,
    /// The one segment being timed when timing is per window: its end and when it was sent.
    timed: Option<(u64, Time)>,
    pub counters: Counters,
}

/// What the last acknowledgement of new data found and told.
#[derive(Clone, Copy, Debug, Default)]
struct Arrived {
    /// FlightSize before it.
    flight: u64,
    /// Round trip of the newest segment it acknowledges; none if any was sent twice.
    rtt: Option<Span>,
}

impl Core {
    pub fn new(settings: &TcpSettings, flow: FlowId) -> Self {
        let mss = options::payload(settings);
        let mut rto = settings.rto.clone();
        if settings.timestamps {
            rto.granularity = rto.granularity.max(settings.timestamp_clock); // no sample is finer (RFC 6298 §2: G)
        }
        let ssthresh = settings.initial_ssthresh.map_or(u64::MAX, |window| window.bytes(mss));
        let congestion = Congestion::new(settings, flow);
        Core {
            flow,
            mss,
            header: (settings.header.as_bytes() + options::on_segment(settings)) as u16,
            timestamps: settings.timestamps.then_some(settings.timestamp_clock),
            ts_recent: 0,
            rcv_nxt: 1,
            dup_thresh: settings.dup_thresh,
            limited_transmit: settings.limited_transmit,
            early_retransmit: settings.early_retransmit,
            has_sack: settings.sack,
            restart_on_fast_retransmit: settings.rto.restart_on_fast_retransmit,
            timing: settings.rto.timing,
            initial_window: settings.initial_window,
            lifetime: settings.lifetime,
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            snd_wnd: 0,
            written: 1,
            closed: false,
            next_number: 0,
            board: match settings.recovery {
                RecoverySettings::Rack(_) => Board::with_transmissions(),
                _ => Board::default(),
            },
            delivered: 0,
            windows: Windows { cwnd: mss, ssthresh },
            reduced: mss,
            delivery_rate: congestion.needs_samples().then(Box::default),
            congestion,
            ecn: Ecn::new(settings.ecn),
            pacer: (settings.pacing != Pacing::Off).then(|| Box::new(Pacer::default())),
            halves_used_window: matches!(
                settings.congestion,
                CongestionSettings::Aimd(AimdSettings { decrease: Halving::UsedWindow, .. })
            ),
            arrived: Arrived::default(),
            duplicate_acks: 0,
            retransmissions: Retransmissions::new(settings.spurious != SpuriousSettings::Off && settings.d_sack),
            begun: None,
            limited_bytes: 0,
            rto: Rto::new(&rto).with_percent(settings.faults.rto_percent),
            overrun: u64::from(settings.faults.window_overrun) * mss,
            persist: Persist::default(),
            sampled: None,
            timer: None,
            timed: None,
            counters: Counters::default(),
        }
    }

    /// FlightSize (RFC 5681 §2): what was sent since SND.UNA, as far as SND.NXT has come again.
    pub fn flight(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }

    /// Sets the initial congestion window; one segment when the SYN was lost (RFC 5681 §3.1).
    pub fn set_initial_window(&mut self, syn_was_lost: bool) {
        self.windows.cwnd = if syn_was_lost { self.mss } else { self.initial_window() };
    }

    /// The initial window in bytes (IW, RFC 5681 §3.1).
    pub fn initial_window(&self) -> u64 {
        let mss = self.mss;
        match self.initial_window {
            InitialWindow::Segments(segments) => u64::from(segments.0) * mss,
            InitialWindow::Rfc3390 => (4 * mss).min((2 * mss).max(4380)),
            InitialWindow::Rfc6928 => (10 * mss).min((2 * mss).max(14600)),
        }
    }

    /// Goes back to the initial window, if it is smaller, after a time without sending (RFC 5681 §4.1).
    pub fn restart_after_idle(&mut self, now: Time) {
        if self.congestion.pace().is_some() {
            return; // an algorithm with a rate of its own has its own rule, told when the next segment leaves
        }
        let cwnd = self.windows.cwnd;
        self.set_initial_window(false);
        self.windows.cwnd = self.windows.cwnd.min(cwnd);
        self.congestion.on_restart_from_idle(&mut self.windows, now);
    }

    /// Lets the congestion window grow for the `acked` bytes that the last acknowledgement covered.
    #[inline(never)] // one of them for all recoveries, with the congestion control inside
    pub fn grow(&mut self, acked: u64, now: Time) {
        if self.ecn.echoes {
            return; // RFC 3168 §6.1.2
        }
        let ack = NewAck {
            now,
            acked,
            mss: self.mss,
            flight: self.arrived.flight,
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            rtt: self.arrived.rtt,
            srtt: self.rto.srtt(),
            min_rtt: None,
        };
        self.congestion.on_ack(&mut self.windows, ack);
    }

    /// Tells the congestion control of an acceptable ACK of `acked` bytes, none for a duplicate, before recovery acts.
    #[inline(always)]
    pub fn notice(&mut self, acked: u64, in_recovery: bool, now: Time) {
        let rtt = if acked > 0 { self.arrived.rtt } else { None };
        self.congestion.on_arrival(&mut self.windows, &Arrival { now, acked, mss: self.mss, rtt });
        if self.delivery_rate.is_some() {
            self.take_rate_sample(in_recovery);
        }
    }

    /// Answers an echo of a mark in an acceptable ACK (RFC 3168 §6.1.2): once per window it lowers the window as a loss does, and
    /// nothing is sent again.
    #[inline]
    pub fn take_echo(&mut self, flags: Flags, acked: u64) {
        if self.ecn.is_on && self.ecn.hears(flags, self.snd_una) {
            self.answer_mark(acked);
        }
    }

    #[inline(never)]
    fn answer_mark(&mut self, acked: u64) {
        self.counters.marks_answered += 1;
        self.lower_ssthresh_for(Cause::Mark, self.flight() + acked);
        self.windows.cwnd = self.windows.cwnd.min(self.reduced);
    }

    /// Lowers the threshold for congestion found now.
    pub fn lower_ssthresh(&mut self, cause: Cause) {
        // RFC 5681 §3.2 (2): data sent by Limited Transmit does not count. What lies above SND.NXT after a
        // timeout is no longer in the network and does not count either.
        self.lower_ssthresh_for(cause, self.flight().saturating_sub(self.limited_bytes));
    }

    /// The same for congestion that met `flight` bytes.
    pub fn lower_ssthresh_for(&mut self, cause: Cause, flight: u64) {
        let before = if self.halves_used_window { self.windows.cwnd.min(self.snd_wnd) } else { self.windows.cwnd };
        if cause == Cause::DuplicateAcks && self.ecn.has_reduced_for(self.snd_una) {
            self.reduced = self.reduced.min(before); // RFC 3168 §6.1.2: a mark of the same window has lowered it
            return;
        }
        if self.ecn.is_on {
            self.ecn.on_reduction(cause == Cause::Mark, self.snd_max);
        }
        self.windows.ssthresh =
            self.congestion.ssthresh_after(cause, &Windows { cwnd: before, ..self.windows }, flight, self.mss);
        self.reduced = self.congestion.window_after(before, self.windows.ssthresh, self.mss).max(self.mss);
    }

    /// Starts over with a window of one segment (RFC 5681 §3.1: LW), and from SND.UNA if it is to go back.
    pub fn start_over(&mut self, goes_back: bool, now: Time) {
        let forgotten = if goes_back { self.board.pipe() } else { 0 };
        if let Some(delivery) = &mut self.delivery_rate {
            delivery.on_timeout(forgotten, self.snd_max);
        }
        self.windows.cwnd = self.mss;
        self.duplicate_acks = 0;
        if goes_back {
            self.snd_nxt = self.snd_una;
            self.board.forget(); // RFC 2018 §8: the receiver may have reneged
        }
        self.congestion.on_timeout(&mut self.windows, self.mss, now, self.snd_nxt);
    }

    /// Counts a fast retransmit at SND.UNA and lowers the threshold (RFC 5681 §3.2 (2)).
    pub fn begin_fast_retransmit(&mut self, now: Time, out: &mut Outbox) {
        self.counters.fast_retransmits += 1;
        self.begun = Some(self.reaction(Cause::DuplicateAcks, 0, false, now));
        let fact = self.fact(FactKind::FastRetransmit);
        out.fact(fact.values(self.snd_max - self.snd_una, u64::from(self.duplicate_acks)));
        let again = self.board.at(self.snd_una).is_some_and(|segment| segment.transmissions > 1);
        self.lower_ssthresh(if again { Cause::LostAgain } else { Cause::DuplicateAcks });
        if self.restart_on_fast_retransmit {
            self.restart_timer(now);
        }
    }

    /// The window of fast recovery: the reduced one and the segments that duplicate ACKs say have left the
    /// network (RFC 5681 §3.2 (3)).
    pub fn inflate(&mut self) {
        self.windows.cwnd = self.reduced + self.segments_left() * self.mss;
    }

    /// Sends one new segment beyond the window on an early duplicate ACK (RFC 3042 §2).
    pub fn limited_transmit(&mut self, now: Time, out: &mut Outbox) {
        if !self.limited_transmit || self.snd_nxt < self.snd_max {
            return;
        }
        self.send_beyond(self.windows.cwnd + 2 * self.mss, now, out);
    }

    /// Sends one new segment beyond the congestion window, within `most` and the receiver's window; data so sent does not
    /// count as flight when a loss is found (RFC 5681 §3.2 (2)).
    pub fn send_beyond(&mut self, most: u64, now: Time, out: &mut Outbox) {
        let most = self.snd_wnd.min(most);
        // The window counts data: a FIN rides along.
        if let Some(end) = self.next_new().filter(|&end| end.min(self.written) <= self.snd_una + most) {
            self.limited_bytes += end - self.snd_max;
            self.send_new_until(end, now, out);
        }
    }

    /// Sends and resends from SND.NXT on as far as `window` and the receiver allow.
    pub fn send_within(&mut self, window: u64, now: Time, out: &mut Outbox) {
        let limit = self.snd_una.saturating_add(window.min(self.snd_wnd));
        loop {
            let resending = self.snd_nxt < self.snd_max;
            let end = if resending {
                let Some(&segment) = self.board.at(self.snd_nxt) else { return };
                if segment.sacked {
                    self.snd_nxt = segment.end;
                    continue;
                }
                segment.end
            } else {
                match self.next_new() {
                    Some(end) => end,
                    None => {
                        if self.delivery_rate.is_some() {
                            self.note_nothing_to_send();
                        }
                        return;
                    }
                }
            };
            // The congestion window counts data: a FIN rides along. A window below one segment still lets one go
            // when nothing else is under way.
            let data_end = end.min(self.written);
            if data_end > limit && !(self.flight() == 0 && limit > self.snd_una) {
                return;
            }
            if !self.pace_allows(now) {
                return;
            }
            if resending {
                self.resend(self.snd_nxt, now, out);
            } else {
                self.push_new(end, now, out);
            }
        }
    }

    /// Bytes of data in the next new segment; none when there is no such segment.
    pub fn next_new_length(&self) -> Option<u64> {
        self.next_new().map(|end| end.min(self.written) - self.snd_max)
    }

    /// Whether there is new data, or a FIN, that the receiver's window admits.
    pub fn can_send_new(&self) -> bool {
        self.next_new().is_some_and(|end| end <= self.snd_una + self.snd_wnd)
    }

    /// Sends the next new segment.
    pub fn send_new(&mut self, now: Time, out: &mut Outbox) {
        if let Some(end) = self.next_new() {
            self.send_new_until(end, now, out);
        }
    }

    /// Sends what is new up to `end`, as one segment.
    #[inline(never)]
    pub fn send_new_until(&mut self, end: u64, now: Time, out: &mut Outbox) {
        self.push_new(end, now, out);
    }

    #[inline(always)] // the loop that sends most segments has one of its own
    fn push_new(&mut self, end: u64, now: Time, out: &mut Outbox) {
        let start = self.snd_max;
        self.board.push(start, end, now);
        self.snd_max = end;
        self.snd_nxt = end;
        if self.timing == RttTiming::PerWindow && self.timed.is_none() {
            self.timed = Some((end, now));
        }
        self.transmit(start, end, 1, now, out);
    }

    /// Sends the segment at `start` again; SND.NXT passes it when it stands there.
    #[inline(never)]
    pub fn resend(&mut self, start: u64, now: Time, out: &mut Outbox) {
        self.timed = None; // Karn (RFC 6298 §3), as BSD does: whatever was being timed is now in doubt
        if let Some(segment) = self.board.resend(start, now) {
            self.retransmissions.note(segment.start, segment.end);
            if start == self.snd_nxt {
                self.snd_nxt = segment.end;
            }
            self.transmit(segment.start, segment.end, segment.transmissions, now, out);
        }
    }

    /// Round trip of the newest segment that the last ACK of new data acknowledged; none if any was sent twice.
    pub fn last_rtt(&self) -> Option<Span> {
        self.arrived.rtt
    }

    /// Takes what an acceptable ACK reports, calls `visit` for each segment that it is the first to report, and returns the
    /// bytes that its SACK blocks are the first to report.
    #[inline(always)]
    pub fn take_ack(&mut self, packet: &Packet, now: Time, out: &mut Outbox, mut visit: impl FnMut(&Segment)) -> u64 {
        let newly_sacked = if packet.sack.is_empty() { 0 } else { self.take_blocks(packet, &mut visit) };
        if packet.ack > self.snd_una {
            self.accept(packet, now, out, visit);
        }
        newly_sacked
    }

    /// Takes the SACK blocks of an ACK, calls `visit` for each segment newly reported, and returns their bytes.
    #[inline(never)]
    fn take_blocks(&mut self, packet: &Packet, mut visit: impl FnMut(&Segment)) -> u64 {
        let snd_max = self.snd_max;
        let is_unacceptable = |&(start, end): &(u64, u64)| start >= end || end > snd_max;
        let unacceptable = packet.sack.iter(packet.ack).filter(is_unacceptable).count();
        self.counters.unacceptable_blocks += unacceptable as u64;
        // D-SACK below the ACK tells nothing here.
        let blocks = packet.sack.iter(packet.ack);
        let above = blocks.filter(|&(start, end)| start >= packet.ack && start < end && end <= snd_max);
        let delivery_rate = &mut self.delivery_rate;
        let newly_sacked = self.board.mark_reported(above, |segment| {
            if let Some(delivery) = delivery_rate {
                delivery.on_delivered(segment);
            }
            visit(segment);
        });
        self.delivered += newly_sacked;
        newly_sacked
    }

    /// Takes `ack`, which is above SND.UNA: moves the window, calls `visit` for each segment that it is the first to
    /// report, and measures the round trip.
    #[inline(always)]
    fn accept(&mut self, packet: &Packet, now: Time, out: &mut Outbox, mut visit: impl FnMut(&Segment)) {
        let flight = self.flight();
        let delivery_rate = &mut self.delivery_rate;
        let acknowledged = self.board.acknowledge(packet.ack, |segment| {
            if let Some(delivery) = delivery_rate {
                delivery.on_delivered(segment);
            }
            visit(segment);
        });
        self.delivered += acknowledged.delivered;
        self.arrived = Arrived { flight, rtt: acknowledged.timed.map(|sent| now - sent) };
        let sample = if let Some(clock) = self.timestamps {
            self.timestamp_sample(packet, clock, now)
        } else if self.timing == RttTiming::PerWindow {
            let timed = self.timed.filter(|&(end, _)| packet.ack >= end);
            timed.map(|(_, sent)| {
                self.timed = None;
                now - sent
            })
        } else {
            self.arrived.rtt
        };
        self.snd_una = packet.ack;
        self.snd_nxt = self.snd_nxt.max(self.snd_una);
        self.duplicate_acks = 0;
        self.limited_bytes = 0;
        self.sampled = sample.map(|sample| self.take_sample(sample, packet.ack, out));
    }

    /// Feeds a round-trip sample to the timer.
    #[inline(always)]
    pub fn take_sample(&mut self, sample: Span, ack: u64, out: &mut Outbox) -> Span {
        let sample = self.rto.on_sample(sample, ack);
        self.counters.rtt_samples += 1;
        self.counters.rtt_sum += sample;
        if out.is_listening() {
            self.tell_sample(sample, out);
        }
        sample
    }

    #[inline(never)]
    fn tell_sample(&self, sample: Span, out: &mut Outbox) {
        out.fact(self.fact(FactKind::RttSample).values(sample.as_nanos(), 0));
        let srtt = self.rto.srtt().unwrap_or_default();
        out.fact(self.fact(FactKind::Srtt).values(srtt.as_nanos(), self.rto.rttvar().as_nanos()));
    }

    /// The round trip by the echoed timestamp (RFC 7323 §4.1).
    pub fn timestamp_sample(&mut self, packet: &Packet, clock: Span, now: Time) -> Option<Span> {
        let (_, echo) = packet.timestamps;
        if !packet.flags.has(Flags::TIMESTAMPS) || echo == 0 {
            return None;
        }
        // What was echoed must have been sent: not later than now, nor before time began.
        let age = u64::from(ticks(now, clock).wrapping_sub(echo));
        let is_possible = age < 1 << 31 && age <= now.as_nanos() / clock.as_nanos();
        self.counters.unacceptable_echoes += u64::from(!is_possible);
        is_possible.then(|| clock * age)
    }

    /// The tick of the timestamp clock, when timestamps are on.
    pub fn timestamp_clock(&self) -> Option<Span> {
        self.timestamps
    }

    /// Remembers the peer's timestamp to echo.
    pub fn note_timestamp(&mut self, packet: &Packet) {
        if packet.flags.has(Flags::TIMESTAMPS) {
            self.ts_recent = packet.timestamps.0;
        }
    }

    /// Restarts the timer, or stops it when nothing is outstanding (RFC 6298 §5.2, §5.3).
    pub fn restart_timer(&mut self, now: Time) {
        self.timer = (self.snd_una < self.snd_max).then(|| now + self.rto.current());
    }

    /// SND.FACK: the forward-most data that the receiver is known to hold ends there (Mathis and Mahdavi 1996).
    pub fn forward_most(&self) -> u64 {
        self.board.highest_sacked().map_or(self.snd_una, |highest| highest.max(self.snd_una))
    }

    /// Bytes before SND.NXT that the receiver is known to hold, while SND.NXT catches up after a timeout.
    pub fn sacked_before_next(&mut self) -> u64 {
        if self.snd_nxt < self.snd_max { self.board.sacked_below(self.snd_nxt) } else { 0 }
    }

    /// Checks una ≤ nxt ≤ max and the scoreboard against them.
    pub fn check(&self) -> Result<(), String> {
        if !(self.snd_una <= self.snd_nxt && self.snd_nxt <= self.snd_max) {
            return Err(format!("una {} nxt {} max {}", self.snd_una, self.snd_nxt, self.snd_max));
        }
        if self.windows.cwnd < self.mss && self.snd_una > 0 {
            return Err(format!("a window of {} bytes is below one segment", self.windows.cwnd));
        }
        if self.snd_una < self.snd_max && self.timer.is_none() {
            return Err("data is outstanding and no timer runs".into());
        }
        if self.snd_una == 0 { Ok(()) } else { self.board.check(self.snd_una, self.snd_max) }
    }

    /// A fact about this flow at SND.UNA.
    pub fn fact(&self, kind: FactKind) -> Fact {
        Fact::new(kind, self.flow).about(self.snd_una, 0)
    }

    /// Until when a segment sent at `now` is of use.
    #[inline]
    fn deadline(&self, now: Time) -> Deadline {
        match self.lifetime {
            Lifetime::Unlimited => Deadline::NONE,
            Lifetime::Rto => Deadline::at(now + self.rto.current()),
            Lifetime::RtoPlusRtt => Deadline::at(now + self.rto.current() + self.rto.srtt().unwrap_or_default()),
        }
    }

    /// A segment without payload.
    #[inline(always)] // built in registers, not copied from the stack
    pub fn bare_segment(&mut self, flags: Flags, now: Time) -> Packet {
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        Packet {
            seq: self.snd_nxt,
            ack: self.rcv_nxt,
            number,
            answers: 0,
            window: 65535,
            payload: 0,
            timestamps: self.timestamps.map_or((0, 0), |clock| (ticks(now, clock), self.ts_recent)),
            sack: SackBlocks::NONE,
            body: Body::NONE,
            deadline: self.deadline(now),
            flow: self.flow,
            header: self.header,
            flags: if self.timestamps.is_some() { flags.with(Flags::TIMESTAMPS) } else { flags },
            connection: 0,
        }
    }

    /// The end of the next new segment; the FIN rides on the last one if the window has room for it.
    ///
    /// With nothing outstanding a window smaller than a segment still gets what fits (RFC 9293 §3.8.6.2.1).
    #[inline(always)]
    pub fn next_new(&self) -> Option<u64> {
        let idle = self.snd_una == self.snd_max;
        let most = if idle { self.mss.min(self.snd_wnd) } else { self.mss };
        let data = self.written.saturating_sub(self.snd_max).min(most);
        let end = self.snd_max + data;
        let room = data == 0 || end < self.snd_una + self.snd_wnd;
        let fin = self.closed && end == self.written && room;
        (data > 0 || fin).then(|| end + u64::from(fin))
    }

    #[inline(always)]
    fn transmit(&mut self, start: u64, end: u64, transmission: u32, now: Time, out: &mut Outbox) {
        let fin = end > self.written;
        let payload = (end - start) as u32 - u32::from(fin);
        let flags = if fin { Flags::ACK.with(Flags::FIN) } else { Flags::ACK };
        let flags = if self.ecn.is_on { self.ecn.mark(flags, payload, transmission == 1) } else { flags };
        let packet = Packet { seq: start, payload, ..self.bare_segment(flags, now) };
        let kind = if transmission == 1 { FactKind::SegmentSent } else { FactKind::SegmentResent };
        out.fact(Fact::new(kind, self.flow).about(start, payload).values(u64::from(transmission), packet.ack));
        if payload > 0 {
            self.counters.segments_sent += 1;
            self.counters.segments_retransmitted += u64::from(transmission > 1);
        }
        if self.delivery_rate.is_some() {
            self.note_sent(end, end - start, now);
        }
        out.send(Port(0), packet);
        if let Some(pacer) = &mut self.pacer {
            pacer.on_sent(u64::from(payload), now);
        }
        if self.timer.is_none() {
            self.timer = Some(now + self.rto.current()); // RFC 6298 §5.1
        }
    }
}

/// The timestamp clock's reading, never zero, which would mean "no echo".
pub(crate) fn ticks(now: Time, clock: Span) -> u32 {
    ((now.as_nanos() / clock.as_nanos()) as u32).wrapping_add(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timestamp_clock_wraps_around_without_reading_zero() {
        let clock = Span::from_millis(1);
        let tick = |n: u64| ticks(Time::from_nanos(n * clock.as_nanos()), clock);
        assert_eq!([0, u64::from(u32::MAX), 1 << 32].map(tick), [1, 1, 1]);
        assert_eq!(tick(u64::from(u32::MAX) - 1), u32::MAX);
    }
}
