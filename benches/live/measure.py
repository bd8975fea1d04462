"""What the live benchmarks measure: delays, the grid of departures, throughput and round trips over any path."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .namespaces import Ends, Program

PORT = "7000"


@dataclass(frozen=True)
class Arrivals:
    """Packets that came through, in the order of their arrival; instants in ns."""

    number: npt.NDArray[np.int64]
    sent: npt.NDArray[np.int64]
    arrived: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Errors:
    """How far instants are from where they belong, in µs."""

    least: float
    p50: float
    p99: float

    @staticmethod
    def of(errors_ns: npt.NDArray[np.floating]) -> Errors:
        """Quantiles of errors given in ns."""
        least, p50, p99 = np.quantile(errors_ns, [0.0, 0.5, 0.99]) / 1000
        return Errors(float(least), float(p50), float(p99))


def _ready(program: Program) -> None:
    line = program.line()
    if line != "ready\n":
        raise RuntimeError(f"the receiving end did not start: {line!r}")


def stream(ends: Ends, probe: Path, size: int, packets: int, per_second: float, quiet_s: float = 1.0) -> Arrivals:
    """Sends packets of ``size`` bytes with headers from the server to the terminal, one per instant of a grid."""
    receiver = ends.start("terminal", [str(probe), "receive", PORT, str(packets), str(quiet_s)])
    _ready(receiver)
    words = [str(probe), "send", ends.terminal, PORT, str(size - 28), str(packets), str(per_second)]
    ends.start("server", words).rest()
    table = np.array([line.split() for line in receiver.rest().splitlines()], dtype=np.int64).reshape(-1, 3)
    return Arrivals(table[:, 0], table[:, 1], table[:, 2])


def delay_errors(arrivals: Arrivals, delay_s: float) -> Errors:
    """Delays from sending to arrival less the delay that the path should have."""
    return Errors.of((arrivals.arrived - arrivals.sent) - 1e9 * delay_s)


def grid_errors(arrivals: Arrivals, gap_ns: float) -> tuple[Errors, float]:
    """Departures of a link that is never idle against its grid, and the error of the rate as a share.

    The grid is laid through the earliest departure relative to it, so that no error is negative. The first tenth is
    left out, as the queue fills then.
    """
    arrived = arrivals.arrived[len(arrivals.arrived) // 10 :].astype(float)
    places = np.arange(len(arrived))
    late = arrived - arrived[0] - gap_ns * places
    # The lower envelope of both halves gives the rate, which a single late packet does not move.
    half = len(late) // 2
    drift = (late[half:].min() - late[:half].min()) / max(
        1, int(late[half:].argmin()) + half - int(late[:half].argmin())
    )
    straight = late - drift * places
    return Errors.of(straight - straight.min()), -drift / gap_ns


def packets_per_second(ends: Ends, probe: Path, size: int, seconds: float) -> float:
    """Packets of ``size`` bytes with headers that come through when the server sends all it can."""
    receiver = ends.start("terminal", [str(probe), "count", PORT, str(seconds)])
    _ready(receiver)
    sender = ends.start("server", [str(probe), "flood", ends.terminal, PORT, str(size - 28), str(seconds + 0.5)])
    rate = float(receiver.rest())
    sender.rest()
    return rate


def tcp_bits_per_second(ends: Ends, probe: Path, seconds: float) -> float:
    """What one TCP connection of the kernel carries from the server to the terminal."""
    receiver = ends.start("terminal", [str(probe), "tcp-receive", PORT])
    _ready(receiver)
    ends.start("server", [str(probe), "tcp-send", ends.terminal, PORT, str(seconds)]).rest()
    return float(receiver.rest())


def round_trips(ends: Ends, probe: Path, count: int) -> Errors:
    """Round trips of small packets, one at a time."""
    echo = ends.start("terminal", [str(probe), "echo", PORT])
    try:
        _ready(echo)
        text = ends.start("server", [str(probe), "ping", ends.terminal, PORT, str(count)]).rest()
        return Errors.of(np.array(text.split(), dtype=float))
    finally:
        echo.stop()
