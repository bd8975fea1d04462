//! The sending end of a TCP connection (RFC 9293), as a machine.
//!
//! Read RFC 5681 and RFC 6298 first. The [`Core`] holds what is reliable about TCP; the four replaceable
//! parts are loss recovery, congestion control, detection of spurious timeouts, and the timer's settings.

use cellwind_engine::fact::FactKind;
use cellwind_engine::machine::{Outbox, Port};
use cellwind_engine::packet::{Flags, FlowId, Packet};
use cellwind_engine::time::{Span, Time};

use super::board::Segment;
use super::congestion::Cause;
use super::core::Core;
use super::counters::Counters;
use super::ecn;
use super::options;
use super::recovery::{Ack, LossRecovery, Recovery, Timer};
use super::settings::{LowerSsthresh, RestartOnDuplicateAck, TcpSettings};
use super::spurious::{Seen, Spurious, Verdict};

/// The sending end of a connection. Segments leave through port 0.
#[derive(Clone, Debug)]
pub struct Sender {
    core: Core,
    recovery: Recovery,
    spurious: Spurious,
    state: State,
    syn_header: u16,
    sack_permitted: bool,
    restart_on_duplicate_ack: RestartOnDuplicateAck,
    ignore_duplicate_acks: bool,
    lower_ssthresh: LowerSsthresh,
    seed_from_syn: bool,
    resend_all: bool,
    /// Whether anything but the scoreboard looks at each segment that an ACK reports.
    watches_deliveries: bool,
    attempts: u32,
    /// Expiries of the timer since SND.UNA last moved.
    expiries: u32,
    /// The number of the first packet after the timer last expired, until the next new ACK: for the observer's verdict.
    expired_at: Option<u32>,
    reported: Reported,
}

/// Where the connection stands (RFC 9293 §3.3.2, as far as one direction needs it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not opened yet.
    Closed,
    /// The SYN is out; since when, and how often it was sent.
    SynSent {
        /// When it was last sent.
        sent: Time,
        /// How often it was sent.
        transmissions: u32,
    },
    /// The peer's SYN is answered by our own; since when, and how often it was sent.
    SynReceived {
        /// When it was last sent.
        sent: Time,
        /// How often it was sent.
        transmissions: u32,
    },
    /// Data flows.
    Established,
    /// Everything, the FIN included, is acknowledged.
    Finished,
    /// The peer did not answer the last allowed retransmission.
    GivenUp,
}

/// What an acknowledgement tells beside its fields.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// Bytes newly acknowledged in sequence.
    acked: u64,
    /// It is a duplicate (RFC 5681 §2).
    is_duplicate: bool,
    /// Bytes newly reported by SACK blocks.
    newly_sacked: u64,
    /// The lowest of the segments sent once that it is the first to report.
    original: Option<u64>,
}

/// The values last told as facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reported {
    cwnd: u64,
    ssthresh: Option<u64>,
    rto: Span,
}

impl Sender {
    /// A closed connection of `flow`.
    pub fn new(settings: &TcpSettings, flow: FlowId) -> Self {
        let (recovery, spurious) = (Recovery::new(settings), Spurious::new(settings));
        Sender {
            core: Core::new(settings, flow),
            watches_deliveries: recovery.watches_deliveries() || spurious.is_on(),
            recovery,
            spurious,
            state: State::Closed,
            syn_header: (settings.header.as_bytes() + options::on_syn(settings)) as u16,
            sack_permitted: settings.sack,
            restart_on_duplicate_ack: settings.rto.restart_on_duplicate_ack,
            ignore_duplicate_acks: settings.rto.ignore_duplicate_acks,
            lower_ssthresh: settings.rto.lower_ssthresh,
            seed_from_syn: settings.rto.seed_from_syn,
            resend_all: settings.faults.resend_all,
            attempts: settings.rto.attempts,
            expiries: 0,
            expired_at: None,
            reported: Reported::default(),
        }
    }

