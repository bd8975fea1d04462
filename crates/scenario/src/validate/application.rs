//! Checks of applications, and of what transports they can run over.

use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use cellwind_transport::application::ApplicationSettings;
use cellwind_transport::application::files::FilesSettings;
use cellwind_transport::application::request_reply::RequestReplySettings;
use cellwind_transport::application::video::VideoSettings;
use cellwind_transport::application::web::{Http, WebSettings};
use cellwind_transport::carrier::Protocol;
use cellwind_transport::udp::UdpSettings;

use super::out_of_range;
use crate::error::{Mistake, ScenarioError};

/// Connections of a flow have 16-bit numbers.
const MOST_CONNECTIONS: u64 = 60_000;
/// The most messages of a schedule, each of which is an event and more.
const MOST_MESSAGES: u64 = 100_000_000;
/// The largest packet that IPv4 carries, less the headers (RFC 791 §3.1).
const LARGEST_PAYLOAD: Size = Size::from_bytes(65_535 - 28);
/// IP header at its longest, and that of UDP (RFC 791 §3.1, RFC 768).
const LARGEST_HEADER: Size = Size::from_bytes(68);

/// A mistake with the key below the flow that is to blame.
type Found = (&'static [&'static str], ScenarioError);

/// Checks the settings of an application.
pub fn check(application: &ApplicationSettings) -> Result<(), Found> {
    use ApplicationSettings as A;
    match application {
        A::Files(files) => check_files(files),
        A::RequestReply(settings) => request_reply(settings),
        A::Ping(ping) => {
            not_zero(&["application", "size"], ping.size)?;
            takes_time(&["application", "interval"], ping.interval)?;
            at_least_one(&["application", "count"], ping.count)
        }
        A::Web(settings) => web(settings),
        A::Cbr(cbr) => {
            not_zero(&["application", "packet"], cbr.packet)?;
            schedule(cbr.duration, cbr.interval())
        }
        A::OnOff(on_off) => {
            not_zero(&["application", "packet"], on_off.packet)?;
            takes_time(&["application", "on"], on_off.on)?;
            schedule(on_off.duration, on_off.rate.time_for(on_off.packet))
        }
        A::News(news) => {
            not_zero(&["application", "update"], news.update)?;
            takes_time(&["application", "interval"], news.interval)?;
            takes_time(&["application", "lifetime"], news.life())?;
            at_least_one(&["application", "updates"], news.updates)
        }
        A::Voip(voip) => {
            not_zero(&["application", "frame"], voip.frame)?;
            takes_time(&["application", "interval"], voip.interval)?;
            takes_time(&["application", "playout"], voip.playout)?;
            schedule(voip.duration, voip.interval)
        }
        A::Video(settings) => video(settings),
        A::Trace(_) => Ok(()), // reading the file has checked it
    }
}

/// Checks that a transport can carry an application.
pub fn carries(application: &ApplicationSettings, protocol: &Protocol) -> Result<(), Found> {
    if !application.needs_reliability() || protocol.is_reliable() {
        return Ok(());
    }
    let message = format!("{} needs a transport on which everything arrives", application.word());
    let why = match protocol {
        Protocol::Atp(_) => "which gives up what is too late",
        _ => "which loses what the path loses",
    };
    let error = ScenarioError::new(Mistake::Conflict, message).found(format!("{}, {why}", protocol.word()));
    Err((
        &["transport"],
        error.allowed("TCP, such as transport = \"sack\"; cbr, on-off, news, voip, ping and trace run over any"),
    ))
}

/// The mistake of a plain transfer over a transport without control of its rate.
pub fn bulk_without_rate(protocol: &Protocol) -> ScenarioError {
    let message = "a plain transfer has no rate of its own, and this transport has none either";
    ScenarioError::new(Mistake::Conflict, message).found(protocol.word()).allowed(
        "TCP, such as transport = \"sack\", or a rate: application = { type = \"cbr\", rate = \"64 kbit/s\", \
         packet = \"500 B\", duration = \"60 s\" }",
    )
}

/// Checks the settings of UDP.
pub fn udp(udp: &UdpSettings) -> Result<(), Found> {
    if udp.payload.as_bytes() == 0 || udp.payload > LARGEST_PAYLOAD {
        return Err((&["transport", "payload"], out_of_range(udp.payload, &format!("1 B to {LARGEST_PAYLOAD}"))));
    }
    if udp.header > LARGEST_HEADER {
        return Err((&["transport", "header"], out_of_range(udp.header, &format!("at most {LARGEST_HEADER}"))));
    }
    Ok(())
}

