"""A line of the table that the benchmarks print."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A line of the table; ``holds`` is None where nothing could be measured or there is no target."""

    what: str
    against: str
    measured: str
    target: str = "–"
    holds: bool | None = None
