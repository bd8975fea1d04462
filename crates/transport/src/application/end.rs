//! One end of an application, as a machine of the World.

use cellwind_engine::fact::{Fact, FactKind};
use cellwind_engine::machine::{Machine, Outbox, Port};
use cellwind_engine::packet::{FlowId, Packet};
use cellwind_engine::random::Stream;
use cellwind_engine::time::Time;

use super::collector::Collector;
use super::files::Files;
use super::lines::Lines;
use super::ping::{Echo, Pinger};
use super::report::Report;
use super::request_reply::Requester;
use super::responder::Responder;
use super::scheduled::{Schedule, Scheduled};
use super::settings::ApplicationSettings;
use super::video::Viewer;
use super::web::Browser;
use crate::carrier::{Event, Message, Protocol, Side};
use crate::tcp::Counters;

/// One end of an application with its connections; packets enter at port 0 and leave through port 0.
#[derive(Clone, Debug)]
pub struct End {
    lines: Lines,
    role: Role,
    /// When this end begins, if it is the one that begins.
    start: Option<Time>,
    takes_content: bool,
    completed_at: Option<Time>,
    finished: bool,
    /// Nobody waits for it.
    is_background: bool,
    last_delivery: Time,
    report: Report,
}

/// What an end does.
// There are two of them for each flow.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
enum Role {
    Files(Files),
    Scheduled(Scheduled),
    Responder(Responder),
    Collector(Collector),
    Requester(Requester),
    Pinger(Pinger),
    Echo(Echo),
    Browser(Browser),
    Viewer(Viewer),
}

/// Calls the same method of whichever role it is.
macro_rules! each {
    ($role:expr, $of:ident => $call:expr) => {
        match $role {
            Role::Files($of) => $call,
            Role::Scheduled($of) => $call,
            Role::Responder($of) => $call,
            Role::Collector($of) => $call,
            Role::Requester($of) => $call,
            Role::Pinger($of) => $call,
            Role::Echo($of) => $call,
            Role::Browser($of) => $call,
            Role::Viewer($of) => $call,
        }
    };
}

/// What an end does at its own start, on what its connections tell, and when its time comes.
pub(crate) trait Part {
    /// The flow starts.
    fn start(&mut self, desk: &mut Desk<'_>);
    /// A connection tells something.
    fn on_event(&mut self, line: u16, event: Event, desk: &mut Desk<'_>);
    /// The instant last given by `next_timeout` has come.
    fn on_timeout(&mut self, desk: &mut Desk<'_>);
    /// When to call `on_timeout` next.
    fn next_timeout(&self) -> Option<Time>;
    /// Whether the application has come to its end here.
    fn is_complete(&self) -> bool;
}

/// What a role works with.
pub(crate) struct Desk<'a> {
    pub now: Time,
    pub lines: &'a mut Lines,
    pub report: &'a mut Report,
    pub out: &'a mut Outbox,
}

impl Desk<'_> {
    pub fn open(&mut self) -> u16 {
        self.lines.open(self.now, self.out)
    }

    /// Sends a message with content.
    pub fn send(&mut self, line: u16, message: Message) {
        self.report.messages_sent += 1;
        self.lines.send(line, self.now, message, self.out);
    }

    /// Sends a message that asks for `asks` bytes.
    pub fn ask(&mut self, line: u16, number: u32, bytes: u64, asks: u64) {
        let message = Message { asks, ..Message::new(number, bytes, self.now) };
        self.lines.send(line, self.now, message, self.out);
    }

    pub fn close(&mut self, line: u16) {
        self.lines.close(line, self.now, self.out);
    }

    /// Counts a message with content that arrived, `since` it was made or asked for; says whether it came in time.
    pub fn take(&mut self, message: &Message, since: Time) -> bool {
        let in_time = message.deadline.is_none_or(|deadline| self.now <= deadline);
        let delay = self.now - since;
        self.report.messages_delivered += 1;
        self.report.delay.add(delay);
        if message.deadline.is_some() {
            *self.report.messages_on_time.get_or_insert(0) += u64::from(in_time);
        }
        let length = message.bytes.min(u64::from(u32::MAX)) as u32;
        let fact = self.fact(FactKind::MessageArrived).about(u64::from(message.number), length);
        self.out.fact(fact.values(delay.as_nanos(), u64::from(!in_time)));
        in_time
    }

    pub fn fact(&self, kind: FactKind) -> Fact {
        Fact::new(kind, self.lines.flow())
    }
}

impl End {
    /// The same end, for which no run waits.
    pub fn in_background(self) -> Self {
        End { is_background: true, ..self }
    }

