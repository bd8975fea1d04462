//! Requests and replies, one after the other.

use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::end::{Desk, Part};
use crate::carrier::Event;

/// Transactions one after the other: a request, and the reply to it.
///
/// The delay of a transaction is from its request until its reply is complete; that of the first one on a connection
/// has the handshake in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestReplySettings {
    /// Size of a request.
    pub request: Size,
    /// Size of a reply.
    pub reply: Size,
    /// How many transactions there are.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub transactions: u32,
    /// From a reply to the next request.
    #[serde(default)]
    pub pause: Span,
    /// Opens a new connection for each transaction; otherwise all share one.
    #[serde(default)]
    pub reconnect: bool,
}

fn one() -> u32 {
    1
}

/// The client.
#[derive(Clone, Debug)]
pub struct Requester {
    settings: RequestReplySettings,
    /// Transactions begun.
    begun: u32,
    done: u32,
    asked: Time,
    line: u16,
    due: Option<Time>,
}

impl Requester {
    /// Nothing asked yet.
    pub fn new(settings: &RequestReplySettings) -> Self {
        Requester { settings: settings.clone(), begun: 0, done: 0, asked: Time::ZERO, line: 0, due: None }
    }

    fn ask(&mut self, desk: &mut Desk<'_>) {
        if self.begun == 0 || self.settings.reconnect {
            self.line = desk.open();
        }
        self.asked = desk.now;
        desk.ask(self.line, self.begun, self.settings.request.as_bytes(), self.settings.reply.as_bytes());
        self.begun += 1;
    }
}

impl Part for Requester {
    fn start(&mut self, desk: &mut Desk<'_>) {
        self.ask(desk);
    }

    fn on_event(&mut self, _: u16, event: Event, desk: &mut Desk<'_>) {
        let Event::Arrived(reply) = event else { return };
        desk.take(&reply, self.asked);
        self.done += 1;
        let more = self.done < self.settings.transactions;
        if !more || self.settings.reconnect {
            desk.close(self.line);
        }
        match more {
            true if self.settings.pause.is_zero() => self.ask(desk),
            true => self.due = Some(desk.now + self.settings.pause),
            false => {}
        }
    }

    fn on_timeout(&mut self, desk: &mut Desk<'_>) {
        self.due = None;
        self.ask(desk);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.due
    }

    fn is_complete(&self) -> bool {
        self.done == self.settings.transactions
    }
}
