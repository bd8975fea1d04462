"""The Python API: scenarios, variants, results."""

import doctest
import importlib
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cellwind
from cellwind.scenario import Value, to_toml_value

SMALL = {"flow.download.bulk": "20 kB"}


def small(**values: object) -> cellwind.Scenario:
    return cellwind.Scenario.load("umts-384", SMALL | values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "module",
    [
        "cellwind",
        "cellwind.scenario",
        "cellwind.tcp",
        "cellwind.campaign.runner",
        "cellwind.campaign.results",
        "cellwind.campaign.store",
    ],
)
def test_examples_in_docstrings_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By doctest, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    outcome = doctest.testmod(importlib.import_module(module))
    assert outcome.failed == 0
    assert outcome.attempted > 0


def test_every_public_name_is_there() -> None:
    """By fetching each of them; they are imported on first use."""
    for name in cellwind.__all__:
        assert getattr(cellwind, name) is not None
    assert set(cellwind.__all__) <= set(dir(cellwind))
    with pytest.raises(AttributeError, match="no attribute 'scenario_'"):
        _ = cellwind.scenario_


def test_importing_cellwind_imports_nothing_heavy() -> None:
    """By the modules that a fresh interpreter has afterwards."""
    script = "import sys, cellwind; cellwind.Scenario; cellwind.run; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "pyarrow", "pandas", "rich", "plotly", "matplotlib", "scipy"} & set(loaded)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (3, "3"),
        (0.1, "0.1"),
        (1e-7, "1e-07"),
        (math.inf, "inf"),
        ("20 ms", '"20 ms"'),
        ('say "é"\n\x7f', '"say \\"é\\"\\n\\u007f"'),
        ([1, "a", [True]], '[1, "a", [true]]'),
        ({"extends": "reno", "odd key": {}}, '{ extends = "reno", "odd key" = {} }'),
        (np.float64(0.5), "0.5"),
        (np.int32(7), "7"),
        (np.array([1, 2]), "[1, 2]"),
    ],
)
def test_python_values_become_toml(value: object, text: str) -> None:
    """By comparing with the text, and reading that back."""
    import tomllib

    assert to_toml_value(value) == text  # type: ignore[arg-type]
    tomllib.loads(f"x = {text}")


def test_values_that_toml_cannot_say_are_refused() -> None:
    """By trying two."""
    for value in (None, b"bytes"):
        with pytest.raises(TypeError, match="a scenario holds"):
            to_toml_value(value)  # type: ignore[arg-type]


def test_vary_makes_every_combination_the_last_path_fastest() -> None:
    """By the factors and names of two by two variants."""
    variants = small().vary({"access.umts.errors": [0.0, 0.1]}, flow__download__bulk=["10 kB", "20 kB"])
    assert [v.factors for v in variants] == [
        {"access.umts.errors": rate, "flow.download.bulk": bulk} for rate in (0.0, 0.1) for bulk in ("10 kB", "20 kB")
    ]
    assert variants[0].name == "umts-384[access.umts.errors=0.0,flow.download.bulk=10 kB]"
    assert len({v.digest for v in variants}) == 4


def test_variants_can_be_varied_again() -> None:
    """By the factors of the second generation."""
    (first,) = small().vary(access__umts__errors=0.05)
    (second,) = first.vary(seed=range(3, 4))
    assert second.factors == {"access.umts.errors": 0.05, "seed": 3}
    assert second.seed == 3


def test_vary_takes_arrays_and_whole_tables() -> None:
    """By numpy levels and a transport given as a mapping."""
    assert [v.factors["access.umts.errors"] for v in small().vary(access__umts__errors=np.array([0.0, 0.25]))] == [
        0,
        0.25,
    ]
    (variant,) = small().vary(flow__download__transport={"extends": "reno"})
    assert variant.transports["download"] == "reno"


