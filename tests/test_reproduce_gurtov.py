"""Gurtov's papers: their data, and what the simulated runs must show."""

from __future__ import annotations

import pytest

from cellwind.reproduce import reproduce
from cellwind.reproduce.gurtov import plans
from cellwind.reproduce.published import load_paper
from cellwind.reproduce.results import ExperimentResult


def only(selector: str, replications: int) -> ExperimentResult:
    (experiment,) = reproduce(selector, replications).experiments
    return experiment


def test_the_papers_are_carried_over_as_printed() -> None:
    """Table 2 of P3 has six numbers, and every experiment has a plan."""
    papers = load_paper("gurtov")
    by_id = {experiment.id: experiment for experiment in papers.experiments}
    assert list(by_id) == list(plans())
    printed = [value for row in by_id["gurtov-p3-table-2"].rows for value in row.values.values()]
    assert printed == [153.27, 170.51, 601, 65, 47, 196.4]
    assert by_id["gurtov-p2-figure-9"].rows[0].values == {"elapsed_s": 114}


def test_every_run_has_a_name_and_a_valid_scenario_of_its_own() -> None:
    paper = load_paper("gurtov")
    cells = {cell for plan in plans().values() for cell in (*plan.cells, *plan.traces, *plan.live)}
    scenarios = [cell.scenario(paper.settings_of(cell.paper)) for cell in cells]
    assert len({scenario.name for scenario in scenarios}) == len(cells)
    assert len({scenario.digest for scenario in scenarios}) == len(cells)
    assert not [warning for scenario in scenarios for warning in scenario.warnings]


def test_linux_2_4_only_goes_back_n_after_the_delay() -> None:
    """Figure 9 prints 114 s; 400 packets of 296 bytes at 9600 bit/s and the delay are 108.7 s."""
    figure = only("gurtov-p2-figure-9", 1)
    elapsed, ideal = figure.rows[:2]
    assert elapsed.ours == pytest.approx(114, rel=0.01)
    assert ideal.ours == pytest.approx(400 * 296 * 8 / 9600 + 10)
    assert [claim.holds for claim in figure.claims] == [True]
    assert elapsed.n == 1, "nothing is random on the path"


def test_linux_2_2_repeats_nine_segments_more() -> None:
    """Figure 8: the less careful restriction lets a false fast retransmit through."""
    figure = only("gurtov-p2-figure-8", 1)
    assert figure.rows[0].ours == pytest.approx(115, rel=0.02)
    assert figure.claims[0].holds is True


def test_freebsd_falls_into_a_chain_of_timeouts() -> None:
    """Figure 6 prints two timeouts after the false fast retransmit, and that the stack is the slowest."""
    figure = only("gurtov-p2-figure-6", 1)
    assert [row.ours for row in figure.rows if row.metric == "timeouts"] == [2]
    assert all(claim.holds for claim in figure.claims)


def test_windows_98_sends_again_what_was_not_lost() -> None:
    assert all(claim.holds for claim in only("gurtov-p2-figure-7", 1).claims)


def test_the_link_of_the_case_study_is_the_one_of_the_table() -> None:
    """Table 1: 11 packets, 9600 bit/s, 200 ms; 1 and 10 % within what ten transfers can tell."""
    rows = {str(row.factors["parameter"]): row for row in only("gurtov-p3-table-1", 10).rows}
    assert rows["input queue and link send buffer"].ours == 11
    assert rows["rate"].ours == pytest.approx(9600, rel=1e-6)
    assert rows["propagation delay"].ours == pytest.approx(200, abs=0.5)  # a packet takes 0.24 ms on the LAN
    assert rows["packet error, first 40 s"].ours == pytest.approx(1, abs=0.8)
    assert rows["packet error, later"].ours == pytest.approx(10, abs=1.5)


def test_percentiles_have_intervals_from_the_order_of_their_values() -> None:
    """By hand: of 20 values the 6th and the 15th hold the median with 95.9 %, the 10 % percentile has none."""
    from cellwind.reproduce.estimates import percentile_point

    values = [float(n) for n in range(20)]
    median = percentile_point({}, values, 50)
    assert (median.value, median.half_width) == (9.5, (14 - 5) / 2)
    assert percentile_point({}, values, 10).half_width is None
    assert percentile_point({}, values[:3], 50).half_width is None


def test_eifel_keeps_every_tcp_from_sending_twice() -> None:
    """Table 3 of P5 prints 0.99 to 1.00 with the large buffer, and 0.80 to 0.96 without Eifel."""
    (table,) = reproduce("gurtov-p5-table-3").experiments
    large = [row for row in table.rows if row.factors["buffer_kbytes"] == 100]
    assert len(large) == 18
    for row in large:
        assert row.ours == pytest.approx(row.published, rel=0.05), row.factors


def test_a_download_of_p5_runs_as_often_as_the_paper_did() -> None:
    (experiment,) = reproduce("gurtov-p5-table-2").experiments
    assert {row.n for row in experiment.rows} == {100}
    assert sum(row.is_off for row in experiment.rows) <= 2


def test_eifel_repairs_a_loss_behind_a_delay_without_the_bug_fix() -> None:
    """Figures 3 and 4 of P8 count timeouts: two where the loss waits for one, else one."""
    for name in ("gurtov-p8-figure-3", "gurtov-p8-figure-4"):
        figure = only(name, 1)
        assert [row.ours for row in figure.rows] == [row.published for row in figure.rows]
        assert all(claim.holds for claim in figure.claims)


def test_eifel_more_than_doubles_the_throughput_over_a_long_link() -> None:
    """Table 1 of P8 prints 138 s and 39 s."""
    off, on = (row for row in only("gurtov-p8-table-1", 10).rows if row.metric == "time_s")
    assert on.ours == pytest.approx(39, rel=0.2)
    assert isinstance(off.ours, float)
    assert off.ours > 2 * float(on.ours or 0)


def test_recommendations_of_p4_hold() -> None:
    """Its Table 1: restart the timer, time every segment, ask SACK for what was lost, else the careful bug fix."""
    for name in ("gurtov-p4-figure-1", "gurtov-p4-figure-2", "gurtov-p4-figure-4", "gurtov-p4-figure-5"):
        assert all(claim.holds for claim in only(name, 1).claims), name


def test_duplicates_that_inflate_the_window_are_followed_by_a_pause() -> None:
    """Figure 5 (b): segments leave for duplicates, and the next new acknowledgement takes them off the window."""
    first, last, pause = (row.ours for row in only("gurtov-p4-figure-5", 1).rows)
    assert isinstance(first, float)
    assert isinstance(last, float)
    assert last - first == pytest.approx(6 * 1000 * 8 / 9600, rel=1e-3)  # seven duplicates, a packet apart
    assert pause == pytest.approx(7 * 1000 * 8 / 9600, rel=1e-3)  # the same seven acknowledged


def test_choices_of_one_paper_leave_the_others_alone() -> None:
    paper = load_paper("gurtov")
    clock = "flow.transfer.transport.rto.granularity"
    assert [paper.settings_of(part).get(clock) for part in ("P3", "P5")] == ["10 ms", "100 ms"]
    assert paper.settings == {}
