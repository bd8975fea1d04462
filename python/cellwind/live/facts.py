"""Facts of a live run: what the machines of the path told, and what the captures at both ends show of the flows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from cellwind import _core
    from cellwind.analysis.trace import Direction

    from .flows import LiveFlow

    Integers = npt.NDArray[np.int64]

# Columns in the order of a row below, with their types.
_TYPES = {
    "time_ns": np.int64,
    "machine": np.uint16,
    "kind": np.uint8,
    "flow": np.uint16,
    "seq": np.int64,
    "length": np.int32,
    "a": np.int64,
    "b": np.int64,
}


class LiveFacts:
    """The facts of a live run together, with columns and names as those of a simulated one.

    ``directions`` is what the captures show of each flow that began. A fact of the path names the flow when its
    terminal has only one, and else the terminal.
    """

    def __init__(self, run: _core.LiveRun, flows: Sequence[LiveFlow], directions: Mapping[str, Direction]) -> None:
        self._run = run
        self._flows = flows
        self._directions = directions
        path = run.machine_names
        self.machine_names = [*path, *(f"flow/{f.name}/{end}" for f in flows for end in ("sender", "receiver"))]
        self.kind_names = run.kind_names
        # Terminals behind the flows; the empty name is the last one.
        self.flow_names = [*(flow.name for flow in flows), *run.flow_names]

    def facts(self) -> dict[str, npt.NDArray[np.generic]]:
        """The facts as columns of equal length, in the order of time; they can be taken once."""
        columns = self._run.facts()
        path = dict(columns) | {"flow": self._flow_codes()[columns["flow"]]}
        parts = [path]
        for number, flow in enumerate(self._flows):
            if flow.name in self._directions:
                machine = len(self._run.machine_names) + 2 * number
                parts += self._of_flow(self._directions[flow.name], flow, number, machine)
        together = {name: np.concatenate([part[name] for part in parts]).astype(kind) for name, kind in _TYPES.items()}
        order = np.argsort(together["time_ns"], kind="stable")
        return {name: column[order] for name, column in together.items()}

    def _flow_codes(self) -> Integers:
        """The code here of each code of the path, which are those of terminals."""
        ends = [{flow.sender, flow.receiver} for flow in self._flows]
        codes = []
        for number, name in enumerate(self._run.flow_names):
            mine = [place for place, both in enumerate(ends) if name in both]
            codes.append(mine[0] if len(mine) == 1 else len(self._flows) + number)
        return np.array(codes, np.int64)

    def _of_flow(
        self, direction: Direction, flow: LiveFlow, number: int, machine: int
    ) -> list[dict[str, npt.NDArray[np.generic]]]:
        sender, receiver = direction.sender, direction.receiver

        def told(
            by: int, kind: str, time: Integers, seq: Integers, length: Integers | int, a: Integers, b: Integers | int
        ) -> dict[str, npt.NDArray[np.generic]]:
            code = self.kind_names.index(kind)
            row = (time, machine + by, code, number, seq, length, a, b)
            return {name: np.broadcast_to(value, len(time)) for name, value in zip(_TYPES, row, strict=True)}

        data = np.flatnonzero(sender.data)
        again = sender.start[data] < sender.before(sender.highest)[data]
        times_sent = _occurrences(sender.start[data])
        parts = []
        for kind, chosen in (("segment_sent", ~again), ("segment_resent", again)):
            rows = data[chosen]
            parts.append(
                told(0, kind, sender.time[rows], sender.start[rows], sender.payload[rows], times_sent[chosen], 1)
            )
        acks = np.flatnonzero(sender.acks)
        blocks = np.bincount(sender.blocks.row, minlength=len(sender))
        before = sender.before(sender.una)[acks]
        parts.append(told(0, "ack_received", sender.time[acks], sender.ack[acks], 0, before, blocks[acks]))
        arrived = np.flatnonzero(receiver.data)
        expected, needless = _delivered(receiver.start[arrived], receiver.end[arrived])
        parts.append(
            told(
                1,
                "segment_received",
                receiver.time[arrived],
                receiver.start[arrived],
                receiver.payload[arrived],
                expected,
                needless,
            )
        )
        acks = np.flatnonzero(receiver.acks)
        blocks = np.bincount(receiver.blocks.row, minlength=len(receiver))
        parts.append(
            told(1, "ack_sent", receiver.time[acks], receiver.ack[acks], 0, receiver.window[acks], blocks[acks])
        )
        marks = direction.marks
        for kind, points in (("timeout", marks.timeouts), ("fast_retransmit", marks.fast_retransmits)):
            time = np.rint(points.time_s * 1e9).astype(np.int64)
            # What the kernel knew beside that it happened, its packets do not say.
            parts.append(told(0, kind, time, points.value.astype(np.int64), 0, time * 0, 0))
        samples = direction.rtt_samples
        acknowledged = sender.una[np.searchsorted(sender.time, samples.time, side="right") - 1]
        parts.append(told(0, "rtt_sample", samples.time, acknowledged, 0, samples.span, 0))
        if direction.start_ns is not None:
            begun = np.array([direction.start_ns], np.int64)
            parts.append(told(0, "flow_started", begun, begun * 0, 0, begun * 0 + (flow.bytes or 0), 0))
            if direction.completed and direction.duration_s is not None:
                ended = begun + round(direction.duration_s * 1e9)
                parts.append(told(1, "flow_completed", ended, ended * 0, 0, ended * 0 + direction.bytes, 0))
        return parts


def _occurrences(values: Integers) -> Integers:
    """How often each value has occurred so far, itself included."""
    counts: Counter[int] = Counter()
    found = []
    for value in values.tolist():
        counts[value] += 1
        found.append(counts[value])
    return np.array(found, np.int64)


def _delivered(starts: Integers, ends: Integers) -> tuple[Integers, Integers]:
    """The next number expected after each segment, and 1 for a segment that held nothing new."""
    # What has arrived, as disjoint ranges in order; the first begins at the first data byte.
    lows, highs = [1], [1]
    expected, needless = [], []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        first = bisect_left(highs, start)
        last = bisect_right(lows, end)
        covered = first < len(lows) and lows[first] <= start and end <= highs[first]
        if not covered:
            low = min(start, lows[first]) if first < last else start
            high = max(end, highs[last - 1]) if first < last else end
            lows[first:last], highs[first:last] = [low], [high]
        expected.append(highs[0])
        needless.append(int(covered))
    return np.array(expected, np.int64), np.array(needless, np.int64)
