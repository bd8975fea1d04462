"""How the experiments of a paper are run: which cells, what is read from them, what the checks may ask.

A cell is one scenario with its factors; cells are hashable, so that experiments share the runs they have in common.
A paper's module builds a ``Design`` with one ``Plan`` per experiment; everything else here is the same for all papers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .published import Paper, PublishedRow
from .quantities import Factor, Point, Quantity

if TYPE_CHECKING:
    from cellwind.analysis.series import FactTable
    from cellwind.campaign.rows import BearerRow, FlowRow
    from cellwind.report.figure import Figure
    from cellwind.scenario import Scenario

C = TypeVar("C", bound=Hashable)
O = TypeVar("O")  # noqa: E741 (an observation)

Progress = Callable[[int, int, str], None]
"""Called with the number of scenarios done, the number wanted, and the name of the one that was just run."""


class Bench(Generic[C, O]):
    """The rows of all cells that were run, and what was observed in the traced ones."""

    def __init__(self) -> None:
        self._flows: dict[C, list[FlowRow]] = {}
        self._bearers: dict[C, list[BearerRow]] = {}
        self._observed: dict[C, O] = {}

    def flows(self, cell: C) -> list[FlowRow]:
        """The first flow of every replication of a cell. Raises KeyError when it was not run."""
        return self._flows[cell]

    def bearers(self, cell: C) -> list[BearerRow]:
        """The first bearer's downlink in every replication of a cell. Raises KeyError when it was not run."""
        return self._bearers[cell]

    def observed(self, cell: C) -> O:
        """What was observed in replication 0 of a traced cell. Raises KeyError when it was not traced."""
        return self._observed[cell]

    def samples(self, cell: C, column: str) -> list[float | None]:
        """One column of the flow rows, a value per replication."""
        return [row.get(column) for row in self._flows[cell]]  # type: ignore[misc]

    def run(self, design: Design[C, O], experiments: Iterable[str], options: RunOptions) -> None:
        """Runs every cell that these experiments need once, and traces those they look into.

        Raises what ``cellwind.run`` raises.
        """
        plans = [design.plans[experiment] for experiment in experiments]
        cells = list(dict.fromkeys(cell for plan in plans for cell in plan.cells))
        traces = list(dict.fromkeys(cell for plan in plans for cell in plan.traces))
        wanted = len(cells) + len(traces)
        for done, cell in enumerate(cells, start=1):
            scenario = design.scenario(cell)
            count = 1 if design.is_deterministic(cell) else options.replications
            self._keep(cell, scenario, count, options.jobs)
            options.tell(done, wanted, scenario.name)
        for done, cell in enumerate(traces, start=len(cells) + 1):
            scenario = design.scenario(cell)
            self._trace(cell, scenario, design.observe)
            options.tell(done, wanted, f"{scenario.name}, with facts")

    def _keep(self, cell: C, scenario: Scenario, replications: int, jobs: int | None) -> None:
        import cellwind

        records = cellwind.run([scenario], replications=replications, jobs=jobs).records
        self._flows[cell] = [record.flows[0] for record in records]
        self._bearers[cell] = [
            next(bearer for bearer in record.bearers if bearer["name"].endswith("/down")) for record in records
        ]

    def _trace(self, cell: C, scenario: Scenario, observe: Callable[[C, FactTable], O]) -> None:
        import cellwind
        from cellwind.analysis.series import FactTable

        # The facts of a long run take up to 100 MB: what is looked at is taken out, and they are let go.
        results = cellwind.run([scenario], replications=1, jobs=1, facts=True)
        self._observed[cell] = observe(cell, FactTable(results.facts(scenario.name, 0)))


@dataclass(frozen=True)
class RunOptions:
    """How often and how wide to run, and whom to tell."""

    replications: int
    jobs: int | None = None
    progress: Progress | None = None

    def tell(self, done: int, wanted: int, name: str) -> None:
        """Reports a finished scenario."""
        if self.progress is not None:
            self.progress(done, wanted, name)


def _without_numbers(bench: Bench[Any, Any], row: PublishedRow, metric: str) -> Point:
    raise KeyError(f"the plan does not measure {metric}, although it was published")


@dataclass(frozen=True)
class Plan(Generic[C, O]):
    """One experiment: what it runs and what is read from the runs.

    ``measure`` answers our value for one published number, or a point that says what it needs. ``quantities`` are the
    metrics that the checks of its claims may ask for, ``scope`` the factors that are the same throughout it.
    """

    cells: Sequence[C] = ()
    traces: Sequence[C] = ()
    scope: Mapping[str, Factor] = field(default_factory=dict)
    measure: Callable[[Bench[C, O], PublishedRow, str], Point] = _without_numbers
    quantities: Callable[[Bench[C, O]], Mapping[str, Quantity]] = lambda _: {}
    figures: Callable[[Bench[C, O]], Sequence[Figure]] = lambda _: ()


@dataclass(frozen=True)
class Design(Generic[C, O]):
    """All experiments of a paper.

    ``scenario`` builds a cell's scenario, under a name of its own. A cell is deterministic when it has no randomness,
    so that one run says everything. ``observe`` takes what is looked at out of the facts of a traced cell.
    """

    paper: Paper
    plans: Mapping[str, Plan[C, O]]
    scenario: Callable[[C], Scenario]
    is_deterministic: Callable[[C], bool]
    observe: Callable[[C, FactTable], O]
    aliases: Callable[[str, Factor], tuple[str, Factor]] = lambda name, value: (name, value)
