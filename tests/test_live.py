"""Live emulation as far as it needs no privileges: control, the kernel's settings, helpers, and results."""

import contextlib
import itertools
import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import cellwind
from cellwind import _core
from cellwind.campaign.results import ScenarioInfo
from cellwind.campaign.rows import RunRecord
from cellwind.campaign.runner import _shuffled
from cellwind.campaign.store import DirectoryConflictError, Finished, RunDirectory
from cellwind.live import control
from cellwind.live.control import ControlError
from cellwind.live.emulation import Emulation
from cellwind.live.facts import _delivered, _occurrences
from cellwind.live.flows import flows_of, inside
from cellwind.live.kernel import kernel_transport, settings_of
from cellwind.quantities import seconds, size_bytes

CommandLine = Callable[..., subprocess.CompletedProcess[str]]


class Spawned:
    """A command of ``Recorder``: it ends when the test says so."""

    def __init__(self) -> None:
        self.signals: list[int] = []
        self.listeners: list[Callable[[int], None]] = []

    def signal(self, number: int) -> None:
        self.signals.append(number)

    def on_exit(self, listener: Callable[[int], None]) -> None:
        self.listeners.append(listener)

    def end(self, code: int) -> None:
        for listener in self.listeners:
            listener(code)


class Recorder:
    """Stands for an emulation behind the control socket, and remembers what it was told."""

    scenario = cellwind.Scenario.load("umts-384")

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.spawned: list[Spawned] = []
        self.stopped = threading.Event()

    def set_texts(self, pairs: list[tuple[str, str]]) -> float:
        if any(value == "wrong" for _, value in pairs):
            raise _core.ScenarioError("no such value")
        self.told.append(pairs)
        return 1.5

    def handover(self, to: str, **options: str | bool | None) -> float:
        self.told.append((to, options))
        return 2.5

    def spike(self, duration: str, *, terminal: str | None) -> float:
        self.told.append((duration, terminal))
        return 3.5

    def pause(self) -> float:
        return 4.5

    def resume(self) -> float:
        return 5.5

    def status(self) -> dict[str, Any]:
        return {"time_s": 6.5}

    def spawn(self, end: str | None, command: list[str], *, stdout: int, **_: Any) -> Spawned:
        os.write(stdout, f"{end} {' '.join(command)}".encode())
        self.spawned.append(Spawned())
        return self.spawned[-1]


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "cellwind"


@contextlib.contextmanager
def served(name: str | None = None) -> Iterator[tuple[Recorder, control.Server]]:
    recorder = Recorder()
    server = control.Server(cast(Emulation, recorder), name, recorder.stopped.set)
    server.start()
    try:
        yield recorder, server
    finally:
        server.close()


def test_quantities_of_a_scenario_become_numbers() -> None:
    """By one of each unit, and what is none."""
    units = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "day": 86_400.0}
    assert {unit: seconds(f"1 {unit}") for unit in units} == units
    assert (seconds("1.5h"), size_bytes("2 KiB"), size_bytes("10 segments", 536)) == (5400.0, 2048, 5360)
    for wrong in ("5", "s", "5 parsec", "-1 s", ""):
        with pytest.raises(ValueError, match="expected a time"):
            seconds(wrong)


def test_every_verb_reaches_the_run(runtime: Path) -> None:
    """By calling each with a stand-in behind the socket."""
    with served() as (recorder, server), control.connect() as run:
        assert (run.run, server.name) == ("umts-384", "umts-384")
        assert run.set("link.internet.delay", "200 ms") == 1.5
        assert run.set({"a.b": 1, "c.d": True}) == 1.5
        assert run.handover("wlan", delay="2 s") == 2.5
        assert run.spike("5 s", terminal="ue") == 3.5
        assert (run.pause(), run.resume(), run.status()) == (4.5, 5.5, {"time_s": 6.5})
        run.stop()
        assert recorder.stopped.is_set()
        assert recorder.told == [
            [("link.internet.delay", '"200 ms"')],
            [("a.b", "1"), ("c.d", "true")],
            ("wlan", {"terminal": None, "delay": "2 s", "buffering": None, "soft": False}),
            ("5 s", "ue"),
        ]
        with pytest.raises(ControlError, match="no such value"):
            run.set_texts([("a.b", "wrong")])
    with pytest.raises(ControlError, match="ended"):
        run.pause()