    /// Opens the connection: the SYN leaves.
    pub fn open(&mut self, now: Time, out: &mut Outbox) {
        if self.state == State::Closed {
            self.send_syn(1, now, out);
        }
    }

    /// Answers the peer's SYN: the SYN-ACK leaves.
    pub(crate) fn accept(&mut self, now: Time, out: &mut Outbox) {
        if self.state == State::Closed {
            self.send_syn_ack(1, now, out);
        }
    }

    /// The peer's SYN has come; it may ask for ECN (RFC 3168 §6.1.1).
    pub(crate) fn note_syn(&mut self, syn: &Packet) {
        self.core.ecn.is_on = self.core.ecn.wanted && syn.flags.has(ecn::ASKS);
    }

    /// The acknowledgement number that segments carry from now on, when the peer sends data too.
    pub(crate) fn set_ack(&mut self, rcv_nxt: u64) {
        self.core.rcv_nxt = rcv_nxt;
    }

    /// Goes back to the initial window after a time without sending (RFC 5681 §4.1).
    pub(crate) fn restart_after_idle(&mut self, now: Time) {
        if self.state == State::Established {
            self.core.restart_after_idle(now);
        }
    }

    /// Takes `bytes` more from the application.
    pub fn write(&mut self, now: Time, bytes: u64, out: &mut Outbox) {
        assert!(!self.core.closed, "nothing can be written after close");
        self.core.written = self.core.written.saturating_add(bytes);
        self.send(now, out);
    }

    /// The application has written everything; a FIN follows the last byte.
    pub fn close(&mut self, now: Time, out: &mut Outbox) {
        self.core.closed = true;
        self.send(now, out);
    }

    /// A segment arrives from the receiver.
    pub fn on_segment(&mut self, now: Time, packet: &Packet, out: &mut Outbox) {
        if !packet.flags.has(Flags::ACK) {
            return;
        }
        self.core.note_timestamp(packet);
        if self.state == State::Established {
            self.on_ack(packet, now, out);
        } else {
            self.on_handshake(packet, now, out);
        }
        self.report(out);
    }

    /// A segment arrives that may acknowledge our SYN.
    #[cold]
    #[inline(never)]
    fn on_handshake(&mut self, packet: &Packet, now: Time, out: &mut Outbox) {
        match self.state {
            State::SynSent { sent, transmissions } if packet.flags.has(Flags::SYN) && packet.ack == 1 => {
                self.on_syn_ack(packet, sent, transmissions, now, out);
            }
            State::SynReceived { sent, transmissions } if !packet.flags.has(Flags::SYN) && packet.ack == 1 => {
                self.establish(packet, sent, transmissions, now, out);
                self.send(now, out);
            }
            _ => {}
        }
    }

