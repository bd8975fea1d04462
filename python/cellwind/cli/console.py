"""Standard output and error: closed pipes, narrow terminals and encodings are dealt with here and nowhere else."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import RenderableType

_NARROWEST = 40

DONE = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130


class OutputError(RuntimeError):
    """Standard output cannot take what there is to say, for another reason than a reader that went away."""


def prepare_streams() -> None:
    """Makes both streams safe to write any text to: present, and tolerant of characters they cannot show."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Closed by the caller: the next file opened would take its place, and a command inside an end would read
            # and write that. The lowest free number is this one.
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # The caller closed the descriptor (`>&-`): there is nobody to tell.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def say(text: str) -> bool:
    """Prints a text and a line end to standard output at once. A reader that went away is no error: False says so.

    Raises OutputError when it cannot be written, such as on a full disk.
    """
    return _write(text + "\n")


def flush() -> None:
    """Sends off what others, such as argparse, left in the buffer of standard output; raises as ``say`` does."""
    _write("")


def complain(text: str) -> None:
    """Prints a text to standard error; nobody reading it is no error."""
    try:
        sys.stderr.write(text.rstrip("\n") + "\n")
        sys.stderr.flush()
    except OSError:
        # What is left in the buffer would be tried again at the end, with an exit code of the interpreter's own.
        _discard(sys.stderr)


def width() -> int:
    """Columns to fill: those of the terminal, or 80, but never so few that nothing can be laid out."""
    return max(_NARROWEST, shutil.get_terminal_size().columns)


def entries(pairs: list[tuple[str, str]]) -> str:
    """Names with their explanations in two columns, or below each other when the terminal is narrow."""
    left = max((len(name) for name, _ in pairs), default=0)
    room = width() - left - 4
    lines = []
    for name, text in pairs:
        if room >= 30:
            first, *rest = textwrap.wrap(text, room) or [""]
            lines.append(f"  {name:<{left}}  {first}".rstrip())
            lines += [" " * (left + 4) + line for line in rest]
        else:
            lines.append(f"  {name}")
            lines += textwrap.wrap(text, width() - 4, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def rendered(*renderables: RenderableType) -> str:
    """What rich makes of something, for the terminal at hand; in colour only when that is one."""
    import io

    from rich.console import Console

    console = Console(file=io.StringIO(), width=width(), force_terminal=sys.stdout.isatty(), highlight=False)
    for renderable in renderables:
        console.print(renderable)
    text: Any = console.file
    # Tables are padded to their full width, which a file has no use for.
    return "\n".join(line.rstrip() for line in str(text.getvalue()).rstrip("\n").splitlines())


@contextlib.contextmanager
def progress_bar(what: str, unit: str) -> Iterator[Callable[[int, int], None] | None]:
    """A callback for (done, wanted) that draws a bar with rate and time left; None unless a terminal is watching."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(file=sys.stderr)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=None, rate="")

        def tell(done: int, wanted: int) -> None:
            speed = progress.tasks[0].speed
            rate = "" if speed is None else f"{speed:.3g} {unit}/s"
            progress.update(task, completed=done, total=wanted, rate=rate)

        yield tell


def _write(text: str) -> bool:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
        return True
    except BrokenPipeError:
        _discard(sys.stdout)
        return False
    except OSError as error:
        is_closed_terminal = error.errno == errno.EIO and stat.S_ISCHR(os.fstat(sys.stdout.fileno()).st_mode)
        _discard(sys.stdout)
        if is_closed_terminal:
            return False
        raise OutputError(f"cannot write to standard output: {error.strerror or error}") from error


def _discard(stream: TextIO) -> None:
    """Lets everything still buffered, and whatever follows, vanish quietly."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, stream.fileno())
        os.close(devnull)