def test_the_socket_is_the_owner_s_alone(runtime: Path) -> None:
    """By the modes of socket and directory; a directory that was too open is closed."""
    runtime.mkdir(mode=0o755)
    with served("mine"):
        assert stat.S_IMODE(runtime.stat().st_mode) == 0o700
        assert stat.S_IMODE((runtime / "mine.sock").stat().st_mode) == 0o600
        assert control.runs() == ["mine"]
    assert control.runs() == []
    assert list(runtime.glob("*.sock")) == []


def test_a_folder_that_is_no_folder_is_refused(runtime: Path) -> None:
    """With a symbolic link in its place, as somebody else may put it into /tmp."""
    runtime.symlink_to("/")
    with pytest.raises(ControlError, match="belongs to somebody else"):
        control.directory()


def test_sockets_of_killed_runs_are_removed_and_their_names_are_free(runtime: Path) -> None:
    """With a socket that nobody listens on any more."""
    runtime.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(runtime / "mine.sock"))
    with served("mine"):
        assert control.runs() == ["mine"]
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(runtime / "other.sock"))
    assert control.runs() == []
    assert not (runtime / "other.sock").exists()


def test_names_of_runs_are_numbered_or_refused(runtime: Path) -> None:
    """By starting two: a name that was chosen is not changed silently."""
    with served() as (_, first), served() as (_, second):
        assert (first.name, second.name) == ("umts-384", "umts-384-2")
        with pytest.raises(ControlError, match="running already"), served("umts-384"):
            pass
        with pytest.raises(ControlError, match="several emulations are running: umts-384, umts-384-2"):
            control.connect()
        with pytest.raises(ControlError, match="no emulation named x is running; there are umts-384"):
            control.connect("x")
    for wrong in ("status", "", "a/b", "x" * 49, ".hidden"):
        with pytest.raises(ControlError, match="cannot name a run"), served(wrong):
            pass
    with pytest.raises(ControlError, match="no emulation of this user"):
        control.connect()


MALFORMED = [
    b"\n",
    b"{\n",
    b"[]\n",
    b"null\n",
    b"\xff\xfe\n",
    b'{"verb": "explode"}\n',
    b'{"verb": "set"}\n',
    b'{"verb": "set", "values": [1]}\n',
    b'{"verb": "set", "values": [["a"]]}\n',
    b'{"verb": "handover", "to": 7}\n',
    b'{"verb": "spike", "duration": "1 s", "terminal": {}}\n',
    b'{"verb": "enter", "command": []}\n',
    b'{"verb": "enter", "command": ["true"]}\n',
    b'{"verb": "signal", "number": 9}\n',
]


@pytest.mark.parametrize("request_line", MALFORMED)
def test_malformed_requests_are_answered_and_hurt_nobody(runtime: Path, request_line: bytes) -> None:
    """By sending each, and then a right one over the same connection."""
    with served("mine") as (recorder, _), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(runtime / "mine.sock"))
        client.sendall(request_line + b'{"verb": "pause"}\n')
        lines = client.makefile("rb")
        wrong, right = json.loads(lines.readline()), json.loads(lines.readline())
        lines.close()
        assert wrong["ok"] is False
        assert wrong["error"]
        assert right == {"ok": True, "at_s": 4.5}
        assert recorder.told == []


def test_clients_that_do_not_behave_are_hung_up_on(runtime: Path) -> None:
    """By a request without end, and by a follower that does not read while the run goes on answering others."""
    with served("mine"), socket.socket(socket.AF_UNIX) as endless, control.connect() as good:
        endless.connect(str(runtime / "mine.sock"))
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            endless.sendall(b"x" * 10_000_000)
        with socket.socket(socket.AF_UNIX) as lazy:
            lazy.connect(str(runtime / "mine.sock"))
            lazy.sendall(b'{"verb": "status", "follow": true}\n')
            for _ in range(3):
                assert good.status() == {"time_s": 6.5}


def test_status_can_be_followed(runtime: Path) -> None:
    """By taking three of what never ends."""
    with served("mine"), control.connect() as run:
        assert list(itertools.islice(run.follow(), 3)) == [{"time_s": 6.5}] * 3


def test_a_command_gets_the_client_s_streams_and_its_code_comes_back(runtime: Path) -> None:
    """With a pipe as standard output; hanging up instead sends the command SIGHUP."""
    with served("mine") as (recorder, _), control.connect() as run:
        reader, writer = os.pipe()
        started = run.enter("ue", ["echo", "hello"], streams=(0, writer, 2))
        os.close(writer)
        with open(reader, "rb") as heard:
            started.signal(2)
            while not recorder.spawned[0].signals:
                time.sleep(0.001)
            assert recorder.spawned[0].signals == [2]
            assert not started.has_ended()
            recorder.spawned[0].end(7)
            assert started.wait() == 7
            assert heard.read() == b"ue echo hello"
        abandoned = run.enter("ue", ["sleep"], streams=(0, 1, 2))
        abandoned._control.close()
        while not recorder.spawned[1].signals:
            time.sleep(0.001)
        assert recorder.spawned[1].signals == [1]


