"""Small downloads over one PDU per TTI, in which one trigger of polls or reports is alone, and what they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cellwind.analysis.series import FactTable

from .cells import COMMON, FLOW
from .rlc_observed import DOWN, UP
from .transfers import TTI_S

if TYPE_CHECKING:
    from cellwind.scenario import Scenario

_TEXT = """
title = "Polls and reports of RLC (Teyeb 2007, section 4.2)"
description = "Section 4.2 of Teyeb's dissertation, a trigger at a time."
stop_at = "10 min"

[access.umts]
type = "umts"
tti = "10 ms"
pdu = "42 B"
delays = { node_b = "20 ms" }

[access.umts.down]
rate = "32 kbit/s"

[access.umts.up]
rate = "64 kbit/s"
"""

# A packet of four PDUs, and a file of many packets.
_PACKET, _FILE = ("110 B", "110 B"), ("20 kB", "1000 B")
_LOSSES = {"rate": 0.1}
_REPORTS = {"missing_pdu": True, "prohibit": "none"}


def _lost(at_ms: int) -> dict[str, Any]:
    return {"blackouts": [{"at": f"{at_ms} ms", "duration": "10 ms"}]}


@dataclass(frozen=True)
class _Trigger:
    """The settings of a trigger: polls beside "none", reports, file with its segments, and errors."""

    poll: Mapping[str, Any]
    status: Mapping[str, Any]
    file: tuple[str, str]
    errors: Mapping[str, Any]


# The second PDU of the packet of four is sent at 90 ms; where a report goes ahead of it, its last one at 120 ms.
_TRIGGERS: dict[str, _Trigger] = {
    "poll_last_pdu": _Trigger({"last_pdu": True}, _REPORTS, _PACKET, {"rate": 0.0}),
    "poll_last_retransmitted_pdu": _Trigger({"last_retransmitted_pdu": True}, _REPORTS, _PACKET, _lost(90)),
    "poll_every_pdu": _Trigger({"every_pdus": 4}, _REPORTS, _FILE, _LOSSES),
    "periodic": _Trigger({"periodic": "100 ms"}, _REPORTS, _FILE, _LOSSES),
    "poll_timer": _Trigger({"last_pdu": True, "timer": "70 ms"}, _REPORTS, _PACKET, _lost(120)),
    "poll_received": _Trigger({"every_pdus": 4}, {"missing_pdu": False, "prohibit": "none"}, _FILE, {"rate": 0.0}),
    "periodic_status": _Trigger(
        {"last_pdu": True}, {"missing_pdu": False, "periodic": "20 ms", "prohibit": "none"}, _FILE, {"rate": 0.0}
    ),
    "missing_pdu_indication": _Trigger({"timer": "300 ms"}, _REPORTS, _FILE, _LOSSES),
    "status_prohibit": _Trigger({"timer": "300 ms"}, {"missing_pdu": True, "prohibit": "100 ms"}, _FILE, _LOSSES),
}
TRIGGERS = tuple(_TRIGGERS)


@dataclass(frozen=True)
class Mechanism:
    """A download in which ``trigger`` is alone."""

    trigger: str

    @property
    def is_deterministic(self) -> bool:
        """One run shows the rule."""
        return True

    @property
    def name(self) -> str:
        """A name of its own."""
        return f"teyeb-mechanism-{self.trigger.replace('_', '-')}"

    def scenario(self, choices: Mapping[str, Any]) -> Scenario:
        """The scenario of this cell; ``choices`` are the values of what the dissertation leaves open, by path."""
        import cellwind

        trigger = _TRIGGERS[self.trigger]
        bulk, mss = trigger.file
        none = {"last_pdu": False, "last_retransmitted_pdu": False, "timer": "none"}
        values: dict[str, Any] = {
            f"flow.{FLOW}.bulk": bulk,
            f"flow.{FLOW}.transport.extends": "linux-2.4",
            **choices,
            f"flow.{FLOW}.transport.mss": mss,
            f"flow.{FLOW}.transport.timestamps": False,
            "access.umts.down.errors": dict(trigger.errors),
            "access.umts.down.rlc": {"type": "am", "poll": {**none, **trigger.poll}, "status": dict(trigger.status)},
        }
        return cellwind.Scenario.parse(_TEXT + COMMON, self.name, values)


@dataclass(frozen=True)
class MechanismSeen:
    """One run, in TTIs and PDUs.

    ``polled_pdus`` are the places of polled PDUs in the last packet, from 1; ``sent_between_polls`` and
    ``between_polls`` the PDUs and TTIs from one poll to the next; ``polls_on_resent`` the polls with a PDU that had
    been sent before; ``between_reports`` the TTIs from one report to the next; ``until_report`` those from what asks
    for one until the TTI is over that takes it to the network.
    """

    polled_pdus: Sequence[int]
    sent_between_polls: Sequence[int]
    between_polls: Sequence[int]
    polls_on_resent: int
    between_reports: Sequence[int]
    until_report: Sequence[int]


def observe_mechanism(facts: FactTable) -> MechanismSeen:
    """What Figures 4.3 and 4.4 show, in one run."""
    sent = facts.select("block_sent", "block_resent", machine=DOWN)
    polls = facts.select("poll_sent", machine=DOWN)
    place = {(round(time / TTI_S), seq): i for i, (time, seq) in enumerate(zip(sent.time_s, sent.seq, strict=True))}
    polled = [place[round(time / TTI_S), seq] for time, seq in zip(polls.time_s, polls.seq, strict=True)]
    entered = facts.select("queue_length", machine=DOWN).time_s[-1]
    first = int(sent.seq[(sent.kind == 0) & (sent.time_s >= entered)][0])
    reports = facts.select("status_sent", machine=UP).time_s
    asked = _asked(facts, sent_polls=set(polls.seq.tolist()))
    until = [reports[np.searchsorted(reports, time)] - time for time in asked if time <= reports[-1]]
    return MechanismSeen(
        polled_pdus=[int(seq) - first + 1 for seq in polls.seq if seq >= first],
        sent_between_polls=np.diff(polled).tolist(),
        between_polls=np.rint(np.diff(polls.time_s) / TTI_S).astype(int).tolist(),
        polls_on_resent=int((polls.a == 1).sum()),
        between_reports=np.rint(np.diff(reports) / TTI_S).astype(int).tolist(),
        until_report=[1 + int(wait / TTI_S + 1e-6) for wait in until],
    )


def _asked(facts: FactTable, sent_polls: set[int]) -> list[float]:
    """When the terminal got a reason to report: a poll, or a new PDU while others are missing."""
    arrived = facts.select("block_delivered", machine=DOWN)
    got: set[int] = set()
    begin = int(arrived.seq[0])
    found = []
    for time, seq in zip(arrived.time_s.tolist(), arrived.seq.tolist(), strict=True):
        is_new = seq not in got
        got.add(seq)
        while begin in got:
            begin += 1
        if seq in sent_polls or (is_new and seq > begin):
            found.append(time)
    return found
