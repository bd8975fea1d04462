"""The command line as people and scripts use it: output, exit codes, and no traceback ever."""

import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

CommandLine = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = (
    "run",
    "check",
    "list",
    "report",
    "analyze",
    "emulate",
    "ctl",
    "compare",
    "reproduce",
    "script",
    "swarm",
    "schema",
)
SMALL = ("umts-384", "--set", "flow.download.bulk=20 kB")
# Virtual weeks: a run that only Ctrl-C ends.
ENDLESS = ("umts-384", "--set", "flow.download.bulk=unlimited", "--set", "stop_at=2000 h")

FLOW_KEYS = [
    "name",
    "transport",
    "completed",
    "bytes",
    "duration_s",
    "goodput_bps",
    "segments_sent",
    "segments_retransmitted",
    "timeouts",
    "fast_retransmits",
    "spurious_timeouts",
    "necessary_timeouts",
    "rtt_mean_s",
]
TRAFFIC_KEYS = {
    "name",
    "packets_in",
    "packets_delivered",
    "packets_dropped",
    "bytes_in",
    "bytes_delivered",
    "bytes_dropped",
    "packets_handed_back",
    "bytes_handed_back",
    "bytes_held",
}


def words(*command: str | Path) -> list[str]:
    return [sys.executable, "-m", "cellwind", *map(str, command)]


def no_traceback(text: str) -> None:
    assert "Traceback" not in text
    assert "BrokenPipe" not in text
    assert "internal error" not in text


def test_run_ends_with_a_table_per_flow_and_the_report(cellwind: CommandLine, tmp_path: Path) -> None:
    """By reading the output in a terminal of 60 columns."""
    done = cellwind("run", *SMALL, "--replications", "3", env={"COLUMNS": "60"})
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 60
    for row in ("umts-384: download", "Duration (s)", "Goodput (kbit/s)", "Retransmissions", "Timeouts", "± 95 %"):
        assert row in done.stdout
    assert all(line.rstrip().endswith("3") for line in lines if "Duration" in line or "Goodput" in line)
    report = lines[-1].removeprefix("Report: ")
    assert (tmp_path / report).is_file()
    assert re.fullmatch(r"results/umts-384-[0-9a-f]{8}/report\.html", report)
    assert done.stderr == ""


def test_json_is_one_object_with_the_documented_keys(cellwind: CommandLine) -> None:
    """By its exact shape: nothing else is printed."""
    done = cellwind("run", *SMALL, "--replications", "2", "--seed", "5", "--json")
    result = json.loads(done.stdout)
    assert list(result) == ["scenario", "seed", "runs"]
    assert (result["scenario"], result["seed"]) == ("umts-384", 5)
    assert [run["replication"] for run in result["runs"]] == [0, 1]
    for run in result["runs"]:
        assert list(run) == ["replication", "flows", "bearers", "links"]
        (flow,) = run["flows"]
        assert list(flow) == FLOW_KEYS
        assert (flow["name"], flow["completed"], flow["bytes"]) == ("download", True, 20_000)
        assert flow["goodput_bps"] == pytest.approx(8 * flow["bytes"] / flow["duration_s"])
        assert [bearer["name"] for bearer in run["bearers"]] == ["umts/ue/down", "umts/ue/up"]
        for bearer in run["bearers"]:
            assert set(bearer) == TRAFFIC_KEYS | {"blocks_sent", "blocks_resent", "blocks_dropped", "status_reports"}
        assert [link["name"] for link in run["links"]] == ["internet/down", "internet/up"]
        assert all(set(link) == TRAFFIC_KEYS for link in run["links"])
    assert done.stderr == ""


def test_json_keys_are_documented() -> None:
    """By looking for each of them on the reference page."""
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    for key in [*FLOW_KEYS, *TRAFFIC_KEYS, "blocks_sent", "blocks_resent", "blocks_dropped", "status_reports"]:
        assert f"`{key}`" in page, key


