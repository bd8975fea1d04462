//! The writer: takes facts and packets from the rings to files, on a thread of its own.
//!
//! Packets go to one pcapng file per end, stamped with the path's own time: nanoseconds since the start of the run.
//! A disk that is full stops a file, never the emulation; the file ends behind a whole record, and it is said.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use cellwind_engine::fact::{Fact, FactKind, FactRow};
use cellwind_engine::packet::FlowId;
use cellwind_engine::time::Time;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness};

use crate::log::{LogReader, Lost, PacketHeader};
use crate::spool::Spool;

/// How long the rings fill up between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// The thread that writes.
pub struct Writer {
    thread: JoinHandle<Written>,
    shared: Arc<Shared>,
}

/// What the writer left behind.
#[derive(Debug, Default)]
pub struct Written {
    /// The facts, if they were wanted.
    pub facts: Option<FactFile>,
    /// Name of the end, and its capture in pcapng.
    pub captures: Vec<(String, Spool)>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    complaints: Mutex<Vec<String>>,
}

impl Shared {
    fn complaints(&self) -> MutexGuard<'_, Vec<String>> {
        self.complaints.lock().expect("no holder panics")
    }
}

impl Writer {
    /// Starts to write what comes out of `reader` to files without a name in `directory`; packets at the ends of
    /// the given names.
    ///
    /// `about` says, in each capture, which run it is of.
    pub fn start(reader: LogReader, directory: &Path, ends: &[String], about: &str) -> io::Result<Self> {
        let mut job = Job { reader, facts: None, captures: Vec::new(), shared: Arc::default() };
        if job.reader.facts.is_some() {
            job.facts = Some(FactFile::new(Spool::create(directory)?));
        }
        if job.reader.packets.is_some() {
            for end in ends {
                job.captures.push(Capture::new(end, Spool::create(directory)?, about));
            }
        }
        let shared = Arc::clone(&job.shared);
        let thread = std::thread::Builder::new().name("cellwind-writer".into()).spawn(move || job.run())?;
        Ok(Writer { thread, shared })
    }

    /// What went wrong so far.
    pub fn complaints(&self) -> Vec<String> {
        self.shared.complaints().clone()
    }

    /// Writes what is still in the rings and ends. `lost` tells what never got there.
    pub fn finish(self, lost: &Lost) -> (Written, Vec<String>) {
        self.shared.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let mut written = self.thread.join().unwrap_or_else(|_| {
            self.shared.complaints().push("the writer thread failed; facts and captures are lost".into());
            Written::default()
        });
        if let Some(facts) = &mut written.facts {
            facts.rewind();
        }
        let mut complaints = std::mem::take(&mut *self.shared.complaints());
        for (count, what) in [(lost.facts(), "facts"), (lost.packets(), "captured packets")] {
            if count > 0 {
                complaints.push(format!("{count} {what} are missing: they came faster than they could be written"));
            }
        }
        (written, complaints)
    }
}

struct Job {
    reader: LogReader,
    facts: Option<FactFile>,
    captures: Vec<Capture>,
    shared: Arc<Shared>,
}

impl Job {
    fn run(mut self) -> Written {
        loop {
            // Looked at first, so that everything handed over before the call to stop is still found.
            let is_last = self.shared.stop.load(Ordering::Acquire);
            self.drain_facts();
            self.drain_packets();
            if is_last {
                break;
            }
            std::thread::park_timeout(BETWEEN_LOOKS);
        }
        if let Some(facts) = &mut self.facts {
            let flushed = facts.spool.flush();
            tell(&self.shared, flushed, "facts");
        }
        for capture in &mut self.captures {
            let flushed = capture.flush();
            tell(&self.shared, flushed, &capture.what);
        }
        let captures = self.captures.into_iter().map(|capture| (capture.end, capture.spool)).collect();
        Written { facts: self.facts, captures }
    }

    fn drain_facts(&mut self) {
        let (Some(ring), Some(facts)) = (&mut self.reader.facts, &mut self.facts) else { return };
        let waiting = ring.slots();
        for row in ring.read_chunk(waiting).expect("so many wait") {
            let appended = facts.spool.append(&to_bytes(row));
            tell(&self.shared, appended, "facts");
        }
    }

