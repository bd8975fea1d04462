"""The core of cellwind: scenarios, simulated runs and the machines themselves, compiled from Rust.

The names here are thin; ``cellwind.Scenario``, ``cellwind.run`` and ``cellwind.tcp`` are the doors for people.
"""

from os import PathLike
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from cellwind.campaign.rows import BearerRow, FlowRow, LinkRow

class ScenarioError(ValueError):
    """A scenario is wrong. The text is the complete report: where, what was found, what is allowed, the nearest."""

class RunError(RuntimeError):
    """A run broke one of the core's own rules, such as events that stop advancing time. The text names the machines."""

class EmulationError(RuntimeError):
    """An emulation cannot be made or has ended. The text says what is missing and what to do."""

class CommandError(EmulationError):
    """A command cannot be started inside an end. The text says why."""

class Cancelled(RuntimeError):
    """A run was stopped through its ``CancelFlag``."""

class CaptureError(ValueError):
    """A file is not a capture."""

@final
class CancelFlag:
    """A flag shared with running replications. Once cancelled it stays so."""

    def __init__(self) -> None: ...
    def cancel(self) -> None:
        """Asks every run that was given this flag to stop soon; they raise ``Cancelled``."""

@final
class Scenario:
    """A scenario that was read, completed with its presets, and found valid."""

    @staticmethod
    def load(path: str, sets: list[tuple[str, str]] = ...) -> Scenario:
        """Reads a file, or the ready-made scenario of that name.

        ``sets`` are (dotted path, TOML value) pairs put over the file. Raises ScenarioError.
        """

    @staticmethod
    def parse(text: str, name: str = "scenario", sets: list[tuple[str, str]] = ...) -> Scenario:
        """Reads the text of a scenario file, as ``load`` does. Raises ScenarioError."""

    def with_values(self, sets: list[tuple[str, str]]) -> Scenario:
        """The same scenario with (dotted path, TOML value) pairs put over it. Raises ScenarioError."""

    def to_toml(self) -> str:
        """The scenario with all presets resolved."""

    @property
    def name(self) -> str:
        """Name of the preset, or of the file without its suffix."""

    @property
    def title(self) -> str:
        """One line for people; empty when the file has none."""

    @property
    def description(self) -> str:
        """What the experiment is about; empty when the file has none."""

    @property
    def seed(self) -> int:
        """Seed of all random streams."""

    @property
    def replications(self) -> int:
        """How often the scenario is to be run."""

    @property
    def digest(self) -> str:
        """Hexadecimal digest of the resolved scenario, without ``replications``."""

    @property
    def flows(self) -> list[str]:
        """Names of the flows, in the order of the file."""

    @property
    def transports(self) -> dict[str, str]:
        """Flow to the name of its transport preset, or to the type of its transport."""

    @property
    def warnings(self) -> list[str]:
        """What is legal but probably not meant."""

    @property
    def live_warnings(self) -> list[str]:
        """What a live run leaves without effect, besides."""

@final
class Run:
    """One finished replication: totals per flow, bearer and link, and the facts if they were asked for."""

    @property
    def replication(self) -> int:
        """Number of the replication, from 0."""

    @property
    def simulated_s(self) -> float:
        """Virtual seconds that passed."""

    @property
    def events(self) -> int:
        """Events handled."""

    @property
    def cpu_s(self) -> float:
        """Processor seconds spent. The only field that differs between two equal runs."""

    @property
    def flows(self) -> list[FlowRow]:
        """Totals per flow."""

    @property
    def bearers(self) -> list[BearerRow]:
        """Totals per bearer and direction."""

    @property
    def links(self) -> list[LinkRow]:
        """Totals per wired link and direction."""

    @property
    def machine_names(self) -> list[str]:
        """Names behind the codes of the column ``machine``."""

    @property
    def kind_names(self) -> list[str]:
        """Names behind the codes of the column ``kind``."""

    @property
    def flow_names(self) -> list[str]:
        """Names behind the codes of the column ``flow``; the empty name means no flow."""

    def facts(self) -> dict[str, npt.NDArray[np.generic]]:
        """The facts as columns of equal length, handed over without copying; they can be taken once.

        Keys ``time_ns``, ``machine``, ``kind``, ``flow``, ``seq``, ``length``, ``a``, ``b``.
        """

    def capture(self) -> dict[str, bytes]:
        """A pcapng file per end, keyed by ``"server"`` and the names of the terminals."""

