"""Live emulation: the machines of a scenario between real programs, under the wall clock.

``emulate`` starts one, ``connect`` reaches one that is running, and docs/live.md tells the rest.
"""

from __future__ import annotations

from .control import Control, ControlError, connect, runs
from .emulation import Emulation, Process, emulate

__all__ = ["Control", "ControlError", "Emulation", "Process", "connect", "emulate", "runs"]
