//! What a log does to deadlines (Teyeb, section B.1.1): the driver's own waiting, with one of three logs beside it.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use cellwind_engine::fact::{Fact, FactKind, FactRow};
use cellwind_engine::packet::FlowId;
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};

use crate::clock::{Clock, Monotonic};
use crate::log::log;
use crate::realtime::schedule;
use crate::spin::Spin;
use crate::waiter::Waiter;
use crate::writer::Writer;

/// Who writes the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logging {
    /// The timing thread itself: each line is on the disk before it waits again.
    Local,
    /// The writer thread, as in every live run.
    Remote,
    /// The writer thread when nothing else wants the processor; the timing thread before everything else.
    RemotePriority,
}

/// Bytes of a line of the local log.
const LINE: usize = 80;
/// Time for the threads to start before the first deadline.
const LEAD: Span = Span::from_millis(20);

/// Waits for `count` deadlines at random instants, `mean_gap` apart on average, logs one line at each, and returns how
/// late it was at each of them.
///
/// Files are made in `directory` and gone when it returns. Real-time priority needs the right to it (EPERM).
pub fn measure(logging: Logging, directory: &Path, count: usize, mean_gap: Span) -> io::Result<Vec<Span>> {
    let directory = directory.to_path_buf();
    // A thread of its own: its priority ends with it.
    let timing = std::thread::Builder::new().name("cellwind-mismatch".into());
    let timing = timing.spawn(move || time(logging, &directory, count, mean_gap))?;
    timing.join().unwrap_or_else(|_| Err(io::Error::other("the timing thread failed")))
}

fn time(logging: Logging, directory: &Path, count: usize, mean_gap: Span) -> io::Result<Vec<Span>> {
    let mut late = Vec::with_capacity(count);
    let has_priority = logging == Logging::RemotePriority;
    if logging == Logging::Local {
        let mut options = OpenOptions::new();
        options.write(true).mode(0o600).custom_flags(libc::O_TMPFILE | libc::O_DSYNC | libc::O_CLOEXEC);
        let mut file = options.open(directory)?;
        let mut line = [b' '; LINE];
        line[LINE - 1] = b'\n';
        wait_for_each(count, mean_gap, has_priority, |_, lateness| {
            late.push(lateness);
            let text = lateness.as_nanos().to_string();
            line[..text.len()].copy_from_slice(text.as_bytes());
            file.write_all(&line)
        })?;
        return Ok(late);
    }
    let (mut log, reader) = log(true, false);
    let lost = log.lost();
    // A thread inherits the scheduling of the one that starts it.
    if has_priority {
        schedule(libc::SCHED_IDLE, 0)?;
    }
    let writer = Writer::start(reader, directory, &[], "timer mismatch")?;
    if has_priority {
        schedule(libc::SCHED_FIFO, 1)?;
    }
    let waited = wait_for_each(count, mean_gap, has_priority, |instant, lateness| {
        late.push(lateness);
        let fact = Fact::new(FactKind::PacketDelivered, FlowId::NONE).values(lateness.as_nanos(), 0);
        log.fact(FactRow::new(instant, 0, fact));
        Ok(())
    });
    // The writer must get the processor again to come to its end.
    if has_priority {
        schedule(libc::SCHED_OTHER, 0)?;
    }
    writer.finish(&lost);
    waited.map(|()| late)
}

/// Calls `act` at each deadline with the deadline and how late it is.
fn wait_for_each(
    count: usize,
    mean_gap: Span,
    realtime: bool,
    mut act: impl FnMut(Time, Span) -> io::Result<()>,
) -> io::Result<()> {
    let clock = Monotonic::start_in(LEAD);
    let mut waiter = Waiter::new(clock, Spin::new(None, realtime))?;
    let mut gaps = Stream::new(1, 0, "mismatch");
    let mut deadline = Time::ZERO;
    for _ in 0..count {
        deadline += Span::from_nanos(gaps.below(2 * mean_gap.as_nanos()));
        waiter.wait_until(deadline)?;
        act(deadline, clock.now() - deadline)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_deadline_is_counted_and_none_is_early() {
        // The difference of two instants asserts their order: an early one would not pass.
        for logging in [Logging::Local, Logging::Remote] {
            let late = measure(logging, &std::env::temp_dir(), 50, Span::from_micros(500)).unwrap();
            assert_eq!(late.len(), 50, "{logging:?}");
        }
    }
}
