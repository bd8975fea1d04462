"""The report of a set of runs: one HTML file that needs nothing else, and the same figures as PNG and SVG beside it."""

from __future__ import annotations

import html
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis.source import ResultsSource, ScenarioInfo
from ..analysis.statistics import (
    APPLICATION_METRICS,
    METRICS,
    Estimate,
    FlowSummary,
    Metric,
    Ratio,
    compare,
    mean,
    summary,
)

if TYPE_CHECKING:
    from ..analysis.series import FactTable
    from .figure import Figure

# Plots of facts are drawn for so many scenarios, and flows and bearers of each: more would be slow to load and write.
FACT_SCENARIOS = 6
FACT_FLOWS = 12
# So many of each are open when the page is: the others are drawn when somebody looks.
_OPEN_FLOWS = 4
# Points that the whole page carries, shared by its series.
_POINT_BUDGET = 600_000
# What a page with plots says of them.
PLOTS_BY = "Plots by plotly.js (MIT licence), carried inside this file."
# Columns of the flow table that the report shows.
_SHOWN = tuple(m for m in METRICS if m.column != "segments_sent")


def write_report(
    results: ResultsSource,
    path: str | PathLike[str],
    provenance: Mapping[str, Any] | None = None,
    figures: bool = True,
) -> Path:
    """Write the report, and with ``figures`` every figure into ``figures/`` beside it. Returns the path.

    ``provenance`` says what made the results: version, command, machine and time of creation, each a string, a list
    of strings or a mapping. Plots over time are drawn from the first replication that has facts, per scenario.
    """
    from .interactive import CARRIED, draw_call, fragment, scripts

    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    summaries = summary(results)
    spread = _spread(results, summaries)
    observed = _observed(results)
    series = sum(len(figure.series) for run in observed for _, figure in run.figures)
    # Sharing by the average leaves room: most series are far shorter than the longest.
    limit = min(CARRIED, max(4_000, 2 * _POINT_BUDGET // max(1, series)))

    if figures:
        _save_figures(target.parent / "figures", [*spread, *(named for run in observed for named in run.figures)])

    body = [
        section("What was run", _scenarios(results.scenarios) + _provenance(provenance or {})),
        section("Flows", _flow_table(results, summaries) + "".join(fragment(f, n) for n, f in spread)),
        _comparison_section(results),
        _path_section(results),
        _facts_section(results, observed, limit),
    ]
    ending = f"{scripts()}\n{draw_call()}" if spread or observed else ""
    page = _page(results.scenarios, "\n".join(part for part in body if part), ending)
    return write_page(page, target)


_Named = tuple[str, "Figure"]


@dataclass(frozen=True)
class _Observed:
    """What is drawn of one replication: figures in groups, and what has none."""

    scenario: str
    replication: int
    groups: list[_Group]
    undrawn: list[str]

    @property
    def figures(self) -> list[_Named]:
        return [figure for group in self.groups for figure in group.figures]


@dataclass(frozen=True)
class _Group:
    """Figures under a heading, and whether they are seen at once."""

    heading: str
    figures: list[_Named]
    is_open: bool


def _page(scenarios: Sequence[ScenarioInfo], body: str, ending: str) -> str:
    titles = _titles(scenarios)
    count = len(scenarios)
    together = f"{count} scenarios side by side"
    title = together if len(titles) > 1 else titles[0] if titles else "No scenario"
    lead = f"<p>{together}.</p>" if count > 1 and len(titles) == 1 else ""
    footer = "Intervals are 95 % confidence intervals of the mean over independent replications (Student’s t)." + (
        f" {PLOTS_BY}" if ending else ""
    )
    return document("Cellwind report", title, lead, body, footer, ending)


def document(brand: str, title: str, lead: str, body: str, footer: str, ending: str) -> str:
    """A complete page: ``title`` is text, the rest HTML; ``ending`` are the scripts that draw the figures."""
    from .interactive import CONTENT_POLICY, styles

    css = (files(__package__) / "assets" / "report.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}">\n'
        f"<title>{_text(title)} · Cellwind</title>\n<style>\n{css}\n{styles()}\n</style>\n</head>\n<body>\n"
        f'<header><div class="brand">{brand}</div><h1>{_text(title)}</h1>{lead}</header>\n'
        f"<main>\n{body}\n</main>\n<footer>{footer}</footer>\n{ending}\n</body>\n</html>\n"
    )


def write_page(page: str, target: Path) -> Path:
    """Writes a page whole: a reader who reloads meets the old one or the new one, never half of it.

    What is no file, such as a device or a pipe, is written to and not replaced.
    """
    if target.exists() and not target.is_file():
        target.write_text(page, encoding="utf-8")
        return target
    partial = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    partial.write_text(page, encoding="utf-8")
    partial.replace(target)
    return target


def _titles(scenarios: Sequence[ScenarioInfo]) -> list[str]:
    """What the scenarios are called in headings, each once: variants share their title."""
    return list(dict.fromkeys(scenario.title or scenario.name for scenario in scenarios))


def section(title: str, content: str) -> str:
    """A section of a page: ``title`` is text, ``content`` HTML."""
    return f"<section><h2>{_text(title)}</h2>{content}</section>"


def _scenarios(scenarios: Sequence[ScenarioInfo]) -> str:
    parts = []
    seen: set[tuple[str, str]] = set()
    several_titles = len(_titles(scenarios)) > 1
    for scenario in scenarios:
        about = (scenario.title, scenario.description)
        # Variants share title and description: saying them once leaves room for what differs.
        description = "" if about in seen or not scenario.description else scenario.description.strip()
        # With one title for all, the page is called by it.
        title = f"<p>{_text(scenario.title)}</p>" if several_titles and scenario.title and about not in seen else ""
        seen.add(about)
        runs = f"{scenario.replications} replication{'s' if scenario.replications != 1 else ''}"
        heading = f"<h3>{_breakable(scenario.name)}</h3>" if len(scenarios) > 1 else ""
        if heading:
            facts = f'<p class="note">Seed {scenario.seed}, {runs}.</p>'
        else:
            facts = (
                f"<dl><dt>Scenario</dt><dd><code>{_text(scenario.name)}</code></dd><dt>Seed</dt><dd>{scenario.seed}</dd>"
                f"<dt>Replications</dt><dd>{scenario.replications}</dd></dl>"
            )
        parts.append(
            f"<article>{heading}{title}"
            + "".join(f"<p>{_text(paragraph)}</p>" for paragraph in re.split(r"\n\s*\n", description) if paragraph)
            + f"{facts}<details><summary>The scenario as it was run</summary>"
            f"<pre>{_text(scenario.to_toml())}</pre></details></article>"
        )
    return "".join(parts)


def _provenance(provenance: Mapping[str, Any]) -> str:
    rows = []
    for key, value in provenance.items():
        if isinstance(value, Mapping):
            said = ", ".join(
                f"{name.replace('_', ' ')} {part}" for name, part in value.items() if part not in (None, "")
            )
        elif isinstance(value, Sequence) and not isinstance(value, str):
            said = shlex.join(str(part) for part in value)
        else:
            said = "" if value is None else str(value)
        if said:
            shown = f"<code>{_text(said)}</code>" if key == "command" else _text(said)
            rows.append(f"<dt>{_text(key.replace('_', ' ').capitalize())}</dt><dd>{shown}</dd>")
    return f"<article><dl>{''.join(rows)}</dl></article>" if rows else ""


def _flow_table(results: ResultsSource, summaries: Sequence[FlowSummary]) -> str:
    if not summaries:
        return "<p>There are no flows.</p>" if results.links().num_rows else "<p>No replication is complete yet.</p>"
    several = len(results.scenarios) > 1
    heads = [*_scenario_head(several), "Flow", "Transport"]
    numbers = ["Completed", *(metric.heading for metric in _SHOWN)]
    rows = []
    unfinished = False
    for item in summaries:
        complete = item.completed == item.replications
        unfinished |= not complete
        done = f"{item.completed} of {item.replications}"
        cells = [
            f'<td class="number">{done if complete else f"""<span class="warning">{done}</span>"""}</td>',
            *(
                # How many durations there are stands under "Completed".
                _estimate_cell(
                    item[metric.column], metric, item.completed if metric.column == "duration_s" else item.replications
                )
                for metric in _SHOWN
            ),
        ]
        rows.append(
            _row_heads(several, item.scenario, _text(item.flow)) + f"<td>{_text(item.transport)}</td>{''.join(cells)}"
        )
    note = "Mean ± half-width of the 95 % confidence interval over replications."
    if any(item.replications == 1 for item in summaries):
        note += " A single replication has no interval."
    if unfinished:
        note += " The duration is over completed flows only, which flatters a scenario that leaves some out."
    table = html_table("Means per scenario and flow", heads, numbers, rows) + f'<p class="note">{note}</p>'
    return table + _applications(summaries, several)


def _applications(summaries: Sequence[FlowSummary], several: bool) -> str:
    """The table of what the applications of flows have besides; empty when all are plain transfers."""
    shown = [metric for metric in APPLICATION_METRICS if any(item[metric.column].n for item in summaries)]
    if not shown:
        return ""
    rows = []
    for item in summaries:
        if any(item[metric.column].n for metric in shown):
            cells = "".join(_estimate_cell(item[metric.column], metric, item.replications) for metric in shown)
            rows.append(_row_heads(several, item.scenario, _text(item.flow)) + cells)
    heads = [*_scenario_head(several), "Flow"]
    return html_table("Applications", heads, [metric.heading for metric in shown], rows)


def _estimate_cell(estimate: Estimate, metric: Metric, expected: int) -> str:
    value, half = estimate.text(metric.scale)
    interval = f' <span class="half">± {half}</span>' if half != "–" else ""
    few = f' <span class="half">(n = {estimate.n})</span>' if estimate.n not in (expected, 0) else ""
    return f'<td class="number">{value}{interval}{few}</td>'


def _spread(results: ResultsSource, summaries: Sequence[FlowSummary]) -> list[_Named]:
    """The strip plot of durations; a single replication is a single number, which the table has."""
    if not any(item["duration_s"].n > 1 for item in summaries):
        return []
    from .plots import durations

    return [("durations", durations(results))]


def _comparison_section(results: ResultsSource) -> str:
    comparisons = compare(results)
    if not comparisons:
        return ""
    rows = [
        _row_heads(True, item.scenario, _text(item.flow))
        + "".join(_ratio_cell(item.ratios[column]) for column in ("duration_s", "goodput_bps"))
        + f'<td class="number">{item.ratios["duration_s"].n}</td>'
        for item in comparisons
    ]
    paired = all(item.ratios["duration_s"].paired for item in comparisons)
    note = "Ratio of the means ± half-width of its 95 % confidence interval (delta method). " + (
        "Scenarios run under one seed meet the same radio, so replications are compared in pairs."
        if paired
        else "Scenarios under different seeds are compared as independent samples."
    )
    ratios = html_table(
        "Ratios to the first scenario", ["Scenario", "Flow"], ["Duration ratio", "Goodput ratio", "n"], rows
    )
    title = f"Compared with {comparisons[0].baseline}"
    return section(title, ratios + f'<p class="note">{note}</p>')


def _ratio_cell(ratio: Ratio) -> str:
    value, half = ratio.text()
    return f'<td class="number">{value}' + (f' <span class="half">± {half}</span>' if half != "–" else "") + "</td>"


# Column, heading, and the column it is a share of.
_LINK_COLUMNS = (
    ("packets_in", "Packets in", None),
    ("packets_dropped", "Packets dropped", "packets_in"),
    ("bytes_delivered", "Bytes delivered", None),
)
_BEARER_COLUMNS = (
    ("blocks_sent", "Blocks sent", None),
    ("blocks_resent", "Blocks resent", "blocks_sent"),
    ("blocks_dropped", "Blocks given up", "blocks_sent"),
    ("status_reports", "With status report", "blocks_sent"),
    *_LINK_COLUMNS,
)


# Where handovers took packets out.
_HANDED_BACK = ("packets_handed_back", "Packets handed back", "packets_in")


def _path_section(results: ResultsSource) -> str:
    several = len(results.scenarios) > 1
    links = results.links().to_pylist()
    parts = []
    for title, members, columns in (
        ("Bearers", results.bearers().to_pylist(), _BEARER_COLUMNS),
        ("Links", [row for row in links if not row["name"].startswith("handover/")], _LINK_COLUMNS),
        ("Handovers", [row for row in links if row["name"].startswith("handover/")], _LINK_COLUMNS),
    ):
        if any(row.get(_HANDED_BACK[0]) for row in members):
            columns = (*columns, _HANDED_BACK)
        rows = _path_rows(members, columns, several)
        if rows:
            heads = [heading for _, heading, _ in columns]
            caption = f"Means per {title.lower()[:-1]}"
            parts.append(
                f"<h3>{title}</h3>" + html_table(caption, [*_scenario_head(several), "Direction"], heads, rows)
            )
    if not parts:
        return ""
    parts.append('<p class="note">Means per replication; in brackets the share of what was sent or came in.</p>')
    return section("Bearers and links", "".join(parts))


def _path_rows(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[tuple[str, str, str | None]], several: bool
) -> list[str]:
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["scenario"], row["name"]), []).append(row)
    lines = []
    for (scenario, name), members in groups.items():
        cells = []
        for column, _, whole in columns:
            average = mean(row.get(column) for row in members)
            share = ""
            if whole is not None and average.n:
                total = mean(row.get(whole) for row in members).mean
                share = f' <span class="half">({100 * average.mean / total:.2f} %)</span>' if total > 0 else ""
            shown = "–" if not average.n else f"{average.mean:,.{0 if average.mean >= 100 else 1}f}".removesuffix(".0")
            cells.append(f'<td class="number">{shown}{share}</td>')
        lines.append(_row_heads(several, scenario, _text(name)) + "".join(cells))
    return lines


