"""Published results beside ours: the check language, the data of the papers, and runs of the real core."""

from __future__ import annotations

import html
import io
import json
import math
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cellwind.reproduce import UnknownExperimentError, experiment_ids, papers, reproduce
from cellwind.reproduce.checks import Bindings, CheckSyntaxError, evaluate, parse
from cellwind.reproduce.lundsten.cells import Cell
from cellwind.reproduce.lundsten.plans import plans
from cellwind.reproduce.published import load_paper, paper_ids
from cellwind.reproduce.quantities import Distribution, Factor, Point, Quantity
from cellwind.reproduce.results import ExperimentResult, Reproduction


def points(values: Mapping[tuple[tuple[str, Factor], ...], float | str]) -> Quantity:
    """A quantity with half-widths of 1; a text as value is what the point needs."""
    return Quantity.of(
        Point(dict(factors), needs=value) if isinstance(value, str) else Point(dict(factors), value, 1.0, 20)
        for factors, value in values.items()
    )


BINDINGS = Bindings(
    {
        "time": points(
            {
                (("tcp", "reno"), ("rate_kbps", 64)): 11.0,
                (("tcp", "reno"), ("rate_kbps", 128)): 19.0,
                (("tcp", "reno"), ("rate_kbps", 384)): 239.0,
                (("tcp", "split"), ("rate_kbps", 128)): 12.0,
                (("tcp", "split"), ("rate_kbps", 384)): 76.0,
                (("tcp", "eifel"), ("rate_kbps", 384)): "transport: eifel",
            }
        ),
        "window": Quantity.of([Point({"tcp": "reno"}, distribution=Distribution([1.0, 7.0], [1.0, 3.0]))]),
        "download": Quantity.of([Point({"tcp": "reno"}, 10.0, 1.0, 3, samples=[9.0, 10.0, 11.0])]),
        "retransmits": Quantity.constant(0.0),
    },
    scope={"tcp": "reno"},
    aliases=lambda name, value: (
        ("rate_kbps", value * 1000) if name == "rate_mbps" and value == 0.384 else (name, value)
    ),
)


@pytest.mark.parametrize(
    ("check", "holds"),
    [
        ("time(rate_kbps=384) > 5 * time(rate_kbps=128)", True),
        ("time(rate_kbps=384) > time(rate_kbps=128) > time(rate_kbps=64)", True),
        ("time(rate_kbps=384) > time(rate_kbps=64) > time(rate_kbps=128)", False),
        ("time > 10", True),
        ("time > 15", False),
        ("retransmits == 0; time(rate_kbps=64) != 12", True),
        ("split.time(rate_kbps=384) < reno.time(rate_kbps=384)", True),
        ("time(split) < time(reno)", True),
        ("time(rate_kbps < 384) < 20", True),
        ("time(rate_mbps=0.384) == 239", True),
        ("-time(rate_kbps=64) + 2 ** 4 == 5.0", True),
        ("rises(time, rate_kbps); falls(1 / time, rate_kbps)", True),
        ("flat(time, rate_kbps)", False),
        ("flat(time, rate_kbps, rate_kbps > 300)", None),
        ("argmax(time, rate_kbps) == 384; argmin(time, tcp, tcp != eifel, rate_kbps=128) == split", True),
        ("max(window) == 7; min(window) == 1; mean(window) == 5.5; reno.stdev(window) > 2.5", True),
        ("quantile(window, 0.2) == 1; median(window) == 7", True),
        ("min(time) == 11; spread(time, tcp=split) > 5", True),
        ("coefficient_of_variation(download) == 0.1", True),
        ("significant(time(rate_kbps=64), time(rate_kbps=128)) == 1", True),
        ("correlation(time, 2 * time) > 0.99; jain(retransmits) == 1; abs(-3) == 3", True),
    ],
)
def test_checks_say_what_they_mean(check: str, holds: bool | None) -> None:
    verdict = evaluate(check, BINDINGS)
    assert verdict.holds is holds, verdict.why


