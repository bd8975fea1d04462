"""Live emulation on the real kernel: commands, control, results, and the same machines under both clocks.

Everything happens in namespaces that the runs make themselves. Without the privileges for that, the tests are skipped
and say why. Nothing here depends on how fast this machine is: scenarios allow packets to be late.
"""

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cellwind
from cellwind.live.compare import compare
from cellwind.live.control import ControlError, connect
from cellwind.live.probes import probe

CommandLine = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = [
    pytest.mark.usefixtures("emulator", "runtime"),
    # The terminal goes there only where a test sends it.
    pytest.mark.filterwarnings("ignore:access.umts serves no terminal"),
]

# A fast and short way, on which nothing is late enough to matter.
QUICK = """
title = "Quick"
[link.line]
rate = "20 Mbit/s"
delay = "5 ms"
[access.wlan]
type = "link"
rate = "10 Mbit/s"
delay = "5 ms"
queue = "100 packets"
[access.umts]
type = "link"
rate = "1 Mbit/s"
delay = "40 ms"
queue = "100 packets"
[terminal.ue]
access = "wlan"
[live]
lateness_limit = "10 s"
"""
FLOW = """
[flow.download]
transport = "sack"
bulk = "200 kB"
"""


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def quick(tmp_path: Path) -> str:
    (tmp_path / "quick.toml").write_text(QUICK)
    return "quick.toml"


def scenario(more: str = "") -> cellwind.Scenario:
    return cellwind.Scenario.parse(QUICK + more, "quick")


@contextlib.contextmanager
def in_background(*words: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "cellwind", *words]
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_command_runs_inside_and_its_code_comes_back(cellwind: CommandLine, quick: str) -> None:
    """By a shell that tells who and where it is; results go to its own streams."""
    script = "echo $CELLWIND $CELLWIND_END; cat /sys/class/net/*/type | wc -l; ping -c 1 server >/dev/null; exit 7"
    done = cellwind("emulate", quick, "--", "sh", "-c", script, code=7)
    assert done.stdout == "quick ue\n2\n"
    assert "quick: Quick" in done.stderr
    assert "server: 100.64.0.1" in done.stderr
    assert "ue up: 1 packets in, 1 out, 0 dropped" in done.stderr
    assert "valid" in done.stderr


def test_the_server_s_end_and_what_cannot_be_run(cellwind: CommandLine, quick: str) -> None:
    """By a command at the server that asks for the terminal's name, and one that does not exist."""
    assert "100.64.1.1" in cellwind("emulate", quick, "--end", "server", "--", "getent", "ahostsv4", "ue").stdout
    assert "cannot run /no/such" in cellwind("emulate", quick, "--", "/no/such", code=127).stderr
    assert "cannot run /etc/hosts" in cellwind("emulate", quick, "--", "/etc/hosts", code=126).stderr


def test_a_closed_standard_stream_is_nothing_and_not_another_file(quick: str, tmp_path: Path) -> None:
    """By a command that reads from where standard input would be."""
    command = [sys.executable, "-m", "cellwind", "emulate", quick, "--spin", "0s", "--", "readlink", "/proc/self/fd/0"]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *command], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "/dev/null\n"), done.stderr


def test_results_are_kept_as_those_of_a_simulation(cellwind: CommandLine, quick: str, tmp_path: Path) -> None:
    """By running twice into one directory, and reading it back."""
    words = ("emulate", quick, "--out", "kept", "--facts", "--pcap", "--", "ping", "-c", "2", "-i", "0.1", "server")
    cellwind(*words)
    assert "kept/quick/runs/r0001" in cellwind(*words).stderr
    results = __import__("cellwind").Results.load(tmp_path / "kept")
    assert len(results) == 2
    up = next(row for row in results.bearers().to_pylist() if row["name"] == "wlan/ue/up")
    assert (up["packets_in"], up["packets_delivered"]) == (2, 2)
    assert results.has_facts("quick", 1)
    about = json.loads((tmp_path / "kept/quick/runs/r0000/live.json").read_text())
    assert about["valid"] is True
    assert about["kernel_release"] == os.uname().release
    place = tmp_path / "kept/quick/runs/r0001"
    assert {"server.pcapng", "ue.pcapng", "lateness.parquet"} <= {path.name for path in place.iterdir()}


