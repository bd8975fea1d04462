"""``cellwind analyze``: what happened to the connections of a capture."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from .arguments import Subparsers, command, positive
from .console import DONE, FAILED, USAGE, complain, rendered, say, width

if TYPE_CHECKING:
    from rich.table import Table

    from cellwind.analysis.trace import Connection, Trace

# Tables for so many connections, unless more are asked for.
_SHOWN = 10
_REPORT = "report.html"


def add_parser(commands: Subparsers) -> argparse.ArgumentParser:
    """Declares the arguments."""
    parser = command(
        commands,
        "analyze",
        "measure the connections of a packet capture",
        "cellwind analyze server.pcapng\n  cellwind analyze server.pcapng phone.pcapng --out results/capture",
        "Reads pcapng and pcap.\nTwo FILEs are the captures of both ends of a path: losses and delays are then\nexact.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="capture; two are those of both ends")
    parser.add_argument(
        "--connections", type=positive, default=_SHOWN, metavar="N",
        help=f"tables for the N connections with the most payload (default: {_SHOWN})",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"write DIR/{_REPORT}, with plots over time")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    return parser


def execute(args: argparse.Namespace) -> int:
    """Prints tables or JSON, and writes the report; a damaged file is measured as far as it goes."""
    from cellwind.analysis.trace import connections
    from cellwind.analysis.trace.summary import as_json, busiest, remarks

    if len(args.files) > 2:
        complain(f"cellwind: one capture or those of both ends, not {len(args.files)} files")
        return USAGE
    traces = _read(args.files)
    if traces is None:
        return USAGE
    found = connections(*traces)
    shown = busiest(found, args.connections)
    for remark in remarks(traces):
        complain(f"cellwind: {remark}")
    if args.json:
        say(json.dumps(as_json(traces, found), allow_nan=False, ensure_ascii=False))
    else:
        say(_tables(traces, shown, len(found)))
    if args.out is not None and not _write_report(traces, shown, args.out, quiet=args.json):
        return FAILED
    return FAILED if any(trace.damage for trace in traces) else DONE


def _read(files: list[str]) -> list[Trace] | None:
    """All files, or None after complaints about those that cannot be read."""
    from cellwind import _core
    from cellwind.analysis.trace import read_capture

    traces = []
    for file in files:
        try:
            traces.append(read_capture(file))
        except _core.CaptureError as error:
            complain(f"cellwind: {file}: {error}")
        except OSError as error:
            # The core appends the number of the system's error.
            complain(f"cellwind: cannot read {file}: {str(error.strerror or error).partition(' (os error')[0]}")
    return traces if len(traces) == len(files) else None


def _write_report(traces: list[Trace], shown: list[Connection], directory: Path, quiet: bool) -> bool:
    from cellwind.report.traces import write_trace_report

    try:
        directory.mkdir(parents=True, exist_ok=True)
        path = write_trace_report(traces, shown, directory / _REPORT)
    except OSError as error:
        complain(f"cellwind: cannot write {error.filename or directory / _REPORT}: {error.strerror or error}")
        return False
    if not quiet:
        say(f"Report: {path}")
    return True


def _tables(traces: list[Trace], shown: list[Connection], count: int) -> str:
    """A table per connection, under a line per file."""
    packets = " and ".join(f"{len(trace):,} packets in {trace.path}" for trace in traces)
    counted = f"{count:,} connection{'s' if count != 1 else ''}"
    head = f"{packets}: {counted}" + (
        f", of which the {len(shown)} with the most payload:" if len(shown) < count else ""
    )
    return "\n".join([head, rendered(*(_table(connection) for connection in shown))]) if shown else head


def _table(connection: Connection) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from cellwind.analysis.trace.summary import directions, lines, place

    ways = directions(connection)
    # Text, not markup: an IPv6 address has brackets.
    title = Text(f"{connection.protocol} {connection.name}", style="bold")
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", min_width=min(44, width()))
    table.add_column("")
    for name, _ in ways:
        table.add_column(name, justify="right")
    columns = [dict(lines(way)) for _, way in ways]
    labels = dict.fromkeys(label for column in columns for label in column)
    for label in labels:
        table.add_row(label, *(column.get(label, "–") for column in columns))
    table.caption = Text(f"{connection.duration_s:.6g} s from {connection.start_s:.6g} s on, {place(connection)}")
    return table
