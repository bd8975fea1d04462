//! PDUs of 42 octets, of which the sequence number takes one, and 41 are left for indicators of one octet and data.

use cellwind_engine::random::{IndependentErrors, Stream};
use cellwind_engine::time::Span;
use cellwind_engine::units::Probability;
use cellwind_path::settings::QueueLimit;

use super::*;
use crate::rlc::sdu::Fate;
use crate::rlc::settings::Timer;

/// A direction with both of its ends.
struct Bearer {
    transmitter: Transmitter,
    receiver: Receiver,
    carried: Carried,
    delivered: Vec<u64>,
    out: Outbox,
}

impl Bearer {
    fn new(settings: &UmSettings, pdu: u16) -> Self {
        let format = Format { pdu, tti: Span::from_millis(10), blocks: 12 };
        Bearer {
            transmitter: Transmitter::new(settings, format),
            receiver: Receiver::default(),
            carried: Carried::default(),
            delivered: Vec::new(),
            out: Outbox::new(false),
        }
    }

    /// Takes packets of these sizes in at `ms`, numbered by how many came before.
    fn enter(&mut self, ms: u64, sizes: &[u32]) {
        for &octets in sizes {
            let seq = self.carried.traffic().packets_in;
            let packet = Packet { seq, payload: octets, header: 0, ..Packet::EMPTY };
            self.transmitter.on_sdu(Time::from_millis(ms), &packet, octets, &mut self.carried, &mut self.out);
        }
    }

    /// Sends at most `blocks` PDUs and gives the counts of the first and of the one behind the last.
    fn send(&mut self, ms: u64, blocks: u64) -> (u64, u64) {
        let mut batch = Vec::new();
        let now = Time::from_millis(ms);
        self.transmitter.on_opportunity(now, blocks, &mut self.carried, &mut batch, &mut self.out);
        match batch[..] {
            [] => (self.carried.sent_to, self.carried.sent_to),
            [Pdu::Unacknowledged { first, count }] => (first, first + u64::from(count)),
            ref other => panic!("unexpected {other:?}"),
        }
    }

    /// PDUs `first` up to, not including, `end` arrive.
    fn arrive(&mut self, first: u64, end: u64) {
        let mut delivered = |sdu: &Sdu| self.delivered.push(sdu.packet.seq);
        self.receiver.on_pdus(first, (end - first) as u16, &mut self.carried, &mut delivered, &mut self.out);
        self.carried.check().unwrap();
    }

    /// First and last PDU of an SDU, and its octets in each.
    fn place(&self, ordinal: u64) -> (u64, u16, u64, u16) {
        let sdu = self.carried.sdu(ordinal);
        (sdu.first, sdu.in_first, sdu.last, sdu.in_last)
    }

    fn dropped(&self) -> u64 {
        self.carried.traffic().packets_dropped
    }
}

/// 60 octets: an indicator of their beginning and 40, then 20 and an indicator of their end; that leaves 20 for the next 30.
#[test]
fn sdus_are_segmented_and_concatenated() {
    let mut bearer = Bearer::new(&UmSettings::default(), 42);
    bearer.enter(0, &[60, 30]);
    assert_eq!(bearer.send(0, 12), (0, 3));
    assert_eq!(bearer.place(0), (0, 40, 1, 20));
    assert_eq!(bearer.place(1), (1, 20, 2, 10));
    assert!(!bearer.transmitter.has_something_to_send(&bearer.carried));
    bearer.arrive(0, 3);
    assert_eq!(bearer.delivered, [0, 1]);
    assert_eq!(bearer.carried.start(), 2);
}

/// 40 octets fill the PDU behind the indicator of their beginning, so that the next PDU tells their end (§9.2.2.8): alone, or
/// before an SDU of 39 and the indicator of its end.
#[test]
fn an_sdu_that_fills_its_pdu_ends_in_the_next() {
    let mut bearer = Bearer::new(&UmSettings::default(), 42);
    bearer.enter(0, &[40]);
    assert_eq!(bearer.send(0, 1), (0, 1));
    bearer.arrive(0, 1);
    assert!(bearer.delivered.is_empty() && bearer.transmitter.has_something_to_send(&bearer.carried));
    bearer.enter(10, &[39]);
    assert_eq!(bearer.send(10, 12), (1, 2));
    assert_eq!(bearer.place(0), (0, 40, 1, 0));
    assert_eq!(bearer.place(1), (1, 39, 1, 39));
    bearer.arrive(1, 2);
    assert_eq!(bearer.delivered, [0, 1]);
    bearer.enter(20, &[40]);
    assert_eq!(bearer.send(20, 12), (2, 4), "the end alone, and padding");
}