@pytest.mark.parametrize(
    ("check", "holds"),
    [
        ("time(rate_kbps=64) ~ 12.05", True),  # within a tenth of the right side
        ("time(rate_kbps=64) ~ 12.5", False),
        ("time(rate_kbps=64) ~ 10.05", True),  # by the half-width of 1, which is more than a tenth
        ("time(rate_kbps=64) - 11 ~ 0.9", True),
        ("time(rate_kbps=64) - 11 ~ 1.2", False),
    ],
)
def test_about_equal_is_a_tenth_or_the_half_width(check: str, holds: bool) -> None:
    assert evaluate(check, BINDINGS).holds is holds


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("time(tcp=eifel) < 40", "needs transport: eifel"),
        ("goodput > 1", "nothing measures goodput"),
        ("time(rate_kbps=2000) > 1", "not measured for rate_kbps = 2000"),
        ("time(buffer=3) > 1", "not measured for buffer = 3"),
        ('significant("a", "b") == 1', "'a' is not a number"),
        ("on(retransmits == 0, time)", "nothing measures on"),
        ("retransmits / retransmits == 1", "division"),
    ],
)
def test_what_was_not_measured_is_neither_true_nor_false(check: str, reason: str) -> None:
    verdict = evaluate(check, BINDINGS)
    assert verdict.holds is None
    assert reason in verdict.why


def test_a_false_statement_decides_whatever_the_others_would_say() -> None:
    assert evaluate("goodput > 1; time(rate_kbps=64) > 100", BINDINGS).holds is False
    # Also within a chain: 239 is not below 76, whatever Eifel does.
    assert evaluate("time(rate_kbps=384) < time(split, rate_kbps=384) < time(tcp=eifel)", BINDINGS).holds is False


def test_a_verdict_quotes_the_measured_figures() -> None:
    assert "239.0 ± 1.0 > 95.0 ± 5.0" in evaluate("time(rate_kbps=384) > 5 * time(rate_kbps=128)", BINDINGS).why
    assert evaluate("time > 15", BINDINGS).why == "1 of 3 fail: 64 kbit/s: not 11.0 ± 1.0 > 15"


@pytest.mark.parametrize(
    "check",
    ["", "a b", "a ==", "(lambda: 1)() == 1", "a if b else c", "a[0] == 1", "[x for x in y]", "f'{a}' == 1", "a := 1"],
)
def test_anything_outside_the_language_is_refused(check: str) -> None:
    with pytest.raises(CheckSyntaxError):
        parse(check)


def test_nothing_in_a_check_is_executed(tmp_path: Path) -> None:
    target = tmp_path / "made"
    verdict = evaluate(f'open("{target}", "w") == 1; __import__("os").getcwd() == 1', BINDINGS)
    assert verdict.holds is None
    assert not target.exists()


def test_semicolons_and_tildes_in_quotes_belong_to_the_name() -> None:
    assert [statement.text for statement in parse('f("a;b~c") ~ 1; g == 2')] == ['f("a;b~c") ~ 1', "g == 2"]


def test_half_widths_follow_the_arithmetic() -> None:
    """By hand: (10 ± 3) / (5 ± 0) = 2 ± 0.6, and (10 ± 3) - (5 ± 4) = 5 ± 5."""
    ten, five = Quantity.of([Point(value=10.0, half_width=3.0)]), Quantity.of([Point(value=5.0, half_width=4.0)])
    (quotient,) = ten.combine(Quantity.constant(5.0), lambda x, y: x / y).points
    (difference,) = ten.combine(five, lambda x, y: x - y).points
    assert quotient.value == 2.0
    assert quotient.half_width == pytest.approx(0.6)
    assert difference.value == 5.0
    assert difference.half_width == pytest.approx(5.0)


