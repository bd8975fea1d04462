"""Statistics against closed forms and scipy; series against hand-written facts."""

import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cellwind.analysis import radio, series, statistics
from cellwind.analysis.series import FactTable

# time in ms, machine, kind, flow, seq, length, a, b
FactRow = tuple[int, str, str, str, int, int, int, int]

SENDER = "flow/download/sender"
RECEIVER = "flow/download/receiver"
BEARER = "access/umts/ue/down"

# Three segments of 100 bytes; the second is lost once and repeated by a timeout.
EXCHANGE: list[FactRow] = [
    (0, SENDER, "flow_started", "download", 0, 0, 300, 0),
    (0, SENDER, "cwnd", "download", 1, 0, 200, 200),
    (0, SENDER, "ssthresh", "download", 1, 0, 65535, 0),
    (0, SENDER, "segment_sent", "download", 1, 100, 1, 1),
    (0, SENDER, "segment_sent", "download", 101, 100, 1, 1),
    (500, BEARER, "queue_length", "", 1, 140, 1, 140),
    (600, RECEIVER, "segment_received", "download", 1, 100, 101, 0),
    (1000, SENDER, "ack_received", "download", 101, 0, 1, 0),
    (1000, SENDER, "rtt_sample", "download", 101, 0, 1_000_000_000, 0),
    (1000, SENDER, "srtt", "download", 101, 0, 1_000_000_000, 500_000_000),
    (1000, SENDER, "cwnd", "download", 101, 0, 250, 250),
    (1000, SENDER, "cwnd", "download", 101, 0, 300, 280),
    (1000, SENDER, "segment_sent", "download", 201, 100, 1, 1),
    (1600, RECEIVER, "segment_received", "download", 201, 100, 101, 0),
    (3000, SENDER, "timeout", "download", 101, 0, 3_000_000_000, 200),
    (3000, SENDER, "segment_resent", "download", 101, 100, 2, 1),
    (3600, RECEIVER, "segment_received", "download", 101, 100, 301, 0),
    (3600, RECEIVER, "flow_completed", "download", 0, 0, 300, 0),
    (4000, SENDER, "ack_received", "download", 301, 0, 101, 0),
]


def fact_table(rows: Sequence[FactRow], dictionaries: bool = True) -> Any:
    columns = list(zip(*rows, strict=True)) if rows else [()] * 8
    texts = [pa.array(columns[i], pa.string()) for i in (1, 2, 3)]
    if dictionaries:
        texts = [text.dictionary_encode() for text in texts]
    numbers = [pa.array(columns[i], pa.int64()) for i in (4, 5, 6, 7)]
    time = pa.array([t * 1_000_000 for t in columns[0]], pa.int64())
    names = ["time_ns", "machine", "kind", "flow", "seq", "length", "a", "b"]
    return pa.table([time, *texts, *numbers], names=names)


@dataclass
class Info:
    name: str
    seed: int = 1
    title: str = ""
    description: str = ""
    replications: int = 0

    def to_toml(self) -> str:
        return ""


class Rows:
    """Results that only have a flow table."""

    def __init__(self, rows: list[dict[str, Any]], scenarios: Sequence[Info]) -> None:
        self._rows = rows
        self.scenarios = scenarios

    def flows(self) -> Any:
        return pa.Table.from_pylist(self._rows)

    def bearers(self) -> Any:
        return pa.table({})

    def links(self) -> Any:
        return pa.table({})

    def has_facts(self, scenario: str, replication: int) -> bool:
        return False

    def facts(self, scenario: str, replication: int) -> Any:
        raise KeyError(scenario)


def flow_row(scenario: str, replication: int, duration: float | None) -> dict[str, Any]:
    return {
        "scenario": scenario,
        "replication": replication,
        "flow": "download",
        "transport": "reno",
        "completed": duration is not None,
        "duration_s": duration,
        "goodput_bps": None if duration is None else 8e6 / duration,
        "timeouts": replication,
    }


