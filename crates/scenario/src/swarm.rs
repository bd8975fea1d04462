//! Random scenarios with all checks on: what holds for every scenario is tried on thousands.
//!
//! A seed stands for a scenario file, which is drawn, loaded and run. After a few events each machine's
//! invariants are checked, and at the end every byte must have been delivered once and in order.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};

use cellwind_path::traffic::Traffic;
use cellwind_radio::rlc::settings::RlcSettings;
use cellwind_transport::application::{ApplicationSettings, End};

use crate::load::parse;
use crate::machines::AnyMachine;
use crate::model::{Access, Flow, Scenario};
use crate::run::{self, BearerResult, Record};
use crate::session::Session;

mod umts;

/// Instants between two checks of all machines.
const INSTANTS_BETWEEN_CHECKS: u64 = 16;
/// When a run with hostile settings is cut off.
const HOSTILE_END: Time = Time::from_secs(600);
/// How long a run goes on at the most when all flows have come to their ends. A bearer that holds something and moves nothing
/// for so long stands still: its longest timer takes half of that.
const AFTER_THE_END: Span = Span::from_secs(400);
/// A run that takes more events does not come to an end; the longest takes about a hundredth.
const MOST_EVENTS: u64 = 50_000_000;

/// Runs the scenarios of `count` seeds from `seed` on. Returns one text for each that failed.
pub fn swarm(seed: u64, count: u64, cancel: &AtomicBool) -> Vec<String> {
    let mut failures = Vec::new();
    for seed in seed..seed.saturating_add(count) {
        if cancel.load(Ordering::Relaxed) {
            break;
        }
        let text = scenario(seed);
        if let Err(what) = try_scenario(&text) {
            failures.push(format!("seed {seed}: {what}\nrepeat with: cellwind swarm --seed {seed}\n\n{text}"));
        }
    }
    failures
}

/// Loads and runs one scenario and says what did not hold.
fn try_scenario(text: &str) -> Result<(), String> {
    let loaded = parse(text, "swarm", &[]).map_err(|error| error.to_string())?;
    let scenario = &loaded.scenario;
    let mut session = Session::simulated(scenario, 0, Record::default());
    let flows = session.flows().to_vec();
    let mut instants = 0u64;
    let is_hostile = text.contains(umts::HOSTILE);
    let mut end = if is_hostile { HOSTILE_END } else { Time::MAX };
    let mut at_the_end = Vec::new();
    while let Some(next) = session.next_timeout().filter(|&next| next <= end) {
        session.advance_to(next).map_err(|stalled| stalled.to_string())?;
        instants += 1;
        if instants.is_multiple_of(INSTANTS_BETWEEN_CHECKS) {
            run::check(&mut session).map_err(|error| format!("at {}: {error}", session.now()))?;
            if end == Time::MAX && is_over(&session, scenario) {
                end = session.now() + AFTER_THE_END;
                at_the_end = session.results().0;
            }
            if !at_the_end.is_empty() && session.counters().all(|(_, traffic)| traffic.packets_held() == 0) {
                break;
            }
        }
        let events = session.world().events();
        if events > MOST_EVENTS {
            return Err(format!("no end after {events} events, at {}", session.now()));
        }
    }
    run::check(&mut session).map_err(|error| error.to_string())?;
    if !is_hostile {
        nothing_stands_still(&at_the_end, &session, scenario)?;
    }
    let world = session.world();
    let machines: Vec<(&str, &AnyMachine)> = world.machines().collect();
    for (ends, (name, flow)) in flows.iter().zip(&scenario.flow) {
        if let (AnyMachine::Application(source), AnyMachine::Application(sink)) =
            (machines[ends.source].1, machines[ends.sink].1)
        {
            application(name, flow, source, sink, is_hostile)?;
        }
        let AnyMachine::Sink(sink) = machines[ends.sink].1 else { continue };
        let delivered = sink.receiver().delivered();
        if sink.completed_at().is_none() {
            if is_hostile {
                continue;
            }
            return Err(format!("flow {name} stopped after {delivered} bytes at {}", world.now()));
        }
        let Some(bulk) = flow.bulk else { continue };
        if bulk.to_string() != cellwind_engine::units::Size::from_bytes(delivered).to_string() {
            return Err(format!("flow {name} was to deliver {bulk}, not {delivered} bytes"));
        }
    }
    Ok(())
}

