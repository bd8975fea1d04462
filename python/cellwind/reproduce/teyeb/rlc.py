"""Section 5.3.4: maxDAT and status prohibit over the RLC in acknowledged mode, Figures 5.10 to 5.18 and Table 5.3."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

from cellwind.analysis.statistics import ratio_of_means
from cellwind.predict.download import Download, Way

from ..design import Beside, NotRunError, Plan
from ..estimates import column, mean_point, over
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from .bearer import FER, PAYLOAD, RATE_KBPS, UPLINK_KBPS
from .observed import TeyebBench, TeyebPlan
from .rlc_cells import RlcCell
from .rlc_observed import RlcSeen
from .transfers import HEADER, RTT_INTERNET_S, RTT_UMTS_S, TTI_S

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

MAXDATS, PROHIBITS = tuple(range(1, 11)), (50, 100, 150)
CELLS = [RlcCell(maxdat, prohibit) for maxdat in MAXDATS for prohibit in PROHIBITS]
# Where the text sees no effect of maxDAT any more.
ENOUGH = [cell for cell in CELLS if cell.maxdat >= 4]
POLL_TIMERS = (100, 200, 300, 450)
TIMED = [RlcCell(poll_timer_ms=timer) for timer in POLL_TIMERS]
SIZES = (1024, 100 * 1024, 400 * 1024)
SIZED = [RlcCell(maxdat, 100, file_bytes=size) for maxdat in (2, 4, 10) for size in SIZES]
_SHOWN = (1, 2, 3, 4, 10)
# What a window that hardly fills the link would change.
WINDOWED = [RlcCell(10, prohibit, window_segments=8) for prohibit in PROHIBITS]

Measure = Callable[[TeyebBench, RlcCell], Point]


def plans() -> dict[str, TeyebPlan]:
    """The plans of Table 5.3, Figures 5.10 to 5.18 and the recommendation."""
    resent = [cell for cell in CELLS if cell.maxdat > 1]
    return {
        "table-5-3": Plan(cells=TIMED, traces=TIMED, quantities=_definitions),
        "figure-5-10": _figure("download_time_s", "Download time", "s", time, _times, metrics={"download_time": time}),
        "figure-5-11": _figure(
            "tcp_retransmission_percent",
            "TCP retransmissions",
            "%",
            retransmitted,
            _retransmissions,
            metrics={"tcp_retransmission_percent": retransmitted, "download_time": time},
        ),
        "figure-5-12": _figure(
            "status_overhead_percent",
            "Status PDUs per data PDU",
            "%",
            overhead,
            _overheads,
            resent,
            metrics={"status_overhead": overhead, "status_overhead_percent": overhead},
        ),
        "figure-5-13": _figure("rtt_ms", "Round trip of an SDU", "ms", rtt_ms, metrics={"rtt": rtt_ms}),
        "figure-5-14": _figure(
            "peak_kbps", "Peak throughput", "kbit/s", peak, metrics={"peak_throughput": peak, "download_time": time}
        ),
        "figure-5-15": _figure(
            "average_kbps",
            "Average throughput",
            "kbit/s",
            average,
            _highest,
            metrics={"average_throughput": average, "average_throughput_kbps": average},
        ),
        "figure-5-16": _figure(
            "retransmission_delay_ms",
            "Delay of a retransmission",
            "ms",
            delay,
            _delays,
            metrics={
                "retransmission_delay_ms": delay,
                "poll_timer_ms": lambda _, cell: Point(cell.factors, float(cell.poll_timer_ms)),
            },
        ),
        "figure-5-17": _comparison("download time", "s", time, lambda found: found.with_set_up_s),
        "figure-5-18": _comparison("round trip", "ms", rtt_ms, lambda found: 1e3 * found.rtt_s),
        "rlc-recommendation": Plan(cells=[*CELLS, *SIZED], quantities=_recommendation),
    }


# What is measured in a cell.


def time(bench: TeyebBench, cell: RlcCell) -> Point:
    """Download time in s, from the SYN to the last byte."""
    return mean_point(cell.factors, column(bench.flows(cell), "duration_s"))


def retransmitted(bench: TeyebBench, cell: RlcCell) -> Point:
    """Retransmissions as a percentage of all segments sent."""
    rows = bench.flows(cell)
    return mean_point(cell.factors, [100.0 * row["segments_retransmitted"] / row["segments_sent"] for row in rows])


def average(bench: TeyebBench, cell: RlcCell) -> Point:
    """Payload of all data PDUs sent down, resent ones included, over the download time, in kbit/s."""
    pairs = zip(_data_pdus(bench, cell), column(bench.flows(cell), "duration_s"), strict=True)
    return mean_point(cell.factors, [8e-3 * PAYLOAD * pdus / time_s for pdus, time_s in pairs if time_s is not None])


def _data_pdus(bench: TeyebBench, cell: RlcCell) -> list[int]:
    """PDUs sent down but for those that report on the uplink."""
    return [row["blocks_sent"] - row["status_reports"] for row in bench.bearers(cell)]


def overhead(bench: TeyebBench, cell: RlcCell) -> Point:
    """Status PDUs sent up, as a percentage of the data PDUs sent down."""
    pairs = zip(bench.bearers(cell, "up"), _data_pdus(bench, cell), strict=True)
    return mean_point(cell.factors, [100.0 * up["status_reports"] / pdus for up, pdus in pairs])


def rtt_ms(bench: TeyebBench, cell: RlcCell) -> Point:
    """From the arrival of an SDU at its RLC entity until it is acknowledged and removed, in ms."""
    return _seen(bench, cell, lambda seen: 1e3 * seen.rtt_s)


def peak(bench: TeyebBench, cell: RlcCell) -> Point:
    """Payload of the PDUs of a TTI over the TTI, over all TTIs with PDUs, in kbit/s."""
    return _seen(bench, cell, lambda seen: 8e-3 * PAYLOAD * seen.pdus_per_tti / TTI_S)


def delay(bench: TeyebBench, cell: RlcCell) -> Point:
    """From one transmission of a PDU to the next, in ms."""
    return _seen(bench, cell, lambda seen: None if seen.resent_after_s is None else 1e3 * seen.resent_after_s)


def _seen(bench: TeyebBench, cell: RlcCell, value: Callable[[RlcSeen], float | None]) -> Point:
    found = [seen.rlc for seen in bench.observations(cell)]
    return mean_point(cell.factors, [value(seen) for seen in found if seen is not None])


def _factors(cell: RlcCell) -> dict[str, Factor]:
    return cell.factors


def _over(bench: TeyebBench, measure: Measure, cells: Iterable[RlcCell] = CELLS) -> Quantity:
    return over(cells, _factors, partial(measure, bench))


def _together(bench: TeyebBench, measure: Measure, cells: Iterable[RlcCell]) -> Point:
    """The mean over cells that the text takes together, as far as they were run."""
    points = []
    missing = "no cell"
    for cell in cells:
        try:
            points.append(measure(bench, cell))
        except NotRunError as reason:
            missing = str(reason)
    if not points:
        raise NotRunError(missing)
    half = [point.half_width for point in points if point.half_width is not None]
    joint = sum(width**2 for width in half) ** 0.5 / len(points) if half else None
    return Point(value=fmean(point.number for point in points), half_width=joint, n=points[0].n)


# What was published, figure by figure.


def _figure(
    metric: str,
    label: str,
    unit: str,
    shown: Measure,
    measure: Callable[[TeyebBench, PublishedRow, str], Point] | None = None,
    cells: Sequence[RlcCell] = CELLS,
    *,
    metrics: Mapping[str, Measure],
) -> TeyebPlan:
    """A figure over maxDAT with a line per status prohibit; ``shown`` is what it draws and what stands beside."""

    def beside(bench: TeyebBench) -> list[Beside]:
        chosen = [*(cell for cell in cells if cell.maxdat in _SHOWN), *WINDOWED]
        return [Beside(cell.factors, metric, partial(shown, bench, cell)) for cell in chosen]

    def figures(bench: TeyebBench) -> list[Figure]:
        from .rlc_figures import over_maxdat

        return [over_maxdat(label, unit, {cell: shown(bench, cell) for cell in cells})]

    plan: TeyebPlan = Plan(
        cells=[*CELLS, *WINDOWED],
        traces=[*CELLS, *WINDOWED],
        live=CELLS,
        quantities=lambda bench: {name: _over(bench, found, cells) for name, found in metrics.items()},
        beside=beside,
        figures=figures,
    )
    return plan if measure is None else replace(plan, measure=measure)


def _cell(row: PublishedRow) -> RlcCell:
    return RlcCell(int(row.factors["maxdat"]), int(row.factors["status_prohibit_ms"]))


def _prohibited(cells: Iterable[RlcCell], prohibit: Factor) -> list[RlcCell]:
    return [cell for cell in cells if cell.status_prohibit_ms == prohibit]


def _times(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    factors = row.factors
    if metric == "decrease_in_time_s":
        ends = [factors[f"status_prohibit_{end}_ms"] for end in ("from", "to")]
        slow, fast = (_together(bench, time, _prohibited(ENOUGH, prohibit)) for prohibit in ends)
        half = ((slow.half_width or 0.0) ** 2 + (fast.half_width or 0.0) ** 2) ** 0.5
        return Point(value=slow.number - fast.number, half_width=half, n=slow.n)
    if factors["maxdat_to"] == "4 and more":
        once = _together(bench, time, [cell for cell in CELLS if cell.maxdat == 1])
        return Point(value=100 * (1 - _together(bench, time, ENOUGH).number / once.number), n=once.n)
    before, after = (
        RlcCell(int(factors[f"maxdat_{end}"]), int(factors["status_prohibit_ms"])) for end in ("from", "to")
    )
    shorter, longer = (column(bench.flows(cell), "duration_s") for cell in (after, before))
    ratio = ratio_of_means(shorter, longer, paired=False)
    half_width = None if ratio.half_width is None else 100 * ratio.half_width
    return Point(value=100 * (1 - ratio.value), half_width=half_width, n=ratio.n)


def _retransmissions(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    if metric == "value_blocks":
        return Point(value=1500 * 8 / (1e3 * RATE_KBPS * TTI_S))
    if row.factors["maxdat"] == "4 and more":
        return _together(bench, retransmitted, ENOUGH)
    return retransmitted(bench, _cell(row))


def _overheads(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    match row.factors.get("quantity"):
        case None:
            return overhead(bench, _cell(row))
        case "uplink rate":
            return Point(value=float(UPLINK_KBPS))
        case "uplink capacity for TCP ACKs at full rate":
            return Point(value=RATE_KBPS * HEADER / 1500)
        case _:
            # The text takes a status PDU to be as large as a data PDU.
            return Point(value=RATE_KBPS * overhead(bench, RlcCell(2, 50)).number / 100)


def _highest(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    return max((average(bench, cell) for cell in CELLS), key=lambda point: point.number)


def _delays(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    if row.factors["maxdat"] == 1:
        return _together(bench, delay, [cell for cell in CELLS if cell.maxdat == 1])
    many = [cell for cell in CELLS if cell.maxdat > 1]
    return _together(bench, delay, _prohibited(many, row.factors["status_prohibit_ms"]))


# Table 5.3: the poll timer, and the definitions of what is measured.


def _definitions(bench: TeyebBench) -> dict[str, Quantity]:
    """The effect of the timer, and one run of each in rows and in facts, which are counted apart."""

    def factors(cell: RlcCell) -> dict[str, Factor]:
        return {"poll_timer_ms": cell.poll_timer_ms}

    def per_timer(value: Callable[[RlcCell], float]) -> Quantity:
        return over(TIMED, factors, lambda cell: Point(factors(cell), value(cell)))

    def seen(cell: RlcCell) -> RlcSeen:
        found = bench.observed(cell).rlc
        assert found is not None
        return found

    def duration(cell: RlcCell) -> float:
        return bench.flows(cell)[0]["duration_s"] or float("nan")

    return {
        "download_time": over(TIMED, factors, lambda cell: replace(time(bench, cell), factors=factors(cell))),
        "one_download_time": per_timer(duration),
        "last_data_arrival": per_timer(lambda cell: seen(cell).completed_s),
        "syn_sent": per_timer(lambda cell: seen(cell).started_s),
        "one_throughput_average": per_timer(lambda cell: 8 * PAYLOAD * _data_pdus(bench, cell)[0] / duration(cell)),
        "bits_sent": per_timer(lambda cell: 8.0 * PAYLOAD * seen(cell).data_pdus),
        "elapsed": per_timer(lambda cell: seen(cell).completed_s - seen(cell).started_s),
    }


# Figures 5.17 and 5.18: the model with the measured delay of a retransmission.


def predicted(bench: TeyebBench, cell: RlcCell) -> Download:
    """The model's download for the delay that was measured in this cell, (5.14) and (5.8)."""
    # The measured delay contains the TTI of the retransmission, the model's does not.
    ret_s = 1e-3 * delay(bench, cell).number - TTI_S
    down = Way(1e3 * RATE_KBPS, TTI_S, FER, ret_s, 1500)
    up = Way(1e3 * UPLINK_KBPS, TTI_S, 0.0, ret_s, HEADER)
    return Download(cell.file_bytes, 1460, down, up, RTT_UMTS_S, RTT_INTERNET_S)


