"""What a live run came to, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cellwind import _core

    from .workloads import Workload


def summary(run: _core.LiveRun, workloads: Iterable[Workload] = ()) -> str:
    """Packets per terminal and direction, drops by reason, lateness, and whether the run counts."""
    lines = [f"{run.ended_s:.1f} s", *traffic_lines(run.terminals)]
    lines += ["  " + text for text in (drops_text(run.drops), lateness_text(run.lateness)) if text]
    lines.append("  valid" if run.valid else "  not valid: the results do not count")
    lines += [f"  {complaint}" for complaint in run.complaints]
    lines += [f"  {text}" for workload in workloads if (text := workload.complaint())]
    return "\n".join(lines)


def traffic_lines(terminals: Mapping[str, Any]) -> list[str]:
    """Packets per terminal and direction, a line each; what is still inside is told when there is any."""
    lines = []
    for terminal, directions in terminals.items():
        for direction in ("down", "up"):
            counts = directions[direction]
            held = f", {counts['packets_held']} held" if counts["packets_held"] else ""
            lines.append(
                f"  {terminal} {direction}: {counts['packets_in']} packets in, {counts['packets_delivered']} out, "
                f"{counts['packets_dropped']} dropped{held}"
            )
    return lines


def drops_text(drops: Mapping[str, int]) -> str:
    """Drops by reason; empty when there were none."""
    told = ", ".join(f"{reason.replace('_', ' ')} {count}" for reason, count in drops.items() if count)
    return told and f"dropped: {told}"


def lateness_text(lateness: Mapping[str, Any]) -> str:
    """Lateness of releases: median, 99 %, worst, and how many were beyond the limit; empty without any."""
    if not lateness["n"]:
        return ""
    return (
        f"lateness of {lateness['n']} releases: p50 {lateness['p50_us']:.0f} µs, p99 {lateness['p99_us']:.0f} µs, "
        f"worst {lateness['worst_us']:.0f} µs, over the limit {lateness['over_limit']}"
    )
