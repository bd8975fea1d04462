"""The runs of the dissertation: one download over a radio bearer, perhaps with a delay spike, or through a handover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..quantities import Factor
from .bearer import TEXT, Bearer, Delivery, acknowledged

if TYPE_CHECKING:
    from cellwind.scenario import Scenario

Buffering = Literal["none", "intermediate", "full"]
Options = Literal["plain", "sack", "dsack", "dsack_fack", "eifel", "sack_eifel", "no_dsack"]
Network = Literal["wlan", "umts", "gprs"]

FLOW = "transfer"
MSS = 1460

FILE_BYTES = {"order": 100 * 1024, "spike": 100 * 1024, "handover": 1024 * 1024}

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
title = "In and out of sequence (Teyeb 2007, section 6.4)"
description = "Section 6.4 of Teyeb's dissertation, over the RLC in acknowledged mode or the block model in its place."
replications = 20
stop_at = "10 min"
"""

# Table 6.1.
MAXDAT, STATUS_PROHIBIT_MS = 10, 100

_HANDOVER = """
title = "A handover between networks (Teyeb 2007, section 7.3)"
description = "Sections 7.3.1 and 7.3.2 of Teyeb's dissertation."
stop_at = "20 min"

[terminal.ue]
"""

# Table 7.1.
NETWORKS: dict[Network, str] = {
    "wlan": """
[access.wlan]
type = "link"
rate = "1 Mbit/s"
delay = "5 ms"

[access.wlan.up]
rate = "64 kbit/s"
""",
    "umts": """
[access.umts]
type = "link"
rate = "384 kbit/s"
delay = "75 ms"

[access.umts.up]
rate = "32 kbit/s"
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
    "sack_eifel": "sack",
    "no_dsack": "fack",
}
# In the handovers SACK is what Linux has when nothing of it is switched off.
_HANDOVER_PRESET: dict[Options, str] = {**_PRESET, "sack": "fack", "sack_eifel": "fack"}
# Sections 6.4.2 and 7.3.1.2: after several timeouts the window is not restored.
_UNDO = {"type": "linux", "f_rto": False, "repeated_timeouts": False, "response": "linux"}
_FACK = {"type": "fack", "reordering": "adaptive"}


@dataclass(frozen=True)
class Cell:
    """One combination of factors, of the delivery order (section 6.4.1), a delay spike (6.4.2) or a handover (7.3)."""

    study: Literal["order", "spike", "handover"]
    tcp: Options = "plain"
    delivery: Delivery = "in_sequence"
    handover_delay_s: int = 0
    buffering: Buffering = "none"
    origin: Network = "wlan"
    target: Network = "umts"
    spike_s: float = 0.0
    position_s: float = 0.0
    duplicate_acks: int = 0
    soft: bool = False
    queue_bytes: int = 0
    bearer: Bearer = "rlc"

    @property
    def is_deterministic(self) -> bool:
        """Nothing is random in a handover."""
        return self.study == "handover"

    @property
    def factors(self) -> dict[str, Factor]:
        """The factors as the checks of the claims name them."""
        if self.study == "order":
            return {"rlc_delivery": self.delivery, "tcp": self.tcp}
        if self.study == "spike":
            return {"spike_s": self.spike_s, "position_s": self.position_s, "eifel": _on(self.tcp == "eifel")}
        return {"handover_delay_s": self.handover_delay_s, "buffering": self.buffering}

    @property
    def file_bytes(self) -> int:
        """Size of the file."""
        return FILE_BYTES[self.study]

    @property
    def name(self) -> str:
        """A name of its own: every factor in a fixed order."""
        bearer = "" if self.bearer == "rlc" else "-block"
        if self.study == "order":
            return f"teyeb-order-{self.delivery.replace('_', '-')}-{self.tcp.replace('_', '-')}{bearer}"
        if self.study == "spike":
            return f"teyeb-spike-{self.spike_s:g}s-at-{self.position_s:g}s-{self.tcp}{bearer}"
        how = "soft" if self.soft else f"{self.handover_delay_s}s-{self.buffering}"
        asked = f"-asked-{self.duplicate_acks}" if self.duplicate_acks else ""
        queue = f"-queue-{self.queue_bytes}" if self.queue_bytes else ""
        variant = f"{self.origin}-{self.target}-{self.tcp.replace('_', '-')}"
        return f"teyeb-handover-{how}{asked}{queue}{'' if variant == 'wlan-umts-plain' else f'-{variant}'}"

    def scenario(self, choices: Mapping[str, Any]) -> Scenario:
        """The scenario of this cell; ``choices`` are the values of what the dissertation leaves open, by path."""
        import cellwind

        values = {f"flow.{FLOW}.bulk": f"{self.file_bytes} B", **self._transport(choices)}
        if self.study == "handover":
            if self.queue_bytes:
                values[f"access.{self.target}.down.queue"] = f"{self.queue_bytes} B"
            return cellwind.Scenario.parse(self._handover() + COMMON, self.name, values)
        if self.bearer == "rlc":
            values["access.umts.rlc"] = acknowledged(MAXDAT, STATUS_PROHIBIT_MS, delivery=self.delivery)
        else:
            values["access.umts.delivery"] = self.delivery.replace("_", "-")
        text = _ORDER + TEXT[self.bearer]
        if self.study == "spike":
            text += f'\n[[event]]\nat = "{self.position_s:g} s"\nspike = "{self.spike_s:g} s"\n'
        return cellwind.Scenario.parse(text + COMMON, self.name, values)

    def _handover(self) -> str:
        """The text of a handover after half of the file."""
        networks = dict.fromkeys((self.target, self.origin))
        how = "soft = true" if self.soft else f'delay = "{self.handover_delay_s} s"\nbuffering = "{self.buffering}"'
        asks = f"duplicate_acks = {self.duplicate_acks}\n" if self.duplicate_acks else ""
        return (
            f'{_HANDOVER}access = "{self.origin}"\n{"".join(NETWORKS[network] for network in networks)}\n[[event]]\n'
            f'after = "{self.file_bytes // 2} B"\nhandover = "{self.target}"\n{how}\n{asks}'
        )

    def _transport(self, choices: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of the transport, by path: what the options stand for, and the choices."""
        transport = f"flow.{FLOW}.transport"
        is_handover = self.study == "handover"
        preset = (_HANDOVER_PRESET if is_handover else _PRESET)[self.tcp]
        has_stamps = "eifel" in self.tcp
        reports = self.tcp in ("dsack", "dsack_fack") or (is_handover and self.tcp in ("sack", "sack_eifel"))
        values: dict[str, Any] = {
            f"{transport}.extends": preset,
            **choices,
            "live.kernel.sack": preset != "newreno",
            "live.kernel.dsack": reports,
            "live.kernel.timestamps": has_stamps,
        }
        if preset == "newreno":
            values[f"{transport}.recovery"] = {"type": "newreno", "partial_ack": "slow-but-steady"}
        if preset == "fack":
            values[f"{transport}.recovery"] = {**_FACK, "reduction": "rate-halving"} if is_handover else _FACK
        if has_stamps:
            values[f"{transport}.timestamps"] = True
            values[f"{transport}.timestamp_clock"] = "10 ms"
            # Table E.1: the ACK of a segment that had arrived before echoes the older timestamp.
            values[f"{transport}.echo_duplicates"] = False
        if reports or has_stamps:
            values[f"{transport}.spurious"] = _UNDO
        if not is_handover or self.tcp == "no_dsack":
            # Where nothing is undone, the reports of D-SACK would only take room.
            values[f"{transport}.d_sack"] = reports
        return values


def _on(is_on: bool) -> str:
    return "on" if is_on else "off"
