//! Reads scripts: a TOML header, a line of dashes, and lines of time, direction and segment.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use cellwind_engine::packet::{Flags, SackBlocks};
use cellwind_engine::time::{Span, Time};
use cellwind_transport::tcp::payload_of_full_segment;
use serde::Deserialize;

use super::segment::{Echo, Form, Segment};
use super::{Action, Claim, Kernel, Kind, Quantity, Script, Side, Step};
use crate::de::from_node;
use crate::error::{Mistake, ScenarioError, quoted};
use crate::node::{Node, Value};
use crate::source::{Origin, Source};
use crate::{load as loading, presets, read};

/// The line between header and exchange.
const RULE: &str = "---";
/// The most segments that one line stands for.
const MOST_SEGMENTS: u64 = 10_000;
/// The largest sequence number; beyond it SACK blocks could not be told apart (RFC 7323 §2.3).
const LARGEST_NUMBER: u64 = 1 << 40;

/// The header beside the transport.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    test: Side,
    #[serde(default)]
    kernel: Kernel,
    #[serde(default = "first_byte")]
    first_byte: u64,
}

fn first_byte() -> u64 {
    1
}

/// Reads the script in a file.
pub fn load(path: &Path) -> Result<Script, ScenarioError> {
    from_source(&read::file(path)?)
}

/// Reads a script from text; reports call it `name`.
pub fn parse(text: &str, name: &str) -> Result<Script, ScenarioError> {
    let text = read::text(text.as_bytes().to_vec()).map_err(|error| error.in_file(name))?;
    from_source(&Source::new(name, text))
}

fn from_source(source: &Arc<Source>) -> Result<Script, ScenarioError> {
    let mut at = 0;
    let rule = source.text.split_inclusive('\n').find_map(|line| {
        let start = at;
        at += line.len();
        (line.trim_end() == RULE).then_some((start, at))
    });
    let Some((end_of_header, start_of_lines)) = rule else {
        return Err(ScenarioError::new(
            Mistake::Syntax,
            "a script has a header and lines, and nothing parts them here",
        )
        .at(&Origin::new(source, 0..0))
        .allowed("a line `---` after the settings"));
    };
    let head = Source {
        name: source.name.clone(),
        text: source.text[..end_of_header].to_string(),
        directory: source.directory.clone(),
        is_preset: false,
    };
    let (header, transport) = header(&Arc::new(head))?;
    let payload = payload_of_full_segment(&transport);
    let mut lines = Lines {
        source,
        test: header.test,
        payload,
        first_byte: header.first_byte,
        stamped: transport.timestamps,
        last: Time::ZERO,
        closed: false,
        steps: Vec::new(),
    };
    let mut start = start_of_lines;
    for (number, line) in source.text[start_of_lines..].split_inclusive('\n').enumerate() {
        let before = source.text[..start_of_lines].matches('\n').count();
        lines.line(start..start + line.trim_end().len(), before + number + 1)?;
        start += line.len();
    }
    if lines.steps.is_empty() {
        let nothing = ScenarioError::new(Mistake::EmptyFile, "nothing happens in this script");
        return Err(nothing.at(&Origin::new(source, start_of_lines..start_of_lines)).allowed("lines such as `0 open`"));
    }
    let mut steps = lines.steps;
    steps.sort_by_key(|step| step.at); // a line with `every` reaches beyond the lines after it
    Ok(Script {
        name: source.name.clone(),
        summary: presets::summary(&source.text).to_string(),
        test: header.test,
        transport,
        kernel: header.kernel,
        first_byte: header.first_byte,
        steps,
    })
}

fn header(source: &Arc<Source>) -> Result<(Header, cellwind_transport::tcp::settings::TcpSettings), ScenarioError> {
    let mut root = Node::parse(source)?;
    let table = root.as_table_mut().expect("a document is a table");
    let transport = table.shift_remove("transport");
    let header: Header = from_node(&Node { value: Value::Table(std::mem::take(table)), ..root })
        .map_err(|error| error.also_known_at_top("transport"))?;
    let Some(transport) = transport else {
        return Err(ScenarioError::new(Mistake::MissingKey, "the key `transport` is missing")
            .at(&Origin::new(source, 0..0))
            .allowed("the name of a transport's preset, or a table [transport] as in a flow"));
    };
    Ok((header, loading::tcp_settings_of(transport)?))
}

