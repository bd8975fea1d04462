"""Round trips, idle periods, and what they and the flow of packets tell of the path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .recovery import repeats

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from .half import Half

    Integers = npt.NDArray[np.int64]

# A rate is taken over at least so many packets and so long: radio links deliver in bursts of a frame, some 10 ms.
_TRAIN = 16
_TRAIN_NS = 100_000_000


@dataclass(frozen=True)
class Samples:
    """Round trips from the capture to the receiver of the data and back: when each ended and how long it took."""

    time: Integers
    span: Integers


@dataclass(frozen=True)
class BufferEstimate:
    """The bottleneck's buffer by Gurtov's method: what was outstanding when the first segment that was lost left.

    ``outstanding_bytes`` and ``outstanding_packets`` count whole packets and are the buffer and the pipe together;
    ``pipe_bytes`` is the estimated rate of the bottleneck times the shortest round trip, and ``buffer_bytes`` the rest.
    Where the first loss was no overflow, the buffer is larger.
    """

    time_s: float
    outstanding_bytes: int
    outstanding_packets: int
    pipe_bytes: int | None

    @property
    def buffer_bytes(self) -> int | None:
        """Outstanding bytes less the pipe; None without an estimate of the pipe."""
        return None if self.pipe_bytes is None else max(0, self.outstanding_bytes - self.pipe_bytes)


def handshake(half: Half) -> tuple[int | None, int | None]:
    """Round trips between the capture and the responder, and between the capture and the initiator.

    The end whose SYN has no ACK is the initiator. Either is None when its packets are missing or were sent again.
    """
    import numpy as np

    bare = half.syn & ((half.flags & 16) == 0)
    opening = np.flatnonzero(bare)
    answers = np.flatnonzero(half.syn & ~bare)
    if not len(answers):
        return None, None
    answer = int(answers[0])
    before = opening[opening < answer]
    outward = int(half.time[answer] - half.time[before[0]]) if len(before) == 1 else None
    later = np.flatnonzero((half.sent != half.sent[answer]) & ((half.flags & 16) != 0) & ~half.syn)
    later = later[later > answer]
    inward = int(half.time[later[0]] - half.time[answer]) if len(later) and len(answers) == 1 else None
    return outward, inward


def samples(half: Half, resent: Integers) -> Samples:
    """A sample per acknowledgement of new data: by timestamps (RFC 7323 §4.1), or by Karn's rule (RFC 6298 §3).

    Echoes are looked up among the packets, so that a coarse clock does not make the samples coarse.
    """
    import numpy as np

    answers = np.flatnonzero(half.advances)
    original = half.occupies & (half.start >= half.before(half.highest))
    if half.has_timestamps:
        answers = answers[half.stamped[answers]]
        sent = np.flatnonzero(half.occupies & half.stamped)
        values = np.maximum.accumulate(half.tsval[sent]) if len(sent) else half.tsval[sent]
        at = np.searchsorted(values, half.echo[answers], side="left")
        known = at < len(sent)
        known[known] = values[at[known]] == half.echo[answers[known]]
        return _samples(half, answers[known], sent[at[known]])
    originals = np.flatnonzero(original)
    if not len(originals):
        return _samples(half, answers[:0], originals)
    ends = half.end[originals]
    una = half.una
    newest = np.searchsorted(ends, una[answers], side="right") - 1
    before = half.before(una)[answers]
    counted = (newest >= 0) & (ends[np.maximum(newest, 0)] > before) & (originals[np.maximum(newest, 0)] < answers)
    answers, newest, before = answers[counted], newest[counted], before[counted]
    first = np.searchsorted(ends, before, side="right")
    # When each original was first sent again; most never are.
    repeated = np.full(len(originals) + 1, len(half), dtype=np.int64)
    for row in resent[::-1]:
        low = np.searchsorted(ends, half.start[row], side="right")
        high = np.searchsorted(half.start[originals], half.end[row], side="left")
        repeated[low:high] = row
    syns = np.flatnonzero(half.syn & half.sent)
    if len(syns) > 1 and len(originals):
        repeated[0] = syns[1]
    marks = np.append(0, np.cumsum(repeated[:-1] < len(half)))
    doubtful = marks[newest + 1] > marks[first]
    for place in np.flatnonzero(doubtful):
        doubtful[place] = repeated[first[place] : newest[place] + 1].min() < answers[place]
    return _samples(half, answers[~doubtful], originals[newest[~doubtful]])


def _samples(half: Half, answers: Integers, sent: Integers) -> Samples:
    """From the rows of acknowledgements and of what they answer; captures of several queues may mix up the two."""
    span = half.time[answers] - half.time[sent]
    return Samples(half.time[answers][span >= 0], span[span >= 0])


def bottleneck_bps(half: Half, at_receiver: bool) -> float | None:
    """Rate of the slowest link, in bit/s of whole packets, from trains of packets that it spaced out.

    By the arrival of data at the receiver, else by the acknowledgements of new data. The upper quartile over all
    trains: a sender that pauses makes slow trains, and only a queue makes the others equal. None for few packets.
    """
    import numpy as np

    data = np.flatnonzero(half.data)
    if at_receiver:
        return _upper_rate(half.time[data], np.cumsum(half.ip_length[data]), np.zeros(len(data), dtype=np.int64))
    rows = np.flatnonzero(half.advances)
    # A filled hole acknowledges in one leap what arrived long before: no train goes over it.
    leap = np.diff(half.una[rows], prepend=half.una[rows[:1]]) > 3 * max(1, int(half.payload.max(initial=1)))
    overhead = float(half.ip_length[data].sum() / max(1, half.payload[data].sum()))
    rate = _upper_rate(half.time[rows], half.una[rows], np.cumsum(leap))
    return None if rate is None else rate * overhead


def _upper_rate(time: Integers, total: Integers, epoch: Integers) -> float | None:
    """Upper quartile of the growth of ``total``, in bits per second, over trains within one ``epoch``."""
    import numpy as np

    if len(time) < 2 * _TRAIN:
        return None
    # What comes at one instant came together: a train begins and ends behind it.
    behind = np.flatnonzero(np.append(time[1:] > time[:-1], True))
    first = behind[:-1]
    last = np.maximum(np.searchsorted(time, time[first] + _TRAIN_NS, side="left"), first + _TRAIN)
    first, last = first[last < len(time)], last[last < len(time)]
    last = np.searchsorted(time, time[last], side="right") - 1
    first, last = first[epoch[first] == epoch[last]], last[epoch[first] == epoch[last]]
    if len(first) < 2:
        return None
    grown = (total[last] - total[first]).astype(np.float64)
    return float(np.percentile(8e9 * grown / (time[last] - time[first]), 75))


def idle(half: Half, least_ns: int) -> list[tuple[int, int]]:
    """Periods of at least ``least_ns`` in which nothing was outstanding, in nanoseconds.

    They begin when the last data was acknowledged and end when new data was sent.
    """
    import numpy as np

    rows = np.flatnonzero(half.occupies | half.advances)
    empty = half.outstanding[rows] == 0
    gaps = np.diff(half.time[rows]) >= least_ns
    begins = np.flatnonzero(empty[:-1] & gaps & (half.una[rows[:-1]] > 0) & half.occupies[rows[1:]])
    return [(int(half.time[rows[place]]), int(half.time[rows[place + 1]])) for place in begins]


def far_and_near(forward: Half, backward: Half) -> tuple[int | None, int | None]:
    """Round trips between the capture and the responder, and the initiator, without a handshake to tell.

    The shortest time from data to its acknowledgement, and the lower decile of that from an acknowledgement to the
    data it lets go; both only where one end sends.
    """
    import numpy as np

    sends = int(forward.payload[forward.sent].sum()) >= int(backward.payload[backward.sent].sum())
    half = forward if sends else backward
    there = samples(half, repeats(half, None).resent).span
    rows = np.flatnonzero(half.advances[:-1] & half.data[1:])
    back = half.time[rows + 1] - half.time[rows]
    if len(there) < _TRAIN or len(back) < _TRAIN:
        return None, None
    receiver, sender = int(there.min()), int(np.percentile(back, 10))
    return (receiver, sender) if sends else (sender, receiver)
