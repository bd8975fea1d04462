"""Connections in words and as JSON: what the command line prints and the report shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .capture import Trace
from .connection import Connection
from .direction import Direction, Traffic

_PLACES = {
    "initiator": "at the initiator",
    "responder": "at the responder",
    "middle": "between the ends",
    "both ends": "at both ends",
    "one machine": "on the machine of both ends",
    "unknown": "at an unknown place",
}


def place(connection: Connection) -> str:
    """Where a connection was captured, in words."""
    return f"captured {_PLACES[connection.captured_at]}"


def busiest(connections: Sequence[Connection], most: int | None) -> list[Connection]:
    """The ``most`` connections with the most payload, in their order; all of them when it is None."""
    if most is None:
        return list(connections)
    by_bytes = sorted(
        range(len(connections)), key=lambda i: -connections[i].forward.bytes - connections[i].backward.bytes
    )
    return [connections[i] for i in sorted(by_bytes[:most])]


def directions(connection: Connection) -> list[tuple[str, Direction | Traffic]]:
    """The directions that carried payload, named after the end they go to; both when none did."""
    both: list[tuple[str, Direction | Traffic]] = [
        ("to the responder", connection.forward),
        ("to the initiator", connection.backward),
    ]
    return [(name, way) for name, way in both if way.bytes] or both


def lines(way: Direction | Traffic) -> list[tuple[str, str]]:
    """What there is to say of a direction: labels with values as text; "–" where the captures do not show it."""
    found = [
        ("Packets", _count(way.packets)),
        ("Payload (bytes)", _count(way.bytes)),
        ("Duration (s)", _number(way.duration_s)),
        ("Goodput (kbit/s)", _number(way.goodput_bps, 1e-3)),
    ]
    if isinstance(way, Traffic):
        return found
    if way.bytes_missed:
        found.append(("Missed by the capture", f"{way.bytes_missed:,} bytes"))
    found += [
        ("Completed", "yes" if way.completed else "no"),
        ("Data segments", _count(way.segments_sent)),
        ("Retransmitted", _of(way.segments_retransmitted, way.spurious_retransmissions, "spurious")),
        ("Lost", _count(way.segments_lost)),
        ("Timeouts", _of(way.timeouts, way.spurious_timeouts, "spurious")),
        ("Fast retransmits", _count(way.fast_retransmits)),
        ("Tail loss probes", _count(way.tail_probes)),
        ("Duplicate ACKs", _count(way.duplicate_acks)),
        ("Reordered", _count(way.segments_reordered)),
        ("Zero windows", _count(way.zero_windows)),
        ("RTT mean, least (ms)", f"{_number(way.rtt_mean_s, 1e3)}, {_number(way.rtt_min_s, 1e3)}"),
        ("Bottleneck (kbit/s)", _number(way.bottleneck_bps, 1e-3)),
    ]
    buffer = way.buffer
    if buffer is not None:
        found.append(
            ("At the first loss", f"{buffer.outstanding_packets:,} packets, {buffer.outstanding_bytes:,} bytes")
        )
        if buffer.buffer_bytes is not None:
            found.append(("Less the pipe (bytes)", _count(buffer.buffer_bytes)))
    return [*found, ("Idle", _pauses(way.idle))]


def remarks(traces: Sequence[Trace]) -> list[str]:
    """What a reader has to know of the files: damage, and frames that were passed over."""
    found = [f"{trace.path}: {trace.damage}" for trace in traces if trace.damage]
    for trace in traces:
        if trace.ignored:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in trace.ignored.items())
            found.append(f"{trace.path}: passed over {reasons}")
    return found


def as_json(traces: Sequence[Trace], connections: Sequence[Connection]) -> dict[str, Any]:
    """Everything as one object; see docs/reference/analyze.md."""
    return {
        "captures": [
            {"path": trace.path, "packets": len(trace), "damage": trace.damage, "ignored": trace.ignored}
            for trace in traces
        ],
        "connections": [
            {
                "protocol": connection.protocol,
                "initiator": _end(connection.initiator),
                "responder": _end(connection.responder),
                "start_s": connection.start_s,
                "duration_s": connection.duration_s,
                "captured_at": connection.captured_at if connection.is_tcp else None,
                "forward": _way(connection.forward),
                "backward": _way(connection.backward),
            }
            for connection in connections
        ],
    }


def _way(way: Direction | Traffic) -> dict[str, Any]:
    common = {
        "packets": way.packets,
        "ip_bytes": way.ip_bytes,
        "bytes": way.bytes,
        "start_s": way.start_s,
        "duration_s": way.duration_s,
        "goodput_bps": way.goodput_bps,
    }
    if isinstance(way, Traffic):
        return common
    buffer = way.buffer
    return common | {
        "completed": way.completed,
        "bytes_missed": way.bytes_missed,
        "segments_sent": way.segments_sent,
        "segments_retransmitted": way.segments_retransmitted,
        "segments_lost": way.segments_lost,
        "segments_reordered": way.segments_reordered,
        "timeouts": way.timeouts,
        "spurious_timeouts": way.spurious_timeouts,
        "spurious_retransmissions": way.spurious_retransmissions,
        "spurious_evidence": way.spurious_evidence,
        "fast_retransmits": way.fast_retransmits,
        "tail_probes": way.tail_probes,
        "duplicate_acks": way.duplicate_acks,
        "zero_windows": way.zero_windows,
        "rtt_mean_s": way.rtt_mean_s,
        "rtt_min_s": way.rtt_min_s,
        "bottleneck_bps": way.bottleneck_bps,
        "buffer": buffer
        and {
            "time_s": buffer.time_s,
            "outstanding_bytes": buffer.outstanding_bytes,
            "outstanding_packets": buffer.outstanding_packets,
            "pipe_bytes": buffer.pipe_bytes,
            "buffer_bytes": buffer.buffer_bytes,
        },
        "idle_s": None if way.idle is None else [list(period) for period in way.idle],
        "mss": way.sender.mss,
        "sack": way.sender.sack_permitted,
        "timestamps": way.sender.has_timestamps,
        "window_scale": way.sender.window_scale,
    }


def _end(end: tuple[str, int]) -> dict[str, Any]:
    return {"address": end[0], "port": end[1]}


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _of(value: int | None, part: int | None, word: str) -> str:
    return _count(value) if not value or part is None else f"{value:,}, {part:,} {word}"


def _pauses(periods: Sequence[tuple[float, float]] | None) -> str:
    if not periods:
        return "–" if periods is None else "never"
    return f"{len(periods):,} times, {_number(sum(end - begin for begin, end in periods))} s"


def _number(value: float | None, scale: float = 1.0) -> str:
    return "–" if value is None else f"{value * scale:,.4g}"
