"""The runs of the paper: a long transfer over a dedicated channel, with block errors in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..quantities import Factor

if TYPE_CHECKING:
    from cellwind.scenario import Scenario

Tcp = Literal["vegas", "reno"]
Delivery = Literal["in_sequence", "out_of_sequence"]
TCPS: tuple[Tcp, ...] = get_args(Tcp)

FLOW = "ftp"
DOWNLINK = "access/umts/ue/down"
UPLINK = "access/umts/ue/up"

# Table 3.
DURATION_S = 1000
RATE_KBPS = 384
MSS = 512
TCP_HEADER_BYTES = 20
# TCP and IP; on the radio link a byte of PDCP stands before them.
HEADER_BYTES = 40
PDCP_BYTES = 1
MAX_WINDOW = 64
TTI_S = {"down": 0.010, "up": 0.020}

# Blocks of 40 bytes that a TTI of the uplink carries at 64 kbit/s.
UPLINK_BLOCKS = 4

# Table 3 has a window of 4096 blocks, one more than sequence numbers of 12 bits allow (TS 25.322 §9.6).
_SCENARIO = f"""
title = "A transfer over a dedicated channel (Lo et al.)"
description = "Sections 4 and 5 of the paper."
seed = 1
replications = 20
stop_at = "{DURATION_S} s"

[link.internet]

[access.umts]
type = "umts"
rate = "{RATE_KBPS} kbit/s"
tti = "10 ms"
pdu = "42 B"

[access.umts.pdcp]
header = true

[access.umts.rlc]
type = "am"
window = 4095
receive_window = 4095

[access.umts.up]
rate = "64 kbit/s"
tti = "20 ms"

[flow.{FLOW}]
bulk = "unlimited"

[flow.{FLOW}.transport]
mss = "{MSS} B"
header = "{HEADER_BYTES} B"
receive_window = "{MAX_WINDOW} segments"
"""

# What asks for a status report, each turned off (Table 1).
_UNASKED = {
    "access.umts.rlc.poll.last_pdu": False,
    "access.umts.rlc.poll.last_retransmitted_pdu": False,
    "access.umts.rlc.poll.timer": "none",
}
_EVERY = "access.umts.rlc.poll.every_pdus"
_PROHIBIT = "access.umts.rlc.status.prohibit"


@dataclass(frozen=True)
class Cell:
    """One combination of factors; without ``status_prohibit_ms`` the status prohibit timer is the one chosen, 40 ms."""

    tcp: Tcp
    tbler: float
    delivery: Delivery = "in_sequence"
    has_sender_triggers: bool = True
    status_prohibit_ms: int | None = None

    @property
    def is_deterministic(self) -> bool:
        """Without block errors nothing is random."""
        return self.tbler == 0.0

    @property
    def factors(self) -> dict[str, Factor]:
        """The factors as the checks of the claims name them."""
        return {"tcp": self.tcp, "tbler": self.tbler}

    @property
    def name(self) -> str:
        """A name of its own: every factor in a fixed order."""
        triggers = "" if self.has_sender_triggers else "-receiver-triggers-only"
        prohibit = "" if self.status_prohibit_ms is None else f"-prohibit-{self.status_prohibit_ms}ms"
        return f"lo-{self.tcp}-tbler{self.tbler:g}-{self.delivery.replace('_', '-')}{triggers}{prohibit}"

    def scenario(self, choices: Mapping[str, Any]) -> Scenario:
        """The scenario of this cell; ``choices`` are the values of what the paper leaves open, by path."""
        import cellwind

        values: dict[str, Any] = {
            "access.umts.errors": self.tbler,
            "access.umts.rlc.delivery": self.delivery.replace("_", "-"),
            f"flow.{FLOW}.transport.extends": "vegas-lo" if self.tcp == "vegas" else "reno",
            **choices,
        }
        if not self.has_sender_triggers:
            values |= _UNASKED
            del values[_EVERY]
        if self.status_prohibit_ms is not None:
            values[_PROHIBIT] = f"{self.status_prohibit_ms} ms"
        return cellwind.Scenario.parse(_SCENARIO, self.name, values)