/// 200 octets, indicators of two: 199 behind the number, 197 behind the first indicator. 195 and an indicator fill it; 196 leave
/// an octet, which is padding; behind 194 and an indicator one octet is left and is padding too.
#[test]
fn indicators_of_fifteen_bits_leave_an_octet() {
    for (octets, pdus) in [(194, 1), (195, 1), (196, 2), (197, 2), (198, 2)] {
        let mut bearer = Bearer::new(&UmSettings::default(), 200);
        bearer.enter(0, &[octets, 5]);
        bearer.send(0, 12);
        assert_eq!(bearer.place(0).2, pdus - 1, "{octets}");
        let begins = if octets <= 195 { pdus } else { pdus - 1 };
        assert_eq!(bearer.place(1).0, begins, "{octets}");
    }
}

/// SDUs 0 and 1 lie in PDUs 0 and 1, and 1 and 2; a loss is noticed with the next PDU that arrives.
#[test]
fn a_lost_pdu_loses_the_sdus_it_carries() {
    for (lost, delivered) in [(0, vec![1, 2]), (1, vec![2]), (2, vec![0, 2])] {
        let mut bearer = Bearer::new(&UmSettings::default(), 42);
        bearer.enter(0, &[60, 30]);
        assert_eq!(bearer.send(0, 12), (0, 3));
        bearer.enter(10, &[10]);
        assert_eq!(bearer.send(10, 12), (3, 4));
        (0..4).filter(|&pdu| pdu != lost).for_each(|pdu| bearer.arrive(pdu, pdu + 1));
        assert_eq!(bearer.delivered, delivered, "without PDU {lost}");
        assert_eq!(bearer.dropped() as usize, 3 - delivered.len());
    }
}

/// The end of an SDU that fills PDU 0 is told by PDU 1 alone.
#[test]
fn a_lost_end_loses_the_sdu() {
    let mut bearer = Bearer::new(&UmSettings::default(), 42);
    bearer.enter(0, &[40, 80, 10]);
    bearer.send(0, 12);
    bearer.arrive(0, 1);
    bearer.arrive(2, 4);
    assert_eq!((&bearer.delivered[..], bearer.dropped()), (&[2][..], 2));
}

/// SDUs of five PDUs each, of which one in ten is lost, get through with probability 0.9^5. The tolerance is four standard
/// deviations of 20 000 trials, 0.014.
#[test]
fn losses_of_sdus_follow_from_those_of_pdus() {
    let mut bearer = Bearer::new(&UmSettings::default(), 42);
    let mut errors = IndependentErrors::new(Probability::new(0.1).unwrap(), Stream::new(1, 0, "um"));
    let sdus = 20_000;
    for ms in 0..sdus {
        // 40, three times 41 and 20 octets; the rest of the fifth PDU is padding.
        bearer.enter(ms, &[40 + 3 * 41 + 20]);
        let (first, end) = bearer.send(ms, 12);
        assert_eq!(end - first, 5);
        (first..end).filter(|_| !errors.strikes()).for_each(|pdu| bearer.arrive(pdu, pdu + 1));
    }
    let got = bearer.delivered.len() as f64 / sdus as f64;
    assert!((got - 0.9f64.powi(5)).abs() < 0.014, "{got}");
    assert!(bearer.delivered.is_sorted());
}

/// An SDU that is sent in part when its time is over leaves a gap of one number (§11.2.4.3), and the next one gets through.
#[test]
fn an_sdu_discarded_in_the_middle_leaves_a_gap() {
    let settings = UmSettings { discard_timer: Timer::Of(Span::from_millis(50)), ..UmSettings::default() };
    let mut bearer = Bearer::new(&settings, 42);
    bearer.enter(0, &[100]);
    bearer.enter(20, &[30]);
    assert_eq!(bearer.send(40, 1), (0, 1));
    assert_eq!(bearer.transmitter.next_timeout(&bearer.carried), Some(Time::from_millis(50)));
    bearer.transmitter.on_timeout(Time::from_millis(50), &mut bearer.carried, &mut bearer.out);
    assert_eq!(bearer.transmitter.next_timeout(&bearer.carried), Some(Time::from_millis(70)));
    assert_eq!(bearer.send(60, 12), (2, 3));
    bearer.arrive(0, 1);
    bearer.arrive(2, 3);
    assert_eq!((&bearer.delivered[..], bearer.dropped()), (&[1][..], 1));
    assert_eq!(bearer.transmitter.next_timeout(&bearer.carried), None);
}

