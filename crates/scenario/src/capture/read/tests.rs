//! Files are made by hand, byte by byte, in every format and link type that is read; Wireshark's reading of
//! the same packets is compared in `tests/test_analyze_tools.py`.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;

/// Data segment with timestamps, a SACK block and seven bytes of payload, in IPv4.
fn segment() -> Vec<u8> {
    let mut tcp = vec![0; 20];
    tcp[..2].copy_from_slice(&80u16.to_be_bytes());
    tcp[2..4].copy_from_slice(&50_000u16.to_be_bytes());
    tcp[4..8].copy_from_slice(&0xffff_fff0u32.to_be_bytes());
    tcp[8..12].copy_from_slice(&77u32.to_be_bytes());
    tcp[12] = ((20 + 24) / 4) << 4;
    tcp[13] = 0x18;
    tcp[14..16].copy_from_slice(&500u16.to_be_bytes());
    tcp.extend([1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8]);
    tcp.extend([1, 1, 5, 10, 0, 0, 1, 0, 0, 0, 2, 0]);
    tcp.extend(*b"payload");
    ipv4(6, &tcp)
}

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 0, 0, 42, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    ip[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    ip.extend(payload);
    ip
}

fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x60, 0, 0, 0, 0, 0, next, 64];
    ip[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    ip.extend(Ipv6Addr::LOCALHOST.octets());
    ip.extend(Ipv6Addr::UNSPECIFIED.octets());
    ip.extend(payload);
    ip
}

const UDP: [u8; 13] = [0, 53, 0x12, 0x34, 0, 13, 0, 0, b'h', b'e', b'l', b'l', b'o'];

/// A pcap file with microseconds, in the byte order of network protocols.
fn pcap(link: u32, frames: &[&[u8]]) -> Vec<u8> {
    let mut file = vec![0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255];
    file.extend(link.to_be_bytes());
    for (second, frame) in frames.iter().enumerate() {
        for field in [second as u32, 250_000, frame.len() as u32, frame.len() as u32] {
            file.extend(field.to_be_bytes());
        }
        file.extend(*frame);
    }
    file
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = (12 + body.len() as u32).to_le_bytes();
    [&kind.to_le_bytes()[..], &length, &body, &length].concat()
}

fn section() -> Vec<u8> {
    block(SECTION_HEADER, &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255])
}

fn interface(link: u16, options: &[u8]) -> Vec<u8> {
    block(INTERFACE_DESCRIPTION, &[&link.to_le_bytes()[..], &[0, 0, 0, 0, 4, 0], options].concat())
}

fn enhanced(interface: u32, ticks: u64, frame: &[u8]) -> Vec<u8> {
    let fields = [interface, (ticks >> 32) as u32, ticks as u32, frame.len() as u32, frame.len() as u32];
    let fields: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
    block(ENHANCED_PACKET, &[&fields, frame].concat())
}

fn read(file: &[u8]) -> Result<Reader<io::Cursor<Vec<u8>>>, ReadError> {
    let mut reader = Reader::new(io::Cursor::new(file.to_vec()))?;
    while reader.read_blocks(100)? {}
    Ok(reader)
}

/// What was read before the damage, and the damage.
fn read_damaged(file: &[u8]) -> (usize, String) {
    let mut reader = Reader::new(file).unwrap();
    let error = loop {
        match reader.read_blocks(1) {
            Ok(true) => {}
            Ok(false) => panic!("the file is read to its end"),
            Err(error) => break error,
        }
    };
    (reader.columns.time_ns.len(), error.to_string())
}

