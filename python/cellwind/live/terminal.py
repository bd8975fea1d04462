"""The caller's terminal for a command that runs inside an end.

A command in another session cannot have the caller's terminal as its own: it would have no job control, and Ctrl-C
would reach cellwind instead of it. So it gets a pseudo-terminal, and what passes between the two is copied.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable, Sequence
from typing import Any

_CHUNK = 1 << 16


def is_ours() -> bool:
    """Whether standard input and output are a terminal and this process may read from it."""
    try:
        return os.isatty(0) and os.isatty(1) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


class Terminal:
    """A pseudo-terminal that stands for the caller's while the context lasts.

    ``inner`` is the descriptor to give the command as its three streams. ``copy`` moves what is typed and printed
    until the command has ended. The caller's terminal is as before when the context ends.
    """

    def __init__(self) -> None:
        self._outer, self.inner = os.openpty()
        self._saved = termios.tcgetattr(0)
        self._handler: Any = None
        self._at_line_start = True

    def __enter__(self) -> Terminal:
        termios.tcsetattr(self.inner, termios.TCSANOW, self._saved)
        self._resize()
        self._handler = signal.signal(signal.SIGWINCH, self._resize)
        tty.setraw(0, termios.TCSAFLUSH)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGWINCH, self._handler)
        # A terminal that was closed has no settings any more.
        with contextlib.suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, self._saved)
        if not self._at_line_start:
            _print(b"\n")
        with contextlib.suppress(OSError):
            os.close(self.inner)
        os.close(self._outer)

    def copy(self, has_ended: Callable[[], bool], wake: Sequence[int]) -> None:
        """Copies until ``has_ended``; ``wake`` are descriptors that become readable when that may be so."""
        typed = [0]
        while not has_ended():
            with contextlib.suppress(InterruptedError):
                ready, _, _ = select.select([*typed, self._outer, *wake], [], [])
                if 0 in ready:
                    data = _read(0)
                    if data:
                        _write(self._outer, data)
                    else:
                        typed = []
                if self._outer in ready:
                    self._show()
        # The last words of the command. Whoever it left behind may print on; nobody waits for that.
        while select.select([self._outer], [], [], 0)[0]:
            self._show()

    def _show(self) -> None:
        data = _read(self._outer)
        self._at_line_start = data.endswith(b"\n")
        _print(data)

    def _resize(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            size = fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8))
            fcntl.ioctl(self._outer, termios.TIOCSWINSZ, size)


def shell() -> list[str]:
    """The user's shell."""
    return [os.environ.get("SHELL") or "/bin/sh"]


def shell_environment(run: str, end: str) -> dict[str, str]:
    """The caller's environment, in which a shell shows by its prompt that it is inside."""
    mark = f"[{run} {end}] "
    environment = dict(os.environ)
    # bash reads its settings, which set PS1, and then runs this once; others take PS1 as it is.
    environment["PROMPT_COMMAND"] = f"PS1='{mark}'\"$PS1\"; unset PROMPT_COMMAND"
    environment["PS1"] = mark + ("# " if os.geteuid() == 0 and "SUDO_UID" not in os.environ else "$ ")
    return environment


def exit_code_of(error: Exception) -> int:
    """What a shell says of a command that could not be started: 127 when there is none of that name, else 126."""
    return 127 if os.strerror(errno.ENOENT) in str(error) else 126


def _read(descriptor: int) -> bytes:
    """What can be read; nothing at the end, and of a terminal that was closed."""
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""


def _print(data: bytes) -> None:
    """Writes to standard output; that it was closed is told by a signal."""
    with contextlib.suppress(OSError):
        _write(1, data)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def flush_streams() -> None:
    """Sends off what this process has still to print, so that it stands before what the command prints."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
