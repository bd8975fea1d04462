//! Web pages: a text and the objects in it, by HTTP/1.0 or HTTP/1.1, over one or more connections.

use std::collections::{BTreeMap, VecDeque};

use cellwind_engine::fact::FactKind;
use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::end::{Desk, Part};
use crate::carrier::Event;

/// Web pages, each a text (HTML) and objects that are asked for when the text is there.
///
/// The initial delay of a page ends with its text, the total delay with its last object (Teyeb, 8.2.1). Servers answer at
/// once, and texts name their objects at their end: nothing is asked for while a text arrives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WebSettings {
    /// The version of HTTP, and with it what becomes of connections.
    pub http: Http,
    /// Size of the text, with the header of its response.
    pub html: Size,
    /// How many objects a page has besides its text.
    pub objects: u32,
    /// Size of an object, with the header of its response.
    pub object: Size,
    /// Size of a request.
    pub request: Size,
    /// The most connections open at a time.
    #[schemars(range(min = 1))]
    pub connections: u32,
    /// HTTP/1.1: asks for all objects without waiting for responses (RFC 9112 §9.3.2).
    pub pipelining: bool,
    /// How many pages are fetched.
    #[schemars(range(min = 1))]
    pub pages: u32,
    /// From the end of a page to the request of the next.
    pub think: Span,
}

/// Versions of HTTP, as far as connections tell them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Http {
    /// A connection for each request; the server closes it behind its response (RFC 1945 §1.3).
    #[serde(rename = "1.0")]
    V1_0,
    /// Connections serve one request after the other (RFC 9112 §9.3).
    #[default]
    #[serde(rename = "1.1")]
    V1_1,
}

impl Default for WebSettings {
    fn default() -> Self {
        WebSettings {
            http: Http::V1_1,
            html: Size::from_bytes(10_000), // a page of text in the time of the papers
            objects: 10,
            object: Size::from_bytes(5_000),
            request: Size::from_bytes(300), // as long as the requests of Gurtov, P1 table 1
            connections: 2,                 // RFC 2616 §8.1.4: no more than two
            pipelining: false,
            pages: 1,
            think: Span::ZERO,
        }
    }
}

impl WebSettings {
    pub(crate) fn closes_after_reply(&self) -> bool {
        self.http == Http::V1_0
    }
}

/// What a request was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    at: Time,
    is_text: bool,
}

/// The browser.
#[derive(Clone, Debug)]
pub struct Browser {
    settings: WebSettings,
    page: u32,
    page_began: Time,
    /// The number of the next request.
    next: u32,
    /// Requests without response.
    asked: BTreeMap<u32, Asked>,
    /// Objects of this page not asked for yet.
    waiting: u32,
    /// HTTP/1.1: connections that stay, and those of them that have nothing to do.
    lines: Vec<u16>,
    free: VecDeque<u16>,
    /// HTTP/1.0: connections with a request on its way.
    busy: u32,
    due: Option<Time>,
}

impl Browser {
    /// Nothing fetched yet.
    pub fn new(settings: &WebSettings) -> Self {
        Browser {
            settings: settings.clone(),
            page: 0,
            page_began: Time::ZERO,
            next: 0,
            asked: BTreeMap::new(),
            waiting: 0,
            lines: Vec::new(),
            free: VecDeque::new(),
            busy: 0,
            due: None,
        }
    }

    fn begin_page(&mut self, desk: &mut Desk<'_>) {
        self.page_began = desk.now;
        match self.line(desk) {
            Some(line) => self.ask(line, true, desk),
            None => unreachable!("nothing is under way between pages"),
        }
    }

    /// A connection that may take a request.
    fn line(&mut self, desk: &mut Desk<'_>) -> Option<u16> {
        if let Some(line) = self.free.pop_front() {
            return Some(line);
        }
        let open = if self.settings.http == Http::V1_0 { self.busy } else { self.lines.len() as u32 };
        if open >= self.settings.connections {
            return None;
        }
        let line = desk.open();
        if self.settings.http == Http::V1_1 {
            self.lines.push(line);
        }
        Some(line)
    }

    fn ask(&mut self, line: u16, is_text: bool, desk: &mut Desk<'_>) {
        let asks = if is_text { self.settings.html } else { self.settings.object };
        self.busy += 1;
        self.asked.insert(self.next, Asked { at: desk.now, is_text });
        desk.ask(line, self.next, self.settings.request.as_bytes(), asks.as_bytes());
        self.next += 1;
    }

    /// Asks for as many objects as connections allow.
    fn ask_for_objects(&mut self, desk: &mut Desk<'_>) {
        while self.waiting > 0 {
            let Some(line) = self.line(desk) else { break };
            self.waiting -= 1;
            self.ask(line, false, desk);
        }
        if self.settings.pipelining && self.settings.http == Http::V1_1 {
            for place in 0..self.waiting {
                let line = self.lines[place as usize % self.lines.len()];
                self.ask(line, false, desk);
            }
            self.waiting = 0;
        }
    }

    fn end_page(&mut self, desk: &mut Desk<'_>) {
        let delay = desk.now - self.page_began;
        desk.report.page_delay.add(delay);
        let fact = desk.fact(FactKind::PageCompleted).about(u64::from(self.page), 0);
        desk.out.fact(fact.values(delay.as_nanos(), 0));
        self.page += 1;
        if self.page == self.settings.pages {
            for line in std::mem::take(&mut self.lines) {
                desk.close(line);
            }
        } else if self.settings.think.is_zero() {
            self.begin_page(desk);
        } else {
            self.due = Some(desk.now + self.settings.think);
        }
    }
}

impl Part for Browser {
    fn start(&mut self, desk: &mut Desk<'_>) {
        self.begin_page(desk);
    }

    fn on_event(&mut self, line: u16, event: Event, desk: &mut Desk<'_>) {
        let Event::Arrived(response) = event else { return };
        let Some(asked) = self.asked.remove(&response.number) else { return };
        desk.take(&response, asked.at);
        self.busy -= 1;
        match self.settings.http {
            Http::V1_0 => desk.close(line),
            Http::V1_1 => self.free.push_back(line),
        }
        if asked.is_text {
            let delay = desk.now - self.page_began;
            desk.report.initial_delay.add(delay);
            let fact = desk.fact(FactKind::PageTextArrived).about(u64::from(self.page), 0);
            desk.out.fact(fact.values(delay.as_nanos(), 0));
            self.waiting = self.settings.objects;
        }
        self.ask_for_objects(desk);
        if self.asked.is_empty() {
            self.end_page(desk);
        }
    }

    fn on_timeout(&mut self, desk: &mut Desk<'_>) {
        self.due = None;
        self.begin_page(desk);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.due
    }

    fn is_complete(&self) -> bool {
        self.page == self.settings.pages
    }
}

#[cfg(test)]
mod tests;