def test_vary_over_nothing_is_an_error() -> None:
    """By an empty list, and a path given twice."""
    with pytest.raises(ValueError, match="no value at all"):
        small().vary(access__umts__errors=[])
    with pytest.raises(TypeError, match="given twice"):
        small().vary({"access.umts.errors": 0.1}, access__umts__errors=0.1)


def test_wrong_scenarios_raise_scenario_errors() -> None:
    """By an unknown name, an unknown key and a value out of range."""
    with pytest.raises(cellwind.ScenarioError, match="umts-384"):
        cellwind.Scenario.load("umts-385")
    with pytest.raises(cellwind.ScenarioError, match="sede"):
        cellwind.Scenario.parse('extends = "umts-384"\nsede = 3')
    with pytest.raises(cellwind.ScenarioError, match=r"access\.umts\.errors"):
        small().with_values({"access.umts.errors": 1.5})


def test_with_values_keeps_name_and_factors() -> None:
    """By a variant that gets another seed."""
    (variant,) = small().vary(access__umts__errors=0.05)
    changed = variant.with_values(seed=9)
    assert (changed.name, changed.factors, changed.seed) == (variant.name, variant.factors, 9)


def test_a_resolved_scenario_is_the_same_scenario() -> None:
    """By parsing what ``to_toml`` gives."""
    scenario = small()
    again = cellwind.Scenario.parse(scenario.to_toml(), scenario.name)
    assert again.digest == scenario.digest


def test_results_have_a_row_per_run_and_flow() -> None:
    """By two variants with three replications each."""
    results = cellwind.run(small().vary(access__umts__errors=[0.0, 0.1]), replications=3)
    flows = results.flows().to_pylist()
    assert [(row["scenario"], row["replication"]) for row in flows] == [
        (f"umts-384[access.umts.errors={rate}]", replication) for rate in (0.0, 0.1) for replication in range(3)
    ]
    assert all(row["completed"] and row["bytes"] == 20_000 for row in flows)
    for row in flows:
        assert row["goodput_bps"] == pytest.approx(8 * row["bytes"] / row["duration_s"])
    assert {row["name"] for row in results.bearers().to_pylist()} == {"umts/ue/down", "umts/ue/up"}
    assert {row["name"] for row in results.links().to_pylist()} == {"internet/down", "internet/up"}
    assert len(results) == 6


def test_what_enters_a_link_or_bearer_is_accounted_for() -> None:
    """By in = delivered + dropped + handed back + held, in bytes."""
    results = cellwind.run(small(), replications=2)
    for row in [*results.links().to_pylist(), *results.bearers().to_pylist()]:
        kinds = ("bytes_delivered", "bytes_dropped", "bytes_handed_back", "bytes_held")
        assert row["bytes_in"] == sum(row[kind] for kind in kinds), row


def test_the_table_has_means_half_widths_and_factors() -> None:
    """By its columns and rows for two variants."""
    frame = cellwind.run(small().vary(access__umts__errors=[0.0, 0.1]), replications=4).table()
    assert list(frame["access.umts.errors"]) == [0.0, 0.1]
    assert list(frame["duration_s_n"]) == [4, 4]
    assert (frame["goodput_bps_mean"] > 0).all()
    assert (frame["duration_s_half_width"] >= 0).all()


def test_seed_and_replications_come_from_the_scenario_or_the_caller() -> None:
    """By comparing durations under equal and different seeds."""
    scenario = small(replications=2)
    first = cellwind.run(scenario).flows()["duration_s"].to_pylist()
    assert len(first) == 2
    assert cellwind.run(scenario, seed=scenario.seed, replications=2).flows()["duration_s"].to_pylist() == first
    results = cellwind.run(scenario, seed=scenario.seed + 1)
    assert results.scenarios[0].seed == scenario.seed + 1
    assert results.flows()["duration_s"].to_pylist() != first


