"""What is kept of a live run: the tables of a simulated one, and what only a live run has."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cellwind.campaign.rows import Column, FlowRow, RunRecord
from cellwind.campaign.store import Finished
from cellwind.campaign.tables import table_of

from .emulation import SERVER
from .inside.sockets import COLUMNS as SOCKET_VALUES

if TYPE_CHECKING:
    import pyarrow as pa

    from cellwind import _core

    from .workloads import Workload

LIVE = "live.json"
SOCKETS = "sockets.parquet"
LATENESS = "lateness.parquet"

_HISTOGRAM = ("bins_us", "counts")

LATENESS_COLUMNS = (
    Column("up_to_us", "float64", "the largest lateness in this bin, in microseconds"),
    Column("packets", "int64", "packets that left so late, and later than the bin before"),
)

SOCKET_COLUMNS = (
    Column("time_s", "float64", "when, from the start of the run"),
    Column("end", "string", "where the sample was taken"),
    Column("local", "string", "address of this end"),
    Column("local_port", "int32", "its port"),
    Column("remote", "string", "address of the other end"),
    Column("remote_port", "int32", "its port"),
    *(Column(name, "int64", f"`tcpi_{name}` of `struct tcp_info`") for name, _, _ in SOCKET_VALUES),
)


def finished_of(
    scenario: str,
    replication: int,
    run: _core.LiveRun,
    *,
    flows: Sequence[FlowRow] = (),
    facts: pa.Table | None = None,
    pcap: bool = False,
    workloads: Iterable[Workload] = (),
    sockets: pa.Table | None = None,
    notes: Sequence[str] = (),
    complaints: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> Finished:
    """Puts together what is kept of a live replication."""
    workloads = list(workloads)
    record = RunRecord.of_rows(scenario, replication, flows, run.bearers, run.links)
    about = {
        "kernel_release": os.uname().release,
        "started": run.started,
        "duration_s": run.ended_s,
        "valid": run.valid,
        "complaints": [*run.complaints, *complaints],
        "lateness": {key: value for key, value in run.lateness.items() if key not in _HISTOGRAM},
        "terminals": run.terminals,
        "drops": run.drops,
        "notes": list(notes),
        "workloads": [workload.outcome() for workload in workloads],
        **(more or {}),
    }
    texts = {LIVE: (json.dumps(about, indent=2) + "\n").encode()}
    texts |= {f"{workload.name}.log": workload.log for workload in workloads}
    captures = {end: functools.partial(run.save_capture, end) for end in run.terminals} if pcap else {}
    if pcap:
        captures[SERVER] = functools.partial(run.save_capture, SERVER)
    bins, counts = (run.lateness[key] for key in _HISTOGRAM)
    rows = [{"up_to_us": most, "packets": count} for most, count in zip(bins, counts, strict=True)]
    tables = {LATENESS: table_of(rows, LATENESS_COLUMNS)}
    if sockets is not None:
        tables[SOCKETS] = sockets
    return Finished(record, facts, captures, tables, texts)


def sockets_table(samples: Mapping[str, Sequence[Sequence[Any]]], zero_ns: int) -> pa.Table:
    """Samples of TCP connections by end, in the order of time, as a table with ``SOCKET_COLUMNS``."""
    names = [column.name for column in SOCKET_COLUMNS]
    rows = [
        [(row[0] - zero_ns) * 1e-9, end, *row[1:]]
        for end, found in samples.items()
        for row in found
        if row[0] >= zero_ns
    ]
    rows.sort(key=lambda row: row[0])
    return table_of((dict(zip(names, row, strict=True)) for row in rows), SOCKET_COLUMNS)
