"""What is taken out of the facts of one run: windows, round trips, timeouts and the radio link's part in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cellwind.analysis.series import FactTable, Points, TimeSequence, time_sequence

from ..quantities import Distribution
from .cells import DOWNLINK, DURATION_S, FLOW, HEADER_BYTES, MSS, PDCP_BYTES, TTI_S, UPLINK, Cell
from .reports import Reports, reports
from .rounds import Round, rounds

if TYPE_CHECKING:
    from cellwind.analysis.series import Facts, Floats


@dataclass(frozen=True)
class Timeout:
    """A spurious timeout: when, the timer that ran out, and the round trip of the segment that was only late."""

    at_s: float
    rto_s: float
    rtt_s: float


@dataclass(frozen=True)
class Radio:
    """What the radio link did; all but ``ack_s`` is of the downlink.

    ``blocks_per_tti`` is the most that was sent in one, ``block_bytes`` their size with header, ``payload_bytes`` what
    a block carried on average, ``tti_s`` the time between two TTIs; ``error_share`` counts all transmissions.
    ``segment_s`` and ``ack_s`` are the shortest times of a full segment and of an acknowledgement, ``again_s`` the
    shortest one between the first two transmissions of a block.
    """

    blocks_per_tti: int
    block_bytes: int
    payload_bytes: float
    tti_s: float
    error_share: float
    segment_s: float
    ack_s: float
    again_s: float


@dataclass(frozen=True)
class Observation:
    """One run as the figures show it; windows in segments, round trips in seconds.

    ``fixed_s`` are the round trips without the radio link's part, empty where something was sent twice.
    """

    window: Points
    rtt: Points
    fixed_s: Floats
    sequence: TimeSequence
    spurious: tuple[Timeout, ...]
    redundant: int
    dupacks: int
    rounds: tuple[Round, ...]
    radio: Radio
    reports: Reports

    @property
    def latest(self) -> Timeout:
        """The spurious timeout whose acknowledgement came latest behind it. Raises ValueError without any."""
        return max(self.spurious, key=lambda timeout: timeout.rtt_s - timeout.rto_s)

    def whole_windows(self) -> Distribution:
        """How long the send window had each number of whole segments."""
        lasting = np.diff(np.append(self.window.time_s, DURATION_S))
        held = lasting > 0
        return Distribution(np.floor(self.window.value[held]).tolist(), lasting[held].tolist())

    def first_peak(self) -> tuple[float, float, float]:
        """The window at which growth first ended, the one after it, and when; in whole segments, NaN without any."""
        whole = np.floor(self.window.value)
        fallen = np.flatnonzero(np.diff(whole) < 0)
        if not len(fallen):
            return math.nan, math.nan, math.nan
        place = int(fallen[0])
        return float(whole[place]), float(whole[place + 1]), float(self.window.time_s[place + 1])

    def first_at(self, segments: float) -> float:
        """When the window first had so many whole segments after slow start; NaN when it never did."""
        peak_s = self.first_peak()[2]
        there = np.flatnonzero((np.floor(self.window.value) >= segments) & (self.window.time_s > peak_s))
        return float(self.window.time_s[there[0]]) if len(there) else math.nan


def observe(cell: Cell, facts: FactTable) -> Observation:
    """What the paper looks at in one run of ``cell``."""
    sent = facts.select("segment_sent", flow=FLOW)
    resent = facts.select("segment_resent", flow=FLOW)
    received = facts.select("segment_received", flow=FLOW)
    acks = facts.select("ack_received", flow=FLOW)
    window = facts.select("cwnd", flow=FLOW)
    rtt = _round_trips(sent, resent, acks)
    return Observation(
        window=Points(window.time_s, window.b / MSS),
        rtt=rtt,
        fixed_s=np.array([]) if len(resent) else _fixed(facts, rtt),
        sequence=time_sequence(facts, FLOW),
        spurious=tuple(_timeouts(facts, sent, acks)),
        redundant=int(((received.length > 0) & (received.b == 1)).sum()),
        dupacks=int(((acks.seq > 1) & (acks.seq <= acks.a)).sum()),
        rounds=tuple(rounds(facts)) if cell.tcp == "vegas" else (),
        radio=_radio(facts),
        reports=reports(facts),
    )


def _round_trips(sent: Facts, resent: Facts, acks: Facts) -> Points:
    """The round trip of every segment that was sent once, at the time of the ACK that reached its end."""
    data = (sent.seq > 0) & (sent.length > 0) & ~np.isin(sent.seq, resent.seq)
    highest = np.maximum.accumulate(np.maximum(acks.seq, acks.a)) if len(acks) else acks.seq
    place = np.searchsorted(highest, sent.seq[data] + sent.length[data])
    arrived = place < len(highest)
    at_s = acks.time_s[place[arrived]]
    return Points(at_s, at_s - sent.time_s[data][arrived])


def _fixed(facts: FactTable, rtt: Points) -> Floats:
    """Round trips less the times in both bearers; the n-th segment is answered by the n-th acknowledgement."""
    down = facts.select("packet_delivered", machine=DOWNLINK)
    up = facts.select("packet_delivered", machine=UPLINK)
    data = down.length == MSS + HEADER_BYTES
    answers = up.time_s > (down.time_s[data][0] if data.any() else math.inf)
    count = min(len(rtt), int(data.sum()), int(answers.sum()))
    radio_ns = down.a[data][:count] + up.a[answers][:count]
    fixed: Floats = np.round(rtt.value[:count] - radio_ns * 1e-9, 9)
    return fixed


def _timeouts(facts: FactTable, sent: Facts, acks: Facts) -> list[Timeout]:
    timeouts = facts.select("timeout", flow=FLOW)
    found_s = facts.select("spurious_timeout", flow=FLOW).time_s
    first_s = dict(zip(sent.seq.tolist(), sent.time_s.tolist(), strict=True))
    found = []
    for time_s in found_s.tolist():
        place = int(np.searchsorted(timeouts.time_s, time_s, side="right")) - 1
        seq, at_s = int(timeouts.seq[place]), float(timeouts.time_s[place])
        answer = np.flatnonzero((acks.time_s > at_s) & (acks.seq > seq))
        late_s = float(acks.time_s[answer[0]]) - first_s.get(seq, math.nan) if len(answer) else math.nan
        found.append(Timeout(at_s, float(timeouts.a[place]) * 1e-9, late_s))
    return found


def _radio(facts: FactTable) -> Radio:
    sent = facts.select("block_sent", "block_resent", machine=DOWNLINK)
    times, counts = np.unique(np.round(sent.time_s, 6), return_counts=True)
    # Later ones may be asked for by a report that was on its way already.
    order = np.lexsort((sent.time_s, sent.seq))
    first = np.append(True, np.diff(sent.seq[order]) > 0)
    again = np.diff(sent.time_s[order])[first[:-1] & ~first[1:]]
    down = facts.select("packet_delivered", machine=DOWNLINK)
    up = facts.select("packet_delivered", machine=UPLINK)
    full = down.length == MSS + HEADER_BYTES
    # Each packet takes a length indicator of a byte; with a standing queue no block has padding.
    carried = float((down.length + PDCP_BYTES + 1).sum())
    arrived = np.unique(facts.select("block_delivered", machine=DOWNLINK).seq)
    return Radio(
        blocks_per_tti=int(counts.max(initial=0)),
        block_bytes=int(sent.length.max(initial=0)),
        payload_bytes=carried / len(arrived) if len(arrived) else math.nan,
        tti_s=float(np.diff(times).min(initial=math.inf)),
        error_share=float((sent.b == 1).mean()),
        segment_s=float(down.a[full].min(initial=2**62)) * 1e-9,
        ack_s=float(up.a.min(initial=2**62)) * 1e-9,
        again_s=float(again.min(initial=math.inf)),
    )


def extra_ttis(radio: Radio) -> float:
    """TTIs that a retransmission costs beyond the first transmission: uplink ones of the status, and the block's."""
    return (radio.again_s - TTI_S["down"]) / TTI_S["up"] + 1
