//! A video stream: media is asked for in pieces ahead of play-back, at a rate that follows the connection.
//!
//! Teyeb (8.2.2) concludes that the player "uses a time weighted moving average of the bit rate to decide which
//! sub-stream to use". Here the mean moves towards the rate of each piece by Δ / (Δ + τ), where Δ is the time the piece
//! took and τ the setting `averaging`: a piece of τ counts as much as all before it. The next piece has the highest rate
//! that the mean reaches.
//!
//! differs: the stream of that paper is pushed by its server over a control and a data connection, and its algorithm is
//! not published; here the client asks for pieces over one connection, two at a time so that the way is never idle.

use cellwind_engine::fact::FactKind;
use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::end::{Desk, Part};
use super::playback::{Playback, Step};
use crate::carrier::Event;

/// A video that is played while it arrives (Teyeb, 8.2.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VideoSettings {
    /// The bit rates at which the video can be had, in ascending order; the first piece has the lowest.
    pub rates: Vec<Rate>,
    /// How long it plays.
    pub duration: Span,
    /// How much of it is asked for at a time.
    pub piece: Span,
    /// How much must be there before play-back starts.
    pub startup: Span,
    /// How much must be there before play-back goes on after it stopped.
    pub resume: Span,
    /// How far ahead of play-back pieces are asked for.
    pub ahead: Span,
    /// τ: the time over which the mean rate forgets, which chooses the next rate.
    pub averaging: Span,
    /// Size of a request.
    pub request: cellwind_engine::units::Size,
}

impl Default for VideoSettings {
    fn default() -> Self {
        VideoSettings {
            rates: vec![Rate::from_kbps(100), Rate::from_kbps(350)], // Teyeb, 8.1: encoded for these connections
            duration: Span::from_secs(60),                           // this and what follows are choices of ours
            piece: Span::from_secs(1),
            startup: Span::from_secs(8),
            resume: Span::from_secs(8),
            ahead: Span::from_secs(20),
            averaging: Span::from_secs(5),
            request: cellwind_engine::units::Size::from_bytes(300),
        }
    }
}

/// As many pieces are asked for at a time, so that one is under way while the next request travels.
const MOST_ASKED: usize = 2;

/// The player.
#[derive(Clone, Debug)]
pub struct Viewer {
    settings: VideoSettings,
    start: Time,
    playback: Playback,
    mean: MeanRate,
    /// Index into the rates.
    rate: usize,
    line: u16,
    /// Media asked for.
    requested: Span,
    /// Pieces asked for and not there: how long each plays.
    asked: std::collections::VecDeque<(Time, Span)>,
    next: u32,
    /// Since when the piece that comes next is on its way.
    busy_since: Time,
}

impl Viewer {
    /// Nothing asked for; the flow starts at `start`.
    pub fn new(settings: &VideoSettings, start: Time) -> Self {
        Viewer {
            settings: settings.clone(),
            start,
            playback: Playback::new(settings.startup, settings.resume, settings.duration),
            mean: MeanRate::new(settings.averaging),
            rate: 0,
            line: 0,
            requested: Span::ZERO,
            asked: Default::default(),
            next: 0,
            busy_since: start,
        }
    }

    /// How much the next piece plays; none when all is asked for.
    fn next_piece(&self) -> Option<Span> {
        let left = self.settings.duration - self.requested;
        (!left.is_zero()).then_some(left.min(self.settings.piece))
    }

    /// Whether the next piece may be asked for.
    fn may_ask(&self, now: Time) -> bool {
        let ahead = |piece: Span| self.requested + piece <= self.playback.position(now) + self.settings.ahead;
        self.asked.len() < MOST_ASKED && self.next_piece().is_some_and(ahead)
    }

    fn ask(&mut self, desk: &mut Desk<'_>) {
        while self.may_ask(desk.now) {
            let Some(piece) = self.next_piece() else { return };
            self.choose_rate(desk);
            if self.asked.is_empty() {
                self.busy_since = desk.now;
            }
            let bytes = self.settings.rates[self.rate].size_in(piece).as_bytes().max(1);
            desk.ask(self.line, self.next, self.settings.request.as_bytes(), bytes);
            self.asked.push_back((desk.now, piece));
            self.next += 1;
            self.requested += piece;
        }
    }

