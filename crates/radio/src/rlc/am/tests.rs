//! Two entities with a channel between them on which chosen PDUs are lost.

use std::collections::VecDeque;

use cellwind_engine::random::Stream;
use cellwind_engine::time::Span;

use super::*;
use crate::rlc::Run;
use crate::rlc::settings::{Discard, PollSettings, StatusSettings, Timer};

mod discards;
mod figures;
mod polls;
mod properties;
mod reports;
mod resets;

/// The length of a TTI.
const TTI: Span = Span::from_millis(10);

/// Settings without any trigger, any timer and any discard.
fn plain() -> AmSettings {
    AmSettings {
        discard: Discard::None,
        poll: PollSettings {
            last_pdu: false,
            last_retransmitted_pdu: false,
            timer: Timer::None,
            ..PollSettings::default()
        },
        status: StatusSettings { missing_pdu: false, prohibit: Timer::None, ..StatusSettings::default() },
        ..AmSettings::default()
    }
}

fn ttis(count: u64) -> Timer {
    Timer::Of(TTI * count)
}

/// One end of a bearer and what it has sent that has not arrived.
struct End {
    entity: AmEntity,
    in_flight: VecDeque<(u64, Pdu)>,
    format: Format,
}

/// Two ends, the directions from the first to the second and back, and the TTI that begins next.
struct Pair {
    ends: [End; 2],
    ways: [Carried; 2],
    tti: u64,
    /// TTIs from the one in which a PDU is sent to the one at whose beginning it has arrived.
    delay: u64,
    /// What each TTI carried, as text: sent by end 0, sent by end 1.
    sent: Vec<[String; 2]>,
    /// SDUs that left, by the sequence number of their packets: from end 0 to end 1, and back.
    delivered: [Vec<u64>; 2],
    /// PDUs to be lost: end, TTI, sequence number less 0 (AMD PDUs), none for control PDUs.
    lose: Vec<(usize, u64, Option<u16>)>,
    errors: Option<(f64, Stream)>,
    entered: [u64; 2],
    out: Outbox,
    facts: Vec<Fact>,
}

impl Pair {
    /// Ends with the same settings in both directions.
    fn new(settings: &AmSettings, pdu: u16, blocks: u32) -> Pair {
        Pair::of([settings, settings], pdu, [blocks, blocks])
    }

    /// Ends with the settings of the direction from end 0, and of the one from end 1.
    fn of(settings: [&AmSettings; 2], pdu: u16, blocks: [u32; 2]) -> Pair {
        let formats = blocks.map(|blocks| Format { pdu, tti: TTI, blocks });
        let end = |own: usize| {
            let settings = (settings[own], settings[1 - own]);
            let entity = AmEntity::new(Time::ZERO, settings, (formats[own], formats[1 - own]));
            End { entity, in_flight: VecDeque::new(), format: formats[own] }
        };
        Pair {
            ends: [end(0), end(1)],
            ways: [Carried::default(), Carried::default()],
            tti: 0,
            delay: 1,
            sent: Vec::new(),
            delivered: [Vec::new(), Vec::new()],
            lose: Vec::new(),
            errors: None,
            entered: [0, 0],
            out: Outbox::new(true),
            facts: Vec::new(),
        }
    }

    fn now(&self) -> Time {
        Time::ZERO + TTI * self.tti
    }

    /// Hands an SDU of `octets` to an end.
    fn enter(&mut self, end: usize, octets: u32) {
        let packet = Packet { seq: self.entered[end], payload: octets.saturating_sub(20), header: 20, ..Packet::EMPTY };
        self.entered[end] += 1;
        let now = self.now();
        self.ends[end].entity.on_sdu(now, &packet, octets, &mut self.ways[end], &mut self.out);
    }

    /// Runs one TTI: what arrives, timers, and both opportunities.
    fn step(&mut self) {
        let now = self.now();
        for end in [0, 1] {
            while self.ends[end].in_flight.front().is_some_and(|&(arrives, _)| arrives <= self.tti) {
                let (_, pdu) = self.ends[end].in_flight.pop_front().unwrap();
                self.arrive(1 - end, pdu);
            }
        }
        let mut line = [String::new(), String::new()];
        for end in [0, 1] {
            let [first, second] = &mut self.ways;
            let (way, back) = if end == 0 { (first, second) } else { (second, first) };
            let entity = &mut self.ends[end].entity;
            let mut rounds = 0;
            while entity.next_timeout(way).is_some_and(|due| due <= now) && rounds < 20 {
                entity.on_timeout(now, way, back, &mut self.out);
                rounds += 1;
                // A prohibition that ends leaves something to send.
                if entity.has_something_to_send(now, way) {
                    break;
                }
            }
            assert!(rounds < 20, "timers come due again and again at {now}");
            let mut batch = Vec::new();
            if entity.has_something_to_send(now, way) {
                let blocks = u64::from(self.ends[end].format.blocks);
                let used = entity.on_opportunity(now, blocks, way, &mut batch, &mut self.out);
                assert_eq!(used, batch.iter().map(Pdu::count).sum::<u64>());
                assert!(used > 0 && used <= blocks, "{used} of {blocks} blocks");
            }
            line[end] = batch.iter().map(show).collect::<Vec<_>>().join(" ");
            for pdu in batch {
                self.send(end, pdu);
            }
        }
        self.sent.push(line);
        self.tti += 1;
        for end in [0, 1] {
            self.ends[end].entity.check(&self.ways[end], &self.ways[1 - end]).unwrap();
        }
        self.facts.extend(self.out.take_facts().into_iter().map(|row| row.fact()));
        self.out.take_dropped().count();
    }

