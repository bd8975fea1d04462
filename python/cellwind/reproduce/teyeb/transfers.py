"""Downloads as the model of section 5.2 sees them: one segment at first, an ACK for each, over a block per TTI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cellwind.predict.download import Download, Way

from ..quantities import Factor
from .bearer import UPLINK_KBPS
from .cells import COMMON, FLOW

if TYPE_CHECKING:
    from cellwind.scenario import Scenario

TTI_S = 0.01
HEADER = 40
RTT_UMTS_S, RTT_INTERNET_S = 0.115, 0.05

_TEXT = f"""
title = "A download of the model (Teyeb 2007, section 5.2)"
description = "Section 5.2.2 of Teyeb's dissertation, over the block model of the radio link."
replications = 20
stop_at = "10 min"

[link.internet]
delay = "{500 * RTT_INTERNET_S:g} ms"

[access.umts]
type = "block-arq"
tti = "{1e3 * TTI_S:g} ms"
pdu = "one per TTI"
delay = "{500 * RTT_UMTS_S:g} ms"
delivery = "in-sequence"
max_transmissions = "unlimited"

[access.umts.up]
rate = "{UPLINK_KBPS} kbit/s"
errors = 0.0
"""


@dataclass(frozen=True)
class Transfer:
    """One download of the model; ``mss`` is the segment, ``starts`` when a TTI begins on an idle link."""

    rate_kbps: int = 128
    fer: float = 0.0
    ret_ttis: int = 1
    mss: int = 1460
    file_bytes: int = 100 * 1024
    starts: str = "grid"

    @property
    def is_deterministic(self) -> bool:
        """Only errors are random."""
        return self.fer == 0.0

    @property
    def factors(self) -> dict[str, Factor]:
        """The factors as the checks of the claims name them."""
        return {"fer": self.fer, "ret_ttis": self.ret_ttis}

    @property
    def name(self) -> str:
        """A name of its own."""
        rest = f"-{self.mss}" if self.mss != Transfer.mss else ""
        return f"teyeb-model-{self.rate_kbps}k-{self.fer:g}-{self.ret_ttis}{rest}"

    @property
    def download(self) -> Download:
        """What the model says of it."""
        ret_s = TTI_S * self.ret_ttis
        down = Way(1e3 * self.rate_kbps, TTI_S, self.fer, ret_s, self.mss + HEADER)
        up = Way(1e3 * UPLINK_KBPS, TTI_S, 0.0, ret_s, HEADER)
        return Download(self.file_bytes, self.mss, down, up, RTT_UMTS_S, RTT_INTERNET_S)

    def scenario(self, choices: Mapping[str, Any]) -> Scenario:
        """The scenario of this cell; ``choices`` are the values of what the dissertation leaves open, by path."""
        import cellwind

        transport = f"flow.{FLOW}.transport"
        values: dict[str, Any] = {
            f"flow.{FLOW}.bulk": f"{self.file_bytes} B",
            f"{transport}.extends": "newreno",
            **choices,
            f"{transport}.mss": f"{self.mss} B",
            # The model's own TCP, whatever the kernel of the dissertation did.
            f"{transport}.initial_window": "1 segment",
            f"{transport}.delayed_ack": {"every": 1, "timer": "200 ms", "quick": 0},
            "access.umts.down.rate": f"{self.rate_kbps} kbit/s",
            "access.umts.down.errors": self.fer,
            "access.umts.feedback_delay": f"{1000 * self.ret_ttis * TTI_S:g} ms",
            "access.umts.tti_start": self.starts,
        }
        return cellwind.Scenario.parse(_TEXT + COMMON, self.name, values)