#[test]
fn a_segment_is_read_with_all_its_options() {
    let reader = read(&pcap(101, &[&segment()])).unwrap();
    let columns = &reader.columns;
    assert_eq!(columns.time_ns, [250_000_000]);
    let ends: Vec<IpAddr> = reader.endpoints.iter().copied().collect();
    assert_eq!(ends, [IpAddr::from(Ipv4Addr::new(10, 0, 0, 1)), Ipv4Addr::new(10, 0, 0, 2).into()]);
    assert_eq!((columns.source[0], columns.target[0]), (0, 1));
    assert_eq!((columns.source_port[0], columns.target_port[0], columns.protocol[0]), (80, 50_000, 6));
    assert_eq!((columns.ip_length[0], columns.payload[0], columns.ip_id[0]), (71, 7, 42));
    assert_eq!((columns.seq[0], columns.ack[0], columns.flags[0], columns.window[0]), (0xffff_fff0, 77, 0x18, 500));
    assert_eq!((columns.options[0], columns.tsval[0], columns.tsecr[0]), (HAS_TIMESTAMPS, 9, 8));
    assert_eq!(
        (&columns.sack_row[..], &columns.sack_start[..], &columns.sack_end[..]),
        (&[0][..], &[256][..], &[512][..])
    );
}

#[test]
fn every_link_type_leads_to_the_same_packet() {
    let ip = ipv4(17, &UDP);
    let ethernet = [&[0; 12][..], &[8, 0], &ip].concat();
    let tagged = [&[0; 12][..], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 9, 8, 0], &ip].concat();
    let loopback = [&[2, 0, 0, 0][..], &ip].concat();
    let cooked = [&[0; 14][..], &[8, 0], &ip].concat();
    let cooked_2 = [&[8, 0][..], &[0; 18], &ip].concat();
    let frames: [(u32, &[u8]); 9] = [
        (1, &ethernet),
        (1, &tagged),
        (0, &loopback),
        (108, &loopback),
        (113, &cooked),
        (276, &cooked_2),
        (101, &ip),
        (228, &ip),
        (0xf000_0065, &ip), // the length of a frame check sequence stands above the link type
    ];
    for (link, frame) in frames {
        let columns = read(&pcap(link, &[frame])).unwrap().columns;
        let seen = (columns.source_port, columns.target_port, columns.payload, columns.ip_length);
        assert_eq!(seen, (vec![53], vec![0x1234], vec![5], vec![33]), "link type {link}");
    }
}

