"""Sections 7.3.2 and 7.4: handovers between any two networks, with ordinary TCP, Eifel and SACK."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from statistics import fmean

from ..design import Plan
from ..estimates import column, over
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from .cells import Buffering, Cell, Network, Options
from .handover import DELAYS_S, SCHEMES, time_of
from .observed import TeyebBench, TeyebPlan

PAIRS: Mapping[str, tuple[Network, Network]] = {
    "WLAN-UMTS": ("wlan", "umts"),
    "UMTS-WLAN": ("umts", "wlan"),
    "UMTS-GPRS": ("umts", "gprs"),
    "GPRS-UMTS": ("gprs", "umts"),
}
UPWARD = ("WLAN-UMTS", "UMTS-GPRS")
DOWNWARD = ("UMTS-WLAN", "GPRS-UMTS")
TCPS: Mapping[str, Options] = {"ordinary": "plain", "eifel": "eifel", "sack": "sack"}

_SHORT: Mapping[str, Buffering] = {"nb": "none", "ib": "intermediate", "fb": "full"}

# Times that differ by less share a sign of Table 7.2: the thesis calls a gain of 3 % one.
_TIE = 0.01


def of(pair: str, tcp: str, delay_s: int, scheme: str) -> Cell:
    """One of the 144 cells of Table 7.2."""
    origin, target = PAIRS[pair]
    return Cell("handover", TCPS[tcp], "in_sequence", delay_s, scheme, origin, target)  # type: ignore[arg-type]


def cells_of(pairs: Iterable[str] = PAIRS, tcps: Iterable[str] = TCPS) -> list[Cell]:
    """The cells of these handovers and senders, for every delay and scheme."""
    senders = list(tcps)
    return [
        of(pair, tcp, delay, scheme) for pair in pairs for delay in DELAYS_S for tcp in senders for scheme in SCHEMES
    ]


def plans() -> dict[str, TeyebPlan]:
    """The plans of section 7.3.2 without traces, of Table 7.2 and of the summary."""
    return {
        "umts-to-wlan": _downward(),
        "umts-to-gprs": Plan(cells=cells_of(["UMTS-GPRS"], ["ordinary"]), scope=_scope("UMTS-GPRS"), quantities=_times),
        "figure-7-16": _figure_7_16(),
        "table-7-2": Plan(cells=cells_of(), measure=_sign, quantities=_times),
        "handover-summary": Plan(cells=cells_of(), measure=_largest, quantities=_wins),
    }


def _scope(pair: str) -> dict[str, Factor]:
    return {"handover": pair}


def _factors(cell: Cell) -> dict[str, Factor]:
    pair = next(name for name, networks in PAIRS.items() if networks == (cell.origin, cell.target))
    tcp = next((name for name, option in TCPS.items() if option == cell.tcp), cell.tcp)
    return {"handover": pair, "tcp": tcp, **cell.factors}


def _times(bench: TeyebBench) -> dict[str, Quantity]:
    cells = [cell for cell in cells_of() if bench.has(cell)]
    return {"download_time": over(cells, _factors, lambda cell: replace(time_of(bench, cell), factors=_factors(cell)))}


def _gain(bench: TeyebBench, cell: Cell, before: Cell) -> tuple[float, float, float]:
    """What a cell changes against another: seconds, kbit/s, and percent of the smaller goodput."""
    time, time_before = time_of(bench, cell).number, time_of(bench, before).number
    rate, rate_before = (8e-3 * cell.file_bytes / seconds for seconds in (time, time_before))
    return time - time_before, rate - rate_before, 100 * (rate - rate_before) / min(rate, rate_before)


# From UMTS to WLAN.


def _downward() -> TeyebPlan:
    none = of("UMTS-WLAN", "ordinary", 2, "none")

    def measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
        seen = bench.observed(none).met
        timeouts = seen.timeouts_after(seen.start_s)
        match row.factors.get("quantity"):
            case "before the handover":
                return Point(value=seen.rtt_before_s if metric == "rtt_s" else seen.rto_before_s)
            case "before the handover from WLAN to UMTS":
                return Point(value=bench.observed(of("WLAN-UMTS", "ordinary", 2, "none")).met.rtt_before_s)
            case "second timeout after the start":
                return Point(value=timeouts[1] - seen.start_s)
            case "wait after the handover":
                return Point(value=timeouts[1] - seen.end_s)
        scheme = str(row.factors["buffering"])
        change = _gain(bench, of("UMTS-WLAN", "sack", 0, scheme), of("UMTS-WLAN", "ordinary", 0, scheme))
        return Point(value=change[("change_vs_ordinary_s", "goodput_gain_kbps", "goodput_gain_percent").index(metric)])

    return Plan(
        cells=cells_of(["UMTS-WLAN"]),
        traces=[none, of("WLAN-UMTS", "ordinary", 2, "none")],
        scope=_scope("UMTS-WLAN"),
        measure=measure,
        quantities=_times,
    )


# From GPRS to UMTS.


def _figure_7_16() -> TeyebPlan:
    def measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
        none = of("GPRS-UMTS", "ordinary", int(row.factors.get("handover_delay_s", 0)), "none")
        if metric == "download_time_s":
            return time_of(bench, none)
        seconds, rate, percent = _gain(bench, replace(none, buffering="intermediate"), none)
        return Point(value={"change_vs_none_s": seconds, "goodput_loss_kbps": -rate}.get(metric, -percent))

    return Plan(
        cells=cells_of(["GPRS-UMTS"], ["ordinary"]),
        scope={**_scope("GPRS-UMTS"), "tcp": "ordinary"},
        measure=measure,
        quantities=_times,
    )


# Table 7.2.


def _sign(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    scheme, tcp = metric.split("_")
    pair, delay = str(row.factors["handover"]), int(row.factors["handover_delay_s"])
    times = {
        (other, sender): time_of(bench, of(pair, sender, delay, other)).number for other in SCHEMES for sender in TCPS
    }
    time = times[_SHORT[scheme], tcp]
    return Point(value=_sign_of(time, list(times.values())))


def _sign_of(time: float, row: list[float]) -> str:
    """The sign of one time in a row: best, better or worse than the mean, worst."""
    if time <= min(row) * (1 + _TIE):
        return "++"
    if time >= max(row) * (1 - _TIE):
        return "--"
    return "+" if time < fmean(row) else "-"


# Section 7.4 and 9.3.


def _largest(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    """The largest gain or loss of goodput over the cells of a sentence, in percent."""
    after = [delay for delay in DELAYS_S if delay]

    def against(pairs: Iterable[str], scheme: str, other: str) -> list[float]:
        ordinary = [
            (of(pair, "ordinary", delay, scheme), of(pair, "ordinary", delay, other))
            for pair in pairs
            for delay in after
        ]
        return [_gain(bench, *both)[2] for both in ordinary]

    def extended(pairs: Iterable[str], tcp: str, schemes: Iterable[str], delays: Iterable[int]) -> list[float]:
        known = [(pair, scheme, delay) for pair in pairs for scheme in schemes for delay in delays]
        both = [(of(pair, tcp, delay, scheme), of(pair, "ordinary", delay, scheme)) for pair, scheme, delay in known]
        return [_gain(bench, *cells)[2] for cells in both]

    rest = [pair for pair in PAIRS if pair != "GPRS-UMTS"]
    found: Mapping[str, Callable[[], list[float]]] = {
        "intermediate against none": lambda: against(rest, "intermediate", "none"),
        "intermediate against none, GPRS to UMTS": lambda: against(["GPRS-UMTS"], "intermediate", "none"),
        "full against none, upward": lambda: against(UPWARD, "full", "none"),
        "full against none, downward": lambda: against(DOWNWARD, "full", "none"),
        "Eifel with intermediate or none, UMTS to WLAN": lambda: extended(
            ["UMTS-WLAN"], "eifel", ("none", "intermediate"), DELAYS_S
        ),
        "Eifel with full": lambda: extended(PAIRS, "eifel", ("full",), DELAYS_S),
        "SACK with none at zero delay, downward": lambda: extended(DOWNWARD, "sack", ("none",), (0,)),
        "SACK with none at zero delay, upward": lambda: extended(UPWARD, "sack", ("none",), (0,)),
        "SACK with intermediate, GPRS to UMTS": lambda: extended(["GPRS-UMTS"], "sack", ("intermediate",), DELAYS_S),
    }
    changes = found[str(row.factors["quantity"])]()
    return Point(value=max(changes) if metric == "largest_gain_percent" else -min(changes))


def _wins(bench: TeyebBench) -> dict[str, Quantity]:
    """How often each scheme is the fastest for ordinary TCP, where a handover takes time."""
    wins = dict.fromkeys(SCHEMES, 0)
    for pair in PAIRS:
        for delay in DELAYS_S:
            if delay:
                times = {
                    scheme: column(bench.flows(of(pair, "ordinary", delay, scheme)), "duration_s")[0] or 0.0
                    for scheme in SCHEMES
                }
                wins[min(times, key=lambda scheme: times[scheme])] += 1
    return {"wins": Quantity.of(Point({"buffering": scheme}, float(count)) for scheme, count in wins.items())}
