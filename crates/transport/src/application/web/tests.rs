//! Pages on a wire of 50 ms each way that sends at once: every exchange takes 100 ms.

use super::*;
use crate::application::settings::ApplicationSettings;
use crate::application::testkit::{IDEAL, Run, run, tcp};

fn page(settings: WebSettings) -> Run {
    let settings = ApplicationSettings::Web(settings);
    run(&settings, &tcp(), &IDEAL)
}

/// Initial and total delay in ms.
fn delays(run: &Run) -> (u64, u64) {
    let ms = |span: Option<Span>| span.unwrap().as_nanos() / 1_000_000;
    let report = run.sink.report();
    (ms(report.initial_delay.mean()), ms(report.page_delay.mean()))
}

#[test]
fn http_1_0_takes_two_round_trips_for_each_response_divided_by_the_connections() {
    // A response fits the initial window: a handshake, then request and response. Objects come in rounds of as many as
    // there are connections: 2 RTT (1 + ceil(n / connections)).
    for (objects, connections) in [(0, 1), (10, 1), (10, 2), (10, 4), (10, 20)] {
        let run = page(WebSettings { http: Http::V1_0, objects, connections, ..WebSettings::default() });
        let expected = 200 * (1 + u64::from(objects.div_ceil(connections)));
        assert_eq!(delays(&run), (200, expected), "{objects} objects over {connections}");
        assert_eq!(run.sink.delivered(), 10_000 + u64::from(objects) * 5_000);
    }
}

#[test]
fn http_1_1_saves_the_handshakes() {
    let one = page(WebSettings { connections: 1, ..WebSettings::default() });
    assert_eq!(delays(&one), (200, 200 + 10 * 100));
    // The second connection has a handshake: the first brings objects at 300, 400, …, the second at 400, 500, …; nine
    // are there at 700, the tenth at 800.
    let two = page(WebSettings { connections: 2, ..WebSettings::default() });
    assert_eq!(delays(&two), (200, 800));
}

#[test]
fn pipelining_asks_for_everything_at_once() {
    let settings = WebSettings { connections: 1, objects: 4, pipelining: true, ..WebSettings::default() };
    // 20 kB follow the text of 7 segments, whose ACKs have opened the window to 17.
    assert_eq!(delays(&page(settings)), (200, 300));
}

#[test]
fn pages_follow_each_other_on_the_same_connections_after_a_time_to_think() {
    let think = Span::from_secs(1);
    let run = page(WebSettings { connections: 1, objects: 1, pages: 3, think, ..WebSettings::default() });
    // 300 ms for the first with its handshake, 200 for the others.
    assert_eq!(run.sink.report().page_delay.sum, Span::from_millis(700));
    assert_eq!(run.sink.completed_at(), Some(Time::from_millis(300 + 1200 + 1200)));
}
