"""The figures of the thesis, drawn from our runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cellwind.report.figure import Axis, Color, Figure, Series

from .cells import Cell

if TYPE_CHECKING:
    from .measures import LundstenBench
    from .observed import Observation

_COLORS: tuple[Color, ...] = ("blue", "red", "green", "amber", "purple")


def send_window(cell: Cell, seen: Observation) -> Figure:
    """Figures 13 to 16: the send window over the whole transfer."""
    import numpy as np

    window = seen.send_window
    return Figure(
        title=f"Send window at {cell.rate_kbps} kbit/s with packets of {cell.packet_bytes} bytes",
        x=Axis("Time", "s", from_zero=True),
        y=Axis("Send window", "segments", from_zero=True),
        series=[
            Series(
                "send window",
                "step",
                np.append(window.time_s, seen.end_s),
                np.append(window.value, window.value[-1:]),
                width=0.7,
            )
        ],
        note=f"The receiver's window is {cell.max_window} segments. Replication 0.",
        height=300,
    )


def received(title: str, variants: Mapping[str, Cell], bench: LundstenBench) -> Figure:
    """Figure 17: data received in order over time, one curve per solution."""
    return _accumulated(
        title, {name.replace("_", "-"): bench.observed(cell) for name, cell in variants.items()}, "MB", 1e-6
    )


def initial_windows(title: str, windows: Mapping[int, Cell], bench: LundstenBench) -> Figure:
    """Figures 18 and 19: data received in order over time, one curve per initial window."""
    return _accumulated(
        title, {f"initial window {window}": bench.observed(cell) for window, cell in windows.items()}, "kB", 1e-3
    )


def _accumulated(title: str, runs: Mapping[str, Observation], unit: str, scale: float) -> Figure:
    return Figure(
        title=title,
        x=Axis("Time", "s", from_zero=True),
        y=Axis("Data received", unit, from_zero=True),
        series=[
            Series(name, "step", seen.received.time_s, seen.received.value * scale, color=color)
            for (name, seen), color in zip(runs.items(), _COLORS, strict=False)
        ],
        note="Bytes count headers, as the thesis does. Replication 0 of each.",
        height=360,
    )