    fn choose_rate(&mut self, desk: &mut Desk<'_>) {
        let Some(mean) = self.mean.bps() else { return };
        let reached = self.settings.rates.iter().rposition(|rate| rate.as_bps() as f64 <= mean).unwrap_or(0);
        if reached != self.rate {
            self.rate = reached;
            *desk.report.rate_switches.get_or_insert(0) += 1;
            let fact = desk.fact(FactKind::RateChosen).about(u64::from(self.next), 0);
            desk.out.fact(fact.values(self.settings.rates[reached].as_bps(), mean as u64));
        }
    }

    fn on_step(&mut self, step: Option<Step>, desk: &mut Desk<'_>) {
        let Some(step) = step else { return };
        let position = self.playback.position(desk.now).as_nanos();
        let (count, total) = desk.report.rebuffering.unwrap_or_default();
        let (kind, value) = match step {
            Step::Started => {
                let delay = desk.now - self.start;
                desk.report.startup_delay = Some(delay);
                (FactKind::PlaybackStarted, delay.as_nanos())
            }
            Step::Stalled => {
                desk.report.rebuffering = Some((count + 1, total));
                (FactKind::PlaybackStalled, 0)
            }
            Step::Resumed(after) => {
                desk.report.rebuffering = Some((count, total + after));
                (FactKind::PlaybackResumed, after.as_nanos())
            }
            Step::Ended => (FactKind::PlaybackEnded, 0),
        };
        desk.out.fact(desk.fact(kind).values(value, position));
        if step == Step::Ended {
            desk.close(self.line);
        }
    }
}

impl Part for Viewer {
    fn start(&mut self, desk: &mut Desk<'_>) {
        desk.report.rebuffering = Some((0, Span::ZERO));
        desk.report.rate_switches = Some(0);
        self.line = desk.open();
        self.ask(desk);
    }

    fn on_event(&mut self, _: u16, event: Event, desk: &mut Desk<'_>) {
        let Event::Arrived(piece) = event else { return };
        let Some((asked, media)) = self.asked.pop_front() else { return };
        desk.take(&piece, asked);
        let (so_far, bytes) = desk.report.media.unwrap_or_default();
        desk.report.media = Some((so_far + media, bytes + piece.bytes));
        self.mean.add(piece.bytes, desk.now - self.busy_since);
        self.busy_since = desk.now;
        let step = self.playback.on_media(desk.now, media);
        self.on_step(step, desk);
        self.ask(desk);
    }

    fn on_timeout(&mut self, desk: &mut Desk<'_>) {
        let step = self.playback.on_timeout(desk.now);
        self.on_step(step, desk);
        self.ask(desk);
    }

    fn next_timeout(&self) -> Option<Time> {
        let room = self.next_piece().filter(|_| self.asked.len() < MOST_ASKED).and_then(|piece| {
            let needed = self.requested + piece;
            // Otherwise it would have been asked for.
            (needed > self.settings.ahead).then(|| self.playback.reaches(needed - self.settings.ahead))?
        });
        self.playback.next_timeout().into_iter().chain(room).min()
    }

    fn is_complete(&self) -> bool {
        self.playback.is_over()
    }
}

/// The time-weighted mean of a rate.
#[derive(Clone, Copy, Debug)]
struct MeanRate {
    averaging: Span,
    bps: Option<f64>,
}

impl MeanRate {
    fn new(averaging: Span) -> Self {
        MeanRate { averaging, bps: None }
    }

    /// So many bytes took so long.
    fn add(&mut self, bytes: u64, took: Span) {
        if took.is_zero() {
            return;
        }
        let took = took.as_secs_f64();
        let rate = 8.0 * bytes as f64 / took;
        let weight = took / (took + self.averaging.as_secs_f64());
        self.bps = Some(self.bps.map_or(rate, |mean| mean + weight * (rate - mean)));
    }

    fn bps(&self) -> Option<f64> {
        self.bps
    }
}

#[cfg(test)]
mod tests;
