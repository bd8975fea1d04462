"""Section 2.3.1: which channel carries what, and who shares a cell how."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..design import Plan
from ..published import PublishedRow
from ..quantities import Point, Quantity
from .observed import TeyebBench, TeyebPlan
from .ping_cells import (
    C_TO_I,
    CELL_DCH,
    CELL_PCH,
    FAST_KBPS,
    HEADERS,
    Pings,
    PingsSeen,
    Policy,
    Sharing,
    alone_kbps,
)

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

# Table 2.1: the sixth ping meets the reselection.
_FACH = Pings("fach", size=32, count=8, reselection_s=5)
_DCH = Pings("dch", size=128, count=5, is_idle=True)
_GROWING = Pings("growing", size=1, count=400, grow=1)
# Figure 2.5, of a volume on either side of each threshold; the later pings find the dedicated channel.
_BELOW_LOW = Pings("below-low", size=200, count=3, interval_s=2, is_switched=True)
_BELOW_HIGH = Pings("below-high", size=800, count=3, interval_s=2, is_switched=True)
_ABOVE_HIGH = Pings("above-high", size=1400, count=3, interval_s=2, is_switched=True)
_SELDOM = Pings("seldom", size=300, count=3, interval_s=30)

POLICIES: tuple[Policy, ...] = ("fair_throughput", "fair_resource", "c_over_i", "proportional_fair")


def plans() -> dict[str, TeyebPlan]:
    """The plans of Table 2.1, Figures 2.5 and 2.6, and of section 2.3.1.2."""
    return {
        "table-2-1": Plan(traces=[_FACH, _DCH], measure=_ping, quantities=_traces),
        "figure-2-5": Plan(traces=[_BELOW_LOW, _BELOW_HIGH, _ABOVE_HIGH, _SELDOM], quantities=_switching),
        "figure-2-6": Plan(traces=[_GROWING], measure=_threshold, quantities=_sizes, figures=_figures),
        "packet-scheduling": Plan(cells=[Sharing(policy) for policy in POLICIES], quantities=_sharing),
    }


def _of(bench: TeyebBench, cell: Pings) -> PingsSeen:
    seen = bench.observed(cell).pings
    assert seen is not None
    return seen


def _ping(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    cell = _FACH if row.factors["channel"] == "fach" else _DCH
    number = int(row.factors["ping"])
    return Point(value=_of(bench, cell).rtt_ms[number - 1])


def _traces(bench: TeyebBench) -> dict[str, Quantity]:
    by_ping = [
        Point({"channel": channel, "ping": number + 1}, rtt)
        for channel, cell in (("fach", _FACH), ("dch", _DCH))
        for number, rtt in _of(bench, cell).rtt_ms.items()
    ]
    # The least, which met neither set-up nor reselection.
    typical = [
        Point({"channel": channel}, min(_of(bench, cell).rtt_ms.values()))
        for channel, cell in (("fach", _FACH), ("dch", _DCH))
    ]
    return {"rtt_ms": Quantity.of(by_ping), "typical_rtt_ms": Quantity.of(typical)}


def _switching(bench: TeyebBench) -> dict[str, Quantity]:
    buffers = {"below_low": _BELOW_LOW, "below_high": _BELOW_HIGH, "above_high": _ABOVE_HIGH}
    seen = {buffer: _of(bench, cell) for buffer, cell in buffers.items()}

    def entries(one: PingsSeen) -> int:
        return sum(state == CELL_DCH for _, state in one.states)

    def upgrades(one: PingsSeen) -> int:
        return sum(rate == FAST_KBPS for _, rate in one.rates)

    seldom = _of(bench, _SELDOM)
    dch, fach = _first_stay(seldom, CELL_DCH)
    # The buffer is empty from the last PDU on, and the time counts from the entry into the state at the earliest.
    empty = max([time for time in seldom.blocks_s if time < fach] + [dch])
    return {
        "dch_entries": Quantity.of(Point({"buffer": buffer}, float(entries(one))) for buffer, one in seen.items()),
        "upgrades": Quantity.of(Point({"buffer": buffer}, float(upgrades(one))) for buffer, one in seen.items()),
        "empty_before_fach_s": Quantity.constant(fach - empty),
        "throughput_kbps": Quantity.of([Point({"state": "cell_pch"}, float(_blocks_in(seldom, CELL_PCH)))]),
    }


def _stays(seen: PingsSeen, state: int) -> list[tuple[float, float]]:
    """When the terminal entered and left a state."""
    ends = [time for time, _ in seen.states[1:]] + [float("inf")]
    return [(begin, end) for (begin, entered), end in zip(seen.states, ends, strict=True) if entered == state]


def _first_stay(seen: PingsSeen, state: int) -> tuple[float, float]:
    return _stays(seen, state)[0]


def _blocks_in(seen: PingsSeen, state: int) -> int:
    """PDUs that were sent while the terminal was in a state."""
    stays = _stays(seen, state)
    assert stays, "the terminal is in that state"
    return sum(begin <= time < end for begin, end in stays for time in seen.blocks_s)


def _threshold(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    return Point(value=_dch_threshold(_of(bench, _GROWING)))


def _dch_threshold(seen: PingsSeen) -> float:
    """Bytes with headers of the ping at which the dedicated channel was asked for: the one before RTTs fall."""
    sizes = sorted(seen.rtt_ms)
    falls = max(sizes[1:], key=lambda number: seen.rtt_ms[number - 1] - seen.rtt_ms[number])
    return float(_GROWING.size + (falls - 1) * _GROWING.grow + HEADERS)


def _sizes(bench: TeyebBench) -> dict[str, Quantity]:
    seen = _of(bench, _GROWING)
    points = [Point({"ping_bytes": _GROWING.size + number}, rtt) for number, rtt in seen.rtt_ms.items()]
    return {"rtt_ms": Quantity.of(points), "dch_threshold_bytes": Quantity.constant(_dch_threshold(seen))}


def _figures(bench: TeyebBench) -> list[Figure]:
    import numpy as np

    from cellwind.report.figure import Axis, Figure, Series

    seen = _of(bench, _GROWING)
    sizes = np.array(sorted(seen.rtt_ms), dtype=float)
    rtt = np.array([seen.rtt_ms[int(number)] for number in sizes])
    series = [Series("round trip", "points", sizes + _GROWING.size, rtt, color="blue", size=2.0)]
    return [
        Figure(
            title="Figure 2.6: round trips of pings that grow",
            x=Axis("Size of the ping", "B", from_zero=True),
            y=Axis("Round-trip time", "ms", from_zero=True),
            series=series,
            note="The dedicated channel takes over when more than 250 bytes wait, headers of 28 bytes included.",
            height=340,
        )
    ]


def _sharing(bench: TeyebBench) -> dict[str, Quantity]:
    sent = {
        policy: [
            float(bearer["blocks_sent"])
            for bearer in bench.records(Sharing(policy))[0].bearers
            if bearer["name"].endswith("/down")
        ]
        for policy in POLICIES
    }
    rates = [alone_kbps(c_to_i) for c_to_i in C_TO_I]

    def of_all(measure: str) -> Quantity:
        return Quantity.of(
            Point({"policy": policy, "c_to_i_db": c_to_i}, blocks / (rate if measure == "resource" else 1.0))
            for policy, all_blocks in sent.items()
            for c_to_i, rate, blocks in zip(C_TO_I, rates, all_blocks, strict=True)
        )

    # PDUs of 320 bits in a minute.
    cell = [Point({"policy": policy}, sum(blocks) * 0.32 / 60) for policy, blocks in sent.items()]
    return {"throughput": of_all("throughput"), "resource": of_all("resource"), "cell_throughput": Quantity.of(cell)}