def test_facts_are_kept_on_request() -> None:
    """By their columns, and by asking for facts that nobody kept."""
    results = cellwind.run(small(), replications=2, facts=True)
    facts = results.facts(replication=1)
    assert facts.column_names == ["time_ns", "machine", "kind", "flow", "seq", "length", "a", "b"]
    assert facts.num_rows > 0
    assert "segment_sent" in facts["kind"].to_pylist()
    assert results.has_facts("umts-384", 0)
    with pytest.raises(KeyError, match="no replication 2"):
        results.facts(replication=2)
    with pytest.raises(KeyError, match="facts=True"):
        cellwind.run(small(), replications=1).facts()
    with pytest.raises(KeyError, match="no scenario named"):
        results.facts("umts-385")


def test_figures_are_drawn_from_facts(tmp_path: Path) -> None:
    """By saving the time-sequence graph."""
    results = cellwind.run(small(), replications=1, facts=True)
    saved = tmp_path / "sequence.html"
    results.plot.time_sequence().save(saved)
    assert saved.stat().st_size > 0


def test_the_report_is_one_file(tmp_path: Path) -> None:
    """By writing it from results in memory."""
    results = cellwind.run(small(), replications=2)
    path = results.report(tmp_path / "report.html", figures=False)
    assert "umts-384" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"replications": 0}, "replications are from 1 to 1000000"),
        ({"jobs": 0}, "jobs is at least 1"),
        ({"pcap": True}, "out="),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, int], message: str) -> None:
    """By the text of the ValueError."""
    with pytest.raises(ValueError, match=message):
        cellwind.run(small(), **arguments)  # type: ignore[arg-type]


def test_only_scenarios_are_run() -> None:
    """By giving the name of one."""
    for given in ("umts-384", ["umts-384"]):
        with pytest.raises(TypeError, match=r"Scenario\.load"):
            cellwind.run(given)  # type: ignore[arg-type]


def test_scenarios_of_one_name_are_refused() -> None:
    """By running the same scenario twice, and none."""
    with pytest.raises(ValueError, match="two scenarios are named umts-384"):
        cellwind.run([small(), small()])
    with pytest.raises(ValueError, match="no scenario"):
        cellwind.run([])


def test_warnings_of_scenarios_reach_python_once() -> None:
    """By two variants with the same one, and by its absence where there is none."""
    told = "flow.download: packets of 1.5 kB do not get through access.umts down: `queue` has 1 kB"
    narrow = small(**{"access.umts.queue": "1 kB", "stop_at": "1 s"})
    assert narrow.warnings == [told]
    with pytest.warns(cellwind.ScenarioWarning) as caught:
        cellwind.run(narrow.vary(seed=[1, 2]), replications=1)
    assert [str(warning.message) for warning in caught] == [told]
    assert caught[0].filename == __file__
    cellwind.run(small(), replications=1)  # a warning would be an error here


def test_a_live_run_has_warnings_of_its_own() -> None:
    """By header compression, which finds nothing to compress there."""
    pdcp: dict[str, Value] = {"access.umts.pdcp": {"header": True, "compression": "rfc1144"}}
    scenario = cellwind.Scenario.load("umts-rlc-384", pdcp)
    assert scenario.warnings == []
    assert scenario.live_warnings == [
        "access.umts.pdcp.compression: packets of a live run do not show their headers and pass unchanged"
    ]


def test_timeouts_of_the_handshake_are_in_the_row() -> None:
    """By a blackout of 20 s at the start: the timer of the SYN expires after 1, 3, 7 and 15 s (RFC 6298 §5.5)."""
    blackout = {"rate": 0.0, "blackouts": [{"duration": "20 s"}]}
    scenario = small(**{"access.umts.down.errors": blackout, "access.umts.up.errors": blackout})
    (flow,) = cellwind.run(scenario, replications=1).records[0].flows
    assert (flow["timeouts"], flow["segments_retransmitted"], flow["completed"]) == (4, 0, True)
