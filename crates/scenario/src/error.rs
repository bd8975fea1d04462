//! Mistakes in scenario files, and their reports.

use std::fmt;

use crate::source::Origin;

mod render;

pub use render::{quoted, shorten};

/// The most known names that a report lists.
const MOST_NAMES: usize = 30;

/// Declares the kinds of mistakes once, for the type and for the list.
macro_rules! mistakes {
    ($($(#[doc = $meaning:literal])+ $kind:ident = $code:literal,)+) => {
        /// A kind of mistake in a scenario.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Mistake { $($(#[doc = $meaning])+ $kind,)+ }

        impl Mistake {
            /// Every kind, in the order in which loading meets them.
            pub const ALL: &[Mistake] = &[$(Mistake::$kind,)+];

            /// A short name that does not change between versions.
            pub const fn code(self) -> &'static str {
                match self { $(Mistake::$kind => $code,)+ }
            }

            /// What this kind of mistake is.
            pub const fn meaning(self) -> &'static str {
                match self { $(Mistake::$kind => concat!($($meaning,)+).trim_ascii(),)+ }
            }
        }
    };
}

mistakes! {
    /// There is no file of this name.
    FileNotFound = "file-not-found",
    /// The name is that of a directory.
    Directory = "directory",
    /// The file exists but cannot be read.
    Unreadable = "unreadable",
    /// The file is larger than any scenario.
    FileTooLarge = "file-too-large",
    /// The file is not UTF-8 text.
    NotText = "not-text",
    /// The file holds no key.
    EmptyFile = "empty-file",
    /// The text is not TOML.
    Syntax = "syntax",
    /// A key stands twice in the same table.
    DuplicateKey = "duplicate-key",
    /// A number does not fit 64 bits.
    HugeNumber = "huge-number",
    /// No preset has this name.
    UnknownPreset = "unknown-preset",
    /// A file extends itself, perhaps by way of others.
    ExtendsCycle = "extends-cycle",
    /// A chain of files that extend each other is longer than any scenario needs.
    ExtendsTooLong = "extends-too-long",
    /// A `--set` names no place where a value can stand, or has no value.
    BadSet = "bad-set",
    /// A key that the format does not know.
    UnknownKey = "unknown-key",
    /// A word that is not one of the choices.
    UnknownChoice = "unknown-choice",
    /// A key that is needed is absent.
    MissingKey = "missing-key",
    /// A table does not say of which type it is.
    MissingType = "missing-type",
    /// A value of another type than the key takes.
    WrongType = "wrong-type",
    /// A value of the right type that cannot be understood or is not allowed.
    BadValue = "bad-value",
    /// The name of a link, access, terminal, flow or workload has other characters than letters, digits, `_` and `-`.
    BadName = "bad-name",
    /// A terminal, flow, event or workload refers to something that the scenario does not have.
    UnknownReference = "unknown-reference",
    /// A terminal, flow or event does not say which of several things it means.
    Ambiguous = "ambiguous",
    /// The scenario has no flow, so there is nothing to simulate.
    NoFlow = "no-flow",
    /// An event changes something that cannot change while the scenario runs.
    NotChangeable = "not-changeable",
    /// There is neither a link nor an access between servers and terminals.
    NoPath = "no-path",
    /// A flow never ends and neither does the scenario.
    NeverEnds = "never-ends",
    /// A PDU does not fit into a TTI.
    PduTooLarge = "pdu-too-large",
    /// A number outside its range.
    OutOfRange = "out-of-range",
    /// Two values that do not go together.
    Conflict = "conflict",
}

/// A mistake in a scenario, with everything a reader needs to mend it.
///
/// `Display` is the whole report, several lines without a final line break: file, line, column and path,
/// the line itself, what was found, what is allowed, and the nearest known name.
#[derive(Clone, PartialEq)]
pub struct ScenarioError(Box<Report>);

#[derive(Clone, Debug, PartialEq)]
struct Report {
    mistake: Mistake,
    message: String,
    /// Keys from the top of the scenario.
    path: Vec<String>,
    origin: Option<Origin>,
    /// Named instead of the origin's source when the file could not be read at all.
    file: Option<String>,
    found: Option<String>,
    allowed: Option<String>,
    nearest: Option<String>,
    notes: Vec<String>,
}

impl ScenarioError {
    /// A mistake, described by a clause without a capital or a full stop.
    pub fn new(mistake: Mistake, message: impl Into<String>) -> Self {
        ScenarioError(Box::new(Report {
            mistake,
            message: message.into(),
            path: Vec::new(),
            origin: None,
            file: None,
            found: None,
            allowed: None,
            nearest: None,
            notes: Vec::new(),
        }))
    }

