"""Downloads over the RLC in acknowledged mode (section 5.3), with the TCP of Linux 2.4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..quantities import Factor
from .bearer import TEXT, TTI_MS, acknowledged
from .cells import COMMON, FLOW

if TYPE_CHECKING:
    from cellwind.scenario import Scenario

# The first packet waits 25 ms on the Internet and starts with the next TTI; its copy comes 3 s later, and what the
# report of that gap asks for is sent 14 TTIs after it.
FIRST_MS, AGAIN_MS = 30, 3170

_TEXT = f"""
title = "RLC parameters (Teyeb 2007, section 5.3)"
description = "Section 5.3 of Teyeb's dissertation, over the RLC in acknowledged mode."
replications = 20
stop_at = "20 min"
{TEXT["rlc"]}"""


@dataclass(frozen=True)
class RlcCell:
    """One combination of maxDAT and status prohibit; a poll timer of 0 is none."""

    maxdat: int = 10
    status_prohibit_ms: int = 100
    poll_timer_ms: int = 300
    file_bytes: int = 100 * 1024
    # The receiver's window; 0 leaves what the choices say.
    window_segments: int = 0

    @property
    def is_deterministic(self) -> bool:
        """Errors are random."""
        return False

    @property
    def factors(self) -> dict[str, Factor]:
        """The factors as the checks of the claims name them."""
        found: dict[str, Factor] = {"maxdat": self.maxdat, "status_prohibit_ms": self.status_prohibit_ms}
        return {**found, "max_window_segments": self.window_segments} if self.window_segments else found

    @property
    def name(self) -> str:
        """A name of its own."""
        rest = "" if self.poll_timer_ms == RlcCell.poll_timer_ms else f"-poll-{self.poll_timer_ms}"
        rest += "" if self.file_bytes == RlcCell.file_bytes else f"-{self.file_bytes}"
        rest += f"-window-{self.window_segments}" if self.window_segments else ""
        return f"teyeb-rlc-{self.maxdat}-{self.status_prohibit_ms}{rest}"

    def scenario(self, choices: Mapping[str, Any]) -> Scenario:
        """The scenario of this cell; ``choices`` are the values of what the dissertation leaves open, by path."""
        return self.named(self.name, choices)

    def named(self, name: str, values: Mapping[str, Any]) -> Scenario:
        """The same with other values, under a name of its own."""
        import cellwind

        found: dict[str, Any] = {
            f"flow.{FLOW}.bulk": f"{self.file_bytes} B",
            f"flow.{FLOW}.transport.extends": "linux-2.4",
            **values,
            "live.kernel.sack": True,
            "live.kernel.dsack": True,
            "live.kernel.timestamps": True,
            "access.umts.rlc": acknowledged(self.maxdat, self.status_prohibit_ms, self.poll_timer_ms),
        }
        if self.window_segments:
            found[f"flow.{FLOW}.transport.receive_window"] = f"{self.window_segments} segments"
        return cellwind.Scenario.parse(_TEXT + COMMON, name, found)


@dataclass(frozen=True)
class Deadlock:
    """A download whose first packet is lost on the air, and with ``twice`` its first retransmission, too."""

    poll_timer_ms: int = 0
    twice: bool = True

    @property
    def is_deterministic(self) -> bool:
        """The losses are scripted."""
        return True

    @property
    def factors(self) -> dict[str, Factor]:
        """The factors as the checks of the claims name them."""
        return {"poll_timer_ms": self.poll_timer_ms}

    @property
    def name(self) -> str:
        """A name of its own."""
        return f"teyeb-deadlock-{self.poll_timer_ms}{'-twice' if self.twice else ''}"

    def scenario(self, choices: Mapping[str, Any]) -> Scenario:
        """The scenario of this cell; ``choices`` are the values of what the dissertation leaves open, by path."""
        instants = [FIRST_MS, AGAIN_MS] if self.twice else [FIRST_MS]
        lost = [{"at": f"{instant} ms", "duration": f"{TTI_MS} ms"} for instant in instants]
        cell = RlcCell(poll_timer_ms=self.poll_timer_ms)
        errors = {"rate": 0.0, "unit": "tti", "blackouts": lost}
        return cell.named(self.name, {**choices, "access.umts.down.errors": errors})
