"""The figures of the paper, drawn from our runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cellwind.report.figure import Axis, Color, Figure, Mark, Series

from ..quantities import Point
from .cells import DURATION_S, Cell, Tcp
from .observed import Observation

_COLORS: dict[Tcp, Color] = {"vegas": "blue", "reno": "red"}
_NAMES: dict[Tcp, str] = {"vegas": "Vegas", "reno": "Reno"}


def throughput(found: Mapping[Cell, Point]) -> Figure:
    """Figure 5(a): the share of the link rate over the block error rate."""
    series = []
    for tcp, color in _COLORS.items():
        points = [(100 * cell.tbler, 100 * point.number) for cell, point in found.items() if cell.tcp == tcp]
        x, y = np.array(points).T
        series += [
            Series(_NAMES[tcp], "line", x, y, color=color),
            Series(f"{_NAMES[tcp]}, runs", "points", x, y, color=color, size=5.0),
        ]
    return Figure(
        title="Throughput over the block error rate",
        x=Axis("Block error rate", "%", from_zero=True),
        y=Axis("Throughput", "% of 384 kbit/s", from_zero=True),
        series=series,
        note="Segments with their TCP headers. Means of all replications.",
        height=360,
    )


def windows(runs: Mapping[Cell, Observation]) -> Figure:
    """Figures 5(b) and 7(a): the windows over the whole run."""
    series = [
        Series(
            _NAMES[cell.tcp],
            "step",
            np.append(seen.window.time_s, DURATION_S),
            np.append(seen.window.value, seen.window.value[-1:]),
            color=_COLORS[cell.tcp],
            width=0.8,
        )
        for cell, seen in runs.items()
    ]
    for cell, seen in runs.items():
        if seen.spurious:
            at_s = np.array([timeout.at_s for timeout in seen.spurious])
            name = f"{_NAMES[cell.tcp]}: spurious timeouts"
            series.append(Series(name, "points", at_s, np.zeros(len(at_s)), color="purple", mark="triangle", size=6.0))
    tbler = next(iter(runs)).tbler
    return Figure(
        title=f"Windows at {100 * tbler:g} % block errors",
        x=Axis("Time", "s", from_zero=True),
        y=Axis("Send window", "segments", from_zero=True),
        series=series,
        note="Replication 0 of each.",
        height=400,
    )


def round_trips(cell: Cell, seen: Observation) -> Figure:
    """Figure 6(a): the round trip of every segment over time."""
    return Figure(
        title=f"Round trips of {_NAMES[cell.tcp]} at {100 * cell.tbler:g} % block errors",
        x=Axis("Time", "s", from_zero=True),
        y=Axis("Round trip", "s", from_zero=True),
        series=[Series("round trip", "points", seen.rtt.time_s, seen.rtt.value, size=1.5)],
        note="One point per segment, when its acknowledgement arrived. Replication 0.",
        height=400,
    )


def histogram(cell: Cell, seen: Observation) -> Figure:
    """Figure 6(b): how often each round trip was measured."""
    levels = np.round(seen.rtt.value / 0.02).astype(np.int64)
    edges = np.arange(0, levels.max() + 2)
    counts = np.bincount(levels, minlength=len(edges))
    return Figure(
        title=f"Distribution of the round trips of {_NAMES[cell.tcp]} at {100 * cell.tbler:g} % block errors",
        x=Axis("Round trip", "s", from_zero=True),
        y=Axis("Segments", from_zero=True),
        series=[Series("segments", "step", (edges - 0.5) * 0.02, counts.astype(np.float64))],
        note="In classes of 20 ms. Replication 0.",
        height=320,
    )


def timeout(cell: Cell, seen: Observation) -> Figure:
    """Figure 7(b): segments around the spurious timeout whose acknowledgement came latest."""
    shown = seen.latest
    start_s, end_s = shown.at_s - shown.rto_s - 1.0, shown.at_s + 3.0
    run = seen.sequence

    def within(name: str, time_s: np.ndarray, value: np.ndarray, color: Color, mark: Mark) -> Series:
        rows = (time_s >= start_s) & (time_s <= end_s)
        return Series(
            name,
            "points",
            time_s[rows],
            value[rows] * 1e-3,
            color=color,
            mark=mark,
            size=4.0,
            every=True,
        )

    rows = (run.acked.time_s >= start_s) & (run.acked.time_s <= end_s)
    return Figure(
        title=f"The spurious timeout with the latest acknowledgement, {100 * cell.tbler:g} % block errors",
        x=Axis("Time", "s"),
        y=Axis("Sequence number", "kB"),
        series=[
            Series("acknowledged", "step", run.acked.time_s[rows], run.acked.value[rows] * 1e-3, color="grey"),
            within("sent", run.sent.time_s, run.sent.value, "blue", "dot"),
            within("resent", run.resent.time_s, run.resent.value, "red", "cross"),
            within("timeout", run.timeouts.time_s, run.timeouts.value, "purple", "triangle"),
        ],
        note=f"The timer of {shown.rto_s:.2f} s ran out; the acknowledgement took {shown.rtt_s:.2f} s. Replication 0.",
        height=380,
    )
