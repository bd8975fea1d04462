"""The same packets in the captures of both ends: which of those sent arrived, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from .half import Half

    Integers = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Pairing:
    """What became of the packets of one end, as rows of the halves at both ends."""

    #: Rows where they left.
    sent: Integers
    #: For each of them, its row at the other end; -1 if it did not arrive.
    arrival: Integers
    #: Packets sent after the last one that arrived, whose fate the captures do not show.
    under_way: Flags

    @property
    def lost(self) -> Integers:
        """Rows where they left of the packets that did not arrive."""
        return self.sent[(self.arrival < 0) & ~self.under_way]

    @property
    def arrived(self) -> tuple[Integers, Integers]:
        """Rows at both ends of the packets that arrived."""
        found = self.arrival >= 0
        return self.sent[found], self.arrival[found]


def pair(sender: Half, receiver: Half) -> Pairing:
    """Finds every packet of the sender's capture that takes up sequence numbers in the receiver's."""
    return _pair(sender, receiver, sender.occupies, receiver.occupies, "start")


def pair_acks(sender: Half, receiver: Half) -> Pairing:
    """Finds every acknowledgement of the receiver's capture, from which it left, in that of the data's sender."""
    return _pair(receiver, sender, receiver.acks, sender.acks, "ack")


def _pair(source: Half, sink: Half, departing: Flags, arriving: Flags, number: str) -> Pairing:
    """Finds the packets ``departing`` from one end among those ``arriving`` at the other.

    Packets are told apart by their ``number``, length, timestamp and IP identification. Where one was sent several
    times, without any of these to tell them apart, and fewer arrived, those are taken that keep the order of the
    packets around them, and of these the latest that could have come so fast.
    """
    import numpy as np

    sent, received = np.flatnonzero(departing), np.flatnonzero(arriving)
    count = len(sent)
    shift = shift_between(source, sink)
    numbers = np.concatenate([getattr(source, number)[sent], getattr(sink, number)[received] + shift])
    keys = [numbers]
    for name in ("payload", "ip_id", "tsval"):
        keys.append(np.concatenate([source.column(name)[sent], sink.column(name)[received]]))
    order = np.lexsort(tuple(reversed(keys)))  # stable: in a group the sender's come first, each in order of time
    new = np.zeros(len(order), dtype=bool)
    new[:1] = True
    for key in keys:
        new[1:] |= key[order][1:] != key[order][:-1]
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(new) - 1
    groups = int(new.sum())
    departures = np.bincount(group[:count], minlength=groups)
    arrivals = np.bincount(group[count:], minlength=groups)

    arrival = np.full(count, -1, dtype=np.int64)
    clear = (departures == arrivals) & (departures > 0)
    left = order[clear[group[order]]]
    # Group by group: first all departures, then as many arrivals, in the same order.
    arrival[left[left < count]] = left[left >= count] - count
    unclear = np.flatnonzero((departures != arrivals) & (departures > 0) & (arrivals > 0))
    if len(unclear):
        bounds = np.append(np.flatnonzero(new), len(order))
        _settle(source.time[sent], sink.time[received], arrival, [order[bounds[g] : bounds[g + 1]] for g in unclear])
    last = int(np.flatnonzero(arrival >= 0).max(initial=-1))
    under_way = np.arange(count) > last
    rows = np.where(arrival >= 0, received[np.maximum(arrival, 0)] if len(received) else -1, -1)
    return Pairing(sent, rows, under_way)


def shift_between(sender: Half, receiver: Half) -> int:
    """Between the numbers of the two halves: they differ when one capture misses the SYN."""
    difference = (receiver.base - sender.base) & 0xFFFFFFFF
    return difference - (difference >> 31 << 32)


def _settle(sent: Integers, received: Integers, arrival: Integers, groups: list[Integers]) -> None:
    """Chooses among equal transmissions those that arrived; fills in ``arrival``."""
    import numpy as np

    count = len(sent)
    known = np.flatnonzero(arrival >= 0)
    # Half: a shorter segment may be faster than those that are known.
    least = max(0, int((received[arrival[known]] - sent[known]).min()) // 2) if len(known) else 0
    origin = np.full(len(received), -1, dtype=np.int64)
    origin[arrival[known]] = known
    before = np.maximum.accumulate(origin)
    after = np.minimum.accumulate(np.where(origin < 0, count, origin)[::-1])[::-1]
    for members in groups:
        departures = [int(place) for place in members[members < count]]
        for landed in reversed([int(place) - count for place in members[members >= count]]):
            possible = [place for place in departures if sent[place] + least <= received[landed]]
            in_order = [place for place in possible if before[landed] < place < after[landed]]
            for choice in (in_order, possible):
                if choice:
                    taken = max(choice)  # the latest has the shortest delay
                    arrival[taken] = landed
                    departures = [place for place in departures if place < taken]
                    break
