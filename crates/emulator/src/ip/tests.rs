use super::*;

/// An IPv4 packet of `length` bytes to `destination` with a right checksum.
fn v4(length: u16, destination: [u8; 4]) -> Vec<u8> {
    let mut bytes = vec![0; usize::from(length)];
    bytes[0] = 0x45;
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    bytes[16..20].copy_from_slice(&destination);
    write_checksum(&mut bytes);
    bytes
}

fn write_checksum(bytes: &mut [u8]) {
    bytes[10..12].fill(0);
    let check = checksum(sum(&bytes[..usize::from(bytes[0] & 15) * 4]));
    bytes[10..12].copy_from_slice(&check.to_be_bytes());
}

fn v6(length: u16, destination: &str) -> Vec<u8> {
    let mut bytes = vec![0; usize::from(length)];
    bytes[0] = 0x60;
    bytes[4..6].copy_from_slice(&(length - 40).to_be_bytes());
    bytes[24..40].copy_from_slice(&destination.parse::<Ipv6Addr>().unwrap().octets());
    bytes
}

fn refusal(bytes: &[u8]) -> Refusal {
    examine(bytes, 1500, false).unwrap_err()
}

#[test]
fn packets_that_are_what_they_say_pass() {
    let ip = examine(&v4(1500, [100, 64, 1, 1]), 1500, false).unwrap();
    assert_eq!(ip, Ip { header: 20, length: 1500, destination: "100.64.1.1".parse().unwrap() });
    let ip = examine(&v6(1280, "fd77::1"), 1500, false).unwrap();
    assert_eq!(ip, Ip { header: 40, length: 1280, destination: "fd77::1".parse().unwrap() });
}

#[test]
fn fragments_pass() {
    let mut packet = v4(576, [100, 64, 1, 1]);
    packet[6..8].copy_from_slice(&0x2010_u16.to_be_bytes()); // more fragments, offset 128
    write_checksum(&mut packet);
    assert!(examine(&packet, 1500, false).is_ok());
    let mut packet = v6(600, "fd77::1");
    packet[6] = 44; // RFC 8200 §4.5: a fragment header follows
    assert!(examine(&packet, 1500, false).is_ok());
}

#[test]
fn each_kind_of_nonsense_has_its_reason() {
    let good = v4(100, [100, 64, 1, 1]);
    assert_eq!(refusal(&[]), Refusal::Truncated);
    assert_eq!(refusal(&good[..19]), Refusal::Truncated);
    assert_eq!(refusal(&v6(100, "fd77::1")[..39]), Refusal::Truncated);
    assert_eq!(refusal(&[0x15; 100]), Refusal::Version);
    assert_eq!(refusal(&good[..99]), Refusal::Length);
    assert_eq!(refusal(&[&good[..], &[0]].concat()), Refusal::Length);
    assert_eq!(refusal(&v6(100, "fd77::1")[..99]), Refusal::Length);
    assert_eq!(refusal(&v4(1501, [100, 64, 1, 1])), Refusal::Oversized);
    assert_eq!(refusal(&v6(1501, "fd77::1")), Refusal::Oversized);
    let mut wrong = good.clone();
    wrong[8] ^= 1;
    assert_eq!(refusal(&wrong), Refusal::Checksum);
    let mut short = good.clone();
    short[0] = 0x44;
    assert_eq!(refusal(&short), Refusal::Length);
    let mut long = good[..20].to_vec();
    long[0] = 0x4f;
    long[3] = 60;
    assert_eq!(refusal(&long), Refusal::Truncated);
}

#[test]
fn a_padded_frame_is_cut_to_its_packet() {
    let packet = v4(40, [100, 64, 1, 1]);
    let padded = [&packet[..], &[0; 6]].concat();
    assert_eq!(examine(&padded, 1500, true).unwrap().length, 40);
    assert_eq!(examine(&packet[..39], 1500, true), Err(Refusal::Length));
}

#[test]
fn what_belongs_to_the_link_stays_there() {
    for address in [[169, 254, 3, 4], [224, 0, 0, 251]] {
        assert_eq!(refusal(&v4(40, address)), Refusal::LinkScope);
    }
    for address in ["fe80::1", "ff02::2", "ff01::1"] {
        assert_eq!(refusal(&v6(48, address)), Refusal::LinkScope);
    }
    assert!(examine(&v6(48, "ff05::2"), 1500, false).is_ok());
    // Between two Ethernets the link goes on.
    assert!(examine(&v6(48, "fe80::1"), 1500, true).is_ok());
}

#[test]
fn addresses_lead_to_terminals() {
    let addresses = Addresses::listed(vec![
        ("fd77::2".parse().unwrap(), 1),
        ("100.64.1.2".parse().unwrap(), 1),
        ("100.64.1.1".parse().unwrap(), 0),
    ]);
    assert_eq!(addresses.terminal("100.64.1.2".parse().unwrap()), Ok(1));
    assert_eq!(addresses.terminal("fd77::2".parse().unwrap()), Ok(1));
    assert_eq!(addresses.terminal("100.64.1.3".parse().unwrap()), Err(Refusal::NoTerminal));
    assert_eq!(Addresses::All(3).terminal("8.8.8.8".parse().unwrap()), Ok(3));
}

#[test]
fn the_checksum_is_that_of_rfc_1071() {
    // The example of RFC 1071 §3: 0001 f203 f4f5 f6f7 add up to ddf2.
    let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(checksum(sum(&bytes)), !0xddf2);
    assert_eq!(checksum(sum(&[0x12, 0x34, 0x56])), !(0x1234 + 0x5600));
    assert_eq!(checksum(sum(&[0xff; 65_536])), 0);
}
