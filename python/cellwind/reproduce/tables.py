"""A reproduction as a table for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .words import difference_text, factors_text, metric_text, ours_text, published_text, verdict_text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from .results import ExperimentResult, Reproduction

_STYLES = {True: "green", False: "red", None: "yellow"}


def table(reproduction: Reproduction, columns: int = 80) -> RenderableType:
    """Every experiment with its numbers and claims, and a line that counts them."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    for experiment in reproduction.experiments:
        parts += [_heading(experiment), *_numbers(experiment, columns), *_claims(experiment), Text()]
    parts.append(Text(summary(reproduction)))
    return Group(*parts)


def summary(reproduction: Reproduction) -> str:
    """How many numbers lie within a tenth of the published ones, and how many claims hold."""
    rows = [row for experiment in reproduction.experiments for row in experiment.rows]
    run = [row for row in rows if row.ours is not None]
    claims = [claim for experiment in reproduction.experiments for claim in experiment.claims]
    counted = {verdict: sum(claim.holds is verdict for claim in claims) for verdict in (True, False, None)}
    close = sum(not row.is_off for row in run)
    return (
        f"{close} of {len(run)} numbers within a tenth of the published ones, {len(rows) - len(run)} not run; "
        f"{counted[True]} claims hold, {counted[False]} fail, {counted[None]} open"
    )


def _heading(experiment: ExperimentResult) -> RenderableType:
    from rich.text import Text

    heading = Text.assemble((experiment.id, "bold"), f"  {experiment.source}\n", (experiment.what, "dim"))
    if experiment.needs:
        heading.append(f"\nneeds {', '.join(experiment.needs)}", "yellow")
    return heading


def _numbers(experiment: ExperimentResult, columns: int) -> list[RenderableType]:
    if not experiment.rows:
        return []
    metrics = list(dict.fromkeys(row.metric for row in experiment.rows))
    # One metric is named once, above its column; several are told apart in every line.
    grid = _grid(metric_text(metrics[0]) if len(metrics) == 1 else "", columns)
    for row in experiment.rows:
        what = factors_text(row.factors)
        grid.add_row(
            what if len(metrics) == 1 else f"{what}: {metric_text(row.metric)}",
            published_text(row),
            ours_text(row),
            difference_text(row),
            style="bold" if row.is_off else None,
        )
    return [grid]


def _grid(metric: str, columns: int) -> Table:
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
    # A narrow terminal takes from the words first; numbers are folded at the very least, never cut.
    grid.add_column(metric, width=max(12, min(36, columns - 44)), overflow="fold")
    grid.add_column("published", justify="right", width=10, overflow="fold")
    grid.add_column("ours", justify="right", width=17, overflow="fold")
    grid.add_column("diff.", justify="right", width=9, overflow="fold")
    return grid


def _claims(experiment: ExperimentResult) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    lines: list[RenderableType] = []
    for claim in experiment.claims:
        line = Text.assemble((f"{verdict_text(claim.holds):6}", _STYLES[claim.holds]), claim.text)
        if claim.holds is not True:
            line.append(f"\n      {claim.why}", "dim")
        lines.append(Padding(line, (0, 0, 0, 2)))
    return lines