    /// Whether it is known where the mistake is.
    pub(crate) fn has_place(&self) -> bool {
        self.0.origin.is_some()
    }

    /// The kind of mistake.
    pub fn mistake(&self) -> Mistake {
        self.0.mistake
    }

    /// Dotted path of the value as TOML would write it, empty when the mistake is in no particular one.
    pub fn path(&self) -> String {
        let bare =
            |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let key = |key: &String| if bare(key) { key.clone() } else { format!("{key:?}") };
        self.0.path.iter().map(key).collect::<Vec<_>>().join(".")
    }

    /// The nearest known name, for unknown ones.
    pub fn nearest(&self) -> Option<&str> {
        self.0.nearest.as_deref()
    }

    /// Sets the place, unless a more exact one is known.
    pub fn at(mut self, origin: &Origin) -> Self {
        self.0.origin.get_or_insert_with(|| origin.clone());
        self
    }

    /// Names the file when there is no text to show.
    pub fn in_file(mut self, name: &str) -> Self {
        self.0.file.get_or_insert_with(|| name.to_string());
        self
    }

    /// Sets the whole path.
    pub fn with_path<S: AsRef<str>>(mut self, path: &[S]) -> Self {
        self.0.path = path.iter().map(|key| key.as_ref().to_string()).collect();
        self
    }

    /// Puts a key in front of the path, while the error travels outwards.
    pub fn under(mut self, key: &str) -> Self {
        self.0.path.insert(0, key.to_string());
        self
    }

    /// Takes keys away from the front of the path, where they stand for nothing in the file.
    pub(crate) fn without(mut self, front: &[&str]) -> Self {
        if self.0.path.iter().zip(front).all(|(key, front)| key == front) && self.0.path.len() >= front.len() {
            self.0.path.drain(..front.len());
        }
        self
    }

    /// Says what stands there.
    pub fn found(mut self, found: impl Into<String>) -> Self {
        self.0.found = Some(found.into());
        self
    }

    /// Says what may stand there.
    pub fn allowed(mut self, allowed: impl Into<String>) -> Self {
        self.0.allowed = Some(allowed.into());
        self
    }

    /// Lists the known names and remembers the one nearest to `name`, if one is near.
    pub fn known<S: AsRef<str>>(mut self, name: &str, known: impl IntoIterator<Item = S>) -> Self {
        let known: Vec<String> = known.into_iter().map(|name| name.as_ref().to_string()).collect();
        self.0.nearest = nearest(name, &known);
        self.0.allowed = Some(match known.len() {
            0 => "nothing".to_string(),
            count if count > MOST_NAMES => {
                format!("{} and {} more", known[..MOST_NAMES].join(", "), count - MOST_NAMES)
            }
            _ => known.join(", "),
        });
        self
    }

    /// Lists one more known key, for the unknown one at the end of the path; it may be the nearest.
    pub(crate) fn also_known(mut self, other: &str) -> Self {
        let report = &mut self.0;
        let candidates: Vec<String> = report.nearest.take().into_iter().chain([other.to_string()]).collect();
        report.nearest = report.path.last().and_then(|unknown| nearest(unknown, &candidates));
        report.allowed = Some(report.allowed.take().map_or(other.to_string(), |known| format!("{known}, {other}")));
        self
    }

    /// The same where the unknown key stands at the top.
    pub(crate) fn also_known_at_top(self, other: &str) -> Self {
        let is_unknown_key = self.mistake() == Mistake::UnknownKey && self.keys().len() == 1;
        if is_unknown_key { self.also_known(other) } else { self }
    }

    /// Adds a sentence at the end of the report.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.0.notes.push(note.into());
        self
    }

    /// The keys of the path, for those who must tell where below a table the mistake is.
    pub(crate) fn keys(&self) -> &[String] {
        &self.0.path
    }
}

/// The known name nearest to `name`, if the two are alike enough to be a slip.
fn nearest(name: &str, known: &[String]) -> Option<String> {
    // Comparing takes the product of the lengths, and a long text is no slip of a short name.
    if name.chars().count() > 64 {
        return None;
    }
    let folded = name.to_lowercase().replace('_', "-");
    let likeness = |other: &String| strsim::jaro_winkler(&folded, &other.to_lowercase().replace('_', "-"));
    let alike = known.iter().map(|other| (likeness(other), other)).filter(|(likeness, _)| *likeness > 0.75);
    alike.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, other)| other.clone())
}

impl fmt::Debug for ScenarioError {
    /// The report itself, so that a failing `unwrap` in a test can be read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ScenarioError {}
