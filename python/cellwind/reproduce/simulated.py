"""The simulated runs of a design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from .design import Bench, Design, RunOptions

C = TypeVar("C")
O = TypeVar("O")  # noqa: E741 (an observation)


def simulate(design: Design[C, O], experiments: Sequence[str], options: RunOptions) -> Bench[C, O]:
    """Runs every cell that these experiments need once, and traces those they look into.

    Raises what ``cellwind.run`` raises.
    """
    from cellwind.analysis.series import FactTable
    from cellwind.campaign.runner import carry_out

    bench: Bench[C, O] = Bench("simulated", "a live run")
    plans = [design.plans[experiment] for experiment in experiments]
    cells = list(dict.fromkeys(cell for plan in plans for cell in plan.cells))
    traces = list(dict.fromkeys(cell for plan in plans for cell in plan.traces))
    wanted = len(cells) + len(traces)
    for done, cell in enumerate(cells, start=1):
        scenario = design.scenario(cell)
        count = design.count(cell, options)
        bench.keep(cell, carry_out([scenario], replications=count, jobs=options.jobs).records)
        options.tell(done, wanted, scenario.name)
    for done, cell in enumerate(traces, start=len(cells) + 1):
        scenario = design.scenario(cell)
        count = min(design.count(cell, options), design.traced(cell))
        # The facts of a long run take up to 100 MB: what is looked at is taken out, and they are let go.
        results = carry_out([scenario], replications=count, jobs=options.jobs, facts=True)
        bench.note(cell, [design.observe(cell, FactTable(results.facts(scenario.name, r))) for r in range(count)])
        options.tell(done, wanted, f"{scenario.name}, with facts")
    return bench
