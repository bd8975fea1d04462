//! A live run: ends, session and timing thread together.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use cellwind_engine::time::{Span, Time};
use cellwind_scenario::Loaded;
use cellwind_scenario::change::{Applied, Change, Controls};
use cellwind_scenario::model::SERVER;
use cellwind_scenario::session::Session;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::clock::{Clock, Monotonic};
use crate::device::{Device, ETHERNET_HEADER};
use crate::driver::{Driver, DriverSettings};
use crate::ends::{Bridge, End, EndError, EndProgram, EndSettings, ProcessId, Role, SpawnRequest, User, open_bridge};
use crate::ip::Addresses;
use crate::kernel::kernel_tcp;
use crate::lateness::{Lateness, Summary};
use crate::log::{Lost, log};
use crate::pool::Pool;
use crate::pump::{self, Failure, Pump};
use crate::writer::Writer;

mod error;
mod results;

pub use error::EmulationError;
pub use results::{CommandEnded, LiveRun, Status};

/// How an emulation is made.
#[derive(Clone, Debug)]
pub struct EmulationSettings {
    /// Number of the replication, which chooses the random numbers.
    pub replication: u32,
    /// Whether facts are recorded.
    pub facts: bool,
    /// Whether packets are captured at each end.
    pub capture: bool,
    /// Whether the server's place is taken by the host, behind address translation.
    pub outside: bool,
    /// Two interfaces to stand between, instead of ends of its own: the server's side, the terminal's side.
    pub bridge: Option<(String, String)>,
    /// Settings of the kernel's TCP by name and value, over those of the scenario.
    pub kernel: Vec<(String, String)>,
    /// How the timing thread runs.
    pub driver: DriverSettings,
    /// Where files are kept while the run goes on.
    pub spool: PathBuf,
}

fn system(what: &str) -> impl Fn(Errno) -> EmulationError + '_ {
    move |errno| EmulationError::System { what: what.into(), error: errno.into() }
}

/// A scenario that runs live. Its ends are there from the start; packets travel from [`begin`](Emulation::begin) on.
pub struct Emulation {
    loaded: Loaded,
    settings: EmulationSettings,
    /// The server, then the terminals.
    names: Vec<String>,
    ends: RwLock<Vec<End>>,
    /// Rings when the emulation is being stopped.
    stopping: EventFd,
    state: Mutex<State>,
    /// What settings are changed with, one caller after the other.
    controls: Mutex<Controls>,
    /// What commands left behind.
    complaints: Mutex<Vec<String>>,
}

enum State {
    /// Devices without traffic.
    Held(pump::Ends),
    Running(Box<Running>),
    Stopped,
}

struct Running {
    clock: Monotonic,
    started: SystemTime,
    driver: Driver,
    /// The events that have come.
    applied: Arc<Applied>,
    writer: Writer,
    lost: Arc<Lost>,
    lateness: Arc<Lateness>,
    machine_names: Vec<String>,
}

