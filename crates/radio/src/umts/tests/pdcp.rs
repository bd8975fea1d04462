//! PDCP on a bearer: what headers cost, and what lost ones break.

use cellwind_engine::packet::{Flags, FlowId};

use super::*;
use crate::pdcp::settings::{Compression, PdcpSettings, Rfc1144Settings, Rfc2507Settings, RohcMode, RohcSettings};

/// Unacknowledged mode in both directions, of which the one down is dark from 1 s on for 100 ms.
fn with(compression: Compression) -> UmtsSettings {
    let mut settings = settings();
    settings.directions.down.rlc = RlcSettings::Um(UmSettings::default());
    settings.directions.up.rlc = RlcSettings::Um(UmSettings::default());
    settings.directions.down.errors = dark(1000, 100);
    settings.shared.pdcp = PdcpSettings { header: true, compression };
    settings
}

impl Bench {
    /// A segment each 50 ms from the `first` to before the `last`, each of 100 bytes.
    fn send_segments(&mut self, first: u64, last: u64) {
        for n in first..last {
            self.run_to(50 * n);
            let flags = Flags::ACK;
            let packet = Packet { seq: 1 + 100 * n, payload: 100, flags, flow: FlowId(0), ..Packet::EMPTY };
            self.umts.on_packet(self.now, Port(DOWN), &packet, &mut self.out);
            self.take();
        }
        self.run_to(50 * last);
    }

    /// The numbers of the segments that came.
    fn came(&self) -> Vec<u64> {
        assert!(self.left.iter().all(|&(_, port, _)| port == Stage::exit(DOWN).0), "nothing else leaves");
        self.left.iter().map(|&(.., seq)| seq / 100).collect()
    }
}

#[test]
fn the_header_and_the_compressed_ones_are_carried() {
    // 479 octets and a length indicator fill 12 PDUs of acknowledged mode; with the PDCP header they need another.
    for (header, sent) in [(false, 12), (true, 13)] {
        let mut settings = settings();
        settings.shared.pdcp.header = header;
        let mut bench = Bench::new(&settings);
        bench.send(DOWN, 0, 1, 479);
        bench.run_to(1000);
        assert_eq!((bench.umts.blocks(DOWN).sent, bench.left.len()), (sent, 1));
    }
    // 19 segments of 141 octets make 4 PDUs each, and of 104 octets 3: 41 octets of payload in a PDU of unacknowledged mode.
    let mut bench = Bench::new(&with(Compression::None));
    bench.send_segments(0, 19);
    let whole = bench.umts.blocks(DOWN).sent;
    let mut bench = Bench::new(&with(Compression::Rfc1144(Rfc1144Settings::default())));
    bench.send_segments(0, 19);
    assert_eq!((whole, bench.umts.blocks(DOWN).sent), (19 * 4, 4 + 18 * 3));
}

#[test]
fn with_rfc_1144_a_loss_spoils_all_that_follows_until_a_retransmission() {
    let mut bench = Bench::new(&with(Compression::Rfc1144(Rfc1144Settings::default())));
    bench.send_segments(0, 30);
    assert_eq!(bench.came(), (0..20).collect::<Vec<_>>());
    let traffic = bench.umts.traffic(DOWN);
    assert_eq!((traffic.packets_delivered, traffic.packets_dropped), (20, 10));
    // Segments 20 and 21 were lost; TCP sends the first of them again, whole, and goes on.
    bench.left.clear();
    bench.send(DOWN, 1500, 1, 0);
    let again = |n: u64| Packet { seq: 1 + 100 * n, payload: 100, flags: Flags::ACK, ..Packet::EMPTY };
    for n in [20, 21, 22] {
        bench.umts.on_packet(bench.now, Port(DOWN), &again(n), &mut bench.out);
    }
    bench.run_to(2000);
    assert_eq!(bench.came()[1..], [20, 21, 22]);
}

#[test]
fn with_rfc_2507_the_decompressor_asks_over_the_other_direction() {
    let mut bench = Bench::new(&with(Compression::Rfc2507(Rfc2507Settings::default())));
    bench.send_segments(0, 30);
    // Segments 20 and 21 are lost, which a difference tried twice does not repair. Segment 22 is discarded and asked about:
    // the request leaves in a TTI of 20 ms up, before segment 23 is compressed.
    assert_eq!(bench.came(), (0..20).chain(23..30).collect::<Vec<_>>());
    let up = bench.umts.traffic(UP);
    assert_eq!((up.packets_in, up.packets_delivered), (1, 1));
}

#[test]
fn feedback_is_not_handed_back() {
    let mut bench =
        Bench::new(&with(Compression::Rohc(RohcSettings { mode: RohcMode::Optimistic, ..RohcSettings::default() })));
    let packet = Packet { seq: 7, header: 28, payload: 32, flags: Flags::UDP, ..Packet::EMPTY };
    bench.umts.on_packet(bench.now, Port(DOWN), &packet, &mut bench.out);
    bench.run_to(10);
    // The packet has come, and its context is to be acknowledged.
    assert_eq!((bench.left.len(), bench.umts.traffic(UP).packets_in), (1, 1));
    bench.umts.flush(DOWN, bench.now, &mut bench.out);
    bench.umts.flush(UP, bench.now, &mut bench.out);
    bench.take();
    assert_eq!(bench.left.len(), 1);
    bench.umts.check().unwrap();
    // A new beginning: both ends without contexts.
    bench.umts.on_packet(bench.now, Port(DOWN), &packet, &mut bench.out);
    bench.run_to(100);
    assert_eq!((bench.left.len(), bench.umts.traffic(UP).packets_delivered), (2, 1));
}
