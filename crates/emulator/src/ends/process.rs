//! The process of an end.
//!
//! Started with one thread and a socket to its parent. It enters new namespaces and forks: the guard stays behind and
//! watches, its child is process 1 of the end, sets it up and runs commands. The guard kills the child when the
//! parent is gone, the child dies with the guard, and with process 1 the kernel ends every process of the end.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::signal::{SigHandler, SigSet, Signal, kill, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{ForkResult, Pid, fork, getegid, geteuid, getppid, setsid};

use super::caller::raise_ambient;
use super::error::EndError;
use super::message::{Opening, Order, Report, receive_order, send_report};
use super::settings::{EndSettings, Role};
use super::{command, names, network, outside};

/// The most names of processes left behind that a report lists.
const MOST_LEFT: usize = 16;
/// The signals a terminal or a parent's session may send to everybody; they are for the commands, not for the end.
const NOT_FOR_US: [Signal; 8] = [
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
    Signal::SIGHUP,
    Signal::SIGTERM,
    Signal::SIGPIPE,
];

/// Becomes the process of an end that listens on this socket, and never returns.
///
/// The process must have been started for this alone: it must have a single thread, and the descriptor must be one end
/// of a socket pair of [`End`](super::End).
pub fn run_end(socket: RawFd) -> ! {
    let outcome = std::panic::catch_unwind(|| {
        // SAFETY: the caller hands over this descriptor, which nothing else in this process uses.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        guard(&socket)
    });
    // SAFETY: ends the process without running what the starting program, an interpreter, has registered for its end.
    unsafe { libc::_exit(if outcome.is_ok() { 0 } else { 101 }) }
}

/// The outer process, from its start to its end.
fn guard(socket: &OwnedFd) {
    let _ = fcntl(socket, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
    // Out of the parent's session: keys of its terminal are the business of the parent and the commands.
    let _ = setsid();
    ignore_signals();
    // In lists of processes, instead of the starting program.
    let _ = nix::sys::prctl::set_name(c"cellwind-end");
    let (parent, me) = (pidfd(getppid()), pidfd(Pid::this()));
    let Ok(Some((Order::Open(opening), _))) = receive_order(socket) else { return };
    let fail = |error| drop(send_report(socket, &Report::Failed(error), &[]));
    let rights = match isolate(&opening.settings) {
        Ok(rights) => rights,
        Err(error) => return fail(error),
    };
    let (Some(parent), Some(me)) = (parent, me) else {
        return fail(EndError::setup("watch the processes of an end", "Linux 5.3 or newer is needed"));
    };
    // The namespace of this process itself, for programs that it starts once that of the end is no more.
    let own_namespace = fs::File::open("/proc/self/ns/pid");
    // SAFETY: this process has one thread, so that the child may go on as usual.
    let child = match unsafe { fork() } {
        Ok(ForkResult::Parent { child }) => child,
        Ok(ForkResult::Child) => {
            drop(parent);
            return first_process(socket, &opening, rights, &me);
        }
        Err(errno) => return fail(EndError::setup("start the first process of the end", errno)),
    };
    let _ = send_report(socket, &Report::Forked(child.as_raw() as u32), &[]);
    watch(socket, &parent, child);
    if opening.settings.role == Role::Outside {
        let _ = own_namespace.map(|namespace| setns(namespace, CloneFlags::CLONE_NEWPID));
        outside::undo(opening.owner);
    }
}

/// Waits until the child has ended; ends it when the parent goes.
fn watch(socket: &OwnedFd, parent: &OwnedFd, child: Pid) {
    if let Some(ended) = pidfd(child) {
        let mut files = [
            PollFd::new(ended.as_fd(), PollFlags::POLLIN),
            // Only that the other side closed it; its messages are for the child.
            PollFd::new(socket.as_fd(), PollFlags::empty()),
            // The socket may also be held by a process that the parent forked, so the parent is watched too.
            PollFd::new(parent.as_fd(), PollFlags::POLLIN),
        ];
        while poll(&mut files, PollTimeout::NONE) == Err(Errno::EINTR) {}
    }
    let _ = kill(child, Signal::SIGKILL);
    let _ = command::reap(child);
}

/// What the end may do, and how programs it starts get to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rights {
    /// Those of root.
    Root,
    /// All rights over namespaces of the user's own, under the user's own id.
    OwnNamespace,
}

