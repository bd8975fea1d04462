"""Run directories: complete or absent, resumed, extended, never mixed."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cellwind
from cellwind.campaign.results import ScenarioInfo
from cellwind.campaign.rows import BEARER_COLUMNS, FLOW_COLUMNS, LINK_COLUMNS, Column
from cellwind.campaign.store import Finished, RunDirectory, default_directory, directory_name

ROOT = Path(__file__).resolve().parents[1]
SMALL = ("umts-384", "--set", "flow.download.bulk=20 kB")


def small(**values: object) -> cellwind.Scenario:
    return cellwind.Scenario.load("umts-384", {"flow.download.bulk": "20 kB"} | values)  # type: ignore[arg-type]


def runs_of(directory: Path, scenario: str = "umts-384") -> Path:
    return directory / scenario / "runs"


def complete(directory: Path) -> list[str]:
    runs = runs_of(directory)
    return sorted(path.name for path in runs.glob("r*")) if runs.is_dir() else []


def stamps(directory: Path) -> dict[str, int]:
    """When each file of the results was last written."""
    return {str(path): path.stat().st_mtime_ns for path in runs_of(directory).rglob("*.parquet")}


def test_a_run_directory_has_the_documented_layout(tmp_path: Path) -> None:
    """By listing one with facts and captures."""
    out = tmp_path / "out"
    cellwind.run(small(), replications=2, out=out, facts=True, pcap=True)
    files = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    parts = ("flows.parquet", "bearers.parquet", "links.parquet", "facts.parquet", "server.pcapng", "ue.pcapng")
    assert files == {
        ".lock",
        "provenance.json",
        "umts-384/scenario.toml",
        "umts-384/digest",
        *(f"umts-384/runs/r000{run}/{part}" for run in (0, 1) for part in parts),
    }
    provenance = json.loads((out / "provenance.json").read_text())
    assert {"version", "commit", "command", "created", "machine", "scenarios"} == set(provenance)
    assert {"cpu_count", "python", "platform"} == set(provenance["machine"])
    assert provenance["scenarios"]["umts-384"]["digest"] == (out / "umts-384" / "digest").read_text().strip()
    resolved = cellwind.Scenario.load(out / "umts-384" / "scenario.toml")
    assert resolved.seed == provenance["scenarios"]["umts-384"]["seed"]


def test_results_read_back_are_the_results(tmp_path: Path) -> None:
    """By comparing all three tables and the facts of two variants."""
    variants = small().vary(access__umts__errors=[0.0, 0.2])
    memory = cellwind.run(variants, replications=3, facts=True)
    written = cellwind.run(variants, replications=3, facts=True, out=tmp_path)
    loaded = cellwind.Results.load(tmp_path)
    for results in (written, loaded):
        assert results.flows() == memory.flows()
        assert results.bearers() == memory.bearers()
        assert results.links() == memory.links()
        name = variants[1].name
        assert results.facts(name, 2).to_pylist() == memory.facts(name, 2).to_pylist()
        assert [s.factors for s in results.scenarios] == [{"access.umts.errors": 0.0}, {"access.umts.errors": 0.2}]


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    """By one and two jobs, bit for bit."""
    one = cellwind.run(small(), replications=6, jobs=1, facts=True)
    two = cellwind.run(small(), replications=6, jobs=2, facts=True)
    assert one.flows() == two.flows()
    assert one.facts(replication=5) == two.facts(replication=5)


def test_complete_replications_are_not_run_again(tmp_path: Path) -> None:
    """By running twice, then with more replications: the old files stay untouched, the new ones come."""
    first = cellwind.run(small(), replications=2, out=tmp_path)
    before = stamps(tmp_path)
    again = cellwind.run(small(), replications=2, out=tmp_path)
    assert stamps(tmp_path) == before
    assert again.flows() == first.flows()
    more = cellwind.run(small(), replications=4, out=tmp_path)
    assert stamps(tmp_path).items() >= before.items()
    assert complete(tmp_path) == ["r0000", "r0001", "r0002", "r0003"]
    assert more.flows() == cellwind.run(small(), replications=4).flows()


def test_fewer_replications_than_there_are_give_just_those(tmp_path: Path) -> None:
    """By asking for one of three; the directory keeps all."""
    cellwind.run(small(), replications=3, out=tmp_path)
    assert len(cellwind.run(small(), replications=1, out=tmp_path)) == 1
    assert len(cellwind.Results.load(tmp_path)) == 3


def test_facts_and_captures_can_be_asked_for_later(tmp_path: Path) -> None:
    """By running without them, then with: they are added, what was there stays untouched."""
    cellwind.run(small(), replications=2, out=tmp_path)
    before = stamps(tmp_path)
    results = cellwind.run(small(), replications=1, out=tmp_path, facts=True, pcap=True)
    assert results.has_facts("umts-384", 0)
    assert stamps(tmp_path).items() >= before.items()
    assert (runs_of(tmp_path) / "r0000" / "ue.pcapng").exists()
    assert not (runs_of(tmp_path) / "r0001" / "facts.parquet").exists()
    assert not list(runs_of(tmp_path).glob(".*"))


def test_a_killed_campaign_resumes_and_loses_nothing(tmp_path: Path) -> None:
    """By killing the process several times, at whatever it is doing, until all is done."""
    out, wanted = tmp_path / "out", 60
    command = [sys.executable, "-m", "cellwind", "run", *SMALL, "--replications", str(wanted), "--out", str(out)]
    kept: dict[str, int] = {}
    for _ in range(4):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while process.poll() is None and len(complete(out)) < len(kept) // 3 + 8:
            assert time.monotonic() < end
            time.sleep(0.005)
        process.kill()
        process.wait()
        now = stamps(out)
        assert now.items() >= kept.items(), "a complete replication was written again"
        for run in complete(out):
            assert len(list((runs_of(out) / run).iterdir())) == 3
        kept = {path: stamp for path, stamp in now.items() if "/r" in path and ".tmp/" not in path}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert len(complete(out)) == wanted
    assert sorted(path.name for path in runs_of(out).iterdir()) == complete(out)
    assert cellwind.Results.load(out).flows() == cellwind.run(small(), replications=wanted).flows()


def test_two_processes_do_not_write_to_one_directory(tmp_path: Path) -> None:
    """By holding the directory while another process is told to use it."""
    info = ScenarioInfo.of(small(), 1)
    command = [sys.executable, "-m", "cellwind", "run", *SMALL, "--replications", "1", "--out", str(tmp_path)]
    with RunDirectory(tmp_path, [info], "test").open():
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 2
        assert "is in use" in done.stderr
    assert subprocess.run(command, capture_output=True).returncode == 0


def test_processes_that_meet_without_locks_leave_whole_replications(tmp_path: Path) -> None:
    """By writing the same replication twice: the first one stays, nothing else is left."""
    from cellwind import _core

    scenario = small()
    with RunDirectory(tmp_path, [ScenarioInfo.of(scenario, 1)], "test").open() as directory:
        run = _core.run(scenario.core, 0)
        directory.write(Finished.of("umts-384", run, False, False))
        before = stamps(tmp_path)
        directory.write(Finished.of("umts-384", run, False, False))
    assert stamps(tmp_path) == before
    assert complete(tmp_path) == ["r0000"]
    assert not list(runs_of(tmp_path).glob(".*"))


def test_drafts_of_killed_processes_are_removed(tmp_path: Path) -> None:
    """By leaving one behind."""
    cellwind.run(small(), replications=1, out=tmp_path)
    draft = runs_of(tmp_path) / ".r0007.12345.tmp"
    draft.mkdir()
    (draft / "flows.parquet").write_bytes(b"half")
    cellwind.run(small(), replications=1, out=tmp_path)
    assert not draft.exists()


def test_results_of_another_version_are_not_mixed(tmp_path: Path) -> None:
    """By changing the version in the provenance."""
    cellwind.run(small(), replications=1, out=tmp_path)
    path = tmp_path / "provenance.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": "0.0.0"}))
    with pytest.raises(cellwind.RunDirectoryError, match=r"results of cellwind 0\.0\.0"):
        cellwind.run(small(), replications=1, out=tmp_path)


def test_unreadable_directories_are_named(tmp_path: Path) -> None:
    """By an empty directory, one without results, and a damaged file."""
    with pytest.raises(cellwind.RunDirectoryError, match="is not a run directory"):
        cellwind.Results.load(tmp_path)
    with RunDirectory(tmp_path, [ScenarioInfo.of(small(), 1)], "test").open():
        pass
    with pytest.raises(cellwind.RunDirectoryError, match="no complete replication"):
        cellwind.Results.load(tmp_path)
    cellwind.run(small(), replications=1, out=tmp_path)
    damaged = runs_of(tmp_path) / "r0000" / "links.parquet"
    damaged.write_bytes(b"nonsense")
    with pytest.raises(cellwind.RunDirectoryError, match=r"r0000/links\.parquet"):
        cellwind.Results.load(tmp_path)


def test_failures_come_after_everything_else_is_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By a core that fails two replications of five; the others are kept, in memory and on disk."""
    from cellwind import _core

    genuine = _core.run

    def run(
        scenario: _core.Scenario, replication: int, facts: bool, capture: bool, cancel: _core.CancelFlag
    ) -> _core.Run:
        if replication in (1, 3):
            raise _core.RunError(f"stuck in {replication}")
        return genuine(scenario, replication, facts, capture, cancel)

    monkeypatch.setattr(_core, "run", run)
    with pytest.raises(cellwind.CampaignError, match="2 of 5 replications failed") as caught:
        cellwind.run(small(), replications=5, out=tmp_path)
    assert [(f.replication, f.reason) for f in caught.value.failures] == [(1, "stuck in 1"), (3, "stuck in 3")]
    assert len(caught.value.results) == 3
    assert complete(tmp_path) == ["r0000", "r0002", "r0004"]
    assert isinstance(caught.value, cellwind.RunError)


