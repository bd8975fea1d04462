"""P2, section 5: what four stacks do when nothing moves for 10 s."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..design import Bench, Beside, NotRunError, Plan
from ..estimates import column, mean_point, over
from ..published import PublishedRow
from ..quantities import Point, Quantity
from .cells import DELAY_ENDS_S, DELAY_STARTS_S, MSS, RATE_BPS, SEGMENTS, Cell
from .figures import sequence
from .observed import Observation

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

GurtovBench = Bench[Cell, Observation]
Measure = Callable[[GurtovBench, Cell], Point]

FREEBSD = Cell("delay", "freebsd")
WINDOWS98 = Cell("delay", "windows98")
LINUX22 = Cell("delay", "linux22")
LINUX24 = Cell("delay", "linux24")
STACKS = [FREEBSD, WINDOWS98, LINUX22, LINUX24]

# This kernel with what Linux 2.4.0 did not have, or had switched off.
KERNELS = [Cell("delay", timestamps=timestamps, frto=frto) for timestamps in (False, True) for frto in (False, True)]

_SCOPE = {"after_s": 0}


def plans() -> dict[str, Plan[Cell, Observation]]:
    """The plans of section 5.2 and Figures 6 to 9."""
    return {
        "p2-test-common": _common(),
        "p2-figure-6": _figure(FREEBSD, _none),
        "p2-figure-7": _figure(WINDOWS98, _none),
        "p2-figure-8": _figure(LINUX22, _none),
        "p2-figure-9": _figure(LINUX24, _kernels, live=KERNELS),
    }


def _common() -> Plan[Cell, Observation]:
    return Plan(
        cells=STACKS,
        traces=STACKS,
        live=[LINUX24],
        scope=_SCOPE,
        measure=lambda bench, row, metric: _first_timeout(bench, LINUX24),
        quantities=_quantities,
    )


def _figure(
    cell: Cell, beside: Callable[[GurtovBench], Sequence[Beside]], live: Sequence[Cell] = ()
) -> Plan[Cell, Observation]:
    def measure(bench: GurtovBench, row: PublishedRow, metric: str) -> Point:
        match metric:
            case "elapsed_s" | "elapsed_s_min" | "elapsed_s_max":
                return _elapsed(bench, cell)
            case "ideal_s":
                bench.flows(cell)
                seconds = 8 * SEGMENTS * (MSS + 40) / RATE_BPS
                return Point(value=seconds + DELAY_ENDS_S - DELAY_STARTS_S)
            case _:
                return _timeouts_in_recovery(bench, cell)

    def figures(bench: GurtovBench) -> list[Figure]:
        found = []
        for one in live if bench.clock == "live" else [cell]:
            options = [name for name, is_on in (("timestamps", one.timestamps), ("F-RTO", one.frto)) if is_on]
            who = f"This kernel, {' and '.join(options) or 'neither timestamps nor F-RTO'}"
            title = f"{who if bench.clock == 'live' else one.stack} after a delay of 10 s, {bench.clock}"
            found.append(sequence(title, bench.observed(one), "Nothing is sent from 5 to 15 s. Replication 0."))
        return found

    return Plan(
        cells=STACKS,
        traces=STACKS,
        live=live,
        scope=_SCOPE,
        measure=measure,
        quantities=_quantities,
        beside=beside,
        figures=figures,
    )


def _none(_: GurtovBench) -> Sequence[Beside]:
    return ()


def _kernels(bench: GurtovBench) -> list[Beside]:
    metrics: dict[str, Measure] = {"elapsed_s": _elapsed, "redundant_retransmissions": _redundant_after(0.0)}

    def measured(measure: Measure, cell: Cell) -> Point:
        if bench.clock == "simulated":
            raise NotRunError("a live run")
        return measure(bench, cell)

    return [
        Beside(cell.kernel_factors, metric, partial(measured, measure, cell))
        for cell in KERNELS
        for metric, measure in metrics.items()
    ]


def _quantities(bench: GurtovBench) -> dict[str, Quantity]:
    # Live there is one stack only: this kernel, in the place of Linux 2.4.
    cells = STACKS if bench.clock == "simulated" else [LINUX24]

    def of(measure: Measure) -> Quantity:
        return over(cells, lambda cell: cell.factors, lambda cell: measure(bench, cell))

    redundant = Quantity(
        tuple(
            Point({**point.factors, "after_s": after_s}, point.value, point.half_width, point.n, needs=point.needs)
            for after_s in (0, 60)
            for point in of(_redundant_after(float(after_s))).points
        )
    )
    return {
        "elapsed_s": of(_elapsed),
        "first_timeout_after_delay_start_s": of(_first_timeout),
        "redundant_retransmissions": redundant,
        "outstanding": of(_seen(lambda run: run.outstanding)),
        "spurious_timeouts": of(_counted("timeouts")),
        "most_transmissions": of(_seen(lambda run: run.most_transmissions)),
        "spurious_fast_retransmits": of(_counted("fast_retransmits")),
        "redundant_newreno_retransmissions": of(_seen(_after_fast_retransmit)),
        "pause_s": of(_seen(lambda run: run.pause_s)),
    }


def _elapsed(bench: GurtovBench, cell: Cell) -> Point:
    return mean_point(cell.factors, column(bench.flows(cell), "duration_s"))


def _counted(name: str) -> Measure:
    # Nothing is lost here: every timeout and every fast retransmit is spurious.
    return lambda bench, cell: mean_point(cell.factors, column(bench.flows(cell), name))


def _seen(read: Callable[[Observation], float]) -> Measure:
    return lambda bench, cell: mean_point(cell.factors, [float(read(run)) for run in bench.observations(cell)])


def _first_timeout(bench: GurtovBench, cell: Cell) -> Point:
    return _seen(lambda run: run.first_timeout_s - DELAY_STARTS_S)(bench, cell)


def _redundant_after(time_s: float) -> Measure:
    return _seen(lambda run: float((run.redundant_s >= time_s).sum()))


def _after_fast_retransmit(run: Observation) -> float:
    """Segments resent from the first false fast retransmit on."""
    starts: Iterable[float] = run.fast_retransmits_s.tolist()
    first = min(starts, default=None)
    return 0.0 if first is None else float((run.sequence.resent.time_s >= first).sum())


def _timeouts_in_recovery(bench: GurtovBench, cell: Cell) -> Point:
    """Timeouts after the first false fast retransmit."""

    def count(run: Observation) -> float:
        first = run.fast_retransmits_s.min(initial=float("inf"))
        return float((run.sequence.timeouts.time_s > first).sum())

    return _seen(count)(bench, cell)
