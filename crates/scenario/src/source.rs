//! Texts that values come from, and places in them.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// A text with a name: a file, a ready-made preset, a command line argument.
#[derive(PartialEq, Eq)]
pub struct Source {
    /// What reports call it.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// Where its relative file names start.
    pub directory: PathBuf,
    /// True for presets, which nobody wrote for this scenario.
    pub is_preset: bool,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({:?})", self.name)
    }
}

impl Source {
    /// A text that was not read from a file; its relative file names start at the working directory.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Source { name: name.into(), text: text.into(), directory: PathBuf::new(), is_preset: false })
    }

    /// The text of a preset.
    pub fn preset(name: String, text: &str) -> Arc<Self> {
        Arc::new(Source { name, text: text.into(), directory: PathBuf::new(), is_preset: true })
    }
}

/// A range of bytes in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The text.
    pub source: Arc<Source>,
    /// Byte range; never outside the text.
    pub span: Range<usize>,
}

impl Origin {
    /// The range `span` of `source`, moved to character boundaries inside the text.
    pub fn new(source: &Arc<Source>, span: Range<usize>) -> Self {
        let text = &source.text;
        let boundary = |mut at: usize| {
            at = at.min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let start = boundary(span.start);
        Origin { source: Arc::clone(source), span: start..boundary(span.end).max(start) }
    }

    /// Line and column of the first character, both from 1; columns count characters.
    pub fn line_and_column(&self) -> (usize, usize) {
        let before = &self.source.text[..self.span.start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// The first line of the place, and the byte range of the place within that line.
    pub fn line(&self) -> (&str, Range<usize>) {
        let text = &self.source.text;
        let line_start = text[..self.span.start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[self.span.start..].find('\n').map_or(text.len(), |at| self.span.start + at);
        let line = &text[line_start..line_end];
        let line = line.strip_suffix('\r').unwrap_or(line);
        let within = |at: usize| (at - line_start).min(line.len());
        (line, within(self.span.start)..within(self.span.end))
    }
}
