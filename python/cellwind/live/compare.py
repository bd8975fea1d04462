"""One scenario simulated and live, side by side: where they differ, and by which facts.

Every replication is run under both clocks, with the same random numbers. What the two share are the machines of the
path; what may differ are the TCP ends, ours and the kernel's, and that the kernel's are never twice the same.
"""

from __future__ import annotations

import statistics
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from cellwind import _core
from cellwind.campaign.rows import FlowRow
from cellwind.campaign.tables import facts_of
from cellwind.scenario import Scenario

from .replicate import LiveReplication, replicate

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

# A larger difference of medians is explained.
NOTABLE = 0.05

_METRICS = (
    "duration_s",
    "goodput_bps",
    "segments_sent",
    "segments_retransmitted",
    "timeouts",
    "fast_retransmits",
    "spurious_timeouts",
    "rtt_mean_s",
)
# These are what the others come from, and explain differences in them.
_CAUSES = ("timeouts", "segments_retransmitted", "fast_retransmits", "rtt_mean_s")


@dataclass(frozen=True)
class Parting:
    """Where the two time-sequence plots of a replication part: the first data segment that differs."""

    replication: int
    number: int
    """Which data segment sent, from 1."""
    simulated_s: float | None
    simulated_seq: int | None
    live_s: float | None
    live_seq: int | None
    """None where one of them sent no more."""


@dataclass(frozen=True)
class MetricComparison:
    """Medians of one metric of one flow; the ratio is live to simulated, None without meaning."""

    metric: str
    simulated: float | None
    live: float | None
    ratio: float | None

    @property
    def is_notable(self) -> bool:
        """Whether the medians differ by more than 5 %."""
        if self.simulated is None or self.live is None:
            return self.simulated is not self.live
        return abs(self.live - self.simulated) > NOTABLE * max(abs(self.simulated), abs(self.live))


@dataclass(frozen=True)
class FlowComparison:
    """A flow under both clocks."""

    flow: str
    transport: str
    metrics: tuple[MetricComparison, ...]
    partings: tuple[Parting, ...]
    explanation: tuple[str, ...]
    """One sentence per fact that differs, where a median differs by more than 5 %."""


@dataclass(frozen=True)
class Comparison:
    """A scenario under both clocks."""

    scenario: str
    simulated: int
    """Replications simulated."""
    live: int
    """Replications live that count."""
    flows: tuple[FlowComparison, ...]
    notes: tuple[str, ...]
    """Where the kernel's TCP cannot do as the scenario says."""
    failures: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """As ``cellwind compare --json`` prints it."""
        return asdict(self)


@dataclass(frozen=True)
class _Side:
    """One replication under one clock."""

    flows: Sequence[FlowRow]
    drops: Mapping[str, int]
    sequences: Mapping[str, npt.NDArray[np.float64]]
    """Per flow, time in s and sequence number of every data segment sent, in two columns."""


def compare(
    scenario: Scenario, replications: int | None = None, *, stop: threading.Event | None = None, **options: Any
) -> Comparison:
    """Runs every replication of a scenario simulated and live, and compares.

    Raises EmulationError when this machine cannot emulate, ValueError for a scenario without flows.
    """
    if not scenario.flows:
        raise ValueError(f"{scenario.name} has no flow to compare")
    simulated: list[_Side] = []
    live: list[_Side | None] = []
    notes: Sequence[str] = ()
    failures = []
    for replication in range(replications or scenario.replications):
        simulated.append(_simulated(scenario, replication))
        done = replicate(scenario, replication, facts=True, pcap=True, stop=stop, **options)
        notes = done.notes
        if done.valid:
            live.append(_live(scenario, done))
        else:
            failures.append(f"replication {replication} does not count: {'; '.join(done.complaints)}")
            live.append(None)
    flows = [_flow(number, simulated, live) for number in range(len(scenario.flows))] if any(live) else []
    counted = sum(side is not None for side in live)
    return Comparison(scenario.name, len(simulated), counted, tuple(flows), tuple(notes), tuple(failures))


