"""The runs of the paper: a long transfer over the block model of the radio link, with errors in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..quantities import Factor

if TYPE_CHECKING:
    from cellwind.scenario import Scenario

Tcp = Literal["vegas", "reno"]
Delivery = Literal["in_sequence", "out_of_sequence"]

FLOW = "ftp"
DOWNLINK = "access/umts/ue/down"
UPLINK = "access/umts/ue/up"

# Table 3.
DURATION_S = 1000
RATE_KBPS = 384
MSS = 512
TCP_HEADER_BYTES = 20
# On the radio link: TCP, IP and the byte of PDCP.
HEADER_BYTES = 41
MAX_WINDOW = 64
TTI_S = {"down": 0.010, "up": 0.020}

_SCENARIO = f"""
title = "A transfer over a dedicated channel (Lo et al.)"
description = "Sections 4 and 5 of the paper, over the block model of the radio link."
seed = 1
replications = 20
stop_at = "{DURATION_S} s"

[link.internet]

[access.umts]
type = "block-arq"
rate = "{RATE_KBPS} kbit/s"
tti = "10 ms"
pdu = "40 B"
max_transmissions = "unlimited"

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


@dataclass(frozen=True)
class Cell:
    """One combination of factors."""

    tcp: Tcp
    tbler: float
    delivery: Delivery = "in_sequence"

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
        return f"lo-{self.tcp}-tbler{self.tbler:g}-{self.delivery.replace('_', '-')}"

    def scenario(self, choices: Mapping[str, Any]) -> Scenario:
        """The scenario of this cell; ``choices`` are the values of what the paper leaves open, by path."""
        import cellwind

        values: dict[str, Any] = {
            "access.umts.errors": self.tbler,
            "access.umts.delivery": self.delivery.replace("_", "-"),
            f"flow.{FLOW}.transport.extends": "vegas-lo" if self.tcp == "vegas" else "reno",
        }
        return cellwind.Scenario.parse(_SCENARIO, self.name, {**values, **choices})
