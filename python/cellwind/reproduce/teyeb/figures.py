"""Figures of the handover study."""

from __future__ import annotations

from collections.abc import Mapping

from cellwind.report.figure import Axis, Color, Figure, Series

from ..quantities import Point
from .cells import Buffering, Cell
from .observed import Observation

_COLORS: dict[Buffering, Color] = {"none": "red", "intermediate": "blue", "full": "green"}


def download_times(title: str, times: Mapping[Cell, Point]) -> Figure:
    """Figure 7.3: the download time over the delay of the handover, one line per scheme."""
    import numpy as np

    series = []
    for scheme, color in _COLORS.items():
        found = [(cell.handover_delay_s, point.number) for cell, point in times.items() if cell.buffering == scheme]
        x, y = np.array(found, dtype=float).T
        series.append(Series(f"buffering {scheme}", "line", x, y, color=color))
    return Figure(
        title=title,
        x=Axis("Delay of the handover", "s", from_zero=True),
        y=Axis("Download time", "s"),
        series=series,
        note="1 MiB; the handover begins when half of it has arrived.",
        height=340,
    )


def handovers(title: str, runs: Mapping[Cell, Observation]) -> Figure:
    """Figures 7.4 to 7.6 in one: segments sent and resent over time, one colour per scheme."""
    series = []
    for cell, seen in runs.items():
        color, sent, resent = _COLORS[cell.buffering], seen.sequence.sent, seen.sequence.resent
        name = cell.buffering
        series += [
            Series(f"{name}: sent", "points", sent.time_s, sent.value * 1e-3, color=color, size=1.5),
            Series(
                f"{name}: resent", "points", resent.time_s, resent.value * 1e-3, color=color, mark="cross", size=4.0
            ),
        ]
    return Figure(
        title=title,
        x=Axis("Time", "s", from_zero=True),
        y=Axis("Sequence number", "kB", from_zero=True),
        series=series,
        note="Crosses are retransmissions.",
        height=420,
    )