def test_every_name_becomes_one_directory_of_its_own() -> None:
    """By names that file systems, or people, would stumble over."""
    names = ["a/b", "a_b", "..", ".hidden", "a:b", "ä", "x" * 300, "x" * 301, "", "two words", " edge ", "a\nb"]
    made = [directory_name(name) for name in names]
    assert len(set(made)) == len(made)
    for name in made:
        assert name.isascii()
        assert "/" not in name
        assert not name.startswith(".")
        assert len(name) <= 130


def test_variants_get_a_directory_each(tmp_path: Path) -> None:
    """By factors with slashes and blanks in them."""
    variants = small().vary(access__umts__rate=["128 kbit/s", "384 kbit/s"])
    results = cellwind.run(variants, replications=1, out=tmp_path)
    assert [s.name for s in cellwind.Results.load(tmp_path).scenarios] == [v.name for v in variants]
    assert len(results) == 2


def test_a_directory_takes_further_scenarios(tmp_path: Path) -> None:
    """By two invocations with different scenarios; loading gives both."""
    first, second = small().vary(access__umts__errors=[0.0, 0.1])
    cellwind.run(first, replications=1, out=tmp_path)
    cellwind.run(second, replications=2, out=tmp_path)
    assert [len(cellwind.Results.load(tmp_path).flows().filter(mask)) for mask in masks(tmp_path)] == [1, 2]


def masks(directory: Path) -> list[list[bool]]:
    results = cellwind.Results.load(directory)
    scenarios = results.flows()["scenario"].to_pylist()
    return [[name == info.name for name in scenarios] for info in results.scenarios]


def test_the_default_directory_depends_on_all_scenarios() -> None:
    """By one scenario, two, and two in which one differs."""
    a, b, c = (ScenarioInfo.of(v, 1) for v in small().vary(access__umts__errors=[0.0, 0.1, 0.2]))
    paths = {default_directory([a]), default_directory([a, b]), default_directory([a, c])}
    assert len(paths) == 3
    assert default_directory([a]) == Path("results") / f"{a.name}-{a.digest[:8]}"


@pytest.mark.parametrize("columns", [FLOW_COLUMNS, BEARER_COLUMNS, LINK_COLUMNS])
def test_columns_are_documented(columns: tuple[Column, ...]) -> None:
    """By looking for each table on the reference page, row by row."""
    page = (ROOT / "docs" / "reference" / "results.md").read_text(encoding="utf-8")
    rows = "\n".join(f"| `{column.name}` | {column.type} | {column.meaning} |" for column in columns)
    assert rows in page
