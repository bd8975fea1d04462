use super::*;
use crate::log::{log, log_of};
use pcap_file::pcapng::{Block, PcapNgReader};

fn row(n: u64) -> FactRow {
    let fact = Fact::new(FactKind::Drop, FlowId(3)).about(n, 40).values(n + 1, u64::MAX);
    FactRow::new(Time::from_nanos(n), 7, fact)
}

fn start(reader: LogReader) -> Writer {
    let ends = ["server".to_string(), "ue".to_string()];
    Writer::start(reader, &std::env::temp_dir(), &ends, "a test").unwrap()
}

/// Time and bytes of each packet of a capture.
fn packets(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut reader = PcapNgReader::new(bytes).unwrap();
    let mut found = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            found.push((packet.timestamp.as_nanos() as u64, packet.data.to_vec()));
        }
    }
    found
}

#[test]
fn facts_come_back_in_pieces() {
    let (mut log, reader) = log(true, false);
    let writer = start(reader);
    (0..10_000).for_each(|n| log.fact(row(n)));
    let (written, complaints) = writer.finish(&log.lost());
    assert_eq!(complaints, [""; 0]);
    let mut facts = written.facts.unwrap();
    let mut read = Vec::new();
    while facts.left() > 0 {
        read.extend(facts.next(3000).unwrap());
    }
    assert!(read.into_iter().eq((0..10_000).map(row)));
    assert!(facts.next(10).unwrap().is_empty());
}

#[test]
fn packets_reach_the_capture_of_their_end() {
    let (mut log, reader) = log(false, true);
    let writer = start(reader);
    for n in 0..1000_u64 {
        log.packet(Time::from_nanos(n), (n % 2) as u16, &vec![n as u8; n as usize]);
    }
    let (written, complaints) = writer.finish(&log.lost());
    assert_eq!(complaints, [""; 0]);
    for (place, (name, spool)) in written.captures.iter().enumerate() {
        assert_eq!(name, ["server", "ue"][place]);
        let expected = (place as u64..1000).step_by(2).map(|n| (n, vec![n as u8; n as usize]));
        assert_eq!(packets(&spool.contents().unwrap()), expected.collect::<Vec<_>>());
    }
}

#[test]
fn what_does_not_fit_the_rings_is_counted_and_said() {
    // Nobody reads until all is handed over.
    let (mut log, reader) = log_of(10, 1000);
    (0..15).for_each(|n| log.fact(row(n)));
    (0..15).for_each(|n| log.packet(Time::from_nanos(n), 0, &[0; 100]));
    assert_eq!((log.lost().facts(), log.lost().packets()), (5, 7));
    let (written, complaints) = start(reader).finish(&log.lost());
    assert_eq!(
        complaints,
        [
            "5 facts are missing: they came faster than they could be written",
            "7 captured packets are missing: they came faster than they could be written",
        ]
    );
    assert_eq!(written.facts.unwrap().left(), 10);
    assert_eq!(packets(&written.captures[0].1.contents().unwrap()).len(), 8);
}

#[test]
fn every_kind_of_fact_survives_the_file() {
    for &kind in FactKind::ALL {
        let row = FactRow::new(Time::MAX, u16::MAX, Fact::new(kind, FlowId::NONE).about(1, 2).values(3, 4));
        assert_eq!(from_bytes(&to_bytes(row)), row);
    }
}
