//! Reads captures: pcapng (draft-ietf-opsawg-pcapng) and the older pcap (draft-ietf-opsawg-pcap).
//!
//! The file goes by in one pass and only columns of numbers stay, some 60 bytes per packet. Blocks are read here and
//! not by the crate that writes them: it takes every timestamp for nanoseconds, and does not say where a file is
//! damaged. Whatever the bytes are, reading ends with the packets before the damage and its place.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::net::IpAddr;

use indexmap::IndexSet;

pub use super::frame::Ignored;
use super::frame::{self, Frame, Link, MOST_BLOCKS};

/// One row per packet, in the order of the file. Columns have the same length, but for those of SACK blocks.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// Nanoseconds since the epoch of the capture: 1970, or the start of a run of cellwind.
    pub time_ns: Vec<i64>,
    /// Sender, as an index into the endpoints.
    pub source: Vec<u32>,
    /// Receiver, as an index into the endpoints.
    pub target: Vec<u32>,
    /// Port of the sender; 0 where the protocol has none.
    pub source_port: Vec<u16>,
    /// Port of the receiver.
    pub target_port: Vec<u16>,
    /// IP protocol number.
    pub protocol: Vec<u8>,
    /// Bytes of the IP packet, headers included.
    pub ip_length: Vec<u32>,
    /// Identification of an IPv4 packet; 0 in IPv6.
    pub ip_id: Vec<u16>,
    /// ECN field of the IP header: 3 is a mark of congestion.
    pub ecn: Vec<u8>,
    /// Bytes behind the headers.
    pub payload: Vec<u32>,
    /// TCP flags, FIN lowest; this and the following columns are 0 for other protocols.
    pub flags: Vec<u8>,
    /// Sequence number.
    pub seq: Vec<u32>,
    /// Acknowledgement number.
    pub ack: Vec<u32>,
    /// Window as it stands in the header.
    pub window: Vec<u16>,
    /// Which options there are, as a sum of [`HAS_TIMESTAMPS`] and its like.
    pub options: Vec<u8>,
    /// Maximum segment size.
    pub mss: Vec<u16>,
    /// Window scale.
    pub window_scale: Vec<u8>,
    /// Timestamp value.
    pub tsval: Vec<u32>,
    /// Timestamp echo reply.
    pub tsecr: Vec<u32>,
    /// Of each SACK block, the row of its packet; blocks of a packet follow each other in the order of the option.
    pub sack_row: Vec<u32>,
    /// First sequence number of each SACK block.
    pub sack_start: Vec<u32>,
    /// Sequence number after the last of each SACK block.
    pub sack_end: Vec<u32>,
}

/// The packet has the timestamps option.
pub const HAS_TIMESTAMPS: u8 = 1;
/// The packet has the option of the maximum segment size.
pub const HAS_MSS: u8 = 2;
/// The packet has the window scale option.
pub const HAS_WINDOW_SCALE: u8 = 4;
/// The packet has the SACK-permitted option.
pub const HAS_SACK_PERMITTED: u8 = 8;

/// Reads one file; what was read stays in `columns` and `endpoints` whatever comes after it.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    /// Bytes of the file before the next block.
    offset: u64,
    format: Format,
    buffer: Vec<u8>,
    /// The packets.
    pub columns: Columns,
    /// The addresses.
    pub endpoints: IndexSet<IpAddr>,
    /// How many frames were passed over, and why.
    pub ignored: BTreeMap<Ignored, u64>,
}

#[derive(Clone, Debug)]
enum Format {
    PcapNg { order: Order, interfaces: Vec<Interface> },
    Pcap { order: Order, ticks_per_s: u32, link: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

/// What a packet has to know of the interface where it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interface {
    link: u32,
    snap_length: u32,
    /// The `if_tsresol` option.
    resolution: u8,
    /// The `if_tsoffset` option, in seconds.
    offset_s: i64,
}

/// Why a file yields no more packets.
#[derive(Debug)]
pub enum ReadError {
    /// It does not begin like a capture.
    NotACapture,
    /// It is broken from here on.
    Damaged {
        /// First byte of the block that is broken, from the start of the file.
        offset: u64,
        /// Packets read before it.
        packets: u64,
        /// What is wrong.
        what: String,
    },
    /// The system could not read it.
    Io(io::Error),
}

/// No packet comes near this length; blocks of other kinds may have any.
const LONGEST_PACKET: u32 = 16 << 20;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

impl<R: BufRead> Reader<R> {
    /// Looks at the beginning of a file.
    pub fn new(mut input: R) -> Result<Self, ReadError> {
        let start = input.fill_buf()?;
        let mut magic = [0; 4];
        // A file may give its first bytes one by one.
        let format = match start.first() {
            Some(0x0a) => Format::PcapNg { order: Order::Little, interfaces: Vec::new() },
            Some(_) => {
                input.read_exact(&mut magic).map_err(not_a_capture)?;
                pcap_header(magic, &mut input)?
            }
            None => return Err(ReadError::NotACapture),
        };
        let offset = if matches!(format, Format::Pcap { .. }) { 24 } else { 0 };
        let mut reader = Reader {
            input,
            offset,
            format,
            buffer: Vec::new(),
            columns: Columns::default(),
            endpoints: IndexSet::new(),
            ignored: BTreeMap::new(),
        };
        if offset == 0 {
            // Only a section header may come first.
            match reader.read_blocks(1) {
                Ok(_) if matches!(&reader.format, Format::PcapNg { .. }) && reader.offset > 0 => {}
                Ok(_) | Err(ReadError::Damaged { .. }) => return Err(ReadError::NotACapture),
                Err(error) => return Err(error),
            }
        }
        Ok(reader)
    }

