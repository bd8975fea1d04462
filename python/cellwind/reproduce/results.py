"""What a reproduction comes to: published and measured numbers side by side, and verdicts on the claims."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .published import Choice
from .quantities import Factor, Point

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cellwind.report.figure import Figure

# A difference above this share of the published value is explained on the page.
EXPLAIN = 0.1


@dataclass(frozen=True)
class RowResult:
    """One published number and ours.

    ``ours`` is None when a part of the simulator is missing (``needs`` names it). ``half_width`` belongs to the 95 %
    interval over ``n`` replications, None where there is none.
    """

    factors: Mapping[str, Factor]
    metric: str
    published: Factor
    ours: Factor | None
    half_width: float | None
    n: int
    needs: str | None = None
    derived: bool = False
    approximate: bool = False

    @property
    def difference(self) -> float | None:
        """Ours less published; None when one of them is no number."""
        numbers = (self.ours, self.published)
        if any(value is None or isinstance(value, str | bool) for value in numbers):
            return None
        ours, published = (float(value) for value in numbers if value is not None)
        return ours - published

    @property
    def relative_difference(self) -> float | None:
        """The difference as a share of the published value; None when that is zero or there is none."""
        difference = self.difference
        published = self.published
        if difference is None or isinstance(published, str) or not published:
            return None
        return difference / abs(published)

    @property
    def is_off(self) -> bool:
        """Whether ours differs so much that the page owes an explanation."""
        relative = self.relative_difference
        if relative is None:
            return self.ours is not None and self.difference is None and self.ours != self.published
        return abs(relative) > EXPLAIN

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON has it."""
        return {
            "factors": dict(self.factors),
            "metric": self.metric,
            "published": self.published,
            "ours": self.ours,
            "half_width": self.half_width,
            "n": self.n,
            "difference": self.difference,
            "relative_difference": self.relative_difference,
            "derived": self.derived,
            "approximate": self.approximate,
        }


@dataclass(frozen=True)
class ClaimResult:
    """A claim of the paper and whether it holds in our runs: True, False, or None when it cannot be judged."""

    text: str
    check: str
    holds: bool | None
    why: str

    def to_dict(self) -> dict[str, Any]:
        """The claim as JSON has it."""
        return {"text": self.text, "check": self.check, "holds": self.holds, "why": self.why}


@dataclass(frozen=True)
class ExperimentResult:
    """One experiment: ``done``, or it ``needs`` parts of the simulator that are not there yet."""

    id: str
    source: str
    what: str
    kind: str
    note: str
    status: Literal["done", "needs"]
    needs: Sequence[str]
    rows: Sequence[RowResult]
    claims: Sequence[ClaimResult]
    explanation: str = ""
    figures: Sequence[Figure] = ()

    @property
    def is_off(self) -> bool:
        """Whether some number differs by more than a tenth."""
        return any(row.is_off for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The experiment as JSON has it."""
        return {
            "id": self.id,
            "source": self.source,
            "what": self.what,
            "kind": self.kind,
            "note": self.note,
            "status": self.status,
            "needs": list(self.needs),
            "rows": [row.to_dict() for row in self.rows],
            "claims": [claim.to_dict() for claim in self.claims],
            "explanation": self.explanation,
        }


@dataclass(frozen=True)
class PaperInfo:
    """What the page says about a paper: its title, its authors, and the choices made for it."""

    id: str
    title: str
    authors: Sequence[str]
    year: int
    about: str
    choices: Sequence[Choice]


@dataclass(frozen=True)
class Reproduction:
    """Published results beside ours.

    >>> import cellwind.reproduce
    >>> found = cellwind.reproduce.reproduce("lundsten-figure-18", replications=2)
    >>> [experiment.id for experiment in found.experiments]
    ['lundsten-figure-18']
    """

    papers: Sequence[PaperInfo]
    experiments: Sequence[ExperimentResult]
    replications: int
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the figures, as JSON has it: ``{"experiments": [...], ...}``."""
        return {
            "experiments": [experiment.to_dict() for experiment in self.experiments],
            "papers": [
                {
                    "id": paper.id,
                    "title": paper.title,
                    "choices": [
                        {"name": choice.name, "value": choice.value, "reason": choice.reason}
                        for choice in paper.choices
                    ],
                }
                for paper in self.papers
            ],
            "replications": self.replications,
            "provenance": dict(self.provenance),
        }

    def to_json(self) -> str:
        """The dictionary of ``to_dict`` as JSON text, which knows no NaN: what is none is null."""
        return json.dumps(_finite(self.to_dict()), ensure_ascii=False, indent=2)

    def table(self, columns: int = 80) -> RenderableType:
        """All numbers and verdicts as a table for a terminal that wide."""
        from .tables import table

        return table(self, columns)

    def write_page(self, path: str | os.PathLike[str]) -> Path:
        """Writes one HTML file that needs nothing else: numbers, claims, choices, figures. Returns its path."""
        from .page import write_page

        return write_page(self, Path(path))


def row_result(point: Point, factors: Mapping[str, Factor], metric: str, published: Factor) -> RowResult:
    """The row for a measured point; a published yes or no is compared with one."""
    ours: Factor | None = None
    if point.needs is None:
        value = point.value
        if isinstance(value, float) and math.isnan(value):
            ours = None
        elif isinstance(published, bool) and not isinstance(value, str):
            ours = bool(value)
        else:
            ours = value
    return RowResult(factors, metric, published, ours, point.half_width, point.n, point.needs)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