/// Enters new namespaces; as root if possible, else below a user namespace of the caller's own.
fn isolate(settings: &EndSettings) -> Result<Rights, EndError> {
    let mut flags = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID;
    let is_outside = settings.role == Role::Outside;
    if !is_outside {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    let (uid, gid) = (geteuid(), getegid());
    if uid.is_root() {
        match unshare(flags) {
            Ok(()) => return Ok(Rights::Root),
            Err(Errno::EPERM) if !is_outside => (),
            Err(errno) => return Err(no_namespaces(errno.desc())),
        }
    }
    unshare(flags | CloneFlags::CLONE_NEWUSER).map_err(|errno| no_namespaces(errno.desc()))?;
    // The same ids inside as outside, so that commands find their files and themselves as ever.
    let map = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text).map_err(|error| no_namespaces(&error.to_string()))
    };
    map("setgroups", "deny".into())?;
    map("uid_map", format!("{uid} {uid} 1"))?;
    map("gid_map", format!("{gid} {gid} 1"))?;
    Ok(Rights::OwnNamespace)
}

fn no_namespaces(reason: &str) -> EndError {
    let is = |path: &str, value: &str| network::read_sysctl(path).is_ok_and(|found| found == value);
    let setting = if is("kernel/unprivileged_userns_clone", "0") {
        Some("sysctl kernel.unprivileged_userns_clone=1")
    } else if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        Some("sysctl kernel.apparmor_restrict_unprivileged_userns=0")
    } else if is("user/max_user_namespaces", "0") {
        Some("sysctl user.max_user_namespaces=1000")
    } else {
        None
    };
    EndError::NoNamespaces { reason: reason.to_owned(), setting: setting.map(str::to_owned) }
}

/// Process 1 of the end, from its start to its end.
fn first_process(socket: &OwnedFd, opening: &Opening, rights: Rights, guard: &OwnedFd) {
    let is_outside = opening.settings.role == Role::Outside;
    if !is_outside {
        // With a host's rules to undo it must outlive the guard by that moment instead; see `serve`.
        let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL);
    }
    // From here on the ends of commands arrive as messages.
    let mut children = SigSet::empty();
    children.add(Signal::SIGCHLD);
    let opened = children
        .thread_block()
        .and_then(|()| SignalFd::with_flags(&children, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK))
        .map_err(|errno| EndError::setup("watch processes", errno))
        .and_then(|ended| Ok((ended, open(opening, rights)?)));
    let (ended, (tun, complaints)) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let _ = send_report(socket, &Report::Failed(error), &[]);
            return;
        }
    };
    let ready = Report::Ready { device: tun.name, complaints };
    let sent = send_report(socket, &ready, &[tun.file.as_raw_fd()]);
    // The parent's is the only one now: the device goes when that closes.
    drop(tun.file);
    if sent.is_ok() {
        serve(socket, &ended, guard);
    }
    if is_outside {
        outside::undo(opening.owner);
    }
}

fn open(opening: &Opening, rights: Rights) -> Result<(network::Tun, Vec<String>), EndError> {
    if rights == Rights::OwnNamespace {
        raise_ambient().map_err(|error| no_namespaces(&error.to_string()))?;
    }
    let Opening { settings, owner, v6_beyond } = opening;
    let mut complaints = Vec::new();
    names::mount_all(settings, &mut complaints)?;
    let tun = network::set_up(settings, *v6_beyond, &mut complaints)?;
    if settings.role == Role::Outside {
        outside::translate(*owner, &tun.name, *v6_beyond, &mut complaints)?;
    }
    Ok((tun, complaints))
}