    fn drain_packets(&mut self) {
        let Some(ring) = &mut self.reader.packets else { return };
        let mut header = [0; PacketHeader::SIZE];
        let mut packet = Vec::new();
        while ring.pop_entire_slice(&mut header).is_ok() {
            let PacketHeader { time, end, length } = PacketHeader::from_bytes(&header);
            packet.resize(length as usize, 0);
            while ring.pop_entire_slice(&mut packet).is_err() {
                std::hint::spin_loop(); // the timing thread is between its header and its bytes
            }
            let capture = &mut self.captures[usize::from(end)];
            let appended = capture.append(time, &packet);
            tell(&self.shared, appended, &capture.what);
        }
    }
}

/// A write that failed is said.
fn tell(shared: &Shared, result: io::Result<()>, what: &str) {
    if let Err(error) = result {
        shared.complaints().push(format!("{what} end early: {error}"));
    }
}

/// A pcapng file that grows by whole blocks.
struct Capture {
    end: String,
    /// What a complaint calls it.
    what: String,
    writer: PcapNgWriter<Vec<u8>>,
    spool: Spool,
}

impl Capture {
    fn new(end: &str, spool: Spool, about: &str) -> Self {
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![
                SectionHeaderOption::UserApplication(Cow::Borrowed("cellwind")),
                SectionHeaderOption::Comment(Cow::Owned(about.to_string())),
            ],
            ..Default::default()
        };
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: 0, // packets are whole
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Owned(end.to_string())),
                // Ten to the power of minus nine: the unit of all timestamps.
                InterfaceDescriptionOption::IfTsResol(9),
            ],
        };
        let memory = "writing to memory does not fail";
        let mut writer = PcapNgWriter::with_section_header(Vec::new(), section).expect(memory);
        writer.write_block(&interface.into_block()).expect(memory);
        Capture { end: end.into(), what: format!("packets captured at {end}"), writer, spool }
    }

    fn append(&mut self, time: Time, packet: &[u8]) -> io::Result<()> {
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(time.as_nanos()),
            original_len: packet.len() as u32,
            data: Cow::Borrowed(packet),
            options: Vec::new(),
        };
        self.writer.write_block(&block.into_block()).expect("writing to memory does not fail");
        self.pass_on()
    }

    /// Hands whole blocks to the file.
    fn pass_on(&mut self) -> io::Result<()> {
        let blocks = self.writer.get_mut();
        let appended = self.spool.append(blocks);
        blocks.clear();
        appended
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass_on()?;
        self.spool.flush()
    }
}

/// Facts in a file, to be read back piece by piece.
#[derive(Debug)]
pub struct FactFile {
    spool: Spool,
    at: u64,
}

/// Bytes of a fact in the file.
const ROW: usize = 41;

impl FactFile {
    fn new(spool: Spool) -> Self {
        FactFile { spool, at: 0 }
    }

    fn rewind(&mut self) {
        self.at = 0;
    }

    /// How many are left to read.
    pub fn left(&self) -> usize {
        ((self.spool.len() - self.at) / ROW as u64) as usize
    }

    /// Reads the next facts, at most `most` of them.
    pub fn next(&mut self, most: usize) -> io::Result<Vec<FactRow>> {
        let mut bytes = vec![0; most.min(self.left()) * ROW];
        self.spool.read_at(&mut bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(bytes.as_chunks().0.iter().map(from_bytes).collect())
    }
}

fn to_bytes(row: FactRow) -> [u8; ROW] {
    let Fact { kind, flow, seq, length, a, b } = row.fact();
    let mut bytes = [0; ROW];
    let mut at = 0;
    let mut put = |part: &[u8]| {
        bytes[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    };
    put(&row.time().as_nanos().to_le_bytes());
    put(&seq.to_le_bytes());
    put(&a.to_le_bytes());
    put(&b.to_le_bytes());
    put(&length.to_le_bytes());
    put(&row.machine().to_le_bytes());
    put(&flow.0.to_le_bytes());
    put(&[kind as u8]);
    bytes
}

fn from_bytes(bytes: &[u8; ROW]) -> FactRow {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let length = u32::from_le_bytes(bytes[32..36].try_into().expect("four bytes"));
    let kind = FactKind::ALL[usize::from(bytes[40])];
    let fact = Fact::new(kind, FlowId(half(38))).about(word(8), length).values(word(16), word(24));
    FactRow::new(Time::from_nanos(word(0)), half(36), fact)
}

#[cfg(test)]
mod tests;
