"""P8, section IV: a transfer of 5 MB over a long link with delay spikes, alone or beside constant-rate traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..design import Bench, Plan
from ..estimates import column, mean_point
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from . import traces
from .runs import FLOW, Run, Transfer, of_transport, transfer

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

GurtovBench = Bench[Any, Any]

# What the transfer shares the link with has been there for some seconds; the first delay comes right after its start.
_STARTS_S = 10

_TOPOLOGY = f"""
[link.bottleneck]
rate = "2 Mbit/s"
delay = "150 ms"
queue = "75 packets"

[spikes.delays]
link = "bottleneck"
first = "{_STARTS_S + 1} s"
interval = "uniform 20 s to 40 s"
interval_from = "start"
duration = "uniform 3 s to 15 s"
"""

_CROSS = """
[flow.cross]
background = true
transport = "udp"

[flow.cross.application]
type = "cbr"
rate = "1 Mbit/s"
packet = "1000 B"
duration = "10 h"
"""

RECOVERIES: Mapping[str, Mapping[str, Any]] = {
    "reno_sack": {"recovery": {"type": "reno-sack"}},
    "newreno_sack": {"recovery": {"type": "sack", "rescue": "off", "partial_ack": "resend"}},
    "fack": {"recovery": {"type": "fack"}},
}
ADAPTATIONS: Mapping[str, str] = {
    "standard": "standard",
    "reseed": "reseed",
    "back_off": "keep-back-off",
    "min_increase": "raise-minimum",
}
_METRICS: Mapping[str, str] = {
    "time_s": "duration_s",
    "segments_sent": "segments_sent",
    "spurious_rtos": "spurious_timeouts",
    "necessary_rtos": "necessary_timeouts",
}


@dataclass(frozen=True)
class Restored:
    """One cell of Tables 1 to 4; without Eifel, ``option`` and ``adaptation`` mean nothing."""

    tcp: str
    eifel: bool = True
    cross: bool = True
    option: int = 1
    adaptation: str = "standard"

    @property
    def run(self) -> Run:
        """The run of this cell."""
        settings: dict[str, Any] = {"sack": True, **RECOVERIES[self.tcp]}
        name = self.tcp.replace("_", "-")
        if self.eifel:
            # Section III.A: behind Eifel there is no reason to block a fast retransmit. ns-2 blocks it (`bugFix_`).
            if self.tcp == "reno_sack":
                settings["recovery"] = {"type": "reno-sack", "bug_fix": "off"}
            settings |= {
                "spurious": {
                    "type": "eifel",
                    "after": "both",
                    "lost_acks": "spurious",
                    "response": f"option-{self.option}",
                },
                "rto.after_spurious": ADAPTATIONS[self.adaptation],
            }
            name += f"-eifel-{self.option}-{self.adaptation.replace('_', '-')}"
        topology = _TOPOLOGY + (_CROSS if self.cross else "")
        values = {
            f"flow.{FLOW}.bulk": "5000 segments",
            f"flow.{FLOW}.start": f"{_STARTS_S} s",
            **of_transport({"receive_window": "150 segments", "window_scaling": True, **settings}),
        }
        return Run("P8", name + ("-cross" if self.cross else ""), topology, values)


ALONE = {eifel: Restored("reno_sack", eifel, cross=False) for eifel in (False, True)}
CROSSED = [Restored(tcp, eifel) for tcp in RECOVERIES for eifel in (False, True)]
OPTIONS = {option: Restored("fack", option=option) for option in (1, 2, 3, 4)}
ADAPTED = {adaptation: Restored("fack", adaptation=adaptation) for adaptation in ADAPTATIONS}


def plans() -> dict[str, Plan[Any, Any]]:
    """The plans of Tables 1 to 4 and of Figures 8 and 9."""

    def on(eifel: bool) -> str:
        return "on" if eifel else "off"

    return {
        "p8-table-1": _table({(on(cell.eifel),): cell for cell in ALONE.values()}, ("eifel",)),
        "p8-table-2": _table({(cell.tcp, on(cell.eifel)): cell for cell in CROSSED}, ("tcp", "eifel")),
        "p8-table-3": _table({(option,): cell for option, cell in OPTIONS.items()}, ("option",)),
        "p8-table-4": _table({(adaptation,): cell for adaptation, cell in ADAPTED.items()}, ("adaptation",)),
        "p8-figure-8": _figure_8(),
        "p8-figure-9": _figure_9(),
    }


def _table(cells: Mapping[tuple[Factor, ...], Restored], names: Sequence[str]) -> Plan[Any, Any]:
    """A table of time, segments and timeouts; ``names`` are the factors that ``cells`` go by."""

    def mean_of(bench: GurtovBench, key: tuple[Factor, ...], metric: str) -> Point:
        factors = dict(zip(names, key, strict=True))
        return mean_point(factors, column(bench.flows(cells[key].run), _METRICS[metric]))

    def measure(bench: GurtovBench, row: PublishedRow, metric: str) -> Point:
        values = (row.factors[name] for name in names)
        key = tuple("on" if value is True else "off" if value is False else value for value in values)
        return mean_of(bench, key, metric)

    return Plan(
        cells=[cell.run for cell in cells.values()],
        measure=measure,
        quantities=lambda bench: {
            metric: Quantity.of(mean_of(bench, key, metric) for key in cells) for metric in _METRICS
        },
    )


def _figure_8() -> Plan[Any, Any]:
    def measure(bench: GurtovBench, row: PublishedRow, _: str) -> Point:
        seen = transfer(bench, ALONE[True].run)
        return Point(value=seen.first(seen.lost_s, 0.0))

    def collapses(seen: Transfer) -> float:
        """Timeouts whose threshold stayed: none was taken back."""
        return float(len(seen.timeout_series_s) - len(seen.undone_s))

    def figures(bench: GurtovBench) -> list[Figure]:
        return [
            traces.sequence(
                f"Reno-SACK {'with' if eifel else 'without'} Eifel, no other traffic",
                transfer(bench, cell.run),
                "Replication 0.",
            )
            for eifel, cell in ALONE.items()
        ]

    return Plan(
        traces=[cell.run for cell in ALONE.values()],
        measure=measure,
        quantities=lambda bench: {
            "collapses": Quantity.of(
                Point({"eifel": "on" if eifel else "off"}, collapses(transfer(bench, cell.run)))
                for eifel, cell in ALONE.items()
            )
        },
        figures=figures,
    )


def _figure_9() -> Plan[Any, Any]:
    cells = {cell.tcp: cell for cell in CROSSED if cell.eifel}

    def necessary(bench: GurtovBench, tcp: str) -> Point:
        seen = transfer(bench, cells[tcp].run)
        return Point({"tcp": tcp}, float(len(seen.timeout_series_s) - len(seen.spurious_s)))

    return Plan(
        traces=[cell.run for cell in cells.values()],
        measure=lambda bench, row, _: necessary(bench, str(row.factors["tcp"])),
        quantities=lambda bench: {
            "necessary_timeouts": Quantity.of(necessary(bench, tcp) for tcp in cells),
            "duration_s": Quantity.of(
                Point({"tcp": tcp}, transfer(bench, cell.run).duration_s) for tcp, cell in cells.items()
            ),
        },
        figures=lambda bench: [
            traces.sequence(
                f"{tcp.replace('_', '-')} with Eifel beside 1 Mbit/s of constant rate",
                transfer(bench, cell.run),
                "Replication 0.",
            )
            for tcp, cell in cells.items()
        ],
    )
