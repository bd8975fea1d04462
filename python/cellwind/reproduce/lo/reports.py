"""What the polls and status reports of the RLC did in one run: Tables 1 and 2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .cells import DOWNLINK, DURATION_S, TTI_S, UPLINK, UPLINK_BLOCKS

if TYPE_CHECKING:
    from cellwind.analysis.series import Facts, FactTable, Floats

# The poll timer of lo-choices.toml.
POLL_TIMER_S = 0.085
# Instants closer than this are the same: facts count whole nanoseconds, and the columns are floats.
_SAME_S = 1e-7


@dataclass(frozen=True)
class Reports:
    """The downlink's RLC in one run.

    ``unanswered`` counts polls that were lost and brought no report before the poll timer ran out, ``repeated`` those
    of them that were followed by another poll in the next TTI. ``overhead`` is the share of the uplink's blocks that
    status reports took, ``retransmission_ms`` the mean time from a transmission of a block that failed to the next
    one, and ``needless`` the transmissions after one that had not failed, per new block. ``new_blocks`` were sent at
    least once, and ``last_delivery_s`` is when the last packet left.
    """

    unanswered: int
    repeated: int
    overhead: float
    retransmission_ms: float
    needless: float
    new_blocks: int
    last_delivery_s: float


def reports(facts: FactTable) -> Reports:
    """What the polls and reports did."""
    sent = facts.select("block_sent", "block_resent", machine=DOWNLINK)
    polls = facts.select("poll_sent", machine=DOWNLINK)
    status = facts.select("status_sent", machine=UPLINK)
    left = facts.select("packet_delivered", machine=DOWNLINK)
    unanswered, repeated = repetitions(sent, polls, status)
    again_ms, needless = retransmissions(sent)
    new = int((sent.kind == 0).sum())
    return Reports(
        unanswered=unanswered,
        repeated=repeated,
        # A report in the padding of a block takes none of its own.
        overhead=float((status.b == 0).sum()) * TTI_S["up"] / DURATION_S / UPLINK_BLOCKS,
        retransmission_ms=float(again_ms.mean()) if len(again_ms) else math.nan,
        needless=needless / new if new else math.nan,
        new_blocks=new,
        last_delivery_s=float(left.time_s[-1]) if len(left) else 0.0,
    )


def repetitions(sent: Facts, polls: Facts, status: Facts) -> tuple[int, int]:
    """Polls lost and unanswered, and how many of them were repeated when the poll timer had run out."""
    failed = sent.b == 1
    # A block is sent once in a TTI, whose blocks have the same instant.
    lost = set(zip(_ns(sent.time_s[failed]), sent.seq[failed].tolist(), strict=True))
    unanswered = repeated = 0
    for time_s, at_ns, seq in zip(polls.time_s.tolist(), _ns(polls.time_s), polls.seq.tolist(), strict=True):
        expires_s = time_s + POLL_TIMER_S
        if (at_ns, seq) not in lost or _within(status, time_s, expires_s) or _within(polls, time_s, expires_s):
            continue
        if expires_s + TTI_S["down"] > DURATION_S:
            continue
        unanswered += 1
        repeated += _within(polls, expires_s, expires_s + TTI_S["down"])
    return unanswered, repeated


def _within(facts: Facts, after_s: float, until_s: float) -> bool:
    """Whether there is one later than the first instant, and not later than the second."""
    first, last = np.searchsorted(facts.time_s, [after_s + _SAME_S, until_s + _SAME_S])
    return bool(last > first)


def retransmissions(sent: Facts) -> tuple[Floats, int]:
    """How long each transmission that failed waited for the next, and the number of those that followed a good one."""
    order = np.lexsort((sent.time_s, sent.seq))
    seq, time_s, failed = sent.seq[order], sent.time_s[order], sent.b[order] == 1
    same = seq[1:] == seq[:-1]
    return np.diff(time_s)[same & failed[:-1]] * 1e3, int((same & ~failed[:-1]).sum())


def _ns(time_s: np.ndarray) -> list[int]:
    return np.rint(time_s * 1e9).astype(np.int64).tolist()  # type: ignore[no-any-return]