def test_json_of_several_files_is_one_object_per_line(cellwind: CommandLine, tmp_path: Path) -> None:
    """By a ready-made scenario and a file that extends it."""
    file = tmp_path / "mine.toml"
    file.write_text('extends = "umts-384"\ntitle = "Mine"\n')
    done = cellwind("run", "umts-384", file, *SMALL[1:], "--replications", "1", "--json", "--out", "both")
    assert [json.loads(line)["scenario"] for line in done.stdout.splitlines()] == ["umts-384", "mine"]
    done = cellwind("report", "both")
    page = (tmp_path / done.stdout.strip()).read_text(encoding="utf-8")
    assert "umts-384" in page
    assert "mine" in page


def test_an_unfinished_flow_has_null_for_its_duration(cellwind: CommandLine) -> None:
    """By stopping the run before the flow is done; that is no failure."""
    done = cellwind("run", "umts-384", "--set", "stop_at=2 s", "--replications", "1", "--json")
    (run,) = json.loads(done.stdout)["runs"]
    assert run["flows"][0]["completed"] is False
    assert run["flows"][0]["duration_s"] is None
    assert "completed 0 of 1" in cellwind("run", "umts-384", "--set", "stop_at=2 s", "--replications", "1").stdout


def test_the_same_command_gives_the_same_output(cellwind: CommandLine, tmp_path: Path) -> None:
    """By running twice in fresh directories with one and two jobs, and a third time from the results."""
    common = ("run", *SMALL, "--replications", "4", "--json")
    first = cellwind(*common, "--jobs", "1", "--out", "one").stdout
    assert cellwind(*common, "--jobs", "2", "--out", "two").stdout == first
    assert cellwind(*common, "--out", "one").stdout == first
    for file in sorted((tmp_path / "one").rglob("*.parquet")):
        assert file.read_bytes() == (tmp_path / "two" / file.relative_to(tmp_path / "one")).read_bytes()


def test_set_changes_the_scenario(cellwind: CommandLine) -> None:
    """By a size given with and without quotes, and values of both kinds."""
    plain = cellwind("run", *SMALL, "--replications", "1", "--json").stdout
    quoted = cellwind("run", SMALL[0], "--set", 'flow.download.bulk="20 kB"', "--replications", "1", "--json").stdout
    assert quoted == plain
    other = cellwind("run", *SMALL, "--set", "access.umts.errors=0.4", "--replications", "1", "--json").stdout
    assert other != plain


def test_failures_to_understand_end_with_2(cellwind: CommandLine, tmp_path: Path) -> None:
    """By one wrong command line of each kind; each is explained on standard error alone."""
    bad = tmp_path / "bad.toml"
    bad.write_text('extends = "umts-384"\nsede = 1\n')
    cases: list[tuple[list[str | Path], str]] = [
        ([], "usage"),
        (["rum"], "run"),
        (["run"], "FILE"),
        (["run", "umts-385"], "umts-384"),
        (["run", bad], "sede"),
        (["run", "umts-384", "--set", "access.umts.errors"], "path=value"),
        (["run", "umts-384", "--set", "access.umts.errors=2"], "access.umts.errors"),
        (["run", "umts-384", "--set", "acess.umts.errors=0.2"], "access"),
        (["run", "umts-384", "--replications", "0"], "whole number from 1"),
        (["run", "umts-384", "--replications", "99999999999"], "whole number from 1 to 1000000"),
        (["run", "umts-384", "--seed", "-1"], "whole number from 0"),
        (["run", "umts-384", "--jobs", "many"], "whole number from 1"),
        (["run", "umts-384", "umts-384"], "two scenarios are named umts-384"),
        (["check", bad, "umts-385"], "umts-385"),
        (["list", "things"], "transports"),
        (["list", "--show", "umts-38"], "umts-384"),
        (["list", "scenarios", "--show", "reno"], "cellwind list transports --show reno"),
        (["report", "nowhere"], "nowhere"),
        (["reproduce", "lundste"], "lundsten"),
        (["reproduce", "lundsten/tabel-3"], "lundsten-table-3"),
        (["reproduce", "lundsten/tabel-3"], "'lundsten/tabel-3'"),
        (["reproduce", "lundsten/nothing"], "conclusions"),
        (["swarm"], "--seed"),
    ]
    for command, hint in cases:
        done = cellwind(*command, code=2)
        assert hint in done.stderr, command
        assert done.stdout == "", command
        no_traceback(done.stderr)


