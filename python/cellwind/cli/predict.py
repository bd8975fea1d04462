"""``cellwind predict``: what an analytical model says of a download, beside the simulation if that is asked for."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .arguments import Subparsers, add_jobs, assignment, command, duration, replications
from .console import DONE, USAGE, complain, rendered, say, width
from .scenarios import load_all

if TYPE_CHECKING:
    from cellwind.predict import Prediction
    from cellwind.predict.beside import Pair
    from cellwind.predict.download import Way


def add_parser(commands: Subparsers) -> argparse.ArgumentParser:
    """Declares the arguments."""
    parser = command(
        commands,
        "predict",
        "compute the time of a download over a radio bearer",
        "cellwind predict umts-384 --set access.umts.delivery=in-sequence --simulate",
        "The model and its limits\nare in docs/predict.md; a scenario that it does not speak of is refused.",
    )
    parser.add_argument("file", metavar="FILE", help="scenario file, or name of a ready-made scenario")
    parser.add_argument(
        "--set", dest="sets", action="append", type=assignment, default=[], metavar="PATH=VALUE",
        help="put a value over the file, as `cellwind run` does",
    )  # fmt: skip
    parser.add_argument(
        "--ret", type=duration, metavar="TIME",
        help="from the end of a TTI that failed until the block is sent again (default: that of the bearer)",
    )  # fmt: skip
    parser.add_argument("--simulate", action="store_true", help="run the scenario too, and compare")
    parser.add_argument(
        "--replications", type=replications, metavar="N", help="how often it runs (default: as the file says)"
    )
    add_jobs(parser)
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    return parser


def execute(args: argparse.Namespace) -> int:
    """Prints a table or JSON; a scenario that does not fit is bad input."""
    scenarios, errors = load_all([args.file], args.sets)
    for error in errors:
        complain(error)
    if errors:
        return USAGE
    (scenario,) = scenarios
    from cellwind.predict import UnfitError, predict
    from cellwind.predict.beside import beside

    if not args.simulate and (args.replications is not None or args.jobs is not None):
        complain("cellwind: --replications and --jobs are about the runs of --simulate")
        return USAGE
    try:
        prediction = predict(scenario, args.ret)
    except UnfitError as unfit:
        complain(f"{args.file}: the model does not fit: {unfit}")
        return USAGE
    pairs = beside(scenario, prediction, args.replications, args.jobs) if args.simulate else ()
    if args.json:
        say(json.dumps(_as_json(prediction, pairs), allow_nan=False, ensure_ascii=False))
        return DONE
    say(rendered(_table(prediction), *([_comparison(pairs)] if pairs else [])))
    for note in prediction.notes:
        say(f"Note: {note}.")
    return DONE


def _as_json(prediction: Prediction, pairs: Sequence[Pair]) -> dict[str, Any]:
    """The object of ``--json``; docs/predict.md has the keys."""
    found = prediction.as_dict()
    if pairs:
        found["simulated"] = {
            pair.key: {
                "predicted": pair.predicted,
                "mean": pair.simulated.mean if pair.simulated.n else None,
                "half_width": pair.simulated.half_width,
                "n": pair.simulated.n,
            }
            for pair in pairs
        }
    return found


def _table(prediction: Prediction) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    download = prediction.download
    title = Text(f"{prediction.scenario}: {prediction.flow}, {_bytes(download.file_bytes)}", style="bold")
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", min_width=min(60, width()))
    for heading, justify in (("", "left"), ("down", "right"), ("up", "right"), ("equation", "left")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]

    def ways(name: str, equation: str, text: Any) -> None:
        table.add_row(name, text(download.down), text(download.up), equation)

    def whole(name: str, equation: str, text: str) -> None:
        table.add_row(name, text, "", equation)

    ways("Radio blocks of a packet", "", lambda way: str(way.blocks))
    for i in (1, 2, 3):
        ways(f"At least {i} round{'s' * (i > 1)} of retransmission", "(5.3)", lambda way, i=i: _share(way, i))
    ways("Delay of a retransmission (ms)", "", lambda way: f"{1e3 * way.ret_s:g}")
    ways("Delay of a packet (ms)", "(5.6)", lambda way: f"{1e3 * way.sdu_delay_s:.1f}")
    ways("Packets per second", "(5.7)", lambda way: f"{way.packets_per_s:.4g}")
    whole("Round trip (ms)", "(5.8)", f"{1e3 * download.rtt_s:.1f}")
    whole("Round trip without errors (ms)", "(4) of Lo", f"{1e3 * download.shortest_rtt_s:.1f}")
    whole("Packets", "", str(download.packets))
    whole("Link busy from cycle", "(5.9)", str(download.cycle_full))
    whole("Last cycle", "(5.10)", str(download.cycle_last))
    whole("Time with gaps (s)", "(5.11)", f"{download.first_s:.3f}")
    whole("Packets after that", "(5.12)", str(download.remaining))
    whole("Their time (s)", "(5.13)", f"{download.second_s:.3f}")
    whole("Total (s)", "(5.14)", f"{download.total_s:.3f}")
    whole("Utilisation of the link (%)", "", f"{100 * download.utilisation:.1f}")
    whole("With set-up and the last way (s)", "5.3.4", f"{download.with_set_up_s:.3f}")
    return table


def _bytes(count: int) -> str:
    return f"{count:,} byte{'s' * (count != 1)}"


def _share(way: Way, i: int) -> str:
    return f"{100 * way.round_probability(i):.3g} %"


def _comparison(pairs: Sequence[Pair]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, min_width=min(60, width()))
    table.add_column("")
    for heading in ("model", "simulated", "± 95 %", "n", "difference"):
        table.add_column(heading, justify="right", no_wrap=True)
    for pair in pairs:
        difference = pair.difference
        table.add_row(
            f"{pair.name} ({pair.unit})",
            f"{pair.predicted * pair.scale:.4g}",
            *pair.simulated.text(pair.scale),
            str(pair.simulated.n),
            "–" if difference is None else f"{100 * difference:+.1f} %",
        )
    return table