/// The lines read so far, and what is needed to understand the next one.
struct Lines<'a> {
    source: &'a Arc<Source>,
    test: Side,
    /// Bytes of data in a full segment.
    payload: u64,
    first_byte: u64,
    /// Whether the connection has timestamps.
    stamped: bool,
    /// When the line before happens.
    last: Time,
    /// Whether the application has closed.
    closed: bool,
    steps: Vec<Step>,
}

/// A word of a line and where it stands in the file.
#[derive(Clone, Debug)]
struct Word<'a> {
    text: &'a str,
    span: Range<usize>,
}

/// The words of one line that are still to be read.
struct Words<'a> {
    source: &'a Arc<Source>,
    words: std::vec::IntoIter<Word<'a>>,
    end: usize,
}

impl<'a> Words<'a> {
    fn new(source: &'a Arc<Source>, range: Range<usize>) -> Self {
        let line = &source.text[range.clone()];
        let mut words = Vec::new();
        let mut at = range.start;
        for piece in line.split_inclusive(char::is_whitespace) {
            let text = piece.trim_end();
            if text == "#" || text.starts_with("##") {
                break; // `#` alone begins a comment; `#3` is a segment
            }
            if !text.is_empty() {
                words.push(Word { text, span: at..at + text.len() });
            }
            at += piece.len();
        }
        Words { source, words: words.into_iter(), end: range.end }
    }

    fn next(&mut self, what: &str) -> Result<Word<'a>, ScenarioError> {
        let end = Word { text: "", span: self.end..self.end };
        self.words.next().ok_or_else(|| self.wrong(&end, "the line ends too early").allowed(what.to_string()))
    }

    fn wrong(&self, word: &Word<'_>, message: impl Into<String>) -> ScenarioError {
        let error = ScenarioError::new(Mistake::Syntax, message).at(&Origin::new(self.source, word.span.clone()));
        if word.text.is_empty() { error } else { error.found(quoted(word.text)) }
    }
}

impl<'a> Lines<'a> {
    fn line(&mut self, range: Range<usize>, number: usize) -> Result<(), ScenarioError> {
        let mut words = Words::new(self.source, range.clone());
        let Some(first) = words.words.next() else { return Ok(()) };
        let (at, tolerance) = self.time(&words, &first)?;
        self.last = at;
        let what = "`>`, `<`, `?`, open, write or close";
        let verb = words.next(what)?;
        let mut every = Span::ZERO;
        let actions = match verb.text {
            "<" => self.arriving(&mut words, &mut every)?.into_iter().map(Action::Arrives).collect(),
            ">" => self.leaving(&mut words, &mut every)?,
            "?" => vec![Action::Has(self.claims(&mut words)?)],
            "open" | "write" | "close" if self.test == Side::Receiver => {
                let error = words.wrong(&verb, "the application at the receiver only reads");
                return Err(error.allowed("`<` with a segment: the script plays the sender"));
            }
            "open" => vec![Action::Open],
            "write" if self.closed => {
                return Err(words.wrong(&verb, "nothing can be written after close"));
            }
            "write" => {
                let word = words.next("an amount such as `10mss` or `5000`")?;
                vec![Action::Write(self.amount(&words, &word)?)]
            }
            "close" => {
                self.closed = true;
                vec![Action::Close]
            }
            _ => return Err(words.wrong(&verb, "no such verb").allowed(what)),
        };
        if let Some(word) = words.words.next() {
            return Err(words.wrong(&word, "the line should end here"));
        }
        let text = self.source.text[range].trim().to_string();
        for (place, action) in actions.into_iter().enumerate() {
            let at = at + every * place as u64;
            self.steps.push(Step { at, tolerance, line: number, text: text.clone(), action });
        }
        Ok(())
    }