/// One of which nothing was sent leaves none, and one that was all sent is not discarded, though its end is to be told yet.
#[test]
fn only_what_was_not_sent_is_discarded() {
    let settings = UmSettings { discard_timer: Timer::Of(Span::from_millis(50)), ..UmSettings::default() };
    let mut bearer = Bearer::new(&settings, 42);
    bearer.enter(0, &[40, 30]);
    assert_eq!(bearer.send(10, 1), (0, 1));
    assert_eq!(bearer.transmitter.next_timeout(&bearer.carried), None);
    assert_eq!(bearer.send(60, 1), (1, 2));
    assert_eq!(bearer.carried.sdu(1).fate, Fate::Dropped);
    bearer.enter(60, &[5]);
    assert_eq!(bearer.send(60, 1), (2, 3));
    bearer.arrive(0, 3);
    assert_eq!(bearer.delivered, [0, 2]);
}

/// The receiver has lost an SDU of which the transmitter sends the rest; it is dropped once.
#[test]
fn an_sdu_lost_and_discarded_is_dropped_once() {
    let settings = UmSettings { discard_timer: Timer::Of(Span::from_millis(50)), ..UmSettings::default() };
    let mut bearer = Bearer::new(&settings, 42);
    bearer.enter(0, &[200]);
    assert_eq!(bearer.send(10, 2), (0, 2));
    bearer.arrive(1, 2);
    assert_eq!(bearer.dropped(), 1);
    bearer.transmitter.on_timeout(Time::from_millis(50), &mut bearer.carried, &mut bearer.out);
    assert_eq!((bearer.dropped(), bearer.carried.start()), (1, 1));
    bearer.carried.check().unwrap();
}

/// The second of two SDUs was begun and discarded when the PDUs of the first arrive, its own being in flight.
#[test]
fn an_sdu_may_be_discarded_while_its_pdus_are_in_flight() {
    let settings = UmSettings { discard_timer: Timer::Of(Span::from_millis(50)), ..UmSettings::default() };
    let mut bearer = Bearer::new(&settings, 42);
    bearer.enter(0, &[39]);
    assert_eq!(bearer.send(10, 1), (0, 1));
    bearer.enter(20, &[100]);
    assert_eq!(bearer.send(30, 1), (1, 2));
    bearer.transmitter.on_timeout(Time::from_millis(70), &mut bearer.carried, &mut bearer.out);
    bearer.arrive(0, 1);
    assert_eq!((&bearer.delivered[..], bearer.dropped(), bearer.carried.start()), (&[0][..], 1, 2));
    bearer.arrive(1, 2);
}

/// One SDU is being sent, two wait, and the next is refused.
#[test]
fn the_queue_is_bounded() {
    let settings = UmSettings { queue: QueueLimit::Packets(2), ..UmSettings::default() };
    let mut bearer = Bearer::new(&settings, 42);
    bearer.enter(0, &[100]);
    bearer.send(0, 1);
    bearer.enter(0, &[100, 100, 100]);
    assert_eq!((bearer.carried.waiting(), bearer.dropped()), (2, 1));
}

/// 896 PDUs are lost in a row, seven times as many as seven bits number, and their SDUs all the same.
#[test]
fn a_long_gap_is_noticed() {
    let mut bearer = Bearer::new(&UmSettings::default(), 42);
    bearer.enter(0, &[1500; 128]);
    let (first, end) = bearer.send(0, 128 * 8);
    bearer.arrive(first, 5);
    bearer.arrive(5 + 128 * 7, end);
    // An SDU takes a little more than 1500 / 41 = 36.6 PDUs, so that 901 PDUs hold all of 24 and a part of the next.
    assert_eq!(bearer.delivered.first(), Some(&25));
    assert_eq!(bearer.dropped(), 25);
}
