"""A reproduction as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from .design import REPLICATIONS
from .results import EXPLAIN
from .tables import summary
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
    from cellwind.report.figure import Figure

    from .published import Choice
    from .results import ClaimResult, ExperimentResult, PaperInfo, Reproduction, RowResult

# Nothing is fetched and nothing runs: the page is text, its own styles and pictures it carries.
_CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def write_page(reproduction: Reproduction, path: Path) -> Path:
    """Writes the page and returns its path; folders on the way are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    from cellwind.report import html as whole

    return whole.write_page(page(reproduction), path)


def page(reproduction: Reproduction) -> str:
    """The text of the page."""
    title = "; ".join(paper.title for paper in reproduction.papers)
    styles = _asset("cellwind.report", "assets", "report.css") + _asset("cellwind.reproduce", "page.css")
    body = "\n".join(
        [
            _overview(reproduction),
            *(_experiment(experiment) for experiment in reproduction.experiments),
            *(_choices(paper) for paper in reproduction.papers),
        ]
    )
    lead = "".join(
        f"<p>{_text(', '.join(paper.authors))}, {paper.year}: {_text(paper.about)}.</p>"
        for paper in reproduction.papers
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_CONTENT_POLICY}">\n'
        f"<title>{_text(title)} · Cellwind</title>\n<style>\n{styles}\n</style>\n</head>\n<body>\n"
        f'<header><div class="brand">Published and ours</div><h1>{_text(title)}</h1>{lead}</header>\n'
        f"<main>\n{body}\n</main>\n<footer>{_footer(reproduction)}</footer>\n</body>\n</html>\n"
    )


def _overview(reproduction: Reproduction) -> str:
    entries = "".join(
        f'<li><a href="#{_text(experiment.id)}">{_text(experiment.source)}</a>{_state(experiment)}</li>'
        for experiment in reproduction.experiments
    )
    return (
        f"<section><h2>Overview</h2><p>{_text(summary(reproduction))}. {_replications(reproduction)} of "
        "every scenario with randomness; ours is a mean with the half-width of its 95&nbsp;% interval. An experiment "
        "differs when one of its numbers is off by more than a tenth.</p>"
        f"<nav><ol>{entries}</ol></nav></section>"
    )


def _replications(reproduction: Reproduction) -> str:
    asked = reproduction.replications
    return f"{asked} replications" if asked else f"As many replications as the paper says, or else {REPLICATIONS},"


def _state(experiment: ExperimentResult) -> str:
    if experiment.needs:
        return f' <span class="needs">needs {_text(", ".join(experiment.needs))}</span>'
    return ' <span class="note">differs</span>' if experiment.is_off else ""


def _experiment(experiment: ExperimentResult) -> str:
    parts = [f'<section id="{_text(experiment.id)}"><h2>{_text(experiment.source)}</h2>']
    parts.append(f"<p>{_text(experiment.what)}. <code>{_text(experiment.id)}</code></p>")
    if experiment.note:
        parts.append(f'<p class="note">{_text(experiment.note)}</p>')
    if experiment.needs:
        parts.append(f'<p class="needs">Not complete: needs {_text(", ".join(experiment.needs))}.</p>')
    parts.append(_numbers(experiment.rows, experiment.is_live))
    parts += [f'<p class="needs">Live: needs {_text(reason)}.</p>' for reason in _live_reasons(experiment)]
    parts.append(_explanation(experiment))
    parts.append(_claims(experiment.claims))
    parts += [_figure(figure) for figure in experiment.figures]
    return "".join(parts) + "</section>"


def _live_reasons(experiment: ExperimentResult) -> list[str]:
    """Why live numbers are missing, each reason once."""
    needs = (row.live.needs for row in experiment.rows if row.live is not None)
    return list(dict.fromkeys(need for need in needs if need is not None))


