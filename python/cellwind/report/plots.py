"""The plots of a run, each defined once: what is drawn of a flow's facts, and of the durations of all replications.

``Plots`` is what ``results.plot`` gives; the report uses the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..analysis import series as measured
from ..analysis.radio import bearers
from ..analysis.source import ResultsSource
from ..analysis.statistics import mean
from . import radio
from .figure import Axis, Color, Figure, Mark, Series
from .parts import TIME, bytes_unit, columns, drawn, rate_unit, shaded_flow, turn

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ..analysis.series import FactTable, Points

    Floats = npt.NDArray[np.float64]

# What is said where one line would mix what every connection has of its own.
_SEVERAL = (
    " The flow has several connections, each with sequence numbers, windows and timers of its own, which are not drawn "
    "as lines."
)


class FactsMissingError(LookupError):
    """A plot was asked for that needs facts, and none were recorded."""


class Plots:
    """Plots of one replication, from its facts.

    Those of a flow take ``flow`` and those of a radio bearer ``bearer``, its access and terminal such as ``"umts/ue"``;
    either may be left out where there is only one. Besides, every method takes ``scenario``, which is the first when it
    is None, and ``replication``. It answers a ``Figure``. Raises FactsMissingError when the facts of that replication
    were not recorded or hold nothing of the kind, and ValueError when the scenario, replication, flow or bearer is not
    there or has to be named.
    """

    def __init__(self, results: ResultsSource) -> None:
        self._results = results

    def time_sequence(self, flow: str | None = None, scenario: str | None = None, replication: int = 0) -> Figure:
        """Every segment of the flow: sent, resent, received, acknowledged; sequence number over time."""
        facts, name = self._choose(flow, scenario, replication)
        return time_sequence(facts, name)

    def window(self, flow: str | None = None, scenario: str | None = None, replication: int = 0) -> Figure:
        """Congestion window, send window, slow-start threshold and data in flight over time."""
        facts, name = self._choose(flow, scenario, replication)
        return window(facts, name)

    def throughput(
        self,
        flow: str | None = None,
        scenario: str | None = None,
        replication: int = 0,
        bin_s: float | None = None,
    ) -> Figure:
        """Rate of new data at the receiver, and of data delivered in order, over a sliding bin of ``bin_s``."""
        facts, name = self._choose(flow, scenario, replication)
        return throughput(facts, name, bin_s)

    def rtt(self, flow: str | None = None, scenario: str | None = None, replication: int = 0) -> Figure:
        """Round-trip samples, smoothed round-trip time and retransmission timeout over time."""
        facts, name = self._choose(flow, scenario, replication)
        return rtt(facts, name)

    def queues(self, scenario: str | None = None, replication: int = 0) -> Figure:
        """Packets waiting at every link and bearer over time."""
        return queues(self._facts(self._scenario(scenario), replication))

    def block_errors(self, scenario: str | None = None, replication: int = 0) -> Figure:
        """Share of radio blocks in error over time, for every bearer."""
        return block_errors(self._facts(self._scenario(scenario), replication))

    def rrc_state(self, bearer: str | None = None, scenario: str | None = None, replication: int = 0) -> Figure:
        """RRC state of a terminal over time, with its cell reselections."""
        return radio.rrc_state(*self._choose_bearer("rrc_state", bearer, scenario, replication))

    def channel_rate(self, bearer: str | None = None, scenario: str | None = None, replication: int = 0) -> Figure:
        """Bit rate of a terminal's channel in each direction over time; 0 while nothing may be sent."""
        return radio.channel_rate(*self._choose_bearer("channel_rate", bearer, scenario, replication))

    def rlc_buffer(self, bearer: str | None = None, scenario: str | None = None, replication: int = 0) -> Figure:
        """Octets that the RLC transmitters of a bearer keep, over time."""
        return radio.rlc_buffer(*self._choose_bearer("buffer_occupancy", bearer, scenario, replication))

    def rlc_window(self, bearer: str | None = None, scenario: str | None = None, replication: int = 0) -> Figure:
        """PDUs between the first unacknowledged one and the last sent, over time."""
        return radio.rlc_window(*self._choose_bearer("buffer_occupancy", bearer, scenario, replication))

    def rlc_reports(self, bearer: str | None = None, scenario: str | None = None, replication: int = 0) -> Figure:
        """When RLC asked for status reports, and when they were sent."""
        return radio.rlc_reports(*self._choose_bearer("status_sent", bearer, scenario, replication))

    def calls(self, scenario: str | None = None, replication: int = 0) -> Figure:
        """Calls that go on in every cell over time, and those that found it full."""
        return radio.calls(self._facts(self._scenario(scenario), replication))

    def durations(self) -> Figure:
        """Duration of every flow in every replication, with mean and 95 % interval; needs no facts."""
        return durations(self._results)

    def _choose(self, flow: str | None, scenario: str | None, replication: int) -> tuple[FactTable, str]:
        facts = self._facts(self._scenario(scenario), replication)
        if flow is None and len(facts.flows) == 1:
            return facts, facts.flows[0]
        if flow is None:
            raise ValueError(f"name the flow: there are {_listed(facts.flows)}")
        if flow not in facts.flows:
            raise ValueError(f"no flow named {flow!r}; there are {_listed(facts.flows)}")
        return facts, flow

    def _choose_bearer(
        self, kind: str, bearer: str | None, scenario: str | None, replication: int
    ) -> tuple[FactTable, str]:
        facts = self._facts(self._scenario(scenario), replication)
        names = bearers(facts, kind)
        if not names:
            raise FactsMissingError(f"no bearer of this scenario tells of {kind}: its accesses have no such thing")
        if bearer is None and len(names) == 1:
            return facts, names[0]
        if bearer is None:
            raise ValueError(f"name the bearer: there are {_listed(names)}")
        if bearer not in names:
            raise ValueError(f"no bearer named {bearer!r}; there are {_listed(names)}")
        return facts, bearer

    def _scenario(self, scenario: str | None) -> str:
        names = [item.name for item in self._results.scenarios]
        if scenario is None and names:
            return names[0]
        if scenario is None or scenario not in names:
            raise ValueError(f"no scenario named {scenario!r}; there are {_listed(names)}")
        return scenario

    def _facts(self, scenario: str, replication: int) -> FactTable:
        if not self._results.has_facts(scenario, replication):
            count = next(item.replications for item in self._results.scenarios if item.name == scenario)
            if not 0 <= replication < count:
                raise ValueError(f"no replication {replication} of scenario {scenario!r}; there are {count}, from 0")
            raise FactsMissingError(
                f"no facts were recorded in replication {replication} of scenario {scenario!r}: "
                "run it with facts=True (on the command line: --facts)"
            )
        return measured.FactTable(self._results.facts(scenario, replication))


