//! What a PDU costs RLC acknowledged mode: transmitter, receiver and status reports together.
//!
//! Each line of output: what is sent, PDUs sent for each that SDUs need, and nanoseconds per PDU sent, the draws of errors
//! included. Two entities exchange whole TTIs over a channel of 384 kbit/s with a delay of 50 ms each way; packets are
//! always waiting. Words after `--` choose the lines that begin with them, as in `cargo bench --bench rlc -- 1500`.

use std::collections::VecDeque;
use std::time::Instant;

use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::Packet;
use cellwind_engine::random::{IndependentErrors, Stream};
use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::Probability;
use cellwind_radio::rlc::am::AmEntity;
use cellwind_radio::rlc::sdu::Carried;
use cellwind_radio::rlc::settings::{AmSettings, Timer};
use cellwind_radio::rlc::{Format, Pdu};
use cellwind_radio::settings::Delivery;

const TTI: Span = Span::from_millis(10);
/// TTIs from the sending of a PDU to its arrival.
const DELAY: usize = 5;
/// Length of a measurement.
const TTIS: u64 = 300_000;

struct Case {
    name: &'static str,
    sdu: u32,
    errors: f64,
    settings: AmSettings,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wanted = words.join(" ");
    let usual = AmSettings::default();
    let case = |name, sdu, errors, settings: &AmSettings| Case { name, sdu, errors, settings: settings.clone() };
    let mut polled = usual.clone();
    polled.poll.every_pdus = Some(32);
    polled.status.prohibit = Timer::None;
    let arbitrary = AmSettings { delivery: Delivery::OutOfSequence, ..usual.clone() };
    let cases = [
        case("1500 octets, in sequence", 1500, 0.1, &usual),
        case("1500 octets, no errors", 1500, 0.0, &usual),
        case("1500 octets, out of sequence", 1500, 0.1, &arbitrary),
        case("1500 octets, no status prohibit", 1500, 0.1, &polled),
        case("40 octets", 40, 0.1, &usual),
    ];
    for case in cases.iter().filter(|case| case.name.starts_with(&wanted)) {
        let (sent, delivered, ns) = run(case);
        let needed = delivered as f64 * f64::from(case.sdu) / 40.0;
        println!("{:<36} {:>6.3} {:>8.1}", case.name, sent as f64 / needed, ns as f64 / sent as f64);
    }
}

/// PDUs sent, SDUs delivered, and nanoseconds spent.
fn run(case: &Case) -> (u64, u64, u128) {
    let format = Format { pdu: 42, tti: TTI, blocks: 12 };
    let entity = || AmEntity::new(Time::ZERO, (&case.settings, &case.settings), (format, format));
    let (mut sender, mut receiver) = (entity(), entity());
    let (mut down, mut up) = (Carried::default(), Carried::default());
    let mut errors =
        IndependentErrors::new(Probability::new(case.errors).expect("below one"), Stream::new(1, 0, "errors"));
    let mut out = Outbox::new(false);
    let packet = Packet { payload: case.sdu - 20, header: 20, ..Packet::EMPTY };
    let batches = || (0..=DELAY).map(|_| Vec::new()).collect::<VecDeque<Vec<Pdu>>>();
    let (mut down_air, mut up_air) = (batches(), batches());
    let (mut sent, mut delivered) = (0, 0);
    let started = Instant::now();
    for tti in 0..TTIS {
        let now = Time::ZERO + TTI * tti;
        while down.unsent_octets() < 1000 {
            sender.on_sdu(now, &packet, case.sdu, &mut down, &mut out);
        }
        let mut batch = up_air.pop_front().expect("there are as many as TTIs of delay");
        for pdu in batch.drain(..) {
            sender.on_pdu(now, pdu, &mut down, &mut up, &mut |_| (), &mut out);
        }
        up_air.push_back(batch);
        if sender.next_timeout(&down).is_some_and(|due| due <= now) {
            sender.on_timeout(now, &mut down, &up, &mut out);
        }
        if sender.has_something_to_send(now, &down) {
            let batch = down_air.back_mut().expect("there is one more than TTIs of delay");
            sent += sender.on_opportunity(now, u64::from(format.blocks), &mut down, batch, &mut out);
        }
        let mut batch = down_air.pop_front().expect("as above");
        for pdu in batch.drain(..) {
            arrive(pdu, &mut errors, |pdu| {
                receiver.on_pdu(now, pdu, &mut up, &mut down, &mut |_| delivered += 1, &mut out);
            });
        }
        down_air.push_back(batch);
        if receiver.next_timeout(&up).is_some_and(|due| due <= now) {
            receiver.on_timeout(now, &mut up, &down, &mut out);
        }
        if receiver.has_something_to_send(now, &up) {
            let batch = up_air.back_mut().expect("as above");
            receiver.on_opportunity(now, 2, &mut up, batch, &mut out);
        }
    }
    let ns = started.elapsed().as_nanos();
    sender.check(&down, &up).expect("the books are right");
    (sent, delivered, ns)
}

/// Lets errors strike the PDUs of a run, and passes on what is left of it.
fn arrive(pdu: Pdu, errors: &mut IndependentErrors, mut pass: impl FnMut(Pdu)) {
    let Pdu::Data(mut run) = pdu else { return pass(pdu) };
    while run.count > 0 {
        let fine = errors.take_successes(u64::from(run.count)) as u16;
        if fine > 0 {
            pass(Pdu::Data(run.split_off(fine)));
        }
        if run.count > 0 {
            run.split_off(1);
            errors.strikes();
        }
    }
}
