//! The end that sends by a schedule, whatever becomes of what it sent.

use cellwind_engine::time::{Span, Time};

use super::end::{Desk, Part};
use super::{cbr, news, on_off, trace, voip};
use crate::carrier::{Event, Message};

/// One message of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// When it is made, from the start of the flow.
    pub at: Span,
    /// Its size.
    pub bytes: u64,
    /// How long it is of use.
    pub lifetime: Option<Span>,
}

/// The schedules there are, each an iterator of pieces in order of time.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// Packets at a constant rate.
    Cbr(cbr::Packets),
    /// Packets at a constant rate in bursts.
    OnOff(on_off::Bursts),
    /// News updates.
    News(news::Updates),
    /// Frames of speech.
    Voip(voip::Frames),
    /// What a capture holds.
    Trace(trace::Replay),
}

impl Iterator for Schedule {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        match self {
            Schedule::Cbr(packets) => packets.next(),
            Schedule::OnOff(bursts) => bursts.next(),
            Schedule::News(updates) => updates.next(),
            Schedule::Voip(frames) => frames.next(),
            Schedule::Trace(replay) => replay.next(),
        }
    }
}

/// Sends each piece when it is made.
#[derive(Clone, Debug)]
pub struct Scheduled {
    schedule: Schedule,
    start: Time,
    next: Option<Piece>,
    number: u32,
    line: u16,
    is_open: bool,
}

impl Scheduled {
    /// A schedule that counts from `start`.
    pub fn new(mut schedule: Schedule, start: Time) -> Self {
        let next = schedule.next();
        Scheduled { schedule, start, next, number: 0, line: 0, is_open: false }
    }

    fn send_due(&mut self, desk: &mut Desk<'_>) {
        while let Some(piece) = self.next.filter(|piece| self.is_open && self.start + piece.at <= desk.now) {
            self.next = self.schedule.next();
            let message = Message {
                deadline: piece.lifetime.map(|lifetime| desk.now + lifetime),
                is_last: self.next.is_none(),
                ..Message::new(self.number, piece.bytes, desk.now)
            };
            self.number += 1;
            desk.send(self.line, message);
            if message.is_last {
                desk.close(self.line);
            }
        }
    }
}

impl Part for Scheduled {
    fn start(&mut self, desk: &mut Desk<'_>) {
        self.line = desk.open();
        self.is_open = true;
        self.send_due(desk);
    }

    fn on_event(&mut self, _: u16, event: Event, _: &mut Desk<'_>) {
        if event == Event::Lost {
            self.next = None;
        }
    }

    fn on_timeout(&mut self, desk: &mut Desk<'_>) {
        self.send_due(desk);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next.filter(|_| self.is_open).map(|piece| self.start + piece.at)
    }

    fn is_complete(&self) -> bool {
        false
    }
}
