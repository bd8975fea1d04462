"""Means over replications, how sure they are, and how two scenarios compare.

Every replication gives one value, and replications are independent, so a mean carries the 95 % interval of Student's
t distribution. The quantile is computed here because loading scipy takes longer than many runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, stdev
from typing import Any

from .source import ResultsSource

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Metric:
    """A column of the flow table that is worth a mean, and how people read it.

    ``scale`` turns the stored unit into ``unit``: seconds into ms, bit/s into kbit/s.
    """

    column: str
    label: str
    unit: str = ""
    scale: float = 1.0

    @property
    def heading(self) -> str:
        """Label and unit, such as ``"Duration (s)"``."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


METRICS = (
    Metric("duration_s", "Duration", "s"),
    Metric("goodput_bps", "Goodput", "kbit/s", 1e-3),
    Metric("segments_sent", "Segments sent"),
    Metric("segments_retransmitted", "Retransmissions"),
    Metric("timeouts", "Timeouts"),
    Metric("fast_retransmits", "Fast retransmits"),
    Metric("spurious_timeouts", "Spurious timeouts"),
    Metric("rtt_mean_s", "Mean RTT", "ms", 1e3),
)


# What applications have besides; each has its own.
APPLICATION_METRICS = (
    Metric("messages_sent", "Messages sent"),
    Metric("messages_delivered", "Messages delivered"),
    Metric("messages_on_time", "Messages in time"),
    Metric("delay_mean_s", "Mean delay", "ms", 1e3),
    Metric("delay_max_s", "Longest delay", "ms", 1e3),
    Metric("initial_delay_s", "Initial page delay", "s"),
    Metric("page_delay_s", "Total page delay", "s"),
    Metric("startup_delay_s", "Start-up delay", "s"),
    Metric("rebufferings", "Re-bufferings"),
    Metric("rebuffering_s", "Time re-buffering", "s"),
    Metric("rate_switches", "Rate switches"),
    Metric("media_bps", "Rate of the media", "kbit/s", 1e-3),
)


@dataclass(frozen=True)
class Estimate:
    """A mean over ``n`` replications with the half-width of its 95 % interval.

    ``mean`` is NaN when ``n`` is 0; ``half_width`` is None below two values, where no interval exists.
    """

    mean: float
    half_width: float | None
    n: int

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.half_width is None else self.mean + self.half_width

    def text(self, scale: float = 1.0) -> tuple[str, str]:
        """The mean and the half-width as text, both multiplied by ``scale``.

        The half-width has two significant digits and the mean as many decimals; what does not exist is "–".
        """
        if self.n == 0 or not math.isfinite(self.mean):
            return "–", "–"
        mean = self.mean * scale
        if self.half_width is None:
            return _significant(mean, 4), "–"
        half = self.half_width * scale
        # Equal values give a half-width of zero, or of what rounding leaves of it.
        if half <= 1e-9 * abs(mean):
            return _significant(mean, 4), "0"
        decimals = min(6, max(0, 1 - math.floor(math.log10(half))))
        return f"{mean:.{decimals}f}", f"{half:.{decimals}f}"

    def __str__(self) -> str:
        mean, half = self.text()
        return f"{mean} ± {half} (n = {self.n})"


@dataclass(frozen=True)
class Ratio:
    """A ratio of two means with the half-width of its 95 % interval (None below two values on either side).

    ``paired`` tells whether replication i of one side was compared with replication i of the other; ``n`` counts the
    pairs, or the values of the smaller side.
    """

    value: float
    half_width: float | None
    n: int
    paired: bool

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.half_width is None else self.value - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.half_width is None else self.value + self.half_width

    def text(self) -> tuple[str, str]:
        """The ratio and its half-width as text, like ``Estimate.text``."""
        return Estimate(self.value, self.half_width, self.n).text()


@dataclass(frozen=True)
class FlowSummary:
    """One flow of one scenario over all its replications.

    ``estimates`` is keyed by column of the flow table (see ``METRICS`` and
    ``APPLICATION_METRICS``). A replication whose flow did not complete has
    no duration, and is missing from its ``n``: compare ``completed`` with ``replications``.
    ``duration_percentiles_s`` holds the 5th, 50th and 95th percentile.
    """

    scenario: str
    flow: str
    transport: str
    replications: int
    completed: int
    estimates: Mapping[str, Estimate]
    duration_percentiles_s: tuple[float, float, float]

    def __getitem__(self, column: str) -> Estimate:
        return self.estimates[column]

    def as_row(self) -> dict[str, str | int | float | None]:
        """A flat row for a data frame; an estimate makes three columns, which end in mean, half_width and n."""
        row: dict[str, str | int | float | None] = {
            "scenario": self.scenario,
            "flow": self.flow,
            "transport": self.transport,
            "replications": self.replications,
            "completed": self.completed,
        }
        for column, estimate in self.estimates.items():
            row[f"{column}_mean"] = estimate.mean
            row[f"{column}_half_width"] = estimate.half_width
            row[f"{column}_n"] = estimate.n
        return row


