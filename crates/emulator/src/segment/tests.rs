use super::*;
use crate::ip::examine;

const ETHERNET: usize = 14;

/// Checks a transport checksum word by word, as RFC 1071 describes it.
fn transport_sum(packet: &[u8], network: usize, transport: usize, protocol: u8) -> u16 {
    let ip = &packet[network..];
    let addresses = if ip[0] >> 4 == 6 { &ip[8..40] } else { &ip[12..20] };
    let length = (packet.len() - transport) as u32;
    let mut bytes = addresses.to_vec();
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0, 0, protocol]);
    bytes.extend(&packet[transport..]);
    bytes.resize(bytes.len().next_multiple_of(2), 0);
    bytes.chunks(2).fold(0_u32, |sum, word| {
        let sum = sum + u32::from(word[0]) * 256 + u32::from(word[1]);
        (sum & 0xffff) + (sum >> 16)
    }) as u16
}

/// A frame with `payload` bytes of TCP or UDP behind `link` bytes of link header, as the kernel leaves it.
fn frame(link: usize, is_v6: bool, protocol: u8, payload: usize) -> (Vec<u8>, usize) {
    let header = if protocol == TCP { 32 } else { 8 };
    let ip = if is_v6 { 40 } else { 20 };
    let mut bytes = vec![0xee; link];
    let length = header + payload;
    if is_v6 {
        bytes.extend([0x60, 0, 0, 0]);
        bytes.extend((length as u16).to_be_bytes());
        bytes.extend([protocol, 64]);
        bytes.extend((0..32).map(|n| 3 * n));
    } else {
        bytes.extend([0x45, 0]);
        bytes.extend(((ip + length) as u16).to_be_bytes());
        bytes.extend([0xff, 0xfe, 0x40, 0, 64, protocol, 0, 0, 100, 64, 0, 1, 100, 64, 1, 1]);
    }
    let transport = bytes.len();
    bytes.extend([0x12, 0x34, 0, 80]);
    if protocol == TCP {
        bytes.extend(0xffff_ff00_u32.to_be_bytes()); // wraps within the frame
        bytes.extend([0, 0, 0, 9, 0x80, TCP_CWR | 0x10 | TCP_FIN_PSH, 1, 0, 0, 0, 0, 0]);
        bytes.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    } else {
        bytes.extend([0, 0, 0, 0]);
    }
    bytes.extend((0..payload).map(|n| (n * 7) as u8));
    (bytes, transport)
}

fn offload(gso_type: u8, gso_size: usize, transport: usize, checksum_offset: u16) -> Offload {
    let (gso_size, checksum_start) = (gso_size as u16, transport as u16);
    Offload { flags: NEEDS_CHECKSUM, gso_type, gso_size, checksum_start, checksum_offset }
}

fn split(frame: &[u8], network: usize, offload: Offload) -> Result<Vec<Vec<u8>>, Refusal> {
    let mut splitter = Splitter::new(frame, network, offload)?;
    let mut slot = [0; 1600];
    Ok(std::iter::from_fn(|| splitter.next(frame, &mut slot).map(|length| slot[..length].to_vec())).collect())
}

#[test]
fn tcp_segments_carry_the_stream_and_right_checksums() {
    for (link, is_v6) in [(0, false), (0, true), (ETHERNET, false), (ETHERNET, true)] {
        for payload in [1, 1427, 1428, 1429, 14_280, 60_000] {
            let (whole, transport) = frame(link, is_v6, TCP, payload);
            let gso = if is_v6 { GSO_TCPV6 } else { GSO_TCPV4 } | GSO_ECN;
            let segments = split(&whole, link, offload(gso, 1428, transport, 16)).unwrap();
            assert_eq!(segments.len(), payload.div_ceil(1428));
            let mut stream: Vec<u8> = Vec::new();
            for (number, segment) in segments.iter().enumerate() {
                let ip = examine(&segment[link..], 1500, false).unwrap();
                assert_eq!(ip.length as usize, segment.len() - link);
                assert_eq!(segment[..link], whole[..link]);
                assert_eq!(transport_sum(segment, link, transport, TCP), 0xffff);
                if !is_v6 {
                    let identification = u16::from_be_bytes([segment[link + 4], segment[link + 5]]);
                    assert_eq!(identification, 0xfffe_u16.wrapping_add(number as u16));
                }
                let seq = u32::from_be_bytes(segment[transport + 4..transport + 8].try_into().unwrap());
                assert_eq!(seq, 0xffff_ff00_u32.wrapping_add(stream.len() as u32));
                let flags = segment[transport + 13];
                assert_eq!(flags & TCP_CWR != 0, number == 0);
                assert_eq!(flags & TCP_FIN_PSH, if number + 1 == segments.len() { TCP_FIN_PSH } else { 0 });
                assert_eq!(segment[transport + 20..transport + 32], whole[transport + 20..transport + 32]);
                stream.extend(&segment[transport + 32..]);
            }
            assert_eq!(stream[..], whole[transport + 32..]);
        }
    }
}