def time_sequence(facts: FactTable, flow: str) -> Figure:
    """The time-sequence graph of a flow."""
    seen = measured.time_sequence(facts, flow)
    unit, scale = bytes_unit(seen.sent.value, seen.resent.value)
    segments = facts.of_end("sender", flow, "segment_sent")
    length = int(segments.length.max()) if len(segments) else 0

    def marks(name: str, points: Points, color: Color, mark: Mark, size: float, every: bool = True) -> Series:
        return Series(name, "points", points.time_s, points.value * scale, None, color, mark, size, every=every)

    acked = Series("acknowledged", "step", seen.acked.time_s, seen.acked.value * scale, color="green", width=1.2)
    return Figure(
        title=f"Time-sequence graph of {flow}",
        x=TIME,
        y=Axis("Sequence number", unit),
        series=drawn(
            *shaded_flow(facts, flow),
            # Every fast retransmit is a segment resent too: its larger mark lies underneath.
            marks("fast retransmit", seen.fast_retransmits, "purple", "triangle", 8.0),
            acked,
            marks("received", seen.received, "grey", "dot", 2.5, every=False),
            marks("sent", seen.sent, "blue", "dot", 3.0, every=False),
            marks("resent", seen.resent, "red", "dot", 4.0),
            marks("timeout", seen.timeouts, "red", "cross", 11.0),
            marks("spurious timeout", seen.spurious_timeouts, "amber", "diamond", 9.0),
        ),
        note=f"Each mark is the first byte of a segment of up to {length:,} bytes; every retransmission is drawn. "
        "Zoom in to tell single segments apart." + (_SEVERAL if facts.starts_over(flow) else ""),
        height=480,
    )


