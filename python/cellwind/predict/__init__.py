"""The time of a download over a radio bearer, computed instead of simulated: ``cellwind predict``.

The model is that of Teyeb's dissertation (2007), section 5.2: ``blocks`` is one packet over a link that resends its
blocks, ``download`` a transfer in slow start over it, ``fit`` and ``bearers`` tell whether a scenario is such a
transfer, and ``beside`` sets the simulator's figures beside the model's. docs/predict.md says how far to trust it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .bearers import UnfitError
from .download import Download

if TYPE_CHECKING:
    from cellwind.scenario import Scenario

__all__ = ["Prediction", "UnfitError", "predict"]


@dataclass(frozen=True)
class Prediction:
    """What the model says of a scenario.

    ``download`` has every quantity of the model; ``notes`` say, in a sentence each, what the scenario has and the model
    has not.
    """

    scenario: str
    flow: str
    download: Download
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Parameters and results under the names that docs/predict.md explains, with the unit in the name."""
        return {"scenario": self.scenario, "flow": self.flow, **_parts(self.download), "notes": list(self.notes)}


def predict(scenario: Scenario | str | os.PathLike[str], ret_s: float | None = None) -> Prediction:
    """Computes the download of a scenario.

    Parameters
    ----------
    scenario:
        A scenario, its file, or the name of a ready-made one.
    ret_s:
        From the end of a TTI that failed until the block is sent again, in s; None takes what the bearer has.

    Raises UnfitError when the model does not speak of such a scenario, ScenarioError as ``Scenario.load`` does, and
    ValueError for a delay that is none.

    >>> import cellwind
    >>> from cellwind.predict import predict
    >>> bearer = {"access.umts.delivery": "in-sequence", "flow.download.bulk": "100 kB"}
    >>> found = predict(cellwind.Scenario.load("umts-384", bearer))
    >>> found.download.down.blocks, round(found.download.total_s, 2)
    (2, 3.24)
    """
    from cellwind.scenario import Scenario

    from .fit import fit

    if ret_s is not None and not 0 <= ret_s < float("inf"):
        raise ValueError(f"the delay of a retransmission is 0 s or more, not {ret_s}")
    loaded = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
    found = fit(loaded, ret_s)
    return Prediction(loaded.name, found.flow, found.download, found.notes)


def _parts(download: Download) -> dict[str, Any]:
    def way(name: str) -> dict[str, Any]:
        found = getattr(download, name)
        return {
            "rate_bps": found.rate_bps,
            "tti_s": found.tti_s,
            "block_error_rate": found.fer,
            "retransmission_delay_s": found.ret_s,
            "packet_bytes": found.packet_bytes,
            "blocks": found.blocks,
            "round_probabilities": [found.round_probability(i) for i in (1, 2, 3)],
            "sdu_delay_s": found.sdu_delay_s,
            "packets_per_s": found.packets_per_s,
        }

    return {
        "file_bytes": download.file_bytes,
        "segment_bytes": download.segment_bytes,
        "down": way("down"),
        "up": way("up"),
        "rtt_umts_s": download.rtt_umts_s,
        "rtt_internet_s": download.rtt_internet_s,
        "packets": download.packets,
        "last_packet_bytes": download.last_bytes or download.down.packet_bytes,
        "rtt_s": download.rtt_s,
        "shortest_rtt_s": download.shortest_rtt_s,
        "cycle_full": download.cycle_full,
        "cycle_last": download.cycle_last,
        "first_s": download.first_s,
        "remaining": download.remaining,
        "second_s": download.second_s,
        "total_s": download.total_s,
        "with_set_up_s": download.with_set_up_s,
        "utilisation": download.utilisation,
    }
