//! What a command sees of the file system: its own processes, the names of the ends, and a resolver that fits.

use std::fs;
use std::path::Path;

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::error::EndError;
use super::settings::{EndSettings, Role};

/// Where the new files stand until they are bound over the system's; hidden for that moment, in this namespace only.
const SCAFFOLD: &str = "/tmp";
/// Sockets of services of the host that answer questions for names on its behalf, past the emulated path.
const RESOLVER_SOCKETS: [&str; 2] = ["/run/systemd/resolve/io.systemd.Resolve", "/run/nscd/socket"];
/// The real name servers of a host whose `/etc/resolv.conf` names its own resolver.
const UPSTREAM_RESOLVER: &str = "/run/systemd/resolve/resolv.conf";

const NOTHING: Option<&str> = None;

/// Makes the mounts of an end in its fresh mount namespace. What cannot be had is a complaint.
pub(super) fn mount_all(settings: &EndSettings, complaints: &mut Vec<String>) -> Result<(), EndError> {
    // What is mounted here stays here; what the host mounts and unmounts later still arrives.
    mount(NOTHING, "/", NOTHING, MsFlags::MS_REC | MsFlags::MS_SLAVE, NOTHING)
        .map_err(|errno| EndError::setup("make mounts private", errno))?;
    let mut try_mount = |kind: &str, at: &str, what: &str| {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        if let Err(errno) = mount(Some(kind), at, Some(kind), flags, NOTHING) {
            complaints.push(format!("{at} is the host's, not {what}: {}", errno.desc()));
        }
    };
    try_mount("proc", "/proc", "that of the end's processes");
    if settings.role != Role::Outside {
        try_mount("sysfs", "/sys", "that of the end's network");
    }
    if let Err(error) = replace_files(settings, complaints) {
        complaints.push(format!("host names are not known at {}: {error}", settings.name));
    }
    Ok(())
}

fn replace_files(settings: &EndSettings, complaints: &mut Vec<String>) -> Result<(), EndError> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: std::io::Error| EndError::setup(what, error)
    };
    let hosts = hosts(&fs::read_to_string("/etc/hosts").unwrap_or_default(), settings);
    let resolver = resolver(settings, complaints);
    mount(Some("tmpfs"), SCAFFOLD, Some("tmpfs"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV, Some("size=1m,mode=755"))
        .map_err(|errno| EndError::setup(format!("mount on {SCAFFOLD}"), errno))?;
    let replaced = (|| {
        replace("/etc/hosts", &hosts).map_err(failed("replace /etc/hosts"))?;
        if let Some(text) = &resolver {
            replace("/etc/resolv.conf", text).map_err(failed("replace /etc/resolv.conf"))?;
        }
        Ok(())
    })();
    let _ = umount2(SCAFFOLD, MntFlags::MNT_DETACH);
    if settings.role != Role::Outside {
        for socket in RESOLVER_SOCKETS.iter().filter(|socket| Path::new(socket).exists()) {
            // No socket any more: whoever asks it goes on to the next source of names.
            let _ = mount(Some("/dev/null"), *socket, NOTHING, MsFlags::MS_BIND, NOTHING);
        }
    }
    replaced
}

/// Binds a file with this text over `target`; a link is followed.
fn replace(target: &str, text: &str) -> std::io::Result<()> {
    let file = Path::new(SCAFFOLD).join(target.rsplit('/').next().unwrap_or(target));
    fs::write(&file, text)?;
    mount(Some(&file), target, NOTHING, MsFlags::MS_BIND, NOTHING)?;
    Ok(())
}

/// The host's table of names with those of the ends before it, and instead of its own.
fn hosts(of_host: &str, settings: &EndSettings) -> String {
    let mut text = String::new();
    for (name, role) in &settings.names {
        for address in role.addresses() {
            text.push_str(&format!("{address}\t{name}\n"));
        }
    }
    for line in of_host.lines() {
        let plain = line.split('#').next().unwrap_or_default();
        let clashes = plain.split_whitespace().skip(1).any(|word| settings.names.iter().any(|(name, _)| name == word));
        if !clashes {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// The text for `/etc/resolv.conf`, or `None` to leave it.
fn resolver(settings: &EndSettings, complaints: &mut Vec<String>) -> Option<String> {
    if settings.role == Role::Outside {
        return None;
    }
    if !settings.outside {
        // Nobody answers on loopback, so that unknown names fail at once.
        return Some("# No name server is reachable at this end of an emulated path.\nnameserver 127.0.0.1\n".into());
    }
    let own = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    if reachable_server(&own) {
        return None;
    }
    let upstream = fs::read_to_string(UPSTREAM_RESOLVER).unwrap_or_default();
    if reachable_server(&upstream) {
        return Some(upstream);
    }
    complaints.push("names of the outside are not known: /etc/resolv.conf has no name server beyond this host".into());
    None
}

/// Whether a resolver's settings name a server that is not this host.
fn reachable_server(text: &str) -> bool {
    text.lines().filter_map(|line| line.trim().strip_prefix("nameserver")).any(|rest| {
        let address = rest.trim().split('%').next().unwrap_or_default();
        address.parse::<std::net::IpAddr>().is_ok_and(|address| !address.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::super::settings::KernelTcp;
    use super::*;

    #[test]
    fn the_names_of_the_ends_win_over_those_of_the_host() {
        let names = vec![("server".to_owned(), Role::Server), ("ue".to_owned(), Role::Terminal(0))];
        let settings = EndSettings {
            name: "ue".into(),
            role: Role::Terminal(0),
            names,
            outside: false,
            mtu: 1500,
            kernel: KernelTcp::default(),
        };
        let text = hosts("127.0.0.1 localhost\n10.0.0.9 server # an old one\n10.0.0.8 servers\n", &settings);
        let expected = "100.64.0.1\tserver\nfd77:6365:6c6c::1\tserver\n100.64.1.1\tue\nfd77:6365:6c6c::101\tue\n\
                        127.0.0.1 localhost\n10.0.0.8 servers\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn only_a_server_beyond_this_host_can_be_reached() {
        assert!(reachable_server("search example\nnameserver 192.0.2.1\n"));
        assert!(!reachable_server("nameserver 127.0.0.53\nnameserver ::1\n"));
        assert!(!reachable_server(""));
    }
}
