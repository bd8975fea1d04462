//! What parent and end tell each other: JSON over a socket that keeps messages apart, and file descriptors.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, recvmsg, sendmsg};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::caller::User;
use super::error::EndError;
use super::outside::Owner;
use super::settings::EndSettings;

/// The most file descriptors of a message: a body, and the three of a command.
const MOST_FDS: usize = 4;

/// What the parent asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Become this end; answered by `Forked`, then `Ready` or `Failed`.
    Open(Box<Opening>),
    /// Run a command; answered by `Spawned` or `Failed`. Its standard files come along.
    Spawn(CommandLine),
    /// Send a signal to a command and what it started; not answered.
    Signal {
        /// The command's process.
        process: u32,
        /// The signal's number.
        signal: i32,
    },
}

/// All that an end needs to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// What it shall be.
    pub settings: EndSettings,
    /// The process it belongs to.
    pub owner: Owner,
    /// Whether IPv6 goes further than the server.
    pub v6_beyond: bool,
}

/// A command with its surroundings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandLine {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// Who runs it; `None`: the end's own user with all rights in the namespace.
    pub user: Option<User>,
}

/// What the end tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Report {
    /// The end's first process exists; its id in the parent's process namespace.
    Forked(u32),
    /// The end is there; its TUN device comes along.
    Ready {
        /// The device's name.
        device: String,
        /// What could not be had, in words; the end works without.
        complaints: Vec<String>,
    },
    /// The order cannot be carried out.
    Failed(EndError),
    /// The command runs as this process of the end's namespace.
    Spawned(u32),
    /// A command ended.
    Exited {
        /// Its process.
        process: u32,
        /// As `wait` gives it.
        status: i32,
        /// The names of processes that it left running.
        left: Vec<String>,
    },
}

/// Sends an order. Its body goes in a file in memory, since arguments and environment may be larger than a message.
pub fn send_order(socket: &impl AsFd, order: &Order, fds: &[RawFd]) -> io::Result<()> {
    let mut body = std::fs::File::from(memfd_create(c"order", MFdFlags::MFD_CLOEXEC)?);
    serde_json::to_writer(&mut body, order)?;
    body.flush()?;
    let mut all = vec![body.as_raw_fd()];
    all.extend_from_slice(fds);
    send(socket, b"order", &all)
}

/// Receives an order; `None` when the parent is gone.
pub fn receive_order(socket: &impl AsFd) -> io::Result<Option<(Order, Vec<OwnedFd>)>> {
    let Some((_, mut fds)) = receive(socket, MsgFlags::empty())? else { return Ok(None) };
    if fds.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "an order without body"));
    }
    let mut body = std::fs::File::from(fds.remove(0));
    body.rewind()?;
    let mut text = Vec::new();
    body.read_to_end(&mut text)?;
    Ok(Some((parse(&text)?, fds)))
}

/// Sends a report.
pub fn send_report(socket: &impl AsFd, report: &Report, fds: &[RawFd]) -> io::Result<()> {
    send(socket, &serde_json::to_vec(report)?, fds)
}

/// Receives a report if one is there; `Ok(None)` when the end is gone.
pub fn receive_report(socket: &impl AsFd) -> io::Result<Option<(Report, Vec<OwnedFd>)>> {
    let Some((text, fds)) = receive(socket, MsgFlags::MSG_DONTWAIT)? else { return Ok(None) };
    Ok(Some((parse(&text)?, fds)))
}

fn parse<T: DeserializeOwned>(text: &[u8]) -> io::Result<T> {
    serde_json::from_slice(text).map_err(io::Error::from)
}

fn send(socket: &impl AsFd, bytes: &[u8], fds: &[RawFd]) -> io::Result<()> {
    let rights = [ControlMessage::ScmRights(fds)];
    let control: &[ControlMessage] = if fds.is_empty() { &[] } else { &rights };
    loop {
        let sent = sendmsg::<UnixAddr>(
            socket.as_fd().as_raw_fd(),
            &[IoSlice::new(bytes)],
            control,
            MsgFlags::MSG_NOSIGNAL,
            None,
        );
        match sent {
            Err(nix::Error::EINTR) => continue,
            other => return Ok(other.map(|_| ())?),
        }
    }
}

fn receive(socket: &impl AsFd, flags: MsgFlags) -> io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
    let mut bytes = vec![0; 1 << 16];
    let mut control = nix::cmsg_space!([RawFd; MOST_FDS]);
    let (length, fds) = loop {
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let flags = flags | MsgFlags::MSG_CMSG_CLOEXEC;
        match recvmsg::<UnixAddr>(socket.as_fd().as_raw_fd(), &mut parts, Some(&mut control), flags) {
            Err(nix::Error::EINTR) => continue,
            // Death with unread messages resets the connection; it is an end like any other.
            Err(nix::Error::ECONNRESET) => break (0, Vec::new()),
            Err(error) => return Err(error.into()),
            Ok(message) => {
                let mut fds = Vec::new();
                for part in message.cmsgs()? {
                    if let ControlMessageOwned::ScmRights(received) = part {
                        // SAFETY: the kernel has just made these descriptors for us, nobody else owns them.
                        fds.extend(received.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
                    }
                }
                break (message.bytes, fds);
            }
        }
    };
    bytes.truncate(length);
    Ok((length > 0).then_some((bytes, fds)))
}
