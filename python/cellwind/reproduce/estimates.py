"""Points from the values of replications: means, percentiles and whole distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from cellwind.analysis.statistics import mean, percentiles

from .design import NotRunError
from .quantities import Distribution, Factor, Point, Quantity

T = TypeVar("T")

_CONFIDENCE = 0.95


def mean_point(factors: Mapping[str, Factor], values: Iterable[float | None]) -> Point:
    """The mean over the replications, with the half-width of its interval and every value."""
    samples = [float(value) for value in values if value is not None]
    found = mean(samples)
    return Point(factors, found.mean, found.half_width, found.n, samples=samples)


def percentile_point(factors: Mapping[str, Factor], values: Iterable[float | None], level: float) -> Point:
    """A percentile (0 to 100) over the replications, with half the width of its interval.

    The interval reaches from one order statistic to another and holds whatever the distribution is (David and Nagaraja,
    Order Statistics, 7.1). A few values have none.
    """
    samples = sorted(float(value) for value in values if value is not None)
    ranks = _ranks(len(samples), level / 100)
    half = None if ranks is None else (samples[ranks[1]] - samples[ranks[0]]) / 2
    return Point(factors, percentiles(samples, [level])[0], half, len(samples), samples=samples)


def spread_point(factors: Mapping[str, Factor], values: Iterable[float | None]) -> Point:
    """The mean over the replications, with all of them as a distribution for checks that ask for a median."""
    point = mean_point(factors, values)
    samples = list(point.samples or ())
    distribution = Distribution(samples, [1.0] * len(samples)) if samples else None
    return Point(factors, point.value, point.half_width, point.n, samples, distribution)


def over(cells: Iterable[T], factors: Callable[[T], Mapping[str, Factor]], measure: Callable[[T], Point]) -> Quantity:
    """One measure over several cells; a cell that was not run has a point that says why."""
    points = []
    for cell in cells:
        try:
            points.append(measure(cell))
        except NotRunError as missing:
            points.append(Point(factors(cell), needs=str(missing)))
    return Quantity.of(points)


def _ranks(n: int, probability: float) -> tuple[int, int] | None:
    """The narrowest pair of places, as even about the percentile as can be, that holds it with the confidence."""
    mass = [math.comb(n, k) * probability**k * (1 - probability) ** (n - k) for k in range(n + 1)]
    centre = probability * n
    # Between the sorted values low and high lie the percentile's whole chances low + 1 to high.
    pairs = sorted(
        ((high - low, abs((low + high + 1) / 2 - centre), low, high) for low in range(n) for high in range(low + 1, n)),
    )
    found = next((pair for pair in pairs if math.fsum(mass[pair[2] + 1 : pair[3] + 1]) >= _CONFIDENCE), None)
    return None if found is None else (found[2], found[3])


def column(rows: Sequence[Mapping[str, object]], name: str) -> list[float | None]:
    """One column of rows; what is no number is None."""
    return [value if isinstance(value, int | float) else None for value in (row[name] for row in rows)]
