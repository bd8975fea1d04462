"""Section 5.2.2: a download in slow start, (5.7) to (5.14), Tables 5.1 and 5.2 and Figures 5.6 to 5.8.

Ours is what ``cellwind predict`` computes; the tables, and the downloads that stand beside the figures, are simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cellwind.predict.download import Download, Way

from ..design import Beside, Plan
from ..estimates import column, mean_point, over
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from .observed import SlowStart, TeyebBench, TeyebPlan
from .transfers import TTI_S, Transfer

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

FERS, DELAYS = (0.0, 0.1, 0.2), (1, 10, 20, 30)
STUDY = [Transfer(fer=fer, ret_ttis=ret) for fer in FERS for ret in DELAYS]
# Those of (5.14) and Figure 5.17, with the delays that Figure 5.16 found.
MEASURED = [Transfer(384, 0.1, ret) for ret in (18, 20, 22)]
# A packet of three TTIs, so that times are whole packets, and TTIs that begin as soon as there is something to send.
TABLE = Transfer(384, mss=1400, starts="on-demand")
_ONE_PACKET = Transfer(file_bytes=1000)


def plans() -> dict[str, TeyebPlan]:
    """The plans of the equations, tables and figures of section 5.2.2."""
    return {
        "equation-5-7": Plan(
            measure=lambda _, row, __: Point(value=_way(row).packets_per_s),
            quantities=lambda _: {
                "packet_bytes_dl": Quantity.constant(float(STUDY[0].download.down.packet_bytes)),
                "packet_bytes_ul": Quantity.constant(float(STUDY[0].download.up.packet_bytes)),
            },
        ),
        "equation-5-8": Plan(
            measure=lambda _, row, __: Point(value=_of(row).rtt_s), quantities=lambda _: {"rtt": _model(_rtt)}
        ),
        "equation-5-9": Plan(
            measure=lambda _, row, __: Point(value=float(max(cell.download.cycle_full for cell in STUDY))),
            quantities=lambda _: {"cf": _model(lambda found: found.cycle_full)},
        ),
        "equation-5-10": Plan(
            measure=lambda _, row, __: Point(value=float(_file(row).cycle_last)), quantities=lambda _: _cycles()
        ),
        "equation-5-11": Plan(quantities=lambda _: {"T_first": _over_files(lambda found: found.first_s)}),
        "equation-5-12": Plan(
            measure=lambda _, row, __: Point(value=float(_file(row).remaining)),
            quantities=lambda _: {
                "remaining": _model(lambda found: found.remaining),
                "cycles": _model(lambda found: found.cycles),
                "M": _model(lambda found: found.packets),
            },
        ),
        "equation-5-13": Plan(
            measure=lambda _, row, __: Point(value=_file(row).second_s),
            quantities=lambda _: {
                "T_second": _model(lambda found: found.second_s),
                "remaining": _model(lambda found: found.remaining),
                "u_dl": _model(lambda found: found.down.packets_per_s),
            },
        ),
        "equation-5-14": Plan(
            cells=MEASURED,
            measure=lambda _, row, metric: Point(
                value=_of(row).with_set_up_s if "handshakes" in metric else _of(row).total_s
            ),
            quantities=lambda bench: {
                "T_measured": over(MEASURED, _factors, partial(_time, bench)),
                "T_total": _model(lambda found: found.total_s, MEASURED),
                "RTT": _model(_rtt, MEASURED),
            },
            beside=lambda bench: _simulated(bench, MEASURED),
        ),
        "table-5-1": Plan(traces=[TABLE], measure=_departure, quantities=_departures),
        "table-5-2": Plan(traces=[TABLE], measure=_arrival, quantities=_windows),
        "figure-5-6": Plan(
            cells=STUDY,
            measure=lambda _, row, __: Point(value=_of(row).total_s),
            quantities=lambda _: {"download_time": _model(lambda found: found.total_s), "slope": _slope()},
            beside=lambda bench: _simulated(bench, STUDY),
            figures=_figure("download"),
        ),
        "figure-5-7": Plan(measure=_round_trip, quantities=lambda _: {"rtt": _model(_rtt)}, figures=_figure("rtt")),
        "figure-5-8": Plan(
            quantities=lambda _: {
                "utilisation": _model(lambda found: found.utilisation),
                "download_time": _over_files(lambda found: found.total_s, "file_kbytes"),
                "rtt": Quantity.constant(_ONE_PACKET.download.rtt_s),
            },
            figures=_figure("utilisation"),
        ),
    }


def _factors(cell: Transfer) -> dict[str, Factor]:
    return cell.factors


def _rtt(found: Download) -> float:
    return found.rtt_s


def _model(value: Callable[[Download], float], cells: Iterable[Transfer] = STUDY) -> Quantity:
    return Quantity.of(Point(cell.factors, float(value(cell.download))) for cell in cells)


def _over_files(value: Callable[[Download], float], factor: str = "packets") -> Quantity:
    """The model over files of one packet and more."""
    found = []
    for cell in (_ONE_PACKET, *(replace(_ONE_PACKET, file_bytes=count * 1460) for count in (3, 71))):
        size = cell.file_bytes // 1000 if factor == "file_kbytes" else cell.download.packets
        found.append(Point({factor: size}, float(value(cell.download))))
    return Quantity.of(found)


def _cycles() -> dict[str, Quantity]:
    """How many packets the first cycles have sent together."""
    download = STUDY[0].download
    return {
        "packets_sent": Quantity.of(
            Point({"cycle": i}, float(len(download.departures(i + 1)))) for i in range(download.cycle_last)
        ),
        "cycle": Quantity.of(Point({"cycle": i}, float(i)) for i in range(download.cycle_last)),
    }


def _way(row: PublishedRow) -> Way:
    rate, fer, size = (float(row.factors[name]) for name in ("rate_kbps", "fer", "packet_bytes"))
    return Way(1e3 * rate, TTI_S, fer, 0.0, int(size))


def _of(row: PublishedRow) -> Download:
    """The download of a row: at 128 kbit/s, unless it names its rate."""
    factors: Mapping[str, Factor] = row.factors
    rate, fer = float(factors.get("rate_dl_kbps", 128)), float(factors.get("fer", factors.get("fer_dl", 0.0)))
    ret = float(factors.get("ret_ttis", float(factors.get("ret_ms", 10)) / 10))
    return Transfer(round(rate), fer, round(ret)).download


def _file(row: PublishedRow) -> Download:
    """The file of 71 packets; over the link of (5.14) it has four cycles before the link is busy."""
    found = MEASURED[0].download
    assert found.packets == row.factors["packets"]
    assert row.factors.get("cycles", found.cycles) == found.cycles
    return found


def _slope() -> Quantity:
    """What a TTI more of delay adds to the download, in s, over the figure's range."""
    first, last = DELAYS[0], DELAYS[-1]
    found = []
    for fer in FERS:
        low, high = (Transfer(fer=fer, ret_ttis=ret).download.total_s for ret in (first, last))
        found.append(Point({"fer": fer}, (high - low) / (last - first)))
    return Quantity.of(found)