    fn send(&mut self, end: usize, pdu: Pdu) {
        let arrives = self.tti + self.delay;
        match pdu {
            Pdu::Data(mut run) => {
                while run.count > 0 {
                    let one = run.split_off(1);
                    if !self.is_lost(end, Some(one.first)) {
                        self.ends[end].in_flight.push_back((arrives, Pdu::Data(one)));
                    }
                }
            }
            pdu => {
                let sn = if let Pdu::DataWithStatus(run, _) = &pdu { Some(run.first) } else { None };
                if !self.is_lost(end, sn) {
                    self.ends[end].in_flight.push_back((arrives, pdu));
                }
            }
        }
    }

    fn is_lost(&mut self, end: usize, sn: Option<Sn>) -> bool {
        let tti = self.tti;
        let planned = self.lose.iter().any(|&lost| lost == (end, tti, sn.map(Sn::get)));
        planned || self.errors.as_mut().is_some_and(|(rate, stream)| stream.uniform() < *rate)
    }

    /// PDUs arrive at `end`, neighbours in one run again where it does not matter.
    fn arrive(&mut self, end: usize, pdu: Pdu) {
        let now = self.now();
        let [first, second] = &mut self.ways;
        let (outgoing, incoming) = if end == 0 { (first, second) } else { (second, first) };
        let left = &mut self.delivered[1 - end];
        self.ends[end].entity.on_pdu(now, pdu, outgoing, incoming, &mut |sdu| left.push(sdu.packet.seq), &mut self.out);
    }

    /// Runs up to and including a TTI.
    fn run_to(&mut self, tti: u64) {
        while self.tti <= tti {
            self.step();
        }
    }

    /// What an end sent in a TTI.
    fn sent(&self, end: usize, tti: u64) -> &str {
        &self.sent[tti as usize][end]
    }

    /// The TTIs in which an end sent something, and what, up to now.
    fn all_sent(&self, end: usize) -> Vec<(u64, &str)> {
        (0..)
            .zip(&self.sent)
            .map(|(tti, line)| (tti, line[end].as_str()))
            .filter(|(_, line)| !line.is_empty())
            .collect()
    }

    fn dropped(&self, way: usize) -> u64 {
        self.ways[way].traffic().packets_dropped
    }

    fn count(&self, kind: FactKind) -> usize {
        self.facts.iter().filter(|fact| fact.kind == kind).count()
    }
}

/// A PDU as text: numbers of AMD PDUs, in brackets where resent, with `P` behind a poll.
fn show(pdu: &Pdu) -> String {
    let run = |run: &Run| {
        let last = Sn::of(u64::from(run.first.get()) + u64::from(run.count) - 1);
        let numbers = if run.count == 1 { format!("{}", run.first) } else { format!("{}-{last}", run.first) };
        let numbers = if run.resent { format!("({numbers})") } else { numbers };
        format!("{numbers}{}", if run.poll { "P" } else { "" })
    };
    match pdu {
        Pdu::Data(data) => run(data),
        Pdu::DataWithStatus(data, status) => format!("{}+{}", run(data), show_status(status)),
        Pdu::Status(status) => show_status(status),
        Pdu::Reset(reset) => format!("RESET{}", u8::from(reset.rsn)),
        Pdu::Unacknowledged { .. } => unreachable!("acknowledged mode"),
        Pdu::ResetAck(reset) => format!("RESETACK{}", u8::from(reset.rsn)),
    }
}

/// A STATUS PDU as text: what it tells missing behind an exclamation mark, the ACK's LSN behind an A.
fn show_status(status: &Status) -> String {
    let mut words = Vec::new();
    for field in &status.fields {
        words.push(match field {
            SuperField::Window(wsn) => format!("W{wsn}"),
            SuperField::List(pairs) => {
                let pair = |&(sn, more): &(u16, u8)| if more == 0 { format!("{sn}") } else { format!("{sn}+{more}") };
                format!("!{}", pairs.iter().map(pair).collect::<Vec<_>>().join(","))
            }
            SuperField::Bitmap { first, bits } => {
                let zero = |place: &usize| bits[place / 8] >> (7 - place % 8) & 1 == 0;
                let missing = (0..bits.len() * 8).filter(zero).map(|place| Sn::of(u64::from(*first) + place as u64));
                format!("!{}", missing.map(|sn| sn.to_string()).collect::<Vec<_>>().join(","))
            }
            SuperField::RelativeList(list) => {
                let run = |run: &crate::rlc::pdu::Run| format!("{}x{}", run.first, run.count);
                format!("!{}", list.runs().iter().map(run).collect::<Vec<_>>().join(","))
            }
            SuperField::MoveReceivingWindow { sns, n, beyond_window } => {
                format!("MRW{}.{n}{}", sns[0], if *beyond_window { "^" } else { "" })
            }
            SuperField::MoveReceivingWindowAck { n, sn } => format!("MRWACK{sn}.{n}"),
            SuperField::Poll(sn) => format!("POLL{sn}"),
        });
    }
    if let StatusEnd::Ack(lsn) = status.end {
        words.push(format!("A{lsn}"));
    }
    words.join(" ")
}