@final
class Packets:
    """What was read from a capture."""

    @property
    def count(self) -> int:
        """Packets read."""

    @property
    def endpoints(self) -> list[str]:
        """Addresses behind the codes of the columns ``source`` and ``target``."""

    @property
    def ignored(self) -> dict[str, int]:
        """How many frames were passed over, by reason."""

    @property
    def damage(self) -> str | None:
        """Where the file is damaged and how; None when it was read to its end."""

    def columns(self) -> dict[str, npt.NDArray[np.generic]]:
        """The packets as columns, handed over without copying; they can be taken once.

        Of equal length, one row per packet in the order of the file: ``time_ns``, ``source`` and ``target`` (indices
        into ``endpoints``), ``source_port``, ``target_port``, ``protocol``, ``ip_length``, ``ip_id``, ``ecn``,
        ``payload`` (bytes behind the headers), and of TCP ``flags`` (FIN lowest), ``seq``, ``ack``, ``window`` (not
        scaled), ``options`` (1 timestamps, 2 MSS, 4 window scale, 8 SACK-permitted), ``mss``, ``window_scale``,
        ``tsval``, ``tsecr``. One row per SACK block: ``sack_row`` (the row of its packet), ``sack_start``,
        ``sack_end``.
        """

@final
class Segment:
    """A segment as it leaves an end. Sequence numbers count from the sender's SYN, which is 0."""

    @property
    def t(self) -> float:
        """When it left, in seconds."""

    @property
    def seq(self) -> int:
        """First sequence number."""

    @property
    def length(self) -> int:
        """Payload bytes."""

    @property
    def ack(self) -> int | None:
        """Acknowledgement number; None without the ACK flag."""

    @property
    def window(self) -> int:
        """Receive window in bytes."""

    @property
    def syn(self) -> bool:
        """SYN flag."""

    @property
    def fin(self) -> bool:
        """FIN flag."""

    @property
    def sack(self) -> list[tuple[int, int]]:
        """SACK blocks, the first one first; a D-SACK block is not among them."""

    @property
    def dsack(self) -> tuple[int, int] | None:
        """The D-SACK block (RFC 2883)."""

    @property
    def tsval(self) -> int | None:
        """Timestamp value; None without the option."""

    @property
    def tsecr(self) -> int | None:
        """Timestamp echo reply; None without the option."""

@final
class End:
    """A network namespace with one TUN device, held by a process of its own, and no path behind it."""

    @staticmethod
    def open(kernel: dict[str, str]) -> End:
        """Makes the end; ``kernel`` are settings as in ``live.kernel``. Raises EmulationError, ValueError."""

    def tun(self) -> int:
        """A file descriptor of the TUN device, not blocking, which the caller closes: one IP packet a read or write."""

    def spawn(self, argv: list[str], env: dict[str, str], files: tuple[int, int, int]) -> None:
        """Starts a command with all rights over the end's network, with these open files of this process."""

    def close(self) -> None:
        """Ends all of its processes and removes all of it."""

    @property
    def addresses(self) -> list[str]:
        """Its addresses."""

    @property
    def complaints(self) -> list[str]:
        """What could not be had, in words."""

@final
class Script:
    """A script that was read and found right: segments given to one end of a connection, and what it must answer."""

    @staticmethod
    def load(path: str | PathLike[str]) -> Script:
        """Reads a file. Raises ScenarioError, with the line."""

    @staticmethod
    def parse(text: str, name: str = "script") -> Script:
        """Reads the text of a script. Raises ScenarioError, with the line."""

    def play(self) -> ScriptRun:
        """Plays it against cellwind's own sender or receiver, in virtual time."""

    def acts(self) -> list[tuple[float, str, Any]]:
        """What the script does itself, and its waits: instant in seconds, word, and bytes or fields of a segment.

        The word is one of open, write, close, arrives, wait.
        """

    def judge(
        self,
        seen: list[tuple[int, int, int, int, int, int, list[tuple[int, int]], tuple[int, int] | None]],
        tolerance_s: float,
    ) -> ScriptRun:
        """Compares segments that another TCP sent with the script; claims are not looked at.

        Each is instant in ns, flags as in the header, sequence number, acknowledgement, payload, window, SACK blocks,
        and timestamps or None.
        """

    @property
    def transport_json(self) -> str:
        """The transport with its preset resolved, as JSON."""

    @property
    def kernel(self) -> tuple[bool, str | None, float, dict[str, str]]:
        """What is expected of the kernel: whether it follows, why not, tolerance in seconds, settings."""

    @property
    def name(self) -> str:
        """The file's name."""

    @property
    def summary(self) -> str:
        """The comment above the first key, on one line."""

    @property
    def test(self) -> str:
        """The end under test: sender or receiver."""

