"""The plots of the radio: RRC states, channels, RLC and calls, each defined once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..analysis import radio as measured
from .figure import Axis, Color, Figure, Series
from .parts import TIME, bytes_unit, columns, drawn, rate_unit, shaded_bearer, turn

if TYPE_CHECKING:
    from ..analysis.series import FactTable, Points

# Both directions may have the same value: the line that is drawn last is dashed.
_STYLE: dict[str, tuple[Color, bool]] = {"down": ("blue", False), "up": ("amber", True)}


def rrc_state(facts: FactTable, bearer: str) -> Figure:
    """The RRC state of a terminal."""
    state = measured.rrc_state(facts, bearer)
    seen = sorted({int(place) for place in state.value})
    return Figure(
        title=f"RRC state of {bearer}",
        x=TIME,
        y=Axis("", ticks=[(float(place), measured.RRC_STATES[place]) for place in seen]),
        series=drawn(*shaded_bearer(facts, bearer), Series("RRC state", "step", *columns(state), width=2.0)),
        note="Told first when the first packet comes, or the first change.",
        height=260,
    )


def channel_rate(facts: FactTable, bearer: str) -> Figure:
    """The bit rate of a terminal's channel in each direction."""
    import numpy as np

    channels = measured.channels(facts, bearer)
    unit, scale = rate_unit(np.concatenate([channel.rate_bps.value for channel in channels]))
    return Figure(
        title=f"Channel rate of {bearer}",
        x=TIME,
        y=Axis("Bit rate", unit, from_zero=True),
        series=drawn(
            *shaded_bearer(facts, bearer), *(_step(channel.direction, channel.rate_bps, scale) for channel in channels)
        ),
        note="0 while nothing may be sent.",
        height=320,
    )


def rlc_buffer(facts: FactTable, bearer: str) -> Figure:
    """What the transmitters of a bearer keep."""
    ways = measured.rlc(facts, bearer)
    unit, scale = bytes_unit(*(way.octets.value for way in ways))
    return Figure(
        title=f"RLC buffer of {bearer}",
        x=TIME,
        y=Axis("Buffer occupancy", unit, from_zero=True),
        series=drawn(*shaded_bearer(facts, bearer), *(_step(way.direction, way.octets, scale) for way in ways)),
        note="Packets that are not sent or not acknowledged by the RLC receiver.",
        height=320,
    )


def rlc_window(facts: FactTable, bearer: str) -> Figure:
    """How much of their windows the transmitters of a bearer use."""
    ways = measured.rlc(facts, bearer)
    return Figure(
        title=f"RLC window of {bearer}",
        x=TIME,
        y=Axis("PDUs in the window", from_zero=True),
        series=drawn(*shaded_bearer(facts, bearer), *(_step(way.direction, way.pdus) for way in ways)),
        note="From the first PDU that is not acknowledged to the last one sent, as told when packets come and go.",
        height=320,
    )


def rlc_reports(facts: FactTable, bearer: str) -> Figure:
    """When status reports were asked for and sent."""
    import numpy as np

    rows = []
    for way in measured.rlc(facts, bearer):
        rows.append((f"poll {way.direction}", way.polls_s, _STYLE[way.direction][0]))
    for way in reversed(measured.rlc(facts, bearer)):
        # A report goes the other way than what it is about.
        asked = "up" if way.direction == "down" else "down"
        rows.append((f"report {way.direction}", way.reports_s, _STYLE[asked][0]))
    # Reports stand below the polls that they answer, and the first row on top.
    order = [rows[0], rows[2], rows[1], rows[3]]
    places = [float(len(order) - 1 - place) for place in range(len(order))]
    return Figure(
        title=f"Polls and status reports of {bearer}",
        x=TIME,
        y=Axis("", ticks=[(place, name) for place, (name, _, _) in zip(places, order, strict=True)]),
        series=drawn(
            *shaded_bearer(facts, bearer),
            *(
                Series(name, "points", time_s, np.full(len(time_s), place), color=color, mark="bar", size=14.0)
                for place, (name, time_s, color) in zip(places, order, strict=True)
            ),
        ),
        note="A poll asks the other end what has arrived; its report goes back in the other direction.",
        height=280,
    )


def calls(facts: FactTable) -> Figure:
    """The calls of every cell."""
    import numpy as np

    series = []
    for place, cell in enumerate(measured.calls(facts)):
        color, dashed = turn(place)
        series.append(Series(cell.machine, "step", *columns(cell.going_on), color=color, dashed=dashed))
        at = cell.going_on.value[np.searchsorted(cell.going_on.time_s, cell.refused_s, side="right") - 1]
        refused = f"refused in {cell.machine}"
        series.append(Series(refused, "points", cell.refused_s, at, None, "red", "cross", 9.0, every=True))
    return Figure(
        title="Calls",
        x=TIME,
        y=Axis("Calls that go on", from_zero=True),
        series=drawn(*series),
        note="A cross is a call that found the cell full.",
        height=320,
    )


def _step(direction: str, points: Points, scale: float = 1.0) -> Series:
    color, dashed = _STYLE[direction]
    return Series(direction, "step", points.time_s, points.value * scale, color=color, dashed=dashed)
