"""What is taken out of the facts of one run."""

from __future__ import annotations

from dataclasses import dataclass

from cellwind.analysis.series import FactTable, TimeSequence, time_sequence

from .cells import FLOW, Cell


@dataclass(frozen=True)
class Observation:
    """One run as Figures 7.4 to 7.6 show it."""

    sequence: TimeSequence


def observe(cell: Cell, facts: FactTable) -> Observation:
    """What the dissertation looks at in one run of ``cell``."""
    return Observation(time_sequence(facts, FLOW))
