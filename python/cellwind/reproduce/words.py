"""Factors, metrics and numbers as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from cellwind.analysis.statistics import Estimate

from .quantities import Factor

if TYPE_CHECKING:
    from .results import RowResult

# Unit at the end of a key, and how it is written.
_UNITS = {
    "kbps": "kbit/s",
    "bytes": "B",
    "kbytes": "kB",
    "mbytes": "MB",
    "ms": "ms",
    "s": "s",
    "percent": "%",
    "segments": "segments",
    "packets": "packets",
    "bps": "bit/s",
    "bytes_per_s": "B/s",
    "ttis": "TTIs",
    "rtts": "RTTs",
}
# A bound stands behind the unit.
_BOUNDS = {"min": "at least", "max": "at most"}


# Factors whose values are words that speak for themselves.
_BARE = (
    "quantity",
    "solution",
    "variant",
    "tcp",
    "stack",
    "event",
    "parameter",
    "phase",
    "network",
    "rlc_delivery",
    "trigger",
)

# Factors that say what they are by their unit, or that have a shorter name.
_SHORT = {
    "bearer": "over {}",
    "rate_kbps": "{} kbit/s",
    "packet_bytes": "{} B",
    "max_window_segments": "window {}",
    "initial_window_segments": "initial window {}",
    "handover_delay_s": "handover of {} s",
}


def factor_text(name: str, value: Factor) -> str:
    """One factor with its unit.

    >>> factor_text("packet_bytes", 576), factor_text("spike_s", 2.5)
    ('576 B', 'spike 2.5 s')
    """
    if name in _SHORT:
        return _SHORT[name].format(value)
    stem, unit = _split(name)
    if isinstance(value, bool):
        return stem if value else f"no {stem}"
    if isinstance(value, str):
        return value.replace("_", " ") if name in _BARE else f"{stem} {value}"
    return f"{stem} {value:g} {unit}".rstrip()


def factors_text(factors: Mapping[str, Factor]) -> str:
    """All factors of a row, in their order."""
    return ", ".join(factor_text(name, value) for name, value in factors.items())


def metric_text(metric: str) -> str:
    """What a number means, with its unit.

    >>> metric_text("increase_in_time_percent")
    'increase in time (%)'
    """
    stem, unit = _split(_unbound(metric))
    return f"{stem} ({unit})" if unit else stem


def published_text(row: RowResult) -> str:
    """The published number as it was printed; a dash when there is none."""
    if row.published is None:
        return "–"
    text = value_text(row.published)
    if row.bound is not None:
        return f"{_BOUNDS[row.bound]} {text}"
    return f"about {text}" if row.approximate else text


def ours_text(row: RowResult) -> str:
    """Our number with the half-width of its interval; a dash when it was not run."""
    return _measured_text(row.ours, row.half_width, row.n)


def live_text(row: RowResult) -> str:
    """The number of the live runs with the half-width of its interval; a dash when there is none."""
    return "–" if row.live is None else _measured_text(row.live.value, row.live.half_width, row.live.n)


def live_difference_text(row: RowResult) -> str:
    """The difference of the number of the live runs, as ``difference_text`` gives ours."""
    live = row.live
    if live is None:
        return "not run"
    return difference_text(replace(row, ours=live.value, half_width=live.half_width, n=live.n, live=None))


def _measured_text(value: Factor | None, half_width: float | None, n: int) -> str:
    if value is None:
        return "–"
    if isinstance(value, str | bool):
        return value_text(value)
    mean, half = Estimate(float(value), half_width, n).text()
    return mean if half in ("–", "0") else f"{mean} ± {half}"


def difference_text(row: RowResult) -> str:
    """The relative difference in percent; the absolute one where the published number is zero."""
    if row.published is None:
        return "" if row.ours is not None else "not run"
    if not row.judged:
        return "shown only"
    if row.bound is not None and row.difference == 0.0:
        return "kept"
    if row.relative_difference is not None and not isinstance(row.published, bool):
        percent = round(100 * row.relative_difference, 1)
        return f"{percent:+.1f} %" if percent else "0.0 %"
    if row.difference is not None:
        return f"{row.difference:+.3g}"
    if row.ours is None:
        return "not run"
    return "same" if row.ours == row.published else "differs"


def value_text(value: Factor) -> str:
    """A number without trailing zeros, yes or no, or a word."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:g}"


def verdict_text(holds: bool | None) -> str:
    """The verdict on a claim in one word."""
    return {True: "holds", False: "fails", None: "open"}[holds]


def _split(name: str) -> tuple[str, str]:
    # The longest unit first: `bytes_per_s` ends in `s`.
    for unit in sorted(_UNITS, key=len, reverse=True):
        stem = name.removesuffix(f"_{unit}")
        if stem != name and stem:
            return stem.replace("_", " "), _UNITS[unit]
    return name.replace("_", " "), ""


def _unbound(metric: str) -> str:
    return next((metric.removesuffix(f"_{end}") for end in _BOUNDS if metric.endswith(f"_{end}")), metric)
