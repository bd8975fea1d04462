"""Gurtov's thesis of 2002: the case study of the emulator Seawind (P3) and what a delay does to TCP (P2).

``cells`` are the runs, ``observed`` reads their facts, ``case_study`` and ``delay`` put them together for each table
and figure.
"""

from __future__ import annotations

from ..design import Design, Plan
from ..published import Paper
from . import case_study, delay
from .cells import Cell
from .observed import Observation, observe


def plans() -> dict[str, Plan[Cell, Observation]]:
    """The plan of every experiment, by its identifier."""
    found = {**delay.plans(), **case_study.plans()}
    return {f"gurtov-{name}": plan for name, plan in found.items()}


def design(paper: Paper) -> Design[Cell, Observation]:
    """How the experiments of the two papers are run."""
    choices = paper.settings
    return Design(
        paper=paper,
        plans=plans(),
        scenario=lambda cell: cell.scenario(choices),
        is_deterministic=lambda cell: cell.is_deterministic,
        observe=observe,
        traces_all=True,
        live_at_once=24,  # four packets a second each
    )
