"""From a design to results: runs what is needed, reads every published number again, and judges the claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from .checks import Bindings, evaluate
from .design import Bench, Design, Plan, RunOptions
from .published import PublishedExperiment
from .results import ClaimResult, ExperimentResult, RowResult, row_result

C = TypeVar("C")
O = TypeVar("O")  # noqa: E741 (an observation)


def judge(design: Design[C, O], experiments: Sequence[str], options: RunOptions) -> list[ExperimentResult]:
    """Runs these experiments of a design and answers their results, in the order given."""
    bench: Bench[C, O] = Bench()
    bench.run(design, experiments, options)
    published = {experiment.id: experiment for experiment in design.paper.experiments}
    return [_result(design, published[experiment], bench) for experiment in experiments]


def _result(design: Design[C, O], published: PublishedExperiment, bench: Bench[C, O]) -> ExperimentResult:
    plan = design.plans[published.id]
    rows = _rows(plan, published, bench)
    claims, undecided = _claims(design, plan, published, bench)
    missing = list(dict.fromkeys(row.needs for row in rows if row.needs is not None))
    # A claim that looks beyond its own experiment may need more than its numbers do. The experiment itself is done
    # when all its numbers are there; one that has only claims, when all of them can be judged.
    needs = missing if rows else undecided
    return ExperimentResult(
        id=published.id,
        source=published.source,
        what=published.what,
        kind=published.kind,
        note=published.note,
        status="needs" if needs else "done",
        needs=list(dict.fromkeys([*needs, *undecided])) if needs else [],
        rows=rows,
        claims=claims,
        explanation=design.paper.explanations.get(published.id, ""),
        figures=plan.figures(bench),
    )


def _rows(plan: Plan[C, O], published: PublishedExperiment, bench: Bench[C, O]) -> list[RowResult]:
    return [
        replace(
            row_result(plan.measure(bench, row, metric), row.factors, metric, value),
            derived=row.derived,
            approximate=row.approximate,
        )
        for row in published.rows
        for metric, value in row.values.items()
    ]


def _claims(
    design: Design[C, O], plan: Plan[C, O], published: PublishedExperiment, bench: Bench[C, O]
) -> tuple[list[ClaimResult], list[str]]:
    """The verdicts, and the parts of the simulator that would decide the open ones."""
    if not published.claims:
        return [], []
    quantities = plan.quantities(bench)
    bindings = Bindings(quantities, plan.scope, design.aliases)
    claims = []
    for claim in published.claims:
        verdict = evaluate(claim.check, bindings)
        claims.append(ClaimResult(claim.text, claim.check, verdict.holds, verdict.why))
    needs = {point.needs for quantity in quantities.values() for point in quantity.points if point.needs}
    return claims, [need for need in sorted(needs) if any(need in claim.why for claim in claims if claim.holds is None)]
