//! The text of a report.

use std::fmt::{self, Write as _};
use std::ops::Range;

use super::ScenarioError;

/// Characters of a source line that are shown; the rest is cut around the place.
const LINE_WIDTH: usize = 100;
/// Characters of a value that are shown.
const VALUE_WIDTH: usize = 60;

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = &*self.0;
        if let Some(origin) = &report.origin {
            let (line, column) = origin.line_and_column();
            write!(f, "{}:{line}:{column}: ", safe(&origin.source.name))?;
        } else if let Some(file) = &report.file {
            write!(f, "{}: ", safe(file))?;
        }
        f.write_str("error: ")?;
        if !report.path.is_empty() {
            write!(f, "{}: ", safe(&shortened(&self.path(), 200)))?;
        }
        f.write_str(&safe(&report.message))?;

        if let Some(origin) = &report.origin {
            let (line, _) = origin.line_and_column();
            let (text, place) = origin.line();
            if !text.trim().is_empty() {
                let (shown, underline) = excerpt(text, place);
                let number = line.to_string();
                let margin = " ".repeat(number.len());
                write!(f, "\n{margin} |\n{number} | {shown}\n{margin} | {underline}")?;
            }
        }
        if let Some(found) = &report.found {
            write!(f, "\n  found:   {}", safe(found))?;
        }
        if let Some(allowed) = &report.allowed {
            write!(f, "\n  allowed: {}", safe(allowed))?;
        }
        if let Some(nearest) = &report.nearest {
            write!(f, "\n  did you mean `{}`?", safe(nearest))?;
        }
        for note in &report.notes {
            write!(f, "\n  {}", safe(note))?;
        }
        Ok(())
    }
}

/// A string value in quotes, shortened and with its control characters escaped.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", safe(&shorten(text)))
}

/// The beginning of a value, short enough for a report.
pub fn shorten(text: &str) -> String {
    shortened(text, VALUE_WIDTH)
}

/// The text with everything escaped that a terminal might obey instead of show.
pub fn safe(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        push_safe(&mut shown, c);
    }
    shown
}

fn push_safe(shown: &mut String, c: char) {
    // Marks that change the writing direction or take no room can make a line look like another one.
    let invisible =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    match c {
        '\t' => shown.push(' '),
        c if c.is_control() || invisible => {
            let _ = write!(shown, "{}", c.escape_unicode());
        }
        c => shown.push(c),
    }
}

fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_string();
    }
    let mut short: String = text.chars().take(width - 1).collect();
    short.push('…');
    short
}

/// The part of `line` around `place`, and the carets for the line below it.
fn excerpt(line: &str, place: Range<usize>) -> (String, String) {
    let start = line[..place.start].chars().count();
    let length = line[place].chars().count().max(1);
    let total = line.chars().count();
    // A place far to the right moves the window, leaving some of what stands in front of it.
    let skipped =
        if total > LINE_WIDTH && start > LINE_WIDTH / 2 { (start - LINE_WIDTH / 4).min(total - LINE_WIDTH) } else { 0 };

    let (mut shown, mut underline) = (String::new(), String::new());
    if skipped > 0 {
        shown.push('…');
        underline.push(' ');
    }
    for (at, c) in line.chars().enumerate().skip(skipped).take(LINE_WIDTH) {
        let before = shown.chars().count();
        push_safe(&mut shown, c);
        let mark = if (start..start + length).contains(&at) { '^' } else { ' ' };
        underline.extend(std::iter::repeat_n(mark, shown.chars().count() - before));
    }
    if skipped + LINE_WIDTH < total {
        shown.push('…');
    }
    // A place at the very end of the line, such as a missing value.
    if !underline.contains('^') {
        underline.push('^');
    }
    (shown.trim_end().to_string(), underline.trim_end().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let line = format!("{}bad{}", "a".repeat(500), "b".repeat(500));
        let (shown, underline) = excerpt(&line, 500..503);
        assert!(shown.chars().count() <= LINE_WIDTH + 2);
        let column = underline.find('^').unwrap();
        let marked: String = shown.chars().skip(column).take(3).collect();
        assert_eq!(marked, "bad");
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        let (shown, underline) = excerpt("x = \"\u{1b}[2J\u{202e}\"", 4..13);
        assert_eq!(shown, "x = \"\\u{1b}[2J\\u{202e}\"");
        assert_eq!(underline.matches('^').count(), shown.len() - 4);
    }

    #[test]
    fn the_end_of_a_line_can_be_marked() {
        assert_eq!(excerpt("rate =", 6..6), ("rate =".into(), "      ^".into()));
    }
}
