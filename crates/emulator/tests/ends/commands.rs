//! Commands at an end: who they are, how they end, what becomes of what they leave.

use std::io::Read;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use cellwind_emulator::ends::{EndError, KernelTcp, SpawnRequest, User};

use crate::support::*;

#[test]
fn a_command_s_end_is_told_as_it_was() {
    let Some(end) = single() else { return };
    assert_eq!(start(&end, &["sh", "-c", "exit 7"]).wait().0.status.code(), Some(7));
    assert_eq!(start(&end, &["sh", "-c", "kill -SEGV $$"]).wait().0.status.signal(), Some(libc::SIGSEGV));
    // A real-time signal, which has no name.
    let sleeping = start(&end, &["sleep", "1000"]);
    end.signal(sleeping.process, 40).expect("an end");
    assert_eq!(sleeping.wait().0.status.signal(), Some(40));
}

#[test]
fn a_command_that_cannot_start_is_refused_in_words() {
    let Some(end) = single() else { return };
    let refused = |words: &[&str]| match start_as(&end, words, None) {
        Err(EndError::Command { program, reason }) => format!("{program}: {reason}"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{words:?} runs"),
    };
    assert_eq!(refused(&["no-such-program"]), "no-such-program: No such file or directory (os error 2)");
    assert_eq!(refused(&["/etc/hosts"]), "/etc/hosts: Permission denied (os error 13)");
    assert_eq!(refused(&[]), "a command: it has no name");
    let null = std::fs::File::open("/dev/null").expect("nothing");
    let request = SpawnRequest {
        argv: vec!["true".into()],
        env: Vec::new(),
        cwd: "/no/such/folder".into(),
        stdio: [null.as_fd(); 3],
        user: None,
    };
    let error = end.spawn(&request).expect_err("a wrong folder").to_string();
    assert_eq!(error, "cannot run true: its working directory /no/such/folder is not there");
    assert_eq!(run(&end, &["echo", "still there"]), "still there\n");
}

#[test]
fn arguments_and_environment_may_be_larger_than_a_message() {
    let Some(end) = single() else { return };
    let null = std::fs::File::open("/dev/null").expect("nothing");
    let variable = |number: usize| (format!("V{number}").into(), "v".repeat(100_000).into());
    let request = SpawnRequest {
        argv: vec!["sh".into(), "-c".into(), "test ${#V9} = 100000".into()],
        env: [("PATH".into(), "/usr/bin:/bin".into())].into_iter().chain((0..10).map(variable)).collect(),
        cwd: "/".into(),
        stdio: [null.as_fd(); 3],
        user: None,
    };
    let process = end.spawn(&request).expect("a command");
    assert!(wait_exit(&end, process).status.success());
}

/// By the state of a command that runs as nobody: no rights, no files, no signals that are not its own.
#[test]
fn a_command_has_its_user_s_rights_and_nothing_of_ours() {
    let Some(end) = single() else { return };
    let user = if is_root() { nobody() } else { User::calling().expect("an ordinary user") };
    let text = start_as(&end, &[".", "ids"], Some(user.clone())).expect("a command").output();
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    let four = |id: u32| format!("{id} {id} {id} {id}");
    assert_eq!(line("Uid:"), format!("Uid: {}", four(user.uid)));
    assert_eq!(line("Gid:"), format!("Gid: {}", four(user.gid)));
    assert_eq!(line("CapEff:"), "CapEff: 0000000000000000");
    assert_eq!(line("CapPrm:"), "CapPrm: 0000000000000000");
    assert_eq!(line("SigBlk:"), "SigBlk: 0000000000000000");
    // Rust's own programs ignore SIGPIPE.
    assert_eq!(line("SigIgn:"), "SigIgn: 0000000000001000");
    assert_eq!(line("Files:"), "Files: 0 1 2");
    assert_eq!(line("Session:"), "Session: true, terminal: false");
    if is_root() {
        assert_eq!(line("Groups:"), "Groups: 65534");
    }
}

/// By a terminal of our own making, which no session has yet.
#[test]
fn a_terminal_as_standard_input_is_the_command_s_own() {
    let Some(end) = single() else { return };
    let (mut master, mut slave) = (-1, -1);
    let (name, modes, size) = (std::ptr::null_mut(), std::ptr::null(), std::ptr::null());
    // SAFETY: openpty writes the two numbers; the other arguments may be absent.
    assert_eq!(unsafe { libc::openpty(&mut master, &mut slave, name, modes, size) }, 0);
    // SAFETY: both descriptors are new and nobody else's.
    let [_master, slave] = [master, slave].map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    let (mut output, writer) = std::io::pipe().expect("a pipe");
    let request = SpawnRequest {
        argv: vec![PROGRAM.into(), "ids".into()],
        env: Vec::new(),
        cwd: "/".into(),
        stdio: [slave.as_fd(), writer.as_fd(), writer.as_fd()],
        user: None,
    };
    let process = end.spawn(&request).expect("a command");
    drop(writer);
    let mut text = String::new();
    output.read_to_string(&mut text).expect("text");
    assert!(text.ends_with("Session: true, terminal: true\n"), "{text}");
    assert!(wait_exit(&end, process).status.success());
}

#[test]
fn without_a_user_a_command_may_do_all_at_its_end() {
    let Some(end) = single() else { return };
    run(&end, &["ip", "link", "add", "extra0", "type", "veth"]);
    let user = if is_root() { nobody() } else { User::calling().expect("an ordinary user") };
    let words = ["ip", "link", "add", "extra1", "type", "veth"];
    let (exit, text) = start_as(&end, &words, Some(user)).expect("a command").wait();
    assert!(!exit.status.success() && text.contains("not permitted"), "{text}");
}

#[test]
fn an_ordinary_user_may_ping_and_serve_port_80() {
    let Some((server, terminal, _path)) = pair(&KernelTcp::default()) else { return };
    let user = if is_root() { nobody() } else { User::calling().expect("an ordinary user") };
    let start = |end, words: &[&str]| start_as(end, words, Some(user.clone())).expect("a command");
    for address in ["100.64.0.1", "fd77:6365:6c6c::1"] {
        start(&terminal, &[".", "ping", address]).output();
    }
    let serving = start(&server, &[".", "serve", "80", "1000"]);
    assert_eq!(start(&terminal, &[".", "fetch", "server:80"]).output(), "1000\n");
    serving.output();
}

/// By the program of the tests as `sudo` would start it.
#[test]
fn behind_sudo_the_caller_is_who_called_sudo() {
    if !is_root() {
        return skip("only root can be sudo");
    }
    let calling = |variables: &[(&str, &str)]| {
        let mut command = Command::new(PROGRAM);
        command.arg("caller").env_remove("SUDO_UID").env_remove("SUDO_GID").envs(variables.iter().copied());
        String::from_utf8(command.output().expect("the program").stdout).expect("text")
    };
    assert_eq!(calling(&[]), "None\n");
    assert_eq!(calling(&[("SUDO_UID", "0"), ("SUDO_GID", "0")]), "None\n");
    let unknown = calling(&[("SUDO_UID", "54321"), ("SUDO_GID", "54322")]);
    assert_eq!(unknown, "Some(User { uid: 54321, gid: 54322, groups: [54322] })\n");
    let known = calling(&[("SUDO_UID", "65534"), ("SUDO_GID", "65534")]);
    assert!(known.starts_with("Some(User { uid: 65534, gid: 65534, groups: [65534"), "{known}");
}

#[test]
fn what_a_command_leaves_running_is_named_and_ends_with_the_end() {
    let Some(end) = single() else { return };
    let (exit, _) =
        start(&end, &["sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & setsid sleep 2000 >/dev/null 2>&1 &"]).wait();
    assert!(exit.status.success());
    // They may not have become `sleep` yet.
    assert_eq!(exit.left.len(), 2, "{:?}", exit.left);
    await_that("both sleep", || start(&end, &["true"]).wait().0.left == ["sleep", "sleep"]);
    let first = end.pid();
    let tree = format!("/proc/{first}/task/{first}/children");
    let left: Vec<String> =
        std::fs::read_to_string(tree).expect("processes").split_whitespace().map(str::to_owned).collect();
    assert_eq!(left.len(), 2);
    drop(end);
    assert!(left.iter().all(|id| !std::path::Path::new(&format!("/proc/{id}")).exists()), "gone with the end");
}

#[test]
fn a_signal_reaches_what_a_command_has_started_too() {
    let Some(end) = single() else { return };
    let shell = start(&end, &["sh", "-c", "sleep 1000; exit 3"]);
    end.signal(shell.process, libc::SIGTERM).expect("an end");
    let (exit, _) = shell.wait();
    assert_eq!(exit.status.signal(), Some(libc::SIGTERM));
    await_that("so has the other", || start(&end, &["true"]).wait().0.left.is_empty());
    // A command that has ended is nobody.
    end.signal(exit.process, libc::SIGKILL).expect("an end");
    assert_eq!(run(&end, &["echo", "still there"]), "still there\n");
}

#[test]
fn a_command_that_hangs_ends_with_the_end() {
    let Some(end) = single() else { return };
    let pid = end.pid();
    let _deaf = start(&end, &["sh", "-c", "trap '' TERM INT HUP; while :; do sleep 1000; done"]);
    drop(end);
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn a_command_sees_its_own_processes_and_its_own_network_only() {
    let Some(end) = single() else { return };
    assert_eq!(run(&end, &["cat", "/proc/1/comm"]), "cellwind-end\n");
    assert_eq!(run(&end, &["ls", "/sys/class/net"]).split_whitespace().collect::<Vec<_>>(), ["cellwind0", "lo"]);
    let hosts = run(&end, &["cat", "/etc/hosts"]);
    assert!(hosts.starts_with("100.64.0.1\tserver\nfd77:6365:6c6c::1\tserver\n100.64.1.1\tue\n"), "{hosts}");
    assert!(run(&end, &["cat", "/etc/resolv.conf"]).contains("nameserver 127.0.0.1"));
    assert!(std::fs::read_to_string("/etc/hosts").is_ok_and(|own| !own.contains("100.64.")), "the host's is as ever");
}

/// Many at once, from several threads: answers and exits do not get mixed up.
#[test]
fn commands_can_be_started_and_awaited_by_several_threads() {
    let Some(end) = single() else { return };
    let exits = std::sync::Mutex::new(Vec::new());
    let null = std::fs::File::open("/dev/null").expect("nothing");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (end, null) = (&end, &null);
            scope.spawn(move || {
                for round in 0..10 {
                    let request = SpawnRequest {
                        argv: ["sh".into(), "-c".into(), format!("exit {}", thread * 10 + round).into()].into(),
                        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
                        cwd: "/".into(),
                        stdio: [null.as_fd(); 3],
                        user: None,
                    };
                    end.spawn(&request).expect("a command");
                }
            });
        }
        await_that("forty commands have ended", || {
            let mut exits = exits.lock().expect("no panic");
            exits.extend(end.poll_exits().expect("an end"));
            exits.len() == 40
        });
    });
    let mut codes: Vec<_> = exits.into_inner().expect("no panic").iter().map(|exit| exit.status.code()).collect();
    codes.sort();
    assert_eq!(codes, (0..40).map(Some).collect::<Vec<_>>());
}
