"""Figures 5(b) to 7(b): windows, round trips and one spurious timeout."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from ..design import Bench, Plan
from ..published import PublishedRow
from ..quantities import Distribution, Point, Quantity
from . import figures
from .cells import Cell
from .observed import Observation

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

LoBench = Bench[Cell, Observation]
LoPlan = Plan[Cell, Observation]

VEGAS_5, RENO_5 = Cell("vegas", 0.05), Cell("reno", 0.05)
VEGAS_30, RENO_30 = Cell("vegas", 0.3), Cell("reno", 0.3)


def plans() -> dict[str, LoPlan]:
    """The plans of the figures."""
    return {
        "figure-5b": Plan(
            traces=[VEGAS_5, RENO_5],
            measure=_window,
            quantities=lambda bench: _windows(bench, VEGAS_5, RENO_5),
            figures=lambda bench: _window_figures(bench, VEGAS_5, RENO_5),
        ),
        "figure-6a": Plan(
            traces=[VEGAS_5],
            measure=_round_trip,
            quantities=_round_trips,
            figures=lambda bench: [figures.round_trips(VEGAS_5, bench.observed(VEGAS_5))],
        ),
        "figure-6b": Plan(
            traces=[VEGAS_5],
            measure=_round_trip,
            quantities=_round_trips,
            figures=lambda bench: [figures.histogram(VEGAS_5, bench.observed(VEGAS_5))],
        ),
        "figure-7a": Plan(
            traces=[VEGAS_30, RENO_30],
            measure=_window,
            quantities=lambda bench: _windows(bench, VEGAS_30, RENO_30),
            figures=lambda bench: _window_figures(bench, VEGAS_30, RENO_30),
        ),
        "figure-7b": Plan(traces=[VEGAS_30], quantities=_timeout, figures=_timeout_figures),
    }


def _window(bench: LoBench, row: PublishedRow, metric: str) -> Point:
    is_7a = "quantity" in row.factors
    cell = RENO_5 if row.factors["tcp"] == "reno" else VEGAS_5
    if is_7a:
        cell = RENO_30 if row.factors["tcp"] == "reno" else VEGAS_30
    seen = bench.observed(cell)
    windows = seen.whole_windows()
    peak, dropped, at_s = seen.first_peak()
    match metric:
        case "max_window_segments":
            return Point(value=max(windows.values))
        case "mean_window_segments":
            return Point(value=windows.mean())
        case "first_peak_s":
            peak_s = seen.first_at(7.0)
            return Point(value="never" if math.isnan(peak_s) else peak_s)
        case "slow_start_peak_segments":
            return Point(value=peak)
        case "drop_to_segments":
            return Point(value=dropped)
        case "drop_time_s":
            return Point(value=at_s)
        case _:
            return Point(value=windows.fraction_at(2.0))


def _windows(bench: LoBench, *cells: Cell) -> dict[str, Quantity]:
    seen = {cell: bench.observed(cell) for cell in cells}
    return {
        "cwnd_segments": Quantity.of(
            Point({"tcp": cell.tcp}, distribution=run.whole_windows()) for cell, run in seen.items()
        ),
        "final_cwnd_segments": Quantity.of(
            Point({"tcp": cell.tcp}, float(run.window.value[-1])) for cell, run in seen.items()
        ),
        "time_fraction": Quantity.of(
            Point({"tcp": cell.tcp, "cwnd_segments": size}, run.whole_windows().fraction_at(size))
            for cell, run in seen.items()
            for size in (2, 3, 4)
        ),
        "spurious_timeouts": Quantity.of(
            Point({"tcp": cell.tcp}, float(len(run.spurious))) for cell, run in seen.items()
        ),
    }


def _round_trip(bench: LoBench, row: PublishedRow, metric: str) -> Point:
    rtt = bench.observed(VEGAS_5).rtt.value
    match str(row.factors["quantity"]):
        case "samples":
            return Point(value=float(len(rtt)))
        case "minimum RTT":
            return Point(value=float(rtt.min()))
        case "maximum RTT":
            return Point(value=float(rtt.max()))
        case "mean RTT":
            return Point(value=float(rtt.mean()))
        case _:
            return Point(value=_grid_ms(bench))


def _grid_ms(bench: LoBench) -> float:
    """The smallest step between two levels of the round trip."""
    import numpy as np

    levels = np.unique(np.round(bench.observed(VEGAS_5).rtt.value * 1e3, 3))
    return float(np.diff(levels).min())


def _round_trips(bench: LoBench) -> dict[str, Quantity]:
    rtt = bench.observed(VEGAS_5).rtt.value.tolist()
    samples = Distribution(rtt, [1.0] * len(rtt))
    return {
        "rtt_s": Quantity.of([Point({"tcp": "vegas"}, distribution=samples)]),
        "rtt_grid_ms": Quantity.constant(_grid_ms(bench)),
    }


def _timeout(bench: LoBench) -> dict[str, Quantity]:
    run = bench.observed(VEGAS_30)
    point = partial(Point, {"tcp": "vegas"})
    found = {"redundant_retransmissions": Quantity.of([point(float(run.redundant))])}
    if run.spurious:
        found["rto_at_timeout"] = Quantity.of([point(run.latest.rto_s)])
        found["rtt_of_delayed_segment"] = Quantity.of([point(run.latest.rtt_s)])
    return found


def _window_figures(bench: LoBench, *cells: Cell) -> list[Figure]:
    return [figures.windows({cell: bench.observed(cell) for cell in cells})]


def _timeout_figures(bench: LoBench) -> list[Figure]:
    run = bench.observed(VEGAS_30)
    return [figures.timeout(VEGAS_30, run)] if run.spurious else []
