//! Random settings, traffic and losses: every SDU leaves once or is dropped once, in order where that is asked for, and
//! nothing stands still that has a way on.

use super::*;
use crate::rlc::settings::StatusFormat;
use crate::settings::Delivery;

struct Dice(Stream);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    fn timer(&mut self, longest: u64) -> Timer {
        if self.coin() { Timer::None } else { ttis(1 + self.below(longest)) }
    }

    fn settings(&mut self) -> AmSettings {
        let window = self.one_of(&[1, 2, 7, 32, 128, 2047, 2048, 4095]);
        let mut settings = AmSettings {
            window,
            // A receiver that takes less than the transmitter may send never hears of what it did not take.
            receive_window: window,
            discard: self.one_of(&[Discard::None, Discard::MaxDat, Discard::Timer, Discard::Reset]),
            max_dat: self.one_of(&[1, 2, 3, 10]),
            discard_timer: TTI * (1 + self.below(60)),
            timer_mrw: TTI * (1 + self.below(20)),
            max_mrw: self.one_of(&[1, 2, 8]),
            timer_rst: TTI * (1 + self.below(20)),
            max_rst: self.one_of(&[1, 2, 8]),
            delivery: self.one_of(&[Delivery::InSequence, Delivery::OutOfSequence]),
            queue: self.one_of(&[QueueLimit::Unlimited, QueueLimit::Packets(3)]),
            buffer: self.one_of(&[None, Some(Size::from_bytes(2000))]),
            special_he: self.coin(),
            poll: PollSettings {
                last_pdu: self.coin(),
                last_retransmitted_pdu: self.coin(),
                every_pdus: self.one_of(&[None, Some(1), Some(5)]),
                every_sdus: self.one_of(&[None, Some(1), Some(3)]),
                window: self.one_of(&[None, Some(1), Some(60), Some(100)]),
                periodic: self.timer(40),
                timer: self.timer(40),
                prohibit: self.timer(20),
            },
            status: StatusSettings {
                missing_pdu: self.coin(),
                // A report in each TTI would leave no room for the data of an end that sends one PDU in each.
                periodic: self.one_of(&[Timer::None, ttis(2), ttis(30)]),
                prohibit: self.timer(30),
                estimated_pdu_counter: self.timer(20),
                window: self.one_of(&[None, Some(1), Some(50)]),
                format: self.one_of(&[StatusFormat::Bitmap, StatusFormat::List, StatusFormat::RelativeList]),
                piggyback: self.coin(),
            },
        };
        if !settings.never_stands_still() {
            settings.poll.periodic = ttis(1 + self.below(40));
        }
        settings
    }
}

/// Runs one random case and returns what happened, for a failure's sake.
fn run(seed: u64) -> Pair {
    let mut dice = Dice(Stream::new(seed, 0, "case"));
    let settings = [dice.settings(), dice.settings()];
    let pdu = dice.one_of(&[6, 8, 12, 42, 82, 127, 200, 656]);
    let blocks = [dice.one_of(&[1, 2, 12, 50]), dice.one_of(&[1, 2, 12])];
    let mut pair = Pair::of([&settings[0], &settings[1]], pdu, blocks);
    pair.delay = 1 + dice.below(12);
    let rate = dice.one_of(&[0.0, 0.02, 0.1, 0.3, 0.6]);
    pair.errors = Some((rate, Stream::new(seed, 0, "errors")));
    for _ in 0..400 {
        for end in [0, 1] {
            if dice.below(if end == 0 { 4 } else { 10 }) == 0 {
                let octets = dice.one_of(&[0, 1, 39, 40, 41, 60, 576, 1500]);
                pair.enter(end, octets);
            }
        }
        pair.step();
        revive(&mut pair);
    }
    pair.errors = None;
    let mut progress = (pair.tti, [(0, 0); 2]);
    while pair.tti < 20_000 && pair.ways.iter().any(|way| way.traffic().packets_held() > 0) {
        pair.step();
        revive(&mut pair);
        let state = [0, 1].map(|way| (pair.ways[way].sent_to, pair.ways[way].traffic().packets_held()));
        if state != progress.1 {
            progress = (pair.tti, state);
        }
        // The longest timers take 60 TTIs, and a request is repeated eight times.
        let still = pair.tti - progress.0;
        assert!(still < 1000, "seed {seed} stands still, {settings:?}\n{:?}", &pair.sent[pair.sent.len() - 60..]);
    }
    for way in [0, 1] {
        let left = &pair.delivered[way];
        let held = pair.ways[way].traffic().packets_held();
        assert_eq!(left.len() as u64 + pair.dropped(way) + held, pair.entered[way], "seed {seed}");
        if settings[way].delivery == Delivery::InSequence {
            assert!(left.is_sorted_by(|a, b| a < b), "seed {seed}: out of order");
        }
        let mut sorted = left.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), left.len(), "seed {seed}: delivered twice");
        if settings[way].discard == Discard::None && settings.iter().all(|settings| settings.discard == Discard::None) {
            let refused = settings[way].queue != QueueLimit::Unlimited || settings[way].buffer.is_some();
            assert!(refused || pair.dropped(way) == 0, "seed {seed}: dropped without discard");
        }
    }
    pair
}

/// Establishes both ends anew where resets were in vain, as the network does.
fn revive(pair: &mut Pair) {
    if pair.ends.iter().any(|end| end.entity.is_unrecoverable()) {
        let hfns = [0, 1].map(|end| pair.ends[end].entity.hfn());
        for end in [0, 1] {
            pair.ends[end].in_flight.clear();
            let hfns = (hfns[end], hfns[1 - end]);
            pair.ends[end].entity.re_establish(hfns, &mut pair.ways[end], &mut pair.out);
        }
    }
}

#[test]
fn every_sdu_leaves_once_or_is_dropped_once_whatever_the_settings() {
    for seed in 0..300 {
        run(seed);
    }
}
