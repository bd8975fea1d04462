//! The process as bearers use it: batches, TTIs, blackouts, changes.

use super::blackouts::Blackout;
use super::fritchman::{ErrorFree, FritchmanSettings};
use super::gilbert_elliott::GilbertElliottSettings;
use super::settings::{Chance, IndependentSettings};
use super::trace::{AtEnd, Record, Start, TraceSettings};
use super::*;
use cellwind_engine::units::Probability;
use std::sync::Arc;

const TTI: Span = Span::from_millis(10);

fn chance(p: f64) -> Chance {
    Chance::new(p).unwrap()
}

fn independent(rate: f64) -> ErrorModel {
    ErrorModel::Independent(IndependentSettings { rate: Probability::new(rate).unwrap() })
}

fn gilbert_elliott(good_to_bad: f64, bad_to_good: f64, good_errors: f64, bad_errors: f64) -> ErrorModel {
    ErrorModel::GilbertElliott(GilbertElliottSettings {
        good_to_bad: Some(chance(good_to_bad)),
        bad_to_good: Some(chance(bad_to_good)),
        rate: None,
        burst: None,
        good_errors: chance(good_errors),
        bad_errors: chance(bad_errors),
        step: None,
    })
}

fn fritchman() -> ErrorModel {
    let error_free =
        vec![ErrorFree { enter: chance(0.3), stay: chance(0.5) }, ErrorFree { enter: chance(0.2), stay: chance(0.99) }];
    ErrorModel::Fritchman(FritchmanSettings { error_free, step: None })
}

fn trace(text: &str, at_end: AtEnd, step: Option<Span>) -> ErrorModel {
    let record = Arc::new(Record::parse(text).unwrap());
    ErrorModel::Trace(TraceSettings { file: String::new(), at_end, start: Start::Beginning, step, record })
}

fn settings(model: ErrorModel) -> ErrorSettings {
    ErrorSettings { model, ..ErrorSettings::default() }
}

fn process(settings: &ErrorSettings) -> ErrorProcess {
    settings.check().unwrap();
    ErrorProcess::new(settings, Stream::new(5, 0, "errors"))
}

/// The outcomes of so many TTIs of `blocks` blocks each, asked for one by one.
fn one_by_one(process: &mut ErrorProcess, ttis: u64, blocks: u64) -> Vec<bool> {
    let mut outcomes = Vec::new();
    for tti in 0..ttis {
        process.begin(Time::ZERO + TTI * tti, TTI);
        outcomes.extend((0..blocks).map(|_| process.strikes()));
    }
    outcomes
}

/// The same, asked for as bearers do.
fn in_batches(process: &mut ErrorProcess, ttis: u64, blocks: u64) -> Vec<bool> {
    let mut outcomes = Vec::new();
    for tti in 0..ttis {
        process.begin(Time::ZERO + TTI * tti, TTI);
        let mut room = blocks;
        while room > 0 {
            let fine = process.take_successes(room);
            outcomes.extend((0..fine).map(|_| false));
            room -= fine;
            if room > 0 {
                assert!(process.strikes(), "no success was left");
                outcomes.push(true);
                room -= 1;
            }
        }
    }
    outcomes
}

#[test]
fn batches_give_the_same_errors_as_asking_one_by_one() {
    let models = [
        independent(0.1),
        gilbert_elliott(0.02, 0.2, 0.01, 0.7),
        gilbert_elliott(0.5, 0.5, 0.0, 1.0),
        fritchman(),
        trace("0 7\n1 3\n0 1\n1 1\n", AtEnd::Repeat, None),
        trace("0 7\n1 30\n0 1\n1 1\n", AtEnd::NoErrors, None),
        trace("0 7\n1 3\n0 1\n1 1\n", AtEnd::Repeat, Some(Span::from_millis(15))),
    ];
    let blackout = Blackout { at: Span::from_secs(1), duration: TTI * 3, period: Some(TTI * 20) };
    for model in models {
        for unit in [ErrorUnit::Pdu, ErrorUnit::Tti] {
            for blackouts in [Arc::default(), Arc::from([blackout])] {
                let settings = ErrorSettings { model: model.clone(), unit, blackouts };
                let single = one_by_one(&mut process(&settings), 1000, 12);
                assert_eq!(single, in_batches(&mut process(&settings), 1000, 12), "{settings:?}");
            }
        }
    }
}

#[test]
fn independent_errors_are_those_of_the_engine() {
    let probability = Probability::new(0.1).unwrap();
    let mut engine = IndependentErrors::new(probability, Stream::new(5, 0, "errors"));
    let outcomes = one_by_one(&mut process(&ErrorSettings::independent(probability)), 100, 12);
    assert_eq!(outcomes, (0..1200).map(|_| engine.strikes()).collect::<Vec<_>>());
}

#[test]
fn with_the_unit_tti_all_blocks_of_a_tti_share_a_fate() {
    let errors = ErrorSettings { unit: ErrorUnit::Tti, ..settings(independent(0.3)) };
    let outcomes = one_by_one(&mut process(&errors), 10_000, 12);
    let whole = outcomes.chunks(12).filter(|tti| tti.iter().all(|&error| error)).count();
    assert!(outcomes.chunks(12).all(|tti| tti.iter().all(|&error| error == tti[0])));
    // Binomial standard deviation of 1e4 trials at 0.3 is 45.8; five of them.
    assert!((whole as f64 - 3000.0).abs() < 229.0, "{whole}");
    // They are the trials that blocks would be by themselves.
    let each = one_by_one(&mut process(&settings(independent(0.3))), 10_000, 1);
    assert_eq!(outcomes.iter().step_by(12).copied().collect::<Vec<_>>(), each);
}

