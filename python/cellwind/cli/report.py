"""``cellwind report``: writes the report of a run directory again."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .arguments import Subparsers, command
from .console import DONE, FAILED, USAGE, complain, say

if TYPE_CHECKING:
    from cellwind.campaign.results import Results


def add_parser(commands: Subparsers) -> argparse.ArgumentParser:
    """Declares the arguments."""
    parser = command(
        commands,
        "report",
        "write the report of a run directory, over all that is complete in it",
        "cellwind report results/umts-384-1a2b3c4d",
    )
    parser.add_argument("directory", metavar="DIR", type=Path, help="run directory, as `cellwind run` made it")
    return parser


def execute(args: argparse.Namespace) -> int:
    """Writes ``DIR/report.html`` and prints its path."""
    from cellwind.campaign.results import Results
    from cellwind.campaign.store import RunDirectoryError

    try:
        results = Results.load(args.directory)
    except RunDirectoryError as error:
        complain(f"cellwind: {error}")
        return USAGE
    path = write_report(results, args.directory, figures=True)
    if path is None:
        return FAILED
    say(str(path))
    return DONE


def write_report(results: Results, directory: Path, figures: bool) -> Path | None:
    """Writes the report into a run directory; complains and answers None when it cannot be written."""
    from cellwind.campaign.store import REPORT

    try:
        return results.report(directory / REPORT, figures)
    except OSError as error:
        complain(f"cellwind: cannot write {error.filename or directory / REPORT}: {error.strerror or error}")
        return None