/// Whether all flows have come to their ends that are sure to have one: a datagram that was lost may have been the last.
fn is_over(session: &Session, scenario: &Scenario) -> bool {
    let machines: Vec<&AnyMachine> = session.world().machines().map(|(_, machine)| machine).collect();
    session.flows().iter().zip(scenario.flow.values()).all(|(ends, flow)| match machines[ends.sink] {
        AnyMachine::Sink(sink) => sink.completed_at().is_some(),
        AnyMachine::Application(sink) => !flow.transport.protocol.is_reliable() || sink.completed_at().is_some(),
        _ => unreachable!("a flow ends in one of these"),
    })
}

/// Checks that no bearer holds packets and has moved none since all flows were at their ends. Without acknowledgements that may be:
/// the loss of the last PDU is noticed when the next one arrives.
fn nothing_stands_still(before: &[BearerResult], session: &Session, scenario: &Scenario) -> Result<(), String> {
    // Where nothing was left to happen, nothing moves any more.
    let now = session.results().0;
    let before = if before.is_empty() { &now } else { before };
    for (before, after) in before.iter().zip(&now) {
        let access = after.name.split('/').next().and_then(|name| scenario.access.get(name));
        let acknowledges = match access {
            Some(Access::Umts(umts)) => matches!(umts.directions.down.rlc, RlcSettings::Am(_)),
            _ => true,
        };
        let moved = |traffic: &Traffic| traffic.packets_in - traffic.packets_held();
        let held = after.traffic.packets_held();
        if held > 0 && acknowledges && moved(&before.traffic) == moved(&after.traffic) {
            return Err(format!("the bearer {} stands still with {held} packets at {}", after.name, session.now()));
        }
    }
    Ok(())
}

/// Checks what became of an application: nothing comes from nowhere, and over a reliable transport nothing is missing.
fn application(name: &str, flow: &Flow, source: &End, sink: &End, is_hostile: bool) -> Result<(), String> {
    let (written, delivered) = (source.written(), sink.delivered());
    let (sent, arrived) = (source.report().messages_sent, sink.report().messages_delivered);
    let is_reliable = flow.transport.protocol.is_reliable() && !is_hostile;
    let what =
        format!("flow {name} ({}): {delivered} of {written} bytes, {arrived} of {sent} messages", flow.carries());
    let is_cut = matches!(flow.application, Some(ApplicationSettings::Voip(_) | ApplicationSettings::News(_)));
    if delivered > written || arrived > sent || sink.report().messages_on_time > Some(arrived) {
        return Err(format!("{what} arrived"));
    }
    if is_reliable && sink.completed_at().is_none() {
        return Err(format!("{what} arrived, and it never came to its end"));
    }
    // What has deadlines ends with the last of them, whatever is under way then.
    if is_reliable && !is_cut && (delivered != written || arrived != sent) {
        return Err(format!("{what} arrived"));
    }
    Ok(())
}

