"""One live replication of a scenario: the kernel's TCP carries its flows, and its workloads run."""

from __future__ import annotations

import contextlib
import queue
import tempfile
import threading
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cellwind import _core
from cellwind.campaign.rows import FlowRow
from cellwind.campaign.store import Finished
from cellwind.campaign.tables import facts_of
from cellwind.quantities import seconds
from cellwind.scenario import Scenario

from .emulation import SERVER, Emulation
from .facts import LiveFacts
from .flows import LiveFlow, Sampler, Transfer, flows_of
from .kernel import settings_of
from .results import finished_of, sockets_table

if TYPE_CHECKING:
    from cellwind.analysis.trace import Direction

# From the word to start until time zero: enough that all senders have heard it.
_LEAD_S = 0.02
# How often a run looks whether it is to stop.
_LOOK_UP_S = 0.1


@dataclass(frozen=True)
class LiveReplication:
    """What came of a live replication, and whether it counts."""

    finished: Finished
    valid: bool
    complaints: tuple[str, ...]
    notes: tuple[str, ...]
    """Where the kernel's TCP does not do as the scenario says."""
    drops: Mapping[str, int]
    """Packets dropped, by reason."""


def replicate(
    scenario: Scenario,
    replication: int,
    *,
    facts: bool = False,
    pcap: bool = False,
    stop: threading.Event | None = None,
    **options: Any,
) -> LiveReplication:
    """Runs one replication under the wall clock.

    It ends when all flows are done; without flows, when every workload at a terminal has ended; and at ``stop_at`` at
    the latest. ``options`` are further ones of ``Emulation``.

    Raises EmulationError when this machine cannot emulate, ValueError for a scenario that would never end, and
    Cancelled when ``stop`` was set.
    """
    document = tomllib.loads(scenario.to_toml())
    flows = flows_of(document)
    check_end(scenario)
    settings, notes = settings_of(document)
    emulation = Emulation(
        scenario,
        replication=replication,
        facts=facts,
        capture=True,
        control=False,
        kernel=settings,
        hold=True,
        # Nobody sits before a measurement whom a busy timing thread could disturb.
        **{"realtime": True, **options},
    )
    with contextlib.ExitStack() as stack:
        stack.enter_context(emulation)
        transfers = []
        for flow in flows:
            transfers.append(Transfer(emulation, flow, document))
            stack.callback(transfers[-1].close)
        samplers = [Sampler(emulation, end) for end in emulation.ends]
        for sampler in samplers:
            stack.callback(sampler.close)
        zero_ns = emulation.begin(_LEAD_S)
        for transfer in transfers:
            transfer.start(zero_ns)
        _until_the_end(emulation, transfers, document, zero_ns, stop or threading.Event())
        for sampler in samplers:
            sampler.stop()
        run = emulation.stop()
        samples = {sampler.end: sampler.rows() for sampler in samplers}
        complaints = [text for workload in emulation.workloads if (text := workload.complaint())]
        complaints += [text for transfer in transfers for text in transfer.complaints()]
        if emulation.failure is not None:
            raise _core.EmulationError(emulation.failure)
        kernel = {transfer.flow.name: transfer.sender.result() for transfer in transfers}
        addresses = {transfer.flow.name: transfer.address for transfer in transfers}
    directions = _directions(run, flows, addresses)
    rows = [_row(flow, directions[flow.name], run) if flow.name in directions else _never_began(flow) for flow in flows]
    finished = finished_of(
        scenario.name,
        replication,
        run,
        flows=rows,
        facts=facts_of(LiveFacts(run, flows, directions)) if facts else None,
        pcap=pcap,
        workloads=emulation.workloads,
        sockets=sockets_table(samples, zero_ns),
        notes=notes,
        complaints=complaints,
        more={"kernel_settings": settings, "kernel_counts": kernel},
    )
    complaints = [*run.complaints, *complaints]
    return LiveReplication(finished, run.valid, tuple(complaints), tuple(notes), run.drops)


def _directions(run: _core.LiveRun, flows: Sequence[LiveFlow], addresses: Mapping[str, str]) -> dict[str, Direction]:
    """What the packets at both ends show of each flow that began."""
    from cellwind.analysis.trace import Direction, connections, read_capture

    with tempfile.TemporaryDirectory() as folder:
        traces = {}
        for end in {end for flow in flows for end in (flow.sender, flow.receiver)}:
            run.save_capture(end, f"{folder}/capture")
            traces[end] = read_capture(f"{folder}/capture")
    found: dict[str, Direction] = {}
    for flow in flows:
        target = (addresses[flow.name], flow.port)
        both = connections(traces[flow.sender], traces[flow.receiver])
        for connection in both:
            if connection.responder == target and isinstance(connection.forward, Direction):
                found[flow.name] = connection.forward
    return found


def _row(flow: LiveFlow, found: Direction, run: _core.LiveRun) -> FlowRow:
    row = found.row(flow.name, flow.transport)
    if flow.bytes is not None and row["bytes"] < flow.bytes:
        row["completed"], row["duration_s"] = False, None
    if not row["completed"]:
        # As simulated: over the time from its start to the end of the run.
        spent = run.ended_s - row["start_s"]
        row["goodput_bps"] = 8 * row["bytes"] / spent if spent > 0 else 0.0
    return row


def _never_began(flow: LiveFlow) -> FlowRow:
    return FlowRow(
        name=flow.name,
        transport=flow.transport,
        completed=False,
        bytes=0,
        start_s=flow.start_s,
        duration_s=None,
        goodput_bps=0.0,
        segments_sent=0,
        segments_retransmitted=0,
        timeouts=0,
        fast_retransmits=0,
        spurious_timeouts=0,
        necessary_timeouts=0,
        rtt_mean_s=None,
    )


def check_end(scenario: Scenario) -> None:
    """Raises ValueError when nothing would end a live run of the scenario."""
    document = tomllib.loads(scenario.to_toml())
    if "stop_at" in document or scenario.flows:
        return
    if all(table["at"] == SERVER for table in document.get("workload", {}).values()):
        raise ValueError(f"{scenario.name} has nothing that ends: say when to stop with stop_at")


def _until_the_end(
    emulation: Emulation,
    transfers: Sequence[Transfer],
    document: Mapping[str, Any],
    zero_ns: int,
    stop: threading.Event,
) -> None:
    """Waits for what the run waits for."""
    deadline = zero_ns * 1e-9 + seconds(document["stop_at"]) if "stop_at" in document else float("inf")
    exits: queue.SimpleQueue[int] = queue.SimpleQueue()
    for transfer in transfers:
        transfer.sender.process.on_exit(exits.put)
        transfer.receiver.process.on_exit(exits.put)
    while not stop.is_set() and not emulation.wait(0):
        left = deadline - time.monotonic()
        if left <= 0 or _is_done(emulation, transfers):
            return
        with contextlib.suppress(queue.Empty):
            exits.get(timeout=min(left, _LOOK_UP_S))
    if stop.is_set():
        raise _core.Cancelled("the run was cancelled")


def _is_done(emulation: Emulation, transfers: Sequence[Transfer]) -> bool:
    if transfers:
        # A sender that failed leaves its receiver waiting for ever.
        return all(
            transfer.sender.process.code is not None
            and (transfer.receiver.process.code is not None or transfer.sender.process.code != 0)
            for transfer in transfers
        )
    return all(
        workload.failure is not None or (workload.process is not None and workload.process.code is not None)
        for workload in emulation.workloads
        if workload.end != SERVER
    )
