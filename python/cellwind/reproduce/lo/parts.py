"""Tables 1 to 3 and equations (1) and (4): the parts of the model, read back from the runs."""

from __future__ import annotations

from statistics import median

from ..design import Bench, Plan
from ..published import PublishedRow
from ..quantities import Point, Quantity
from .cells import TTI_S, Cell
from .observed import Observation, extra_ttis

LoBench = Bench[Cell, Observation]
LoPlan = Plan[Cell, Observation]

RLC = "radio: rlc am"

CLEAN = Cell("vegas", 0.0)
VEGAS_5 = Cell("vegas", 0.05)
RENO_30 = Cell("reno", 0.3)


def plans() -> dict[str, LoPlan]:
    """The plans of the tables and equations."""
    return {
        "table-1": Plan(quantities=lambda _: _waiting("poll_repeated", "deadlocks")),
        "table-2": Plan(quantities=lambda _: _waiting("status_overhead", "retransmission_delay_ms")),
        "table-3": Plan(traces=[RENO_30], measure=_parameter, quantities=_blocks),
        "equation-1": Plan(traces=[VEGAS_5], measure=_vegas_row, quantities=_vegas),
        "equation-4": Plan(traces=[CLEAN, RENO_30], measure=_ttis, quantities=_radio),
    }


def _waiting(*metrics: str) -> dict[str, Quantity]:
    points = Quantity.of(
        Point({"sender_triggers": on, "status_prohibit_ms": ms}, needs=RLC) for on in ("on", "off") for ms in (50, 100)
    )
    return dict.fromkeys(metrics, points)


def _parameter(bench: LoBench, row: PublishedRow, metric: str) -> Point:
    seen = bench.observed(RENO_30)
    radio = seen.radio
    match str(row.factors["parameter"]):
        case "window":
            return Point(value=max(seen.window.value))
        case "mss":
            sent = seen.sequence.sent.value
            return Point(value=float(sent[1] - sent[0]))
        case "rlc_payload":
            return Point(value=8.0 * radio.block_bytes)
        case "dl_rate":
            return Point(value=8e-3 * radio.block_bytes * radio.blocks_per_tti / radio.tti_s)
        case "tti_dl":
            return Point(value=round(1e3 * radio.tti_s, 6))
        case "tbler_max":
            return Point(value=100 * radio.error_share)
        case "transport_blocks_per_tti_dl":
            return Point(value=float(radio.blocks_per_tti))
        case "duration":
            return Point(value=float(seen.sequence.acked.time_s[-1]))
        case _:
            return Point(needs=RLC)


def _blocks(bench: LoBench) -> dict[str, Quantity]:
    return {"transport_blocks_per_tti": Quantity.constant(float(bench.observed(RENO_30).radio.blocks_per_tti))}


def _delta(window: float, rtt_base: float, rtt: float) -> float:
    """Equation (1)."""
    return (window / rtt_base - window / rtt) * rtt_base


def _changes(bench: LoBench) -> dict[int, list[int]]:
    """The changes of the window after the rounds of Vegas, by Δ to the nearest whole segment."""
    found: dict[int, list[int]] = {}
    for seen in bench.observed(VEGAS_5).rounds:
        found.setdefault(int(seen.delta + 0.5), []).append(seen.change)
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
