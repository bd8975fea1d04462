"""What the radio did over time, from the facts of one replication: states, channels, RLC, handovers, pauses and calls.

A *bearer* is named by its access and its terminal, such as ``"umts/ue"``. Every function takes a ``FactTable``; times
are in seconds since the start of the run, and what no machine reported is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .series import Facts, FactTable, Points, changes, held

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

# The RRC states by the codes of the fact `rrc_state`, which begin at 1.
RRC_STATES = ("idle", "URA_PCH", "CELL_PCH", "CELL_FACH", "CELL_DCH")
_CELL_FACH = 1 + RRC_STATES.index("CELL_FACH")
_REPORTS = ("rrc_state", "channel_rate", "buffer_occupancy", "poll_sent", "status_sent")


@dataclass(frozen=True)
class Spans:
    """Stretches of time that do not overlap, in their order."""

    start_s: Floats
    end_s: Floats

    def __len__(self) -> int:
        return len(self.start_s)

    def within(self, start_s: float, end_s: float) -> Spans:
        """What of them lies between two instants."""
        keep = (self.end_s >= start_s) & (self.start_s <= end_s)
        return Spans(self.start_s[keep].clip(min=start_s), self.end_s[keep].clip(max=end_s))


@dataclass(frozen=True)
class Channel:
    """One direction of a terminal's channel: its bit rate in bit/s, 0 while nothing may be sent."""

    direction: str
    rate_bps: Points


@dataclass(frozen=True)
class Rlc:
    """One direction of a bearer in acknowledged mode, as its transmitter sees it.

    ``octets`` are those of packets that are not acknowledged or not sent, ``pdus`` those from the first unacknowledged
    one to the last sent. ``polls_s`` are the instants at which a PDU of this direction asked for a status report, and
    ``reports_s`` those at which a report left in this direction, about the other one.
    """

    direction: str
    octets: Points
    pdus: Points
    polls_s: Floats
    reports_s: Floats


@dataclass(frozen=True)
class Calls:
    """The calls of a cell: how many go on, and when one found it full."""

    machine: str
    going_on: Points
    refused_s: Floats


def bearers(facts: FactTable, *kinds: str) -> list[str]:
    """The bearers of which facts of these kinds are there; without a kind, of any that this module draws."""
    machines = facts.machines(*(kinds or _REPORTS))
    return list(dict.fromkeys(name for name in map(_bearer, machines) if name))


def terminals(facts: FactTable, flow: str) -> list[str]:
    """The terminals whose bearers or handovers reported something about a flow: one, or none that is known."""
    machines = (machine.split("/") for machine in facts.machines(flow=flow))
    return list(dict.fromkeys(parts[-2] for parts in machines if parts[0] in ("access", "handover") and len(parts) > 2))


def rrc_state(facts: FactTable, bearer: str) -> Points:
    """The RRC state of a terminal: the place in ``RRC_STATES`` that it has from each instant on."""
    rows = facts.select("rrc_state", machine=f"access/{bearer}/down")
    return held(changes(rows.time_s, rows.a - 1), facts.end_s)


def channels(facts: FactTable, bearer: str) -> list[Channel]:
    """The channel of a terminal in each direction."""
    rows = facts.select("channel_rate", machine=f"access/{bearer}/down")
    found = []
    for place, direction in enumerate(("down", "up")):
        own = rows.b == place
        found.append(Channel(direction, held(changes(rows.time_s[own], rows.a[own]), facts.end_s)))
    return found


def reselections(facts: FactTable, bearer: str) -> Spans:
    """When a terminal in CELL_FACH had no channel, because it moved to another cell."""
    rows = facts.select("channel_rate", "rrc_state", machine=f"access/{bearer}/down")
    state, rate, is_away = 0, 1, []
    for kind, value, direction in zip(rows.kind.tolist(), rows.a.tolist(), rows.b.tolist(), strict=True):
        if kind == 1:
            state = value
        elif direction == 0:
            rate = value
        is_away.append(state == _CELL_FACH and rate == 0)
    # From another state the terminal comes to this one an instant before it has the channel.
    return _union((start, end) for start, end in _between(rows, is_away, facts.end_s) if end > start)


def rlc(facts: FactTable, bearer: str) -> list[Rlc]:
    """What the entities of a bearer in acknowledged mode kept, asked for and reported, in each direction."""
    found = []
    for direction in ("down", "up"):
        machine = f"access/{bearer}/{direction}"
        kept = facts.select("buffer_occupancy", machine=machine)
        found.append(
            Rlc(
                direction,
                octets=held(changes(kept.time_s, kept.a), facts.end_s),
                pdus=held(changes(kept.time_s, kept.b), facts.end_s),
                polls_s=facts.select("poll_sent", machine=machine).time_s,
                reports_s=facts.select("status_sent", machine=machine).time_s,
            )
        )
    return found


def calls(facts: FactTable) -> list[Calls]:
    """The calls of each cell that has some."""
    found = []
    for machine in facts.machines("calls"):
        rows = facts.select("calls", machine=machine)
        refused = rows.b.copy()
        refused[1:] -= rows.b[:-1]
        found.append(Calls(machine, held(changes(rows.time_s, rows.a), facts.end_s), rows.time_s[refused > 0]))
    return found


def busy(facts: FactTable) -> Spans:
    """When calls went on, in any cell."""
    machines = facts.machines("calls")
    return _union(
        span
        for rows in (facts.select("calls", machine=machine) for machine in machines)
        for span in _between(rows, (rows.a > 0).tolist(), facts.end_s)
    )


def handovers(facts: FactTable, among: Iterable[str]) -> Spans:
    """When one of these terminals was on its way from one access to another."""
    machines = [f"handover/{terminal}/down" for terminal in among]
    return _paired(facts, machines, "handover_started", "handover_ended")


def pauses(facts: FactTable, among: Iterable[str]) -> Spans:
    """When transmission was held, as by a delay spike, on a link or in a bearer of one of these terminals."""
    those = set(among)
    machines = facts.machines("transmission_held")
    own = [name for name in machines if not name.startswith("access/") or name.split("/")[-2] in those]
    return _paired(facts, own, "transmission_held", "transmission_released")


def _bearer(machine: str) -> str:
    """The bearer that a direction of it belongs to, or nothing for other machines."""
    parts = machine.split("/")
    return "/".join(parts[1:-1]) if parts[0] == "access" and len(parts) > 3 else ""


def _paired(facts: FactTable, machines: Iterable[str], begin: str, end: str) -> Spans:
    """The stretches between a fact of one kind and the next one of another, at any of these machines."""
    return _union(
        span
        for rows in (facts.select(end, begin, machine=machine) for machine in machines)
        for span in _between(rows, (rows.kind == 1).tolist(), facts.end_s)
    )


def _between(rows: Facts, is_on: Sequence[bool], end_s: float) -> list[tuple[float, float]]:
    """From each row that is on to the next one that is not."""
    found: list[tuple[float, float]] = []
    since: float | None = None
    for time, on in zip(rows.time_s.tolist(), is_on, strict=True):
        if on and since is None:
            since = time
        elif not on and since is not None:
            found.append((since, time))
            since = None
    return found if since is None else [*found, (since, end_s)]


def _union(spans: Iterable[tuple[float, float]]) -> Spans:
    import numpy as np

    joined: list[list[float]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    ends = np.array(joined, dtype=np.float64).reshape(-1, 2)
    return Spans(ends[:, 0], ends[:, 1])
