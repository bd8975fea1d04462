"""What a reproduction comes to: published and measured numbers side by side, and verdicts on the claims."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .checks import Verdict
from .published import Choice
from .quantities import Factor, Point

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cellwind.report.figure import Figure

# A difference above this share of the published value is explained on the page.
EXPLAIN = 0.1


@dataclass(frozen=True)
class LiveNumber:
    """What the live runs have for one number: a value with its interval, or None and why there is none."""

    value: Factor | None
    half_width: float | None
    n: int
    needs: str | None


@dataclass(frozen=True)
class RowResult:
    """One published number and ours.

    ``ours`` comes from simulated runs; it is None when a part of the simulator is missing (``needs`` names it).
    ``half_width`` belongs to the 95 % interval over ``n`` replications, None where there is none. ``live`` is the
    number of the live runs, None where an experiment has none. A metric that ends in ``_min`` or ``_max`` was
    published as a bound. ``published`` is None for a number that only we have. What is not ``judged`` is shown only.
    """

    factors: Mapping[str, Factor]
    metric: str
    published: Factor | None
    ours: Factor | None
    half_width: float | None
    n: int
    needs: str | None = None
    derived: bool = False
    approximate: bool = False
    judged: bool = True
    live: LiveNumber | None = None

    @property
    def bound(self) -> Literal["min", "max"] | None:
        """Whether the published number is a lower or an upper bound."""
        return "min" if self.metric.endswith("_min") else "max" if self.metric.endswith("_max") else None

    @property
    def difference(self) -> float | None:
        """Ours less published, 0 where a bound is kept; None when one of them is no number."""
        return self._difference(self.ours)

    @property
    def relative_difference(self) -> float | None:
        """The difference as a share of the published value; None when that is zero or there is none."""
        return self._share(self.difference)

    @property
    def live_relative_difference(self) -> float | None:
        """The same for the number of the live runs."""
        return None if self.live is None else self._share(self._difference(self.live.value))

    @property
    def is_off(self) -> bool:
        """Whether ours differs so much that the page owes an explanation."""
        return self._is_off(self.ours, self.relative_difference)

    @property
    def is_off_live(self) -> bool:
        """The same for the number of the live runs."""
        return self.live is not None and self._is_off(self.live.value, self.live_relative_difference)

    @property
    def has_no_number(self) -> bool:
        """Whether neither clock has a number."""
        return self.ours is None and (self.live is None or self.live.value is None)

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON has it."""
        row: dict[str, Any] = {
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
            "judged": self.judged,
        }
        if self.live is not None:
            row["live"] = {
                "value": self.live.value,
                "half_width": self.live.half_width,
                "n": self.live.n,
                "relative_difference": self.live_relative_difference,
                "needs": self.live.needs,
            }
        return row

    def _difference(self, ours: Factor | None) -> float | None:
        if any(value is None or isinstance(value, str | bool) for value in (ours, self.published)):
            return None
        assert ours is not None
        assert self.published is not None
        difference = float(ours) - float(self.published)
        is_kept = difference >= 0 if self.bound == "min" else self.bound == "max" and difference <= 0
        return 0.0 if is_kept else difference

    def _share(self, difference: float | None) -> float | None:
        published = self.published
        if difference is None or published is None or isinstance(published, str) or not published:
            return None
        return difference / abs(published)

    def _is_off(self, ours: Factor | None, relative: float | None) -> bool:
        if not self.judged:
            return False
        if relative is not None:
            return abs(relative) > EXPLAIN
        return (
            ours is not None
            and self.published is not None
            and ours != self.published
            and self._difference(ours) is None
        )


@dataclass(frozen=True)
class ClaimResult:
    """A claim of the paper and whether it holds in our runs: True, False, or None when it cannot be judged.

    ``live`` is the verdict on the live runs, None where an experiment has none.
    """

    text: str
    check: str
    holds: bool | None
    why: str
    live: Verdict | None = None

    @property
    def is_decided_live(self) -> bool:
        """Whether the live runs say yes or no."""
        return self.live is not None and self.live.holds is not None

    def to_dict(self) -> dict[str, Any]:
        """The claim as JSON has it."""
        claim = {"text": self.text, "check": self.check, "holds": self.holds, "why": self.why}
        return claim if self.live is None else {**claim, "live": {"holds": self.live.holds, "why": self.live.why}}


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
        return any(row.is_off or row.is_off_live for row in self.rows)

    @property
    def is_live(self) -> bool:
        """Whether anything of it runs live."""
        return any(row.live is not None for row in self.rows) or any(claim.live is not None for claim in self.claims)

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
    replications: int | None
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


def row_result(point: Point, factors: Mapping[str, Factor], metric: str, published: Factor | None) -> RowResult:
    """The row for a measured point; a published yes or no is compared with one."""
    ours = _value(point, published)
    return RowResult(factors, metric, published, ours, point.half_width, point.n, point.needs)


def live_number(point: Point, published: Factor | None = None) -> LiveNumber:
    """The same point as the number of the live runs."""
    return LiveNumber(_value(point, published), point.half_width, point.n, point.needs)


def _value(point: Point, published: Factor | None) -> Factor | None:
    if point.needs is not None or (isinstance(point.value, float) and math.isnan(point.value)):
        return None
    if isinstance(published, bool) and not isinstance(point.value, str):
        return bool(point.value)
    return point.value


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
