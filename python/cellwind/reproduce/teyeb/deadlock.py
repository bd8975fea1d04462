"""Appendix C: the last PDUs are lost with their poll, and nobody is left to ask for them."""

from __future__ import annotations

from ..design import Plan
from ..estimates import over
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from .observed import TeyebBench, TeyebPlan
from .rlc_cells import Deadlock
from .rlc_observed import DeadlockSeen
from .transfers import TTI_S

# Longer than any timer of RLC: what stands still for so long waits for TCP.
LONG_S = 1.0

TRACE, CURED = Deadlock(), Deadlock(poll_timer_ms=300, twice=False)
_BOTH = (Deadlock(twice=False), CURED)


def plans() -> dict[str, TeyebPlan]:
    """The plans of Tables C.1 and C.2."""
    traces = [TRACE, *_BOTH]
    return {
        "table-c-1": Plan(traces=traces, measure=_measure, quantities=_quantities),
        "table-c-2": Plan(traces=traces, measure=_measure, quantities=_quantities),
    }


def _seen(bench: TeyebBench, cell: Deadlock) -> DeadlockSeen:
    found = bench.observed(cell).deadlock
    assert found is not None
    return found


def _measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    seen = _seen(bench, TRACE)
    match metric:
        case "silence_ttis":
            return Point(value=round(seen.silence_s / TTI_S))
        case "gap_to_retransmission_ttis":
            return Point(value=round(seen.gap_to_resent_s / TTI_S))
        case "transmissions":
            return Point(value=float(seen.transmissions))
        case _:
            return Point(value=seen.syn_again_s)


def _quantities(bench: TeyebBench) -> dict[str, Quantity]:
    def factors(cell: Deadlock) -> dict[str, Factor]:
        return {"poll_timer_ms": cell.poll_timer_ms}

    def silence(cell: Deadlock) -> Point:
        return Point(factors(cell), _seen(bench, cell).silence_s)

    return {
        "silence_ttis": Quantity.constant(_seen(bench, TRACE).silence_s / TTI_S),
        "transmissions": Quantity.constant(float(_seen(bench, TRACE).transmissions)),
        "deadlock": over(_BOTH, factors, lambda cell: Point(factors(cell), float(silence(cell).number > LONG_S))),
        "deadlock_duration_s": over(_BOTH, factors, silence),
        "syn_again_s": Quantity.constant(_seen(bench, TRACE).syn_again_s),
    }
