//! What a thread asks of the kernel to be on time: exact timers, real-time scheduling, memory that stays.

use std::sync::{Mutex, PoisonError};

use cellwind_engine::time::Span;
use nix::errno::Errno;
use nix::sys::prctl::set_timerslack;

/// The priority among real-time threads, in the middle of 1 to 99.
const PRIORITY: i32 = 50;

/// A real-time thread that never waits keeps everything else from its processor. It becomes an ordinary one, until it
/// waits again, when it has been busy for so long.
pub const LONGEST_BUSY: Span = Span::from_millis(10);

/// Makes the timers of this thread exact; by default the kernel delays them by up to 50 µs to save power.
pub fn exact_timers() {
    // The kernel knows this call since 2.6.28 and never refuses one nanosecond.
    let _ = set_timerslack(1);
}

/// Gives this thread real-time scheduling (SCHED_FIFO), or takes it away.
pub fn set_realtime(realtime: bool) -> Result<(), Errno> {
    let (policy, priority) = if realtime { (libc::SCHED_FIFO, PRIORITY) } else { (libc::SCHED_OTHER, 0) };
    // A thread that such a one starts, or a program, begins as an ordinary one.
    schedule(policy | libc::SCHED_RESET_ON_FORK, priority)
}

/// Gives this thread a scheduling policy.
pub(crate) fn schedule(policy: libc::c_int, priority: libc::c_int) -> Result<(), Errno> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the call reads `parameters`, which lives until it returns; zero stands for the calling thread.
    let result = unsafe { libc::sched_setscheduler(0, policy, &parameters) };
    Errno::result(result).map(drop)
}

/// How many hold this process's memory.
static HOLDERS: Mutex<usize> = Mutex::new(0);

/// Keeps all memory of this process from being swapped out, as its pages come into use, until it is dropped.
#[derive(Debug)]
pub struct LockedMemory(());

impl LockedMemory {
    /// Locks it.
    pub fn new() -> Result<Self, Errno> {
        let mut holders = HOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the call changes no memory that Rust knows of.
        let result = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT) };
        Errno::result(result)?;
        *holders += 1;
        Ok(LockedMemory(()))
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        let mut holders = HOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        *holders -= 1;
        if *holders == 0 {
            // SAFETY: the call changes no memory that Rust knows of.
            let _ = unsafe { libc::munlockall() };
        }
    }
}
