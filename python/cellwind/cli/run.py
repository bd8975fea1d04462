"""``cellwind run``: runs scenarios, keeps the results, and says what came out."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arguments import Subparsers, add_jobs, assignment, command, natural, replications
from .console import DONE, FAILED, INTERRUPTED, USAGE, complain, progress_bar, rendered, say, width
from .report import write_report
from .scenarios import load_all

if TYPE_CHECKING:
    from rich.table import Table

    from cellwind.analysis.statistics import FlowSummary
    from cellwind.campaign.results import Results, ScenarioInfo
    from cellwind.campaign.rows import FlowRow
    from cellwind.campaign.runner import Failure
    from cellwind.campaign.store import RunDirectory
    from cellwind.scenario import Scenario

# Rows of the closing table, by column of the flow table.
_SHOWN = ("duration_s", "goodput_bps", "segments_retransmitted", "timeouts")

_FLOW_KEYS = (
    "name",
    "transport",
    "completed",
    "bytes",
    "duration_s",
    "goodput_bps",
    "segments_sent",
    "segments_retransmitted",
    "timeouts",
    "fast_retransmits",
    "spurious_timeouts",
    "necessary_timeouts",
    "rtt_mean_s",
)


def add_parser(commands: Subparsers) -> argparse.ArgumentParser:
    """Declares the arguments."""
    parser = command(
        commands,
        "run",
        "run scenarios and keep the results",
        "cellwind run umts-384 --set access.umts.down.errors=0.05 --replications 5\n"
        "  cellwind run my-link.toml --facts --pcap --out results/mine\n"
        "  cellwind run my-link.toml --live --replications 20",
        "What the directory of the results\nholds already is not run again: an interrupted command can be repeated.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="scenario file, or name of a ready-made scenario")
    parser.add_argument(
        "--set",
        dest="sets",
        action="append",
        type=assignment,
        default=[],
        metavar="PATH=VALUE",
        help="put a value over the file, such as link.internet.loss=0.01; can be given again",
    )
    parser.add_argument("--replications", type=replications, metavar="N", help="how often (default: as the file says)")
    parser.add_argument("--seed", type=natural, metavar="S", help="seed of all random streams (default: the file's)")
    add_jobs(parser)
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="directory for the results (default: results/<scenario>-<digest>)"
    )
    parser.add_argument("--facts", action="store_true", help="keep what every machine observed, for plots over time")
    parser.add_argument("--pcap", action="store_true", help="keep the packets of both ends as pcapng files")
    parser.add_argument(
        "--live", action="store_true", help="under the wall clock, with the kernel's TCP and the scenario's workloads"
    )
    parser.add_argument(
        "--order", choices=("random", "given"), default="random",
        help="of live runs, over all FILEs (default: random, the same for the same seed)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the results as one JSON object per FILE")
    return parser


def execute(args: argparse.Namespace) -> int:
    """Runs what is not done yet; prints tables and the path of the report, or JSON."""
    seed = [] if args.seed is None else [("seed", str(args.seed))]
    scenarios, errors = load_all(args.files, [*args.sets, *seed], args.live)
    if errors:
        complain("\n\n".join(errors))
        return USAGE

    from cellwind._core import ScenarioError
    from cellwind.campaign.runner import check_live, check_simulated, plan, preload
    from cellwind.campaign.store import DirectoryConflictError, RunDirectory, RunDirectoryError, default_directory

    try:
        infos = plan(scenarios, args.replications)
        if args.live:
            check_live(scenarios)
        else:
            check_simulated(scenarios)
    except ValueError as error:
        # The core's own reports begin with the place in the file.
        complain(str(error) if isinstance(error, ScenarioError) else f"cellwind: {error}")
        return USAGE
    if not args.json:
        preload("pyarrow.parquet", "rich.table", "rich.console")
    place = args.out or default_directory(infos, args.live)
    directory = RunDirectory(place, infos, shlex.join(["cellwind", *args.argv]), live=args.live)
    try:
        directory.open()
    except RunDirectoryError as error:
        complain(f"cellwind: {error}")
        # A place the user chose is input; the default place failing is not.
        return USAGE if args.out is not None or isinstance(error, DirectoryConflictError) else FAILED
    with directory:
        return _run(args, scenarios, infos, directory)


def _run(
    args: argparse.Namespace, scenarios: list[Scenario], infos: list[ScenarioInfo], directory: RunDirectory
) -> int:
    from cellwind.campaign.runner import InterruptedCampaign, execute
    from cellwind.campaign.store import RunDirectoryError

    try:
        with progress_bar("running", "runs") as progress:
            results, failures = execute(
                scenarios,
                infos,
                jobs=args.jobs,
                facts=args.facts,
                pcap=args.pcap,
                directory=directory,
                progress=progress,
                live=args.live,
                order=args.order,
            )
        path = _report(args, results, directory)
    except RunDirectoryError as error:
        complain(f"cellwind: {error}\nReplications that were complete before stay.")
        return FAILED
    except InterruptedCampaign as stop:
        complain(
            f"cellwind: interrupted; {stop.done} of {stop.wanted} replications are complete in {directory.path}.\n"
            "Give the same command again to run the others."
        )
        return INTERRUPTED
    except KeyboardInterrupt:
        complain(
            f"cellwind: interrupted while writing the report; all replications are complete in {directory.path}.\n"
            f"Give the same command again, or: cellwind report {shlex.quote(str(directory.path))}"
        )
        return INTERRUPTED
    if args.json:
        for info in infos:
            say(json.dumps(as_json(results, info), allow_nan=False, ensure_ascii=False))
    else:
        told = [_without_flows(scenario, results, directory) for scenario in scenarios if not scenario.flows]
        say("\n".join(text for text in (tables(results), *told) if text))
        if path is not None:
            say(f"Report: {path}")
    for failure in failures:
        complain(_failure(failure))
    if args.live:
        for scenario, info in zip(scenarios, infos, strict=True):
            for text in _failed_workloads(scenario, directory, info.replications):
                complain(f"cellwind: {text}")
    return FAILED if failures or path is None else DONE


def _report(args: argparse.Namespace, results: Results, directory: RunDirectory) -> Path | None:
    """Writes the report over all that the directory holds, which may be more than this command ran."""
    held = directory.provenance["scenarios"]
    asked = {info.name: info.replications for info in results.scenarios}
    if any(asked.get(name, 0) < scenario["replications"] for name, scenario in held.items()):
        from cellwind.campaign.results import Results

        results = Results.load(directory.path)
    # Drawing figures as files takes longer than a small run; who asked for facts is waiting for them.
    return write_report(results, directory.path, figures=args.facts)


def as_json(results: Results, scenario: ScenarioInfo) -> dict[str, Any]:
    """The results of one scenario as ``--json`` prints them; see docs/reference/cli.md."""
    return {
        "scenario": scenario.name,
        "seed": scenario.seed,
        "runs": [
            {
                "replication": record.replication,
                "flows": [_flow_as_json(flow) for flow in record.flows],
                "bearers": record.bearers,
                "links": record.links,
            }
            for record in results.records
            if record.scenario == scenario.name
        ],
    }


def _flow_as_json(flow: FlowRow) -> dict[str, Any]:
    """A flow's figures, and those of its application that it has."""
    from cellwind.campaign.rows import APPLICATION_COLUMNS

    row: dict[str, Any] = {**flow}
    applied = APPLICATION_COLUMNS if row["application"] != "bulk" else ()
    return {
        **{key: row[key] for key in _FLOW_KEYS},
        **{key: row[key] for key in applied if row[key] is not None},
    }