@pytest.mark.parametrize("paper", paper_ids())
class TestPapers:
    def test_every_check_is_in_the_language(self, paper: str) -> None:
        for experiment in load_paper(paper).experiments:
            for claim in experiment.claims:
                assert parse(claim.check)

    def test_every_unstated_parameter_is_chosen_exactly_once(self, paper: str) -> None:
        known = load_paper(paper)
        unstated = {entry for experiment in known.experiments for entry in experiment.unstated}
        answers = [answer for choice in known.choices for answer in choice.answers]
        assert set(answers) == unstated
        assert len(answers) == len(set(answers))
        assert all(choice.reason and choice.value for choice in known.choices)
        for part in {part for choice in known.choices for part in choice.parts} or {""}:
            held = [choice for choice in known.choices if not choice.parts or part in choice.parts]
            paths = [path for choice in held for path in choice.settings]
            assert len(paths) == len(set(paths))

    def test_experiments_are_unique_and_carry_the_paper_as_prefix(self, paper: str) -> None:
        ids = experiment_ids(paper)
        assert len(ids) == len(set(ids))
        assert all(re.fullmatch(rf"{paper}-[a-z0-9-]+", experiment) for experiment in ids)

    def test_explanations_belong_to_experiments(self, paper: str) -> None:
        assert set(load_paper(paper).explanations) <= set(experiment_ids(paper))


def test_the_thesis_is_carried_over_whole() -> None:
    """24 experiments with 91 lines and 53 claims; the two headline numbers stand as printed."""
    thesis = load_paper("lundsten")
    assert len(thesis.experiments) == 24
    assert sum(len(experiment.rows) for experiment in thesis.experiments) == 91
    assert sum(len(experiment.claims) for experiment in thesis.experiments) == 53
    by_id = {experiment.id: experiment for experiment in thesis.experiments}
    assert by_id["lundsten-table-3"].rows[0].values == {"increase_in_time_percent": 239.0}
    assert by_id["lundsten-table-14"].rows[0].values == {"increase_in_time_percent": 676.0}
    assert by_id["lundsten-table-7"].setup["one_way_delay_ms"] == 30
    assert list(plans()) == [experiment.id for experiment in thesis.experiments]


def test_files_are_whole_packets_with_headers() -> None:
    """16 Mbyte of 576 bytes are 27777.8 packets; the link carries 27778 whole ones."""
    assert Cell(384, 576).packets == 27778
    assert Cell(384, 1500).packets == 10667
    assert Cell(64, 1500, file_kbytes=100).file_bytes == 67 * 1500


def test_every_run_has_a_name_and_a_valid_scenario_of_its_own() -> None:
    thesis = load_paper("lundsten")
    cells = {cell for plan in plans().values() for cell in (*plan.cells, *plan.traces)}
    scenarios = [cell.scenario(thesis.settings_of(cell.bearer)) for cell in cells]
    assert len({scenario.name for scenario in scenarios}) == len(cells)
    assert len({scenario.digest for scenario in scenarios}) == len(cells)
    assert not [warning for scenario in scenarios for warning in scenario.warnings]


def test_all_papers_have_a_title() -> None:
    assert papers() == {
        "lundsten": "Improving 3G performance for Mobile Internet",
        "gurtov": "Efficient Transport in 2.5G-3G Wireless Wide Area Networks",
        "teyeb": "Quality of Packet Services in UMTS and Heterogeneous Networks",
        "lo": "On the Performance of TCP Vegas over UMTS/WCDMA Channels with Large Round-Trip Time Variations",
    }
    assert set(papers()) == set(paper_ids())


@pytest.mark.parametrize(
    ("selector", "nearest"), [("lundsten-table-33", "lundsten-table-3"), ("lundstein", "lundsten"), ("", None)]
)
def test_an_unknown_name_is_answered_with_the_nearest_one(selector: str, nearest: str | None) -> None:
    with pytest.raises(UnknownExperimentError) as caught:
        reproduce(selector)
    assert isinstance(caught.value, ValueError)
    assert repr(selector) in str(caught.value)
    if nearest is not None:
        assert caught.value.nearest == nearest
        assert nearest in str(caught.value)


