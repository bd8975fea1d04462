"""Section 5.3.4: maxDAT and status prohibit, which need the RLC in acknowledged mode."""

from __future__ import annotations

from ..design import Plan
from ..published import PublishedRow
from ..quantities import Point, Quantity
from .observed import TeyebBench, TeyebPlan

RLC = "radio: rlc am"

_METRICS = (
    "download_time",
    "tcp_retransmission_percent",
    "status_overhead",
    "status_overhead_percent",
    "rtt",
    "peak_throughput",
    "average_throughput",
    "average_throughput_kbps",
    "retransmission_delay_ms",
)


def plans() -> dict[str, TeyebPlan]:
    """The plans of Figures 5.10 to 5.16."""
    return {f"figure-5-{number}": Plan(measure=_measure, quantities=_quantities) for number in range(10, 17)}


def _measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    return Point(needs=RLC)


def _quantities(bench: TeyebBench) -> dict[str, Quantity]:
    waiting = Quantity.of(
        Point({"maxdat": maxdat, "status_prohibit_ms": prohibit}, needs=RLC)
        for maxdat in range(1, 11)
        for prohibit in (50, 100, 150)
    )
    return {**dict.fromkeys(_METRICS, waiting), "poll_timer_ms": Quantity.constant(300.0)}
