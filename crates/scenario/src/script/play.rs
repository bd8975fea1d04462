//! Plays a script against our sender or receiver, in virtual time.
//!
//! Timers that are due at an instant expire before what the script does then.

use std::collections::BTreeMap;

use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::{Flags, FlowId, Packet};
use cellwind_engine::time::{Span, Time};
use cellwind_transport::tcp::receiver::Receiver;
use cellwind_transport::tcp::sender::Sender;
use cellwind_transport::tcp::settings::TcpSettings;

use super::segment::{Echo, Seen, Segment};
use super::{Action, Claim, Quantity, Script, Side};

/// More expiries of timers at one instant than any machine has a reason for.
const MOST_EXPIRIES: u32 = 10_000;

/// What came of a script.
#[derive(Clone, Debug)]
pub struct Played {
    /// What the end under test sent, in the order of time, until the script's end.
    pub seen: Vec<Seen>,
    /// The claims that do not hold: line, and what was found instead.
    pub broken: Vec<(usize, String)>,
}

/// Plays the script against our machine.
pub fn play(script: &Script) -> Played {
    let mut player = Player::new(script);
    let mut broken = Vec::new();
    for step in &script.steps {
        player.advance(step.at);
        match &step.action {
            Action::Open => player.call(|sender, now, out| sender.open(now, out)),
            Action::Write(bytes) => player.call(|sender, now, out| sender.write(now, *bytes, out)),
            Action::Close => player.call(|sender, now, out| sender.close(now, out)),
            Action::Arrives(segment) => player.arrive(segment),
            Action::Leaves(_) | Action::Nothing => {}
            Action::Has(claims) => {
                let found = claims.iter().filter_map(|claim| player.violation(claim));
                broken.extend(found.map(|found| (step.line, found)));
            }
        }
        if let Err(rule) = player.check() {
            broken.push((step.line, format!("a rule of the machine is broken: {rule}")));
            break;
        }
    }
    let end = script.steps.iter().map(|step| step.at + step.tolerance).max().unwrap_or(Time::ZERO);
    player.advance(end);
    Played { seen: player.seen, broken }
}

/// The machine, and the other end as far as the script does not say it.
struct Player {
    machine: Machine,
    now: Time,
    out: Outbox,
    seen: Vec<Seen>,
    /// The window that the script's end last told.
    window: u32,
    /// Tick of the timestamp clock, with timestamps.
    clock: Option<Span>,
    /// By first sequence number: number and timestamp of the first and the last transmission of each segment seen.
    sent: BTreeMap<u64, [(u32, u32); 2]>,
    /// The highest acknowledgement that the script has sent.
    acked: u64,
    /// What the last ACK echoed.
    echoed: (u32, u32),
}

enum Machine {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
}

impl Player {
    fn new(script: &Script) -> Self {
        let settings: &TcpSettings = &script.transport;
        let machine = match script.test {
            Side::Sender => Machine::Sender(Box::new(Sender::new(settings, FlowId(0)))),
            Side::Receiver => Machine::Receiver(Box::new(Receiver::new(settings, FlowId(0)))),
        };
        Player {
            machine,
            now: Time::ZERO,
            out: Outbox::new(false),
            seen: Vec::new(),
            window: Receiver::new(settings, FlowId(0)).window(),
            clock: settings.timestamps.then_some(settings.timestamp_clock),
            sent: BTreeMap::new(),
            acked: 0,
            echoed: (0, 0),
        }
    }

    /// Lets every timer expire that is due by `to`.
    fn advance(&mut self, to: Time) {
        let mut expiries = 0;
        while let Some(due) = self.next_timeout().filter(|due| *due <= to) {
            expiries = if due > self.now { 0 } else { expiries + 1 };
            if expiries > MOST_EXPIRIES {
                break; // the machine's own defect; what it sent meanwhile does not fit the script
            }
            self.now = self.now.max(due);
            let (now, out) = (self.now, &mut self.out);
            match &mut self.machine {
                Machine::Sender(sender) => sender.on_timeout(now, out),
                Machine::Receiver(receiver) => receiver.on_timeout(now, out),
            }
            self.look();
        }
        self.now = self.now.max(to);
    }

    fn next_timeout(&self) -> Option<Time> {
        match &self.machine {
            Machine::Sender(sender) => sender.next_timeout(),
            Machine::Receiver(receiver) => receiver.next_timeout(),
        }
    }

    fn call(&mut self, call: impl FnOnce(&mut Sender, Time, &mut Outbox)) {
        if let Machine::Sender(sender) = &mut self.machine {
            call(sender, self.now, &mut self.out);
        }
        self.look();
    }

