"""Each recovery beside ns-2 2.35, in one run: the sending instants of every segment; and the windows of Linux.

Another implementation of the same algorithms, written by other people. Where the two part, the reason is given: ours
follows the RFC named there.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cellwind import _core

SEGMENTS = 40
PAYLOAD = 960
# ns-2 sends the very first packet without its 40 bytes of header: all that follows is that much earlier.
SHORT_FIRST_PACKET_S = 40 * 8 / 384_000

AGENTS = {
    "tahoe": ("TCP", "TCPSink"),
    "reno": ("TCP/Reno", "TCPSink"),
    "newreno": ("TCP/Newreno", "TCPSink"),
    "sack": ("TCP/Sack1", "TCPSink/Sack1"),
}
# Data packets dropped, counted from 1 in the order of sending.
LOSSES = {
    "none": [],
    "single": [3],
    "two": [3, 7],
    "burst": [13, 14, 15, 16],
    "alternate": [11, 13, 15, 17],
    "late": [30],
}
# Segments that agree before the two part; all agree where nothing is listed.
PARTS_AFTER = {
    # ns-2 lets the window grow on the ACK that ends fast recovery; RFC 5681 §3.2 (6) and RFC 6582 §3.2 set it only.
    ("reno", "single"): 27,
    ("newreno", "single"): 27,
    ("newreno", "two"): 32,
    # At the timeout ns-2 halves the window, RFC 5681 §3.1 (4) the data in flight, which is twice as much here.
    ("reno", "two"): 25,
    # ns-2's Sack1 counts its pipe down by duplicate ACKs; RFC 6675 leaves out segments known to be lost.
    ("sack", "two"): 15,
    ("sack", "burst"): 35,
    ("sack", "alternate"): 31,
    # The rescue retransmission of RFC 6675 §4 came after Sack1.
    ("sack", "late"): 41,
}


def ours(preset: str, drops: list[int]) -> list[tuple[float, int]]:
    """When each segment was sent, in seconds after the first, and its number from 0."""
    faults = ", ".join(f"{{ drop_data = {packet} }}" for packet in drops)
    run = _core.run(
        _core.Scenario.parse(
            f"""
            [link.loss]
            down.faults = [{faults}]
            [link.wire]
            delay = "135 ms"
            down.rate = "384 kbit/s"
            [flow.f]
            bulk = "{SEGMENTS} segments"
            [flow.f.transport]
            extends = "{preset}"
            mss = "{PAYLOAD} B"
            initial_window = "10 segments"
            receive_window = "64 segments"
            limited_transmit = false
            """
        ),
        0,
        facts=True,
    )
    facts = run.facts()
    kinds = [run.kind_names.index(kind) for kind in ("segment_sent", "segment_resent")]
    sent = [place for place, kind in enumerate(facts["kind"]) if kind in kinds]
    start = facts["time_ns"][sent[0]]
    return [(float(facts["time_ns"][n] - start) * 1e-9, int(facts["seq"][n] - 1) // PAYLOAD) for n in sent]


def ns2(ns: str, preset: str, drops: list[int], trace: Path) -> list[tuple[float, int]]:
    """The same from ns-2's trace of the sender's queue, with the first packet's length made good."""
    script = Path(__file__).parent / "ns2" / "exchange.tcl"
    words = [ns, str(script), *AGENTS[preset], str(SEGMENTS), str(trace), *(str(packet - 1) for packet in drops)]
    subprocess.run(words, check=True, capture_output=True)
    lines = (line.split() for line in trace.read_text(encoding="ascii").splitlines())
    sent = [(float(word[1]), int(word[10])) for word in lines if word[0] == "+" and word[2:5] == ["0", "1", "tcp"]]
    return [(t + SHORT_FIRST_PACKET_S if t > 0 else t, number) for t, number in sent]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("preset", AGENTS)
def test_every_segment_is_sent_when_ns2_sends_it(preset: str, loss: str, tmp_path: Path) -> None:
    """By comparing both lists up to where a documented departure begins; ns-2 prints six digits of time."""
    ns = shutil.which("ns")
    if ns is None:
        pytest.skip("ns-2 is not installed (Debian: ns2)")
    mine, theirs = ours(preset, LOSSES[loss]), ns2(ns, preset, LOSSES[loss], tmp_path / "trace")
    pairs = zip(mine, theirs, strict=False)
    agree = [m[1] == t[1] and m[0] == pytest.approx(t[0], abs=2e-6, rel=6e-6) for m, t in pairs]
    agreeing = agree.index(False) if False in agree else len(agree)
    expected = PARTS_AFTER.get((preset, loss))
    if expected is None:
        assert agreeing == len(mine) == len(theirs)
    else:
        assert agreeing == expected