    /// `120ms`, `+20ms` after the line before, `120ms~5ms` with a tolerance.
    fn time(&self, words: &Words<'_>, word: &Word<'_>) -> Result<(Time, Span), ScenarioError> {
        let allowed = "a time such as `0`, `120ms`, `+20ms` or `120ms~5ms`";
        let (time, tolerance) = word.text.split_once('~').unwrap_or((word.text, "0"));
        let (base, span) = time.strip_prefix('+').map_or((Time::ZERO, time), |span| (self.last, span));
        let spans = (parse_span(span), parse_span(tolerance));
        let (Some(span), Some(tolerance)) = spans else {
            return Err(words.wrong(word, "this is no time").allowed(allowed));
        };
        let at = base + span;
        if at < self.last {
            let message = format!("time goes back: the line before is at {}", self.last - Time::ZERO);
            return Err(words.wrong(word, message).allowed(allowed));
        }
        Ok((at, tolerance))
    }

    /// What arrives at the end under test.
    fn arriving(&self, words: &mut Words<'a>, every: &mut Span) -> Result<Vec<Segment>, ScenarioError> {
        let parts = self.segment(words, self.test == Side::Receiver, false)?;
        *every = parts.every;
        let default_echo = parts.echo.unwrap_or_default();
        let of = |range: &(u64, u64), is_last: bool| {
            let fin = if is_last { parts.last_flags } else { Flags::NONE };
            let (seq, payload, ack) = if self.test == Side::Receiver {
                (range.0, (range.1 - range.0) as u32, 1)
            } else {
                (u64::from(!parts.flags.has(Flags::SYN)), 0, range.1)
            };
            Segment {
                flags: parts.flags.with(fin).with(if parts.ect == Some(true) { Flags::ECT } else { Flags::NONE }),
                seq,
                payload,
                ack,
                window: parts.window,
                sack: parts.sack.clone(),
                stamp: parts.stamp,
                echo: default_echo,
            }
        };
        Ok(repeated(&parts).map(|(range, is_last)| of(range, is_last)).collect())
    }

    /// What the end under test is expected to send.
    fn leaving(&self, words: &mut Words<'a>, every: &mut Span) -> Result<Vec<Action>, ScenarioError> {
        if words.words.as_slice().first().is_some_and(|word| word.text == "nothing") {
            words.words.next();
            return Ok(vec![Action::Nothing]);
        }
        let parts = self.segment(words, self.test == Side::Sender, true)?;
        *every = parts.every;
        let echo = match parts.echo {
            Some(Echo::Value(value)) => Some(value),
            _ => None,
        };
        let of = |range: &(u64, u64), is_last: bool| {
            let fin = if is_last { parts.last_flags } else { Flags::NONE };
            let sends_data = self.test == Side::Sender;
            let places = sends_data && (parts.has_number || parts.flags.has(Flags::SYN));
            Form {
                flags: parts.flags.with(fin),
                seq: places.then_some(range.0),
                payload: if sends_data { (range.1 - range.0) as u32 } else { 0 },
                ack: (!sends_data).then_some(range.1),
                window: parts.window,
                sack: parts.sack.clone(),
                stamp: parts.stamp,
                echo,
                ect: parts.ect,
            }
        };
        Ok(repeated(&parts).map(|(range, is_last)| Action::Leaves(of(range, is_last))).collect())
    }