def window(facts: FactTable, flow: str) -> Figure:
    """Windows and outstanding data of a flow's sender."""
    import numpy as np

    seen = measured.window(facts, flow)
    highest = max((float(p.value.max()) for p in (seen.cwnd, seen.flight) if len(p)), default=0.0)
    unit, scale = bytes_unit(np.array([highest]))
    # The threshold begins "arbitrarily high" (RFC 5681): drawn to scale, it would flatten everything else.
    threshold = np.where(seen.ssthresh.value > 2 * highest, np.nan, seen.ssthresh.value)
    hidden = bool(np.isnan(threshold).any())
    until_s = facts.flow_end_s(flow)

    def line(name: str, points: Points, color: Color, width: float = 1.5, shown: bool = True) -> Series:
        held = measured.held(points, until_s)
        return Series(name, "step", held.time_s, held.value * scale, None, color, width=width, shown=shown)

    return Figure(
        title=f"Windows of {flow}",
        x=TIME,
        y=Axis("Window", unit, from_zero=True),
        series=drawn(
            *shaded_flow(facts, flow),
            line("in flight", seen.flight, "grey", 1.0),
            line("congestion window", seen.cwnd, "blue"),
            line("send window", seen.send_window, "green", 1.0, shown=False),
            line("slow-start threshold", measured.Points(seen.ssthresh.time_s, threshold), "amber"),
        ),
        note="In flight: from the lowest byte not yet acknowledged to the highest byte sent."
        + (" A threshold above twice all windows is not drawn." if hidden else ""),
    )


def throughput(facts: FactTable, flow: str, bin_s: float | None = None) -> Figure:
    """Rate at which a flow's data arrives and is delivered."""
    seen = measured.throughput(facts, flow, bin_s)
    unit, scale = rate_unit(seen.arrived_bps)
    several = facts.starts_over(flow)
    in_order = (
        ()
        if several
        else (Series("delivered in order", "line", seen.time_s, seen.delivered_bps * scale, color="amber", width=1.2),)
    )
    return Figure(
        title=f"Throughput of {flow}",
        x=TIME,
        y=Axis("Throughput", unit, from_zero=True),
        series=drawn(
            *shaded_flow(facts, flow),
            *in_order,
            Series("new data received", "line", seen.time_s, seen.arrived_bps * scale, color="blue", width=1.8),
        ),
        note=f"Over the {seen.bin_s:g} s before each instant; payload only."
        + ("" if several else " Delivery pauses behind a missing segment and jumps when it arrives."),
    )


def rtt(facts: FactTable, flow: str) -> Figure:
    """Round-trip times and the timeout of a flow's sender."""
    seen = measured.rtt(facts, flow)
    until_s = facts.flow_end_s(flow)

    def line(name: str, points: Points, color: Color) -> Series:
        held = measured.held(points, until_s)
        return Series(name, "step", held.time_s, held.value, color=color)

    return Figure(
        title=f"Round-trip time of {flow}",
        x=TIME,
        y=Axis("Time", "s", from_zero=True),
        series=drawn(
            *shaded_flow(facts, flow),
            Series("RTT sample", "points", seen.samples.time_s, seen.samples.value, color="grey", size=3.0),
            line("smoothed RTT", seen.srtt, "blue"),
            line("retransmission timeout", seen.rto, "amber"),
            Series("timeout expired", "points", *columns(seen.timeouts), None, "red", "cross", 11.0, every=True),
        ),
        note=_SEVERAL.strip()
        if facts.starts_over(flow)
        else "The retransmission timeout includes its exponential back-off.",
    )


