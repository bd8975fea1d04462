"""Section 7.3: a download that moves from WLAN or GPRS to UMTS, with ordinary TCP, Eifel and SACK."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, get_args

from cellwind.analysis.statistics import ratio_of_means

from ..design import Beside, Plan
from ..estimates import column, mean_point, over
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from .cells import Buffering, Cell, Network, Options
from .observed import TeyebBench, TeyebPlan

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

DELAYS_S = (0, 2, 5, 10)
SCHEMES: tuple[Buffering, ...] = get_args(Buffering)
CELLS = [Cell("handover", handover_delay_s=delay, buffering=scheme) for delay in DELAYS_S for scheme in SCHEMES]


def plans() -> dict[str, TeyebPlan]:
    """The plans of Figures 7.3, 7.7, 7.12, 7.20 and 7.21."""
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
        "figure-7-7": _extension("wlan", "eifel"),
        "figure-7-12": _extension("wlan", "sack"),
        "figure-7-20": _extension("gprs", "eifel"),
        "figure-7-21": _extension("gprs", "sack"),
    }


def time_of(bench: TeyebBench, cell: Cell) -> Point:
    """The download time of a cell."""
    return mean_point(cell.factors, column(bench.flows(cell), "duration_s"))


def _goodput(bench: TeyebBench, cell: Cell) -> Point:
    times = column(bench.flows(cell), "duration_s")
    return mean_point(cell.factors, [8e-3 * cell.file_bytes / time for time in times if time is not None])


def _measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    delay, scheme = int(row.factors["handover_delay_s"]), str(row.factors["buffering"])
    cell = Cell("handover", handover_delay_s=delay, buffering=scheme)  # type: ignore[arg-type]
    none = Cell("handover", handover_delay_s=delay)
    if metric == "download_time_s":
        return time_of(bench, cell)
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
    return {"download_time": over(CELLS, lambda cell: cell.factors, lambda cell: time_of(bench, cell))}


def _beside(bench: TeyebBench) -> list[Beside]:
    """The cells of the figure whose bars have no printed number."""
    return [
        Beside(cell.factors, "download_time_s", partial(time_of, bench, cell))
        for cell in CELLS
        if cell.handover_delay_s > 2
    ]


def _figures(bench: TeyebBench) -> list[Figure]:
    from .figures import download_times, handovers

    times = {cell: time_of(bench, cell) for cell in CELLS}
    found = [download_times(f"Download time over the delay of the handover, {bench.clock}", times)]
    if bench.clock == "simulated":
        shown = [cell for cell in CELLS if cell.handover_delay_s == 5]
        found.append(handovers("A handover of 5 s", {cell: bench.observed(cell) for cell in shown}))
    return found


# Figures 7.7, 7.12, 7.20 and 7.21: what an extension of TCP changes, beside ordinary TCP over the same handover.


def _extension(origin: Network, tcp: Options) -> TeyebPlan:
    options: tuple[Options, ...] = ("plain", tcp)
    cells = [replace(cell, origin=origin, tcp=option) for cell in CELLS for option in options]

    def change(bench: TeyebBench, ordinary: Cell, metric: str) -> float:
        found, before = (time_of(bench, replace(ordinary, tcp=option)).number for option in (tcp, "plain"))
        rate, rate_before = (8e-3 * ordinary.file_bytes / time for time in (found, before))
        sign = -1 if "loss" in metric else 1
        match metric:
            case "change_vs_ordinary_s":
                return found - before
            case "goodput_gain_kbps" | "goodput_loss_kbps":
                return sign * (rate - rate_before)
            case _:
                # The text takes the smaller goodput for 100 % in Figures 7.12, 7.20 and 7.21, ordinary TCP's in 7.7.
                whole = rate_before if (origin, tcp) == ("wlan", "eifel") else min(rate, rate_before)
                return 100 * sign * (rate - rate_before) / whole

    def measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
        if "quantity" in row.factors:  # the largest gain
            helped = [cell for cell in CELLS if cell.buffering == "intermediate"] + [CELLS[0]]
            choose = min if metric == "change_vs_ordinary_s" else max
            return Point(value=choose(change(bench, replace(cell, origin=origin), metric) for cell in helped))
        delay, scheme = int(row.factors["handover_delay_s"]), str(row.factors["buffering"])
        ordinary = Cell("handover", "plain", "in_sequence", delay, scheme, origin)  # type: ignore[arg-type]
        return Point(value=change(bench, ordinary, metric))

    def factors(cell: Cell) -> dict[str, Factor]:
        return {"tcp": "ordinary" if cell.tcp == "plain" else cell.tcp, **cell.factors}

    def quantities(bench: TeyebBench) -> dict[str, Quantity]:
        return {
            "download_time": over(cells, factors, lambda cell: replace(time_of(bench, cell), factors=factors(cell)))
        }

    def drawn(bench: TeyebBench) -> list[Figure]:
        from .figures import download_times

        name = {"eifel": "Eifel", "sack": "SACK"}[tcp]
        times = {cell: time_of(bench, cell) for cell in cells if cell.tcp == tcp}
        return [download_times(f"Download time from {origin.upper()} to UMTS with {name}", times)]

    return Plan(cells=cells, measure=measure, quantities=quantities, figures=drawn)
