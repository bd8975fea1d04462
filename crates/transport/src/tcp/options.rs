//! Sizes of TCP options as stacks lay them out, padded to whole words.

use cellwind_engine::packet::SackBlocks;

use super::settings::TcpSettings;

/// Timestamps with two NOPs (RFC 7323 appendix A).
const TIMESTAMPS: u64 = 12;
/// Maximum segment size (RFC 9293 §3.2).
const MAXIMUM_SEGMENT_SIZE: u64 = 4;
/// Window scale with a NOP (RFC 7323 §2.2).
const WINDOW_SCALE: u64 = 4;
/// SACK-permitted with two NOPs; it takes the place of the NOPs when timestamps are there too.
const SACK_PERMITTED: u64 = 4;
/// The most option bytes a header can hold (RFC 9293 §3.1: data offset of 15 words).
const MOST: u64 = 40;

/// Option bytes on a SYN.
pub fn on_syn(settings: &TcpSettings) -> u64 {
    let scale = if settings.window_scaling { WINDOW_SCALE } else { 0 };
    let rest = match (settings.timestamps, settings.sack) {
        (true, _) => TIMESTAMPS,
        (false, true) => SACK_PERMITTED,
        (false, false) => 0,
    };
    MAXIMUM_SEGMENT_SIZE + scale + rest
}

/// Option bytes on every other segment, SACK blocks aside.
pub fn on_segment(settings: &TcpSettings) -> u64 {
    if settings.timestamps { TIMESTAMPS } else { 0 }
}

/// Payload of a full segment: options count against the MSS (RFC 6691 §2).
pub fn payload(settings: &TcpSettings) -> u64 {
    settings.mss.as_bytes().saturating_sub(on_segment(settings)).max(1)
}

/// Bytes of a SACK option with `blocks` blocks and two NOPs (RFC 2018 §3).
pub fn sack(blocks: usize) -> u64 {
    if blocks == 0 { 0 } else { 4 + 8 * blocks as u64 }
}

/// How many SACK blocks fit beside the other options: four, or three with timestamps.
pub fn most_sack_blocks(settings: &TcpSettings) -> usize {
    let room = MOST - on_segment(settings);
    (((room - 4) / 8) as usize).min(SackBlocks::MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_take_the_room_of_one_sack_block() {
        let plain = TcpSettings { sack: true, ..TcpSettings::default() };
        let stamped = TcpSettings { timestamps: true, ..plain.clone() };
        assert_eq!((most_sack_blocks(&plain), most_sack_blocks(&stamped)), (4, 3));
        assert!(on_segment(&stamped) + sack(3) <= MOST);
        assert_eq!((on_syn(&plain), on_syn(&stamped)), (12, 20));
        assert_eq!(payload(&stamped), 1448);
    }
}
