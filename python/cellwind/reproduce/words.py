"""Factors, metrics and numbers as people read them."""

from __future__ import annotations

from collections.abc import Mapping
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
}


# Factors that say what they are by their unit, or that have a shorter name.
_SHORT = {
    "rate_kbps": "{} kbit/s",
    "packet_bytes": "{} B",
    "max_window_segments": "window {}",
    "initial_window_segments": "initial window {}",
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
        return value.replace("_", " ") if name in ("quantity", "solution", "variant", "tcp") else f"{stem} {value}"
    return f"{stem} {value:g} {unit}".rstrip()


def factors_text(factors: Mapping[str, Factor]) -> str:
    """All factors of a row, in their order."""
    return ", ".join(factor_text(name, value) for name, value in factors.items())


def metric_text(metric: str) -> str:
    """What a number means, with its unit.

    >>> metric_text("increase_in_time_percent")
    'increase in time (%)'
    """
    stem, unit = _split(metric)
    return f"{stem} ({unit})" if unit else stem


def published_text(row: RowResult) -> str:
    """The published number as it was printed."""
    text = value_text(row.published)
    return f"about {text}" if row.approximate else text


def ours_text(row: RowResult) -> str:
    """Our number with the half-width of its interval; a dash when it was not run."""
    if row.ours is None:
        return "–"
    if isinstance(row.ours, str | bool):
        return value_text(row.ours)
    mean, half = Estimate(float(row.ours), row.half_width, row.n).text()
    return mean if half in ("–", "0") else f"{mean} ± {half}"


def difference_text(row: RowResult) -> str:
    """The relative difference in percent; the absolute one where the published number is zero."""
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
    stem, _, last = name.rpartition("_")
    if stem and last in _UNITS:
        return stem.replace("_", " "), _UNITS[last]
    return name.replace("_", " "), ""