@pytest.mark.parametrize("probability", [0.6, 0.9, 0.95, 0.975, 0.995, 0.9995, 0.025])
def test_t_quantile_agrees_with_scipy(probability: float) -> None:
    """Over whole and broken degrees of freedom; the loss of digits above 10,000 is that of the log-gamma function."""
    from scipy.stats import t

    for freedom in (1, 1.5, 2, 3, 4.7, 5, 9, 19, 29, 99, 999, 1e4):
        expected = float(t.ppf(probability, freedom))
        assert statistics.student_t_quantile(probability, freedom) == pytest.approx(expected, rel=1e-9)
    for freedom in (1e6, 1e8):
        expected = float(t.ppf(probability, freedom))
        assert statistics.student_t_quantile(probability, freedom) == pytest.approx(expected, rel=1e-6)


def test_t_quantile_has_its_closed_forms() -> None:
    """One degree is Cauchy's tangent, two degrees an algebraic formula, and the median is zero."""
    for p in (0.75, 0.975, 0.999):
        assert statistics.student_t_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-12)
        two = (2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p)))
        assert statistics.student_t_quantile(p, 2) == pytest.approx(two, rel=1e-12)
    assert statistics.student_t_quantile(0.5, 7) == 0


@pytest.mark.parametrize(("probability", "freedom"), [(0.0, 5), (1.0, 5), (0.9, 0), (0.9, -1), (0.9, math.nan)])
def test_t_quantile_refuses_what_has_none(probability: float, freedom: float) -> None:
    """By asking for it."""
    with pytest.raises(ValueError, match="not"):
        statistics.student_t_quantile(probability, freedom)