def test_check_tells_of_every_file(cellwind: CommandLine, tmp_path: Path) -> None:
    """By a good file between two bad ones."""
    for name, text in (("a", "sede = 1"), ("b", ""), ("c", "[flow.download]\nbulk = 3.5")):
        (tmp_path / f"{name}.toml").write_text(f'extends = "umts-384"\n{text}\n')
    done = cellwind("check", "a.toml", "b.toml", "c.toml", code=2)
    assert done.stdout.startswith("b.toml: ok")
    assert "sede" in done.stderr
    assert "bulk" in done.stderr
    assert cellwind("check", "umts-384").stdout.startswith("umts-384: ok")


def test_list_shows_what_can_be_run_and_copied(cellwind: CommandLine, tmp_path: Path) -> None:
    """By running a copy of what ``--show`` prints."""
    assert "umts-384" in cellwind("list").stdout
    listed = cellwind("list", "transports").stdout
    assert "reno" in listed
    assert "scenarios:" not in listed
    assert "bursts" in cellwind("list", "errors").stdout
    assert "transitions" in cellwind("list", "--show", "three-states").stdout
    assert "0 46" in cellwind("list", "--show", "bursts").stdout
    shown = cellwind("list", "scenarios", "--show", "umts-384").stdout
    (tmp_path / "copy.toml").write_text(shown)
    assert cellwind("check", "copy.toml").stdout.startswith("copy.toml: ok")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_a_purpose_and_an_example(cellwind: CommandLine, command: str) -> None:
    """By reading it."""
    text = cellwind(command, "--help").stdout
    assert f"usage: cellwind {command}" in text
    assert re.search(rf"example:\n  cellwind {command} ", text)


def test_reproduce_writes_its_page(cellwind: CommandLine, tmp_path: Path) -> None:
    """By an experiment without randomness, named in both ways."""
    done = cellwind("reproduce", "lundsten/figure-18", "--replications", "1")
    page = tmp_path / done.stdout.splitlines()[-1].removeprefix("Page: ")
    assert page == tmp_path / "results" / "reproduce" / "lundsten-figure-18.html"
    assert "Figure 18" in page.read_text(encoding="utf-8")
    done = cellwind("reproduce", "lundsten-figure-18", "--replications", "1", "--json", "--out", "elsewhere")
    assert [experiment["id"] for experiment in json.loads(done.stdout)["experiments"]] == ["lundsten-figure-18"]
    assert (tmp_path / "elsewhere" / "lundsten-figure-18.html").is_file()


def test_swarm_holds_all_invariants(cellwind: CommandLine) -> None:
    """By a few random scenarios."""
    assert "3 of 3" in cellwind("swarm", "--seed", "1", "--count", "3").stdout


