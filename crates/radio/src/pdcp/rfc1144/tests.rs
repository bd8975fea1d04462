//! RFC 1144 by hand: sizes of section 3.2, losses of section 4.

use cellwind_engine::packet::{Flags, FlowId, Packet};

use crate::pdcp::settings::{Compression, Rfc1144Settings};
use crate::pdcp::tests::{Pair, acknowledgement, datagram, segment};

fn pair() -> Pair {
    Pair::new(Compression::Rfc1144(Rfc1144Settings::default()))
}

/// Sizes of the headers of packets that are sent one after the other, all of which come out right.
fn headers(packets: &[Packet]) -> Vec<u32> {
    let mut pair = pair();
    packets
        .iter()
        .map(|packet| {
            assert_eq!(pair.send(packet, false), Some(true), "{packet:?}");
            pair.header(packet)
        })
        .collect()
}

#[test]
fn data_in_one_direction_takes_three_octets() {
    // Mask and checksum; the connection number comes with the first one only, uncompressed here.
    assert_eq!(headers(&[segment(0), segment(1), segment(2), segment(3)]), [40, 3, 3, 3]);
}

#[test]
fn changes_take_one_octet_up_to_255_and_three_beyond() {
    let data = |seq: u64, window: u32| Packet { seq, window, payload: 10, ..segment(0) };
    let packets = [
        data(1, 8000),
        data(256, 8000), // 255
        data(512, 8000), // 256
        data(512 + 65_535, 8000),
        data(512 + 65_536 + 65_535, 8000), // 65536 cannot be written
        data(512 + 65_536 + 65_545, 8000), // 10, the data of the last one
        data(512 + 65_536 + 65_546, 8255), // 1 and 255
        data(512 + 65_536 + 65_547, 8254), // 1 and -1
    ];
    assert_eq!(headers(&packets), [40, 4, 6, 6, 40, 3, 5, 7]);
    // Acknowledgements of 1000 bytes each.
    assert_eq!(headers(&[acknowledgement(0), acknowledgement(1), acknowledgement(2)]), [40, 6, 6]);
}

#[test]
fn echoed_typing_takes_three_octets() {
    // §3.2.3: both numbers grow by the data of the last packet.
    let typed = |n: u64| Packet { seq: 1 + n, ack: 7 + n, payload: 1, ..segment(0) };
    assert_eq!(headers(&[typed(0), typed(1), typed(2)]), [40, 3, 3]);
}

#[test]
fn retransmissions_duplicate_acks_and_options_are_sent_whole() {
    assert_eq!(headers(&[segment(5), segment(6), segment(5)]), [40, 3, 40]); // backwards
    assert_eq!(headers(&[segment(5), segment(5)]), [40, 40]); // without pipelining
    assert_eq!(headers(&[acknowledgement(5), acknowledgement(5)]), [40, 40]);
    // Data behind an acknowledgement with the same numbers is no retransmission.
    let bare = Packet { payload: 0, ..segment(0) };
    assert_eq!(headers(&[bare, segment(0), segment(1)]), [40, 3, 3]);
    let stamped = |n: u64, tick: u32| Packet { header: 52, timestamps: (tick, 1), ..segment(n) };
    assert_eq!(headers(&[stamped(0, 1), stamped(1, 1), stamped(2, 2)]), [52, 3, 52]);
}

#[test]
fn what_is_not_the_middle_of_a_connection_passes_unchanged() {
    let syn = Packet { flags: Flags::SYN, payload: 0, ..segment(0) };
    let fin = Packet { flags: Flags::FIN.with(Flags::ACK), ..segment(3) };
    assert_eq!(headers(&[syn, datagram(), segment(1), segment(2), fin]), [40, 28, 40, 3, 40]);
}

#[test]
fn the_connection_is_told_when_it_changes() {
    let other = |n: u64| Packet { flow: FlowId(1), ..segment(n) };
    assert_eq!(headers(&[segment(0), other(0), other(1), segment(1), segment(2)]), [40, 40, 3, 4, 3]);
    // With one slot each change of the connection costs a whole header.
    let mut pair = Pair::new(Compression::Rfc1144(Rfc1144Settings { slots: 1 }));
    for packet in [segment(0), other(0), segment(1)] {
        assert_eq!(pair.send(&packet, false), Some(true));
        assert_eq!(pair.header(&packet), 40);
    }
}

/// Section 4.1 and 4.2: everything after a lost packet is wrong until the retransmission.
#[test]
fn one_loss_costs_the_whole_window() {
    let mut pair = pair();
    for n in 0..5 {
        assert_eq!(pair.send(&segment(n), false), Some(true));
    }
    pair.send(&segment(5), true);
    for n in 6..20 {
        assert_eq!(pair.send(&segment(n), false), Some(false), "segment {n}");
    }
    // The timeout sends segment 5 again, whole; then all goes on.
    for n in 5..20 {
        assert_eq!(pair.send(&segment(n), false), Some(true), "segment {n}");
    }
    assert_eq!(pair.octets.iter().filter(|&&octets| octets == 1040).count(), 2);
}

#[test]
fn a_lost_acknowledgement_spoils_those_after_it_until_one_is_repeated() {
    let mut pair = pair();
    pair.send(&acknowledgement(0), false);
    pair.send(&acknowledgement(1), true);
    for n in 2..6 {
        assert_eq!(pair.send(&acknowledgement(n), false), Some(false));
    }
    // The sender times out, and the answer to what it repeats is a duplicate (§4.2).
    assert_eq!(pair.send(&acknowledgement(5), false), Some(true));
    assert_eq!(pair.send(&acknowledgement(6), false), Some(true));
}

#[test]
fn a_loss_at_a_change_of_the_connection_spoils_the_other_one() {
    let other = |n: u64| Packet { flow: FlowId(1), ..segment(n) };
    let mut pair = pair();
    for packet in [segment(0), other(0), segment(1)] {
        assert_eq!(pair.send(&packet, false), Some(true));
    }
    // The packet that tells of the other connection is lost; the next one is taken for the first connection's (§4.1).
    pair.send(&other(1), true);
    assert_eq!(pair.send(&other(2), false), Some(false));
    assert_eq!(pair.send(&segment(2), false), Some(false));
}

#[test]
fn packets_out_of_order_spoil_a_context_as_losses_do() {
    let mut pair = pair();
    pair.send(&segment(0), false);
    let [first, second] = [1, 2].map(|n| pair.compressor.compress(Default::default(), &segment(n)).form);
    // Segments of one size: the second is read as the first, whose turn comes then.
    assert!(!pair.decompressor.decompress(&segment(2), second).is_right);
    assert!(!pair.decompressor.decompress(&segment(1), first).is_right);
    assert_eq!(pair.send(&segment(3), false), Some(true));
}
