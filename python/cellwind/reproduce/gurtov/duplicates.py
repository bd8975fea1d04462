"""P4: what the duplicate acknowledgements after a needless go-back-N do, over a link of 9600 bit/s."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cellwind.report.figure import Figure

from ..design import Bench, Plan
from ..published import PublishedRow
from ..quantities import Point, Quantity
from . import traces
from .runs import FLOW, Run, Transfer, of_transport, transfer

GurtovBench = Bench[Any, Any]

# What the settings of TCP do not have yet: the other ways to treat duplicate acknowledgements of Figures 5 and 6.
_MISSING = "transport: sending on duplicate ACKs that may not start a fast retransmit"

_LINK = """
[access.radio]
type = "link"
rate = "9600 bit/s"
delay = "300 ms"
"""
_DELAY = (
    _LINK
    + """
[spikes.delay]
list = [{ at = "8 s", duration = "15 s" }]
"""
)
# The segment that is lost where there is no delay: the first one behind which the whole window is under way.
_LOST = 20

_SACK: Mapping[str, Any] = {"sack": True, "recovery": {"type": "sack", "rescue": "off"}}


def _classic(recovery: str, bug_fix: str = "off") -> dict[str, Any]:
    return {"recovery": {"type": recovery, "bug_fix": bug_fix}}


def _run(name: str, path: str, transport: Mapping[str, Any], lost: int | None = None) -> Run:
    values = {f"flow.{FLOW}.bulk": "60 segments", **of_transport({"timestamps": True, **transport})}
    if lost is not None:
        values["access.radio.down.faults"] = [{"drop_segment": lost, "transmission": 1}]
    return Run("P4", name, path, values, is_deterministic=True)


_PER_WINDOW: Mapping[str, Any] = {"timestamps": False, "rto.timing": "per-window"}

TCPS = {
    "tahoe": _run("tahoe", _DELAY, _classic("tahoe")),
    "reno": _run("reno", _DELAY, _classic("reno")),
    "newreno": _run("newreno", _DELAY, _classic("newreno")),
    "sack": _run("sack", _DELAY, _SACK),
}
UNTIMED = {
    "reno": _run("reno-untimed", _DELAY, {**_classic("reno"), **_PER_WINDOW}),
    "sack": _run("sack-untimed", _DELAY, {**_SACK, **_PER_WINDOW}),
}
RESTARTED = {
    restart: _run(
        f"restart-{restart}", _LINK, {**_classic("reno"), "rto.restart_on_fast_retransmit": restart == "on"}, _LOST
    )
    for restart in ("off", "on")
}
TIMED = {
    "on": RESTARTED["on"],
    "off": _run("lost-untimed", _LINK, {**_classic("reno"), **_PER_WINDOW}, _LOST),
}
CAREFUL = _run("careful", _DELAY, _classic("reno", "careful"))


def plans() -> dict[str, Plan[Any, Any]]:
    """The plans of Figures 1 to 6."""
    return {
        "p4-figure-1": _figure_1(),
        "p4-figure-2": _figure_2(),
        "p4-figure-3": _figure_3(),
        "p4-figure-4": _figure_4(),
        "p4-figure-5": _figure_5(),
        "p4-figure-6": _figure_6(),
    }


def _of(bench: GurtovBench, factor: str, runs: Mapping[str, Run], read: Callable[[Transfer], float]) -> Quantity:
    return Quantity.of(Point({factor: name}, float(read(transfer(bench, run)))) for name, run in runs.items())


def _sequences(runs: Mapping[str, Run], title: str) -> Callable[[GurtovBench], list[Figure]]:
    return lambda bench: [traces.sequence(title.format(name), transfer(bench, run)) for name, run in runs.items()]


def _figure_1() -> Plan[Any, Any]:
    return Plan(
        traces=list(TCPS.values()),
        quantities=lambda bench: {
            "spurious_fast_retransmits": _of(bench, "tcp", TCPS, lambda seen: len(seen.fast_retransmits_s)),
            "redundant_retransmissions": _of(bench, "tcp", TCPS, lambda seen: seen.redundant),
            "outstanding": _of(bench, "tcp", TCPS, lambda seen: seen.outstanding),
        },
        figures=_sequences(TCPS, "A delay of 15 s, timestamps on, bug fix off: {}"),
    )


def _figure_2() -> Plan[Any, Any]:
    return Plan(
        traces=list(RESTARTED.values()),
        quantities=lambda bench: {"timeouts": _of(bench, "restart", RESTARTED, lambda seen: len(seen.timeouts_s))},
        figures=_sequences(RESTARTED, "Reno, one segment lost, timer restarted on fast retransmit: {}"),
    )


def _earlier(bench: GurtovBench, tcp: str) -> Point:
    """How much earlier the timer fires with one sample per window."""
    timed, untimed = transfer(bench, TCPS[tcp]), transfer(bench, UNTIMED[tcp])
    return Point({"tcp": tcp}, float(timed.timeouts_s[0] - untimed.timeouts_s[0]))


def _figure_3() -> Plan[Any, Any]:
    return Plan(
        traces=[*TCPS.values(), *UNTIMED.values()],
        measure=lambda bench, row, _: _earlier(bench, "reno"),
        quantities=lambda bench: {
            "earlier_s": Quantity.of(_earlier(bench, tcp) for tcp in UNTIMED),
            "spurious_timeouts": _of(bench, "tcp", UNTIMED, lambda seen: len(seen.spurious_s)),
        },
        figures=_sequences(UNTIMED, "The same delay with one sample per window: {}"),
    )


def _figure_4() -> Plan[Any, Any]:
    def on_duplicates(seen: Transfer) -> float:
        """Segments resent after the first timeout, at the instant of a duplicate acknowledgement."""
        if not len(seen.timeouts_s):
            return 0.0
        resent = seen.sequence.resent.time_s
        return float(np.isin(resent[resent > seen.timeouts_s[0]], seen.duplicates_s).sum())

    return Plan(
        traces=list(TIMED.values()),
        quantities=lambda bench: {
            "timeouts": _of(bench, "timestamps", TIMED, lambda seen: len(seen.timeouts_s)),
            "retransmissions_on_duplicates": _of(bench, "timestamps", TIMED, on_duplicates),
        },
        figures=_sequences(TIMED, "Reno, one segment lost, timestamps {}"),
    )


def _figure_5() -> Plan[Any, Any]:
    missing = Point({"tcp": "inflate"}, needs=_MISSING)

    def measure(bench: GurtovBench, row: PublishedRow, metric: str) -> Point:
        return missing

    def quantities(bench: GurtovBench) -> dict[str, Quantity]:
        seen = transfer(bench, CAREFUL)
        return {
            "spurious_fast_retransmits": Quantity.of(
                [Point({"tcp": "ignore"}, float(len(seen.fast_retransmits_s))), missing]
            ),
            "download_time": Quantity.of([Point({"tcp": "ignore"}, seen.duration_s), missing]),
        }

    return Plan(
        traces=[CAREFUL],
        measure=measure,
        quantities=quantities,
        figures=_sequences({"ignored": CAREFUL}, "Careful bug fix, duplicate acknowledgements {}"),
    )


def _figure_6() -> Plan[Any, Any]:
    names = ("inflate_without_deflating", "every_second", "ignored_after_timeout", "sent_on_after_timeout", "ignore")
    missing = Quantity.of(Point({"tcp": name}, needs=_MISSING) for name in names)
    return Plan(quantities=lambda _: {"losses": missing, "download_time": missing, "spurious_timeouts": missing})
