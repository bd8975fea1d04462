//! How scenario files write the settings of a TCP connection.

use std::fmt;

use cellwind_engine::text::{Quantity, Reason, Text};
use cellwind_engine::units::Size;
use cellwind_engine::{deserialize_by_type, impl_text};

use super::amount::{PerAck, Segments, Window};
use super::settings::{
    AfterSpurious, AimdSettings, BandwidthFilter, ClassicSettings, CongestionSettings, CubicSettings, DSackSettings,
    EifelSettings, FRtoSettings, FackSettings, InitialWindow, LinuxUndoSettings, MinimumRttSettings, NewRenoSettings,
    PerAckFilter, RackSettings, RaiseMinimumSettings, RecoverySettings, RenoSettings, SackSettings, SpuriousSettings,
    VegasSettings, VenoSettings, WestwoodSettings,
};

deserialize_by_type!(RecoverySettings {
    Tahoe(settings: ClassicSettings),
    Reno(settings: RenoSettings),
    Newreno(settings: NewRenoSettings),
    Sack(settings: SackSettings),
    Vegas(settings: ClassicSettings),
    Rack(settings: RackSettings),
    Fack(settings: FackSettings),
    RenoSack(settings: ClassicSettings),
});
deserialize_by_type!(CongestionSettings {
    Aimd(settings: AimdSettings),
    Cubic(settings: CubicSettings),
    Westwood(settings: WestwoodSettings),
    Vegas(settings: VegasSettings),
    Veno(settings: VenoSettings),
    Bbr,
    BbrV3,
});
deserialize_by_type!(BandwidthFilter { PerAck(settings: PerAckFilter), PerRoundTrip, Linux });
deserialize_by_type!(AfterSpurious {
    Standard,
    Reseed,
    KeepBackOff,
    RaiseMinimum(settings: RaiseMinimumSettings),
    Rfc4015,
});
deserialize_by_type!(SpuriousSettings {
    Off,
    Eifel(settings: EifelSettings),
    DSack(settings: DSackSettings),
    FRto(settings: FRtoSettings),
    MinimumRtt(settings: MinimumRttSettings),
    Linux(settings: LinuxUndoSettings),
});

/// A number of segments, or `None` when the text has another unit.
fn segments(text: &str) -> Result<Option<Segments>, Reason> {
    match Quantity::split(text).map_err(Reason::or_unknown_word)?.count("segments") {
        Some(Ok(0)) => Err(Reason::Zero),
        Some(count) => count.map(|count| Some(Segments(count))),
        None => Ok(None),
    }
}

impl Text for Window {
    const EXPECTED: &'static str = r#"a window such as "64 KiB" or "25 segments""#;
    const PATTERN: &'static str = r"^\d+(\.\d+)? *(segments?|([kMG]|[KMG]i)?B)$";

    fn parse(text: &str) -> Result<Self, Reason> {
        if let Some(segments) = segments(text)? {
            return Ok(Window::Segments(segments));
        }
        match Size::parse(text)? {
            Size::ZERO => Err(Reason::Zero),
            size => Ok(Window::Bytes(size)),
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Window::Bytes(size) => size.fmt(f),
            Window::Segments(segments) => write!(f, "{} segments", segments.0),
        }
    }
}

impl Text for InitialWindow {
    const EXPECTED: &'static str = r#""rfc3390", "rfc6928", or a number such as "1 segment""#;
    const PATTERN: &'static str = r"^(rfc3390|rfc6928|\d+ *segments?)$";

    fn parse(text: &str) -> Result<Self, Reason> {
        match text {
            "rfc3390" => return Ok(InitialWindow::Rfc3390),
            "rfc6928" => return Ok(InitialWindow::Rfc6928),
            _ => {}
        }
        match segments(text)? {
            Some(segments) => Ok(InitialWindow::Segments(segments)),
            None => Err(Reason::UnknownUnit(Quantity::split(text)?.unit.to_string())),
        }
    }
}

impl fmt::Display for InitialWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InitialWindow::Segments(segments) => write!(f, "{} segments", segments.0),
            InitialWindow::Rfc3390 => f.write_str("rfc3390"),
            InitialWindow::Rfc6928 => f.write_str("rfc6928"),
        }
    }
}

impl Text for PerAck {
    const EXPECTED: &'static str = r#""all", or a number such as "1 segment""#;
    const PATTERN: &'static str = r"^(all|\d+ *segments?)$";

    fn parse(text: &str) -> Result<Self, Reason> {
        if text == "all" {
            return Ok(PerAck::All);
        }
        match segments(text)? {
            Some(segments) => Ok(PerAck::Segments(segments)),
            None => Err(Reason::UnknownUnit(Quantity::split(text)?.unit.to_string())),
        }
    }
}

impl fmt::Display for PerAck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PerAck::Segments(Segments(1)) => f.write_str("1 segment"),
            PerAck::Segments(segments) => write!(f, "{} segments", segments.0),
            PerAck::All => f.write_str("all"),
        }
    }
}

impl_text!(Window, InitialWindow, PerAck);