/// Runs commands until the parent is gone.
fn serve(socket: &OwnedFd, ended: &SignalFd, guard: &OwnedFd) {
    let mut commands = BTreeSet::new();
    loop {
        let watched = [socket.as_fd(), ended.as_fd(), guard.as_fd()];
        let mut files = watched.map(|file| PollFd::new(file, PollFlags::POLLIN));
        match poll(&mut files, PollTimeout::NONE) {
            Err(Errno::EINTR) => continue,
            Err(_) => return,
            Ok(_) => (),
        }
        let [asked, exited, guard_gone] = files.map(|file| file.any().unwrap_or(false));
        if guard_gone {
            return;
        }
        if exited {
            while let Ok(Some(_)) = ended.read_signal() {}
            if !report_exits(socket, &mut commands) {
                return;
            }
        }
        if asked && !obey(socket, &mut commands) {
            return;
        }
    }
}

/// Carries out one order; false when there will be no more.
fn obey(socket: &OwnedFd, commands: &mut BTreeSet<u32>) -> bool {
    let answer = match receive_order(socket) {
        Ok(Some((Order::Spawn(line), fds))) => match <[OwnedFd; 3]>::try_from(fds) {
            Ok(files) => match command::spawn(&line, files) {
                Ok(process) => {
                    commands.insert(process);
                    Report::Spawned(process)
                }
                Err(error) => Report::Failed(error),
            },
            Err(fds) => Report::Failed(EndError::setup("run a command", format!("{} standard files", fds.len()))),
        },
        Ok(Some((Order::Signal { process, signal }, _))) => {
            // Only what was started and has not been reaped: its number cannot belong to another.
            if commands.contains(&process) {
                // SAFETY: kill takes two numbers and touches no memory. (nix knows no real-time signals.)
                unsafe { libc::kill(-(process as i32), signal) };
            }
            return true;
        }
        Ok(Some((Order::Open(_), _))) => return true,
        Ok(None) | Err(_) => return false,
    };
    send_report(socket, &answer, &[]).is_ok()
}

/// Reaps whatever has ended, and reports the commands among it; false when nobody listens.
fn report_exits(socket: &OwnedFd, commands: &mut BTreeSet<u32>) -> bool {
    loop {
        let mut status = 0;
        // SAFETY: waitpid writes the status, which outlives the call. (nix would lose deaths by real-time signals.)
        let ended = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
        if ended <= 0 {
            return true;
        }
        let process = ended as u32;
        if commands.remove(&process) {
            let report = Report::Exited { process, status, left: left_behind(commands) };
            if send_report(socket, &report, &[]).is_err() {
                return false;
            }
        }
    }
}

/// The names of this process's running children that are no commands: what commands left when they ended.
fn left_behind(commands: &BTreeSet<u32>) -> Vec<String> {
    let children = fs::read_to_string("/proc/self/task/1/children").unwrap_or_default();
    children
        .split_whitespace()
        .filter(|id| id.parse().is_ok_and(|id| !commands.contains(&id)))
        .filter_map(|id| {
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            // `7 (name) S …`, where the name may hold anything.
            let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
            (!rest.trim_start().starts_with('Z')).then(|| name.to_owned())
        })
        .take(MOST_LEFT)
        .collect()
}

fn ignore_signals() {
    for number in NOT_FOR_US {
        // SAFETY: to ignore a signal runs no code of ours.
        let _ = unsafe { signal(number, SigHandler::SigIgn) };
    }
}

/// A descriptor that becomes readable when the process ends.
pub(super) fn pidfd(process: Pid) -> Option<OwnedFd> {
    // SAFETY: pidfd_open takes two numbers and touches no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process.as_raw(), 0) };
    // SAFETY: the kernel has just made this descriptor for us, with close-on-exec.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}
