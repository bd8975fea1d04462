"""Tables 1 to 3 and equations (1) and (4): the parts of the model, read back from the runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median

from ..design import Bench, Beside, Plan
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from .cells import DURATION_S, TCPS, TTI_S, Cell
from .observed import Observation, extra_ttis
from .reports import Reports

LoBench = Bench[Cell, Observation]
LoPlan = Plan[Cell, Observation]

CLEAN = Cell("vegas", 0.0)
VEGAS_5 = Cell("vegas", 0.05)
VEGAS_30 = Cell("vegas", 0.3)
ROUNDS = [CLEAN, Cell("vegas", 0.01), VEGAS_5]
RENO_5 = Cell("reno", 0.05)
RENO_30 = Cell("reno", 0.3)

# With and without what the sender does, over the error rates of the windows' figures.
TRIGGERS = [
    Cell(tcp, tbler, has_sender_triggers=on) for on in (True, False) for tcp in TCPS for tbler in (0, 0.05, 0.3)
]
FULL = Cell("reno", 0.0, has_sender_triggers=False)
# Half of the status prohibit timer chosen, that timer, and twice as much.
PROHIBITS = {20: Cell("reno", 0.05, status_prohibit_ms=20), 40: RENO_5, 80: Cell("reno", 0.05, status_prohibit_ms=80)}
# Without a packet for so long until its end, a run has come to a standstill: TCP's timer does not back off further.
_STANDSTILL_S = 64.0


def plans() -> dict[str, LoPlan]:
    """The plans of the tables and equations."""
    return {
        "table-1": Plan(traces=TRIGGERS, quantities=_sender, beside=_standstills),
        "table-2": Plan(traces=list(PROHIBITS.values()), quantities=_receiver, beside=_prohibits),
        "table-3": Plan(traces=[RENO_30, FULL], measure=_parameter, quantities=_blocks),
        "equation-1": Plan(traces=ROUNDS, measure=_vegas_row, quantities=_vegas),
        "equation-4": Plan(traces=[CLEAN, RENO_30], measure=_ttis, quantities=_radio),
    }


def _triggers(on: bool) -> dict[str, Factor]:
    return {"sender_triggers": "on" if on else "off"}


def _deadlocks(bench: LoBench, on: bool) -> Point:
    cells = [cell for cell in TRIGGERS if cell.has_sender_triggers == on]
    ends_s = [bench.observed(cell).reports.last_delivery_s for cell in cells]
    found = sum(end_s < DURATION_S - _STANDSTILL_S for end_s in ends_s)
    return Point(_triggers(on), float(found), detail=f"of {len(cells)} runs")


def _sender(bench: LoBench) -> dict[str, Quantity]:
    found = [bench.observed(cell).reports for cell in (VEGAS_30, RENO_30)]
    unanswered, repeated = sum(run.unanswered for run in found), sum(run.repeated for run in found)
    share = repeated / unanswered if unanswered else float("nan")
    return {
        "poll_repeated": Quantity.constant(share, f"{repeated} of {unanswered} polls that were lost"),
        "deadlocks": Quantity.of(_deadlocks(bench, on) for on in (True, False)),
    }


def _standstills(bench: LoBench) -> list[Beside]:
    return [
        *(Beside(_triggers(on), "deadlocks", partial(_deadlocks, bench, on)) for on in (True, False)),
        Beside(
            {**FULL.factors, **_triggers(False)},
            "last_delivery_s",
            lambda: Point(value=bench.observed(FULL).reports.last_delivery_s),
        ),
    ]


def _receiver(bench: LoBench) -> dict[str, Quantity]:
    seen = {ms: bench.observed(cell).reports for ms, cell in PROHIBITS.items()}

    def over(read: Callable[[Reports], float]) -> Quantity:
        return Quantity.of(Point({"status_prohibit_ms": ms}, read(run)) for ms, run in seen.items())

    return {
        "status_overhead": over(lambda run: run.overhead),
        "retransmission_delay_ms": over(lambda run: run.retransmission_ms),
    }


def _prohibits(bench: LoBench) -> list[Beside]:
    shown: dict[str, Callable[[Reports], float]] = {
        "uplink_blocks_percent": lambda run: 100 * run.overhead,
        "retransmission_delay_ms": lambda run: run.retransmission_ms,
        "blocks_resent_needlessly_percent": lambda run: 100 * run.needless,
    }

    def measure(cell: Cell, read: Callable[[Reports], float]) -> Point:
        return Point(value=read(bench.observed(cell).reports))

    return [
        Beside({"status_prohibit_ms": ms}, metric, partial(measure, cell, read))
        for ms, cell in PROHIBITS.items()
        for metric, read in shown.items()
    ]


def _parameter(bench: LoBench, row: PublishedRow, metric: str) -> Point:
    seen = bench.observed(RENO_30)
    radio = seen.radio
    payload = round(radio.payload_bytes)
    match str(row.factors["parameter"]):
        case "window":
            return Point(value=max(seen.window.value))
        case "mss":
            sent = seen.sequence.sent.value
            return Point(value=float(sent[1] - sent[0]))
        case "rlc_window":
            # Without a report the sender stops when the window is full.
            return Point(value=float(bench.observed(FULL).reports.new_blocks))
        case "rlc_payload":
            return Point(value=8.0 * payload)
        case "rlc_header":
            return Point(value=8.0 * (radio.block_bytes - payload))
        case "transport_block":
            return Point(value=8.0 * radio.block_bytes)
        case "dl_rate":
            return Point(value=8e-3 * payload * radio.blocks_per_tti / radio.tti_s)
        case "tti_dl":
            return Point(value=round(1e3 * radio.tti_s, 6))
        case "tbler_max":
            return Point(value=100 * radio.error_share)
        case "transport_blocks_per_tti_dl":
            return Point(value=float(radio.blocks_per_tti))
        case _:
            return Point(value=float(seen.sequence.acked.time_s[-1]))


def _blocks(bench: LoBench) -> dict[str, Quantity]:
    return {"transport_blocks_per_tti": Quantity.constant(float(bench.observed(RENO_30).radio.blocks_per_tti))}


def _delta(window: float, rtt_base: float, rtt: float) -> float:
    """Equation (1)."""
    return (window / rtt_base - window / rtt) * rtt_base


def _changes(bench: LoBench) -> dict[int, list[int]]:
    """The changes of the window after the rounds of Vegas, by Δ to the nearest whole segment."""
    found: dict[int, list[int]] = {}
    for one in (one for cell in ROUNDS for one in bench.observed(cell).rounds):
        found.setdefault(int(one.delta + 0.5), []).append(one.change)
    return found


def _vegas_row(bench: LoBench, row: PublishedRow, metric: str) -> Point:
    window, base, rtt = (float(row.factors[name]) for name in ("window_segments", "rtt_base_s", "rtt_s"))
    delta = _delta(window, base, rtt)
    if metric == "delta_segments":
        return Point(value=delta)
    changes = _changes(bench).get(int(delta + 0.5), [])
    return Point(value=float(median(changes)) if changes else float("nan"), detail=f"{len(changes)} rounds")


def _vegas(bench: LoBench) -> dict[str, Quantity]:
    points = []
    for delta, changes in sorted(_changes(bench).items()):
        share = sum(change == median(changes) for change in changes) / len(changes)
        detail = f"{100 * share:.0f} % of {len(changes)} rounds"
        points.append(Point({"delta": delta}, float(median(changes)), detail=detail))
    deltas = [
        Point({"window": window, "rtt": rtt, "rtt_base": 0.12}, _delta(window, 0.12, rtt))
        for window in (5, 6)
        for rtt in (0.2, 0.3)
    ]
    return {"window_change": Quantity.of(points), "delta": Quantity.of(deltas)}


def _ttis(bench: LoBench, row: PublishedRow, metric: str) -> Point:
    radio = bench.observed(CLEAN).radio
    match str(row.factors["quantity"]):
        case "552-byte packet downlink":
            return Point(value=round(radio.segment_s / TTI_S["down"], 6))
        case "40-byte ACK uplink":
            return Point(value=round(radio.ack_s / TTI_S["up"], 6))
        case _:
            return Point(value=round(extra_ttis(bench.observed(RENO_30).radio), 6))


def _radio(bench: LoBench) -> dict[str, Quantity]:
    fixed = bench.observed(CLEAN).fixed_s
    extra = extra_ttis(bench.observed(RENO_30).radio)
    return {
        "extra_ttis": Quantity.of([Point({"of": "retransmission"}, extra)]),
        "rtt_without_radio": Quantity.of(
            [Point({"end": "shortest"}, float(fixed.min())), Point({"end": "longest"}, float(fixed.max()))]
        ),
    }
