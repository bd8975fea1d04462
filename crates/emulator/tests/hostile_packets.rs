//! Random and mutated packets through all code that reads them: it refuses or passes them, and never panics.
//!
//! CELLWIND_FUZZ_PACKETS sets how many; the draws are the same every time.

use cellwind_emulator::ip::{Addresses, examine};
use cellwind_emulator::segment::{Offload, Splitter};
use cellwind_engine::random::Stream;

const MTU: u32 = 1500;

fn packets() -> u64 {
    std::env::var("CELLWIND_FUZZ_PACKETS").map_or(200_000, |count| count.parse().expect("a number"))
}

fn random_bytes(stream: &mut Stream, length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| stream.below(u64::MAX).to_le_bytes()).collect();
    bytes.truncate(length);
    bytes
}

/// A packet that starts like a real one, so that mutations reach the code behind the first checks.
fn plausible(stream: &mut Stream, link: usize) -> Vec<u8> {
    let most = if stream.below(8) == 0 { 9_000 } else { 200 };
    let is_v6 = stream.below(2) == 0;
    let length = if is_v6 { 40 } else { 20 } + stream.below(most) as usize;
    let mut bytes = random_bytes(stream, link + length);
    let ip = &mut bytes[link..];
    let protocol = [6, 17, 44, 58][stream.below(4) as usize];
    if is_v6 {
        ip[0] = 0x60;
        ip[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
        ip[6] = protocol;
    } else {
        ip[0] = 0x45;
        ip[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        ip[9] = protocol;
    }
    let transport = if is_v6 { 40 } else { 20 };
    if let Some(offset) = ip.get_mut(transport + 12) {
        *offset = 0x50;
    }
    bytes
}

fn mutate(stream: &mut Stream, bytes: &mut Vec<u8>) {
    for _ in 0..stream.below(4) {
        let place = stream.below(bytes.len().max(1) as u64) as usize;
        match stream.below(4) {
            0 => bytes.truncate(place),
            1 => bytes.extend(0..stream.below(40) as u8),
            _ => {
                if let Some(byte) = bytes.get_mut(place) {
                    *byte ^= 1 << stream.below(8);
                }
            }
        }
    }
}

fn offload(stream: &mut Stream, link: usize) -> Offload {
    let mut bytes = [0; Offload::SIZE];
    bytes.copy_from_slice(&random_bytes(stream, Offload::SIZE));
    if stream.below(4) > 0 {
        bytes[0] = 1;
        bytes[1] = [0, 1, 4, 5][stream.below(4) as usize];
        bytes[4..6].copy_from_slice(&(stream.below(400) as u16).to_ne_bytes());
        bytes[6..8].copy_from_slice(&((link as u64 + [20, 40, 48][stream.below(3) as usize]) as u16).to_ne_bytes());
        bytes[8..10].copy_from_slice(&([6, 16][stream.below(2) as usize] as u16).to_ne_bytes());
    }
    Offload::parse(&bytes)
}

#[test]
fn no_packet_is_a_crash() {
    // Each packet goes whole through the reader, and with a random request through the splitter.
    let mut stream = Stream::new(1, 0, "hostile");
    let addresses = Addresses::listed(vec![("100.64.1.1".parse().unwrap(), 0)]);
    let mut slot = vec![0; 1536];
    let (mut passed, mut refused, mut split) = (0_u64, 0_u64, 0_u64);
    for _ in 0..packets() {
        let link = [0, 14][stream.below(2) as usize];
        let mut frame = if stream.below(4) == 0 {
            let length = stream.below(80) as usize;
            random_bytes(&mut stream, length)
        } else {
            plausible(&mut stream, link)
        };
        mutate(&mut stream, &mut frame);
        let network = link.min(frame.len());
        for padded in [false, true] {
            match examine(&frame[network..], MTU, padded) {
                Ok(ip) => {
                    assert!(ip.length <= MTU && ip.length as usize <= frame.len() - network);
                    assert!(u32::from(ip.header) <= ip.length);
                    let _ = addresses.terminal(ip.destination);
                    passed += 1;
                }
                Err(_) => refused += 1,
            }
        }
        let offload = offload(&mut stream, link);
        if let Ok(mut splitter) = Splitter::new(&frame, network, offload) {
            let mut pieces = 0;
            while let Some(length) = splitter.next(&frame, &mut slot) {
                pieces += 1;
                assert!(length <= slot.len() && pieces <= 1400);
                let _ = examine(&slot[network.min(length)..length], MTU, false);
            }
            assert!(pieces > 0);
            split += u64::from(pieces > 1);
        }
    }
    // All branches are really reached.
    assert!(
        passed > packets() / 100 && refused > packets() / 2 && split > packets() / 200,
        "{passed} {refused} {split}"
    );
}