@dataclass(frozen=True)
class Comparison:
    """How a flow of one scenario compares with the same flow of the baseline scenario."""

    scenario: str
    baseline: str
    flow: str
    ratios: Mapping[str, Ratio]


def mean(values: Iterable[float | None], confidence: float = CONFIDENCE) -> Estimate:
    """Mean with the half-width of Student's t interval. Missing values (None, NaN) are left out and not counted.

    >>> print(mean([10.0, 12.0, 11.0]))
    11.0 ± 2.5 (n = 3)
    """
    present = _present(values)
    n = len(present)
    if n == 0:
        return Estimate(math.nan, None, 0)
    if n == 1:
        return Estimate(present[0], None, 1)
    half = student_t_quantile((1 + confidence) / 2, n - 1) * stdev(present) / math.sqrt(n)
    return Estimate(fmean(present), half, n)


def ratio_of_means(
    numerator: Sequence[float | None],
    denominator: Sequence[float | None],
    paired: bool,
    confidence: float = CONFIDENCE,
) -> Ratio:
    """Ratio of two means with its interval by the delta method.

    Paired values come from the same replication under common random numbers; what both sides share then cancels, and
    the interval is that of the residuals ``x - ratio * y``. Pairs with a missing side are left out. Unpaired values
    are independent samples, with the degrees of freedom of Welch and Satterthwaite.

    Raises ValueError when paired sequences differ in length.
    """
    if paired:
        return _paired_ratio(numerator, denominator, confidence)
    x, y = _present(numerator), _present(denominator)
    n = min(len(x), len(y))
    if n == 0 or fmean(y) == 0.0:
        return Ratio(math.nan, None, n, False)
    value = fmean(x) / fmean(y)
    if n == 1:
        return Ratio(value, None, n, False)
    # Variance of the ratio, split in the share of each side: that split is what Welch's formula needs.
    share_x = stdev(x) ** 2 / len(x) / fmean(y) ** 2
    share_y = value**2 * stdev(y) ** 2 / len(y) / fmean(y) ** 2
    variance = share_x + share_y
    if variance == 0.0:
        return Ratio(value, 0.0, n, False)
    freedom = variance**2 / (share_x**2 / (len(x) - 1) + share_y**2 / (len(y) - 1))
    half = student_t_quantile((1 + confidence) / 2, freedom) * math.sqrt(variance)
    return Ratio(value, half, n, False)


def percentiles(values: Iterable[float | None], levels: Sequence[float]) -> tuple[float, ...]:
    """Percentiles at ``levels`` (0 to 100), linear between order statistics. NaN when no value is present."""
    present = sorted(_present(values))
    if not present:
        return tuple(math.nan for _ in levels)
    found = []
    for level in levels:
        if not 0 <= level <= 100:
            raise ValueError(f"a percentile lies between 0 and 100, not {level}")
        position = level / 100 * (len(present) - 1)
        below = math.floor(position)
        above = min(below + 1, len(present) - 1)
        found.append(present[below] + (position - below) * (present[above] - present[below]))
    return tuple(found)


def summary(results: ResultsSource) -> list[FlowSummary]:
    """One summary per scenario and flow, in the order of the scenarios and of their rows."""
    summaries = []
    for (scenario, flow), rows in _rows_by_flow(results).items():
        p5, p50, p95 = percentiles((row.get("duration_s") for row in rows), (5, 50, 95))
        summaries.append(
            FlowSummary(
                scenario=scenario,
                flow=flow,
                transport=str(rows[0].get("transport", "")),
                replications=len(rows),
                completed=sum(bool(row.get("completed")) for row in rows),
                estimates={m.column: mean(row.get(m.column) for row in rows) for m in (*METRICS, *APPLICATION_METRICS)},
                duration_percentiles_s=(p5, p50, p95),
            )
        )
    return summaries


