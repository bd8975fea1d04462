"""Arguments that several commands share, and how they are checked."""

from __future__ import annotations

import argparse
from typing import Any, TypeAlias

from cellwind.campaign.rows import MOST_REPLICATIONS

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

# The largest integer of TOML.
_LARGEST = 2**63 - 1


def command(
    commands: Subparsers, name: str, purpose: str, example: str, details: str = "", **options: Any
) -> argparse.ArgumentParser:
    """A parser for one command; ``purpose`` is its line in the list of commands."""
    return commands.add_parser(
        name,
        help=purpose,
        description=f"{purpose[0].upper()}{purpose[1:]}.{f' {details}' if details else ''}",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **options,
    )


def positive(text: str) -> int:
    """A whole number from 1."""
    return _whole(text, 1)


def replications(text: str) -> int:
    """As many replications as a scenario file may ask for."""
    return _whole(text, 1, MOST_REPLICATIONS)


def natural(text: str) -> int:
    """A whole number from 0."""
    return _whole(text, 0)


def duration(text: str) -> float:
    """A time such as ``60s`` or ``"1.5 h"``, in seconds."""
    from cellwind.quantities import seconds

    try:
        return seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def assignment(text: str) -> tuple[str, str]:
    """``path=value``, split."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise argparse.ArgumentTypeError(f"expected path=value, found {text!r}")
    return path.strip(), value.strip()


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """``--jobs``."""
    parser.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="replications run at the same time (default: one per processor, live one)",
    )


def _whole(text: str, least: int, most: int = _LARGEST) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        bound = f" to {most}" if most < _LARGEST else ""
        raise argparse.ArgumentTypeError(f"expected a whole number from {least}{bound}, found {text!r}")
    return value
