"""What the plots have in common: the axis of time, units, colours in turn, and stretches of time that are shaded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..analysis import radio
from .figure import Axis, Color, Series

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ..analysis.radio import Spans
    from ..analysis.series import FactTable, Points

    Floats = npt.NDArray[np.float64]

TIME = Axis("Time", "s")
# Queues and bearers take these colours in turn, every other round dashed.
_TURN: tuple[Color, ...] = ("blue", "amber", "green", "purple", "red", "grey")


def turn(place: int) -> tuple[Color, bool]:
    """Colour of the line at this place, and whether it is dashed."""
    round_, color = divmod(place, len(_TURN))
    return _TURN[color], round_ % 2 == 1


def drawn(*series: Series) -> tuple[Series, ...]:
    """The series that have something to draw."""
    return tuple(item for item in series if len(item))


def columns(points: Points) -> tuple[Floats, Floats]:
    """The instants and the values, as a series takes them."""
    return points.time_s, points.value


def bytes_unit(*columns: Floats) -> tuple[str, float]:
    """Unit of an axis for these numbers of bytes, and what to multiply them with."""
    highest = max((float(column.max()) for column in columns if len(column)), default=0.0)
    return ("MB", 1e-6) if highest >= 2e6 else ("kB", 1e-3)


def rate_unit(bps: Floats) -> tuple[str, float]:
    """Unit of an axis for these bit rates, and what to multiply them with."""
    return ("Mbit/s", 1e-6) if len(bps) and float(bps.max()) >= 5e6 else ("kbit/s", 1e-3)


def shaded_flow(facts: FactTable, flow: str) -> tuple[Series, ...]:
    """What the terminal of a flow went through while the flow was there."""
    return _shaded(facts, radio.terminals(facts, flow), (facts.flow_start_s(flow), facts.flow_end_s(flow)))


def shaded_bearer(facts: FactTable, bearer: str) -> tuple[Series, ...]:
    """What the terminal of a bearer went through."""
    return _shaded(facts, [bearer.split("/")[-1]], (0.0, facts.end_s))


def _shaded(facts: FactTable, terminals: Iterable[str], within: tuple[float, float]) -> tuple[Series, ...]:
    those = list(terminals)
    own = [bearer for bearer in radio.bearers(facts, "channel_rate") if bearer.split("/")[-1] in those]
    found: list[tuple[str, Spans, Color]] = [
        ("handover", radio.handovers(facts, those), "purple"),
        ("nothing begins to be sent", radio.pauses(facts, those), "red"),
        *(("cell reselection", radio.reselections(facts, bearer), "green") for bearer in own),
        ("calls in the cell", radio.busy(facts), "grey"),
    ]
    series = []
    for name, spans, color in found:
        inside = spans.within(*within)
        # What is there most of the time would colour everything.
        shown = float((inside.end_s - inside.start_s).sum()) < (within[1] - within[0]) / 2
        series.append(Series(name, "span", inside.start_s, inside.end_s, color=color, every=True, shown=shown))
    return drawn(*series)
