"""The kernel's TCP in place of a simulated one: which of its settings say the same, and what cannot be said."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cellwind.quantities import seconds, size_bytes

# Linux 6.17 removed the recovery of RFC 6675; since then RACK-TLP (RFC 8985) is all there is with SACK.
_RACK_ONLY = (6, 17)
# Constants of net/ipv4 that no setting of a namespace changes.
_INITIAL_RTO_S = 1.0
_MAXIMUM_RTO_S = 120.0
_CONGESTION = {"aimd": "reno", "cubic": "cubic", "bbr": "bbr"}
# Bytes of IP and TCP header, by version of IP.
_HEADERS = {40: 4, 60: 6}
# The option takes these from each segment (RFC 7323 §3).
_TIMESTAMPS = 12


@dataclass(frozen=True)
class KernelTransport:
    """How the kernel carries one flow.

    ``namespace`` are settings of the ends, shared by all flows; the others belong to the flow's own sockets.
    ``notes`` say, in a sentence each, where the kernel will not do as the scenario's transport.
    """

    namespace: Mapping[str, str]
    notes: tuple[str, ...]
    congestion: str | None
    mss: int
    window: int
    ip_version: int

    @property
    def payload(self) -> int:
        """Data bytes of a full segment."""
        return self.mss - (_TIMESTAMPS if self.namespace["timestamps"] == "true" else 0)


def kernel_transport(transport: Mapping[str, Any]) -> KernelTransport:
    """Maps a resolved transport, the table of a flow in a scenario file."""
    mss = size_bytes(transport["mss"])
    payload = mss - (_TIMESTAMPS if transport["timestamps"] else 0)
    header = size_bytes(transport["header"])
    every = transport["delayed_ack"]["every"]
    namespace = {
        "sack": _flag(transport["sack"]),
        "dsack": _flag(transport["d_sack"]),
        "timestamps": _flag(transport["timestamps"]),
        "frto": _flag(transport["spurious"]["type"] == "frto"),
        "early_retrans": "false",
        "recovery": "0",
        "reordering": str(transport["dup_thresh"]),
        "initial_window": str(max(1, _initial_window(transport["initial_window"], payload) // payload)),
        "rto_min": transport["rto"]["minimum"],
        "quickack": _flag(every == 1),
    }
    congestion = transport["congestion"]["type"]
    return KernelTransport(
        namespace=namespace,
        notes=tuple(_notes(transport, header)),
        congestion=_CONGESTION.get(congestion),
        mss=mss,
        window=size_bytes(transport["receive_window"], payload),
        ip_version=_HEADERS.get(header, 4),
    )


def settings_of(document: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Settings of the kernel for all flows of a resolved scenario, and what they cannot say.

    What ``[live.kernel]`` says itself stands. Where flows differ, the first one decides.
    """
    chosen = dict(document.get("live", {}).get("kernel", {}))
    settings: dict[str, str] = {}
    notes: list[str] = []
    for name, flow in document.get("flow", {}).items():
        mapped = kernel_transport(flow["transport"])
        settings = settings or {key: value for key, value in mapped.namespace.items() if key not in chosen}
        different = [key for key, value in settings.items() if mapped.namespace[key] != value]
        if different:
            notes.append(f"{name}: {', '.join(different)} as in the first flow, because the ends share these settings")
        notes += [f"{name}: {note}" for note in mapped.notes]
    return settings, notes


def _notes(transport: Mapping[str, Any], header: int) -> list[str]:
    recovery, rto = transport["recovery"]["type"], transport["rto"]
    notes = []
    if header not in _HEADERS:
        notes.append(f"headers of {header} bytes do not exist: IPv4 has 40")
    if transport["congestion"]["type"] not in _CONGESTION:
        notes.append(f"the kernel's own congestion control stands for {transport['congestion']['type']}")
    if recovery == "sack" and _kernel_release() >= _RACK_ONLY:
        notes.append("this kernel finds losses by RACK-TLP (RFC 8985), not by RFC 6675")
    elif recovery in ("tahoe", "reno"):
        notes.append(f"the kernel has no {recovery.capitalize()}; without SACK it repairs as NewReno")
    if transport.get("initial_ssthresh") is not None:
        notes.append("the kernel starts with the highest slow start threshold")
    if not transport["limited_transmit"]:
        notes.append("the kernel always has limited transmit")
    if transport["pacing"] == "by-window":
        notes.append("the kernel does not pace without a queue discipline that asks for it")
    if transport["delayed_ack"]["every"] > 1:
        notes.append("the kernel delays acknowledgements as it finds best")
    if seconds(rto["initial"]) != _INITIAL_RTO_S:
        notes.append(f"the kernel's first retransmission timeout is 1 s, not {rto['initial']}")
    if seconds(rto["maximum"]) != _MAXIMUM_RTO_S:
        notes.append(f"the kernel's longest retransmission timeout is 120 s, not {rto['maximum']}")
    if transport["spurious"]["type"] == "off" and (transport["timestamps"] or transport["d_sack"]):
        notes.append("the kernel undoes what timestamps or D-SACK show to have been spurious")
    return notes


def _initial_window(text: str, payload: int) -> int:
    if text == "rfc3390":
        return min(4 * payload, max(2 * payload, 4380))
    if text == "rfc6928":
        return min(10 * payload, max(2 * payload, 14_600))
    return size_bytes(text, payload)


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _kernel_release() -> tuple[int, int]:
    numbers = [int(part) for part in os.uname().release.split("-")[0].split(".")[:2] if part.isdecimal()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)
