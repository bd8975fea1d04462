//! The parent's side of an end.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{AddressFamily, Shutdown, SockFlag, SockType, shutdown, socketpair};
use nix::unistd::{Pid, geteuid};

use super::caller::User;
use super::error::EndError;
use super::message::{CommandLine, Opening, Order, Report, receive_report, send_order};
use super::outside::{self, Owner};
use super::process::pidfd;
use super::settings::{EndSettings, Role};

/// How long an end may take to be there, or to answer, milliseconds. It takes some tens; `ip` or a disk may be slow.
const PATIENCE_MS: u16 = 30_000;
/// How long an end may take to go, milliseconds, before its process is killed.
const FAREWELL_MS: u16 = 10_000;

/// The program that becomes the process of an end: it must call [`run_end`](super::run_end) with its last argument.
#[derive(Clone, Debug)]
pub struct EndProgram {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl EndProgram {
    /// A program and its arguments before the number of the socket.
    pub fn new(program: impl Into<PathBuf>, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        EndProgram { program: program.into(), arguments: arguments.into_iter().map(Into::into).collect() }
    }
}

/// A process of an end's own process namespace, by its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(pub u32);

/// A command for an end.
#[derive(Clone, Debug)]
pub struct SpawnRequest<'a> {
    /// Program and arguments; the program is searched in the `PATH` of `env`.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// Standard input, output and error. A terminal as input becomes the command's controlling terminal, unless it is
    /// that of another session.
    pub stdio: [BorrowedFd<'a>; 3],
    /// Who runs it, usually [`User::calling`]; `None`: the end's own user with all rights over its network.
    pub user: Option<User>,
}

/// The end of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The command's process.
    pub process: ProcessId,
    /// How it ended.
    pub status: ExitStatus,
    /// The names of processes of this end that commands had left running by then; they end with the end at the latest.
    pub left: Vec<String>,
}

/// An end of the path, held by its process. Dropping it ends all of its processes and removes all of it.
#[derive(Debug)]
pub struct End {
    name: String,
    device: String,
    addresses: Vec<IpAddr>,
    complaints: Vec<String>,
    pid: u32,
    tun: OwnedFd,
    line: Line,
    /// Exits that came while the answer to another order was awaited; `waiting` is readable then.
    exits: Mutex<VecDeque<Exit>>,
    waiting: EventFd,
    /// Readable when there are exits or reports.
    told: Epoll,
}

impl End {
    /// Makes an end.
    pub fn open(program: &EndProgram, settings: &EndSettings) -> Result<End, EndError> {
        Starting::begin(program, settings)?.finish()
    }

    /// Makes several ends, at the same time.
    pub fn open_all(program: &EndProgram, settings: &[EndSettings]) -> Result<Vec<End>, EndError> {
        let starting: Vec<Starting> =
            settings.iter().map(|settings| Starting::begin(program, settings)).collect::<Result<_, _>>()?;
        starting.into_iter().map(Starting::finish).collect()
    }

