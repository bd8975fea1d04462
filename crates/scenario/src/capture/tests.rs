//! Captures are read back by the parser of the crate that wrote them and, for options and checksums, by
//! hand. Wireshark and tcptrace read whole runs in `tests/test_capture.py`.

use cellwind_engine::packet::FlowId;
use etherparse::checksum::Sum16BitWords;
use pcap_file::pcapng::{Block, PcapNgReader};

use super::*;

fn packet() -> Packet {
    Packet { window: 65_535, flags: Flags::ACK, ..Packet::EMPTY }
}

fn seen(from: End, packet: Packet) -> Captured {
    Captured { at: Time::from_nanos(1_234_567_891), from, packet }
}

const FLOWS: [FlowEnds; 2] = [
    FlowEnds { terminal: 0, mss: 1460, window_scaling: true, transport: Transport::Tcp },
    FlowEnds { terminal: 299, mss: 536, window_scaling: false, transport: Transport::Tcp },
];

/// Timestamp, original length and captured bytes of each packet of a capture of two flows.
fn read_back(packets: &[Captured]) -> Vec<(Duration, u32, Vec<u8>)> {
    let file = pcapng("server", &FLOWS, packets);
    let mut reader = PcapNgReader::new(&file[..]).unwrap();
    let mut read = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap().into_owned() {
            read.push((packet.timestamp, packet.original_len, packet.data.into_owned()));
        }
    }
    read
}

fn parse(bytes: &[u8]) -> (Ipv4Header, TcpHeader) {
    let (ip, rest) = Ipv4Header::from_slice(bytes).unwrap();
    let (tcp, rest) = TcpHeader::from_slice(rest).unwrap();
    assert!(rest.is_empty(), "a capture holds no payload");
    (ip, tcp)
}

#[test]
fn a_data_segment_keeps_its_length_time_and_addresses() {
    let data = Packet { seq: 1, payload: 1460, flow: FlowId(1), ..packet() };
    let read = read_back(&[seen(End::Server, data), seen(End::Terminal, packet())]);
    let (time, length, bytes) = &read[0];
    assert_eq!(*time, Duration::from_nanos(1_234_567_891));
    assert_eq!((*length, bytes.len()), (1500, 40));
    let (ip, tcp) = parse(bytes);
    assert_eq!((ip.source, ip.destination, ip.total_len), ([10, 0, 0, 1], [10, 1, 1, 44], 1500));
    assert_eq!((tcp.source_port, tcp.destination_port, tcp.sequence_number), (80, 49_153, 1));
    let (ip, tcp) = parse(&read[1].2);
    assert_eq!((ip.source, ip.destination), ([10, 1, 0, 1], [10, 0, 0, 1]));
    assert_eq!((tcp.source_port, tcp.destination_port), (49_152, 80));
}

#[test]
fn checksums_cover_headers_and_a_payload_of_zeros() {
    // RFC 1071 §1: over a right checksum and what it covers, the sum is all ones. Zeros add nothing to it
    // beyond the length in the pseudo header.
    let data = Packet { seq: u64::from(u32::MAX) + 17, ack: 99, payload: 537, ..packet() };
    let (_, length, bytes) = &read_back(&[seen(End::Server, data)])[0];
    let sum = |bytes: &[u8]| Sum16BitWords::new().add_slice(bytes).ones_complement();
    assert_eq!(sum(&bytes[..20]), 0);
    let mut pseudo = bytes[12..20].to_vec();
    pseudo.extend_from_slice(&[0, 6]);
    pseudo.extend_from_slice(&(*length as u16 - 20).to_be_bytes());
    pseudo.extend_from_slice(&bytes[20..]);
    assert_eq!(sum(&pseudo), 0);
}

#[test]
fn sequence_numbers_wrap_at_32_bits() {
    let wrapped = (1 << 32) + 5;
    let mut ack = Packet { seq: wrapped, ack: wrapped + 100, ..packet() };
    ack.sack.push(ack.ack, ack.ack + 100, ack.ack + 200);
    let (_, tcp) = parse(&read_back(&[seen(End::Terminal, ack)])[0].2);
    assert_eq!((tcp.sequence_number, tcp.acknowledgment_number), (5, 105));
    let options: Vec<_> = tcp.options_iterator().map(Result::unwrap).collect();
    let blocks = TcpOptionElement::SelectiveAcknowledgement((205, 305), [None, None, None]);
    assert_eq!(options.last(), Some(&blocks));
}

#[test]
fn a_syn_announces_options_and_an_unscaled_window() {
    let flags = Flags::SYN.with(Flags::SACK_PERMITTED).with(Flags::TIMESTAMPS);
    let syn = Packet { flags, window: 1_000_000, timestamps: (7, 0), ..packet() };
    let ack = Packet { window: 1_000_000, ..packet() };
    let read = read_back(&[seen(End::Terminal, syn), seen(End::Terminal, ack)]);
    let (_, tcp) = parse(&read[0].2);
    assert_eq!((tcp.syn, tcp.ack, tcp.window_size), (true, false, u16::MAX));
    use TcpOptionElement::*;
    let options: Vec<_> = tcp.options_iterator().map(Result::unwrap).filter(|o| *o != Noop).collect();
    let expected = [MaximumSegmentSize(1460), WindowScale(4), SelectiveAcknowledgementPermitted, Timestamp(7, 0)];
    assert_eq!(options, expected);
    let (_, tcp) = parse(&read[1].2);
    assert_eq!(u32::from(tcp.window_size) << 4, 1_000_000);
}

