//! A disk that becomes full: logging stops behind a whole record, and the packets go on.
//!
//! A limit on the size of files stands in for the disk. It holds for the whole process, which is why this test is
//! alone in its file.

use std::path::Path;
use std::sync::Arc;

use cellwind_emulator::clock::Monotonic;
use cellwind_emulator::device::Device;
use cellwind_emulator::driver::{Driver, DriverSettings};
use cellwind_emulator::ip::{Addresses, checksum, sum};
use cellwind_emulator::lateness::Lateness;
use cellwind_emulator::log::log;
use cellwind_emulator::pool::Pool;
use cellwind_emulator::pump::{Ends, Pump};
use cellwind_emulator::writer::Writer;
use cellwind_engine::time::Span;
use cellwind_scenario::session::Session;
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::{read, write};
use pcap_file::pcapng::PcapNgReader;

/// Room for a few hundred of the packets below.
const ROOM: u64 = 700_000;
const PACKETS: usize = 3000;

fn packet() -> Vec<u8> {
    let mut bytes = vec![0; 1400];
    bytes[0] = 0x45;
    bytes[2..4].copy_from_slice(&1400_u16.to_be_bytes());
    let check = checksum(sum(&bytes[..20]));
    bytes[10..12].copy_from_slice(&check.to_be_bytes());
    bytes
}

#[test]
fn a_full_disk_stops_the_log_and_not_the_emulation() {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.unwrap();
    let (_, most) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, ROOM, most).unwrap();

    let loaded = cellwind_scenario::parse("[link.wire]\n", "test", &[]).unwrap();
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let pair = || socketpair(AddressFamily::Unix, SockType::Datagram, None, flags).unwrap();
    let ((server, sender), (terminal, receiver)) = (pair(), pair());
    let ends =
        Ends { devices: vec![Device::ip(server), Device::ip(terminal)], addresses: Addresses::All(0), mtu: 1500 };
    let (log, reader) = log(true, true);
    let lost = log.lost();
    let names = ["server".to_string(), "ue".to_string()];
    let writer = Writer::start(reader, Path::new(env!("CARGO_TARGET_TMPDIR")), &names, "a test").unwrap();
    let session = Session::live(&loaded, 0, true);
    let lateness = Arc::new(Lateness::new(Span::from_millis(1)));
    let clock = Monotonic::start_in(Span::ZERO);
    let pump = Pump::new(clock, session, ends, Pool::new(1500), log, lateness);
    let driver = Driver::start(pump, DriverSettings::default()).unwrap();

    // Every packet still comes through, one after the other.
    let (sent, mut received) = (packet(), [0; 2048]);
    for _ in 0..PACKETS {
        write(&sender, &sent).unwrap();
        while read(&receiver, &mut received) == Err(Errno::EAGAIN) {
            std::thread::yield_now();
        }
    }
    assert_eq!(driver.stop().unwrap().counts.terminals[0][0].packets_delivered, PACKETS as u64);

    let (written, complaints) = writer.finish(&lost);
    assert_eq!(complaints.len(), 2, "{complaints:?}");
    for (complaint, end) in complaints.iter().zip(names) {
        assert!(complaint.contains("end early: File too large"), "{complaint} ({end})");
    }
    for (_, capture) in &written.captures {
        assert!(capture.has_stopped() && capture.len() <= ROOM);
        let bytes = capture.contents().unwrap();
        let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
        let mut blocks = 0;
        while let Some(block) = reader.next_block() {
            block.unwrap(); // none is half-written
            blocks += 1;
        }
        assert!((100..PACKETS).contains(&blocks), "{blocks}");
    }
}
