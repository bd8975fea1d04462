"""What is taken out of the facts of one run: the send window, the data received, and the life of the blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cellwind.analysis.series import Facts, Points

from ..quantities import Distribution
from .cells import DOWNLINK, FEEDBACK_MS, FLOW, HEADER_BYTES, ONE_WAY_MS, TTI_MS, Cell
from .rlc import Rlc, read

if TYPE_CHECKING:
    from cellwind.analysis.series import FactTable, Floats, Integers

_TTI_S = TTI_MS * 1e-3
# Instants closer than this are the same: facts count whole nanoseconds, and the columns are floats.
_SAME_S = 1e-7


@dataclass(frozen=True)
class Halving:
    """A fast retransmit: the send window in segments before it, and when recovery ended."""

    before: float
    after: float


@dataclass(frozen=True)
class Blocks:
    """The life of the blocks and packets in the bearer.

    ``undelivered`` maps n to the share of blocks that n transmissions did not bring over. ``extra_delay_ms`` is the
    median time from the end of a failed transmission until the next one starts, and ``overtaken_by`` how many blocks
    were sent for the first time in between, although the block was back already. ``shared`` counts blocks with the
    end of one packet and the start of the next, ``split`` packets of several blocks, ``early`` packets handed up
    before their last block arrived, ``reordered`` those handed up after one that entered later.
    """

    largest_bytes: int
    undelivered: dict[int, float]
    extra_delay_ms: float
    overtaken_by: float
    shared: int
    split: int
    early: int
    reordered: int
    packets: int


@dataclass(frozen=True)
class Observation:
    """One run as the figures show it; windows in segments, received data in bytes with headers.

    ``link`` is what the radio bearer did, the block model or the full RLC.
    """

    send_window: Points
    end_s: float
    received: Points
    first_data_s: float
    first_burst: int
    fast_retransmits: int
    halvings: tuple[Halving, ...]
    internet_ms: float
    umts_ms: float
    link: Blocks | Rlc

    def window_distribution(self) -> Distribution:
        """How long the send window had each value."""
        lasting = np.diff(np.append(self.send_window.time_s, self.end_s))
        held = lasting > 0
        return Distribution(self.send_window.value[held].tolist(), lasting[held].tolist())

    def time_to(self, size: int) -> float:
        """When the first ``size`` bytes had been received in order; NaN when they never were."""
        reached = np.flatnonzero(self.received.value >= size)
        return float(self.received.time_s[reached[0]]) if len(reached) else math.nan

    def received_at(self, time_s: float) -> float:
        """Bytes received in order at that time."""
        place = int(np.searchsorted(self.received.time_s, time_s, side="right"))
        return float(self.received.value[place - 1]) if place else 0.0

    def lowest_after_slow_start(self, ceiling: float) -> float:
        """The smallest send window after the first time it reached ``ceiling``; NaN when it never did."""
        reached = np.flatnonzero(self.send_window.value >= ceiling)
        return float(self.send_window.value[reached[0] :].min()) if len(reached) else math.nan


def observe(cell: Cell, facts: FactTable) -> Observation:
    """What the thesis looks at in one run of ``cell``."""
    sent = _data(facts.select("segment_sent", flow=FLOW))
    received = _data(facts.select("segment_received", flow=FLOW))
    window = facts.select("cwnd", flow=FLOW)
    acks = facts.select("ack_received", flow=FLOW)
    data_acks = acks.time_s[acks.seq > 1]
    # With timestamps a segment carries less than the MSS.
    packets = np.maximum.accumulate(np.maximum(received.a - 1, 0)) / sent.length.max(initial=1)
    entered = facts.select("queue_length", machine=DOWNLINK)
    left = facts.select("packet_delivered", machine=DOWNLINK)
    halvings = _halvings(facts, cell)
    return Observation(
        send_window=Points(window.time_s, window.b / cell.mss),
        end_s=facts.end_s,
        received=Points(received.time_s, np.ceil(packets) * cell.packet_bytes),
        first_data_s=float(sent.time_s[0]),
        first_burst=int((sent.time_s < data_acks[0]).sum()) if len(data_acks) else len(sent),
        fast_retransmits=len(facts.select("fast_retransmit", flow=FLOW)),
        halvings=tuple(halvings),
        internet_ms=_transit_ms(
            _data(facts.select("segment_sent", "segment_resent", flow=FLOW)), _data(entered, HEADER_BYTES)
        ),
        umts_ms=_transit_ms(_data(left, HEADER_BYTES), received),
        link=(
            _blocks(facts, entered, left, ONE_WAY_MS[cell.path][0] * 1e-3)
            if cell.bearer == "block model"
            else read(facts)
        ),
    )


def _data(packets: Facts, header: int = 0) -> Facts:
    """What carries data: the SYN is number 0, and bare acknowledgements are no longer than their header."""
    rows = (packets.seq > 0) & (packets.length > header)
    return Facts(
        packets.time_s[rows],
        packets.kind[rows],
        packets.seq[rows],
        packets.length[rows],
        packets.a[rows],
        packets.b[rows],
    )


def _transit_ms(before: Facts, after: Facts) -> float:
    """Mean time between two places that packets pass in the same order; NaN when none passed."""
    passed = min(len(before), len(after))
    return float(np.mean(after.time_s[:passed] - before.time_s[:passed]) * 1e3) if passed else math.nan


def _halvings(facts: FactTable, cell: Cell) -> list[Halving]:
    starts = facts.select("fast_retransmit", flow=FLOW)
    window = facts.select("cwnd", flow=FLOW)
    found = []
    for time_s, lowest in zip(starts.time_s.tolist(), starts.seq.tolist(), strict=True):
        first = int(np.searchsorted(window.time_s, time_s))
        # Reno's recovery ends with the first acknowledgement of new data, which lets the window down.
        ended = int(np.searchsorted(window.seq, lowest, side="right"))
        if first > 0 and ended < len(window):
            found.append(Halving(float(window.b[first - 1]) / cell.mss, float(window.b[ended]) / cell.mss))
    return found


def _blocks(facts: FactTable, entered: Facts, left: Facts, umts_s: float) -> Blocks:
    sent = facts.select("block_sent", "block_resent", machine=DOWNLINK)
    delivered = facts.select("block_delivered", machine=DOWNLINK)
    new = sent.kind == 0
    extra_ms, overtaken = _returns(sent)
    order = _order_of_leaving(entered, left, umts_s)
    starts, ends = _block_ranges(sent.length[new][np.argsort(sent.seq[new])], entered.length)
    highest = np.maximum.accumulate(order)
    return Blocks(
        largest_bytes=int(sent.length.max(initial=0)),
        undelivered={n: float((delivered.a > n).mean()) if len(delivered) else math.nan for n in range(1, 6)},
        extra_delay_ms=extra_ms,
        overtaken_by=overtaken,
        shared=int((starts[1:] == ends[:-1]).sum()),
        split=int((ends > starts).sum()),
        early=_early(left.time_s, starts[order], ends[order], delivered, int(new.sum())),
        reordered=int((order < highest).sum()),
        packets=len(order),
    )


def _returns(sent: Facts) -> tuple[float, float]:
    """Median delay of a retransmission in ms, and how many blocks overtook one that was back in the queue."""
    order = np.lexsort((sent.a, sent.seq))
    same = sent.seq[order][1:] == sent.seq[order][:-1]
    failed_s, again_s = sent.time_s[order[:-1][same]], sent.time_s[order[1:][same]]
    if not len(again_s):
        return math.nan, math.nan
    # A block's fact stands at the end of its TTI; the delay ends where the next transmission starts.
    delay_s = again_s - failed_s - _TTI_S
    new_s = sent.time_s[sent.kind == 0]
    back_s = failed_s + FEEDBACK_MS * 1e-3 + _TTI_S
    overtaken = np.searchsorted(new_s, again_s - _SAME_S) - np.searchsorted(new_s, back_s - _SAME_S)
    # The median, because a block that comes back while another is in transfer waits for its end.
    return float(np.median(delay_s) * 1e3), float(np.maximum(overtaken, 0).mean())


def _order_of_leaving(entered: Facts, left: Facts, umts_s: float) -> Integers:
    """The place of each leaving packet in the order of arrival."""
    # A packet is known by its first byte and the instant it came in: retransmissions share the first byte. The fact
    # of leaving stands where the last block arrives, and its delay includes the fixed one behind the radio link.
    place = {
        key: index for index, key in enumerate(zip(entered.seq.tolist(), _ns(entered.time_s).tolist(), strict=True))
    }
    came = _ns(left.time_s + umts_s) - left.a
    keys = zip(left.seq.tolist(), came.tolist(), strict=True)
    return np.array([place[key] for key in keys], dtype=np.int64)


def _block_ranges(block_bytes: Integers, packet_bytes: Integers) -> tuple[Integers, Integers]:
    """First and last block of every packet, both in the order in which they were made."""
    block_end = np.cumsum(block_bytes)
    packet_end = np.cumsum(packet_bytes)
    starts = np.searchsorted(block_end, packet_end - packet_bytes, side="right")
    return starts, np.searchsorted(block_end, packet_end, side="left")


def _early(left_s: Floats, first: Integers, last: Integers, delivered: Facts, blocks: int) -> int:
    """Packets that left before the last of their blocks had arrived."""
    if not len(left_s):
        return 0
    arrived_s = np.full(blocks + 1, math.inf)
    arrived_s[delivered.seq] = delivered.time_s
    arrived_s[blocks] = -math.inf  # the end of the last range may lie behind the last block
    complete_s = np.maximum.reduceat(arrived_s, np.stack([first, last + 1], axis=1).ravel())[::2]
    return int((left_s < complete_s - _SAME_S).sum())


def _ns(time_s: Floats) -> Integers:
    return np.rint(time_s * 1e9).astype(np.int64)
