//! What an end of an application counts.

use cellwind_engine::time::Span;

/// Figures of one end; those that do not belong to its application stay empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Messages with content that this end gave to its transport.
    pub messages_sent: u64,
    /// Messages with content that arrived complete.
    pub messages_delivered: u64,
    /// Of those with a deadline, how many came in time; none where messages have none.
    pub messages_on_time: Option<u64>,
    /// From when a message was made, or asked for, until it was complete.
    pub delay: Spread,
    /// From the request of a page until its text was complete.
    pub initial_delay: Spread,
    /// From the request of a page until all of it was complete.
    pub page_delay: Spread,
    /// From the request of a stream until it played.
    pub startup_delay: Option<Span>,
    /// How often play-back stopped because nothing was there to play, and for how long in all; none without play-back.
    pub rebuffering: Option<(u64, Span)>,
    /// How often the rate of a stream was changed; none without play-back.
    pub rate_switches: Option<u64>,
    /// Media arrived, and its bytes, from which the mean rate follows.
    pub media: Option<(Span, u64)>,
}

/// Number, sum and largest of some times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: Span,
    /// The largest.
    pub largest: Span,
}

impl Spread {
    /// Adds one.
    pub fn add(&mut self, span: Span) {
        self.count += 1;
        self.sum += span;
        self.largest = self.largest.max(span);
    }

    /// Their mean; none without any.
    pub fn mean(&self) -> Option<Span> {
        (self.count > 0).then(|| self.sum / self.count)
    }

    /// The largest; none without any.
    pub fn most(&self) -> Option<Span> {
        (self.count > 0).then_some(self.largest)
    }
}

impl Report {
    /// Mean bits per second of the media that arrived; none without play-back.
    pub fn media_bps(&self) -> Option<f64> {
        let (media, bytes) = self.media.filter(|(media, _)| !media.is_zero())?;
        Some(8.0 * bytes as f64 / media.as_secs_f64())
    }
}
