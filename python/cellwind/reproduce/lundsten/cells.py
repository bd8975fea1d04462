"""The runs of the thesis: a download over the block model of the radio link or the full RLC, with its factors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ..quantities import Factor

if TYPE_CHECKING:
    from cellwind.scenario import Scenario

Delivery = Literal["out_of_sequence", "in_sequence"]
Pdu = Literal["tti", "40 B"]
Path = Literal["full", "split"]
Transport = Literal["reno", "eifel", "westwood"]
Bearer = Literal["block model", "full RLC"]

# Table 3: the windows in segments that fill the link, by rate in kbit/s and packet size in bytes.
MAX_WINDOW = {(384, 576): 25, (384, 1500): 14, (128, 576): 11, (128, 1500): 7, (64, 576): 9, (64, 1500): 6}

# The presets of the transports of section 5.3.3, beside Reno.
PRESETS: Mapping[Transport, str] = {"reno": "reno", "eifel": "reno-eifel", "westwood": "westwood"}

# Section 5.3: a packet includes 40 bytes of headers.
HEADER_BYTES = 40

# Section 5.2.4: 60 ms in UMTS and 75 ms on the Internet; section 5.3.3: 30 ms between radio link and proxy.
ONE_WAY_MS = {"full": (60, 75), "split": (30, 0)}

# The same over the full RLC, where the 20 ms that a block of the uplink takes and the 20 ms of processing between the
# RLC entities are parts of them: what is left in the core network, and on the wire down and up.
CORE_MS = {"full": 20, "split": 0}
WIRE_MS = {"full": (95, 75), "split": (0, 0)}

TTI_MS = 20
FEEDBACK_MS = 60
FLOW = "download"
DOWNLINK = "access/umts/ue/down"
UPLINK = "access/umts/ue/up"

# What the thesis states; the values it leaves open come from the choices.
_SCENARIO = """
title = "A download over the radio link of UMTS (Lundsten 2002)"
description = "Sections 5.2 to 5.5 of Lundsten's thesis."
seed = 1
replications = 20
stop_at = "10 h"

[link.internet]

[flow.download]
bulk = "1 segment"
transport = { extends = "reno" }
"""

_BLOCK_MODEL = """
[access.umts]
type = "block-arq"
rate = "384 kbit/s"
tti = "20 ms"
feedback_delay = "60 ms"
max_transmissions = "unlimited"

[access.umts.up]
errors = 0.0
"""

# A header of 16 bits stands before the 40 bytes of a PDU.
_FULL_RLC = f"""
[access.umts]
type = "umts"
rate = "384 kbit/s"
tti = "{TTI_MS} ms"
pdu = "42 B"

[access.umts.rlc]
type = "am"

[access.umts.delays]
ue = "20 ms"

