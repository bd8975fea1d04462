"""Captures analyzed: against the simulator that wrote them, by hand-made packets, and on the command line."""

import json
import math
import random
import struct
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from cellwind import _core
from cellwind.analysis.trace import Connection, Direction, connections, read_capture

CommandLine = Callable[..., subprocess.CompletedProcess[str]]

LOSSY = """
seed = %d
stop_at = "1 h"
link.internet = { rate = "1 Mbit/s", delay = "75 ms", queue = "%s", loss = %g }
access.umts = { extends = "umts-384", down.errors = 0.2 }
flow.download = { transport = %s, bulk = "400 kB" }
"""
TRANSPORTS = (
    '"tahoe"',
    '"reno"',
    '"newreno"',
    '"sack"',
    '{ extends = "sack", timestamps = true, delayed_ack = { every = 2 } }',
    '{ extends = "reno", recovery = { type = "reno", bug_fix = "off" } }',
    '{ extends = "newreno", recovery = { type = "newreno", partial_ack = "slow-but-steady" } }',
)
PATHS = (("unlimited", 0.0), ("10 packets", 0.0), ("unlimited", 0.03), ("unlimited", 0.1))


def simulated(folder: Path, text: str) -> tuple[dict[str, Any], dict[str, Path]]:
    """The row of the only flow of a run, and the captures by the end that took them."""
    run = _core.run(_core.Scenario.parse(text), 0, capture=True)
    files = {end: folder / f"{end}.pcapng" for end in run.capture()}
    for end, file in files.items():
        file.write_bytes(run.capture()[end])
    (row,) = run.flows
    return dict(row), files


def only(found: list[Connection]) -> tuple[Connection, Direction]:
    """The only connection there is, and its direction with data."""
    (connection,) = found
    way = connection.bulk
    assert isinstance(way, Direction)
    return connection, way


