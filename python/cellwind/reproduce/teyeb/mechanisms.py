"""Section 4.2: what makes the RLC poll and report, each alone in a small download (Figures 4.3 and 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mode

from ..design import Plan
from ..published import PublishedRow
from ..quantities import Point, Quantity
from .mechanism_cells import TRIGGERS, Mechanism, MechanismSeen
from .observed import TeyebBench, TeyebPlan

_POLLS = [Mechanism(trigger) for trigger in TRIGGERS[:5]]
_REPORTS = [Mechanism(trigger) for trigger in TRIGGERS[5:]]


def plans() -> dict[str, TeyebPlan]:
    """The plans of Figures 4.3 and 4.4."""
    return {
        "figure-4-3": Plan(traces=_POLLS, measure=_polls, quantities=_poll_rules),
        "figure-4-4": Plan(traces=_REPORTS, measure=_reports, quantities=_report_rules),
    }


def _of(bench: TeyebBench, trigger: str) -> MechanismSeen:
    found = bench.observed(Mechanism(trigger)).mechanism
    assert found is not None
    return found


def _polls(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    seen = _of(bench, str(row.factors["trigger"]))
    match metric:
        case "polled_pdu":
            return Point(value=_same(seen.polled_pdus))
        case "pdus_between_polls":
            return Point(value=_same(seen.sent_between_polls))
        case "period_ttis":
            # A report that takes the TTI for itself delays a poll now and then, and shortens the time to the next.
            return Point(value=float(mode(seen.between_polls)))
        case _:
            # After the poll that was lost.
            return Point(value=float(seen.between_polls[-1]))


def _reports(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    seen = _of(bench, str(row.factors["trigger"]))
    if metric == "period_ttis":
        # The timer rests while nothing waits for a report.
        return Point(value=float(mode(seen.between_reports)))
    return Point(value=_same(seen.until_report))


def _same(values: Sequence[int]) -> float:
    """The one value that all of them have; not a number where they differ."""
    return float(values[0]) if len(set(values)) == 1 else float("nan")


def _poll_rules(bench: TeyebBench) -> dict[str, Quantity]:
    return {"polls_on_retransmissions": Quantity.constant(float(_of(bench, "periodic").polls_on_resent))}


def _report_rules(bench: TeyebBench) -> dict[str, Quantity]:
    between = _of(bench, "status_prohibit").between_reports
    return {
        "status_delay_ttis": Quantity.constant(_same(_of(bench, "missing_pdu_indication").until_report)),
        "shortest_between_reports_ttis": Quantity.constant(float(min(between))),
        "reports_as_a_prohibit_ends": Quantity.constant(float(between.count(10))),
    }