@final
class ScriptRun:
    """What a script expected beside what was seen."""

    @property
    def holds(self) -> bool:
        """Whether everything was as expected."""

    @property
    def report(self) -> str:
        """The first difference with the segments around it, and the claims that do not hold; empty when all is well."""

    @property
    def table(self) -> str:
        """Everything expected and seen, side by side; what differs is marked."""

    @property
    def seen(self) -> list[tuple[float, str]]:
        """Instants in seconds and segments that were seen."""

class Sender:
    """The sending end of a TCP connection.

    Every call takes the time in seconds, never before that of the last call (ValueError), and answers the segments
    that leave.
    """

    def __new__(cls, settings: str = '"reno"') -> Self: ...
    def open(self, t: float = 0.0) -> list[Segment]:
        """Opens the connection at ``t`` seconds: the SYN leaves."""

    def write(self, n: int, t: float | None = None) -> list[Segment]:
        """Takes ``n`` more bytes from the application, at ``t`` or at the time of the last call."""

    def close(self, t: float | None = None) -> list[Segment]:
        """The application has written everything: a FIN follows the last byte."""

    def on_segment(
        self,
        t: float,
        ack: int,
        window: int | None = None,
        sack: list[tuple[int, int]] = ...,
        dsack: tuple[int, int] | None = None,
        tsval: int | None = None,
        tsecr: int | None = None,
        syn: bool = False,
        fin: bool = False,
    ) -> list[Segment]:
        """A segment from the receiver arrives; the window is that of the last one unless given.

        Raises ValueError for SACK blocks that no header can hold.
        """

    def on_timeout(self, t: float) -> list[Segment]:
        """Lets the retransmission timer expire if it is due at ``t``."""

    def next_timeout(self) -> float | None:
        """When the retransmission timer expires, in seconds; None when it does not run."""

    @property
    def cwnd(self) -> int:
        """Congestion window in bytes."""

    @property
    def ssthresh(self) -> int | None:
        """Slow start threshold in bytes; None while it is as high as can be."""

    @property
    def snd_una(self) -> int:
        """Oldest unacknowledged sequence number."""

    @property
    def snd_nxt(self) -> int:
        """Next sequence number to send."""

    @property
    def srtt(self) -> float | None:
        """Smoothed round-trip time in seconds; None before the first sample."""

    @property
    def rttvar(self) -> float:
        """Round-trip time variation in seconds."""

    @property
    def rto(self) -> float:
        """Retransmission timeout in seconds, with back-off."""

    @property
    def state(self) -> str:
        """One of closed, syn-sent, syn-received, established, recovery, finished, given-up."""

class Receiver:
    """The receiving end of a TCP connection; calls are like those of ``Sender``."""

    def __new__(cls, settings: str = '"reno"') -> Self: ...
    def on_segment(
        self,
        t: float,
        seq: int,
        length: int = 0,
        tsval: int | None = None,
        tsecr: int | None = None,
        syn: bool = False,
        fin: bool = False,
    ) -> list[Segment]:
        """A segment from the sender arrives."""

    def on_timeout(self, t: float) -> list[Segment]:
        """Sends the delayed ACK if it is due at ``t``."""

    def next_timeout(self) -> float | None:
        """When the delayed ACK is due, in seconds; None when none waits."""

    @property
    def rcv_nxt(self) -> int:
        """Next sequence number expected; 0 before the SYN."""

    @property
    def delivered(self) -> int:
        """Bytes of data delivered in order."""

    @property
    def window(self) -> int:
        """The window it advertises, in bytes."""

    @property
    def state(self) -> str:
        """One of listening, established, closed."""

def run(
    scenario: Scenario,
    replication: int,
    facts: bool = False,
    capture: bool = False,
    cancel: CancelFlag | None = None,
) -> Run:
    """Runs one replication; the result depends on the scenario, its seed and ``replication`` alone.

    Other Python threads go on meanwhile. Raises RunError, and Cancelled.
    """

def drop_reasons() -> list[str]:
    """Names of the reasons for a drop, in the order of their codes, which begin at 1."""

