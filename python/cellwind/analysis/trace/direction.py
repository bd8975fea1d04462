"""What one direction of a connection did: the numbers of a result row, and series over time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..series import Points
from . import recovery, timing
from .pairing import Pairing, pair, pair_acks, shift_between

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ...campaign.rows import FlowRow
    from .half import Half
    from .timing import BufferEstimate

    Integers = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

# Shorter pauses are the sender waiting for its application or for acknowledgements that are under way.
_IDLE_NS = 200_000_000


class Traffic:
    """Packets of one direction of anything: what a UDP flow has to tell."""

    def __init__(self, time: Integers, ip_length: Integers, payload: Integers, until_ns: int) -> None:
        self.packets = len(time)
        #: Bytes of whole packets.
        self.ip_bytes = int(ip_length.sum())
        self.bytes = int(payload.sum())
        self._time = time
        self._until_ns = until_ns

    @property
    def start_s(self) -> float | None:
        """Time of the first packet; None without any."""
        return float(self._time[0]) * 1e-9 if self.packets else None

    @property
    def duration_s(self) -> float | None:
        """From the first to the last packet."""
        return float(self._time[-1] - self._time[0]) * 1e-9 if self.packets else None

    @property
    def goodput_bps(self) -> float | None:
        """Payload over the duration; None for an instant."""
        return 8.0 * self.bytes / self.duration_s if self.duration_s else None


@dataclass(frozen=True)
class Marks:
    """Sequence number over time: of segments sent, sent again, received and lost, and of what is acknowledged."""

    sent: Points
    resent: Points
    received: Points
    acked: Points
    lost: Points
    timeouts: Points
    fast_retransmits: Points
    spurious: Points


class Direction:
    """One direction of a TCP connection, by the capture at its sender, at its receiver, or somewhere between.

    ``sender`` and ``receiver`` are what the captures near these ends show; with a single capture both are the same.
    ``seen_from`` says where that was taken: ``"sender"``, ``"receiver"``, ``"middle"``, or ``"both ends"``. What only
    the sender's end can know is None elsewhere.
    """

    def __init__(self, sender: Half, receiver: Half, seen_from: str, until_ns: int) -> None:
        self.sender = sender
        self.receiver = receiver
        self.seen_from = seen_from
        self._until_ns = until_ns

    @property
    def at_sender(self) -> bool:
        """Whether a capture shows what the sender saw, in its order."""
        return self.seen_from in ("sender", "both ends")

    @property
    def at_receiver(self) -> bool:
        """Whether a capture shows what the receiver saw."""
        return self.seen_from in ("receiver", "both ends")

    # What was delivered.

    @property
    def packets(self) -> int:
        """Packets sent, acknowledgements included."""
        return int(self.sender.sent.sum())

    @property
    def ip_bytes(self) -> int:
        """Bytes of these packets, headers included."""
        return int(self.sender.ip_length[self.sender.sent].sum())

    @cached_property
    def bytes(self) -> int:
        """Payload bytes that arrived in order: that were acknowledged, or were seen to arrive."""
        half = self.receiver
        highest = max(
            int((half.end - half.fin)[half.data].max(initial=1)),
            # A FIN that was acknowledged is not payload.
            int(half.end[half.fin & half.sent].max(initial=2)) - 1,
        )
        acknowledged = min(int(half.una.max(initial=0)), highest)
        return max(0, acknowledged - 1, self._in_order - 1 if self.at_receiver else 0)

    @cached_property
    def bytes_missed(self) -> int:
        """Payload bytes that were acknowledged, though the capture nearer to the sender never saw them.

        Whoever captured did not keep up: packets are missing, and every other count is too low.
        """
        import numpy as np

        half = self.sender
        rows = np.flatnonzero(half.data)
        if not len(rows):
            return 0
        order = rows[np.argsort(half.start[rows], kind="stable")]
        start, reached = half.start[order], np.maximum.accumulate(half.end[order])
        una = int(half.una.max(initial=0))
        low = np.minimum(np.append(1, reached[:-1]), una)
        return int(np.maximum(np.minimum(start, una) - low, 0).sum()) if self.at_sender else 0

    @property
    def start_ns(self) -> int | None:
        """Time of the first SYN of either end, or of the first packet, as the sender's capture has it."""
        half = self.sender
        if not len(half):
            return None
        return int(half.time[half.syn.argmax() if half.syn.any() else 0])

    @property
    def start_s(self) -> float | None:
        """When the connection was opened."""
        return None if self.start_ns is None else self.start_ns * 1e-9

    @cached_property
    def duration_s(self) -> float | None:
        """From the SYN until the last byte was delivered in order, or sent, as far as the captures show it.

        With the receiver's end captured, its last delivery; else the sender's last segment. None without data.
        """
        half = self.receiver
        rows = half.data & self._repeats_received.fresh if self.at_receiver else half.data
        rows &= half.start < self.bytes + 1
        if self.start_ns is None or not rows.any():
            return None
        return float(half.time[rows].max() - self.start_ns) * 1e-9

    @cached_property
    def completed(self) -> bool:
        """The FIN was sent, and everything before it arrived."""
        half = self.sender
        return bool(half.fin[half.sent].any()) and self.bytes == int(half.end[half.fin & half.sent].max()) - 2

    @property
    def goodput_bps(self) -> float | None:
        """8 × bytes / duration; if not completed, over the time until the capture ends."""
        if self.start_ns is None:
            return None
        duration = self.duration_s if self.completed else (self._until_ns - self.start_ns) * 1e-9
        return 8.0 * self.bytes / duration if duration else None

    # What was sent again, and why.

    @property
    def segments_sent(self) -> int:
        """Data segments that the sender's end of the captures shows, retransmissions included."""
        return int(self.sender.data.sum())

    @cached_property
    def segments_retransmitted(self) -> int:
        """Data segments sent again; away from the sender those whose original was lost before it, too."""
        return int(self.sender.data[self._repeats.resent].sum())

    @property
    def timeouts(self) -> int | None:
        """Retransmissions of the first outstanding segment, or of a SYN, that no acknowledgement called for."""
        return len(self._causes.timeouts) + self.sender.syns_resent if self.at_sender else None

    @property
    def fast_retransmits(self) -> int | None:
        """Recoveries that duplicate acknowledgements or SACK blocks began."""
        return len(self._causes.fast_retransmits) if self.at_sender else None

    @property
    def tail_probes(self) -> int | None:
        """Retransmissions of the last segment that look like tail loss probes (RFC 8985 §7)."""
        return len(self._causes.probes) if self.at_sender else None

    @cached_property
    def spurious_timeouts(self) -> int | None:
        """Timeouts before an acknowledgement that would have come without them (RFC 3522 §2).

        Several in a row, without an acknowledgement between them, count once. Exact from both ends; from the sender's
        alone those that timestamps, D-SACK or a short round trip prove.
        """
        return int(self._verdicts.sum()) if self.at_sender else None

    @property
    def necessary_timeouts(self) -> int | None:
        """Timeouts that were not spurious, those in a row counted once, as far as an acknowledgement followed."""
        return int((~self._verdicts).sum()) if self.at_sender else None

    @cached_property
    def spurious_retransmissions(self) -> int | None:
        """Data segments sent again whose data had arrived, or was to arrive, by an earlier transmission."""
        if not self.at_sender:
            return None
        return int((self._needless & self.sender.data[self._repeats.resent]).sum())

    @property
    def spurious_evidence(self) -> str | None:
        """How it is known that retransmissions were spurious."""
        if self.seen_from == "both ends":
            return "arrivals"
        if not self.at_sender:
            return None
        return "timestamps and D-SACK" if self.sender.has_timestamps else "round trips and D-SACK"

    @property
    def segments_lost(self) -> int | None:
        """Data segments that left the sender and did not arrive; None without both ends."""
        return None if self._pairing is None else int(self.sender.data[self._pairing.lost].sum())

    @cached_property
    def segments_reordered(self) -> int:
        """Data segments that a later one overtook, as the receiver's end of the captures shows it."""
        import numpy as np

        if self._pairing is None:
            return int(self.receiver.data[self._repeats_received.reordered].sum())
        sent, arrival = self._pairing.arrived
        data = self.sender.data[sent]
        order = np.argsort(arrival[data], kind="stable")
        place = sent[data][order]
        return int((place < np.maximum.accumulate(place)).sum()) if len(place) else 0

    @property
    def duplicate_acks(self) -> int:
        """Acknowledgements that repeated the one before while data was outstanding (RFC 5681 §2)."""
        return int(self.sender.duplicates.sum())

    @property
    def d_sack(self) -> bool:
        """Whether the receiver reported duplicates (RFC 2883)."""
        blocks = self.sender.blocks
        first = blocks.place == 0
        return bool((blocks.start[first] < self.sender.ack[blocks.row[first]]).any())

    @property
    def zero_windows(self) -> int:
        """How often the receiver closed its window."""
        import numpy as np

        window = self.sender.window[self.sender.acks]
        return int((np.diff((window == 0).astype(np.int8), prepend=0) == 1).sum())

    # Time.

    @cached_property
    def rtt_samples(self) -> timing.Samples:
        """Round trips from the sender's end of the captures to the receiver and back, the handshake's included."""
        return timing.samples(self.sender, self._repeats.resent)

    @property
    def rtt_mean_s(self) -> float | None:
        """Mean of the samples; None when they were not taken at the sender."""
        span = self.rtt_samples.span
        return float(span.mean()) * 1e-9 if self.at_sender and len(span) else None

    @property
    def rtt_min_s(self) -> float | None:
        """Shortest of the samples; None when they were not taken at the sender."""
        return None if self._rtt_min_ns is None or not self.at_sender else self._rtt_min_ns * 1e-9

    @property
    def rtt(self) -> Points:
        """Round-trip samples over time, in seconds."""
        return _points(self.rtt_samples.time, self.rtt_samples.span * 1e-9)

    @property
    def outstanding(self) -> Points:
        """Bytes sent and not acknowledged, as the sender's end of the captures shows it."""
        import numpy as np

        half = self.sender
        rows = np.flatnonzero((half.occupies | half.acks) & (half.una > 0))
        return _points(half.time[rows], half.outstanding[rows])

    @property
    def window(self) -> Points:
        """The window that the receiver advertised, in bytes."""
        import numpy as np

        rows = np.flatnonzero(self.sender.acks)
        return _points(self.sender.time[rows], self.sender.window[rows])

    @property
    def progress(self) -> Points:
        """Payload bytes that passed for the first time, added up, at the receiver's end of the captures."""
        import numpy as np

        rows = np.flatnonzero(self._repeats_received.fresh & self.receiver.data)
        return _points(self.receiver.time[rows], np.cumsum(self.receiver.payload[rows]))

    @property
    def marks(self) -> Marks:
        """The life of every segment, as far as the captures show it."""
        import numpy as np

        half, nothing = self.sender, np.empty(0, dtype=np.int64)
        resent = self._repeats.resent
        advances = np.flatnonzero(half.advances)
        again = np.zeros(len(half), dtype=bool)
        again[resent] = True
        first = np.flatnonzero(half.data & ~again)
        arrived = np.flatnonzero(self.receiver.data) if self._pairing is not None else nothing
        lost = self._pairing.lost if self._pairing is not None else nothing
        causes = self._causes if self.at_sender else recovery.Causes(nothing, nothing, nothing)
        needless = resent[self._needless] if self.at_sender else nothing
        shift = 0 if self._pairing is None else shift_between(half, self.receiver)
        return Marks(
            sent=_points(half.time[first], half.start[first]),
            resent=_points(half.time[resent], half.start[resent]),
            received=_points(self.receiver.time[arrived], self.receiver.start[arrived] + shift),
            acked=_points(half.time[advances], half.una[advances]),
            lost=_points(half.time[lost], half.start[lost]),
            timeouts=_points(half.time[causes.timeouts], half.start[causes.timeouts]),
            fast_retransmits=_points(half.time[causes.fast_retransmits], half.start[causes.fast_retransmits]),
            spurious=_points(half.time[needless], half.start[needless]),
        )

    @property
    def one_way_delay(self) -> Points | None:
        """Delay in seconds of every packet with data that arrived, at the instant it was sent; None without both ends.

        Only as right as the clocks of the two captures agree.
        """
        if self._pairing is None:
            return None
        sent, arrival = self._pairing.arrived
        return _points(self.sender.time[sent], (self.receiver.time[arrival] - self.sender.time[sent]) * 1e-9)

    @cached_property
    def bottleneck_bps(self) -> float | None:
        """Estimated rate of the slowest link, in bit/s of whole packets; None for short transfers."""
        return timing.bottleneck_bps(self.receiver if self.at_receiver else self.sender, self.at_receiver)

    @cached_property
    def buffer(self) -> BufferEstimate | None:
        """The bottleneck's buffer, from what was outstanding at the first loss; None without loss."""
        import numpy as np

        if not self.at_sender:
            return None
        half = self.sender
        if self._pairing is not None:
            lost = self._pairing.lost[half.data[self._pairing.lost]]
        else:
            again = self._repeats.resent[~self._needless]
            again = again[half.data[again]]
            first = np.flatnonzero(half.data & (half.end > half.start[again[0]]))[:1] if len(again) else again
            lost = first
        if not len(lost):
            return None
        row = int(lost[0])
        out = np.flatnonzero(half.data[:row] & (half.end[:row] > half.una[row]))
        pipe = None
        if self.bottleneck_bps is not None and self._rtt_min_ns is not None:
            pipe = int(self.bottleneck_bps * self._rtt_min_ns * 1e-9 / 8)
        return timing.BufferEstimate(float(half.time[row]) * 1e-9, int(half.ip_length[out].sum()), len(out), pipe)

    @property
    def idle(self) -> list[tuple[float, float]] | None:
        """Periods of at least 0.2 s in which the sender had nothing outstanding: from and to, in seconds.

        None away from the sender, where acknowledged means only acknowledged so far.
        """
        if not self.at_sender:
            return None
        return [(begin * 1e-9, end * 1e-9) for begin, end in timing.idle(self.sender, _IDLE_NS)]

    def row(self, name: str, transport: str) -> FlowRow:
        """The row of results of this direction. What the captures do not show counts as 0.

        Raises ValueError for a direction without any packet.
        """
        from ...campaign.rows import plain_transfer

        if self.start_s is None:
            raise ValueError("a direction without packets has no row")
        return {
            "name": name,
            "transport": transport,
            "completed": self.completed,
            "bytes": self.bytes,
            "start_s": self.start_s,
            "duration_s": self.duration_s if self.completed else None,
            "goodput_bps": self.goodput_bps,
            "segments_sent": self.segments_sent,
            "segments_retransmitted": self.segments_retransmitted,
            "timeouts": self.timeouts or 0,
            "fast_retransmits": self.fast_retransmits or 0,
            "spurious_timeouts": self.spurious_timeouts or 0,
            "necessary_timeouts": self.necessary_timeouts or 0,
            "rtt_mean_s": self.rtt_mean_s,
            **plain_transfer(),
        }

    @cached_property
    def _verdicts(self) -> Flags:
        """Whether each timeout was spurious: of those in a row the last, if an acknowledgement follows."""
        import numpy as np

        advances, timeouts = np.flatnonzero(self.sender.advances), self._causes.timeouts
        place = np.searchsorted(advances, timeouts)
        judged = (np.diff(place, append=len(self.sender)) > 0) & (place < len(advances))
        timeouts, acks = timeouts[judged], advances[place[judged]]
        if self._pairing is not None:
            return self._causes_of(acks) < timeouts
        needless = self._needless[np.searchsorted(self._repeats.resent, timeouts)]
        # One that reports a duplicate answers the retransmission: those of the original were lost.
        return needless & ~recovery.report_duplicates(self.sender)[acks]

    def _causes_of(self, acks: Integers) -> Integers:
        """For acknowledgements that the sender saw, the packet that each answers: the first one since that before.

        Both as rows of the sender's capture. Without the row where one left, it answers nothing that was sent.
        """
        import numpy as np

        assert self._pairing is not None
        left, arrived = pair_acks(self.sender, self.receiver).arrived
        departure = np.full(len(self.sender), -1, dtype=np.int64)
        departure[arrived] = left
        leaves = departure[acks]
        every = np.flatnonzero(self.receiver.acks)
        before = np.append(-1, every)[np.searchsorted(every, leaves)]
        sent, arrival = self._pairing.arrived
        order = np.argsort(arrival)
        came = arrival[order]
        # One that answers nothing new, to tell of the window for instance, repeats what was there.
        first = np.minimum(np.searchsorted(came, before), np.searchsorted(came, leaves) - 1)
        return np.where((leaves >= 0) & (first >= 0), sent[order][np.maximum(first, 0)], len(self.sender))

    @cached_property
    def _repeats(self) -> recovery.Repeats:
        # At the sender nothing is late yet, so that every gap is a packet that the capture missed.
        return recovery.repeats(self.sender, 0 if self.at_sender else self._return_ns(self.sender))

    @cached_property
    def _repeats_received(self) -> recovery.Repeats:
        if self.receiver is self.sender:
            return self._repeats
        return recovery.repeats(self.receiver, self._return_ns(self.receiver))

    @staticmethod
    def _return_ns(half: Half) -> int | None:
        """Round trip between a capture and the sender of the data."""
        outward, inward = timing.handshake(half)
        opened_by_sender = bool((half.syn & half.sent & ((half.flags & 16) == 0)).any())
        return inward if opened_by_sender else outward

    @cached_property
    def _causes(self) -> recovery.Causes:
        return recovery.causes(self.sender, self._repeats.resent, self._rtt_min_ns)

    @cached_property
    def _rtt_min_ns(self) -> int | None:
        span = self.rtt_samples.span
        return int(span.min()) if len(span) else None

    @cached_property
    def _pairing(self) -> Pairing | None:
        return pair(self.sender, self.receiver) if self.seen_from == "both ends" else None

    @cached_property
    def _needless(self) -> Flags:
        """Which of the retransmissions were spurious."""
        import numpy as np

        resent = self._repeats.resent
        if self._pairing is None:
            return recovery.spurious(self.sender, resent, self._rtt_min_ns)
        # The first byte that the receiver had not, when it first came: by which transmission?
        sent, arrival = self._pairing.arrived
        fresh = self._repeats_received.fresh[arrival]
        first: dict[int, int] = {}
        for row, start in zip(sent[fresh].tolist(), self.sender.start[sent[fresh]].tolist(), strict=True):
            first[start] = min(row, first.get(start, row))
        starts = self.sender.start[resent].tolist()
        return np.array(
            [first.get(start, row) < row for start, row in zip(starts, resent.tolist(), strict=True)], dtype=bool
        )

    @cached_property
    def _in_order(self) -> int:
        """The sequence number up to which all data arrived, by the receiver's capture; 0 without data."""
        import numpy as np

        half = self.receiver
        rows = np.flatnonzero(half.data)
        if not len(rows):
            return 0
        order = rows[np.argsort(half.start[rows], kind="stable")]
        reached = np.maximum.accumulate(half.end[order] - half.fin[order])
        gaps = np.flatnonzero(half.start[order][1:] > reached[:-1])
        return int(reached[gaps[0]] if len(gaps) else reached[-1])


def _points(time_ns: Integers, value: npt.NDArray[np.generic]) -> Points:
    import numpy as np

    return Points(np.multiply(time_ns, 1e-9, dtype=np.float64), value.astype(np.float64))
