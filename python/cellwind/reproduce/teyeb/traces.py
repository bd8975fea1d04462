"""Figures 7.4 to 7.19 and Table E.1: what single downloads did around their handover."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..design import Plan
from ..published import PublishedRow
from ..quantities import Factor, Point, Quantity
from .cells import MSS, Buffering, Cell
from .connection import Connection
from .handover import SCHEMES, time_of
from .moves import of
from .observed import TeyebBench, TeyebPlan

if TYPE_CHECKING:
    from cellwind.report.figure import Figure

Numbers = Mapping[str, float]
Read = Callable[[Connection], Numbers]

_PLACES = ("first", "second", "third")


def plans() -> dict[str, TeyebPlan]:
    """The plans of the traces, in the order of the text."""
    upward = {scheme: of("WLAN-UMTS", "ordinary", 5, scheme) for scheme in SCHEMES}
    eifel = {scheme: of("WLAN-UMTS", "eifel", 2, scheme) for scheme in SCHEMES}
    down = {scheme: of("GPRS-UMTS", "ordinary", 10, scheme) for scheme in SCHEMES}
    at_zero = of("WLAN-UMTS", "eifel", 0, "none")
    sack, sack_down = of("WLAN-UMTS", "sack", 0, "none"), of("UMTS-WLAN", "sack", 0, "none")
    return {
        "figure-7-4": _trace(upward["none"], _several),
        "figure-7-5": _beside(upward, "cut_off_after_handover_s", Connection.cut_off_s),
        "figure-7-6": _trace(upward["full"], _full),
        "figure-7-8": _trace(at_zero, _eifel),
        "figure-7-9": _trace(eifel["none"], _by_11_s),
        "figure-7-10": _trace(eifel["intermediate"], _by_11_s),
        "figure-7-11": _trace(eifel["full"], _by_11_s),
        "figure-7-13": _compared({"sack": sack, "ordinary": of("WLAN-UMTS", "ordinary", 0, "none")}),
        "figure-7-14": _dsack(),
        "figure-7-15": _compared({"downward": sack_down, "upward": sack}),
        "figure-7-17": _trace(down["none"], _waits),
        "figure-7-18": _waits_longer(down["intermediate"], down["none"]),
        "figure-7-19": _progression(down),
        "table-e-1": _trace(at_zero, _table_e_1),
    }


def _trace(cell: Cell, read: Read) -> TeyebPlan:
    """A figure of one download; a row names a number by its event or quantity and its metric."""

    def measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
        what = str(row.factors.get("event", row.factors.get("quantity", "")))
        return Point(value=read(bench.observed(cell).met).get(f"{what}: {metric}", "absent"))

    def quantities(bench: TeyebBench) -> dict[str, Quantity]:
        numbers = read(bench.observed(cell).met)
        return {name: Quantity.constant(value) for name, value in numbers.items() if ":" not in name}

    return Plan(cells=[cell], traces=[cell], measure=measure, quantities=quantities, figures=_figure([cell]))


def _figure(cells: list[Cell]) -> Callable[[TeyebBench], list[Figure]]:
    def drawn(bench: TeyebBench) -> list[Figure]:
        from .figures import handovers

        if bench.clock != "simulated":
            return []
        first = cells[0]
        title = f"{first.origin.upper()} to {first.target.upper()}, handover of {first.handover_delay_s} s"
        return [handovers(title, {cell: bench.observed(cell) for cell in cells})]

    return drawn


def _several(seen: Connection) -> Numbers:
    """Figure 7.4: three timeouts, of which two meet the handover."""
    timeouts = seen.timeouts_of_handover()
    begun, last = seen.resent()
    times = dict(zip(("first timeout", "second timeout", "third timeout"), timeouts, strict=False))
    return {
        **{f"{name}: time_s": time for name, time in times.items()},
        "first timeout: rto_ms": 1e3 * seen.rto_before_s,
        "lost data resent: from_s": begun,
        "lost data resent: until_s": last,
        "timeouts_until_recovery": float(len(timeouts)),
        "lost_retransmissions": float(sum(time < seen.end_s for time in timeouts)),
        "idle_after_handover_s": seen.idle_after_handover_s(),
    }


def _full(seen: Connection) -> Numbers:
    """Figure 7.6: what was kept is resent all the same."""
    idle = seen.longest_silence_s()
    return {
        "idle while only duplicate acknowledgements return: value_s": idle,
        "idle_s": idle,
        "redundant_retransmissions": float(seen.redundant()),
        "window_at_handover": seen.flight_before / MSS,
        "fast_retransmits_after_timeout": float((seen.sequence.fast_retransmits.time_s > seen.start_s).sum()),
    }


def _eifel(seen: Connection) -> Numbers:
    """Figure 7.8: a timeout taken back, and the next one."""
    first, second = seen.timeouts_after(seen.start_s)[:2]
    new = seen.new_data_after(first)
    last = float(seen.ack_numbers.time_s[seen.ack_numbers.time_s < second][-1])
    return {
        "timeout: time_s": first,
        "new data: time_s": new,
        "second timeout: time_s": second,
        "extra idle time: value_s": second - last,
        "extra_idle_s": second - last,
        "timeouts_undone": float(len(seen.undone_s)),
        "segments_lost": float(len(seen.sequence.resent) - seen.redundant()),
    }


def _by_11_s(seen: Connection) -> Numbers:
    sent = seen.sent_by(11.0)
    timeouts = len(seen.timeouts_of_handover())
    return {
        "sent by 11 s: value_bytes": sent,
        "bytes_sent": sent,
        "timeouts": float(timeouts),
        "undone": float(len(seen.undone_s)),
    }


def _waits_longer(longer: Cell, shorter: Cell) -> TeyebPlan:
    """Figure 7.18: by how much the wait for the timeout is longer than in Figure 7.17."""

    def waits(bench: TeyebBench) -> Numbers:
        extended, plain = (_waits(bench.observed(cell).met) for cell in (longer, shorter))
        name = "timeout_after_handover_s"
        return {**extended, "extra_wait_s": extended[name] - plain[name]}

    def measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
        return Point(value=waits(bench)["extra_wait_s"])

    def quantities(bench: TeyebBench) -> dict[str, Quantity]:
        return {name: Quantity.constant(value) for name, value in waits(bench).items() if ":" not in name}

    return Plan(traces=[longer, shorter], measure=measure, quantities=quantities, figures=_figure([longer, shorter]))


def _waits(seen: Connection) -> Numbers:
    """Figures 7.17 and 7.18: when the timer expires at last."""
    wait = seen.timeouts_after(seen.end_s)[0] - seen.end_s
    after = seen.rto.value[seen.rto.time_s > seen.end_s]
    return {
        "timeout after the handover: delay_s": wait,
        "timeout_after_handover_s": wait,
        "rto_before": seen.rto_before_s,
        "rto_after": float(after[0]) if len(after) else seen.rto_before_s,
    }


def _table_e_1(seen: Connection) -> Numbers:
    """Table E.1, in seconds since the timeout; a line that our trace has not is absent."""
    first, second = seen.timeouts_after(seen.start_s)[:2]
    acks = seen.ack_numbers.time_s
    answer = float(acks[acks > first][0])
    sent = seen.sequence.sent.time_s
    new = [float(time) for time in sent[(sent >= answer) & (sent < second)]]
    duplicates = seen.duplicate_acks(answer, second)
    lines = {
        "last ack before": [float(acks[acks < first][-1])],
        "timeout": [first],
        "answer to it": [answer],
        "second timeout": [second],
        **{f"{place} new segment": new[at : at + 1] for at, place in enumerate(_PLACES)},
        **{f"{place} duplicate ack": duplicates[at : at + 1] for at, place in enumerate(_PLACES)},
    }
    found = {f"{name}: since_timeout_s": time - first for name, times in lines.items() for time in times}
    return {
        **found,
        "timeouts_undone": float(len(seen.undone_s)),
        "duplicate_acks": float(len(duplicates)),
        "second_timeout_after_s": second - duplicates[-1],
        "fast_retransmits": float((seen.sequence.fast_retransmits.time_s > seen.start_s).sum()),
    }


# Figures that set several downloads beside each other.


def _beside(cells: Mapping[Buffering, Cell], name: str, read: Callable[[Connection], float]) -> TeyebPlan:
    def quantities(bench: TeyebBench) -> dict[str, Quantity]:
        seen = {scheme: read(bench.observed(cell).met) for scheme, cell in cells.items()}
        return {name: Quantity.of(Point({"buffering": scheme}, value) for scheme, value in seen.items())}

    shown = [cells["intermediate"], cells["none"]]
    return Plan(traces=list(cells.values()), quantities=quantities, figures=_figure(shown))


def _recovery_s(seen: Connection) -> float:
    begun, done = seen.repair()
    return done - begun


def _compared(cells: Mapping[str, Cell]) -> TeyebPlan:
    """How long the repair takes: from the first retransmission until all that was lost is there."""
    main = next(iter(cells))

    def measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
        return Point(value=_recovery_s(bench.observed(cells[main]).met))

    def quantities(bench: TeyebBench) -> dict[str, Quantity]:
        seen = {name: bench.observed(cell).met for name, cell in cells.items()}
        points = [Point({"case": name}, _recovery_s(found)) for name, found in seen.items()]
        done = [Point({"case": name}, found.repair()[1] - found.start_s) for name, found in seen.items()]
        return {"recovery_s": Quantity.of(points), "recovered_after_s": Quantity.of(done)}

    return Plan(
        traces=list(cells.values()), measure=measure, quantities=quantities, figures=_figure(list(cells.values()))
    )


def _dsack() -> TeyebPlan:
    cells = {"dsack": of("WLAN-UMTS", "sack", 5, "full")}
    cells["sack"] = replace(cells["dsack"], tcp="no_dsack")

    def quantities(bench: TeyebBench) -> dict[str, Quantity]:
        points = [replace(time_of(bench, cell), factors={"tcp": tcp}) for tcp, cell in cells.items()]
        return {"download_time": Quantity.of(points)}

    return Plan(
        cells=list(cells.values()), traces=[cells["dsack"]], quantities=quantities, figures=_figure([cells["dsack"]])
    )


def _progression(cells: Mapping[Buffering, Cell]) -> TeyebPlan:
    def measure(bench: TeyebBench, row: PublishedRow, metric: str) -> Point:
        return Point(value=bench.observed(cells["none"]).met.rtt_before_s)

    def quantities(bench: TeyebBench) -> dict[str, Quantity]:
        def point(scheme: Buffering, value: float) -> Point:
            factors: dict[str, Factor] = {"buffering": scheme}
            return Point(factors, value)

        seen = {scheme: bench.observed(cell).met for scheme, cell in cells.items()}
        after = {scheme: found.timeouts_after(found.start_s) for scheme, found in seen.items()}
        return {
            "rtt_before_s": Quantity.of(point(scheme, found.rtt_before_s) for scheme, found in seen.items()),
            "timeouts": Quantity.of(point(scheme, float(len(times))) for scheme, times in after.items()),
        }

    def drawn(bench: TeyebBench) -> list[Figure]:
        from .figures import round_trips

        return [round_trips({cell: bench.observed(cell) for cell in cells.values()})]

    return Plan(traces=list(cells.values()), measure=measure, quantities=quantities, figures=drawn)
