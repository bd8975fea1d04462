"""Series over time from the facts of one replication.

Every function takes a ``FactTable`` and answers arrays of equal length per series: times in seconds since the start of
the run, sequence numbers in bytes as tshark counts them (SYN = 0, first data byte = 1). Series are empty, never
missing, when the machines had nothing to report.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Facts:
    """Some rows of the fact table as columns; what ``a`` and ``b`` mean depends on the kind."""

    time_s: Floats
    kind: Integers
    seq: Integers
    length: Integers
    a: Integers
    b: Integers

    def __len__(self) -> int:
        return len(self.time_s)


class FactTable:
    """The facts of one replication, ready to be asked for a kind, a flow and a machine.

    Takes a ``pyarrow.Table`` with the columns ``time_ns``, ``machine``, ``kind``, ``flow``, ``seq``, ``length``, ``a``
    and ``b``. Raises KeyError, naming the column, when one is missing.
    """

    def __init__(self, table: Any) -> None:
        import numpy as np

        self._time_ns = _integers(table, "time_ns")
        self._seq = _integers(table, "seq")
        self._length = _integers(table, "length")
        self._a = _integers(table, "a")
        self._b = _integers(table, "b")
        self._machines, self._machine = _codes(table, "machine")
        self._kinds, self._kind = _codes(table, "kind")
        self._flows, self._flow = _codes(table, "flow")
        # Rows come in the order of time; a table that was filtered or joined may have lost it. The order is stable, so
        # what happened at one instant stays in the order it happened.
        order = None if (np.diff(self._time_ns) >= 0).all() else np.argsort(self._time_ns, kind="stable")
        if order is not None:
            for name in ("_time_ns", "_seq", "_length", "_a", "_b", "_machine", "_kind", "_flow"):
                setattr(self, name, getattr(self, name)[order])

    def __len__(self) -> int:
        return len(self._time_ns)

    @property
    def end_s(self) -> float:
        """Time of the last fact, in seconds; 0 without facts."""
        return float(self._time_ns[-1]) * 1e-9 if len(self) else 0.0

    def flow_start_s(self, flow: str) -> float:
        """When a flow began, in seconds: its first fact; 0 without facts."""
        rows = self._rows_of(flow)
        return float(self._time_ns[rows[0]]) * 1e-9 if len(rows) else 0.0

    def flow_end_s(self, flow: str) -> float:
        """Until when a flow was there, in seconds: its last fact once it is complete, else the end of the run."""
        if not len(self.select("flow_completed", flow=flow)):
            return self.end_s
        return float(self._time_ns[self._rows_of(flow)[-1]]) * 1e-9

    @property
    def flows(self) -> list[str]:
        """Names of the flows that have facts, in their own order."""
        import numpy as np

        return [self._flows[code] for code in np.unique(self._flow) if self._flows[code]]

    def machines(self, *kinds: str, flow: str | None = None) -> list[str]:
        """Names of the machines that reported one of ``kinds``, or anything where none is named, in their own order.

        With ``flow`` only those that reported it about this flow.
        """
        import numpy as np

        wanted = np.isin(self._kind, [self._code(self._kinds, kind) for kind in kinds]) if kinds else self._kind >= 0
        if flow is not None:
            wanted &= self._flow == self._code(self._flows, flow)
        return [self._machines[code] for code in np.unique(self._machine[wanted])]

    def starts_over(self, flow: str) -> bool:
        """Whether the sequence numbers of what a flow's sender sends begin anew, as those of several connections do."""
        import numpy as np

        sent = self.of_end("sender", flow, "segment_sent")
        seq = sent.seq[sent.length > 0]
        # Facts of one instant may have traded places; only a number that is sent as new twice tells. Sorting is slow.
        return bool((np.diff(seq) <= 0).any()) and len(np.unique(seq)) < len(seq)

    def of_end(self, end: str, flow: str, *kinds: str) -> Facts:
        """The rows of these kinds that one end of a flow, ``sender`` or ``receiver``, reported.

        On a full-duplex connection both ends send, and only one of them sends the content.
        """
        machine = f"flow/{flow}/{end}"
        return self.select(*kinds, flow=flow, machine=machine if machine in self._machines else None)

    def select(self, *kinds: str, flow: str | None = None, machine: str | None = None) -> Facts:
        """The rows of these kinds in the order of time, of one flow and one machine where they are named.

        ``Facts.kind`` is the place of the row's kind in ``kinds``.
        """
        import numpy as np

        place = np.full(len(self._kinds) + 1, -1, dtype=np.int64)
        for position, kind in enumerate(kinds):
            place[self._code(self._kinds, kind)] = position
        place[-1] = -1
        found = place[self._kind]
        wanted = found >= 0
        if flow is not None:
            wanted &= self._flow == self._code(self._flows, flow)
        if machine is not None:
            wanted &= self._machine == self._code(self._machines, machine)
        rows = np.flatnonzero(wanted)
        return Facts(
            time_s=np.multiply(self._time_ns[rows], 1e-9, dtype=np.float64),
            kind=found[rows],
            seq=self._seq[rows],
            length=self._length[rows],
            a=self._a[rows],
            b=self._b[rows],
        )

    def _rows_of(self, flow: str) -> npt.NDArray[np.intp]:
        import numpy as np

        return np.flatnonzero(self._flow == self._code(self._flows, flow))

    @staticmethod
    def _code(names: list[str], name: str) -> int:
        # -1 marks no row: codes count from zero.
        return names.index(name) if name in names else -1


