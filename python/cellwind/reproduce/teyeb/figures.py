"""Figures of the handover study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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


def round_trips(runs: Mapping[Cell, Observation]) -> Figure:
    """Figure 7.19: round trips over time, one line per scheme."""
    series = []
    for cell, seen in runs.items():
        found = seen.met.round_trips
        name = f"buffering {cell.buffering}"
        series.append(Series(name, "line", found.time_s, found.value, color=_COLORS[cell.buffering]))
    return Figure(
        title="Round trips around a handover of 10 s from GPRS to UMTS",
        x=Axis("Time", "s", from_zero=True),
        y=Axis("Round trip", "s", from_zero=True),
        series=series,
        height=340,
    )


def spike_lines(metric: str, over: str, lines: Mapping[str, Sequence[Point]]) -> Figure:
    """Figures 6.9 and 6.11: a mean over the duration or the position of a spike, with and without Eifel."""
    import numpy as np

    colors: Mapping[str, Color] = {"off": "red", "on": "blue"}
    series = []
    for word, points in lines.items():
        x = np.array([next(value for value in point.factors.values() if isinstance(value, float)) for point in points])
        y = np.array([point.number for point in points])
        series.append(Series(f"Eifel {word}", "line", x, y, color=colors[word]))
    what = (
        Axis("Download time", "s") if metric == "download_time_s" else Axis("Segments sent again", "%", from_zero=True)
    )
    return Figure(
        title=f"{what.label} over the {over.lower()}", x=Axis(over, "s", from_zero=True), y=what, series=series
    )
