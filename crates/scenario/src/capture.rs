//! Packet captures in pcapng, as Wireshark and tcptrace read them; [`read`] reads such files, and others.
//!
//! IPv4 (RFC 791) and TCP (RFC 9293) headers are written with right checksums; the payload counts as
//! zeros and is cut off, so that a file holds headers only and the original length tells the rest.
//! Options follow RFC 2018 and RFC 2883 (SACK) and RFC 7323 (window scale, timestamps). Each flow has its
//! own pair of addresses and ports, and sequence numbers start from zero at its SYN.

mod frame;
pub mod read;

use std::borrow::Cow;
use std::time::Duration;

use cellwind_engine::packet::{Flags, Packet};
use cellwind_engine::time::Time;
use cellwind_transport::tcp::receiver::scale_for;
use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};
use pcap_file::pcapng::PcapNgBlock;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness};

/// The two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The server in the wired network.
    Server,
    /// The terminal behind the radio link.
    Terminal,
}

/// A packet seen at a capture point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// When it passed.
    pub at: Time,
    /// Which end sent it.
    pub from: End,
    /// The packet.
    pub packet: Packet,
}

/// What a capture has to know of a flow besides its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEnds {
    /// The terminal's number within the scenario, from zero.
    pub terminal: u16,
    /// The segment size that both ends announce in their SYN.
    pub mss: u16,
    /// Whether both ends announce a window scale in their SYN; if not, windows end at 65535 bytes.
    pub window_scaling: bool,
    /// What its headers are.
    pub transport: Transport,
}

/// The header behind that of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP (RFC 9293).
    Tcp,
    /// UDP (RFC 768).
    Udp,
}

/// The longest IPv4 header without options and the longest TCP header.
const SNAP_LENGTH: u32 = 20 + 60;
const TIME_TO_LIVE: u8 = 64;
const SERVER: [u8; 4] = [10, 0, 0, 1];
const SERVER_PORT: u16 = 80;
/// RFC 6335 §6: the first dynamic port; the 16 384 of them tell the flows of a terminal apart.
const FIRST_DYNAMIC_PORT: u16 = 49_152;
/// RFC 6335 §6: the first user port; those up to the dynamic ones serve when there are more connections.
const FIRST_USER_PORT: u16 = 1024;
/// IPv4 header without options and that of UDP (RFC 791 §3.1, RFC 768).
const UDP_HEADER: u16 = 28;
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Writes `packets`, in the order given, as a pcapng file with one interface of the given name.
///
/// `flows` is indexed by flow number. Timestamps are nanoseconds since the start of the run. A header that
/// the scenario makes longer than its options is filled up with no-operations; one that it makes shorter
/// is written at the length its options need.
///
/// # Panics
///
/// When a packet's flow is not in `flows`, or a segment is longer than an IPv4 packet can be.
pub fn pcapng(interface: &str, flows: &[FlowEnds], packets: &[Captured]) -> Vec<u8> {
    let scales = window_scales(flows, packets);
    let section = SectionHeaderBlock {
        endianness: Endianness::Little,
        options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed("cellwind"))],
        ..Default::default()
    };
    let interface = InterfaceDescriptionBlock {
        linktype: DataLink::RAW,
        snaplen: SNAP_LENGTH,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed(interface)),
            // Ten to the power of minus nine: the unit of all timestamps.
            InterfaceDescriptionOption::IfTsResol(9),
        ],
    };
    let memory = "writing to memory does not fail";
    let mut writer = PcapNgWriter::with_section_header(Vec::new(), section).expect(memory);
    writer.write_block(&interface.into_owned().into_block()).expect(memory);
    for captured in packets {
        let flow = usize::from(captured.packet.flow.0);
        let (header, original_len) = headers(captured, flows[flow], flows.len(), scales[flow]);
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(captured.at.as_nanos()),
            original_len,
            data: Cow::Owned(header),
            options: Vec::new(),
        };
        writer.write_block(&block.into_block()).expect(memory);
    }
    writer.into_inner()
}