def assert_close(ours: Mapping[str, Any], theirs: dict[str, Any], keys: Iterable[str], about: str) -> None:
    for key in keys:
        same = ours[key] == theirs[key] or math.isclose(ours[key], theirs[key], rel_tol=1e-12)
        assert same, f"{key} of {about}: {ours[key]} from packets, {theirs[key]} in the simulator"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_packets_of_both_ends_say_what_the_simulator_says(tmp_path: Path, transport: str) -> None:
    """By every number of the flow's row but the mean RTT, over losses, overflows and radio errors.

    The simulator's clock ticks each millisecond: its samples are those of the capture, rounded. With timestamps they
    are off by up to two ticks of the timestamps.
    """
    for queue, loss in PATHS:
        for seed in (1, 2, 3):
            about = f"{transport} with {queue}, loss {loss}, seed {seed}"
            row, files = simulated(tmp_path, LOSSY % (seed, queue, loss, transport))
            _, way = only(connections(read_capture(files["ue"]), read_capture(files["server"])))
            assert_close(way.row("download", row["transport"]), row, row.keys() - {"rtt_mean_s"}, about)
            span = way.rtt_samples.span
            if "timestamps" in transport:
                assert float(span.mean()) * 1e-9 == pytest.approx(row["rtt_mean_s"], abs=0.02), about
            else:
                ticks = (span + 500_000) // 1_000_000
                assert math.isclose(int(ticks.sum()) * 1_000_000 // len(ticks) * 1e-9, row["rtt_mean_s"]), about


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_sender_s_capture_alone_says_as_much_of_the_sender(tmp_path: Path, transport: str) -> None:
    """By the sender's counts; of spurious timeouts it proves some and invents none."""
    keys = ("completed", "bytes", "start_s", "segments_sent", "segments_retransmitted", "timeouts", "fast_retransmits")
    proved = 0
    for queue, loss in PATHS:
        row, files = simulated(tmp_path, LOSSY % (5, queue, loss, transport))
        connection, way = only(read_capture(files["server"]).connections)
        assert connection.captured_at == "initiator"
        assert_close(way.row("download", ""), row, keys, f"{transport} with {queue}, loss {loss}")
        assert way.spurious_timeouts is not None
        assert way.spurious_timeouts <= row["spurious_timeouts"]
        proved += way.spurious_timeouts
    if "timestamps" in transport or "sack" in transport:
        assert proved > 0


def test_the_receiver_s_capture_alone_tells_what_arrived(tmp_path: Path) -> None:
    """By the bytes; what only the sender knows is not made up."""
    row, files = simulated(tmp_path, LOSSY % (1, "unlimited", 0.03, '"sack"'))
    connection, way = only(read_capture(files["ue"]).connections)
    assert (connection.captured_at, way.seen_from) == ("responder", "receiver")
    assert (way.bytes, way.completed) == (row["bytes"], True)
    assert (way.timeouts, way.fast_retransmits, way.spurious_timeouts, way.rtt_mean_s, way.idle) == (None,) * 5


def test_losses_and_delays_between_two_captures_are_those_of_the_path(tmp_path: Path) -> None:
    """By the packets that the links and bearers dropped, and by the shortest way of a full segment.

    It takes 12 ms on the link of 1 Mbit/s and 75 ms to come through it, and then whole TTIs of the bearer.
    """
    text = LOSSY % (1, "unlimited", 0.05, '"newreno"')
    run = _core.run(_core.Scenario.parse(text), 0, capture=True)
    _, files = simulated(tmp_path, text)
    server, phone = read_capture(files["server"]), read_capture(files["ue"])
    _, way = only(connections(server, phone))
    dropped = sum(row["packets_dropped"] for row in [*run.links, *run.bearers] if row["name"].endswith("down"))
    syns = int(way.sender.syn[way.sender.sent].sum()) - int(way.receiver.syn[way.receiver.sent].sum())
    assert way.segments_lost is not None
    assert way.segments_lost + syns == dropped > 0
    assert way.one_way_delay is not None
    full = way.one_way_delay.value[1:]
    assert 0.087 < float(full.min()) < 0.2
    assert len(full) + 1 + dropped == int(way.sender.occupies.sum())


def test_spurious_retransmissions_agree_between_timestamps_and_arrivals(tmp_path: Path) -> None:
    """By the count from the sender's capture with timestamps and D-SACK, beside that from both ends.

    The last segment may be acknowledged before the report of its duplicate comes.
    """
    transport = '{ extends = "sack", timestamps = true, timestamp_clock = "1 ms" }'
    for seed in range(4):
        _, files = simulated(tmp_path, LOSSY % (seed, "unlimited", 0.0, transport))
        _, alone = only(read_capture(files["server"]).connections)
        _, both = only(connections(read_capture(files["server"]), read_capture(files["ue"])))
        assert (alone.spurious_evidence, both.spurious_evidence) == ("timestamps and D-SACK", "arrivals")
        assert both.spurious_retransmissions is not None
        assert alone.spurious_retransmissions is not None
        assert both.spurious_retransmissions - alone.spurious_retransmissions in (0, 1)


def test_the_first_loss_shows_the_buffer(tmp_path: Path) -> None:
    """By a drop-tail queue of 30 packets before the slowest link: outstanding is the queue and the pipe (Gurtov §3.3).

    Slow start adds up to two packets per ACK, so that the queue is full within a packet; one is in transmission. On a
    link of 1 Mbit/s the pipe is what the round trip without queues holds: 100 ms and the transmission times.
    """
    text = """
    stop_at = "10 min"
    link.internet = { rate = "1 Mbit/s", delay = "50 ms", queue = "30 packets" }
    access.fast = { type = "block-arq", rate = "10 Mbit/s", errors = 0.0 }
    flow.download = { transport = "newreno", bulk = "300 kB" }
    """
    _, files = simulated(tmp_path, text)
    for traces in ([files["server"]], [files["server"], files["ue"]]):
        _, way = only(connections(*map(read_capture, traces)))
        assert way.buffer is not None
        # The acknowledgements come back on a grid of TTIs.
        assert way.bottleneck_bps == pytest.approx(1e6, rel=0.1)
        assert way.buffer.buffer_bytes == pytest.approx(31 * 1500, abs=3 * 1500)
        pipe = way.buffer.outstanding_packets - 31
        assert 8 <= pipe <= 14


# Packets made by hand: everything below says exactly which packets there are.

FIN, SYN, PSH, ACK = 1, 2, 8, 16
CLIENT, SERVER = (b"\x0a\0\0\1", 40_000), (b"\x0a\0\0\2", 80)


def packet(ends: tuple[Any, Any], seq: int, ack: int, flags: int, payload: int = 0, options: bytes = b"") -> bytes:
    """An IPv4 packet with a TCP header and no payload kept."""
    (source, source_port), (target, target_port) = ends
    options += b"\1" * (-len(options) % 4)
    numbers = (seq % 2**32, ack % 2**32, (20 + len(options)) // 4 << 4, flags, 1000, 0, 0)
    tcp = struct.pack("!HHIIBBHHH", source_port, target_port, *numbers) + options
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp) + payload, 0, 0, 64, 6, 0, source, target)
    return ip + tcp


