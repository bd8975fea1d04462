//! Echo requests at an interval, and the replies to them.

use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::end::{Desk, Part};
use crate::carrier::{Event, Message};

/// Echo requests at an interval, whether replies come or not, as the program ping sends them. Over UDP a packet is as large
/// as that of ping: its header has 8 bytes as well (RFC 768, RFC 792).
///
/// The delay of a reply is the round-trip time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PingSettings {
    /// Bytes that are echoed.
    pub size: Size,
    /// How much larger each request is than the one before.
    pub grow: Size,
    /// How many requests there are.
    #[schemars(range(min = 1))]
    pub count: u32,
    /// From one request to the next.
    pub interval: Span,
    /// How long a reply to the last request is waited for.
    pub timeout: Span,
}

impl Default for PingSettings {
    fn default() -> Self {
        // The program of Windows, which Teyeb's Table 2.1 shows; the time it waits is from memory†.
        let (size, grow) = (Size::from_bytes(32), Size::ZERO);
        PingSettings { size, grow, count: 4, interval: Span::from_secs(1), timeout: Span::from_secs(4) }
    }
}

/// The end that asks.
#[derive(Clone, Debug)]
pub struct Pinger {
    settings: PingSettings,
    start: Time,
    line: u16,
    sent: u32,
    arrived: u32,
    is_over: bool,
}

impl Pinger {
    /// Asks from `start` on.
    pub fn new(settings: &PingSettings, start: Time) -> Self {
        Pinger { settings: settings.clone(), start, line: 0, sent: 0, arrived: 0, is_over: false }
    }

    fn ask(&mut self, desk: &mut Desk<'_>) {
        let bytes = self.settings.size.as_bytes() + u64::from(self.sent) * self.settings.grow.as_bytes();
        desk.ask(self.line, self.sent, bytes, bytes);
        self.sent += 1;
    }

    /// When request number `number` is, or was, sent.
    fn sent_at(&self, number: u32) -> Time {
        self.start + self.settings.interval * u64::from(number)
    }
}

impl Part for Pinger {
    fn start(&mut self, desk: &mut Desk<'_>) {
        self.line = desk.open();
        self.ask(desk);
    }

    fn on_event(&mut self, _: u16, event: Event, desk: &mut Desk<'_>) {
        if let Event::Arrived(reply) = event
            && !self.is_over
        {
            desk.take(&reply, self.sent_at(reply.number));
            self.arrived += 1;
            if self.is_complete() {
                desk.close(self.line);
            }
        }
    }

    fn on_timeout(&mut self, desk: &mut Desk<'_>) {
        if self.sent < self.settings.count {
            self.ask(desk);
        } else {
            self.is_over = true;
            desk.close(self.line);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        match self.sent {
            0 => None,
            sent if sent < self.settings.count => Some(self.sent_at(sent)),
            sent if !self.is_complete() => Some(self.sent_at(sent - 1) + self.settings.timeout),
            _ => None,
        }
    }

    fn is_complete(&self) -> bool {
        self.is_over || self.arrived == self.settings.count
    }
}

/// The end that sends everything back.
#[derive(Clone, Debug)]
pub struct Echo;

impl Part for Echo {
    fn start(&mut self, _: &mut Desk<'_>) {}

    fn on_event(&mut self, line: u16, event: Event, desk: &mut Desk<'_>) {
        match event {
            Event::Arrived(request) => desk.send(line, Message::new(request.number, request.bytes, desk.now)),
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

#[cfg(test)]
mod tests {
    use super::super::settings::ApplicationSettings;
    use super::super::testkit::{IDEAL, Wire, completed_ms, run, tcp, udp};
    use super::*;
    use cellwind_engine::units::Rate;

    fn ping(count: u32) -> ApplicationSettings {
        ApplicationSettings::Ping(PingSettings { count, ..PingSettings::default() })
    }

    #[test]
    fn the_delay_of_a_reply_is_the_round_trip() {
        let pings = run(&ping(3), &udp(), &IDEAL);
        assert_eq!(pings.sink.report().delay.mean(), Some(Span::from_millis(100)));
        assert_eq!(pings.sink.report().messages_delivered, 3);
        assert_eq!(completed_ms(&pings), 2_100.0);
    }

    #[test]
    fn both_ways_carry_the_bytes_and_the_headers() {
        // 60 bytes at 16 kbit/s are 30 ms each way.
        let slow = Wire { rate: Some(Rate::from_kbps(16)), ..IDEAL };
        let pings = run(&ping(1), &udp(), &slow);
        assert_eq!(pings.sink.report().delay.mean(), Some(Span::from_millis(160)));
        // The second one has 100 bytes more, hence 80 ms each way.
        let settings = PingSettings { count: 2, grow: Size::from_bytes(100), ..PingSettings::default() };
        let pings = run(&ApplicationSettings::Ping(settings), &udp(), &slow);
        assert_eq!(pings.sink.report().delay.most(), Some(Span::from_millis(260)));
    }

    #[test]
    fn a_lost_reply_is_not_waited_for_longer_than_the_timeout() {
        let lossy = Wire { lost: vec![0, 2], ..IDEAL };
        let pings = run(&ping(3), &udp(), &lossy);
        assert_eq!(pings.sink.report().messages_delivered, 1);
        assert_eq!(completed_ms(&pings), 6_000.0);
    }

    #[test]
    fn over_tcp_the_first_one_has_the_handshake_in_it() {
        let pings = run(&ping(2), &tcp(), &IDEAL);
        assert_eq!(pings.sink.report().delay.most(), Some(Span::from_millis(200)));
        assert_eq!(completed_ms(&pings), 1_100.0);
    }
}