def windows(algorithm: str, settings: str, drops: list[int]) -> list[tuple[float, float]]:
    """Instants in seconds after the first segment, and the congestion window from then on, in segments."""
    faults = ", ".join(f"{{ drop_data = {packet} }}" for packet in drops)
    run = _core.run(
        _core.Scenario.parse(
            f"""
            stop_at = "13 s"
            [link.loss]
            down.faults = [{faults}]
            [link.wire]
            delay = "50 ms"
            down.rate = "10 Mbit/s"
            [flow.f]
            bulk = "unlimited"
            [flow.f.transport]
            extends = "linux-{algorithm}"
            receive_window = "100000 segments"
            slow_start.exit = "none"
            {settings}
            """
        ),
        0,
        facts=True,
    )
    facts = run.facts()
    cwnd = run.kind_names.index("cwnd")
    rows = zip(facts["time_ns"], facts["kind"], facts["a"], strict=True)
    return [(float(t) * 1e-9 - 0.1, float(a) / 1448) for t, kind, a in rows if kind == cwnd]


@pytest.mark.parametrize("drops", [[], [301]], ids=["none", "single"])
@pytest.mark.parametrize(
    ("algorithm", "settings", "share"),
    [
        ("reno", "", 0.008),  # one segment: ns-2's first packet has no header, so that it is ahead
        # Its tcp_cubic is that of Linux 2.6, with a beta of 0.8, whole segments and an estimate of the segments per
        # ACK that lets the window grow faster at first.
        ("cubic", "congestion.beta = 0.8", 0.045),
    ],
)
def test_the_window_is_that_of_ns2_s_linux_agent(
    algorithm: str, settings: str, share: float, drops: list[int], tmp_path: Path
) -> None:
    """By samples every 50 ms of 12 s, leaving out the recovery, in which Linux shrinks the window by steps."""
    ns = shutil.which("ns")
    if ns is None:
        pytest.skip("ns-2 is not installed (Debian: ns2)")
    script, trace = Path(__file__).parent / "ns2" / "linux.tcl", tmp_path / "windows"
    words = [ns, str(script), algorithm, str(trace), *(str(packet - 1) for packet in drops)]
    subprocess.run(words, check=True, capture_output=True)
    mine = windows(algorithm, settings, drops)
    compared = 0
    for line in trace.read_text(encoding="ascii").splitlines():
        t, theirs, _, _ = map(float, line.split())
        if (drops and 0.6 < t < 1.2) or t == 0:
            continue
        compared += 1
        at = next(cwnd for start, cwnd in reversed(mine) if start <= t)
        assert at == pytest.approx(theirs, rel=share, abs=1.5), t
    assert compared > 200


@pytest.mark.parametrize("every", [50, 200])
def test_tfrc_reaches_the_rate_of_ns2_under_fixed_loss(every: int, tmp_path: Path) -> None:
    """By the packets that arrive from 60 to 260 s while every n-th is lost, to 5 %."""
    ns = shutil.which("ns")
    if ns is None:
        pytest.skip("ns-2 is not installed (Debian: ns2)")
    script, trace = Path(__file__).parent / "ns2" / "tfrc.tcl", tmp_path / "trace"
    subprocess.run([ns, str(script), str(every), str(trace)], check=True, capture_output=True)
    lines = (line.split() for line in trace.read_text(encoding="ascii").splitlines())
    theirs = sum(word[0] == "r" and float(word[1]) > 60 for word in lines)

    faults = ", ".join(f"{{ drop_data = {packet} }}" for packet in range(every, 60_000, every))
    run = _core.run(
        _core.Scenario.parse(
            f"""
            stop_at = "260 s"
            [link.loss]
            down.faults = [{faults}]
            [link.wire]
            delay = "50 ms"
            down.rate = "100 Mbit/s"
            [flow.f]
            bulk = "unlimited"
            transport = {{ extends = "tfrc", segment = "1000 B" }}
            """
        ),
        0,
        facts=True,
    )
    facts = run.facts()
    received = run.kind_names.index("segment_received")
    mine = sum(k == received and t > 60e9 for k, t in zip(facts["kind"], facts["time_ns"], strict=True))
    assert mine == pytest.approx(theirs, rel=0.05)
