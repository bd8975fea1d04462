"""The runs of the two papers: one transfer over a link of 9600 bit/s."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..quantities import Factor

if TYPE_CHECKING:
    from cellwind.scenario import Scenario

Study = Literal["case-study", "delay"]
Stack = Literal["freebsd", "windows98", "linux22", "linux24"]

FLOW = "transfer"
MSS = 256
SEGMENTS = 400  # 100 kB
RATE_BPS = 9600

# P2: the delay begins after 5 s and lasts 10 s.
DELAY_STARTS_S = 5.0
DELAY_ENDS_S = 15.0

# P3: the loss rate rises after 40 s.
STATE_CHANGES_S = 40.0

_COMMON = f"""
[link.wireless]
rate = "{RATE_BPS} bit/s"

[flow.{FLOW}]
bulk = "{SEGMENTS * MSS} B"

[flow.{FLOW}.transport]
mss = "{MSS} B"
receive_window = "16 kB"

# A tenth of the time that a packet takes.
[live]
lateness_limit = "25 ms"

[live.kernel]
congestion_control = "reno"
early_retrans = false
"""

_CASE_STUDY = """
title = "A lossy wireless link (Gurtov 2002, P3)"
description = "Section 7 of Gurtov's paper P3."
replications = 20
stop_at = "30 min"

[[event]]
at = "40 s"
set = { "link.wireless.loss" = 0.1 }

[link.lan]
rate = "10 Mbit/s"
"""

_DELAY = """
title = "A delay of ten seconds (Gurtov 2002, P2)"
description = "Section 5 of Gurtov's paper P2."
stop_at = "30 min"

[[event]]
at = "5 s"
spike = "10 s"
"""

# The presets of the stacks of P2, section 5.
_STACKS: Mapping[Stack, str] = {
    "freebsd": "freebsd-4.1",
    "windows98": "windows-98",
    "linux22": "linux-2.2",
    "linux24": "linux-2.4-gurtov",
}

# What Linux 2.4 does without SACK in P3.
_LINUX24 = {"recovery": {"type": "newreno", "bug_fix": "careful", "partial_ack": "slow-but-steady"}}


@dataclass(frozen=True)
class Cell:
    """One combination of factors; ``timestamps`` and ``frto`` are settings of the kernel in live runs."""

    study: Study
    stack: Stack = "linux24"
    sack: bool = False
    timestamps: bool = False
    frto: bool = False

    @property
    def paper(self) -> str:
        """The paper that ran it."""
        return "P3" if self.study == "case-study" else "P2"

    @property
    def is_deterministic(self) -> bool:
        """Nothing is random in the delay test."""
        return self.study == "delay"

    @property
    def factors(self) -> dict[str, Factor]:
        """The factors as the checks of the claims name them."""
        if self.study == "case-study":
            return {"tcp": "sack" if self.sack else "newreno"}
        return {"stack": self.stack}

    @property
    def kernel_factors(self) -> dict[str, Factor]:
        """The settings of the kernel in a live run of the delay test."""
        return {"stack": "this kernel", "timestamps": self.timestamps, "F-RTO": self.frto}

    @property
    def wireless(self) -> str:
        """Name of the direction of the link that carries the data."""
        return "wireless/down" if self.study == "case-study" else "wireless/up"

    @property
    def acks(self) -> str:
        """Name of the direction that carries the acknowledgements."""
        return "wireless/up" if self.study == "case-study" else "wireless/down"

    @property
    def name(self) -> str:
        """A name of its own: every factor in a fixed order."""
        options = [("sack", self.sack), ("timestamps", self.timestamps), ("frto", self.frto)]
        return "-".join(["gurtov", self.study, self.stack, *(name for name, is_on in options if is_on)])

    def scenario(self, choices: Mapping[str, Any]) -> Scenario:
        """The scenario of this cell; ``choices`` are the values of what the papers leave open, by path."""
        import cellwind

        transport = f"flow.{FLOW}.transport"
        newreno = _STACKS[self.stack] if self.study == "delay" else "newreno"
        values: dict[str, Any] = {f"{transport}.extends": "sack" if self.sack else newreno}
        if self.study == "case-study":
            values |= {"link.wireless.delay": "200 ms", "link.wireless.loss": 0.01, "link.wireless.queue": "10 packets"}
            values |= {f"{transport}.initial_window": "2 segments"}
        else:
            values |= {"link.wireless.delay": "300 ms", f"flow.{FLOW}.direction": "up"}
        values |= choices
        if self.study == "case-study" and not self.sack:
            values |= {f"{transport}.{key}": value for key, value in _LINUX24.items()}
        values |= {
            f"{transport}.timestamps": self.timestamps,
            "live.kernel.sack": self.sack,
            "live.kernel.timestamps": self.timestamps,
            "live.kernel.frto": self.frto,
        }
        text = (_CASE_STUDY if self.study == "case-study" else _DELAY) + _COMMON
        return cellwind.Scenario.parse(text, self.name, values)
