//! What was sent again since the last reaction to a supposed loss, and which of it arrived twice.

/// Retransmissions since the last reaction, in order of sequence numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Retransmissions {
    is_on: bool,
    sent: Vec<Sent>,
    /// Those that no duplicate report answers yet.
    open: u64,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    start: u64,
    end: u64,
    /// How often it was sent again.
    times: u32,
    /// How often of that no report has come.
    open: u32,
}

/// A report of data that arrived twice (RFC 2883).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Duplicate {
    /// Something of it was sent again; otherwise the network has made the copy.
    pub is_ours: bool,
    /// Something of it was sent again more than once.
    pub is_of_several: bool,
    /// Everything that was sent again has now been reported.
    pub all: bool,
}

impl Retransmissions {
    /// An empty list, kept up to date where a detector needs it.
    pub fn new(is_on: bool) -> Self {
        Retransmissions { is_on, ..Retransmissions::default() }
    }

    /// A reaction begins.
    pub fn clear(&mut self) {
        self.sent.clear();
        self.open = 0;
    }

    /// `[start, end)` is sent again.
    #[inline]
    pub fn note(&mut self, start: u64, end: u64) {
        if !self.is_on {
            return;
        }
        self.open += 1;
        let index = self.sent.partition_point(|sent| sent.start < start);
        match self.sent.get_mut(index) {
            Some(sent) if sent.start == start => {
                sent.times += 1;
                sent.open += 1;
            }
            _ => self.sent.insert(index, Sent { start, end, times: 1, open: 1 }),
        }
    }

    /// `[start, end)` has arrived twice.
    pub fn report(&mut self, start: u64, end: u64) -> Duplicate {
        let first = self.sent.partition_point(|sent| sent.start < start);
        let (mut is_ours, mut is_of_several) = (false, false);
        for sent in self.sent[first..].iter_mut().take_while(|sent| sent.end <= end) {
            is_ours = true;
            is_of_several |= sent.times > 1;
            if sent.open > 0 {
                sent.open -= 1;
                self.open -= 1;
            }
        }
        Duplicate { is_ours, is_of_several, all: !self.sent.is_empty() && self.open == 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_retransmission_needs_a_report_of_its_own() {
        let mut sent = Retransmissions::new(true);
        (0..3).for_each(|n| sent.note(1 + n * 100, 101 + n * 100));
        sent.note(1, 101); // for the second time
        let report = |is_ours, is_of_several, all| Duplicate { is_ours, is_of_several, all };
        assert_eq!(sent.report(1, 101), report(true, true, false));
        assert_eq!(sent.report(101, 301), report(true, false, false));
        assert_eq!(sent.report(1, 101), report(true, true, true));
        assert_eq!(sent.report(301, 401), report(false, false, true));
        sent.clear();
        assert!(!sent.report(1, 101).all);
    }
}
