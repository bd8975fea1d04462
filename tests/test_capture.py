"""Captures as Wireshark and tcptrace see them."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cellwind import _core

Tool = Callable[[str], str]

CLEAN = """
stop_at = "1 h"
link.internet = { rate = "100 Mbit/s", delay = "75 ms", queue = "unlimited" }
access.umts = { extends = "umts-384", errors = 0.0 }
flow.download = { transport = "%s", bulk = "200 kB" }
"""


def captures(folder: Path, text: str) -> dict[str, Path]:
    """The capture files of one run of a scenario, by the end that took them."""
    run = _core.run(_core.Scenario.parse(text), 0, capture=True)
    files = {end: folder / f"{end}.pcapng" for end in ("server", "ue")}
    for end, file in files.items():
        file.write_bytes(run.capture()[end])
    return files


def output(*words: str | Path) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("transport", ["reno", "newreno", "sack"])
@pytest.mark.parametrize("end", ["server", "ue"])
def test_a_clean_transfer_is_clean_to_wireshark(tmp_path: Path, tool: Tool, transport: str, end: str) -> None:
    """By its expert: nothing above a note, and nothing malformed; every checksum it can see is right."""
    tshark = tool("tshark")
    file = captures(tmp_path, CLEAN % transport)[end]
    expert = output(tshark, "-r", file, "-q", "-z", "expert")
    assert not re.search(r"^(Errors|Warns) \(", expert, flags=re.MULTILINE), expert
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    wrong = "_ws.malformed || tcp.checksum.status == Bad || ip.checksum.status == Bad"
    assert output(tshark, "-r", file, *checks, "-Y", wrong) == ""


def test_wireshark_counts_the_bytes_of_the_transfer(tmp_path: Path, tool: Tool) -> None:
    """By the payload lengths of all segments, which the file holds although it cuts the payload off."""
    tshark = tool("tshark")
    file = captures(tmp_path, CLEAN % "reno")["server"]
    fields = output(tshark, "-r", file, "-T", "fields", "-e", "tcp.len", "-e", "frame.len", "-e", "ip.len")
    rows = [tuple(map(int, line.split())) for line in fields.splitlines()]
    assert sum(payload for payload, _, _ in rows) == 200_000
    assert all(frame == ip for _, frame, ip in rows)


def test_tcptrace_reads_a_capture(tmp_path: Path, tool: Tool) -> None:
    """By its summary of the connection: complete, with all data once and no segment sent again."""
    tcptrace = tool("tcptrace")
    summary = output(tcptrace, "-l", captures(tmp_path, CLEAN % "sack")["server"])
    assert re.search(r"1 TCP connection traced", summary)
    sent = dict(re.findall(r"^ +(unique bytes sent|rexmt data pkts): +(\d+)", summary, flags=re.MULTILINE))
    assert sent == {"unique bytes sent": "200000", "rexmt data pkts": "0"}, summary
