"""What the analysis and the report ask of a set of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class ScenarioInfo(Protocol):
    """One scenario, or one variant of it, as it was run."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def seed(self) -> int: ...

    @property
    def replications(self) -> int: ...

    def to_toml(self) -> str:
        """The resolved scenario file."""
        ...


class ResultsSource(Protocol):
    """Rows and facts of one or more scenarios. The tables are ``pyarrow.Table`` and carry a ``scenario`` column."""

    @property
    def scenarios(self) -> Sequence[ScenarioInfo]: ...

    def flows(self) -> Any:
        """One row per replication and flow."""
        ...

    def bearers(self) -> Any:
        """One row per replication and bearer direction."""
        ...

    def links(self) -> Any:
        """One row per replication and link direction."""
        ...

    def has_facts(self, scenario: str, replication: int) -> bool: ...

    def facts(self, scenario: str, replication: int) -> Any:
        """Everything the machines of one replication observed, in the order of time."""
        ...
