"""Lo, Heijenk and Niemegeers: TCP Vegas and Reno over a dedicated channel of UMTS.

``cells`` are the runs, ``observed`` reads their facts and ``rounds`` what Vegas made of its round trips; ``parts``,
``transfers`` and ``round_trips`` put them together for each table and figure.
"""

from __future__ import annotations

from ..design import Design, Plan, design_of
from ..published import Paper
from . import parts, round_trips, transfers
from .cells import Cell
from .observed import Observation, observe


def plans() -> dict[str, Plan[Cell, Observation]]:
    """The plan of every experiment, by its identifier."""
    found = {**parts.plans(), **transfers.plans(), **round_trips.plans()}
    order = (
        "table-1",
        "table-2",
        "table-3",
        "equation-1",
        "equation-4",
        "figure-5a",
        "figure-5b",
        "figure-6a",
        "figure-6b",
        "figure-7a",
        "figure-7b",
        "spurious-timeout-onset",
        "in-sequence-reason",
    )
    return {f"lo-{name}": found[name] for name in order}


def design(paper: Paper) -> Design[Cell, Observation]:
    """How the experiments of the paper are run."""
    return design_of(paper, plans(), observe)