#[test]
fn udp_segments_are_datagrams_of_their_own() {
    for is_v6 in [false, true] {
        let (whole, transport) = frame(0, is_v6, UDP, 3000);
        let segments = split(&whole, 0, offload(GSO_UDP_L4, 1200, transport, 6)).unwrap();
        assert_eq!(segments.iter().map(Vec::len).collect::<Vec<_>>(), [1200, 1200, 600].map(|n| n + transport + 8));
        for segment in &segments {
            assert_eq!(transport_sum(segment, 0, transport, UDP), 0xffff);
            assert_eq!(segment[transport + 4..transport + 6], ((segment.len() - transport) as u16).to_be_bytes());
            examine(segment, 1500, false).unwrap();
        }
        let payloads: Vec<u8> = segments.iter().flat_map(|segment| segment[transport + 8..].to_vec()).collect();
        assert_eq!(payloads[..], whole[transport + 8..]);
    }
}

#[test]
fn a_checksum_left_open_is_completed() {
    // The kernel puts the folded sum of the pseudo header into the field.
    let (mut whole, transport) = frame(ETHERNET, true, UDP, 501);
    let length = (whole.len() - transport) as u16;
    whole[transport + 4..transport + 6].copy_from_slice(&length.to_be_bytes());
    let pseudo = !checksum(sum(&whole[ETHERNET + 8..ETHERNET + 40]) + u64::from(length) + u64::from(UDP));
    whole[transport + 6..transport + 8].copy_from_slice(&pseudo.to_be_bytes());
    let done = split(&whole, ETHERNET, offload(GSO_NONE, 0, transport, 6)).unwrap();
    assert_eq!(done.len(), 1);
    assert_eq!(transport_sum(&done[0], ETHERNET, transport, UDP), 0xffff);
}

#[test]
fn a_packet_with_nothing_left_to_do_is_copied() {
    let (whole, _) = frame(0, false, TCP, 100);
    assert_eq!(split(&whole, 0, Offload::default()).unwrap(), [whole]);
}

#[test]
fn segments_beyond_the_mtu_are_seen_to_be_oversized() {
    let (whole, transport) = frame(0, false, TCP, 9000);
    let mut header = whole.clone();
    header[10..12].fill(0);
    let check = checksum(sum(&header[..20]));
    header[10..12].copy_from_slice(&check.to_be_bytes());
    let segments = split(&header, 0, offload(GSO_TCPV4, 4000, transport, 16)).unwrap();
    assert_eq!(examine(&segments[0], 1500, false), Err(Refusal::Oversized));
    assert_eq!(segments.len(), 3);
}

#[test]
fn contradictions_are_refused() {
    let (whole, transport) = frame(0, false, TCP, 3000);
    let refused = |offload| assert_eq!(split(&whole, 0, offload), Err(Refusal::Offload), "{offload:?}");
    refused(offload(GSO_TCPV6, 1448, transport, 16));
    refused(offload(GSO_UDP_L4, 1448, transport, 6));
    refused(offload(3, 1448, transport, 6)); // UDP fragmentation, which Linux gave up
    refused(offload(GSO_TCPV4, 0, transport, 16));
    refused(offload(GSO_TCPV4, 1, transport, 16)); // 3000 segments
    refused(offload(GSO_TCPV4, 1448, transport - 1, 16));
    refused(offload(GSO_TCPV4, 1448, whole.len() - 4, 16));
    refused(offload(GSO_NONE, 0, whole.len(), 0));
    refused(Offload { flags: 0, ..offload(GSO_TCPV4, 1448, transport, 16) });
}

#[test]
fn the_header_is_read_in_the_machine_s_order() {
    let mut bytes = [0; Offload::SIZE];
    bytes[..2].copy_from_slice(&[1, 4]);
    for (at, number) in [(2, 74_u16), (4, 1448), (6, 34), (8, 16)] {
        bytes[at..at + 2].copy_from_slice(&number.to_ne_bytes());
    }
    assert_eq!(Offload::parse(&bytes), offload(GSO_TCPV6, 1448, 34, 16));
}
