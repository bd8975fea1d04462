"""A simulated transfer of P4, P5 or P8: a topology, what differs from it, and what is read from its facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cellwind.analysis.series import FactTable, Points, RoundTrip, TimeSequence, Window, rtt, time_sequence, window

from ..quantities import Point, Quantity

if TYPE_CHECKING:
    from cellwind.analysis.series import Floats
    from cellwind.scenario import Scenario

    from ..design import Bench

PaperId = Literal["P4", "P5", "P8"]

FLOW = "transfer"
TRANSPORT = f"flow.{FLOW}.transport"

# What the presets of the one-way agents of ns-2 have in common; the papers name the rest, or the choices do.
_BASE = f"""
title = "A transfer over a slow or long link (Gurtov 2002, %s)"
description = "One-way TCP of ns-2, as Gurtov's paper %s ran it."
replications = 100

[flow.{FLOW}]
bulk = "1 segment"

[flow.{FLOW}.transport]
extends = "reno"
"""


@dataclass(frozen=True)
class Run:
    """One run: ``topology`` is the path in the form of a scenario file, ``settings`` are values by their path.

    Runs of one paper under one name are the same run.
    """

    paper: PaperId
    name: str
    topology: str
    settings: Mapping[str, Any] = field(hash=False)
    is_deterministic: bool = False

    def scenario(self, choices: Mapping[str, Any]) -> Scenario:
        """The scenario of this run; ``choices`` are the values of what the papers leave open, by path."""
        import cellwind

        text = _BASE % (self.paper, self.paper) + self.topology
        # The preset comes first, so that choices and settings go over it.
        values = {f"{TRANSPORT}.extends": "reno", **choices, **self.settings}
        first = {f"{TRANSPORT}.extends": values.pop(f"{TRANSPORT}.extends")}
        name = f"gurtov-{self.paper.lower()}-{self.name}"
        return cellwind.Scenario.parse(text, name, {**first, **values})


def of_transport(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of the transfer's transport, by their path in the scenario."""
    return {f"{TRANSPORT}.{key}": value for key, value in values.items()}


@dataclass(frozen=True)
class Transfer:
    """What the papers look at in one run; times in seconds from the start of the transfer.

    ``redundant`` counts segments that arrived without a new byte, ``outstanding`` those in flight at the first timeout.
    ``timeouts_s`` has every expiry, ``undone_s`` the reactions that the sender took back. ``lost_s`` are drops of any
    packet, ``acks`` all acknowledgements received: the instant and the highest byte acknowledged.
    """

    sequence: TimeSequence
    window: Window
    timer: RoundTrip
    duration_s: float
    redundant: int
    outstanding: int
    timeouts_s: Floats
    spurious_s: Floats
    fast_retransmits_s: Floats
    undone_s: Floats
    lost_s: Floats
    duplicates_s: Floats
    held_s: Floats
    released_s: Floats

    @property
    def timeout_series_s(self) -> Floats:
        """The first expiry of each series without an acknowledgement of new data in between."""
        acked = self.sequence.acked
        new = acked.time_s[1:][np.diff(acked.value) > 0]
        series = np.searchsorted(new, self.timeouts_s, side="right")
        return self.timeouts_s[np.diff(series, prepend=-1) > 0]

    def delays(self) -> tuple[list[float], list[float]]:
        """When the delays began, from the start of the run on, and how long each was, as far as it ended."""
        begun = np.unique(self.held_s).tolist()
        ended = np.unique(self.released_s).tolist()
        return begun, [end - begin for begin, end in zip(begun, ended, strict=False)]

    def before(self, points: Points) -> float:
        """The value of a series right before the first timeout."""
        return at(points, float(np.nextafter(self.first(self.timeouts_s, 0.0), -np.inf)))

    def after(self, points: Points) -> float:
        """The value of a series once the sender has taken its first reaction back."""
        return at(points, self.first(self.undone_s, 0.0))

    @staticmethod
    def first(instants: Floats, after_s: float) -> float:
        """The first of some instants after one; not a number where there is none."""
        later = instants[instants > after_s]
        return float(later[0]) if len(later) else float("nan")


def at(points: Points, time_s: float) -> float:
    """The value of a series at an instant, not a number where there is none; each value holds until the next."""
    place = int(np.searchsorted(points.time_s, time_s, side="right")) - 1
    return float(points.value[place]) if place >= 0 and not np.isnan(time_s) else float("nan")


def observe(facts: FactTable) -> Transfer:
    """What the papers look at in one run."""
    begun = facts.select("flow_started", flow=FLOW)
    start = float(begun.time_s[0]) if len(begun) else 0.0

    def moved(points: Points) -> Points:
        return Points(points.time_s - start, points.value)

    seen, windows, timer = time_sequence(facts, FLOW), window(facts, FLOW), rtt(facts, FLOW)
    received = facts.select("segment_received", flow=FLOW)
    timeouts = facts.select("timeout", flow=FLOW)
    sent = facts.select("segment_sent", flow=FLOW)
    acks = facts.select("ack_received", flow=FLOW)
    mss = int(sent.length.max(initial=1))
    done = facts.select("flow_completed", flow=FLOW).time_s
    late = {kind: facts.select(kind).time_s - start for kind in ("drop", "transmission_held", "transmission_released")}
    return Transfer(
        sequence=TimeSequence(*(moved(getattr(seen, name)) for name in TimeSequence.__dataclass_fields__)),
        window=Window(*(moved(getattr(windows, name)) for name in Window.__dataclass_fields__)),
        timer=RoundTrip(*(moved(getattr(timer, name)) for name in RoundTrip.__dataclass_fields__)),
        duration_s=float(done[0]) - start if len(done) else float("nan"),
        redundant=int(((received.b == 1) & (received.length > 0)).sum()),
        outstanding=-(-int(timeouts.b[0]) // mss) if len(timeouts) else 0,
        timeouts_s=timeouts.time_s - start,
        spurious_s=facts.select("spurious_timeout", flow=FLOW).time_s - start,
        fast_retransmits_s=facts.select("fast_retransmit", flow=FLOW).time_s - start,
        undone_s=facts.select("reaction_undone", flow=FLOW).time_s - start,
        lost_s=late["drop"],
        # An acknowledgement of nothing new while the sender waits: SND.UNA was there already.
        duplicates_s=acks.time_s[(acks.seq <= acks.a) & (acks.a > 1)] - start,
        held_s=late["transmission_held"],
        released_s=late["transmission_released"],
    )


def transfer(bench: Bench[Any, Any], run: Run) -> Transfer:
    """Replication 0 of a traced run. Raises NotRunError."""
    found = bench.observed(run)
    assert isinstance(found, Transfer)
    return found


def numbers(
    bench: Bench[Any, Any], factor: str, runs: Mapping[Any, Run], read: Callable[[Transfer], float]
) -> Quantity:
    """One number of each run, by one factor. Raises NotRunError."""
    return Quantity.of(Point({factor: name}, float(read(transfer(bench, run)))) for name, run in runs.items())