def test_replications_start_at_one() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        reproduce("lundsten-table-3", replications=0)


@pytest.fixture(scope="module")
def short_files() -> Reproduction:
    return reproduce("lundsten-table-10", replications=3, jobs=2)


def only(reproduction: Reproduction) -> ExperimentResult:
    (experiment,) = reproduction.experiments
    return experiment


def test_error_free_speeds_are_the_published_ones(short_files: Reproduction) -> None:
    """Table 10 without errors has no randomness: all six within 4 % of the printed kbit/s."""
    clean = [row for row in only(short_files).rows if row.metric == "speed_at_bler_0_kbps"]
    assert len(clean) == 6
    for row in clean:
        assert row.relative_difference is not None
        assert abs(row.relative_difference) < 0.04, row
        assert row.n == 1
        assert row.half_width is None


def test_the_worst_case_is_the_published_one() -> None:
    """Table 3: 239 % for 384 kbit/s with 576 bytes, and only the blocks' own 11 % at 64 kbit/s."""
    rows = {
        (row.factors["rate_kbps"], row.factors["packet_bytes"]): row
        for row in only(reproduce("lundsten-table-3", replications=3)).rows
    }
    assert rows[384, 576].ours == pytest.approx(239, rel=0.1)
    assert rows[64, 576].ours == pytest.approx(11.1, rel=0.05)
    assert rows[64, 1500].ours == pytest.approx(11.1, rel=0.05)


def test_the_block_model_behaves_as_the_text_says() -> None:
    model = only(reproduce("lundsten-table-2-model", replications=2))
    assert [claim.holds for claim in model.claims] == [True] * 6
    measured = {str(row.factors["quantity"]): row for row in model.rows if row.ours is not None}
    assert measured["extra delay of one block retransmission"].ours == pytest.approx(60, abs=0.5)
    assert measured["one-way delay UMTS"].ours == pytest.approx(60, abs=1e-3)
    assert measured["one-way delay Internet"].ours == pytest.approx(75, abs=1e-3)
    assert measured["PDU at 384 kbps"].ours == 960
    assert measured["processing part of it (both ends)"].ours == pytest.approx(40)
    assert measured["status report part of it"].ours == pytest.approx(20)
    assert model.status == "done"


def test_the_full_rlc_stands_beside_the_block_model() -> None:
    """In sequence the window of 25 segments does not cover the pauses; at 64 kbit/s only the errors cost time.

    One in ten PDUs is sent again, 11 % more of them, beside reports that the error-free transfer has as well.
    """
    table = only(reproduce("lundsten-table-15", replications=1))
    increases = {
        (row.factors["rate_kbps"], row.factors["packet_bytes"], row.factors.get("bearer", "block model")): row.ours
        for row in table.rows
        if row.metric == "increase_in_time_percent"
    }
    assert len(increases) == 12
    for packet in (576, 1500):
        assert increases[64, packet, "full RLC"] == pytest.approx(10, abs=1.5)
    model, full = (increases[384, 576, bearer] for bearer in ("block model", "full RLC"))
    assert isinstance(model, float)
    assert isinstance(full, float)
    assert model < full < 2 * model
    assert len(table.figures) == 1


def test_an_experiment_that_cannot_run_says_what_it_needs() -> None:
    remedies = only(reproduce("lundsten-table-1", replications=2))
    assert remedies.status == "needs"
    assert remedies.needs[:2] == ["proxy: split tcp", "proxy: snoop"]
    measured = {(row.factors["solution"], row.metric): row.ours for row in remedies.rows if row.ours is not None}
    spurious = "spurious_retransmissions_and_timeouts"
    assert measured == {
        ("eifel", spurious): 1.0,
        ("westwood", spurious): 1.0,
        ("tcp_parameter_tuning", "small_files"): 1.0,
    }


