"""The live benchmarks: how punctual and how fast the emulator is, beside a bare TUN loop and the kernel's tbf.

All traffic stays inside namespaces made here. Peers are measured in the same run. Punctuality is measured with
real-time priority, as campaigns ask for it, load without. Targets are for a machine with nothing else to do.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from lines import Line

from . import measure
from .measure import Errors
from .namespaces import token_bucket, tun_loop
from .paths import bearer, link, path

HERE = Path(__file__).resolve().parent
# Rates with the packets that are sent at each, of 1500 bytes: some seconds.
GRIDS = ((384_000, "384 kbit/s", 200), (12_000_000, "12 Mbit/s", 5000), (100_000_000, "100 Mbit/s", 30_000))
# A packet of 1486 bytes has 1500 with its Ethernet header, which the kernel's tbf counts.
ETHERNET = 14


def lines() -> list[Line]:
    """Every live measurement, or a line that says why there is none."""
    reason = _missing()
    if reason is not None:
        return [Line("live emulation", "–", f"not measured: {reason}")]
    with _programs() as (probe, loop):
        return [*_delays(probe), *_grids(probe), *_load(probe, loop), _bearer_cost(probe)]


def _missing() -> str | None:
    if os.geteuid() != 0:
        return "it needs root"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "there is no /dev/net/tun"
    tools = [tool for tool in ("cc", "ip", "tc", "unshare", "nsenter") if shutil.which(tool) is None]
    return f"{', '.join(tools)} is not installed" if tools else None


@contextlib.contextmanager
def _programs() -> Iterator[tuple[Path, Path]]:
    """The measuring ends and the bare loop, compiled."""
    with tempfile.TemporaryDirectory() as folder:
        built = [Path(folder) / name for name in ("probe", "tunloop")]
        for program in built:
            source = HERE / f"{program.name}.c"
            subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-o", str(program), str(source)], check=True)
        # The ends of an emulation may belong to another user.
        Path(folder).chmod(0o755)
        yield built[0], built[1]


def _us(value: float) -> str:
    return f"{value:.3g} µs" if abs(value) < 1000 else f"{value / 1000:.3g} ms"


def _text(errors: Errors) -> str:
    return f"p50 {_us(errors.p50)}, p99 {_us(errors.p99)}"


def _delays(probe: Path) -> list[Line]:
    with path(link(delay="50 ms"), realtime=True) as ends:
        arrivals = measure.stream(ends, probe, 100, 10_000, 1000)
        lateness = ends.emulation.status()["lateness"]
    errors = measure.delay_errors(arrivals, 0.05)
    released = f"p50 {_us(lateness['p50_us'])}, p99 {_us(lateness['p99_us'])}, worst {_us(lateness['worst_us'])}"
    return [
        Line(
            "releases after they are due, 1000 packets/s",
            "model time",
            released,
            "p50 10 µs, p99 50 µs",
            lateness["p50_us"] <= 10 and lateness["p99_us"] <= 50,
        ),
        Line(
            "one-way delay beyond 50 ms, end to end",
            "the kernel's stamps",
            f"least {_us(errors.least)}, {_text(errors)}",
            "never early, p99 250 µs",
            errors.least >= 0 and errors.p99 <= 250,
        ),
    ]


def _grids(probe: Path) -> list[Line]:
    table = []
    for rate, text, packets in GRIDS:
        per_second = 1.2 * rate / 8 / 1500
        with path(link(text), realtime=True) as ends:
            ours, drift = measure.grid_errors(measure.stream(ends, probe, 1500, packets, per_second), 12_000e9 / rate)
        with token_bucket(rate) as peer:
            arrivals = measure.stream(peer, probe, 1500 - ETHERNET, packets, per_second)
            theirs, their_drift = measure.grid_errors(arrivals, 12_000e9 / rate)
        table.append(
            Line(
                f"departures at {text}",
                f"kernel tbf: {_text(theirs)}, rate {100 * their_drift:+.3f} %",
                f"{_text(ours)}, rate {100 * drift:+.4f} %",
                "p99 150 µs, rate 0.01 %",
                ours.p99 <= 150 and abs(drift) <= 1e-4,
            )
        )
    return table


def _load(probe: Path, loop: Path) -> list[Line]:
    with tun_loop(loop) as peer:
        bare_tcp = measure.tcp_bits_per_second(peer, probe, 3)
        bare_packets = measure.packets_per_second(peer, probe, 100, 3)
        bare_rtt = measure.round_trips(peer, probe, 2000)
    with path(link()) as ends:
        tcp = measure.tcp_bits_per_second(ends, probe, 3)
        packets = measure.packets_per_second(ends, probe, 100, 3)
        rtt = measure.round_trips(ends, probe, 2000)
    return [
        Line(
            "one kernel TCP through a path without delay",
            f"bare TUN loop: {bare_tcp / 1e9:.2f} Gbit/s",
            f"{tcp / 1e9:.2f} Gbit/s",
            "at least 4 Gbit/s",
            tcp >= 4e9,
        ),
        Line(
            "100-byte packets through it",
            f"bare TUN loop: {bare_packets / 1000:.0f} per ms",
            f"{packets / 1000:.0f} per ms",
            "at least 250 per ms",
            packets >= 250e3,
        ),
        Line(
            "round trip through it",
            f"bare TUN loop: {_text(bare_rtt)}",
            _text(rtt),
            "p50 at most 60 µs",
            rtt.p50 <= 60,
        ),
    ]


def _bearer_cost(probe: Path) -> Line:
    with path(bearer(), realtime=True) as ends:
        arrivals_per_second = 30
        before, start = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
        measure.stream(ends, probe, 1500, 10 * arrivals_per_second, arrivals_per_second)
        after, end = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    share = spent / (end - start)
    what = "CPU for a full 384 kbit/s block-ARQ bearer, 10 % block errors"
    return Line(what, "one core", f"{100 * share:.1f} %", "at most 2 %", share <= 0.02)
