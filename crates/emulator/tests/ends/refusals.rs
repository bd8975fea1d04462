//! Machines that do not let us, and users without rights: clear words, or ends all the same.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use cellwind_emulator::ends::{End, EndError, EndSettings, KernelTcp, Role, User};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::{Gid, Uid, setgid, setgroups, setuid};

use crate::support::*;

const NOTHING: Option<&str> = None;

/// Mounts of this process's own, where a host can be changed without anybody noticing.
fn own_mounts() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    Ok(mount(NOTHING, "/", NOTHING, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NOTHING)?)
}

/// A TUN device for everybody, as most distributions have it.
fn public_tun() -> io::Result<()> {
    mount(Some("tmpfs"), "/dev/net", Some("tmpfs"), MsFlags::empty(), NOTHING)?;
    let all = Mode::from_bits_truncate(0o666);
    mknod("/dev/net/tun", SFlag::S_IFCHR, all, makedev(10, 200))?;
    fs::set_permissions("/dev/net/tun", Permissions::from_mode(0o666))
}

fn become_nobody() -> io::Result<()> {
    setgroups(&[Gid::from_raw(65534)])?;
    setgid(Gid::from_raw(65534))?;
    Ok(setuid(Uid::from_raw(65534))?)
}

/// Whether nobody may run the programs of the tests, which lie wherever the checkout is.
fn nobody_can_run_us() -> bool {
    let own = std::env::current_exe().expect("this program");
    let mut folders = own.ancestors().chain(Path::new(PROGRAM).ancestors());
    folders.all(|path| fs::metadata(path).is_ok_and(|data| data.permissions().mode() & 1 != 0))
}

/// By running the other tests again as nobody, who has user namespaces only.
#[test]
fn without_privileges_everything_works_in_user_namespaces() {
    if !is_root() {
        return skip("run as an ordinary user, every test shows this");
    }
    if single().is_none() {
        return;
    }
    if !nobody_can_run_us() {
        return skip("the checkout is closed to the user nobody");
    }
    if !Path::new("/proc/self/ns/user").exists() {
        return skip("this kernel has no user namespaces");
    }
    let tests = [
        "path::packets_of_every_kind_cross_both_ways",
        "path::the_kernel_s_tcp_is_as_asked_for",
        "path::connections_use_the_congestion_control_asked_for",
        "path::a_device_is_silent_until_a_command_speaks",
        "commands::a_command_has_its_user_s_rights_and_nothing_of_ours",
        "commands::without_a_user_a_command_may_do_all_at_its_end",
        "commands::an_ordinary_user_may_ping_and_serve_port_80",
        "commands::what_a_command_leaves_running_is_named_and_ends_with_the_end",
        "commands::a_command_sees_its_own_processes_and_its_own_network_only",
        "kills::killing_a_process_of_an_end_is_told_and_ends_that_end",
        "refusals::the_outside_is_for_root",
    ];
    let (status, text) = again(&tests, || {
        own_mounts()?;
        public_tun()?;
        become_nobody()
    });
    assert!(status.success() && text.contains(&format!("{} passed", tests.len())), "{text}");
}

#[test]
fn the_outside_is_for_root() {
    if is_root() {
        return;
    }
    let outside = EndSettings { outside: true, ..settings("server", Role::Outside) };
    let error = End::open(&end_program(), &outside).expect_err("not root").to_string();
    assert_eq!(error, "address translation to the outside needs root: run with sudo");
    let error = cellwind_emulator::ends::clean_leftovers().expect_err("not root").to_string();
    assert_eq!(error, "looking for leftover rules needs root: run with sudo");
    assert!(User::calling().is_some());
}

/// The words of a refusal, on a host where `prepare` has been done; `None` when it did not refuse.
fn refusal(prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static) -> Option<String> {
    let (status, text) = again(&["refusals::an_end_opens_or_is_refused"], prepare);
    let words = text.split_once("refused: ")?.1.lines().next()?.to_owned();
    (!status.success()).then_some(words)
}

/// What [`refusal`] runs again on another host, where the refusal is the outcome.
#[test]
fn an_end_opens_or_is_refused() {
    if let Err(error) = End::open(&end_program(), &settings("ue", Role::Terminal(0))) {
        match error {
            EndError::NoTun { .. } | EndError::NoNamespaces { .. } | EndError::NoProgram { .. }
                if std::env::var_os("CELLWIND_NO_SKIP").is_none() =>
            {
                skip(&error.to_string());
            }
            error => panic!("refused: {error}"),
        }
    }
}