impl Emulation {
    /// Makes the ends of a scenario and holds the path between them.
    ///
    /// `program` becomes the process of each end.
    pub fn open(loaded: &Loaded, program: &EndProgram, settings: EmulationSettings) -> Result<Self, EmulationError> {
        loaded.check_live()?;
        let scenario = &loaded.scenario;
        let names: Vec<String> =
            [SERVER].into_iter().chain(scenario.terminal.keys().map(String::as_str)).map(str::to_string).collect();
        let mtu = scenario.live.mtu.as_bytes() as u32;
        let (ends, devices, addresses) = match &settings.bridge {
            Some(_) if names.len() != 2 => return Err(EmulationError::BridgeOfMany { terminals: names.len() - 1 }),
            Some((server_side, terminal_side)) => {
                let Bridge { server_side, terminal_side } = open_bridge(server_side, terminal_side)?;
                let devices = vec![Device::ethernet(server_side.socket), Device::ethernet(terminal_side.socket)];
                (Vec::new(), devices, Addresses::All(0))
            }
            None => open_ends(loaded, program, &names, &settings)?,
        };
        let complaints = ends.iter().flat_map(End::complaints).cloned().collect();
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Emulation {
            loaded: loaded.clone(),
            settings,
            names,
            ends: RwLock::new(ends),
            stopping: EventFd::from_flags(flags).map_err(system("make an event"))?,
            state: Mutex::new(State::Held(pump::Ends { devices, addresses, mtu })),
            controls: Mutex::new(loaded.controls()),
            complaints: Mutex::new(complaints),
        })
    }

    /// Lets packets travel: the time of the path is zero `lead` from now. Returns that instant of CLOCK_MONOTONIC, ns.
    ///
    /// What the ends send before that waits in their devices.
    pub fn begin(&self, lead: Span) -> Result<u64, EmulationError> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Stopped) {
            State::Held(ends) => {
                let running = self.run(ends, lead)?;
                let start = running.clock.kernel_ns(Time::ZERO);
                *state = State::Running(Box::new(running));
                Ok(start)
            }
            other => {
                let error =
                    if matches!(other, State::Stopped) { EmulationError::Stopped } else { EmulationError::Begun };
                *state = other;
                Err(error)
            }
        }
    }

    fn run(&self, ends: pump::Ends, lead: Span) -> Result<Running, EmulationError> {
        let scenario = &self.loaded.scenario;
        let settings = &self.settings;
        let session = Session::live(&self.loaded, settings.replication, settings.facts);
        let machine_names = session.machine_names();
        let applied = session.applied();
        let (log, reader) = log(settings.facts, settings.capture);
        let lost = log.lost();
        let lateness = Arc::new(Lateness::new(scenario.live.lateness_limit));
        let pool = Pool::new(ends.mtu as usize + ETHERNET_HEADER);
        let started = SystemTime::now() + Duration::from_nanos(lead.as_nanos());
        let clock = Monotonic::start_in(lead);
        let about = about(&self.loaded.name, settings.replication, started);
        let writer = Writer::start(reader, &settings.spool, &self.names, &about).map_err(|error| {
            EmulationError::System { what: format!("keep files in {}", settings.spool.display()), error }
        })?;
        let pump = Pump::new(clock, session, ends, pool, log, Arc::clone(&lateness));
        let driver = match Driver::start(pump, settings.driver) {
            Ok(driver) => driver,
            Err(errno) => {
                writer.finish(&lost);
                return Err(system("start the timing thread")(errno));
            }
        };
        self.complaints().extend(driver.complaints().iter().cloned());
        Ok(Running { clock, started, driver, applied, writer, lost, lateness, machine_names })
    }

    /// The names of the ends: `server`, then the terminals.
    pub fn ends(&self) -> &[String] {
        &self.names
    }

    /// When the path's time was zero, in ns of CLOCK_MONOTONIC.
    pub fn started_ns(&self) -> Result<u64, EmulationError> {
        self.running(|running| Ok(running.clock.kernel_ns(Time::ZERO)))
    }

    /// The addresses of each end; none of a bridge.
    pub fn addresses(&self) -> Vec<(String, Vec<std::net::IpAddr>)> {
        let ends = self.ends.read().unwrap_or_else(PoisonError::into_inner);
        ends.iter().map(|end| (end.name().to_string(), end.addresses().to_vec())).collect()
    }

    /// Does something at one end.
    fn at<R>(&self, name: &str, what: impl FnOnce(&End) -> Result<R, EndError>) -> Result<R, EmulationError> {
        let ends = self.ends.read().unwrap_or_else(PoisonError::into_inner);
        match ends.iter().find(|end| end.name() == name) {
            Some(end) => Ok(what(end)?),
            None if matches!(*self.state(), State::Stopped) => Err(EmulationError::Stopped),
            None => {
                let ends = ends.iter().map(|end| end.name().to_string()).collect();
                Err(EmulationError::NoEnd { name: name.into(), ends })
            }
        }
    }

    /// The first process of an end, to enter it with `nsenter`.
    pub fn end_pid(&self, end: &str) -> Result<u32, EmulationError> {
        self.at(end, |end| Ok(end.pid()))
    }

    /// Starts a command at an end, with these open files of this process, as the calling user or, with `as_root`, with all rights over the end's network.
    pub fn spawn(
        &self,
        end: &str,
        argv: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
        cwd: PathBuf,
        stdio: [RawFd; 3],
        as_root: bool,
    ) -> Result<ProcessId, EmulationError> {
        let files = stdio.map(|number| duplicate(number).map_err(system("use a file for a command")));
        let [input, output, errors] = files;
        let (input, output, errors) = (input?, output?, errors?);
        let stdio = [input.as_fd(), output.as_fd(), errors.as_fd()];
        let user = if as_root { None } else { User::calling() };
        let request = SpawnRequest { argv, env, cwd, stdio, user };
        self.at(end, |end| end.spawn(&request))
    }

    /// Sends a signal to a command.
    pub fn signal(&self, end: &str, process: ProcessId, signal: i32) -> Result<(), EmulationError> {
        self.at(end, |end| end.signal(process, signal))
    }

    /// Waits until commands have ended; none when `timeout` has passed, which is without end when absent.
    ///
    /// A path that has stopped is an error.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Vec<CommandEnded>, EmulationError> {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let ended = self.take_exits()?;
            if !ended.is_empty() {
                return Ok(ended);
            }
            let driver_ended = match &*self.state() {
                State::Held(_) => None,
                State::Running(running) => {
                    if let Some(failure) = running.driver.failure() {
                        return Err(EmulationError::Broken { reason: self.describe(failure) });
                    }
                    Some(running.driver.ended())
                }
                State::Stopped => return Err(EmulationError::Stopped),
            };
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(Vec::new());
            }
            let ends = self.ends.read().unwrap_or_else(PoisonError::into_inner);
            let events = driver_ended.iter().map(|event| event.as_fd()).chain([self.stopping.as_fd()]);
            let fds = ends.iter().map(End::exits).chain(events);
            let mut fds: Vec<PollFd> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
            // Rounded up, so that the last wait is not one of zero.
            let most = left.map(|left| u16::try_from(left.as_millis() + 1).unwrap_or(u16::MAX));
            match poll(&mut fds, most.map_or(PollTimeout::NONE, PollTimeout::from)) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(system("wait for commands")(errno)),
            }
        }
    }

    fn take_exits(&self) -> Result<Vec<CommandEnded>, EmulationError> {
        let ends = self.ends.read().unwrap_or_else(PoisonError::into_inner);
        let mut all = Vec::new();
        for end in ends.iter() {
            let exits = match end.poll_exits() {
                Ok(exits) => exits,
                // What is known already is told first; the end is gone at the next call as well.
                Err(_) if !all.is_empty() => break,
                Err(error) => return Err(error.into()),
            };
            for exit in exits {
                let (end, process, code) = (end.name().to_string(), exit.process, code(exit.status));
                for name in exit.left {
                    let complaint = format!("{name} went on at {end} after the command that started it had ended");
                    let mut complaints = self.complaints();
                    if !complaints.contains(&complaint) {
                        complaints.push(complaint);
                    }
                }
                all.push(CommandEnded { end, process, code });
            }
        }
        Ok(all)
    }

    /// Changes settings of links, accesses and terminals at one instant, which is returned.
    pub fn set(&self, sets: &[(String, String)]) -> Result<Time, EmulationError> {
        let mut controls = self.controls.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = controls.clone();
        self.running(|running| {
            next.follow(&running.applied);
            Ok(())
        })?;
        let at = self.change(next.set(sets)?)?;
        *controls = next;
        Ok(at)
    }

    /// Moves a terminal to another access, as an event of a scenario does. Returns when.
    pub fn handover(
        &self,
        to: &str,
        terminal: Option<&str>,
        delay: Option<&str>,
        buffering: Option<&str>,
        soft: bool,
    ) -> Result<Time, EmulationError> {
        self.change(self.loaded.change_handover(to, terminal, delay, buffering, soft)?)
    }

    /// Holds all transmission for a while, as an event of a scenario does. Returns from when.
    pub fn spike(&self, duration: &str, terminal: Option<&str>) -> Result<Time, EmulationError> {
        self.change(self.loaded.change_spike(duration, terminal)?)
    }

    /// Holds all transmission until [`resume`](Emulation::resume). Returns from when.
    pub fn pause(&self) -> Result<Time, EmulationError> {
        self.change(Change::Pause)
    }

    /// Lets transmission go on. Returns from when.
    pub fn resume(&self) -> Result<Time, EmulationError> {
        self.change(Change::Resume)
    }

    fn change(&self, change: Change) -> Result<Time, EmulationError> {
        let answer = self.running(|running| match running.driver.change(change) {
            Some(answer) => Ok(answer),
            None => Err(self.broken(running)),
        })?;
        answer.result.map(|()| answer.at).map_err(EmulationError::Change)
    }

    /// How it goes.
    pub fn status(&self) -> Result<Status, EmulationError> {
        self.running(|running| {
            let counts = running.driver.status().counts();
            let lateness = running.lateness.summary();
            let mut complaints = self.complaints().clone();
            complaints.extend(running.writer.complaints());
            Ok(Status {
                time: running.clock.now(),
                stages: counts
                    .stage_numbers
                    .iter()
                    .map(|&number| running.machine_names[usize::from(number)].clone())
                    .collect(),
                counts,
                lateness,
                is_valid: self.is_valid(&lateness),
                lost: (running.lost.facts(), running.lost.packets()),
                complaints,
            })
        })
    }

    /// Ends everything, and returns what it left.
    pub fn stop(&self) -> Result<LiveRun, EmulationError> {
        // An emulation that never began has no result but an empty one.
        match self.begin(Span::ZERO) {
            Ok(_) | Err(EmulationError::Begun) => {}
            Err(error) => return Err(error),
        }
        let running = match std::mem::replace(&mut *self.state(), State::Stopped) {
            State::Running(running) => *running,
            State::Held(_) | State::Stopped => return Err(EmulationError::Stopped),
        };
        let _ = self.stopping.write(1);
        let Running { started, driver, writer, lost, lateness, machine_names, .. } = running;
        let failure = driver.failure().map(|failure| self.describe(failure));
        let ended = driver.stop();
        let (written, said) = writer.finish(&lost);
        // The devices go with their ends; a command that hangs ends here.
        let ends = std::mem::take(&mut *self.ends.write().unwrap_or_else(PoisonError::into_inner));
        End::close_all(ends);
        let mut complaints = std::mem::take(&mut *self.complaints());
        complaints.extend(said);
        let Some(mut ended) = ended else {
            return Err(EmulationError::Broken { reason: "the timing thread failed".into() });
        };
        complaints.extend(ended.session.take_refused().iter().map(|error| format!("an event was left out: {error}")));
        complaints.extend(failure.iter().map(|reason| format!("the path stopped by itself: {reason}")));
        if let Err((machine, what)) = ended.session.check() {
            complaints.push(format!("the books of {machine} do not balance: {what}"));
        }
        let summary = lateness.summary();
        let is_on_time = self.is_valid(&summary);
        if !is_on_time {
            let live = &self.loaded.scenario.live;
            let share = 100.0 * summary.over_limit as f64 / summary.count as f64;
            complaints.push(format!(
                "{share:.2} % of the packets left more than {} late; the scenario allows {:.2} %",
                live.lateness_limit,
                100.0 * (1.0 - live.valid_share.get())
            ));
        }
        let (bearers, links) = ended.session.results();
        Ok(LiveRun {
            started,
            ended: ended.counts.time,
            counts: ended.counts,
            terminal_names: self.names[1..].to_vec(),
            bearers,
            links,
            machine_names,
            facts: written.facts,
            captures: written.captures,
            lateness: summary,
            histogram: lateness.histogram(),
            is_valid: is_on_time && failure.is_none(),
            complaints,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn complaints(&self) -> MutexGuard<'_, Vec<String>> {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running<R>(&self, what: impl FnOnce(&mut Running) -> Result<R, EmulationError>) -> Result<R, EmulationError> {
        match &mut *self.state() {
            State::Held(_) => Err(EmulationError::NotBegun),
            State::Running(running) => what(running),
            State::Stopped => Err(EmulationError::Stopped),
        }
    }

    fn broken(&self, running: &Running) -> EmulationError {
        let reason = running.driver.failure().map(|failure| self.describe(failure));
        EmulationError::Broken { reason: reason.unwrap_or_else(|| "the timing thread failed".into()) }
    }

    fn describe(&self, failure: &Failure) -> String {
        match failure {
            Failure::Stalled(stalled) => stalled.to_string(),
            Failure::Device(place, errno) => format!("the device of {} is gone: {}", self.names[*place], errno.desc()),
            Failure::Wait(errno) => format!("the timing thread cannot wait: {}", errno.desc()),
            Failure::Panic => "the timing thread failed".into(),
        }
    }

    fn is_valid(&self, lateness: &Summary) -> bool {
        let late = lateness.over_limit as f64;
        late <= (1.0 - self.loaded.scenario.live.valid_share.get()) * lateness.count as f64
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        if matches!(*self.state(), State::Running(_)) {
            let _ = self.stop();
        }
    }
}

fn open_ends(
    loaded: &Loaded,
    program: &EndProgram,
    names: &[String],
    settings: &EmulationSettings,
) -> Result<(Vec<End>, Vec<Device>, Addresses), EmulationError> {
    let live = &loaded.scenario.live;
    let kernel = kernel_tcp(&live.kernel, &settings.kernel).map_err(EmulationError::Kernel)?;
    let server = if settings.outside { Role::Outside } else { Role::Server };
    let role = |place: usize| if place == 0 { server } else { Role::Terminal((place - 1) as u16) };
    let hosts: Vec<(String, Role)> =
        names.iter().enumerate().map(|(place, name)| (name.clone(), role(place))).collect();
    let all: Vec<EndSettings> = hosts
        .iter()
        .map(|(name, role)| EndSettings {
            name: name.clone(),
            role: *role,
            names: hosts.clone(),
            outside: settings.outside,
            mtu: live.mtu.as_bytes() as u32,
            kernel: kernel.clone(),
        })
        .collect();
    let ends = End::open_all(program, &all)?;
    let devices = ends.iter().map(|end| end.tun().try_clone_to_owned().map(Device::ip)).collect::<io::Result<_>>();
    let devices = devices.map_err(|error| EmulationError::System { what: "copy a device".into(), error })?;
    let terminals = ends[1..].iter().enumerate();
    let addresses = terminals
        .flat_map(|(place, end)| end.addresses().iter().map(move |&address| (address, place as u16)))
        .collect();
    Ok((ends, devices, Addresses::listed(addresses)))
}

/// A copy of an open file, by its number.
fn duplicate(number: RawFd) -> Result<OwnedFd, Errno> {
    // SAFETY: the call touches no memory, and refuses a number that is no open file.
    let copy = Errno::result(unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) })?;
    // SAFETY: the number is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// What a capture says of its run.
fn about(name: &str, replication: u32, started: SystemTime) -> String {
    let since = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!(
        "{name}, replication {replication}; time zero is {}.{:09} s of Unix time",
        since.as_secs(),
        since.subsec_nanos()
    )
}

/// A command's exit code; 128 and the signal's number for one that a signal ended, as shells say it.
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}