    /// A timer has expired, or a segment that waited for its pace may leave.
    pub fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        if self.core.take_release(now) && self.state == State::Established {
            self.recovery.resume(&mut self.core, now, out);
        }
        if let Some(due) = self.recovery.next_timeout() {
            if due <= now {
                self.recovery.on_timer(&mut self.core, now, out);
                self.core.watch_window(now);
                self.tell_reaction();
                self.report(out);
            }
            return;
        }
        if self.core.timer.is_none_or(|due| due > now) {
            return;
        }
        self.core.timer = None;
        self.expiries += 1;
        if self.expiries > self.attempts {
            self.state = State::GivenUp;
            return;
        }
        match self.state {
            State::SynSent { transmissions, .. } => {
                self.tell_timeout(out);
                self.core.rto.back_off();
                self.send_syn(transmissions + 1, now, out);
            }
            State::SynReceived { transmissions, .. } => {
                self.tell_timeout(out);
                self.core.rto.back_off();
                self.send_syn_ack(transmissions + 1, now, out);
            }
            State::Established if self.core.snd_wnd == 0 => self.core.probe_window(now, out),
            State::Established => self.on_retransmission_timeout(now, out),
            State::Closed | State::Finished | State::GivenUp => {}
        }
        self.report(out);
    }

    /// When the next timer expires, or a segment that waits for its pace may leave.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        if matches!(self.state, State::Finished | State::GivenUp) {
            return None;
        }
        match (self.recovery.next_timeout().or(self.core.timer), self.core.paced_until()) {
            (timer, None) => timer,
            (None, release) => release,
            (Some(timer), Some(release)) => Some(timer.min(release)),
        }
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Counts of work done.
    pub fn counters(&self) -> &Counters {
        &self.core.counters
    }

    /// Congestion window in bytes.
    pub fn cwnd(&self) -> u64 {
        self.core.windows.cwnd
    }

    /// Slow start threshold in bytes; none while it is as high as can be.
    pub fn ssthresh(&self) -> Option<u64> {
        Some(self.core.windows.ssthresh).filter(|&ssthresh| ssthresh < u64::MAX)
    }

    /// SND.UNA: the oldest unacknowledged sequence number.
    pub fn snd_una(&self) -> u64 {
        self.core.snd_una
    }

    /// SND.NXT: the next sequence number to send.
    pub fn snd_nxt(&self) -> u64 {
        self.core.snd_nxt
    }

    /// SRTT, once measured.
    pub fn srtt(&self) -> Option<Span> {
        self.core.rto.srtt()
    }

    /// RTTVAR.
    pub fn rttvar(&self) -> Span {
        self.core.rto.rttvar()
    }

    /// The retransmission timeout in force, with back-off.
    pub fn rto(&self) -> Span {
        self.core.rto.current()
    }

    /// True when the application has written everything.
    pub fn is_closed(&self) -> bool {
        self.core.closed
    }

    /// True while a loss found by duplicate ACKs is being repaired.
    pub fn is_recovering(&self) -> bool {
        self.recovery.is_recovering()
    }

    /// Checks the invariants of sequence numbers, scoreboard, window and timer.
    pub fn check(&self) -> Result<(), String> {
        if self.state == State::Established { self.core.check() } else { Ok(()) }
    }

    fn send_syn(&mut self, transmissions: u32, now: Time, out: &mut Outbox) {
        self.state = State::SynSent { sent: now, transmissions };
        // RFC 3168 §6.1.1: a SYN that is lost may have met a machine which drops those that ask.
        let asks = self.core.ecn.wanted && transmissions == 1;
        self.send_first(if asks { Flags::SYN.with(ecn::ASKS) } else { Flags::SYN }, 0, now, out);
    }

    fn send_syn_ack(&mut self, transmissions: u32, now: Time, out: &mut Outbox) {
        self.state = State::SynReceived { sent: now, transmissions };
        let flags = Flags::SYN.with(Flags::ACK);
        let flags = if self.core.ecn.is_on { flags.with(Flags::ECE) } else { flags }; // RFC 3168 §6.1.1
        self.send_first(flags, self.core.rcv_nxt, now, out);
    }

    fn send_first(&mut self, flags: Flags, ack: u64, now: Time, out: &mut Outbox) {
        let flags = if self.sack_permitted { flags.with(Flags::SACK_PERMITTED) } else { flags };
        let syn = Packet { seq: 0, ack, header: self.syn_header, ..self.core.bare_segment(flags, now) };
        out.send(Port(0), syn);
        self.core.snd_nxt = 1;
        self.core.snd_max = 1;
        self.core.timer = Some(now + self.core.rto.current());
    }

    fn on_syn_ack(&mut self, packet: &Packet, sent: Time, transmissions: u32, now: Time, out: &mut Outbox) {
        let agrees = packet.flags.has(Flags::ECE) && !packet.flags.has(Flags::CWR);
        self.core.ecn.is_on = self.core.ecn.wanted && transmissions == 1 && agrees; // RFC 3168 §6.1.1
        self.establish(packet, sent, transmissions, now, out);
        let before = self.core.snd_max;
        self.send(now, out);
        if self.core.snd_max == before {
            out.send(Port(0), self.core.bare_segment(Flags::ACK, now)); // no data to carry the handshake's ACK
        }
    }

    /// The peer has acknowledged our SYN.
    fn establish(&mut self, packet: &Packet, sent: Time, transmissions: u32, now: Time, out: &mut Outbox) {
        self.state = State::Established;
        self.expiries = 0;
        self.core.snd_una = 1;
        self.core.snd_wnd = self.core.window_of(packet);
        self.core.timer = None;
        let lost = transmissions > 1;
        if !lost {
            let clock = self.core.timestamp_clock();
            let by_timestamp = clock.and_then(|clock| self.core.timestamp_sample(packet, clock, now));
            let sample = by_timestamp.unwrap_or(now - sent);
            if self.seed_from_syn {
                self.core.take_sample(sample, 1, out);
            }
        } else {
            self.core.rto.restart_after_lost_syn(); // no sample from a resent SYN (Karn)
        }
        self.core.set_initial_window(lost);
        self.core.connect(now);
    }

    #[inline(always)]
    fn on_ack(&mut self, packet: &Packet, now: Time, out: &mut Outbox) {
        let core = &mut self.core;
        core.counters.unexpected_syns += u64::from(packet.flags.has(Flags::SYN));
        if packet.ack > core.snd_max {
            core.counters.unacceptable_acks += 1;
            return; // acknowledges what was never sent (RFC 9293 §3.10.7.4)
        }
        let before = core.snd_una;
        if out.is_listening() {
            let fact = core.fact(FactKind::AckReceived).about(packet.ack, 0);
            out.fact(fact.values(before, packet.sack.len() as u64));
        }
        let same_window = core.snd_wnd == core.window_of(packet);
        if packet.ack >= before && core.take_window(packet, !self.recovery.keeps_board(), now) {
            self.expiries = 0; // not from an old segment (RFC 9293 §3.10.7.4)
        }
        core.begin_ack(now);
        let (newly_sacked, original) = if self.watches_deliveries {
            self.take_watched(packet, now, out)
        } else {
            (self.core.take_ack(packet, now, out, |_| {}), None)
        };
        let core = &mut self.core;
        if packet.ack >= before {
            self.recovery.on_arrival(core, packet, packet.ack - before);
        }
        if packet.ack > before {
            self.expiries = 0;
            self.observe_timeout(packet, out);
            let ack = Ack { acked: packet.ack - before, newly_sacked };
            if self.core.snd_una == self.core.snd_max && self.core.closed && self.core.snd_una > self.core.written {
                self.state = State::Finished;
                self.core.timer = None;
                return;
            }
            self.core.notice(ack.acked, self.recovery.is_recovering(), now);
            self.core.take_echo(packet.flags, ack.acked);
            let told = Told { acked: ack.acked, is_duplicate: false, newly_sacked, original };
            let grows = self.judge(packet, told, now, out);
            if !grows
                || self.recovery.on_new_ack(&mut self.core, ack, now, out) == Timer::Restart
                || self.core.snd_una == self.core.snd_max
            {
                self.core.restart_timer(now);
            }
        } else {
            // RFC 5681 §2, definition of a duplicate acknowledgement: data outstanding, no data, no SYN, no FIN, the same
            // window; RFC 6675 §2: or new SACK information
            let is_plain = same_window && core.snd_wnd > 0 && !packet.occupies_sequence_space(); // nor the answer to a probe
            let is_duplicate = packet.ack == before && core.snd_una < core.snd_max && (is_plain || newly_sacked > 0);
            let told = Told { acked: 0, is_duplicate, newly_sacked, original }; // if not, a D-SACK block, for instance
            if is_duplicate {
                self.on_duplicate_ack(packet, newly_sacked, told, now, out);
            } else {
                self.judge(packet, told, now, out);
            }
        }
        self.tell_reaction();
        self.core.set_pace();
        self.send(now, out);
    }

    /// Takes what an ACK reports and tells the recovery of each segment; gives what [`Told`] tells of it.
    #[inline(never)]
    fn take_watched(&mut self, packet: &Packet, now: Time, out: &mut Outbox) -> (u64, Option<u64>) {
        let mut original = None;
        let newly_sacked = self.core.take_ack(packet, now, out, |segment: &Segment| {
            if segment.transmissions == 1 {
                original = Some(original.map_or(segment.start, |lowest: u64| lowest.min(segment.start)));
            }
            self.recovery.on_delivered(segment, packet, now);
        });
        (newly_sacked, original)
    }

    #[inline(never)]
    fn on_duplicate_ack(&mut self, packet: &Packet, newly_sacked: u64, told: Told, now: Time, out: &mut Outbox) {
        let ack = Ack { acked: 0, newly_sacked };
        self.core.notice(0, self.recovery.is_recovering(), now);
        self.core.take_echo(packet.flags, 0);
        self.judge(packet, told, now, out);
        if self.ignore_duplicate_acks && self.expired_at.is_some() {
            return; // they tell nothing of the retransmission
        }
        let counted = self.core.duplicate_acks;
        self.recovery.on_duplicate_ack(&mut self.core, ack, now, out);
        let restarts = match self.restart_on_duplicate_ack {
            RestartOnDuplicateAck::Never => false,
            RestartOnDuplicateAck::UpToDupThresh => {
                (counted + 1..=self.core.dup_thresh).contains(&self.core.duplicate_acks)
            }
            RestartOnDuplicateAck::Always => true,
        };
        if restarts {
            self.core.restart_timer(now);
        }
    }

    /// Tells the detector of a fast retransmit that has begun.
    #[inline]
    fn tell_reaction(&mut self) {
        if let Some(reaction) = self.core.begun.take() {
            self.spurious.on_reaction(reaction, self.core.snd_una);
        }
    }

    /// The observer's verdict on the last timeout: it was spurious if waiting longer would have brought this ACK, which a
    /// packet from before it called forth (RFC 3522 §2, §3.3).
    #[inline]
    fn observe_timeout(&mut self, packet: &Packet, out: &mut Outbox) {
        let Some(expired_at) = self.expired_at.take() else { return };
        if (packet.answers.wrapping_sub(expired_at) as i32) < 0 {
            self.core.counters.spurious_timeouts += 1;
            out.fact(self.core.fact(FactKind::SpuriousTimeout));
        } else {
            self.core.counters.necessary_timeouts += 1;
        }
    }

    /// The detector's verdict on the last reaction to a loss, and the response to it. False when the window must not
    /// grow by this acknowledgement.
    #[inline(always)]
    fn judge(&mut self, packet: &Packet, told: Told, now: Time, out: &mut Outbox) -> bool {
        !self.spurious.is_on() || self.judge_by(packet, told, now, out)
    }

    #[inline(never)]
    fn judge_by(&mut self, packet: &Packet, told: Told, now: Time, out: &mut Outbox) -> bool {
        let core = &mut self.core;
        let reports_duplicate = packet.flags.has(Flags::D_SACK);
        let block = packet.sack.iter(packet.ack).next().filter(|_| reports_duplicate);
        let others = packet.sack.iter(packet.ack).skip(usize::from(reports_duplicate));
        let knows_sack = core.board.sacked_bytes() > 0 || told.newly_sacked > 0;
        let seen = Seen {
            packet,
            now,
            is_new: told.acked > 0,
            is_duplicate: told.is_duplicate,
            snd_max: core.snd_max,
            rtt: core.last_rtt().filter(|_| told.acked > 0),
            original: told.original,
            tells: told.acked + told.newly_sacked > 0,
            highest: others.map(|(_, end)| end).fold(packet.ack, u64::max),
            is_first_report_at_una: !knows_sack && block.is_some_and(|(start, _)| start == core.snd_una - told.acked),
            duplicate: block.map(|(start, end)| core.retransmissions.report(start, end)),
            can_send_new: core.can_send_new(),
        };
        match self.spurious.on_ack(&seen) {
            Verdict::Undecided => true,
            Verdict::Necessary(cause) => {
                self.recovery.hold(false);
                if cause == Cause::Timeout {
                    core.confirm_timeout();
                }
                true
            }
            Verdict::Spurious(reaction, response) => {
                core.undo(&reaction, response, (told.acked, packet.flags.has(Flags::ECE)), out);
                self.recovery.on_spurious(core);
                response.grows()
            }
            Verdict::Probe => {
                self.recovery.hold(true);
                core.probe(now, out);
                false
            }
            Verdict::GoBack => {
                core.go_back(!self.recovery.keeps_board());
                self.recovery.hold(false);
                true
            }
        }
    }

    /// RFC 6298 §5.4 to §5.6 and RFC 5681 §3.1: back off, one segment, start again from SND.UNA.
    #[inline(never)]
    fn on_retransmission_timeout(&mut self, now: Time, out: &mut Outbox) {
        self.tell_timeout(out);
        let core = &mut self.core;
        if self.recovery.is_recovering() {
            core.windows.cwnd = core.windows.cwnd.min(core.reduced); // not as duplicate ACKs inflated it
        }
        let reaction = core.reaction(Cause::Timeout, self.expiries, self.recovery.is_recovering(), now);
        self.spurious.on_reaction(reaction, core.snd_una);
        // RFC 5681 §3.1: held when the same segment times out again; RFC 2581 §3.1 lowers it then too.
        if self.expiries == 1 || self.lower_ssthresh == LowerSsthresh::EachTime {
            core.lower_ssthresh(Cause::Timeout);
        }
        core.start_over(!self.recovery.keeps_board(), now);
        self.expired_at = Some(core.next_number);
        core.rto.on_timeout(self.expiries);
        self.recovery.on_timeout(core, now);
        if self.resend_all {
            core.send_within(core.snd_max - core.snd_una, now, out);
        }
        self.send(now, out);
        self.core.restart_timer(now);
    }

    /// Counts an expiry of the retransmission timer.
    fn tell_timeout(&mut self, out: &mut Outbox) {
        let core = &mut self.core;
        core.counters.timeouts += 1;
        let flight = core.snd_max - core.snd_una;
        out.fact(core.fact(FactKind::Timeout).values(core.rto.current().as_nanos(), flight));
    }

    #[inline(always)]
    fn send(&mut self, now: Time, out: &mut Outbox) {
        if self.state == State::Established {
            self.recovery.send(&mut self.core, now, out);
            self.core.watch_window(now);
        }
    }

    /// Tells windows and RTO as facts where they changed.
    #[inline(always)]
    fn report(&mut self, out: &mut Outbox) {
        if out.is_listening() {
            self.report_changes(out);
        }
    }

    #[inline(never)]
    fn report_changes(&mut self, out: &mut Outbox) {
        let core = &self.core;
        let values = Reported { cwnd: core.windows.cwnd, ssthresh: self.ssthresh(), rto: core.rto.current() };
        if values.cwnd != self.reported.cwnd {
            out.fact(core.fact(FactKind::Cwnd).values(values.cwnd, values.cwnd.min(core.snd_wnd)));
        }
        if let Some(ssthresh) = values.ssthresh
            && values.ssthresh != self.reported.ssthresh
        {
            out.fact(core.fact(FactKind::Ssthresh).values(ssthresh, 0));
        }
        if values.rto != self.reported.rto {
            out.fact(core.fact(FactKind::Rto).values(values.rto.as_nanos(), u64::from(core.rto.backoff())));
        }
        self.reported = values;
    }
}

#[cfg(test)]
mod tests;
