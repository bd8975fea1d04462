//! The buffer of a player: media goes in as it arrives and is played in real time.

use cellwind_engine::time::{Span, Time};

/// Media that has arrived, and how much of it was played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Playback {
    /// Media to have before play-back starts.
    startup: Span,
    /// Media to have before it goes on after it stopped.
    resume: Span,
    /// The whole of the media.
    length: Span,
    arrived: Span,
    /// What was played until the state began.
    played: Span,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing was played yet.
    Starting,
    /// It plays since then.
    Playing(Time),
    /// It stopped then.
    Stalled(Time),
    /// All was played.
    Ended,
}

/// What a step of the buffer leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It plays for the first time.
    Started,
    /// There is nothing to play.
    Stalled,
    /// It plays again, after so long.
    Resumed(Span),
    /// The last of it was played.
    Ended,
}

impl Playback {
    /// A player with an empty buffer.
    pub fn new(startup: Span, resume: Span, length: Span) -> Self {
        Playback { startup, resume, length, arrived: Span::ZERO, played: Span::ZERO, state: State::Starting }
    }

    /// So much more media has arrived.
    pub fn on_media(&mut self, now: Time, media: Span) -> Option<Step> {
        self.arrived += media;
        let buffered = self.arrived - self.position(now);
        let is_all = self.arrived >= self.length;
        match self.state {
            State::Starting if is_all || buffered >= self.startup => {
                self.state = State::Playing(now);
                Some(Step::Started)
            }
            State::Stalled(since) if is_all || buffered >= self.resume => {
                self.state = State::Playing(now);
                Some(Step::Resumed(now - since))
            }
            _ => None,
        }
    }

    /// The buffer may be empty now.
    pub fn on_timeout(&mut self, now: Time) -> Option<Step> {
        if self.next_timeout().is_none_or(|due| due > now) {
            return None;
        }
        self.played = self.arrived;
        let is_all = self.arrived >= self.length;
        self.state = if is_all { State::Ended } else { State::Stalled(now) };
        Some(if is_all { Step::Ended } else { Step::Stalled })
    }

    /// When the buffer is empty if nothing arrives.
    pub fn next_timeout(&self) -> Option<Time> {
        match self.state {
            State::Playing(since) => Some(since + (self.arrived - self.played)),
            _ => None,
        }
    }

    /// How much was played.
    pub fn position(&self, now: Time) -> Span {
        match self.state {
            State::Playing(since) => self.arrived.min(self.played + (now - since)),
            _ => self.played,
        }
    }

    /// When the position will be `media`, while it plays.
    pub fn reaches(&self, media: Span) -> Option<Time> {
        match self.state {
            State::Playing(since) if media > self.played => Some(since + (media - self.played)),
            State::Playing(since) => Some(since),
            _ => None,
        }
    }

    /// Whether all was played.
    pub fn is_over(&self) -> bool {
        self.state == State::Ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(s: u64) -> Span {
        Span::from_secs(s)
    }

    #[test]
    fn it_starts_at_its_threshold_stalls_when_empty_and_resumes_with_its_own_threshold() {
        let at = Time::from_secs;
        let mut playback = Playback::new(second(4), second(2), second(10));
        for t in 1..4 {
            assert_eq!(playback.on_media(at(t), second(1)), None);
        }
        assert_eq!(playback.on_media(at(4), second(1)), Some(Step::Started));
        assert_eq!(playback.next_timeout(), Some(at(8)));
        assert_eq!(playback.on_media(at(6), second(1)), None);
        assert_eq!(playback.position(at(6)), second(2));
        assert_eq!(playback.next_timeout(), Some(at(9)));
        assert_eq!(playback.on_timeout(at(8)), None);
        assert_eq!(playback.on_timeout(at(9)), Some(Step::Stalled));
        assert_eq!(playback.on_media(at(10), second(1)), None);
        assert_eq!(playback.on_media(at(12), second(1)), Some(Step::Resumed(second(3))));
        // Seven of ten seconds are there, five played; the rest comes at once.
        assert_eq!(playback.on_media(at(13), second(3)), None);
        assert_eq!(playback.reaches(second(8)), Some(at(15)));
        assert_eq!(playback.on_timeout(at(17)), Some(Step::Ended));
        assert!(playback.is_over());
    }

    #[test]
    fn a_clip_shorter_than_the_threshold_starts_when_all_is_there() {
        let mut playback = Playback::new(second(10), second(10), second(3));
        assert_eq!(playback.on_media(Time::from_secs(1), second(3)), Some(Step::Started));
        assert_eq!(playback.next_timeout(), Some(Time::from_secs(4)));
    }
}
