"""``cellwind emulate``: a scenario under the wall clock, between real programs."""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import shlex
import signal
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arguments import Subparsers, assignment, command, duration, natural
from .console import DONE, FAILED, USAGE, complain, say
from .scenarios import load_all

if TYPE_CHECKING:
    from cellwind.campaign.store import RunDirectory
    from cellwind.live.emulation import Emulation
    from cellwind.scenario import Scenario


def add_parser(commands: Subparsers) -> argparse.ArgumentParser:
    """Declares the arguments."""
    parser = command(
        commands,
        "emulate",
        "run a scenario under the wall clock, between real programs",
        "cellwind emulate umts-384 -- ping -c 3 server\n"
        "  cellwind emulate umts-384 --outside -- curl https://example.org\n"
        "  cellwind emulate umts-384 --duration 60s --out results/live --pcap",
        "COMMAND,\nor else a shell, runs in the network namespace of a terminal, whose only way\nout is the emulated "
        "path. The exit code is COMMAND's. docs/live.md tells all.",
        usage="cellwind emulate SCENARIO [options] [-- COMMAND ...]",
    )
    parser.add_argument("file", nargs="?", metavar="SCENARIO", help="scenario file, or name of a ready-made scenario")
    parser.set_defaults(command_words=[])
    parser.add_argument(
        "--set", dest="sets", action="append", type=assignment, default=[], metavar="PATH=VALUE",
        help="put a value over the file, as `cellwind run` does",
    )  # fmt: skip
    parser.add_argument("--seed", type=natural, metavar="S", help="seed of all random streams (default: the file's)")
    parser.add_argument(
        "--duration", type=duration, metavar="T", help="end after this time, such as 60s; without COMMAND, no shell"
    )
    parser.add_argument("--no-command", action="store_true", help="start no shell: run until Ctrl-C or --duration")
    parser.add_argument("--end", metavar="NAME", help="where COMMAND runs: a terminal (default: the first) or server")
    parser.add_argument("--as-root", action="store_true", help="do not drop privileges for COMMAND")
    parser.add_argument("--name", metavar="RUN", help="name for `cellwind ctl` (default: the scenario's)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep results in a run directory")
    parser.add_argument("--facts", action="store_true", help="keep what every machine observed; needs --out")
    parser.add_argument("--pcap", action="store_true", help="keep the packets of both ends as pcapng; needs --out")
    parser.add_argument("--outside", action="store_true", help="the server's end is the outside world, behind NAT")
    parser.add_argument(
        "--bridge", type=_two_interfaces, metavar="A,B",
        help="no namespaces: what comes in at interface A (servers' side) goes out at B (terminals' side), and back",
    )  # fmt: skip
    parser.add_argument("--realtime", action="store_true", help="real-time priority and locked memory, where allowed")
    parser.add_argument(
        "--spin", type=duration, metavar="T",
        help="watch the clock for so long before a packet is due, such as 50us (default: as long as this machine "
        "takes to wake up)",
    )  # fmt: skip
    parser.add_argument("--clean", action="store_true", help="remove what a killed run with --outside may have left")
    return parser


def execute(args: argparse.Namespace) -> int:
    """Emulates; the exit code is COMMAND's."""
    if args.clean:
        return _clean()
    words = list(args.command_words)
    wrong = _what_is_wrong(args, words)
    if wrong is not None:
        complain(f"cellwind: {wrong}")
        return USAGE
    seed = [] if args.seed is None else [("seed", str(args.seed))]
    scenarios, errors = load_all([args.file], [*args.sets, *seed], live=True)
    if errors:
        complain(errors[0])
        return USAGE
    ends = ["server", *tomllib.loads(scenarios[0].to_toml())["terminal"]]
    if args.end not in (None, *ends):
        complain(f"cellwind: there is no end named {args.end}; there are {', '.join(ends)}")
        return USAGE
    if args.out is None:
        return _emulate(args, scenarios[0], words, None, 0)
    return _emulate_and_keep(args, scenarios[0], words)


