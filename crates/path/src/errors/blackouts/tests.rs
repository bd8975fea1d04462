//! Blackouts at exact instants.

use super::*;

fn blackout(at: u64, duration: u64, period: Option<u64>) -> Blackout {
    let ms = Span::from_millis;
    Blackout { at: ms(at), duration: ms(duration), period: period.map(ms) }
}

/// The TTIs of `tti` ms, one after the other up to `end` ms, that a list strikes.
fn struck(list: &[Blackout], tti: u64, end: u64) -> Vec<u64> {
    let mut blackouts = Blackouts::new(list);
    let strikes = |at: &u64| blackouts.strike(Time::from_millis(*at), Time::from_millis(at + tti));
    (0..end).step_by(tti as usize).filter(strikes).collect()
}

#[test]
fn ttis_on_the_air_in_a_blackout_are_struck() {
    // [100, 130) touches neither the TTI that ends at 100 nor the one that begins at 130.
    assert_eq!(struck(&[blackout(100, 30, None)], 10, 1000), [100, 110, 120]);
    assert_eq!(struck(&[blackout(105, 30, None)], 10, 1000), [100, 110, 120, 130]);
    assert_eq!(struck(&[blackout(0, 5, None)], 10, 1000), [0]);
    // One shorter than a TTI, in the middle of it.
    assert_eq!(struck(&[blackout(43, 2, None)], 20, 1000), [40]);
}

#[test]
fn a_periodic_blackout_comes_again_and_again() {
    assert_eq!(struck(&[blackout(30, 20, Some(100))], 10, 300), [30, 40, 130, 140, 230, 240]);
    // More than one in a TTI, and a period that is no multiple of it.
    assert_eq!(struck(&[blackout(0, 1, Some(7))], 20, 100), [0, 20, 40, 60, 80]);
    assert_eq!(struck(&[blackout(15, 5, Some(25))], 10, 110), [10, 40, 60, 90]);
}

#[test]
fn blackouts_may_overlap_and_stand_in_any_order() {
    let list = [blackout(200, 30, None), blackout(50, 20, None), blackout(60, 30, None), blackout(60, 10, Some(500))];
    assert_eq!(struck(&list, 10, 600), [50, 60, 70, 80, 200, 210, 220, 560]);
}

/// For random lists, the answers are those of looking at every millisecond.
#[test]
fn a_look_ahead_changes_no_answer() {
    let mut stream = cellwind_engine::random::Stream::new(1, 0, "lists");
    for _ in 0..200 {
        let mut draw = |from: u64, to: u64| from + stream.below(to - from);
        let list: Vec<Blackout> = (0..draw(1, 5))
            .map(|_| {
                let duration = draw(1, 60);
                let period = (draw(0, 2) == 1).then(|| duration + draw(1, 100));
                blackout(draw(0, 1500), duration, period)
            })
            .collect();
        let tti = draw(1, 40);
        let dark = |ms: u64| {
            list.iter().any(|blackout| {
                let since = (ms * 1_000_000).checked_sub(blackout.at.as_nanos());
                let since = since.map(|since| since % blackout.period.map_or(u64::MAX, Span::as_nanos));
                since.is_some_and(|since| since < blackout.duration.as_nanos())
            })
        };
        let every: Vec<u64> = (0..2000).step_by(tti as usize).filter(|&at| (at..at + tti).any(dark)).collect();
        assert_eq!(struck(&list, tti, 2000), every, "{list:?} {tti}");
    }
}
