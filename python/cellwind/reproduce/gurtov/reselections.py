"""P5: a download over GPRS while cell reselections hold the link, with and without Eifel."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ..charts import cases
from ..design import Bench, Plan
from ..estimates import column, mean_point
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from . import traces
from .runs import FLOW, Run, Transfer, of_transport, transfer

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

GurtovBench = Bench[Any, Any]

SEGMENT_BYTES = 1000
TRANSFER_BYTES = 300 * 1024
SEGMENTS = -(-TRANSFER_BYTES // SEGMENT_BYTES)
DELAYS_S = (3.0, 15.0)

# Table 1: what the interval between delays is drawn from, in seconds.
INTERVALS_S: Mapping[str, tuple[int, int]] = {"easy": (80, 140), "mediocre": (40, 80), "difficult": (20, 40)}
BUFFERS_KBYTES = (10, 100)
TCPS = ("reno", "newreno", "sack")

# The flow begins at no particular moment of the terminal's way: after a hundred intervals the delays have forgotten
# when the way began.
_STARTS = "3 h"

_TOPOLOGY = """
[access.gprs]
type = "link"
rate = "30 kbit/s"
delay = "300 ms"
"""
_BULK = {f"flow.{FLOW}.bulk": f"{TRANSFER_BYTES} B"}

# Without the guard against false fast retransmits ("bug fix"), as section 4 says.
RECOVERIES: Mapping[str, Mapping[str, Any]] = {
    "reno": {"recovery": {"type": "reno", "bug_fix": "off"}},
    "newreno": {"recovery": {"type": "newreno", "bug_fix": "off"}},
    "sack": {"recovery": {"type": "reno-sack", "bug_fix": "off"}, "sack": True},
}
# Section 3: after two timeouts in a row the threshold takes the old window, which itself stays halved.
EIFEL: Mapping[str, Any] = {
    "spurious": {"type": "eifel", "after": "both", "lost_acks": "spurious", "response": "by-timeouts-halved"}
}


@dataclass(frozen=True)
class Download:
    """One cell of Tables 2 and 3."""

    scenario: str
    buffer_kbytes: int
    tcp: str
    eifel: bool

    @property
    def factors(self) -> dict[str, Factor]:
        """The factors as the checks of the claims name them."""
        return {
            "scenario": self.scenario,
            "buffer_kbytes": self.buffer_kbytes,
            "tcp": self.tcp,
            "eifel": "on" if self.eifel else "off",
        }

    @property
    def run(self) -> Run:
        """The run of this cell."""
        low, high = INTERVALS_S[self.scenario]
        spikes = f"""
