"""Section 7.3.1.1: a download that moves from WLAN to UMTS."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, get_args

from cellwind.analysis.statistics import ratio_of_means

from ..design import Bench, Beside, Plan
from ..estimates import column, mean_point, over
from ..published import PublishedRow
from ..quantities import Point, Quantity
from .cells import Buffering, Cell
from .observed import Observation

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

TeyebBench = Bench[Cell, Observation]

DELAYS_S = (0, 2, 5, 10)
SCHEMES: tuple[Buffering, ...] = get_args(Buffering)
CELLS = [Cell("handover", handover_delay_s=delay, buffering=scheme) for delay in DELAYS_S for scheme in SCHEMES]


def plans() -> dict[str, Plan[Cell, Observation]]:
    """The plan of Figure 7.3."""
    return {
        "figure-7-3": Plan(
            cells=CELLS,
            traces=CELLS,
            live=CELLS,
            measure=_measure,
            quantities=_quantities,
            beside=_beside,
            figures=_figures,
        ),
    }


def _time(bench: TeyebBench, cell: Cell) -> Point:
    return mean_point(cell.factors, column(bench.flows(cell), "duration_s"))


def _goodput(bench: TeyebBench, cell: Cell) -> Point:
    times = column(bench.flows(cell), "duration_s")
    return mean_point(cell.factors, [8e-3 * cell.file_bytes / time for time in times if time is not None])


def _measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    delay, scheme = int(row.factors["handover_delay_s"]), str(row.factors["buffering"])
    cell = Cell("handover", handover_delay_s=delay, buffering=scheme)  # type: ignore[arg-type]
    none = Cell("handover", handover_delay_s=delay)
    if metric == "download_time_s":
        return _time(bench, cell)
    if metric == "goodput_kbps":
        return _goodput(bench, cell)
    sign = -1 if "loss" in metric else 1
    if metric.endswith("percent"):
        # Goodput is the inverse of the time.
        ratio = ratio_of_means(
            column(bench.flows(none), "duration_s"), column(bench.flows(cell), "duration_s"), paired=False
        )
        half_width = None if ratio.half_width is None else 100 * ratio.half_width
        return Point(value=sign * 100 * (ratio.value - 1), half_width=half_width, n=ratio.n)
    ours, theirs = _goodput(bench, cell), _goodput(bench, none)
    half = ((ours.half_width or 0.0) ** 2 + (theirs.half_width or 0.0) ** 2) ** 0.5
    return Point(value=sign * (ours.number - theirs.number), half_width=half or None, n=ours.n)


def _quantities(bench: TeyebBench) -> dict[str, Quantity]:
    return {"download_time": over(CELLS, lambda cell: cell.factors, lambda cell: _time(bench, cell))}


def _beside(bench: TeyebBench) -> list[Beside]:
    """The cells of the figure whose bars have no printed number."""
    return [
        Beside(cell.factors, "download_time_s", partial(_time, bench, cell))
        for cell in CELLS
        if cell.handover_delay_s > 2
    ]


def _figures(bench: TeyebBench) -> list[Figure]:
    from .figures import download_times, handovers

    times = {cell: _time(bench, cell) for cell in CELLS}
    found = [download_times(f"Download time over the delay of the handover, {bench.clock}", times)]
    if bench.clock == "simulated":
        shown = [cell for cell in CELLS if cell.handover_delay_s == 5]
        found.append(handovers("A handover of 5 s", {cell: bench.observed(cell) for cell in shown}))
    return found
