"""From a design to results: runs what is needed, reads every published number again, and judges the claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from .checks import Bindings, Verdict, evaluate
from .design import Bench, Design, NotRunError, Plan, RunOptions
from .live import run_live
from .published import PublishedExperiment
from .quantities import Point
from .results import ClaimResult, ExperimentResult, RowResult, live_number, row_result
from .simulated import simulate

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

C = TypeVar("C")
O = TypeVar("O")  # noqa: E741 (an observation)


def judge(design: Design[C, O], experiments: Sequence[str], options: RunOptions) -> list[ExperimentResult]:
    """Runs these experiments of a design and answers their results, in the order given."""
    simulated = simulate(design, experiments, options)
    live = run_live(design, experiments, options)
    published = {experiment.id: experiment for experiment in design.paper.experiments}
    return [_result(design, published[experiment], simulated, live) for experiment in experiments]


def _result(
    design: Design[C, O], published: PublishedExperiment, simulated: Bench[C, O], live: Bench[C, O]
) -> ExperimentResult:
    plan = design.plans[published.id]
    rows = _rows(plan, published, simulated, live)
    beside = _beside(plan, simulated, live)
    claims, undecided = _claims(design, plan, published, simulated, live)
    missing = list(dict.fromkeys(row.needs for row in rows if row.needs is not None and row.has_no_number))
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
        rows=[*rows, *beside],
        claims=claims,
        explanation=design.paper.explanations.get(published.id, ""),
        figures=[*_figures(plan, simulated), *(_figures(plan, live) if plan.is_live else ())],
    )


def _figures(plan: Plan[C, O], bench: Bench[C, O]) -> Sequence[Figure]:
    try:
        return plan.figures(bench)
    except NotRunError:
        return ()


def _point(measure: Callable[[], Point]) -> Point:
    """What was measured, or a point that says why it was not."""
    try:
        return measure()
    except NotRunError as missing:
        return Point(needs=str(missing))


def _rows(
    plan: Plan[C, O], published: PublishedExperiment, simulated: Bench[C, O], live: Bench[C, O]
) -> list[RowResult]:
    rows = []
    for row in published.rows:
        for metric, value in row.values.items():
            ours = _point(partial(plan.measure, simulated, row, metric))
            found = row_result(ours, row.factors, metric, value)
            found = replace(found, derived=row.derived, approximate=row.approximate, judged=row.judged)
            if plan.is_live:
                point = _point(partial(plan.measure, live, row, metric))
                found = replace(found, live=live_number(point, value))
            rows.append(found)
    return rows


def _beside(plan: Plan[C, O], simulated: Bench[C, O], live: Bench[C, O]) -> list[RowResult]:
    """Numbers of ours alone; one that is not there for one clock has a reason, one that is there for none is left."""
    rows = []
    for ours, theirs in zip(plan.beside(simulated), plan.beside(live), strict=True):
        row = row_result(_point(ours.measure), ours.factors, ours.metric, None)
        row = replace(row, live=live_number(_point(theirs.measure)) if plan.is_live else None)
        rows.append(row)
    return rows


def _claims(
    design: Design[C, O],
    plan: Plan[C, O],
    published: PublishedExperiment,
    simulated: Bench[C, O],
    live: Bench[C, O],
) -> tuple[list[ClaimResult], list[str]]:
    """The verdicts, and the parts of the simulator that would decide the open ones."""
    if not published.claims:
        return [], []
    ours, needs = _verdicts(design, plan, published, simulated)
    theirs: Sequence[Verdict | None] = [None] * len(ours)
    if plan.is_live:
        theirs, _ = _verdicts(design, plan, published, live)
    claims = [
        ClaimResult(claim.text, claim.check, verdict.holds, verdict.why, other)
        for claim, verdict, other in zip(published.claims, ours, theirs, strict=True)
    ]
    return claims, [
        need
        for need in sorted(needs)
        if any(need in claim.why for claim in claims if claim.holds is None and not claim.is_decided_live)
    ]


def _verdicts(
    design: Design[C, O], plan: Plan[C, O], published: PublishedExperiment, bench: Bench[C, O]
) -> tuple[list[Verdict], set[str]]:
    try:
        quantities = plan.quantities(bench)
    except NotRunError as missing:
        return [Verdict(None, f"needs {missing}") for _ in published.claims], {str(missing)}
    bindings = Bindings(quantities, plan.scope, design.aliases)
    needs = {point.needs for quantity in quantities.values() for point in quantity.points if point.needs}
    return [evaluate(claim.check, bindings) for claim in published.claims], needs
