"""What is read from the facts of a download over the RLC in acknowledged mode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellwind.analysis.series import FactTable

from .cells import FLOW
from .transfers import TTI_S

DOWN, UP = "access/umts/ue/down", "access/umts/ue/up"


@dataclass(frozen=True)
class RlcSeen:
    """One download: what the downlink's PDUs took, and what the terminal reported.

    ``rtt_s`` is the mean time of an SDU until it was acknowledged, ``resent_after_s`` that of a PDU until it was first
    sent again; None when there is none. ``needless_pdus`` had arrived when they were sent again.
    """

    data_pdus: int
    status_pdus: int
    pdus_per_tti: float
    rtt_s: float
    resent_after_s: float | None
    needless_pdus: int
    # The SYN, and the last byte in order.
    started_s: float
    completed_s: float


def observe_rlc(facts: FactTable) -> RlcSeen:
    """What section 5.3.3 defines, in one run."""
    sent = facts.select("block_sent", "block_resent", machine=DOWN)
    order = np.lexsort((sent.time_s, sent.seq))
    seq, time_s, arrived = sent.seq[order], sent.time_s[order], sent.b[order] == 0
    again = np.diff(seq) == 0
    # The second transmission of a PDU follows its first one.
    second = again & np.concatenate(([True], ~again[:-1]))
    waited = np.diff(time_s)[second]
    needless = 0
    for place in np.flatnonzero(again):
        # What arrived once has arrived whenever it is sent later.
        arrived[place + 1] |= arrived[place]
        needless += bool(arrived[place])
    return RlcSeen(
        data_pdus=len(sent),
        status_pdus=len(facts.select("status_sent", machine=UP)),
        pdus_per_tti=len(sent) / len(np.unique(sent.time_s)),
        rtt_s=float(facts.select("sdu_acknowledged", machine=DOWN).a.mean()) * 1e-9,
        resent_after_s=float(waited.mean()) if len(waited) else None,
        needless_pdus=needless,
        started_s=float(facts.select("flow_started", flow=FLOW).time_s[0]),
        completed_s=float(facts.select("flow_completed", flow=FLOW).time_s[-1]),
    )


@dataclass(frozen=True)
class DeadlockSeen:
    """The fate of the first packet's first PDU, in s.

    ``silence_s`` lasts from its transmission until that of the next PDU, ``gap_to_resent_s`` from the first PDU behind
    the gap until the lost one is sent again, and ``transmissions`` counts how often that was.
    """

    silence_s: float
    gap_to_resent_s: float
    transmissions: int
    # From TCP's first packet until its second, which is the same again where the first was lost.
    syn_again_s: float


def observe_deadlock(facts: FactTable) -> DeadlockSeen:
    """What Tables C.1 and C.2 show."""
    sent = facts.select("block_sent", "block_resent", machine=DOWN)
    lost = sent.seq[0]
    own = sent.time_s[sent.seq == lost]
    others = sent.time_s[sent.time_s > own[0] + TTI_S / 2]
    behind = sent.time_s[(sent.seq > lost + 1) & (sent.time_s > own[0])]
    # The packet that opens the connection, and its copy.
    opening = facts.select("queue_length", machine=DOWN).time_s
    return DeadlockSeen(
        silence_s=float(others[0] - own[0]),
        gap_to_resent_s=float(own[1] - behind[0]) if len(own) > 1 else float("nan"),
        transmissions=len(own),
        syn_again_s=float(opening[1] - opening[0]),
    )
