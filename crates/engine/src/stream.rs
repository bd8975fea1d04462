//! What the bytes of byte streams mean to their readers.
//!
//! Packets carry lengths and no content. A writer leaves here what a stretch of its stream says, and its reader
//! finds it when that stretch has arrived, as an emulator finds a payload by its number.

use std::collections::{BTreeMap, VecDeque};

use crate::packet::FlowId;

/// One direction of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId {
    /// The flow.
    pub flow: FlowId,
    /// The connection of the flow.
    pub connection: u16,
    /// Whether the end that opened the connection writes it.
    pub from_opener: bool,
}

/// What a stretch of a stream says, in the words of whoever writes and reads it.
pub type Content = [u64; 5];

/// The contents of all streams that are written and not read yet.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    unread: BTreeMap<StreamId, VecDeque<(u64, Content)>>,
}

impl Streams {
    /// Leaves `content` in a stream, to be read when its first `end` bytes have arrived.
    pub fn write(&mut self, stream: StreamId, end: u64, content: Content) {
        self.unread.entry(stream).or_default().push_back((end, content));
    }

    /// The next content of a stream of which the first `arrived` bytes have arrived; each is read once.
    pub fn read(&mut self, stream: StreamId, arrived: u64) -> Option<Content> {
        let unread = self.unread.get_mut(&stream)?;
        unread
            .front()
            .is_some_and(|&(end, _)| end <= arrived)
            .then(|| unread.pop_front().map(|(_, content)| content))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_read_once_and_not_before_its_last_byte() {
        let stream = StreamId { flow: FlowId(0), connection: 3, from_opener: true };
        let other = StreamId { from_opener: false, ..stream };
        let mut streams = Streams::default();
        streams.write(stream, 100, [1; 5]);
        streams.write(stream, 150, [2; 5]);
        assert_eq!(streams.read(stream, 99), None);
        assert_eq!(streams.read(other, 1000), None);
        assert_eq!(streams.read(stream, 149), Some([1; 5]));
        assert_eq!(streams.read(stream, 149), None);
        assert_eq!(streams.read(stream, 150), Some([2; 5]));
    }
}
