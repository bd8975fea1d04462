"""The rounds of Vegas, from what went over the wire: the queue they told of, and what became of the window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .cells import FLOW, MSS

if TYPE_CHECKING:
    from cellwind.analysis.series import FactTable

_SENT, _ACKED, _WINDOW, _THRESHOLD, _RESENT = range(5)


@dataclass(frozen=True)
class Round:
    """A round trip after slow start: Δ of equation (1) and the window's change in the round after it, in segments."""

    delta: float
    change: int


def rounds(facts: FactTable) -> list[Round]:
    """The rounds outside slow start, and not while something that was sent twice is on its way.

    A round ends with the first ACK beyond what was sent when the round before it ended; the round trip of that ACK
    counts in the next one, as in ns-2.
    """
    found: list[Round] = []
    sent_s: dict[int, float] = {}
    snd_nxt, begin, cwnd, ssthresh, recover = 1, 0, 0.0, np.inf, 0
    base, total, count = np.inf, 0.0, 0
    judged: tuple[float, float] | None = None  # Δ of the round before, and the window before it was judged
    # Facts of one instant stand in the order in which they happened.
    rows = facts.select("segment_sent", "ack_received", "cwnd", "ssthresh", "segment_resent", flow=FLOW)
    columns = (rows.time_s.tolist(), rows.kind.tolist(), rows.seq.tolist(), rows.length.tolist(), rows.a.tolist())
    for time_s, kind, seq, length, a in zip(*columns, strict=True):
        if kind == _SENT:
            snd_nxt = seq + length
            sent_s[snd_nxt] = time_s
        elif kind == _RESENT:
            recover, judged = snd_nxt, None
            sent_s.pop(seq + length, None)
        elif kind == _WINDOW:
            cwnd = a / MSS
        elif kind == _THRESHOLD:
            ssthresh = a / MSS
        elif kind == _ACKED and seq > a:
            if seq > begin:
                if judged is not None:
                    found.append(Round(judged[0], round(cwnd - judged[1])))
                judged = None
                if count and begin >= recover and cwnd >= ssthresh:
                    delta = (snd_nxt - seq + MSS) / MSS - (snd_nxt - max(begin, 1)) / MSS * base / (total / count)
                    judged = (delta, cwnd)
                begin, total, count = snd_nxt, 0.0, 0
            if seq in sent_s:
                rtt = time_s - sent_s[seq]
                base, total, count = min(base, rtt), total + rtt, count + 1
    return found
