"""What is read from the rows of the runs: download times and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from cellwind.analysis.statistics import mean, ratio_of_means

from ..design import Bench
from ..quantities import Point, Quantity
from .cells import Cell
from .observed import Blocks, Observation
from .rlc import Rlc

LundstenBench = Bench[Cell, Observation]
Measure = Callable[[LundstenBench, Cell], Point]


def increase(bench: LundstenBench, cell: Cell) -> Point:
    """Extra download time over the error-free Reno run, in percent."""
    return _relative(bench, cell, 100.0, -100.0)


def tcp_increase(bench: LundstenBench, cell: Cell) -> Point:
    """Table 4: the same with a tenth of the time, that of the block retransmissions, taken out."""
    return _relative(bench, cell, 90.0, -100.0)


def decrease(bench: LundstenBench, cell: Cell) -> Point:
    """Download time saved against an initial window of one segment under the same errors, in percent."""
    one = replace(cell, initial_window=1)
    ratio = ratio_of_means(bench.samples(cell, "duration_s"), bench.samples(one, "duration_s"), paired=True)
    return Point(cell.factors, 100.0 * (1.0 - ratio.value), _scaled(ratio.half_width, 100.0), ratio.n)


def download_time(bench: LundstenBench, cell: Cell) -> Point:
    """Download time in seconds, with its value in every replication."""
    times = [float(time) for time in bench.samples(cell, "duration_s") if time is not None]
    found = mean(times)
    return Point(cell.factors, found.mean, found.half_width, found.n, samples=times)


def speed(bench: LundstenBench, cell: Cell) -> Point:
    """File size over download time in kbit/s, averaged over the runs."""
    times = bench.samples(cell, "duration_s")
    found = mean(8e-3 * cell.file_bytes / time for time in times if time is not None)
    return Point(cell.factors, found.mean, found.half_width, found.n)


def utilisation(bench: LundstenBench, cell: Cell) -> Point:
    """Share of the link rate that the file got on average."""
    found = speed(bench, cell)
    return replace(found, value=found.number / cell.rate_kbps, half_width=_scaled(found.half_width, 1 / cell.rate_kbps))


def block_increase(bench: LundstenBench, cell: Cell) -> Point:
    """Block transmissions beyond one per block, in percent: what the radio link alone costs."""
    found = mean(
        100.0 * row["blocks_resent"] / (row["blocks_sent"] - row["blocks_resent"]) for row in bench.bearers(cell)
    )
    return Point(cell.factors, found.mean, found.half_width, found.n)


def count(column: str) -> Measure:
    """The mean of a column that counts, such as ``timeouts``."""

    def measure(bench: LundstenBench, cell: Cell) -> Point:
        found = mean(bench.samples(cell, column))
        return Point(cell.factors, found.mean, found.half_width, found.n)

    return measure


def longer_without_errors(bench: LundstenBench, cell: Cell) -> Point:
    """How much longer an error-free transfer takes than over the block model, in percent."""
    clean, plain = cell.reference, replace(cell, bearer="block model").reference
    ratio = download_time(bench, clean).number / download_time(bench, plain).number
    return Point(clean.factors, 100.0 * (ratio - 1.0))


def block_model(bench: LundstenBench, cell: Cell) -> Blocks:
    """What the block model did in replication 0. Raises NotRunError."""
    found = bench.observed(cell).link
    assert isinstance(found, Blocks)
    return found


def full_rlc(bench: LundstenBench, cell: Cell) -> Rlc:
    """What the full RLC did in replication 0. Raises NotRunError."""
    found = bench.observed(cell).link
    assert isinstance(found, Rlc)
    return found


def over(bench: LundstenBench, cells: Iterable[Cell], measure: Measure) -> Quantity:
    """One measure over several cells."""
    return Quantity.of(measure(bench, cell) for cell in cells)


def redundant_increase(bench: LundstenBench, cell: Cell) -> Point:
    """The time that segments sent twice take on the link, in percent of an error-free transfer.

    Nothing is lost on this path, so that every retransmission is needless.
    """
    found = mean(
        [None if resent is None else resent / cell.packets for resent in bench.samples(cell, "segments_retransmitted")]
    )
    return Point(cell.factors, 100 * found.mean / (1 - cell.bler), n=found.n)


def _relative(bench: LundstenBench, cell: Cell, scale: float, offset: float) -> Point:
    times = bench.samples(cell, "duration_s")
    # The error-free run has no randomness: its one value stands for all.
    reference = bench.samples(cell.reference, "duration_s")[:1] * len(times)
    ratio = ratio_of_means(times, reference, paired=True)
    return Point(cell.factors, scale * ratio.value + offset, _scaled(ratio.half_width, scale), ratio.n)


def _scaled(half_width: float | None, scale: float) -> float | None:
    return None if half_width is None else half_width * scale