/// The shifts that the ends of a flow announce: server's, terminal's.
#[derive(Clone, Copy, Default)]
struct WindowScales {
    server: u8,
    terminal: u8,
}

impl WindowScales {
    fn of(&self, end: End) -> u8 {
        match end {
            End::Server => self.server,
            End::Terminal => self.terminal,
        }
    }
}

/// The smallest shift per flow and end that lets the largest window it advertises fit 16 bits.
fn window_scales(flows: &[FlowEnds], packets: &[Captured]) -> Vec<WindowScales> {
    let mut scales = vec![WindowScales::default(); flows.len()];
    let scaled = |captured: &&Captured| flows[usize::from(captured.packet.flow.0)].window_scaling;
    for Captured { from, packet, .. } in packets.iter().filter(scaled) {
        let shift = scale_for(u64::from(packet.window)) as u8;
        let scales = &mut scales[usize::from(packet.flow.0)];
        match from {
            End::Server => scales.server = scales.server.max(shift),
            End::Terminal => scales.terminal = scales.terminal.max(shift),
        }
    }
    scales
}

/// The bytes of the IPv4 and TCP headers, and the packet's length with its payload.
fn headers(captured: &Captured, flow: FlowEnds, flows: usize, scales: WindowScales) -> (Vec<u8>, u32) {
    let Captured { from, packet, .. } = captured;
    let terminal_port = terminal_port(packet, flows);
    let terminal = terminal_address(flow.terminal);
    let (source, source_port, destination, destination_port) = match from {
        End::Server => (SERVER, SERVER_PORT, terminal, terminal_port),
        End::Terminal => (terminal, terminal_port, SERVER, SERVER_PORT),
    };

    // RFC 6864 §4.1 leaves it free where nothing is fragmented: here it tells the transmissions of a segment apart, and
    // the ACKs with one number by what they answer, the same at both ends.
    let is_ack = flow.transport == Transport::Tcp && !packet.occupies_sequence_space();
    let identification = if is_ack { packet.answers } else { packet.number } as u16;
    if flow.transport == Transport::Udp {
        // What the header has beyond those of IPv4 and UDP is data to UDP.
        let length = packet.payload as usize + usize::from(packet.header.saturating_sub(UDP_HEADER));
        let udp = UdpHeader::without_ipv4_checksum(source_port, destination_port, length);
        let udp = udp.expect("a packet fits an IPv4 packet"); // validation bounds it
        let mut ip =
            Ipv4Header::new(0, TIME_TO_LIVE, IpNumber::UDP, source, destination).expect("an empty payload fits");
        ip.set_payload_len(UdpHeader::LEN + length).expect("a packet fits an IPv4 packet");
        ip.identification = identification;
        ip.header_checksum = ip.calc_header_checksum();
        let bytes = [&ip.to_bytes()[..], &udp.to_bytes()].concat();
        return (bytes, u32::from(ip.total_len));
    }
    let syn = packet.flags.has(Flags::SYN);
    // RFC 7323 §2.2: the window of a SYN is never scaled.
    let shift = if syn { 0 } else { scales.of(*from) };
    let window = u16::try_from(packet.window >> shift).unwrap_or(u16::MAX);
    let mut tcp = TcpHeader::new(source_port, destination_port, packet.seq as u32, window);
    tcp.syn = syn;
    tcp.fin = packet.flags.has(Flags::FIN);
    (tcp.ece, tcp.cwr) = (packet.flags.has(Flags::ECE), packet.flags.has(Flags::CWR));
    if packet.flags.has(Flags::ACK) {
        tcp.ack = true;
        tcp.acknowledgment_number = packet.ack as u32;
    }
    tcp.set_options(&options(packet, flow, scales.of(*from)))
        .expect("options are laid out to fit the forty bytes there are");

    let payload = ZEROS.get(..packet.payload as usize).expect("a segment fits an IPv4 packet");
    let mut ip = Ipv4Header::new(0, TIME_TO_LIVE, IpNumber::TCP, source, destination).expect("an empty payload fits");
    ip.set_payload_len(tcp.header_len() + payload.len()).expect("a segment fits an IPv4 packet");
    ip.identification = identification;
    // RFC 3168 §5: ECT(0) is 2, CE is 3.
    ip.ecn = match (packet.flags.has(Flags::ECT), packet.flags.has(Flags::CE)) {
        (false, _) => IpEcn::ZERO,
        (true, false) => IpEcn::TWO,
        (true, true) => IpEcn::THREE,
    };
    ip.header_checksum = ip.calc_header_checksum();
    tcp.checksum = tcp.calc_checksum_ipv4(&ip, payload).expect("a segment fits an IPv4 packet");

    let mut bytes = Vec::with_capacity(ip.header_len() + tcp.header_len());
    bytes.extend_from_slice(&ip.to_bytes());
    bytes.extend_from_slice(&tcp.to_bytes());
    (bytes, u32::from(ip.total_len))
}

