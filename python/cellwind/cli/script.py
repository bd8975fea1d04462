"""``cellwind script``: segments given to one end of a TCP connection, and what it must answer."""

from __future__ import annotations

import argparse

from cellwind import _core

from .arguments import Subparsers, command
from .console import DONE, FAILED, USAGE, complain, say


def add_parser(commands: Subparsers) -> argparse.ArgumentParser:
    """Declares the arguments."""
    parser = command(
        commands,
        "script",
        "play scripts of TCP segments and compare what is sent with what they expect",
        "cellwind script tests/scripts/recovery/newreno-partial-ack.script",
        "docs/scripts.md has the format.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="file of a script")
    parser.add_argument(
        "--kernel", action="store_true", help="play them against the kernel's TCP, in a namespace of its own (as root)"
    )
    parser.add_argument("--all", action="store_true", help="show every segment, not only those around a difference")
    return parser


def execute(args: argparse.Namespace) -> int:
    """Plays one script after the other; differences go to standard output, mistakes in scripts to standard error."""
    code = DONE
    for file in args.files:
        try:
            script = _core.Script.load(file)
        except _core.ScenarioError as error:
            complain(str(error))
            code = USAGE
            continue
        if args.kernel:
            code = _on_kernel(file, script) or code
            continue
        result = script.play()
        say(f"{file}: {'ok' if result.holds else 'differs'} — {script.summary}")
        text = result.table + _claims(result) if args.all else result.report
        if text:
            say(text.rstrip("\n"))
        if not result.holds and code == DONE:
            code = FAILED
    return code


def _on_kernel(file: str, script: _core.Script) -> int:
    """Plays one script against the kernel; a difference is a result, so that only a run that cannot be made fails."""
    from cellwind.live.script import KernelRefused, replay

    try:
        result, notes = replay(script)
    except (_core.EmulationError, KernelRefused) as error:
        complain(f"{file}: {error}")
        return FAILED
    follows, because, tolerance_s, _ = script.kernel
    expected = "is expected to" if follows else "need not"
    say(f"{file}: the kernel {'follows' if result.holds else 'differs'}, and {expected} — {script.summary}")
    for note in (*notes, *([because] if because else [])):
        say(f"    {note}")
    say(f"{result.table.rstrip()}\n    within {tolerance_s * 1e3:g} ms")
    return DONE


def _claims(result: _core.ScriptRun) -> str:
    return "" if result.holds else result.report
