"""Lundsten's thesis of 2002: TCP over the UMTS radio link control at 10 % block errors.

``cells`` are the runs, ``measures`` reads their rows, ``observed`` their facts, ``plans`` puts them together for each
table and figure.
"""

from __future__ import annotations

from dataclasses import replace

from ..design import Design, design_of
from ..published import Paper
from .cells import Cell, aliases
from .observed import Observation, observe
from .plans import plans


def design(paper: Paper) -> Design[Cell, Observation]:
    """How the experiments of the thesis are run."""
    return replace(design_of(paper, plans(), observe, part=lambda cell: cell.bearer), aliases=aliases)