#[test]
fn without_window_scaling_windows_end_at_16_bits() {
    let syn = Packet { flags: Flags::SYN, flow: FlowId(1), window: 100_000, ..packet() };
    let read = read_back(&[seen(End::Server, syn), seen(End::Server, Packet { flags: Flags::ACK, ..syn })]);
    let (_, tcp) = parse(&read[0].2);
    assert_eq!((read[0].1, tcp.window_size), (44, u16::MAX), "only the MSS option");
    assert_eq!(parse(&read[1].2).1.window_size, u16::MAX);
}

#[test]
fn a_window_of_exactly_16_bits_needs_no_scale() {
    let scale = |window| {
        let packets = [seen(End::Server, Packet { window, ..packet() })];
        window_scales(&FLOWS, &packets)[0].of(End::Server)
    };
    assert_eq!((scale(65_535), scale(65_536), scale(131_071), scale(131_072)), (0, 1, 1, 2));
    assert_eq!(scale(u32::MAX), 14); // RFC 7323 §2.3
}

#[test]
fn a_d_sack_block_below_the_acknowledgement_comes_first() {
    let mut ack = Packet { ack: 5000, flags: Flags::ACK.with(Flags::D_SACK), ..packet() };
    ack.sack.push(ack.ack, 1000, 2000);
    ack.sack.push(ack.ack, 6000, 7000);
    let (_, tcp) = parse(&read_back(&[seen(End::Terminal, ack)])[0].2);
    let options: Vec<_> = tcp.options_iterator().map(Result::unwrap).collect();
    let blocks = TcpOptionElement::SelectiveAcknowledgement((1000, 2000), [Some((6000, 7000)), None, None]);
    assert_eq!(options.last(), Some(&blocks));
}

#[test]
fn with_timestamps_three_sack_blocks_fit() {
    let mut ack = Packet { ack: 100, flags: Flags::ACK.with(Flags::TIMESTAMPS), ..packet() };
    (1..=4).for_each(|n| {
        ack.sack.push(ack.ack, 100 * (2 * n), 100 * (2 * n + 1));
    });
    let (_, tcp) = parse(&read_back(&[seen(End::Terminal, ack)])[0].2);
    assert_eq!(tcp.header_len(), 60);
}

#[test]
fn a_longer_header_of_the_model_is_filled_up() {
    let data = Packet { header: 60, payload: 100, ..packet() };
    let (_, length, bytes) = &read_back(&[seen(End::Server, data)])[0];
    assert_eq!((*length, bytes.len()), (160, 60));
}

#[test]
fn every_connection_of_every_flow_has_its_own_port() {
    let port = |flow, connection| terminal_port(&Packet { flow: FlowId(flow), connection, ..packet() }, 2);
    assert_eq!([port(0, 0), port(1, 0), port(0, 1), port(1, 1)], [49_152, 49_153, 49_154, 49_155]);
    assert_eq!([port(1, 8191), port(0, 8192), port(1, 8192)], [65_535, 1024, 1025]);
}

#[test]
fn datagrams_have_headers_of_28_bytes() {
    let flows = [FlowEnds { terminal: 0, mss: 0, window_scaling: false, transport: Transport::Udp }];
    let datagram = Packet { payload: 172, header: 28, flags: Flags::NONE, ..packet() };
    let (bytes, length) = headers(&seen(End::Server, datagram), flows[0], 1, WindowScales::default());
    assert_eq!((length, bytes.len()), (200, 28));
    let (ip, rest) = Ipv4Header::from_slice(&bytes).unwrap();
    let (udp, _) = UdpHeader::from_slice(rest).unwrap();
    assert_eq!((ip.protocol, udp.source_port, udp.destination_port, udp.length), (IpNumber::UDP, 80, 49_152, 180));
}

#[test]
fn the_bits_of_ecn_are_written_and_read() {
    let flags = Flags::ACK.with(Flags::ECT).with(Flags::CE).with(Flags::CWR);
    let capable = Packet { flags: Flags::ACK.with(Flags::ECT).with(Flags::ECE), payload: 10, ..packet() };
    let packets = [seen(End::Server, Packet { flags, payload: 10, ..packet() }), seen(End::Server, capable)];
    let read = read_back(&packets);
    // RFC 3168 §5: CE is 3 and ECT(0) is 2 in the lowest bits of the second byte; §6.1: CWR is 128 and ECE 64.
    assert_eq!((read[0].2[1], read[0].2[33] & 0xc0), (3, 0x80));
    assert_eq!((read[1].2[1], read[1].2[33] & 0xc0), (2, 0x40));
    let frame = super::frame::decode(super::frame::Link::Raw, &read[0].2, read[0].1).unwrap();
    assert_eq!((frame.ecn, frame.tcp.unwrap().flags & 0xc0), (3, 0x80));
}