[access.umts.up]
errors = 0.0
"""


@dataclass(frozen=True)
class Cell:
    """One combination of factors; the defaults are those of Table 3."""

    rate_kbps: int
    packet_bytes: int
    file_kbytes: int = 16_000
    bler: float = 0.1
    delivery: Delivery = "out_of_sequence"
    pdu: Pdu = "tti"
    path: Path = "full"
    initial_window: int | Literal["rfc3390"] = 1
    transport: Transport = "reno"
    bearer: Bearer = "block model"

    @property
    def reference(self) -> Cell:
        """The error-free Reno run that percentages are relative to."""
        clean = Cell(self.rate_kbps, self.packet_bytes, self.file_kbytes, bler=0.0)
        return clean if self.bearer == "block model" else replace(clean, pdu="40 B", bearer=self.bearer)

    @property
    def max_window(self) -> int:
        """The receiver's window in segments."""
        return MAX_WINDOW[self.rate_kbps, self.packet_bytes]

    @property
    def mss(self) -> int:
        """Payload bytes of a full segment."""
        return self.packet_bytes - HEADER_BYTES

    @property
    def packets(self) -> int:
        """Packets of the file."""
        return math.ceil(self.file_kbytes * 1000 / self.packet_bytes)

    @property
    def file_bytes(self) -> int:
        """Bytes of the file as the thesis counts them: whole packets, headers included."""
        return self.packets * self.packet_bytes

    @property
    def tcp(self) -> str:
        """What the thesis calls the solution: the transport, or ``split`` for the short path."""
        return "split" if self.path == "split" else self.transport

    @property
    def is_deterministic(self) -> bool:
        """Without block errors nothing is random."""
        return self.bler == 0.0

    @property
    def factors(self) -> dict[str, Factor]:
        """The factors as the checks of the claims name them."""
        return {
            "tcp": self.tcp,
            "rlc_delivery": self.delivery,
            "pdu": self.pdu,
            "rate_kbps": self.rate_kbps,
            "packet_bytes": self.packet_bytes,
            "file_kbytes": self.file_kbytes,
            "bler": self.bler,
            "initial_window": self.initial_window,
            "bearer": self.bearer,
        }

    @property
    def name(self) -> str:
        """A name of its own: every factor in a fixed order."""
        return (
            f"lundsten-{self.rate_kbps}k-{self.packet_bytes}B-{self.file_kbytes}kB-bler{self.bler:g}"
            f"-{self.delivery.replace('_', '-')}-pdu-{self.pdu.replace(' ', '')}-{self.path}-iw{self.initial_window}"
            f"{'' if self.transport == 'reno' else f'-{self.transport}'}"
            f"{'' if self.bearer == 'block model' else '-full-rlc'}"
        )

    def scenario(self, choices: Mapping[str, Any]) -> Scenario:
        """The scenario of this cell; ``choices`` are the values of what the thesis leaves open, by path."""
        import cellwind

        window = self.initial_window
        is_model = self.bearer == "block model"
        values: dict[str, Any] = {
            "flow.download.transport.extends": PRESETS[self.transport],
            "access.umts.rate": f"{self.rate_kbps} kbit/s",
            **(self._block_model() if is_model else self._full_rlc()),
            "flow.download.bulk": f"{self.packets} segments",
            "flow.download.transport.mss": f"{self.mss} B",
            "flow.download.transport.header": f"{HEADER_BYTES} B",
            "flow.download.transport.receive_window": f"{self.max_window} segments",
            "flow.download.transport.initial_window": window if isinstance(window, str) else _segments(window),
        }
        access = _BLOCK_MODEL if is_model else _FULL_RLC
        return cellwind.Scenario.parse(_SCENARIO + access, self.name, {**values, **choices})

    def _block_model(self) -> dict[str, Any]:
        umts_ms, internet_ms = ONE_WAY_MS[self.path]
        return {
            "link.internet.delay": f"{internet_ms} ms",
            "access.umts.delay": f"{umts_ms} ms",
            "access.umts.down.errors": self.bler,
            "access.umts.pdu": "one per TTI" if self.pdu == "tti" else self.pdu,
            "access.umts.delivery": self.delivery.replace("_", "-"),
        }

    def _full_rlc(self) -> dict[str, Any]:
        down_ms, up_ms = WIRE_MS[self.path]
        return {
            "link.internet.down.delay": f"{down_ms} ms",
            "link.internet.up.delay": f"{up_ms} ms",
            "access.umts.delays.sgsn": f"{CORE_MS[self.path]} ms",
            "access.umts.down.errors": self.bler,
            "access.umts.rlc.delivery": self.delivery.replace("_", "-"),
        }


def _segments(count: int) -> str:
    return "1 segment" if count == 1 else f"{count} segments"


def aliases(name: str, value: Factor) -> tuple[str, Factor]:
    """Other spellings of the factors in the checks."""
    match name, value:
        case "file_mbytes", int() | float():
            return "file_kbytes", value * 1000
        case "pdu_bytes", int():
            return "pdu", f"{value} B"
        case "initial_window_segments", _:
            return "initial_window", value
        case _:
            return name, value


def grid(base: Cell, points: tuple[tuple[int, int], ...]) -> list[Cell]:
    """The cell at several pairs of rate and packet size."""
    return [replace(base, rate_kbps=rate, packet_bytes=packet) for rate, packet in points]
