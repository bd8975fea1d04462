"""The same paths under both clocks: completion times simulated and live, with the kernel's Reno and CUBIC.

Usage: ``python benches/live_clocks.py [REPLICATIONS]``, as root. Twenty paths from 32 kbit/s to 20 Mbit/s, with delays,
block errors, spikes and handovers. Every difference of medians above 5 % is printed with the facts behind it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import cellwind
from cellwind.live.compare import NOTABLE, Comparison, compare

# What is under way at once: more would load two cores, and what is late is no longer the path that was asked for.
AT_ONCE = 5
# Transfers that take seconds do not feel a few milliseconds.
LIVE = '[live]\nlateness_limit = "10 ms"\n'


@dataclass(frozen=True)
class Path:
    """A path and what crosses it."""

    name: str
    access: str
    """Tables of the scenario that describe the path."""
    bulk: str
    transport: str = "linux-reno"

    def scenario(self) -> cellwind.Scenario:
        """The scenario with one download."""
        flow = f'[flow.download]\nbulk = "{self.bulk}"\ntransport = "{self.transport}"\n'
        return cellwind.Scenario.parse(self.access + flow + LIVE, name=self.name)


def _link(rate: str, delay: str, queue: str | None = None) -> str:
    bound = "" if queue is None else f'queue = "{queue}"\n'
    return f'[link.wire]\nrate = "{rate}"\ndelay = "{delay}"\n{bound}'


def _bearer(rate: str, bler: float, delay: str, order: str = "in-sequence") -> str:
    return (
        f'[access.umts]\ntype = "block-arq"\nrate = "{rate}"\nerrors = {bler}\ndelay = "{delay}"\n'
        f'feedback_delay = "60 ms"\ndelivery = "{order}"\n'
    )


def _event(*lines: str) -> str:
    return "[[event]]\n" + "".join(f"{line}\n" for line in lines)


def _two_networks(to: str, *handover: str) -> str:
    networks = (
        '[access.wlan]\ntype = "link"\nrate = "1 Mbit/s"\ndelay = "5 ms"\n'
        '[access.umts]\ntype = "link"\nrate = "384 kbit/s"\ndelay = "75 ms"\n'
    )
    start = "umts" if to == "wlan" else "wlan"
    return (
        networks + f'[terminal.ue]\naccess = "{start}"\n' + _event('after = "256 kB"', f'handover = "{to}"', *handover)
    )


CUBIC = "linux-cubic"
PATHS = (
    Path("32k-350ms", _link("32 kbit/s", "350 ms"), "64 kB"),
    Path("64k-200ms", _link("64 kbit/s", "200 ms"), "128 kB", CUBIC),
    Path("128k-150ms", _link("128 kbit/s", "150 ms"), "256 kB"),
    Path("384k-75ms", _link("384 kbit/s", "75 ms"), "512 kB", CUBIC),
    Path("384k-75ms-queue", _link("384 kbit/s", "75 ms", "20 packets"), "512 kB"),
    Path("384k-75ms-queue-cubic", _link("384 kbit/s", "75 ms", "20 packets"), "512 kB", CUBIC),
    Path("2M-50ms", _link("2 Mbit/s", "50 ms"), "2 MB"),
    Path("2M-50ms-queue", _link("2 Mbit/s", "50 ms", "30 packets"), "2 MB", CUBIC),
    Path("20M-10ms", _link("20 Mbit/s", "10 ms"), "10 MB"),
    Path("20M-40ms", _link("20 Mbit/s", "40 ms"), "10 MB", CUBIC),
    Path("384k-bler-0", _bearer("384 kbit/s", 0.0, "50 ms"), "256 kB"),
    Path("384k-bler-5", _bearer("384 kbit/s", 0.05, "50 ms"), "256 kB", CUBIC),
    Path("384k-bler-10", _bearer("384 kbit/s", 0.1, "50 ms"), "256 kB"),
    Path("384k-bler-20", _bearer("384 kbit/s", 0.2, "50 ms"), "256 kB", CUBIC),
    Path("128k-bler-20", _bearer("128 kbit/s", 0.2, "100 ms"), "128 kB"),
    Path("384k-bler-10-reordered", _bearer("384 kbit/s", 0.1, "50 ms", "out-of-sequence"), "256 kB"),
    Path("384k-spike-3s", _link("384 kbit/s", "75 ms") + _event('at = "3 s"', 'spike = "3 s"'), "256 kB"),
    Path(
        "384k-loss-later",
        _link("384 kbit/s", "75 ms") + _event('at = "4 s"', 'set = { "link.wire.down.loss" = 0.02 }'),
        "512 kB",
        CUBIC,
    ),
    Path("wlan-to-umts", _two_networks("umts", 'delay = "2 s"', 'buffering = "full"'), "512 kB"),
    Path("umts-to-wlan", _two_networks("wlan", 'delay = "0 s"', 'buffering = "none"'), "512 kB", CUBIC),
)


def compare_all(replications: int) -> list[Comparison]:
    """Every path under both clocks, in their order."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda path: compare(path.scenario(), replications), PATHS))


def completion(comparison: Comparison) -> tuple[float, float, float] | None:
    """Median completion times in s, simulated and live, and their ratio; None where one never completed."""
    if not comparison.flows:
        return None
    metric = next(metric for metric in comparison.flows[0].metrics if metric.metric == "duration_s")
    if metric.simulated is None or metric.live is None or metric.ratio is None:
        return None
    return metric.simulated, metric.live, metric.ratio


def is_close(comparison: Comparison) -> bool:
    """Whether the medians of the completion times lie within 5 %."""
    times = completion(comparison)
    return times is not None and abs(times[1] - times[0]) <= NOTABLE * max(times[:2])