def compare(
    results: ResultsSource,
    baseline: str | None = None,
    columns: Sequence[str] = ("duration_s", "goodput_bps"),
) -> list[Comparison]:
    """Every scenario against ``baseline`` (the first one when None), per flow that both have.

    Scenarios run under the same seed meet the same radio, so they are compared replication by replication.

    Raises ValueError when the baseline is not among the scenarios.
    """
    seeds = {scenario.name: scenario.seed for scenario in results.scenarios}
    if not seeds:
        return []
    reference = baseline if baseline is not None else next(iter(seeds))
    if reference not in seeds:
        raise ValueError(f"no scenario named {reference!r}; there are {', '.join(seeds)}")
    groups = _rows_by_flow(results)
    comparisons = []
    for (scenario, flow), rows in groups.items():
        if scenario == reference or (reference, flow) not in groups:
            continue
        others = groups[reference, flow]
        paired = seeds.get(scenario) == seeds[reference]
        ratios = {column: _ratio_of_column(rows, others, column, paired) for column in columns}
        comparisons.append(Comparison(scenario, reference, flow, ratios))
    return comparisons


@cache
def student_t_quantile(probability: float, freedom: float) -> float:
    """Quantile of Student's t distribution, to 1e-10 of its value up to 10,000 degrees of freedom, then 1e-6.

    >>> round(student_t_quantile(0.975, 19), 6)
    2.093024
    """
    if not 0.0 < probability < 1.0:
        raise ValueError(f"a probability lies strictly between 0 and 1, not {probability}")
    if not freedom > 0.0:
        raise ValueError(f"degrees of freedom are positive, not {freedom}")
    if probability == 0.5:
        return 0.0
    if probability < 0.5:
        return -student_t_quantile(1.0 - probability, freedom)
    tail = 2.0 * (1.0 - probability)
    # P(|T| > t) = I_w(freedom/2, 1/2) with w = freedom / (freedom + t²), which grows with w: bisect on the logarithm
    # of t, so that the heavy tails of one or two degrees of freedom take no more steps than the others.
    low, high = -40.0, 40.0
    while high - low > 1e-14 * max(1.0, abs(low)):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        square = math.exp(2 * middle)
        if _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square)) > tail:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)


def _incomplete_beta(a: float, b: float, x: float, complement: float) -> float:
    """Regularised incomplete beta function I_x(a, b); ``complement`` is 1 - x without cancellation."""
    if x <= 0.0:
        return 0.0
    if complement <= 0.0:
        return 1.0
    # DLMF 8.17.22: the fraction converges fast below the mean; above it DLMF 8.17.4 swaps the sides.
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _incomplete_beta(b, a, complement, x)
    log_front = a * math.log(x) + b * math.log(complement) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(log_front) / a * _beta_fraction(a, b, x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of DLMF 8.17.22, by the modified method of Lentz."""
    tiny = 1e-300
    c = 1.0
    d = 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1), tiny)
    fraction = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = 1.0
        for term in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + term * d, tiny)
            c = _away_from_zero(1.0 + term / c, tiny)
            step = c * d
            fraction *= step
        if abs(step - 1.0) < 1e-16:
            break
    return fraction


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny


def _paired_ratio(numerator: Sequence[float | None], denominator: Sequence[float | None], confidence: float) -> Ratio:
    if len(numerator) != len(denominator):
        raise ValueError(f"paired values differ in number: {len(numerator)} and {len(denominator)}")
    pairs = [
        (float(x), float(y))
        for x, y in zip(numerator, denominator, strict=True)
        if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)
    ]
    n = len(pairs)
    y_mean = fmean(y for _, y in pairs) if pairs else 0.0
    if y_mean == 0.0:
        return Ratio(math.nan, None, n, True)
    value = fmean(x for x, _ in pairs) / y_mean
    if n == 1:
        return Ratio(value, None, n, True)
    spread = stdev(x - value * y for x, y in pairs)
    half = student_t_quantile((1 + confidence) / 2, n - 1) * spread / math.sqrt(n) / abs(y_mean)
    return Ratio(value, half, n, True)


def _ratio_of_column(
    rows: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]], column: str, paired: bool
) -> Ratio:
    if not paired:
        return ratio_of_means([row.get(column) for row in rows], [row.get(column) for row in others], False)
    reference = {row["replication"]: row.get(column) for row in others}
    shared = [row for row in rows if row["replication"] in reference]
    return ratio_of_means([row.get(column) for row in shared], [reference[row["replication"]] for row in shared], True)


def _rows_by_flow(results: ResultsSource) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Rows of the flow table by scenario and flow, the scenarios in the order of ``results.scenarios``."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in results.flows().to_pylist():
        groups.setdefault((row["scenario"], row["flow"]), []).append(row)
    order = {scenario.name: place for place, scenario in enumerate(results.scenarios)}
    return dict(sorted(groups.items(), key=lambda item: order.get(item[0][0], len(order))))


def _present(values: Iterable[float | None]) -> list[float]:
    return [float(value) for value in values if value is not None and math.isfinite(value)]


def _significant(value: float, digits: int) -> str:
    """A number with so many significant digits, but never fewer than its whole part has, and no trailing zeros."""
    if value == 0.0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(decimals, 9)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
