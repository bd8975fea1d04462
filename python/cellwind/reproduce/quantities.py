"""Measured quantities over the factors of an experiment, as the check language sees them.

A quantity is a set of points: one number for each combination of factor values that was run. Arithmetic joins two
quantities on the factors they share, and carries the half-widths of the 95 % intervals along as if the sides were
independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

Factor = str | float | int | bool


class NotANumberError(ValueError):
    """A word stands where a number is computed with."""


@dataclass(frozen=True)
class Distribution:
    """Values of one run with their weights, such as a window and how long it lasted.

    Weights are positive and need not add up to one; the order of the values does not matter.
    """

    values: Sequence[float]
    weights: Sequence[float]

    def mean(self) -> float:
        """Weighted mean."""
        total = math.fsum(self.weights)
        return math.fsum(v * w for v, w in zip(self.values, self.weights, strict=True)) / total

    def stdev(self) -> float:
        """Weighted standard deviation of the whole population."""
        mean, total = self.mean(), math.fsum(self.weights)
        squares = math.fsum((v - mean) ** 2 * w for v, w in zip(self.values, self.weights, strict=True))
        return math.sqrt(squares / total)

    def quantile(self, level: float) -> float:
        """Smallest value below or at which the share ``level`` of the weight lies."""
        total = math.fsum(self.weights)
        reached = 0.0
        for value, weight in sorted(zip(self.values, self.weights, strict=True)):
            reached += weight
            if reached >= level * total:
                return value
        return max(self.values)

    def fraction_at(self, value: float) -> float:
        """Share of the weight that lies exactly at ``value``."""
        there = math.fsum(w for v, w in zip(self.values, self.weights, strict=True) if v == value)
        return there / math.fsum(self.weights)


@dataclass(frozen=True)
class Point:
    """One number at one combination of factor values.

    ``half_width`` is that of the 95 % interval, None where no interval exists (one run, or an exact number).
    ``samples`` holds one value per replication and ``distribution`` the values within one run, where a check asks for
    them. ``needs`` names the part of the simulator that is missing; such a point has no value. ``detail`` says what
    was counted, where the value alone does not.
    """

    factors: Mapping[str, Factor] = field(default_factory=dict)
    value: float | str = math.nan
    half_width: float | None = None
    n: int = 1
    samples: Sequence[float] | None = None
    distribution: Distribution | None = None
    needs: str | None = None
    detail: str = ""

    @property
    def number(self) -> float:
        """The value as a number. Raises NotANumberError when it is a word."""
        if isinstance(self.value, str):
            raise NotANumberError(f"{self.value!r} is not a number")
        return self.value

    def label(self) -> str:
        """The factors as people read them: ``"384 kbit/s, 576 B"``; empty without factors."""
        from .words import factors_text

        return factors_text(self.factors)

    def text(self) -> str:
        """Value and half-width as people read them."""
        if self.needs is not None:
            return "–"
        if isinstance(self.value, str):
            return self.value
        from cellwind.analysis.statistics import Estimate

        # A quotient that is exactly 1 arrives as 0.9999999999; four digits are enough to read.
        mean, half = Estimate(self.value, self.half_width, self.n).text()
        detail = f" ({self.detail})" if self.detail else ""
        return (mean if half in ("–", "0") else f"{mean} ± {half}") + detail


@dataclass(frozen=True)
class Quantity:
    """Points of one metric. Factors that all points share and that a check pinned are left out of the points."""

    points: tuple[Point, ...]

    @staticmethod
    def constant(value: float | str, detail: str = "") -> Quantity:
        """An exact number or a word, without factors."""
        return Quantity((Point(value=value, detail=detail),))

    @staticmethod
    def of(points: Iterable[Point]) -> Quantity:
        """The quantity of these points."""
        return Quantity(tuple(points))

    def join(self, other: Quantity) -> list[tuple[Point, Point]]:
        """Pairs of points that agree on every factor both sides have."""
        return [
            (left, right)
            for left in self.points
            for right in other.points
            if all(right.factors[name] == value for name, value in left.factors.items() if name in right.factors)
        ]

    def combine(self, other: Quantity, operation: Callable[[float, float], float]) -> Quantity:
        """The operation on every joined pair, its half-width from the slopes at the two values."""
        return Quantity(tuple(_combine(left, right, operation) for left, right in self.join(other)))

    def apply(self, operation: Callable[[float], float]) -> Quantity:
        """The operation on every point; the half-width follows from the slope."""
        return self.combine(Quantity.constant(0.0), lambda value, _: operation(value))

    def grouped_by_others(self, factor: str) -> dict[tuple[tuple[str, Factor], ...], list[Point]]:
        """Points that differ in ``factor`` only, each group in rising order of it."""
        groups: dict[tuple[tuple[str, Factor], ...], list[Point]] = {}
        for point in self.points:
            if factor in point.factors:
                others = tuple((name, value) for name, value in point.factors.items() if name != factor)
                groups.setdefault(others, []).append(point)
        for group in groups.values():
            group.sort(key=lambda point: _order(point.factors[factor]))
        return groups


def tolerance(left: Point, right: Point, floor: float) -> float:
    """How far apart two values may lie and still be about equal.

    The half-widths of both (independent, so their squares add), but at least the share ``floor`` of the right value.
    """
    return max(_joint(left.half_width, right.half_width) or 0.0, floor * abs(right.number))


def _combine(left: Point, right: Point, operation: Callable[[float, float], float]) -> Point:
    factors = {**left.factors, **right.factors}
    missing = dict.fromkeys(side.needs for side in (left, right) if side.needs is not None)
    if missing:
        return Point(factors, needs=" and ".join(missing))
    x, y = left.number, right.number
    value = operation(x, y)
    half_width: float | None = None
    if left.half_width is not None or right.half_width is not None:
        # Central differences: the operations of the language are smooth where a check uses them.
        step_x, step_y = 1e-6 * max(1.0, abs(x)), 1e-6 * max(1.0, abs(y))
        slope_x = (operation(x + step_x, y) - operation(x - step_x, y)) / (2 * step_x) if left.half_width else 0.0
        slope_y = (operation(x, y + step_y) - operation(x, y - step_y)) / (2 * step_y) if right.half_width else 0.0
        half_width = math.hypot(slope_x * (left.half_width or 0.0), slope_y * (right.half_width or 0.0))
    counts = [point.n for point in (left, right) if point.half_width is not None]
    return Point(factors, value, half_width, min(counts, default=1))


def _joint(left: float | None, right: float | None) -> float | None:
    return None if left is None and right is None else math.hypot(left or 0.0, right or 0.0)


def _order(value: Factor) -> tuple[int, float, str]:
    return (1, 0.0, value) if isinstance(value, str) else (0, float(value), "")


def without(point: Point, names: Iterable[str]) -> Point:
    """The point without these factors."""
    dropped = set(names)
    return replace(point, factors={name: value for name, value in point.factors.items() if name not in dropped})
