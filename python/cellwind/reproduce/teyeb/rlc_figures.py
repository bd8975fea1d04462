"""Figures 5.10 to 5.18: one quantity over maxDAT, a line per status prohibit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cellwind.report.figure import Axis, Color, Figure, Series

from ..quantities import Point
from .rlc_cells import RlcCell

_COLORS: dict[int, Color] = {50: "blue", 100: "green", 150: "red"}


def over_maxdat(label: str, unit: str, found: Mapping[RlcCell, Point]) -> Figure:
    """Figures 5.10 to 5.16, with the intervals of the means as bands."""
    series = []
    for prohibit, color in _COLORS.items():
        points = [(cell.maxdat, point) for cell, point in found.items() if cell.status_prohibit_ms == prohibit]
        x = np.array([maxdat for maxdat, _ in points], dtype=float)
        y = np.array([point.number for _, point in points])
        half = np.array([point.half_width or 0.0 for _, point in points])
        name = f"status prohibit {prohibit} ms"
        series += [
            Series(f"{name}, 95 %", "band", x, y - half, upper=y + half, color=color),
            Series(name, "line", x, y, color=color),
        ]
    return Figure(
        title=f"{label} over maxDAT",
        x=Axis("maxDAT"),
        y=Axis(label, unit, from_zero=True),
        series=series,
        note="100 KiB at 384 kbit/s, TTI 10 ms, 10 % FER.",
        height=360,
    )


def beside_model(label: str, unit: str, simulated: Mapping[RlcCell, Point], model: Mapping[RlcCell, float]) -> Figure:
    """Figures 5.17 and 5.18: the simulation as points, the model as a dashed line."""
    series = []
    for prohibit, color in _COLORS.items():
        cells = [cell for cell in simulated if cell.status_prohibit_ms == prohibit]
        x = np.array([cell.maxdat for cell in cells], dtype=float)
        series += [
            Series(
                f"simulated, {prohibit} ms",
                "points",
                x,
                np.array([simulated[cell].number for cell in cells]),
                color=color,
                size=5.0,
            ),
            Series(
                f"model, {prohibit} ms", "line", x, np.array([model[cell] for cell in cells]), color=color, dashed=True
            ),
        ]
    return Figure(
        title=f"{label.capitalize()} of the model and of the simulation",
        x=Axis("maxDAT"),
        y=Axis(label.capitalize(), unit),
        series=series,
        note="The model has the delay of a retransmission that was measured in the cell.",
        height=360,
    )
