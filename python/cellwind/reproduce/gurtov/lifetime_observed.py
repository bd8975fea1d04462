"""What is taken out of the facts of one run of P9."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cellwind.analysis.series import FactTable, TimeSequence, time_sequence

from .lifetime_cells import ADU_INTERVAL_S, FLOW, Lifetime

if TYPE_CHECKING:
    from cellwind.analysis.series import Floats

QUEUE_FULL, RANDOM_LOSS, EXPIRED = 1, 2, 6  # reasons of a drop, docs/reference/facts.md


@dataclass(frozen=True)
class LifetimeObservation:
    """One run as P9 shows it; times in seconds from the start of the run.

    ``arrivals_s`` are the arrivals of data and ``left_s`` the lifetime that was left to each, negative when it was
    over. ``expired_s`` are the drops of a queue for a deadline, ``queue_losses_s`` those of a full one and
    ``lost_data_s`` those on the link; ``resent`` counts the segments sent again, ``timeouts_s`` are expiries of the
    retransmission timer, ``fast_retransmits_s`` starts of fast retransmits, ``duplicates_s`` the arrivals of what was
    there before. ``rates_bps`` are the allowed rate of TFRC and ``loss_rates`` the loss event rate with it, over
    ``rates_s``.
    """

    sequence: TimeSequence
    arrivals_s: Floats
    arrived_bytes: Floats
    left_s: Floats
    expired_s: Floats
    queue_losses_s: Floats
    lost_data_s: Floats
    resent: int
    timeouts_s: Floats
    fast_retransmits_s: Floats
    duplicates_s: Floats
    rates_s: Floats
    rates_bps: Floats
    loss_rates: Floats


def observe(_: Lifetime, facts: FactTable) -> LifetimeObservation:
    """What P9 looks at in one run."""
    import numpy as np

    sent = facts.select("segment_sent", flow=FLOW)
    received = facts.select("segment_received", flow=FLOW)
    data = received.length > 0
    first = dict(zip(sent.seq.tolist(), sent.time_s.tolist(), strict=True))
    made = np.array([first.get(seq, np.nan) for seq in received.seq[data].tolist()])
    drops = facts.select("drop")
    rates = facts.select("allowed_rate", flow=FLOW)
    return LifetimeObservation(
        sequence=time_sequence(facts, FLOW),
        arrivals_s=received.time_s[data],
        arrived_bytes=received.length[data].astype(np.float64),
        left_s=made + ADU_INTERVAL_S - received.time_s[data],
        expired_s=drops.time_s[drops.a == EXPIRED],
        queue_losses_s=drops.time_s[drops.a == QUEUE_FULL],
        lost_data_s=drops.time_s[drops.a == RANDOM_LOSS],
        resent=len(facts.select("segment_resent", flow=FLOW).time_s),
        timeouts_s=facts.select("timeout", flow=FLOW).time_s,
        fast_retransmits_s=facts.select("fast_retransmit", flow=FLOW).time_s,
        duplicates_s=received.time_s[data & (received.b == 1)],
        rates_s=rates.time_s,
        rates_bps=rates.a.astype(np.float64),
        loss_rates=rates.b.astype(np.float64) * 1e-9,
    )