def replay(
    scenario: Scenario,
    replication: int,
    time_ns: npt.NDArray[np.int64],
    terminal: npt.NDArray[np.uint16],
    up: npt.NDArray[np.bool_],
    size: npt.NDArray[np.uint32],
) -> dict[str, npt.NDArray[np.generic]]:
    """When each packet of a list, in the order of time, leaves the path of a live run of the scenario.

    A packet is given by when it came in (nanoseconds since the start), the number of its terminal, whether it goes
    up, and its bytes. Answers ``egress_ns``, −1 for one that did not leave, and ``drop_reason``, the code of the fact
    ``drop``, 0 for one that was not dropped. Raises ValueError for columns that are no such list, and RunError.
    """

def read_packets(path: str | PathLike[str]) -> Packets:
    """Reads a pcapng or pcap file in one pass, keeping numbers only.

    A damaged file yields the packets before the damage. Raises CaptureError for a file of another kind, and OSError.
    """

def schema() -> str:
    """JSON Schema of the scenario file, as JSON text."""

def presets() -> list[tuple[str, str, str]]:
    """Kind (``"scenario"``, ``"access"``, ``"transport"``), name and summary of everything ready-made."""

def preset_text(kind: str, name: str) -> str:
    """The TOML text of a preset.

    Raises ScenarioError when there is none of that name, ValueError for an unknown kind.
    """

def fact_kinds() -> list[tuple[str, str]]:
    """Name and meaning of every kind of fact, in the order of their codes."""

def swarm(seed: int, count: int, cancel: CancelFlag | None = None) -> list[str]:
    """Runs ``count`` random scenarios from ``seed`` on with all checks; one text per failure, none when all held."""

def version() -> str:
    """Version of the core, which is that of the package."""

def timer_mismatch(logging: str, directory: str, count: int, mean_gap_us: int) -> list[int]:
    """How late the driver's waiting was, in ns, at ``count`` deadlines ``mean_gap_us`` apart on average.

    At each a line is logged, by the timing thread itself (``local``, through to the disk), by the writer thread
    (``remote``), or by the writer thread when nothing else runs while the timing thread has real-time priority
    (``remote_priority``). Files are made in ``directory`` and gone afterwards. Raises OSError, PermissionError among
    them where priority is not allowed, and ValueError for another ``logging``.
    """

def run_end(socket: int) -> None:
    """Becomes the process of an end of an emulated path, which listens on this socket; never returns.

    Only for the interpreter that an emulation starts for this: it must have one thread.
    """

def clean_leftovers() -> list[str]:
    """Removes the rules that killed emulations have left on this host, and says what was removed.

    Running emulations are not touched. Needs root.
    """

