//! The network of an end: its TUN device, addresses, routes and the kernel's settings.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::command::{find_tool, run_tool};
use super::error::EndError;
use super::settings::{DEVICE, EndSettings, NETWORK_V4, NETWORK_V6, Role};

/// The packets that wait in the device until the path reads them: enough that none is lost there.
const DEVICE_QUEUE: u32 = 10_000;

/// A device and its name.
pub(super) struct Tun {
    pub file: OwnedFd,
    pub name: String,
}

/// Sets up the network of the namespace this process is in, or of the host for [`Role::Outside`].
pub(super) fn set_up(settings: &EndSettings, v6_beyond: bool, complaints: &mut Vec<String>) -> Result<Tun, EndError> {
    let ip = find_ip()?;
    let has_v6 = Path::new("/proc/sys/net/ipv6").exists();
    if !has_v6 {
        complaints.push(format!("{} has no IPv6: this kernel is without it", settings.name));
    }
    if settings.role == Role::Outside {
        refuse_clash(&ip)?;
        let kept: Vec<&str> = settings.kernel.sysctls().into_iter().map(|(name, _)| name).collect();
        if !kept.is_empty() {
            complaints.push(format!("{} is this host, whose own settings stay: {}", settings.name, kept.join(", ")));
        }
    } else {
        write_sysctls(settings, has_v6, complaints)?;
    }
    let tun = make_tun()?;
    if has_v6 {
        // The device shall carry the traffic of commands and nothing else: no router solicitations, no DAD.
        for (name, value) in QUIET_V6 {
            optional(&format!("net/ipv6/conf/{}/{name}", tun.name), value, complaints);
        }
    }
    configure(&ip, settings, &tun.name, has_v6, v6_beyond)?;
    if settings.role == Role::Server {
        forward(&tun.name, has_v6, complaints);
    }
    Ok(tun)
}

/// Lets terminals reach each other by way of the server, which tells them of no shorter one.
fn forward(device: &str, has_v6: bool, complaints: &mut Vec<String>) {
    for interface in ["all", device] {
        optional(&format!("net/ipv4/conf/{interface}/send_redirects"), "0", complaints);
    }
    optional("net/ipv4/ip_forward", "1", complaints);
    if has_v6 {
        optional("net/ipv6/conf/all/forwarding", "1", complaints);
    }
}

/// The program `ip`.
pub(super) fn find_ip() -> Result<std::path::PathBuf, EndError> {
    find_tool("ip").ok_or_else(|| EndError::NoProgram { names: "ip".into(), package: "iproute2".into() })
}

/// What keeps IPv6 from speaking for itself: no addresses of its own (1 is none), no routers, no detection of duplicates.
const QUIET_V6: [(&str, &str); 5] = [
    ("disable_ipv6", "0"),
    ("addr_gen_mode", "1"),
    ("accept_ra", "0"),
    ("router_solicitations", "0"),
    ("accept_dad", "0"),
];

fn write_sysctls(settings: &EndSettings, has_v6: bool, complaints: &mut Vec<String>) -> Result<(), EndError> {
    // One connection must not teach the next.
    optional("net/ipv4/tcp_no_metrics_save", "1", complaints);
    // A command without rights may ping, and serve port 80.
    if write_sysctl("net/ipv4/ping_group_range", "0 2147483647").is_err() {
        let own = nix::unistd::getegid();
        optional("net/ipv4/ping_group_range", &format!("{own} {own}"), complaints);
    }
    optional("net/ipv4/ip_unprivileged_port_start", "0", complaints);
    if has_v6 {
        for (name, value) in QUIET_V6 {
            optional(&format!("net/ipv6/conf/default/{name}"), value, complaints);
        }
    }
    for (name, value) in settings.kernel.sysctls() {
        write_sysctl(&format!("net/ipv4/{name}"), &value).map_err(|error| EndError::Setting {
            name: name.into(),
            value,
            reason: error.to_string(),
        })?;
    }
    Ok(())
}

fn optional(path: &str, value: &str, complaints: &mut Vec<String>) {
    if let Err(error) = write_sysctl(path, value) {
        complaints.push(format!("{} is not {value}: {error}", path.replace('/', ".")));
    }
}

/// Writes a setting of the kernel, named by its path below `/proc/sys`.
pub(super) fn write_sysctl(path: &str, value: &str) -> io::Result<()> {
    fs::write(Path::new("/proc/sys").join(path), value)
}

/// Reads a setting of the kernel, named by its path below `/proc/sys`.
pub(super) fn read_sysctl(path: &str) -> io::Result<String> {
    Ok(fs::read_to_string(Path::new("/proc/sys").join(path))?.trim().to_owned())
}