def _observed(results: ResultsSource) -> list[_Observed]:
    """Per scenario the figures of its first replication with facts, in groups per flow, per bearer, and of the path."""
    from ..analysis.radio import bearers
    from ..analysis.series import FactTable

    found: list[_Observed] = []
    taken: set[str] = set()
    for scenario in results.scenarios:
        replication = next((i for i in range(scenario.replications) if results.has_facts(scenario.name, i)), None)
        if replication is None:
            continue
        facts = FactTable(results.facts(scenario.name, replication))
        stem = _file_stem(scenario.name, taken)
        of_each = [("flow", facts.flows, _of_flow), ("bearer", bearers(facts), _of_bearer)]
        groups: list[_Group] = []
        undrawn: list[str] = []
        for sort, names, figures_of in of_each:
            stems: set[str] = set()
            groups_of_sort: list[_Group] = []
            for name in names[:FACT_FLOWS]:
                named = _named(f"{stem}-{_file_stem(name, stems)}", figures_of(facts, name))
                if named:
                    is_open = len(groups_of_sort) < (_OPEN_FLOWS if sort == "flow" else 1)
                    groups_of_sort.append(_Group(f"{sort.capitalize()} {name}", named, is_open))
            groups += groups_of_sort
            if len(names) > FACT_FLOWS:
                undrawn.append(f"the first {FACT_FLOWS} of {len(names)} {sort}s")
        path = _named(stem, _of_path(facts))
        if path:
            groups.append(_Group("Path", path, True))
        found.append(_Observed(scenario.name, replication, groups, undrawn))
        if len(found) == FACT_SCENARIOS:
            break
    return found