@dataclass(frozen=True)
class Points:
    """Instants and the value at each."""

    time_s: Floats
    value: Floats

    def __len__(self) -> int:
        return len(self.time_s)


@dataclass(frozen=True)
class TimeSequence:
    """The life of every byte of a flow: sequence number (bytes) over time.

    ``sent``, ``resent`` and ``received`` stand at the first byte of each segment; ``acked`` is the lowest byte not yet
    acknowledged, as the sender knows it, and empty where several connections have one each.
    """

    sent: Points
    resent: Points
    received: Points
    acked: Points
    timeouts: Points
    fast_retransmits: Points
    spurious_timeouts: Points


@dataclass(frozen=True)
class Window:
    """What the sender may have outstanding and what it has, in bytes; each value holds until the next.

    ``flight`` is the span from the lowest byte not yet acknowledged to the highest byte ever sent: it counts what the
    receiver holds out of order, and does not shrink while a timeout's retransmissions go back. It is empty where
    nothing is acknowledged, and all is empty where several connections have windows of their own.
    """

    cwnd: Points
    ssthresh: Points
    send_window: Points
    flight: Points


@dataclass(frozen=True)
class Throughput:
    """Rates in bit/s over the ``bin_s`` seconds that end at each time.

    ``arrived_bps`` counts new data when it reaches the receiver, ``delivered_bps`` when the application gets it in
    order: it pauses behind a hole and jumps when the hole is filled. It is NaN where several connections have an
    order each.
    """

    bin_s: float
    time_s: Floats
    arrived_bps: Floats
    delivered_bps: Floats


@dataclass(frozen=True)
class RoundTrip:
    """Round-trip times in seconds: the samples, the smoothed value and the timeout derived from them.

    The latter two are empty where several connections have values of their own.
    """

    samples: Points
    srtt: Points
    rto: Points
    timeouts: Points


@dataclass(frozen=True)
class Queue:
    """Packets and bytes waiting in front of one machine, as arrivals and departures changed them.

    Both end with 0 where the queue is empty for good, else with what waits at the end of the run, or, at a link, when
    the last packet left it of which that is known.
    """

    machine: str
    packets: Points
    bytes: Points


@dataclass(frozen=True)
class BlockErrors:
    """How many of a bearer's blocks were in error over the ``bin_s`` seconds that end at each time.

    ``fraction`` is NaN where no block was sent. ``sent`` and ``in_error`` count the whole run, repeats included.
    """

    machine: str
    bin_s: float
    time_s: Floats
    fraction: Floats
    sent: int
    in_error: int


def time_sequence(facts: FactTable, flow: str) -> TimeSequence:
    """Segments sent, resent, received and acknowledged over time."""
    import numpy as np

    received = facts.of_end("receiver", flow, "segment_received")
    acks = facts.of_end("sender", flow, *(() if facts.starts_over(flow) else ("ack_received",)))
    acked = np.maximum.accumulate(np.maximum(acks.seq, acks.a)) if len(acks) else acks.seq

    def at_seq(kind: str) -> Points:
        rows = facts.of_end("sender", flow, kind)
        return Points(rows.time_s, rows.seq.astype(np.float64))

    return TimeSequence(
        sent=at_seq("segment_sent"),
        resent=at_seq("segment_resent"),
        received=Points(received.time_s, received.seq.astype(np.float64)),
        acked=Points(acks.time_s, acked.astype(np.float64)),
        timeouts=at_seq("timeout"),
        fast_retransmits=at_seq("fast_retransmit"),
        spurious_timeouts=at_seq("spurious_timeout"),
    )


