//! What a script expects beside what was seen.

use std::fmt::Write as _;

use cellwind_engine::time::{Span, Time};

use super::play::Played;
use super::segment::{Form, Seen};
use super::words::Words;
use super::{Action, Script};

/// Rows that a report shows on either side of a difference.
const AROUND: usize = 4;

/// One row: a segment that was expected, one that was seen, or both when they belong together.
#[derive(Clone, Debug)]
pub struct Row {
    /// Line of the script, instant, tolerance and segment that was expected.
    pub expected: Option<Expected>,
    /// Instant and segment that was seen.
    pub seen: Option<(Time, String)>,
}

/// What a row expects.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Line of the script, from 1.
    pub line: usize,
    /// When.
    pub at: Time,
    /// How far from it.
    pub tolerance: Span,
    /// What, in the words of the script.
    pub segment: String,
}

/// How a script and what was seen compare.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The script's name.
    pub name: String,
    /// All segments in the order of time.
    pub rows: Vec<Row>,
    /// Claims that did not hold: line, and what was found.
    pub broken: Vec<(usize, String)>,
}

/// Compares what was played with what the script expects; every expectation has at least this `tolerance`.
pub fn compare(script: &Script, played: &Played, tolerance: Span) -> Verdict {
    let words = Words::of(script);
    let mut wanted = Vec::new();
    for step in &script.steps {
        if let Action::Leaves(form) = &step.action {
            let segment = words.form(form);
            let tolerance = step.tolerance.max(tolerance);
            wanted.push((Expected { line: step.line, at: step.at, tolerance, segment }, form));
        }
    }
    let pairs = align(&wanted, &played.seen);
    let row = |(expected, seen): (Option<usize>, Option<usize>)| Row {
        expected: expected.map(|place| wanted[place].0.clone()),
        seen: seen.map(|place| {
            let form = expected.map(|place| wanted[place].1);
            (played.seen[place].at, words.packet(&played.seen[place].packet, form))
        }),
    };
    Verdict { name: script.name.clone(), rows: pairs.into_iter().map(row).collect(), broken: played.broken.clone() }
}

impl Row {
    /// Whether the segment was seen as and when it was expected.
    pub fn agrees(&self) -> bool {
        let both = self.expected.as_ref().zip(self.seen.as_ref());
        both.is_some_and(|(expected, (seen, _))| since(expected.at).abs_diff(since(*seen)) <= expected.tolerance)
    }

    /// What is wrong with it, in one clause.
    fn difference(&self) -> String {
        match (&self.expected, &self.seen) {
            (Some(expected), None) => format!("`{}` at {} was not sent", expected.segment, since(expected.at)),
            (None, Some((at, segment))) => format!("`{segment}` at {} was not expected", since(*at)),
            (Some(expected), Some((at, segment))) => {
                format!("`{segment}` was sent at {}, not at {}", since(*at), since(expected.at))
            }
            (None, None) => String::new(),
        }
    }
}

impl Verdict {
    /// Whether everything was as expected.
    pub fn holds(&self) -> bool {
        self.broken.is_empty() && self.rows.iter().all(Row::agrees)
    }

    /// The first difference with the segments around it, and every claim that does not hold; empty when all is well.
    pub fn report(&self) -> String {
        let mut text = String::new();
        if let Some(place) = self.rows.iter().position(|row| !row.agrees()) {
            let line = self.line_of(place);
            let _ = writeln!(text, "{}:{line}: {}", self.name, self.rows[place].difference());
            let around = place.saturating_sub(AROUND)..self.rows.len().min(place + AROUND + 1);
            text.push_str(&self.table(around));
        }
        for (line, found) in &self.broken {
            let _ = writeln!(text, "{}:{line}: {found}", self.name);
        }
        text
    }

    /// All rows as a table; what differs is marked.
    pub fn table_of_all(&self) -> String {
        self.table(0..self.rows.len())
    }

    fn table(&self, range: std::ops::Range<usize>) -> String {
        let cells: Vec<[String; 3]> = range.map(|place| self.cells(place)).collect();
        let width = |column: usize, title: &str| {
            cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).max(title.len())
        };
        let widths = [width(0, "line"), width(1, "expected")];
        let mut text = format!("    {:>w0$}  {:<w1$}  seen\n", "line", "expected", w0 = widths[0], w1 = widths[1]);
        for row in &cells {
            let mark = row[0].is_empty() || row[0].starts_with('!');
            let line = row[0].trim_start_matches('!');
            let mark = if mark { "  ! " } else { "    " };
            let _ = writeln!(text, "{mark}{line:>w0$}  {:<w1$}  {}", row[1], row[2], w0 = widths[0], w1 = widths[1]);
        }
        text
    }

    /// Line with a mark when the row differs, what was expected, what was seen.
    fn cells(&self, place: usize) -> [String; 3] {
        let row = &self.rows[place];
        let mark = if row.agrees() { "" } else { "!" };
        let line = row.expected.as_ref().map_or(String::new(), |expected| expected.line.to_string());
        let expected = row.expected.as_ref().map_or("-".into(), |e| format!("{}  {}", since(e.at), e.segment));
        let seen = row.seen.as_ref().map_or("-".into(), |(at, segment)| format!("{}  {segment}", since(*at)));
        [format!("{mark}{line}"), expected, seen]
    }

    /// The line of a row, or of the last expectation before it.
    fn line_of(&self, place: usize) -> usize {
        let lines = self.rows[..=place].iter().rev().filter_map(|row| row.expected.as_ref());
        let after = self.rows[place..].iter().filter_map(|row| row.expected.as_ref());
        lines.chain(after).map(|expected| expected.line).next().unwrap_or(1)
    }
}

fn since(at: Time) -> Span {
    at - Time::ZERO
}

/// Pairs of what belongs together, so that as many segments as possible fit and as many of these as possible are in
/// time; what is left on either side stands alone where it came.
fn align(wanted: &[(Expected, &Form)], seen: &[Seen]) -> Vec<(Option<usize>, Option<usize>)> {
    let (rows, columns) = (wanted.len(), seen.len());
    // best[i][j]: the most that wanted[i..] and seen[j..] can give together.
    let mut best = vec![vec![0_u32; columns + 1]; rows + 1];
    let gain = |i: usize, j: usize| -> u32 {
        let (expected, form) = &wanted[i];
        if !form.fits(&seen[j].packet) {
            return 0;
        }
        let off = since(expected.at).abs_diff(since(seen[j].at));
        if off <= expected.tolerance { 3 } else { 2 }
    };
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            let paired = gain(i, j);
            let paired = if paired > 0 { paired + best[i + 1][j + 1] } else { 0 };
            best[i][j] = paired.max(best[i + 1][j]).max(best[i][j + 1]);
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::with_capacity(rows.max(columns));
    while i < rows || j < columns {
        let pair = i < rows && j < columns && {
            let paired = gain(i, j);
            paired > 0 && best[i][j] == paired + best[i + 1][j + 1]
        };
        if pair {
            pairs.push((Some(i), Some(j)));
            (i, j) = (i + 1, j + 1);
        } else if j == columns || (i < rows && best[i][j] == best[i + 1][j] && wanted[i].0.at <= seen[j].at) {
            pairs.push((Some(i), None));
            i += 1;
        } else if i == rows || best[i][j] == best[i][j + 1] {
            pairs.push((None, Some(j)));
            j += 1;
        } else {
            pairs.push((Some(i), None));
            i += 1;
        }
    }
    pairs
}