/// Draws the scenario file of a seed.
pub fn scenario(seed: u64) -> String {
    let mut draw = Draw { stream: Stream::new(seed, 0, "swarm"), umts: Vec::new() };
    let mut file = format!("seed = {seed}\n");
    let segments = draw.between(3, 40);
    let access = draw.chance(0.8);
    let links = draw.between(u64::from(!access), 2);
    for link in 0..links {
        draw.link(link, segments, &mut file);
    }
    match access {
        true if draw.chance(0.5) => draw.umts("a", &mut file),
        true => draw.access(&mut file),
        false => {}
    }
    let terminals = if access { draw.between(1, 3) } else { 1 };
    for terminal in 0..terminals {
        writeln!(file, "[terminal.t{terminal}]").expect("a string takes all");
        if access {
            writeln!(file, "access = \"a\"").expect("a string takes all");
        }
        for key in draw.radio().into_iter().filter(|_| draw.chance(0.5)) {
            writeln!(file, "{key}").expect("a string takes all");
        }
    }
    for flow in 0..draw.between(1, 3) {
        let terminal = draw.between(0, terminals - 1);
        draw.flow(flow, terminal, &mut file);
    }
    let networks = draw.networks(access, &mut file);
    // A terminal on its way takes no handovers from events.
    let walker = (access && draw.chance(0.25)).then(|| draw.between(0, terminals - 1));
    if let Some(walker) = walker {
        draw.mobility(walker, &networks, &mut file);
    }
    if draw.chance(0.5) {
        for _ in 0..draw.between(1, 6) {
            draw.event(links, &networks, terminals, walker, &mut file);
        }
    }
    if draw.chance(0.3) {
        draw.spikes(links, terminals, &mut file);
    }
    file
}

/// Draws of settings, as text.
struct Draw {
    stream: Stream,
    /// The accesses that are UMTS.
    umts: Vec<umts::Drawn>,
}

