"""What is taken out of the facts of one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cellwind.analysis.series import FactTable, TimeSequence, time_sequence

from .cells import DELAY_ENDS_S, DELAY_STARTS_S, FLOW, MSS, RATE_BPS, Cell

if TYPE_CHECKING:
    from cellwind.analysis.series import Floats, Integers

QUEUE_FULL, RANDOM_LOSS = 1, 2  # reasons of a drop, docs/reference/facts.md

_PACKET_S = 8 * (MSS + 40) / RATE_BPS


@dataclass(frozen=True)
class Observation:
    """One run as the papers show it; times in seconds from its start.

    ``queue_losses_s`` are drops in the queue, ``lost_data_s`` and ``lost_acks_s`` those on the link. ``most_held``
    counts the packets in the link towards the receiver, the one being sent included. ``redundant_s`` are the arrivals
    of segments without a new byte, ``fast_retransmits_s`` the starts of fast retransmits. ``outstanding`` counts the
    segments on the way when the delay begins, ``pause_s`` is the longest time without a segment after it.
    """

    sequence: TimeSequence
    queue_losses_s: Floats
    lost_data_s: Floats
    lost_acks_s: Floats
    most_held: int
    rate_bps: float
    delay_s: float
    redundant_s: Floats
    fast_retransmits_s: Floats
    most_transmissions: int
    outstanding: int
    first_timeout_s: float
    pause_s: float


def observe(cell: Cell, facts: FactTable) -> Observation:
    """What the papers look at in one run of ``cell``."""
    import numpy as np

    received = facts.select("segment_received", flow=FLOW)
    sent = facts.select("segment_sent", "segment_resent", flow=FLOW)
    data, first = sent.length > 0, sent.kind == 0
    resent = facts.select("segment_resent", flow=FLOW)
    drops = facts.select("drop")
    data_drops, ack_drops = (
        facts.select("drop", machine=next((name for name in facts.machines("drop") if name.endswith(way)), ""))
        for way in (cell.wireless, cell.acks)
    )
    machine = next((name for name in facts.machines("queue_length") if name.endswith(cell.wireless)), "")
    waiting = facts.select("queue_length", machine=machine)
    arrivals = received.time_s[received.length > 0]
    gaps = np.diff(arrivals)
    # The link is busy most of the time: the usual gap is the time of a packet.
    full = 8 * (MSS + 40) / np.median(gaps) if len(gaps) else np.nan
    # Segments outstanding when the delay begins: sent, and not acknowledged.
    acks = facts.select("ack_received", flow=FLOW)
    acked = int(acks.seq[acks.time_s <= DELAY_STARTS_S].max(initial=1))
    begun = data & first & (sent.time_s <= DELAY_STARTS_S)
    highest = int((sent.seq + sent.length)[begun].max(initial=1))
    late = resent.time_s[resent.time_s > DELAY_STARTS_S]
    moving = sent.time_s[data & (sent.time_s >= DELAY_ENDS_S)]
    return Observation(
        sequence=time_sequence(facts, FLOW),
        queue_losses_s=drops.time_s[drops.a == QUEUE_FULL],
        lost_data_s=data_drops.time_s[data_drops.a == RANDOM_LOSS],
        lost_acks_s=ack_drops.time_s[ack_drops.a == RANDOM_LOSS],
        most_held=int(waiting.a.max(initial=0)) + 1,
        rate_bps=float(full),
        delay_s=_shortest(sent.time_s[data & first], sent.seq[data & first], received.time_s, received.seq) - _PACKET_S,
        redundant_s=received.time_s[(received.b == 1) & (received.length > 0)],
        fast_retransmits_s=facts.select("fast_retransmit", flow=FLOW).time_s,
        most_transmissions=int(resent.a.max(initial=1)),
        outstanding=-(-(highest - acked) // MSS),
        first_timeout_s=float(late[0]) if len(late) else np.nan,
        pause_s=float(np.diff(moving).max(initial=0.0)),
    )


def _shortest(sent_s: Floats, sent_seq: Integers, received_s: Floats, received_seq: Integers) -> float:
    """The shortest way of a segment from end to end."""
    import numpy as np

    left = dict(zip(sent_seq.tolist(), sent_s.tolist(), strict=True))
    ways = [
        time - left[seq] for time, seq in zip(received_s.tolist(), received_seq.tolist(), strict=True) if seq in left
    ]
    return min(ways, default=np.nan)
