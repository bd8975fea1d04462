"""P8, sections II and III: one delay spike or one fall of the rate, and what Eifel makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cellwind.report.figure import Axis, Color, Figure, Series

from ..design import Bench, Plan
from ..published import PublishedRow
from ..quantities import Point, Quantity
from . import traces
from .runs import FLOW, Run, Transfer, at, numbers, of_transport, transfer

GurtovBench = Bench[Any, Any]

# Packets of 1000 bytes, of which 52 are headers with timestamps.
SEGMENT_BYTES = 948
PACKET_BITS = 8 * 1000
LINK_BPS = 30_000
_FALLS_S = 0.5

# The delay holds segments 6 to 12: seven are outstanding when the timer fires, the oldest of them is the sixth.
_OLDEST, _NEWEST = 6, 12

_SPIKE = """
[access.radio]
type = "link"
rate = "30 kbit/s"
delay = "300 ms"

[spikes.delay]
list = [{ at = "3 s", duration = "5 s" }]
"""

_FALL = f"""
[access.radio]
type = "link"
rate = "300 kbit/s"
delay = "15 ms"

[[event]]
at = "{_FALLS_S:g} s"
set = {{ "access.radio.rate" = "10 kbit/s" }}
"""

_RECOVERIES: Mapping[str, Mapping[str, Any]] = {
    "reno": {"recovery": {"type": "reno", "bug_fix": "off"}},
    "newreno": {"recovery": {"type": "newreno", "bug_fix": "off"}},
    "reno_sack": {"sack": True, "recovery": {"type": "sack", "rescue": "off"}},
}


def _eifel(option: int = 1) -> dict[str, Any]:
    response = f"option-{option}"
    return {"spurious": {"type": "eifel", "after": "both", "lost_acks": "spurious", "response": response}}


def _run(name: str, path: str, transport: Mapping[str, Any], lost: range = range(0)) -> Run:
    """A run of 100 kB; ``lost`` are segments whose first transmission is lost."""
    values = {f"flow.{FLOW}.bulk": "100 segments", **of_transport({"receive_window": "20 segments", **transport})}
    if lost:
        values["access.radio.down.faults"] = [{"drop_segment": number, "transmission": 1} for number in lost]
    return Run("P8", name, path, values, is_deterministic=True)


SACK = {
    "delay_spike": _run("spike-sack", _SPIKE, _RECOVERIES["reno_sack"]),
    "bandwidth_change": _run("fall-sack", _FALL, _RECOVERIES["reno_sack"]),
}
SACK_EIFEL = {
    "delay_spike": _run("spike-sack-eifel", _SPIKE, {**_RECOVERIES["reno_sack"], **_eifel()}),
    "bandwidth_change": _run("fall-sack-eifel", _FALL, {**_RECOVERIES["reno_sack"], **_eifel()}),
}
ONE_LOST = {
    bug_fix: _run(
        f"one-lost-bug-fix-{bug_fix}",
        _SPIKE,
        {"recovery": {"type": "reno", "bug_fix": "careful" if bug_fix == "on" else "off"}, **_eifel()},
        range(_OLDEST + 2, _OLDEST + 3),
    )
    for bug_fix in ("on", "off")
}
ALL_LOST = {
    tcp: _run(f"all-lost-{tcp.replace('_', '-')}", _SPIKE, {**recovery, **_eifel()}, range(_OLDEST + 1, _NEWEST + 1))
    for tcp, recovery in _RECOVERIES.items()
}
OPTIONS = {
    option: _run(f"option-{option}", _SPIKE, {**_RECOVERIES["reno_sack"], **_eifel(option)}) for option in (2, 3, 4)
}
TIMERS = {
    "plain": _run("timer-plain", _SPIKE, {**_RECOVERIES["reno"], "timestamps": False, "rto.timing": "per-window"}),
    "timestamps": _run("timer-timestamps", _SPIKE, _RECOVERIES["reno"]),
    "eifel": _run("timer-eifel", _SPIKE, {**_RECOVERIES["reno"], **_eifel()}),
}


def plans() -> dict[str, Plan[Any, Any]]:
    """The plans of Figures 1 to 6."""
    return {
        "p8-figure-1": _figure_1(),
        "p8-figure-2": _figure_2(),
        "p8-figure-3": _figure_3(),
        "p8-figure-4": _figure_4(),
        "p8-figure-5": _figure_5(),
        "p8-figure-6": _figure_6(),
    }


def _figure_1() -> Plan[Any, Any]:
    def measure(bench: GurtovBench, row: PublishedRow, _: str) -> Point:
        samples = transfer(bench, SACK["bandwidth_change"]).timer.samples
        if row.factors["quantity"] == "RTT before":
            return Point(value=1e3 * float(samples.value[samples.time_s < _FALLS_S].min()))
        # The first round trip that saw nothing of the old rate.
        late = samples.value[samples.time_s >= _FALLS_S + 1.0]
        return Point(value=float(late[0]))

    def quantities(bench: GurtovBench) -> dict[str, Quantity]:
        return {
            "spurious_timeouts": Quantity.of(
                Point({"case": case, "tcp": "sack"}, float(len(transfer(bench, run).spurious_s)))
                for case, run in SACK.items()
            ),
            "send_rate_over_link_rate": Quantity.of(
                [Point({"case": "delay_spike", "tcp": "sack"}, _rate(transfer(bench, SACK["delay_spike"])))]
            ),
        }

    return Plan(
        traces=list(SACK.values()),
        measure=measure,
        quantities=quantities,
        figures=traces.sequences(SACK, "SACK and a {}", until_s=30.0),
    )


def _rate(seen: Transfer) -> float:
    """What the sender sends over the rate of the link, while the originals that the delay held drain."""
    begins = seen.first(seen.sequence.acked.time_s, float(seen.timeouts_s[0]))
    ends = begins + (seen.outstanding - 1) * PACKET_BITS / LINK_BPS
    left = [*seen.sequence.sent.time_s.tolist(), *seen.sequence.resent.time_s.tolist()]
    count = sum(begins <= time < ends for time in left)
    return float(count * PACKET_BITS / (ends - begins) / LINK_BPS)


def _figure_2() -> Plan[Any, Any]:
    def quantities(bench: GurtovBench) -> dict[str, Quantity]:
        def of(read: Callable[[Transfer], float]) -> Quantity:
            points = numbers(bench, "case", SACK_EIFEL, read).points
            return Quantity.of(Point({**point.factors, "tcp": "sack_eifel"}, point.value) for point in points)

        return {
            "redundant_retransmissions": of(lambda seen: seen.redundant),
            "cwnd_before": of(lambda seen: seen.before(seen.window.cwnd)),
            "cwnd_after": of(lambda seen: seen.after(seen.window.cwnd)),
        }

    return Plan(
        traces=list(SACK_EIFEL.values()),
        quantities=quantities,
        figures=traces.sequences(SACK_EIFEL, "SACK with Eifel and a {}", until_s=30.0),
    )


def _series(seen: Transfer) -> float:
    return float(len(seen.timeout_series_s))


def _figure_3() -> Plan[Any, Any]:
    def measure(bench: GurtovBench, row: PublishedRow, _: str) -> Point:
        return Point(value=_series(transfer(bench, ONE_LOST["on" if row.factors["bug_fix"] else "off"])))

    return Plan(
        traces=list(ONE_LOST.values()),
        measure=measure,
        quantities=lambda bench: {
            "timeouts": numbers(bench, "bug_fix", ONE_LOST, _series),
            "fast_retransmits": numbers(bench, "bug_fix", ONE_LOST, lambda seen: len(seen.fast_retransmits_s)),
        },
        figures=traces.sequences(ONE_LOST, "Reno with Eifel, a delayed segment lost, bug fix {}", until_s=30.0),
    )


def _figure_4() -> Plan[Any, Any]:
    def recovery_s(seen: Transfer) -> float:
        """From the end of the delay until all that it held is acknowledged."""
        acked = seen.sequence.acked
        return seen.first(acked.time_s[acked.value > _NEWEST * SEGMENT_BYTES], 0.0) - 8.0

    return Plan(
        traces=list(ALL_LOST.values()),
        measure=lambda bench, row, _: Point(value=_series(transfer(bench, ALL_LOST[str(row.factors["tcp"])]))),
        quantities=lambda bench: {
            "timeouts": numbers(bench, "tcp", ALL_LOST, _series),
            "recovery_s": numbers(bench, "tcp", ALL_LOST, recovery_s),
        },
        figures=traces.sequences(ALL_LOST, "{} with Eifel, all delayed segments but one lost", until_s=30.0),
    )


def _figure_5() -> Plan[Any, Any]:
    def on_first_acks(seen: Transfer) -> float:
        """New segments that leave with the first three acknowledgements after the delay."""
        undone = seen.first(seen.undone_s, 0.0)
        acks = seen.sequence.acked.time_s[seen.sequence.acked.time_s >= undone][:3]
        sent = seen.sequence.sent.time_s
        return float(((sent >= undone) & (sent <= acks[-1])).sum())

    return Plan(
        traces=list(OPTIONS.values()),
        quantities=lambda bench: {
            "segments_on_first_acks": numbers(bench, "option", OPTIONS, on_first_acks),
            "cwnd_after": numbers(bench, "option", OPTIONS, lambda seen: seen.after(seen.window.cwnd)),
            "ssthresh_after": numbers(bench, "option", OPTIONS, lambda seen: seen.after(seen.window.ssthresh)),
        },
        figures=traces.sequences(OPTIONS, "Option {} after a spurious timeout in slow start", until_s=30.0),
    )


def _figure_6() -> Plan[Any, Any]:
    def rto(seen: Transfer, when: str) -> float:
        expired = float(seen.timeouts_s[0])
        answered = seen.first(seen.sequence.acked.time_s, expired)
        match when:
            case "before":
                return seen.before(seen.timer.rto)
            case "after":
                window = (seen.timer.rto.time_s > answered) & (seen.timer.rto.time_s <= answered + 3.0)
                return float(seen.timer.rto.value[window].max(initial=0.0))
            case _:
                return at(seen.timer.rto, answered + 15.0)

    def settles(seen: Transfer) -> float:
        """From the timeout until the RTO has come within a tenth of what it is at the end."""
        points, expired = seen.timer.rto, float(seen.timeouts_s[0])
        high = points.time_s[(points.time_s > expired) & (points.value > 1.1 * points.value[-1])]
        return float(high[-1]) - expired if len(high) else 0.0

    def quantities(bench: GurtovBench) -> dict[str, Quantity]:
        return {
            "rto_s": Quantity.of(
                Point({"tcp": name, "at": when}, rto(transfer(bench, run), when))
                for name, run in TIMERS.items()
                for when in ("before", "after", "later")
            )
        }

    return Plan(
        traces=list(TIMERS.values()),
        measure=lambda bench, row, _: Point(value=settles(transfer(bench, TIMERS[str(row.factors["tcp"])]))),
        quantities=quantities,
        figures=lambda bench: [_timers(bench)],
    )


def _timers(bench: GurtovBench) -> Figure:
    colors: tuple[Color, ...] = ("blue", "amber", "green")
    series = []
    for color, (name, run) in zip(colors, TIMERS.items(), strict=True):
        points = transfer(bench, run).timer.rto
        shown = points.time_s <= 40.0
        series.append(Series(name, "step", points.time_s[shown], np.asarray(points.value[shown]), color=color))
    return Figure(
        title="Reno's RTO around a delay of 5 s",
        x=Axis("Time", "s", from_zero=True),
        y=Axis("RTO", "s", from_zero=True),
        series=series,
        note="Nothing is sent from 3 to 8 s. The back-off counts.",
        height=360,
    )
