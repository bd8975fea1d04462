//! The choice of an application.

use cellwind_engine::deserialize_by_type;
use schemars::JsonSchema;
use serde::Serialize;

use super::cbr::CbrSettings;
use super::files::FilesSettings;
use super::news::NewsSettings;
use super::on_off::OnOffSettings;
use super::ping::PingSettings;
use super::request_reply::RequestReplySettings;
use super::trace::TraceSettings;
use super::video::VideoSettings;
use super::voip::VoipSettings;
use super::web::WebSettings;

/// What a flow carries besides a bulk transfer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ApplicationSettings {
    /// Files of given sizes, one after the other.
    Files(FilesSettings),
    /// Transactions of a request and a reply.
    RequestReply(RequestReplySettings),
    /// Echo requests and replies.
    Ping(PingSettings),
    /// Web pages.
    Web(WebSettings),
    /// Packets at a constant rate.
    Cbr(CbrSettings),
    /// Packets at a constant rate in bursts.
    OnOff(OnOffSettings),
    /// A news ticker.
    News(NewsSettings),
    /// One direction of a voice call.
    Voip(VoipSettings),
    /// A video that is played while it arrives.
    Video(VideoSettings),
    /// The packets of a capture.
    Trace(TraceSettings),
}

deserialize_by_type!(ApplicationSettings {
    Files(settings: FilesSettings),
    RequestReply(settings: RequestReplySettings),
    Ping(settings: PingSettings),
    Web(settings: WebSettings),
    Cbr(settings: CbrSettings),
    OnOff(settings: OnOffSettings),
    News(settings: NewsSettings),
    Voip(settings: VoipSettings),
    Video(settings: VideoSettings),
    Trace(settings: TraceSettings),
});

impl ApplicationSettings {
    /// The word for it in scenario files and results.
    pub const fn word(&self) -> &'static str {
        match self {
            ApplicationSettings::Files(_) => "files",
            ApplicationSettings::RequestReply(_) => "request-reply",
            ApplicationSettings::Ping(_) => "ping",
            ApplicationSettings::Web(_) => "web",
            ApplicationSettings::Cbr(_) => "cbr",
            ApplicationSettings::OnOff(_) => "on-off",
            ApplicationSettings::News(_) => "news",
            ApplicationSettings::Voip(_) => "voip",
            ApplicationSettings::Video(_) => "video",
            ApplicationSettings::Trace(_) => "trace",
        }
    }

    /// Whether the end that takes the content asks for it; if not, the other end sends by itself.
    pub const fn is_pulled(&self) -> bool {
        use ApplicationSettings as A;
        matches!(self, A::RequestReply(_) | A::Ping(_) | A::Web(_) | A::Video(_))
    }

    /// Whether every message must arrive for the application to come to its end.
    pub const fn needs_reliability(&self) -> bool {
        use ApplicationSettings as A;
        matches!(self, A::RequestReply(_) | A::Web(_) | A::Video(_) | A::Files(_))
    }
}