    fn arrive(&mut self, segment: &Segment) {
        self.window = segment.window.unwrap_or(self.window);
        let (answers, timestamps) = match &self.machine {
            Machine::Sender(_) => self.answer(segment),
            Machine::Receiver(_) => (0, self.tick().map(|tick| (segment.stamp.unwrap_or(tick), 0))),
        };
        let packet = segment.packet(self.window, timestamps, answers);
        match &mut self.machine {
            Machine::Sender(sender) => sender.on_segment(self.now, &packet, &mut self.out),
            Machine::Receiver(receiver) => receiver.on_segment(self.now, &packet, &mut self.out),
        }
        self.look();
    }

    /// The number of the packet that an ACK answers, and the ACK's timestamps.
    ///
    /// RFC 7323 §4.3: the peer echoes the timestamp of the segment at its left edge, so that an ACK that does not move
    /// the edge echoes what the last one did.
    fn answer(&mut self, segment: &Segment) -> (u32, Option<(u32, u32)>) {
        let edge = if segment.flags.has(Flags::SYN) { 0 } else { self.acked };
        let transmissions = self.sent.range(..=edge).next_back().map(|(_, transmissions)| *transmissions);
        let advances = segment.ack > self.acked;
        let (answers, echo) = match (segment.echo, transmissions) {
            (Echo::First, Some([first, _])) => first,
            (Echo::Last, Some([_, last])) if advances => last,
            _ => self.echoed,
        };
        let echo = if let Echo::Value(value) = segment.echo { value } else { echo };
        if advances {
            self.acked = segment.ack;
        }
        self.echoed = (answers, echo);
        (answers, self.tick().map(|tick| (segment.stamp.unwrap_or(tick), echo)))
    }

    /// What the timestamp clock says now; like the machines', never zero, which would mean "no echo".
    fn tick(&self) -> Option<u32> {
        self.clock.map(|clock| (self.now.as_nanos() / clock.as_nanos()) as u32 + 1)
    }

    /// Takes what the machine has sent.
    fn look(&mut self) {
        let packets: Vec<Packet> = self.out.take_packets().map(|(_, packet)| packet).collect();
        for packet in packets {
            if packet.occupies_sequence_space() {
                let transmission = (packet.number, packet.timestamps.0);
                let both = self.sent.entry(packet.seq).or_insert([transmission; 2]);
                both[1] = transmission;
            }
            self.seen.push(Seen { at: self.now, packet });
        }
    }

    fn check(&self) -> Result<(), String> {
        match &self.machine {
            Machine::Sender(sender) => sender.check(),
            Machine::Receiver(receiver) => receiver.check(),
        }
    }

    /// What is found instead of what the claim says.
    fn violation(&self, claim: &Claim) -> Option<String> {
        let value = self.value(claim.quantity);
        let holds = value.is_some_and(|value| (claim.bounds.0..=claim.bounds.1).contains(&value));
        (!holds).then(|| {
            let name = claim.quantity.name();
            let found = value.map_or("none".to_string(), |value| claim.quantity.describe(value));
            format!("{name} is {found}, not {}", claim.text)
        })
    }

    fn value(&self, quantity: Quantity) -> Option<u64> {
        match &self.machine {
            Machine::Sender(sender) => of_sender(sender, quantity),
            Machine::Receiver(receiver) => match quantity {
                Quantity::RcvNxt => Some(receiver.rcv_nxt()),
                Quantity::Delivered => Some(receiver.delivered()),
                Quantity::Window => Some(u64::from(receiver.window())),
                _ => None,
            },
        }
    }
}

fn of_sender(sender: &Sender, quantity: Quantity) -> Option<u64> {
    let counters = sender.counters();
    match quantity {
        Quantity::Cwnd => Some(sender.cwnd()),
        Quantity::Ssthresh => Some(sender.ssthresh().unwrap_or(u64::MAX)),
        Quantity::Rto => Some(sender.rto().as_nanos()),
        Quantity::Srtt => sender.srtt().map(Span::as_nanos),
        Quantity::Rttvar => Some(sender.rttvar().as_nanos()),
        Quantity::Timer => sender.next_timeout().map(Time::as_nanos),
        Quantity::SndUna => Some(sender.snd_una()),
        Quantity::SndNxt => Some(sender.snd_nxt()),
        Quantity::Recovering => Some(u64::from(sender.is_recovering())),
        Quantity::Timeouts => Some(counters.timeouts),
        Quantity::FastRetransmits => Some(counters.fast_retransmits),
        Quantity::Samples => Some(counters.rtt_samples),
        Quantity::RcvNxt | Quantity::Delivered | Quantity::Window => None,
    }
}

impl Quantity {
    fn describe(self, value: u64) -> String {
        match self.kind() {
            super::Kind::Span => Span::from_nanos(value).to_string(),
            super::Kind::Bytes if value == u64::MAX => "none".into(),
            super::Kind::Bytes => format!("{value} B"),
            super::Kind::Number | super::Kind::Count => value.to_string(),
        }
    }
}
