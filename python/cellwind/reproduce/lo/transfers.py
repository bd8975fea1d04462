"""Figure 5(a) and what is told of it: throughput, spurious timeouts and the order of delivery over the error rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING, get_args

from ..design import Bench, Plan
from ..estimates import column, mean_point, over
from ..published import PublishedRow
from ..quantities import Point, Quantity
from .cells import DURATION_S, MSS, RATE_KBPS, TCP_HEADER_BYTES, TCPS, Cell, Delivery
from .observed import Observation

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

LoBench = Bench[Cell, Observation]
LoPlan = Plan[Cell, Observation]

TBLERS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
CELLS = [Cell(tcp, tbler) for tcp in TCPS for tbler in TBLERS]
# "Beyond 30 percent": the next step of the axis.
BEYOND = Cell("vegas", 0.35)
ORDERS = [Cell("reno", 0.05, delivery) for delivery in get_args(Delivery)]


def plans() -> dict[str, LoPlan]:
    """The plans of Figure 5(a), of the spurious timeouts and of the order of delivery."""
    return {
        "figure-5a": Plan(cells=CELLS, measure=_measure, quantities=_throughputs, figures=_figures),
        "spurious-timeout-onset": Plan(cells=[*CELLS, BEYOND], measure=_onset, quantities=_spurious),
        "in-sequence-reason": Plan(cells=ORDERS, traces=ORDERS, quantities=_orders),
    }


def fraction(bench: LoBench, cell: Cell) -> Point:
    """What arrived in order within the run, with TCP headers and without those below, as a share of the link rate."""
    rates = [
        8e-3 * size * (MSS + TCP_HEADER_BYTES) / MSS / DURATION_S / RATE_KBPS
        for size in column(bench.flows(cell), "bytes")
        if size is not None
    ]
    return mean_point(cell.factors, rates)


def _over(cells: Sequence[Cell], measure: Callable[[Cell], Point]) -> Quantity:
    return over(cells, lambda cell: cell.factors, measure)


def _measure(bench: LoBench, row: PublishedRow, metric: str) -> Point:
    return fraction(bench, Cell(str(row.factors["tcp"]), float(row.factors["tbler"])))  # type: ignore[arg-type]


def _throughputs(bench: LoBench) -> dict[str, Quantity]:
    lost = [bearer["packets_dropped"] for cell in CELLS for record in bench.records(cell) for bearer in record.bearers]
    return {
        "throughput_fraction": _over(CELLS, lambda cell: fraction(bench, cell)),
        "tcp_segments_lost_on_radio": Quantity.constant(float(sum(lost))),
    }


def _timeouts(bench: LoBench, cell: Cell) -> Point:
    return mean_point(cell.factors, column(bench.flows(cell), "spurious_timeouts"))


def _onset(bench: LoBench, row: PublishedRow, metric: str) -> Point:
    """The lowest error rate at which most runs have a spurious timeout."""
    found = [tbler for tbler in TBLERS if median(_timeouts(bench, Cell("vegas", tbler)).samples or [0.0]) >= 1]
    return Point(value=found[0] if found else float("nan"), detail="in most runs")


def _spurious(bench: LoBench) -> dict[str, Quantity]:
    return {
        "spurious_timeouts": _over(CELLS, lambda cell: _timeouts(bench, cell)),
        "throughput_fraction": _over([*CELLS, BEYOND], lambda cell: fraction(bench, cell)),
    }


def _orders(bench: LoBench) -> dict[str, Quantity]:
    return {
        "dupacks": Quantity.of(
            Point({"rlc_delivery": cell.delivery}, float(bench.observed(cell).dupacks)) for cell in ORDERS
        ),
        "fast_retransmits": Quantity.of(
            mean_point({"rlc_delivery": cell.delivery}, column(bench.flows(cell), "fast_retransmits"))
            for cell in ORDERS
        ),
    }


def _figures(bench: LoBench) -> list[Figure]:
    from .figures import throughput

    return [throughput({cell: fraction(bench, cell) for cell in CELLS})]