impl Draw {
    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.stream.below(most - least + 1)
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.stream.uniform() < probability
    }

    fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.stream.below(choices.len() as u64) as usize]
    }

    fn link(&mut self, number: u64, segments: u64, file: &mut String) {
        let queue = match self.between(0, 2) {
            0 => "unlimited".to_string(),
            1 => format!("{} packets", self.between(2, 50)),
            _ => format!("{} B", self.between(3000, 60_000)),
        };
        let mut line = |text: String| writeln!(file, "{text}").expect("a string takes all");
        line(format!("[link.l{number}]"));
        if self.chance(0.7) {
            line(format!("rate = \"{} kbit/s\"", self.choose(&[32, 128, 384, 2000, 20_000])));
        }
        line(format!("delay = \"{} ms\"", self.between(0, 200)));
        line(format!("loss = {}", self.loss()));
        if self.chance(0.1) {
            line(format!("{}.loss = {}", self.choose(&["down", "up"]), self.loss()));
        }
        line(format!("queue = \"{queue}\""));
        if self.chance(0.3) {
            line(format!("mark_above = {}", self.between(0, 10)));
        }
        if self.chance(0.3) {
            let segment = self.between(1, segments);
            let fault = match self.between(0, 4) {
                0 => format!("drop_data = {segment}"),
                3 => format!("mark_data = {segment}"),
                1 => format!("drop_ack = {segment}"),
                2 => format!("drop_segment = {segment}, transmission = {}", self.between(1, 2)),
                _ => format!("delay_segment = {segment}, by = \"5 s\", overtaking = {}", self.chance(0.5)),
            };
            line(format!("{}.faults = [{{ {fault} }}]", self.choose(&["down", "up"])));
        }
    }

    fn access(&mut self, file: &mut String) {
        let mut line = |text: String| writeln!(file, "{text}").expect("a string takes all");
        let rate = self.choose(&[64u64, 128, 384, 2000]);
        let tti = self.choose(&[10u64, 20, 40, 80]);
        let capacity = rate * tti / 8;
        let pdu = self.choose(&[None, Some(40), Some(capacity.min(320))]);
        let (errors, again) = self.errors();
        line("[access.a]\ntype = \"block-arq\"".into());
        line(format!("rate = \"{rate} kbit/s\"\ntti = \"{tti} ms\"\nerrors = {errors}"));
        line(format!("feedback_delay = \"{} ms\"\ndelay = \"{} ms\"", self.between(0, 100), self.between(0, 100)));
        line(match pdu {
            Some(bytes) => format!("pdu = \"{bytes} B\""),
            None => "pdu = \"one per TTI\"".into(),
        });
        // Few enough lost packets that TCP gets through: a packet has at most 1500 / pdu + 2 blocks.
        let blocks = 1500.0 / pdu.unwrap_or(capacity) as f64 + 2.0;
        let enough = (1..40).find(|&attempts| blocks * f64::powi(again, attempts) < 0.05).unwrap_or(40);
        if self.chance(0.4) {
            line(format!("max_transmissions = {}", self.between(enough as u64, 40)));
        }
        line(format!("delivery = \"{}\"", self.choose(&["in-sequence", "out-of-sequence"])));
        line(format!("tti_start = \"{}\"", self.choose(&["grid", "on-demand"])));
        if self.chance(0.4) {
            line(format!("queue = \"{} packets\"", self.between(2, 40)));
        }
    }

    /// Errors of an access, and how likely they are at the most where a block is sent again.
    fn errors(&mut self) -> (String, f64) {
        let unit = self.choose(&[", unit = \"pdu\"", ", unit = \"tti\""]);
        if self.chance(0.4) {
            let rate = self.choose(&[0.0, 0.01, 0.1, 0.3, 0.5]);
            return (format!("{rate:?}"), rate);
        }
        self.process(unit)
    }

    /// Losses of a link, of which TCP bears fewer than RLC.
    fn loss(&mut self) -> String {
        if self.chance(0.8) {
            return self.choose(&["0.0", "0.0", "0.001", "0.01", "0.1"]).into();
        }
        self.process("").0
    }

    /// A table of errors with this `unit`, and how likely they are at the most at the next trial.
    ///
    /// What comes again does so at times that the longest timeout of TCP, a minute, is no multiple of: a retransmission
    /// each minute would find it dark for ever.
    fn process(&mut self, unit: &str) -> (String, f64) {
        let step = self.choose(&["", "", ", step = \"7 ms\""]);
        let blackouts = self.choose(&[
            "",
            ", blackouts = [{ at = \"2 s\", duration = \"1500 ms\" }]",
            ", blackouts = [{ duration = \"90 ms\", period = \"1930 ms\" }, { at = \"10 ms\", duration = \"1 ns\" }]",
        ]);
        let more = format!("{step}{unit}{blackouts}");
        match self.between(0, 4) {
            0 => (format!("{{ type = \"independent\", rate = 0.1{unit}{blackouts} }}"), 0.6),
            1 => {
                let burst = self.choose(&["1.5", "4.0", "12.0"]);
                (format!("{{ type = \"gilbert-elliott\", rate = 0.1, burst = {burst}{more} }}"), 0.95)
            }
            2 => {
                let states = "[{ enter = 0.2, stay = 0.5 }, { enter = 0.2, stay = 0.99 }]";
                (format!("{{ type = \"fritchman\", error_free = {states}{more} }}"), 0.8)
            }
            3 => (format!("{{ type = \"markov\", file = \"three-states\"{more} }}"), 0.9),
            _ => {
                let at_end = self.choose(&["repeat", "no-errors"]);
                let trace = format!("file = \"bursts\", at_end = \"{at_end}\", start = \"random\"");
                (format!("{{ type = \"trace\", {trace}{more} }}"), 0.95)
            }
        }
    }

    /// More accesses to move to; gives the names of all.
    fn networks(&mut self, access: bool, file: &mut String) -> Vec<&'static str> {
        if !access {
            return Vec::new();
        }
        let mut networks = vec!["a"];
        for name in ["b", "c"] {
            if self.chance(0.4) {
                networks.push(name);
                if self.chance(0.4) {
                    self.umts(name, file);
                    continue;
                }
                let (rate, delay) = (self.choose(&[32, 384, 1000]), self.between(0, 350));
                let loss = self.loss();
                writeln!(file, "[access.{name}]\ntype = \"link\"\nrate = \"{rate} kbit/s\"\ndelay = \"{delay} ms\"")
                    .expect("a string takes all");
                writeln!(file, "loss = {loss}").expect("a string takes all");
            }
        }
        networks
    }

    /// A way of the terminal with this number, through at least two networks.
    fn mobility(&mut self, terminal: u64, networks: &[&'static str], file: &mut String) {
        let mut line = |text: String| writeln!(file, "{text}").expect("a string takes all");
        line(format!("[mobility.m]\nterminal = \"t{terminal}\""));
        if self.is_slow() {
            line(umts::HOSTILE.into());
        }
        let mut states: Vec<(String, &str)> = networks.iter().map(|&name| (name.to_string(), name)).collect();
        states.push(("cell".into(), self.choose(networks)));
        for (state, access) in &states {
            line(format!("[mobility.m.network.{state}]\naccess = \"{access}\""));
            line(match self.between(0, 2) {
                0 => format!("stay = \"exponential {} ms\"", self.between(200, 5_000)),
                1 => "stay = \"uniform 1 s to 4 s\"".into(),
                // More than a segment: where every segment ends in a handover, no acknowledgement may ever get through.
                _ => format!("after = \"{} B\"", self.between(5_000, 60_000)),
            });
            let next = |draw: &mut Self| states[draw.between(0, states.len() as u64 - 1) as usize].0.clone();
            let (one, other) = (next(self), next(self));
            line(match one == other {
                true => format!("next = \"{one}\""),
                false => format!("next = \"{one} 0.3, {other} 0.7\""),
            });
            if self.chance(0.3) {
                line("soft = true".into());
            } else {
                line(format!("delay = \"{}\"", self.choose(&["0 s", "exponential 200 ms", "uniform 0 s to 2 s"])));
                line(format!("buffering = \"{}\"", self.buffering()));
            }
            if self.chance(0.5) {
                let (one, other) = match *access {
                    name if self.is_umts(name) => ("rate = \"384 kbit/s\"", "delays.node_b = \"9 ms\""),
                    "a" => ("errors = 0.2", "down.delay = \"9 ms\""),
                    _ => ("rate = \"64 kbit/s\", down.delay = \"20 ms\"", "down.delay = \"9 ms\""),
                };
                line(format!("condition.x = {{ stay = \"exponential 800 ms\", next = \"y\", set = {{ {one} }} }}"));
                line(format!("condition.y = {{ stay = \"300 ms\", next = \"x 0.5, y 0.5\", set = {{ {other} }} }}"));
            }
        }
    }

    fn buffering(&mut self) -> &'static str {
        self.choose(&["none", "intermediate", "full", "none down, full up", "full down, intermediate up"])
    }

    fn event(&mut self, links: u64, networks: &[&'static str], terminals: u64, walker: Option<u64>, file: &mut String) {
        let mut line = |text: String| writeln!(file, "{text}").expect("a string takes all");
        line("[[event]]".into());
        let after = self.chance(0.4);
        line(match after {
            true => format!("after = \"{} B\"", self.between(0, 100_000)),
            false => format!("at = \"{} ms\"", self.between(0, 8_000)),
        });
        let number = self.between(0, terminals - 1);
        let terminal = format!("terminal = \"t{number}\"");
        let set = |path: String, value: String| format!("set = {{ \"{path}\" = {value} }}");
        let what = match self.between(0, 2) {
            0 if !networks.is_empty() && walker != Some(number) => {
                line(terminal);
                if self.chance(0.3) {
                    line("soft = true".into());
                } else {
                    line(format!("delay = \"{} ms\"", self.choose(&[0, 1, 100, 5_000])));
                    line(format!("buffering = \"{}\"", self.buffering()));
                }
                return line(format!("handover = \"{}\"", self.choose(networks)));
            }
            1 => format!("spike = \"{} ms\"", self.between(1, 10_000)),
            _ if links > 0 && self.chance(0.5) => {
                let link = format!("link.l{}{}", self.between(0, links - 1), self.choose(&["", ".down", ".up"]));
                match self.between(0, 3) {
                    0 => set(format!("{link}.delay"), format!("\"{} ms\"", self.between(0, 300))),
                    1 => set(format!("{link}.rate"), format!("\"{} kbit/s\"", self.choose(&[32, 384, 10_000]))),
                    2 => set(format!("{link}.loss"), self.loss()),
                    _ => set(format!("{link}.queue"), format!("\"{} packets\"", self.between(2, 50))),
                }
            }
            _ if self.is_umts("a") => self.change_of_umts(number),
            _ if !networks.is_empty() => match self.between(0, 4) {
                0 => set(format!("access.a.{}", self.choose(&["errors", "up.errors"])), self.errors().0),
                1 => set("access.a.down.delay".into(), format!("\"{} ms\"", self.between(0, 300))),
                2 => set("access.a.pdu".into(), format!("\"{} B\"", self.between(20, 80))),
                3 => set("access.a.delivery".into(), self.choose(&["\"in-sequence\"", "\"out-of-sequence\""]).into()),
                _ => {
                    // A small PDU fits every rate.
                    let rate = self.choose(&[64, 128, 384]);
                    format!("set = {{ \"access.a.pdu\" = \"40 B\", \"access.a.rate\" = \"{rate} kbit/s\" }}")
                }
            },
            _ => "spike = \"1 s\"".into(),
        };
        // Only what names a terminal may do so.
        if after || what.starts_with("spike") && self.chance(0.5) {
            line(terminal);
        }
        line(what);
    }

    fn spikes(&mut self, links: u64, terminals: u64, file: &mut String) {
        let mut line = |text: String| writeln!(file, "{text}").expect("a string takes all");
        line("[spikes.s]".into());
        line(match self.between(0, 2) {
            0 => format!(
                "interval = \"exponential 5 s\"\ninterval_from = \"{}\"\nduration = \"uniform 1 ms to 4 s\"",
                self.choose(&["end", "start"])
            ),
            1 => format!("interval = \"{} ms\"\nduration = \"exponential 300 ms\"", self.between(1_000, 20_000)),
            _ => "list = [{ at = \"700 ms\", duration = \"5 s\" }, { at = \"3 s\", duration = \"1 s\" }]".into(),
        });
        match self.between(0, 2) {
            0 if links > 0 => line(format!("link = \"l{}\"", self.between(0, links - 1))),
            1 => line(format!("terminal = \"t{}\"", self.between(0, terminals - 1))),
            _ => {}
        }
        if self.chance(0.4) {
            line(format!("direction = \"{}\"", self.choose(&["down", "up"])));
        }
    }

    fn flow(&mut self, number: u64, terminal: u64, file: &mut String) {
        let mut line = |text: String| writeln!(file, "{text}").expect("a string takes all");
        line(format!("[flow.f{number}]\nterminal = \"t{terminal}\""));
        line(format!("direction = \"{}\"", self.choose(&["down", "down", "up"])));
        line(format!("start = \"{} ms\"", self.between(0, 3000)));
        let carries = self.carries();
        let is_datagram = carries.is_datagram && self.chance(0.5);
        line(carries.text);
        if is_datagram {
            let size = self.choose(&[100, 672, 1400]);
            let marked = self.choose(&["true", "false"]);
            return line(match self.between(0, 4) {
                0 | 1 => format!("transport = {{ type = \"udp\", payload = \"{size} B\" }}"),
                2 => format!("transport = {{ type = \"tfrc\", segment = \"{size} B\" }}"),
                3 => format!("transport = {{ type = \"atp\", fragment = \"{size} B\", retransmit = {marked} }}"),
                _ => "transport = \"atp-tfrc\"".into(),
            });
        }
        let preset = self.choose(&[
            "tahoe",
            "reno",
            "newreno",
            "sack",
            "fack",
            "newreno-sack",
            "reno-eifel",
            "newreno-eifel",
            "sack-eifel",
            "vegas",
            "veno",
            "westwood",
            "ns2-sack1",
            "ns2-fulltcp",
            "linux-reno",
            "linux-cubic",
            "bbr",
            "bbr-v3",
        ]);
        line(format!("[flow.f{number}.transport]\nextends = \"{preset}\""));
        line(format!("mss = \"{} B\"", self.choose(&[536, 1460, 100])));
        line(format!("receive_window = \"{} segments\"", self.between(1, 64)));
        line(format!("initial_window = \"{}\"", self.choose(&["1 segment", "rfc3390", "rfc6928"])));
        let timestamps = self.chance(0.5) || preset.ends_with("eifel"); // which compares them
        line(format!("timestamps = {timestamps}\nwindow_scaling = {}", self.chance(0.5)));
        let has_rack = preset.starts_with("linux") || preset.starts_with("bbr");
        let limited_transmit = self.chance(0.5) && !has_rack;
        line(format!("limited_transmit = {limited_transmit}\ndup_thresh = {}", self.between(1, 5)));
        if !has_rack && !preset.ends_with("vegas") {
            let early = self.choose(&["off", "byte-based", "segment-based"]);
            line(format!("early_retransmit = \"{early}\""));
        }
        let is_bbr = preset.starts_with("bbr");
        line(format!("ecn = {}", !is_bbr && self.chance(0.5)));
        if !is_bbr {
            line(format!("pacing = \"{}\"", self.choose(&["off", "off", "by-window"])));
        }
        let is_classic = ["tahoe", "reno", "newreno"].contains(&preset);
        if is_classic || preset == "vegas" {
            let bug_fix = self.choose(&["off", "less-careful", "careful"]);
            line(format!("recovery.bug_fix = \"{bug_fix}\""));
            if ["reno", "newreno"].contains(&preset) && bug_fix != "off" {
                let answer = self.choose(&["ignore", "inflate", "inflate-for-good", "every-second"]);
                line(format!("recovery.guarded_acks = \"{answer}\""));
            }
        }
        if has_rack && !is_bbr {
            line(format!("recovery.prr = \"{}\"", self.choose(&["conservative", "slow-start", "safe-ack"])));
        }
        if has_rack {
            line(format!("recovery.tail_probe = \"{}\"", self.choose(&["on", "off"])));
        }
        if preset == "newreno" {
            line(format!("recovery.partial_ack = \"{}\"", self.choose(&["impatient", "slow-but-steady"])));
            line(format!("recovery.new_data_on_partial_ack = {}", self.chance(0.5)));
        }
        if ["sack", "fack", "newreno-sack"].contains(&preset) {
            line(format!(
                "recovery.reduction = \"{}\"",
                self.choose(&["at-once", "rate-halving", "ramp-down", "restart", "prr-crb", "prr-ssrb"])
            ));
        }
        if preset == "fack" {
            let reordering = self.choose(&["ignore", "adaptive"]);
            line(format!("recovery.reordering = \"{reordering}\"\nrecovery.overdamping = {}", self.chance(0.5)));
        }
        let every = self.between(1, 3);
        let quick = if every > 1 { self.choose(&[0, 2, 16]) } else { 0 };
        line(format!("delayed_ack = {{ every = {every}, timer = \"200 ms\", quick = {quick} }}"));
        let mut is_vegas = preset == "vegas";
        if is_classic && self.chance(0.5) {
            let algorithm = self.choose(&[
                "type = 'cubic'",
                "type = 'westwood'",
                "type = 'veno'",
                "type = 'vegas', alpha = 2, beta = 4",
                "type = 'westwood', filter = 'per-round-trip', after_loss = 'threshold'",
                "type = 'westwood', filter = 'linux', growth = 'when-limiting'",
            ]);
            line(format!("congestion = {{ {algorithm} }}"));
            is_vegas = algorithm.contains("vegas");
        }
        if !is_vegas && !is_bbr {
            line(format!("slow_start.per_ack = \"{}\"", self.choose(&["1 segment", "2 segments", "all"])));
            if !preset.starts_with("ns2") {
                line(format!("slow_start.exit = \"{}\"", self.choose(&["none", "hystart", "hystart-plus-plus"])));
            }
        }
        line("rto.attempts = 1000".into()); // enough for packets of which one in hundreds gets through
        line(format!("rto.minimum = \"{} ms\"", self.choose(&[10, 200, 1000])));
        line(format!("rto.granularity = \"{} ms\"", self.choose(&[1, 100, 500])));
        line(format!("rto.timing = \"{}\"", self.choose(&["per-window", "per-segment"])));
        let (fast, ignores) = (self.chance(0.3), self.chance(0.3) && !has_rack);
        line(format!("rto.restart_on_fast_retransmit = {fast}\nrto.ignore_duplicate_acks = {ignores}"));
        line(format!("rto.lower_ssthresh = \"{}\"", self.choose(&["once", "each-time"])));
        let restarts: &[&str] = match preset {
            "tahoe" => &["never", "up-to-dup-thresh", "always"],
            _ if has_rack => &["never", "always"],
            _ => &["never", "up-to-dup-thresh"],
        };
        line(format!("rto.restart_on_duplicate_ack = \"{}\"", self.choose(restarts)));
    }
}

