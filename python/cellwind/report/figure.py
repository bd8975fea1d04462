"""A figure as a declaration: axes, series and what to say about them, independent of who draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

Kind = Literal["line", "step", "points", "band", "span"]
Mark = Literal["dot", "cross", "triangle", "diamond", "bar"]
Color = Literal["blue", "red", "green", "amber", "purple", "grey", "ink"]

# Hues of the palette of Okabe and Ito, which stays apart for colour-blind readers, with a lighter twin that keeps the
# contrast on a dark page: (on white, on dark).
COLORS: dict[Color, tuple[str, str]] = {
    "blue": ("#0067a8", "#5fb4ee"),
    "red": ("#c8372d", "#ff8a75"),
    "green": ("#00805f", "#46c8a0"),
    "amber": ("#b57500", "#f0b84a"),
    "purple": ("#93478a", "#d79ccf"),
    "grey": ("#8b949e", "#7d8794"),
    "ink": ("#1f2328", "#e6edf3"),
}


@dataclass(frozen=True)
class Axis:
    """An axis: its label, the unit of its numbers, and names for some positions where numbers mean nothing."""

    label: str
    unit: str = ""
    ticks: Sequence[tuple[float, str]] = ()
    from_zero: bool = False

    @property
    def title(self) -> str:
        """Label and unit, such as ``"Time (s)"``."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True)
class Series:
    """One named series: ``x`` and ``y`` of the same length, in the units of the axes.

    A ``step`` holds each value until the next x. A ``band`` fills from ``y`` up to ``upper``. A ``span`` shades the
    whole height from each ``x`` to its ``y``, which is a place on the x axis too. A NaN breaks a line.
    With ``every``, no point is ever left out when the figure is thinned; without ``shown``, an interactive reader has
    to ask for the series in the legend and a static figure omits it. ``dashed`` is for lines and steps.
    """

    name: str
    kind: Kind
    x: Floats = field(repr=False)
    y: Floats = field(repr=False)
    upper: Floats | None = field(default=None, repr=False)
    color: Color = "blue"
    mark: Mark = "dot"
    size: float = 4.0
    width: float = 1.5
    every: bool = False
    shown: bool = True
    dashed: bool = False

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y) or (self.upper is not None and len(self.upper) != len(self.y)):
            raise ValueError(f"the columns of series {self.name!r} differ in length")
        if (self.kind == "band") != (self.upper is not None):
            raise ValueError(f"series {self.name!r}: a band, and only a band, has an upper edge")

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class Figure:
    """Axes and series under a title; ``note`` says in a sentence what the reader looks at.

    A figure shows itself in a notebook, and saves as ``.html`` (interactive, one file), ``.png`` or ``.svg``.

    >>> import numpy as np
    >>> ramp = Series("window", "line", np.array([0.0, 1.0]), np.array([1.0, 4.0]))
    >>> Figure("Slow start", Axis("Time", "s"), Axis("Window", "kB"), [ramp]).y.title
    'Window (kB)'
    """

    title: str
    x: Axis
    y: Axis
    series: Sequence[Series] = field(default_factory=tuple)
    note: str = ""
    height: int = 420

    @property
    def points(self) -> int:
        """Number of points of all series."""
        return sum(len(series) for series in self.series)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the figure in the format of the suffix, and return the path.

        Raises ValueError for a suffix other than ``.html``, ``.png`` and ``.svg``.
        """
        target = Path(path)
        match target.suffix.lower():
            case ".html":
                from .interactive import page

                target.write_text(page(self), encoding="utf-8")
            case ".png" | ".svg":
                from .static import render

                target.write_bytes(render(self, "svg" if target.suffix.lower() == ".svg" else "png"))
            case other:
                raise ValueError(f"a figure is saved as .html, .png or .svg, not as {other or 'a name without suffix'}")
        return target

    def _repr_html_(self) -> str:
        from .interactive import notebook_fragment

        return notebook_fragment(self)