def _named(stem: str, figures: Sequence[_Named]) -> list[_Named]:
    """The figures that show something, under names for files."""
    return [(f"{stem}-{kind}", figure) for kind, figure in figures if any(s.kind != "span" for s in figure.series)]


def _of_flow(facts: FactTable, flow: str) -> list[_Named]:
    from . import plots

    return [
        ("time-sequence", plots.time_sequence(facts, flow)),
        ("window", plots.window(facts, flow)),
        ("throughput", plots.throughput(facts, flow)),
        ("rtt", plots.rtt(facts, flow)),
    ]


def _of_bearer(facts: FactTable, bearer: str) -> list[_Named]:
    from . import radio

    return [
        ("rrc-state", radio.rrc_state(facts, bearer)),
        ("channel-rate", radio.channel_rate(facts, bearer)),
        ("rlc-buffer", radio.rlc_buffer(facts, bearer)),
        ("rlc-window", radio.rlc_window(facts, bearer)),
        ("rlc-reports", radio.rlc_reports(facts, bearer)),
    ]


def _of_path(facts: FactTable) -> list[_Named]:
    from . import plots, radio

    return [
        ("queues", plots.queues(facts)),
        ("block-errors", plots.block_errors(facts)),
        ("calls", radio.calls(facts)),
    ]


