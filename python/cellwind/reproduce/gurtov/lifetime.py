"""P9: what lifetimes in packets do for a news ticker, for TCP and for TFRC."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..design import Bench, Plan
from ..estimates import column, mean_point
from ..published import PublishedRow
from ..quantities import Point, Quantity
from .figures import sequence
from .lifetime_cells import ADU_INTERVAL_S, MTU, Lifetime, Reselections, Tcp
from .lifetime_observed import LifetimeObservation

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

LifetimeBench = Bench[Lifetime, LifetimeObservation]
Read = Callable[[LifetimeObservation, Lifetime], float]

TICKERS = [Lifetime("ticker", check, buffer) for check in (False, True) for buffer in (10, 100)]
RESELECTIONS: tuple[Reselections, ...] = ("easy", "mediocre", "difficult")
NEWS = [
    Lifetime("ticker-reselections", check, buffer, scenario)
    for check in (False, True)
    for buffer in (10, 100)
    for scenario in RESELECTIONS
]
STACKS: tuple[Tcp, ...] = ("reno", "eifel", "atp")
TCPS = [
    Lifetime("tcp-reselections", tcp == "atp", buffer, scenario, tcp)
    for tcp in STACKS
    for buffer in (10, 100)
    for scenario in RESELECTIONS
]
TCP_DELAYED = [Lifetime("tcp", check) for check in (False, True)]
SETTINGS = [Lifetime("tcp", True, lifetime="rto"), Lifetime("tcp-just-above", True)]
TFRCS = [Lifetime("tfrc", check) for check in (False, True)]

# How far the rate must have come back, and over how long arrivals are counted: the time of ten packets.
_NORMAL = 0.9
_WINDOW_S = 2.7
# How long before the delay the rate is taken for the normal one, and how long after it losses are put down to it.
_BEFORE_S = 5.0
_AFTER_S = 30.0


def plans() -> dict[str, Plan[Any, Any]]:
    """The plans of Figures 3, 4, 5, 7 and 8 and of the passage on the setting."""
    return {
        "p9-figure-3": Plan(
            cells=TICKERS, traces=TICKERS, scope={"buffer_kbytes": 100}, measure=_figure_3, quantities=_tickers
        ),
        "p9-figure-4": Plan(
            cells=TCP_DELAYED, traces=TCP_DELAYED, measure=_figure_4, quantities=_bulk, figures=_bulk_figures
        ),
        "p9-lifetime-setting": Plan(cells=SETTINGS, traces=SETTINGS, quantities=_settings),
        "p9-figure-5": Plan(cells=TFRCS, traces=TFRCS, measure=_figure_5, quantities=_rates),
        "p9-figure-7": Plan(cells=TCPS, traces=TCPS, quantities=_transfers),
        "p9-figure-8": Plan(cells=NEWS, traces=NEWS, measure=_figure_8, quantities=_news),
    }


def _over(bench: LifetimeBench, cells: Iterable[Lifetime], read: Read) -> Quantity:
    return Quantity.of(_mean(bench, cell, read) for cell in cells)


def _mean(bench: LifetimeBench, cell: Lifetime, read: Read) -> Point:
    return mean_point(cell.factors, [float(read(run, cell)) for run in bench.observations(cell)])


# Figures 3 and 8: the news ticker.


def _only_expired_s(run: LifetimeObservation, cell: Lifetime) -> float:
    """From the end of the delay, how long nothing arrives in time although something arrives."""
    end = cell.delay_s[1]
    after = run.arrivals_s > end
    if not (run.left_s[after] < 0).any():
        return 0.0
    fresh = run.arrivals_s[after & (run.left_s >= 0)]
    return float((fresh[0] if len(fresh) else run.arrivals_s[-1]) - end)


def _to_fresh_s(run: LifetimeObservation, cell: Lifetime) -> float:
    fresh = run.arrivals_s[(run.arrivals_s > cell.delay_s[1]) & (run.left_s >= 0)]
    return float(fresh[0]) - cell.delay_s[1] if len(fresh) else float("nan")


def _late(run: LifetimeObservation, _: Lifetime) -> float:
    return float((run.left_s < 0).sum())


def _valid(run: LifetimeObservation, _: Lifetime) -> float:
    return float((run.left_s >= 0).sum())


def _useless(run: LifetimeObservation, _: Lifetime) -> float:
    return float((run.left_s < 0).mean()) if len(run.left_s) else 0.0


def _figure_3(bench: LifetimeBench, row: PublishedRow, metric: str) -> Point:
    if metric == "value_s":
        return Point(value=8 * MTU / 9600)
    return _mean(bench, Lifetime("ticker", row.factors["deadline_check"] == "on"), _only_expired_s)


def _tickers(bench: LifetimeBench) -> dict[str, Quantity]:
    def gain(buffer: int) -> Point:
        valid = [_mean(bench, Lifetime("ticker", check, buffer), _valid).number for check in (True, False)]
        return Point({"buffer_kbytes": buffer}, valid[0] - valid[1])

    return {
        "only_expired_delivered_for_s": _over(bench, TICKERS, _only_expired_s),
        "expired_sent": _over(bench, TICKERS, _late),
        "time_to_fresh_s": _over(bench, TICKERS, _to_fresh_s),
        "interval_s": Quantity.constant(ADU_INTERVAL_S),
        "gain_packets": Quantity.of(map(gain, (10, 100))),
    }


def _figure_8(bench: LifetimeBench, row: PublishedRow, metric: str) -> Point:
    is_checked = row.factors["transport"] == "atp"
    shares = [_mean(bench, cell, _useless) for cell in NEWS if cell.check == is_checked]
    most = max(shares, key=lambda point: point.number)
    return Point(value=100 * most.number, half_width=_times(most.half_width, 100), n=most.n, detail=most.label())


def _news(bench: LifetimeBench) -> dict[str, Quantity]:
    return {"useless_fraction": _over(bench, NEWS, _useless), "valid_packets": _over(bench, NEWS, _valid)}


# Figures 4 and 7: TCP.


def _after_delay_start(run: LifetimeObservation, cell: Lifetime) -> float:
    late = run.timeouts_s[run.timeouts_s > cell.delay_s[0]]
    return float(late[0]) if len(late) else float("nan")


def _duplicates(run: LifetimeObservation, _: Lifetime) -> float:
    return float(len(run.duplicates_s))


def _first_duplicate(run: LifetimeObservation, _: Lifetime) -> float:
    return float(run.duplicates_s[0]) if len(run.duplicates_s) else float("nan")


def _figure_4(bench: LifetimeBench, row: PublishedRow, metric: str) -> Point:
    read = _after_delay_start if "timeout" in str(row.factors["event"]) else _first_duplicate
    return _mean(bench, TCP_DELAYED[0], read)


def _outstanding(run: LifetimeObservation, cell: Lifetime) -> float:
    """Segments sent and not acknowledged when the delay begins."""
    seen, start = run.sequence, cell.delay_s[0]
    segment = float(seen.sent.value[1] - seen.sent.value[0])
    sent = float(seen.sent.value[seen.sent.time_s <= start].max(initial=0.0)) + segment
    acked = float(seen.acked.value[seen.acked.time_s <= start].max(initial=0.0))
    return round((sent - acked) / segment)


def _bulk(bench: LifetimeBench) -> dict[str, Quantity]:
    return {
        "first_timeout_s": _over(bench, TCP_DELAYED, _after_delay_start),
        "redundant_retransmissions": _over(bench, TCP_DELAYED, _duplicates),
        "outstanding": _over(bench, TCP_DELAYED, _outstanding),
        "spurious_fast_retransmits": _over(bench, TCP_DELAYED, lambda run, _: float(len(run.fast_retransmits_s))),
    }


def _bulk_figures(bench: LifetimeBench) -> list[Figure]:
    notes = {False: "The queue does not look at deadlines.", True: "The queue drops what has expired."}
    found = []
    for cell in TCP_DELAYED:
        run = bench.observed(cell)
        title = f"TCP and a delay from 10 to 20 s, {'with' if cell.check else 'without'} deadlines"
        found.append(sequence(title, run, notes[cell.check]))
    return found


def _settings(bench: LifetimeBench) -> dict[str, Quantity]:
    short, long = SETTINGS
    # What expires before the delay is wrongly expired: nothing was lost and no timer had fired.
    wrong = _mean(bench, short, lambda run, cell: float((run.expired_s < cell.delay_s[0]).sum()))
    return {
        "wrong_expiries": Quantity.of([Point({"lifetime": "rto"}, wrong.value)]),
        "redundant": Quantity.of(
            [Point({"lifetime": "rto_plus_rtt", "delay": "just_above_rto"}, _mean(bench, long, _duplicates).value)]
        ),
    }


def _transfers(bench: LifetimeBench) -> dict[str, Quantity]:
    time = Quantity.of(mean_point(cell.factors, column(bench.flows(cell), "duration_s")) for cell in TCPS)
    return {"time": time, "redundant": _over(bench, TCPS, _duplicates)}


# Figure 5: TFRC.


def _recovery_s(run: LifetimeObservation, cell: Lifetime) -> float:
    """From the end of the delay until as much arrives as before it, counted over the time of ten packets."""
    import numpy as np

    start, end = cell.delay_s
    before = (run.arrivals_s > start - _BEFORE_S) & (run.arrivals_s <= start)
    normal = run.arrived_bytes[before].sum() / _BEFORE_S
    for time in np.arange(end + _WINDOW_S, run.arrivals_s[-1], 0.1):
        window = (run.arrivals_s > time - _WINDOW_S) & (run.arrivals_s <= time)
        # What stood in the queue arrives at once and says nothing of the sender.
        sent = run.sequence.sent.time_s
        sends = ((sent > time - _WINDOW_S) & (sent <= time)).sum()
        if (
            run.arrived_bytes[window].sum() / _WINDOW_S >= _NORMAL * normal
            and sends * 1000 / _WINDOW_S >= _NORMAL * normal
        ):
            return float(time) - end
    return float("nan")


def _loss_events(run: LifetimeObservation, cell: Lifetime) -> float:
    """Rises of the loss event rate as the receiver told it, from the start of the delay until 30 s after its end."""
    import numpy as np

    start, end = cell.delay_s
    after = run.loss_rates[(run.rates_s > start) & (run.rates_s <= end + _AFTER_S)]
    return float((np.diff(after, prepend=0.0) > 0).sum())


def _throughput(run: LifetimeObservation, cell: Lifetime) -> float:
    after = run.arrivals_s > cell.delay_s[0]
    return float(8 * run.arrived_bytes[after].sum() / (run.arrivals_s[-1] - cell.delay_s[0]))


def _figure_5(bench: LifetimeBench, row: PublishedRow, metric: str) -> Point:
    if metric == "return_to_normal_s":
        return _mean(bench, TFRCS[0], _recovery_s)
    plain, checked = (_mean(bench, cell, _throughput).number for cell in TFRCS)
    return Point(value=100 * (checked / plain - 1))


def _rates(bench: LifetimeBench) -> dict[str, Quantity]:
    return {
        "recovery_s": _over(bench, TFRCS, _recovery_s),
        "loss_events": _over(bench, TFRCS, _loss_events),
        "throughput": _over(bench, TFRCS, _throughput),
    }


def _times(half_width: float | None, factor: float) -> float | None:
    return None if half_width is None else factor * half_width
