//! Streams on a wire of 50 ms.

use super::*;
use crate::application::settings::ApplicationSettings;
use crate::application::testkit::{IDEAL, Wire, completed_ms, run, tcp};

fn kbps(rates: &[u64]) -> Vec<Rate> {
    rates.iter().map(|&rate| Rate::from_kbps(rate)).collect()
}

fn stream(settings: VideoSettings, rate: u64) -> crate::application::testkit::Run {
    run(&ApplicationSettings::Video(settings), &tcp(), &Wire { rate: Some(Rate::from_kbps(rate)), ..IDEAL })
}

#[test]
fn the_mean_moves_by_the_share_of_the_time_that_a_piece_took() {
    let mut mean = MeanRate::new(Span::from_secs(5));
    mean.add(10_000, Span::from_secs(1));
    assert_eq!(mean.bps(), Some(80_000.0));
    mean.add(0, Span::from_secs(5)); // as long as the averaging time: half
    assert_eq!(mean.bps(), Some(40_000.0));
    mean.add(10_000, Span::ZERO); // no time, no weight
    assert_eq!(mean.bps(), Some(40_000.0));
}

#[test]
fn a_fast_connection_plays_without_stopping_at_the_highest_rate() {
    let settings = VideoSettings { rates: kbps(&[100, 225, 400]), ..VideoSettings::default() };
    let one = stream(settings, 2000);
    let report = one.sink.report();
    assert_eq!(report.rebuffering, Some((0, Span::ZERO)));
    // From the lowest to the highest in one step or two; the first piece has the handshake in it.
    assert!(report.rate_switches <= Some(2), "{report:?}");
    assert!(report.media_bps() > Some(380e3), "{report:?}");
    let startup = report.startup_delay.unwrap();
    assert!(startup < Span::from_secs(3), "{startup}");
    // It plays for a minute from its start.
    assert_eq!(completed_ms(&one), startup.as_nanos() as f64 / 1e6 + 60_000.0);
}

#[test]
fn a_connection_of_half_the_rate_stops_for_as_long_as_it_plays() {
    let settings = VideoSettings { rates: kbps(&[100]), ..VideoSettings::default() };
    let one = stream(settings, 50);
    let report = one.sink.report();
    // 60 s of media take 120 s and more, headers included; what was not waited for at the start is waited for later.
    let (count, waited) = report.rebuffering.unwrap();
    let startup = report.startup_delay.unwrap();
    assert!(startup > Span::from_secs(16) && startup < Span::from_secs(18), "{startup}");
    assert!(count >= 2, "{count}");
    let whole = completed_ms(&one) / 1e3;
    assert!((whole - (60.0 + startup.as_secs_f64() + waited.as_secs_f64())).abs() < 1e-6);
    assert_eq!(report.media.map(|(media, _)| media), Some(Span::from_secs(60)));
}

#[test]
fn it_never_asks_further_ahead_than_it_may() {
    let settings = VideoSettings { rates: kbps(&[100]), ahead: Span::from_secs(10), ..VideoSettings::default() };
    let one = stream(settings, 10_000);
    // The last second is asked for when 50 of 60 are played.
    let startup = one.sink.report().startup_delay.unwrap();
    let last = one.sink.last_delivery().as_secs_f64() - startup.as_secs_f64();
    assert!((50.0..50.3).contains(&last), "{last}");
}
