"""Lo, Heijenk and Niemegeers: their data, and what the simulated runs must show."""

from __future__ import annotations

import pytest

from cellwind.reproduce import reproduce
from cellwind.reproduce.lo import plans
from cellwind.reproduce.published import load_paper
from cellwind.reproduce.results import ExperimentResult


def only(selector: str, replications: int = 1) -> ExperimentResult:
    (experiment,) = reproduce(selector, replications).experiments
    return experiment


def test_the_paper_is_carried_over_as_printed() -> None:
    by_id = {experiment.id: experiment for experiment in load_paper("lo").experiments}
    assert list(by_id) == list(plans())
    assert by_id["lo-figure-5a"].rows[2].values == {"throughput_fraction": 0.05}
    assert by_id["lo-figure-6a"].rows[2].values == {"value_s": 0.56}


def test_every_run_has_a_name_and_a_valid_scenario_of_its_own() -> None:
    settings = load_paper("lo").settings
    cells = {cell for plan in plans().values() for cell in (*plan.cells, *plan.traces)}
    scenarios = [cell.scenario(settings) for cell in cells]
    assert len({scenario.name for scenario in scenarios}) == len(cells)
    assert len({scenario.digest for scenario in scenarios}) == len(cells)
    assert not [warning for scenario in scenarios for warning in scenario.warnings]


def test_reno_has_what_the_errors_leave_and_vegas_less() -> None:
    """By hand: 532 of 553 bytes on the link, of which 1 − TBLER transmissions succeed."""
    figure = only("lo-figure-5a")
    rows = {(row.factors["tcp"], row.factors["tbler"]): row.ours for row in figure.rows}
    for tbler in (0.0, 0.3):
        assert rows["reno", tbler] == pytest.approx((1 - tbler) * 532 / 553, rel=0.005)
    assert rows["vegas", 0.0] == pytest.approx(532 / 553, rel=0.005)
    assert isinstance(vegas := rows["vegas", 0.3], float)
    assert vegas < 0.25
    assert figure.claims[3].holds, "no segment is lost on the radio link"


def test_round_trips_stand_on_a_grid_of_ttis() -> None:
    """Equation (4): 40 ms of radio and 80 ms of wire, and 20 ms for every further TTI of the uplink."""
    figure = only("lo-figure-6a")
    rows = {row.factors["quantity"]: row.ours for row in figure.rows}
    assert rows["minimum RTT"] == pytest.approx(0.12)
    assert rows["step between RTT levels"] == pytest.approx(20)
    assert [claim.holds for claim in only("lo-equation-4").claims] == [True, True]


def test_vegas_changes_its_window_as_equation_1_says() -> None:
    found = only("lo-equation-1")
    assert [row.ours for row in found.rows] == pytest.approx([3.6, -1, 2.0, 0])
    assert [claim.holds for claim in found.claims] == [True, True]


def test_a_round_trip_longer_than_the_timer_is_a_spurious_timeout() -> None:
    figure = only("lo-figure-7b")
    assert [claim.holds for claim in figure.claims] == [True]
    assert len(figure.figures) == 1


def test_the_rlc_is_waited_for() -> None:
    for table in ("lo-table-1", "lo-table-2"):
        assert only(table).needs == ["radio: rlc am"]
    missing = [row.factors["parameter"] for row in only("lo-table-3").rows if row.needs == "radio: rlc am"]
    assert missing == ["rlc_window", "rlc_header", "transport_block"]