def test_eifel_and_westwood_keep_the_window_from_reordering() -> None:
    """Table 5 prints 34.2, 13.6 and 12.5 % where Reno needs 239, 25 and 19 % more time; Table 6 33.6 % and less."""
    increases = [row.ours for name in ("5", "6") for row in only(reproduce(f"lundsten-table-{name}", 2)).rows]
    assert all(isinstance(value, float) for value in increases)
    assert max(value for value in increases if isinstance(value, float)) < 70


def test_results_do_not_depend_on_the_number_of_threads(short_files: Reproduction) -> None:
    again = reproduce("lundsten-table-10", replications=3, jobs=1)
    assert again.experiments == short_files.experiments


def test_progress_counts_every_scenario_once() -> None:
    told: list[tuple[int, int, str]] = []
    reproduce(
        "lundsten-figure-18", replications=1, progress=lambda done, wanted, name: told.append((done, wanted, name))
    )
    assert [(done, wanted) for done, wanted, _ in told] == [(1, 3), (2, 3), (3, 3)]
    assert all(name.startswith("lundsten-384k-576B-100kB") for _, _, name in told)


def test_json_has_what_was_promised(short_files: Reproduction) -> None:
    found = json.loads(short_files.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    (experiment,) = found["experiments"]
    assert experiment["id"] == "lundsten-table-10"
    assert experiment["status"] == "done"
    assert set(experiment["rows"][0]) >= {"factors", "metric", "published", "ours", "half_width", "n"}
    assert set(experiment["claims"][0]) >= {"text", "holds", "why"}
    assert len(experiment["rows"]) == 12


@pytest.mark.parametrize("columns", [60, 80])
def test_the_table_fits_the_terminal(short_files: Reproduction, columns: int) -> None:
    """No line is longer, and no number is cut."""
    from rich.console import Console

    console = Console(width=columns, record=True, file=io.StringIO())
    console.print(short_files.table(columns))
    text = console.export_text()
    assert max(len(line.rstrip()) for line in text.splitlines()) <= columns
    assert "…" not in text
    assert "224.09" in text
    assert "2 claims hold" in text.replace("\n", " ")


class Links(HTMLParser):
    """Every address a page refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: set[str] = set()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.found += [value for name, value in attrs if name in ("src", "href") and value is not None]
        self.ids |= {value for name, value in attrs if name == "id" and value is not None}


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    figure = reproduce("lundsten-figure-18", replications=1)
    path = figure.write_page(tmp_path / "deep" / "page.html")
    links = Links()
    links.feed(path.read_text(encoding="utf-8"))
    assert all(link.startswith(("data:image/svg+xml", "#")) for link in links.found)
    assert {link[1:] for link in links.found if link.startswith("#")} <= links.ids
    assert not {"script", "link", "iframe"} & links.tags
    assert "img" in links.tags
    assert [entry.name for entry in path.parent.iterdir()] == ["page.html"]


def test_the_page_shows_choices_and_explanations(short_files: Reproduction, tmp_path: Path) -> None:
    page = short_files.write_page(tmp_path / "page.html").read_text(encoding="utf-8")
    for choice in load_paper("lundsten").choices:
        assert html.escape(choice.name) in page
    assert "224.09" in page
    assert "<script" not in page


def test_a_distribution_weighs_by_time() -> None:
    held = Distribution([2.0, 4.0], [3.0, 1.0])
    assert held.mean() == 2.5
    assert held.stdev() == pytest.approx(math.sqrt(0.75))
    assert held.fraction_at(2.0) == 0.75
    assert held.quantile(0.5) == 2.0
    assert held.quantile(0.9) == 4.0


def test_the_list_of_papers_survives_a_reproduction() -> None:
    """A submodule named like the function would take its place once it is imported."""
    import cellwind.reproduce

    cellwind.reproduce.reproduce("lundsten-table-5")
    assert "lundsten" in cellwind.reproduce.papers()
