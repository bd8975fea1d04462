"""Gurtov's thesis of 2002: what a delay does to TCP, and what helps.

P2 (``delay``) and P3 (``case_study``) ran real stacks over the emulator Seawind: ``cells`` are their runs, ``observed``
reads their facts. P5 (``reselections``) ran ns-2: ``runs`` has its runs and what is read from them, ``traces`` draws
them.
"""

from __future__ import annotations

from typing import Any

from cellwind.analysis.series import FactTable

from ..design import REPLICATIONS, Design, Plan
from ..published import Paper
from . import case_study, delay, reselections
from .cells import Cell
from .observed import observe as observe_emulated
from .runs import Run
from .runs import observe as observe_run


def plans() -> dict[str, Plan[Any, Any]]:
    """The plan of every experiment, by its identifier."""
    found = {**delay.plans(), **case_study.plans(), **reselections.plans()}
    return {f"gurtov-{name}": plan for name, plan in found.items()}


def _observe(cell: Cell | Run, facts: FactTable) -> Any:
    return observe_run(facts) if isinstance(cell, Run) else observe_emulated(cell, facts)


def design(paper: Paper) -> Design[Any, Any]:
    """How the experiments of the papers are run."""
    return Design(
        paper=paper,
        plans=plans(),
        scenario=lambda cell: cell.scenario(paper.settings_of(cell.paper)),
        is_deterministic=lambda cell: cell.is_deterministic,
        observe=_observe,
        traces_all=lambda cell: isinstance(cell, Cell) or cell == reselections.LOSSY.run,
        replications=lambda cell: 100 if isinstance(cell, Run) else REPLICATIONS,
        live_at_once=24,  # four packets a second each
    )
