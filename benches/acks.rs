//! What an acknowledgement costs a sender, and a segment its receiver, by the size of the window.
//!
//! Each line of output: recovery, loss, segments in the window, nanoseconds of the sender per ACK, and of the receiver
//! per segment. A connection begins with the whole window; the second window loses segments, and is measured until all
//! of it has arrived. Words after `--` choose the lines that begin with them, as in `cargo bench --bench acks -- sack 3%`.

use std::time::Instant;

use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::{FlowId, Packet};
use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::Size;
use cellwind_transport::tcp::amount::{Segments, Window};
use cellwind_transport::tcp::receiver::Receiver;
use cellwind_transport::tcp::sender::Sender;
use cellwind_transport::tcp::settings::{
    InitialWindow, NewRenoSettings, RecoverySettings, RenoSettings, SackSettings, TcpSettings,
};

const MSS: u64 = 1000;
/// Of each measurement, so that a small window is measured often enough.
const ACKS: u64 = 100_000;
/// Packets that are handed over together.
const GROUP: usize = 50;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    None,
    Single,
    ThreePerCent,
}

impl Loss {
    /// Whether the first transmission of segment `number` of the window is lost; a linear generator decides.
    fn takes(self, number: u64) -> bool {
        match self {
            Loss::None => false,
            Loss::Single => number == 3,
            Loss::ThreePerCent => {
                (number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407) >> 33) % 100 < 3
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Loss::None => "none",
            Loss::Single => "single",
            Loss::ThreePerCent => "3%",
        }
    }
}

/// Nanoseconds and how many things they were spent on.
#[derive(Clone, Copy, Default)]
struct Spent {
    ns: u128,
    count: u64,
}

impl Spent {
    fn on(&mut self, count: usize, work: impl FnOnce()) {
        let start = Instant::now();
        work();
        self.ns += start.elapsed().as_nanos();
        self.count += count as u64;
    }

    fn each(self) -> f64 {
        self.ns as f64 / self.count as f64
    }
}

/// One connection with a window of `segments`: what sender and receiver spent.
fn connection(settings: &TcpSettings, segments: u64, loss: Loss) -> (Spent, Spent) {
    let mut sender = Sender::new(settings, FlowId(0));
    let mut receiver = Receiver::new(settings, FlowId(0));
    let (mut by_sender, mut by_receiver) = (Spent::default(), Spent::default());
    let mut out = Outbox::new(false);
    let mut now = Time::ZERO;
    sender.open(now, &mut out);
    // Three windows, so that recovery has new data to send.
    sender.write(now, 3 * segments * MSS, &mut out);
    let taken = |out: &mut Outbox| -> Vec<Packet> { out.take_packets().map(|(_, packet)| packet).collect() };
    let mut flying = taken(&mut out);
    let mut highest = 0;
    let (first, end) = (1 + segments * MSS, 1 + 2 * segments * MSS);
    while sender.snd_una() < end {
        if flying.is_empty() {
            now = sender.next_timeout().expect("something is to be done");
            sender.on_timeout(now, &mut out);
            flying = taken(&mut out);
        }
        now += Span::from_millis(100);
        flying.retain(|packet| {
            let is_first = packet.seq >= highest;
            highest = highest.max(packet.end());
            !(is_first && (first..end).contains(&packet.seq) && loss.takes((packet.seq - first) / MSS))
        });
        if sender.snd_una() < first {
            (by_sender, by_receiver) = Default::default();
        }
        let mut sent = Vec::new();
        // In small groups, so that memory holds what it holds where packets come one by one.
        for group in flying.chunks(GROUP) {
            by_receiver.on(group.len(), || group.iter().for_each(|packet| receiver.on_segment(now, packet, &mut out)));
            let acks = taken(&mut out);
            by_sender.on(acks.len(), || acks.iter().for_each(|ack| sender.on_segment(now, ack, &mut out)));
            sent.extend(taken(&mut out));
        }
        flying = sent;
    }
    (by_sender, by_receiver)
}

/// The quickest of several connections, as another program may always have been in the way.
fn measure(name: &str, recovery: RecoverySettings, loss: Loss, segments: u64) {
    let line = format!("{name} {} {segments}", loss.name());
    let chosen: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if !line.split(' ').zip(&chosen).all(|(word, chosen)| word == chosen) {
        return;
    }
    let settings = TcpSettings {
        mss: Size::from_bytes(MSS),
        initial_window: InitialWindow::Segments(Segments(segments as u32)),
        initial_ssthresh: Some(Window::Segments(Segments(segments as u32))),
        receive_window: Window::Segments(Segments(4 * segments as u32)),
        sack: !matches!(recovery, RecoverySettings::Reno(_) | RecoverySettings::Newreno(_)),
        recovery,
        ..TcpSettings::default()
    };
    let taken: Vec<_> = (0..(ACKS / segments).max(7)).map(|_| connection(&settings, segments, loss)).collect();
    let sender = taken.iter().map(|spent| spent.0.each()).fold(f64::INFINITY, f64::min);
    let receiver = taken.iter().map(|spent| spent.1.each()).fold(f64::INFINITY, f64::min);
    println!("{line} {sender:.1} {receiver:.1}");
}

fn main() {
    let sack = || RecoverySettings::Sack(SackSettings::default());
    for segments in [100, 1_000, 10_000, 100_000] {
        measure("reno", RecoverySettings::Reno(RenoSettings::default()), Loss::None, segments);
        measure("newreno", RecoverySettings::Newreno(NewRenoSettings::default()), Loss::Single, segments);
        for loss in [Loss::None, Loss::Single, Loss::ThreePerCent] {
            measure("sack", sack(), loss, segments);
        }
    }
}