def test_statistics_load_neither_scipy_nor_numpy() -> None:
    """In a fresh interpreter, as the table of a run is printed by one."""
    code = (
        "import sys; from cellwind.analysis.statistics import mean; mean([1, 2, 3]).text()\n"
        "assert not {'scipy', 'numpy', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_mean_carries_students_interval() -> None:
    """Against numbers worked by hand: t(0.975, 2) = 4.3027, s = 1, n = 3."""
    estimate = statistics.mean([10.0, 12.0, 11.0])
    assert (estimate.mean, estimate.n) == (11.0, 3)
    assert estimate.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert estimate.low == pytest.approx(11.0 - 2.484138, rel=1e-6)


def test_one_value_has_no_interval_and_none_has_no_mean() -> None:
    """By their texts, which show a dash."""
    assert statistics.mean([5.0]).text() == ("5", "–")
    assert statistics.mean([None, math.nan]).text() == ("–", "–")
    assert statistics.mean([None, 5.0]).n == 1
    assert statistics.mean([]).low is None


@pytest.mark.parametrize(
    ("mean", "half", "scale", "text"),
    [
        (347.2139, 1.4321, 1.0, ("347.2", "1.4")),
        (347.2139, 143.21, 1.0, ("347", "143")),
        (0.278825, 0.000094, 1e3, ("278.825", "0.094")),
        (12.0, 0.0, 1.0, ("12", "0")),
        (0.3, 1e-17, 1e3, ("300", "0")),
        (0.0, 0.0, 1.0, ("0", "0")),
        (-2.5, 0.25, 1.0, ("-2.50", "0.25")),
        (123456.0, None, 1.0, ("123456", "–")),
        (1000.0, None, 1.0, ("1000", "–")),
    ],
)
def test_text_has_the_decimals_of_the_half_width(
    mean: float, half: float | None, scale: float, text: tuple[str, str]
) -> None:
    """Two significant digits of the half-width decide for both."""
    assert statistics.Estimate(mean, half, 5 if half is not None else 1).text(scale) == text


def test_pairing_removes_what_both_sides_share() -> None:
    """Both sides follow the same radio; the ratio is exactly 1.2, and the paired interval knows it."""
    radio = [10.0, 14.0, 9.0, 20.0]
    slower = [1.2 * x for x in radio]
    paired = statistics.ratio_of_means(slower, radio, paired=True)
    unpaired = statistics.ratio_of_means(slower, radio, paired=False)
    assert paired.value == pytest.approx(1.2)
    assert paired.half_width == pytest.approx(0.0, abs=1e-12)
    assert unpaired.value == pytest.approx(1.2)
    assert unpaired.half_width is not None
    assert unpaired.half_width > 0.5


@pytest.mark.parametrize("paired", [True, False])
def test_interval_of_the_ratio_covers_as_often_as_it_says(paired: bool) -> None:
    """Over 2,000 samples of 15 with known means; 95 % ± 1.5 points is three times the error of the count itself."""
    generator = np.random.default_rng(7)
    covered = 0
    for _ in range(2000):
        shared = generator.normal(0.0, 1.0, 15)
        x = 20.0 + shared + generator.normal(0.0, 1.0, 15)
        y = 10.0 + (shared if paired else generator.normal(0.0, 1.0, 15)) + generator.normal(0.0, 1.0, 15)
        ratio = statistics.ratio_of_means(x.tolist(), y.tolist(), paired=paired)
        assert ratio.low is not None
        assert ratio.high is not None
        covered += ratio.low <= 2.0 <= ratio.high
    assert covered / 2000 == pytest.approx(0.95, abs=0.015)


def test_ratio_without_values_has_no_number() -> None:
    """Missing pairs are left out; nothing over nothing is NaN, and one pair has no interval."""
    assert math.isnan(statistics.ratio_of_means([None], [1.0], paired=True).value)
    assert math.isnan(statistics.ratio_of_means([1.0], [0.0], paired=False).value)
    single = statistics.ratio_of_means([3.0, None], [2.0, 5.0], paired=True)
    assert (single.value, single.half_width, single.n) == (1.5, None, 1)
    with pytest.raises(ValueError, match="differ in number"):
        statistics.ratio_of_means([1.0], [1.0, 2.0], paired=True)


def test_percentiles_agree_with_numpy() -> None:
    """On an uneven sample, at the ends and in between."""
    values = [3.0, 1.0, 10.0, 2.5]
    levels = (0, 5, 50, 95, 100)
    assert statistics.percentiles(values, levels) == pytest.approx(np.percentile(values, levels).tolist())
    assert all(math.isnan(value) for value in statistics.percentiles([], (5, 50)))
    with pytest.raises(ValueError, match="between 0 and 100"):
        statistics.percentiles(values, (101,))


def test_summary_counts_what_did_not_complete() -> None:
    """Two of three replications complete: the duration is over two, the counters over three."""
    rows = [flow_row("umts", 0, 10.0), flow_row("umts", 1, 12.0), flow_row("umts", 2, None)]
    (item,) = statistics.summary(Rows(rows, [Info("umts")]))
    assert (item.completed, item.replications) == (2, 3)
    assert (item["duration_s"].mean, item["duration_s"].n) == (11.0, 2)
    assert (item["timeouts"].mean, item["timeouts"].n) == (1.0, 3)
    assert item.duration_percentiles_s[1] == 11.0
    assert item.as_row()["duration_s_n"] == 2


def test_scenarios_under_one_seed_are_compared_in_pairs() -> None:
    """Half of the replications of the other scenario are missing; only shared ones are paired."""
    rows = [flow_row("a", i, 10.0 + i) for i in range(4)] + [flow_row("b", i, 2 * (10.0 + i)) for i in range(2)]
    (same,) = statistics.compare(Rows(rows, [Info("a"), Info("b")]))
    ratio = same.ratios["duration_s"]
    assert (same.scenario, same.baseline, ratio.paired, ratio.n) == ("b", "a", True, 2)
    assert ratio.value == pytest.approx(2.0)
    (other,) = statistics.compare(Rows(rows, [Info("a"), Info("b", seed=2)]))
    assert not other.ratios["duration_s"].paired
    with pytest.raises(ValueError, match="no scenario named 'c'"):
        statistics.compare(Rows(rows, [Info("a"), Info("b")]), baseline="c")


@pytest.mark.parametrize("dictionaries", [True, False])
def test_time_sequence_follows_every_segment(dictionaries: bool) -> None:
    """On the exchange above, with text columns both as dictionaries and plain."""
    seen = series.time_sequence(FactTable(fact_table(EXCHANGE, dictionaries)), "download")
    assert seen.sent.value.tolist() == [1, 101, 201]
    assert seen.sent.time_s.tolist() == [0.0, 0.0, 1.0]
    assert seen.resent.value.tolist() == [101]
    assert seen.received.value.tolist() == [1, 201, 101]
    assert seen.acked.value.tolist() == [101, 301]
    assert seen.timeouts.time_s.tolist() == [3.0]
    assert len(seen.spurious_timeouts) == 0


def test_window_keeps_the_last_value_of_an_instant() -> None:
    """At 1 s the window changes twice and a segment leaves; flight spans from the lowest unacknowledged byte."""
    seen = series.window(FactTable(fact_table(EXCHANGE)), "download")
    assert (seen.cwnd.time_s.tolist(), seen.cwnd.value.tolist()) == ([0.0, 1.0], [200, 300])
    assert seen.send_window.value.tolist() == [200, 280]
    assert (seen.flight.time_s.tolist(), seen.flight.value.tolist()) == ([0.0, 4.0], [200, 0])
    assert seen.ssthresh.value.tolist() == [65535]


def test_throughput_delivers_all_bytes_once() -> None:
    """Rates times bins sum to the transfer; delivery waits for the hole that arrival does not see."""
    seen = series.throughput(FactTable(fact_table(EXCHANGE)), "download", bin_s=0.9)
    whole = slice(3, None, 4)
    assert (seen.arrived_bps[whole] * 0.9 / 8).tolist() == pytest.approx([100, 100, 0, 100])
    assert (seen.delivered_bps[whole] * 0.9 / 8).tolist() == pytest.approx([100, 0, 0, 200])
    with pytest.raises(ValueError, match="positive"):
        series.throughput(FactTable(fact_table(EXCHANGE)), "download", bin_s=0)


def test_default_bin_holds_twenty_segments() -> None:
    """A steady second-by-second flow of 600 segments; 30 equal parts would do, so the bin is the next round number."""
    rows: list[FactRow] = [
        (i * 1000, RECEIVER, "segment_received", "download", 1 + 100 * i, 100, 101 + 100 * i, 0) for i in range(601)
    ]
    seen = series.throughput(FactTable(fact_table(rows)), "download")
    assert seen.bin_s == 20.0
    inner = (seen.time_s > 30) & (seen.time_s < 590)
    assert seen.arrived_bps[inner] == pytest.approx(800.0)


@pytest.mark.parametrize("bin_s", [None, 0.5, 30.0])
def test_throughput_ends_with_the_flow(bin_s: float | None) -> None:
    """Eight pings, one a second: the last value is that of the bin which ends with the last of them."""
    rows: list[FactRow] = [
        (500 + i * 1000, RECEIVER, "segment_received", "pings", 1 + 32 * i, 32, 33 + 32 * i, 0) for i in range(8)
    ]
    seen = series.throughput(FactTable(fact_table(rows)), "pings", bin_s)
    assert seen.time_s[-1] == pytest.approx(7.5)
    assert (np.diff(seen.time_s) > 0).all()
    assert seen.bin_s == (bin_s or 1.0)
    assert seen.arrived_bps[-1] == pytest.approx({None: 32 * 8, 0.5: 64 * 8, 30.0: 8 * 32 * 8 / 30}[bin_s])


def test_round_trip_times_are_in_seconds() -> None:
    """On the exchange above."""
    seen = series.rtt(FactTable(fact_table(EXCHANGE)), "download")
    assert (seen.samples.time_s.tolist(), seen.samples.value.tolist()) == ([1.0], [1.0])
    assert seen.srtt.value.tolist() == [1.0]
    assert seen.timeouts.value.tolist() == [3.0]
    assert len(seen.rto) == 0


def test_block_errors_are_counted_per_bearer() -> None:
    """One block in four fails, every 20 ms for 8 s."""
    rows: list[FactRow] = [
        (20 * i, BEARER, "block_resent" if i % 4 == 3 else "block_sent", "", i, 960, 1, int(i % 4 == 2))
        for i in range(400)
    ]
    (seen,) = series.block_errors(FactTable(fact_table(rows)), bin_s=0.8)
    assert (seen.machine, seen.sent, seen.in_error) == (BEARER, 400, 100)
    assert seen.fraction[8:-8] == pytest.approx(0.25)


def test_a_queue_that_nobody_leaves_lasts_until_the_end() -> None:
    """On the exchange above, which goes on until 4 s."""
    (queue,) = series.queues(FactTable(fact_table(EXCHANGE)))
    assert (queue.machine, queue.packets.value.tolist(), queue.bytes.value.tolist()) == (BEARER, [1, 1], [140, 140])
    assert queue.packets.time_s.tolist() == [0.5, 4.0]


def test_a_queue_follows_departures_and_ends_where_it_empties() -> None:
    """Three packets join; two leave at once, the last one later; then one joins and leaves at the same instant."""
    rows: list[FactRow] = [
        *((100, BEARER, "queue_length", "", 1, length, 9, 9) for length in (100, 200, 300)),
        (150, BEARER, "queue_left", "", 0, 0, 2, 0),
        (400, BEARER, "queue_left", "", 0, 0, 1, 0),
        (600, BEARER, "queue_length", "", 1, 50, 1, 50),
        (600, BEARER, "queue_left", "", 0, 0, 1, 0),
        (9000, SENDER, "timeout", "download", 1, 0, 0, 0),
    ]
    (queue,) = series.queues(FactTable(fact_table(rows)))
    assert queue.packets.time_s.tolist() == pytest.approx([0.1, 0.15, 0.4, 0.6])
    assert queue.packets.value.tolist() == [3, 1, 0, 0]
    assert queue.bytes.value.tolist() == [600, 300, 0, 0]


def test_a_link_tells_of_its_queue_when_packets_arrive() -> None:
    """Its packets leave the queue 100 ms before they arrive and tell: of the last 100 ms nothing is known."""
    link = "link/line/down"
    rows: list[FactRow] = [(0, link, "queue_length", "", 1, 100, 9, 9) for _ in range(4)]
    rows += [(110 + 20 * i, link, "queue_left", "", 0, 0, 1, 100_000_000) for i in range(3)]
    rows.append((160, link, "queue_length", "", 1, 100, 9, 9))
    (queue,) = series.queues(FactTable(fact_table(rows)))
    assert queue.packets.time_s.tolist() == pytest.approx([0, 0.01, 0.03, 0.05, 0.06])
    assert queue.packets.value.tolist() == [4, 3, 2, 1, 1]


CELL = "access/umts/cell"
# A terminal in CELL_FACH with one cell reselection, then CELL_DCH and CELL_PCH; a handover and a soft one; calls.
RADIO: list[FactRow] = [
    (0, BEARER, "rrc_state", "", 0, 0, 4, 0),
    (0, BEARER, "channel_rate", "", 0, 0, 32_000, 0),
    (0, BEARER, "channel_rate", "", 0, 0, 16_000, 1),
    (100, CELL, "calls", "", 0, 0, 1, 0),
    (200, CELL, "calls", "", 0, 0, 1, 1),
    (300, CELL, "calls", "", 0, 0, 0, 1),
    (500, BEARER, "channel_rate", "", 0, 0, 0, 0),
    (500, BEARER, "channel_rate", "", 0, 0, 0, 1),
    (900, BEARER, "channel_rate", "", 0, 0, 32_000, 0),
    (900, BEARER, "channel_rate", "", 0, 0, 16_000, 1),
    (1000, BEARER, "queue_length", "download", 1, 140, 1, 140),
    (1000, BEARER, "buffer_occupancy", "", 0, 0, 140, 0),
    (1010, BEARER, "poll_sent", "", 4096, 0, 0, 0),
    (1010, BEARER, "buffer_occupancy", "", 0, 0, 140, 4),
    (1050, "access/umts/ue/up", "status_sent", "", 4100, 0, 0, 0),
    (1080, BEARER, "buffer_occupancy", "", 0, 0, 0, 0),
    (1200, BEARER, "rrc_state", "", 0, 0, 5, 4),
    (1200, BEARER, "channel_rate", "", 0, 0, 384_000, 0),
    (2000, BEARER, "rrc_state", "", 0, 0, 3, 5),
    (2000, BEARER, "channel_rate", "", 0, 0, 0, 0),
    (2000, BEARER, "channel_rate", "", 0, 0, 0, 1),
    # An instant without a channel, as it comes back to CELL_FACH, is no reselection.
    (2500, BEARER, "rrc_state", "", 0, 0, 4, 3),
    (2500, BEARER, "channel_rate", "", 0, 0, 32_000, 0),
    (2600, "handover/ue/down", "handover_started", "", 0, 0, 1, 400_000_000),
    (2600, "handover/ue/up", "handover_started", "", 0, 0, 1, 400_000_000),
    (2700, "link/line/down", "transmission_held", "", 0, 0, 0, 0),
    (2800, "link/line/up", "transmission_held", "", 0, 0, 0, 0),
    (2900, "link/line/down", "transmission_released", "", 0, 0, 0, 0),
    (2950, "link/line/up", "transmission_released", "", 0, 0, 0, 0),
    (3000, "handover/ue/down", "handover_ended", "", 0, 0, 1, 0),
    (3500, "handover/ue/down", "handover_started", "", 0, 0, 0, 0),
    (3500, "handover/ue/down", "handover_ended", "", 0, 0, 0, 0),
    (3600, "handover/other/down", "handover_started", "", 0, 0, 0, 0),
    (3800, "access/umts/ue/up", "transmission_held", "", 0, 0, 0, 0),
    (4000, CELL, "calls", "", 0, 0, 2, 1),
]


def test_what_the_radio_did_over_time() -> None:
    """On the facts above, which end at 4 s."""
    facts = FactTable(fact_table(RADIO))
    assert radio.bearers(facts) == radio.bearers(facts, "rrc_state") == ["umts/ue"]
    state = radio.rrc_state(facts, "umts/ue")
    assert state.time_s.tolist() == pytest.approx([0, 1.2, 2.0, 2.5, 4.0])
    assert [radio.RRC_STATES[int(place)] for place in state.value[:3]] == ["CELL_FACH", "CELL_DCH", "CELL_PCH"]
    down, up = radio.channels(facts, "umts/ue")
    assert down.rate_bps.value.tolist() == [32e3, 0, 32e3, 384e3, 0, 32e3, 32e3]
    assert (up.direction, up.rate_bps.value.tolist()) == ("up", [16e3, 0, 16e3, 0, 0])
    away = radio.reselections(facts, "umts/ue")
    assert (away.start_s.tolist(), away.end_s.tolist()) == ([0.5], [0.9])
    sends, answers = radio.rlc(facts, "umts/ue")
    assert (sends.octets.value.tolist(), sends.pdus.value.tolist()) == ([140, 0, 0], [0, 4, 0, 0])
    assert (sends.polls_s.tolist(), answers.reports_s.tolist()) == ([pytest.approx(1.01)], [pytest.approx(1.05)])
    (cell,) = radio.calls(facts)
    assert (cell.going_on.value.tolist(), cell.refused_s.tolist()) == ([1, 0, 2], [0.2])


def test_spans_are_joined_and_belong_to_terminals() -> None:
    """Two links held at overlapping times are one span; what still lasts ends with the run."""
    facts = FactTable(fact_table(RADIO))
    assert radio.terminals(facts, "download") == ["ue"]

    def listed(spans: radio.Spans) -> list[tuple[float, float]]:
        return list(zip(spans.start_s.round(9).tolist(), spans.end_s.round(9).tolist(), strict=True))

    assert listed(radio.handovers(facts, ["ue"])) == [(2.6, 3.0), (3.5, 3.5)]
    assert listed(radio.handovers(facts, ["other"])) == [(3.6, 4.0)]
    assert listed(radio.pauses(facts, ["ue"])) == [(2.7, 2.95), (3.8, 4.0)]
    assert listed(radio.pauses(facts, ["other"])) == [(2.7, 2.95)]
    assert listed(radio.busy(facts)) == [(0.1, 0.3), (4.0, 4.0)]
    assert listed(radio.handovers(facts, ["ue"]).within(2.8, 3.2)) == [(2.8, 3.0)]


def test_facts_out_of_order_are_put_in_order() -> None:
    """The exchange backwards gives the same series: only rows of one instant may trade places."""
    table = fact_table(EXCHANGE)
    backwards = table.take(list(range(len(EXCHANGE)))[::-1])
    seen = series.time_sequence(FactTable(backwards), "download")
    assert sorted(seen.sent.value.tolist()) == [1, 101, 201]
    assert seen.acked.value.tolist() == [101, 301]


def test_chunks_with_their_own_dictionaries_agree() -> None:
    """Two tables that number the kinds differently, joined as chunks of one."""
    table = pa.concat_tables([fact_table(EXCHANGE[:5]), fact_table(EXCHANGE[5:])])
    assert table.column("kind").num_chunks == 2
    assert series.time_sequence(FactTable(table), "download").acked.value.tolist() == [101, 301]


def test_requests_the_other_way_are_not_the_senders() -> None:
    """What the receiver of the content sends on a full-duplex connection is in no series of the flow."""
    requests: list[FactRow] = [
        (2000, RECEIVER, "segment_sent", "download", 1, 40, 1, 1),
        (2000, RECEIVER, "cwnd", "download", 1, 0, 4000, 4000),
        (2100, RECEIVER, "timeout", "download", 1, 0, 1_000_000_000, 40),
        (2600, SENDER, "segment_received", "download", 1, 40, 41, 0),
        (3100, RECEIVER, "ack_received", "download", 41, 0, 1, 0),
    ]
    alone, both = FactTable(fact_table(EXCHANGE)), FactTable(fact_table(EXCHANGE + requests))
    for one, other in (
        (series.window(alone, "download").cwnd, series.window(both, "download").cwnd),
        (series.time_sequence(alone, "download").sent, series.time_sequence(both, "download").sent),
        (series.time_sequence(alone, "download").acked, series.time_sequence(both, "download").acked),
        (series.time_sequence(alone, "download").received, series.time_sequence(both, "download").received),
        (series.rtt(alone, "download").timeouts, series.rtt(both, "download").timeouts),
    ):
        assert one.value.tolist() == other.value.tolist()


def test_several_connections_have_no_common_window() -> None:
    """A second connection sends byte 1 as new again: then what each has of its own is not mixed."""
    second: list[FactRow] = [(5000, SENDER, "segment_sent", "download", 1, 100, 1, 1)]
    facts = FactTable(fact_table(EXCHANGE + second))
    assert facts.starts_over("download")
    assert not FactTable(fact_table(EXCHANGE)).starts_over("download")
    assert series.time_sequence(facts, "download").sent.value.tolist() == [1, 101, 201, 1]
    assert len(series.time_sequence(facts, "download").acked) == 0
    assert len(series.window(facts, "download").cwnd) == len(series.rtt(facts, "download").srtt) == 0
    assert np.isnan(series.throughput(facts, "download").delivered_bps).all()
    assert len(series.rtt(facts, "download").samples) == len(
        series.rtt(FactTable(fact_table(EXCHANGE)), "download").samples
    )


def test_nothing_is_in_flight_where_nothing_is_acknowledged() -> None:
    """UDP sends and hears nothing: what it has sent since the start is not in flight."""
    sent: list[FactRow] = [(1000 * i, SENDER, "segment_sent", "call", 1 + 20 * i, 20, 1, 0) for i in range(3)]
    assert len(series.window(FactTable(fact_table(sent)), "call").flight) == 0


def test_no_facts_give_empty_series() -> None:
    """An empty table, and a flow that is not there."""
    for table, flow in ((fact_table([]), "download"), (fact_table(EXCHANGE), "upload")):
        facts = FactTable(table)
        assert len(series.time_sequence(facts, flow).sent) == 0
        assert len(series.window(facts, flow).flight) == 0
        assert len(series.throughput(facts, flow).time_s) == 0
        assert len(series.rtt(facts, flow).samples) == 0
    assert series.queues(FactTable(fact_table([]))) == []
    assert series.block_errors(FactTable(fact_table([]))) == []


def test_missing_column_is_named() -> None:
    """By dropping one."""
    with pytest.raises(KeyError, match="no column 'kind'"):
        FactTable(fact_table(EXCHANGE).drop_columns(["kind"]))
