"""P4: what the duplicate acknowledgements after a needless go-back-N do, over a link of 9600 bit/s."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..design import Bench, Plan
from ..published import PublishedRow
from ..quantities import Point, Quantity
from . import traces
from .runs import FLOW, Run, Transfer, numbers, of_transport, transfer

GurtovBench = Bench[Any, Any]

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


def _guarded(name: str, path: str, guarded_acks: str, **transport: Any) -> Run:
    """Reno with the careful bug fix; ``guarded_acks`` is what the duplicates do that it holds back."""
    return _run(name, path, {"recovery": {**_CAREFUL, "guarded_acks": guarded_acks}, **transport})


_CAREFUL: Mapping[str, Any] = {"type": "reno", "bug_fix": "careful"}
# A buffer of half the window, in which packets are lost.
_CONGESTED = _DELAY.replace("[spikes", 'queue = "10 packets"\n\n[spikes')
CAREFUL = {
    "ignore": _guarded("careful", _DELAY, "ignore"),
    "inflate": _guarded("careful-inflate", _DELAY, "inflate"),
}
CONGESTED = {
    "ignore": _guarded("congested", _CONGESTED, "ignore"),
    "inflate_without_deflating": _guarded("congested-inflate-for-good", _CONGESTED, "inflate-for-good"),
    "every_second": _guarded("congested-every-second", _CONGESTED, "every-second"),
}
AFTER_TIMEOUT = {
    ("ignored" if ignores else "sent_on") + "_after_timeout": _run(
        "untimed-ignore" if ignores else "untimed-sent-on",
        _DELAY,
        {"recovery": {**_CAREFUL, "guarded_acks": "inflate"}, **_PER_WINDOW, "rto.ignore_duplicate_acks": ignores},
    )
    for ignores in (True, False)
}


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


def _figure_1() -> Plan[Any, Any]:
    return Plan(
        traces=list(TCPS.values()),
        quantities=lambda bench: {
            "spurious_fast_retransmits": numbers(bench, "tcp", TCPS, lambda seen: len(seen.fast_retransmits_s)),
            "redundant_retransmissions": numbers(bench, "tcp", TCPS, lambda seen: seen.redundant),
            "outstanding": numbers(bench, "tcp", TCPS, lambda seen: seen.outstanding),
        },
        figures=traces.sequences(TCPS, "A delay of 15 s, timestamps on, bug fix off: {}"),
    )


def _figure_2() -> Plan[Any, Any]:
    return Plan(
        traces=list(RESTARTED.values()),
        quantities=lambda bench: {"timeouts": numbers(bench, "restart", RESTARTED, lambda seen: len(seen.timeouts_s))},
        figures=traces.sequences(RESTARTED, "Reno, one segment lost, timer restarted on fast retransmit: {}"),
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
            "spurious_timeouts": numbers(bench, "tcp", UNTIMED, lambda seen: len(seen.spurious_s)),
        },
        figures=traces.sequences(UNTIMED, "The same delay with one sample per window: {}"),
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
            "timeouts": numbers(bench, "timestamps", TIMED, lambda seen: len(seen.timeouts_s)),
            "retransmissions_on_duplicates": numbers(bench, "timestamps", TIMED, on_duplicates),
        },
        figures=traces.sequences(TIMED, "Reno, one segment lost, timestamps {}"),
    )


def _figure_5() -> Plan[Any, Any]:
    def measure(bench: GurtovBench, row: PublishedRow, _: str) -> Point:
        seen = transfer(bench, CAREFUL["inflate"])
        sent = seen.sequence.sent.time_s
        on_duplicates = sent[np.isin(sent, seen.duplicates_s) & (sent > seen.timeouts_s[0])]
        last = float(on_duplicates[-1])
        match str(row.factors["quantity"]).rpartition(" ")[2]:
            case "from":
                return Point(value=float(on_duplicates[0]))
            case "to":
                return Point(value=last)
            case _:
                return Point(value=seen.first(sent, last) - last)

    return Plan(
        traces=list(CAREFUL.values()),
        measure=measure,
        quantities=lambda bench: {
            "spurious_fast_retransmits": numbers(bench, "tcp", CAREFUL, lambda seen: len(seen.fast_retransmits_s)),
            "download_time": numbers(bench, "tcp", CAREFUL, lambda seen: seen.duration_s),
        },
        figures=traces.sequences(CAREFUL, "Careful bug fix, duplicate acknowledgements: {}"),
    )


def _figure_6() -> Plan[Any, Any]:
    return Plan(
        traces=[*CONGESTED.values(), *AFTER_TIMEOUT.values()],
        quantities=lambda bench: {
            "losses": numbers(bench, "tcp", CONGESTED, lambda seen: len(seen.lost_s)),
            "download_time": numbers(bench, "tcp", CONGESTED, lambda seen: seen.duration_s),
            "spurious_timeouts": numbers(bench, "tcp", AFTER_TIMEOUT, lambda seen: len(seen.spurious_s)),
        },
        figures=traces.sequences({**CONGESTED, **AFTER_TIMEOUT}, "Careful bug fix, duplicate acknowledgements: {}"),
    )
