"""``cellwind swarm``: random scenarios with every check on."""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ThreadPoolExecutor

from cellwind import _core

from .arguments import Subparsers, command, natural, positive
from .console import DONE, FAILED, complain, progress_bar, say


def add_parser(commands: Subparsers) -> argparse.ArgumentParser:
    """Declares the arguments."""
    parser = command(
        commands,
        "swarm",
        "run random scenarios with random faults and look for broken invariants",
        "cellwind swarm --seed 1 --count 100",
    )
    parser.add_argument("--seed", type=natural, required=True, metavar="N", help="seed of the first scenario")
    parser.add_argument(
        "--count", type=positive, default=1, metavar="M", help="scenarios, with the seeds N, N + 1, … (default: 1)"
    )
    return parser


def execute(args: argparse.Namespace) -> int:
    """Runs scenario by scenario on all processors; each failure tells the command that repeats it."""
    cancel = _core.CancelFlag()
    seeds = range(args.seed, args.seed + args.count)
    failed = 0
    pool = ThreadPoolExecutor(min(os.cpu_count() or 1, args.count))
    try:
        with progress_bar("swarm", "scenarios") as progress:
            texts = pool.map(lambda seed: _core.swarm(seed, 1, cancel), seeds)
            for done, failures in enumerate(texts, start=1):
                if progress is not None:
                    progress(done, args.count)
                if failures:
                    failed += 1
                    complain("\n".join(failures))
    finally:
        cancel.cancel()
        pool.shutdown(cancel_futures=True)
    say(f"{args.count - failed} of {args.count} random scenarios held all invariants")
    return FAILED if failed else DONE