def _what_is_wrong(args: argparse.Namespace, words: list[str]) -> str | None:
    if args.file is None:
        return "which scenario? `cellwind list scenarios` shows the ready-made ones"
    if args.out is None and (args.pcap or args.facts):
        return "--pcap and --facts write files: say where with --out DIR"
    if args.bridge and (words or args.end or args.outside):
        return "with --bridge there are no namespaces: no COMMAND, --end or --outside"
    if args.no_command and words:
        return "--no-command and a COMMAND exclude each other"
    if args.name is not None:
        from cellwind.live.control import ControlError, check_name

        try:
            check_name(args.name)
        except ControlError as error:
            return str(error)
    return None


def _two_interfaces(text: str) -> tuple[str, str]:
    servers, comma, terminals = text.partition(",")
    if not (comma and servers.strip() and terminals.strip()):
        raise argparse.ArgumentTypeError(f"expected two interfaces as A,B, found {text!r}")
    if servers.strip() == terminals.strip():
        raise argparse.ArgumentTypeError(f"{servers.strip()} cannot be on both sides")
    return servers.strip(), terminals.strip()


def _clean() -> int:
    from cellwind import _core

    try:
        removed = _core.clean_leftovers()
    except _core.EmulationError as error:
        complain(f"cellwind: {error}")
        return FAILED
    say("\n".join(f"removed {what}" for what in removed) or "nothing was left behind")
    return DONE


def _emulate_and_keep(args: argparse.Namespace, scenario: Scenario, words: list[str]) -> int:
    from cellwind.campaign.results import ScenarioInfo
    from cellwind.campaign.store import DirectoryConflictError, RunDirectory, RunDirectoryError

    info = ScenarioInfo.of(scenario, 1)
    directory = RunDirectory(args.out, [info], shlex.join(["cellwind", *args.argv]), live=True)
    try:
        with directory.open():
            return _emulate(args, scenario, words, directory, directory.first_missing(scenario.name))
    except DirectoryConflictError as error:
        complain(f"cellwind: {error}")
        return USAGE
    except RunDirectoryError as error:
        complain(f"cellwind: {error}")
        return FAILED


def _emulate(
    args: argparse.Namespace, scenario: Scenario, words: list[str], directory: RunDirectory | None, replication: int
) -> int:
    from cellwind import _core
    from cellwind.live.control import ControlError
    from cellwind.live.emulation import Emulation
    from cellwind.live.summary import summary

    emulation = Emulation(
        scenario,
        replication=replication,
        facts=args.facts,
        capture=args.pcap,
        outside=args.outside,
        bridge=args.bridge,
        realtime=args.realtime,
        spin_us=None if args.spin is None else 1e6 * args.spin,
        spool=args.out,
        name=args.name,
    )
    code = FAILED
    with _Signals() as signals:
        try:
            emulation.start()
        except (_core.EmulationError, ControlError) as error:
            complain(f"cellwind: {error}")
            return FAILED
        try:
            code = _until_the_end(args, emulation, words, signals)
        finally:
            finished = emulation.stop()
    complain(summary(finished, emulation.workloads))
    if emulation.failure is not None:
        complain(f"cellwind: the emulation stopped: {emulation.failure}")
        code = FAILED
    if directory is not None:
        _keep(args, emulation, directory)
    return code


def _keep(args: argparse.Namespace, emulation: Emulation, directory: RunDirectory) -> None:
    from cellwind.campaign.tables import facts_of
    from cellwind.live.results import finished_of

    run, name, replication = emulation.result, emulation.scenario.name, emulation.replication
    finished = finished_of(
        name,
        replication,
        run,
        facts=facts_of(run) if args.facts else None,
        pcap=args.pcap,
        workloads=emulation.workloads,
    )
    if run.valid and emulation.failure is None:
        directory.write(finished)
        place = directory.place(name, replication)
    else:
        place = directory.set_aside(finished)
    complain(f"Results: {place}")


