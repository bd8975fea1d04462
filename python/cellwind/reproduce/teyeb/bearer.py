"""The radio bearer of sections 5.3 and 6.4: RLC in acknowledged mode, or the block model in its place."""

from __future__ import annotations

from typing import Any, Literal

Bearer = Literal["rlc", "block"]
Delivery = Literal["out_of_sequence", "in_sequence"]

RATE_KBPS, UPLINK_KBPS, FER, TTI_MS = 384, 32, 0.1, 10
# One way: half of the round trips of section 5.2.2.
UMTS_MS, INTERNET_MS = 57.5, 25
# Octets of a PDU that carry data, and its header in acknowledged mode.
PAYLOAD, AM_HEADER = 40, 2

# From when a block fails until it is there again: 200 ms at this status prohibit (Figure 5.16), the TTI included.
_FEEDBACK_MS = 190

_LINK = f"""
[link.internet]
delay = "{INTERNET_MS} ms"
"""

# A radio block is what one TTI carries, and fails as a whole.
_RLC = f"""
[access.umts]
type = "umts"
rate = "{RATE_KBPS} kbit/s"
tti = "{TTI_MS} ms"
pdu = "{PAYLOAD + AM_HEADER} B"
delays = {{ node_b = "{UMTS_MS} ms" }}

[access.umts.down.errors]
rate = {FER}
unit = "tti"

[access.umts.up]
rate = "{UPLINK_KBPS} kbit/s"
errors = 0.0
"""

_BLOCK = f"""
[access.umts]
type = "block-arq"
rate = "{RATE_KBPS} kbit/s"
tti = "{TTI_MS} ms"
pdu = "one per TTI"
delay = "{UMTS_MS} ms"
feedback_delay = "{_FEEDBACK_MS} ms"
max_transmissions = "unlimited"
errors = {FER}

[access.umts.up]
rate = "{UPLINK_KBPS} kbit/s"
errors = 0.0
"""

TEXT: dict[Bearer, str] = {"rlc": _LINK + _RLC, "block": _LINK + _BLOCK}


def acknowledged(
    maxdat: int, status_prohibit_ms: int, poll_timer_ms: int = 300, delivery: Delivery = "in_sequence"
) -> dict[str, Any]:
    """The table ``access.umts.rlc``, both ways; a poll timer of 0 is none."""
    poll_timer = f"{poll_timer_ms} ms" if poll_timer_ms else "none"
    return {
        "type": "am",
        "max_dat": maxdat,
        "delivery": delivery.replace("_", "-"),
        "poll": {"last_pdu": True, "last_retransmitted_pdu": True, "timer": poll_timer},
        "status": {"missing_pdu": True, "prohibit": f"{status_prohibit_ms} ms"},
    }
