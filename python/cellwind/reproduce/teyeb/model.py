"""Section 5.2.1: a packet over a radio link that resends its blocks, (5.1) to (5.6) and Figures 5.1 to 5.4.

Ours are the functions of ``cellwind predict``; they are set beside the printed sums, which are carried out here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from cellwind.predict.blocks import (
    block_count,
    extra_delay,
    first_round_delay,
    round_probability,
    sdu_delay,
    share_in_round,
)

from ..design import Plan
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from .observed import TeyebBench, TeyebPlan
from .transfers import TTI_S

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

FER = 0.1
PACKET_BYTES = 1500
# Retransmission delays of Figure 5.4, in TTIs, and the packets of its derived numbers.
DELAYS = (1, 5, 10, 20, 30)
SIZES = tuple(range(1, 41))
# Those of Figure 5.2: one below the four blocks of its packet, one above.
_DRAWN, _FOUR = (2, 7), 4


def plans() -> dict[str, TeyebPlan]:
    """The plans of the equations and figures of section 5.2.1."""
    return {
        "equation-5-1": _plan(lambda row: _share(row, 1), P=lambda: _shares([(1, 4), (1, 38)])),
        "equation-5-2": _plan(lambda row: _share(row, _whole(row, "i")), P=lambda: _shares([(2, 10)])),
        "equation-5-3": _plan(
            lambda row: round_probability(_whole(row, "i"), _whole(row, "n_blocks"), float(row.factors["p"])),
            P=lambda: _rounds(_printed_rounds),
            closed_form=lambda: _rounds(lambda i, n: round_probability(i, n, FER)),
        ),
        "equation-5-4": _plan(P=lambda: _rounds(lambda i, n: round_probability(i, n, FER))),
        "equation-5-5": _plan(
            lambda row: first_round_delay(_whole(row, "n_blocks"), _whole(row, "ret_ttis")), extra=_extra, ret=_ret
        ),
        "equation-5-6": _plan(_delay, sdu_delay=lambda: _delays(SIZES)),
        "figure-5-1": _plan(
            lambda row: block_count(PACKET_BYTES, 1e3 * float(row.factors["rate_kbps"]), TTI_S),
            figures=lambda: _drawn("rounds"),
            P=lambda: _rounds(lambda i, n: round_probability(i, n, FER)),
        ),
        "figure-5-2": _plan(extra=_extra, ret=_ret),
        "figure-5-3": _plan(
            lambda row: share_in_round(_whole(row, "round"), _whole(row, "blocks"), 10, FER),
            figures=lambda: _drawn("shares"),
            P=lambda: _shares([(1, 10), (2, 10), (3, 10)]),
        ),
        "figure-5-4": _plan(_delay, figures=lambda: _drawn("delays"), curvature=_curvature),
    }


def _plan(
    ours: Callable[[PublishedRow], float] | None = None,
    figures: Callable[[], Sequence[Figure]] = lambda: (),
    **metrics: Callable[[], Quantity],
) -> TeyebPlan:
    """A plan that runs nothing."""

    def measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
        assert ours is not None
        return Point(value=float(ours(row)))

    return Plan(
        measure=measure,
        quantities=lambda _: {name: metric() for name, metric in metrics.items()},
        figures=lambda bench: figures() if bench.clock == "simulated" else (),
    )


def _whole(row: PublishedRow, factor: str) -> int:
    return int(row.factors[factor])


def _share(row: PublishedRow, i: int) -> float:
    return share_in_round(i, _whole(row, "j"), _whole(row, "n_blocks"), float(row.factors["p"]))


def _delay(row: PublishedRow) -> float:
    return sdu_delay(_whole(row, "n_blocks"), float(row.factors.get("p", FER)), _whole(row, "ret_ttis"))


def _shares(rounds: Iterable[tuple[int, int]]) -> Quantity:
    """P(i, j) for these rounds i of packets of N blocks."""
    return Quantity.of(
        Point({"i": i, "N": n, "j": j}, share_in_round(i, j, n, FER)) for i, n in rounds for j in range(n + 1)
    )


def _rounds(probability: Callable[[int, int], float]) -> Quantity:
    """P(i) for the packets of Figure 5.1."""
    return Quantity.of(Point({"N": n, "p": FER, "i": i}, probability(i, n)) for n in (_FOUR, 38) for i in range(1, 6))


def _printed_rounds(i: int, n: int) -> float:
    """(5.3) over (5.2), whose nested sums are products of one matrix: from a blocks in a round to b in the next."""
    import numpy as np

    step = np.array([[share_in_round(1, b, a, FER) if b <= a else 0.0 for b in range(n + 1)] for a in range(n + 1)])
    return float(np.linalg.matrix_power(step, i)[n, 1:].sum())


def _extra() -> Quantity:
    places: Mapping[str, int] = {"first": 1, "second": 2, "third": 3, "last": _FOUR}
    return Quantity.of(
        Point({"ret_ttis": ret, "place": place}, float(extra_delay(j, _FOUR, ret)))
        for ret in _DRAWN
        for place, j in places.items()
    )


def _ret() -> Quantity:
    return Quantity.of(Point({"ret_ttis": ret}, float(ret)) for ret in _DRAWN)


def _delays(sizes: Iterable[int]) -> Quantity:
    return Quantity.of(Point({"ret_ttis": ret, "n_blocks": n}, sdu_delay(n, FER, ret)) for ret in DELAYS for n in sizes)


def _curvature() -> Quantity:
    """By how much a block adds more than the one before it; TTIs."""
    found = []
    for ret in DELAYS:
        for n in SIZES[1:-1]:
            before, here, after = (sdu_delay(m, FER, ret) for m in (n - 1, n, n + 1))
            factors: dict[str, Factor] = {"ret_ttis": ret, "n_blocks": n}
            found.append(Point(factors, after - 2 * here + before))
    return Quantity.of(found)


def _drawn(what: str) -> Sequence[Figure]:
    from . import model_figures

    match what:
        case "rounds":
            return [model_figures.rounds()]
        case "shares":
            return [model_figures.shares()]
        case _:
            return [model_figures.delays()]
