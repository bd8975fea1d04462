//! A sender and a receiver that agree on ECN, with a path between them that marks.

use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::{Flags, FlowId, Packet};
use cellwind_engine::time::Time;
use cellwind_engine::units::Size;

use crate::tcp::amount::Segments;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use crate::tcp::settings::{AfterMark, AimdSettings, CongestionSettings, InitialWindow, TcpSettings};

const MSS: u64 = 100;

struct Pair {
    sender: Sender,
    receiver: Receiver,
    out: Outbox,
    now: Time,
}

fn settings() -> TcpSettings {
    let initial_window = InitialWindow::Segments(Segments(10));
    TcpSettings { ecn: true, mss: Size::from_bytes(MSS), initial_window, ..TcpSettings::default() }
}

impl Pair {
    /// Both ends after the handshake, which `path` may change.
    fn new(settings: &TcpSettings, path: impl Fn(Packet) -> Packet) -> Self {
        let mut pair = Pair {
            sender: Sender::new(settings, FlowId(0)),
            receiver: Receiver::new(settings, FlowId(0)),
            out: Outbox::new(false),
            now: Time::ZERO,
        };
        pair.sender.open(Time::ZERO, &mut pair.out);
        let syn = path(pair.sent().remove(0));
        pair.receiver.on_segment(Time::from_millis(50), &syn, &mut pair.out);
        let syn_ack = path(pair.sent().remove(0));
        pair.now = Time::from_millis(100);
        pair.sender.on_segment(pair.now, &syn_ack, &mut pair.out);
        pair.sent();
        pair
    }

    fn sent(&mut self) -> Vec<Packet> {
        self.out.take_packets().map(|(_, packet)| packet).collect()
    }

    fn write(&mut self, segments: u64) -> Vec<Packet> {
        self.sender.write(self.now, segments * MSS, &mut self.out);
        self.sent()
    }

    /// The receiver's answers to these segments.
    fn answers(&mut self, segments: &[Packet]) -> Vec<Packet> {
        segments.iter().for_each(|packet| self.receiver.on_segment(self.now, packet, &mut self.out));
        self.sent()
    }

    /// What the sender sends on these ACKs.
    fn reactions(&mut self, acks: &[Packet]) -> Vec<Packet> {
        self.now += cellwind_engine::time::Span::from_millis(100);
        acks.iter().for_each(|packet| self.sender.on_segment(self.now, packet, &mut self.out));
        self.sender.check().unwrap();
        self.sent()
    }
}

fn having(packets: &[Packet], flags: Flags) -> Vec<bool> {
    packets.iter().map(|packet| packet.flags.has(flags)).collect()
}

fn marked(packet: Packet) -> Packet {
    assert!(packet.flags.has(Flags::ECT), "only what is ECN-capable is marked");
    Packet { flags: packet.flags.with(Flags::CE), ..packet }
}

#[test]
fn both_ends_agree_in_the_handshake_and_only_new_data_is_capable() {
    let mut pair = Pair::new(&settings(), |packet| {
        let is_syn_ack = packet.flags.has(Flags::ACK);
        assert!(packet.flags.has(Flags::ECE) && !packet.flags.has(Flags::ECT));
        assert_eq!(packet.flags.has(Flags::CWR), !is_syn_ack); // RFC 3168 §6.1.1
        packet
    });
    let data = pair.write(10);
    assert_eq!(having(&data, Flags::ECT), [true; 10]);
    let acks = pair.answers(&data);
    assert_eq!(having(&acks, Flags::ECT), [false; 10]); // §6.1.4
    assert_eq!(having(&acks, Flags::ECE), [false; 10]);
}

#[test]
fn a_peer_that_does_not_agree_gets_plain_data() {
    for hidden in [Flags::ECE, Flags::CWR] {
        let mut pair = Pair::new(&settings(), |packet| Packet { flags: packet.flags.without(hidden), ..packet });
        let data = pair.write(10);
        let agreed = hidden == Flags::CWR;
        assert_eq!(having(&data, Flags::ECT), [false; 10], "{agreed}"); // without CWR the SYN asks for nothing
    }
}

#[test]
fn a_mark_halves_the_window_once_and_is_echoed_until_the_sender_tells_so() {
    let mut pair = Pair::new(&settings(), |packet| packet);
    let mut data = pair.write(40);
    (data[2], data[6]) = (marked(data[2]), marked(data[6]));
    let acks = pair.answers(&data);
    assert_eq!(having(&acks, Flags::ECE)[..4], [false, false, true, true]);
    // Slow start has grown the window to 12 segments when the first echo halves what was in flight: 12 to 6.
    let next = pair.reactions(&acks);
    assert_eq!((pair.sender.cwnd(), pair.sender.ssthresh()), (600, Some(600)));
    assert_eq!(pair.sender.counters().marks_answered, 1);
    assert_eq!(pair.sender.counters().segments_retransmitted, 0);
    let told = having(&next, Flags::CWR);
    assert_eq!(told.iter().filter(|&&told| told).count(), 1);
    let first_after = next.iter().position(|packet| packet.flags.has(Flags::CWR)).expect("told");
    let acks = pair.answers(&next);
    let echoes = having(&acks, Flags::ECE);
    assert!(echoes[..first_after].iter().all(|&echo| echo) && echoes[first_after..].iter().all(|&echo| !echo));
}

#[test]
fn the_next_window_may_be_reduced_again() {
    let mut pair = Pair::new(&settings(), |packet| packet);
    let mut data = pair.write(100);
    for _ in 0..2 {
        data[0] = marked(data[0]);
        let acks = pair.answers(&data);
        data = pair.reactions(&acks);
    }
    let acks = pair.answers(&data);
    pair.reactions(&acks);
    assert_eq!(pair.sender.counters().marks_answered, 2);
    assert_eq!(pair.sender.cwnd() / MSS, 3); // 10, halved to 5, and to 2.5 with a round of growth since
}

#[test]
fn a_loss_in_the_window_of_a_mark_does_not_reduce_it_again() {
    let mut pair = Pair::new(&settings(), |packet| packet);
    let mut data = pair.write(40);
    data[0] = marked(data[0]);
    data.remove(3);
    let acks = pair.answers(&data);
    let sent = pair.reactions(&acks);
    assert_eq!((pair.sender.counters().marks_answered, pair.sender.counters().fast_retransmits), (1, 1));
    assert_eq!(pair.sender.ssthresh(), Some(500)); // RFC 3168 §6.1.2
    let resent = sent.iter().find(|packet| packet.seq == 301).expect("the lost segment");
    assert!(!resent.flags.has(Flags::ECT) && !resent.flags.has(Flags::CWR)); // §6.1.5
}

#[test]
fn abe_leaves_four_fifths_after_a_mark_and_half_after_a_loss() {
    let aimd = AimdSettings { after_mark: AfterMark::Abe, ..AimdSettings::default() };
    for (is_marked, expected) in [(true, 800), (false, 500)] {
        let mut pair = Pair::new(&TcpSettings { congestion: CongestionSettings::Aimd(aimd), ..settings() }, |p| p);
        let mut data = pair.write(10);
        if is_marked {
            data[0] = marked(data[0]);
        } else {
            data.remove(0);
        }
        let acks = pair.answers(&data);
        pair.reactions(&acks);
        assert_eq!(pair.sender.ssthresh(), Some(expected)); // RFC 8511 §3: 0.8 of ten segments
    }
}
