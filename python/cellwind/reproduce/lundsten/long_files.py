"""Sections 5.3, 6 and 7: files of 16 Mbyte, with blocks of a TTI."""

from __future__ import annotations

from statistics import fmean

from ..design import Plan
from ..published import PublishedRow
from ..quantities import Point, Quantity
from . import figures
from .cells import grid
from .common import (
    ALL,
    BASE,
    EIFEL,
    IN_SEQUENCE,
    PDU_40,
    PDU_40_EIFEL,
    PDU_40_IN_SEQUENCE,
    PDU_40_SPLIT,
    PDU_40_WESTWOOD,
    SMALL,
    SPLIT,
    TROUBLED,
    WESTWOOD,
    LundstenPlan,
    scope,
    table,
)
from .measures import (
    LundstenBench,
    block_increase,
    count,
    download_time,
    increase,
    over,
    redundant_increase,
    tcp_increase,
    utilisation,
)


def table_3() -> LundstenPlan:
    cells = grid(BASE, ALL)
    return table(
        cells,
        increase,
        BASE,
        lambda bench: {
            "increase_in_time_percent": over(bench, cells, increase),
            "utilisation": over(bench, [cell.reference for cell in cells], utilisation),
        },
    )


def table_4() -> LundstenPlan:
    cells = grid(BASE, SMALL)
    return table(
        cells,
        tcp_increase,
        BASE,
        lambda bench: {"tcp_increase_percent": over(bench, cells, tcp_increase)},
    )


def window_figure(point: tuple[int, int]) -> LundstenPlan:
    (cell,) = grid(BASE, (point,))

    def measure(bench: LundstenBench, row: PublishedRow, metric: str) -> Point:
        window = bench.observed(cell).window_distribution()
        match str(row.factors["quantity"]):
            case "max window" | "plateau of the window":
                return Point(value=max(window.values))
            case "window after slow start":
                return Point(value=bench.observed(cell).lowest_after_slow_start(cell.max_window))
            case _:
                return tcp_increase(bench, cell)

    def quantities(bench: LundstenBench) -> dict[str, Quantity]:
        seen = bench.observed(cell)
        window = seen.window_distribution()
        bound = {
            "cwnd_segments": Quantity.of([Point(distribution=window)]),
            "tcp_increase_percent": over(bench, [cell], tcp_increase),
            "time_fraction": Quantity.of([Point({"of": "cwnd_at_max"}, window.fraction_at(cell.max_window))]),
            "fast_retransmits": Quantity.constant(float(seen.fast_retransmits)),
            "min_after_slow_start": Quantity.of(
                [Point({"of": "cwnd_segments"}, seen.lowest_after_slow_start(cell.max_window))]
            ),
        }
        if seen.halvings:
            bound["cwnd_before"] = Quantity.constant(fmean(halving.before for halving in seen.halvings))
            bound["cwnd_after_fast_retransmit"] = Quantity.constant(fmean(halving.after for halving in seen.halvings))
        return bound

    return Plan(
        cells=[cell, cell.reference],
        traces=[cell],
        scope=scope(cell),
        measure=measure,
        quantities=quantities,
        figures=lambda bench: [figures.send_window(cell, bench.observed(cell))],
    )


def eifel() -> LundstenPlan:
    cells = grid(EIFEL, TROUBLED)
    return table(cells, increase, EIFEL, lambda bench: {"increase_in_time_percent": over(bench, cells, increase)})


def westwood() -> LundstenPlan:
    cells, others = grid(WESTWOOD, TROUBLED), grid(EIFEL, TROUBLED)

    def quantities(bench: LundstenBench) -> dict[str, Quantity]:
        # Of the time that blocks do not explain, in percent of the error-free transfer.
        resent = redundant_increase(bench, WESTWOOD).number
        waited = increase(bench, WESTWOOD).number - block_increase(bench, WESTWOOD).number - resent
        return {
            "increase_in_time_percent": over(bench, [*cells, *others], increase),
            "share_of_loss": Quantity.of(
                [Point({"of": "redundant_retransmissions"}, resent), Point({"of": "window_limit"}, waited)]
            ),
        }

    return table([*cells, *others], increase, WESTWOOD, quantities, free=("tcp",))


def split() -> LundstenPlan:
    cells = grid(SPLIT, TROUBLED)
    all_cells = [*cells, *grid(BASE, TROUBLED), *grid(EIFEL, TROUBLED)]
    return table(
        all_cells,
        increase,
        SPLIT,
        lambda bench: {"increase_in_time_percent": over(bench, all_cells, increase)},
        free=("tcp",),
    )


def in_sequence() -> LundstenPlan:
    cells = grid(IN_SEQUENCE, TROUBLED)
    return table(
        cells,
        increase,
        IN_SEQUENCE,
        lambda bench: {
            "increase_in_time_percent": over(bench, cells, increase),
            "fast_retransmits": over(bench, cells, count("fast_retransmits")),
            "timeouts": over(bench, cells, count("timeouts")),
        },
    )


def figure_17() -> LundstenPlan:
    variants = {"westwood": WESTWOOD, "eifel": EIFEL, "in_sequence": IN_SEQUENCE, "split": SPLIT, "reno": BASE}
    cells = list(variants.values())

    def measure(bench: LundstenBench, row: PublishedRow, metric: str) -> Point:
        return increase(bench, variants[str(row.factors["variant"])])

    def quantities(bench: LundstenBench) -> dict[str, Quantity]:
        # Compared when the error-free transfer would have ended: no curve has reached its end before.
        end_s = download_time(bench, BASE.reference).number
        received = [
            Point({"variant": name}, bench.observed(cell).received_at(end_s)) for name, cell in variants.items()
        ]
        return {"received_bytes": Quantity.of(received)}

    return Plan(
        cells=[*cells, BASE.reference],
        traces=cells,
        measure=measure,
        quantities=quantities,
        figures=lambda bench: [figures.received("Data received by solution", variants, bench)],
    )


def conclusions() -> LundstenPlan:
    cells = [
        *grid(BASE, ALL),
        *grid(IN_SEQUENCE, TROUBLED),
        *grid(PDU_40, ALL),
        *grid(PDU_40_IN_SEQUENCE, ALL),
        *grid(SPLIT, TROUBLED),
        *grid(EIFEL, TROUBLED),
        PDU_40_SPLIT,
        PDU_40_EIFEL,
        PDU_40_WESTWOOD,
    ]

    return Plan(
        cells=list(dict.fromkeys([*cells, *(cell.reference for cell in cells)])),
        scope=scope(BASE, ("rlc_delivery", "pdu")),
        quantities=lambda bench: {"increase_in_time_percent": over(bench, cells, increase)},
    )
