"""Teyeb's dissertation of 2007: the kernel's TCP over the emulator RESPECT, and how well RESPECT keeps its deadlines.

``cells`` are the runs, ``observed`` reads their facts; ``order``, ``handover`` and ``logging`` put them together for
each figure, ``rlc`` says what the RLC study waits for.
"""

from __future__ import annotations

from ..design import Design, Plan
from ..published import Paper
from ..quantities import Factor
from . import handover, logging, order, rlc
from .cells import Cell
from .observed import Observation, observe


def plans() -> dict[str, Plan[Cell, Observation]]:
    """The plan of every experiment, by its identifier."""
    found = {**rlc.plans(), **order.plans(), **handover.plans(), **logging.plans()}
    return {f"teyeb-{name}": plan for name, plan in found.items()}


def design(paper: Paper) -> Design[Cell, Observation]:
    """How the experiments of the dissertation are run."""
    choices = paper.settings
    return Design(
        paper=paper,
        plans=plans(),
        scenario=lambda cell: cell.scenario(choices),
        is_deterministic=lambda cell: cell.is_deterministic,
        observe=observe,
        aliases=_aliases,
    )


def _aliases(name: str, value: Factor) -> tuple[str, Factor]:
    """Other spellings of the factors in the checks."""
    names = {"delay": "handover_delay_s", "status_prohibit": "status_prohibit_ms"}
    return names.get(name, name), value