[spikes.reselections]
interval = "uniform {low} s to {high} s"
interval_from = "start"
duration = "uniform {DELAYS_S[0]:g} s to {DELAYS_S[1]:g} s"
"""
        settings = {
            **_BULK,
            "access.gprs.queue": f"{self.buffer_kbytes} packets",
            f"flow.{FLOW}.start": _STARTS,
            **of_transport(_options(self.tcp, self.eifel)),
        }
        eifel = "-eifel" if self.eifel else ""
        name = f"{self.scenario}-{self.buffer_kbytes}kB-{self.tcp}{eifel}"
        return Run("P5", name, _TOPOLOGY + spikes, settings)


def _options(tcp: str, eifel: bool) -> dict[str, Any]:
    return {**RECOVERIES[tcp], **(EIFEL if eifel else {})}


DOWNLOADS = [
    Download(scenario, buffer_kbytes, tcp, eifel)
    for eifel in (False, True)
    for buffer_kbytes in BUFFERS_KBYTES
    for scenario in INTERVALS_S
    for tcp in TCPS
]


def plans() -> dict[str, Plan[Any, Any]]:
    """The plans of Tables 1 to 3 and of Figures 2, 3 and 7."""
    return {
        "p5-table-1": _table_1(),
        "p5-table-2": _table("download_time_s", _time),
        "p5-table-3": _table("goodput", _goodput),
        "p5-figure-2": _figure_2(),
        "p5-figure-3": _figure_3(),
        "p5-figure-7": _figure_7(),
    }


def _time(bench: GurtovBench, cell: Download) -> Point:
    return mean_point(cell.factors, column(bench.flows(cell.run), "duration_s"))


def _goodput(bench: GurtovBench, cell: Download) -> Point:
    return mean_point(
        cell.factors, [SEGMENTS / sent for sent in column(bench.flows(cell.run), "segments_sent") if sent]
    )


def _table(metric: str, measure: Callable[[GurtovBench, Download], Point]) -> Plan[Any, Any]:
    def of_row(bench: GurtovBench, row: PublishedRow, _: str) -> Point:
        factors = row.factors
        cell = Download(
            str(factors["scenario"]), int(factors["buffer_kbytes"]), str(factors["tcp"]), bool(factors["eifel"])
        )
        return measure(bench, cell)

    def quantities(bench: GurtovBench) -> dict[str, Quantity]:
        found = {metric: Quantity.of(measure(bench, cell) for cell in DOWNLOADS)}
        if metric == "download_time_s":
            large = [cell for cell in DOWNLOADS if cell.eifel and cell.buffer_kbytes == 100]
            found["reduction"] = Quantity.of(_reduction(bench, cell) for cell in large)
        return found

    return Plan(
        cells=[cell.run for cell in DOWNLOADS],
        measure=of_row,
        quantities=quantities,
        figures=lambda bench: [_figure(bench, metric, measure)],
    )


def _reduction(bench: GurtovBench, cell: Download) -> Point:
    """By which share Eifel shortens the download."""
    before = _time(bench, Download(cell.scenario, cell.buffer_kbytes, cell.tcp, eifel=False)).number
    factors = {"scenario": cell.scenario, "tcp": cell.tcp}
    return Point(factors, 1 - _time(bench, cell).number / before)


def _figure(bench: GurtovBench, metric: str, measure: Callable[[GurtovBench, Download], Point]) -> Figure:
    """Figures 5 and 6: the three TCPs in the three scenarios."""
    groups = {
        f"{buffer_kbytes} kB, {'Eifel' if eifel else 'no Eifel'}": [
            (f"{cell.tcp}\n{cell.scenario}", measure(bench, cell))
            for cell in DOWNLOADS
            if (cell.buffer_kbytes, cell.eifel) == (buffer_kbytes, eifel)
        ]
        for buffer_kbytes in BUFFERS_KBYTES
        for eifel in (False, True)
    }
    title, unit = ("Download time", "s") if metric == "download_time_s" else ("Goodput", "")
    return cases(f"{title} of 300 kB while cell reselections hold the link", title, unit, groups)


# A delay of 5 s that begins 3 s after the transfer: section 3 has the retransmission at 6 s and the end at 8 s.
_DELAY_OF_5_S = """
[spikes.delay]
list = [{ at = "3 s", duration = "5 s" }]
"""


def _alone(name: str, eifel: bool) -> Run:
    """A run of Reno with one delay."""
    settings = {**_BULK, "access.gprs.queue": "100 packets", **of_transport(_options("reno", eifel))}
    return Run("P5", name, _TOPOLOGY + _DELAY_OF_5_S, settings, is_deterministic=True)


RENO = _alone("5s-reno", eifel=False)
RENO_EIFEL = _alone("5s-reno-eifel", eifel=True)

# Figure 7 is one of the downloads where the small buffer overflows.
LOSSY = Download("difficult", 10, "reno", eifel=True)
LOSSY_RENO = Download("difficult", 10, "reno", eifel=False)


def _counts(bench: GurtovBench, runs: Mapping[str, Run]) -> dict[str, Quantity]:
    """What the claims of a figure ask for, by the name of the TCP."""
    seen = {name: transfer(bench, run) for name, run in runs.items()}

    def of(read: Callable[[Transfer], float]) -> Quantity:
        return Quantity.of(Point({"tcp": name}, float(read(found))) for name, found in seen.items())

    return {
        "redundant_retransmissions": of(lambda found: found.redundant),
        "outstanding": of(lambda found: found.outstanding),
        "spurious_fast_retransmits": of(lambda found: len(found.fast_retransmits_s)),
        "detections": of(lambda found: len(found.undone_s)),
        "cwnd_before": of(lambda found: found.before(found.window.cwnd)),
        "cwnd_after": of(lambda found: found.after(found.window.cwnd)),
        "growth_per_ack": of(_growth_per_ack),
    }


def _growth_per_ack(found: Transfer) -> float:
    """Segments by which the window grows with each of the five acknowledgements after the detection."""
    cwnd = found.window.cwnd
    grown = cwnd.value[cwnd.time_s >= found.first(found.undone_s, 0.0)]
    return float(grown[5] - grown[0]) / 5 / SEGMENT_BYTES if len(grown) > 5 else float("nan")


def _plan(runs: Mapping[str, Run], measure: Callable[[Transfer, str], float], shown: str, title: str) -> Plan[Any, Any]:
    """A figure of one of the runs; ``measure`` reads the instant of an event."""
    return Plan(
        traces=list(runs.values()),
        measure=lambda bench, row, _: Point(value=measure(transfer(bench, runs[shown]), str(row.factors["event"]))),
        quantities=lambda bench: _counts(bench, runs),
        figures=traces.sequences(runs, f"{title}: {{}}"),
    )


def _table_1() -> Plan[Any, Any]:
    cells = {scenario: Download(scenario, 100, "reno", eifel=False) for scenario in INTERVALS_S}

    def measure(bench: GurtovBench, row: PublishedRow, metric: str) -> Point:
        begun_s, _ = transfer(bench, cells[str(row.factors["scenario"])].run).delays()
        intervals = [after - before for before, after in itertools.pairwise(begun_s)]
        match metric:
            case "interval_min_s":
                return Point(value=min(intervals))
            case "interval_max_s":
                return Point(value=max(intervals))
            case _:
                return Point(value=120 / fmean(intervals))

    def quantities(bench: GurtovBench) -> dict[str, Quantity]:
        seen = {scenario: transfer(bench, cell.run).delays() for scenario, cell in cells.items()}
        lengths = [length for _, found in seen.values() for length in found]
        gaps = {scenario: [b - a for a, b in itertools.pairwise(begun)] for scenario, (begun, _) in seen.items()}

        def of(read: Callable[[Sequence[float]], float]) -> Quantity:
            return Quantity.of(Point({"scenario": scenario}, read(found)) for scenario, found in gaps.items())

        return {
            "interval_min_s": of(min),
            "interval_max_s": of(max),
            "mean_delays": of(lambda found: 120 / fmean(found)),
            "delay_min_s": Quantity.constant(min(lengths)),
            "delay_max_s": Quantity.constant(max(lengths)),
        }

    return Plan(traces=[cell.run for cell in cells.values()], measure=measure, quantities=quantities)


def _figure_2() -> Plan[Any, Any]:
    def measure(found: Transfer, event: str) -> float:
        if event.startswith("first retransmission"):
            return float(found.timeouts_s[0])
        # The first acknowledgement after the delay is that of an original.
        acked = found.sequence.acked.time_s
        return float(acked[acked > found.timeouts_s[0]][0])

    return _plan({"reno": RENO}, measure, "reno", "Reno and a delay of 5 s")


def _figure_3() -> Plan[Any, Any]:
    runs = {"reno_eifel": RENO_EIFEL}
    return _plan(runs, lambda found, _: float(found.undone_s[0]), "reno_eifel", "A delay of 5 s")


def _figure_7() -> Plan[Any, Any]:
    def measure(bench: GurtovBench, row: PublishedRow, _: str) -> Point:
        events = _events(shown(bench)[1])
        return Point(value=events[str(row.factors["event"])] - events["first timeout"])

    def quantities(bench: GurtovBench) -> dict[str, Quantity]:
        events = _events(shown(bench)[1])
        necessary = [
            mean_point({"eifel": cell.factors["eifel"]}, column(bench.flows(cell.run), "necessary_timeouts"))
            for cell in (LOSSY, LOSSY_RENO)
        ]
        return {
            "wait_s": Quantity.constant(events["second, genuine timeout"] - events["fast retransmit"]),
            "necessary_timeouts": Quantity.of(necessary),
        }

    def figures(bench: GurtovBench) -> list[Figure]:
        replication, found = shown(bench)
        return [traces.sequence("Reno with Eifel, a buffer of 10 kB", found, f"Replication {replication}.")]

    return Plan(
        cells=[LOSSY.run, LOSSY_RENO.run],
        traces=[LOSSY.run],
        measure=measure,
        quantities=quantities,
        figures=figures,
    )


def _events(found: Transfer) -> dict[str, float]:
    """The instants of Figure 7 around the first timeout that was taken back; not a number where there is none."""
    for undone in found.undone_s.tolist():
        again = found.first(found.fast_retransmits_s, undone)
        second = found.first(found.timeouts_s, again)
        # Another delay in between would be another story.
        if found.first(found.held_s, undone) > second and found.first(found.spurious_s, again) != second:
            return {
                "first timeout": float(found.timeouts_s[found.timeouts_s < undone][-1]),
                "new data follows": undone,
                "duplicate ACKs start": found.first(found.duplicates_s, undone),
                "fast retransmit": again,
                "second, genuine timeout": second,
            }
    return dict.fromkeys(
        ("first timeout", "new data follows", "duplicate ACKs start", "fast retransmit", "second, genuine timeout"),
        float("nan"),
    )


def shown(bench: GurtovBench) -> tuple[int, Transfer]:
    """The first replication with the events of Figure 7, or else the first one, and its number."""
    runs: Sequence[Transfer] = bench.observations(LOSSY.run)
    found = [r for r, run in enumerate(runs) if not isnan(_events(run)["first timeout"])]
    replication = found[0] if found else 0
    return replication, runs[replication]
