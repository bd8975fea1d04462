"""Cellwind: how a transport protocol or an application behaves over a cellular link, and why.

>>> import cellwind
>>> scenario = cellwind.Scenario.load("umts-384", {"flow.download.bulk": "20 kB"})
>>> results = cellwind.run(scenario, replications=2)
>>> results.flows().num_rows
2
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cellwind._core import Cancelled, EmulationError, RunError, ScenarioError
    from cellwind.campaign.results import Results
    from cellwind.campaign.runner import CampaignError, run
    from cellwind.campaign.store import RunDirectoryError
    from cellwind.live import emulate
    from cellwind.scenario import Scenario, ScenarioWarning

    __version__: str

__all__ = [
    "CampaignError",
    "Cancelled",
    "EmulationError",
    "Results",
    "RunDirectoryError",
    "RunError",
    "Scenario",
    "ScenarioError",
    "ScenarioWarning",
    "__version__",
    "emulate",
    "run",
]

# Each name is fetched on first use, so that `import cellwind` and `cellwind --help` cost next to nothing.
_HOMES = {
    "CampaignError": "cellwind.campaign.runner",
    "Cancelled": "cellwind._core",
    "EmulationError": "cellwind._core",
    "Results": "cellwind.campaign.results",
    "RunDirectoryError": "cellwind.campaign.store",
    "RunError": "cellwind._core",
    "Scenario": "cellwind.scenario",
    "ScenarioError": "cellwind._core",
    "ScenarioWarning": "cellwind.scenario",
    "emulate": "cellwind.live",
    "run": "cellwind.campaign.runner",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name == "__version__":
        value: Any = importlib.import_module("cellwind._core").version()
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'cellwind' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
