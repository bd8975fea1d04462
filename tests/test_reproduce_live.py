"""Live runs beside simulated ones: what is shown without them, and that they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cellwind import _core
from cellwind.analysis.series import FactTable
from cellwind.reproduce import reproduce
from cellwind.reproduce.design import Bench, Design, LiveOptions, NotRunError, Plan, RunOptions
from cellwind.reproduce.live import run_live
from cellwind.reproduce.published import load_paper
from cellwind.reproduce.results import Reproduction
from cellwind.reproduce.simulated import simulate
from cellwind.scenario import Scenario

LOSSY = """
stop_at = "1 min"
[link.wireless]
rate = "2 Mbit/s"
delay = "20 ms"
[link.wireless.down]
loss = 0.05
[flow.transfer]
bulk = "60 kB"
transport = { extends = "sack", timestamps = false }
[live]
lateness_limit = "1 s"
"""


@pytest.fixture(scope="module")
def not_asked() -> Reproduction:
    return reproduce("gurtov-p2-figure-9", 1)


def test_without_live_runs_the_reason_stands_in_their_column(not_asked: Reproduction) -> None:
    (figure,) = not_asked.experiments
    assert figure.is_live
    assert figure.status == "done", "the simulated numbers are all there"
    for row in figure.rows:
        assert row.live is not None
        assert row.live.value is None
        assert "--live" in str(row.live.needs)
    assert all(claim.live is not None and claim.live.holds is None for claim in figure.claims)


def test_page_table_and_json_show_both_clocks(not_asked: Reproduction, tmp_path: Path) -> None:
    import io

    from rich.console import Console

    page = not_asked.write_page(tmp_path / "page.html").read_text(encoding="utf-8")
    assert ">Simulated</th>" in page
    assert ">Live</th>" in page
    console = Console(width=60, file=io.StringIO(), record=True)
    console.print(not_asked.table(60))
    text = console.export_text()
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 60
    assert "Live: 0 of 0 numbers" in " ".join(text.split())
    assert not_asked.to_dict()["experiments"][0]["rows"][0]["live"]["value"] is None


def _scenario(cell: str) -> Scenario:
    return Scenario.parse(LOSSY, f"live-test-{cell}")


def _observe(cell: str, facts: FactTable) -> tuple[int, int]:
    return len(facts.select("segment_sent", flow="transfer")), len(facts.select("drop"))


def _probe(directory: Path) -> Mapping[str, float]:
    with (directory / "probed").open("a") as notes:
        notes.write("once\n")
    return {"worst_ms": 1.5}


DESIGN: Design[str, tuple[int, int]] = Design(
    paper=load_paper("gurtov"),
    plans={"one": Plan(cells=["a"], live=["a"], probes={"probe": _probe})},
    scenario=_scenario,
    is_deterministic=lambda _: False,
    observe=_observe,
)


def test_a_bench_says_why_something_is_not_there(tmp_path: Path) -> None:
    bench = run_live(DESIGN, ["one"], RunOptions(2))
    with pytest.raises(NotRunError, match="--live"):
        bench.flows("a")
    with pytest.raises(NotRunError, match="--live"):
        bench.probed("probe")
    simulated = simulate(DESIGN, ["one"], RunOptions(2))
    assert len(simulated.flows("a")) == 2
    with pytest.raises(NotRunError):
        simulated.flows("b")


def test_live_runs_are_kept_and_not_repeated(tmp_path: Path, emulator: None) -> None:
    options = RunOptions(2, live=LiveOptions(tmp_path))
    bench: Bench[str, tuple[int, int]] = run_live(DESIGN, ["one"], options)
    flows = bench.flows("a")
    assert [flow["bytes"] for flow in flows] == [60_000, 60_000]
    assert all(flow["completed"] for flow in flows)
    # 60 kB are 42 segments of 1460 bytes; what the path drops is told beside them.
    for (sent, drops), link in zip(bench.observations("a"), bench.links("a", "wireless/down"), strict=True):
        assert (sent, drops) == (42, link["packets_dropped"])
    assert bench.probed("probe") == {"worst_ms": 1.5}

    def contents() -> dict[str, Any]:
        return {str(path): path.stat().st_mtime_ns for path in tmp_path.rglob("r00*/*")}

    before = contents()
    again = run_live(DESIGN, ["one"], options)
    assert again.flows("a") == flows
    assert contents() == before
    assert (tmp_path / "probed").read_text() == "once\n"


def test_deadlines_are_measured_on_this_machine(tmp_path: Path) -> None:
    """The driver's own waiting, with a log written by the timing thread or by the writer; neither leaves a file."""
    for logging in ("local", "remote"):
        assert len(_core.timer_mismatch(logging, str(tmp_path), 20, 500)) == 20
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="no logging"):
        _core.timer_mismatch("paper", str(tmp_path), 1, 500)
