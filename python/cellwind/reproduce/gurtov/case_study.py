"""P3, section 7: 100 kB over a lossy link, 20 times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..design import Bench, Beside, Plan
from ..estimates import column, mean_point, over, percentile_point, spread_point
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from .cells import MSS, SEGMENTS, STATE_CHANGES_S, Cell
from .observed import Observation

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

GurtovBench = Bench[Cell, Observation]

SACK = Cell("case-study", sack=True)
NEWRENO = replace(SACK, sack=False)

# The losses of the run shown, in steps of so many seconds.
_STEP_S = 5.0


def plans() -> dict[str, Plan[Cell, Observation]]:
    """The plans of Table 1, Table 2 and Figure 6."""
    return {"p3-table-1": _table_1(), "p3-table-2": _table_2(), "p3-figure-6": _figure_6()}


def _table_1() -> Plan[Cell, Observation]:
    def measure(bench: GurtovBench, row: PublishedRow, metric: str) -> Point:
        runs = bench.observations(SACK)
        match row.factors["parameter"]:
            case "input queue and link send buffer":
                return Point(value=float(max(run.most_held for run in runs)), n=len(runs))
            case "link receive buffer":
                return Point(needs="path: link receive buffer")
            case "rate":
                return percentile_point({}, [run.rate_bps for run in runs], 50)
            case "propagation delay":
                return Point(value=1e3 * min(run.delay_s for run in runs), n=len(runs))
            case phase:
                return mean_point({}, [100 * share for share in _loss_shares(bench, str(phase))])

    return Plan(
        traces=[SACK],
        live=[SACK],
        measure=measure,
        quantities=lambda bench: {
            "most_packets_held": Quantity.constant(float(max(run.most_held for run in bench.observations(SACK))))
        },
    )


def _loss_shares(bench: GurtovBench, phase: str) -> list[float]:
    """Share of lost packets per replication, of those that the wireless link carried in either direction."""
    import numpy as np

    shares = []
    for run in bench.observations(SACK):
        # What was dropped in the queue never came to the link.
        data = np.concatenate([run.sequence.sent.time_s, run.sequence.resent.time_s])
        carried = np.concatenate([data, run.sequence.acked.time_s, run.lost_acks_s])
        lost = np.concatenate([run.lost_data_s, run.lost_acks_s])
        early = (carried < STATE_CHANGES_S).sum() - (run.queue_losses_s < STATE_CHANGES_S).sum()
        every = len(carried) - len(run.queue_losses_s)
        before = (lost < STATE_CHANGES_S).sum()
        is_first = phase.endswith("first 40 s")
        shares.append(float(before / early if is_first else (len(lost) - before) / (every - early)))
    return shares


_Measures = Mapping[str, Sequence[float | None]]


def _values(bench: GurtovBench, cell: Cell) -> _Measures:
    """The metrics of Table 2, a value per replication."""
    flows = bench.flows(cell)
    elapsed = column(flows, "duration_s")
    return {
        "elapsed_s": elapsed,
        "throughput_bytes_per_s": [None if time is None else MSS * SEGMENTS / time for time in elapsed],
        "retransmitted_packets": column(flows, "segments_retransmitted"),
        "dropped_packets": column(bench.links(cell, cell.wireless), "packets_dropped"),
    }


def _table_2() -> Plan[Cell, Observation]:
    cells = [SACK, NEWRENO]

    def percentile(bench: GurtovBench, cell: Cell, metric: str, level: Factor) -> Point:
        return percentile_point({}, _values(bench, cell)[metric], float(level))

    def quantities(bench: GurtovBench) -> dict[str, Quantity]:
        def of(metric: str) -> Quantity:
            return over(
                [SACK], lambda cell: cell.factors, lambda cell: spread_point(cell.factors, _values(bench, cell)[metric])
            )

        return {
            metric: of(metric)
            for metric in ("elapsed_s", "throughput_bytes_per_s", "retransmitted_packets", "dropped_packets")
        }

    def beside(bench: GurtovBench) -> list[Beside]:
        asked = [(10, "elapsed_s"), (50, "elapsed_s"), (90, "elapsed_s")]
        asked += [(50, "throughput_bytes_per_s"), (50, "retransmitted_packets"), (50, "dropped_packets")]
        return [
            Beside({"tcp": "newreno", "percentile": level}, metric, partial(percentile, bench, NEWRENO, metric, level))
            for level, metric in asked
        ]

    return Plan(
        cells=cells,
        live=cells,
        measure=lambda bench, row, metric: percentile(bench, SACK, metric, row.factors["percentile"]),
        quantities=quantities,
        beside=beside,
    )


def _figure_6() -> Plan[Cell, Observation]:
    def measure(bench: GurtovBench, row: PublishedRow, metric: str) -> Point:
        early = row.factors["phase"] == "first 40 s"
        return mean_point(
            {}, [float(((run.lost_data_s < STATE_CHANGES_S) == early).sum()) for run in bench.observations(SACK)]
        )

    def quantities(bench: GurtovBench) -> dict[str, Quantity]:
        import numpy as np

        run = shown(bench)[1]
        end = max(run.sequence.sent.time_s.max(), run.queue_losses_s.max(initial=0.0))
        edges = np.arange(0.0, end + 2 * _STEP_S, _STEP_S)
        counts, _ = np.histogram(run.queue_losses_s, edges)
        return {
            "queue_losses": Quantity.of(
                Point({"t": float(edge + _STEP_S / 2)}, float(count))
                for edge, count in zip(edges[:-1], counts, strict=True)
            )
        }

    return Plan(
        traces=[SACK],
        live=[SACK],
        measure=measure,
        quantities=quantities,
        figures=lambda bench: [_figure(bench)],
    )


def shown(bench: GurtovBench) -> tuple[int, Observation]:
    """Of the replications with two losses of data in the first 40 s the one where both came first, and its number."""
    runs = bench.observations(SACK)
    early = {r: run.lost_data_s[run.lost_data_s < STATE_CHANGES_S] for r, run in enumerate(runs)}
    replication = min((r for r, lost in early.items() if len(lost) == 2), key=lambda r: early[r].max(), default=0)
    return replication, runs[replication]


def _figure(bench: GurtovBench) -> Figure:
    from .figures import sequence

    replication, run = shown(bench)
    return sequence(
        f"A transfer with 1 % and from 40 s on 10 % loss, {bench.clock}", run, f"Replication {replication}."
    )
