//! What the tests of the path share: packets, a pair of sockets in the place of each device, a clock set by hand.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

use cellwind_engine::time::{Span, Time};
use cellwind_scenario::session::Session;
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::read;

use crate::clock::Clock;
use crate::device::Device;
use crate::ip::{Addresses, checksum, sum};
use crate::lateness::Lateness;
use crate::log::{Log, log_of};
use crate::pool::Pool;
use crate::pump::{Ends, Pump};

pub const MTU: u32 = 1500;

/// A clock that stands where it was put.
#[derive(Clone, Default)]
pub struct ByHand(Rc<Cell<Time>>);

impl ByHand {
    pub fn set(&self, instant: Time) {
        self.0.set(instant);
    }
}

impl Clock for ByHand {
    fn now(&self) -> Time {
        self.0.get()
    }
}

/// Two ends of something like a TUN device: ours and that of the network behind it.
pub fn device_pair() -> (OwnedFd, OwnedFd) {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    socketpair(AddressFamily::Unix, SockType::Datagram, None, flags).expect("a pair of sockets")
}

/// Ends for a server and so many terminals, and their networks, server first.
pub fn ends(terminals: u16) -> (Ends, Vec<OwnedFd>) {
    let (near, far): (Vec<_>, Vec<_>) = (0..=terminals).map(|_| device_pair()).unzip();
    let addresses = (0..terminals).map(|terminal| (address(terminal).into(), terminal)).collect();
    let devices = near.into_iter().map(Device::ip).collect();
    (Ends { devices, addresses: Addresses::listed(addresses), mtu: MTU }, far)
}

pub fn address(terminal: u16) -> [u8; 4] {
    [100, 64, 1, terminal as u8 + 1]
}

/// An IPv4 packet of `length` bytes that carries `mark`.
pub fn packet(destination: [u8; 4], length: usize, mark: u8) -> Vec<u8> {
    let mut bytes = vec![mark; length];
    bytes[..20].fill(0);
    bytes[0] = 0x45;
    bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    bytes[16..20].copy_from_slice(&destination);
    let check = checksum(sum(&bytes[..20]));
    bytes[10..12].copy_from_slice(&check.to_be_bytes());
    bytes
}

/// The marks of the packets that wait at a network.
pub fn marks(network: &OwnedFd) -> Vec<u8> {
    let mut bytes = [0; 2048];
    let mut marks = Vec::new();
    loop {
        match read(network, &mut bytes) {
            Ok(length) => marks.push(bytes[length - 1]),
            Err(Errno::EAGAIN) => return marks,
            Err(error) => panic!("{error}"),
        }
    }
}

pub fn session(scenario: &str) -> Session {
    let loaded = cellwind_scenario::parse(scenario, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    Session::live(&loaded, 0, true)
}

/// A pump by a clock set by hand over a scenario, with so many slots.
pub fn pump(scenario: &str, terminals: u16, slots: usize, log: Log) -> (Pump<ByHand>, ByHand, Vec<OwnedFd>) {
    let (ends, networks) = ends(terminals);
    let clock = ByHand::default();
    let lateness = Arc::new(Lateness::new(Span::from_millis(1)));
    let pool = Pool::with_slots(MTU as usize, slots);
    (Pump::new(clock.clone(), session(scenario), ends, pool, log, lateness), clock, networks)
}

/// A log that keeps nothing.
pub fn no_log() -> Log {
    log_of(0, 0).0
}