    /// The words of a segment; `carries` when it is the sender's, and so may carry data.
    fn segment(&self, words: &mut Words<'a>, carries: bool, expected: bool) -> Result<Parts, ScenarioError> {
        let allowed = if carries { "syn, data, fin or ack" } else { "syn-ack or ack" };
        let kind = words.next(allowed)?;
        let mut parts = Parts::default();
        match (kind.text, carries) {
            ("syn", true) => (parts.flags, parts.ranges) = (Flags::SYN, vec![(0, 0)]),
            ("data", true) => {
                parts.flags = Flags::ACK;
                let word = words.next("segments such as `#3` or `#3-#5`, or bytes such as `1:1001`")?;
                parts.ranges = self.ranges(words, &word)?;
                parts.has_number = true;
            }
            ("fin", true) => {
                parts.flags = Flags::ACK.with(Flags::FIN);
                let word = words.next("its sequence number, or `#3` for right after segment 3")?;
                let at = self.number(words, &word)?;
                parts.ranges = vec![(at, at)];
                parts.has_number = true;
            }
            ("ack", true) => (parts.flags, parts.ranges) = (Flags::ACK, vec![(1, 1)]),
            ("syn-ack", false) => (parts.flags, parts.ranges) = (Flags::SYN.with(Flags::ACK), vec![(0, 1)]),
            ("ack", false) => {
                parts.flags = Flags::ACK;
                let word = words.next("a number, `#3` for everything up to segment 3, or `#1-#3` for three ACKs")?;
                parts.ranges = self.acknowledgements(words, &word)?;
            }
            _ => return Err(words.wrong(&kind, "no such segment travels this way").allowed(allowed)),
        }
        while let Some(word) = words.words.next() {
            self.attribute(words, &word, carries, expected, &mut parts)?;
        }
        Ok(parts)
    }

    fn attribute(
        &self,
        words: &mut Words<'a>,
        word: &Word<'a>,
        carries: bool,
        expected: bool,
        parts: &mut Parts,
    ) -> Result<(), ScenarioError> {
        let allowed = "fin, win, sack, ts, echo, ect, not-ect, ce, ece, cwr, every or x and a count";
        let whole = |words: &Words<'_>, word: &Word<'_>| {
            let number = word.text.parse::<u32>();
            number.map_err(|_| words.wrong(word, "this is no whole number of 32 bits"))
        };
        match word.text {
            "fin" if carries => parts.last_flags = Flags::FIN,
            "ece" => parts.flags = parts.flags.with(Flags::ECE),
            "cwr" => parts.flags = parts.flags.with(Flags::CWR),
            "ce" => parts.flags = parts.flags.with(Flags::CE),
            "ect" => parts.ect = Some(true),
            "not-ect" => parts.ect = Some(false),
            "win" => {
                let value = words.next("the window in bytes, or in segments as `10mss`")?;
                let bytes = self.amount(words, &value)?;
                let fits = u32::try_from(bytes).map_err(|_| words.wrong(&value, "no window is as large"));
                parts.window = Some(fits?);
            }
            "sack" if !carries => {
                let value = words.next("blocks such as `#3-#5,#8` or `2001:5001`")?;
                parts.sack = self.blocks(words, &value)?;
            }
            "ts" | "echo" if !self.stamped => {
                return Err(words.wrong(word, "this connection has no timestamps: `timestamps = true`"));
            }
            "ts" => {
                let value = words.next("ticks of the timestamp clock")?;
                parts.stamp = Some(whole(words, &value)?);
            }
            "echo" => {
                let value = words.next("ticks of the timestamp clock, first or last")?;
                parts.echo = Some(match value.text {
                    "first" if !expected => Echo::First,
                    "last" if !expected => Echo::Last,
                    _ => Echo::Value(whole(words, &value)?),
                });
            }
            "every" => {
                let value = words.next("a time such as `10ms`")?;
                parts.every = parse_span(value.text).ok_or_else(|| words.wrong(&value, "this is no time"))?;
            }
            count if count.strip_prefix('x').is_some_and(|count| count.parse::<u64>().is_ok()) => {
                parts.copies = count[1..].parse().expect("just looked at");
                if parts.copies == 0 || parts.copies > MOST_SEGMENTS {
                    return Err(words.wrong(word, "too few or too many").allowed(format!("x1 to x{MOST_SEGMENTS}")));
                }
            }
            _ => return Err(words.wrong(word, "no such part of a segment").allowed(allowed)),
        }
        Ok(())
    }