#[test]
fn extension_headers_are_passed_over() {
    let options = [60, 0, 0, 0, 0, 0, 0, 0];
    let routing = [44, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let first_fragment = [51, 0, 0, 1, 0, 0, 0, 1];
    let authentication = [17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let payload = [&options[..], &[43, 0, 0, 0, 0, 0, 0, 0], &routing, &first_fragment, &authentication, &UDP].concat();
    let columns = read(&pcap(229, &[&ipv6(0, &payload)])).unwrap().columns;
    assert_eq!((columns.protocol[0], columns.source_port[0], columns.payload[0]), (17, 53, 5));
}

#[test]
fn what_is_no_packet_with_ports_is_counted_by_reason() {
    let arp = [&[0; 12][..], &[8, 6], &[0; 28]].concat();
    let mut fragment = [&[0; 12][..], &[8, 0], &ipv4(17, &UDP)].concat();
    fragment[14 + 7] = 9;
    let cut = [&[0; 12][..], &[8, 0], &segment()[..30]].concat();
    let reader = read(&pcap(1, &[&arp, &fragment, &cut, &cut])).unwrap();
    let expected = [(Ignored::NotIp, 1), (Ignored::Fragment, 1), (Ignored::Unreadable, 2)];
    assert_eq!(reader.ignored.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(reader.columns.time_ns.len(), 0);
    let unknown = read(&pcap(105, &[&[0; 40]])).unwrap();
    assert_eq!(unknown.ignored.into_iter().collect::<Vec<_>>(), [(Ignored::LinkType(105), 1)]);
}

#[test]
fn a_header_cut_in_its_options_keeps_those_before() {
    let whole = segment();
    let file = pcap(101, &[&whole[..20 + 20 + 14]]);
    let columns = read(&file).unwrap().columns;
    assert_eq!((columns.payload[0], columns.tsval[0], columns.sack_row.len()), (7, 9, 0));
}

#[test]
fn timestamps_follow_the_resolution_and_offset_of_their_interface() {
    let nanoseconds = [9, 0, 1, 0, 9, 0, 0, 0];
    let binary = [9, 0, 1, 0, 0x80 | 10, 0, 0, 0];
    let picoseconds_after_a_minute = [9, 0, 1, 0, 12, 0, 0, 0, 14, 0, 8, 0, 60, 0, 0, 0, 0, 0, 0, 0];
    let frame = ipv4(17, &UDP);
    let file = [
        section(),
        interface(101, &[]),
        interface(101, &nanoseconds),
        interface(101, &binary),
        interface(101, &picoseconds_after_a_minute),
        enhanced(0, 1_500_000, &frame),
        enhanced(1, 1_500_000_001, &frame),
        enhanced(2, 1536, &frame),
        enhanced(3, 1_500_000_000_000, &frame),
    ];
    let columns = read(&file.concat()).unwrap().columns;
    assert_eq!(columns.time_ns, [1_500_000_000, 1_500_000_001, 1_500_000_000, 61_500_000_000]);
}

#[test]
fn blocks_of_other_kinds_are_passed_over_and_sections_start_afresh() {
    let frame = ipv4(17, &UDP);
    let part =
        [section(), interface(101, &[]), block(5, &[0; 32]), enhanced(0, 1, &frame), block(3, &[0; 40])].concat();
    let reader = read(&[part.clone(), part].concat()).unwrap();
    assert_eq!(reader.columns.time_ns, [1000, 1000]);
    assert_eq!(reader.ignored.into_iter().collect::<Vec<_>>(), [(Ignored::NoTime, 2)]);
}

#[test]
fn what_is_no_capture_is_said_so() {
    for bytes in [&b""[..], b"\n", b"#!/bin/sh\n", &[0xa1, 0xb2, 0xc3, 0xd4, 0], &section()[..20], &[0x0a; 64]] {
        let error = read(bytes).unwrap_err();
        assert_eq!(error.to_string(), "not a capture: expected a pcapng or pcap file", "{bytes:?}");
    }
}

#[test]
fn damage_is_located_and_what_came_before_stays() {
    let frame = ipv4(17, &UDP);
    let good = [section(), interface(101, &[]), enhanced(0, 1, &frame)].concat();
    let at = good.len();
    let cases: [(Vec<u8>, &str); 5] = [
        (enhanced(0, 2, &frame)[..30].to_vec(), "the file ends in the middle of it"),
        (enhanced(7, 2, &frame), "a packet names interface 7 of 1"),
        ([6, 0, 0, 0, 13, 0, 0, 0].to_vec(), "a block cannot be 13 bytes long"),
        (
            [&[6, 0, 0, 0, 32, 0, 0, 0], &[0; 20][..], &[33, 0, 0, 0]].concat(),
            "a block begins with length 32 and ends with length 33",
        ),
        (block(ENHANCED_PACKET, &[0; 8]), "a packet block is too short"),
    ];
    for (bad, what) in cases {
        let text = format!("damaged in the block at byte {at}, after 1 packets: {what}");
        assert_eq!(read_damaged(&[good.clone(), bad].concat()), (1, text));
    }
    let cut = &pcap(101, &[&frame, &frame])[..24 + 16 + 33 + 20];
    let text = "damaged in the block at byte 73, after 1 packets: the file ends in the middle of it";
    assert_eq!(read_damaged(cut), (1, text.into()));
}

#[test]
fn no_bytes_make_it_panic() {
    // Every byte of small files in turn takes every value that tells something, and every length is tried.
    let frame = segment();
    let six = ipv6(0, &[&[6, 0, 0, 0, 0, 0, 0, 0][..], &frame[20..]].concat());
    let options = [9, 0, 1, 0, 9, 0, 0, 0, 14, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    let ng = [section(), interface(101, &options), enhanced(0, 1, &frame), enhanced(0, 2, &six), section()].concat();
    for file in [ng, pcap(101, &[&frame, &six]), pcap(1, &[&[&[0; 12][..], &[0x81, 0], &frame].concat()])] {
        for place in 0..file.len() {
            let _ = read(&file[..place]);
            for value in [0, 1, 2, 4, 5, 6, 8, 0x7f, 0x80, 0x81, 0xfe, 0xff, file[place] ^ 0x10] {
                let mut changed = file.clone();
                changed[place] = value;
                let _ = read(&changed);
            }
        }
    }
}
