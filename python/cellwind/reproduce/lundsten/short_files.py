"""Section 5.4: files of 50 to 200 kByte and the initial window."""

from __future__ import annotations

from dataclasses import replace

from ..design import Plan
from ..published import PublishedRow
from ..quantities import Point, Quantity
from . import figures
from .cells import ONE_WAY_MS, grid
from .common import ALL, BASE, SHORT, SMALL, LundstenPlan, cell_of, scope, table
from .measures import LundstenBench, decrease, download_time, increase, over, speed


def table_9() -> LundstenPlan:
    cells = grid(SHORT, ALL)

    def quantities(bench: LundstenBench) -> dict[str, Quantity]:
        return {
            "increase_in_time_percent": over(bench, [*cells, BASE], increase),
            "download_time": over(bench, cells, download_time),
            "time_before_first_data": Quantity.of(
                Point(cell.factors, bench.observed(cell).first_data_s) for cell in cells
            ),
            # The round trip of the path alone: twice the one-way delay of section 5.2.4.
            "rtt": Quantity.of(Point(cell.factors, 2e-3 * sum(ONE_WAY_MS[cell.path])) for cell in cells),
        }

    return table([*cells, BASE], increase, SHORT, quantities, traces=cells)


def table_10() -> LundstenPlan:
    cells = grid(SHORT, ALL)
    clean = [cell.reference for cell in cells]

    def measure(bench: LundstenBench, row: PublishedRow, metric: str) -> Point:
        cell = cell_of(SHORT, row)
        return speed(bench, cell.reference if metric == "speed_at_bler_0_kbps" else cell)

    return Plan(
        cells=[*cells, *clean],
        scope=scope(SHORT, ("bler",)),
        measure=measure,
        quantities=lambda bench: {"speed_kbps": over(bench, [*cells, *clean], speed)},
    )


def table_11() -> LundstenPlan:
    larger = [cell for iw in (3, 4) for cell in grid(replace(SHORT, initial_window=iw), SMALL)]
    one = grid(SHORT, SMALL)
    by_formula = {mss: replace(SHORT, packet_bytes=mss + 40, initial_window="rfc3390") for mss in (536, 1460)}

    def quantities(bench: LundstenBench) -> dict[str, Quantity]:
        return {
            "decrease_percent": over(bench, larger, decrease),
            "initial_window": Quantity.of(
                Point({"mss": mss}, float(bench.observed(cell).first_burst)) for mss, cell in by_formula.items()
            ),
        }

    return table(
        [*larger, *one],
        decrease,
        SHORT,
        quantities,
        free=("initial_window",),
        references=False,
        traces=list(by_formula.values()),
    )


def figure_18() -> LundstenPlan:
    windows = {iw: replace(SHORT.reference, initial_window=iw) for iw in (1, 3, 4)}

    def quantities(bench: LundstenBench) -> dict[str, Quantity]:
        sizes = (20_000, 100_000)
        times = {(size, iw): bench.observed(cell).time_to(size) for iw, cell in windows.items() for size in sizes}
        gain = {key: 100.0 * (1.0 - time / times[key[0], 1]) for key, time in times.items() if key[1] > 1}
        return {
            "time_to_bytes": Quantity.of(
                Point({"bytes": size, "initial_window": iw}, time) for (size, iw), time in times.items()
            ),
            "gain_percent": Quantity.of(
                Point({"file_kbytes": size // 1000, "initial_window": iw}, value) for (size, iw), value in gain.items()
            ),
        }

    return Plan(
        traces=list(windows.values()),
        quantities=quantities,
        figures=lambda bench: [figures.initial_windows("Data received without errors", windows, bench)],
    )


def figure_19() -> LundstenPlan:
    windows = {iw: replace(SHORT, initial_window=iw) for iw in (1, 3, 4)}
    cells = list(windows.values())
    return Plan(
        cells=cells,
        traces=cells,
        scope=scope(SHORT, ("initial_window",)),
        quantities=lambda bench: {"download_time": over(bench, cells, download_time)},
        figures=lambda bench: [figures.initial_windows("Data received at 10 % BLER, one run each", windows, bench)],
    )


def table_12_13(file_kbytes: int) -> LundstenPlan:
    # The claim of Table 13 compares the two file sizes.
    sizes = (50, 200) if file_kbytes == 200 else (50,)
    larger = [c for kb in sizes for c in grid(replace(SHORT, file_kbytes=kb, initial_window=3), SMALL)]
    one = [c for kb in sizes for c in grid(replace(SHORT, file_kbytes=kb), SMALL)]
    return table(
        [*larger, *one],
        decrease,
        replace(SHORT, file_kbytes=file_kbytes, initial_window=3),
        lambda bench: {"decrease_percent": over(bench, larger, decrease)},
        references=False,
    )
