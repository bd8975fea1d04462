"""The runs of the dissertation: one download over a radio bearer, or through a handover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..quantities import Factor

if TYPE_CHECKING:
    from cellwind.scenario import Scenario

Delivery = Literal["out_of_sequence", "in_sequence"]
Buffering = Literal["none", "intermediate", "full"]
Options = Literal["plain", "sack", "dsack", "dsack_fack", "eifel"]
Origin = Literal["wlan", "gprs"]

FLOW = "transfer"
MSS = 1460

FILE_BYTES = {"order": 100 * 1024, "handover": 1024 * 1024}

COMMON = f"""
[flow.{FLOW}]

[flow.{FLOW}.transport]
mss = "{MSS} B"

# A TTI, and less than a packet takes on any of the networks.
[live]
lateness_limit = "10 ms"

[live.kernel]
congestion_control = "reno"
frto = false
early_retrans = false
"""

_ORDER = """
title = "In and out of sequence (Teyeb 2007, Figure 6.3)"
description = "Section 6.4.1 of Teyeb's dissertation, over the block model of the radio link."
replications = 20
stop_at = "10 min"

[link.internet]
delay = "25 ms"

[access.umts]
type = "block-arq"
rate = "384 kbit/s"
tti = "10 ms"
pdu = "one per TTI"
delay = "57.5 ms"
feedback_delay = "190 ms"
max_transmissions = "unlimited"
errors = 0.1

[access.umts.up]
rate = "32 kbit/s"
errors = 0.0
"""

_HANDOVER = """
title = "A handover to UMTS (Teyeb 2007, section 7.3)"
description = "Sections 7.3.1 and 7.3.2 of Teyeb's dissertation."
stop_at = "20 min"

[access.umts]
type = "link"
rate = "384 kbit/s"
delay = "75 ms"

[access.umts.up]
rate = "32 kbit/s"

[terminal.ue]
"""

_ORIGIN: dict[Origin, str] = {
    "wlan": """
[access.wlan]
type = "link"
rate = "1 Mbit/s"
delay = "5 ms"

[access.wlan.up]
rate = "64 kbit/s"
""",
    "gprs": """
[access.gprs]
type = "link"
rate = "32 kbit/s"
delay = "350 ms"
""",
}

# What each of the options is made of; the kernel of 2.4 undid reactions by timestamps and by D-SACK.
_PRESET: dict[Options, str] = {
    "plain": "newreno",
    "sack": "sack",
    "dsack": "sack",
    "dsack_fack": "fack",
    "eifel": "newreno",
}
# Sections 6.4.2 and 7.3.1.2: after several timeouts the window is not restored.
_UNDO = {"type": "linux", "f_rto": False, "repeated_timeouts": False, "response": "linux"}
_FACK = {"type": "fack", "reordering": "adaptive"}


@dataclass(frozen=True)
class Cell:
    """One combination of factors, of the delivery order (section 6.4.1) or of a handover (7.3.1 and 7.3.2)."""

    study: Literal["order", "handover"]
    tcp: Options = "plain"
    delivery: Delivery = "in_sequence"
    handover_delay_s: int = 0
    buffering: Buffering = "none"
    origin: Origin = "wlan"

    @property
    def is_deterministic(self) -> bool:
        """Nothing is random in a handover."""
        return self.study == "handover"

    @property
    def factors(self) -> dict[str, Factor]:
        """The factors as the checks of the claims name them."""
        if self.study == "order":
            return {"rlc_delivery": self.delivery, "tcp": self.tcp}
        return {"handover_delay_s": self.handover_delay_s, "buffering": self.buffering}

    @property
    def file_bytes(self) -> int:
        """Size of the file."""
        return FILE_BYTES[self.study]

    @property
    def name(self) -> str:
        """A name of its own: every factor in a fixed order."""
        if self.study == "order":
            return f"teyeb-order-{self.delivery.replace('_', '-')}-{self.tcp.replace('_', '-')}"
        variant = f"-{self.origin}-{self.tcp}" if (self.origin, self.tcp) != ("wlan", "plain") else ""
        return f"teyeb-handover-{self.handover_delay_s}s-{self.buffering}{variant}"

    def scenario(self, choices: Mapping[str, Any]) -> Scenario:
        """The scenario of this cell; ``choices`` are the values of what the dissertation leaves open, by path."""
        import cellwind

        transport = f"flow.{FLOW}.transport"
        # In the handover study SACK is what Linux has when nothing of it is switched off.
        has_all = self.study == "handover" and self.tcp == "sack"
        preset = "fack" if has_all else _PRESET[self.tcp]
        undoes = has_all or self.tcp in ("dsack", "dsack_fack", "eifel")
        values: dict[str, Any] = {
            f"flow.{FLOW}.bulk": f"{self.file_bytes} B",
            f"{transport}.extends": preset,
            **choices,
            "live.kernel.sack": preset != "newreno",
            "live.kernel.dsack": has_all or self.tcp in ("dsack", "dsack_fack"),
            "live.kernel.timestamps": self.tcp == "eifel",
        }
        if preset == "newreno":
            values[f"{transport}.recovery"] = {"type": "newreno", "partial_ack": "slow-but-steady"}
        if preset == "fack":
            values[f"{transport}.recovery"] = {**_FACK, "reduction": "rate-halving"} if has_all else _FACK
        if self.tcp == "eifel":
            values[f"{transport}.timestamps"] = True
            values[f"{transport}.timestamp_clock"] = "10 ms"
            # Table E.1: the ACK of a segment that had arrived before echoes the older timestamp.
            values[f"{transport}.echo_duplicates"] = False
        if undoes:
            values[f"{transport}.spurious"] = _UNDO
        if self.study == "order":
            text = _ORDER
            values["access.umts.delivery"] = self.delivery.replace("_", "-")
            # Where nothing is undone, the reports of D-SACK would only take room.
            values[f"{transport}.d_sack"] = self.tcp in ("dsack", "dsack_fack")
        else:
            values["terminal.ue.access"] = self.origin
            text = (
                f'{_HANDOVER}{_ORIGIN[self.origin]}\n[[event]]\nafter = "{self.file_bytes // 2} B"\nhandover = "umts"\n'
                f'delay = "{self.handover_delay_s} s"\nbuffering = "{self.buffering}"\n'
            )
        return cellwind.Scenario.parse(text + COMMON, self.name, values)
