"""Leaving out points that a figure of so many pixels cannot show.

A line keeps the first, lowest, highest and last point of every column, so its outline is the one of all points. Points
keep one per cell of a grid: a cell that had a point keeps one. Both work on the whole range of the series; an
interactive figure thins again for the range it is zoomed to.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .figure import Figure, Series

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def thinned(figure: Figure, limit: int) -> Figure:
    """The figure with about ``limit`` points at most in each series that may be thinned."""
    return replace(figure, series=tuple(thinned_series(series, limit) for series in figure.series))


def thinned_series(series: Series, limit: int) -> Series:
    """The series itself when it is within ``limit`` or may not be thinned, else its outline."""
    if series.every or len(series) <= limit:
        return series
    keep = _grid(series, limit) if series.kind == "points" else _outline(series, limit)
    upper = None if series.upper is None else series.upper[keep]
    return replace(series, x=series.x[keep], y=series.y[keep], upper=upper)


def _outline(series: Series, limit: int) -> npt.NDArray[np.intp]:
    import numpy as np

    column = _cells(series.x, max(1, limit // 4))
    places = np.arange(len(series))
    keep = [np.array([0, len(series) - 1])]
    # A gap is a point too: without it the line would close over it.
    keep.append(np.flatnonzero(np.isnan(series.y)))
    for edge in (series.y, series.y if series.upper is None else series.upper):
        by_height = np.lexsort((places, edge, column))
        keep.append(by_height[_ends(column[by_height])])
    by_place = np.lexsort((places, column))
    keep.append(by_place[_ends(column[by_place])])
    return np.unique(np.concatenate(keep))


def _grid(series: Series, limit: int) -> npt.NDArray[np.intp]:
    import numpy as np

    # Points seldom fill the plane; cells in the shape of a wide figure, finer as long as the limit holds.
    kept = np.arange(len(series))
    for columns in (4000, 2000, 1000, 500, 250):
        rows = columns // 2
        cell = _cells(series.x, columns) * rows + _cells(series.y, rows)
        kept = np.sort(np.unique(cell, return_index=True)[1])
        if len(kept) <= limit:
            break
    return kept


def _cells(values: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.intp]:
    """Which of ``count`` equal cells over the range each value falls into; NaN falls into the first."""
    import numpy as np

    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if not high > low:
        return np.zeros(len(values), dtype=np.intp)
    place = np.nan_to_num((values - low) * (count / (high - low)))
    return np.minimum(place.astype(np.intp), count - 1)


def _ends(groups: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Places of the first and of the last entry of each run of equal groups."""
    import numpy as np

    breaks = np.flatnonzero(np.diff(groups))
    return np.concatenate(([0], breaks, breaks + 1, [len(groups) - 1]))
