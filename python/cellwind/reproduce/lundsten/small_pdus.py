"""Section 5.5: PDUs of 40 bytes, over the block model of the thesis and beside it over the full RLC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..charts import cases
from ..design import Plan
from ..published import PublishedRow, load_paper
from ..quantities import Point, Quantity
from . import figures
from .cells import Cell, grid
from .common import (
    ALL,
    BASE,
    FULL_RLC,
    FULL_RLC_IN_SEQUENCE,
    PDU_40,
    PDU_40_EIFEL,
    PDU_40_IN_SEQUENCE,
    PDU_40_SPLIT,
    PDU_40_WESTWOOD,
    LundstenPlan,
    beside,
    scope,
    table,
)
from .measures import (
    LundstenBench,
    Measure,
    block_model,
    count,
    full_rlc,
    increase,
    longer_without_errors,
    over,
)

if TYPE_CHECKING:
    from cellwind.report.figure import Figure


def table_14() -> LundstenPlan:
    cells, full = grid(PDU_40, ALL), grid(FULL_RLC, ALL)
    shown: dict[str, Measure] = {
        "increase_in_time_percent": increase,
        "longer_without_errors_percent": longer_without_errors,
    }
    return table(
        cells,
        increase,
        PDU_40,
        lambda bench: {
            "increase_in_time_percent": over(bench, cells, increase),
            "fast_retransmits": over(bench, cells, count("fast_retransmits")),
            "reordered_packets": Quantity.of(
                Point(cell.factors, float(seen.reordered), detail=f"of {seen.packets}")
                for cell, seen in ((cell, block_model(bench, cell)) for cell in cells)
            ),
        },
        traces=[*cells, FULL_RLC],
        others={
            PDU_40: {"retransmission_delay_ms": _model_delay, "reordered_packets": _model_reordered},
            **dict.fromkeys(full, shown),
            FULL_RLC: {
                **shown,
                "fast_retransmits": count("fast_retransmits"),
                "retransmission_delay_ms": _rlc_delay,
                "reordered_packets": _rlc_reordered,
                "pdus_sent_needlessly_percent": _rlc_needless,
            },
        },
        figures=lambda bench: [_bearers("lundsten-table-14", "out of sequence", bench, cells, full)],
    )


def table_15() -> LundstenPlan:
    cells, others, full = grid(PDU_40_IN_SEQUENCE, ALL), grid(PDU_40, ALL), grid(FULL_RLC_IN_SEQUENCE, ALL)
    return table(
        [*cells, *others],
        increase,
        PDU_40_IN_SEQUENCE,
        lambda bench: {
            "increase_in_time_percent": over(bench, [*cells, *others], increase),
            "timeouts": over(bench, cells, count("timeouts")),
            "fast_retransmits": over(bench, cells, count("fast_retransmits")),
        },
        others={cell: {"increase_in_time_percent": increase, "timeouts": count("timeouts")} for cell in full},
        figures=lambda bench: [_bearers("lundsten-table-15", "in sequence", bench, cells, full)],
    )


def figure_20() -> LundstenPlan:
    cells = [PDU_40_IN_SEQUENCE, PDU_40_WESTWOOD, PDU_40_EIFEL, PDU_40_SPLIT]
    full = [replace(cell, bearer="full RLC") for cell in cells]
    variants = {cell.tcp: cell for cell in cells}
    others: Mapping[Cell, Mapping[str, Measure]] = {
        cell: {
            "increase_in_time_percent": increase,
            "timeouts": count("timeouts"),
            "spurious_timeouts": count("spurious_timeouts"),
        }
        for cell in full
    }

    def measure(bench: LundstenBench, row: PublishedRow, metric: str) -> Point:
        return increase(bench, variants[str(row.factors["tcp"])])

    def drawn(bench: LundstenBench) -> list[Figure]:
        return [
            figures.received(f"Data received, PDUs of 40 bytes in sequence, {name}", {c.tcp: c for c in shown}, bench)
            for name, shown in (("block model", cells), ("full RLC", full))
        ]

    return Plan(
        cells=[*cells, *full, BASE.reference, FULL_RLC.reference],
        traces=[*cells, *full],
        scope=scope(PDU_40_IN_SEQUENCE, ("tcp",)),
        measure=measure,
        quantities=lambda bench: {
            "increase_in_time_percent": over(bench, cells, increase),
            "timeouts": over(bench, cells, count("timeouts")),
        },
        beside=lambda bench: beside(bench, others),
        figures=drawn,
    )


def _model_delay(bench: LundstenBench, cell: Cell) -> Point:
    return Point(value=block_model(bench, cell).extra_delay_ms)


def _model_reordered(bench: LundstenBench, cell: Cell) -> Point:
    return Point(value=float(block_model(bench, cell).reordered))


def _rlc_delay(bench: LundstenBench, cell: Cell) -> Point:
    return Point(value=full_rlc(bench, cell).extra_delay_ms)


def _rlc_reordered(bench: LundstenBench, cell: Cell) -> Point:
    return Point(value=float(full_rlc(bench, cell).reordered))


def _rlc_needless(bench: LundstenBench, cell: Cell) -> Point:
    return Point(value=100 * full_rlc(bench, cell).needless)


def _bearers(table: str, order: str, bench: LundstenBench, model: list[Cell], full: list[Cell]) -> Figure:
    (experiment,) = (found for found in load_paper("lundsten").experiments if found.id == table)
    published = [Point(value=float(row.values["increase_in_time_percent"])) for row in experiment.rows]
    names = [f"{cell.rate_kbps} kbit/s, {cell.packet_bytes} B" for cell in model]
    groups = {
        "published": published,
        "block model": [increase(bench, cell) for cell in model],
        "full RLC": [increase(bench, cell) for cell in full],
    }
    return cases(
        f"Extra time with PDUs of 40 bytes, {order}",
        "Extra time",
        "%",
        {name: list(zip(names, points, strict=True)) for name, points in groups.items()},
    )
