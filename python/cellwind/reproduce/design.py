"""How the experiments of a paper are run: which cells, what is read from them, what the checks may ask.

A cell is one scenario with its factors; cells are hashable, so that experiments share the runs they have in common.
A paper's module builds a ``Design`` with one ``Plan`` per experiment; everything else here is the same for all papers.
The same plan reads simulated and live runs: each clock fills a ``Bench`` of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from .published import Paper, PublishedRow
from .quantities import Factor, Point, Quantity

if TYPE_CHECKING:
    from cellwind.analysis.series import FactTable
    from cellwind.campaign.rows import BearerRow, FlowRow, LinkRow, RunRecord
    from cellwind.report.figure import Figure
    from cellwind.scenario import Scenario


class Cell(Hashable, Protocol):
    """A cell that says itself which scenario it is, given the values of what the paper leaves open, by their path."""

    @property
    def is_deterministic(self) -> bool:
        """Whether nothing in it is random."""

    def scenario(self, choices: Mapping[str, Any]) -> Scenario:
        """Its scenario."""


C = TypeVar("C", bound=Hashable)
K = TypeVar("K", bound=Cell)
O = TypeVar("O")  # noqa: E741 (an observation)

Clock = Literal["simulated", "live"]

# Lundsten says so for the small files, Gurtov for his case study.
REPLICATIONS = 20

Progress = Callable[[int, int, str], None]
"""Called with the number of runs done, the number wanted, and the name of the one that was just done."""


class NotRunError(LookupError):
    """A cell that this clock did not run; the text says why."""


class Bench(Generic[C, O]):
    """The rows of all cells that one clock ran, and what was observed in the traced ones.

    ``absent`` says why a cell is not there: every question about it raises NotRunError with that text, or with the
    reason of its own that ``excuse`` gave.
    """

    def __init__(self, clock: Clock, absent: str) -> None:
        self.clock = clock
        self._absent = absent
        self._records: dict[C, Sequence[RunRecord]] = {}
        self._observed: dict[C, Sequence[O]] = {}
        self._probed: dict[str, Mapping[str, float]] = {}
        self._excuses: dict[C | str, str] = {}

    def keep(self, cell: C, records: Sequence[RunRecord]) -> None:
        """Takes the replications of a cell."""
        self._records[cell] = records

    def note(self, cell: C, observed: Sequence[O]) -> None:
        """Takes what was observed in the replications of a cell, from replication 0."""
        self._observed[cell] = observed

    def take(self, probe: str, found: Mapping[str, float]) -> None:
        """Takes what a probe of this machine measured."""
        self._probed[probe] = found

    def excuse(self, cell: C | str, reason: str) -> None:
        """Says why this cell or probe has no result."""
        self._excuses[cell] = reason

    def records(self, cell: C) -> Sequence[RunRecord]:
        """Every replication of a cell. Raises NotRunError."""
        return self._records[cell] if cell in self._records else self._missing(cell)

    def has(self, cell: C) -> bool:
        """Whether a cell was run."""
        return cell in self._records

    def flows(self, cell: C) -> list[FlowRow]:
        """The first flow of every replication of a cell. Raises NotRunError."""
        return [record.flows[0] for record in self.records(cell)]

    def bearers(self, cell: C, direction: str = "down") -> list[BearerRow]:
        """The first bearer's downlink, or uplink, in every replication of a cell. Raises NotRunError."""
        return [
            next(bearer for bearer in record.bearers if bearer["name"].endswith(f"/{direction}"))
            for record in self.records(cell)
        ]

    def links(self, cell: C, name: str) -> list[LinkRow]:
        """The link and direction of that name in every replication of a cell. Raises NotRunError."""
        return [next(link for link in record.links if link["name"] == name) for record in self.records(cell)]

    def observed(self, cell: C) -> O:
        """What was observed in replication 0 of a traced cell. Raises NotRunError."""
        return self.observations(cell)[0]

    def observations(self, cell: C) -> Sequence[O]:
        """What was observed in every traced replication of a cell. Raises NotRunError."""
        return self._observed[cell] if cell in self._observed else self._missing(cell)

    def probed(self, probe: str) -> Mapping[str, float]:
        """What a probe measured, by quantity. Raises NotRunError."""
        return self._probed[probe] if probe in self._probed else self._missing(probe)

    def samples(self, cell: C, column: str) -> list[float | None]:
        """One column of the flow rows, a value per replication. Raises NotRunError."""
        return [row.get(column) for row in self.flows(cell)]  # type: ignore[misc]

    def _missing(self, cell: C | str) -> Any:
        raise NotRunError(self._excuses.get(cell, self._absent))