def test_ctl_lists_shows_and_refuses(runtime: Path, cellwind: CommandLine) -> None:
    """By the command line against a stand-in."""
    env = {"XDG_RUNTIME_DIR": str(runtime.parent)}
    assert cellwind("ctl", env=env).stdout == "no emulation is running\n"
    assert "no emulation of this user" in cellwind("ctl", "status", env=env, code=1).stderr
    with served("mine") as (recorder, _):
        assert cellwind("ctl", env=env).stdout == "mine\n"
        assert cellwind("ctl", "set", "a.b=3 ms", "c=1", env=env).stdout == "done at 1.500000 s\n"
        assert recorder.told == [[["a.b", "3 ms"], ["c", "1"]]] or recorder.told == [[("a.b", "3 ms"), ("c", "1")]]
        assert json.loads(cellwind("ctl", "mine", "status", "--json", env=env).stdout) == {"time_s": 6.5}
        assert "invalid choice" in cellwind("ctl", "mine", "explode", env=env, code=2).stderr
        assert "no such value" in cellwind("ctl", "set", "a=wrong", env=env, code=2).stderr


def test_following_ends_when_nobody_reads_on(runtime: Path) -> None:
    """As in `cellwind ctl status --follow | head -1`, against a stand-in."""
    env = os.environ | {"XDG_RUNTIME_DIR": str(runtime.parent)}
    words = [sys.executable, "-m", "cellwind", "ctl", "status", "--follow"]
    with served("mine"), subprocess.Popen(words, env=env, stdout=subprocess.PIPE) as follower:
        assert follower.stdout is not None
        assert json.loads(follower.stdout.readline()) == {"time_s": 6.5}
        follower.stdout.close()
        assert follower.wait(timeout=30) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "which scenario?"),
        (["nowhere"], "nowhere"),
        (["umts-384", "--pcap"], "--out"),
        (["umts-384", "--facts"], "--out"),
        (["umts-384", "--duration", "soon"], "expected a time"),
        (["umts-384", "--end", "nowhere"], "there is no end named nowhere; there are server, ue"),
        (["umts-384", "--bridge", "eth0"], "expected two interfaces"),
        (["umts-384", "--bridge", "a,a"], "a cannot be on both sides"),
        (["umts-384", "--name", "../a"], "cannot name a run"),
        (["umts-384", "--spin", "some"], "expected a time"),
        (["umts-384", "--bridge", "a,b", "--", "true"], "no COMMAND"),
        (["umts-384", "--no-command", "--", "true"], "exclude each other"),
    ],
)
def test_emulate_says_what_is_wrong_before_it_starts(cellwind: CommandLine, words: list[str], says: str) -> None:
    """By the exit code 2 and the text."""
    assert says in cellwind("emulate", *words, code=2).stderr


def test_flows_become_transfers() -> None:
    """By the ends, the amount and the port of each."""
    scenario = cellwind.Scenario.load(
        "two-phones",
        {"flow.ben.direction": "up", "flow.anna.bulk": "100 segments", "flow.anna.transport": "linux-cubic"},
    )
    anna, ben = flows_of(document(scenario))
    assert (anna.sender, anna.receiver, anna.start_s, anna.bytes) == ("server", "anna", 0.0, 100 * 1448)
    assert (ben.sender, ben.receiver, ben.start_s, ben.bytes) == ("ben", "server", 1.0, 4_000_000)
    assert anna.port != ben.port
    assert (anna.transport, ben.transport) == ("linux-cubic", "sack")


def test_a_transport_becomes_settings_of_the_kernel() -> None:
    """By a preset each; what the kernel cannot do is said."""
    transports = document(cellwind.Scenario.load("two-phones"))["flow"]
    reno, sack = (kernel_transport(transports[name]["transport"]) for name in ("anna", "ben"))
    assert (reno.congestion, reno.mss, reno.payload, reno.window, reno.ip_version) == ("reno", 1460, 1460, 65_535, 4)
    # RFC 3390 §1: 4380 bytes are three segments of 1460.
    assert reno.namespace["initial_window"] == "3"
    assert (reno.namespace["sack"], sack.namespace["sack"], sack.namespace["dsack"]) == ("false", "true", "true")
    assert (reno.namespace["rto_min"], reno.namespace["quickack"]) == ("1 s", "true")
    assert any("no Reno" in note for note in reno.notes)


