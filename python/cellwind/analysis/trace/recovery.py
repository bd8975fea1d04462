"""What was sent again, why, and whether it was needed, judged from packets alone.

A capture at the sender shows every transmission, and when each acknowledgement reached it. What it does not show is
the sender's mind: causes are those that the rules of RFC 5681, 6298, 6582 and 6675 leave for what was seen.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from .half import Half

    Integers = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

# A segment so soon after an acknowledgement was sent because of it.
_AT_ONCE_NS = 100_000
# The same where a busy host may have taken its time, and the acknowledgement gave a reason.
_SOON_NS = 5_000_000
# What the smallest timeout adds to the round trip (Linux: TCP_RTO_MIN; RFC 6298 §2.4 asks for more).
_LEAST_VARIANCE_NS = 200_000_000
# RFC 5681 §3.2.
_DUP_THRESH = 3
# Networks that reorder do it within this time (RFC 4737 has no bound; Wireshark takes the same).
_REORDERING_NS = 3_000_000


@dataclass(frozen=True)
class Repeats:
    """Rows of a ``Half``, each array in the order of time."""

    #: Segments, or a FIN, that were sent again.
    resent: Integers
    #: Segments that came after a later one without having been sent again.
    reordered: Integers
    #: Whether a packet carried anything that had not passed before.
    fresh: Flags


@dataclass(frozen=True)
class Causes:
    """Rows of a ``Half`` where a retransmission began, by what made the sender repeat."""

    timeouts: Integers
    fast_retransmits: Integers
    #: Tail loss probes (RFC 8985 §7): the last segment, without a timeout of the first.
    probes: Integers


def repeats(half: Half, return_ns: int | None) -> Repeats:
    """Tells segments sent again from those that the network delivered late.

    ``return_ns`` is the round trip between the capture and the sender: nothing that answers a gap can come sooner.
    """
    import numpy as np

    rows = half.occupies & ~half.syn & (half.data | half.fin)
    highest = half.before(half.highest)
    low = rows & (half.start < highest)
    above = rows & (half.start > highest) & (highest > 0)
    fresh = rows & ~low
    if not above.any():
        fresh |= low & (half.end > highest)
        return Repeats(np.flatnonzero(low), np.empty(0, dtype=np.int64), fresh)

    # Only packets around a gap need a look, one by one.
    holes: list[tuple[int, int, int]] = []  # start, end, when it opened
    resent: list[int] = []
    reordered: list[int] = []
    soon = max(_REORDERING_NS, 0 if return_ns is None else int(0.9 * return_ns))
    newest = np.maximum.accumulate(np.where(rows & half.stamped, half.tsval, np.iinfo(np.int64).min))
    for row in np.flatnonzero(low | above).tolist():
        start, end, time = int(half.start[row]), int(half.end[row]), int(half.time[row])
        if above[row]:
            holes.append((int(highest[row]), start, time))
            continue
        opened = _fill(holes, start, end)
        if opened is None and end <= highest[row]:
            resent.append(row)
            continue
        fresh[row] = True
        if opened is None:
            resent.append(row)  # begins with what was there and goes on with new data
        elif time - opened < soon or (half.stamped[row] and half.tsval[row] < newest[row - 1]):
            reordered.append(row)
        else:
            resent.append(row)
    return Repeats(np.array(resent, dtype=np.int64), np.array(reordered, dtype=np.int64), fresh)


def _fill(holes: list[tuple[int, int, int]], start: int, end: int) -> int | None:
    """Takes ``[start, end)`` out of the holes; when the first one it touched had opened, or None."""
    first = max(0, bisect_right(holes, (start, start, 1 << 62)) - 1)
    opened = None
    place = first
    while place < len(holes) and holes[place][0] < end:
        low, high, time = holes[place]
        if high <= start:
            place += 1
            continue
        opened = time if opened is None else opened
        left = [(low, start, time)] if low < start else []
        right = [(end, high, time)] if end < high else []
        holes[place : place + 1] = left + right
        place += len(left) + len(right)
    return opened


def causes(half: Half, resent: Integers, rtt_ns: int | None) -> Causes:
    """What made the sender repeat, in a capture taken at the sender."""
    import numpy as np

    rows = np.arange(len(half))
    una, highest = half.before(half.una), half.before(half.highest)
    last_ack = np.maximum.accumulate(np.where(half.acks, rows, -1))
    last_advance = np.maximum.accumulate(np.where(half.advances, rows, 0))
    duplicates = np.cumsum(half.duplicates)
    at_advance = np.maximum.accumulate(np.where(half.advances, duplicates, 0))
    with_blocks = np.zeros(len(half), dtype=bool)
    with_blocks[half.blocks.row] = True
    sack = half.sack_permitted
    edge = np.zeros(len(half), dtype=np.int64)
    np.maximum.at(edge, half.blocks.row, half.blocks.end)
    edge = np.maximum.accumulate(edge)

    timeouts: list[int] = []
    fast: list[int] = []
    probes: list[int] = []
    # Everything below had been sent when the last loss was found (`recover` of RFC 6582).
    recover = 0
    at_timeout = 0
    # The lowest number outstanding when it was last sent again, and the highest that had been sent by then.
    repaired, repaired_highest = -1, -1
    last_sent = -1
    for row in resent.tolist():
        ack = int(last_ack[row])
        waited = int(half.time[row] - half.time[ack])
        lowest = int(una[row])
        if not half.start[row] <= lowest < half.end[row]:
            alone = half.time[row] - half.time[last_sent] > _SOON_NS if last_sent >= 0 else True
            if alone and waited > _SOON_NS and half.end[row] == highest[row]:
                probes.append(row)
            last_sent = row
            continue
        last_sent = row
        count = int(duplicates[ack] - max(at_advance[ack], at_timeout))
        advanced = bool(half.advances[ack])
        blocks = sack and bool(with_blocks[ack])
        # RFC 6298 and Linux: the timer runs for a round trip and 200 ms at least, from the last acknowledgement.
        early = rtt_ns is not None and int(half.time[row] - half.time[last_advance[row]]) < rtt_ns + _LEAST_VARIANCE_NS
        if repaired == lowest:
            # RFC 8985 §6.2: what was sent after the repair arrived, which was not known before, and the repair did not.
            evident = blocks and int(edge[ack - 1]) <= repaired_highest < int(edge[ack])
        else:
            evident = count == _DUP_THRESH or (blocks and early)
        answers = waited <= _AT_ONCE_NS or (waited <= _SOON_NS and (advanced or evident))
        # RFC 8985 §6.3: RACK waits some of a round trip for reordered segments, and less than any timeout.
        rack = blocks and early
        if not answers and not rack:
            timeouts.append(row)
            recover = int(highest[row])
            at_timeout = int(duplicates[row])
        elif _begins_recovery(lowest >= recover, advanced, count, sack, blocks):
            fast.append(row)
            recover = int(highest[row])
        repaired, repaired_highest = lowest, int(highest[row])
    return Causes(*(np.array(found, dtype=np.int64) for found in (timeouts, fast, probes)))


def _begins_recovery(beyond: bool, advanced: bool, count: int, sack: bool, blocks: bool) -> bool:
    """Whether a retransmission that answers an acknowledgement begins a recovery, or belongs to one that goes on.

    ``beyond``: everything from before the last loss is acknowledged. Without SACK some senders repair at every third
    duplicate, whatever came before (RFC 2582 §5 warns of it).
    """
    if advanced:
        return beyond and sack and blocks
    return beyond or (not sack and count == _DUP_THRESH)


def spurious(half: Half, resent: Integers, rtt_min_ns: int | None) -> Flags:
    """Which of the rows ``resent`` were not needed, as far as one capture proves it.

    By the echoed timestamp (Eifel, RFC 3522 §3.2), by D-SACK (RFC 2883 §4), or because the acknowledgement came
    within half of the shortest round trip.
    """
    import numpy as np

    needless = np.zeros(len(resent), dtype=bool)
    if not len(resent):
        return needless
    answers = np.flatnonzero(half.advances)
    after = np.searchsorted(answers, resent)
    answered = after < len(answers)
    first = answers[np.minimum(after, max(len(answers) - 1, 0))] if len(answers) else resent
    # Only what stood at the left edge is what the acknowledgement, and its echo, answers (RFC 7323 §4.3).
    edge = half.before(half.una)[first]
    answered &= (half.start[resent] <= edge) & (edge < half.end[resent])
    if half.has_timestamps:
        stamped = half.stamped[first] & half.stamped[resent]
        needless |= answered & stamped & (half.echo[first] < half.tsval[resent])
    elif rtt_min_ns is not None:
        # Half: a shorter segment may be faster than any that gave a sample, but not so much.
        needless |= answered & (half.time[first] - half.time[resent] < rtt_min_ns // 2)
    needless |= _reported(half, resent)
    return needless


def report_duplicates(half: Half) -> Flags:
    """Which rows report that what they answer had arrived before (D-SACK, RFC 2883 §4)."""
    import numpy as np

    found = np.zeros(len(half), dtype=bool)
    found[half.blocks.row[_duplicate_blocks(half)]] = True
    return found


def _duplicate_blocks(half: Half) -> Integers:
    import numpy as np

    blocks = half.blocks
    first = np.flatnonzero(blocks.place == 0)
    followed = np.minimum(first + 1, max(len(blocks.row) - 1, 0))
    follows = (blocks.row[followed] == blocks.row[first]) & (followed > first)
    inside = follows & (blocks.start[first] >= blocks.start[followed]) & (blocks.end[first] <= blocks.end[followed])
    reporting: Integers = first[(blocks.start[first] < half.ack[blocks.row[first]]) | inside]
    return reporting


def _reported(half: Half, resent: Integers) -> Flags:
    """Which rows a D-SACK block reports: the latest of them that had been sent."""
    import numpy as np

    blocks = half.blocks
    found = np.zeros(len(resent), dtype=bool)
    by_start: dict[int, list[int]] = {}
    for place, row in enumerate(resent):
        by_start.setdefault(int(half.start[row]), []).append(place)
    for block in _duplicate_blocks(half):
        row = int(blocks.row[block])
        start, end = int(blocks.start[block]), int(blocks.end[block])
        # A block may cover several segments, as one that a middle box merged does.
        while start < end and start in by_start:
            sent = [place for place in by_start[start] if resent[place] < row and not found[place]]
            if not sent:
                break
            found[sent[-1]] = True
            start = int(half.end[resent[sent[-1]]])
    return found