/// A port of its own for each connection of each flow, as far as there are ports: the first connection of each flow
/// first.
fn terminal_port(packet: &Packet, flows: usize) -> u16 {
    let place = usize::from(packet.flow.0) + usize::from(packet.connection) * flows.max(1);
    let dynamic = usize::from(u16::MAX - FIRST_DYNAMIC_PORT) + 1;
    if place < dynamic {
        FIRST_DYNAMIC_PORT + place as u16
    } else {
        FIRST_USER_PORT + ((place - dynamic) % usize::from(FIRST_DYNAMIC_PORT - FIRST_USER_PORT)) as u16
    }
}

/// 10.1.0.1 for the first terminal.
fn terminal_address(terminal: u16) -> [u8; 4] {
    let [high, low] = terminal.wrapping_add(1).to_be_bytes();
    [10, 1, high, low]
}

/// The TCP options of a packet, each word aligned, filled up to the header length of the model.
fn options(packet: &Packet, flow: FlowEnds, window_scale: u8) -> Vec<TcpOptionElement> {
    use TcpOptionElement::*;
    let mut options = Vec::with_capacity(16);
    let mut length = 0;
    let mut push = |bytes: u16, elements: &[TcpOptionElement]| {
        options.extend_from_slice(elements);
        length += bytes;
    };

    let (value, echo) = packet.timestamps;
    if packet.flags.has(Flags::SYN) {
        push(4, &[MaximumSegmentSize(flow.mss)]);
        if flow.window_scaling {
            push(4, &[Noop, WindowScale(window_scale)]);
        }
    }
    match (packet.flags.has(Flags::SACK_PERMITTED), packet.flags.has(Flags::TIMESTAMPS)) {
        // Both fill three words, as RFC 7323 appendix A lays them out.
        (true, true) => push(12, &[SelectiveAcknowledgementPermitted, Timestamp(value, echo)]),
        (true, false) => push(4, &[Noop, Noop, SelectiveAcknowledgementPermitted]),
        (false, true) => push(12, &[Noop, Noop, Timestamp(value, echo)]),
        (false, false) => {}
    }
    // RFC 2018 §3: with timestamps only three blocks fit.
    let room = if packet.flags.has(Flags::TIMESTAMPS) { 3 } else { 4 };
    let mut blocks = packet.sack.iter(packet.ack).take(room).map(|(start, end)| (start as u32, end as u32));
    if let Some(first) = blocks.next() {
        let rest = [blocks.next(), blocks.next(), blocks.next()];
        let count = 1 + rest.iter().flatten().count() as u16;
        push(4 + 8 * count, &[Noop, Noop, SelectiveAcknowledgement(first, rest)]);
    }

    // Twenty bytes of IPv4 and twenty of TCP come before the options, of which there are at most forty.
    let modelled = packet.header.saturating_sub(40).min(40);
    options.extend((length..modelled).map(|_| Noop));
    options
}

#[cfg(test)]
mod tests;
