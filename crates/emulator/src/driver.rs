//! The timing thread: waits for the earlier of the next event of the models and a packet, and is on time.
//!
//! It sleeps until shortly before the next event, then watches the clock and the devices. It takes no lock, asks for
//! no memory of its own, and reads and writes nothing but its devices: changes arrive and answers leave through
//! rings, facts and packets leave through those of [`log`](crate::log), and counts stand on a [`Board`].

use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use cellwind_engine::time::{Span, Time};
use cellwind_scenario::change::{Change, ChangeError};
use cellwind_scenario::session::Session;
use nix::errno::Errno;
use nix::sys::eventfd::{EfdFlags, EventFd};
use rtrb::{Consumer, Producer, RingBuffer};

use crate::board::Board;
use crate::clock::{Clock, Monotonic};
use crate::counts::Counts;
use crate::pump::{Failure, Pump};
use crate::realtime::{self, LockedMemory};
use crate::spin::Spin;
use crate::waiter::Waiter;

/// How often counts are published while they change.
const BETWEEN_PUBLICATIONS: Span = Span::from_millis(100);
/// Changes that may wait for the timing thread.
const MOST_COMMANDS: usize = 64;
/// Marks the call of a controller among the descriptors; devices are marked by their places.
const CALL: u64 = 1 << 32;

/// What a controller asks of the timing thread.
enum Command {
    /// Apply this now.
    Change(Change),
    /// End.
    Stop,
}

/// What became of a change. The change itself comes back, so that its memory is freed where there is time.
pub struct Answer {
    /// The change.
    pub change: Change,
    /// When it was applied.
    pub at: Time,
    /// Whether it was.
    pub result: Result<(), ChangeError>,
}

/// How the timing thread runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct DriverSettings {
    /// How long before a deadline it wakes; by default it learns that.
    pub spin: Option<Span>,
    /// Whether to ask for real-time scheduling and for memory that stays.
    pub realtime: bool,
}

/// A running timing thread, as its controller sees it.
pub struct Driver {
    thread: JoinHandle<Ended>,
    commands: Producer<Command>,
    answers: Consumer<Answer>,
    call: Arc<EventFd>,
    answered: Arc<EventFd>,
    ended: Arc<EventFd>,
    failure: Arc<OnceLock<Failure>>,
    board: Arc<Board>,
    counts: Counts,
    complaints: Vec<String>,
    _memory: Option<LockedMemory>,
}

/// What the timing thread leaves behind.
pub struct Ended {
    /// The session as it was then.
    pub session: Session,
    /// The last counts.
    pub counts: Counts,
}

impl Driver {
    /// Starts a thread that works `pump` from the start of its clock on.
    pub fn start(mut pump: Pump<Monotonic>, settings: DriverSettings) -> Result<Self, Errno> {
        let (commands, command_reader) = RingBuffer::new(MOST_COMMANDS);
        let (answer_writer, answers) = RingBuffer::new(MOST_COMMANDS);
        let event = || EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK).map(Arc::new);
        let (call, answered, ended) = (event()?, event()?, event()?);
        let counts = pump.counts().clone();
        let board = Arc::new(Board::new(counts.words()));
        board.publish(counts.numbers());
        let mut complaints = Vec::new();
        let memory = settings.realtime.then(LockedMemory::new).transpose().unwrap_or_else(|errno| {
            complaints.push(format!("memory is not locked: {}", errno.desc()));
            None
        });
        let (ready, is_ready) = std::sync::mpsc::channel();
        let job = Job {
            devices: pump.devices().len(),
            pump,
            commands: command_reader,
            answers: answer_writer,
            call: Arc::clone(&call),
            answered: Arc::clone(&answered),
            board: Arc::clone(&board),
        };
        let failure = Arc::new(OnceLock::new());
        let bell = Bell { ended: Arc::clone(&ended), failure: Arc::clone(&failure) };
        let thread = std::thread::Builder::new().name("cellwind-timing".into());
        let thread = thread.spawn(move || job.run(settings, bell, |complaint| drop(ready.send(complaint))));
        let thread = thread.map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EAGAIN)))?;
        // The thread says once whether it got what it asked for.
        complaints.extend(is_ready.recv().ok().flatten());
        Ok(Driver {
            thread,
            commands,
            answers,
            call,
            answered,
            ended,
            failure,
            board,
            counts,
            complaints,
            _memory: memory,
        })
    }

    /// What was asked for and not granted.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// Rings when the thread ends, by itself or not.
    pub fn ended(&self) -> Arc<EventFd> {
        Arc::clone(&self.ended)
    }

    /// Why the thread ended by itself; none as long as it runs.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.get()
    }

    /// A reader of the counts, which needs no access to the driver.
    pub fn status(&self) -> Status {
        Status { board: Arc::clone(&self.board), shape: self.counts.clone() }
    }

    /// Asks the thread to apply a change, and waits until it has; none when it has ended.
    pub fn change(&mut self, change: Change) -> Option<Answer> {
        self.commands.push(Command::Change(change)).ok()?;
        self.call.write(1).ok()?;
        loop {
            if let Ok(answer) = self.answers.pop() {
                return Some(answer);
            }
            if self.answers.is_abandoned() {
                return self.answers.pop().ok();
            }
            wait_for(&[&self.answered, &self.ended]);
            let _ = self.answered.read();
        }
    }

    /// Ends the thread; none when it broke down.
    pub fn stop(mut self) -> Option<Ended> {
        // A ring that is full is being emptied by a thread that will find the end of its controller instead.
        let _ = self.commands.push(Command::Stop);
        let _ = self.call.write(1);
        drop(self.commands);
        self.thread.join().ok()
    }
}

