"""Where results come from: version, command, time and machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from cellwind import _core


def provenance(command: str) -> dict[str, Any]:
    """What is true of a whole invocation: keys ``version``, ``command``, ``created``, ``machine``."""
    system = os.uname()
    return {
        "version": _core.version(),
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cpu_count": os.cpu_count(),
            "python": sys.version.split()[0],
            "platform": f"{system.sysname} {system.release} {system.machine}",
        },
    }


def same_version(known: Mapping[str, Any]) -> bool:
    """Whether results with this provenance may stand beside those made now."""
    return bool(known.get("version") == _core.version())
