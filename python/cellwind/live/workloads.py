"""The commands of a scenario's ``[workload.*]``, started at their times."""

from __future__ import annotations

import subprocess
import tempfile
import threading
import time
import tomllib
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from cellwind import _core
from cellwind.quantities import seconds

if TYPE_CHECKING:
    from .emulation import Emulation, Process

_MOST_LOG = 10_000_000


@dataclass
class Workload:
    """A command of the scenario, and what became of it."""

    name: str
    end: str
    command: list[str]
    start_s: float
    process: Process | None = None
    failure: str | None = None
    """Why it could not be started."""
    log: bytes = field(default=b"", repr=False)
    """What it printed, its last 10 MB at most; there once the emulation has stopped."""

    was_ended: bool = False
    """It was running still when the emulation stopped."""

    def outcome(self) -> dict[str, Any]:
        """What is kept of it; an exit code of None says that it never ran, or was ended with the run."""
        code = None if self.process is None or self.was_ended else self.process.code
        return {
            "name": self.name,
            "end": self.end,
            "command": self.command,
            "exit_code": code,
            "failure": self.complaint(),
        }

    def complaint(self) -> str | None:
        """One sentence when it failed."""
        code = None if self.process is None else self.process.code
        if self.failure is not None:
            return f"workload {self.name} could not be started: {self.failure}"
        if code and not self.was_ended:
            said = self.log.decode(errors="replace").strip().splitlines()
            return f"workload {self.name} ended with code {code}{f': {said[-1]}' if said else ''}"
        return None


def workloads_of(document: dict[str, Any]) -> list[Workload]:
    """The workloads of a resolved scenario, in the order of the file."""
    return [
        Workload(name, table["at"], list(table["command"]), seconds(table.get("start", "0 s")))
        for name, table in document.get("workload", {}).items()
    ]


class Workloads:
    """Starts workloads at their times, from a thread of its own."""

    def __init__(self, emulation: Emulation) -> None:
        self.all = workloads_of(tomllib.loads(emulation.scenario.to_toml()))
        self._emulation = emulation
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="workloads", daemon=True)
        self._zero_ns = 0
        self._outputs: list[tuple[Workload, IO[bytes]]] = []

    def start(self, zero_ns: int) -> None:
        """Starts those that are due at the start, and the others when their time comes."""
        self._zero_ns = zero_ns
        if self.all:
            self._thread.start()

    def stop(self) -> None:
        """Starts no more, and ends those that run."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()
        from .emulation import quietly

        enders = []
        for workload in self.all:
            if workload.process is not None and workload.process.code is None:
                workload.was_ended = True
                enders.append(threading.Thread(target=quietly, args=[workload.process]))
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()
        for workload, output in self._outputs:
            with output:
                size = output.seek(0, 2)
                output.seek(max(0, size - _MOST_LOG))
                workload.log = output.read()
        self._outputs.clear()

    def _run(self) -> None:
        for workload in sorted(self.all, key=lambda workload: workload.start_s):
            due = self._zero_ns * 1e-9 + workload.start_s
            if self._over.wait(max(0.0, due - time.monotonic())):
                return
            output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
            self._outputs.append((workload, output))
            try:
                workload.process = self._emulation.spawn(
                    workload.end,
                    workload.command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                )
            except _core.EmulationError as error:
                workload.failure = str(error)
