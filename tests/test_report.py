"""Figures and the report: what they say, and that a real browser draws them without error or network."""

import base64
import contextlib
import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cellwind
from cellwind.report.figure import Axis, Figure, Series
from cellwind.report.html import write_report
from cellwind.report.interactive import pack
from cellwind.report.plots import FactsMissingError, Plots
from cellwind.report.static import render
from cellwind.report.thinning import thinned_series

SEGMENT = 536
SENDER = "flow/download/sender"
RECEIVER = "flow/download/receiver"
BEARER = "access/umts/ue/down"


def synthetic_facts(segments: int, seed: int = 1) -> Any:
    """Facts of a made-up steady transfer: a segment every 12 ms, one in a hundred resent, one timeout."""
    generator = np.random.default_rng(seed)
    rows: list[tuple[int, str, str, str, int, int, int, int]] = []
    rows.append((0, SENDER, "flow_started", "download", 0, 0, segments * SEGMENT, 0))
    rows.append((0, SENDER, "ssthresh", "download", 1, 0, 2**30, 0))
    for i in range(segments):
        now, seq = i * 12_000_000, 1 + i * SEGMENT
        rtt = int(generator.normal(300e6, 20e6))
        rows.append((now, SENDER, "segment_sent", "download", seq, SEGMENT, 1, 1))
        rows.append((now, SENDER, "cwnd", "download", seq, 0, SEGMENT * (10 + i % 30), SEGMENT * (10 + i % 30)))
        rows.append((now, BEARER, "queue_length", "", seq, SEGMENT + 40, i % 9, (i % 9) * (SEGMENT + 40)))
        rows.append((now, BEARER, "queue_left", "", 0, 0, 1, 0))
        rows.append((now, BEARER, "block_sent", "", i, 960, 1, int(generator.random() < 0.1)))
        rows.append((now, BEARER, "buffer_occupancy", "", 0, 0, (i % 7) * 576, i % 7))
        rows.append((now + rtt // 2, RECEIVER, "segment_received", "download", seq, SEGMENT, seq + SEGMENT, 0))
        rows.append((now + rtt, SENDER, "ack_received", "download", seq + SEGMENT, 0, seq, 0))
        rows.append((now + rtt, SENDER, "rtt_sample", "download", seq + SEGMENT, 0, rtt, 0))
        rows.append((now + rtt, SENDER, "srtt", "download", seq, 0, 300_000_000, 20_000_000))
        if i % 100 == 50:
            rows.append((now + 1, SENDER, "segment_resent", "download", seq, SEGMENT, 2, 1))
            rows.append((now + 1, SENDER, "ssthresh", "download", seq, 0, SEGMENT * 12, 0))
    rows.append((segments * 6_000_000, SENDER, "timeout", "download", segments // 2 * SEGMENT, 0, 10**9, SEGMENT))
    for i, (state, rate) in enumerate(((4, 32_000), (4, 0), (4, 32_000), (5, 384_000))):
        now = segments * i * 3_000_000
        rows.append((now, BEARER, "rrc_state", "", 0, 0, state, 0))
        rows.append((now, BEARER, "channel_rate", "", 0, 0, rate, 0))
        rows.append((now, BEARER, "poll_sent", "", 4096, 0, 0, 0))
        rows.append((now, "access/umts/ue/up", "status_sent", "", 4096, 0, 0, 0))
        rows.append((now, "access/umts/cell", "calls", "", 0, 0, i % 2, i // 2))
    # Once it begins, and 100 ms later it is over.
    for kind, now in (("handover_started", segments * 7_000_000), ("handover_ended", segments * 7_000_000 + 10**8)):
        rows.append((now, "handover/ue/down", kind, "", 0, 0, 1, 0))
    rows.sort(key=lambda row: row[0])
    columns = list(zip(*rows, strict=True))
    texts = [pa.array(columns[i], pa.string()).dictionary_encode() for i in (1, 2, 3)]
    numbers = [pa.array(columns[i], pa.int64()) for i in (4, 5, 6, 7)]
    names = ["time_ns", "machine", "kind", "flow", "seq", "length", "a", "b"]
    return pa.table([pa.array(columns[0], pa.int64()), *texts, *numbers], names=names)


@dataclass
class Info:
    name: str
    title: str = "Download over a UMTS bearer"
    description: str = "Sixteen megabytes & some <script>alert(1)</script>."
    seed: int = 1
    replications: int = 5

    def to_toml(self) -> str:
        return f'title = "{self.title}"\n# <not a tag>\nerrors = 0.1 # ' + "a long comment " * 20


@dataclass
class Made:
    """Results that nobody ran."""

    scenarios: Sequence[Info]
    kept: dict[tuple[str, int], Any] = field(default_factory=dict)
    incomplete: int = 0

    def flows(self) -> Any:
        rows = []
        for place, scenario in enumerate(self.scenarios):
            for i in range(scenario.replications):
                done = i >= self.incomplete
                duration = 350.0 + 10 * place + i
                rows.append(
                    {
                        "scenario": scenario.name,
                        "replication": i,
                        "flow": "download",
                        "transport": "reno",
                        "completed": done,
                        "duration_s": duration if done else None,
                        "goodput_bps": 128e6 / duration if done else None,
                        "segments_retransmitted": 40 + i,
                        "timeouts": i % 2,
                        "fast_retransmits": 30 + i,
                        "spurious_timeouts": 0,
                        "rtt_mean_s": 0.3,
                    }
                )
        return pa.Table.from_pylist(rows)

    def bearers(self) -> Any:
        names = {"name": "umts/ue/down", "blocks_sent": 1000, "blocks_resent": 100, "blocks_dropped": 0}
        counts = {"packets_in": 900, "packets_delivered": 900, "packets_dropped": 0, "bytes_delivered": 518_400}
        return pa.Table.from_pylist([{"scenario": s.name, "replication": 0, **names, **counts} for s in self.scenarios])

    def links(self) -> Any:
        counts = {"packets_in": 1000, "packets_delivered": 900, "packets_dropped": 100, "bytes_delivered": 518_400}
        rows = [{"scenario": s.name, "replication": 0, "name": "internet/down", **counts} for s in self.scenarios]
        return pa.Table.from_pylist(rows)

    def has_facts(self, scenario: str, replication: int) -> bool:
        return (scenario, replication) in self.kept

    def facts(self, scenario: str, replication: int) -> Any:
        return self.kept[scenario, replication]


PROVENANCE = {
    "version": "0.1.0",
    "command": "cellwind run umts-384 --replications 5",
    "machine": {"cpu_count": 2, "python": "3.11.7"},
}
VARIANT = 'umts-384[flow.download.transport="newreno",access.umts.errors=0.2]'


def one_run(segments: int = 600) -> Made:
    return Made([Info("umts-384")], {("umts-384", 0): synthetic_facts(segments)})


# Figures


OF_FLOWS = ("time_sequence", "window", "throughput", "rtt")
OF_BEARERS = ("rrc_state", "channel_rate", "rlc_buffer", "rlc_window", "rlc_reports")
OF_THE_PATH = ("queues", "block_errors", "calls")


@pytest.mark.parametrize("kind", [*OF_FLOWS, *OF_BEARERS, *OF_THE_PATH, "durations"])
def test_every_plot_saves_in_every_format(kind: str, tmp_path: Path) -> None:
    """By the first bytes of each file; the page of a figure brings plotly.js once."""
    figure = getattr(Plots(one_run()), kind)()
    assert figure.points > 0
    assert figure.save(tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in figure.save(tmp_path / "plot.svg").read_bytes()
    page = figure.save(tmp_path / "plot.html").read_text()
    assert page.count("* plotly.js v") == 1
    with pytest.raises(ValueError, match=r"not as \.pdf"):
        figure.save(tmp_path / "plot.pdf")


def test_same_figure_gives_the_same_bytes(tmp_path: Path) -> None:
    """By drawing the window plot twice; SVG writers like to put the date and random names into their files."""
    figure = Plots(one_run()).window()
    for suffix in (".png", ".svg"):
        first = figure.save(tmp_path / f"first{suffix}").read_bytes()
        assert figure.save(tmp_path / f"second{suffix}").read_bytes() == first


def test_plot_without_facts_says_how_to_get_them() -> None:
    """By asking for a replication that was not recorded."""
    plots = Plots(one_run())
    with pytest.raises(FactsMissingError, match=r"replication 3 of scenario 'umts-384'.*facts=True.*--facts"):
        plots.rtt(replication=3)


def test_plot_of_an_unknown_name_lists_the_known() -> None:
    """For flow and scenario."""
    plots = Plots(one_run())
    with pytest.raises(ValueError, match="no flow named 'upload'; there are 'download'"):
        plots.window(flow="upload")
    with pytest.raises(ValueError, match="no scenario named 'gprs'; there are 'umts-384'"):
        plots.window(scenario="gprs")


def test_plot_of_a_bearer_names_those_that_tell_of_it() -> None:
    """An unknown one, and of a scenario in which no bearer has RRC."""
    with pytest.raises(ValueError, match="no bearer named 'gprs/ue'; there are 'umts/ue'"):
        Plots(one_run()).rrc_state("gprs/ue")
    made = one_run()
    table = made.kept["umts-384", 0]
    without = table.filter(pa.compute.not_equal(table["kind"].cast(pa.string()), "rrc_state"))
    with pytest.raises(FactsMissingError, match="no bearer of this scenario tells of rrc_state"):
        Plots(Made([Info("umts-384")], {("umts-384", 0): without})).rrc_state()


@pytest.mark.parametrize("kind", [*OF_FLOWS, *OF_BEARERS])
def test_what_the_terminal_went_through_is_shaded(kind: str) -> None:
    """600 segments in 7.2 s: a handover at 4.2 s, a cell reselection from 1.8 to 3.6 s, calls twice."""
    table = synthetic_facts(600)
    of_download = pa.array(["download" if kind == "queue_length" else None for kind in table["kind"].to_pylist()])
    flows = pa.compute.coalesce(of_download, table["flow"].cast(pa.string()))
    marked = table.set_column(table.column_names.index("flow"), "flow", flows)
    figure = getattr(Plots(Made([Info("umts-384")], {("umts-384", 0): marked})), kind)()
    spans = {series.name: (series.x.tolist(), series.y.tolist()) for series in figure.series if series.kind == "span"}
    assert list(spans) == ["handover", "cell reselection", "calls in the cell"]
    assert spans["handover"] == (pytest.approx([4.2]), pytest.approx([4.3]))
    assert spans["cell reselection"] == (pytest.approx([1.8]), pytest.approx([3.6]))


def test_plot_of_a_replication_that_nobody_ran_says_how_many_there_are() -> None:
    """Of five."""
    with pytest.raises(ValueError, match="no replication 5 of scenario 'umts-384'; there are 5"):
        Plots(one_run()).rtt(replication=5)


def test_lines_of_a_complete_flow_end_with_it() -> None:
    """The run goes on for other flows; a flow that is not complete lasts as long as the run."""
    facts = synthetic_facts(100)
    last = facts["time_ns"][-1].as_py()

    def row(time_ns: int, kind: str, flow: str) -> Any:
        columns = {"time_ns": [time_ns], "machine": [RECEIVER], "kind": [kind], "flow": [flow]}
        numbers = {name: [0] for name in ("seq", "length", "a", "b")}
        return pa.table({**columns, **numbers}).cast(plain.schema)

    plain = facts.cast(
        pa.schema([(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in facts.schema])
    )
    done, later = row(last, "flow_completed", "download"), row(last + 60 * 10**9, "segment_sent", "other")
    for parts, end_s in (([plain, done, later], last * 1e-9), ([plain, later], last * 1e-9 + 60)):
        plots = Plots(Made([Info("umts-384")], {("umts-384", 0): pa.concat_tables(parts)}))
        for figure in (plots.window("download"), plots.rtt("download")):
            assert max(float(series.x.max()) for series in figure.series) == pytest.approx(end_s)


def test_legends_stay_inside_the_figure() -> None:
    """Twelve long names under a figure whose texts are words in an SVG file."""
    names = [f"link/a-rather-long-name-{i}/down" for i in range(12)]
    ramp = np.arange(3.0)
    figure = Figure("t", Axis("x"), Axis("y"), [Series(name, "line", ramp, ramp + i) for i, name in enumerate(names)])
    svg = render(figure, "svg").decode()
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])  # type: ignore[index]
    for name in names:
        place = re.search(rf'x="([-\d.]+)"[^>]*>{name}<', svg)
        assert place is not None, name
        # A letter of 8 points is some 5 wide.
        assert 0 < float(place[1]) < width - 5 * len(name) * 0.8, name


def test_infinite_threshold_does_not_flatten_the_windows() -> None:
    """The first threshold of the facts is a gigabyte; the highest drawn value is near the highest window."""
    figure = Plots(one_run()).window()
    assert max(float(np.nanmax(series.y)) for series in figure.series) < 100
    assert "not drawn" in figure.note


def test_first_figure_of_a_notebook_brings_the_library() -> None:
    """In a fresh process each: the second output has the picture and the numbers, but no second plotly.js."""
    code = (
        "import numpy as np; from cellwind.report.figure import *\n"
        "f = Figure('t', Axis('x'), Axis('y'), [Series('s', 'line', np.arange(3.0), np.arange(3.0))])\n"
        "first, second = f._repr_html_(), f._repr_html_()\n"
        "assert '* plotly.js v' in first and '* plotly.js v' not in second\n"
        "assert all('data:image/png' in out and 'application/json' in out for out in (first, second))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_series_check_their_columns() -> None:
    """Lengths that differ, and bands without an upper edge."""
    three, two = np.arange(3.0), np.arange(2.0)
    with pytest.raises(ValueError, match="differ in length"):
        Series("s", "line", three, two)
    with pytest.raises(ValueError, match="upper edge"):
        Series("s", "band", three, three)


def test_packed_numbers_come_back() -> None:
    """Whole numbers exactly, others to 2e-10 of their range, gaps as gaps."""

    def unpacked(values: Any) -> Any:
        packed = pack(values)
        steps = np.frombuffer(base64.b64decode(packed["data"]), dtype="<u4")
        return np.where(steps == 2**32 - 1, np.nan, packed["offset"] + packed["scale"] * steps)

    whole = np.array([5.0, 4_000_000_000.0, np.nan, 6.0])
    assert np.array_equal(unpacked(whole), whole, equal_nan=True)
    broken = np.random.default_rng(1).normal(0, 100, 1000)
    assert np.abs(unpacked(broken) - broken).max() <= 2e-10 * (broken.max() - broken.min())
    assert np.isnan(unpacked(np.array([np.nan]))).all()
    assert pack(np.empty(0))["data"] == ""


def test_thinned_line_keeps_its_outline() -> None:
    """A noisy line of 100,000 points with one spike and one gap: extremes of every column, ends, spike and gap stay."""
    x = np.arange(100_000.0)
    y = np.random.default_rng(1).normal(0, 1, len(x))
    y[54_321], y[70_000] = 50.0, np.nan
    thin = thinned_series(Series("s", "line", x, y), 4000)
    assert len(thin) <= 4100
    assert (np.diff(thin.x) > 0).all()
    assert (thin.x[0], thin.x[-1]) == (x[0], x[-1])
    assert np.nanmax(thin.y) == 50.0
    assert np.isnan(thin.y).any()
    for column in (slice(0, 100), slice(50_000, 50_100)):
        inside = (thin.x >= column.start) & (thin.x < column.stop)
        assert thin.y[inside].max() == y[column].max()
        assert thin.y[inside].min() == y[column].min()


def test_thinned_points_leave_no_occupied_cell_empty() -> None:
    """A cloud of 100,000 points on a grid of 50 by 25 cells: the same cells are occupied afterwards."""
    generator = np.random.default_rng(1)
    x, y = generator.random(100_000), generator.random(100_000) ** 2
    thin = thinned_series(Series("s", "points", x, y), 40_000)
    assert len(thin) <= 40_000

    def cells(points: Series) -> set[tuple[int, int]]:
        return set(zip((points.x * 50).astype(int).tolist(), (points.y * 25).astype(int).tolist(), strict=True))

    assert cells(thin) == cells(Series("s", "points", x, y))


def test_what_must_stay_is_never_thinned() -> None:
    """Retransmissions are drawn one by one, and short series are left alone."""
    x = np.arange(1000.0)
    assert len(thinned_series(Series("resent", "points", x, x, every=True), 10)) == 1000
    assert len(thinned_series(Series("sent", "points", x, x), 1000)) == 1000


# The page


def test_report_shows_means_with_intervals(tmp_path: Path) -> None:
    """Durations 350 to 354 s: mean 352, half-width t(0.975, 4) * sqrt(2.5 / 5) = 1.96; figures lie beside it."""
    path = write_report(one_run(), tmp_path / "report.html", PROVENANCE)
    page = path.read_text()
    assert re.search(r"352\.0 <span class=\"half\">± 2\.0</span>", page)
    assert "5 of 5" in page
    assert "cellwind run umts-384 --replications 5" in page
    assert "cpu count 2" in page
    saved = sorted(item.name for item in (tmp_path / "figures").iterdir())
    assert "umts-384-download-time-sequence.svg" in saved
    assert "durations.png" in saved
    assert len(saved) == 2 * (1 + len(OF_FLOWS) + len(OF_BEARERS) + len(OF_THE_PATH))
    assert sorted(item.name for item in tmp_path.iterdir()) == ["figures", "report.html"]


def test_report_without_facts_says_how_to_get_plots(tmp_path: Path) -> None:
    """A single replication has no interval, no spread and no facts; without a plot the page needs no plotly.js."""
    path = write_report(Made([Info("umts-384", replications=1)]), tmp_path / "report.html")
    page = path.read_text()
    assert "--facts" in page
    assert "facts=True" in page
    assert "single replication has no interval" in page
    assert len(page) < 50_000
    assert not (tmp_path / "figures").exists()


def test_report_can_leave_out_the_files(tmp_path: Path) -> None:
    """With figures=False only the page is written."""
    write_report(one_run(), tmp_path / "report.html", figures=False)
    assert [item.name for item in tmp_path.iterdir()] == ["report.html"]


class Moved(Made):
    """Results of a terminal that moved: 60 packets were taken out of its access, of which 45 were dropped."""

    def bearers(self) -> Any:
        return super().bearers().append_column("packets_handed_back", pa.array([60]))

    def links(self) -> Any:
        counts = {"packets_in": 960, "packets_delivered": 915, "packets_dropped": 45, "bytes_delivered": 500_000}
        switch = [{"scenario": "umts-384", "replication": 0, "name": "handover/ue/down", **counts}]
        return pa.concat_tables([super().links(), pa.Table.from_pylist(switch)])


def test_report_shows_what_handovers_dropped(tmp_path: Path) -> None:
    """In a table of their own, and what they took out beside each bearer; without a handover there is neither."""
    page = write_report(Moved([Info("umts-384")]), tmp_path / "r.html", figures=False).read_text()
    handovers = page[page.index("<h3>Handovers</h3>") :]
    assert '<th scope="row">handover/ue/down</th>' in handovers
    assert '45 <span class="half">(4.69 %)</span>' in handovers
    assert "Packets handed back" in page[: page.index("<h3>Links</h3>")]
    assert "handed back" not in page[page.index("<h3>Links</h3>") :]
    page = write_report(Made([Info("umts-384")]), tmp_path / "r.html", figures=False).read_text()
    assert "<h3>Handovers</h3>" not in page
    assert "handed back" not in page


def test_report_tells_incomplete_flows(tmp_path: Path) -> None:
    """Two of five replications did not finish."""
    page = write_report(Made([Info("umts-384")], incomplete=2), tmp_path / "r.html", figures=False).read_text()
    assert '<span class="warning">3 of 5</span>' in page
    assert "completed flows only" in page
    assert "(n = 3)" in page  # of the goodput


def test_user_text_is_escaped(tmp_path: Path) -> None:
    """Names, titles, descriptions, scenario files and provenance that look like tags stay text."""
    evil = '"><img src=x onerror=alert(1)></script>'
    infos = [Info(f"one{evil}", title=evil), Info(f"two{evil}")]
    made = Made(infos, {(infos[0].name, 0): synthetic_facts(50)})
    page = write_report(made, tmp_path / "report.html", {"command": evil, evil: evil}).read_text()
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert "<not a tag>" not in page
    assert all(re.fullmatch(r"[\w.-]+", item.name) for item in (tmp_path / "figures").iterdir())


def test_scenarios_are_compared_with_the_first(tmp_path: Path) -> None:
    """Two scenarios under one seed; names that are equal as file names keep their figures apart."""
    infos = [Info("a[x=1]"), Info("a(x=1)")]
    made = Made(infos, {(info.name, 0): synthetic_facts(50) for info in infos})
    page = write_report(made, tmp_path / "report.html", PROVENANCE).read_text()
    assert "compared in pairs" in page
    assert "1.0284" in page
    saved = {item.name for item in (tmp_path / "figures").glob("*download-window.png")}
    assert saved == {"a-x-1-download-window.png", "a-x-1-2-download-window.png"}


def test_page_of_scenarios_with_different_titles_is_named_after_none(tmp_path: Path) -> None:
    """Each title stands with its scenario."""
    made = Made([Info("one", title="First of all", replications=1), Info("two", title="Second")])
    page = write_report(made, tmp_path / "r.html", figures=False).read_text()
    assert "<h1>2 scenarios side by side</h1>" in page
    assert "<p>First of all</p>" in page
    assert "<p>Second</p>" in page
    assert "1 replication." in page


def test_report_of_many_flows_draws_the_first(tmp_path: Path) -> None:
    """Fourteen flows with facts, of which twelve are drawn, four at once; the page says what became of the others."""
    table = synthetic_facts(150)
    names = pa.array([f"flow{i % 14:02}" for i in range(table.num_rows)])
    many = table.set_column(table.column_names.index("flow"), "flow", names)
    page = write_report(Made([Info("a")], {("a", 0): many}), tmp_path / "r.html", figures=False).read_text()
    assert page.count("<h4>Time-sequence graph of flow") == 12
    assert page.count('<details class="group" open><summary>Flow') == 4
    assert page.count('<details class="group"><summary>Flow') == 8
    assert "Drawn for the first 12 of 14 flows, as more would make the page slow" in page


# The browser


class Browser:
    """Chromium with one page, over the DevTools protocol on a pair of pipes."""

    def __init__(self, write_end: int, read_end: int) -> None:
        self._write_end = write_end
        self._read_end = read_end
        self._received = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of one command; events that come before it are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write_end, data) :]
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def open(self, path: Path, width: int, dark: bool = False) -> None:
        """Loads a page at this width and theme, and waits until its scripts have run."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def complaints(self) -> list[dict[str, Any]]:
        """Console messages, errors, and refused or failed loads."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Network.loadingFailed")
        return [event for event in self.events if event.get("method") in kinds]

    def requests(self) -> list[str]:
        """Addresses of everything the page asked for."""
        sent = (event for event in self.events if event.get("method") == "Network.requestWillBeSent")
        return [str(event["params"]["request"]["url"]) for event in sent]

    def _read(self, seconds: float = 60.0) -> dict[str, Any]:
        until = time.monotonic() + seconds
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._read_end], [], [], max(0.0, until - time.monotonic()))
            assert ready, "the browser did not answer"
            part = os.read(self._read_end, 1 << 20)
            assert part, "the browser closed its pipe"
            self._received += part
        line, _, self._received = self._received.partition(b"\0")
        answer: dict[str, Any] = json.loads(line)
        return answer


# The browser listens on descriptor 3 and answers on 4; either may be taken by the other end at first.
ON_3_AND_4 = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, place in zip(ends, (3, 4)):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


@contextlib.contextmanager
def chromium(program: str) -> Iterator[Browser]:
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    flags += " --disable-component-update --disable-sync --remote-debugging-pipe"
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, contextlib.ExitStack() as stack:
        stack.callback(os.close, from_read)
        words = [program, *flags.split(), f"--user-data-dir={profile}"]
        process = subprocess.Popen(
            [sys.executable, "-c", ON_3_AND_4, str(to_read), str(from_write), *words],
            pass_fds=(to_read, from_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(from_write)
        try:
            yield Browser(to_write, from_read)
        finally:
            # The closed pipe is the order to leave.
            os.close(to_write)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def browser(tool: Callable[[str], str]) -> Iterator[Browser]:
    with chromium(tool("chromium")) as opened:
        yield opened


DRAWN = """[...document.querySelectorAll('.plot-area')].map((e) => ({
  label: e.getAttribute('aria-label'), open: !e.closest('details:not([open])'),
  marks: e.querySelectorAll('svg.main-svg .trace').length, width: e.querySelector('svg.main-svg')?.clientWidth || 0,
}))"""


def test_browser_draws_the_report_alone(browser: Browser, tmp_path: Path) -> None:
    """A desktop and a phone, light and dark: every plot has traces, no message, no request, no sideways scrolling."""
    infos = [Info("umts-384"), Info(VARIANT)]
    made = Made(infos, {(info.name, 0): synthetic_facts(600) for info in infos})
    path = write_report(made, tmp_path / "report.html", PROVENANCE, figures=False)
    for width, dark in ((1280, False), (390, True)):
        browser.open(path, width, dark)
        plots = browser.evaluate(DRAWN)
        assert len(plots) == 1 + 2 * (len(OF_FLOWS) + len(OF_BEARERS) + len(OF_THE_PATH))
        for plot in plots:
            assert (plot["marks"] > 0) == plot["open"], plot
            assert plot["width"] <= width
        assert browser.complaints() == []
        assert browser.requests() == [path.as_uri()]
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(13, 17, 23)" if dark else "rgb(245, 246, 248)")


def test_browser_shades_spans_over_the_whole_height(browser: Browser, tmp_path: Path) -> None:
    """Two rectangles on an axis of their own, which leave the range of the other alone, and an entry in the legend."""
    line = Series("line", "line", np.arange(5.0), np.arange(5.0))
    span = Series("away", "span", np.array([1.0, 3.0]), np.array([2.0, 3.0]), color="green", every=True)
    figure = Figure("t", Axis("x", "s"), Axis("y"), [span, line])
    browser.open(figure.save(tmp_path / "figure.html"), 900)
    assert browser.complaints() == []
    drawn = browser.evaluate(
        "(() => { const plot = document.querySelector('.plot-area'); const [span] = plot.data;"
        " return [[...span.x], [...span.y], span.yaxis, plot.layout.yaxis.range, plot.layout.yaxis2.range,"
        " plot.querySelectorAll('.legendtext').length]; })()"
    )
    x = [1, 1, 2, 2, None, 3, 3, 3, 3, None]
    assert drawn == [x, [0, 1, 1, 0, None] * 2, "y2", pytest.approx([-0.12, 4.12]), [0, 1], 2]
    assert b"away" in figure.save(tmp_path / "figure.svg").read_bytes()


def test_wide_table_scrolls_inside_its_box(browser: Browser, tmp_path: Path) -> None:
    """On a phone the table is wider than its box, and the page is not."""
    path = write_report(Made([Info("umts-384"), Info(VARIANT)]), tmp_path / "report.html", figures=False)
    browser.open(path, 390)
    assert browser.evaluate("[...document.querySelectorAll('.scroll')].some((e) => e.scrollWidth > e.clientWidth)")
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390


def test_zooming_in_brings_every_segment_back(browser: Browser, tmp_path: Path) -> None:
    """Of 20,000 segments few fit the screen at once; between 100 and 110 s all 833 are drawn, and then again few."""
    path = write_report(one_run(20_000), tmp_path / "report.html", figures=False)
    browser.open(path, 1280)
    sizes = """(async () => {
      const plot = [...document.querySelectorAll('.plot-area')].find((e) => e.dataset.name.endsWith('time-sequence'));
      const count = () => plot.data.find((trace) => trace.name === 'sent').x.length;
      const settle = () => new Promise((done) => setTimeout(done, 200));
      const home = plot.layout.xaxis.range.slice();
      const sizes = [count()];
      for (const range of [[100.001, 110.001], home]) {
        await Plotly.relayout(plot, { 'xaxis.range': range });
        await settle();
        sizes.push(count());
      }
      return sizes;
    })()"""
    before, inside, after = browser.evaluate(sizes)
    assert before < 4000
    assert inside == 833
    assert after == before
    assert browser.complaints() == []


def test_closed_details_are_drawn_when_opened(browser: Browser, tmp_path: Path) -> None:
    """The plots of the second scenario wait until somebody looks."""
    infos = [Info("a"), Info("b")]
    made = Made(infos, {(info.name, 0): synthetic_facts(100) for info in infos})
    browser.open(write_report(made, tmp_path / "report.html", figures=False), 1280)
    browser.evaluate(
        "new Promise((done) => { const last = [...document.querySelectorAll('details.run')].pop();"
        " last.addEventListener('toggle', () => setTimeout(done, 100)); last.open = true; })"
    )
    assert all(plot["marks"] > 0 for plot in browser.evaluate(DRAWN))
    assert browser.complaints() == []


def test_saved_figure_is_a_page_of_its_own(browser: Browser, tmp_path: Path) -> None:
    """Its axis names reach the screen as they were written, even those that look like tags or formulas."""
    line = Series("<b>bold</b> $x$", "line", np.arange(5.0), np.arange(5.0))
    band = Series("band", "band", np.arange(5.0), np.zeros(5), np.ones(5), "amber")
    figure = Figure("A & B", Axis("Time <i>", "s"), Axis("$y$"), [line, band])
    browser.open(figure.save(tmp_path / "figure.html"), 390)
    assert browser.complaints() == []
    texts = browser.evaluate("[...document.querySelectorAll('svg text')].map((e) => e.textContent)")
    assert "Time <i> (s)" in texts
    assert "<b>bold</b> $x$" in texts
    assert figure.save(tmp_path / "figure.png").stat().st_size > 0


def test_a_page_for_a_device_is_written_to_it_and_does_not_replace_it(tmp_path: Path) -> None:
    from cellwind.report.html import write_page

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_page("a page", pipe)
        assert (os.read(reader, 100), pipe.is_fifo()) == (b"a page", True)
    finally:
        os.close(reader)


def test_report_of_a_scenario_without_links_shows_its_bearers(tmp_path: Path) -> None:
    text = 'access.umts = "umts-384"\nflow.one = { transport = "reno", bulk = "20 kB" }\n'
    page = cellwind.run(cellwind.Scenario.parse(text), replications=1).report(tmp_path / "report.html")
    shown = Path(page).read_text(encoding="utf-8")
    assert "Means per bearer" in shown
    assert "Means per link" not in shown
