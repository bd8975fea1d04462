"""Applications through the public doors: rows, tables, report, captures, and what is refused."""

import json
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import cellwind
from cellwind import _core
from cellwind.analysis.trace import Direction, connections, read_capture
from cellwind.campaign.rows import APPLICATION_COLUMNS
from cellwind.live.flows import flows_of

CommandLine = Callable[..., subprocess.CompletedProcess[str]]


def test_rows_have_the_figures_of_their_application_and_no_others(tmp_path: Path) -> None:
    """By a page, and a plain transfer, which has none."""
    page = cellwind.run(cellwind.Scenario.load("web-umts"))
    for row in page.flows().to_pylist():
        assert row["application"] == "web"
        assert row["completed"]
        assert (row["messages_sent"], row["messages_delivered"]) == (11, 11)
        assert row["initial_delay_s"] < row["page_delay_s"] == pytest.approx(row["duration_s"])
        assert row["messages_on_time"] is None
        assert row["startup_delay_s"] is None
    report = page.report(tmp_path / "report.html", figures=False).read_text(encoding="utf-8")
    assert "Total page delay" in report
    assert "Re-bufferings" not in report
    (row,) = cellwind.run(cellwind.Scenario.load("umts-384", {"flow.download.bulk": "20 kB"})).flows().to_pylist()
    assert row["application"] == "bulk"
    assert all(row[column] is None for column in APPLICATION_COLUMNS if column != "application")


def test_json_has_what_an_application_has(cellwind: CommandLine) -> None:
    """By a call, whose frames have deadlines."""
    done = cellwind("run", "voip-umts", "--set", "flow.udp.application.duration=1 s", "--json")
    (found,) = [json.loads(line) for line in done.stdout.splitlines()]
    call = found["runs"][0]["flows"][0]
    assert (call["application"], call["messages_sent"]) == ("voip", 50)
    assert 0 < call["messages_on_time"] <= call["messages_delivered"] <= 50
    assert "page_delay_s" not in call


@pytest.mark.parametrize(
    ("name", "what"), [("web-umts", "an application, web"), ("news-ticker", "an application, news")]
)
def test_live_runs_refuse_applications(name: str, what: str) -> None:
    """By the flows that a live run would carry."""
    document = tomllib.loads(_core.Scenario.load(name).to_toml())
    with pytest.raises(_core.EmulationError, match=what):
        flows_of(document)


def test_the_connections_of_a_page_are_found_in_its_capture(tmp_path: Path) -> None:
    """By eleven connections of HTTP/1.0, whose bytes towards the terminal are those of the row."""
    text = """
    link.wire = { rate = "1 Mbit/s", delay = "50 ms" }
    flow.page = { application = "web-http-1.0", transport = "sack" }
    """
    run = _core.run(_core.Scenario.parse(text), 0, capture=True)
    for end, content in run.capture().items():
        (tmp_path / end).write_bytes(content)
    found = connections(read_capture(tmp_path / "ue"), read_capture(tmp_path / "server"))
    ways = [way for way in (connection.bulk for connection in found) if isinstance(way, Direction)]
    assert len(ways) == len(found) == 11
    (row,) = run.flows
    assert sum(way.bytes for way in ways) == row["bytes"] == 60_000
    assert sum(way.segments_sent for way in ways) == row["segments_sent"]
