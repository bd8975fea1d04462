"""Scenarios as commands take them: files or names of ready-made ones, with values put over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cellwind import _core
from cellwind.scenario import Scenario

from .console import complain


def load_all(
    files: Iterable[str], sets: Sequence[tuple[str, str]], live: bool = False
) -> tuple[list[Scenario], list[str]]:
    """The scenarios that are right, and a report for each that is not. Warnings go to standard error at once.

    ``live`` says that they are to run live.
    """
    scenarios, errors = [], []
    for file in files:
        try:
            scenario = Scenario(_core.Scenario.load(file, sets=list(sets)))
        except (_core.ScenarioError, OSError) as error:
            errors.append(str(error))
            continue
        for warning in (*scenario.warnings, *(scenario.live_warnings if live else ())):
            complain(f"{file}: warning: {warning}")
        scenarios.append(scenario)
    return scenarios, errors