    /// `#3`, `#3-#5` or `2001:3001`: data segments, as ranges of sequence numbers.
    fn ranges(&self, words: &Words<'_>, word: &Word<'_>) -> Result<Vec<(u64, u64)>, ScenarioError> {
        if word.text.starts_with('#') {
            let (first, last) = self.segments(words, word)?;
            return Ok((first..=last).map(|n| (1 + (n - 1) * self.payload, 1 + n * self.payload)).collect());
        }
        Ok(vec![self.block(words, word)?])
    }

    /// `#3`, `#1-#3` or `3001`: cumulative acknowledgements.
    fn acknowledgements(&self, words: &Words<'_>, word: &Word<'_>) -> Result<Vec<(u64, u64)>, ScenarioError> {
        if word.text.contains('-') {
            let (first, last) = self.segments(words, word)?;
            return Ok((first..=last).map(|n| (1, 1 + n * self.payload)).collect());
        }
        Ok(vec![(1, self.number(words, word)?)])
    }

    fn blocks(&self, words: &Words<'_>, word: &Word<'_>) -> Result<Vec<(u64, u64)>, ScenarioError> {
        let mut blocks = Vec::new();
        let mut at = word.span.start;
        for text in word.text.split(',') {
            let piece = Word { text, span: at..at + text.len() };
            at += text.len() + 1;
            blocks.push(if text.starts_with('#') {
                let (first, last) = self.segments(words, &piece)?;
                (1 + (first - 1) * self.payload, 1 + last * self.payload)
            } else {
                self.block(words, &piece)?
            });
        }
        if blocks.len() > SackBlocks::MOST {
            let message = format!("a header holds at most {} SACK blocks", SackBlocks::MOST);
            return Err(words.wrong(word, message));
        }
        Ok(blocks)
    }

    /// `2001:3001`: from the first byte to the one after the last.
    fn block(&self, words: &Words<'_>, word: &Word<'_>) -> Result<(u64, u64), ScenarioError> {
        let edges = word.text.split_once(':').and_then(|(start, end)| Some((self.seq(start)?, self.seq(end)?)));
        edges.filter(|(start, end)| start < end && end - start <= u64::from(u32::MAX)).ok_or_else(|| {
            words
                .wrong(word, "this is no range of bytes")
                .allowed("two sequence numbers such as `2001:3001`, or segments such as `#3` or `#3-#5`")
        })
    }

    /// `#3` or `#3-#5`.
    fn segments(&self, words: &Words<'_>, word: &Word<'_>) -> Result<(u64, u64), ScenarioError> {
        let (first, last) = word.text.split_once('-').unwrap_or((word.text, word.text));
        let number = |text: &str| text.strip_prefix('#')?.parse::<u64>().ok();
        let most = LARGEST_NUMBER / self.payload;
        let both = number(first).zip(number(last));
        both.filter(|&(first, last)| (1..=last).contains(&first) && last - first < MOST_SEGMENTS && last < most)
            .ok_or_else(|| words.wrong(word, "these are no segments").allowed("`#3` or `#3-#5`, counted from #1"))
    }

    /// A sequence number, or `#3` for the one after segment 3.
    fn number(&self, words: &Words<'_>, word: &Word<'_>) -> Result<u64, ScenarioError> {
        let after = |text: &str| {
            let n = text.parse::<u64>().ok().filter(|n| *n < LARGEST_NUMBER / self.payload)?;
            Some(1 + n * self.payload)
        };
        let number = match word.text.strip_prefix('#') {
            Some(text) => after(text),
            None => self.seq(word.text),
        };
        number.ok_or_else(|| {
            let allowed =
                format!("a number from {} on, or `#3` for what follows segment 3", self.first_byte.saturating_sub(1));
            words.wrong(word, "this is no sequence number").allowed(allowed)
        })
    }

    /// The sequence number that the script calls `text`; the SYN is 0 here.
    fn seq(&self, text: &str) -> Option<u64> {
        (text.parse::<u64>().ok()?.checked_add(1)?).checked_sub(self.first_byte).filter(|seq| *seq < LARGEST_NUMBER)
    }