    /// Reads on for `most` blocks or packets; false at the end of the file.
    pub fn read_blocks(&mut self, most: usize) -> Result<bool, ReadError> {
        for _ in 0..most {
            let more = match self.format {
                Format::PcapNg { .. } => self.read_block()?,
                Format::Pcap { order, ticks_per_s, link } => self.read_record(order, ticks_per_s, link)?,
            };
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Packets read so far.
    pub fn packets(&self) -> u64 {
        self.columns.time_ns.len() as u64
    }

    fn read_block(&mut self) -> Result<bool, ReadError> {
        let Some(head) = self.head::<8>()? else { return Ok(false) };
        let Format::PcapNg { order, .. } = self.format else { unreachable!("called for pcapng only") };
        // The type of a section header reads the same in both byte orders, and its body says which one holds.
        if head[..4] == SECTION_HEADER.to_be_bytes() {
            self.read_section(head)?;
            return Ok(true);
        }
        if self.offset == 0 {
            return Err(ReadError::NotACapture);
        }
        let kind = order.u32(&head, 0).unwrap_or_default();
        let length = order.u32(&head, 4).unwrap_or_default();
        let is_packet = matches!(kind, OBSOLETE_PACKET | SIMPLE_PACKET | ENHANCED_PACKET);
        let is_read = is_packet || kind == INTERFACE_DESCRIPTION;
        self.read_body(length, 8, order, is_read)?;
        let body = std::mem::take(&mut self.buffer);
        let done = match kind {
            INTERFACE_DESCRIPTION => self.on_interface(&body, order),
            OBSOLETE_PACKET | ENHANCED_PACKET => self.on_packet(&body, kind, order),
            SIMPLE_PACKET => {
                self.pass_over(Ignored::NoTime);
                Ok(())
            }
            _ => Ok(()),
        };
        self.buffer = body;
        done.map_err(|what| self.damaged(what))?;
        self.offset += u64::from(length);
        Ok(true)
    }

    fn read_section(&mut self, head: [u8; 8]) -> Result<(), ReadError> {
        let mut magic = [0; 4];
        self.input.read_exact(&mut magic).map_err(|error| self.cut_off(error))?;
        let order = match magic {
            [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
            [0x1a, 0x2b, 0x3c, 0x4d] => Order::Big,
            _ => return Err(self.damaged("the section header has no byte-order magic".into())),
        };
        let length = order.u32(&head, 4).unwrap_or_default();
        self.read_body(length, 12, order, true)?;
        let major = order.u16(&self.buffer, 0).ok_or_else(|| self.damaged("the section header is too short".into()))?;
        if major != 1 {
            return Err(self.damaged(format!("version {major} of pcapng is not known")));
        }
        self.format = Format::PcapNg { order, interfaces: Vec::new() };
        self.offset += u64::from(length);
        Ok(())
    }

    /// Reads what is left of a block of `length` bytes of which `read` are read, into the buffer when `kept`.
    fn read_body(&mut self, length: u32, read: u32, order: Order, kept: bool) -> Result<(), ReadError> {
        if length < read + 4 || !length.is_multiple_of(4) || (kept && length > LONGEST_PACKET) {
            return Err(self.damaged(format!("a block cannot be {length} bytes long")));
        }
        let body = u64::from(length - read - 4);
        self.buffer.clear();
        let mut rest = (&mut self.input).take(body);
        let had = if kept { rest.read_to_end(&mut self.buffer)? as u64 } else { io::copy(&mut rest, &mut io::sink())? };
        if had < body {
            return Err(self.cut_off(io::ErrorKind::UnexpectedEof.into()));
        }
        let mut trailer = [0; 4];
        self.input.read_exact(&mut trailer).map_err(|error| self.cut_off(error))?;
        match order.u32(&trailer, 0) {
            Some(again) if again == length => Ok(()),
            again => {
                let again = again.unwrap_or_default();
                Err(self.damaged(format!("a block begins with length {length} and ends with length {again}")))
            }
        }
    }

    fn on_interface(&mut self, body: &[u8], order: Order) -> Result<(), String> {
        let read = || Some((order.u16(body, 0)?, order.u32(body, 4)?));
        let (link, snap_length) = read().ok_or("an interface description is too short")?;
        let mut interface = Interface { link: u32::from(link), snap_length, resolution: 6, offset_s: 0 };
        let mut rest = &body[8..];
        while let Some((code, length)) = order.u16(rest, 0).zip(order.u16(rest, 2)) {
            let length = usize::from(length);
            let Some(value) = rest.get(4..4 + length).filter(|_| code != 0) else { break };
            match (code, value) {
                (9, &[resolution]) => interface.resolution = resolution,
                (14, value) if length == 8 => interface.offset_s = order.u64(value, 0).unwrap_or_default() as i64,
                _ => {}
            }
            rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        if let Format::PcapNg { interfaces, .. } = &mut self.format {
            interfaces.push(interface);
        }
        Ok(())
    }

    /// The enhanced packet block, and the packet block it replaced.
    fn on_packet(&mut self, body: &[u8], kind: u32, order: Order) -> Result<(), String> {
        let read = || {
            let number = if kind == ENHANCED_PACKET { order.u32(body, 0)? } else { order.u16(body, 0)?.into() };
            let ticks = u64::from(order.u32(body, 4)?) << 32 | u64::from(order.u32(body, 8)?);
            Some((number, ticks, order.u32(body, 12)?, order.u32(body, 16)?))
        };
        let (number, ticks, kept, original) = read().ok_or("a packet block is too short")?;
        let Format::PcapNg { interfaces, .. } = &self.format else { unreachable!("called for pcapng only") };
        let Some(&interface) = interfaces.get(number as usize) else {
            return Err(format!("a packet names interface {number} of {}", interfaces.len()));
        };
        let bytes = body[20..].get(..kept as usize).ok_or("a packet is longer than its block")?;
        let time = interface.time_ns(ticks).ok_or("a time is out of range")?;
        // Writers that forget the original length wrote the whole packet.
        let original = if interface.snap_length == 0 || original == 0 { original.max(kept) } else { original };
        self.on_frame(interface.link, time, bytes, original);
        Ok(())
    }

    fn read_record(&mut self, order: Order, ticks_per_s: u32, link: u32) -> Result<bool, ReadError> {
        let Some(head) = self.head::<16>()? else { return Ok(false) };
        let field = |place: usize| order.u32(&head, 4 * place).unwrap_or_default();
        let [seconds, ticks, kept, original] = [0, 1, 2, 3].map(field);
        if kept > LONGEST_PACKET || ticks >= ticks_per_s {
            let what =
                format!("a packet cannot have {kept} bytes and a time of {seconds} s and {ticks}/{ticks_per_s} s");
            return Err(self.damaged(what));
        }
        self.buffer.clear();
        if (&mut self.input).take(u64::from(kept)).read_to_end(&mut self.buffer)? < kept as usize {
            return Err(self.cut_off(io::ErrorKind::UnexpectedEof.into()));
        }
        let time = i64::from(seconds) * 1_000_000_000 + i64::from(ticks) * i64::from(1_000_000_000 / ticks_per_s);
        let bytes = std::mem::take(&mut self.buffer);
        self.on_frame(link, time, &bytes, original.max(kept));
        self.buffer = bytes;
        self.offset += 16 + u64::from(kept);
        Ok(true)
    }

    /// The first `N` bytes of the next block; none at the end of the file.
    fn head<const N: usize>(&mut self) -> Result<Option<[u8; N]>, ReadError> {
        if self.input.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut head = [0; N];
        self.input.read_exact(&mut head).map_err(|error| self.cut_off(error))?;
        Ok(Some(head))
    }

    fn on_frame(&mut self, link: u32, time_ns: i64, bytes: &[u8], original: u32) {
        let Some(link) = Link::of(link) else {
            return self.pass_over(Ignored::LinkType(link));
        };
        match frame::decode(link, bytes, original) {
            Ok(frame) => {
                let source = self.endpoints.insert_full(frame.source).0 as u32;
                let target = self.endpoints.insert_full(frame.target).0 as u32;
                self.columns.push(time_ns, source, target, &frame);
            }
            Err(ignored) => self.pass_over(ignored),
        }
    }

    fn pass_over(&mut self, why: Ignored) {
        *self.ignored.entry(why).or_default() += 1;
    }

    fn damaged(&self, what: String) -> ReadError {
        ReadError::Damaged { offset: self.offset, packets: self.packets(), what }
    }

    fn cut_off(&self, error: io::Error) -> ReadError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged("the file ends in the middle of it".into()),
            _ => ReadError::Io(error),
        }
    }
}

/// The rest of the header of a pcap file that begins with `magic`.
fn pcap_header(magic: [u8; 4], input: &mut impl Read) -> Result<Format, ReadError> {
    let (order, ticks_per_s) = match magic {
        [0xd4, 0xc3, 0xb2, 0xa1] => (Order::Little, 1_000_000),
        [0xa1, 0xb2, 0xc3, 0xd4] => (Order::Big, 1_000_000),
        [0x4d, 0x3c, 0xb2, 0xa1] => (Order::Little, 1_000_000_000),
        [0xa1, 0xb2, 0x3c, 0x4d] => (Order::Big, 1_000_000_000),
        _ => return Err(ReadError::NotACapture),
    };
    let mut rest = [0; 20];
    input.read_exact(&mut rest).map_err(not_a_capture)?;
    // The upper bits tell of checksums behind the frames, which lengths from the IP header leave out.
    let link = order.u32(&rest, 16).unwrap_or_default() & 0xffff;
    Ok(Format::Pcap { order, ticks_per_s, link })
}

fn not_a_capture(error: io::Error) -> ReadError {
    if error.kind() == io::ErrorKind::UnexpectedEof { ReadError::NotACapture } else { ReadError::Io(error) }
}

impl Interface {
    /// Nanoseconds of a timestamp; none beyond what 64 bits hold.
    fn time_ns(&self, ticks: u64) -> Option<i64> {
        let ticks = u128::from(ticks);
        let power = u32::from(self.resolution & 0x7f);
        let nanos = if self.resolution & 0x80 != 0 {
            (ticks * 1_000_000_000) >> power.min(127)
        } else if power <= 9 {
            ticks * u128::from(10u32.pow(9 - power))
        } else {
            ticks / 10u128.checked_pow(power - 9).unwrap_or(u128::MAX)
        };
        let offset = i128::from(self.offset_s) * 1_000_000_000;
        i64::try_from(i128::try_from(nanos).ok()? + offset).ok()
    }
}

impl Columns {
    fn push(&mut self, time_ns: i64, source: u32, target: u32, frame: &Frame) {
        let row = self.time_ns.len() as u32;
        self.time_ns.push(time_ns);
        self.source.push(source);
        self.target.push(target);
        self.source_port.push(frame.ports.0);
        self.target_port.push(frame.ports.1);
        self.protocol.push(frame.protocol);
        self.ip_length.push(frame.ip_length);
        self.ip_id.push(frame.ip_id);
        self.ecn.push(frame.ecn);
        self.payload.push(frame.payload);
        let tcp = frame.tcp.unwrap_or_default();
        self.flags.push(tcp.flags);
        self.seq.push(tcp.seq);
        self.ack.push(tcp.ack);
        self.window.push(tcp.window);
        let options = [
            (tcp.timestamps.is_some(), HAS_TIMESTAMPS),
            (tcp.mss.is_some(), HAS_MSS),
            (tcp.window_scale.is_some(), HAS_WINDOW_SCALE),
            (tcp.sack_permitted, HAS_SACK_PERMITTED),
        ];
        self.options.push(options.iter().filter(|(has, _)| *has).map(|(_, bit)| bit).sum());
        self.mss.push(tcp.mss.unwrap_or_default());
        self.window_scale.push(tcp.window_scale.unwrap_or_default());
        let (value, echo) = tcp.timestamps.unwrap_or_default();
        self.tsval.push(value);
        self.tsecr.push(echo);
        for (start, end) in &tcp.sack[..usize::from(tcp.blocks).min(MOST_BLOCKS)] {
            self.sack_row.push(row);
            self.sack_start.push(*start);
            self.sack_end.push(*end);
        }
    }
}

impl Order {
    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(if self == Order::Little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(if self == Order::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(if self == Order::Little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        ReadError::Io(error)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::NotACapture => f.write_str("not a capture: expected a pcapng or pcap file"),
            ReadError::Damaged { offset, packets, what } => {
                write!(f, "damaged in the block at byte {offset}, after {packets} packets: {what}")
            }
            ReadError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

#[cfg(test)]
mod tests;
