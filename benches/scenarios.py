"""The scenarios that the benches run, as text."""

FLOW = """
stop_at = "{seconds} s"

[link.wire]
rate = "384 kbit/s"
delay = "135 ms"
queue = "50 packets"

[flow.download]
transport = {{ extends = "reno", mss = "536 B", receive_window = "10000 segments" }}
bulk = "unlimited"
"""

BEARER = """
stop_at = "{seconds} s"

[link.wire]
rate = "384 kbit/s"
delay = "75 ms"
queue = "50 packets"

[access.bearer]
extends = "umts-384"
pdu = "{pdu}"
delivery = "in-sequence"
queue = "50 packets"

[flow.download]
transport = {{ extends = "reno", mss = "536 B", receive_window = "10000 segments" }}
bulk = "unlimited"
"""


def flow(seconds: int) -> str:
    """One Reno flow of 576-byte packets over 384 kbit/s and 135 ms one way, as in ns2/reno.tcl."""
    return FLOW.format(seconds=seconds)


def bearer(seconds: int, pdu: str = "one per TTI") -> str:
    """The same flow with its last 60 ms behind a bearer that resends ten per cent of its blocks.

    Packets are delivered in sequence: out of it, TCP halves its window again and again and sends a quarter of
    the packets, which would flatter the bearer.
    """
    return BEARER.format(seconds=seconds, pdu=pdu)
