"""Pings over the states of RRC (section 2.3.1.1), and five downloads that share a cell (2.3.1.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cellwind.analysis.series import FactTable

from .bearer import INTERNET_MS, UMTS_MS
from .cells import FLOW

if TYPE_CHECKING:
    from cellwind.scenario import Scenario

Policy = Literal["fair_throughput", "fair_resource", "c_over_i", "proportional_fair"]

# The interactive bearer of TS 34.108 with the delays of section 5.2.2.
_ACCESS = f"""
[link.internet]
delay = "{INTERNET_MS} ms"

[access.umts]
type = "umts"
pdu = "42 B"
delays = {{ node_b = "{UMTS_MS} ms" }}

[access.umts.down]
rate = "384 kbit/s"
tti = "10 ms"

[access.umts.up]
rate = "64 kbit/s"
tti = "20 ms"
"""

# Headers of IP and UDP; those of IP and ICMP are as large.
HEADERS = 28
FAST_KBPS = 384


@dataclass(frozen=True)
class Pings:
    """``count`` pings of ``size`` bytes, each ``grow`` larger than the one before, every ``interval_s``.

    The terminal begins idle or in CELL_FACH, a cell reselection begins after ``reselection_s``, and the bit rate
    follows the traffic volume where it ``is_switched``.
    """

    label: str
    size: int
    count: int
    grow: int = 0
    interval_s: int = 1
    is_idle: bool = False
    reselection_s: int | None = None
    is_switched: bool = False

    @property
    def is_deterministic(self) -> bool:
        """Nothing is random."""
        return True

    @property
    def name(self) -> str:
        """A name of its own."""
        return f"teyeb-pings-{self.label}"

    def scenario(self, choices: Mapping[str, Any]) -> Scenario:
        """The scenario; no choice of the paper concerns it."""
        import cellwind

        text = f"""
title = "Pings over the states of RRC (Teyeb 2007, section 2.3.1.1)"
stop_at = "20 min"
{_ACCESS}
[access.umts.rrc]

[flow.{FLOW}]
transport = "udp"
application = {{ type = "ping" }}
"""
        ping = f"flow.{FLOW}.application"
        values: dict[str, Any] = {
            f"{ping}.size": f"{self.size} B",
            f"{ping}.grow": f"{self.grow} B",
            f"{ping}.count": self.count,
            f"{ping}.interval": f"{self.interval_s} s",
            f"{ping}.timeout": "40 s",
        }
        rrc = "access.umts.rrc"
        if self.is_idle:
            # Section 2.3.1.1: around 0.9 s in this network.
            values |= {f"{rrc}.initial": "idle", f"{rrc}.connect_to": "cell-dch", f"{rrc}.connection_setup": "900 ms"}
        if self.reselection_s is not None:
            values[f"{rrc}.reselection"] = {"interval": f"{self.reselection_s} s"}
        if self.is_switched:
            values["access.umts.down.rate"] = "64 kbit/s"
            rates = [{"rate": f"{FAST_KBPS} kbit/s", "tti": "10 ms"}]
            values[f"{rrc}.dch.down.switching"] = {"rates": rates}
        return cellwind.Scenario.parse(text, self.name, values)


@dataclass(frozen=True)
class Sharing:
    """Five downloads without end in a cell, at C/I from 0 down to -8 dB, for a minute."""

    policy: Policy

    @property
    def is_deterministic(self) -> bool:
        """Nothing is random."""
        return True

    @property
    def name(self) -> str:
        """A name of its own."""
        return f"teyeb-sharing-{self.policy.replace('_', '-')}"

    def scenario(self, choices: Mapping[str, Any]) -> Scenario:
        """The scenario; no choice of the paper concerns it."""
        import cellwind

        scheduler = "c-i" if self.policy == "c_over_i" else self.policy.replace("_", "-")
        each = [
            f'\n[terminal.t{n}]\nc_to_i = "{c_to_i} dB"\n\n[flow.{FLOW}{n}]\nterminal = "t{n}"\n'
            'transport = "newreno"\nbulk = "unlimited"\n'
            for n, c_to_i in enumerate(C_TO_I)
        ]
        text = f"""
title = "Five terminals in a cell (Teyeb 2007, section 2.3.1.2)"
stop_at = "60 s"
{_ACCESS}
[access.umts.cell]
capacity = "{CELL_KBPS} kbit/s"
scheduler = "{scheduler}"
{"".join(each)}"""
        return cellwind.Scenario.parse(text, self.name, {})


C_TO_I = (0, -2, -4, -6, -8)
CELL_KBPS = 384


def alone_kbps(c_to_i: float) -> float:
    """The rate of a terminal that has the whole cell: 3.84 Mchip/s times C/I over an Eb/N0 of 5 dB."""
    return min(3840 * 10 ** ((c_to_i - 5) / 10), CELL_KBPS)


@dataclass(frozen=True)
class PingsSeen:
    """Times in seconds from the start of a run.

    ``rtt_ms`` has the round trip of each ping by its number; ``states`` when the terminal entered which state of RRC;
    ``rates`` when the downlink had which rate in kbit/s; ``blocks_s`` when a PDU was sent, either way.
    """

    rtt_ms: Mapping[int, float]
    states: Sequence[tuple[float, int]]
    rates: Sequence[tuple[float, float]]
    blocks_s: Sequence[float]


CELL_PCH, CELL_FACH, CELL_DCH = 3, 4, 5


def observe_pings(facts: FactTable) -> PingsSeen:
    """What chapter 2 shows of one run."""
    replies = facts.select("message_arrived", machine=f"flow/{FLOW}/receiver")
    states = facts.select("rrc_state")
    rates = facts.select("channel_rate")
    down = rates.b == 0
    blocks = facts.select("block_sent", "block_resent")
    return PingsSeen(
        rtt_ms=dict(zip(replies.seq.tolist(), (replies.a * 1e-6).tolist(), strict=True)),
        states=list(zip(states.time_s.tolist(), states.a.tolist(), strict=True)),
        rates=list(zip(rates.time_s[down].tolist(), (rates.a[down] * 1e-3).tolist(), strict=True)),
        blocks_s=np.sort(blocks.time_s).tolist(),
    )
