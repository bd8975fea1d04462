"""The runs of P9: packets with deadlines over a slow link that stands still now and then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..quantities import Factor

if TYPE_CHECKING:
    from cellwind.scenario import Scenario

Study = Literal["ticker", "ticker-reselections", "tcp", "tcp-reselections", "tcp-just-above", "tfrc"]
Reselections = Literal["easy", "mediocre", "difficult"]
Tcp = Literal["reno", "eifel", "atp"]

FLOW = "transfer"
ADU_BYTES = 5000
ADU_INTERVAL_S = 5.0
MTU = 700
TRANSFER_BYTES = 300_000
SEGMENT = 536

# Figure 3: from 16 to 26 s. Figure 4: from 10 to 20 s. Figure 5 does not say when and is taken to be like Figure 4.
TICKER_DELAY_S = (16.0, 26.0)
TCP_DELAY_S = (10.0, 20.0)
TFRC_DELAY_S = (10.0, 20.0)

# Table 2: from a delay to the next.
_INTERVALS: dict[Reselections, str] = {
    "easy": "uniform 80 s to 140 s",
    "mediocre": "uniform 40 s to 80 s",
    "difficult": "uniform 20 s to 40 s",
}

# The first delay of a run lies anywhere in its interval when the flow begins this late.
_LATE = "3 h"

_LINK = """
title = "Packets with lifetimes (Gurtov 2002, P9)"

[link.wireless]
rate = "30 kbit/s"
delay = "300 ms"
"""

_TICKER = f"""
[flow.{FLOW}]
application = {{ type = "news", update = "{ADU_BYTES} B", interval = "{ADU_INTERVAL_S:.0f} s" }}
transport = {{ type = "udp", payload = "{MTU - 28} B" }}
"""

_TCP = f"""
[flow.{FLOW}]
bulk = "{TRANSFER_BYTES} B"

[flow.{FLOW}.transport]
extends = "reno"
mss = "{SEGMENT + 12} B"
timestamps = true
timestamp_clock = "10 ms"
initial_window = "1 segment"
receive_window = "20 segments"
recovery = {{ type = "reno", bug_fix = "off" }}
rto = {{ initial = "3 s", minimum = "1 s", granularity = "10 ms" }}
"""

_TFRC = f"""
[flow.{FLOW}]
bulk = "unlimited"
transport = {{ type = "tfrc", segment = "1000 B", expiring_data = true, feedback_lifetime = "3 s" }}
"""


@dataclass(frozen=True)
class Lifetime:
    """One combination of factors; ``check`` says whether the queue looks at deadlines."""

    study: Study
    check: bool = False
    buffer_kbytes: int = 100
    reselections: Reselections = "easy"
    tcp: Tcp = "reno"
    lifetime: Literal["rto", "rto-plus-rtt"] = "rto-plus-rtt"

    @property
    def paper(self) -> str:
        """The paper whose choices hold."""
        return "P9"

    @property
    def is_deterministic(self) -> bool:
        """Only the reselections are random."""
        return not self.study.endswith("reselections")

    @property
    def name(self) -> str:
        """A name of its own: every factor in a fixed order."""
        check = "check" if self.check else "no-check"
        return f"p9-{self.study}-{self.reselections}-{self.tcp}-{self.lifetime}-{check}-{self.buffer_kbytes}"

    @property
    def delay_s(self) -> tuple[float, float]:
        """When the single delay of this run begins and ends."""
        if self.study == "tcp-just-above":
            # The timer holds 7 s when nothing moves any more: a delay that ends soon after it expired.
            return (TCP_DELAY_S[0], TCP_DELAY_S[0] + 8.0)
        return {"ticker": TICKER_DELAY_S, "tcp": TCP_DELAY_S, "tfrc": TFRC_DELAY_S}.get(self.study, (0.0, 0.0))

    @property
    def factors(self) -> dict[str, Factor]:
        """The factors as the checks of the claims name them."""
        check: dict[str, Factor] = {"deadline_check": "on" if self.check else "off"}
        match self.study:
            case "ticker":
                return {**check, "buffer_kbytes": self.buffer_kbytes}
            case "ticker-reselections":
                transport = "atp" if self.check else "udp"
                scenario, buffer = self.reselections, self.buffer_kbytes
                return {"transport": transport, "buffer_kbytes": buffer, "scenario": scenario}
            case "tcp-reselections":
                return {"tcp": self.tcp, "buffer_kbytes": self.buffer_kbytes, "scenario": self.reselections}
            case "tcp" | "tcp-just-above":
                return {**check, "lifetime": self.lifetime}
            case _:
                return check

    def scenario(self, _: Mapping[str, Any]) -> Scenario:
        """The scenario of this cell; the choices of P9 stand in this file, as they are not those of P2 and P3."""
        import cellwind

        slow = self.study == "ticker"
        values: dict[str, Any] = {"link.wireless.queue": f"{self.buffer_kbytes} kB"}
        if slow:
            # FixTtl of Figure 3 leaves 17 ms beside the transmission of a packet.
            values |= {"link.wireless.rate": "9600 bit/s", "link.wireless.delay": "10 ms"}
        if self.check:
            fix_ttl = "600 ms" if self.study.startswith("ticker") else "300 ms"
            values["link.wireless.expiry"] = {"fix_ttl": fix_ttl}
        if self.study.startswith("ticker"):
            text = _TICKER
            # As many updates as 2 min or 10 min hold.
            values[f"flow.{FLOW}.application.updates"] = 24 if slow else 120
        elif self.study == "tfrc":
            text = _TFRC
            values["stop_at"] = "2 min"
        else:
            text = _TCP
            values["stop_at"] = "4 h"
            if self.check:
                values[f"flow.{FLOW}.transport.lifetime"] = self.lifetime
            if self.tcp == "eifel":
                values[f"flow.{FLOW}.transport.extends"] = "reno-eifel"
        if self.is_deterministic:
            starts, ends = self.delay_s
            values["event"] = [{"at": f"{starts:.0f} s", "spike": f"{ends - starts:.0f} s"}]
        else:
            values["spikes.reselections"] = {
                "interval": _INTERVALS[self.reselections],
                "interval_from": "start",
                "duration": "uniform 3 s to 15 s",
            }
            values[f"flow.{FLOW}.start"] = _LATE
        return cellwind.Scenario.parse(_LINK + text, self.name, values)
