//! Files of given sizes, one after the other.

use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::end::{Desk, Part};
use crate::carrier::{Event, Message};

/// Files one after the other: the next begins when the one before is acknowledged, and a pause has passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilesSettings {
    /// The sizes, in the order they are sent.
    pub sizes: Vec<Size>,
    /// From the end of one file to the start of the next.
    #[serde(default)]
    pub pause: Span,
    /// Opens a new connection for each file, as FTP does; otherwise all share one.
    #[serde(default)]
    pub reconnect: bool,
}

/// The end that sends the files.
#[derive(Clone, Debug)]
pub struct Files {
    settings: FilesSettings,
    /// The next file to send.
    next: usize,
    line: u16,
    due: Option<Time>,
}

impl Files {
    /// Nothing sent yet.
    pub fn new(settings: &FilesSettings) -> Self {
        Files { settings: settings.clone(), next: 0, line: 0, due: None }
    }

    fn send_next(&mut self, desk: &mut Desk<'_>) {
        let Some(size) = self.settings.sizes.get(self.next) else { return };
        if self.next == 0 || self.settings.reconnect {
            self.line = desk.open();
        }
        let number = self.next as u32;
        self.next += 1;
        let is_last = self.next == self.settings.sizes.len();
        desk.send(self.line, Message { is_last, ..Message::new(number, size.as_bytes(), desk.now) });
        if is_last || self.settings.reconnect {
            desk.close(self.line);
        }
    }
}

impl Part for Files {
    fn start(&mut self, desk: &mut Desk<'_>) {
        self.send_next(desk);
    }

    fn on_event(&mut self, _: u16, event: Event, desk: &mut Desk<'_>) {
        match event {
            Event::Ok(_) if self.settings.pause.is_zero() => self.send_next(desk),
            Event::Ok(_) if self.next < self.settings.sizes.len() => self.due = Some(desk.now + self.settings.pause),
            _ => {}
        }
    }

    fn on_timeout(&mut self, desk: &mut Desk<'_>) {
        self.due = None;
        self.send_next(desk);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.due
    }

    fn is_complete(&self) -> bool {
        false
    }
}