    /// The end that has the content. `chance` is what its schedule is drawn from.
    pub fn source(
        settings: &ApplicationSettings,
        protocol: &Protocol,
        flow: FlowId,
        start: Time,
        chance: Stream,
    ) -> Self {
        use ApplicationSettings as A;
        let scheduled = |schedule| Role::Scheduled(Scheduled::new(schedule, start));
        let role = match settings {
            A::Files(files) => Role::Files(Files::new(files)),
            A::RequestReply(_) | A::Video(_) => Role::Responder(Responder::new(false)),
            A::Ping(_) => Role::Echo(Echo),
            A::Web(web) => Role::Responder(Responder::new(web.closes_after_reply())),
            A::Cbr(cbr) => scheduled(Schedule::Cbr(cbr.schedule())),
            A::OnOff(on_off) => scheduled(Schedule::OnOff(on_off.schedule(chance))),
            A::News(news) => scheduled(Schedule::News(news.schedule())),
            A::Voip(voip) => scheduled(Schedule::Voip(voip.schedule())),
            A::Trace(trace) => scheduled(Schedule::Trace(trace.schedule())),
        };
        let side = if settings.is_pulled() { Side::Other } else { Side::Opener };
        End::new(role, side, false, protocol, flow, start)
    }

    /// The end that takes the content.
    pub fn sink(settings: &ApplicationSettings, protocol: &Protocol, flow: FlowId, start: Time) -> Self {
        use ApplicationSettings as A;
        let role = match settings {
            A::RequestReply(settings) => Role::Requester(Requester::new(settings)),
            A::Ping(settings) => Role::Pinger(Pinger::new(settings, start)),
            A::Web(web) => Role::Browser(Browser::new(web)),
            A::Video(video) => Role::Viewer(Viewer::new(video, start)),
            A::Voip(voip) => Role::Collector(Collector::until(start + voip.length())),
            A::News(news) => Role::Collector(Collector::until(start + news.length())),
            A::Files(_) | A::Cbr(_) | A::OnOff(_) | A::Trace(_) => Role::Collector(Collector::of_all()),
        };
        let side = if settings.is_pulled() { Side::Opener } else { Side::Other };
        End::new(role, side, true, protocol, flow, start)
    }

    fn new(role: Role, side: Side, takes_content: bool, protocol: &Protocol, flow: FlowId, start: Time) -> Self {
        End {
            lines: Lines::new(protocol, flow, side),
            role,
            start: (side == Side::Opener).then_some(start),
            takes_content,
            completed_at: None,
            finished: false,
            is_background: false,
            last_delivery: Time::ZERO,
            report: Report::default(),
        }
    }

    /// When the application came to its end; only the end that takes the content knows.
    pub fn completed_at(&self) -> Option<Time> {
        self.completed_at
    }

    /// What this end counted.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Bytes that were given to the transport here.
    pub fn written(&self) -> u64 {
        self.lines.written()
    }

    /// Bytes that the transport delivered here.
    pub fn delivered(&self) -> u64 {
        self.lines.delivered()
    }

    /// When a message was last complete here.
    pub fn last_delivery(&self) -> Time {
        self.last_delivery
    }

    /// Counts of the sending halves of all connections.
    pub fn counters(&self) -> Counters {
        self.lines.counters()
    }

    /// Checks the invariants of all connections.
    pub fn check(&self) -> Result<(), String> {
        self.lines.check()
    }

    /// Lets the role react until no connection has anything to tell.
    fn settle(&mut self, now: Time, out: &mut Outbox) {
        let mut lost = false;
        while let Some((line, event)) = self.lines.poll_event() {
            if matches!(event, Event::Arrived(_)) {
                self.last_delivery = now;
            }
            lost |= event == Event::Lost;
            let mut desk = Desk { now, lines: &mut self.lines, report: &mut self.report, out };
            each!(&mut self.role, role => role.on_event(line, event, &mut desk));
        }
        if !self.takes_content || self.finished {
            return;
        }
        if each!(&self.role, role => role.is_complete()) {
            self.completed_at = Some(now);
            let fact = Fact::new(FactKind::FlowCompleted, self.lines.flow());
            out.fact(fact.values(self.lines.delivered(), 0));
        }
        if lost || self.completed_at.is_some() {
            self.finished = true;
            if !self.is_background {
                out.finished();
            }
        }
    }
}

impl Machine for End {
    fn on_packet(&mut self, now: Time, _: Port, packet: &Packet, out: &mut Outbox) {
        self.lines.on_packet(now, packet, out);
        self.settle(now, out);
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        self.lines.on_timeout(now, out);
        let begins = self.start.is_some_and(|start| start <= now);
        let is_due = each!(&self.role, role => role.next_timeout()).is_some_and(|due| due <= now);
        let mut desk = Desk { now, lines: &mut self.lines, report: &mut self.report, out };
        if begins {
            self.start = None;
            desk.out.fact(desk.fact(FactKind::FlowStarted));
            each!(&mut self.role, role => role.start(&mut desk));
        }
        if is_due {
            each!(&mut self.role, role => role.on_timeout(&mut desk));
        }
        self.settle(now, out);
    }

    fn next_timeout(&self) -> Option<Time> {
        let role = each!(&self.role, role => role.next_timeout());
        self.start.into_iter().chain(role).chain(self.lines.next_timeout()).min()
    }
}
