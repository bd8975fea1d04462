"""Sections 7.1, 7.2 and B.2: what the networks, the schemes and the handover itself do, whatever the sender."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..design import Plan
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from .cells import FLOW, NETWORKS, Buffering, Cell, Network
from .connection import Connection
from .handover import SCHEMES
from .observed import TeyebBench, TeyebPlan

if TYPE_CHECKING:
    from cellwind.scenario import Scenario

PACKET_BITS = 8 * 1500
ACK_BITS = 8 * 40

# An instant of the simulator is a nanosecond.
_EXACT_S = 5e-9


@dataclass(frozen=True)
class Forwarding:
    """Figure 7.2 packet by packet: when the eighth has come four wait, and three more come during the handover.

    A packet comes every 100 ms and takes 160 ms, so that four have left when the eighth arrives at 700 ms.
    """

    buffering: Buffering

    @property
    def is_deterministic(self) -> bool:
        """Nothing is random."""
        return True

    @property
    def file_bytes(self) -> int:
        """Bytes of 20 packets."""
        return 20 * 172

    @property
    def name(self) -> str:
        """A name of its own."""
        return f"teyeb-forwarding-{self.buffering}"

    def scenario(self, choices: Mapping[str, Any]) -> Scenario:
        """The scenario; no choice of the paper concerns it."""
        import cellwind

        text = f"""
title = "The buffering schemes (Teyeb 2007, Figure 7.2)"
stop_at = "10 s"

[access.old]
type = "link"
rate = "10 kbit/s"

[access.new]
type = "link"
rate = "1 Mbit/s"

[terminal.ue]
access = "old"

[flow.{FLOW}]
transport = "udp"
application = {{ type = "cbr", packet = "172 B", rate = "13760 bit/s", duration = "2 s" }}