def _numbers(rows: Sequence[RowResult], is_live: bool) -> str:
    if not rows:
        return ""
    lines = "".join(
        f'<tr><th scope="row">{_text(factors_text(row.factors))}{_mark(row)}</th>'
        f"<td>{_text(metric_text(row.metric))}</td>"
        f'<td class="number">{_text(published_text(row))}</td>'
        + _cells(ours_text(row), difference_text(row), row.n if row.ours is not None else None, row.is_off)
        + (_live_cells(row) if is_live else "")
        + "</tr>"
        for row in rows
    )
    ours = _heads("Simulated" if is_live else "Ours") + (_heads("Live") if is_live else "")
    return (
        '<div class="scroll" tabindex="0"><table class="numbers"><thead><tr><th scope="col">Run</th>'
        f'<th scope="col">Metric</th><th scope="col" class="number">Published</th>{ours}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _heads(clock: str) -> str:
    return "".join(f'<th scope="col" class="number">{head}</th>' for head in (clock, "Difference", "Runs"))


def _cells(value: str, difference: str, n: int | None, is_off: bool) -> str:
    kind = "number off" if is_off else "number"
    runs = "–" if n is None else str(n)
    return "".join(f'<td class="{kind}">{_text(text)}</td>' for text in (value, difference, runs))


def _live_cells(row: RowResult) -> str:
    n = row.live.n if row.live is not None and row.live.value is not None else None
    return _cells(live_text(row), live_difference_text(row), n, row.is_off_live)


def _mark(row: RowResult) -> str:
    return ' <span class="note">derived</span>' if row.derived else ""


def _explanation(experiment: ExperimentResult) -> str:
    if experiment.explanation:
        paragraphs = "".join(f"<p>{_text(part)}</p>" for part in experiment.explanation.split("\n\n"))
        return f'<div class="explanation">{paragraphs}</div>'
    if experiment.is_off:
        share = f"{100 * EXPLAIN:g} %"
        return f'<p class="missing">Differs by more than {share}, and nobody has explained it.</p>'
    return ""


def _claims(claims: Iterable[ClaimResult]) -> str:
    items = "".join(
        f"<li>{_verdict(claim.holds, '')} {_live_verdict(claim)}"
        f'{_text(claim.text)}<span class="why"><code>{_text(claim.check)}</code><br>{_text(claim.why)}'
        f"{_live_why(claim)}</span></li>"
        for claim in claims
    )
    return f'<h3>Claims</h3><ul class="claims">{items}</ul>' if items else ""


def _verdict(holds: bool | None, clock: str) -> str:
    return f'<span class="verdict {verdict_text(holds)}">{clock}{verdict_text(holds)}</span>'


def _live_verdict(claim: ClaimResult) -> str:
    return "" if claim.live is None else f"{_verdict(claim.live.holds, 'live ')} "


def _live_why(claim: ClaimResult) -> str:
    return "" if claim.live is None else f"<br>Live: {_text(claim.live.why)}"


def _figure(figure: Figure) -> str:
    from cellwind.report.static import render

    data = base64.b64encode(render(figure, "svg")).decode("ascii")
    return (
        f'<figure><img alt="{_text(figure.title)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{_text(figure.note)}</figcaption></figure>"
    )


def _choices(paper: PaperInfo) -> str:
    rows = "".join(
        f'<tr><th scope="row">{_text(_where(choice))}</th><td>{_text(choice.value)}</td>'
        f"<td>{_text(choice.reason)}</td></tr>"
        for choice in paper.choices
    )
    return (
        f"<section><h2>What the text leaves open: {_text(paper.title)}</h2>"
        "<p>Each was answered once for the whole paper, for the reason given, and never for a single row.</p>"
        '<div class="scroll" tabindex="0"><table class="prose"><thead><tr><th scope="col">Question</th>'
        f'<th scope="col">Choice</th><th scope="col">Reason</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _where(choice: Choice) -> str:
    return f"{choice.name} ({', '.join(choice.parts)})" if choice.parts else choice.name


def _footer(reproduction: Reproduction) -> str:
    known = reproduction.provenance
    made = ", ".join(str(known[key]) for key in ("command", "created") if known.get(key))
    version = f"Cellwind {known['version']}" if known.get("version") else "Cellwind"
    return _text(f"{version}: {made}." if made else f"{version}.")


def _asset(package: str, *path: str) -> str:
    return files(package).joinpath(*path).read_text(encoding="utf-8")


def _text(text: object) -> str:
    return html.escape(str(text))
