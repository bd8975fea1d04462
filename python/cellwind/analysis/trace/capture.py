"""Reading a capture file into columns, and sorting its packets into connections."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]

FIN, SYN, RST, ACK = 1, 2, 4, 16
TCP, UDP = 6, 17
HAS_TIMESTAMPS, HAS_MSS, HAS_WINDOW_SCALE, HAS_SACK_PERMITTED = 1, 2, 4, 8

# Captures of cellwind count from the start of the run, those of others from 1970: nobody simulates ten years.
_EPOCH_NS = 10 * 365 * 86_400 * 10**9


@dataclass(frozen=True)
class Conversation:
    """The packets of one connection in a trace: rows in the order of time, from which end, and between whom."""

    protocol: int
    initiator: tuple[str, int]
    responder: tuple[str, int]
    rows: Integers = field(repr=False)
    forward: npt.NDArray[np.bool_] = field(repr=False)

    @property
    def key(self) -> tuple[int, tuple[str, int], tuple[str, int]]:
        """What makes it the same connection in another capture, but for its initial sequence number."""
        return self.protocol, self.initiator, self.responder


class Trace:
    """The packets of one capture.

    ``columns`` are those of ``_core.Packets.columns``, with the packets in the order of time. ``damage`` says where
    the file is damaged, ``ignored`` counts the frames that were passed over. Times elsewhere are in seconds after
    ``origin_ns``: the start of the run in a capture of cellwind, the first packet in any other.
    """

    def __init__(
        self,
        path: str,
        columns: dict[str, npt.NDArray[Any]],
        endpoints: list[str],
        ignored: dict[str, int],
        damage: str | None,
    ) -> None:
        self.path = path
        self.columns = _in_order_of_time(columns)
        self.endpoints = endpoints
        self.ignored = ignored
        self.damage = damage

    def __len__(self) -> int:
        return len(self.columns["time_ns"])

    def __repr__(self) -> str:
        return f"Trace({self.path!r}, {len(self)} packets)"

    @property
    def origin_ns(self) -> int:
        """The instant from which times count, in nanoseconds of the capture."""
        time = self.columns["time_ns"]
        return int(time[0]) if len(time) and time[0] >= _EPOCH_NS else 0

    @property
    def connections(self) -> list[Any]:
        """Every connection and UDP flow, by its first packet; see ``connections``."""
        from .connection import connections

        return list(connections(self))

    @cached_property
    def conversations(self) -> list[Conversation]:
        """The packets by connection, in the order of their first packet."""
        return _split(self)


def read_capture(path: str | PathLike[str]) -> Trace:
    """Reads a pcapng or pcap file.

    Of a damaged file the packets before the damage are there, and ``Trace.damage`` says where it is. Raises
    ``cellwind._core.CaptureError`` for a file of another kind, and OSError.
    """
    from cellwind import _core

    packets = _core.read_packets(fspath(path))
    return Trace(fspath(path), dict(packets.columns()), packets.endpoints, packets.ignored, packets.damage)


def _in_order_of_time(columns: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Captures of several queues or interfaces are not always in order."""
    import numpy as np

    time = columns["time_ns"]
    if (np.diff(time) >= 0).all():
        return columns
    order = np.argsort(time, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    row = place[columns["sack_row"]]
    blocks = np.argsort(row, kind="stable")
    ordered = {name: column[order] for name, column in columns.items() if not name.startswith("sack_")}
    return ordered | {
        "sack_row": row[blocks].astype(np.uint32),
        "sack_start": columns["sack_start"][blocks],
        "sack_end": columns["sack_end"][blocks],
    }


def _split(trace: Trace) -> list[Conversation]:
    import numpy as np

    columns = trace.columns
    if not len(trace):
        return []
    source = columns["source"].astype(np.uint64) << np.uint64(16) | columns["source_port"]
    target = columns["target"].astype(np.uint64) << np.uint64(16) | columns["target_port"]
    upwards = source <= target
    low, high = np.where(upwards, source, target), np.where(upwards, target, source)
    # Stable, and by the last key first: within a pair of ends packets stay in the order of time.
    order = np.lexsort((high, low, columns["protocol"]))
    changes = np.zeros(len(order), dtype=bool)
    changes[0] = True
    for key in (low, high, columns["protocol"]):
        sorted_key = key[order]
        changes[1:] |= sorted_key[1:] != sorted_key[:-1]
    starts = np.flatnonzero(changes)
    found = []
    for rows in np.split(order, starts[1:]):
        for part in _split_at_syn(columns, rows):
            found.append(_conversation(trace, part, upwards))
    return sorted(found, key=lambda conversation: int(conversation.rows[0]))


def _split_at_syn(columns: dict[str, npt.NDArray[Any]], rows: Integers) -> list[Integers]:
    """The same ports may be used again: a SYN with another sequence number than the last one opens a new connection."""
    import numpy as np

    if columns["protocol"][rows[0]] != TCP:
        return [rows]
    opening = rows[(columns["flags"][rows] & (SYN | ACK)) == SYN]
    if len(opening) < 2:
        return [rows]
    # Both ends may send a SYN to each other at once.
    same = (columns["seq"][opening][1:] == columns["seq"][opening][:-1]) | (
        columns["source_port"][opening][1:] != columns["source_port"][opening][:-1]
    )
    cuts = np.searchsorted(rows, opening[1:][~same])
    return [part for part in np.split(rows, cuts) if len(part)]


def _conversation(trace: Trace, rows: Integers, upwards: npt.NDArray[np.bool_]) -> Conversation:
    """Who opened it: the sender of the SYN, or of the first packet where the beginning is missing."""
    columns = trace.columns
    first = int(rows[0])
    protocol = int(columns["protocol"][first])
    opener = first
    if protocol == TCP and (columns["flags"][first] & (SYN | ACK)) == SYN | ACK:
        forward = upwards[rows] != upwards[first]
        source, target = "target", "source"
    else:
        forward = upwards[rows] == upwards[first]
        source, target = "source", "target"
    ends = [
        (trace.endpoints[int(columns[end][opener])], int(columns[f"{end}_port"][opener])) for end in (source, target)
    ]
    return Conversation(protocol, ends[0], ends[1], rows, forward)
