"""``cellwind check``: finds what is wrong with scenario files without running them."""

from __future__ import annotations

import argparse

from .arguments import Subparsers, assignment, command
from .console import DONE, USAGE, complain, say
from .scenarios import load_all


def add_parser(commands: Subparsers) -> argparse.ArgumentParser:
    """Declares the arguments."""
    parser = command(
        commands, "check", "check scenario files without running them", "cellwind check my-link.toml other.toml"
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="scenario file, or name of a ready-made scenario")
    parser.add_argument(
        "--set", dest="sets", action="append", type=assignment, default=[], metavar="PATH=VALUE",
        help="put a value over the file, as `cellwind run` does",
    )  # fmt: skip
    return parser


def execute(args: argparse.Namespace) -> int:
    """Tells of each file whether it is right; all errors go to standard error."""
    code = DONE
    for file in args.files:
        scenarios, errors = load_all([file], args.sets)
        for scenario in scenarios:
            flows = ", ".join(f"{flow} ({transport})" for flow, transport in scenario.transports.items())
            say(f"{file}: ok — {flows or 'no flow: it can be emulated, not simulated'}")
        for error in errors:
            complain(error)
            code = USAGE
    return code
