"""A scenario under the wall clock: real programs at both ends, and control while it runs."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, Any, TypeAlias

from cellwind import _core
from cellwind.scenario import Scenario, Value, issue_warnings, to_toml_value

SERVER = "server"
"""The end in the wired network; all others are terminals, by their names."""

Stream: TypeAlias = "int | IO[Any] | None"
"""A file descriptor, an open file, ``subprocess.DEVNULL``, or None for the caller's own stream."""

# How long a process may take to end after SIGTERM.
GRACE_S = 2.0
# How often the thread that watches for exits looks up.
_LOOK_UP_S = 0.1


class Process:
    """A command inside an end."""

    def __init__(self, emulation: Emulation, end: str, command: Sequence[str], number: int) -> None:
        self.end = end
        self.command = tuple(command)
        self.number = number
        self._emulation = emulation
        self._ended = threading.Event()
        self._code: int | None = None
        self._listeners: list[Callable[[int], None]] = []
        self._lock = threading.Lock()

    @property
    def code(self) -> int | None:
        """The exit code, 128 + n when signal n ended it; None while it runs."""
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Waits for the end, and answers the exit code.

        Raises TimeoutError after ``timeout`` seconds, and EmulationError when the emulation ends first.
        """
        if not self._ended.wait(timeout):
            raise TimeoutError(f"{self.command[0]} is still running after {timeout} s")
        if self._code is None:
            raise _core.EmulationError(self._emulation.failure or f"the emulation ended before {self.command[0]} did")
        return self._code

    def signal(self, number: int) -> None:
        """Sends a signal; one that has ended already gets none."""
        if not self._ended.is_set():
            self._emulation.core.signal(self.end, self.number, number)

    def end_it(self) -> bool:
        """Asks it to end, and kills it when it does not; whether it went by itself."""
        self.signal(signal.SIGTERM)
        # A stopped process hears of SIGTERM only when it goes on.
        self.signal(signal.SIGCONT)
        if self._ended.wait(GRACE_S):
            return True
        self.signal(signal.SIGKILL)
        self._ended.wait(GRACE_S)
        return False

    def on_exit(self, listener: Callable[[int], None]) -> None:
        """Calls back with the exit code, from another thread, or at once when it has ended."""
        with self._lock:
            if not self._ended.is_set():
                self._listeners.append(listener)
                return
        if self._code is not None:
            listener(self._code)

    def _exited(self, code: int | None) -> None:
        with self._lock:
            self._code = code
            self._ended.set()
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            if code is not None:
                listener(code)


class Emulation:
    """A scenario that runs under the wall clock from ``start`` to ``stop``; best used as a context manager.

    Every terminal, and the server, is a network namespace of its own. What leaves one of them crosses the machines of
    the scenario before it comes out at the other side. Workloads of the scenario start at their times.

    Parameters
    ----------
    scenario:
        What lies between the ends.
    replication:
        Which random numbers: those of this replication of the scenario, live or simulated.
    facts, capture:
        Keep what the machines observe, and the packets at each end.
    outside:
        The server's end is the outside world, by address translation.
    bridge:
        Two interfaces of this machine, on the servers' and on the terminals' side, in place of namespaces.
    realtime:
        Ask the system for real-time priority and locked memory.
    spin_us:
        How long before an instant the clock stops sleeping and watches; None calibrates it. It costs processor time.
    spool:
        Folder for files without a name while the run goes on; None is that for temporary files.
    name:
        Name of the run for ``cellwind ctl`` and ``connect``; None takes the scenario's. ``control=False`` makes no
        control socket.
    workloads:
        Start the scenario's workloads.
    kernel:
        Settings of the kernel's TCP put over those of the scenario's ``[live.kernel]``.
    hold:
        The clock stands still until ``begin``.

    ``start`` raises EmulationError when this machine cannot emulate, with the reason: no privileges, no TUN device.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        replication: int = 0,
        facts: bool = False,
        capture: bool = False,
        outside: bool = False,
        bridge: tuple[str, str] | None = None,
        realtime: bool = False,
        spin_us: float | None = None,
        spool: str | os.PathLike[str] | None = None,
        name: str | None = None,
        control: bool = True,
        workloads: bool = True,
        kernel: Mapping[str, str] | None = None,
        hold: bool = False,
    ) -> None:
        self.scenario = scenario
        self.replication = replication
        self._options: dict[str, Any] = {
            "replication": replication,
            "facts": facts,
            "capture": capture,
            "outside": outside,
            "bridge": bridge,
            "realtime": realtime,
            "spin_us": spin_us,
            "spool": None if spool is None else os.fspath(spool),
            "kernel": dict(kernel or {}),
            "hold": True,
        }
        self._hold = hold
        self._wanted_name = name
        self._control = control
        self._start_workloads = workloads
        self._core: _core.Emulation | None = None
        self._server: Any = None
        self._workloads: Any = None
        self._lock = threading.Lock()
        self._processes: dict[tuple[str, int], Process] = {}
        self._unclaimed: dict[tuple[str, int], int] = {}
        self._watcher = threading.Thread(target=self._watch, name="exits", daemon=True)
        self._over = threading.Event()
        # A descriptor and no Event: a signal handler must not meet the lock of what it interrupts.
        self._stop_wish = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        weakref.finalize(self, os.close, self._stop_wish)
        self._result: _core.LiveRun | None = None
        self.failure: str | None = None
        """Why the path stopped by itself, if it did."""

    def start(self) -> Emulation:
        """Makes the ends and starts the clock; see the class for what it raises."""
        from .control import Server
        from .workloads import Workloads

        self._core = _core.Emulation.start(self.scenario.core, **self._options)
        try:
            self._watcher.start()
            if self._control:
                self._server = Server(self, self._wanted_name, self.ask_to_stop)
                self._server.start()
            self._workloads = Workloads(self) if self._start_workloads else None
            if not self._hold:
                self.begin()
        except BaseException:
            self.stop()
            raise
        return self

    def begin(self, lead_s: float = 0.0) -> int:
        """Lets the clock run: zero is ``lead_s`` from now. Answers that instant in nanoseconds of CLOCK_MONOTONIC."""
        zero = self.core.begin(lead_s)
        if self._workloads is not None:
            self._workloads.start(zero)
        return zero

    def stop(self) -> _core.LiveRun:
        """Ends everything inside and answers what was recorded; a second call answers the same."""
        if self._result is None:
            core = self.core
            if self._server is not None:
                self._server.close()
            if self._workloads is not None:
                self._workloads.stop()
            self._over.set()
            if self._watcher.ident is not None:
                self._watcher.join()
            self._result = core.stop()
            self._release()
        return self._result

    @property
    def result(self) -> _core.LiveRun:
        """What was recorded, once the emulation has stopped."""
        if self._result is None:
            raise _core.EmulationError("the emulation is still running")
        return self._result

    @property
    def core(self) -> _core.Emulation:
        """The running path. Raises EmulationError before ``start``."""
        if self._core is None:
            raise _core.EmulationError("the emulation has not started")
        return self._core

    @property
    def name(self) -> str:
        """Name of the run for ``cellwind ctl`` and ``connect``."""
        return self.scenario.name if self._server is None else str(self._server.name)

    @property
    def workloads(self) -> Sequence[Any]:
        """What became of the scenario's workloads, in the order of the file."""
        return () if self._workloads is None else tuple(self._workloads.all)

    @property
    def ends(self) -> list[str]:
        """Names of the ends: the server and the terminals."""
        return self.core.ends

    @property
    def terminals(self) -> list[str]:
        """Names of the ends that are terminals, in the order of the file."""
        return [end for end in self.core.ends if end != SERVER]

    def addresses(self) -> dict[str, list[str]]:
        """Addresses per end, IPv4 before IPv6."""
        return self.core.addresses()

    def spawn(
        self,
        end: str | None,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        directory: str | None = None,
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
        as_root: bool = False,
    ) -> Process:
        """Starts a command inside an end (None: the first terminal), as the user who called.

        ``environment`` None is the caller's own; to either comes ``CELLWIND``, the name of the run, and
        ``CELLWIND_END``. Raises EmulationError when there is no such end or command.
        """
        where = self._end(end)
        inherited = dict(os.environ if environment is None else environment)
        inherited |= {"CELLWIND": self.name, "CELLWIND_END": where}
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            streams = [_descriptor(given, own, null) for own, given in enumerate((stdin, stdout, stderr))]
            number = self.core.spawn(
                where,
                list(command),
                env=inherited,
                cwd=directory or os.getcwd(),
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                as_root=as_root,
            )
        finally:
            os.close(null)
        process = Process(self, where, command, number)
        with self._lock:
            self._processes[where, number] = process
            code = self._unclaimed.pop((where, number), None)
        if code is not None:
            self._exited(where, number, code)
        elif self._over.is_set():
            process._exited(None)
        return process

    def run(
        self, end: str | None, command: Sequence[str], *, timeout: float | None = None, as_root: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command inside an end to its end, with its output as text.

        Raises subprocess.TimeoutExpired, after ending the command, when it takes longer than ``timeout`` seconds.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            process = self.spawn(end, command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, as_root=as_root)
            try:
                code = process.wait(timeout)
            except TimeoutError:
                process.end_it()
                raise subprocess.TimeoutExpired(list(command), timeout or 0.0) from None
            texts = []
            for file in (out, errors):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        return subprocess.CompletedProcess(list(command), code, *texts)

    def set(self, path: str | Mapping[str, Value], value: Value | None = None) -> float:
        """Sets a value of the scenario, or several at one instant; answers when, in seconds since the start.

        Raises ScenarioError when a path does not exist, a value does not fit, or it cannot change while running.
        """
        pairs = path if isinstance(path, Mapping) else {path: value}
        return self.set_texts([(key, to_toml_value(item)) for key, item in pairs.items() if item is not None])

    def set_texts(self, pairs: Iterable[tuple[str, str]]) -> float:
        """As ``set``, with values as a scenario file writes them."""
        return self.core.set_many(list(pairs))

    def handover(
        self,
        to: str,
        *,
        terminal: str | None = None,
        delay: str | None = None,
        buffering: str | None = None,
        soft: bool = False,
    ) -> float:
        """Moves a terminal to another access; parameters and answer as in a handover event and ``set``."""
        return self.core.handover(to, terminal=terminal, delay=delay, buffering=buffering, soft=soft)

    def spike(self, duration: str, *, terminal: str | None = None) -> float:
        """Lets nothing begin to be transmitted on the last stretch to a terminal, or to all, for so long."""
        return self.core.spike(duration, terminal=terminal)

    def pause(self) -> float:
        """Holds all packets until ``resume``; answers when that began."""
        return self.core.pause()

    def resume(self) -> float:
        """Ends a pause; answers when."""
        return self.core.resume()

    def status(self) -> dict[str, Any]:
        """Counters, lateness and settings as they are now; docs/live.md describes the keys."""
        return {"run": self.name, "scenario": self.scenario.name, **self.core.status()}

    def ask_to_stop(self) -> None:
        """Ends ``wait``, from another thread or from a signal handler."""
        os.eventfd_write(self._stop_wish, 1)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until somebody asks the run to stop, or the path stops by itself; False after ``timeout`` seconds."""
        # select knows no descriptor above 1023, which many runs at the same time reach.
        wish = select.poll()
        wish.register(self._stop_wish, select.POLLIN)
        return bool(wish.poll(None if timeout is None else round(1e3 * timeout)))

    def fileno(self) -> int:
        """A descriptor that is readable from when ``wait`` would be true."""
        return self._stop_wish

    def __enter__(self) -> Emulation:
        return self if self._core is not None else self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _end(self, end: str | None) -> str:
        if self._options["bridge"]:
            raise _core.EmulationError("a bridge between two interfaces has no end to run a command in")
        if end is None:
            return self.terminals[0]
        ends = self.core.ends
        if end not in ends:
            raise _core.EmulationError(f"there is no end named {end}; there are {', '.join(ends)}")
        return end

    def _watch(self) -> None:
        """The thread that hears of exits."""
        while not self._over.is_set():
            try:
                exits = self.core.wait(_LOOK_UP_S)
            except _core.EmulationError as error:
                self.failure = str(error)
                self.ask_to_stop()
                self._release()
                return
            for end, number, code in exits:
                self._exited(end, number, code)

    def _exited(self, end: str, number: int, code: int) -> None:
        with self._lock:
            process = self._processes.pop((end, number), None)
            if process is None:
                # It ended before ``spawn`` knew its number.
                self._unclaimed[end, number] = code
                return
        process._exited(code)

    def _release(self) -> None:
        """Lets everybody go who waits for a process that nobody will hear of again."""
        with self._lock:
            left, self._processes = list(self._processes.values()), {}
        for process in left:
            process._exited(None)


def emulate(scenario: Scenario, **options: Any) -> Emulation:
    """Starts a scenario under the wall clock; ``options`` are those of ``Emulation``. Use it in a ``with`` statement.

    Raises EmulationError when this machine cannot emulate, with the reason. Warnings of the scenario are issued as
    ``ScenarioWarning``.
    """
    issue_warnings([scenario], live=True, stacklevel=2)
    return Emulation(scenario, **options).start()


def _descriptor(given: Stream, own: int, null: int) -> int:
    if given is None:
        return own
    if given == subprocess.DEVNULL:
        return null
    return given if isinstance(given, int) else given.fileno()


def quietly(process: Process) -> None:
    """Ends a process without complaint, whatever has become of it or of the emulation."""
    with contextlib.suppress(RuntimeError, OSError):
        process.end_it()
