"""Connections: the two directions between two ends, and where they were captured."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from . import timing
from .capture import TCP, UDP, Conversation, Trace
from .direction import Direction, Traffic
from .half import Half

if TYPE_CHECKING:
    from collections.abc import Iterator

End = tuple[str, int]

# A capture stands at an end when the other end is this many times as far away.
_NEARER = 4
# Both ends this close, in nanoseconds, are one machine.
_ONE_MACHINE_NS = 500_000


class Connection:
    """A TCP connection, or the packets of another protocol between two ends.

    ``initiator`` is the address and port of the end that sent the SYN (else the first packet), ``responder`` the
    other one. ``protocol`` is ``"tcp"``, ``"udp"`` or the number of another one.
    """

    def __init__(self, views: list[tuple[Trace, Conversation]], origin_ns: int) -> None:
        self._views = views
        self._origin_ns = origin_ns
        conversation = views[0][1]
        self.initiator: End = conversation.initiator
        self.responder: End = conversation.responder
        self.protocol = {TCP: "tcp", UDP: "udp"}.get(conversation.protocol, str(conversation.protocol))

    def __repr__(self) -> str:
        return f"Connection({self.protocol} {_named(self.initiator)} > {_named(self.responder)})"

    @property
    def name(self) -> str:
        """Both ends, the initiator first, as in ``10.0.0.1:80 > 10.1.0.1:49152``."""
        return f"{_named(self.initiator)} > {_named(self.responder)}"

    @property
    def is_tcp(self) -> bool:
        """Whether the directions are ``Direction`` and not ``Traffic``."""
        return self.protocol == "tcp"

    @property
    def start_s(self) -> float:
        """Time of the first packet, in the capture that saw it first."""
        return min(self._first_ns(view) for view in self._views) * 1e-9

    @property
    def duration_s(self) -> float:
        """From the first to the last packet."""
        last = max(int(trace.columns["time_ns"][conversation.rows[-1]]) for trace, conversation in self._views)
        return (last - self._origin_ns) * 1e-9 - self.start_s

    @property
    def packets(self) -> int:
        """Packets in both directions, each counted where it was sent."""
        return self.forward.packets + self.backward.packets

    @cached_property
    def captured_at(self) -> str:
        """Where the capture was taken, by the round trips to either side of it.

        ``"initiator"``, ``"responder"``, ``"middle"``, ``"both ends"`` of two captures, ``"one machine"`` that is both
        ends, or ``"unknown"`` where too few packets tell.
        """
        if len(self._views) == 2:
            return "both ends"
        if not self.is_tcp:
            return "unknown"
        return self._place(self._views[0])

    @cached_property
    def forward(self) -> Direction | Traffic:
        """From the initiator to the responder."""
        return self._direction(forward=True)

    @cached_property
    def backward(self) -> Direction | Traffic:
        """From the responder to the initiator."""
        return self._direction(forward=False)

    @property
    def bulk(self) -> Direction | Traffic:
        """The direction that carried more payload."""
        return self.backward if self.backward.bytes > self.forward.bytes else self.forward

    def _direction(self, forward: bool) -> Direction | Traffic:
        import numpy as np

        until_ns = max(int(trace.columns["time_ns"][-1]) for trace, _ in self._views) - self._origin_ns
        if not self.is_tcp:
            trace, conversation = self._views[0]
            rows = conversation.rows[conversation.forward == forward]
            columns = (trace.columns[name][rows].astype(np.int64) for name in ("time_ns", "ip_length", "payload"))
            time, ip_length, payload = columns
            return Traffic(time - self._origin_ns, ip_length, payload, until_ns)
        halves = [Half(trace, conversation, forward, self._origin_ns) for trace, conversation in self._views]
        if len(halves) == 2:
            near_initiator, near_responder = halves if self._first_is_initiator() else halves[::-1]
            sender, receiver = (near_initiator, near_responder) if forward else (near_responder, near_initiator)
            return Direction(sender, receiver, "both ends", until_ns)
        near = "initiator" if forward else "responder"
        seen_from = {"middle": "middle", "unknown": "unknown", near: "sender"}.get(self.captured_at, "receiver")
        return Direction(halves[0], halves[0], "sender" if self.captured_at == "one machine" else seen_from, until_ns)

    def _first_is_initiator(self) -> bool:
        """Whether the first of two captures is the initiator's."""
        places = [self._place(view) for view in self._views]
        if places[0] != places[1] and "initiator" in places:
            return places[0] == "initiator"
        if places[0] != places[1] and "responder" in places:
            return places[1] == "responder"
        return self._first_ns(self._views[0]) <= self._first_ns(self._views[1])

    def _place(self, view: tuple[Trace, Conversation]) -> str:
        """By the handshake: the SYN-ACK follows the SYN at once at the responder, and the ACK it at the initiator."""
        half = Half(*view, True, self._origin_ns)
        outward, inward = timing.handshake(half)
        if outward is None or inward is None:
            outward, inward = timing.far_and_near(half, Half(*view, False, self._origin_ns))
        if outward is None or inward is None:
            return "unknown"
        if outward + inward < _ONE_MACHINE_NS:
            return "one machine"
        if _NEARER * inward <= outward:
            return "initiator"
        return "responder" if _NEARER * outward <= inward else "middle"

    def _first_ns(self, view: tuple[Trace, Conversation]) -> int:
        trace, conversation = view
        return int(trace.columns["time_ns"][conversation.rows[0]]) - self._origin_ns


def connections(*traces: Trace) -> list[Connection]:
    """The connections of one capture, or of the captures of both ends, in the order of their first packet.

    A connection that both captures saw has its two ends; one that only one of them saw stands as in that one alone.
    Raises ValueError for more than two traces.
    """
    if not 1 <= len(traces) <= 2:
        raise ValueError(f"one capture, or those of both ends, not {len(traces)}")
    origin_ns = min(trace.origin_ns for trace in traces)
    views: dict[tuple[object, ...], list[tuple[Trace, Conversation]]] = {}
    for key, trace, conversation in _keyed(traces):
        views.setdefault(key, []).append((trace, conversation))
    found = [Connection(both, origin_ns) for both in views.values()]
    return sorted(found, key=lambda connection: connection.start_s)


def _keyed(traces: tuple[Trace, ...]) -> Iterator[tuple[tuple[object, ...], Trace, Conversation]]:
    """Each conversation with what is the same in both captures: its ends, and how often they were used before."""
    for trace in traces:
        used: defaultdict[object, int] = defaultdict(int)
        for conversation in trace.conversations:
            ends = (conversation.protocol, frozenset((conversation.initiator, conversation.responder)))
            used[ends] += 1
            yield (*ends, used[ends]), trace, conversation


def _named(end: End) -> str:
    address, port = end
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
