"""What the full RLC did in one run, for what the block model takes as settings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .cells import DOWNLINK, TTI_MS, UPLINK

if TYPE_CHECKING:
    from cellwind.analysis.series import Facts, FactTable, Floats


@dataclass(frozen=True)
class Rlc:
    """The downlink's RLC in one run.

    ``processing_ms`` is the shortest time that PDUs take to the other end besides their TTI, both directions together,
    ``status_ms`` that of a report without it. ``extra_delay_ms`` is the mean time from the end of a transmission that
    failed until the next one begins, and ``needless`` the share of transmissions after one that had not failed.
    ``reordered`` packets were handed up after one that entered later.
    """

    processing_ms: float
    status_ms: float
    extra_delay_ms: float
    needless: float
    reordered: int
    packets: int


def read(facts: FactTable) -> Rlc:
    """What the RLC did."""
    sent = facts.select("block_sent", "block_resent", machine=DOWNLINK)
    left = facts.select("packet_delivered", machine=DOWNLINK)
    order = np.lexsort((sent.time_s, sent.seq))
    seq, time_s, failed = sent.seq[order], sent.time_s[order], sent.b[order] == 1
    same = seq[1:] == seq[:-1]
    waited_ms = np.diff(time_s)[same & failed[:-1]] * 1e3
    entered_ns = np.rint(left.time_s * 1e9).astype(np.int64) - left.a
    up_ms = _passage_ms(facts, UPLINK)
    return Rlc(
        processing_ms=_passage_ms(facts, DOWNLINK) + up_ms,
        status_ms=_median(_answered_ms(sent, facts.select("status_sent", machine=UPLINK))) - up_ms,
        extra_delay_ms=float(waited_ms.mean()) - TTI_MS if len(waited_ms) else math.nan,
        needless=float((same & ~failed[:-1]).sum()) / len(sent) if len(sent) else math.nan,
        reordered=int((entered_ns < np.maximum.accumulate(entered_ns)).sum()),
        packets=len(left),
    )


def _passage_ms(facts: FactTable, machine: str) -> float:
    """The shortest time from a TTI's end until a PDU of it is at the other entity."""
    sent = facts.select("block_sent", machine=machine)
    arrived = facts.select("block_delivered", machine=machine)
    began_s = dict(zip(sent.seq.tolist(), sent.time_s.tolist(), strict=True))
    passed_s = [at_s - began_s[seq] for seq, at_s in zip(arrived.seq.tolist(), arrived.time_s.tolist(), strict=True)]
    return round(1e3 * min(passed_s, default=math.nan) - TTI_MS, 6)


def _answered_ms(sent: Facts, status: Facts) -> Floats:
    """How long before each TTI with retransmissions the last report left."""
    again_s = np.unique(sent.time_s[sent.kind == 1])
    place = np.searchsorted(status.time_s, again_s) - 1
    found: Floats = 1e3 * (again_s[place >= 0] - status.time_s[place[place >= 0]])
    return found


def _median(values: Floats) -> float:
    return float(np.median(values)) if len(values) else math.nan