def tables(results: Results) -> str:
    """A table per flow: mean, half-width of the 95 % interval, and how many replications they are over."""
    from cellwind.analysis.statistics import summary

    return rendered(*(_table(flow) for flow in summary(results)))


def _failed_workloads(scenario: Scenario, directory: RunDirectory, replications: int) -> list[str]:
    """A sentence per failure of a live scenario's workloads."""
    from collections import Counter

    from cellwind.live.results import LIVE

    failed: Counter[str] = Counter()
    for replication in range(replications):
        file = directory.place(scenario.name, replication) / LIVE
        if file.exists():
            ended = json.loads(file.read_text(encoding="utf-8")).get("workloads", ())
            failed.update(workload["failure"] for workload in ended if workload["failure"] is not None)
    return [f"{scenario.name}: {failure} ({count} of {replications} replications)" for failure, count in failed.items()]


def _without_flows(scenario: Scenario, results: Results, directory: RunDirectory) -> str:
    """One line in place of tables, which are about flows."""
    done = sum(record.scenario == scenario.name for record in results.records)
    place = directory.place(scenario.name, 0).parent
    runs = f"{done} replication{'s' if done != 1 else ''}"
    return f"{scenario.name}: {runs} without flows; what its workloads printed is in {place}"


def _table(flow: FlowSummary) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from cellwind.analysis.statistics import APPLICATION_METRICS, METRICS

    # Text, not markup: the name of a variant has brackets.
    title = Text(f"{flow.scenario}: {flow.flow} ({flow.transport})", style="bold")
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", min_width=min(44, width()))
    table.add_column("")
    for heading in ("mean", "± 95 %", "n"):
        table.add_column(heading, justify="right", no_wrap=True)
    shown = [metric for metric in METRICS if metric.column in _SHOWN]
    shown += [metric for metric in APPLICATION_METRICS if flow[metric.column].n]
    for metric in shown:
        estimate = flow[metric.column]
        table.add_row(metric.heading, *estimate.text(metric.scale), str(estimate.n))
    if flow.completed < flow.replications:
        table.caption = Text(f"completed {flow.completed} of {flow.replications}")
    return table


def _failure(failure: Failure) -> str:
    return f"cellwind: {failure.scenario}, replication {failure.replication} failed: {failure.reason}"