def window(facts: FactTable, flow: str) -> Window:
    """Congestion window, slow-start threshold, send window and outstanding data over time."""
    import numpy as np

    if facts.starts_over(flow):
        none = Points(np.empty(0), np.empty(0))
        return Window(none, none, none, none)
    cwnd = facts.of_end("sender", flow, "cwnd")
    ssthresh = facts.of_end("sender", flow, "ssthresh")
    moves = facts.of_end("sender", flow, "segment_sent", "segment_resent", "ack_received")
    is_ack = moves.kind == 2
    # What nobody acknowledges, as UDP's, is in flight for nobody knows how long.
    known = bool(len(cwnd) or is_ack.any())
    highest = np.where(is_ack, 0, moves.seq + moves.length)
    lowest = np.where(is_ack, np.maximum(moves.seq, moves.a), 0)
    if len(moves):
        highest = np.maximum.accumulate(highest)
        # Data starts at byte 1, and the first segments leave before anything is acknowledged.
        lowest = np.maximum(np.maximum.accumulate(lowest), moves.seq.min(where=~is_ack, initial=1))
    return Window(
        cwnd=changes(cwnd.time_s, cwnd.a),
        ssthresh=changes(ssthresh.time_s, ssthresh.a),
        send_window=changes(cwnd.time_s, cwnd.b),
        flight=changes(moves.time_s, np.maximum(highest - lowest, 0)) if known else Points(np.empty(0), np.empty(0)),
    )


def throughput(facts: FactTable, flow: str, bin_s: float | None = None) -> Throughput:
    """Rate of new data over a sliding bin, evaluated four times per bin.

    ``bin_s`` defaults to a round number that splits the transfer in 300 and holds 20 segments or else a tenth. Raises
    ValueError when it is not positive. The last bin ends with the last segment.
    """
    import numpy as np

    if bin_s is not None and not bin_s > 0:
        raise ValueError(f"the bin is a positive number of seconds, not {bin_s}")
    received = facts.of_end("receiver", flow, "segment_received")
    begun = facts.select("flow_started", "segment_sent", flow=flow)
    if not len(received):
        empty = np.empty(0)
        return Throughput(bin_s or 1.0, empty, empty, empty)
    start = float(begun.time_s[0]) if len(begun) else float(received.time_s[0])
    end = float(received.time_s[-1])
    span = max(end - start, 1e-9)
    least = min(20 * span / len(received), span / 10)
    width = bin_s if bin_s is not None else round_number(max(span / 300, least))
    grid = _quarters(start, end, width)
    # Sequence numbers start at 1: rcv_nxt - 1 bytes are in order.
    delivered = np.maximum.accumulate(np.maximum(received.a - 1, 0))
    in_order = rate_over(received.time_s, delivered, grid, width) * 8
    arrived = np.cumsum(np.where(received.b == 0, received.length, 0))
    return Throughput(
        bin_s=width,
        time_s=grid,
        arrived_bps=rate_over(received.time_s, arrived, grid, width) * 8,
        delivered_bps=np.full(len(grid), np.nan) if facts.starts_over(flow) else in_order,
    )


def rtt(facts: FactTable, flow: str) -> RoundTrip:
    """Round-trip samples, smoothed round-trip time, and the retransmission timeout with its back-off."""
    import numpy as np

    def seconds(kind: str) -> Points:
        rows = facts.of_end("sender", flow, kind)
        # The packets of a live run show that a timer expired, and not how long it was: that is 0.
        known = np.asarray(rows.a) > 0
        return Points(rows.time_s[known], np.multiply(rows.a[known], 1e-9, dtype=np.float64))

    several = facts.starts_over(flow)
    none = Points(np.empty(0), np.empty(0))
    return RoundTrip(
        samples=seconds("rtt_sample"),
        srtt=none if several else seconds("srtt"),
        rto=none if several else seconds("rto"),
        timeouts=seconds("timeout"),
    )


def queues(facts: FactTable, machines: Iterable[str] | None = None) -> list[Queue]:
    """Queue of each machine that reported one, or of ``machines``."""
    import numpy as np

    found = []
    for machine in facts.machines("queue_length") if machines is None else machines:
        joined = facts.select("queue_length", machine=machine)
        left = facts.select("queue_left", machine=machine)
        # In whole nanoseconds: who joins and leaves at one instant does both at the same.
        time_ns = np.rint(np.append(joined.time_s, left.time_s) * 1e9).astype(np.int64)
        time_ns[len(joined) :] -= left.b
        # Of the last packets on a link nobody has told yet when they left the queue.
        known_until_s = facts.end_s - float(left.b.max(initial=0)) * 1e-9
        change = np.append(np.ones(len(joined), dtype=np.int64), -left.a)
        order = np.argsort(time_ns, kind="stable")
        order = order[time_ns[order] * 1e-9 <= known_until_s]
        has_joined = np.cumsum(np.maximum(change[order], 0))
        has_left = np.cumsum(np.maximum(-change[order], 0))
        # Packets leave in the order in which they joined.
        octets = np.append(0, np.cumsum(joined.length))
        time_s = np.multiply(time_ns[order], 1e-9, dtype=np.float64)
        packets, waiting = has_joined - has_left, octets[has_joined] - octets[has_left]
        if len(packets) and packets[-1]:
            time_s = np.append(time_s, known_until_s)
            packets, waiting = np.append(packets, packets[-1]), np.append(waiting, waiting[-1])
        found.append(Queue(machine, changes(time_s, packets), changes(time_s, waiting)))
    return found


