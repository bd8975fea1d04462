"""The same machines under both clocks: packets sent live, and again in virtual time.

Probes are UDP packets of given sizes, sent at given instants from one end to the other. What the path read of them
and when, down to the nanosecond, goes once more through the machines with the same random numbers, without a clock.
The two have to agree to the nanosecond on which packets were dropped and when the others were due, and what arrived
must have arrived then, but for the lateness of the path and of the receiver.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Literal

from cellwind import _core
from cellwind.scenario import Scenario

from .emulation import SERVER, Emulation
from .flows import inside

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_PORT = 9000
# IPv4 and UDP.
_HEADERS = 28
_LEAD_S = 0.05
_READY_S = 10.0


@dataclass(frozen=True)
class Probes:
    """What became of probes, in arrays with one element per probe, in the order of sending.

    Times are nanoseconds since the start of the run.
    """

    entered_ns: npt.NDArray[np.int64]
    """When the path read it."""
    due_ns: npt.NDArray[np.int64]
    """When it was due at the other end, as the live path said; −1 for one that was dropped."""
    replayed_ns: npt.NDArray[np.int64]
    """The same in virtual time."""
    arrived_ns: npt.NDArray[np.int64]
    """When the receiving program had it; −1 for one that did not arrive."""
    run: _core.LiveRun

    @property
    def identical(self) -> bool:
        """Whether both clocks agree on every packet, to the nanosecond."""
        return bool((self.due_ns == self.replayed_ns).all())

    def lateness_us(self) -> npt.NDArray[np.float64]:
        """How much later than due each probe that arrived was in the receiver's hands, in microseconds."""
        import numpy as np

        there = (self.arrived_ns >= 0) & (self.due_ns >= 0)
        return (self.arrived_ns[there] - self.due_ns[there]).astype(np.float64) * 1e-3


def probe(
    scenario: Scenario,
    plan: Sequence[tuple[float, int]],
    *,
    direction: Literal["down", "up"] = "down",
    replication: int = 0,
    tail_s: float = 1.0,
    **options: Any,
) -> Probes:
    """Sends probes through a scenario, live and replayed.

    ``plan`` holds when each is sent, in seconds from the start, and its size in bytes, headers included (from 44).
    They go between the server and the first terminal. The run ends ``tail_s`` after the last one.
    """
    emulation = Emulation(
        scenario, replication=replication, capture=True, control=False, workloads=False, hold=True, **options
    )
    with emulation, tempfile.TemporaryFile() as arrivals:
        terminal = emulation.terminals[0]
        source, target = (SERVER, terminal) if direction == "down" else (terminal, SERVER)
        own = emulation.addresses()
        address = next(address for address in own[target] if ":" not in address)
        orders, give_orders = os.pipe()
        receiver = emulation.spawn(
            target, inside("probe", "receive", address, str(_PORT)), stdin=subprocess.DEVNULL, stdout=arrivals
        )
        with open(give_orders, "w", encoding="ascii") as pen:
            sender = emulation.spawn(
                source,
                inside("probe", "send", address, str(_PORT)),
                stdin=orders,
                stdout=subprocess.DEVNULL,
            )
            os.close(orders)
            _await_ready(arrivals)
            zero_ns = emulation.begin(_LEAD_S)
            pen.writelines(f"{zero_ns + round(at * 1e9)} {size - _HEADERS}\n" for at, size in plan)
        sender.wait()
        time.sleep(tail_s)
        receiver.end_it()
        emulation.stop()
        arrivals.seek(0)
        lines = [line.split() for line in arrivals.read().decode().splitlines()[1:]]
    arrived = {int(number): int(instant) - zero_ns for number, instant in lines}
    return _compared(emulation, own, (source, target), len(plan), arrived)


def _await_ready(arrivals: IO[bytes]) -> None:
    deadline = time.monotonic() + _READY_S
    while os.fstat(arrivals.fileno()).st_size == 0:
        if time.monotonic() > deadline:
            raise _core.EmulationError("the receiver of the probes is not ready")
        time.sleep(0.005)


def _compared(
    emulation: Emulation,
    own: Mapping[str, Sequence[str]],
    ends: tuple[str, str],
    count: int,
    arrivals: Mapping[int, int],
) -> Probes:
    import numpy as np

    source, target = ends
    run, terminals = emulation.result, list(emulation.result.terminals)
    with tempfile.TemporaryDirectory() as folder:
        seen = {end: _packets_at(run, end, addresses, f"{folder}/capture") for end, addresses in own.items()}
    # Everything that came into the path anywhere goes through it again, not the probes alone.
    place = np.concatenate([np.full(len(s.entered_ns), number, np.uint16) for number, s in enumerate(seen.values())])
    times = np.concatenate([s.entered_ns for s in seen.values()])
    order = np.argsort(times, kind="stable")
    up = place > 0
    number = np.where(up, place - 1, terminals.index(target if source == SERVER else source)).astype(np.uint16)
    sizes = np.concatenate([s.sizes for s in seen.values()])
    again = _core.replay(
        emulation.scenario.core,
        emulation.replication,
        *(np.ascontiguousarray(column[order]) for column in (times, number, up, sizes)),
    )["egress_ns"]
    probes = seen[source]
    if len(probes.entered_ns) != count:
        raise _core.EmulationError(f"{len(probes.entered_ns)} packets entered the path, and {count} were probes")
    due = np.full(count, -1, np.int64)
    # A connected UDP socket numbers its packets one after the other (RFC 6864 lets it do anything).
    due[(seen[target].left_ids - probes.entered_ids[0]) % 65_536] = seen[target].left_ns
    arrived = np.full(count, -1, np.int64)
    arrived[list(arrivals)] = list(arrivals.values())
    from_source = place[order] == list(seen).index(source)
    return Probes(probes.entered_ns, due, again[from_source].astype(np.int64), arrived, run)


@dataclass(frozen=True)
class _Seen:
    """Packets at an end: those that came in there, and those that left the path there."""

    entered_ns: npt.NDArray[np.int64]
    entered_ids: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.uint32]
    left_ns: npt.NDArray[np.int64]
    left_ids: npt.NDArray[np.int64]


def _packets_at(run: _core.LiveRun, end: str, addresses: Sequence[str], path: str) -> _Seen:
    import numpy as np

    run.save_capture(end, path)
    packets = _core.read_packets(path)
    columns = packets.columns()
    own = [place for place, address in enumerate(packets.endpoints) if address in addresses]
    came = np.isin(columns["source"], own)
    ids, times = columns["ip_id"].astype(np.int64), columns["time_ns"].astype(np.int64)
    return _Seen(times[came], ids[came], columns["ip_length"][came].astype(np.uint32), times[~came], ids[~came])