@final
class Emulation:
    """A scenario that runs live between namespaces of its own. All methods may be called from any thread.

    Methods raise ScenarioError for words that do not fit the scenario, and EmulationError when an end cannot be made
    or used, or the path has stopped.
    """

    @staticmethod
    def start(
        scenario: Scenario,
        *,
        replication: int = 0,
        facts: bool = False,
        capture: bool = False,
        outside: bool = False,
        bridge: tuple[str, str] | None = None,
        realtime: bool = False,
        spin_us: float | None = None,
        kernel: dict[str, str] | None = None,
        spool: str | None = None,
        hold: bool = False,
    ) -> Emulation:
        """Makes the ends and lets packets travel; with ``hold`` only from ``begin`` on.

        ``outside`` puts the host, behind address translation, in the server's place. ``bridge`` names two interfaces
        to stand between, the server's side first, instead of ends of its own. ``realtime`` asks for real-time
        scheduling and memory that stays, and complains when it is not allowed. ``spin_us`` is how long before a
        deadline the timing thread wakes; it learns that by default. ``kernel`` has settings of the kernel's TCP to
        put over those of the scenario. Files are kept in ``spool``, by default where temporary files are.
        """

    def begin(self, lead_s: float = 0.0) -> int:
        """Lets packets travel: the time of the path is zero ``lead_s`` from now.

        Returns that instant, ns of CLOCK_MONOTONIC. What the ends send before waits in their devices.
        """

    @property
    def started_ns(self) -> int:
        """When the path's time was zero, ns of CLOCK_MONOTONIC."""

    @property
    def ends(self) -> list[str]:
        """The names of the ends: ``server``, then the terminals."""

    def addresses(self) -> dict[str, list[str]]:
        """The addresses of each end; nothing for a bridge."""

    def end_pid(self, end: str) -> int:
        """The first process of an end, for ``nsenter``."""

    def spawn(
        self,
        end: str,
        argv: list[str],
        *,
        env: dict[str, str] | None = None,
        cwd: str | None = None,
        stdin: int = 0,
        stdout: int = 1,
        stderr: int = 2,
        as_root: bool = False,
    ) -> int:
        """Starts a command at an end and returns its process, by its number there.

        It runs as the calling user, or with all rights over the end's network if ``as_root``. Environment and working
        directory are by default those of this process; ``stdin``, ``stdout`` and ``stderr`` are open files of it.
        """

    def signal(self, end: str, process: int, signum: int) -> None:
        """Sends a signal to a command and to what it started."""

    def wait(self, timeout_s: float | None = None) -> list[tuple[str, int, int]]:
        """Waits until commands have ended: end, process, and exit code or 128 and the signal's number.

        The list is empty when the time is over. Other Python threads go on meanwhile.
        """

    def set(self, path: str, value: str) -> float:
        """Changes a setting of a link or an access; returns when, in seconds since the start."""

    def set_many(self, pairs: list[tuple[str, str]]) -> float:
        """Changes several settings at one instant."""

    def handover(
        self,
        to: str,
        *,
        terminal: str | None = None,
        delay: str | None = None,
        buffering: str | None = None,
        soft: bool = False,
    ) -> float:
        """Moves a terminal to another access."""

    def spike(self, duration: str, *, terminal: str | None = None) -> float:
        """Holds transmission for a while."""

    def pause(self) -> float:
        """Holds all transmission until ``resume``."""

    def resume(self) -> float:
        """Lets transmission go on."""

    def status(self) -> dict[str, Any]:
        """Counts, lateness and complaints of the moment.

        ``time_s``, ``paused``, ``valid``; ``terminals``: by name ``access`` and for ``down`` and ``up`` what entered
        and left; ``machines``: the same per stage of the path; ``lateness``: ``n``, ``p50_us``, ``p99_us``,
        ``worst_us`` and ``over_limit``; ``drops``: packets by reason; ``packets_held``; ``spin_us``; ``aside``: frames
        of a bridge that went past the path; ``facts_lost``, ``captured_packets_lost``; ``complaints``.
        """

    def stop(self) -> LiveRun:
        """Ends all commands, removes the ends, and returns what the run left."""

@final
class LiveRun:
    """A finished live run."""

    @property
    def started(self) -> str:
        """The time of day at the start, ISO 8601 in UTC."""

    @property
    def ended_s(self) -> float:
        """Seconds from the start to the end."""

    @property
    def terminals(self) -> dict[str, dict[str, Any]]:
        """Totals per terminal and direction, as in the status."""

    @property
    def bearers(self) -> list[dict[str, Any]]:
        """Totals per bearer and direction."""

    @property
    def links(self) -> list[dict[str, Any]]:
        """Totals per wired link and direction."""

    @property
    def drops(self) -> dict[str, int]:
        """Packets dropped, by reason."""

    @property
    def lateness(self) -> dict[str, Any]:
        """How late packets left, with the histogram.

        ``n``, ``p50_us``, ``p99_us``, ``worst_us``, ``over_limit`` as in the status; ``bins_us``: the largest value of
        each bin that is not empty; ``counts``: what is in them.
        """

    @property
    def valid(self) -> bool:
        """Whether few enough packets were late, and the path did not stop by itself."""

    @property
    def complaints(self) -> list[str]:
        """What is not as it was asked for."""

    @property
    def machine_names(self) -> list[str]:
        """Names behind the codes of the column ``machine``."""

    @property
    def kind_names(self) -> list[str]:
        """Names behind the codes of the column ``kind``."""

    @property
    def flow_names(self) -> list[str]:
        """Names behind the codes of the column ``flow``: those of the terminals; the empty name means none."""

    def facts(self, most: int | None = None) -> dict[str, npt.NDArray[np.generic]]:
        """The next facts as columns of equal length, at most so many; those that remain by default."""

    def capture(self) -> dict[str, bytes]:
        """A pcapng file per end, by its name."""

    def save_capture(self, end: str, path: str) -> None:
        """Gives the capture of an end a name in the file system, in place of any file there.

        Raises KeyError when packets were not captured there, OSError when it cannot be written.
        """
