"""Paths of this project for the live benchmarks: a scenario with its two ends."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from cellwind import _core

from .namespaces import Program

TERMINAL = "ue"


class Started:
    """A program in an end of an emulation."""

    def __init__(self, emulation: _core.Emulation, end: str, words: Sequence[str]) -> None:
        read, write = os.pipe()
        quiet = os.open(os.devnull, os.O_RDONLY)
        self._emulation, self._end = emulation, end
        self._process = emulation.spawn(
            end, list(words), env=dict(os.environ), stdin=quiet, stdout=write, stderr=2, as_root=True
        )
        os.close(write)
        os.close(quiet)
        self._output = os.fdopen(read)

    def line(self) -> str:
        return self._output.readline()

    def rest(self) -> str:
        with self._output:
            return self._output.read()

    def stop(self) -> None:
        self._emulation.signal(self._end, self._process, 9)
        self._output.close()


class Path:
    """A running emulation."""

    def __init__(self, emulation: _core.Emulation) -> None:
        self.emulation = emulation
        addresses = emulation.addresses()
        self.server, self.terminal = addresses["server"][0], addresses[TERMINAL][0]

    def start(self, end: str, words: Sequence[str]) -> Program:
        return Started(self.emulation, "server" if end == "server" else TERMINAL, words)


@contextlib.contextmanager
def path(scenario: str, realtime: bool = False) -> Iterator[Path]:
    """An emulation of the scenario with this text; with ``realtime`` as campaigns ask for it."""
    emulation = _core.Emulation.start(_core.Scenario.parse(scenario), realtime=realtime)
    try:
        yield Path(emulation)
    finally:
        emulation.stop()


def link(rate: str | None = None, delay: str = "0 s") -> str:
    """A scenario of one link towards the terminal; the way back has neither rate nor delay."""
    rate_line = "" if rate is None else f'rate = "{rate}"\n'
    return f'[link.wire.down]\n{rate_line}delay = "{delay}"\n[link.wire.up]\n'


def bearer() -> str:
    """A scenario of a 384 kbit/s bearer with 10 % block errors."""
    return '[access.umts]\nextends = "umts-384"\ndown.errors = 0.1\n'
