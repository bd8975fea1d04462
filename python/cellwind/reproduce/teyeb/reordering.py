"""Figures 6.4 to 6.8: what TCP makes of the order of delivery, and what the terminal must hold for it."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from ..design import Plan
from ..estimates import column, mean_point, spread_point
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from .bearer import Delivery
from .cells import Cell, Options
from .observed import TeyebBench, TeyebPlan
from .order import ORDERS

# Eifel, and SACK beside it.
SENDERS: dict[tuple[str, str], Options] = {
    ("off", "off"): "plain",
    ("off", "on"): "sack",
    ("on", "off"): "eifel",
    ("on", "on"): "sack_eifel",
}


def cell(delivery: Delivery, eifel: str, sack: str) -> Cell:
    """A download with these options."""
    return Cell("order", SENDERS[eifel, sack], delivery)


CELLS = [cell(delivery, eifel, sack) for delivery in ORDERS for eifel, sack in SENDERS]
OUT = [cell("out_of_sequence", eifel, sack) for eifel, sack in SENDERS]


def plans() -> dict[str, TeyebPlan]:
    """The plans of Figures 6.4 to 6.8 and of the recommendation."""
    return {
        "figure-6-4": Plan(cells=OUT, measure=_ratio_of_row, quantities=_ratios),
        "figure-6-5": Plan(traces=OUT, quantities=_first),
        "figure-6-6": Plan(traces=OUT, measure=_early, quantities=_distances),
        "figure-6-7": Plan(cells=CELLS, measure=_rtt_of_row, quantities=_rtts),
        "figure-6-8": Plan(traces=CELLS, measure=_buffers_of_row, quantities=_buffers),
        "rlc-order-recommendation": Plan(cells=CELLS, quantities=_both),
    }


def _factors(of: Cell) -> dict[str, Factor]:
    eifel, sack = next(words for words, option in SENDERS.items() if option == of.tcp)
    return {"rlc_delivery": of.delivery, "eifel": eifel, "sack": sack}


def _ratio(bench: TeyebBench, of: Cell) -> Point:
    rows = bench.flows(of)
    return mean_point(_factors(of), [100 * row["segments_retransmitted"] / row["segments_sent"] for row in rows])


def _rtt(bench: TeyebBench, of: Cell) -> Point:
    return mean_point(_factors(of), column(bench.flows(of), "rtt_mean_s"))


def _quantity(points: Iterable[Point]) -> Quantity:
    return Quantity.of(points)


# Figure 6.4.


def _ratio_of_row(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    return _ratio(bench, cell("out_of_sequence", "off", "on" if row.factors["tcp"] == "sack" else "off"))


def _ratios(bench: TeyebBench) -> dict[str, Quantity]:
    times = [mean_point(_factors(of), column(bench.flows(of), "duration_s")) for of in OUT]
    return {"retransmission_percent": _quantity(_ratio(bench, of) for of in OUT), "download_time": _quantity(times)}


# Figures 6.5 and 6.6.


def _first(bench: TeyebBench) -> dict[str, Quantity]:
    """When the first segment is sent again, in the downloads that send one again."""
    points = []
    for of in OUT:
        resent = [seen.sequence.resent.time_s for seen in bench.observations(of)]
        points.append(spread_point(_factors(of), [float(times[0]) for times in resent if len(times)]))
    return {"first_retransmission_time": _quantity(points)}


def _fewest(bench: TeyebBench, of: Cell) -> float:
    """The fewest duplicate acknowledgements after which a fast retransmit began."""
    counts = [seen.met.fast_retransmit_duplicates for seen in bench.observations(of)]
    return float(min(count.min() for count in counts if len(count)))


def _early(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    return Point(value=_fewest(bench, cell("out_of_sequence", "off", "on" if row.factors["tcp"] == "sack" else "off")))


def _distances(bench: TeyebBench) -> dict[str, Quantity]:
    return {"fewest_duplicates": _quantity(Point(_factors(of), _fewest(bench, of)) for of in OUT)}


# Figure 6.7.


def _rtt_of_row(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    delivery: Delivery = row.factors["rlc_delivery"]  # type: ignore[assignment]
    with_it, without = (
        fmean(_rtt(bench, cell(delivery, eifel, sack)).number for sack in ("off", "on")) for eifel in ("on", "off")
    )
    return Point(value=100 * (with_it / without - 1))


def _rtts(bench: TeyebBench) -> dict[str, Quantity]:
    return {"rtt": _quantity(_rtt(bench, of) for of in CELLS)}


# Figure 6.8.


def _most_held(bench: TeyebBench, of: Cell) -> Point:
    return spread_point(_factors(of), [seen.most_held_bytes for seen in bench.observations(of)])


def _held(bench: TeyebBench, order: Delivery) -> Point:
    """The mean over all senders."""
    found = [_most_held(bench, cell(order, eifel, sack)).number for eifel, sack in SENDERS]
    return Point({"rlc_delivery": order}, fmean(found))


def _buffers_of_row(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    return Point(value=_held(bench, "in_sequence").number / _held(bench, "out_of_sequence").number)


def _buffers(bench: TeyebBench) -> dict[str, Quantity]:
    return {"max_buffer": _quantity(_held(bench, order) for order in ORDERS)}


# Section 6.5.


def _both(bench: TeyebBench) -> dict[str, Quantity]:
    times = [mean_point(_factors(of), column(bench.flows(of), "duration_s")) for of in CELLS]
    return {"download_time": _quantity(times), **_rtts(bench)}