def test_swarm_prints_each_failure_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a core whose second scenario fails."""
    from cellwind import _core
    from cellwind.cli.main import main

    def swarm(seed: int, count: int, cancel: object) -> list[str]:
        return [f"bytes were lost\nrepeat with: cellwind swarm --seed {seed}"] if seed == 8 else []

    monkeypatch.setattr(_core, "swarm", swarm)
    assert main(["swarm", "--seed", "7", "--count", "3"]) == 1
    output = capsys.readouterr()
    assert output.err == "bytes were lost\nrepeat with: cellwind swarm --seed 8\n"
    assert output.out == "2 of 3 random scenarios held all invariants\n"


def test_a_failed_replication_ends_with_1_and_keeps_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """By a core that fails one replication of three."""
    from cellwind import _core
    from cellwind.cli.main import main

    genuine = _core.run

    def run(
        scenario: _core.Scenario, replication: int, facts: bool, capture: bool, cancel: _core.CancelFlag
    ) -> _core.Run:
        if replication == 1:
            raise _core.RunError("time stands still at flow/download/sender")
        return genuine(scenario, replication, facts, capture, cancel)

    monkeypatch.setattr(_core, "run", run)
    assert main(["run", *SMALL, "--replications", "3", "--json", "--out", str(tmp_path / "out")]) == 1
    output = capsys.readouterr()
    assert [run["replication"] for run in json.loads(output.out)["runs"]] == [0, 2]
    assert output.err == "cellwind: umts-384, replication 1 failed: time stands still at flow/download/sender\n"


def test_a_defect_is_reported_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a core that raises what nobody expects."""
    from cellwind import _core
    from cellwind.cli.main import main

    def presets() -> list[tuple[str, str, str]]:
        raise ArithmeticError("surprise")

    monkeypatch.setattr(_core, "presets", presets)
    assert main(["list"]) == 1
    assert "internal error: ArithmeticError: surprise" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [("--help",), ("list",), ("schema",), ("check", "umts-384"), ("run", *SMALL, "--replications", "1", "--json")],
    ids=" ".join,
)
def test_a_closed_pipe_is_no_failure(command: tuple[str, ...], tmp_path: Path) -> None:
    """By a reader that is gone before the first word, as after ``| head -0``."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(words(*command), cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_exit_code_stays_where_nobody_reads_the_complaint(tmp_path: Path) -> None:
    """By a reader of standard error that is gone; what is left in its buffer is tried again at the end."""
    reader, writer = os.pipe()
    os.close(reader)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(words("check", "nowhere.toml"), cwd=tmp_path, stderr=writer, env=environment, check=False)
    os.close(writer)
    assert done.returncode == 2


def test_output_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    """By printing to a full device."""
    if not Path("/dev/full").exists():
        pytest.skip("/dev/full is not there")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words("list"), cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert "cannot write to standard output" in done.stderr
    no_traceback(done.stderr)


def test_closed_standard_streams_are_no_failure(tmp_path: Path) -> None:
    """By starting without standard output and standard error, as after ``>&- 2>&-``."""
    done = subprocess.run(["/bin/sh", "-c", '"$@" >&- 2>&-', "sh", *words("list")], cwd=tmp_path)
    assert done.returncode == 0


@pytest.mark.parametrize("columns", ["1", "15", "40"])
def test_narrow_terminals_do_not_crash(cellwind: CommandLine, columns: str) -> None:
    """By running the commands that lay something out."""
    for command in (["--help"], ["list"], ["run", *SMALL, "--replications", "2", "--out", "out"], ["run", "--help"]):
        cellwind(*command, env={"COLUMNS": columns})


def test_other_encodings_do_not_crash(cellwind: CommandLine) -> None:
    """By printing a table in ASCII."""
    assert "Duration" in cellwind("run", *SMALL, "--replications", "2", env={"PYTHONIOENCODING": "ascii"}).stdout


def test_progress_is_shown_to_terminals_only(tmp_path: Path) -> None:
    """By giving standard error a terminal; the other tests see that it stays empty without one."""
    terminal, side = pty.openpty()
    command = words("run", *SMALL, "--replications", "20", "--json", "--out", "shown")
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=side, env=environment)
    os.close(side)
    shown = b""
    while True:
        try:
            block = os.read(terminal, 4096)
        except OSError:
            break
        if not block:
            break
        shown += block
    os.close(terminal)
    output, _ = process.communicate()
    assert process.returncode == 0
    assert b"running" in shown
    assert b"/20" in shown
    assert len(json.loads(output)["runs"]) == 20


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_an_unusable_directory_is_bad_usage(cellwind: CommandLine, tmp_path: Path, place: str) -> None:
    """By a place that is a file, and one below a file."""
    (tmp_path / "file").write_text("mine")
    done = cellwind("run", *SMALL, "--replications", "1", "--out", place, code=2)
    assert "file" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert (tmp_path / "file").read_text() == "mine"


def test_results_of_another_scenario_are_not_mixed(cellwind: CommandLine) -> None:
    """By running the same name with another value into the same directory."""
    cellwind("run", *SMALL, "--replications", "1", "--out", "out")
    done = cellwind("run", *SMALL, "--seed", "77", "--replications", "1", "--out", "out", code=2)
    assert "another scenario named umts-384" in done.stderr
    assert "--out" in done.stderr


def test_a_full_disk_is_one_clear_error(tmp_path: Path) -> None:
    """By a limit on the size of files; nothing half-written is taken for complete."""
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (3072, resource.RLIM_INFINITY));"
        "from cellwind.cli.main import main; sys.exit(main())"
    )
    command = [sys.executable, "-B", "-c", script, "run", *SMALL, "--replications", "3", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "cannot write out/umts-384/runs/r000" in done.stderr
    assert len(done.stderr.splitlines()) == 2
    no_traceback(done.stderr)
    assert not list((tmp_path / "out" / "umts-384" / "runs").iterdir())
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 3072


def complete(runs: Path) -> list[str]:
    return sorted(path.name for path in runs.glob("r*")) if runs.is_dir() else []


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def test_ctrl_c_keeps_what_is_complete_and_says_how_to_go_on(cellwind: CommandLine, tmp_path: Path) -> None:
    """By interrupting a campaign after three replications, and looking for leftovers."""
    command = words("run", *SMALL, "--replications", "100000", "--jobs", "1", "--out", "out")
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    runs = tmp_path / "out" / "umts-384" / "runs"
    wait_for(lambda: len(complete(runs)) >= 3)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert output == ""
    no_traceback(errors)
    done = re.search(r"interrupted; (\d+) of 100000 replications are complete in out\.", errors)
    assert done is not None, errors
    assert int(done[1]) == len(complete(runs)) == len(list(runs.iterdir()))
    assert "same command again" in errors
    assert cellwind("report", "out").stdout == "out/report.html\n"


def test_ctrl_c_ends_a_replication_in_the_middle(tmp_path: Path) -> None:
    """By interrupting a run that would go on for virtual weeks."""
    command = words("run", *ENDLESS, "--replications", "1", "--out", "out")
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    wait_for((tmp_path / "out" / "umts-384" / "runs").is_dir)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130, errors
    assert "0 of 1" in errors
    no_traceback(errors)


def test_starting_loads_nothing_heavy(tmp_path: Path) -> None:
    """By the modules imported for ``--help``, and for a small run with its report."""

    def imported(*command: str) -> set[str]:
        line = [sys.executable, "-X", "importtime", "-m", "cellwind", *command]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return {part.rsplit("|", 1)[-1].strip().split(".")[0] for part in done.stderr.splitlines()}

    heavy = {"pandas", "scipy", "plotly", "matplotlib"}
    assert not imported("--help") & (heavy | {"numpy", "pyarrow", "rich"})
    assert not imported("run", *SMALL, "--replications", "1") & heavy


def test_the_schema_describes_the_scenario_file(cellwind: CommandLine) -> None:
    """By its being JSON Schema with the keys of the top level."""
    schema = json.loads(cellwind("schema").stdout)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"title", "seed", "link", "access", "flow"} <= set(schema["properties"])


@pytest.mark.parametrize(("option", "page"), [("--markdown", "scenario.md"), ("--facts", "facts.md")])
def test_generated_pages_are_in_step(cellwind: CommandLine, option: str, page: str) -> None:
    """By comparing the committed page with what the command prints now."""
    committed = (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8")
    advice = f"write it again: cellwind schema {option} > docs/reference/{page}"
    assert cellwind("schema", option).stdout == committed, advice
