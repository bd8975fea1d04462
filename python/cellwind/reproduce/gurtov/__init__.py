"""Gurtov's thesis of 2002: what a delay does to TCP, and what helps.

P2 (``delay``) and P3 (``case_study``) ran real stacks over the emulator Seawind: ``cells`` are their runs, and
``observed`` reads their facts. P4 (``duplicates``), P5 (``reselections``) and P8 (``responses`` to one delay,
``restoring`` over long transfers) ran ns-2: ``runs`` has their runs and what is read from them, ``traces`` draws them.
So did P9 (``lifetime``), whose runs are ``lifetime_cells`` and are read by ``lifetime_observed``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cellwind.analysis.series import FactTable
from cellwind.campaign.rows import MOST_REPLICATIONS

from ..design import REPLICATIONS, Design, Plan, design_of
from ..published import Paper
from . import case_study, delay, duplicates, lifetime, lifetime_observed, reselections, responses, restoring
from .cells import Cell
from .lifetime_cells import Lifetime
from .observed import observe as observe_emulated
from .runs import Run
from .runs import observe as observe_run


def plans() -> dict[str, Plan[Any, Any]]:
    """The plan of every experiment, by its identifier."""
    found = {**delay.plans(), **case_study.plans(), **duplicates.plans(), **reselections.plans()}
    found |= {**responses.plans(), **restoring.plans(), **lifetime.plans()}
    return {f"gurtov-{name}": plan for name, plan in found.items()}


def _observe(cell: Cell | Run | Lifetime, facts: FactTable) -> Any:
    if isinstance(cell, Lifetime):
        return lifetime_observed.observe(cell, facts)
    return observe_run(facts) if isinstance(cell, Run) else observe_emulated(cell, facts)


def design(paper: Paper) -> Design[Any, Any]:
    """How the experiments of the papers are run."""
    return replace(
        design_of(paper, plans(), _observe, part=lambda cell: cell.paper),
        traced=lambda cell: (
            MOST_REPLICATIONS if isinstance(cell, Cell | Lifetime) or cell == reselections.LOSSY.run else 1
        ),
        replications=lambda cell: 100 if isinstance(cell, Run | Lifetime) else REPLICATIONS,
        live_at_once=24,  # four packets a second each
    )
