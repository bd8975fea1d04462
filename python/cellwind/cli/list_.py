"""``cellwind list``: what is ready-made."""

from __future__ import annotations

import argparse
import difflib

from cellwind import _core

from .arguments import Subparsers, command
from .console import DONE, USAGE, complain, entries, say

# What people type, and the core's word for it.
_KINDS = {
    "scenarios": "scenario",
    "access": "access",
    "transports": "transport",
    "applications": "application",
    "errors": "errors",
}


def add_parser(commands: Subparsers) -> argparse.ArgumentParser:
    """Declares the arguments."""
    parser = command(
        commands,
        "list",
        "show the ready-made scenarios, accesses, transports, applications and files of errors",
        "cellwind list transports\n  cellwind list --show umts-384 > mine.toml",
    )
    parser.add_argument("kind", nargs="?", choices=tuple(_KINDS), help="only these (default: all)")
    parser.add_argument("--show", metavar="NAME", help="print the text of one, to copy from")
    return parser


def execute(args: argparse.Namespace) -> int:
    """Prints names with their summaries, or the text of one preset."""
    presets = [p for p in _core.presets() if args.kind is None or p[0] == _KINDS[args.kind]]
    if args.show is not None:
        return _show(args.show, presets, args.kind)
    for word, kind in _KINDS.items():
        pairs = [(name, summary) for k, name, summary in presets if k == kind]
        if pairs:
            say(f"{word}:\n{entries(pairs)}\n")
    return DONE


def _show(name: str, presets: list[tuple[str, str, str]], asked: str | None) -> int:
    order = list(_KINDS.values())
    kinds = sorted((kind for kind, known, _ in presets if known == name), key=order.index)
    if not kinds:
        near = difflib.get_close_matches(name, [known for _, known, _ in presets], n=1, cutoff=0.4)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        where = "nothing ready-made" if asked is None else f"nothing among the {asked}"
        elsewhere = [word for word, kind in _KINDS.items() if (kind, name) in {p[:2] for p in _core.presets()}]
        if elsewhere:
            hint = f", but: cellwind list {elsewhere[0]} --show {name}"
        complain(f"cellwind: {where} is named '{name}'{hint}\n`cellwind list` shows all names.")
        return USAGE
    say(_core.preset_text(kinds[0], name).rstrip("\n"))
    for word, kind in _KINDS.items():
        if kind in kinds[1:]:
            complain(f"There is also one of that name under: cellwind list {word} --show {name}")
    return DONE