def pcap(path: Path, packets: Iterable[tuple[float, bytes]]) -> Path:
    """A pcap file of raw IP packets, each with its time in seconds."""
    file = struct.pack("!IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)
    for time, data in packets:
        file += struct.pack("!IIII", int(time), round(time % 1 * 1e9), len(data), len(data)) + data
    path.write_bytes(file)
    return path


UP, DOWN = (CLIENT, SERVER), (SERVER, CLIENT)


def handshake(start: float, isn: int, rtt: float = 0.1) -> list[tuple[float, bytes]]:
    """Opened by the client, seen at the client."""
    return [
        (start, packet(UP, isn, 0, SYN)),
        (start + rtt, packet(DOWN, 900, isn + 1, SYN | ACK)),
        (start + rtt, packet(UP, isn + 1, 901, ACK)),
    ]


def test_numbers_may_wrap(tmp_path: Path) -> None:
    """By a transfer whose sequence numbers pass 2³² in its middle."""
    isn = 2**32 - 3000
    sent = [(1.2 + i / 100, packet(UP, isn + 1 + 1000 * i, 901, ACK, 1000)) for i in range(6)]
    acks = [(1.3 + i / 100, packet(DOWN, 901, isn + 1 + 1000 * (i + 1), ACK)) for i in range(6)]
    file = pcap(tmp_path / "wrap.pcap", [*handshake(1.0, isn), *sent, *acks])
    connection, way = only(read_capture(file).connections)
    assert connection.name == "10.0.0.1:40000 > 10.0.0.2:80"
    assert (way.bytes, way.segments_sent, way.segments_retransmitted) == (6000, 6, 0)
    assert list(way.rtt.value) == pytest.approx([0.1] * 7)
    assert float(way.outstanding.value.max()) == 6000


def test_ports_used_again_are_another_connection(tmp_path: Path) -> None:
    """By two handshakes between the same ports; a SYN that is sent again opens nothing."""
    again = (3.5, packet(UP, 7000, 0, SYN))
    file = pcap(tmp_path / "again.pcap", [*handshake(1.0, 100), (3.0, again[1]), again, *handshake(4.0, 7000)[1:]])
    found = read_capture(file).connections
    assert [(c.start_s, c.packets) for c in found] == [(1.0, 3), (3.0, 4)]


def test_a_probe_of_the_tail_is_no_timeout(tmp_path: Path) -> None:
    """By the last of three segments sent again before its acknowledgement, and by the first one in its place."""
    data = [(1.2, packet(UP, 101 + 1000 * i, 901, ACK, 1000)) for i in range(3)]
    for repeated, counts in ((2, (0, 1)), (0, (1, 0))):
        late = (1.8, packet(UP, 101 + 1000 * repeated, 901, ACK, 1000))
        end = (1.9, packet(DOWN, 901, 3101, ACK))
        _, way = only(read_capture(pcap(tmp_path / "tail.pcap", [*handshake(1.0, 100), *data, late, end])).connections)
        assert (way.timeouts, way.tail_probes) == counts


def test_an_acknowledgement_faster_than_light_shows_a_spurious_timeout(tmp_path: Path) -> None:
    """By an acknowledgement 10 ms after a retransmission on a path of 100 ms."""
    data = (1.2, packet(UP, 101, 901, ACK, 1000))
    again = (3.0, packet(UP, 101, 901, ACK, 1000))
    for answered, spurious in ((3.01, 1), (3.2, 0)):
        ack = (answered, packet(DOWN, 901, 1101, ACK))
        _, way = only(read_capture(pcap(tmp_path / "late.pcap", [*handshake(1.0, 100), data, again, ack])).connections)
        assert (way.timeouts, way.spurious_timeouts, way.necessary_timeouts) == (1, spurious, 1 - spurious)


def test_keep_alives_and_window_probes_are_no_data(tmp_path: Path) -> None:
    """By a byte sent again while nothing is outstanding, and a window that closes and opens."""
    data, acked = (1.2, packet(UP, 101, 901, ACK, 1000)), (1.3, packet(DOWN, 901, 1101, ACK))
    alive = (60.0, packet(UP, 1100, 901, ACK, 1))
    shut = bytearray(packet(DOWN, 901, 1101, ACK))
    shut[34:36] = b"\0\0"
    packets = [*handshake(1.0, 100), data, acked, alive, (60.1, bytes(shut)), (61.0, acked[1]), (62.0, bytes(shut))]
    _, way = only(read_capture(pcap(tmp_path / "alive.pcap", packets)).connections)
    assert (way.segments_sent, way.segments_retransmitted, way.timeouts, way.zero_windows) == (1, 0, 0, 2)


def test_what_the_capture_missed_is_said(tmp_path: Path) -> None:
    """By a segment that was acknowledged and is not in the file."""
    data = [(1.2 + i / 100, packet(UP, 101 + 1000 * i, 901, ACK, 1000)) for i in (0, 2)]
    acked = (1.4, packet(DOWN, 901, 3101, ACK))
    _, way = only(read_capture(pcap(tmp_path / "missed.pcap", [*handshake(1.0, 100), *data, acked])).connections)
    assert (way.bytes, way.bytes_missed, way.segments_sent) == (3000, 1000, 2)


def test_late_segments_are_told_from_those_sent_again(tmp_path: Path) -> None:
    """By a segment behind its successor at the receiver: at once it was overtaken, after a round trip it was resent."""
    for delay, counts in ((0.002, (1, 0)), (0.2, (0, 1))):
        opening = [
            (1.0, packet(UP, 100, 0, SYN)),
            (1.0, packet(DOWN, 900, 101, SYN | ACK)),
            (1.1, packet(UP, 101, 901, ACK)),
        ]
        data = [(1.2, packet(UP, 1101, 901, ACK, 1000)), (1.2 + delay, packet(UP, 101, 901, ACK, 1000))]
        connection, way = only(read_capture(pcap(tmp_path / "late.pcap", [*opening, *data])).connections)
        assert connection.captured_at == "responder"
        assert (way.segments_reordered, way.segments_retransmitted) == counts
        assert way.bytes == 2000


def test_udp_flows_are_counted(tmp_path: Path) -> None:
    """By three datagrams there and one back."""

    def datagram(ends: tuple[Any, Any], length: int) -> bytes:
        (source, source_port), (target, target_port) = ends
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + length, 0, 0, 64, 17, 0, source, target)
        return ip + struct.pack("!HHHH", source_port, target_port, 8 + length, 0)

    packets = [(2.0 + i, datagram(UP, 100)) for i in range(3)]
    file = pcap(tmp_path / "udp.pcap", [*packets, (2.5, datagram(DOWN, 50))])
    (connection,) = read_capture(file).connections
    assert (connection.protocol, connection.start_s, connection.duration_s) == ("udp", 2.0, 2.0)
    assert (connection.forward.packets, connection.forward.bytes, connection.backward.bytes) == (3, 300, 50)


