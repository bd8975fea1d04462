//! Arbitrary segments for a sender and a receiver of any settings, whose invariants are checked after each step.

use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::{Flags, FlowId, Packet, SackBlocks};
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};
use cellwind_transport::tcp::receiver::Receiver;
use cellwind_transport::tcp::sender::{Sender, State};
use cellwind_transport::tcp::settings::TcpSettings;

/// Both ends under nonsense.
struct Ends<'a> {
    settings: &'a TcpSettings,
    rng: Stream,
    now: Time,
    sender: Sender,
    receiver: Receiver,
    out: Outbox,
    /// How much the sender was given to send.
    written: u64,
    closed: bool,
    /// The last segment that the sender sent, and the last ACK of the receiver.
    segment: Packet,
    ack: Packet,
}

/// The most bytes that one connection sends before it is closed.
const MOST: u64 = 300_000;

/// What the steps came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Segments that no peer should have sent, as both ends have counted them.
    pub unacceptable: u64,
    /// Segments with data that the senders sent.
    pub sent: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Timeouts.
    pub timeouts: u64,
}

/// Takes `steps` steps and adds to `tally` what they came to.
pub fn run(settings: &TcpSettings, seed: u64, steps: u64, tally: &mut Tally) -> Result<(), String> {
    let mut ends = Ends::new(settings, Stream::new(seed, 0, "nonsense"));
    for step in 0..steps {
        ends.step();
        let checked = ends.sender.check().and_then(|()| ends.receiver.check());
        checked.map_err(|why| format!("seed {seed}, step {step}: {why}"))?;
        if matches!(ends.sender.state(), State::Finished | State::GivenUp) || ends.receiver.is_closed() {
            ends.count(tally);
            ends = Ends::new(settings, ends.rng);
        }
    }
    ends.count(tally);
    Ok(())
}

impl<'a> Ends<'a> {
    fn new(settings: &'a TcpSettings, rng: Stream) -> Self {
        let mut ends = Ends {
            settings,
            rng,
            now: Time::ZERO,
            sender: Sender::new(settings, FlowId(0)),
            receiver: Receiver::new(settings, FlowId(0)),
            out: Outbox::new(false),
            written: 0,
            closed: false,
            segment: Packet::EMPTY,
            ack: Packet::EMPTY,
        };
        ends.sender.open(ends.now, &mut ends.out);
        ends
    }

    fn count(&self, tally: &mut Tally) {
        let counters = self.sender.counters();
        let at_sender = counters.unacceptable_acks + counters.unacceptable_blocks + counters.unacceptable_echoes;
        tally.unacceptable += at_sender + counters.unexpected_syns + self.receiver.refused();
        tally.sent += counters.segments_sent;
        tally.fast_retransmits += counters.fast_retransmits;
        tally.timeouts += counters.timeouts;
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.rng.below(bound.max(1))
    }

