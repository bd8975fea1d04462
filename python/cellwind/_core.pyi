"""The core of cellwind: scenarios, simulated runs and the machines themselves, compiled from Rust.

The names here are thin; ``cellwind.Scenario``, ``cellwind.run`` and ``cellwind.tcp`` are the doors for people.
"""

from typing import Self, final

import numpy as np
import numpy.typing as npt

from cellwind.campaign.rows import BearerRow, FlowRow, LinkRow

class ScenarioError(ValueError):
    """A scenario is wrong. The text is the complete report: where, what was found, what is allowed, the nearest."""

class RunError(RuntimeError):
    """A run broke one of the core's own rules, such as events that stop advancing time. The text names the machines."""

class Cancelled(RuntimeError):
    """A run was stopped through its ``CancelFlag``."""

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
        """One of closed, syn-sent, established, recovery, finished, given-up."""

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