def block_errors(facts: FactTable, bin_s: float | None = None) -> list[BlockErrors]:
    """Share of blocks in error over a sliding bin, for each bearer that sent blocks.

    ``bin_s`` defaults to a round number near a fiftieth of the time the bearer was busy. Raises ValueError when it is
    not positive.
    """
    import numpy as np

    if bin_s is not None and not bin_s > 0:
        raise ValueError(f"the bin is a positive number of seconds, not {bin_s}")
    found = []
    names = dict.fromkeys(facts.machines("block_sent") + facts.machines("block_resent"))
    for machine in names:
        rows = facts.select("block_sent", "block_resent", machine=machine)
        start, end = float(rows.time_s[0]), float(rows.time_s[-1])
        width = bin_s if bin_s is not None else round_number(max(end - start, 1e-9) / 50)
        grid = _quarters(start, end, width)
        sent = rate_over(rows.time_s, np.arange(1, len(rows) + 1), grid, width)
        failed = rate_over(rows.time_s, np.cumsum(rows.b != 0), grid, width)
        with np.errstate(invalid="ignore", divide="ignore"):
            fraction = np.where(sent > 0, failed / sent, np.nan)
        found.append(BlockErrors(machine, width, grid, fraction, len(rows), int((rows.b != 0).sum())))
    return found


def _integers(table: Any, name: str) -> Integers:
    import numpy as np

    return np.asarray(_column(table, name).to_numpy(), dtype=np.int64)


def _codes(table: Any, name: str) -> tuple[list[str], Integers]:
    """Names and, per row, the place of its name; dictionary columns give theirs without touching the rows."""
    import numpy as np
    import pyarrow as pa

    column = _column(table, name)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    # Every chunk has its own dictionary until they are unified.
    array = column.unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        chunks = array.chunks
        array = chunks[0] if chunks else pa.array([], pa.string()).dictionary_encode()
    names = [value if value is not None else "" for value in array.dictionary.to_pylist()]
    return names, np.asarray(array.indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def _column(table: Any, name: str) -> Any:
    if name not in table.column_names:
        raise KeyError(f"the fact table has no column {name!r}; it has {', '.join(table.column_names)}")
    return table.column(name)


def changes(time_s: Floats, value: Integers) -> Points:
    """Only the rows that change the value, and the last one: a step line through them is the same line."""
    import numpy as np

    if not len(value):
        return Points(time_s, value.astype(np.float64))
    # Of several values at one instant only the last one holds.
    holds = np.append(time_s[1:] > time_s[:-1], True)
    time_s, value = time_s[holds], value[holds]
    keep = np.append(True, value[1:] != value[:-1])
    keep[-1] = True
    return Points(time_s[keep], value[keep].astype(np.float64))


def held(points: Points, until_s: float) -> Points:
    """The last value of a step line drawn out to ``until_s``."""
    import numpy as np

    if not len(points) or points.time_s[-1] >= until_s:
        return points
    return Points(np.append(points.time_s, until_s), np.append(points.value, points.value[-1]))


def _quarters(start_s: float, end_s: float, width_s: float) -> Floats:
    """The instants at which bins of this width end, four times per bin from the start, the last one at the end."""
    import numpy as np

    grid = start_s + width_s * np.arange(1, math.floor((end_s - start_s) / width_s * 4) + 1) / 4
    return grid if len(grid) and grid[-1] >= end_s else np.append(grid, end_s)


def rate_over(time_s: Floats, total: Integers, grid: Floats, width: float) -> Floats:
    """Growth of a running total per second over the ``width`` seconds that end at each grid time."""
    import numpy as np

    # In whole nanoseconds: a regular source would otherwise fall to either side of the bin's edges by rounding.
    time, end, span = (np.rint(np.multiply(t, 1e9)).astype(np.int64) for t in (time_s, grid, width))
    totals = np.append(0, total).astype(np.float64)
    upper = totals[np.searchsorted(time, end, side="right")]
    lower = totals[np.searchsorted(time, end - span, side="right")]
    return np.asarray((upper - lower) / width)


def round_number(value: float) -> float:
    """The number 1, 2 or 5 times a power of ten that is next above ``value``."""
    power = 10.0 ** math.floor(math.log10(value))
    for factor in (1, 2, 5):
        if factor * power >= value * (1 - 1e-9):
            return factor * power
    return 10 * power