fn check_files(files: &FilesSettings) -> Result<(), Found> {
    let keys: &[&str] = &["application", "sizes"];
    if files.sizes.is_empty() || files.sizes.len() as u64 > MOST_CONNECTIONS {
        let found = format!("{} files", files.sizes.len());
        return Err((keys, out_of_range(found, &format!("1 to {MOST_CONNECTIONS} files"))));
    }
    files.sizes.iter().try_for_each(|&size| not_zero(keys, size))
}

fn request_reply(settings: &RequestReplySettings) -> Result<(), Found> {
    not_zero(&["application", "request"], settings.request)?;
    not_zero(&["application", "reply"], settings.reply)?;
    at_least_one(&["application", "transactions"], settings.transactions)?;
    connections(&["application", "transactions"], u64::from(settings.transactions), settings.reconnect)
}

fn web(web: &WebSettings) -> Result<(), Found> {
    not_zero(&["application", "html"], web.html)?;
    not_zero(&["application", "object"], web.object)?;
    not_zero(&["application", "request"], web.request)?;
    at_least_one(&["application", "connections"], web.connections)?;
    at_least_one(&["application", "pages"], web.pages)?;
    if web.pipelining && web.http == Http::V1_0 {
        let message = "HTTP/1.0 closes a connection behind each response, so nothing can be pipelined on it";
        let error = ScenarioError::new(Mistake::Conflict, message).allowed("`pipelining` with http = \"1.1\"");
        return Err((&["application", "pipelining"], error));
    }
    let responses = u64::from(web.pages) * (1 + u64::from(web.objects));
    connections(&["application", "pages"], responses, web.http == Http::V1_0)?;
    connections(&["application", "connections"], u64::from(web.connections), true)
}

fn video(video: &VideoSettings) -> Result<(), Found> {
    let rates: &[&str] = &["application", "rates"];
    if video.rates.is_empty() || video.rates.windows(2).any(|pair| pair[0].as_bps() >= pair[1].as_bps()) {
        let found: Vec<String> = video.rates.iter().map(ToString::to_string).collect();
        let error = ScenarioError::new(Mistake::BadValue, "these cannot be the rates of a video");
        return Err((
            rates,
            error.found(format!("[{}]", found.join(", "))).allowed("one rate or more, in ascending order"),
        ));
    }
    not_zero(&["application", "request"], video.request)?;
    takes_time(&["application", "piece"], video.piece)?;
    takes_time(&["application", "averaging"], video.averaging)?;
    let threshold = video.startup.max(video.resume);
    if threshold + video.piece > video.ahead {
        let message = "the buffer never reaches the threshold at which play-back starts or goes on";
        let needed = threshold + video.piece;
        let error = ScenarioError::new(Mistake::Conflict, message).found(format!("`ahead` of {}", video.ahead));
        return Err((
            &["application", "ahead"],
            error.allowed(format!("at least {needed}: the larger of `startup` and `resume`, and a piece")),
        ));
    }
    schedule(video.duration, video.piece)
}

fn not_zero(keys: &'static [&'static str], size: Size) -> Result<(), Found> {
    if size == Size::ZERO { Err((keys, out_of_range("0 B", "at least 1 B"))) } else { Ok(()) }
}

fn takes_time(keys: &'static [&'static str], span: Span) -> Result<(), Found> {
    if span.is_zero() { Err((keys, out_of_range("0 s", "a time above 0 s"))) } else { Ok(()) }
}

fn at_least_one(keys: &'static [&'static str], count: u32) -> Result<(), Found> {
    if count == 0 { Err((keys, out_of_range(0, "at least 1"))) } else { Ok(()) }
}

fn connections(keys: &'static [&'static str], count: u64, is_one_each: bool) -> Result<(), Found> {
    if is_one_each && count > MOST_CONNECTIONS {
        let error = out_of_range(format!("{count} connections"), &format!("at most {MOST_CONNECTIONS} of a flow"));
        return Err((keys, error));
    }
    Ok(())
}

fn schedule(duration: Span, interval: Span) -> Result<(), Found> {
    let keys: &[&str] = &["application", "duration"];
    takes_time(keys, duration)?;
    let messages = duration.as_nanos() / interval.as_nanos().max(1);
    if messages > MOST_MESSAGES {
        let found = format!("{messages} messages");
        return Err((keys, out_of_range(found, &format!("at most {MOST_MESSAGES} messages"))));
    }
    Ok(())
}
