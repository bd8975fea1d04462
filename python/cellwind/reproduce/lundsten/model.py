"""Table 1 and the model of sections 5.2.2 to 5.2.4."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..design import Plan
from ..published import PublishedRow
from ..quantities import Point, Quantity
from .cells import grid
from .common import (
    BASE,
    EIFEL,
    FULL_RLC,
    IN_SEQUENCE,
    PDU_40_IN_SEQUENCE,
    SHORT,
    SMALL,
    WESTWOOD,
    LundstenPlan,
    needs,
    scope,
)
from .measures import LundstenBench, block_increase, block_model, decrease, full_rlc, increase, over


def table_1() -> LundstenPlan:
    cells = [cell for iw in (1, 3) for cell in grid(replace(SHORT, initial_window=iw), SMALL)]
    spurious = "spurious_retransmissions_and_timeouts"
    remedies = {("eifel", spurious): EIFEL, ("westwood", spurious): WESTWOOD}
    parts = {
        "split_tcp": "proxy: split tcp",
        "snoop": "proxy: snoop",
        "eifel": "study: what a remedy does to other problems",
        "westwood": "study: what a remedy does to other problems",
        "hsdpa": "radio: hs-dsch",
        "tcp_parameter_tuning": "study: tcp parameter tuning",
    }

    def measure(bench: LundstenBench, row: PublishedRow, metric: str) -> Point:
        solution = str(row.factors["solution"])
        if (solution, metric) == ("tcp_parameter_tuning", "small_files"):
            # The parameter the thesis tunes for small files is the initial window (Table 11).
            gains = [decrease(bench, cell).number for cell in cells if cell.initial_window == 3]
            return Point(value=float(min(gains) > 0.0), n=len(gains))
        if (solution, metric) in remedies:
            # It differs from Reno in what it makes of spurious retransmissions (section 5.3.3).
            remedy = increase(bench, remedies[solution, metric]).number
            return Point(value=float(remedy < increase(bench, BASE).number))
        return needs(parts[solution])

    return Plan(cells=[*cells, *remedies.values(), BASE, BASE.reference], measure=measure)


def model() -> LundstenPlan:
    rate_128, rate_64 = replace(BASE, rate_kbps=128), replace(SHORT, rate_kbps=64)
    traces = [BASE, IN_SEQUENCE, PDU_40_IN_SEQUENCE, rate_128, rate_64, FULL_RLC]
    read: dict[str, Callable[[LundstenBench], float]] = {
        "extra delay of one block retransmission": lambda b: block_model(b, BASE).extra_delay_ms,
        # The block model knows the sum of the two only.
        "processing part of it (both ends)": lambda b: full_rlc(b, FULL_RLC).processing_ms,
        "status report part of it": lambda b: full_rlc(b, FULL_RLC).status_ms,
        "one-way delay Internet": lambda b: b.observed(BASE).internet_ms,
        "one-way delay UMTS": lambda b: b.observed(BASE).umts_ms,
        "PDU at 384 kbps": lambda b: float(block_model(b, BASE).largest_bytes),
        "PDU at 128 kbps": lambda b: float(block_model(b, rate_128).largest_bytes),
        "PDU at 64 kbps": lambda b: float(block_model(b, rate_64).largest_bytes),
    }

    def measure(bench: LundstenBench, row: PublishedRow, metric: str) -> Point:
        return Point(value=read[str(row.factors["quantity"])](bench))

    def quantities(bench: LundstenBench) -> dict[str, Quantity]:
        plain, sequence, small = (block_model(bench, cell) for cell in (BASE, IN_SEQUENCE, PDU_40_IN_SEQUENCE))
        early = plain.early + sequence.early + small.early
        packets = plain.packets + sequence.packets + small.packets
        return {
            # The bearer with 40-byte PDUs sends most blocks, so that rare events are counted there.
            "block_undelivered_probability": Quantity.of(
                Point({"n": n, "bler": 0.1}, share) for n, share in small.undelivered.items()
            ),
            "retransmission_queue_position": Quantity.constant(
                max(plain.overtaken_by, small.overtaken_by), "new blocks sent before a block that was back"
            ),
            "concatenation": Quantity.constant(
                float(plain.shared > 0), f"{plain.shared} blocks with two packets or more"
            ),
            "segmentation": Quantity.constant(float(small.split > 0), f"{small.split} packets of several blocks"),
            "packet_delivery_requires_all_blocks": Quantity.constant(
                float(early == 0), f"{early} of {packets} packets left before their last block"
            ),
            "rlc_only_increase_percent": over(bench, [BASE], block_increase),
            "reordered_packets": Quantity.of(
                Point(cell.factors, float(seen.reordered), detail=f"of {seen.packets}")
                for cell, seen in ((BASE, plain), (IN_SEQUENCE, sequence))
            ),
        }

    return Plan(
        cells=[BASE],
        traces=traces,
        scope=scope(BASE, ("rlc_delivery",)),
        measure=measure,
        quantities=quantities,
    )
