//! What the tests share: ends, commands in them, and a path that only hands packets over.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cellwind_emulator::ends::{
    End, EndError, EndProgram, EndSettings, Exit, KernelTcp, ProcessId, Role, SpawnRequest, User,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// The program of the tests: `tests/programs/end.rs`.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_cellwind-end");
/// How long a test waits for what must happen before it fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Nobody, who owns nothing.
pub fn nobody() -> User {
    User { uid: 65534, gid: 65534, groups: vec![65534] }
}

pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Says why a test does not run; with `CELLWIND_NO_SKIP=1` that is a failure.
pub fn skip(reason: &str) {
    assert!(std::env::var_os("CELLWIND_NO_SKIP").is_none_or(|value| value != "1"), "skipped: {reason}");
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let _ = writeln!(std::io::stderr(), "SKIP {name}: {reason}");
}

/// Whether a program of the system is there.
pub fn has(program: &str) -> bool {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

pub fn end_program() -> EndProgram {
    EndProgram::new(PROGRAM, ["end"])
}

pub fn settings(name: &str, role: Role) -> EndSettings {
    let server = if role == Role::Outside { Role::Outside } else { Role::Server };
    EndSettings {
        name: name.into(),
        role,
        names: vec![("server".into(), server), ("ue".into(), Role::Terminal(0))],
        outside: false,
        mtu: 1500,
        kernel: KernelTcp::default(),
    }
}

/// The ends of a server and a terminal and a path between them; `None` where the machine has no namespaces for us.
pub fn pair(kernel: &KernelTcp) -> Option<(End, End, Path)> {
    let both = [("server", Role::Server), ("ue", Role::Terminal(0))]
        .map(|(name, role)| EndSettings { kernel: kernel.clone(), ..settings(name, role) });
    let (server, terminal) = take_two(End::open_all(&end_program(), &both))?;
    let path = Path::between(server.tun(), terminal.tun());
    Some((server, terminal, path))
}

/// One end; `None` where the machine has no namespaces for us.
pub fn single() -> Option<End> {
    usable(End::open(&end_program(), &settings("server", Role::Server)))
}

fn take_two(opened: Result<Vec<End>, EndError>) -> Option<(End, End)> {
    let mut ends = usable(opened)?.into_iter();
    Some((ends.next()?, ends.next()?))
}

/// Skips what the machine does not allow, and fails by anything else.
pub fn usable<T>(opened: Result<T, EndError>) -> Option<T> {
    match opened {
        Ok(opened) => Some(opened),
        Err(error @ (EndError::NoNamespaces { .. } | EndError::NoTun { .. } | EndError::NoProgram { .. })) => {
            skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Hands over packets from each side to the other until it is dropped.
pub struct Path {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Path {
    pub fn between(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> Path {
        let files = [one, other].map(|file| file.try_clone_to_owned().expect("a descriptor"));
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        let thread = std::thread::spawn(move || {
            let mut packet = vec![0; 1 << 17];
            while !seen.load(Ordering::Relaxed) {
                let mut waiting = files.each_ref().map(|file| PollFd::new(file.as_fd(), PollFlags::POLLIN));
                let _ = poll(&mut waiting, PollTimeout::from(20u8));
                for (from, to) in [(0, 1), (1, 0)] {
                    while let Ok(length @ 1..) = nix::unistd::read(&files[from], &mut packet) {
                        // The other end may be closing.
                        let _ = nix::unistd::write(&files[to], &packet[..length]);
                    }
                }
            }
        });
        Path { ended, thread: Some(thread) }
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

/// A command that runs at an end, and what it writes.
pub struct Running<'a> {
    pub end: &'a End,
    pub process: ProcessId,
    output: std::io::PipeReader,
}

/// Starts a command of the system, or of [`PROGRAM`] when its first word is a dot.
pub fn start_as<'a>(end: &'a End, words: &[&str], user: Option<User>) -> Result<Running<'a>, EndError> {
    let argv: Vec<OsString> =
        words.iter().map(|&word| if word == "." { PROGRAM.into() } else { word.into() }).collect();
    let (output, writer) = std::io::pipe().expect("a pipe");
    let input = OwnedFd::from(std::fs::File::open("/dev/null").expect("nothing"));
    let request = SpawnRequest {
        argv,
        env: vec![("PATH".into(), "/usr/sbin:/usr/bin:/sbin:/bin".into())],
        cwd: "/".into(),
        stdio: [input.as_fd(), writer.as_fd(), writer.as_fd()],
        user,
    };
    Ok(Running { end, process: end.spawn(&request)?, output })
}

pub fn start<'a>(end: &'a End, words: &[&str]) -> Running<'a> {
    start_as(end, words, None).expect("a command")
}

impl Running<'_> {
    /// Waits for the end of the command.
    pub fn wait(mut self) -> (Exit, String) {
        let mut text = String::new();
        let exit = wait_exit(self.end, self.process);
        self.output.read_to_string(&mut text).expect("text");
        (exit, text)
    }

    /// Waits, and gives the output of a command that succeeded.
    pub fn output(self) -> String {
        let (exit, text) = self.wait();
        assert!(exit.status.success(), "{}: {text}", exit.status);
        text
    }
}

/// Waits for the exit of this command, and keeps those of others for who waits for them.
pub fn wait_exit(end: &End, process: ProcessId) -> Exit {
    static EXITS: Mutex<BTreeMap<(u32, ProcessId), Exit>> = Mutex::new(BTreeMap::new());
    let deadline = Instant::now() + PATIENCE;
    loop {
        let new = end.poll_exits().expect("an end");
        let mut exits = EXITS.lock().unwrap_or_else(PoisonError::into_inner);
        exits.extend(new.into_iter().map(|exit| ((end.pid(), exit.process), exit)));
        if let Some(exit) = exits.remove(&(end.pid(), process)) {
            return exit;
        }
        drop(exits);
        assert!(Instant::now() < deadline, "{process:?} of {} does not end", end.name());
        let _ = poll(&mut [PollFd::new(end.exits(), PollFlags::POLLIN)], PollTimeout::from(1000u16));
    }
}

/// Runs a command at an end, and gives its output.
pub fn run(end: &End, words: &[&str]) -> String {
    start(end, words).output()
}

/// Waits until this holds.
pub fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "not so after {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs a command of the system in the namespaces of this thread, and gives its output.
pub fn here(words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).output().expect("a program");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {error}");
    String::from_utf8(output.stdout).expect("text")
}

/// Moves this thread, and what it starts, to network and mount namespaces of its own, to play a host there.
pub fn play_host() {
    use nix::mount::{MsFlags, mount};
    use nix::sched::{CloneFlags, unshare};
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).expect("namespaces");
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).expect("own mounts");
    // Its settings, too, and not those of the host.
    here(&["ip", "link", "set", "lo", "up"]);
}

/// The processes with this word in their environment.
pub fn processes_with(mark: &str) -> Vec<i32> {
    let folders = std::fs::read_dir("/proc").expect("/proc").flatten();
    let ids = folders.filter_map(|folder| folder.file_name().to_str()?.parse::<i32>().ok());
    let marked = |id: &i32| {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
    };
    ids.filter(marked).collect()
}

/// Runs tests of this very program again after `prepare` in the new process; their output and how they ended.
pub fn again(
    tests: &[&str],
    prepare: impl FnMut() -> std::io::Result<()> + Send + Sync + 'static,
) -> (ExitStatus, String) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.arg("--exact").args(tests).args(["--test-threads", "2"]).env("CELLWIND_NO_SKIP", "1").current_dir("/");
    // SAFETY: what the tests prepare makes system calls on constants; none takes a lock that another thread may hold.
    unsafe { command.pre_exec(prepare) };
    let output = command.output().expect("this program once more");
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status, text)
}
