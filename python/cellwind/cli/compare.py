"""``cellwind compare``: a scenario simulated and live, side by side."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from .arguments import Subparsers, assignment, command, natural, replications
from .console import DONE, FAILED, USAGE, complain, rendered, say, width
from .scenarios import load_all

if TYPE_CHECKING:
    from rich.table import Table

    from cellwind.live.compare import Comparison, FlowComparison


def add_parser(commands: Subparsers) -> argparse.ArgumentParser:
    """Declares the arguments."""
    parser = command(
        commands,
        "compare",
        "run a scenario simulated and live, and report where they differ",
        "cellwind compare umts-384 --set flow.download.bulk='200 kB' --replications 5",
        "Live,\nthe kernel's TCP carries the flows. Takes as long as the transfers last.",
    )
    parser.add_argument("file", metavar="SCENARIO", help="scenario file, or name of a ready-made scenario")
    parser.add_argument(
        "--set", dest="sets", action="append", type=assignment, default=[], metavar="PATH=VALUE",
        help="put a value over the file, as `cellwind run` does",
    )  # fmt: skip
    parser.add_argument("--seed", type=natural, metavar="S", help="seed of all random streams (default: the file's)")
    parser.add_argument("--replications", type=replications, metavar="N", help="how often (default: as the file says)")
    parser.add_argument("--json", action="store_true", help="print the comparison as one JSON object")
    return parser


def execute(args: argparse.Namespace) -> int:
    """Compares; a difference is a result, not a failure."""
    from cellwind import _core
    from cellwind.live.compare import compare

    seed = [] if args.seed is None else [("seed", str(args.seed))]
    scenarios, errors = load_all([args.file], [*args.sets, *seed])
    if errors:
        complain(errors[0])
        return USAGE
    try:
        comparison = compare(scenarios[0], args.replications)
    except ValueError as error:
        complain(f"cellwind: {error}")
        return USAGE
    except (_core.EmulationError, _core.RunError) as error:
        complain(f"cellwind: {error}")
        return FAILED
    say(json.dumps(comparison.as_json()) if args.json else _text(comparison))
    for failure in comparison.failures:
        complain(f"cellwind: {failure}")
    return FAILED if comparison.failures else DONE


def _text(comparison: Comparison) -> str:
    parts = [rendered(_table(comparison, flow)) for flow in comparison.flows]
    for flow in comparison.flows:
        notable = ", ".join(metric.metric for metric in flow.metrics if metric.is_notable)
        words = f"differs by more than 5 % in {notable}:" if notable else "is equal within 5 %"
        parts.append("\n".join([f"{flow.flow} {words}", *(f"  {text}" for text in flow.explanation)]))
    if comparison.notes:
        parts.append("\n".join(["The kernel's TCP:", *(f"  {note}" for note in comparison.notes)]))
    return "\n".join(parts)


def _table(comparison: Comparison, flow: FlowComparison) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = Text(f"{comparison.scenario}: {flow.flow} ({flow.transport})", style="bold")
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", min_width=min(44, width()))
    table.add_column("median")
    for heading in (f"simulated (n={comparison.simulated})", f"live (n={comparison.live})", "live / simulated"):
        table.add_column(heading, justify="right", no_wrap=True)
    for metric in flow.metrics:
        ratio = "" if metric.ratio is None else f"{metric.ratio:.3f}{' !' if metric.is_notable else ''}"
        table.add_row(metric.metric, _cell(metric.simulated), _cell(metric.live), ratio)
    return table


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.5g}"
