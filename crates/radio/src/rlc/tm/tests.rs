//! PDUs of 40 octets, four in a TTI of 10 ms.

use cellwind_engine::random::{IndependentErrors, Stream};
use cellwind_engine::time::Span;
use cellwind_engine::units::Probability;

use super::*;
use crate::rlc::sdu::Sdu;
use crate::rlc::settings::Timer;
use crate::rlc::um::Receiver;

struct Bearer {
    transmitter: Transmitter,
    receiver: Receiver,
    carried: Carried,
    delivered: Vec<u64>,
    out: Outbox,
}

impl Bearer {
    fn new(segmentation: bool, discard_timer: Timer) -> Self {
        let settings = TmSettings { segmentation, discard_timer, ..TmSettings::default() };
        let format = Format { pdu: 40, tti: Span::from_millis(10), blocks: 4 };
        Bearer {
            transmitter: Transmitter::new(&settings, format),
            receiver: Receiver::default(),
            carried: Carried::default(),
            delivered: Vec::new(),
            out: Outbox::new(false),
        }
    }

    fn enter(&mut self, ms: u64, sizes: &[u32]) {
        for &octets in sizes {
            let seq = self.carried.traffic().packets_in;
            let packet = Packet { seq, payload: octets, header: 0, ..Packet::EMPTY };
            self.transmitter.on_sdu(Time::from_millis(ms), &packet, octets, &mut self.carried, &mut self.out);
        }
    }

    fn send(&mut self, blocks: u64) -> (u64, u64) {
        let mut batch = Vec::new();
        self.transmitter.on_opportunity(blocks, &mut self.carried, &mut batch, &mut self.out);
        match batch[..] {
            [] => (self.carried.sent_to, self.carried.sent_to),
            [Pdu::Unacknowledged { first, count }] => (first, first + u64::from(count)),
            ref other => panic!("unexpected {other:?}"),
        }
    }

    fn arrive(&mut self, first: u64, end: u64) {
        let mut delivered = |sdu: &Sdu| self.delivered.push(sdu.packet.seq);
        self.receiver.on_pdus(first, (end - first) as u16, &mut self.carried, &mut delivered, &mut self.out);
        self.carried.check().unwrap();
    }

    fn dropped(&self) -> u64 {
        self.carried.traffic().packets_dropped
    }
}

/// Each SDU is a PDU; 41 octets are too many for one, which the fact says.
#[test]
fn an_sdu_is_a_pdu() {
    let mut bearer = Bearer::new(false, Timer::None);
    bearer.out = Outbox::new(true);
    bearer.enter(0, &[40, 41, 1]);
    assert_eq!(bearer.out.take_facts()[0].fact().a, DropReason::TooLarge as u64);
    assert_eq!(bearer.send(4), (0, 2));
    bearer.arrive(1, 2);
    assert_eq!((&bearer.delivered[..], bearer.dropped()), (&[2][..], 2));
}

/// 100 octets take three PDUs and the TTI, although the next SDU would fit; 160 fill a TTI, and 161 none. With three blocks the
/// 160 wait.
#[test]
fn a_segmented_sdu_has_the_tti_for_itself() {
    let mut bearer = Bearer::new(true, Timer::None);
    bearer.enter(0, &[100, 160, 161]);
    assert_eq!(bearer.dropped(), 1);
    assert_eq!(bearer.send(4), (0, 3));
    assert_eq!(bearer.send(3), (3, 3));
    assert_eq!(bearer.send(4), (3, 7));
    let sdu = bearer.carried.sdu(0);
    assert_eq!((sdu.first, sdu.in_first, sdu.last, sdu.in_last), (0, 40, 2, 20));
    bearer.arrive(0, 7);
    assert_eq!(bearer.delivered, [0, 1]);
}

/// §9.7.3.5: without a timer, what came in an earlier TTI and was not sent makes room for what comes now.
#[test]
fn without_a_timer_only_the_latest_sdus_wait() {
    let mut bearer = Bearer::new(false, Timer::None);
    bearer.enter(1, &[10, 10]);
    bearer.enter(9, &[10]);
    assert_eq!(bearer.dropped(), 0);
    bearer.enter(10, &[10]);
    assert_eq!((bearer.dropped(), bearer.carried.waiting()), (3, 1));
    assert_eq!(bearer.transmitter.next_timeout(&bearer.carried), None);
}

#[test]
fn with_a_timer_sdus_wait_that_long() {
    let mut bearer = Bearer::new(false, Timer::Of(Span::from_millis(50)));
    bearer.enter(1, &[10]);
    bearer.enter(20, &[10]);
    assert_eq!(bearer.transmitter.next_timeout(&bearer.carried), Some(Time::from_millis(51)));
    bearer.transmitter.on_timeout(Time::from_millis(51), &mut bearer.carried, &mut bearer.out);
    assert_eq!((bearer.dropped(), bearer.carried.waiting()), (1, 1));
}

/// After a change to smaller PDUs, what fits no more is dropped when its turn comes.
#[test]
fn what_fits_no_more_is_dropped() {
    let mut bearer = Bearer::new(false, Timer::Of(Span::from_millis(50)));
    bearer.enter(0, &[40, 20]);
    let settings = TmSettings { discard_timer: Timer::Of(Span::from_millis(50)), ..TmSettings::default() };
    bearer.transmitter.set(&settings, Format { pdu: 30, tti: Span::from_millis(10), blocks: 4 });
    assert_eq!(bearer.send(4), (0, 1));
    bearer.arrive(0, 1);
    assert_eq!((&bearer.delivered[..], bearer.dropped()), (&[1][..], 1));
}

/// SDUs of three PDUs, of which one in ten is lost: 0.9^3 get through, within four standard deviations of 20 000 trials, 0.013.
#[test]
fn losses_of_sdus_follow_from_those_of_pdus() {
    let mut bearer = Bearer::new(true, Timer::None);
    let mut errors = IndependentErrors::new(Probability::new(0.1).unwrap(), Stream::new(1, 0, "tm"));
    let sdus = 20_000;
    for ms in 0..sdus {
        bearer.enter(10 * ms, &[100]);
        let (first, end) = bearer.send(4);
        (first..end).filter(|_| !errors.strikes()).for_each(|pdu| bearer.arrive(pdu, pdu + 1));
    }
    let got = bearer.delivered.len() as f64 / sdus as f64;
    assert!((got - 0.9f64.powi(3)).abs() < 0.013, "{got}");
}