def queues(facts: FactTable) -> Figure:
    """Packets waiting at every link and bearer."""
    lines = []
    for place, queue in enumerate(measured.queues(facts)):
        color, dashed = turn(place)
        lines.append(Series(queue.machine, "step", *columns(queue.packets), color=color, width=1.2, dashed=dashed))
    return Figure(
        title="Queues",
        x=TIME,
        y=Axis("Packets waiting", from_zero=True),
        series=drawn(*lines),
        note="Packets of which nothing is transmitted yet; a line ends where its queue is empty for good.",
    )


def block_errors(facts: FactTable) -> Figure:
    """Share of radio blocks in error, for every bearer."""
    lines = []
    said = []
    for place, bearer in enumerate(measured.block_errors(facts)):
        color, dashed = turn(place)
        lines.append(Series(bearer.machine, "line", bearer.time_s, bearer.fraction * 100, color=color, dashed=dashed))
        share = 100 * bearer.in_error / bearer.sent
        said.append(
            f"{bearer.machine}: {bearer.in_error:,} of {bearer.sent:,} blocks in error ({share:.2f} %), "
            f"drawn over {bearer.bin_s:g} s."
        )
    return Figure(
        title="Block errors",
        x=TIME,
        y=Axis("Blocks in error", "%", from_zero=True),
        series=drawn(*lines),
        note=" ".join(said),
    )


def durations(results: ResultsSource) -> Figure:
    """One dot per replication, one row per scenario and flow, with mean and 95 % interval under it."""
    import numpy as np

    groups: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in results.flows().select(["scenario", "replication", "flow", "duration_s"]).to_pylist():
        values = groups.setdefault((row["scenario"], row["flow"]), [])
        if row["duration_s"] is not None and np.isfinite(row["duration_s"]):
            values.append((row["replication"], row["duration_s"]))
    many_flows = len({flow for _, flow in groups}) > 1
    ticks, x, y, ends, rows, means = [], [], [], [], [], []
    # The first row stands on top.
    for place, ((scenario, flow), values) in enumerate(reversed(groups.items())):
        ticks.append((float(place), f"{scenario}, {flow}" if many_flows else scenario))
        for replication, duration in values:
            x.append(duration)
            # Multiples of the golden ratio spread over a row without ever lining up, and need no random number.
            y.append(place + 0.12 + 0.3 * ((replication * 0.6180339887) % 1.0))
        estimate = mean(duration for _, duration in values)
        if estimate.n:
            half = estimate.half_width or 0.0
            ends += [estimate.mean - half, estimate.mean + half, np.nan]
            rows += [place - 0.14, place - 0.14, np.nan]
            means.append((estimate.mean, place - 0.14))
    centre = np.array(means, dtype=np.float64).reshape(-1, 2)
    return Figure(
        title="Duration of every replication",
        x=Axis("Duration", "s"),
        y=Axis("", ticks=ticks),
        series=drawn(
            Series("replication", "points", np.array(x), np.array(y), color="blue", size=6.0, every=True),
            Series("95 % interval", "line", np.array(ends), np.array(rows), color="ink", width=2.5),
            Series("mean", "points", centre[:, 0], centre[:, 1], None, "ink", "diamond", 9.0, every=True),
        ),
        note="The height of a dot inside its row means nothing. Replications that did not complete have no dot.",
        height=150 + (64 if len(groups) <= 12 else 40) * max(1, len(groups)),
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
