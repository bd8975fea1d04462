"""The live runs of a design: the same scenarios under the wall clock, carried by the kernel's TCP.

Every cell runs in real time, many at once, because paths of a few hundred kbit/s leave a machine idle. Each complete
replication is kept in a run directory, so that a repeated command goes on where it was stopped. What was measured on
the machine itself is kept beside it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from .design import Bench, Design, LiveOptions, Plan, RunOptions

if TYPE_CHECKING:
    from cellwind.campaign.results import Results
    from cellwind.scenario import Scenario

C = TypeVar("C")
O = TypeVar("O")  # noqa: E741 (an observation)

_NOT_ASKED = "a live run: ask for it with --live"
# Without randomness on the path only the machine makes runs differ: a few of them show by how much.
_FEW = 5


def run_live(design: Design[C, O], experiments: Sequence[str], options: RunOptions) -> Bench[C, O]:
    """Runs what these experiments want live, if live runs were asked for and this machine can.

    A cell of which every run failed is absent, with the reason. Raises RunDirectoryError when the directory cannot be
    used.
    """
    plans = [design.plans[experiment] for experiment in experiments]
    if options.live is None or not any(plan.is_live for plan in plans):
        return Bench("live", _NOT_ASKED)
    bench: Bench[C, O] = Bench("live", "a live run, which failed")
    # First, while nothing else runs: the probes measure the machine.
    _probe(bench, plans, options.live.directory)
    _run(bench, design, plans, options, options.live)
    return bench


def _probe(bench: Bench[C, O], plans: Sequence[Plan[C, O]], directory: Path) -> None:
    for name, probe in {name: probe for plan in plans for name, probe in plan.probes.items()}.items():
        kept = directory / f"{name}.json"
        if kept.exists():
            bench.take(name, json.loads(kept.read_text(encoding="utf-8")))
            continue
        directory.mkdir(parents=True, exist_ok=True)
        try:
            found = probe(directory)
        except OSError as error:
            bench.excuse(name, f"a live run, which failed: {error.strerror or error}")
            continue
        _write(kept, found)
        bench.take(name, found)


def _write(path: Path, found: Mapping[str, float]) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    draft.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    draft.replace(path)


def _run(
    bench: Bench[C, O],
    design: Design[C, O],
    plans: Sequence[Plan[C, O]],
    options: RunOptions,
    live: LiveOptions,
) -> None:
    cells = list(dict.fromkeys(cell for plan in plans for cell in plan.live))
    if not cells:
        return
    counts: dict[int, list[tuple[C, Scenario]]] = {}
    for cell in cells:
        count = options.replications or design.live_replications(cell) or design.replications(cell)
        count = min(_FEW, count) if design.is_deterministic(cell) else count
        counts.setdefault(count, []).append((cell, design.scenario(cell)))
    for count, chosen in counts.items():
        results, reasons = _campaign([scenario for _, scenario in chosen], count, design.live_at_once, live, options)
        for cell, scenario in chosen:
            _keep(bench, design, cell, scenario.name, results, reasons.get(scenario.name))


def _campaign(
    scenarios: Sequence[Scenario], replications: int, at_once: int, live: LiveOptions, options: RunOptions
) -> tuple[Results, Mapping[str, str]]:
    """The results as far as there are any, and why a scenario has less than all."""
    from cellwind.campaign.runner import execute, plan
    from cellwind.campaign.store import RunDirectory

    infos = plan(scenarios, replications)
    with RunDirectory(live.directory, infos, "cellwind reproduce --live", live=True).open() as directory:
        results, failures = execute(
            scenarios,
            infos,
            jobs=at_once,
            facts=True,
            live=True,
            directory=directory,
            progress=lambda done, wanted: options.tell(done, wanted, "live"),
        )
    return results, {failure.scenario: failure.reason.partition("; what it recorded")[0] for failure in failures}


def _keep(bench: Bench[C, O], design: Design[C, O], cell: C, name: str, results: Results, reason: str | None) -> None:
    from cellwind.analysis.series import FactTable

    records = [record for record in results.records if record.scenario == name]
    if not records:
        bench.excuse(cell, f"a live run, which failed: {reason}")
        return
    bench.keep(cell, records)
    bench.note(cell, [design.observe(cell, FactTable(results.facts(name, r.replication))) for r in records])
