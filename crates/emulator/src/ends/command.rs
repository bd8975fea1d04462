//! Running programs: those of the system that set an end up, and the user's commands inside it.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::EndError;
use super::message::CommandLine;

/// Where administration programs are although an ordinary user's `PATH` lacks them.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The largest number of a signal.
const MOST_SIGNALS: libc::c_int = 64;

/// Finds a program of the system.
pub(super) fn find_tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SYSTEM_FOLDERS.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Runs a program of the system with `input`, and gives its output; what it says on failure becomes the error.
pub(super) fn run_tool(program: &Path, arguments: &[&str], input: &str) -> Result<String, EndError> {
    let refused = |reason: String| EndError::Refused { program: program.display().to_string(), reason };
    let mut child = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| refused(error.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends before it has read all says why on its standard error.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| refused(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Err(refused(if words.is_empty() { output.status.to_string() } else { words.join("; ") }))
}

/// Starts a command with these standard files as a session of its own, and gives its process id.
pub(super) fn spawn(line: &CommandLine, files: [OwnedFd; 3]) -> Result<u32, EndError> {
    let failed = |program: &str, reason: String| EndError::Command { program: program.to_owned(), reason };
    let Some((program, arguments)) = line.argv.split_first().filter(|(program, _)| !program.is_empty()) else {
        return Err(failed("a command", "it has no name".into()));
    };
    if !line.cwd.is_dir() {
        let reason = format!("its working directory {} is not there", line.cwd.display());
        return Err(failed(&program.to_string_lossy(), reason));
    }
    let [stdin, stdout, stderr] = files;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(line.env.iter().map(|(name, value)| (name, value)));
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    let (user, cwd) = (line.user.clone(), line.cwd.clone());
    // SAFETY: the end has one thread, so that no lock can be held at the fork: allocating in the child is fine.
    unsafe {
        command.pre_exec(move || {
            begin_session();
            reset_signals();
            // Whatever the program that started us had open stays with us.
            // SAFETY: close_range takes three numbers and touches no memory.
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
            if let Some(user) = &user {
                user.become_it()?;
            }
            // Only now: a folder may be closed to root and open to its owner.
            std::env::set_current_dir(&cwd)
        });
    }
    let child = command.spawn().map_err(|error| failed(&program.to_string_lossy(), error.to_string()))?;
    Ok(child.id())
}

/// A session of its own, with standard input as its terminal if that is one, so that a shell has job control.
fn begin_session() {
    // A fresh child leads no group, so it may; and a terminal that another session has stays with it.
    let _ = nix::unistd::setsid();
    // SAFETY: TIOCSCTTY takes a number and touches no memory.
    unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) };
}

/// Undoes what this process, or whoever started it, ignores and blocks.
fn reset_signals() {
    /// The kernel's `sigaction` of the default action: no handler, no flags, no restorer, no mask.
    const DEFAULT: [u64; 4] = [0; 4];
    for signal in 1..=MOST_SIGNALS {
        // SAFETY: the kernel reads the action, which lives for ever, and refuses the numbers that cannot be changed.
        // (The C library refuses two more, which it keeps for itself, and which may be ignored all the same.)
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, DEFAULT.as_ptr(), std::ptr::null::<u64>(), 8) };
    }
    let _ = nix::sys::signal::SigSet::empty().thread_set_mask();
}

/// Waits for a process that cannot block the caller for long; used where its status does not matter.
pub(super) fn reap(process: nix::unistd::Pid) -> io::Result<()> {
    loop {
        match nix::sys::wait::waitpid(process, None) {
            Err(nix::Error::EINTR) => continue,
            other => return other.map(drop).map_err(io::Error::from),
        }
    }
}
