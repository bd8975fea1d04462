"""``cellwind reproduce``: published tables and figures beside our own numbers."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

from .arguments import Subparsers, add_jobs, command, replications
from .console import DONE, FAILED, INTERRUPTED, USAGE, complain, progress_bar, rendered, say, width


def add_parser(commands: Subparsers) -> argparse.ArgumentParser:
    """Declares the arguments."""
    parser = command(
        commands,
        "reproduce",
        "run a paper's experiments and set the numbers beside the published ones",
        "cellwind reproduce lundsten/table-3 --replications 5",
    )
    parser.add_argument(
        "selector", nargs="?", metavar="PAPER[/EXPERIMENT]", help="what to reproduce (default: everything)"
    )
    parser.add_argument(
        "--replications",
        type=replications,
        metavar="N",
        help="how often each scenario (default: as in the paper, or 20)",
    )
    add_jobs(parser)
    parser.add_argument(
        "--live",
        action="store_true",
        help="also run in real time what a paper ran with a kernel's TCP; takes minutes, and root or user namespaces",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("results", "reproduce"),
        metavar="DIR",
        help="directory for the page with all numbers and plots, and for live runs (default: results/reproduce)",
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    return parser


def execute(args: argparse.Namespace) -> int:
    """Runs the experiments; prints the comparison and writes its page."""
    from cellwind import RunDirectoryError, RunError
    from cellwind.reproduce import UnknownExperimentError, reproduce

    try:
        selector = _selector(args.selector)
        # The directory is tried before hours of simulation, not after.
        args.out.mkdir(parents=True, exist_ok=True)
    except UnknownExperimentError as error:
        complain(f"cellwind: {error}\n{_known()}")
        return USAGE
    except OSError as error:
        complain(f"cellwind: {_reason(error)}")
        return USAGE
    try:
        with progress_bar("reproducing", "scenarios") as progress:
            tell = None if progress is None else lambda done, wanted, _: progress(done, wanted)
            live = args.out / "live" if args.live else None
            reproduction = reproduce(selector, args.replications, args.jobs, tell, live)
        page = reproduction.write_page(args.out / f"{selector or 'papers'}.html")
    except (RunError, RunDirectoryError, OSError) as error:
        complain(f"cellwind: {_reason(error)}")
        return FAILED
    except KeyboardInterrupt:
        kept = "; live runs that are complete are kept" if args.live else ""
        complain(f"cellwind: interrupted; the same command starts again from the beginning{kept}")
        return INTERRUPTED
    if args.json:
        say(reproduction.to_json())
    else:
        say(rendered(reproduction.table(width())))
        say(f"Page: {page}")
    return DONE


def _selector(text: str | None) -> str | None:
    """``PAPER/EXPERIMENT`` as the papers name it. Raises UnknownExperimentError when there is none."""
    from cellwind.reproduce import UnknownExperimentError, experiment_ids, papers

    if text is None or text in papers():
        return text
    # Identifiers of experiments begin with their paper, which need not be said twice.
    paper, slash, experiment = text.partition("/")
    known = experiment_ids(paper) if slash and paper in papers() else experiment_ids()
    found = next((name for name in (text, experiment, f"{paper}-{experiment}") if name in known), None)
    if found is None:
        raise UnknownExperimentError(text, [*papers(), *experiment_ids()])
    return found


def _known() -> str:
    """Every paper with its experiments, as they may be asked for."""
    from cellwind.reproduce import experiment_ids, papers

    known = [(paper, [name.removeprefix(f"{paper}-") for name in experiment_ids(paper)]) for paper in papers()]
    lines = [f"{paper}, or {paper}/ and one of: {', '.join(names)}" for paper, names in known]
    return "\n".join(
        textwrap.fill(f"There is {line}", width(), subsequent_indent="  ", break_on_hyphens=False) for line in lines
    )


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot write {error.filename or 'the page'}: {error.strerror or error}"
    return str(error)
