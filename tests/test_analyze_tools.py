"""The analysis of captures beside tcptrace and Wireshark, on the same files."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cellwind import _core
from cellwind.analysis.trace import Direction, read_capture

Tool = Callable[[str], str]

LOSSY = """
seed = 3
stop_at = "1 h"
link.internet = { rate = "1 Mbit/s", delay = "75 ms", queue = "%s", loss = %g }
access.umts = { extends = "umts-384", down.errors = 0.2 }
flow.download = { transport = "%s", bulk = "400 kB", start = "1 s" }
"""
PATHS = (("12 packets", 0.0), ("unlimited", 0.03))


def captures(folder: Path, transport: str, queue: str, loss: float) -> dict[str, Path]:
    run = _core.run(_core.Scenario.parse(LOSSY % (queue, loss, transport)), 0, capture=True)
    files = {end: folder / f"{end}.pcapng" for end in ("server", "ue")}
    for end, file in files.items():
        file.write_bytes(run.capture()[end])
    return files


def download(file: Path) -> Direction:
    (connection,) = read_capture(file).connections
    assert isinstance(connection.forward, Direction)
    return connection.forward


def output(*words: str | Path) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def frames(tshark: str, file: Path, shown: str, *fields: str) -> list[list[str]]:
    """The fields of the packets that a display filter shows."""
    words = [word for field in fields for word in ("-e", field)]
    lines = output(tshark, "-r", file, "-Y", shown, "-T", "fields", *words).splitlines()
    return [line.split("\t") for line in lines]


@pytest.mark.parametrize("transport", ["reno", "newreno", "sack"])
@pytest.mark.parametrize(("queue", "loss"), PATHS)
def test_tcptrace_counts_the_same(tmp_path: Path, tool: Tool, transport: str, queue: str, loss: float) -> None:
    """By its counts of the sender's capture, its bytes, and its round trips in milliseconds."""
    tcptrace = tool("tcptrace")
    file = captures(tmp_path, transport, queue, loss)["server"]
    text = output(tcptrace, "-lrn", file)
    seen = dict(re.findall(r"^ +([A-Za-z][\w /-]+): +([\d.]+)", text, flags=re.MULTILINE))
    way = download(file)
    blocks = way.sender.blocks
    ours = {
        "actual data pkts": way.segments_sent,
        "rexmt data pkts": way.segments_retransmitted,
        "unique bytes sent": way.bytes,
        "total packets": way.packets,
        "mss requested": way.sender.mss,
        "outoforder pkts": way.segments_reordered,
        "zero win adv": way.zero_windows,
    }
    assert ours == {name: int(seen[name]) for name in ours}
    assert len(np.unique(blocks.row)) == int(re.findall(r"sack pkts sent: +(\d+)", text)[1])
    # It takes no samples for a while after a loss, and rounds to 0.1 ms.
    assert way.rtt_min_s == pytest.approx(float(seen["RTT min"]) / 1e3, abs=1e-4)
    assert way.rtt_mean_s == pytest.approx(float(seen["RTT avg"]) / 1e3, rel=0.1)


@pytest.mark.parametrize("transport", ["reno", "newreno", "sack"])
@pytest.mark.parametrize(("queue", "loss"), PATHS)
def test_wireshark_finds_the_same(tmp_path: Path, tool: Tool, transport: str, queue: str, loss: float) -> None:
    """By its verdicts on each packet: sent again, duplicate acknowledgement, and the round trip of our samples.

    What follows a later segment soon it calls out of order, at the sender too, where it can only be sent again.
    """
    tshark = tool("tshark")
    files = captures(tmp_path, transport, queue, loss)
    way = download(files["server"])
    late = "(tcp.analysis.out_of_order || tcp.analysis.retransmission) && tcp.len > 0"
    assert len(frames(tshark, files["server"], late, "frame.number")) == way.segments_retransmitted
    assert len(frames(tshark, files["server"], "tcp.analysis.duplicate_ack", "frame.number")) == way.duplicate_acks
    rtt = frames(tshark, files["server"], "tcp.analysis.ack_rtt", "frame.time_relative", "tcp.analysis.ack_rtt")
    # Seconds after the first packet, which leaves at 1 s; samples of segments sent again are Wireshark's alone.
    theirs = {round((float(time) + 1) * 1e6): float(value) for time, value in rtt}
    ours = {round(time * 1e6): value for time, value in zip(way.rtt.time_s, way.rtt.value, strict=True)}
    assert ours.keys() <= theirs.keys()
    assert [theirs[time] for time in ours] == pytest.approx(list(ours.values()), abs=1e-8)

    arrived = download(files["ue"])
    found = frames(tshark, files["ue"], late, "frame.number")
    assert len(found) == arrived.segments_reordered + arrived.segments_retransmitted


def test_wireshark_reads_the_same_fields(tmp_path: Path, tool: Tool) -> None:
    """By every column of every packet of a capture with timestamps, SACK and scaled windows."""
    tshark = tool("tshark")
    text = LOSSY % ("unlimited", 0.03, "sack")
    transport = '{ extends = "sack", timestamps = true, window_scaling = true, receive_window = "200 kB" }'
    run = _core.run(_core.Scenario.parse(text.replace('"sack"', transport)), 0, capture=True)
    file = tmp_path / "server.pcapng"
    file.write_bytes(run.capture()["server"])
    fields = (
        "frame.time_epoch", "ip.len", "ip.id", "tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.ack_raw",
        "tcp.flags", "tcp.window_size_value", "tcp.len", "tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr",
    )  # fmt: skip
    rows = frames(tshark, file, "tcp", *fields)
    packets = _core.read_packets(file)
    columns = packets.columns()
    names = (
        "ip_length", "ip_id", "source_port", "target_port", "seq", "ack", "flags", "window", "payload", "tsval",
        "tsecr",
    )  # fmt: skip
    assert packets.count == len(rows) > 500
    for place, name in enumerate(names, start=1):
        assert [int(row[place] or "0", 0) for row in rows] == columns[name].astype(int).tolist(), name
    assert [round(float(row[0]) * 1e9) for row in rows] == columns["time_ns"].tolist()
    edges = frames(tshark, file, "tcp.options.sack_le", "frame.number", "tcp.options.sack_le", "tcp.options.sack_re")
    left = [int(edge) for _, low, _ in edges for edge in low.split(",")]
    assert len(left) == len(columns["sack_start"]) > 10
    # Wireshark counts sequence numbers from the SYN, which is 0 in captures of cellwind.
    assert left == columns["sack_start"].astype(int).tolist()
