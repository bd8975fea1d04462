"""Time-sequence figures of both papers."""

from __future__ import annotations

from cellwind.report.figure import Axis, Figure, Series

from .lifetime_observed import LifetimeObservation
from .observed import Observation


def sequence(title: str, run: Observation | LifetimeObservation, note: str) -> Figure:
    """Segments sent, resent and acknowledged over time, with the losses at the bottom."""
    import numpy as np

    seen = run.sequence
    expired_s = run.expired_s if isinstance(run, LifetimeObservation) else np.array([])
    series = [
        Series("acknowledged", "step", seen.acked.time_s, seen.acked.value * 1e-3, color="grey", width=0.8),
        Series("sent", "points", seen.sent.time_s, seen.sent.value * 1e-3, size=2.0),
        Series("resent", "points", seen.resent.time_s, seen.resent.value * 1e-3, color="red", mark="cross", size=4.0),
    ]
    for name, time_s, color in (
        ("lost on the link", run.lost_data_s, "purple"),
        ("lost in the queue", run.queue_losses_s, "amber"),
        ("expired in the queue", expired_s, "purple"),
    ):
        if len(time_s):
            series.append(Series(name, "points", time_s, np.zeros(len(time_s)), color=color, mark="bar"))  # type: ignore[arg-type]
    return Figure(
        title=title,
        x=Axis("Time", "s", from_zero=True),
        y=Axis("Sequence number", "kB", from_zero=True),
        series=series,
        note=note,
        height=380,
    )
