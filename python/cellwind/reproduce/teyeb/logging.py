"""Section B.1.1: what a log does to the deadlines of an emulator, measured on our own driver."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import fmean, pstdev

from ..design import Beside, Plan
from ..estimates import over
from ..quantities import Point, Quantity
from .observed import TeyebBench, TeyebPlan

# A log of 20 s: a thousand deadlines a second on average.
DEADLINES = 20_000
MEAN_GAP_US = 1000

LOGGINGS = ("local", "remote", "remote_priority")
_METRICS = ("mean_mismatch_ms", "stdev_mismatch_ms", "max_mismatch_ms")


def plans() -> dict[str, TeyebPlan]:
    """The plan of Figure B.1."""
    probes = {_probe(logging): partial(_measure, logging) for logging in LOGGINGS}
    return {"figure-b-1": Plan(probes=probes, quantities=_quantities, beside=_beside)}


def _probe(logging: str) -> str:
    return f"timer-mismatch-{logging.replace('_', '-')}"


def _measure(logging: str, directory: Path) -> dict[str, float]:
    """How late the driver's waiting was, in ms. Raises OSError where priority is not allowed."""
    from cellwind._core import timer_mismatch

    late_ms = [ns * 1e-6 for ns in timer_mismatch(logging, str(directory), DEADLINES, MEAN_GAP_US)]
    return {
        "mean_mismatch_ms": fmean(late_ms),
        "stdev_mismatch_ms": pstdev(late_ms),
        "max_mismatch_ms": max(late_ms),
    }


def _quantities(bench: TeyebBench) -> dict[str, Quantity]:
    def of(metric: str) -> Quantity:
        return over(
            LOGGINGS,
            lambda logging: {"logging": logging},
            lambda logging: Point({"logging": logging}, bench.probed(_probe(logging))[metric]),
        )

    return {metric: of(metric) for metric in _METRICS}


def _beside(bench: TeyebBench) -> list[Beside]:
    def measured(logging: str, metric: str) -> Point:
        return Point(value=bench.probed(_probe(logging))[metric])

    return [
        Beside({"logging": logging}, metric, partial(measured, logging, metric))
        for logging in LOGGINGS
        for metric in _METRICS
    ]