    fn step(&mut self) {
        let jump = match self.below(50) {
            0 => self.below(5_000_000),
            _ => self.below(20_000),
        };
        self.now += Span::from_micros(jump);
        match self.below(32) {
            0..=7 => {
                let ack = self.any_ack();
                self.sender.on_segment(self.now, &ack, &mut self.out);
            }
            8 | 9 => {
                let ack = self.ack; // what a well-behaved receiver answers
                self.sender.on_segment(self.now, &ack, &mut self.out);
            }
            10 => {
                self.now = self.sender.next_timeout().unwrap_or(self.now).max(self.now);
                self.sender.on_timeout(self.now, &mut self.out);
            }
            11 => self.sender.on_timeout(self.now, &mut self.out), // mostly too early
            12..=14 => self.write(),
            15..=18 => self.progress(),
            19..=21 => self.repeat(),
            22 | 23 => {
                let segment = self.segment;
                self.receiver.on_segment(self.now, &segment, &mut self.out);
            }
            24..=28 => {
                let segment = self.any_segment();
                self.receiver.on_segment(self.now, &segment, &mut self.out);
            }
            29 => self.receiver.on_timeout(self.now, &mut self.out),
            30 => self.receiver.ask_for_retransmission(3, self.now, &mut self.out),
            _ => {
                let window = self.below(3) * self.below(70_000);
                self.receiver.set_window(window as u32, self.now, &mut self.out);
            }
        }
        for (_, packet) in self.out.take_packets() {
            if packet.payload > 0 || (packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::ACK)) {
                self.segment = packet;
            } else {
                self.ack = packet;
            }
        }
    }

    fn write(&mut self) {
        if self.closed {
            return;
        }
        if self.written < MOST {
            let bytes = self.below(20_000);
            self.written += bytes;
            self.sender.write(self.now, bytes, &mut self.out);
        } else {
            self.closed = true;
            self.sender.close(self.now, &mut self.out);
        }
    }

    /// An ACK of something that is outstanding, often of all.
    fn progress(&mut self) {
        let (una, nxt) = (self.sender.snd_una(), self.sender.snd_nxt());
        let ack = if self.below(2) == 0 { nxt } else { una + self.below(nxt - una + 1) };
        let ack = Packet { ack, ..self.plain_ack() };
        self.sender.on_segment(self.now, &ack, &mut self.out);
    }

    /// Some duplicate ACKs, with or without SACK.
    fn repeat(&mut self) {
        let mut end = self.sender.snd_una() + self.below(3000);
        let reports = self.below(2) == 0;
        for _ in 0..1 + self.below(6) {
            let mut ack = self.plain_ack();
            let start = end + self.below(2) * self.below(1500);
            end = (start + 1 + self.below(6000)).min(self.sender.snd_nxt());
            if reports && start < end {
                ack.sack.push(ack.ack, start, end);
            }
            self.sender.on_segment(self.now, &ack, &mut self.out);
            self.now += Span::from_micros(500);
        }
    }

    fn plain_ack(&mut self) -> Packet {
        let stamp = (self.now.as_nanos() / 1_000_000) as u32;
        let timestamps = (stamp, stamp.saturating_sub(self.below(300) as u32));
        let flags = Flags::ACK.with(Flags::TIMESTAMPS);
        let ack = self.sender.snd_una();
        Packet { seq: 1, ack, window: 65_535, timestamps, flags, ..Packet::EMPTY }
    }

    /// A number near `at`, or any at all.
    fn near(&mut self, at: u64) -> u64 {
        match self.below(12) {
            0 => self.rng.next_u64(),
            1 => at.wrapping_add(self.below(1 << 33)),
            2..=4 => at,
            5..=8 => at.saturating_add(self.below(5000)),
            _ => at.saturating_sub(self.below(5000)),
        }
    }

    fn timestamps(&mut self, value: u32) -> (u32, u32) {
        let any = self.rng.next_u64();
        match self.below(4) {
            0 => (any as u32, (any >> 32) as u32), // garbage, or wrapped around
            _ => (value, value.saturating_sub(self.below(300) as u32)),
        }
    }

    fn flags(&mut self) -> Flags {
        let all = [Flags::SYN, Flags::FIN, Flags::ACK, Flags::D_SACK, Flags::SACK_PERMITTED, Flags::ECE, Flags::CWR];
        let mut flags = if self.below(8) > 0 { Flags::ACK } else { Flags::NONE };
        if self.below(2) == 0 {
            flags = flags.with(Flags::TIMESTAMPS);
        }
        while self.below(4) == 0 {
            flags = flags.with(all[self.below(all.len() as u64) as usize]);
        }
        flags
    }

    fn any_ack(&mut self) -> Packet {
        let (una, nxt) = (self.sender.snd_una(), self.sender.snd_nxt());
        let at = if self.below(2) == 0 { una } else { una + self.below(nxt - una + 1) };
        let ack = self.near(at);
        let sack = match self.below(4) {
            0 => SackBlocks::of_words(std::array::from_fn(|_| self.rng.next_u64())),
            1 => {
                let mut blocks = SackBlocks::NONE;
                for _ in 0..self.below(4) {
                    let at = una + self.below(nxt - una + 1);
                    let start = self.near(at);
                    let end = start.saturating_add(1 + self.below(4000));
                    if start < end {
                        blocks.push(ack, start, end);
                    }
                }
                blocks
            }
            _ => SackBlocks::NONE,
        };
        let window = match self.below(4) {
            0 => 0,
            1 => self.rng.next_u64() as u32,
            _ => 65_535,
        };
        let stamp = (self.now.as_nanos() / 1_000_000) as u32;
        let (timestamps, flags) = (self.timestamps(stamp), self.flags());
        let payload = if self.below(10) == 0 { self.below(2000) as u32 } else { 0 };
        Packet { seq: 1, ack, window, sack, timestamps, flags, payload, ..Packet::EMPTY }
    }

    fn any_segment(&mut self) -> Packet {
        let at = self.receiver.rcv_nxt();
        let seq = self.near(at).min(u64::MAX - (1 << 33));
        let stamp = (self.now.as_nanos() / 1_000_000) as u32;
        let (timestamps, flags) = (self.timestamps(stamp), self.flags());
        let payload = match self.below(8) {
            0 => self.rng.next_u64() as u32,
            _ => self.below(1 + self.settings.mss.as_bytes()) as u32,
        };
        Packet { seq, ack: 1, payload, timestamps, flags, ..Packet::EMPTY }
    }
}
