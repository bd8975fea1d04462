"""Lundsten's thesis of 2002: TCP over the UMTS radio link control at 10 % block errors.

``cells`` are the runs, ``measures`` reads their rows, ``observed`` their facts, ``plans`` puts them together for each
table and figure.
"""

from __future__ import annotations

from ..design import Design
from ..published import Paper
from .cells import Cell, aliases
from .observed import Observation, observe
from .plans import plans


def design(paper: Paper) -> Design[Cell, Observation]:
    """How the experiments of the thesis are run."""
    choices = paper.settings
    return Design(
        paper=paper,
        plans=plans(),
        scenario=lambda cell: cell.scenario(choices),
        is_deterministic=lambda cell: cell.is_deterministic,
        observe=observe,
        aliases=aliases,
    )
