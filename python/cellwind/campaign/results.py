"""The results of a campaign, from memory or from a run directory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .rows import BEARER_COLUMNS, FLOW_COLUMNS, LINK_COLUMNS, RunRecord
from .tables import table_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from cellwind.report.plots import Plots
    from cellwind.scenario import Scenario


@dataclass(frozen=True)
class ScenarioInfo:
    """A scenario as its results remember it."""

    name: str
    title: str
    description: str
    seed: int
    replications: int
    digest: str
    toml: str = field(repr=False)
    factors: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, scenario: Scenario, replications: int) -> ScenarioInfo:
        """What is worth keeping of a scenario that is run so often."""
        return cls(
            name=scenario.name,
            title=scenario.title,
            description=scenario.description,
            seed=scenario.seed,
            replications=replications,
            digest=scenario.digest,
            toml=scenario.to_toml(),
            factors=scenario.factors,
        )

    def to_toml(self) -> str:
        """The resolved scenario file."""
        return self.toml


class Results:
    """Rows and facts of one or more scenarios; what ``cellwind.run`` answers and ``Results.load`` reads.

    Tables are ``pyarrow.Table``, ordered by scenario (as they were given) and replication.

    >>> import cellwind
    >>> scenario = cellwind.Scenario.load("umts-384", {"flow.download.bulk": "20 kB"})
    >>> results = cellwind.run(scenario, replications=3)
    >>> results.flows()["completed"].to_pylist()
    [True, True, True]
    """

    def __init__(
        self,
        scenarios: Iterable[ScenarioInfo],
        records: Iterable[RunRecord],
        facts: Mapping[tuple[str, int], pa.Table | Path],
        provenance: Mapping[str, Any],
    ) -> None:
        self._scenarios = tuple(scenarios)
        place = {scenario.name: index for index, scenario in enumerate(self._scenarios)}
        self._records = tuple(sorted(records, key=lambda r: (place[r.scenario], r.replication)))
        self._facts = dict(facts)
        self._provenance = dict(provenance)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Results:
        """Reads a run directory, as far as it is complete.

        Raises RunDirectoryError when it is none, or when a file in it cannot be read.
        """
        from .store import load_results

        return load_results(Path(directory))

    @property
    def scenarios(self) -> Sequence[ScenarioInfo]:
        """The scenarios, in the order they were given."""
        return self._scenarios

    @property
    def records(self) -> Sequence[RunRecord]:
        """The finished replications with their rows, by scenario and replication."""
        return self._records

    @property
    def provenance(self) -> dict[str, Any]:
        """Version, command, time and machine; the keys are those of ``provenance.json``."""
        return dict(self._provenance)

    def flows(self) -> pa.Table:
        """One row per replication and flow."""
        return table_of((row for record in self._records for row in record.flow_rows()), FLOW_COLUMNS)

    def bearers(self) -> pa.Table:
        """One row per replication, bearer and direction."""
        return table_of((row for record in self._records for row in record.bearer_rows()), BEARER_COLUMNS)

    def links(self) -> pa.Table:
        """One row per replication, wired link and direction."""
        return table_of((row for record in self._records for row in record.link_rows()), LINK_COLUMNS)

    def has_facts(self, scenario: str, replication: int) -> bool:
        """Whether the facts of that replication were kept."""
        return (scenario, replication) in self._facts

    def facts(self, scenario: str | None = None, replication: int = 0) -> pa.Table:
        """What the machines observed in one replication, in the order of time; ``scenario`` None is the first.

        Raises KeyError when there is no such scenario or replication, or its facts were not asked for (``facts=True``,
        ``--facts``).
        """
        import pyarrow as pa

        name = self._scenarios[0].name if scenario is None and self._scenarios else scenario
        if name not in {known.name for known in self._scenarios}:
            raise KeyError(f"no scenario named {name!r}; there are {', '.join(s.name for s in self._scenarios)}")
        kept = self._facts.get((str(name), replication))
        if kept is None and not any((r.scenario, r.replication) == (name, replication) for r in self._records):
            raise KeyError(f"no replication {replication} of {name} is complete")
        if kept is None:
            raise KeyError(f"no facts of {name}, replication {replication}: run it with facts=True or --facts")
        if isinstance(kept, pa.Table):
            return kept
        from .store import read_table

        return read_table(kept)

    def table(self) -> pd.DataFrame:
        """A data frame with one row per scenario and flow: mean, 95 % half-width and n of every quantity some flow has.

        The factors of variants are columns of their own, named by their path.
        """
        import pandas as pd

        from cellwind.analysis.statistics import summary

        factors = {scenario.name: dict(scenario.factors) for scenario in self._scenarios}
        rows = []
        for flow in summary(self):
            row = flow.as_row()
            rows.append({"scenario": row.pop("scenario"), **factors[flow.scenario], **row})
        frame = pd.DataFrame(rows)
        counts = [name for name in frame if str(name).endswith("_n")]
        nobody_has = [str(name).removesuffix("_n") for name in counts if not frame[name].any()]
        return frame.drop(columns=[f"{name}_{part}" for name in nobody_has for part in ("mean", "half_width", "n")])

    @property
    def plot(self) -> Plots:
        """Figures: ``time_sequence()``, ``window()``, ``throughput()``, ``rtt()``; all need facts."""
        from cellwind.report.plots import Plots

        return Plots(self)

    def report(self, path: str | os.PathLike[str] = "report.html", figures: bool = True) -> Path:
        """Writes the report, a single HTML file, and answers its path.

        With ``figures`` every figure is also written as PNG and SVG into ``figures/`` beside it, which takes longer.
        """
        from cellwind.report.html import write_report

        # Seeds, digests and factors stand with the scenarios themselves.
        origin = {key: value for key, value in self._provenance.items() if key != "scenarios"}
        return write_report(self, Path(path), origin, figures)

    def __len__(self) -> int:
        """Number of finished replications."""
        return len(self._records)

    def __repr__(self) -> str:
        names = ", ".join(scenario.name for scenario in self._scenarios)
        return f"<Results of {len(self._records)} runs: {names}>"