def _until_the_end(args: argparse.Namespace, emulation: Emulation, words: list[str], signals: _Signals) -> int:
    """Runs what is to be run; the exit code."""
    from cellwind import _core
    from cellwind.live import terminal

    end = None if args.bridge else args.end or emulation.terminals[0]
    if not (words or args.no_command or args.duration or args.bridge) and terminal.is_ours():
        words = terminal.shell()
    complain(_greeting(emulation, end, words))
    # Whoever asks the run to stop, by signal, `cellwind ctl` or the clock, ends the waits below.
    timer = threading.Timer(args.duration or 0.0, emulation.ask_to_stop)
    timer.daemon = True
    if args.duration:
        timer.start()
    try:
        if end is None or not words:
            signals.call(lambda _: emulation.ask_to_stop())
            emulation.wait()
            if signals.interrupted and os.isatty(2):
                # The terminal shows ^C, and what follows begins a line.
                complain("")
            return DONE
        return _run_command(args, emulation, end, words, signals)
    except _core.CommandError as error:
        complain(f"cellwind: {error}")
        return terminal.exit_code_of(error)
    except _core.EmulationError as error:
        complain(f"cellwind: {error}")
        return FAILED
    finally:
        timer.cancel()


def _greeting(emulation: Emulation, end: str | None, words: list[str]) -> str:
    lines = [f"{emulation.name}: {emulation.scenario.title or emulation.scenario.name}"]
    lines += [f"  {name}: {', '.join(found)}" for name, found in emulation.addresses().items()]
    lines.append(f"  control: cellwind ctl {emulation.name} status")
    if end is not None and not words:
        lines.append(f"  enter: cellwind ctl {emulation.name} enter {end}")
    if not words:
        lines.append("  Ctrl-C ends it")
    return "\n".join(lines)


def _run_command(args: argparse.Namespace, emulation: Emulation, end: str, words: list[str], signals: _Signals) -> int:
    """Runs a command inside an end; its exit code, or why it was ended."""
    from cellwind.live import terminal

    environment = terminal.shell_environment(emulation.name, end)
    terminal.flush_streams()
    exited = os.eventfd(0, os.EFD_CLOEXEC)
    stopped_by: list[int] = []
    with contextlib.ExitStack() as stack:
        pseudo = stack.enter_context(terminal.Terminal()) if terminal.is_ours() else None
        stream = None if pseudo is None else pseudo.inner
        process = emulation.spawn(
            end, words, environment=environment, stdin=stream, stdout=stream, stderr=stream, as_root=args.as_root
        )
        process.on_exit(lambda _: os.eventfd_write(exited, 1))

        def answer(number: int) -> None:
            # Ctrl-C belongs to the command; whatever else ends a program ends the run.
            if number == signal.SIGINT:
                process.signal(number)
            else:
                stopped_by.append(number)
                emulation.ask_to_stop()

        signals.call(answer)
        wake = (exited, emulation.fileno())
        while process.code is None and not emulation.wait(0):
            if pseudo is None:
                select.select(wake, [], [])
            else:
                pseudo.copy(lambda: process.code is not None or emulation.wait(0), wake)
        ended_by_itself = process.code is not None
        if pseudo is not None and not ended_by_itself:
            # Its terminal goes away, and a shell with a user before it hears of nothing else.
            process.signal(signal.SIGHUP)
        killed = not ended_by_itself and not process.end_it()
    # Left open: an exit may be told at any moment.
    if not ended_by_itself:
        complain(f"cellwind: {words[0]} {'did not end when asked to, and was killed' if killed else 'was ended'}")
    if ended_by_itself:
        return process.wait(0)
    return 128 + stopped_by[0] if stopped_by else DONE


class _Signals:
    """SIGINT, SIGTERM and SIGHUP, kept from ending the process while an emulation runs."""

    def __init__(self) -> None:
        self._answer: Callable[[int], None] | None = None
        self._early: list[int] = []
        self._before: dict[int, Any] = {}
        self.interrupted = False
        """Ctrl-C was among them."""

    def call(self, answer: Callable[[int], None]) -> None:
        """Calls ``answer`` with every signal from now on, and with those that came before."""
        self._answer = answer
        early, self._early = self._early, []
        for number in early:
            answer(number)

    def __enter__(self) -> _Signals:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _: object) -> None:
        self.interrupted |= number == signal.SIGINT
        if self._answer is None:
            self._early.append(number)
        else:
            self._answer(number)
