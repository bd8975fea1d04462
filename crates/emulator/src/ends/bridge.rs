//! Between two existing interfaces, instead of between ends of our own: a phone or another machine behind one of them
//! reaches the network behind the other through the path.
//!
//! Frames for the machines there are not for this host, so its own stack drops them: the path is the only way across.

use std::io;
use std::mem::{size_of, size_of_val};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use serde::Deserialize;

use super::command::run_tool;
use super::error::EndError;
use super::network::find_ip;

/// Frames that may wait in a socket until the path reads them, bytes.
const SOCKET_BUFFER: libc::c_int = 16 << 20;

/// One interface under the path: its frames, each after a `virtio_net_hdr` of 10 bytes that tells of missing checksums
/// and of segments the kernel has merged.
#[derive(Debug)]
pub struct BridgePort {
    /// The interface.
    pub name: String,
    /// A packet socket that hears what comes in from the interface, for whomever, and sends out of it; not blocking.
    pub socket: OwnedFd,
    /// The largest IP packet, bytes.
    pub mtu: u32,
}

/// Two interfaces and the path between them.
#[derive(Debug)]
pub struct Bridge {
    /// Where the server is.
    pub server_side: BridgePort,
    /// Where the terminal is.
    pub terminal_side: BridgePort,
}

/// Opens two Ethernet interfaces of this host. Closing the sockets leaves them as they were. This needs root.
pub fn open_bridge(server_side: &str, terminal_side: &str) -> Result<Bridge, EndError> {
    if server_side == terminal_side {
        return Err(unfit(server_side, "it cannot be on both sides"));
    }
    Ok(Bridge { server_side: open_port(server_side)?, terminal_side: open_port(terminal_side)? })
}

/// What `ip -j link` says of an interface, as far as it matters.
#[derive(Deserialize)]
struct Link {
    ifindex: i32,
    mtu: u32,
    flags: Vec<String>,
    link_type: String,
    #[serde(default)]
    master: Option<String>,
}

fn open_port(name: &str) -> Result<BridgePort, EndError> {
    let link = look_up(&find_ip()?, name)?;
    if link.link_type != "ether" {
        return Err(unfit(name, format!("it is not an Ethernet interface but {}", link.link_type)));
    }
    if let Some(master) = link.master {
        return Err(unfit(name, format!("it belongs to {master}, which would carry its packets past the path")));
    }
    if !link.flags.iter().any(|flag| flag == "UP") {
        return Err(unfit(name, format!("it is down (ip link set {name} up)")));
    }
    let socket = open_socket(link.ifindex).map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => EndError::NotRoot { what: format!("bridging {name}") },
        _ => unfit(name, error),
    })?;
    Ok(BridgePort { name: name.to_owned(), socket, mtu: link.mtu })
}

fn look_up(ip: &Path, name: &str) -> Result<Link, EndError> {
    let text = run_tool(ip, &["-j", "link", "show", "dev", name], "").map_err(|error| match error {
        EndError::Refused { reason, .. } => unfit(name, reason),
        other => other,
    })?;
    let links: Vec<Link> = serde_json::from_str(&text).map_err(|error| unfit(name, error))?;
    links.into_iter().next().ok_or_else(|| unfit(name, "there is no such interface"))
}

fn open_socket(index: i32) -> io::Result<OwnedFd> {
    // Of no protocol at first, so that nothing arrives from other interfaces before it is bound to this one.
    // SAFETY: socket takes three numbers and touches no memory.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0) };
    check(fd)?;
    // SAFETY: the descriptor is new and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    set(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
    set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
    // Beyond the usual limit only with rights over the whole host; a smaller buffer works too.
    let _ = set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &SOCKET_BUFFER);
    let _ = set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &SOCKET_BUFFER);
    // SAFETY: all-zero bytes are a valid address of a link.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: bind reads as many bytes of the address as it has.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    let promiscuous = libc::packet_mreq {
        mr_ifindex: index,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)?;
    Ok(socket)
}

fn set<T>(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: setsockopt reads as many bytes of the value as it has; every value here is plain numbers.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (value as *const T).cast(), length) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn unfit(name: &str, reason: impl std::fmt::Display) -> EndError {
    EndError::Interface { name: name.to_owned(), reason: reason.to_string() }
}
