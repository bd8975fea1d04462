"""The report of captures: numbers and plots of their connections, as one HTML file that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ..analysis.series import Points, rate_over, round_number
from ..analysis.trace import summary
from ..analysis.trace.direction import Direction
from .figure import Axis, Color, Figure, Mark, Series
from .html import PLOTS_BY, document, html_table, section, write_page
from .parts import TIME, bytes_unit, drawn, rate_unit

if TYPE_CHECKING:
    from ..analysis.trace import Connection, Trace

# Plots are drawn for so many connections: more would be slow to load.
DRAWN = 6
_POINTS_PER_SERIES = 20_000


def write_trace_report(traces: Sequence[Trace], connections: Sequence[Connection], path: str | PathLike[str]) -> Path:
    """Writes the page and returns its path; its folder has to be there."""
    from .interactive import draw_call, fragment, scripts

    busiest = summary.busiest([connection for connection in connections if connection.is_tcp], DRAWN)
    drawings: list[str] = []
    for number, connection in enumerate(busiest, start=1):
        for way_name, way in summary.directions(connection):
            if not isinstance(way, Direction) or not way.bytes:
                continue
            named = [(kind, figure) for kind, figure in figures(way) if figure.series]
            inside = "".join(fragment(figure, f"{number}-{kind}", _POINTS_PER_SERIES) for kind, figure in named)
            opened = " open" if not drawings else ""
            heading = f"{html.escape(connection.name)}, {way_name}"
            drawings.append(f'<details class="run"{opened}><summary>{heading}</summary>{inside}</details>')
    remarks = "".join(f'<p class="warning">{html.escape(remark)}</p>' for remark in summary.remarks(traces))
    body = [section("Captures", _files(traces) + remarks), section("Connections", _tables(connections))]
    if drawings:
        body.append(section("Over time", "".join(drawings)))
    ending = f"{scripts()}\n{draw_call()}" if drawings else ""
    title = ", ".join(Path(trace.path).name for trace in traces)
    page = document("Cellwind capture report", title, "", "\n".join(body), PLOTS_BY if drawings else "", ending)
    return write_page(page, Path(path))


def figures(way: Direction) -> list[tuple[str, Figure]]:
    """The plots of one direction, each with a name for files."""
    found = [
        ("time-sequence", time_sequence(way)),
        ("outstanding", outstanding(way)),
        ("throughput", throughput(way)),
        ("rtt", rtt(way)),
    ]
    return found if way.one_way_delay is None else [*found, ("delay", one_way_delay(way))]


def time_sequence(way: Direction) -> Figure:
    """Every segment: sent, sent again, arrived, acknowledged; sequence number over time."""
    marks = way.marks
    unit, scale = bytes_unit(marks.sent.value, marks.resent.value)

    def points(name: str, points: Points, color: Color, mark: Mark, size: float, every: bool = True) -> Series:
        return Series(name, "points", points.time_s, points.value * scale, None, color, mark, size, every=every)

    return Figure(
        title="Time-sequence graph",
        x=TIME,
        y=Axis("Sequence number", unit),
        series=drawn(
            points("fast retransmit", marks.fast_retransmits, "purple", "triangle", 8.0),
            Series("acknowledged", "step", marks.acked.time_s, marks.acked.value * scale, color="green", width=1.2),
            points("received", marks.received, "grey", "dot", 2.5, every=False),
            points("sent", marks.sent, "blue", "dot", 3.0, every=False),
            points("sent again", marks.resent, "red", "dot", 4.0),
            points("lost", marks.lost, "ink", "cross", 5.0),
            points("timeout", marks.timeouts, "red", "cross", 11.0),
            points("spurious retransmission", marks.spurious, "amber", "diamond", 7.0),
        ),
        note="Each mark is the first byte of a segment.",
        height=480,
    )


def outstanding(way: Direction) -> Figure:
    """Data that is sent and not acknowledged, and the receiver's window."""
    data, window = way.outstanding, way.window
    unit, scale = bytes_unit(data.value, window.value)
    return Figure(
        title="Outstanding data",
        x=TIME,
        y=Axis("Data", unit, from_zero=True),
        series=drawn(
            Series("receiver's window", "step", window.time_s, window.value * scale, color="green", width=1.0),
            Series("outstanding", "step", data.time_s, data.value * scale, color="blue"),
        ),
        note="From the lowest byte not yet acknowledged to the highest byte sent.",
    )


def throughput(way: Direction) -> Figure:
    """Rate of data that passed for the first time."""
    import numpy as np

    passed = way.progress
    if len(passed) < 2 or passed.time_s[-1] <= passed.time_s[0]:
        return Figure("Throughput", TIME, Axis("Throughput", "kbit/s"))
    start, end = float(passed.time_s[0]), float(passed.time_s[-1])
    bin_s = round_number(max((end - start) / 300, 20 * (end - start) / len(passed)))
    grid = start + bin_s * np.arange(1, int((end - start) / bin_s * 4) + 6) / 4
    rate = rate_over(passed.time_s, passed.value.astype(np.int64), grid, bin_s) * 8
    unit, scale = rate_unit(rate)
    where = "arrived" if way.at_receiver else "was sent"
    return Figure(
        title="Throughput",
        x=TIME,
        y=Axis("Throughput", unit, from_zero=True),
        series=drawn(Series("new data", "line", grid, rate * scale, color="blue")),
        note=f"Payload that {where} for the first time, over the {bin_s:g} s before each instant.",
    )


def rtt(way: Direction) -> Figure:
    """Round-trip samples."""
    seen = way.rtt
    where = "the sender" if way.at_sender else "the capture"
    return Figure(
        title="Round-trip time",
        x=TIME,
        y=Axis("Time", "s", from_zero=True),
        series=drawn(Series("RTT sample", "points", seen.time_s, seen.value, color="grey", size=3.0)),
        note=f"From {where} to the receiver and back, "
        + ("by timestamps." if way.sender.has_timestamps else "without segments that were sent again."),
    )


def one_way_delay(way: Direction) -> Figure:
    """Delay of every packet with data, between the two captures."""
    delay = way.one_way_delay
    assert delay is not None, "asked for only where both ends were captured"
    return Figure(
        title="One-way delay",
        x=TIME,
        y=Axis("Delay", "s"),
        series=drawn(Series("delay", "points", delay.time_s, delay.value, color="blue", size=3.0)),
        note="At the instant of sending. It is as right as the clocks of the two captures agree.",
    )


def _files(traces: Sequence[Trace]) -> str:
    rows = "".join(f"<dt>{html.escape(Path(trace.path).name)}</dt><dd>{len(trace):,} packets</dd>" for trace in traces)
    return f"<article><dl>{rows}</dl></article>"


def _tables(connections: Sequence[Connection]) -> str:
    if not connections:
        return "<p>No connection is in these captures.</p>"
    return "".join(_table(connection) for connection in connections)


def _table(connection: Connection) -> str:
    ways = summary.directions(connection)
    columns = [summary.lines(way) for _, way in ways]
    rows = [
        f'<th scope="row">{html.escape(label)}</th>'
        + "".join(
            f'<td class="number">{html.escape(column[place][1])}</td>' for column in columns if place < len(column)
        )
        for place, (label, _) in enumerate(columns[0])
    ]
    caption = f"{connection.protocol} {connection.name}"
    return f"<h3>{html.escape(caption)}</h3><p class='note'>{summary.place(connection)}</p>" + html_table(
        caption, [""], [name for name, _ in ways], rows
    )