def test_a_run_that_was_too_late_is_set_aside(cellwind: CommandLine, quick: str, tmp_path: Path) -> None:
    """With a limit that no clock can keep."""
    limits = ("--set", "live.lateness_limit=1 ns", "--set", "live.valid_share=0.999")
    done = cellwind("emulate", quick, *limits, "--out", "kept", "--", "ping", "-c", "1", "server")
    assert "not valid" in done.stderr
    assert [path.name for path in (tmp_path / "kept/quick/runs").iterdir()] == ["r0000.invalid"]


def test_what_is_left_running_is_told_and_ended(cellwind: CommandLine, quick: str) -> None:
    """By a command that leaves a daemon, and by one that will not end."""
    daemon = cellwind("emulate", quick, "--", "sh", "-c", "(setsid sleep 1000 &); exit 3", code=3, timeout=30)
    assert "went on at ue after the command" in daemon.stderr
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)"
    done = cellwind("emulate", quick, "--duration", "0.5s", "--", sys.executable, "-c", stubborn, timeout=30)
    assert "did not end when asked to, and was killed" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_end_a_run_cleanly(quick: str, tmp_path: Path, number: signal.Signals) -> None:
    """By the exit code, and by what of it is left: no process."""
    with in_background("emulate", quick, "--", "sh", "-c", "echo up; sleep 1000", cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert "sh was ended" in said
    assert "valid" in said


def test_ctrl_c_belongs_to_the_command(quick: str, tmp_path: Path) -> None:
    """With a command that answers it, without a terminal."""
    command = "import signal, sys; signal.signal(2, lambda *_: sys.exit(5)); print('up', flush=True); signal.pause()"
    with in_background("emulate", quick, "--", sys.executable, "-c", command, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 5


def test_a_shell_has_a_terminal_of_its_own(quick: str, tmp_path: Path) -> None:
    """By typing at one: its prompt says where it is, and Ctrl-C ends what it runs, not the emulation."""
    pid, screen = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.environ |= {"SHELL": "/bin/sh", "PS1": "$ "}
        os.execv(sys.executable, [sys.executable, "-m", "cellwind", "emulate", quick])
    expect(screen, r"\[quick ue\] ")
    os.write(screen, b"stty cols 101; sleep 1000; echo over\n")
    time.sleep(0.3)
    os.write(screen, b"\x03")
    expect(screen, r"\[quick ue\] ")
    os.write(screen, b"test -t 0 && echo 'a terminal' of $CELLWIND; exit 4\n")
    expect(screen, "a terminal of quick")
    expect(screen, "valid")
    _, status = os.waitpid(pid, 0)
    os.close(screen)
    assert os.waitstatus_to_exitcode(status) == 4


def test_closing_the_terminal_ends_the_shell_and_keeps_the_results(quick: str, tmp_path: Path) -> None:
    """By closing the other side of the terminal; an interactive shell does not listen to SIGTERM."""
    pid, screen = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.environ |= {"SHELL": "/bin/bash"}
        os.execv(sys.executable, [sys.executable, "-m", "cellwind", "emulate", quick, "--out", "kept"])
    expect(screen, r"\[quick ue\] ")
    os.close(screen)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGHUP
    assert (tmp_path / "kept/quick/runs/r0000/live.json").exists()


def expect(screen: int, pattern: str, timeout: float = 20) -> None:
    seen = ""
    while not re.search(pattern, seen):
        ready, _, _ = select.select([screen], [], [], timeout)
        assert ready, f"{pattern!r} does not come, only {seen!r}"
        with contextlib.suppress(OSError):
            seen += os.read(screen, 4096).decode(errors="replace")


def test_a_running_emulation_is_controlled_from_outside(cellwind: CommandLine, quick: str, tmp_path: Path) -> None:
    """By every verb of `cellwind ctl`, on a run without a command."""
    with in_background("emulate", quick, "--name", "mine", "--no-command", cwd=tmp_path) as process:
        assert process.stderr is not None
        while "Ctrl-C ends it" not in process.stderr.readline():
            pass
        assert cellwind("ctl").stdout == "mine\n"
        for words in (
            ("set", "link.line.delay=50 ms", "access.wlan.rate=5 Mbit/s"),
            ("handover", "umts", "--delay", "10 ms"),
            ("spike", "10 ms"),
            ("pause",),
            ("resume",),
        ):
            assert re.fullmatch(r"done at \d+\.\d+ s\n", cellwind("ctl", "mine", *words).stdout)
        assert "allowed:" in cellwind("ctl", "set", "link.line.dely=1 s", code=2).stderr
        assert cellwind("ctl", "enter", "ue", "--", "sh", "-c", "ping -c 1 server; exit 6", code=6).stdout
        status = json.loads(cellwind("ctl", "status", "--json").stdout)
        assert status["run"] == "mine"
        assert status["terminals"]["ue"]["access"] == "umts"
        assert "ue down" in cellwind("ctl", "status").stdout
        assert "ue down: " in cellwind("ctl", "status", env={"COLUMNS": "40"}).stdout
        assert "cannot run" in cellwind("ctl", "enter", "--", "/no/such", code=127).stderr
        cellwind("ctl", "stop")
        process.communicate(timeout=30)
    assert process.returncode == 0
    assert cellwind("ctl").stdout == "no emulation is running\n"


def test_python_controls_a_run_from_inside_and_outside() -> None:
    """By the same delay set through both doors, and seen by ping."""
    with cellwind.emulate(scenario(), name="mine") as live, connect("mine") as outside:
        assert live.addresses()["ue"][0] == "100.64.1.1"
        assert live.set("link.line.delay", "30 ms") > 0
        assert round_trip_ms(live) >= 70
        assert outside.set("link.line.delay", "60 ms") > 0
        assert round_trip_ms(live) >= 130
        with pytest.raises(cellwind.ScenarioError, match="did you mean"):
            live.set("link.line.dely", "1 s")
        with pytest.raises(ControlError, match="did you mean"):
            outside.set("link.line.dely", "1 s")
        with pytest.raises(cellwind.EmulationError, match="no end named nowhere"):
            live.spawn("nowhere", ["true"])
        with pytest.raises(subprocess.TimeoutExpired):
            live.run("ue", ["sleep", "100"], timeout=0.1)
        assert live.run("ue", ["sh", "-c", "echo out; echo err >&2; exit 9"]).returncode == 9
        lasting = live.spawn("ue", ["sleep", "100"])
    assert live.result.valid
    with pytest.raises(cellwind.EmulationError):
        lasting.wait()


def round_trip_ms(live: Any) -> float:
    said = live.run("ue", ["ping", "-c", "1", "server"]).stdout
    found = re.search(r"time=([\d.]+) ms", said)
    assert found, said
    return float(found[1])


def test_workloads_start_at_their_times() -> None:
    """By two that print when they started, and one that fails."""
    commands = """
[workload.first]
at = "server"
command = ["sh", "-c", "echo $CELLWIND_END; sleep 1000"]
[workload.second]
at = "ue"
start = "300 ms"
command = ["sh", "-c", "ping -c 1 server >/dev/null && echo reached"]
[workload.third]
at = "ue"
command = ["sh", "-c", "echo it cannot be; exit 3"]
"""
    results = cellwind.run(scenario(commands), live=True)
    assert len(results) == 1
    with cellwind.emulate(scenario(commands)) as live:
        while live.workloads[1].process is None or live.workloads[1].process.code is None:
            time.sleep(0.01)
        assert live.status()["time_s"] >= 0.3
    assert [workload.log for workload in live.workloads] == [b"server\n", b"reached\n", b"it cannot be\n"]
    complaints = [workload.complaint() for workload in live.workloads]
    assert complaints == [None, None, "workload third ended with code 3: it cannot be"]


def test_a_live_campaign_has_the_tables_of_a_simulated_one(tmp_path: Path) -> None:
    """By running both, comparing columns and what was transferred, and resuming."""
    quick = scenario(FLOW)
    live = cellwind.run(quick, replications=2, live=True, jobs=2, facts=True, pcap=True, out=tmp_path / "live")
    simulated = cellwind.run(quick, replications=2, facts=True)
    assert live.flows().schema == simulated.flows().schema
    assert live.facts().schema == simulated.facts().schema
    for row in live.flows().to_pylist():
        assert (row["completed"], row["bytes"], row["transport"]) == (True, 200_000, "sack")
        assert row["segments_sent"] >= 137
    kinds = set(live.facts()["kind"].to_pylist())
    assert {"segment_sent", "ack_received", "segment_received", "rtt_sample", "flow_completed", "queue_length"} <= kinds
    # Who leaves a queue is told for packets of any flow together.
    assert set(live.facts()["flow"].to_pylist()) <= {"download", ""}
    live.report(tmp_path / "report.html", figures=False)
    place = tmp_path / "live/quick/runs/r0001"
    assert {"server.pcapng", "ue.pcapng", "sockets.parquet"} <= {path.name for path in place.iterdir()}
    before = (place / "live.json").stat().st_mtime_ns
    again = cellwind.run(quick, replications=2, live=True, out=tmp_path / "live")
    assert again.flows() == live.flows()
    assert (place / "live.json").stat().st_mtime_ns == before


def test_a_replication_that_was_too_late_fails_and_is_run_again(cellwind: CommandLine, tmp_path: Path) -> None:
    """With a limit that no clock can keep."""
    (tmp_path / "late.toml").write_text(QUICK.replace('"10 s"', '"1 ns"') + FLOW)
    done = cellwind("run", "late.toml", "--live", "--out", "late", code=1)
    assert "late, replication 0 failed: not valid:" in done.stderr
    assert "r0000.invalid" in done.stderr


def test_both_clocks_agree_to_the_nanosecond() -> None:
    """By UDP probes over a lossy and crowded way that changes under them, live and replayed."""
    rough = scenario("""
[[event]]
at = "200 ms"
set = { "access.wlan.rate" = "300 kbit/s", "access.wlan.queue" = "10 packets", "access.wlan.loss" = 0.1 }
[[event]]
at = "400 ms"
spike = "100 ms"
[[event]]
at = "700 ms"
handover = "umts"
delay = "20 ms"
buffering = "full"
""")
    plan = [(0.005 * number, 100 + 37 * number % 1300) for number in range(200)]
    for direction in ("down", "up"):
        probes = probe(rough, plan, direction=direction)
        assert probes.identical
        dropped = probes.due_ns < 0
        assert 0 < dropped.sum() < len(plan)
        assert ((probes.arrived_ns >= 0) == ~dropped).all()
        # Never early.
        assert (probes.lateness_us() > 0).all()
        assert (np.diff(probes.entered_ns) > 0).all()


def test_compare_sets_both_clocks_side_by_side(cellwind: CommandLine, tmp_path: Path) -> None:
    """By its JSON and its table."""
    (tmp_path / "both.toml").write_text(QUICK + FLOW)
    compared = json.loads(cellwind("compare", "both.toml", "--replications", "2", "--json").stdout)
    [flow] = compared["flows"]
    assert (compared["simulated"], compared["live"], flow["flow"]) == (2, 2, "download")
    duration = flow["metrics"][0]
    assert duration["metric"] == "duration_s"
    assert duration["ratio"] == pytest.approx(duration["live"] / duration["simulated"])
    assert "live / simulated" in cellwind("compare", "both.toml").stdout
    assert "has no flow to compare" in refused(cellwind, tmp_path)
    with pytest.raises(ValueError, match="no flow"):
        compare(scenario())


def refused(cellwind: CommandLine, tmp_path: Path) -> str:
    (tmp_path / "none.toml").write_text(QUICK)
    return cellwind("compare", "none.toml", code=2).stderr
