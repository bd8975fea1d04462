"""What is taken out of the facts of one run."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from cellwind.analysis.series import FactTable, TimeSequence, time_sequence

from ..design import Bench, Plan
from .bearer import AM_HEADER
from .cells import FLOW, Cell
from .connection import Connection, connection, kept_down
from .mechanism_cells import Mechanism, MechanismSeen, observe_mechanism
from .ping_cells import Pings, PingsSeen, Sharing, observe_pings
from .rlc_cells import Deadlock, RlcCell
from .rlc_observed import DeadlockSeen, RlcSeen, observe_deadlock, observe_rlc
from .transfers import TTI_S, Transfer

if TYPE_CHECKING:
    from .networks import Forwarding

AnyCell: TypeAlias = "Cell | Transfer | RlcCell | Deadlock | Mechanism | Forwarding | Pings | Sharing"

# Places of the kinds in a selection.
_ACKED, _WINDOW = 0, 1


@dataclass(frozen=True)
class SlowStart:
    """The packets of a download, in s from the first one: when each begins and ends on the radio link.

    ``acks`` has for each acknowledgement its packet, when it came, and the window after it in segments.
    """

    begun_s: Sequence[float]
    ended_s: Sequence[float]
    acks: Sequence[tuple[int, float, int]]


@dataclass(frozen=True)
class Observation:
    """One run as the figures of chapter 7 show it, Tables 5.1 and 5.2, section 5.3.3, or appendix C."""

    sequence: TimeSequence
    slow_start: SlowStart | None = None
    rlc: RlcSeen | None = None
    deadlock: DeadlockSeen | None = None
    mechanism: MechanismSeen | None = None
    pings: PingsSeen | None = None
    connection: Connection | None = None
    kept: int = 0
    most_held_bytes: float = 0.0

    @property
    def met(self) -> Connection:
        """The download with what it met, of a cell with a handover or a spike."""
        assert self.connection is not None
        return self.connection


TeyebBench: TypeAlias = Bench[AnyCell, Observation]
TeyebPlan: TypeAlias = Plan[AnyCell, Observation]


def observe(cell: AnyCell, facts: FactTable) -> Observation:
    """What the dissertation looks at in one run of ``cell``."""
    sequence = time_sequence(facts, FLOW)
    match cell:
        case Transfer():
            return Observation(sequence, slow_start=_slow_start(cell, facts))
        case RlcCell():
            return Observation(sequence, rlc=observe_rlc(facts))
        case Deadlock():
            return Observation(sequence, deadlock=observe_deadlock(facts))
        case Mechanism():
            return Observation(sequence, mechanism=observe_mechanism(facts))
        case Pings():
            return Observation(sequence, pings=observe_pings(facts))
        case Cell():
            header = AM_HEADER if cell.bearer == "rlc" else 0
            held = _most_held(facts, header) if cell.study == "order" else 0.0
            return Observation(sequence, connection=connection(facts), most_held_bytes=held)
        case _:
            return Observation(sequence, kept=kept_down(facts))


def _most_held(facts: FactTable, header: int) -> float:
    """The most bytes that had come over the air and not left for the upper layer (Figure 6.8)."""
    import numpy as np

    rows = facts.select("block_delivered", "packet_delivered", machine="access/umts/ue/down")
    is_block = rows.kind == 0
    # A PDU that comes again is held once.
    news = np.zeros(len(rows), dtype=bool)
    news[np.flatnonzero(is_block)[np.unique(rows.seq[is_block], return_index=True)[1]]] = True
    came = np.where(news, rows.length - header, 0)
    held = np.cumsum(np.where(is_block, came, -rows.length))
    # Padding never leaves: what is still counted later was padding before.
    padding = np.minimum.accumulate(held[::-1])[::-1]
    return float((held - padding).max())


def _slow_start(cell: Transfer, facts: FactTable) -> SlowStart:
    data = facts.select("segment_sent", flow=FLOW)
    # The SYN has no data, and its block has ended before.
    start = data.time_s[data.length > 1][0]
    blocks = facts.select("block_sent", machine="access/umts/ue/down")
    ended = blocks.time_s[blocks.time_s > start]
    first = ended[0] - TTI_S
    count = cell.download.down.blocks
    rows = facts.select("ack_received", "cwnd", flow=FLOW)
    acks: list[tuple[int, float, int]] = []
    # Facts of one instant stand in the order in which they happened: the window follows the ACK that changed it.
    for before, after in itertools.pairwise(range(len(rows))):
        if rows.kind[before] == _ACKED and rows.kind[after] == _WINDOW and rows.time_s[before] > start:
            packet = int(rows.seq[before] - 1) // cell.mss
            acks.append((packet, float(rows.time_s[before] - start), int(rows.a[after]) // cell.mss))
    begun = ended[::count] - TTI_S - first
    return SlowStart(begun.tolist(), (ended[count - 1 :: count] - first).tolist(), acks)