def _facts_section(results: ResultsSource, observed: Sequence[_Observed], limit: int) -> str:
    from .interactive import fragment

    if not observed:
        return section(
            "Over time",
            "<p>No facts were recorded, so there is nothing to draw over time. Run the scenario with "
            "<code>--facts</code> (in Python: <code>facts=True</code>) for the time-sequence graph, windows, "
            "throughput and round-trip times.</p>",
        )
    parts = []
    for place, run in enumerate(observed):
        inside = "".join(
            f'<details class="group"{" open" if group.is_open else ""}><summary>{_text(group.heading)}</summary>'
            + "".join(fragment(figure, name, limit) for name, figure in group.figures)
            + "</details>"
            for group in run.groups
        )
        if run.undrawn:
            inside += (
                f'<p class="note">Drawn for {" and ".join(run.undrawn)}, as more would make the page slow; '
                "<code>results.plot</code> draws any.</p>"
            )
        if len(observed) == 1:
            parts.append(f"<p>Replication {run.replication}, from the facts its machines recorded.</p>{inside}")
        else:
            parts.append(
                f'<details class="run"{" open" if place == 0 else ""}><summary>{_breakable(run.scenario)}, '
                f"replication {run.replication}</summary>{inside}</details>"
            )
    if len(results.scenarios) > len(observed):
        parts.append(
            f'<p class="note">Drawn for {len(observed)} of {len(results.scenarios)} scenarios; '
            "<code>results.plot</code> draws any scenario whose facts were recorded.</p>"
        )
    return section("Over time", "".join(parts))