@dataclass(frozen=True)
class LiveOptions:
    """Where live runs are kept; a run that is complete there is not repeated."""

    directory: Path


@dataclass(frozen=True)
class RunOptions:
    """How often and how wide to run, and whom to tell; without ``live`` nothing runs live.

    Without ``replications`` a design says how often.
    """

    replications: int | None
    jobs: int | None = None
    progress: Progress | None = None
    live: LiveOptions | None = None

    def tell(self, done: int, wanted: int, name: str) -> None:
        """Reports a finished run."""
        if self.progress is not None:
            self.progress(done, wanted, name)


@dataclass(frozen=True)
class Beside:
    """A number of ours that nobody published, shown beside those that were."""

    factors: Mapping[str, Factor]
    metric: str
    measure: Callable[[], Point]


def _without_numbers(bench: Bench[Any, Any], row: PublishedRow, metric: str) -> Point:
    raise KeyError(f"the plan does not measure {metric}, although it was published")


@dataclass(frozen=True)
class Plan(Generic[C, O]):
    """One experiment: what it runs and what is read from the runs.

    ``measure`` answers our value for one published number, or a point that says what it needs. ``quantities`` are the
    metrics that the checks of its claims may ask for, ``scope`` the factors that are the same throughout it.
    ``traces`` are the cells that ``observe`` looks into; ``live`` those that are also run live, ``probes`` what is
    measured on this machine with ``--live``. ``beside`` are numbers without a published one.
    """

    cells: Sequence[C] = ()
    traces: Sequence[C] = ()
    live: Sequence[C] = ()
    probes: Mapping[str, Callable[[Path], Mapping[str, float]]] = field(default_factory=dict)
    scope: Mapping[str, Factor] = field(default_factory=dict)
    measure: Callable[[Bench[C, O], PublishedRow, str], Point] = _without_numbers
    quantities: Callable[[Bench[C, O]], Mapping[str, Quantity]] = lambda _: {}
    beside: Callable[[Bench[C, O]], Sequence[Beside]] = lambda _: ()
    figures: Callable[[Bench[C, O]], Sequence[Figure]] = lambda _: ()

    @property
    def is_live(self) -> bool:
        """Whether anything of it runs live."""
        return bool(self.live or self.probes)


@dataclass(frozen=True)
class Design(Generic[C, O]):
    """All experiments of a paper.

    ``scenario`` builds a cell's scenario, under a name of its own. A cell is deterministic when it has no randomness,
    so that one simulated run says everything. ``observe`` takes what is looked at out of the facts of a traced cell:
    of its first ``traced`` replications, as far as it has so many. ``live_at_once`` is how many live runs a
    machine of two processors carries at the same time, given the packet rates of the paper. ``replications`` is how
    often the paper ran a cell, unless the caller says otherwise, and ``live_replications`` how often real time allows.
    """

    paper: Paper
    plans: Mapping[str, Plan[C, O]]
    scenario: Callable[[C], Scenario]
    is_deterministic: Callable[[C], bool]
    observe: Callable[[C, FactTable], O]
    traced: Callable[[C], int] = lambda _: 1
    replications: Callable[[C], int] = lambda _: REPLICATIONS
    live_replications: Callable[[C], int | None] = lambda _: None
    live_at_once: int = 12
    aliases: Callable[[str, Factor], tuple[str, Factor]] = lambda name, value: (name, value)

    def count(self, cell: C, options: RunOptions) -> int:
        """How often a simulated cell is run."""
        return 1 if self.is_deterministic(cell) else options.replications or self.replications(cell)


def design_of(
    paper: Paper,
    plans: Mapping[str, Plan[K, O]],
    observe: Callable[[K, FactTable], O],
    part: Callable[[K], str] = lambda _: "",
) -> Design[K, O]:
    """The design of a paper whose cells say themselves which scenarios they are.

    ``part`` is the part of the document that a cell belongs to, whose choices it gets besides those for all.
    """
    return Design(
        paper=paper,
        plans=plans,
        scenario=lambda cell: cell.scenario(paper.settings_of(part(cell))),
        is_deterministic=lambda cell: cell.is_deterministic,
        observe=observe,
    )
