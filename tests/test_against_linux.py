"""The Linux presets beside the running kernel's TCP: the congestion window as a function of what was acknowledged.

The kernel's two ends live in network namespaces that the test makes, and everything between them passes through this
process, which delays each packet and drops one. The window of Reno depends on acknowledgements and not on time, so that
a busy machine changes nothing; of CUBIC the part is compared that does not.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from cellwind import _core

MSS = 1448
SEGMENTS = 4000
DELAY_S = 0.02
RATE_BPS = 20_000_000
LOST = 400
END = Path(__file__).parent / "linux" / "end.py"


@dataclass(frozen=True)
class Sample:
    """The sender's windows in segments when so many segments were acknowledged."""

    acked: int
    cwnd: float
    ssthresh: float
    resent: int = 0


def skip(reason: str) -> None:
    if os.environ.get("CELLWIND_NO_SKIP"):
        pytest.fail(f"skipped, which CELLWIND_NO_SKIP forbids: {reason}")
    pytest.skip(reason)


def look_for_what_it_takes(algorithm: str) -> None:
    if os.geteuid() != 0:
        skip("needs root, for network namespaces with TUN devices")
    if not Path("/dev/net/tun").exists():
        skip("there is no /dev/net/tun")
    if not (shutil.which("unshare") and shutil.which("ip")):
        skip("unshare or ip is not installed (Debian: util-linux, iproute2)")
    if algorithm not in Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split():
        skip(f"the kernel has no {algorithm}")


@contextmanager
def end(role: str, algorithm: str) -> Iterator[tuple[socket.socket, int, subprocess.Popen[str]]]:
    """A process in a namespace: the socket to it, its TUN device, itself. It is killed at the end."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = [
            "unshare",
            "-n",
            sys.executable,
            str(END),
            role,
            str(theirs.fileno()),
            algorithm,
            str(SEGMENTS * MSS),
        ]
        with subprocess.Popen(command, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE, text=True) as process:
            try:
                theirs.close()
                _, (tun, *_), _, _ = socket.recv_fds(ours, 16, 1)
                os.set_blocking(tun, False)
                yield ours, tun, process
                os.close(tun)
            finally:
                process.kill()


def packets(tun: int) -> Iterator[bytes]:
    while True:
        try:
            packet = os.read(tun, 65536)
        except BlockingIOError:
            return
        if packet[0] >> 4 == 4:  # not the neighbour discovery of IPv6
            yield packet


def has_data(packet: bytes) -> bool:
    ip = 4 * (packet[0] & 15)
    return len(packet) > ip + 4 * (packet[ip + 12] >> 4)


def carry(down: int, up: int, done: socket.socket, lost: int) -> None:
    """Carries packets between two TUN devices, all but the ``lost``-th with data, until ``done`` says something.

    Downwards through a link of RATE_BPS with an unbounded queue, both ways with a delay of DELAY_S.
    """
    way: dict[int, deque[tuple[float, bytes]]] = {down: deque(), up: deque()}
    count, free = 0, 0.0
    while True:
        due = min((queue[0][0] for queue in way.values() if queue), default=time.monotonic() + 1)
        readable, _, _ = select.select([down, up, done.fileno()], [], [], max(due - time.monotonic(), 0))
        if done.fileno() in readable:
            return
        for source in readable:
            for packet in packets(source):
                sent = time.monotonic()
                if source == down:
                    count += has_data(packet)
                    if count == lost and has_data(packet):
                        continue
                    sent = free = max(free, sent) + 8 * len(packet) / RATE_BPS
                way[source].append((sent + DELAY_S, packet))
        for source, queue in way.items():
            while queue and queue[0][0] <= time.monotonic():
                os.write(up if source == down else down, queue.popleft()[1])


def linux(algorithm: str, lost: int) -> list[Sample]:
    with ExitStack() as stack:
        to_receiver, up, _ = stack.enter_context(end("receiver", algorithm))
        to_sender, down, sender = stack.enter_context(end("sender", algorithm))
        to_receiver.send(b"g")
        to_sender.send(b"g")
        carry(down, up, to_sender, lost)
        printed, _ = sender.communicate(timeout=30)
    return [Sample(acked // MSS, cwnd, ssthresh, resent) for cwnd, ssthresh, acked, resent in json.loads(printed)]


def ours(algorithm: str, lost: int) -> list[Sample]:
    run = _core.run(
        _core.Scenario.parse(
            f"""
            [link.wire]
            delay = "{1000 * DELAY_S:g} ms"
            down.rate = "{RATE_BPS // 1000} kbit/s"
            down.faults = [{{ drop_data = {lost} }}]
            [flow.f]
            bulk = "{SEGMENTS} segments"
            transport = "linux-{algorithm}"
            """
        ),
        0,
        facts=True,
    )
    facts = run.facts()
    name = [run.kind_names[kind] for kind in facts["kind"]]
    samples = [Sample(0, 10, float("inf"))]
    for place, kind in enumerate(name):
        before = samples[-1]
        acked = int(facts["seq"][place] - 1) // MSS
        value = float(facts["a"][place]) / MSS
        if kind == "cwnd":
            samples.append(Sample(acked, value, before.ssthresh))
        elif kind == "ssthresh":
            samples.append(Sample(acked, before.cwnd, value))
    return samples


def window_at(samples: list[Sample], acked: int) -> float:
    return next(sample.cwnd for sample in reversed(samples) if sample.acked <= acked)


@pytest.mark.parametrize("algorithm", ["reno", "cubic"])
def test_slow_start_and_the_reduction_are_those_of_the_kernel(algorithm: str) -> None:
    """One loss in slow start: until then a segment more for each acknowledged, then a half or seven tenths."""
    look_for_what_it_takes(algorithm)
    kernel, simulated = linux(algorithm, LOST), ours(algorithm, LOST)
    # HyStart may end it early.
    growing = [sample for sample in kernel if sample.ssthresh >= 1 << 30 and sample.acked < LOST - 2]
    assert len(growing) > 3
    for sample in growing:
        assert sample.cwnd == pytest.approx(10 + sample.acked, abs=2)
        assert window_at(simulated, sample.acked) == pytest.approx(sample.cwnd, abs=2) or algorithm == "cubic"
    highest = max(sample.cwnd for sample in kernel if not sample.resent)
    after = min(sample.ssthresh for sample in kernel)
    kept = {"reno": 1 / 2, "cubic": 717 / 1024}[algorithm]
    # The window may have grown since the last sample of a busy machine, until the gap stopped the acknowledgements.
    assert kept * highest - 2 <= after <= kept * (10 + LOST) + 2
    assert min(sample.ssthresh for sample in simulated) == pytest.approx(
        kept * max(sample.cwnd for sample in simulated), abs=2
    )


def test_reno_s_window_after_a_loss_is_that_of_the_kernel() -> None:
    """Once the loss is repaired, at each number of acknowledged segments, to two segments of 200 and more."""
    look_for_what_it_takes("reno")
    kernel, simulated = linux("reno", LOST), ours("reno", LOST)
    repaired = [sample for sample in kernel if sample.acked >= 2 * LOST + 20]
    assert len(repaired) > 20
    assert repaired[-1].cwnd > repaired[0].cwnd + 5
    for sample in repaired:
        assert window_at(simulated, sample.acked) == pytest.approx(sample.cwnd, abs=2)