def test_flows_that_differ_share_the_settings_of_the_first() -> None:
    """With Reno and SACK side by side, and with what the scenario says of the kernel itself."""
    settings, notes = settings_of(document(cellwind.Scenario.load("two-phones")))
    assert settings["sack"] == "false"
    assert any(note.startswith("ben: sack, dsack as in the first flow") for note in notes)
    chosen = cellwind.Scenario.load("two-phones", {"live.kernel.sack": True, "live.kernel.initial_window": 10})
    settings, _ = settings_of(document(chosen))
    assert not {"sack", "initial_window"} & set(settings)


SERVER_ONLY = """
[link.line]
rate = "1 Mbit/s"
delay = "10 ms"
[workload.web]
at = "server"
command = ["python3", "-m", "http.server"]
"""


def test_a_live_run_that_nothing_would_end_is_refused(cellwind: CommandLine, tmp_path: Path) -> None:
    """By a scenario whose only workload is a server."""
    (tmp_path / "serve.toml").write_text(SERVER_ONLY)
    done = cellwind("run", "serve.toml", "--live", code=2)
    assert "has nothing that ends: say when to stop with stop_at" in done.stderr


def test_a_scenario_without_flows_is_emulated_and_not_simulated(cellwind: CommandLine, tmp_path: Path) -> None:
    """By checking and by running it."""
    (tmp_path / "serve.toml").write_text(SERVER_ONLY)
    assert "it can be emulated" in cellwind("check", "serve.toml").stdout
    assert cellwind("run", "serve.toml", code=2).stderr.startswith("serve.toml:")
    assert not (tmp_path / "results").exists()


