"""Figures of P4, P5 and P8: what a transfer sent and heard over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cellwind.report.figure import Axis, Figure, Series

from ..design import Bench
from .runs import Run, Transfer, transfer


def sequence(title: str, seen: Transfer, note: str = "", until_s: float | None = None) -> Figure:
    """Segments sent, resent and acknowledged over time, with timeouts, drops and delays; replication 0."""
    end = until_s or seen.duration_s
    delays = [(begin, stop) for begin, stop in zip(*_held(seen), strict=False) if stop > 0 and begin < end]
    top = float(seen.sequence.sent.value[seen.sequence.sent.time_s <= end].max(initial=1.0)) * 1e-3
    series = []
    if delays:
        edges = [edge for begin, stop in delays for edge in (max(begin, 0.0), min(stop, end), min(stop, end))]
        lower = np.zeros(len(edges))
        upper = np.array([edge for _ in delays for edge in (top, top, np.nan)])
        series.append(Series("delay", "band", np.array(edges), lower, upper, color="grey"))
    for name, points, kind, look in (
        ("acknowledged", seen.sequence.acked, "step", {"color": "grey", "width": 0.8}),
        ("sent", seen.sequence.sent, "points", {"size": 2.0}),
        ("resent", seen.sequence.resent, "points", {"color": "red", "mark": "cross", "size": 4.0}),
    ):
        shown = points.time_s <= end
        series.append(Series(name, kind, points.time_s[shown], points.value[shown] * 1e-3, **look))  # type: ignore[arg-type]
    for name, times, color in (("timeout", seen.timeouts_s, "amber"), ("drop", seen.lost_s, "purple")):
        marked = times[(times >= 0) & (times <= end)]
        if len(marked):
            series.append(Series(name, "points", marked, np.zeros(len(marked)), color=color, mark="bar"))  # type: ignore[arg-type]
    return Figure(
        title=title,
        x=Axis("Time", "s", from_zero=True),
        y=Axis("Sequence number", "kB", from_zero=True),
        series=series,
        note=note,
        height=380,
    )


def sequences(
    runs: Mapping[Any, Run], title: str, until_s: float | None = None
) -> Callable[[Bench[Any, Any]], list[Figure]]:
    """The figures of a plan: the sequence of each run, under a title that the run's name is put into."""

    def drawn(bench: Bench[Any, Any]) -> list[Figure]:
        names = {str(name).replace("_", " "): run for name, run in runs.items()}
        return [sequence(title.format(name), transfer(bench, run), until_s=until_s) for name, run in names.items()]

    return drawn


def _held(seen: Transfer) -> tuple[Sequence[float], Sequence[float]]:
    begun = np.unique(seen.held_s).tolist()
    ended = np.unique(seen.released_s).tolist()
    return begun, [*ended, *[float("inf")] * (len(begun) - len(ended))]