def test_any_damage_leaves_what_came_before(tmp_path: Path) -> None:
    """By cutting and changing a capture at random places: no error but the two there are, and never more packets."""
    _, files = simulated(tmp_path, LOSSY % (1, "unlimited", 0.03, '"sack"'))
    whole = files["server"].read_bytes()
    packets = len(read_capture(files["server"]))
    draw = random.Random(1)
    damaged = 0
    for _ in range(300):
        file = tmp_path / "damaged.pcapng"
        changed = bytearray(whole[: draw.choice([len(whole), draw.randrange(len(whole))])])
        for _ in range(draw.randrange(4)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        file.write_bytes(changed)
        try:
            trace = read_capture(file)
        except _core.CaptureError:
            continue
        assert len(trace) <= packets
        damaged += trace.damage is not None
        for connection in trace.connections:
            for way in (connection.forward, connection.backward):
                if isinstance(way, Direction) and way.start_s is not None:
                    way.row("any", "any")
    assert damaged > 50


# The command line.


def test_tables_json_and_report(tmp_path: Path, cellwind: CommandLine) -> None:
    """By what the command prints of a run's two captures, and by the figures in its page."""
    row, files = simulated(tmp_path, LOSSY % (1, "unlimited", 0.03, '"sack"'))
    text = cellwind("analyze", files["server"], files["ue"], "--out", "page").stdout
    assert "10.0.0.1:80 > 10.1.0.1:49152" in text
    assert "captured at both ends" in text
    assert "Report: page/report.html" in text
    page = (tmp_path / "page" / "report.html").read_text(encoding="utf-8")
    for title in ("Time-sequence graph", "Outstanding data", "Throughput", "Round-trip time", "One-way delay"):
        assert f"<h4>{title}</h4>" in page
    found = json.loads(cellwind("analyze", files["server"], "--json").stdout)
    (connection,) = found["connections"]
    assert connection["forward"]["segments_retransmitted"] == row["segments_retransmitted"]
    assert connection["captured_at"] == "initiator"
    assert found["captures"][0]["damage"] is None


def test_errors_of_the_command_are_told(tmp_path: Path, cellwind: CommandLine) -> None:
    """By the exit code and the text for files that are missing, of another kind, damaged, or too many."""
    done = cellwind("analyze", "nothing.pcap", code=2)
    assert done.stderr == "cellwind: cannot read nothing.pcap: No such file or directory\n"
    (tmp_path / "text").write_text("no capture")
    done = cellwind("analyze", "text", code=2)
    assert done.stderr == "cellwind: text: not a capture: expected a pcapng or pcap file\n"
    done = cellwind("analyze", ".", code=2)
    assert "cellwind: cannot read .: Is a directory" in done.stderr
    assert cellwind("analyze", "a", "b", "c", code=2).stderr.startswith("cellwind: one capture or those of both ends")

    whole = pcap(tmp_path / "whole.pcap", handshake(1.0, 100)).read_bytes()
    (tmp_path / "cut.pcap").write_bytes(whole[:-1])
    done = cellwind("analyze", "cut.pcap", code=1)
    place = "damaged in the block at byte 136, after 2 packets: the file ends in the middle of it"
    assert done.stderr == f"cellwind: cut.pcap: {place}\n"
    assert "2 packets in cut.pcap: 1 connection" in done.stdout
    (tmp_path / "file").touch()
    assert "cannot write" in cellwind("analyze", "whole.pcap", "--out", "file", code=1).stderr


def test_an_empty_capture_has_no_connection(tmp_path: Path, cellwind: CommandLine) -> None:
    """By a file with a header only."""
    pcap(tmp_path / "empty.pcap", [])
    assert cellwind("analyze", "empty.pcap").stdout == "0 packets in empty.pcap: 0 connections\n"
    assert json.loads(cellwind("analyze", "empty.pcap", "--json").stdout)["connections"] == []
