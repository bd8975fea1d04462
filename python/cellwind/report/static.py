"""Figures as PNG and SVG, drawn by matplotlib on white, for papers and slides."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from .figure import COLORS, Axis, Figure, Series
from .thinning import thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK = "#1f2328"
_FAINT = "#d8dee4"
_MARKERS = {"dot": "o", "cross": "x", "triangle": "^", "diamond": "D", "bar": "|"}
_WIDTH_INCHES = 8.0
_DPI = 160
# Sizes of a figure are declared in the pixels of a page 800 wide.
_POINTS_PER_PIXEL = 72 / 100
# The figure is 1280 pixels wide: more points than this per series would fall on each other.
_LIMIT = 6000


def render(figure: Figure, kind: Literal["png", "svg"] = "png") -> bytes:
    """The figure as the bytes of a PNG or SVG file; the same figure gives the same bytes."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    settings: dict[Any, Any] = {
        "svg.hashsalt": "cellwind",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 9,
        "axes.edgecolor": _FAINT,
        "axes.labelcolor": _INK,
        "text.color": _INK,
        "xtick.color": _INK,
        "ytick.color": _INK,
    }
    small = thinned(figure, _LIMIT)
    with rc_context(settings):
        canvas = Canvas(figsize=(_WIDTH_INCHES, figure.height / 100), dpi=_DPI, layout="constrained")
        FigureCanvasAgg(canvas)
        axes = canvas.add_subplot()
        for order, series in enumerate(small.series):
            if series.shown and len(series):
                _draw(axes, series, order)
        _dress(axes, figure)
        handles, labels = axes.get_legend_handles_labels()
        if len(handles) > 1:
            columns = _legend_columns(labels)
            canvas.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
        target = io.BytesIO()
        # Without a date, and with a fixed salt for the identifiers, the file depends on the figure alone.
        metadata = {"Date": None} if kind == "svg" else None
        canvas.savefig(target, format=kind, metadata=metadata)
    return target.getvalue()


def _draw(axes: Axes, series: Series, order: int) -> None:
    color = COLORS[series.color][0]
    # Later series lie on top, whatever their kind.
    level = 2.0 + 0.01 * order
    width, size = series.width * _POINTS_PER_PIXEL, series.size * _POINTS_PER_PIXEL
    style = "--" if series.dashed else "-"
    match series.kind:
        case "line" | "step":
            axes.plot(
                series.x,
                series.y,
                drawstyle="steps-post" if series.kind == "step" else "default",
                color=color,
                linestyle=style,
                linewidth=width,
                label=_plain(series.name),
                zorder=level,
            )
        case "points":
            axes.plot(
                series.x,
                series.y,
                linestyle="none",
                marker=_MARKERS[series.mark],
                markersize=size,
                color=color,
                markeredgewidth=1.2 if series.mark in ("cross", "bar") else 0.0,
                label=_plain(series.name),
                zorder=level,
            )
        case "span":
            for place, (start, end) in enumerate(zip(series.x, series.y, strict=True)):
                # A name for the first one only, or the legend has as many entries; the edge shows what is too narrow.
                name = _plain(series.name) if place == 0 else "_"
                axes.axvspan(
                    start, end, facecolor=color, alpha=0.22, edgecolor=color, linewidth=0.5, label=name, zorder=1
                )
        case "band":
            assert series.upper is not None
            axes.fill_between(
                series.x,
                series.y,
                series.upper,
                color=color,
                alpha=0.18,
                linewidth=0,
                label=_plain(series.name),
                zorder=level,
            )


def _dress(axes: Axes, figure: Figure) -> None:
    axes.set_title(_plain(figure.title), loc="left", fontsize=11, fontweight="bold")
    axes.set_xlabel(_plain(figure.x.title))
    axes.set_ylabel(_plain(figure.y.title))
    axes.grid(True, color=_FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=0)
    if figure.x.from_zero:
        axes.set_xlim(left=0)
    if figure.y.from_zero:
        axes.set_ylim(bottom=0)
    _name_ticks(axes, figure.x, horizontal=True)
    _name_ticks(axes, figure.y, horizontal=False)


def _name_ticks(axes: Axes, axis: Axis, horizontal: bool) -> None:
    if not axis.ticks:
        return
    places = [place for place, _ in axis.ticks]
    names = [_wrapped(_plain(name)) for _, name in axis.ticks]
    # Half a row of room on either side, as every position stands for a row.
    limits = (min(places) - 0.5, max(places) + 0.5)
    if horizontal:
        axes.set_xticks(places, names)
        axes.set_xlim(limits)
    else:
        axes.set_yticks(places, names)
        axes.set_ylim(limits)


def _legend_columns(labels: Sequence[str]) -> int:
    """As many columns as fit under the figure: a mark with its gaps takes some 0.55 inches, a letter 0.07."""
    return max(1, min(6, int(_WIDTH_INCHES / (0.55 + 0.07 * max(map(len, labels))))))


def _wrapped(name: str, longest: int = 34) -> str:
    """A long name over several lines, broken after the joints of a variant's name."""
    lines = [""]
    for part in re.split(r"(?<=[\[,=./ ])", name):
        if lines[-1] and len(lines[-1] + part) > longest:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Text as text: matplotlib reads formulas between dollar signs."""
    return text.replace("$", r"\$")
