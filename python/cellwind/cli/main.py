"""``cellwind``: finds the command, runs it, and turns every outcome into an exit code.

0 means done, 1 that a run or a check failed, 2 bad usage or input, 130 interrupted by Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from . import analyze, check, compare, ctl, emulate, list_, predict, report, reproduce, run, schema, script, swarm
from .console import DONE, FAILED, INTERRUPTED, USAGE, OutputError, complain, flush, prepare_streams, say

COMMANDS = (run, check, list_, predict, report, analyze, emulate, ctl, compare, reproduce, script, swarm, schema)

# Commands that take another program's command line after `--`, as `command_words`.
_WRAPPERS = ("emulate", "ctl")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="cellwind",
        description="How a transport protocol or an application behaves over a cellular link, and why.",
        epilog="example:\n  cellwind run umts-384 --replications 5",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and end")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", title="commands")
    for command in COMMANDS:
        added = command.add_parser(commands)
        added.set_defaults(execute=command.execute, refuse=added.error)
    return parser


def parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Parses a command line; what another program is to be given, behind ``--``, is kept from the parser."""
    wraps = bool(words) and words[0] in _WRAPPERS and "--" in words
    place = list(words).index("--") if wraps else len(words)
    args, unknown = parser.parse_known_args(words[:place])
    if unknown:
        # The usage that helps is that of the command.
        getattr(args, "refuse", parser.error)(f"unrecognized arguments: {' '.join(unknown)}")
    if wraps:
        args.command_words = list(words[place + 1 :])
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line ``argv`` (default: that of the process) and answers the exit code."""
    prepare_streams()
    try:
        code = _dispatch(sys.argv[1:] if argv is None else list(argv))
        # Here a reader that went away is dealt with; at exit the interpreter would complain.
        flush()
        return code
    except KeyboardInterrupt:
        complain("cellwind: interrupted")
        return INTERRUPTED
    except OutputError as error:
        complain(f"cellwind: {error}")
        return FAILED


def _dispatch(argv: list[str]) -> int:
    parser = build_parser()
    try:
        args = parse(parser, argv)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else USAGE
    if args.version:
        from cellwind import _core

        say(f"cellwind {_core.version()}")
        return DONE
    if args.command is None:
        parser.print_help(sys.stderr)
        return USAGE
    args.argv = argv
    try:
        code: int = args.execute(args)
        return code
    except (KeyboardInterrupt, OutputError):
        raise
    except BaseException as error:
        # BaseException: a panic in the core is one. Nobody but a developer is served by the stack.
        if os.environ.get("CELLWIND_TRACEBACK"):
            raise
        complain(
            f"cellwind: internal error: {type(error).__name__}: {error}\n"
            "This is a defect of cellwind. With CELLWIND_TRACEBACK=1 it shows where it happened."
        )
        return FAILED
