"""The functions of the check language, over quantities that are already measured."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev, stdev

from .quantities import Distribution, Point, Quantity, tolerance, without

# Two values are about equal when they differ by less than their half-widths, or by less than this share of the
# second one. It is the tenth above which the pages of the papers explain a difference.
ABOUT = 0.1


class UnboundError(Exception):
    """A statement asks for something that was not measured; the text says what."""


@dataclass(frozen=True)
class Outcome:
    """One comparison at one combination of the factors that were left out."""

    label: str
    holds: bool | None
    text: str


def text_of(point: Point) -> str:
    """A point as a verdict quotes it."""
    return f"needs {point.needs}" if point.needs is not None else point.text()


def _needs(points: Sequence[Point]) -> str | None:
    return next((point.needs for point in points if point.needs is not None), None)


# Trends: groups of points in rising order of a factor.


def _course(group: Sequence[Point], factor: str) -> str:
    steps = ", ".join(text_of(point) for point in group)
    return f"{steps} over {factor} {group[0].factors[factor]} to {group[-1].factors[factor]}"


def _trend(name: str, is_so: Callable[[Sequence[Point]], bool]) -> Callable[[Sequence[Point], str], Outcome]:
    def outcome(group: Sequence[Point], factor: str) -> Outcome:
        needs = _needs(group)
        if needs is not None:
            return Outcome("", None, f"needs {needs}")
        if len(group) < 2:
            return Outcome("", None, f"only one value of {factor} was run")
        holds = is_so(group)
        course = _course(group, factor)
        return Outcome(without(group[0], [factor]).label(), holds, course if holds else f"not {name}: {course}")

    return outcome


def _goes(sign: int) -> Callable[[Sequence[Point]], bool]:
    def is_so(group: Sequence[Point]) -> bool:
        # A step against the trend counts only when it is larger than the noise of its two ends.
        steps = (
            sign * (after.number - before.number) >= -tolerance(before, after, 0.0)
            for before, after in itertools.pairwise(group)
        )
        return all(steps) and sign * (group[-1].number - group[0].number) > 0

    return is_so


def _is_flat(group: Sequence[Point]) -> bool:
    return all(abs(point.number - group[0].number) <= tolerance(point, group[0], ABOUT) for point in group)


TRENDS = {
    "rises": _trend("rising", _goes(1)),
    "falls": _trend("falling", _goes(-1)),
    "flat": _trend("flat", _is_flat),
}


# Places: the value of a factor at which a quantity is extreme.


def _place(choose: Callable[..., Point]) -> Callable[[Quantity, str], Quantity]:
    def place(quantity: Quantity, factor: str) -> Quantity:
        found = []
        for others, group in quantity.grouped_by_others(factor).items():
            needs = _needs(group)
            best = choose(group, key=lambda point: point.number) if needs is None else group[0]
            value = best.factors[factor]
            found.append(Point(dict(others), value if isinstance(value, str) else float(value), needs=needs))
        if not found:
            raise UnboundError(f"nothing was measured over {factor}")
        return Quantity.of(found)

    return place


PLACES = {"argmin": _place(min), "argmax": _place(max)}


# Values: functions of one quantity, or of two.

Values = Callable[[Sequence[Quantity]], Quantity]


def _over_values(over_points: Callable[[Sequence[float]], float], over_time: Callable[[Distribution], float]) -> Values:
    """A function of many values: those within each run where there are such, else those of all points."""

    def function(operands: Sequence[Quantity]) -> Quantity:
        points = [point for operand in operands for point in operand.points]
        if not points:
            raise UnboundError("there are no runs to look at")
        if any(point.distribution is not None for point in points):
            return Quantity.of(
                Point(point.factors, over_time(point.distribution)) for point in points if point.distribution
            )
        needs = _needs(points)
        if needs is not None:
            return Quantity.of([Point(needs=needs)])
        value = over_points([point.number for point in points])
        # An extreme keeps the interval of the point it comes from; other functions of points have none.
        half_width = next((point.half_width for point in points if point.number == value), None)
        return Quantity.of([Point(value=value, half_width=half_width)])

    return function


def _equal_weights(values: Sequence[float]) -> Distribution:
    return Distribution(values, [1.0] * len(values))


def _quantile(operands: Sequence[Quantity]) -> Quantity:
    values, levels = _two("quantile(y, level)", operands)
    level = levels.points[0].number
    ordered = _over_values(lambda found: _equal_weights(found).quantile(level), lambda d: d.quantile(level))
    return ordered([values])


def _absolute(operands: Sequence[Quantity]) -> Quantity:
    if len(operands) != 1:
        raise UnboundError("abs needs one value")
    return operands[0].apply(abs)


def _variation(operands: Sequence[Quantity]) -> Quantity:
    """Standard deviation over the replications, relative to their mean."""
    found = []
    for point in (point for operand in operands for point in operand.points):
        if point.needs is not None:
            found.append(Point(point.factors, needs=point.needs))
        elif point.samples is not None and len(point.samples) > 1:
            found.append(Point(point.factors, stdev(point.samples) / fmean(point.samples), n=len(point.samples)))
    if not found:
        raise UnboundError("the variation needs two replications or more")
    return Quantity.of(found)


def _correlation(operands: Sequence[Quantity]) -> Quantity:
    left, right = _two("correlation(x, y)", operands)
    pairs = left.join(right)
    needs = _needs([point for pair in pairs for point in pair])
    if needs is not None:
        return Quantity.of([Point(needs=needs)])
    x, y = [point.number for point, _ in pairs], [point.number for _, point in pairs]
    if len(pairs) < 2 or pstdev(x) == 0 or pstdev(y) == 0:
        raise UnboundError("a correlation needs runs that differ")
    covariance = fmean(a * b for a, b in zip(x, y, strict=True)) - fmean(x) * fmean(y)
    return Quantity.constant(covariance / (pstdev(x) * pstdev(y)))


def _significant(operands: Sequence[Quantity]) -> Quantity:
    """1 where the intervals of two values do not reach each other, else 0."""
    first, second = _two("significant(a, b)", operands)
    found = []
    for left, right in first.join(second):
        factors, needs = {**left.factors, **right.factors}, _needs([left, right])
        apart = needs is None and abs(left.number - right.number) > tolerance(left, right, 0.0)
        found.append(Point(factors, float(apart), needs=needs))
    return Quantity.of(found)


def _two(form: str, operands: Sequence[Quantity]) -> tuple[Quantity, Quantity]:
    if len(operands) != 2:
        raise UnboundError(f"{form} is the form of that function")
    return operands[0], operands[1]


def _spread(values: Sequence[float]) -> float:
    return max(values) / min(values) - 1


def _jain(values: Sequence[float]) -> float:
    squares = math.fsum(value * value for value in values)
    return math.fsum(values) ** 2 / (len(values) * squares) if squares else 1.0


VALUES: dict[str, Values] = {
    "abs": _absolute,
    "min": _over_values(min, lambda d: min(d.values)),
    "max": _over_values(max, lambda d: max(d.values)),
    "mean": _over_values(fmean, Distribution.mean),
    "sum": _over_values(math.fsum, lambda d: math.fsum(d.values)),
    "median": _over_values(lambda v: _equal_weights(v).quantile(0.5), lambda d: d.quantile(0.5)),
    "stdev": _over_values(pstdev, Distribution.stdev),
    "spread": _over_values(_spread, lambda d: _spread(d.values)),
    "jain": _over_values(_jain, lambda d: _jain(d.values)),
    "quantile": _quantile,
    "correlation": _correlation,
    "significant": _significant,
    "coefficient_of_variation": _variation,
}
