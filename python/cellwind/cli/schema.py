"""``cellwind schema``: the scenario file for editors, and the reference pages that are made from the core."""

from __future__ import annotations

import argparse
import json

from cellwind import _core

from .arguments import Subparsers, command
from .console import DONE, say


def add_parser(commands: Subparsers) -> argparse.ArgumentParser:
    """Declares the arguments."""
    parser = command(
        commands,
        "schema",
        "print the JSON Schema of the scenario file",
        "cellwind schema > scenario.schema.json",
    )
    page = parser.add_mutually_exclusive_group()
    page.add_argument("--markdown", action="store_true", help="print the reference page of the scenario file instead")
    page.add_argument("--facts", action="store_true", help="print the reference page of the facts instead")
    return parser


def execute(args: argparse.Namespace) -> int:
    """Prints the schema or one of the pages made from the core."""
    from .pages import facts_page, scenario_page

    if args.markdown:
        say(scenario_page(json.loads(_core.schema())).rstrip("\n"))
    elif args.facts:
        say(facts_page(_core.fact_kinds()).rstrip("\n"))
    else:
        say(json.dumps(json.loads(_core.schema()), indent=2, ensure_ascii=False))
    return DONE