[[event]]
at = "710 ms"
handover = "new"
delay = "340 ms"
buffering = "{self.buffering}"
"""
        return cellwind.Scenario.parse(text, self.name, {})


def plans() -> dict[str, TeyebPlan]:
    """The plans of equation 7.1, Table 7.1, Figure 7.2, and of what is described and not emulated."""
    return {
        "equation-7-1": _equation(),
        "table-7-1": _networks(),
        "figure-7-2": _schemes(),
        "handover-alternatives": _alternatives(),
        "emulator-heterogeneous": _emulator(),
    }


def _in(network: Network) -> Cell:
    """A download that begins in a network."""
    target: Network = "umts" if network != "umts" else "wlan"
    return Cell("handover", handover_delay_s=2, buffering="full", origin=network, target=target)


IN: Mapping[Network, Cell] = {network: _in(network) for network in NETWORKS}


def _figures_of(network: Network) -> tuple[float, float, float]:
    """Rates down and up in kbit/s and latency in ms, as the scenario has them."""
    import tomllib

    access = tomllib.loads(NETWORKS[network])["access"][network]
    rates = {"1 Mbit/s": 1000.0}
    down = rates.get(access["rate"]) or float(access["rate"].split()[0])
    up = float(access.get("up", access)["rate"].split()[0])
    return down, up, float(access["delay"].split()[0])


def _first_delay_s(seen: Connection) -> float:
    """Of the first full packet, which finds no queue."""
    sent, arrived = seen.first_data
    return float(arrived[0] - sent[0])


def _equation() -> TeyebPlan:
    def measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
        network: Network = row.factors["network"]  # type: ignore[assignment]
        return Point(value=1e3 * _first_delay_s(bench.observed(IN[network]).met))

    def quantities(bench: TeyebBench) -> dict[str, Quantity]:
        seen = {network: bench.observed(cell).met for network, cell in IN.items()}
        return {
            "delay_recomputed_at_handover_end": Quantity.of(
                Point({"network": cell.target}, _is_anew(seen[network], cell.target)) for network, cell in IN.items()
            ),
            "departures_during_handover": Quantity.of(
                Point({"network": cell.target}, float(seen[network].departures_during_handover()))
                for network, cell in IN.items()
            ),
            "reordered_packets": Quantity.of(
                Point({"network": cell.target}, float(seen[network].reordered())) for network, cell in IN.items()
            ),
        }

    return Plan(traces=list(IN.values()), measure=measure, quantities=quantities)


def _is_anew(seen: Connection, target: Network) -> float:
    """Whether all that was kept arrives as if it came to the new network at the end of the handover."""
    import numpy as np

    rate, _, latency = _figures_of(target)
    transmission = PACKET_BITS / (1e3 * rate)
    arrivals = seen.arrivals_after_handover(seen.kept_down)
    expected = 1e-3 * latency + transmission * np.arange(1, len(arrivals) + 1)
    return float(len(arrivals) == seen.kept_down > 0 and bool(np.all(np.abs(arrivals - expected) < _EXACT_S)))


def _networks() -> TeyebPlan:
    def measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
        network: Network = row.factors["network"]  # type: ignore[assignment]
        seen = bench.observed(IN[network]).met
        # Three packets leave at once: they arrive one transmission apart.
        rate = PACKET_BITS / float(seen.first_data[1][1] - seen.first_data[1][0])
        latency = _first_delay_s(seen) - PACKET_BITS / rate
        sent, heard = seen.first_ack
        rate_up = ACK_BITS / (heard - sent - latency)
        return Point(value={"dl_kbps": 1e-3 * rate, "ul_kbps": 1e-3 * rate_up}.get(metric, 1e3 * latency))

    def quantities(bench: TeyebBench) -> dict[str, Quantity]:
        lost = sum(bench.observed(cell).met.lost_otherwise for cell in IN.values())
        return {"radio_losses": Quantity.constant(float(lost))}

    return Plan(traces=list(IN.values()), measure=measure, quantities=quantities)


def _schemes() -> TeyebPlan:
    cells = {scheme: Forwarding(scheme) for scheme in SCHEMES}

    def measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
        return Point(value=float(bench.observed(cells[row.factors["buffering"]]).kept))  # type: ignore[index]

    def quantities(bench: TeyebBench) -> dict[str, Quantity]:
        kept = [Point({"buffering": scheme}, float(bench.observed(cell).kept)) for scheme, cell in cells.items()]
        return {"forwarded": Quantity.of(kept), "memory": Quantity.of(kept)}

    return Plan(traces=list(cells.values()), measure=measure, quantities=quantities)


# Section 7.1.1: described and not emulated there.

WAITS = Cell("handover", handover_delay_s=5)
ASKS = replace(WAITS, duplicate_acks=3)
SOFT = Cell("handover", origin="gprs", target="umts", soft=True)
# The bandwidth-delay products of UMTS, 384 kbit/s for 150 ms, and of GPRS, 32 kbit/s for 700 ms.
QUEUES = {"max_bdp": 7_200, "own_bdp": 2_800}
BUFFERED = {
    name: Cell("handover", buffering="full", origin="umts", target="gprs", queue_bytes=size)
    for name, size in QUEUES.items()
}


def _alternatives() -> TeyebPlan:
    def quantities(bench: TeyebBench) -> dict[str, Quantity]:
        starts = {"wait_for_rto": WAITS, "dupacks_after_handover": ASKS}
        seen = {name: bench.observed(cell).met for name, cell in {**starts, **BUFFERED}.items()}

        def of(names: Mapping[str, object], read: Mapping[str, float], factor: str) -> Quantity:
            return Quantity.of(Point({factor: name}, read[name]) for name in names)

        begins = {name: seen[name].repair()[0] - seen[name].end_s for name in starts}
        waits = {name: _queueing_s(seen[name]) for name in BUFFERED}
        lost = {name: float(seen[name].lost_otherwise) for name in BUFFERED}
        return {
            "recovery_start": of(starts, begins, "remedy"),
            "queue_delay": of(BUFFERED, waits, "buffer"),
            "packets_lost": of(BUFFERED, lost, "buffer"),
            "reordered_packets": Quantity.constant(float(bench.observed(SOFT).met.reordered())),
        }

    return Plan(traces=[WAITS, ASKS, SOFT, *BUFFERED.values()], quantities=quantities)


def _queueing_s(seen: Connection) -> float:
    """How much longer than the shortest the round trips after the handover take, on average."""
    trips = seen.round_trips.value[seen.round_trips.time_s > seen.end_s]
    return float(trips.mean() - trips.min())


# Section B.2.


def _emulator() -> TeyebPlan:
    cells: list[Cell] = [replace(IN["wlan"], buffering=scheme) for scheme in SCHEMES]

    def quantities(bench: TeyebBench) -> dict[str, Quantity]:
        seen = {cell: bench.observed(cell).met for cell in cells}

        def point(cell: Cell, value: float) -> Point:
            factors: dict[str, Factor] = {"buffering": cell.buffering}
            return Point(factors, value)

        exact = [point(cell, _share_on_time(found, cell.origin)) for cell, found in seen.items()]
        through = [point(cell, float(found.departures_during_handover())) for cell, found in seen.items()]
        kind = "deterministic" if all(cell.is_deterministic for cell in cells) else "random"
        return {
            "release_time_set_on_arrival": Quantity.of(exact),
            "departures_during_handover": Quantity.of(through),
            "transitions": Quantity.constant(kind),
        }

    return Plan(traces=cells, quantities=quantities)


def _share_on_time(seen: Connection, network: Network) -> float:
    """Of the segments before the handover, how many arrive when equation 7.1 says so at their arrival."""
    rate, _, latency = _figures_of(network)
    sent, arrived = seen.before_handover
    free_s, right = 0.0, 0
    for left, there in zip(sent.tolist(), arrived.tolist(), strict=True):
        free_s = max(free_s, left) + PACKET_BITS / (1e3 * rate)
        right += abs(free_s + 1e-3 * latency - there) < _EXACT_S
    return right / len(sent)