def _round_trip(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    if metric == "rtt_ratio":
        low, high = (Transfer(fer=0.2, ret_ttis=ret).download.rtt_s for ret in (1, 30))
        return Point(value=high / low)
    return Point(value=_of(row).rtt_s)


def _time(bench: TeyebBench, cell: Transfer) -> Point:
    return mean_point(cell.factors, column(bench.flows(cell), "duration_s"))


def _simulated(bench: TeyebBench, cells: Sequence[Transfer]) -> list[Beside]:
    """What the simulator takes for these downloads, set-up and the last way included."""
    return [Beside(cell.factors, "simulated_with_handshake_s", partial(_time, bench, cell)) for cell in cells]


# Tables 5.1 and 5.2: a simulated download, in round trips and packets.


def _slow_start(bench: TeyebBench) -> SlowStart:
    found = bench.observed(TABLE).slow_start
    assert found is not None
    return found


def _split(time_s: float) -> tuple[int, float]:
    """A time as so many round trips, and what is left as so many packets at the link's rate."""
    download = TABLE.download
    trips = int(time_s / download.rtt_s + 1e-6)
    return trips, abs(time_s - trips * download.rtt_s) * download.down.packets_per_s


def _departure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    seen, packet = _slow_start(bench), int(row.factors["packet"])
    begun_s = seen.begun_s[packet - 1]
    trips, packets = _split(begun_s)
    if metric.startswith("end"):
        packets += (seen.ended_s[packet - 1] - begun_s) * TABLE.download.down.packets_per_s
    return Point(value=float(trips) if metric.endswith("rtts") else round(packets, 6))


def _arrival(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
    time_s, window = next(
        (time_s, window) for packet, time_s, window in _slow_start(bench).acks if packet == row.factors["ack_for"]
    )
    trips, packets = _split(time_s)
    match metric:
        case "time_rtts":
            return Point(value=float(trips))
        case "time_packets":
            return Point(value=round(packets, 6))
        case _:
            return Point(value=float(window))


def _departures(bench: TeyebBench) -> dict[str, Quantity]:
    """The cycles with gaps: all packets of one are sent before the next begins."""
    found = [_split(time_s) for time_s in _slow_start(bench).begun_s[: 2**TABLE.download.cycle_full - 1]]
    cycles = sorted({trips for trips, _ in found})
    begins = {cycle: _slow_start(bench).begun_s[[trips for trips, _ in found].index(cycle)] for cycle in cycles}
    counts = {cycle: sum(trips == cycle for trips, _ in found) for cycle in cycles}

    def per_cycle(values: Mapping[int, float]) -> Quantity:
        return Quantity.of(Point({"cycle": cycle}, float(value)) for cycle, value in values.items())

    return {
        "cycle_start": per_cycle(begins),
        "packets_in_cycle": per_cycle(counts),
        "cycle": per_cycle({cycle: cycle for cycle in cycles}),
        "RTT": Quantity.constant(TABLE.download.rtt_s),
    }


def _windows(bench: TeyebBench) -> dict[str, Quantity]:
    acks = _slow_start(bench).acks[: 2**TABLE.download.cycle_full - 1]
    return {
        "cwnd": Quantity.of(Point({"packet": packet}, float(window)) for packet, _, window in acks),
        "packet": Quantity.of(Point({"packet": packet}, float(packet)) for packet, _, _ in acks),
    }


def _figure(name: str) -> Callable[[TeyebBench], Sequence[Figure]]:
    def drawn(bench: TeyebBench) -> Sequence[Figure]:
        from cellwind.report.figure import Axis

        from .model_figures import downloads

        match name:
            case "download":
                return [downloads("Download time, (5.14)", Axis("Download time", "s"), lambda d: d.total_s)]
            case "rtt":
                return [downloads("Round trip, (5.8)", Axis("Round trip", "ms"), lambda d: 1e3 * d.rtt_s)]
            case _:
                return [downloads("Utilisation of the link", Axis("Utilisation", "%"), lambda d: 100 * d.utilisation)]

    return drawn
