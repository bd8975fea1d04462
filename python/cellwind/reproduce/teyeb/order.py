"""Section 6.4.1: what the order of delivery does to TCP, over the RLC and beside it over the block model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cellwind.analysis.statistics import ratio_of_means

from ..design import Beside, NotRunError, Plan
from ..estimates import column, mean_point, over
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from .bearer import Bearer, Delivery
from .cells import Cell, Options
from .observed import AnyCell, TeyebBench, TeyebPlan

ORDERS: tuple[Delivery, ...] = ("out_of_sequence", "in_sequence")

BEARERS: tuple[Bearer, ...] = ("rlc", "block")

SIMULATED: tuple[Options, ...] = ("plain", "sack", "dsack", "dsack_fack", "eifel")
# The kernel of today has no FACK.
LIVE: tuple[Options, ...] = ("plain", "sack", "dsack", "eifel")


def plans() -> dict[str, TeyebPlan]:
    """The plan of Figure 6.3."""
    cells: list[AnyCell] = [Cell("order", tcp, delivery) for delivery in ORDERS for tcp in SIMULATED]
    live: list[AnyCell] = [Cell("order", tcp, delivery) for delivery in ORDERS for tcp in LIVE]
    cells += [Cell("order", tcp, delivery, bearer="block") for delivery in ORDERS for tcp in SIMULATED]
    plan: TeyebPlan = Plan(cells=cells, live=live, measure=_measure, quantities=_quantities, beside=_beside)
    return {"figure-6-3": plan}


def _beside(bench: TeyebBench) -> list[Beside]:
    """Every download over both bearers."""
    cells = [
        Cell("order", tcp, delivery, bearer=bearer) for bearer in BEARERS for delivery in ORDERS for tcp in SIMULATED
    ]

    def beside(cell: Cell) -> Beside:
        factors: dict[str, Factor] = {"bearer": cell.bearer, **cell.factors}
        return Beside(factors, "download_time_s", lambda: mean_point(factors, times(bench, cell)))

    return [beside(cell) for cell in cells]


def times(bench: TeyebBench, cell: Cell) -> Sequence[float | None]:
    """Download times of the replications. Raises NotRunError with what the cell needs."""
    if bench.clock == "live" and cell.tcp == "dsack_fack":
        raise NotRunError("kernel: fack, which Linux removed in 4.15")
    return column(bench.flows(cell), "duration_s")


def _measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    if metric == "spread_between_tcp_options_percent_max":
        means = [mean_point({}, times(bench, cell)) for cell in _cells(bench, "in_sequence")]
        values = [point.number for point in means]
        return Point(value=100 * (max(values) / min(values) - 1), n=means[0].n)
    cell = Cell("order", str(row.factors["tcp"]), "out_of_sequence")  # type: ignore[arg-type]
    reference = replace(cell, tcp=str(row.factors.get("reference", "plain")))  # type: ignore[arg-type]
    ours = times(bench, cell)
    if metric == "download_time_s":
        return mean_point({}, ours)
    theirs = times(bench, reference)
    if metric.startswith("goodput"):
        rates = [
            mean_point({}, [8e-3 * cell.file_bytes / time for time in found if time is not None])
            for found in (ours, theirs)
        ]
        sign = -1 if "loss" in metric else 1
        half = sum((rate.half_width or 0.0) ** 2 for rate in rates) ** 0.5
        return Point(value=sign * (rates[0].number - rates[1].number), half_width=half or None, n=rates[0].n)
    # The same replication meets the same radio errors when simulated, but not live.
    ratio = ratio_of_means(ours, theirs, paired=bench.clock == "simulated")
    sign = 1 if metric.startswith("increase") else -1
    half_width = None if ratio.half_width is None else 100 * ratio.half_width
    return Point(value=sign * 100 * (ratio.value - 1), half_width=half_width, n=ratio.n)


def _cells(bench: TeyebBench, delivery: Delivery) -> list[Cell]:
    return [Cell("order", tcp, delivery) for tcp in (SIMULATED if bench.clock == "simulated" else LIVE)]


def _quantities(bench: TeyebBench) -> dict[str, Quantity]:
    # In sequence FACK is the same as SACK, and the kernel of today has none.
    cells = [Cell("order", tcp, delivery) for delivery in ORDERS for tcp in LIVE]
    cells.append(Cell("order", "dsack_fack", "out_of_sequence"))
    return {
        "download_time": over(
            cells, lambda cell: cell.factors, lambda cell: mean_point(cell.factors, times(bench, cell))
        )
    }
