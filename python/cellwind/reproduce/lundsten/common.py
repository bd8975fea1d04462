"""What the plans of the thesis share: its grid of cells, and how a table of one measure is planned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..design import Beside, Plan
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from .cells import Cell
from .measures import LundstenBench, Measure
from .observed import Observation

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

LundstenPlan = Plan[Cell, Observation]
Quantities = Callable[[LundstenBench], Mapping[str, Quantity]]

# The combinations of rate (kbit/s) and packet size (bytes) in the tables.
ALL = ((384, 576), (384, 1500), (128, 576), (128, 1500), (64, 576), (64, 1500))
SMALL = ALL[:4]
TROUBLED = ALL[:3]

BASE = Cell(384, 576)
IN_SEQUENCE = replace(BASE, delivery="in_sequence")
SPLIT = replace(BASE, path="split")
SHORT = replace(BASE, file_kbytes=100)
PDU_40 = replace(BASE, pdu="40 B")
PDU_40_IN_SEQUENCE = replace(PDU_40, delivery="in_sequence")
EIFEL = replace(BASE, transport="eifel")
WESTWOOD = replace(BASE, transport="westwood")
PDU_40_EIFEL = replace(PDU_40_IN_SEQUENCE, transport="eifel")
PDU_40_WESTWOOD = replace(PDU_40_IN_SEQUENCE, transport="westwood")
PDU_40_SPLIT = replace(PDU_40_IN_SEQUENCE, path="split")
FULL_RLC = replace(PDU_40, bearer="full RLC")
FULL_RLC_IN_SEQUENCE = replace(PDU_40_IN_SEQUENCE, bearer="full RLC")


def table(
    cells: Sequence[Cell],
    measure: Measure,
    base: Cell,
    quantities: Quantities,
    *,
    free: Sequence[str] = (),
    references: bool = True,
    traces: Sequence[Cell] = (),
    others: Mapping[Cell, Mapping[str, Measure]] | None = None,
    figures: Callable[[LundstenBench], Sequence[Figure]] = lambda _: (),
) -> LundstenPlan:
    """A table of one measure whose rows differ from ``base`` in rate, packet size and initial window.

    ``free`` are the other factors that its checks compare. With ``references``, the error-free runs of the cells run
    too. ``others`` are cells without a published number and what is shown of them beside.
    """
    shown = others or {}
    cells = [*cells, *shown]
    wanted = [*cells, *(cell.reference for cell in cells)] if references else list(cells)
    return Plan(
        cells=list(dict.fromkeys(wanted)),
        traces=traces,
        scope=scope(base, free),
        measure=lambda bench, row, metric: measure(bench, cell_of(base, row)),
        quantities=quantities,
        beside=lambda bench: beside(bench, shown),
        figures=figures,
    )


def beside(bench: LundstenBench, cells: Mapping[Cell, Mapping[str, Measure]]) -> list[Beside]:
    """Numbers of ours that nobody published, by rate, packet size, transport and bearer."""
    return [
        Beside(
            {name: cell.factors[name] for name in ("rate_kbps", "packet_bytes", "tcp", "bearer")},
            metric,
            partial(measure, bench, cell),
        )
        for cell, measures in cells.items()
        for metric, measure in measures.items()
    ]


def scope(cell: Cell, free: Sequence[str] = ()) -> dict[str, Factor]:
    """The factors of a cell that its experiment never changes: all but rate, packet size and ``free``."""
    return {name: value for name, value in cell.factors.items() if name not in ("rate_kbps", "packet_bytes", *free)}


def cell_of(base: Cell, row: PublishedRow) -> Cell:
    """The cell of a row: ``base`` with the row's rate, packet size and initial window."""
    return replace(
        base,
        rate_kbps=int(row.factors.get("rate_kbps", base.rate_kbps)),
        packet_bytes=int(row.factors.get("packet_bytes", base.packet_bytes)),
        initial_window=int(row.factors.get("initial_window_segments", 1)),
    )


def needs(what: str) -> Point:
    """The point of a number that waits for a part of the simulator."""
    return Point(needs=what)
