"""Figures in a browser: plotly.js and the figures' numbers travel inside the page, so that it needs no network.

A page holds plotly.js once (``scripts``), any number of figures (``fragment``), and then draws them. Numbers travel as
32-bit steps over the range of their column, a resolution of 2e-10 of it, in a third of the room of decimal text.
"""

from __future__ import annotations

import base64
import html
import json
from functools import cache
from importlib.resources import files
from itertools import count
from typing import TYPE_CHECKING, Any

from .figure import COLORS, Axis, Figure, Series
from .thinning import thinned

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# Points of one series that a page carries: beyond this, loading it would be felt.
CARRIED = 60_000
# The highest step stands for a gap in the series.
_GAP = 2**32 - 1
# Nothing is fetched from anywhere: the browser holds the page to it.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
# How many notebook outputs this process has made: the first one brings plotly.js.
_LIBRARY_GIVEN = count()


def fragment(figure: Figure, name: str = "figure", limit: int = CARRIED, instead: str = "") -> str:
    """HTML of one figure for a page that has ``scripts()`` and ``draw_call()`` after it.

    ``name`` is what a picture saved from the page is called. Series above ``limit`` points are thinned, and the caption
    says so. ``instead`` is HTML that stands in the figure's place until it is drawn.
    """
    carried = thinned(figure, limit)
    caption = " ".join(part for part in (figure.note, _what_is_shown(figure, carried)) if part)
    return (
        f'<figure class="plot"><h4>{html.escape(figure.title)}</h4>'
        f'<div class="plot-area" data-name="{html.escape(name)}" '
        f'style="min-height:{figure.height}px" role="img" aria-label="{html.escape(figure.title)}">{instead}</div>'
        f'<script type="application/json">{_json(declaration(carried))}</script>'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def scripts() -> str:
    """The script elements a page needs once, before its figures are drawn."""
    return f"<script>{plotly_source()}</script>\n<script>{_asset('figure.js')}</script>"


def draw_call() -> str:
    """The script element that draws all figures of the page that are not inside a closed ``<details>``."""
    return "<script>cellwindDraw(document);</script>"


def styles() -> str:
    """Style rules of figures: the colours of both themes, and the room around a plot."""
    themes = []
    for theme, (grid, panel) in enumerate((("#e3e7ec", "#ffffff"), ("#2d343d", "#161b22"))):
        colors = "".join(f"--plot-{name}:{pair[theme]};" for name, pair in COLORS.items())
        themes.append(f":root{{{colors}--plot-grid:{grid};--plot-panel:{panel}}}")
    return f"{themes[0]}\n@media (prefers-color-scheme:dark){{{themes[1]}}}\n{_asset('figure.css')}"


def page(figure: Figure) -> str:
    """One figure as a complete HTML page."""
    title = html.escape(figure.title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}">'
        f"<title>{title}</title><style>:root{{color-scheme:light dark}}\n"
        "body{margin:0 auto;padding:16px;max-width:1100px;font:15px/1.5 system-ui,sans-serif}\n"
        "@media (prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}}\n"
        f"{styles()}</style></head>\n<body>{fragment(figure)}\n{scripts()}\n{draw_call()}</body></html>\n"
    )


def notebook_fragment(figure: Figure) -> str:
    """HTML for the output of a notebook cell.

    plotly.js comes with the first figure of the session; a page without it (another viewer, a cleared first cell)
    shows the static picture.
    """
    from .static import render

    picture = base64.b64encode(render(figure, "png")).decode("ascii")
    still = f'<img alt="" style="max-width:100%" src="data:image/png;base64,{picture}">'
    library = scripts() if next(_LIBRARY_GIVEN) == 0 else ""
    return (
        f"<style>{styles()}</style>{fragment(figure, instead=still)}{library}"
        "<script>if (window.cellwindDraw) cellwindDraw(document);</script>"
    )


def declaration(figure: Figure) -> dict[str, Any]:
    """The figure as the JSON object that figure.js draws."""
    return {
        "x": _axis(figure.x),
        "y": _axis(figure.y),
        "height": figure.height,
        "hover": _hover(figure),
        "series": [_series(series) for series in figure.series if len(series)],
    }


@cache
def plotly_source() -> str:
    """The plotly.js that the installed plotly package brings, with its licence header."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


@cache
def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _what_is_shown(figure: Figure, carried: Figure) -> str:
    """What was left out of the page, if anything was."""
    left_out = [
        f"{len(small):,} of {len(whole):,} points of “{whole.name}”"
        for whole, small in zip(figure.series, carried.series, strict=True)
        if len(small) < len(whole)
    ]
    if not left_out:
        return ""
    return f"This page carries {', '.join(left_out)}: enough for the outline at full width; the rest is in the facts."


def _axis(axis: Axis) -> dict[str, Any]:
    ticks = [[place, _plain(name)] for place, name in axis.ticks]
    return {"title": _plain(axis.title), "ticks": ticks, "from_zero": axis.from_zero}


def _series(series: Series) -> dict[str, Any]:
    packed: dict[str, Any] = {
        "name": _plain(series.name),
        "kind": series.kind,
        "color": series.color,
        "mark": series.mark,
        "size": series.size,
        "width": series.width,
        "every": series.every,
        "shown": series.shown,
        "dashed": series.dashed,
        "x": pack(series.x),
        "y": pack(series.y),
    }
    if series.upper is not None:
        packed["upper"] = pack(series.upper)
    return packed


def pack(values: npt.NDArray[np.float64]) -> dict[str, Any]:
    """A column as offset, scale and base64 of unsigned 32-bit steps; NaN and infinities become gaps."""
    import numpy as np

    finite = np.isfinite(values)
    low = float(values[finite].min()) if finite.any() else 0.0
    span = float(values[finite].max()) - low if finite.any() else 0.0
    whole = span < _GAP and bool((values[finite] == np.rint(values[finite])).all())
    scale = 1.0 if whole or span == 0.0 else span / (_GAP - 1)
    steps = np.full(len(values), _GAP, dtype="<u4")
    steps[finite] = np.rint((values[finite] - low) / scale).astype("<u4")
    return {"offset": low, "scale": scale, "data": base64.b64encode(steps.tobytes()).decode("ascii")}


def _hover(figure: Figure) -> str:
    x = f"%{{x:.7~g}} {figure.x.unit}".rstrip()
    # Where positions only have names, the number behind them says nothing.
    return x if figure.y.ticks else f"{x}, %{{y:.7~g}} {figure.y.unit}".rstrip()


def _plain(text: str) -> str:
    """Text as text: plotly.js reads a little HTML in names, and formulas between dollar signs."""
    return html.escape(text, quote=False).replace("$", "&#36;")


def _json(value: Any) -> str:
    """JSON that can stand inside a script element, whatever the strings hold."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
