"""Lo, Heijenk and Niemegeers: their data, and what the simulated runs must show."""

from __future__ import annotations

import numpy as np
import pytest

from cellwind.analysis.series import Facts
from cellwind.reproduce import reproduce
from cellwind.reproduce.lo import parts, plans, reports
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
    warned = {scenario.name for scenario in scenarios if scenario.warnings}
    assert warned == {cell.name for cell in cells if not cell.has_sender_triggers}, "which may come to a standstill"


def test_timers_are_the_ones_that_were_chosen() -> None:
    settings = load_paper("lo").settings
    assert settings["access.umts.rlc.poll.timer"] == f"{1e3 * reports.POLL_TIMER_S:g} ms"
    chosen = [ms for ms, cell in parts.PROHIBITS.items() if cell.status_prohibit_ms is None]
    assert [settings["access.umts.rlc.status.prohibit"]] == [f"{ms} ms" for ms in chosen]


def test_reno_has_what_the_errors_leave_and_vegas_less() -> None:
    """By hand: 532 of 554 bytes on the link with a length indicator; 25 of 1200 blocks a second are reports.

    With errors 1 − TBLER transmissions succeed; some blocks are asked for again that are on their way.
    """
    figure = only("lo-figure-5a")
    rows = {(row.factors["tcp"], row.factors["tbler"]): row.ours for row in figure.rows}
    clean = (1 - 25 / 1200) * 532 / 554
    assert rows["reno", 0.0] == pytest.approx(clean, rel=0.002)
    assert rows["vegas", 0.0] == pytest.approx(clean, rel=0.002)
    assert isinstance(reno := rows["reno", 0.3], float)
    assert 0.95 < reno / (0.7 * clean) < 1.0
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


def facts(*rows: tuple[float, int, int, int]) -> Facts:
    """Rows of time, kind, number and value ``b``."""
    time_s, kind, seq, b = (np.array(column) for column in zip(*rows, strict=True))
    return Facts(time_s.astype(float), kind, seq, np.full(len(seq), 42), np.ones(len(seq), dtype=int), b)


def test_a_retransmission_waits_from_one_transmission_to_the_next() -> None:
    """Block 1 fails twice and is there after 30 and 50 ms; block 2 is sent again although it arrived."""
    waited_ms, needless = reports.retransmissions(
        facts((0.0, 0, 1, 1), (0.0, 0, 2, 0), (0.03, 1, 1, 1), (0.03, 1, 2, 0), (0.08, 1, 1, 0))
    )
    assert waited_ms.tolist() == pytest.approx([30, 50])
    assert needless == 1


def test_a_poll_counts_as_repeated_when_the_next_one_comes_with_the_timer() -> None:
    """Lost polls at 1, 2 and 3 s: one repeated after 90 ms, one too late, one answered by a report in between."""
    sent = facts((1.0, 0, 10, 1), (1.09, 0, 11, 0), (2.0, 0, 12, 1), (2.2, 0, 13, 0), (3.0, 0, 14, 1))
    polls = facts((1.0, 0, 10, 0), (1.09, 0, 11, 0), (2.0, 0, 12, 0), (2.2, 0, 13, 0), (3.0, 0, 14, 0))
    assert reports.repetitions(sent, polls, facts((3.04, 0, 10, 0))) == (2, 1)


def test_polls_are_repeated_and_keep_the_link_from_a_standstill() -> None:
    table = only("lo-table-1")
    assert [claim.holds for claim in table.claims] == [True, True]
    ours = {row.factors.get("sender_triggers"): row.ours for row in table.rows if row.metric == "deadlocks"}
    assert ours["on"] == 0
    assert isinstance(ours["off"], float)
    assert ours["off"] >= 1


def test_the_parameters_are_found_in_the_facts() -> None:
    rows = {str(row.factors["parameter"]): row.ours for row in only("lo-table-3").rows}
    assert (rows["rlc_payload"], rows["rlc_header"]) == (320, 16)
    assert rows["transport_block"] == 336
    assert rows["rlc_window"] == 4095, "one less than Table 3 has: numbers have 12 bits"