    /// Ends several at the same time, and waits until they are gone.
    pub fn close_all(ends: impl IntoIterator<Item = End>) {
        let ends: Vec<End> = ends.into_iter().collect();
        ends.iter().for_each(|end| end.line.hang_up());
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The TUN device's file, not blocking: one read or write is one IP packet, without any header before it.
    ///
    /// The device lives as long as any copy of this file is open.
    pub fn tun(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }

    /// The TUN device's name in the end's namespace.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Its addresses: IPv4, and IPv6 if the kernel has it.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// What could not be had, in words; the end works without.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// The end's first process in the caller's process namespace, to enter the end with `nsenter`.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Starts a command, in a session of its own. Waits until its program runs or cannot.
    pub fn spawn(&self, request: &SpawnRequest<'_>) -> Result<ProcessId, EndError> {
        let line = CommandLine {
            argv: request.argv.clone(),
            env: request.env.clone(),
            cwd: request.cwd.clone(),
            user: request.user.clone(),
        };
        let fds: Vec<RawFd> = request.stdio.iter().map(|file| file.as_raw_fd()).collect();
        let mut exits = self.lock();
        self.line.send(&Order::Spawn(line), &fds)?;
        loop {
            match self.line.wait()?.0 {
                Report::Spawned(process) => return Ok(ProcessId(process)),
                Report::Failed(error) => return Err(error),
                other => {
                    exits.extend(exit(other));
                    let _ = self.waiting.write(1);
                }
            }
        }
    }

    /// Sends a signal to a command and to what it started in its session; nothing happens when it has ended.
    pub fn signal(&self, process: ProcessId, signal: i32) -> Result<(), EndError> {
        let _order = self.lock();
        self.line.send(&Order::Signal { process: process.0, signal }, &[])
    }

    /// The commands that have ended since the last call; never waits. An end that is gone is an error once all are told.
    pub fn poll_exits(&self) -> Result<Vec<Exit>, EndError> {
        let mut exits = self.lock();
        let gone = loop {
            match self.line.poll() {
                Ok(Some((report, _))) => exits.extend(exit(report)),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        let _ = self.waiting.read();
        match gone {
            Some(error) if exits.is_empty() => Err(error),
            _ => Ok(exits.drain(..).collect()),
        }
    }

    /// A file that is readable when [`End::poll_exits`] has something to tell.
    pub fn exits(&self) -> BorrowedFd<'_> {
        self.told.0.as_fd()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Exit>> {
        self.exits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of a report that is the end of a command.
fn exit(report: Report) -> Option<Exit> {
    match report {
        Report::Exited { process, status, left } => {
            Some(Exit { process: ProcessId(process), status: ExitStatus::from_raw(status), left })
        }
        _ => None,
    }
}

/// An end that has been asked for.
struct Starting {
    settings: EndSettings,
    line: Line,
}

impl Starting {
    fn begin(program: &EndProgram, settings: &EndSettings) -> Result<Starting, EndError> {
        settings.check()?;
        if settings.role == Role::Outside {
            if !geteuid().is_root() {
                return Err(EndError::NotRoot { what: "address translation to the outside".into() });
            }
            // What a killed run has left would look like a clash.
            outside::clean_leftovers()?;
        }
        let opening = Opening {
            settings: settings.clone(),
            owner: Owner::this_process(),
            v6_beyond: !settings.outside || outside::forwards_v6(),
        };
        let line = Line::start(program)?;
        line.send(&Order::Open(Box::new(opening)), &[])?;
        Ok(Starting { settings: settings.clone(), line })
    }

    fn finish(self) -> Result<End, EndError> {
        let (mut pid, mut ready) = (None, None);
        // Guard and first process tell, in any order.
        while pid.is_none() || ready.is_none() {
            match self.line.wait()? {
                (Report::Forked(number), _) => pid = Some(number),
                (Report::Ready { device, complaints }, fds) => ready = Some((device, complaints, fds)),
                (Report::Failed(error), _) => return Err(error),
                _ => (),
            }
        }
        let (Some(pid), Some((device, complaints, mut fds))) = (pid, ready) else { unreachable!("awaited both") };
        let Some(tun) = fds.pop() else { return Err(EndError::setup("receive the device", "no file came along")) };
        let has_v6 = Path::new("/proc/sys/net/ipv6").exists();
        let addresses = self.settings.role.addresses().into_iter().filter(|address| address.is_ipv4() || has_v6);
        let failed = |errno: Errno| EndError::setup("watch an end", errno);
        let waiting = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK).map_err(failed)?;
        let told = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?;
        told.add(&self.line.socket, EpollEvent::new(EpollFlags::EPOLLIN, 0)).map_err(failed)?;
        told.add(&waiting, EpollEvent::new(EpollFlags::EPOLLIN, 1)).map_err(failed)?;
        Ok(End {
            addresses: addresses.collect(),
            name: self.settings.name,
            device,
            complaints,
            pid,
            tun,
            line: self.line,
            exits: Mutex::default(),
            waiting,
            told,
        })
    }
}

/// The socket to an end, and the process at its other side.
#[derive(Debug)]
struct Line {
    socket: OwnedFd,
    child: Mutex<Child>,
    /// What the process writes to its standard error: the reason when it fails early.
    words: File,
}

impl Line {
    fn start(program: &EndProgram) -> Result<Line, EndError> {
        let failed = |errno: Errno| EndError::setup("start the process of an end", errno);
        let (ours, theirs) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC).map_err(failed)?;
        let words = File::from(memfd_create(c"words", MFdFlags::MFD_CLOEXEC).map_err(failed)?);
        let copy = words.try_clone().map_err(|error| EndError::setup("start the process of an end", error))?;
        let mut command = Command::new(&program.program);
        command.args(&program.arguments).arg(theirs.as_raw_fd().to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(copy);
        let number = theirs.as_raw_fd();
        // SAFETY: the closure makes one system call, on a descriptor that is open until after the start.
        unsafe {
            command.pre_exec(move || {
                let fd = BorrowedFd::borrow_raw(number);
                Ok(fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty())).map(drop)?)
            });
        }
        let child = command.spawn().map_err(|error| {
            EndError::setup(format!("start {} as the process of an end", program.program.display()), error)
        })?;
        Ok(Line { socket: ours, child: Mutex::new(child), words })
    }

    fn send(&self, order: &Order, fds: &[RawFd]) -> Result<(), EndError> {
        send_order(&self.socket, order, fds).map_err(|error| match error.raw_os_error() {
            Some(libc::EPIPE | libc::ECONNRESET) => self.gone(),
            _ => EndError::setup("tell the process of an end", error),
        })
    }

    /// The next report, awaited for as long as patience lasts.
    fn wait(&self) -> Result<(Report, Vec<OwnedFd>), EndError> {
        loop {
            if let Some(report) = self.poll()? {
                return Ok(report);
            }
            match poll(&mut [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)], PollTimeout::from(PATIENCE_MS)) {
                Ok(0) => return Err(EndError::Gone { reason: format!("no answer for {} s", PATIENCE_MS / 1000) }),
                Ok(_) | Err(Errno::EINTR) => (),
                Err(errno) => return Err(EndError::setup("hear from the process of an end", errno)),
            }
        }
    }

    /// A report that is there.
    fn poll(&self) -> Result<Option<(Report, Vec<OwnedFd>)>, EndError> {
        match receive_report(&self.socket) {
            Ok(Some(report)) => Ok(Some(report)),
            Ok(None) => Err(self.gone()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(EndError::setup("hear from the process of an end", error)),
        }
    }

    /// Tells the end that it is over. Copies of the socket in processes that this one forked do not matter.
    fn hang_up(&self) {
        let _ = shutdown(self.socket.as_raw_fd(), Shutdown::Both);
    }

    fn gone(&self) -> EndError {
        let how = match self.farewell() {
            Some(status) => status.to_string(),
            None => "it closed its socket".into(),
        };
        let mut words = String::new();
        let mut file = &self.words;
        let _ = file.rewind().and_then(|()| file.read_to_string(&mut words));
        let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        EndError::Gone { reason: if last.is_empty() { how } else { format!("{how}; {last}") } }
    }

    /// Waits until the process has ended, and with it all of the end.
    fn farewell(&self) -> Option<ExitStatus> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ended) = pidfd(Pid::from_raw(child.id() as i32)) {
            let _ = poll(&mut [PollFd::new(ended.as_fd(), PollFlags::POLLIN)], PollTimeout::from(FAREWELL_MS));
        }
        child.try_wait().ok().flatten()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.hang_up();
        if self.farewell().is_none() {
            let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