/// A device that vanishes with its file. Without a header before each packet, and without the larger packets that a
/// virtio header would announce: the kernel segments and sums up before we read.
fn make_tun() -> Result<Tun, EndError> {
    let no_tun = |error: io::Error| EndError::NoTun { reason: error.to_string() };
    let file: File = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")
        .map_err(no_tun)?;
    // SAFETY: all-zero bytes are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(DEVICE.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes the ifreq it is given, which outlives the call.
    if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &mut request) } < 0 {
        return Err(no_tun(io::Error::last_os_error()));
    }
    let name = request.ifr_name.iter().take_while(|&&byte| byte != 0).map(|&byte| byte as u8 as char).collect();
    Ok(Tun { file: file.into(), name })
}

fn configure(ip: &Path, settings: &EndSettings, device: &str, has_v6: bool, v6_beyond: bool) -> Result<(), EndError> {
    let words = settings.kernel.route_words();
    let prefix_v4 = format!("{}/{}", NETWORK_V4.0, NETWORK_V4.1);
    let prefix_v6 = format!("{}/{}", NETWORK_V6.0, NETWORK_V6.1);
    let terminal = matches!(settings.role, Role::Terminal(_));
    let mut batch = String::new();
    if settings.role != Role::Outside {
        batch.push_str("link set lo up\n");
    }
    // A forwarding host would announce on a multicast device that it is a router.
    let multicast = if settings.role == Role::Server { " multicast off" } else { "" };
    batch.push_str(&format!("link set {device} mtu {} txqueuelen {DEVICE_QUEUE}{multicast} up\n", settings.mtu));
    for address in settings.role.addresses() {
        let (length, options, route) = match address {
            IpAddr::V4(_) => (32, "", if terminal { "0.0.0.0/0" } else { &prefix_v4 }),
            IpAddr::V6(_) if !has_v6 => continue,
            IpAddr::V6(_) => (128, " nodad", if terminal && v6_beyond { "::/0" } else { &prefix_v6 }),
        };
        batch.push_str(&format!("address add {address}/{length} dev {device}{options}\n"));
        batch.push_str(&format!("route add {route} dev {device}{words}\n"));
    }
    run_tool(ip, &["-batch", "-"], &batch).map(drop).map_err(|error| match &settings.kernel.congestion_control {
        Some(name) if !congestion_controls().contains(name) => EndError::Setting {
            name: "congestion_control".into(),
            value: name.clone(),
            reason: format!("this kernel has {}", congestion_controls().join(", ")),
        },
        _ => error,
    })
}

fn congestion_controls() -> Vec<String> {
    let names = read_sysctl("net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    names.split_whitespace().map(str::to_owned).collect()
}

/// Looks for routes of the host to the addresses of the ends.
fn refuse_clash(ip: &Path) -> Result<(), EndError> {
    #[derive(serde::Deserialize)]
    struct Route {
        dst: String,
        #[serde(default)]
        dev: Option<String>,
    }
    for (family, (network, length)) in
        [("-4", (IpAddr::from(NETWORK_V4.0), NETWORK_V4.1)), ("-6", (IpAddr::from(NETWORK_V6.0), NETWORK_V6.1))]
    {
        let text = run_tool(ip, &["-j", family, "route", "show", "table", "all"], "")?;
        let routes: Vec<Route> = serde_json::from_str(&text).unwrap_or_default();
        if let Some(route) = routes.iter().find(|route| overlaps(&route.dst, network, length)) {
            return Err(EndError::AddressClash {
                ours: format!("{network}/{length}"),
                theirs: format!("route {} dev {}", route.dst, route.dev.as_deref().unwrap_or("?")),
            });
        }
    }
    Ok(())
}

/// Whether a destination as `ip` writes it shares addresses with a network; the default route does not count.
fn overlaps(destination: &str, network: IpAddr, length: u8) -> bool {
    let (address, own_length) = destination.split_once('/').unwrap_or((destination, "128"));
    let (Ok(address), Ok(own_length)) = (address.parse::<IpAddr>(), own_length.parse::<u8>()) else { return false };
    let common = own_length.min(length);
    match (address, network) {
        _ if common == 0 => false,
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()) >> (32 - common.min(32)) == 0,
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()) >> (128 - common) == 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clash_is_any_common_address_but_the_default_route() {
        let network = IpAddr::from(NETWORK_V4.0);
        for (destination, expected) in [
            ("100.64.0.0/10", true),
            ("100.65.3.4", true),
            ("100.66.0.0/16", false),
            ("default", false),
            ("0.0.0.0/0", false),
            ("10.0.0.0/8", false),
            ("fd77::/16", false),
        ] {
            assert_eq!(overlaps(destination, network, 15), expected, "{destination}");
        }
    }
}
