//! Each application on a wire of 50 ms, by hand.

use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::{Rate, Size};

use super::files::FilesSettings;
use super::news::NewsSettings;
use super::request_reply::RequestReplySettings;
use super::settings::ApplicationSettings as A;
use super::testkit::{IDEAL, Wire, completed_ms, run, tcp, udp};
use super::voip::VoipSettings;

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

fn transactions(transactions: u32, pause: u64, reconnect: bool) -> A {
    A::RequestReply(RequestReplySettings {
        request: Size::from_bytes(280),
        reply: Size::from_bytes(4758),
        transactions,
        pause: ms(pause),
        reconnect,
    })
}

#[test]
fn a_transaction_takes_two_round_trips_with_its_handshake_and_one_without() {
    let one = run(&transactions(3, 0, false), &tcp(), &IDEAL);
    assert_eq!(completed_ms(&one), 200.0 + 100.0 + 100.0);
    assert_eq!(one.sink.report().delay.most(), Some(ms(200)));
    assert_eq!((one.source.written(), one.sink.written()), (3 * 4758, 3 * 280));
    let anew = run(&transactions(3, 0, true), &tcp(), &IDEAL);
    assert_eq!(completed_ms(&anew), 3.0 * 200.0);
    let paused = run(&transactions(3, 1000, false), &tcp(), &IDEAL);
    assert_eq!(completed_ms(&paused), 2400.0);
    assert_eq!(paused.sink.report().delay.mean(), Some(ms(400) / 3));
}

#[test]
fn at_a_rate_every_byte_of_a_transaction_takes_its_time() {
    let wire = Wire { rate: Some(Rate::from_kbps(64)), ..IDEAL };
    let one = run(&transactions(1, 0, false), &tcp(), &wire);
    // SYN and SYN-ACK have 48 bytes, the request 280 and its header, the reply four segments with 40 each; the ACK of
    // the request, not delayed here, leaves before the reply.
    let bytes = 48 + 48 + (280 + 40) + 40 + (4758 + 4 * 40);
    let expected = 4.0 * 50.0 + f64::from(8 * bytes) / 64.0;
    assert!((completed_ms(&one) - expected).abs() < 1e-3, "{} and {expected}", completed_ms(&one));
}

#[test]
fn files_follow_each_other_with_their_pause() {
    let sizes = [1000, 2000, 3000].map(Size::from_bytes).to_vec();
    let files = A::Files(FilesSettings { sizes: sizes.clone(), pause: ms(300), reconnect: false });
    let one = run(&files, &tcp(), &IDEAL);
    // The handshake and the way: 150. The ACK is back at 200, the next leaves at 500 and its ACK is back at 600.
    assert_eq!(completed_ms(&one), 950.0);
    assert_eq!(one.sink.report().messages_delivered, 3);
    assert_eq!(one.sink.delivered(), 6000);
    let anew = run(&A::Files(FilesSettings { sizes, pause: ms(300), reconnect: true }), &tcp(), &IDEAL);
    assert_eq!(completed_ms(&anew), 500.0 + 500.0 + 150.0);
}

fn call(playout: u64) -> A {
    A::Voip(VoipSettings { playout: ms(playout), duration: ms(1000), ..VoipSettings::default() })
}

#[test]
fn a_frame_is_late_when_it_comes_after_its_play_out() {
    for (playout, in_time) in [(49, 0), (50, 50), (51, 50)] {
        let one = run(&call(playout), &udp(), &IDEAL);
        assert_eq!(one.source.report().messages_sent, 50);
        assert_eq!(one.sink.report().messages_on_time, Some(in_time), "{playout} ms");
        assert_eq!(one.sink.report().delay.mean(), Some(ms(50)));
        // The call ends when its last frame, made at 980 ms, is played; at 49 ms that comes after nothing any more.
        assert_eq!(completed_ms(&one), 980.0 + playout as f64);
    }
}

#[test]
fn a_lost_frame_stays_lost_over_udp_and_delays_those_behind_it_over_tcp() {
    let wire = Wire { lost: vec![10], ..IDEAL };
    let datagrams = run(&call(150), &udp(), &wire);
    assert_eq!(datagrams.sink.report().messages_delivered, 49);
    assert_eq!(datagrams.sink.report().messages_on_time, Some(49));
    let stream = run(&call(150), &tcp(), &wire);
    let report = stream.sink.report();
    assert_eq!(report.messages_delivered, 50);
    assert!(report.messages_on_time < Some(49), "{report:?}");
    assert!(report.delay.most() > Some(ms(150)));
}

#[test]
fn a_news_update_is_worth_something_until_the_next_one() {
    // 5000 bytes need 5112 with the headers of four packets: 5 s at 8.18 kbit/s, less the 50 ms on the way.
    for (kbps, in_time) in [(9, 3), (8, 0)] {
        let news = NewsSettings { updates: 3, ..NewsSettings::default() };
        let wire = Wire { rate: Some(Rate::from_kbps(kbps)), ..IDEAL };
        let one = run(&A::News(news), &udp(), &wire);
        assert_eq!(one.sink.report().messages_on_time, Some(in_time), "{kbps} kbit/s");
        assert_eq!(one.sink.completed_at(), Some(Time::from_secs(15)));
    }
}
