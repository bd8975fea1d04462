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


TRANSPORT = """
stop_at = "{seconds} s"

[link.wire]
rate = "384 kbit/s"
delay = "135 ms"
queue = "50 packets"

[flow.download]
transport = {{ extends = "{preset}", mss = "536 B" }}
bulk = "unlimited"
"""

FAST = """
stop_at = "{seconds} s"

[link.wire]
rate = "10 Gbit/s"
delay = "50 ms"
queue = "85000 packets"

[flow.download]
transport = {{ extends = "{preset}", mss = "1460 B", receive_window = "700000 segments", window_scaling = true }}
bulk = "unlimited"
"""

RLC = """
stop_at = "{seconds} s"

[link.wire]
delay = "75 ms"

[access.bearer]
type = "umts"
rate = "384 kbit/s"
tti = "10 ms"
pdu = "40 B"

[access.bearer.down]
errors = 0.1

[flow.download]
transport = {{ extends = "reno", mss = "1460 B" }}
bulk = "unlimited"
"""

CELL = """
stop_at = "{seconds} s"

[link.wire]
delay = "75 ms"

[access.umts]
type = "umts"
rate = "384 kbit/s"
pdu = "42 B"

[access.umts.down]
errors = 0.1

[access.umts.cell]
capacity = "{capacity} kbit/s"
scheduler = "{scheduler}"
"""

TERMINAL = """
[terminal.t{number}]
{radio}

[flow.f{number}]
terminal = "t{number}"
transport = {{ extends = "reno", mss = "1460 B" }}
bulk = "unlimited"
"""


def transport(preset: str, seconds: int) -> str:
    """One flow of a preset over the path of ``flow``."""
    return TRANSPORT.format(preset=preset, seconds=seconds)


def fast(preset: str, seconds: int) -> str:
    """One flow of a preset over 10 Gbit/s and 100 ms there and back: a product of 83 000 packets."""
    return FAST.format(preset=preset, seconds=seconds)


def flow(seconds: int) -> str:
    """One Reno flow of 576-byte packets over 384 kbit/s and 135 ms one way, as in ns2/reno.tcl."""
    return FLOW.format(seconds=seconds)


def bearer(seconds: int, pdu: str = "one per TTI") -> str:
    """The same flow with its last 60 ms behind a bearer that resends ten per cent of its blocks.

    Packets are delivered in sequence: out of it, TCP halves its window again and again and sends a quarter of
    the packets, which would flatter the bearer.
    """
    return BEARER.format(seconds=seconds, pdu=pdu)


def rlc(seconds: int) -> str:
    """Bulk Reno over the whole of RLC in acknowledged mode: 12 PDUs in 10 ms, a tenth of them in error."""
    return RLC.format(seconds=seconds)


def cell(terminals: int, seconds: int, scheduler: str) -> str:
    """Bulk Reno to each of so many terminals, which share a cell of 2 Mbit/s at C/I from 0 down to -7 dB."""
    each = [TERMINAL.format(number=number, radio=f'c_to_i = "{-(number % 8)} dB"') for number in range(terminals)]
    return CELL.format(seconds=seconds, capacity=2000, scheduler=scheduler) + "".join(each)


def growing_cell(terminals: int, seconds: int) -> str:
    """The same in a cell that has 40 kbit/s for each of its terminals, wherever they are."""
    each = [TERMINAL.format(number=number, radio="") for number in range(terminals)]
    return CELL.format(seconds=seconds, capacity=40 * terminals, scheduler="fair-throughput") + "".join(each)