def _flow(number: int, simulated: Sequence[_Side], live: Sequence[_Side | None]) -> FlowComparison:
    pairs = [(ours, theirs) for ours, theirs in zip(simulated, live, strict=True) if theirs is not None]
    name, transport = simulated[0].flows[number]["name"], simulated[0].flows[number]["transport"]
    metrics = []
    for metric in _METRICS:
        ours = _median([_value(side, number, metric) for side in simulated])
        theirs = _median([_value(side, number, metric) for _, side in pairs])
        ratio = theirs / ours if ours and theirs is not None else None
        metrics.append(MetricComparison(metric, ours, theirs, ratio))
    partings = [
        parting
        for replication, (ours, theirs) in enumerate(zip(simulated, live, strict=True))
        if theirs is not None
        and (parting := _parting(replication, ours.sequences[name], theirs.sequences[name])) is not None
    ]
    explanation = _explanation(metrics, partings, pairs) if any(metric.is_notable for metric in metrics) else []
    return FlowComparison(name, transport, tuple(metrics), tuple(partings), tuple(explanation))


def _explanation(
    metrics: Sequence[MetricComparison], partings: Sequence[Parting], pairs: Sequence[tuple[_Side, _Side]]
) -> list[str]:
    """What differs besides what is to be explained."""
    words = {metric.metric: metric for metric in metrics}
    facts = [
        f"{name}: {_number(words[name].simulated)} simulated, {_number(words[name].live)} live"
        for name in _CAUSES
        if words[name].is_notable
    ]
    reasons = sorted({reason for both in pairs for side in both for reason in side.drops})
    for reason in reasons:
        ours, theirs = (_median([side.drops.get(reason, 0) for side in sides]) for sides in zip(*pairs, strict=True))
        if ours != theirs:
            facts.append(f"drops, {reason.replace('_', ' ')}: {_number(ours)} simulated, {_number(theirs)} live")
    if partings:
        first = min(partings, key=lambda parting: parting.number)
        facts.append(f"replication {first.replication} parts first: {_where(first)}")
    return facts


def _value(side: _Side, number: int, metric: str) -> float | int | None:
    row: Mapping[str, Any] = {**side.flows[number]}
    value: float | int | None = row[metric]
    return value


def _median(values: Sequence[float | int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(statistics.median(known)) if known else None


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def _where(parting: Parting) -> str:
    def sent(time_s: float | None, seq: int | None) -> str:
        return "none" if time_s is None else f"{seq} at {time_s:.3f} s"

    return (
        f"as data segment {parting.number} the simulated sender sent "
        f"{sent(parting.simulated_s, parting.simulated_seq)}, "
        f"the live one {sent(parting.live_s, parting.live_seq)}"
    )


def _parting(
    replication: int, simulated: npt.NDArray[np.float64], live: npt.NDArray[np.float64], slack_s: float = 0.02
) -> Parting | None:
    """The first data segment with another sequence number, or sent more than ``slack_s`` earlier or later."""
    import numpy as np

    common = min(len(simulated), len(live))
    ours, theirs = simulated[:common], live[:common]
    differs = (ours[:, 1] != theirs[:, 1]) | (np.abs(ours[:, 0] - theirs[:, 0]) > slack_s)
    if not differs.any() and len(simulated) == len(live):
        return None
    place = int(differs.argmax()) if differs.any() else common

    def at(segments: npt.NDArray[np.float64]) -> tuple[float | None, int | None]:
        return (float(segments[place, 0]), int(segments[place, 1])) if place < len(segments) else (None, None)

    return Parting(replication, place + 1, *at(simulated), *at(live))


def _simulated(scenario: Scenario, replication: int) -> _Side:
    run = _core.run(scenario.core, replication, facts=True)
    facts = facts_of(run)
    reasons = dict(enumerate(_core.drop_reasons(), start=1))
    lost = _of_kinds(facts, "drop")["a"].to_pylist()
    return _Side(run.flows, Counter(reasons[reason] for reason in lost), _sequences(facts, scenario.flows))


def _live(scenario: Scenario, done: LiveReplication) -> _Side:
    facts = done.finished.facts
    return _Side(done.finished.record.flows, done.drops, _sequences(facts, scenario.flows))


def _sequences(facts: pa.Table, flows: Sequence[str]) -> dict[str, npt.NDArray[np.float64]]:
    import numpy as np

    sent = _of_kinds(facts, "segment_sent", "segment_resent")
    data = sent.filter(np.asarray(sent["length"]) > 0)
    names = np.asarray(data["flow"].to_pylist(), dtype=object)
    columns = np.column_stack([np.asarray(data["time_ns"]) * 1e-9, np.asarray(data["seq"], dtype=np.float64)])
    return {flow: columns[names == flow] for flow in flows}


def _of_kinds(facts: pa.Table, *kinds: str) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    column = facts["kind"].combine_chunks()
    codes = [code for code, name in enumerate(column.dictionary.to_pylist()) if name in kinds]
    return facts.filter(pa.array(np.isin(np.asarray(column.indices), codes)))