#[test]
fn blackouts_lie_over_the_process_without_moving_it() {
    // 10 TTIs are dark: those on the air in [995 ms, 1085 ms), the first one only for its last 5 ms.
    let blackout = Blackout { at: Span::from_millis(995), duration: Span::from_millis(90), period: None };
    let errors = settings(gilbert_elliott(0.02, 0.2, 0.01, 0.7));
    let with = ErrorSettings { blackouts: [blackout].into(), ..errors.clone() };
    let (without, with) = (one_by_one(&mut process(&errors), 200, 5), one_by_one(&mut process(&with), 200, 5));
    for (at, (without, with)) in without.iter().zip(&with).enumerate() {
        let dark = (99..=108).contains(&(at / 5));
        assert_eq!(*with, *without || dark, "block {at}");
    }
}

#[test]
fn a_change_of_other_settings_leaves_the_process_where_it_was() {
    let before = settings(gilbert_elliott(0.02, 0.2, 0.01, 0.7));
    let blackout = Blackout { at: Span::from_secs(900), duration: TTI, period: None };
    let (mut changed, mut same) = (process(&before), process(&before));
    assert_eq!(one_by_one(&mut changed, 100, 3), one_by_one(&mut same, 100, 3));
    changed.set_settings(&ErrorSettings { blackouts: [blackout].into(), ..before });
    assert_eq!(one_by_one(&mut changed, 100, 3), one_by_one(&mut same, 100, 3));
}

#[test]
fn a_change_of_the_model_holds_from_the_next_tti_on() {
    let mut errors = process(&settings(independent(0.0)));
    assert!(one_by_one(&mut errors, 100, 3).iter().all(|&error| !error));
    errors.set_settings(&settings(trace("1 2\n0 1\n", AtEnd::NoErrors, None)));
    assert_eq!(one_by_one(&mut errors, 2, 2), [true, true, false, false]);
    errors.set_settings(&settings(gilbert_elliott(1.0, 0.5, 0.0, 1.0)));
    assert!(one_by_one(&mut errors, 100, 3).contains(&true));
    errors.set_settings(&settings(independent(0.0)));
    assert!(one_by_one(&mut errors, 100, 3).iter().all(|&error| !error));
}

#[test]
fn a_record_that_goes_on_with_time_does_so_while_nothing_is_sent() {
    // A step of 20 ms: entries are at 0, 20, 40 … ms. TTIs begin at 0, 10 and 70 ms, then in the second round at 130 ms.
    let mut errors = process(&settings(trace("1 1\n0 2\n1 1\n0 1\n", AtEnd::Repeat, Some(Span::from_millis(20)))));
    let mut at = |ms| {
        errors.begin(Time::from_millis(ms), TTI);
        let first = errors.strikes();
        assert_eq!(errors.strikes(), first, "all blocks of a step have its outcome");
        first
    };
    assert_eq!([at(0), at(10), at(70), at(100), at(130), at(100_060)], [true, true, true, true, false, true]);
}

#[test]
fn an_instant_before_the_last_one_finds_the_state_of_that() {
    // States alternate every 10 ms. A transmission until 1 s is taken back, and the next one ends at 15 ms.
    let mut model = gilbert_elliott(1.0, 1.0, 0.0, 1.0);
    if let ErrorModel::GilbertElliott(settings) = &mut model {
        settings.step = Some(Span::from_millis(10));
    }
    let mut losses = process(&settings(model));
    assert!(losses.heeds_time() && !losses.strikes_packet());
    let mut lost = |begins, ends| losses.strikes_transmission(Time::from_millis(begins), Time::from_millis(ends));
    let first = lost(0, 1000);
    assert_eq!([lost(5, 15), lost(900, 1009), lost(1000, 1010), lost(1010, 1020)], [first, first, !first, first]);
}

#[test]
fn settings_that_describe_no_process_are_refused() {
    let reason = |model| settings(model).check().unwrap_err().message;
    assert!(reason(gilbert_elliott(0.1, 0.0, 0.0, 1.0)).contains("nothing but errors"));
    let by_rate = |rate, burst| {
        ErrorModel::GilbertElliott(GilbertElliottSettings {
            good_to_bad: None,
            bad_to_good: None,
            rate: Some(chance(rate)),
            burst: Some(burst),
            good_errors: chance(0.0),
            bad_errors: chance(0.8),
            step: None,
        })
    };
    assert!(settings(by_rate(0.1, 4.0)).check().is_ok());
    assert!(reason(by_rate(0.8, 4.0)).contains("cannot bring about"));
    assert!(reason(by_rate(0.1, 0.5)).contains("no such burst"));
    // 0.7 / 0.8 of blocks in the bad state: seven bad ones for each good one.
    assert!(reason(by_rate(0.7, 6.9)).contains("too short"));
    assert!(settings(by_rate(0.7, 7.01)).check().is_ok());
    let blackouts = |duration, period| {
        let blackout = Blackout { at: Span::ZERO, duration, period };
        ErrorSettings { blackouts: [blackout].into(), ..ErrorSettings::default() }.check()
    };
    assert!(blackouts(Span::ZERO, None).is_err());
    assert!(blackouts(TTI, Some(TTI)).is_err());
    assert!(blackouts(TTI, Some(TTI * 2)).is_ok());
}

#[test]
fn settings_are_written_as_short_as_they_can_be() {
    let text = |settings: &ErrorSettings| serde_json::to_string(settings).unwrap();
    assert_eq!(text(&settings(independent(0.1))), "0.1");
    let tti = ErrorSettings { unit: ErrorUnit::Tti, ..settings(independent(0.1)) };
    assert_eq!(text(&tti), r#"{"type":"independent","rate":0.1,"unit":"tti"}"#);
}
