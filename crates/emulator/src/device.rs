//! Where packets come from and go to: a file descriptor that yields one packet per read.
//!
//! A TUN device carries bare IP packets. Its offloads are off: the kernel segments and computes checksums before a
//! packet is read, so that it is as it would be on the air. A pair of local datagram sockets carries the same, and
//! stands in for two devices where there are no privileges. A packet socket (`AF_PACKET`) carries Ethernet frames with
//! a `virtio_net_hdr` before each, because its interface may leave segmentation and checksums to the reader.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::uio::{readv, writev};
use nix::unistd::{read, write};

use crate::ip::Refusal;
use crate::segment::{Offload, Splitter};

/// Bytes of an Ethernet header without tags.
pub const ETHERNET_HEADER: usize = 14;
/// The largest packet a kernel hands over for segmentation, with its link header.
const LARGEST_FRAME: usize = (1 << 16) + 64;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ICMPV6: u8 = 58;
/// RFC 4861 §4: router and neighbour discovery, and redirects.
const NEIGHBOUR_DISCOVERY: std::ops::RangeInclusive<u8> = 133..=137;

/// One end of the path as the driver sees it.
pub enum Device {
    /// Bare IP packets.
    Ip(OwnedFd),
    /// Ethernet frames behind a `virtio_net_hdr`.
    Ethernet(Box<Ethernet>),
}

/// A packet socket, and the frame it was read from last until all its segments are taken.
pub struct Ethernet {
    fd: OwnedFd,
    frame: Vec<u8>,
    length: usize,
    splitter: Option<Splitter>,
}

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A packet, of so many bytes in all; its IP header begins at `network`.
    Packet {
        /// Bytes in the slot.
        length: usize,
        /// Where the IP header begins.
        network: usize,
    },
    /// A frame that belongs to the link and goes to the other side as it is: ARP, neighbour discovery, anything
    /// that is not IP.
    Aside {
        /// Bytes in the slot.
        length: usize,
    },
    /// Something that cannot be a packet.
    Refused(Refusal),
    /// Nothing waits.
    Nothing,
}

impl Device {
    /// A device of bare IP packets: a TUN device without packet information, or a datagram socket.
    ///
    /// The descriptor must not block.
    pub fn ip(fd: OwnedFd) -> Self {
        Device::Ip(fd)
    }

    /// A packet socket with PACKET_VNET_HDR, bound to an interface, that does not see what it sends itself.
    ///
    /// The descriptor must not block.
    pub fn ethernet(fd: OwnedFd) -> Self {
        Device::Ethernet(Box::new(Ethernet { fd, frame: vec![0; LARGEST_FRAME], length: 0, splitter: None }))
    }

    /// Bytes in front of the IP header.
    pub fn link_header(&self) -> usize {
        match self {
            Device::Ip(_) => 0,
            Device::Ethernet(_) => ETHERNET_HEADER,
        }
    }

    /// Whether packets may be followed by bytes that fill up a frame.
    #[inline]
    pub fn pads(&self) -> bool {
        matches!(self, Device::Ethernet(_))
    }

    /// Takes the next packet into `slot`. What is larger than the slot fills it.
    ///
    /// An error means that the device is gone.
    #[inline]
    pub fn receive(&mut self, slot: &mut [u8]) -> Result<Arrival, Errno> {
        match self {
            Device::Ip(fd) => match read(fd.as_fd(), slot) {
                Ok(length) => Ok(Arrival::Packet { length, network: 0 }),
                Err(Errno::EAGAIN | Errno::EINTR) => Ok(Arrival::Nothing),
                Err(error) => Err(error),
            },
            Device::Ethernet(ethernet) => ethernet.receive(slot),
        }
    }

    /// Sends a frame whose IP header begins at `network`; false when the device does not take it now.
    #[inline]
    pub fn send(&self, frame: &[u8], network: usize) -> bool {
        match self {
            Device::Ip(fd) => write(fd.as_fd(), &frame[network..]).is_ok(),
            Device::Ethernet(ethernet) => {
                let nothing_left = [0; Offload::SIZE];
                writev(ethernet.fd.as_fd(), &[IoSlice::new(&nothing_left), IoSlice::new(frame)]).is_ok()
            }
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Device::Ip(fd) => fd.as_fd(),
            Device::Ethernet(ethernet) => ethernet.fd.as_fd(),
        }
    }
}

impl Ethernet {
    fn receive(&mut self, slot: &mut [u8]) -> Result<Arrival, Errno> {
        if let Some(splitter) = &mut self.splitter {
            if let Some(length) = splitter.next(&self.frame[..self.length], slot) {
                return Ok(Arrival::Packet { length, network: ETHERNET_HEADER });
            }
            self.splitter = None;
        }
        let mut offload = [0; Offload::SIZE];
        let length = {
            let mut parts = [IoSliceMut::new(&mut offload), IoSliceMut::new(&mut self.frame)];
            match readv(self.fd.as_fd(), &mut parts) {
                Ok(length) => length.saturating_sub(Offload::SIZE),
                Err(Errno::EAGAIN | Errno::EINTR) => return Ok(Arrival::Nothing),
                // An interface that is down may come up again.
                Err(Errno::ENETDOWN) => return Ok(Arrival::Nothing),
                Err(error) => return Err(error),
            }
        };
        self.length = length.min(self.frame.len());
        let frame = &self.frame[..self.length];
        if !is_for_the_path(frame) {
            let length = frame.len().min(slot.len());
            slot[..length].copy_from_slice(&frame[..length]);
            return Ok(Arrival::Aside { length });
        }
        match Splitter::new(frame, ETHERNET_HEADER, Offload::parse(&offload)) {
            Err(refusal) => Ok(Arrival::Refused(refusal)),
            Ok(mut splitter) => {
                let first = splitter.next(frame, slot);
                self.splitter = splitter.is_many().then_some(splitter);
                let length = first.expect("a frame is one packet at least");
                Ok(Arrival::Packet { length, network: ETHERNET_HEADER })
            }
        }
    }
}

