"""``cellwind ctl``: looks at a running emulation and changes it."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .arguments import Subparsers, assignment, command
from .console import DONE, FAILED, USAGE, complain, rendered, say, width

if TYPE_CHECKING:
    from cellwind.live.control import Command, Control

# Below that the table of `status` is lines instead.
_TABLE_WIDTH = 78

_VERBS = """\
verbs, after the name of a run, which may be left out when only one is running:
  set PATH=VALUE …         put values over the scenario, all at one instant
  handover ACCESS          move a terminal: --terminal, --delay, --buffering, --soft
  spike DURATION           let no transmission begin for so long: --terminal
  pause, resume            hold all packets, and let them go
  status                   counters and lateness: --json, --follow
  enter [END] [-- COMMAND] run a command, or a shell, inside an end: --as-root
  stop                     end the run"""


def add_parser(commands: Subparsers) -> argparse.ArgumentParser:
    """Declares the arguments."""
    parser = command(
        commands,
        "ctl",
        "look at a running emulation and change it",
        "cellwind ctl status\n"
        "  cellwind ctl umts-384 set link.internet.delay=200ms\n"
        "  cellwind ctl enter ue -- ping server",
        f"Without arguments, it lists the runs.\n\n{_VERBS}",
    )
    parser.set_defaults(command_words=[])
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="[RUN] VERB …", help="a run and what to do with it")
    return parser


def execute(args: argparse.Namespace) -> int:
    """Does one verb; the exit code of ``enter`` is that of its command."""
    from cellwind.live.control import VERBS, ControlError, connect, runs

    words = list(args.words)
    try:
        if not words:
            say("\n".join(runs()) or "no emulation is running")
            return DONE
        run = None if words[0] in VERBS else words.pop(0)
        try:
            wanted = _parser().parse_args(words)
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else USAGE
        wanted.command_words = args.command_words
        with connect(run) as control:
            code: int = wanted.obey(control, wanted)
            return code
    except ControlError as error:
        complain(f"cellwind: {error}")
        return USAGE if error.is_bad_input else error.exit_code or FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cellwind ctl [RUN]")
    verbs = parser.add_subparsers(metavar="VERB", required=True)

    def verb(name: str, obey: Any, purpose: str, usage: str | None = None) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.", usage=usage)
        added.set_defaults(obey=obey)
        return added

    parser_of = verb("set", _set, "put values over the scenario, all at one instant")
    parser_of.add_argument(
        "values", nargs="+", type=assignment, metavar="PATH=VALUE", help="such as link.internet.delay=200ms"
    )
    parser_of = verb("handover", _handover, "move a terminal to another access")
    parser_of.add_argument("to", metavar="ACCESS", help="one of the scenario's")
    parser_of.add_argument("--terminal", metavar="NAME", help="which one; needed when there are several")
    parser_of.add_argument("--delay", metavar="T", help="for so long nothing leaves, such as 2s")
    parser_of.add_argument("--buffering", metavar="HOW", help="none, intermediate or full")
    parser_of.add_argument(
        "--soft", action="store_true", help="be in both accesses meanwhile: nothing waits or is lost"
    )
    parser_of = verb("spike", _spike, "let no transmission begin for so long")
    parser_of.add_argument("duration", metavar="DURATION", help="a time such as 5s")
    parser_of.add_argument("--terminal", metavar="NAME", help="only on the way to this one (default: to all)")
    verb("pause", lambda control, _: _at(control.pause()), "hold all packets")
    verb("resume", lambda control, _: _at(control.resume()), "let the held packets go")
    parser_of = verb("status", _status, "counters and lateness")
    parser_of.add_argument("--json", action="store_true", help="as JSON")
    parser_of.add_argument("--follow", action="store_true", help="again ten times a second, as JSON lines")
    usage = "cellwind ctl [RUN] enter [-h] [--as-root] [END] [-- COMMAND ...]"
    parser_of = verb("enter", _enter, "run COMMAND, or a shell, inside an end", usage)
    parser_of.add_argument("end", nargs="?", metavar="END", help="default: the first terminal")
    parser_of.add_argument("--as-root", action="store_true", help="do not drop privileges")
    verb("stop", _stop, "end the run")
    return parser


def _set(control: Control, args: argparse.Namespace) -> int:
    return _at(control.set_texts(args.values))


def _handover(control: Control, args: argparse.Namespace) -> int:
    how = {"terminal": args.terminal, "delay": args.delay, "buffering": args.buffering, "soft": args.soft}
    return _at(control.handover(args.to, **how))


def _spike(control: Control, args: argparse.Namespace) -> int:
    return _at(control.spike(args.duration, terminal=args.terminal))


def _at(instant: float) -> int:
    say(f"done at {instant:.6f} s")
    return DONE


def _stop(control: Control, _: argparse.Namespace) -> int:
    control.stop()
    return DONE


def _status(control: Control, args: argparse.Namespace) -> int:
    if args.follow:
        for status in control.follow():
            if not say(json.dumps(status)):
                break
    elif args.json:
        say(json.dumps(control.status()))
    else:
        say(_as_table(control.status()))
    return DONE


def _as_table(status: Mapping[str, Any]) -> str:
    from rich import box
    from rich.table import Table

    from cellwind.live.summary import drops_text, lateness_text, traffic_lines

    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("", "access", "packets in", "out", "dropped", "held", "bytes in", "out"):
        table.add_column(heading, justify="left" if heading in ("", "access") else "right", no_wrap=True)
    keys = ("packets_in", "packets_delivered", "packets_dropped", "packets_held", "bytes_in", "bytes_delivered")
    for name, terminal in status["terminals"].items():
        for direction in ("down", "up"):
            counts = terminal[direction]
            table.add_row(f"{name} {direction}", terminal["access"] or "", *(str(counts[key]) for key in keys))
    lines = [f"{status['run']}: {status['time_s']:.1f} s{', paused' if status.get('paused') else ''}"]
    wide = width() >= _TABLE_WIDTH
    lines += [rendered(table)] if wide else traffic_lines(status["terminals"])
    lines += [drops_text(status["drops"]), lateness_text(status["lateness"])]
    return "\n".join(line for line in lines if line)


def _enter(control: Control, args: argparse.Namespace) -> int:
    from cellwind.live import terminal

    words = args.command_words or terminal.shell()
    where = args.end or next(iter(control.status()["terminals"]))
    with contextlib.ExitStack() as stack:
        pseudo = stack.enter_context(terminal.Terminal()) if terminal.is_ours() else None
        streams = (0, 1, 2) if pseudo is None else (pseudo.inner,) * 3
        started = control.enter(
            args.end,
            words,
            streams=streams,
            environment=terminal.shell_environment(control.run, where),
            directory=os.getcwd(),
            as_root=args.as_root,
        )
        stack.enter_context(_handing_on(started))
        if pseudo is not None:
            pseudo.copy(started.has_ended, [started.fileno()])
        return started.wait()


@contextlib.contextmanager
def _handing_on(started: Command) -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP go to the command while the context lasts."""
    numbers: Sequence[int] = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda number, _: started.signal(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
