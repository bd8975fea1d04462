"""Section 6.4.2: delay spikes of several durations at several moments of a download, with and without Eifel."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from ..design import Plan
from ..estimates import mean_point
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from .cells import Cell, Options
from .connection import last_before
from .observed import TeyebBench, TeyebPlan

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

SPIKES_S = (0.5, 1.0, 2.0, 3.0, 5.0)
POSITIONS_S = (0.0, 0.5, 1.0, 2.0)
EIFEL: dict[str, Options] = {"off": "plain", "on": "eifel"}


def cell(eifel: str, spike_s: float, position_s: float) -> Cell:
    """A download that a spike meets."""
    return Cell("spike", EIFEL[eifel], spike_s=spike_s, position_s=position_s)


CELLS = [cell(eifel, spike, position) for eifel in EIFEL for spike in SPIKES_S for position in POSITIONS_S]
# The thesis shows sample traces; this spike is too short for the timer of its moment. The other one holds the SYN.
QUIET, SYN = cell("off", 0.5, 2.0), cell("off", 5.0, 0.0)


def plans() -> dict[str, TeyebPlan]:
    """The plans of Figures 6.9 to 6.11."""
    return {
        "figure-6-9": Plan(cells=CELLS, quantities=_ratios, figures=_figures("retransmission_percent")),
        "figure-6-10": Plan(traces=[QUIET, SYN], quantities=_trace),
        "figure-6-11": Plan(cells=CELLS, measure=_largest, quantities=_times, figures=_figures("download_time_s")),
    }


def _percent(bench: TeyebBench, of: Cell) -> list[float]:
    return [100 * row["segments_retransmitted"] / row["segments_sent"] for row in bench.flows(of)]


def _seconds(bench: TeyebBench, of: Cell) -> list[float]:
    return [float(row["duration_s"] or 0.0) for row in bench.flows(of)]


def _values(bench: TeyebBench, metric: str, of: Cell) -> list[float]:
    return _percent(bench, of) if metric == "retransmission_percent" else _seconds(bench, of)


def _average(bench: TeyebBench, metric: str, cells: Sequence[Cell], factors: dict[str, Factor]) -> Point:
    """The mean over cells that share a duration or a position: of each replication, so that the interval is right."""
    values = [_values(bench, metric, of) for of in cells]
    return mean_point(factors, [fmean(found) for found in zip(*values, strict=True)])


def _by_duration(bench: TeyebBench, metric: str, eifel: str) -> list[Point]:
    return [
        _average(bench, metric, [cell(eifel, spike, at) for at in POSITIONS_S], {"spike_s": spike, "eifel": eifel})
        for spike in SPIKES_S
    ]


def _by_position(bench: TeyebBench, metric: str, eifel: str) -> list[Point]:
    return [
        _average(bench, metric, [cell(eifel, spike, at) for spike in SPIKES_S], {"position_s": at, "eifel": eifel})
        for at in POSITIONS_S
    ]


def _all(bench: TeyebBench, metric: str) -> tuple[Quantity, Quantity]:
    """A metric by duration and by position, with and without Eifel."""
    durations = [point for eifel in EIFEL for point in _by_duration(bench, metric, eifel)]
    positions = [point for eifel in EIFEL for point in _by_position(bench, metric, eifel)]
    return Quantity.of(durations), Quantity.of(positions)


def _ratios(bench: TeyebBench) -> dict[str, Quantity]:
    by_duration, by_position = _all(bench, "retransmission_percent")
    ordinary, eifel = (_by_duration(bench, "retransmission_percent", word) for word in EIFEL)
    per_second = [
        Point({"spike_s": after.factors["spike_s"]}, (after.number - before.number) / (late - early))
        for before, after, early, late in zip(ordinary, ordinary[1:], SPIKES_S, SPIKES_S[1:], strict=False)
    ]
    relative = [
        Point({"spike_s": without.factors["spike_s"]}, 1 - with_it.number / without.number)
        for without, with_it in zip(ordinary, eifel, strict=True)
        if without.number
    ]
    early = [
        Point(
            {"spike_s": spike},
            fmean(float(row["segments_retransmitted"]) for row in bench.flows(cell("off", spike, 0.0))),
        )
        for spike in SPIKES_S
    ]
    return {
        "retransmission_percent": by_duration,
        "retransmission_percent_at": by_position,
        "increase_per_second": Quantity.of(per_second),
        "eifel_relative_gain": Quantity.of(relative),
        "retransmissions_at_0": Quantity.of(early),
    }


def _trace(bench: TeyebBench) -> dict[str, Quantity]:
    seen = bench.observed(QUIET).met
    start = float(seen.sequence.sent.time_s[0])
    points = [Point({"t": at}, last_before(seen.rto, start + at)) for at in (0.5, 1.0, 2.0)]
    return {
        # The SYN leaves at 0 s; the first change of the timer is its back-off.
        "rto_first": Quantity.constant(float(bench.observed(SYN).met.rto.time_s[0])),
        "rto": Quantity.of(points),
        "rtt": Quantity.of(Point({"t": at}, last_before(seen.round_trips, start + at)) for at in (0.5, 1.0, 2.0)),
    }


def _gains(bench: TeyebBench) -> list[tuple[float, float, float, float]]:
    """Per duration: the seconds and percent that Eifel saves, and the goodput it gains in kbit/s."""
    ordinary, eifel = (_by_duration(bench, "download_time_s", word) for word in EIFEL)
    bits = 8e-3 * QUIET.file_bytes
    return [
        (
            spike,
            without.number - with_it.number,
            100 * (1 - with_it.number / without.number),
            bits / with_it.number - bits / without.number,
        )
        for spike, without, with_it in zip(SPIKES_S, ordinary, eifel, strict=True)
    ]


def _largest(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    _, *best = max(_gains(bench), key=lambda gain: gain[1])
    return Point(value=best[("gain_s", "gain_percent", "goodput_gain_kbps").index(metric)])


def _times(bench: TeyebBench) -> dict[str, Quantity]:
    by_duration, by_position = _all(bench, "download_time_s")
    gains = _gains(bench)
    return {
        "download_time": by_duration,
        "download_time_at": by_position,
        "eifel_gain_s": Quantity.of(Point({"spike_s": spike}, seconds) for spike, seconds, *_ in gains),
        "eifel_gain_percent": Quantity.of(Point({"spike_s": spike}, percent) for spike, _, percent, _ in gains),
    }


def _figures(metric: str):  # type: ignore[no-untyped-def]
    def drawn(bench: TeyebBench) -> list[Figure]:
        from .figures import spike_lines

        by = {word: _by_duration(bench, metric, word) for word in EIFEL}
        at = {word: _by_position(bench, metric, word) for word in EIFEL}
        return [spike_lines(metric, "Duration of the spike", by), spike_lines(metric, "Position of the spike", at)]

    return drawn
