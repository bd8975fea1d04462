"""The simulator's figures beside the model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cellwind.analysis.statistics import Estimate, mean

if TYPE_CHECKING:
    from cellwind.scenario import Scenario

    from . import Prediction


@dataclass(frozen=True)
class Pair:
    """One quantity of both: in ``unit`` times ``scale``; ``simulated`` is a mean over the replications."""

    name: str
    key: str
    predicted: float
    simulated: Estimate
    unit: str
    scale: float = 1.0

    @property
    def difference(self) -> float | None:
        """How far the model is from the simulation, as a share of it; None when no download was completed."""
        return self.predicted / self.simulated.mean - 1 if self.simulated.n else None


def beside(
    scenario: Scenario, prediction: Prediction, replications: int | None = None, jobs: int | None = None
) -> Sequence[Pair]:
    """Runs the scenario and compares what can be compared.

    The download time of the simulator begins with the connection and ends when all has arrived, so that the model's is
    the one with two more round trips. Its round trips include the queue, those of the model do not. Downloads that were
    not completed do not count.

    Raises what ``cellwind.run`` raises.
    """
    from cellwind.campaign.runner import carry_out

    rows = carry_out([scenario], replications=replications, jobs=jobs).records
    flows = [flow for record in rows for flow in record.flows if flow["completed"]]
    download = prediction.download
    goodput = 8 * download.file_bytes / download.with_set_up_s

    def over(key: str) -> Estimate:
        return mean([value for flow in flows if isinstance(value := flow.get(key), float)])

    return (
        Pair("Download time", "duration_s", download.with_set_up_s, over("duration_s"), "s"),
        Pair("Goodput", "goodput_bps", goodput, over("goodput_bps"), "kbit/s", 1e-3),
        Pair("Round trip", "rtt_mean_s", download.rtt_s, over("rtt_mean_s"), "ms", 1e3),
    )