#[test]
fn a_host_without_the_device_is_told_what_it_lacks() {
    if !is_root() {
        return skip("only root can hide a device");
    }
    let refused = refusal(|| {
        own_mounts()?;
        Ok(mount(Some("tmpfs"), "/dev/net", Some("tmpfs"), MsFlags::empty(), NOTHING)?)
    });
    let expected = "cannot use /dev/net/tun: No such file or directory (os error 2); load the kernel module tun, and in \
                    a container pass the device (--device /dev/net/tun) and the capability NET_ADMIN";
    assert_eq!(refused.as_deref(), Some(expected));
}

#[test]
fn a_host_without_iproute2_is_told_what_it_lacks() {
    if !is_root() {
        return skip("only root can hide a program");
    }
    let refused = refusal(|| {
        own_mounts()?;
        for file in ["/usr/sbin/ip", "/usr/bin/ip", "/sbin/ip", "/bin/ip"] {
            let _ = mount(Some("/dev/null"), file, NOTHING, MsFlags::MS_BIND, NOTHING);
        }
        Ok(())
    });
    assert_eq!(refused.as_deref(), Some("ip is not installed (Debian: apt-get install iproute2)"));
}

#[test]
fn a_host_that_forbids_user_namespaces_is_told_which_setting_does() {
    if !is_root() {
        return skip("only root can forbid namespaces");
    }
    if !nobody_can_run_us() {
        return skip("the checkout is closed to the user nobody");
    }
    let refused = refusal(|| {
        // The limit of a user namespace around the test, not that of the host.
        unshare(CloneFlags::CLONE_NEWUSER)?;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", "65534 0 1")?;
        fs::write("/proc/self/gid_map", "65534 0 1")?;
        fs::write("/proc/sys/user/max_user_namespaces", "0")
    });
    let expected = "cannot make a network namespace: No space left on device; run as root (sudo), or allow user \
                    namespaces: sysctl user.max_user_namespaces=1000";
    assert_eq!(refused.as_deref(), Some(expected));
}

#[test]
fn settings_the_kernel_does_not_have_are_named() {
    let kernel = KernelTcp { congestion_control: Some("no-such-cc".into()), ..KernelTcp::default() };
    let with = |settings: EndSettings| End::open(&end_program(), &settings).err();
    match with(EndSettings { kernel, ..settings("ue", Role::Terminal(0)) }) {
        Some(EndError::Setting { name, value, reason }) => {
            assert_eq!((name.as_str(), value.as_str()), ("congestion_control", "no-such-cc"));
            assert!(reason.starts_with("this kernel has ") && reason.contains("reno"), "{reason}");
        }
        Some(error) => {
            usable::<()>(Err(error));
        }
        None => panic!("no-such-cc is there"),
    }
    let kernel = KernelTcp { rmem: Some([0, 0, 0]), ..KernelTcp::default() };
    match with(EndSettings { kernel, ..settings("ue", Role::Terminal(0)) }) {
        Some(EndError::Setting { name, value, .. }) => {
            assert_eq!((name.as_str(), value.as_str()), ("tcp_rmem", "0 0 0"))
        }
        Some(error) => drop(usable::<()>(Err(error))),
        None => panic!("no receive buffer is a buffer"),
    }
    let small = with(EndSettings { mtu: 500, ..settings("ue", Role::Terminal(0)) }).expect("too small").to_string();
    assert_eq!(small, "cannot set the MTU to 500 B: it is from 1280 to 65535 B");
}

#[test]
fn a_program_that_is_no_end_is_told_with_its_last_words() {
    let program = cellwind_emulator::ends::EndProgram::new("sh", ["-c", "echo words >&2; echo last words >&2; exit 3"]);
    let error = End::open(&program, &settings("ue", Role::Terminal(0))).expect_err("no end").to_string();
    assert_eq!(error, "the process that holds the end is gone: exit status: 3; last words");
    let program = cellwind_emulator::ends::EndProgram::new("/no/such/program", [""; 0]);
    let error = End::open(&program, &settings("ue", Role::Terminal(0))).expect_err("no end").to_string();
    assert_eq!(error, "cannot start /no/such/program as the process of an end: No such file or directory (os error 2)");
}
