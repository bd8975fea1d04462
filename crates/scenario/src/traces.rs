//! The captures that flows replay, read when their scenario is loaded.

use std::fs::File;
use std::io::BufReader;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cellwind_engine::time::Span;
use cellwind_transport::application::ApplicationSettings;
use cellwind_transport::application::trace::TraceSettings;

use crate::capture::read::{ReadError, Reader};
use crate::error::{Mistake, ScenarioError, quoted};
use crate::model::Scenario;
use crate::node::Node;

/// As many packets of a capture are read between two looks at the file's end.
const AT_A_TIME: usize = 10_000;

/// Reads the capture of each flow that replays one, and makes its path absolute.
pub fn read(scenario: &mut Scenario, tree: &Node) -> Result<(), ScenarioError> {
    for (name, flow) in &mut scenario.flow {
        let Some(ApplicationSettings::Trace(trace)) = &mut flow.application else { continue };
        let keys = ["flow", name, "application", "file"];
        let written = tree.find(&keys);
        let folder = written.map_or_else(PathBuf::new, |node| node.origin.source.directory.clone());
        let path = folder.join(&trace.file);
        let pieces = pieces(&path, trace).map_err(|error| {
            let error = error.with_path(&keys);
            match written {
                Some(node) => error.at(&node.origin),
                None => error,
            }
        })?;
        trace.file = std::path::absolute(&path).unwrap_or(path).display().to_string();
        trace.pieces = pieces;
    }
    Ok(())
}

fn pieces(path: &Path, trace: &TraceSettings) -> Result<Arc<[(Span, u64)]>, ScenarioError> {
    let bad = |message: String| ScenarioError::new(Mistake::BadValue, message).found(quoted(&trace.file));
    let cannot = |error: std::io::Error| bad(format!("the capture cannot be read: {error}"));
    let file = File::open(path).map_err(cannot)?;
    let not_read = |error: ReadError| match error {
        ReadError::Io(error) => cannot(error),
        ReadError::NotACapture => bad("this is not a capture".into()).allowed("a pcap or pcapng file"),
        ReadError::Damaged { offset, what, .. } => bad(format!("the capture is damaged at byte {offset}: {what}")),
    };
    let mut reader = Reader::new(BufReader::new(file)).map_err(not_read)?;
    while reader.read_blocks(AT_A_TIME).map_err(not_read)? {}
    let columns = &reader.columns;
    let sender = match &trace.sender {
        Some(text) => {
            let address: Option<IpAddr> = text.parse().ok();
            let found = address.and_then(|address| reader.endpoints.get_index_of(&address));
            let known = reader.endpoints.iter().map(ToString::to_string);
            found.ok_or_else(|| bad("the capture has no packet of this sender".into()).known(text, known))?
        }
        None => {
            let mut sent = vec![0u64; reader.endpoints.len()];
            for (&source, &payload) in columns.source.iter().zip(&columns.payload) {
                sent[source as usize] += u64::from(payload);
            }
            // The first of those that sent the most.
            let most = sent.iter().copied().max().unwrap_or(0);
            sent.iter().position(|&bytes| bytes == most).unwrap_or(0)
        }
    };
    let rows = columns.time_ns.iter().zip(&columns.source).zip(&columns.payload);
    let of_sender = rows.filter(|((_, source), payload)| **source as usize == sender && **payload > 0);
    let mut packets: Vec<(i64, u64)> =
        of_sender.map(|((&time_ns, _), &payload)| (time_ns, u64::from(payload))).collect();
    packets.sort_by_key(|&(time_ns, _)| time_ns); // captures of several processors may be out of order
    let Some(&(first, _)) = packets.first() else {
        return Err(bad("the capture has no packet with payload of that sender".into()));
    };
    Ok(packets.iter().map(|&(time_ns, bytes)| (Span::from_nanos((time_ns - first) as u64), bytes)).collect())
}