def _comparison(label: str, unit: str, measured: Measure, model: Callable[[Download], float]) -> TeyebPlan:
    def error(bench: TeyebBench, cell: RlcCell) -> Point:
        found = measured(bench, cell)
        half = None if found.half_width is None else found.half_width / found.number
        return Point(cell.factors, model(predicted(bench, cell)) / found.number - 1, half, found.n)

    def largest(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
        worst = max((error(bench, cell) for cell in ENOUGH), key=lambda point: abs(point.number))
        return Point(value=100 * abs(worst.number), n=worst.n)

    def quantities(bench: TeyebBench) -> dict[str, Quantity]:
        both = []
        for cell in ENOUGH:
            both.append(Point({**cell.factors, "source": "model"}, model(predicted(bench, cell))))
            found = measured(bench, cell)
            both.append(replace(found, factors={**cell.factors, "source": "simulation"}))
        return {"relative_error": _over(bench, error, ENOUGH), "rtt": Quantity.of(both)}

    def beside(bench: TeyebBench) -> list[Beside]:
        metric = f"model_{label.replace(' ', '_')}_{unit}"
        chosen = [cell for cell in ENOUGH if cell.maxdat in _SHOWN]
        return [
            Beside(cell.factors, metric, lambda cell=cell: Point(value=model(predicted(bench, cell))))  # type: ignore[misc]
            for cell in chosen
        ]

    def figures(bench: TeyebBench) -> list[Figure]:
        from .rlc_figures import beside_model

        simulated = {cell: measured(bench, cell) for cell in ENOUGH}
        return [beside_model(label, unit, simulated, {cell: model(predicted(bench, cell)) for cell in ENOUGH})]

    return Plan(cells=CELLS, traces=CELLS, measure=largest, quantities=quantities, beside=beside, figures=figures)


# Section 5.4: what the settings are worth.


def _recommendation(bench: TeyebBench) -> dict[str, Quantity]:
    def slowest(cells: Iterable[RlcCell]) -> float:
        times = [time(bench, cell).number for cell in cells]
        return max(times) / min(times)

    sizes = []
    for size in SIZES:
        worst = slowest(cell for cell in SIZED if cell.file_bytes == size)
        sizes.append(Point({"file_kbytes": size // 1024}, worst - 1))
    groups: dict[str, list[list[RlcCell]]] = {
        "maxdat": [_prohibited(CELLS, prohibit) for prohibit in PROHIBITS],
        "status_prohibit": [[cell for cell in CELLS if cell.maxdat == maxdat] for maxdat in MAXDATS],
    }
    return {
        "relative_difference": Quantity.of(sizes),
        "sensitivity": Quantity.of(
            Point({"of": name}, max(slowest(group) for group in found)) for name, found in groups.items()
        ),
        "download_time": _over(bench, time),
        "timeouts": _over(bench, lambda bench, cell: mean_point(cell.factors, column(bench.flows(cell), "timeouts"))),
    }
