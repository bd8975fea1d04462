//! The end that answers each request with as many bytes as it asks for.

use cellwind_engine::time::Time;

use super::end::{Desk, Part};
use crate::carrier::{Event, Message};

/// A server; how long it takes to find an answer is not modelled.
#[derive(Clone, Debug)]
pub struct Responder {
    closes_after_reply: bool,
}

impl Responder {
    /// A server that closes a connection after its first reply, or leaves that to the client.
    pub fn new(closes_after_reply: bool) -> Self {
        Responder { closes_after_reply }
    }
}

impl Part for Responder {
    fn start(&mut self, _: &mut Desk<'_>) {}

    fn on_event(&mut self, line: u16, event: Event, desk: &mut Desk<'_>) {
        match event {
            Event::Arrived(request) => {
                desk.send(line, Message::new(request.number, request.asks.max(1), desk.now));
                if self.closes_after_reply {
                    desk.close(line);
                }
            }
            Event::PeerClosed => desk.close(line),
            _ => {}
        }
    }

    fn on_timeout(&mut self, _: &mut Desk<'_>) {}

    fn next_timeout(&self) -> Option<Time> {
        None
    }

    fn is_complete(&self) -> bool {
        false
    }
}