/// Reads the counts of a running driver.
pub struct Status {
    board: Arc<Board>,
    shape: Counts,
}

impl Status {
    /// The counts published last, at most a tenth of a second old.
    pub fn counts(&self) -> Counts {
        self.shape.clone().from_numbers(&self.board.read())
    }
}

/// Rings when it goes out of scope, also in a panic.
struct Bell {
    ended: Arc<EventFd>,
    failure: Arc<OnceLock<Failure>>,
}

impl Drop for Bell {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.failure.set(Failure::Panic);
        }
        let _ = self.ended.write(1);
    }
}

/// Waits until one of the events has rung.
fn wait_for(events: &[&EventFd]) {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;
    let mut fds: Vec<PollFd> = events.iter().map(|event| PollFd::new(event.as_fd(), PollFlags::POLLIN)).collect();
    let _ = poll(&mut fds, PollTimeout::NONE);
}

/// The work of the timing thread.
struct Job {
    pump: Pump<Monotonic>,
    devices: usize,
    commands: Consumer<Command>,
    answers: Producer<Answer>,
    call: Arc<EventFd>,
    answered: Arc<EventFd>,
    board: Arc<Board>,
}

impl Job {
    fn run(mut self, settings: DriverSettings, bell: Bell, ready: impl FnOnce(Option<String>)) -> Ended {
        realtime::exact_timers();
        let granted = if settings.realtime { realtime::set_realtime(true) } else { Ok(()) };
        ready(granted.err().map(|errno| format!("no real-time scheduling: {}", errno.desc())));
        let realtime = settings.realtime && granted.is_ok();
        let clock = *self.pump.clock();
        clock.wait_for_start();
        let spin = Spin::new(settings.spin, realtime);
        let driven = Waiter::new(clock, spin).map_err(Failure::Wait).and_then(|waiter| self.drive(waiter, realtime));
        if let Err(failure) = driven {
            let _ = bell.failure.set(failure);
        }
        let counts = self.pump.counts().clone();
        self.board.publish(counts.numbers());
        Ended { session: self.pump.into_session(), counts }
    }

    fn drive(&mut self, mut waiter: Waiter, realtime: bool) -> Result<(), Failure> {
        for (place, device) in self.pump.devices().iter().enumerate() {
            waiter.watch(device, place as u64).map_err(Failure::Wait)?;
        }
        waiter.watch(&*self.call, CALL).map_err(Failure::Wait)?;
        let clock = *self.pump.clock();
        // Places of the devices that may have more to read, and whether a controller has called.
        let mut busy = vec![false; self.devices];
        let mut publish_at = Time::ZERO;
        let mut is_published = true;
        let mut scheduling = Scheduling { realtime, is_lent: false, awake_since: clock.now() };
        loop {
            let at_once = busy.contains(&true).then_some(Time::ZERO);
            let next = self.pump.session().next_timeout();
            // Nobody waits for a publication to the microsecond: there is no spinning for it.
            let publication = (!is_published).then_some(publish_at + waiter.spin().span());
            let deadline = at_once.into_iter().chain(next).chain(publication).min();
            let mut is_called = false;
            for token in waiter.wait(deadline).map_err(Failure::Wait)? {
                match token {
                    CALL => is_called = true,
                    place => busy[place as usize] = true,
                }
            }
            scheduling.review(&waiter);
            for (place, busy) in busy.iter_mut().enumerate().filter(|(_, busy)| **busy) {
                *busy = self.pump.read(place)?;
            }
            self.pump.advance()?;
            if is_called && self.answer()? {
                return Ok(());
            }
            let now = clock.now();
            // Whatever woke it may have changed counts: if it is too early to say so, it is said later.
            is_published = now >= publish_at;
            if is_published {
                publish_at = now + BETWEEN_PUBLICATIONS;
                self.pump.note_spin(waiter.spin().span());
                self.board.publish(self.pump.counts().numbers());
            }
        }
    }

    /// Does what the controller asks; true when that is to end.
    fn answer(&mut self) -> Result<bool, Failure> {
        let _ = self.call.read();
        while let Ok(command) = self.commands.pop() {
            let Command::Change(change) = command else { return Ok(true) };
            let at = self.pump.session().now();
            let result = self.pump.session().apply(&change);
            if let Err(ChangeError::Stalled(stalled)) = result {
                return Err(Failure::Stalled(stalled));
            }
            self.pump.advance()?;
            // As many answers fit as commands, and each controller waits for its own.
            let _ = self.answers.push(Answer { change, at, result });
            let _ = self.answered.write(1);
        }
        Ok(self.commands.is_abandoned())
    }
}

/// Lends the processor to others when a real-time thread has had no rest for long.
struct Scheduling {
    realtime: bool,
    is_lent: bool,
    awake_since: Time,
}

impl Scheduling {
    #[inline]
    fn review(&mut self, waiter: &Waiter) {
        if !self.realtime {
            return;
        }
        if let Some(slept) = waiter.slept() {
            self.awake_since = slept;
            if self.is_lent {
                self.is_lent = realtime::set_realtime(true).is_err();
            }
        } else if !self.is_lent && waiter.now().since(self.awake_since) > realtime::LONGEST_BUSY {
            self.is_lent = realtime::set_realtime(false).is_ok();
        }
    }
}

#[cfg(test)]
mod tests;