/// What a drawn flow carries, and whether datagrams can carry it.
struct Carries {
    text: String,
    is_datagram: bool,
}

impl Draw {
    fn carries(&mut self) -> Carries {
        let most = self.choose(&[1, 100, 20_000, 150_000]);
        if self.chance(0.6) {
            return Carries { text: format!("bulk = \"{} B\"", self.between(1, most)), is_datagram: false };
        }
        let size = self.between(1, most);
        let pause = self.choose(&[0, 0, 50, 3000]);
        let flag = self.chance(0.5);
        let (is_datagram, settings) = match self.between(0, 6) {
            0 => {
                let more = self.between(1, 3000);
                (
                    false,
                    format!(
                        "\"files\", sizes = [\"{size} B\", \"{more} B\"], pause = \"{pause} ms\", reconnect = {flag}"
                    ),
                )
            }
            1 => {
                let (reply, count) = (self.between(1, 6000), self.between(1, 6));
                let request = self.between(1, 2000);
                let sizes = format!("request = \"{request} B\", reply = \"{reply} B\", transactions = {count}");
                (false, format!("\"request-reply\", {sizes}, pause = \"{pause} ms\", reconnect = {flag}"))
            }
            2 => {
                let http = self.choose(&["1.0", "1.1"]);
                let (objects, connections, pages) = (self.between(0, 8), self.between(1, 4), self.between(1, 3));
                let pipelining = flag && http == "1.1";
                let counts = format!("objects = {objects}, connections = {connections}, pages = {pages}");
                (
                    false,
                    format!("\"web\", http = \"{http}\", {counts}, pipelining = {pipelining}, think = \"{pause} ms\""),
                )
            }
            3 => {
                let (rate, lengths) = (self.choose(&[8, 64]), self.choose(&["constant", "exponential"]));
                let times = format!("on = \"500 ms\", off = \"{pause} ms\", duration = \"5 s\"");
                (
                    true,
                    format!(
                        "\"on-off\", rate = \"{rate} kbit/s\", packet = \"300 B\", {times}, lengths = \"{lengths}\""
                    ),
                )
            }
            4 => {
                (true, format!("\"news\", update = \"{size} B\", interval = \"2 s\", updates = {}", self.between(1, 5)))
            }
            5 => (true, format!("\"voip\", duration = \"{} ms\"", self.between(1, 3000))),
            _ => {
                let (startup, piece) = (self.between(0, 4), self.choose(&[500, 1000]));
                let times = format!("startup = \"{startup} s\", resume = \"2 s\", piece = \"{piece} ms\"");
                (false, format!("\"video\", rates = [\"20 kbit/s\", \"60 kbit/s\"], duration = \"9500 ms\", {times}"))
            }
        };
        Carries { text: format!("application = {{ type = {settings} }}"), is_datagram }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives_once_and_in_order_in_five_hundred_scenarios() {
        let failures = swarm(1, 500, &AtomicBool::new(false));
        assert!(failures.is_empty(), "{} failed, the first:\n{}", failures.len(), failures[0]);
    }
}
