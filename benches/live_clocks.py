"""Completion times of twenty paths under both clocks, as a table with the facts behind every difference."""

import sys

from rich.console import Console
from rich.table import Table

from cellwind import _core
from live.clocks import PATHS, compare_all, completion, is_close


def main() -> None:
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    table = Table("path", "transport", "simulated", "live", "live / simulated", "what differs")
    try:
        comparisons = compare_all(replications)
    except _core.EmulationError as error:
        print(f"both clocks: not measured: {error}")
        return
    for path, comparison in zip(PATHS, comparisons, strict=True):
        times = completion(comparison)
        shown = ("–", "–", "–") if times is None else (f"{times[0]:.2f} s", f"{times[1]:.2f} s", f"{times[2]:.3f}")
        facts = [] if is_close(comparison) else [fact for flow in comparison.flows for fact in flow.explanation]
        table.add_row(path.name, path.transport, *shown, "; ".join([*facts, *comparison.failures]))
    console = Console(width=None if sys.stdout.isatty() else 170)
    console.print(table)
    close = sum(map(is_close, comparisons))
    console.print(f"{close} of {len(PATHS)} within 5 %, medians of {replications} replications each")


if __name__ == "__main__":
    main()