def test_bulk_transfer_over_loopback() -> None:
    """By running both programs, with a start a moment ahead."""
    settings = {"address": "127.0.0.1", "port": free_port(), "mss": None}
    receive = inside("bulk", "receive", json.dumps({**settings, "window": 65_535}))
    send = inside("bulk", "send", json.dumps({**settings, "bytes": 1_000_000, "congestion": "reno"}))
    with (
        subprocess.Popen(receive, stdout=subprocess.PIPE, text=True) as receiver,
        subprocess.Popen(send, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sender,
    ):
        assert receiver.stdout is not None
        assert sender.stdout is not None
        assert receiver.stdout.readline() == sender.stdout.readline() == "ready\n"
        start = time.monotonic_ns() + 50_000_000
        said, _ = sender.communicate(f"{start}\n")
        got, _ = receiver.communicate()
    assert json.loads(got)["bytes"] == 1_000_000
    assert json.loads(said)["begun_ns"] >= start


def test_a_transfer_without_receiver_fails_with_the_reason() -> None:
    """By connecting to a port where nobody listens."""
    settings = {"address": "127.0.0.1", "port": free_port(), "bytes": 1, "congestion": None, "mss": None}
    command = inside("bulk", "send", json.dumps(settings))
    done = subprocess.run(command, input="0\n", capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "Connection refused\n")


def test_connections_are_sampled() -> None:
    """By a connection over loopback that must be among the samples, with all columns."""
    from cellwind.live.inside.sockets import COLUMNS

    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        address = list(client.getsockname())
        with subprocess.Popen(inside("sockets", "0.01"), stdout=subprocess.PIPE, text=True) as sampler:
            assert sampler.stdout is not None
            rows = (json.loads(line) for line in sampler.stdout)
            row = next(row for row in rows if row[1:3] == address)
            sampler.terminate()
    assert len(row) == 5 + len(COLUMNS)
    values = dict(zip([name for name, _, _ in COLUMNS], row[5:], strict=True))
    assert values["cwnd"] > 0
    assert values["ssthresh"] is None


def test_probes_over_loopback_arrive_with_their_numbers() -> None:
    """By two probes, one of them in the past, which leaves at once."""
    port = str(free_port())
    with subprocess.Popen(inside("probe", "receive", "127.0.0.1", port), stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "ready\n"
        instant = time.monotonic_ns() + 20_000_000
        sent = subprocess.run(
            inside("probe", "send", "127.0.0.1", port),
            input=f"0 100\n{instant} 16\n",
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        arrived = [receiver.stdout.readline().split() for _ in range(2)]
        receiver.terminate()
    assert [number for number, _ in arrived] == ["0", "1"]
    assert sent[0] == "ready"
    assert int(sent[4]) >= instant
    assert int(arrived[1][1]) >= int(sent[4])


def test_replay_is_a_function_of_scenario_and_replication() -> None:
    """By twice the same, and once another replication."""
    scenario = cellwind.Scenario.load("umts-384", {"access.umts.errors": 0.2, "access.umts.queue": "20 kB"})
    count = 300
    columns = (
        np.arange(count, dtype=np.int64) * 10_000_000,
        np.zeros(count, np.uint16),
        np.zeros(count, np.bool_),
        np.full(count, 1000, np.uint32),
    )
    first, again, other = (_core.replay(scenario.core, number, *columns) for number in (0, 0, 1))
    assert (first["egress_ns"] == again["egress_ns"]).all()
    assert (first["egress_ns"] != other["egress_ns"]).any()
    # Every packet leaves, after it came, or is dropped for want of room.
    egress = first["egress_ns"].astype(np.int64)
    left = egress >= 0
    assert (egress[left] > columns[0][left]).all()
    reasons = first["drop_reason"][~left].astype(int)
    assert {_core.drop_reasons()[reason - 1] for reason in reasons.tolist()} == {"queue_full"}
    with pytest.raises(ValueError, match="order of time"):
        _core.replay(scenario.core, 0, columns[0][::-1].copy(), *columns[1:])
    with pytest.raises(ValueError, match="no terminal 1"):
        _core.replay(scenario.core, 0, columns[0], columns[1] + np.uint16(1), *columns[2:])


def test_deliveries_are_counted_by_bytes() -> None:
    """By segments that come out of order, twice, and cut differently when they are sent again."""
    segments = np.array([[1, 11], [21, 31], [21, 31], [31, 36], [6, 26], [6, 11], [40, 50], [36, 60]], np.int64)
    expected, needless = _delivered(segments[:, 0], segments[:, 1])
    assert expected.tolist() == [11, 11, 11, 11, 36, 36, 36, 60]
    assert needless.tolist() == [0, 0, 1, 0, 0, 1, 0, 0]
    assert _occurrences(np.array([5, 7, 5, 5], np.int64)).tolist() == [1, 1, 2, 3]


def test_the_random_order_can_be_repeated() -> None:
    """By shuffling twice."""
    pending = [(Recorder.scenario, number) for number in range(20)]
    order = [number for _, number in _shuffled(pending, 1)]
    assert order == [number for _, number in _shuffled(pending, 1)]
    assert sorted(order) == list(range(20)) != order
    assert order != [number for _, number in _shuffled(pending, 2)]


def test_live_and_simulated_results_are_not_mixed(tmp_path: Path) -> None:
    """By opening the directory of one for the other."""
    info = ScenarioInfo.of(Recorder.scenario, 1)
    RunDirectory(tmp_path, [info], "test", live=True).open().close()
    RunDirectory(tmp_path, [info], "test", live=True).open().close()
    with pytest.raises(DirectoryConflictError, match="holds live results of umts-384"):
        RunDirectory(tmp_path, [info], "test").open()
    kept = json.loads((tmp_path / "provenance.json").read_text())
    assert kept["scenarios"]["umts-384"]["live"] == {"kernel": os.uname().release}


def test_a_live_replication_is_replaced_whole_and_one_that_does_not_count_is_set_aside(tmp_path: Path) -> None:
    """By writing the same one twice, with other files."""
    info = ScenarioInfo.of(Recorder.scenario, 1)
    record = RunRecord("umts-384", 0, [], [], [])
    with RunDirectory(tmp_path, [info], "test", live=True).open() as directory:
        aside = directory.set_aside(Finished(record, texts={"why.txt": b"late"}))
        assert directory.first_missing("umts-384") == 0
        directory.write(Finished(record, texts={"one.txt": b"1"}))
        directory.write(Finished(record, texts={"two.txt": b"2"}, captures={"ue": Path.touch}))
        place = directory.place("umts-384", 0)
    assert (aside / "why.txt").read_bytes() == b"late"
    assert aside.name == "r0000.invalid"
    tables = {"flows.parquet", "bearers.parquet", "links.parquet"}
    assert {path.name for path in place.iterdir()} == tables | {"two.txt", "ue.pcapng"}
    assert len(cellwind.Results.load(tmp_path)) == 1


def document(scenario: cellwind.Scenario) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(scenario.to_toml())


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port
