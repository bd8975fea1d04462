"""Where results come from: version, command, time and machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cellwind import _core


def provenance(command: str) -> dict[str, Any]:
    """What is true of a whole invocation: keys ``version``, ``commit``, ``command``, ``created``, ``machine``."""
    system = os.uname()
    return {
        "version": _core.version(),
        "commit": commit(),
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cpu_count": os.cpu_count(),
            "python": sys.version.split()[0],
            "platform": f"{system.sysname} {system.release} {system.machine}",
        },
    }


def commit() -> str | None:
    """The commit of the checkout this package runs from, ending in ``-dirty`` with uncommitted changes.

    None for an installed package, and where git is missing.
    """
    checkout = Path(__file__).resolve().parents[3]
    if not ((checkout / ".git").exists() and (checkout / "crates" / "engine").is_dir()):
        return None
    command = ["git", "-C", str(checkout), "describe", "--always", "--abbrev=12", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def same_version(known: Mapping[str, Any]) -> bool:
    """Whether results with this provenance may stand beside those made now."""
    return bool(known.get("version") == _core.version())