/// Whether a frame holds an IP packet that travels beyond the link.
fn is_for_the_path(frame: &[u8]) -> bool {
    let Some(ethertype) = frame.get(12..ETHERNET_HEADER) else { return false };
    let ip = &frame[ETHERNET_HEADER..];
    match u16::from_be_bytes([ethertype[0], ethertype[1]]) {
        ETHERTYPE_IPV4 => true,
        ETHERTYPE_IPV6 => {
            let is_discovery =
                ip.get(6) == Some(&ICMPV6) && ip.get(40).is_some_and(|kind| NEIGHBOUR_DISCOVERY.contains(kind));
            !is_discovery
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::Unix, SockType::Datagram, None, SockFlag::SOCK_NONBLOCK).unwrap()
    }

    #[test]
    fn a_read_is_a_packet() {
        let (near, far) = pair();
        let mut device = Device::ip(near);
        let mut slot = [0; 64];
        assert_eq!(device.receive(&mut slot), Ok(Arrival::Nothing));
        write(&far, b"one").unwrap();
        write(&far, &[7; 100]).unwrap();
        assert_eq!(device.receive(&mut slot), Ok(Arrival::Packet { length: 3, network: 0 }));
        assert_eq!(&slot[..3], b"one");
        assert_eq!(device.receive(&mut slot), Ok(Arrival::Packet { length: 64, network: 0 }));
        assert!(device.send(b"..three", 2));
        let mut bytes = [0; 16];
        assert_eq!(read(&far, &mut bytes), Ok(5));
    }

    #[test]
    fn a_device_that_is_full_or_gone_does_not_take_a_packet() {
        let (near, far) = pair();
        let device = Device::ip(near);
        let taken = (0..100_000).take_while(|_| device.send(&[0; 1000], 0)).count();
        assert!((1..100_000).contains(&taken), "{taken}");
        drop(far);
        assert!(!device.send(&[0; 1000], 0));
    }

    /// A frame behind the header that says what is left to do.
    fn frame(offload: [u8; Offload::SIZE], ethertype: u16, rest: &[u8]) -> Vec<u8> {
        [&offload[..], &[2; 12], &ethertype.to_be_bytes(), rest].concat()
    }

    #[test]
    fn frames_of_the_link_pass_aside() {
        let (near, far) = pair();
        let mut device = Device::ethernet(near);
        let mut slot = [0; 1600];
        let mut discovery = [0; 64];
        (discovery[0], discovery[6], discovery[40]) = (0x60, ICMPV6, 135);
        for (ethertype, rest) in [(0x0806, &[1; 28][..]), (ETHERTYPE_IPV6, &discovery)] {
            write(&far, &frame([0; 10], ethertype, rest)).unwrap();
            assert_eq!(device.receive(&mut slot), Ok(Arrival::Aside { length: 14 + rest.len() }));
            assert_eq!(slot[14..14 + rest.len()], *rest);
        }
        write(&far, &[0; 5]).unwrap();
        assert_eq!(device.receive(&mut slot), Ok(Arrival::Aside { length: 0 }));
    }

    #[test]
    fn a_large_segment_arrives_as_packets() {
        let (near, far) = pair();
        let mut device = Device::ethernet(near);
        let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 100, 64, 0, 1, 100, 64, 1, 1];
        ip.extend([0, 80, 0, 80, 0, 0, 0, 0]);
        ip.extend([9; 2500]);
        let mut offload = [0; Offload::SIZE];
        (offload[0], offload[1]) = (1, 5);
        offload[4..6].copy_from_slice(&1000_u16.to_ne_bytes());
        offload[6..8].copy_from_slice(&34_u16.to_ne_bytes());
        write(&far, &frame(offload, ETHERTYPE_IPV4, &ip)).unwrap();
        let mut slot = [0; 1600];
        for payload in [1000, 1000, 500] {
            let length = ETHERNET_HEADER + 28 + payload;
            assert_eq!(device.receive(&mut slot), Ok(Arrival::Packet { length, network: ETHERNET_HEADER }));
        }
        assert_eq!(device.receive(&mut slot), Ok(Arrival::Nothing));
        // What goes out has nothing left to do.
        assert!(device.send(&slot[..60], ETHERNET_HEADER));
        let mut bytes = [1; 100];
        assert_eq!(read(&far, &mut bytes), Ok(70));
        assert_eq!(bytes[..10], [0; 10]);
    }
}