    /// Bytes, or `10mss`.
    fn amount(&self, words: &Words<'_>, word: &Word<'_>) -> Result<u64, ScenarioError> {
        amount(word.text, self.payload).ok_or_else(|| {
            words.wrong(word, "this is no amount").allowed("bytes such as `5000`, or segments such as `10mss`")
        })
    }

    fn claims(&self, words: &mut Words<'a>) -> Result<Vec<Claim>, ScenarioError> {
        let of_side = |quantity: &&Quantity| quantity.side() == self.test;
        let known = || Quantity::ALL.iter().filter(of_side).map(|quantity| quantity.name());
        let mut claims = Vec::new();
        while let Some(word) = words.words.next() {
            let Some(&quantity) = Quantity::ALL.iter().filter(of_side).find(|known| known.name() == word.text) else {
                return Err(words.wrong(&word, "no such quantity").known(word.text, known()));
            };
            let value = words.next("a value, or `least..most`")?;
            let (least, most) = value.text.split_once("..").unwrap_or((value.text, value.text));
            let bounds = self.value(quantity.kind(), least).zip(self.value(quantity.kind(), most));
            let Some(bounds) = bounds.filter(|(least, most)| least <= most) else {
                let allowed = match quantity.kind() {
                    Kind::Bytes => "bytes such as `5000`, segments such as `5mss`, none, or `least..most`",
                    Kind::Span => "a time such as `1.5s`, or `least..most`",
                    Kind::Number => "a sequence number, `#3` for what follows segment 3, or `least..most`",
                    Kind::Count => "a whole number, or `least..most`",
                };
                return Err(words.wrong(&value, "this is no value of this quantity").allowed(allowed));
            };
            claims.push(Claim { quantity, bounds, text: value.text.to_string() });
        }
        if claims.is_empty() {
            words.next(&known().collect::<Vec<_>>().join(", "))?;
        }
        Ok(claims)
    }

    fn value(&self, kind: Kind, text: &str) -> Option<u64> {
        match kind {
            Kind::Bytes if text == "none" => Some(u64::MAX),
            Kind::Bytes => amount(text, self.payload),
            Kind::Span => parse_span(text).map(Span::as_nanos),
            Kind::Count => text.parse().ok(),
            Kind::Number => match text.strip_prefix('#') {
                Some(n) => n.parse::<u64>().ok()?.checked_mul(self.payload).map(|bytes| bytes + 1),
                None => self.seq(text),
            },
        }
    }
}

/// What the words of a segment say; one line may stand for several.
#[derive(Default)]
struct Parts {
    flags: Flags,
    /// On the last segment only.
    last_flags: Flags,
    /// From and to, of each segment; `to` is the acknowledgement where there is no data.
    ranges: Vec<(u64, u64)>,
    has_number: bool,
    window: Option<u32>,
    sack: Vec<(u64, u64)>,
    stamp: Option<u32>,
    echo: Option<Echo>,
    ect: Option<bool>,
    every: Span,
    copies: u64,
}

/// The ranges of all segments that the line stands for, and whether each is the last.
fn repeated(parts: &Parts) -> impl Iterator<Item = (&(u64, u64), bool)> {
    let copies = parts.copies.max(1);
    let total = copies as usize * parts.ranges.len();
    (0..copies).flat_map(|_| parts.ranges.iter()).enumerate().map(move |(n, range)| (range, n + 1 == total))
}

/// Bytes, or full segments as `10mss` or `2.5mss`.
fn amount(text: &str, payload: u64) -> Option<u64> {
    let bytes = match text.strip_suffix("mss") {
        Some(segments) => {
            let segments: f64 = segments.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0)?;
            (segments * payload as f64).round() as u64
        }
        None => text.parse().ok()?,
    };
    (bytes < LARGEST_NUMBER).then_some(bytes)
}

/// A time without a space before its unit; zero needs none.
fn parse_span(text: &str) -> Option<Span> {
    if text == "0" { Some(Span::ZERO) } else { text.parse().ok() }
}
