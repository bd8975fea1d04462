//! Ready-made scenarios and parts of scenarios, embedded from `scenarios/`.

use std::fmt;
use std::sync::Arc;

use crate::source::Source;

/// What a preset is a preset of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A complete scenario.
    Scenario,
    /// A table of `access`.
    Access,
    /// The `transport` of a flow.
    Transport,
    /// The `application` of a flow.
    Application,
    /// A file of an error process: a chain or a record.
    Errors,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 5] = [Kind::Scenario, Kind::Access, Kind::Transport, Kind::Application, Kind::Errors];

    /// The word for it: `scenario`, `access`, `transport`, `application` or `errors`.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Scenario => "scenario",
            Kind::Access => "access",
            Kind::Transport => "transport",
            Kind::Application => "application",
            Kind::Errors => "errors",
        }
    }

    /// The kind that a word stands for.
    pub fn from_word(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A preset as embedded.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// What it is a preset of.
    pub kind: Kind,
    /// The name that `extends` takes, or `file`.
    pub name: &'static str,
    /// What its file ends in: `runs` for a record of errors, `toml` for all others.
    pub ending: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! presets {
    ($($kind:ident $folder:literal $ending:literal { $($name:literal)+ })+) => {
        &[$($(Preset {
            kind: Kind::$kind,
            name: $name,
            ending: $ending,
            text: include_str!(concat!("../../../scenarios/", $folder, $name, ".", $ending)),
        },)+)+]
    };
}

/// Every preset; the scenarios in the order a newcomer should meet them.
pub const PRESETS: &[Preset] = presets! {
    Scenario "" "toml" { "umts-384" "umts-128" "umts-64" "umts-rlc-384" "umts-states" "umts-cell" "wired" "two-phones" "handover-wlan-umts" "walk-wlan-umts-gprs" "web-umts" "video-umts" "voip-umts" "news-ticker" "gprs-reselections" "gprs-cells" "fading-umts" }
    Access "access/" "toml" { "umts-384" "umts-128" "umts-64" "umts-rlc-384" "umts-rlc-128" "umts-rlc-64" "wlan-teyeb" "umts-teyeb" "gprs-teyeb" }
    Transport "transport/" "toml" { "tahoe" "reno" "newreno" "sack" "fack" "newreno-sack" "westwood" "westwood-plus" "vegas" "vegas-lo" "veno" "newreno-abc" "newreno-ecn" "newreno-abe" "reno-eifel" "newreno-eifel" "sack-eifel" "bbr" "bbr-v3" "linux-reno" "linux-cubic" "udp" "tfrc" "atp" "atp-tfrc"
        "ns2-tahoe" "ns2-reno" "ns2-newreno" "ns2-sack1" "ns2-fack" "ns2-vegas" "ns2-fulltcp"
        "linux-2.4" "linux-2.4-gurtov" "linux-2.2" "freebsd-4.1" "windows-98"
    }
    Application "application/" "toml" { "web" "web-http-1.0" "request-reply-small" "request-reply-medium" "request-reply-large" "ping" "voip-g711" "voip-g729" "voip-amr-12.2" "video" "news-ticker" }
    Errors "errors/" "toml" { "three-states" }
    Errors "errors/" "runs" { "bursts" }
};

impl Preset {
    /// The preset of this kind and name.
    pub fn find(kind: Kind, name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.kind == kind && preset.name == name)
    }

    /// The names of all presets of a kind.
    pub fn names(kind: Kind) -> impl Iterator<Item = &'static str> {
        PRESETS.iter().filter(move |preset| preset.kind == kind).map(|preset| preset.name)
    }

    /// The text with the name that reports show.
    pub fn source(&self) -> Arc<Source> {
        let name = match self.kind {
            Kind::Scenario => format!("<preset {}>", self.name),
            kind => format!("<preset {kind}/{}>", self.name),
        };
        Source::preset(name, self.text)
    }
}

/// The comment line above the first key, without its mark; empty when there is none.
pub fn summary(text: &str) -> &str {
    let first = text.lines().find(|line| !line.trim().is_empty());
    first.and_then(|line| line.trim().strip_prefix('#')).map_or("", str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_embedded() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        for kind in Kind::ALL {
            let folder = if kind == Kind::Scenario { "" } else { kind.word() };
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if let Some(ending) = path.extension().and_then(|ending| ending.to_str()) {
                    let name = path.file_stem().unwrap().to_str().unwrap();
                    let preset = Preset::find(kind, name).filter(|preset| preset.ending == ending);
                    let preset = preset.unwrap_or_else(|| panic!("{} is not listed", path.display()));
                    assert!(!summary(preset.text).is_empty(), "{} has no summary", path.display());
                }
            }
        }
    }
}
