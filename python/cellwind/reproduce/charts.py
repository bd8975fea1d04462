"""Figures that several papers draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cellwind.report.figure import Axis, Color, Figure, Mark, Series

from .quantities import Point

_COLORS: tuple[Color, ...] = ("blue", "red", "green", "amber")
_MARKS: tuple[Mark, ...] = ("dot", "triangle", "diamond", "cross")


def cases(title: str, label: str, unit: str, groups: Mapping[str, Sequence[tuple[str, Point]]]) -> Figure:
    """A value for each case, one series per group; the cases are the same in all groups."""
    names = [name for name, _ in next(iter(groups.values()))]
    places = np.arange(len(names), dtype=np.float64)
    series = [
        Series(
            group,
            "points",
            places + 0.12 * (number - (len(groups) - 1) / 2),
            np.array([point.number for _, point in points]),
            color=_COLORS[number],
            mark=_MARKS[number],
            size=6.0,
        )
        for number, (group, points) in enumerate(groups.items())
    ]
    ticks = list(zip(places.tolist(), names, strict=True))
    return Figure(title=title, x=Axis("", ticks=ticks), y=Axis(label, unit), series=series, height=380)
