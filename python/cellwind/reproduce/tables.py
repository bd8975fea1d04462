"""A reproduction as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .words import (
    difference_text,
    factors_text,
    live_difference_text,
    live_text,
    metric_text,
    ours_text,
    published_text,
    verdict_text,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from .results import ExperimentResult, Reproduction, RowResult

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
    shown = [row for experiment in reproduction.experiments for row in experiment.rows]
    rows = [row for row in shown if row.published is not None and row.judged]
    claims = [claim for experiment in reproduction.experiments for claim in experiment.claims]
    text = _counted([None if row.ours is None else not row.is_off for row in rows], [claim.holds for claim in claims])
    live_rows = [(row, row.live) for row in rows if row.live is not None]
    live_claims = [claim.live.holds for claim in claims if claim.live is not None]
    if not live_rows and not live_claims:
        return text
    live = _counted([None if live.value is None else not row.is_off_live for row, live in live_rows], live_claims)
    return f"Simulated: {text}. Live: {live}"


def _counted(close: Sequence[bool | None], verdicts: Sequence[bool | None]) -> str:
    run = [one for one in close if one is not None]
    counted = {verdict: sum(holds is verdict for holds in verdicts) for verdict in (True, False, None)}
    return (
        f"{sum(run)} of {len(run)} numbers within a tenth of the published ones, {len(close) - len(run)} not run; "
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
    heading = metric_text(metrics[0]) if len(metrics) == 1 else ""
    grid = _live_grid(heading, columns) if experiment.is_live else _grid(heading, columns)
    for row in experiment.rows:
        what = factors_text(row.factors)
        words = what if len(metrics) == 1 else f"{what}: {metric_text(row.metric)}" if what else metric_text(row.metric)
        style = "bold" if row.is_off or row.is_off_live else None
        if experiment.is_live:
            ours = f"{ours_text(row)}\n{difference_text(row)}".rstrip()
            grid.add_row(
                words, published_text(row), ours, f"{live_text(row)}\n{live_difference_text(row)}".rstrip(), style=style
            )
        else:
            grid.add_row(words, published_text(row), ours_text(row), difference_text(row), style=style)
    return [grid, *_reasons(experiment.rows)]


def _reasons(rows: Sequence[RowResult]) -> list[RenderableType]:
    """Why live numbers are missing, each reason once."""
    from rich.text import Text

    reasons = dict.fromkeys(row.live.needs for row in rows if row.live is not None and row.live.needs is not None)
    return [Text(f"live: needs {reason}", "yellow") for reason in reasons]


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


def _live_grid(metric: str, columns: int) -> Table:
    """Both clocks side by side, each number with its difference below it."""
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
    grid.add_column(metric, width=max(12, min(36, columns - 48)), overflow="fold")
    grid.add_column("published", justify="right", width=10, overflow="fold")
    grid.add_column("simulated", justify="right", width=14, overflow="fold")
    grid.add_column("live", justify="right", width=14, overflow="fold")
    return grid


def _claims(experiment: ExperimentResult) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    lines: list[RenderableType] = []
    for claim in experiment.claims:
        line = Text.assemble((f"{verdict_text(claim.holds):6}", _STYLES[claim.holds]))
        if claim.live is not None:
            line.append(f"live {verdict_text(claim.live.holds):6}", _STYLES[claim.live.holds])
        line.append(claim.text)
        if claim.holds is not True:
            line.append(f"\n      {claim.why}", "dim")
        if claim.live is not None and claim.live.holds is not True:
            line.append(f"\n      live: {claim.live.why}", "dim")
        lines.append(Padding(line, (0, 0, 0, 2)))
    return lines