def _save_figures(folder: Path, figures: Iterable[_Named]) -> None:
    for name, figure in figures:
        folder.mkdir(exist_ok=True)
        for suffix in (".png", ".svg"):
            figure.save(folder / f"{name}{suffix}")


def html_table(caption: str, heads: Sequence[str], numbers: Sequence[str], rows: Sequence[str]) -> str:
    """A table in a box of its own that scrolls sideways, so that the page never does."""
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in heads)
    head += "".join(f'<th scope="col" class="number">{_text(name)}</th>' for name in numbers)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    label = html.escape(caption)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _scenario_head(several: bool) -> list[str]:
    return ["Scenario"] if several else []


def _row_heads(several: bool, scenario: str, name: str) -> str:
    """The cells that say what a row is about; of a single scenario nobody needs the name in every row."""
    if several:
        return f'<th scope="row" class="several">{_breakable(scenario)}</th><td>{name}</td>'
    return f'<th scope="row">{name}</th>'


def _text(value: str) -> str:
    return html.escape(value)


def _breakable(name: str) -> str:
    """A name that may break at its own joints, as those of variants are long."""
    return re.sub(r"([/.,\[=])", r"\1<wbr>", html.escape(name))


def _file_stem(name: str, taken: set[str]) -> str:
    """A name for files on any system, not yet ``taken``: variants have brackets, quotes and equal signs in theirs."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "unnamed"
    candidates = (stem, *(f"{stem}-{i}" for i in range(2, len(taken) + 3)))
    free = next(candidate for candidate in candidates if candidate not in taken)
    taken.add(free)
    return free
